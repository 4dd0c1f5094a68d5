"""A project's settings: helmsite.toml, suites and model cards, problems all at once."""

from __future__ import annotations

from helmsite.schema import ModelCard, Record


class GroupConfig(Record, frozen=True):
    """A leaderboard of its own: scenarios are run entries, or names for all of theirs."""

    title: str
    scenarios: tuple[str, ...]
    description: str = ""


class SiteConfig(Record, frozen=True):
    """How the site presents itself. `groups` keeps the order of the leaderboards."""

    title: str = "helmsite"
    description: str = ""
    base_url: str = ""
    groups: dict[str, GroupConfig] = {}
    pinned_methods: dict[str, str] = {}
    overrides: str = ""
    size_budget_mb: int = 800


class ModelConfig(Record, frozen=True):
    """A model that can be run: which client, with which settings, and its card."""

    name: str
    client: str
    card: ModelCard
    settings: dict[str, str | int | float | bool | list[str] | None] = {}
