"""Building the site, told as one story: gather, check, write, check again, swap in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import structs

from helmsite.errors import BuildError, ConfigError
from helmsite.query.rows import (
    Group,
    Leaderboard,
    ModelPage,
    ModelSummary,
    Overview,
    RunPage,
    RunSummary,
    ScenarioPage,
    ScenarioSummary,
)
from helmsite.render import formats, misc, search, sentences, views
from helmsite.render.downloads import write_downloads
from helmsite.render.frames import Frames
from helmsite.render.links import check_links
from helmsite.render.names import SiteMap
from helmsite.render.output import MARKER, Writer, refuse_foreign, staged
from helmsite.render.runnames import run_names
from helmsite.render.runpages import write_run
from helmsite.render.text import web_address
from helmsite.render.theme import Theme
from helmsite.schema import Record, parse_entry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from helmsite.config import SiteConfig
    from helmsite.render.pages import Page
    from helmsite.render.source import Source

    Progress = Callable[[str, int, int], None]

HTML_PER_ARCHIVED_BYTE = 3
ACCURACY = "accuracy"


class BuildReport(Record, frozen=True):
    """What was built. `warnings` are things to know that did not stop the build."""

    pages: int
    files: int
    bytes: int
    instances: int
    warnings: tuple[str, ...] = ()


class Gathered(Record, frozen=True):
    """Everything that the pages say, but for the instances."""

    overview: Overview
    groups: tuple[Group, ...]
    boards: tuple[Leaderboard, ...]
    scenarios: tuple[ScenarioSummary, ...]
    scenario_pages: tuple[ScenarioPage, ...]
    models: tuple[ModelSummary, ...]
    model_pages: tuple[ModelPage, ...]
    runs: tuple[RunSummary, ...]
    run_pages: tuple[RunPage, ...]


def build(
    results: Source,
    out: Path,
    site: SiteConfig,
    *,
    progress: Progress | None = None,
    strict: bool = False,
    downloads: Mapping[str, Sequence[Path]] | None = None,
) -> BuildReport:
    """Build the site of an archive in a folder, which is replaced at the very end.

    The same archive gives the same bytes. Where anything fails, an earlier build stays.

    Args:
        results: the archive's numbers and instances.
        out: the folder to make; it may hold nothing but an earlier build.
        site: title, groups, overrides of the theme.
        progress: called with (what, done, of).
        strict: whether a warning stops the build.
        downloads: Parquet files to offer under data/runs/, by run id; each must be what
            the run's manifest says, and run.json comes with them.

    Raises:
        BuildError: `out` is not ours, a template is broken, a link leads nowhere, the
            base address is none, or there is a warning in a strict build.
    """
    tell = progress or _silent
    check_base_url(site)
    refuse_foreign(out)
    theme = Theme(site.overrides)
    gathered = gather(results, tell)
    warnings = concerns(gathered, site)
    stop_if_strict(warnings, strict=strict)
    frames = Frames(
        site,
        site_map(gathered),
        gathered.overview,
        _titles(gathered),
        run_names(gathered.runs),
    )
    with staged(out) as writer:
        write_static(theme, gathered, frames, writer)
        offered, missing = write_downloads(
            downloads or {}, gathered.runs, frames.map, writer
        )
        warnings += missing
        stop_if_strict(missing, strict=strict)
        for template, page in summary_pages(gathered, frames, offered):
            writer.write(page.frame.path, theme.render(template, page))
        write_front(theme, gathered, frames, writer)
        instances = 0
        for done, run in enumerate(gathered.run_pages):
            tell("run pages", done, len(gathered.run_pages))
            instances += write_run(run, results, theme, frames, writer, offered)
        tell("checking links", 0, 1)
        stop_at_broken_links(writer.root)
        writer.write(MARKER, f"{gathered.overview.state}\n")
    pages = writer.pages
    return BuildReport(pages, writer.files, writer.bytes, instances, tuple(warnings))


def gather(results: Source, tell: Progress) -> Gathered:
    """Ask everything that the pages say, before a single file is written."""
    groups = tuple(results.groups())
    scenarios, models = tuple(results.scenarios()), tuple(results.models())
    runs = tuple(results.runs())
    tell("gathering", 0, 4)
    boards = tuple(
        results.leaderboard(g.name, family)
        for g in groups
        for family in formats.families(g.families)
    )
    tell("gathering", 1, 4)
    scenario_pages = tuple(results.scenario(s.facts.name) for s in scenarios)
    tell("gathering", 2, 4)
    model_pages = tuple(results.model(m.card.name) for m in models)
    tell("gathering", 3, 4)
    run_pages = tuple(results.run(r.manifest.run_id) for r in runs)
    return Gathered(
        overview=results.overview(),
        groups=groups,
        boards=boards,
        scenarios=scenarios,
        scenario_pages=scenario_pages,
        models=models,
        model_pages=model_pages,
        runs=runs,
        run_pages=run_pages,
    )


def concerns(gathered: Gathered, site: SiteConfig) -> list[str]:
    """Return what a careful publisher wants to know before a site goes out."""
    found = []
    stored = sum(
        file.bytes
        for run in gathered.runs
        for name, file in run.manifest.files.items()
        if name.startswith("requests") and run.manifest.scenario.publication == "full"
    )
    forecast = stored * HTML_PER_ARCHIVED_BYTE
    if forecast > site.size_budget_mb * 1_000_000:
        found.append(
            f"The pages of instances will take about {formats.size(forecast)}, more than "
            f"the budget of {site.size_budget_mb} MB (size_budget_mb under [site])."
        )
    found += _idle_entries(gathered, site)
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
    known = [_parsed(s.facts.name) for s in gathered.scenarios]

    def matches(entry: str) -> bool:
        wanted, parameters = parse_entry(entry)
        return any(
            name == wanted and parameters.items() <= own.items() for name, own in known
        )

    return [
        f"No run belongs to {entry!r} of [site.groups.{name}]."
        for name, group in site.groups.items()
        for entry in group.scenarios
        if known and not matches(entry)
    ]


def _parsed(name: str) -> tuple[str, dict[str, str]]:
    """Split an archived scenario's name; one that is no entry has no parameters."""
    try:
        return parse_entry(name)
    except ConfigError:
        return name, {}


