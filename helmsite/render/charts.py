"""Charts as inline SVG, drawn at build time: direct labels, links, no inline style."""

from __future__ import annotations

import math
import textwrap
from itertools import accumulate
from typing import TYPE_CHECKING, TypeVar

from markupsafe import Markup
from msgspec import structs

from helmsite.render import formats
from helmsite.render.text import plain
from helmsite.schema import Record

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from helmsite.schema import MetricFacts

PLOT, EDGE, LINE, REACH, TICKS = 320, 14, 15, 21, 28
"""Widths of the plot and of its margins, heights of a line of text, of an interval with
the space around it and of the numbers below: in all as wide as a phone has room for."""
NB = "\N{NO-BREAK SPACE}"  # so that no arrow begins a line
LIMIT = 60
LETTERS = 32
"""So many letters fit into a line of a label, beside the value."""
WORDS = 46
"""So many letters fit into a line below the axis."""


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
    labels = [broken(d.label, LETTERS) for d in rows]
    tops = [0, *accumulate(len(lines) * LINE + REACH for lines in labels)]
    better = {
        True: f", higher is better{NB}→",
        False: f", ←{NB}lower is better",
        None: "",
    }
    unit = f" ({plain(metric.unit)})" if metric.unit else ""
    about = f"{plain(metric.title)}{unit}{better[metric.higher_is_better]}"
    words = broken(about, WORDS)
    width, height = EDGE + PLOT + EDGE, tops[-1] + TICKS + len(words) * LINE

    def x(value: float) -> float:
        share = (value - marks[0]) / (marks[-1] - marks[0])
        return round(EDGE + share * PLOT, 1)

    parts = [
        Markup(
            '<svg class="chart" viewBox="0 0 {} {}" width="{}" height="{}" role="group" '
            'aria-label="{}">'
        ).format(width, height, width, height, title)
    ]
    parts += [_axis(marks, x, tops[-1])]
    parts += [
        _dot(dot, top, x, metric.format, lines)
        for dot, top, lines in zip(rows, tops, labels, strict=False)
    ]
    parts.append(written("axis", EDGE, tops[-1] + TICKS + 9, words))
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


def closer(rows: Sequence[Dot], metric: MetricFacts) -> list[float]:
    """Return the marks of a scale that ends near the values, of shares within 0 and 1.

    For places in a plane: where no length stands for a value, none need begin at 0.
    """
    if metric.format != "share":
        return ticks_of(rows, metric)
    values = [d.value for d in rows]
    found = ticks(min(values) - 0.02, max(values) + 0.02)
    return [m for m in found if -1e-9 <= m <= 1 + 1e-9] if _is_share(values) else found


def _is_share(values: Sequence[float]) -> bool:
    return min(values) >= 0 and max(values) <= 1


def _axis(marks: Sequence[float], x: Callable[[float], float], bottom: int) -> Markup:
    lines = [
        Markup(
            '<line class="grid" x1="{0}" x2="{0}" y1="0" y2="{1}"/>'
            '<text class="tick" x="{0}" y="{2}">{3}</text>'
        ).format(x(m), bottom, bottom + 14, f"{m:g}".replace("-", formats.MINUS))
        for m in marks
    ]
    return Markup("").join(lines)


def broken(text: str, letters: int) -> list[str]:
    """Return a text as one line or two; what is longer is cut, a title has it all."""
    return textwrap.wrap(text, letters, max_lines=2, placeholder="…") or [""]


def written(kind: str, x: float, y: float, lines: Sequence[str]) -> Markup:
    """Return lines of text that begin at x, the first on the height y."""
    return Markup("").join(
        Markup('<text class="{}" x="{}" y="{}">{}</text>').format(
            kind, x, y + i * LINE, line
        )
        for i, line in enumerate(lines)
    )


def _dot(
    dot: Dot, top: int, x: Callable[[float], float], form: str, lines: Sequence[str]
) -> Markup:
    """Return a value: its label and number, and below them the dot and its interval.

    All of its room can be clicked, not the letters and lines alone.
    """
    height = len(lines) * LINE + REACH
    y = top + len(lines) * LINE + REACH / 2
    reach = Markup("")
    words = f"{dot.label}: {formats.value(dot.value, form)}"
    if dot.low is not None and dot.high is not None:
        words += f", 95 % interval {formats.rough(dot.low, form)} to {formats.rough(dot.high, form)}"
        reach = Markup(
            '<line class="reach" x1="{}" x2="{}" y1="{y}" y2="{y}"/>'
        ).format(x(dot.low), x(dot.high), y=y)
    return Markup(
        '<a href="{href}"><title>{words}</title>'
        '<rect class="hit" x="0" y="{top}" width="{wide}" height="{height}"/>'
        "{label}{reach}"
        '<circle class="dot" cx="{cx}" cy="{y}" r="4"/>'
        '<text class="value" x="{end}" y="{base}">{value}</text></a>'
    ).format(
        href=dot.href,
        words=words,
        top=top,
        wide=EDGE + PLOT + EDGE,
        height=height,
        base=top + LINE,
        label=written("name", EDGE, top + LINE, lines),
        reach=reach,
        cx=x(dot.value),
        y=y,
        end=EDGE + PLOT,
        value=formats.value(dot.value, form),
    )
