"""The last line of a table of groups: how far the best of them is ahead of the worst."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import structs

from helmsite.render import formats
from helmsite.render.parts import CellView
from helmsite.render.runcells import SUB_SPLIT
from helmsite.render.text import plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from helmsite.query.rows import Gap
    from helmsite.render.parts import Stats
    from helmsite.schema import MetricFacts

MEANS = (
    "Best less worst: how far the best group is ahead of the worst, with its 95 % interval; "
    "of many groups, some are apart by chance."
)
NONE = CellView("")


def of_table(gaps: Iterable[Gap], split: str, dimension: str) -> list[Gap]:
    """Return the gaps between the rows of a table."""
    own = "" if dimension == SUB_SPLIT else dimension
    return [g for g in gaps if (g.split, g.dimension) == (split, own)]


def cell(gap: Gap | None, facts: MetricFacts | None) -> CellView:
    """Return a gap with its interval; nothing where there is none."""
    if gap is None:
        return NONE
    form = facts.format if facts else "number"
    ends = "no interval"
    if gap.ci_low is not None and gap.ci_high is not None:
        low, high = (formats.rough(end, form) for end in (gap.ci_low, gap.ci_high))
        ends = f"{low} to {high}"
    groups = formats.count(gap.groups, "group")
    apart = f"{plain(gap.best)} is ahead of {plain(gap.worst)}, of {groups}"
    return CellView(
        text=formats.value(gap.value, form),
        sort=repr(round(gap.value, 9)),
        title=apart if round(gap.value, 9) else f"the same in all {groups}",
        part=ends,
    )


def with_foot(table: Stats, cells: Sequence[CellView]) -> Stats:
    """Return a table with a last line, if anything stands in it, and what that means."""
    if not any(c.sort for c in cells):
        return table
    more = " ".join(filter(None, (table.more, MEANS)))
    return structs.replace(table, foot=tuple(cells), more=more)
