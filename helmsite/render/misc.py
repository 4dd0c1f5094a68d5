"""The page about the data, and the page that shows every component once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from markupsafe import Markup

from helmsite.render import board as boards
from helmsite.render import charts, formats, runtables, runview, samples, views
from helmsite.render.articles import Articles
from helmsite.render.names import up
from helmsite.render.pages import DataPage, Download, PatternsPage
from helmsite.render.parts import Link

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from helmsite.query.rows import RunSummary
    from helmsite.render.frames import Frames
    from helmsite.render.theme import Theme


def data(
    runs: Sequence[RunSummary],
    offered: Mapping[str, Sequence[str]],
    frames: Frames,
) -> DataPage:
    """Return the page that tells how to read the archive without helmsite."""
    path = "data/index.html"
    root = up(path)
    downloads = tuple(
        Download(
            Link(
                frames.run_name(r.manifest).title,
                root + frames.map.run(r.manifest.run_id),
            ),
            tuple(
                Link(address.rsplit("/", 1)[-1], root + address)
                for address in offered[r.manifest.run_id]
            ),
        )
        for r in runs
        if r.manifest.run_id in offered
    )
    many = formats.count(len(downloads), "run")
    sentence = (
        f"The files of {many} can be downloaded here and read without helmsite."
        if downloads
        else "This site offers no downloads; the archive that it was built from is a "
        "folder of Parquet files."
    )
    return DataPage(
        frame=frames.frame(path, "Data", "Data"),
        sentence=sentence,
        example_run=next((frames.map.data(r) for r in offered), "data/runs/RUN_ID"),
        downloads=downloads,
    )


def patterns(theme: Theme, frames: Frames) -> PatternsPage:
    """Return every component once, made from fixed samples."""
    path = "patterns.html"
    shown_run = samples.summary()
    manifest = shown_run.manifest
    separate = samples.summary("multiple_choice_separate_original")
    articles = Articles(shown_run, _keep_nothing)
    others = Articles(separate, _keep_nothing)
    made = [articles.article(view) for view in samples.instances()]
    made += [others.article(view) for view in samples.choices()]
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