def stop_if_strict(warnings: Sequence[str], *, strict: bool) -> None:
    """Make sure that a strict build has no warning.

    Raises:
        BuildError: with every warning.
    """
    if strict and warnings:
        raise BuildError("\n".join(warnings), "Build without strict to see the site.")


def check_base_url(site: SiteConfig) -> None:
    """Make sure that permalinks will lead somewhere.

    Raises:
        BuildError: the base address is no http(s) address.
    """
    if not site.base_url or web_address(site.base_url):
        return
    rest = site.base_url.strip().partition("://")[2] or site.base_url.strip()
    raise BuildError(
        f"The base address {site.base_url!r} does not begin with https:// or http://.",
        f"Write https://{rest.lstrip('/')} for it, or leave it out.",
    )


def site_map(gathered: Gathered) -> SiteMap:
    """Return where each page will be."""
    return SiteMap(
        groups=[g.name for g in gathered.groups],
        scenarios=[s.facts.name for s in gathered.scenarios],
        models=[m.card.name for m in gathered.models],
        runs=[r.manifest.run_id for r in gathered.runs],
        families=[*(b.family for b in gathered.boards), ACCURACY],
    )


def _titles(gathered: Gathered) -> dict[str, str]:
    return {m.card.name: m.card.title for m in gathered.models}


def summary_pages(
    gathered: Gathered, frames: Frames, offered: Mapping[str, Sequence[str]]
) -> Iterator[tuple[str, Page]]:
    """Yield every page that is not about one run, with its template."""
    groups = {g.name: g for g in gathered.groups}
    for shown in gathered.boards:
        path = frames.map.board(shown.group, shown.family)
        group = groups[shown.group]
        yield (
            "leaderboard.html",
            views.leaderboard(shown, group, gathered.groups, path, frames),
        )
    best = {p.facts.name: sentences.leaders(p) for p in gathered.scenario_pages}
    yield "scenarios.html", views.scenarios(gathered.scenarios, best, frames)
    yield "models.html", views.models(gathered.models, frames)
    yield "runs.html", views.runs(gathered.runs, frames)
    for scenario in gathered.scenario_pages:
        yield "scenario.html", views.scenario(scenario, frames)
    for model in gathered.model_pages:
        yield "model.html", views.model(model, frames)
    yield "data.html", misc.data(gathered.runs, offered, frames)


def write_front(
    theme: Theme, gathered: Gathered, frames: Frames, writer: Writer
) -> None:
    """Write index.html (the first group's leaderboard) and patterns.html."""
    shown = next(iter(gathered.boards), Leaderboard("all", ACCURACY, (), ()))
    group = next(
        (g for g in gathered.groups if g.name == shown.group),
        Group("all", "Leaderboard"),
    )
    front = views.leaderboard(shown, group, gathered.groups, "index.html", frames)
    if gathered.runs and not gathered.boards:
        front = structs.replace(front, sentence=sentences.UNSCORED)
    writer.write("index.html", theme.render("leaderboard.html", front))
    patterns = misc.patterns(theme, frames)
    writer.write("patterns.html", theme.render("patterns.html", patterns))


def write_static(
    theme: Theme, gathered: Gathered, frames: Frames, writer: Writer
) -> None:
    """Write the theme's static files and the index of the search box."""
    for path, content in theme.static().items():
        writer.write(f"static/{path}", content)
    index = search.script(gathered.scenarios, gathered.models, gathered.runs, frames)
    writer.write("static/search-index.js", index)
    writer.write(".nojekyll", "")


def stop_at_broken_links(folder: Path) -> None:
    """Make sure that every link of the new site leads somewhere.

    Raises:
        BuildError: with every link that does not.
    """
    broken = check_links(folder)
    if broken:
        shown = "\n".join(broken[:20])
        rest = f"\n… and {len(broken) - 20} more" if len(broken) > 20 else ""
        raise BuildError(
            f"The new site has broken links; it was not put in place.\n{shown}{rest}",
            "If you override templates, compare their links with the bundled ones.",
        )


def _silent(what: str, done: int, of: int) -> None:
    """Report no progress."""
