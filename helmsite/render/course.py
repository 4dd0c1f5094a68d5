"""A model over its checkpoints and under other settings: a chart and a table."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from markupsafe import Markup

from helmsite.render import board as boards
from helmsite.render import curves, joints, reach, sentences
from helmsite.render.names import link
from helmsite.render.parts import RowView, Stats
from helmsite.render.text import plain
from helmsite.schema import MetricFacts

if TYPE_CHECKING:
    from helmsite.query.rows import Cell, Column, ModelPage, Variant
    from helmsite.render.frames import Frames

SHARES = MetricFacts("share", "Main metric", "", "", format="share")
NONE = "none told"
"""What a line is called that names none of the settings in which others differ."""


def table(page: ModelPage, frames: Frames, path: str) -> Stats | None:
    """Return the model's numbers under its settings, a line for each; None with one alone."""
    if not page.variants:
        return None
    scales = [
        boards.span([v.cells[i] for v in page.variants], c.metric.format)
        for i, c in enumerate(page.columns)
    ]
    heads = [
        boards.column_view(
            c, "" if c.members else link(path, frames.map.scenario(c.scenario.name)), ""
        )
        for c in page.columns
    ]
    rows = tuple(
        RowView(
            title=plain(line.label) or NONE,
            href="",
            note="",
            cells=tuple(
                joints.told(
                    boards.cell_view(
                        cell, column.metric, reach.source(frames.map, path, cell), scale
                    ),
                    cell,
                )
                for cell, column, scale in zip(
                    line.cells, page.columns, scales, strict=True
                )
            ),
        )
        for line in page.variants
    )
    name = plain(page.card.title or page.card.name)
    return Stats(
        f"{name} over its checkpoints and settings",
        "Checkpoint, settings",
        tuple(heads),
        rows,
        more="Scenarios of one name share a column: the mean over them. A number leads "
        "to what it is from.",
    )


def chart(page: ModelPage, frames: Frames, path: str) -> Markup:
    """Return its shares over its checkpoints, a line for each column of the table.

    Of several ways to ask the model, the one with most checkpoints.
    """
    known = [v for v in page.variants if v.step is not None]
    if not known:
        return Markup("")
    ways = Counter(v.way for v in known)
    way = max(sorted(ways), key=lambda name: ways[name])
    lines = [v for v in known if v.way == way]
    shares = [i for i, c in enumerate(page.columns) if c.metric.format == "share"]
    found = [_curve(page.columns[i], i, lines, frames, path) for i in shares]
    metrics = {page.columns[i].metric.name: page.columns[i].metric for i in shares}
    metric = next(iter(metrics.values())) if len(metrics) == 1 else SHARES
    name = plain(page.card.title or page.card.name)
    return curves.curves(found, metric, f"{name} by training step")


def _curve(
    column: Column, place: int, lines: list[Variant], frames: Frames, path: str
) -> curves.Curve:
    count = len(column.members)
    title = sentences.scenario_title(column.scenario)
    href = "" if count else link(path, frames.map.scenario(column.scenario.name))
    points: dict[float, Cell] = {}
    for line in lines:
        if line.step is not None and line.cells[place].is_whole:
            points.setdefault(line.step, line.cells[place])
    return curves.Curve(
        f"{title} ({count})" if count else title,
        href,
        tuple(
            curves.Step(
                "",
                reach.source(frames.map, path, cell),
                cell.value or 0.0,
                cell.ci_low,
                cell.ci_high,
                step=step,
            )
            for step, cell in sorted(points.items())
        ),
    )
