"""The pages that are not about one run, and the theme's static files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import structs

from helmsite.query.rows import Group, Leaderboard
from helmsite.render import (
    datapage,
    misc,
    modelview,
    runlist,
    scenarioview,
    search,
    sentences,
    sourceview,
    views,
)
from helmsite.render.boardpages import BoardPages
from helmsite.render.gather import ACCURACY

if TYPE_CHECKING:
    from collections.abc import Iterator

    from helmsite.render.datapage import Offered
    from helmsite.render.frames import Frames
    from helmsite.render.gather import Gathered
    from helmsite.render.output import Writer
    from helmsite.render.pages import Page
    from helmsite.render.source import Source
    from helmsite.render.theme import Theme


def summary_pages(
    gathered: Gathered, results: Source, frames: Frames, offered: Offered
) -> Iterator[tuple[str, Page]]:
    """Yield every page that is not about one run, with its template."""
    groups = {g.name: g for g in gathered.groups}
    for shown in gathered.boards:
        group = groups[shown.group]
        for page in BoardPages(shown, group, gathered.groups, frames):
            yield "leaderboard.html", page
    best = {p.facts.name: sentences.leaders(p) for p in gathered.scenario_pages}
    yield "scenarios.html", views.scenarios(gathered.scenarios, best, frames)
    yield "models.html", views.models(gathered.models, frames)
    for listed in runlist.pages(gathered.runs, frames, len(gathered.sources)):
        yield "runs.html", listed
    for listed_files in sourceview.pages(gathered.sources, frames):
        yield "sources.html", listed_files
    for file in gathered.sources:
        yield "source.html", sourceview.source(results.source(file.key), frames)
    for scenario in gathered.scenario_pages:
        yield "scenario.html", scenarioview.scenario(scenario, frames)
    known = {m.card.name: m for m in gathered.models}
    told = sourceview.by_model(gathered.sources)
    for model in gathered.model_pages:
        own = known.get(model.card.name)
        files = told.get(model.card.name, ())
        view = modelview.model(model, frames, own, gathered.scenarios, files)
        yield "model.html", view
    sources = len(gathered.sources)
    yield "data.html", datapage.data(gathered.runs, offered, frames, sources)


def write_front(
    theme: Theme, gathered: Gathered, frames: Frames, writer: Writer
) -> None:
    """Write index.html (the first group's leaderboard) and patterns.html."""
    shown = next(iter(gathered.boards), Leaderboard("all", ACCURACY, (), ()))
    group = next(
        (g for g in gathered.groups if g.name == shown.group),
        Group("all", "Leaderboard"),
    )
    front = BoardPages(shown, group, gathered.groups, frames).page(1, "index.html")
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
    index = search.script(
        gathered.groups, gathered.scenarios, gathered.models, gathered.runs, frames
    )
    writer.write("static/search-index.js", index)
    groups = {g.name: g for g in gathered.groups}
    for shown in gathered.boards:
        pages = BoardPages(shown, groups[shown.group], gathered.groups, frames)
        for path, script in pages.scripts(theme):
            writer.write(path, script)
    writer.write(".nojekyll", "")
