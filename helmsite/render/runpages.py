"""A run's folder: its page, its pages of instances, its score index, its long texts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from markupsafe import Markup
from msgspec import structs

from helmsite.render import runview
from helmsite.render.articles import Articles
from helmsite.render.scoreindex import ScoreIndex
from helmsite.render.textindex import TextIndex

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from helmsite.query.rows import InstanceView, RunPage, RunSummary
    from helmsite.render.frames import Frames
    from helmsite.render.output import Writer
    from helmsite.render.source import Source
    from helmsite.render.theme import Theme

PER_PAGE = 50
PAGE_BYTES = 400_000
BOM = "\ufeff"  # without it, servers' text files are read as windows-1252


def write_run(
    page: RunPage,
    results: Source,
    theme: Theme,
    frames: Frames,
    writer: Writer,
    offered: Mapping[str, Sequence[str]],
) -> int:
    """Write a run's page, its pages of instances and its score index; return how many."""
    manifest = page.summary.manifest
    texts = TextIndex(writer.write) if frames.text_search else None
    index, spans = ScoreIndex(page.summary, texts), []
    if manifest.scenario.publication == "full":
        found = results.instances(manifest.run_id)
        spans = write_instances(page.summary, found, index, theme, frames, writer)
    view = runview.run(page, frames, spans, offered.get(manifest.run_id, ()))
    if spans:
        folder = view.frame.path.rsplit("/", 1)[0]
        script = index.script()
        writer.write(f"{folder}/index.js", script)
        view = structs.replace(view, index_bytes=len(script))
    writer.write(view.frame.path, theme.render("run.html", view))
    return len(index)


def write_instances(
    summary: RunSummary,
    found: Iterable[InstanceView],
    index: ScoreIndex,
    theme: Theme,
    frames: Frames,
    writer: Writer,
) -> list[tuple[int, int]]:
    """Write a run's instances page by page; return each page's first and last row."""
    manifest = summary.manifest
    folder = frames.map.run(manifest.run_id).rsplit("/", 1)[0]
    articles = Articles(
        summary, lambda name, text: writer.write(f"{folder}/{name}", BOM + text)
    )
    spans: list[tuple[int, int]] = []

    def finish(rendered: list[Markup], last: bool) -> None:
        first = spans[-1][1] if spans else 0
        spans.append((first, first + len(rendered)))
        page = runview.instances(
            manifest,
            frames,
            len(spans),
            (*spans[-1], summary.n_instances),
            (articles.take_shared(), tuple(rendered)),
            last,
        )
        writer.write(page.frame.path, theme.render("instances.html", page))

    rendered: list[Markup] = []
    size = 0
    for view in found:
        if len(rendered) == PER_PAGE or size > PAGE_BYTES:
            finish(rendered, last=False)
            rendered, size = [], 0
        if not rendered:
            index.start_page()
        html = theme.fragment("instance.html", articles.article(view))
        rendered.append(Markup(html))  # noqa: S704 (rendered with autoescape)
        size += len(html)
        index.add(view)
    if rendered:
        finish(rendered, last=True)
    return spans
