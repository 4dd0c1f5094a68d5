"""Columns that stand for several scenarios: where they lead, what their cells say."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import structs

from helmsite.render import formats, reach
from helmsite.render.names import link

if TYPE_CHECKING:
    from collections.abc import Iterable

    from helmsite.query.rows import Cell, Column
    from helmsite.render.names import SiteMap
    from helmsite.render.parts import CellView

SOME = (
    "n of N: a mean over so many of the column's N scenarios; two models are compared by "
    "their means over those that both have."
)


def target(site: SiteMap, path: str, column: Column) -> str:
    """Return how the page at `path` reaches what a column is about.

    Its scenario, or the leaderboard of the scenarios that it is the mean of.
    """
    if column.members:
        return link(path, site.board(column.board, column.family))
    return link(path, site.scenario(column.scenario.name))


def source(site: SiteMap, path: str, column: Column, cell: Cell) -> str:
    """Return how the page at `path` reaches what a cell's value was made from."""
    if column.members:
        return target(site, path, column)
    return reach.source(site, path, cell)


def words(cell: Cell) -> str:
    """Return 'mean over 57 scenarios' or 'mean over 5 of 57 scenarios', '' of one."""
    if not cell.of or cell.value is None:
        return ""
    over = "" if cell.is_whole else f"{cell.held} of "
    return f"mean over {over}{formats.count(cell.of, 'scenario')}"


def told(view: CellView, cell: Cell) -> CellView:
    """Return a cell's view with the number of its scenarios where some are missing."""
    if cell.value is None or cell.is_whole:
        return view
    return structs.replace(view, part=f"{cell.held} of {cell.of}", some=cell.held)


def scenarios(columns: Iterable[Column]) -> set[str]:
    """Return the names of all scenarios that columns stand for."""
    return {part.scenario.name for column in columns for part in column.parts}
