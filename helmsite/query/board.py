"""Tables of models: which run fills a cell, how the models compare."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
import pyarrow as pa
from msgspec import structs

from helmsite.query import joint, ranking, statistics
from helmsite.query.index import WORST
from helmsite.query.rows import Cell, Column, LeaderboardRow
from helmsite.query.sql import query

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    import duckdb
    from numpy.typing import NDArray

    from helmsite.query.index import Index
    from helmsite.query.outcomes import Outcomes
    from helmsite.query.rows import Hole

MOST_DRAWN = 20_000
"""Rank bands are told for tables with so many cells of results without instances."""
HOLES: dict[str, Hole] = {
    "failed": "failed",
    "not asked": "not asked",
    "not measurable": "not measurable",
    "nan": "not measurable",
    "unparsed": "not measurable",
}


class Found(NamedTuple):
    """One row of cells.sql."""

    place: int
    line: str
    chosen: str
    is_published: bool
    is_held: bool
    value: float | None
    origin: str | None
    scorer: str | None
    ci_low: float | None
    ci_high: float | None
    n_scored: int | None
    n_asked: int | None
    missing: str | None
    others: list[str]
    more_sources: int

    def cell(self, column: Column) -> Cell:
        """Return the cell, without its place among the others of its column."""
        reason: Hole
        if self.is_held and self.missing:
            reason = HOLES.get(self.missing, "not measurable")
        elif self.is_published:
            reason = "not reported"
        elif column.perturbation in WORST and not self.is_held:
            reason = "not asked"
        else:
            reason = "not measurable"
        return Cell(
            value=self.value,
            ci_low=self.ci_low,
            ci_high=self.ci_high,
            n_scored=self.n_scored or 0,
            n_asked=self.n_asked or 0,
            missing="" if self.value is not None else reason,
            run_id="" if self.is_published else self.chosen,
            other_runs=tuple(self.others),
            origin=self.origin or "computed",
            scorer=self.scorer or "",
            source=self.chosen if self.is_published else "",
            more_sources=self.more_sources,
        )


By = Literal["line", "model", "run"]
Lines = dict[str, list[Cell]]
Members = dict[str, list[list[Cell]]]
"""By line, and per column, the cells of the scenarios that it stands for."""


def tables(
    connection: duckdb.DuckDBPyConnection,
    wanted: Mapping[str, Sequence[Column]],
    by: By,
    sources: Collection[str] = (),
) -> dict[str, Lines]:
    """Return the lines of several tables at once, by the names that `wanted` gives them.

    A line is a model's cells, one per column, not yet compared with those of others;
    lines with anything about the columns' scenarios are there, by name. By run, each
    run is a line by its id, as if it were a model of its own, and so are these sources.
    """
    found = _members(connection, wanted, by, sources)
    return {name: _joined(lines) for name, lines in found.items()}


def _members(
    connection: duckdb.DuckDBPyConnection,
    wanted: Mapping[str, Sequence[Column]],
    by: By,
    sources: Collection[str] = (),
) -> dict[str, Members]:
    flat = [
        (name, place, part, head, column)
        for head, (name, place, whole) in enumerate(
            (name, n, c) for name, cs in wanted.items() for n, c in enumerate(cs)
        )
        for part, column in enumerate(whole.parts)
    ]
    found: dict[str, Members] = {name: {} for name in wanted}
    if not flat:
        return found
    heads = [head for *_, head, _ in flat]
    connection.register("wanted", _wanted([column for *_, column in flat], heads))
    shown = {"run_id": pa.array(sorted(sources), pa.string())}
    connection.register("shown", pa.table(shown))
    rows = connection.execute(query("cells"), {"by": by}).fetchall()
    for row in map(Found._make, rows):
        name, place, part, _, column = flat[row.place]
        if row.line not in found[name]:
            found[name][row.line] = [[Cell()] * len(c.parts) for c in wanted[name]]
        found[name][row.line][place][part] = row.cell(column)
    return {name: dict(sorted(lines.items())) for name, lines in found.items()}


def _joined(lines: Members) -> Lines:
    return {
        model: [joint.cell(cells) for cells in line] for model, line in lines.items()
    }


def compare(lines: Iterable[list[Cell]], columns: Sequence[Column]) -> None:
    """Give each cell its place among those of its column.

    A mean over some of a column's scenarios is set beside no other: it has none.
    """
    all_lines = list(lines)
    for place, column in enumerate(columns):
        cells = [line[place] for line in all_lines]
        values = [cell.value if cell.is_whole else None for cell in cells]
        direction = column.metric.higher_is_better
        heats = ranking.heats(values, direction)
        bests = ranking.bests(values, direction)
        for line, heat, best in zip(all_lines, heats, bests, strict=True):
            line[place] = structs.replace(line[place], heat=heat, best=best)


def _wanted(columns: Sequence[Column], heads: Sequence[int]) -> pa.Table:
    text = pa.string()
    return pa.table(
        {
            "place": pa.array(range(len(columns)), pa.int32()),
            "head": pa.array(heads, pa.int32()),
            "scenario": pa.array([c.scenario.name for c in columns], text),
            "metric": pa.array([c.metric.name for c in columns], text),
            "split": pa.array([c.split for c in columns], text),
            "perturbation": pa.array([c.perturbation for c in columns], text),
            "computed_on": pa.array([c.computed_on for c in columns], text),
        }
    )


def rows(
    connection: duckdb.DuckDBPyConnection,
    index: Index,
    columns: Sequence[Column],
    outcomes: Outcomes | None,
    by: By = "line",
) -> tuple[LeaderboardRow, ...]:
    """Return a table's lines: best win rate first, those without one last, by name.

    With `outcomes`, models get rank bands, unless the table is too large for that.
    """
    members = _members(connection, {"": columns}, by)[""]
    lines = _joined(members)
    compare(lines.values(), columns)
    values = list(members.values())
    table = [_present(values, place, column) for place, column in enumerate(columns)]
    rates = ranking.win_rates(ranking.column_wins(table, len(lines)))
    bands = [0] * len(lines)
    if outcomes is not None and any(count for _, count in rates) and _few(values):
        drawn = (
            _drawn(values, p, column, outcomes) for p, column in enumerate(columns)
        )
        won = ranking.column_wins(drawn, len(lines))
        bands = ranking.bands([rate for rate, _ in rates], won)
    found = [
        LeaderboardRow(
            card=index.cards[index.lines[name].model],
            cells=tuple(line),
            win_rate=rate,
            win_rate_columns=count,
            coverage=sum(c.value is not None for c in line) / len(columns),
            band=band,
            variant=index.lines[name].variant if by == "line" else "",
        )
        for (name, line), (rate, count), band in zip(
            lines.items(), rates, bands, strict=True
        )
    ]
    return tuple(sorted(found, key=_order))


def _few(lines: Iterable[list[list[Cell]]]) -> bool:
    """Return whether so few cells are of sources that resamples of all fit into memory."""
    cells = (c for line in lines for column in line for c in column if c.source)
    return sum(1 for _ in cells) <= MOST_DRAWN


def scenario_rows(
    index: Index, columns: Sequence[Column], chosen: Mapping[str, Cell], runs: Lines
) -> tuple[tuple[Column, ...], tuple[LeaderboardRow, ...]]:
    """Return a scenario's columns, the first one its main metric, and its lines.

    A line is one run from end to end: the one that fills the first column. Of the other
    columns those remain in which such a run has a value. No win rates; sorted by the
    first column, best first.

    Args:
        index: what the manifests say.
        columns: those that the scenario offers.
        chosen: each line's cell of the first column.
        runs: the cells of each run, and of each source that fills one of `chosen`.
    """
    own = {name: runs[main.run_id or main.source] for name, main in chosen.items()}
    by_line: dict[str, Lines] = {name: {} for name in chosen}
    for run_id, line in runs.items():
        if run_id in index.line_of:
            by_line[index.line_of[run_id]][run_id] = line
    kept = [
        place
        for place in range(len(columns))
        if place == 0 or any(line[place].value is not None for line in own.values())
    ]
    lines = {
        name: [
            structs.replace(
                line[place],
                other_runs=_others(chosen[name], by_line[name], place),
                more_sources=0 if place else chosen[name].more_sources,
            )
            for place in kept
        ]
        for name, line in own.items()
    }
    shown = tuple(columns[place] for place in kept)
    compare(lines.values(), shown)

    def order(name: str) -> tuple[bool, float, str]:
        value = lines[name][0].value
        sign = 1 if columns[0].metric.higher_is_better is False else -1
        return value is None, sign * ranking.rounded(value or 0.0), name

    return shown, tuple(
        LeaderboardRow(
            card=index.cards[index.lines[name].model],
            cells=tuple(lines[name]),
            coverage=sum(c.value is not None for c in lines[name]) / len(shown),
            variant=index.lines[name].variant,
        )
        for name in sorted(lines, key=order)
    )


def _others(main: Cell, runs: Lines, place: int) -> tuple[str, ...]:
    """Return the other runs of a line's model that hold a column, best offer first."""
    return tuple(
        run_id
        for run_id in dict.fromkeys([*main.other_runs, *runs])
        if run_id != main.run_id
        and (runs[run_id][place].n_asked or runs[run_id][place].value is not None)
    )


