"""A metric over the steps of training, a line for each model or scenario, as inline SVG."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from markupsafe import Markup

from helmsite.render import formats
from helmsite.render.charts import LINE, Dot, bounded, closer, ticks
from helmsite.render.plane import Plane, words
from helmsite.schema import Record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from helmsite.schema import MetricFacts

PLANE = Plane(40, 246, 124, 10, 230, 42)
LEFT, WIDTH, _, TOP, HEIGHT, _ = PLANE
LETTERS = 16
"""So many letters fit beside the end of a line."""
LIMIT = 8
KINDS = 4
"""So many ways to draw a line: neighbours at the end differ."""
FEW = 3
"""So many lines show their intervals: of more, they would cover each other."""
CLOSE = 60
"""Lines of more points are drawn without dots: a table beneath has all numbers."""
FAR = 50.0
"""Steps further apart than this are drawn on a logarithmic axis."""


class Step(Dot, frozen=True, kw_only=True):
    """A value at a step of training."""

    step: float


class Curve(Record, frozen=True):
    """A line with a label that leads somewhere; its points in order of their steps."""

    label: str
    href: str
    points: tuple[Step, ...]

    @property
    def change(self) -> float:
        """How far the last value is from the first."""
        return abs(self.points[-1].value - self.points[0].value)


class _Scale:
    def __init__(self, curves: Sequence[Curve], metric: MetricFacts) -> None:
        points = [p for c in curves for p in c.points]
        steps = sorted({p.step for p in points})
        self.low, self.high = steps[0], steps[-1]
        first = next((s for s in steps if s > 0), self.high)
        self.is_log = self.high / first > FAR
        self.marks = closer(points, metric)

    def _place(self, step: float) -> float:
        return math.log10(step + 1) if self.is_log else step

    def x(self, step: float) -> float:
        low, high = self._place(self.low), self._place(self.high)
        return round(LEFT + (self._place(step) - low) / (high - low) * WIDTH, 1)

    def y(self, value: float) -> float:
        return PLANE.y(value, self.marks)

    def steps(self) -> list[float]:
        """Return round steps along the axis."""
        if not self.is_log:
            found = ticks(self.low, self.high)
            return [s for s in found if self.low <= s <= self.high]
        powers = range(math.ceil(math.log10(self.high)) + 1)
        found = [0.0, *(10.0**p for p in powers)]
        inside = [s for s in found if self.low <= s <= self.high]
        return [s for s in inside if s != 1 or 0 not in inside]


def curves(given: Sequence[Curve], metric: MetricFacts, title: str) -> Markup:
    """Return lines over steps; '' unless one has two steps.

    Of more than 8 lines those are drawn that change most from the first to the last step.
    """
    sound = [_sound(c) for c in given]
    shown = [c for c in sound if len({p.step for p in c.points}) > 1]
    shown = sorted(shown, key=lambda c: (-c.change, c.label))[:LIMIT]
    if not shown:
        return Markup("")
    scale, below = _Scale(shown, metric), words(metric, "training step")
    ticks = [(scale.x(s), told(s)) for s in scale.steps()]
    parts = [PLANE.begin(below, title), *PLANE.axes(scale.marks, ticks)]
    if len(shown) <= FEW:
        parts += [_band(c, scale) for c in shown]
    ends = sorted(range(len(shown)), key=lambda n: scale.y(shown[n].points[-1].value))
    labels = _places([scale.y(shown[n].points[-1].value) for n in ends])
    for turn, (n, at) in enumerate(zip(ends, labels, strict=True)):
        inside = _line(shown[n], scale, metric) + _label(shown[n], at)
        parts.append(Markup('<g class="curve c{}">{}</g>').format(turn % KINDS, inside))
    parts.append(PLANE.below(below))
    return Markup("").join([*parts, Markup("</svg>")])


def _sound(curve: Curve) -> Curve:
    points = tuple(
        bounded(p)
        for p in curve.points
        if abs(p.value) < formats.HUGE and 0 <= p.step < formats.HUGE
    )
    return Curve(curve.label, curve.href, points)


def told(step: float) -> str:
    """Return a step as people write it: 512, 143K."""
    return formats.parameters(round(step)) or "0"


def _band(curve: Curve, scale: _Scale) -> Markup:
    """Return the room between the ends of the intervals; '' where one has none."""
    ends = [
        (scale.x(p.step), scale.y(p.low), scale.y(p.high))
        for p in curve.points
        if p.low is not None and p.high is not None
    ]
    if len(ends) < len(curve.points):
        return Markup("")
    around = [f"{x},{high}" for x, _, high in ends]
    around += [f"{x},{low}" for x, low, _ in reversed(ends)]
    return Markup('<polygon class="band" points="{}"/>').format(" ".join(around))


def _line(curve: Curve, scale: _Scale, metric: MetricFacts) -> Markup:
    places = " ".join(f"{scale.x(p.step)},{scale.y(p.value)}" for p in curve.points)
    line = Markup(
        '<polyline class="course" points="{}"><title>{}</title></polyline>'
    ).format(places, curve.label)
    if len(curve.points) > CLOSE:
        return line
    dots = [
        Markup('<a href="{}"><title>{}</title>{}</a>').format(
            p.href,
            f"{curve.label}, step {p.step:,.0f}: {formats.value(p.value, metric.format)}",
            Markup('<circle class="dot" cx="{}" cy="{}" r="2"/>').format(
                scale.x(p.step), scale.y(p.value)
            ),
        )
        for p in curve.points
        if p.href
    ]
    return Markup("").join([line, *dots])


def _places(ends: Sequence[float]) -> list[float]:
    """Return where labels stand: at the ends of their lines, moved where two would meet.

    Args:
        ends: the heights of the lines' ends, from the top.
    """
    found: list[float] = []
    for y in ends:
        found.append(max(y, found[-1] + LINE) if found else y)
    lowest = float(TOP + HEIGHT)
    for n in reversed(range(len(found))):
        found[n] = min(found[n], lowest)
        lowest = found[n] - LINE
    return [round(y + 4, 1) for y in found]


def _label(curve: Curve, at: float) -> Markup:
    name, x = _cut(curve.label), LEFT + WIDTH + 8
    if not curve.href:
        return Markup('<text class="name still" x="{}" y="{}">{}</text>').format(
            x, at, name
        )
    return Markup(
        '<a href="{}"><title>{}</title><text class="name" x="{}" y="{}">{}</text></a>'
    ).format(curve.href, curve.label, x, at, name)


def _cut(label: str) -> str:
    return label if len(label) <= LETTERS else f"{label[: LETTERS - 1]}…"
