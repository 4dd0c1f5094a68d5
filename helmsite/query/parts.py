"""What a scenario's page shows beside its table: its parts, and one instance whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from msgspec import structs

from helmsite.archive import rows as archived
from helmsite.archive.reading import decoded
from helmsite.query.index import newest
from helmsite.query.rows import Cell, Part
from helmsite.query.sql import query

if TYPE_CHECKING:
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
    page: ScenarioPage, archive: Archive, connection: duckdb.DuckDBPyConnection
) -> ScenarioPage:
    """Return a scenario's page with its parts and an example.

    The example is the first request of the newest run that has one, with what came back
    and what was right.
    """
    page = structs.replace(page, parts=parts(page, connection))
    for run in sorted(page.runs, key=lambda r: -newest(r.manifest)):
        files = archive.run(run.manifest.run_id)
        first = files.first_reply()
        if first is None:
            continue
        request = first.request
        where = f"{archive.root}, run {run.manifest.run_id},"
        table = files.rows_of("instances", request.instance_id)
        known: list[Instance] = list(decoded(where, archived.read_instances(table)))
        own = [i for i in known if i.perturbation == request.perturbation]
        return structs.replace(
            page,
            example=request,
            example_reply=first.completion,
            example_instance=own[0] if own else None,
            example_run=run.manifest.run_id,
        )
    return page


def parts(
    page: ScenarioPage, connection: duckdb.DuckDBPyConnection
) -> tuple[Part, ...]:
    """Return the main metric's values by split and sub-split, a cell for each row."""
    if not page.columns:
        return ()
    runs = [row.cells[0].run_id for row in page.rows]
    found = connection.execute(
        query("parts"), {"runs": runs, "metric": page.columns[0].metric.name}
    ).fetchall()
    cells: dict[tuple[str, str], dict[str, Cell]] = {}
    for row in map(Found._make, found):
        cells.setdefault((row.split, row.sub_split), {})[row.run_id] = row.cell()
    return tuple(
        Part(split, sub_split, tuple(own.get(run, Cell()) for run in runs))
        for (split, sub_split), own in cells.items()
    )