def _order(row: LeaderboardRow) -> tuple[float, int, str, str]:
    rate = -1.0 if row.win_rate is None else ranking.rounded(row.win_rate)
    return -rate, row.band, row.card.name, row.variant


Values = tuple[list[int], "NDArray[np.float64]", bool | None]


def _present(lines: Sequence[list[list[Cell]]], place: int, column: Column) -> Values:
    """Return the models with a value in a column, and their values in each member.

    NaN where a model has none in a member; shape (members, models with a value).
    """
    present = [
        m
        for m, line in enumerate(lines)
        if any(c.value is not None for c in line[place])
    ]
    values = np.array(
        [[cell.value for cell in lines[m][place]] for m in present], dtype=np.float64
    )
    shape = len(present), len(column.parts)
    return present, values.reshape(shape).T, column.metric.higher_is_better


def _drawn(
    lines: Sequence[list[list[Cell]]], place: int, column: Column, outcomes: Outcomes
) -> Values:
    """Return the same in each resample, (members, resamples, models with a value)."""
    present, values, direction = _present(lines, place, column)
    found = np.full((len(values), statistics.RESAMPLES, len(present)), np.nan)
    if direction is None or len(present) < 2:
        return present, found, direction  # it counts for nothing
    for part, member in enumerate(column.parts):
        cells = [lines[m][place][part] for m in present]
        has = [m for m, cell in enumerate(cells) if cell.value is not None]
        ran = [m for m in has if cells[m].run_id]
        runs = [cells[m].run_id for m in ran]
        found[part][:, ran] = outcomes.draws(member, runs, values[part][ran])
        for m in set(has) - set(ran):
            found[part][:, m] = _normal(member, cells[m])
    return present, found, direction


def _normal(column: Column, cell: Cell) -> NDArray[np.float64]:
    """Return a number of which an interval is known alone, in each resample.

    It varies independently of all others: which instances models share is not known.
    """
    value = cell.value or 0.0
    if cell.ci_low is None or cell.ci_high is None:
        return np.full(statistics.RESAMPLES, value)
    reach = max(value - cell.ci_low, cell.ci_high - value)
    seed = f"{column.scenario.name}\0{column.metric.name}\0{cell.source}"
    return statistics.normal(seed, value, reach / statistics.Z)
