"""Charts as inline SVG, drawn at build time: direct labels, links, no inline style."""

from __future__ import annotations

import math
import textwrap
from typing import TYPE_CHECKING, TypeVar

from markupsafe import Markup
from msgspec import structs

from helmsite.render import formats
from helmsite.render.text import plain
from helmsite.schema import Record

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from helmsite.schema import MetricFacts

LABEL, PLOT, ROW, TALL, AXIS, EDGE = 250, 330, 24, 34, 44, 24
LIMIT = 60
LETTERS = 24
"""So many letters fit into a line of a label."""


class Dot(Record, frozen=True):
    """A labelled value with its interval and a link."""

    label: str
    href: str
    value: float
    low: float | None = None
    high: float | None = None


AnyDot = TypeVar("AnyDot", bound=Dot)


def ticks(low: float, high: float) -> list[float]:
    """Return 3 to 6 round numbers from at or below `low` to at or above `high`."""
    if high - low <= 1e-9 * max(1.0, abs(low), abs(high)):
        low, high = low - 0.5, high + 0.5
    raw = (high - low) / 4
    power = 10.0 ** math.floor(math.log10(raw))
    step = power * next(s for s in (1, 2, 2.5, 5, 10) if s * power >= raw * 0.999)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(i * step, 10) for i in range(first, last + 1)]


def dot_plot(dots: Sequence[Dot], metric: MetricFacts, title: str) -> Markup:
    """Return models as dots with intervals, best at the top; '' without any.

    More than 60 models are not drawn, nor values that no scale can hold: the table
    beneath has them all.
    """
    dots = [bounded(d) for d in dots if abs(d.value) < formats.HUGE]
    if not dots:
        return Markup("")
    worst_first = metric.higher_is_better is False
    rows = sorted(dots, key=lambda d: (d.value if worst_first else -d.value, d.label))
    rows = rows[:LIMIT]
    marks = ticks_of(rows, metric)
    labels = [_lines(d.label) for d in rows]
    step = TALL if any(len(lines) > 1 for lines in labels) else ROW
    height = len(rows) * step + AXIS
    label = min(LABEL, 90 + max(len(line) for lines in labels for line in lines) * 8)
    width = label + PLOT + EDGE

    def x(value: float) -> float:
        share = (value - marks[0]) / (marks[-1] - marks[0])
        return round(label + share * PLOT, 1)

    parts = [
        Markup(
            '<svg class="chart" viewBox="0 0 {} {}" width="{}" height="{}" role="group" '
            'aria-label="{}">'
        ).format(width, height, width, height, title)
    ]
    parts += [_axis(marks, x, len(rows) * step)]
    parts += [
        _dot(dot, (i + 0.5) * step, x, metric.format, label, lines)
        for i, (dot, lines) in enumerate(zip(rows, labels, strict=True))
    ]
    better = {True: ", higher is better →", False: ", ← lower is better", None: ""}
    unit = f" ({plain(metric.unit)})" if metric.unit else ""
    parts.append(
        Markup('<text class="axis" x="{}" y="{}">{}{}{}</text>').format(
            label,
            height - 6,
            plain(metric.title),
            unit,
            better[metric.higher_is_better],
        )
    )
    return Markup("").join([*parts, Markup("</svg>")])


def bounded(dot: AnyDot) -> AnyDot:
    """Return a dot without an interval where that has an end out of any scale."""
    ends = [e for e in (dot.low, dot.high) if e is not None]
    if all(abs(e) < formats.HUGE for e in ends):
        return dot
    return structs.replace(dot, low=None, high=None)


def ticks_of(rows: Sequence[Dot], metric: MetricFacts) -> list[float]:
    """Return the marks of a scale that holds all values and intervals."""
    if metric.format == "share":
        return [0.0, 0.25, 0.5, 0.75, 1.0]
    edges = [e for d in rows for e in (d.value, d.low, d.high) if e is not None]
    return ticks(min(edges), max(edges))


def _axis(marks: Sequence[float], x: Callable[[float], float], bottom: int) -> Markup:
    lines = [
        Markup(
            '<line class="grid" x1="{0}" x2="{0}" y1="0" y2="{1}"/>'
            '<text class="tick" x="{0}" y="{2}">{3}</text>'
        ).format(x(m), bottom, bottom + 14, f"{m:g}".replace("-", formats.MINUS))
        for m in marks
    ]
    return Markup("").join(lines)


def _lines(label: str) -> list[str]:
    """Return a label as one line or two; what is longer is cut, its title has it all."""
    return textwrap.wrap(label, LETTERS, max_lines=2, placeholder="…") or [""]


def _dot(
    dot: Dot,
    y: float,
    x: Callable[[float], float],
    form: str,
    left: float,
    lines: Sequence[str],
) -> Markup:
    reach = Markup("")
    words = f"{dot.label}: {formats.value(dot.value, form)}"
    if dot.low is not None and dot.high is not None:
        words += f", 95 % interval {formats.rough(dot.low, form)} to {formats.rough(dot.high, form)}"
        reach = Markup(
            '<line class="reach" x1="{}" x2="{}" y1="{y}" y2="{y}"/>'
        ).format(x(dot.low), x(dot.high), y=y)
    label = Markup("").join(
        Markup('<text class="name" x="{}" y="{}">{}</text>').format(
            left - 68, y + 4.5 + (i - (len(lines) - 1) / 2) * 15, line
        )
        for i, line in enumerate(lines)
    )
    return Markup(
        '<a href="{href}"><title>{words}</title>'
        "{label}{reach}"
        '<circle class="dot" cx="{cx}" cy="{y}" r="4"/>'
        '<text class="value" x="{end}" y="{base}">{value}</text></a>'
    ).format(
        href=dot.href,
        words=words,
        base=y + 4.5,
        label=label,
        reach=reach,
        cx=x(dot.value),
        y=y,
        end=left - 14,
        value=formats.value(dot.value, form),
    )
