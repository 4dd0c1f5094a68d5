"""What a site is built from, as far as the pages ask."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from helmsite.query.rows import (
        Group,
        InstanceView,
        Leaderboard,
        ModelPage,
        ModelSummary,
        Overview,
        RunPage,
        RunSummary,
        ScenarioPage,
        ScenarioSummary,
    )


class Source(Protocol):
    """What a site is built from; `helmsite.query.Results` is one."""

    def overview(self) -> Overview:
        """Return the site's counts and state."""

    def groups(self) -> Sequence[Group]:
        """Return the groups of scenarios."""

    def leaderboard(self, group: str, family: str = ...) -> Leaderboard:
        """Return a leaderboard."""

    def scenarios(self) -> Sequence[ScenarioSummary]:
        """Return every scenario."""

    def scenario(self, name: str) -> ScenarioPage:
        """Return one scenario."""

    def models(self) -> Sequence[ModelSummary]:
        """Return every model."""

    def model(self, name: str) -> ModelPage:
        """Return one model."""

    def runs(self) -> Sequence[RunSummary]:
        """Return every run."""

    def run(self, run_id: str) -> RunPage:
        """Return one run."""

    def instances(self, run_id: str) -> Iterator[InstanceView]:
        """Yield a run's instances."""
