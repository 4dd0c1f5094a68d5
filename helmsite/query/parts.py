"""What a scenario's page shows beside its table: its parts, and one instance whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
from msgspec import structs

from helmsite.query import disparity
from helmsite.query.index import newest
from helmsite.query.rows import Cell, Part
from helmsite.query.sql import query

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import duckdb

    from helmsite.archive import Archive
    from helmsite.query.rows import ScenarioPage
    from helmsite.schema import Instance


class Found(NamedTuple):
    """One row of parts.sql."""

    run_id: str
    split: str
    sub_split: str
    value: float | None
    ci_low: float | None
    ci_high: float | None
    n_scored: int
    n_asked: int
    origin: str

    def cell(self) -> Cell:
        """Return it as a table's cell."""
        return Cell(
            value=self.value,
            ci_low=self.ci_low,
            ci_high=self.ci_high,
            n_scored=self.n_scored,
            n_asked=self.n_asked,
            missing="" if self.value is not None else "not measurable",
            run_id=self.run_id,
            origin=self.origin,
        )


def completed(
    page: ScenarioPage, archive: Archive, held: Mapping[str, Sequence[Found]]
) -> ScenarioPage:
    """Return a scenario's page with its parts and an example; `held` is of `by_run`.

    The example is the first request of the newest run that has one, with what came back
    and what was right.
    """
    page = structs.replace(page, parts=parts(page, held))
    page = structs.replace(page, gaps=disparity.of_scenario(page))
    for run in sorted(page.runs, key=lambda r: -newest(r.manifest)):
        files = archive.run(run.manifest.run_id)
        first = files.first_reply()
        if first is None:
            continue
        request = first.request
        known: list[Instance] = list(files.rows_of("instances", request.instance_id))
        own = [i for i in known if i.perturbation == request.perturbation]
        return structs.replace(
            page,
            example=request,
            example_reply=first.completion,
            example_instance=own[0] if own else None,
            example_run=run.manifest.run_id,
        )
    return page


def by_run(
    connection: duckdb.DuckDBPyConnection, mains: Mapping[str, str]
) -> dict[str, list[Found]]:
    """Return each run's values of its scenario's main metric, one per part.

    Args:
        connection: the cache, with the table `entry`.
        mains: the main metric of each scenario.
    """
    texts = {"scenario": list(mains), "metric": list(mains.values())}
    wanted = pa.table({name: pa.array(c, pa.string()) for name, c in texts.items()})
    connection.register("main", wanted)
    found: dict[str, list[Found]] = {}
    for row in map(Found._make, connection.execute(query("parts")).fetchall()):
        found.setdefault(row.run_id, []).append(row)
    return found


def parts(page: ScenarioPage, held: Mapping[str, Sequence[Found]]) -> tuple[Part, ...]:
    """Return the main metric's values by split and sub-split, a cell for each row."""
    runs = [row.cells[0].run_id for row in page.rows]
    cells: dict[tuple[str, str], dict[str, Cell]] = {}
    for run in dict.fromkeys(runs):
        for row in held.get(run, ()):
            cells.setdefault((row.split, row.sub_split), {})[run] = row.cell()
    return tuple(
        Part(
            split,
            sub_split,
            tuple(cells[split, sub_split].get(r, Cell()) for r in runs),
        )
        for split, sub_split in sorted(cells)
    )
