"""The list of all runs, newest first; a long one is divided into pages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from helmsite.render import formats, sentences, sourceview, views
from helmsite.render.names import up
from helmsite.render.pages import RunsPage
from helmsite.render.parts import Link

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from helmsite.query.rows import RunSummary
    from helmsite.render.frames import Frames

FIRST = "runs/index.html"
PER_PAGE = 1000


def place(number: int) -> str:
    """Return the address of a page of the list."""
    return FIRST if number == 1 else f"runs-{number}.html"


def pages(
    rows: Sequence[RunSummary], frames: Frames, sources: int = 0
) -> Iterator[RunsPage]:
    """Yield the pages of the list, at least one.

    Args:
        rows: the runs.
        frames: those of the site's pages.
        sources: how many files of results without instances are listed elsewhere.
    """
    asked = sum(r.manifest.counts.asked for r in rows)
    newest = sorted(rows, key=_newest)
    starts = range(0, max(1, len(newest)), PER_PAGE)
    requests = formats.count(asked, "request")
    for number, start in enumerate(starts, 1):
        path = place(number)
        part = newest[start : start + PER_PAGE]
        parts = tuple(
            Link(
                f"{a + 1:,}–{min(a + PER_PAGE, len(newest)):,}",
                up(path) + place(n),
                current=n == number,
            )
            for n, a in enumerate(starts, 1)
        )
        order = ", newest first" if len(rows) > 1 else ""
        sentence = sentences.counted("run", len(rows), f", {requests}{order}")
        if sources and not rows:
            sentence = "No runs: everything in this archive came without instances."
        yield RunsPage(
            frames.frame(path, "Runs", "Runs"),
            sentence,
            views.runs_table(part, frames, path),
            parts if len(parts) > 1 else (),
            sourceview.listed(sources, path),
        )


def _newest(run: RunSummary) -> tuple[float, str]:
    return (-(run.manifest.provenance.finished_at or 0.0), run.manifest.run_id)
