"""The plane that points and lines of a chart lie in: its frame, its axes, its words."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from markupsafe import Markup

from helmsite.render import formats
from helmsite.render.board import arrow
from helmsite.render.charts import LINE, NB, broken, written
from helmsite.render.text import plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from helmsite.schema import MetricFacts

WORDS = 54
"""So many letters fit into a line below the axis."""


class Plane(NamedTuple):
    """A plane and the room around it, in pixels."""

    left: int
    width: int
    right: int
    top: int
    height: int
    bottom: int

    def y(self, value: float, marks: Sequence[float]) -> float:
        """Return how far from the top a value lies, between the first and the last mark."""
        part = (value - marks[0]) / (marks[-1] - marks[0])
        return round(self.top + (1 - min(1.0, max(0.0, part))) * self.height, 1)

    def begin(self, words: Sequence[str], title: str) -> Markup:
        """Return the beginning of a chart with lines of words below its axis."""
        width = self.left + self.width + self.right
        height = self.top + self.height + self.bottom + (len(words) - 1) * LINE
        return Markup(
            '<svg class="chart" viewBox="0 0 {0} {1}" width="{0}" height="{1}" role="group" '
            'aria-label="{2}">'
        ).format(width, height, title)

    def axes(
        self, marks: Sequence[float], ticks: Iterable[tuple[float, str]]
    ) -> list[Markup]:
        """Return the lines of values, and words at places along the axis."""
        made = [
            Markup(
                '<line class="grid" x1="{x0}" x2="{x1}" y1="{y}" y2="{y}"/>'
                '<text class="side" x="{at}" y="{base}">{words}</text>'
            ).format(
                x0=self.left,
                x1=self.left + self.width,
                y=self.y(mark, marks),
                at=self.left - 6,
                base=self.y(mark, marks) + 4,
                words=f"{mark:g}".replace("-", formats.MINUS),
            )
            for mark in marks
        ]
        made += [
            Markup('<text class="tick" x="{}" y="{}">{}</text>').format(
                x, self.top + self.height + 16, words
            )
            for x, words in ticks
        ]
        return made

    def below(self, words: Sequence[str]) -> Markup:
        """Return the lines of words below the axis."""
        return written("axis", self.left, self.top + self.height + 34, words)


def words(metric: MetricFacts, by: str) -> list[str]:
    """Return what stands below an axis: the metric, its good direction, what it goes by."""
    unit = f" ({plain(metric.unit)})" if metric.unit else ""
    known = [plain(metric.title) + unit, " ".join(arrow(metric)).strip()]
    return broken(", ".join([*filter(None, known), f"by {by}{NB}→"]), WORDS)
