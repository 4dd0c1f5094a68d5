"""A metric against the size of the models, as inline SVG drawn at build time."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from markupsafe import Markup

from helmsite.render import formats
from helmsite.render.charts import LINE, Dot, bounded, closer
from helmsite.render.plane import Plane, words
from helmsite.render.text import plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from helmsite.schema import MetricFacts

PLANE = Plane(44, 350, 16, 14, 230, 42)
LEFT, WIDTH, RIGHT, _, _, _ = PLANE
LETTER, ASIDE = 6.6, 7
LIMIT = 60
KINDS = 4
"""So many ways to draw the line of a family."""
NEAR = 4


class Point(Dot, frozen=True, kw_only=True):
    """A model: its size and value, and the family that joins it to others."""

    size: float
    family: str = ""


class _Scale:
    def __init__(self, points: Sequence[Point], metric: MetricFacts) -> None:
        sizes = [math.log10(p.size) for p in points]
        pad = 0.06 * (max(sizes) - min(sizes))
        self.low, self.high = min(sizes) - pad, max(sizes) + pad
        self.marks = closer(points, metric)

    def x(self, size: float) -> float:
        part = (math.log10(size) - self.low) / (self.high - self.low)
        return round(LEFT + part * WIDTH, 1)

    def y(self, value: float) -> float:
        return PLANE.y(value, self.marks)

    def sizes(self) -> list[float]:
        """Return round sizes between the smallest and the largest: 1, 2, 5 times ten."""
        powers = range(math.floor(self.low), math.ceil(self.high) + 1)
        found = [m * 10.0**p for p in powers for m in (1, 2, 5)]
        inside = [s for s in found if self.low <= math.log10(s) <= self.high]
        tens = [s for s in inside if math.log10(s) == round(math.log10(s))]
        return tens if len(tens) > 2 else inside


def scatter(points: Sequence[Point], metric: MetricFacts, title: str) -> Markup:
    """Return models by size and value; '' unless two sizes have a value.

    Models of a family are joined. A label that would cover another or a point is left out,
    those of the largest of each family last: the point has its words, and the table beneath
    names every model.
    """
    shown = [bounded(p) for p in points if abs(p.value) < formats.HUGE and p.size > 0]
    shown = sorted(shown, key=lambda p: (-p.size, p.label))[:LIMIT]
    if len({p.size for p in shown}) < 2:
        return Markup("")
    scale, below = _Scale(shown, metric), words(metric, "parameters")
    ticks = [(scale.x(s), formats.parameters(round(s))) for s in scale.sizes()]
    parts = [PLANE.begin(below, title), *PLANE.axes(scale.marks, ticks)]
    parts += [*_families(shown, scale), PLANE.below(below)]
    labels = _labels(shown, scale)
    parts += [_point(p, scale, metric, labels[n]) for n, p in enumerate(shown)]
    return Markup("").join([*parts, Markup("</svg>")])


def _families(points: Sequence[Point], scale: _Scale) -> list[Markup]:
    families: dict[str, list[Point]] = {}
    for point in points:
        if point.family:
            families.setdefault(point.family, []).append(point)
    return [
        Markup(
            '<polyline class="line f{}" points="{}"><title>{}</title></polyline>'
        ).format(
            n % KINDS,
            " ".join(f"{scale.x(p.size)},{scale.y(p.value)}" for p in members),
            family,
        )
        for n, (family, members) in enumerate(sorted(families.items()))
        if len(members) > 1
    ]


def _point(
    point: Point,
    scale: _Scale,
    metric: MetricFacts,
    label: Markup,
) -> Markup:
    x, y = scale.x(point.size), scale.y(point.value)
    words = (
        f"{point.label}: {formats.parameters(round(point.size))} parameters, "
        f"{plain(metric.title)} {formats.value(point.value, metric.format)}"
    )
    reach = Markup("")
    if point.low is not None and point.high is not None:
        reach = Markup(
            '<line class="reach thin" x1="{x}" x2="{x}" y1="{low}" y2="{high}"/>'
        ).format(x=x, low=scale.y(point.low), high=scale.y(point.high))
    inside = Markup("<title>{}</title>{}").format(words, reach)
    inside += Markup('<circle class="dot" cx="{}" cy="{}" r="4"/>').format(x, y) + label
    return Markup('<a href="{}">{}</a>').format(point.href, inside)


def _labels(points: Sequence[Point], scale: _Scale) -> list[Markup]:
    """Return the label of each point: first those of the largest of each family get room."""
    seen: set[str] = set()
    first: list[int] = []
    rest: list[int] = []
    for n, point in enumerate(points):  # the largest come first
        (rest if point.family in seen else first).append(n)
        seen |= {point.family} - {""}
    places = [(scale.x(p.size), scale.y(p.value)) for p in points]
    taken = [_Box(x - NEAR, x + NEAR, y - NEAR, y + NEAR) for x, y in places]
    found = [Markup("")] * len(points)
    for n in [*first, *rest]:
        found[n] = _label(points[n].label, *places[n], taken)
    return found


class _Box(NamedTuple):
    """What a point or label covers."""

    left: float
    right: float
    top: float
    bottom: float

    def meets(self, other: _Box) -> bool:
        return (
            self.left < other.right
            and other.left < self.right
            and self.top < other.bottom
            and other.top < self.bottom
        )


def _label(text: str, x: float, y: float, taken: list[_Box]) -> Markup:
    """Return a label at the right of its point, else at its left; '' where no room is."""
    name = text if len(text) <= 25 else f"{text[:24]}…"
    wide = ASIDE + len(name) * LETTER
    for left, right, at, anchor in (
        (x + NEAR, x + wide, x + ASIDE, "start"),
        (x - wide, x - NEAR, x - ASIDE, "end"),
    ):
        box = _Box(left, right, y - LINE - 1, y - 2)
        inside = left >= LEFT and right <= LEFT + WIDTH + RIGHT
        if inside and not any(box.meets(other) for other in taken):
            taken.append(box)
            return Markup(
                '<text class="point" text-anchor="{}" x="{}" y="{}">{}</text>'
            ).format(anchor, round(at, 1), round(y - 5, 1), name)
    return Markup("")
