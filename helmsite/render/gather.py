"""Everything that a site says, asked before a single file is written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from helmsite.query.rows import (
    Group,
    Leaderboard,
    ModelPage,
    ModelSummary,
    Overview,
    RunSummary,
    ScenarioPage,
    ScenarioSummary,
    SourceFile,
)
from helmsite.render import formats
from helmsite.render.frames import Frames
from helmsite.render.names import SiteMap
from helmsite.render.runnames import run_names
from helmsite.schema import Record, matches_entry

if TYPE_CHECKING:
    from collections.abc import Callable

    from helmsite.config import SiteConfig
    from helmsite.render.source import Source

ACCURACY = "accuracy"


class Gathered(Record, frozen=True):
    """Everything that the pages say, but for what is about a run alone."""

    overview: Overview
    groups: tuple[Group, ...]
    boards: tuple[Leaderboard, ...]
    scenarios: tuple[ScenarioSummary, ...]
    scenario_pages: tuple[ScenarioPage, ...]
    models: tuple[ModelSummary, ...]
    model_pages: tuple[ModelPage, ...]
    runs: tuple[RunSummary, ...]
    sources: tuple[SourceFile, ...] = ()


def gather(results: Source, tell: Callable[[str, int, int], None]) -> Gathered:
    """Ask everything that the pages say, but for what is about a run alone."""
    groups = tuple(results.groups())
    scenarios, models = tuple(results.scenarios()), tuple(results.models())
    runs = tuple(results.runs())
    tell("gathering", 0, 3)
    boards = tuple(
        results.leaderboard(g.name, family)
        for g in groups
        for family in formats.families(g.families)
    )
    tell("gathering", 1, 3)
    scenario_pages = tuple(results.scenario(s.facts.name) for s in scenarios)
    tell("gathering", 2, 3)
    return Gathered(
        overview=results.overview(),
        groups=groups,
        boards=boards,
        scenarios=scenarios,
        scenario_pages=scenario_pages,
        models=models,
        model_pages=tuple(results.model(m.card.name) for m in models),
        runs=runs,
        sources=tuple(results.sources()),
    )


def site_map(gathered: Gathered) -> SiteMap:
    """Return where each page will be."""
    return SiteMap(
        groups=[g.name for g in gathered.groups],
        scenarios=[s.facts.name for s in gathered.scenarios],
        models=[m.card.name for m in gathered.models],
        runs=[r.manifest.run_id for r in gathered.runs],
        families=[*(b.family for b in gathered.boards), ACCURACY],
        sources=gathered.sources,
    )


def frames_of(gathered: Gathered, site: SiteConfig) -> Frames:
    """Return what makes the frames of the site's pages."""
    return Frames(
        site,
        site_map(gathered),
        gathered.overview,
        {m.card.name: m.card.title for m in gathered.models},
        run_names(gathered.runs),
    )


def concerns(gathered: Gathered, site: SiteConfig) -> list[str]:
    """Return what a careful publisher wants to know before a site goes out."""
    found = _idle_entries(gathered, site)
    for run in gathered.runs:
        if run.manifest.status != "complete":
            counts = run.manifest.counts
            found.append(
                f"Run {run.manifest.run_id} is {run.manifest.status}: "
                f"{counts.answered:,} of {counts.asked:,} requests answered."
            )
    return found


def _idle_entries(gathered: Gathered, site: SiteConfig) -> list[str]:
    """Return a warning for each entry of the site's groups that no run belongs to."""
    known = [s.facts.name for s in gathered.scenarios]
    return [
        f"No run belongs to {entry!r} of [site.groups.{name}]."
        for name, group in site.groups.items()
        for entry in group.scenarios
        if known and not any(matches_entry(entry, name) for name in known)
    ]
