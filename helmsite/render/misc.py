"""The page that shows every component once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from markupsafe import Markup

from helmsite.render import board as boards
from helmsite.render import charts, runtables, runview, samples, views
from helmsite.render.articles import Articles
from helmsite.render.pages import PatternsPage

if TYPE_CHECKING:
    from helmsite.render.frames import Frames
    from helmsite.render.theme import Theme


def patterns(theme: Theme, frames: Frames) -> PatternsPage:
    """Return every component once, made from fixed samples."""
    path = "patterns.html"
    shown_run = samples.summary()
    manifest = shown_run.manifest
    separate = samples.summary("multiple_choice_separate_original")
    articles = Articles(shown_run, _keep_nothing)
    others = Articles(separate, _keep_nothing)
    made = articles.all((*samples.instances(), samples.conversation()))
    made += others.all(samples.choices())
    rendered = tuple(
        Markup(theme.fragment("instance.html", article))  # noqa: S704 (autoescape)
        for article in made
    )
    shown = samples.leaderboard()
    dots = [
        charts.Dot(row.card.title, "#board", cell.value, cell.ci_low, cell.ci_high)
        for row in shown.rows
        for cell in row.cells[:1]
        if cell.value is not None
    ]
    metric = shown.columns[0].metric
    return PatternsPage(
        frame=frames.frame(path, "Patterns", "", state="the theme's fixed samples"),
        board=boards.board(
            shown.columns, shown.rows, frames.map, path, "A leaderboard of samples"
        ),
        stats=next(iter(runtables.tables(samples.stats(), manifest, samples.METRIC))),
        chart=charts.dot_plot(dots, metric, "Accuracy of the samples"),
        facts=runview.adapter_facts(manifest.spec.adapter, samples.defaults())[0],
        runs=(views.run_line(shown_run, frames, path),),
        shared=articles.take_shared(),
        articles=rendered,
        legend=True,
    )


def _keep_nothing(name: str, text: str) -> None:
    """Stand in for the writer: no sample is long enough to be a file."""
