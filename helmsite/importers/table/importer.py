"""Tables of results: CSV, JSONL, JSON arrays and Parquet.

What their columns hold is told by a mapping (`mapping`): the user's, a ready one
that fits, or else by columns with obvious names.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import structs

from helmsite.errors import SourceError
from helmsite.importers.found import Found
from helmsite.importers.table import files
from helmsite.importers.table import mapping as mappings
from helmsite.importers.table.advice import skeleton
from helmsite.importers.table.cells import Cells
from helmsite.importers.table.files import Table
from helmsite.importers.table.groups import Groups
from helmsite.importers.table.mapping import Mapping
from helmsite.importers.table.plan import guessed, planned
from helmsite.importers.table.results import Results
from helmsite.importers.table.runs import Sorter, runs
from helmsite.importers.table.troubles import Troubles

if TYPE_CHECKING:
    from collections.abc import Iterator

    from helmsite.importers.found import Aggregates, Imported, Notes
    from helmsite.importers.tree import File, Tree

WORKBOOK = b"PK\x03\x04"
MOST_COLUMNS = 12


class Tables:
    """Takes tables; `Tree.mapping` is the mapping that the user gave, if any."""

    title = "Tables"

    def survey(self, tree: Tree, notes: Notes) -> Iterator[Found]:
        """Claim the tables among the files; skip those whose columns nobody explains."""
        ready = mappings.ready()
        for file in tree.open():
            try:
                table = _looked(tree, file)
            except SourceError as error:
                tree.claim(file.path)
                notes.skip(file.name, error.why)
                continue
            if table is None:
                continue
            mapping, why = _chosen(table, tree.mapping, ready, file)
            if mapping is not None and not table.first:
                mapping, why = None, "a table without rows"
            if mapping is not None:
                tree.claim(file.path)
                found = _found(file, table, mapping)
                if tree.mapping is not None:
                    found = structs.replace(found, reading=_mark(mapping))
                yield found
            elif why:
                tree.claim(file.path)
                notes.skip(file.name, why)

    def read(self, found: Found, notes: Notes) -> Iterator[Imported | Aggregates]:
        """Yield the runs, or the results without instances, of a table.

        Raises:
            SourceError: the file cannot be read.
        """
        name, path = found.names[0], Path(found.files[0])
        table = msgspec.convert(found.options["table"], Table)
        mapping = msgspec.convert(found.options["mapping"], Mapping)
        plan, problems = planned(mapping, table.columns)
        if plan is None:
            raise SourceError(name, "; ".join(problems))
        if not mapping.encoding and files.legacy(path, table):
            table = structs.replace(table, encoding=files.LEGACY)
            why = "not UTF-8: read as Windows-1252; if that is wrong, say `encoding`"
            notes.problem(SourceError(name, why))
        cells = Cells(table.decimal, mapping.separator, mapping.missing)
        rows, troubles = files.rows(path, table, name), Troubles(notes, name)
        if plan.rows == "results":
            results = Results(plan, cells, troubles)
            results.take(rows)
            yield from results.made()
        else:
            with Groups() as groups:
                Sorter(plan, cells).sort(rows, groups, troubles)
                yield from runs(plan, cells, groups, found.key, troubles)
        troubles.end()


def _looked(tree: Tree, file: File) -> Table | None:
    head = tree.head(file.path)
    suffix = file.path.suffix.lower()
    if head.startswith(WORKBOOK):
        if suffix in {".xlsx", ".xlsm", ".ods"}:
            raise SourceError(file.name, "a workbook: save its sheet as CSV")
        return None
    table = files.look(file.path, head, tree.mapping)
    usual = (*files.CSV_NAMES, ".txt")
    if table and table.form == "csv" and suffix not in usual and not tree.mapping:
        return None
    return table


def _chosen(
    table: Table,
    given: Mapping | None,
    ready: list[tuple[str, Mapping]],
    file: File,
) -> tuple[Mapping | None, str]:
    """Return the mapping of a table or, if there is none, why; '' if it is no table."""
    if given is not None:
        _, problems = planned(given, table.columns)
        gone = [column for column in given.needs if column not in table.columns]
        problems += [f"there is no column '{column}'" for column in gone]
        if problems:
            return None, f"the mapping does not fit: {'; '.join(problems)}"
        return _filled(given, file), ""
    for _, each in ready:
        if each.needs and set(each.needs) <= set(table.columns):
            return _filled(each, file), ""
    own = guessed(table.columns)
    if own is not None and not planned(own, table.columns)[1]:
        return own, ""
    return None, _advice(table, file)


def _advice(table: Table, file: File) -> str:
    """Return what to type for a table that nobody explains; '' if it may be none at all."""
    if table.form == "csv" and file.path.suffix.lower() not in files.CSV_NAMES:
        return ""
    listed = ", ".join(table.columns[:MOST_COLUMNS])
    more = ", ..." if len(table.columns) > MOST_COLUMNS else ""
    if table.form == "csv" and any(map(_is_number, table.columns)):
        return (
            f"a table whose first line ({listed}{more}) has values, not the names of columns: "
            "write a line with their names above it"
        )
    return (
        f"a table whose columns ({listed}{more}) do not say what they hold. Tell it: "
        f"{skeleton(table)} (--constant FIELD=TEXT for what is the same in all rows; "
        "'scores=*', 'scenarios=*' or 'models=*' for a column each), or --map FILE"
    )


def _is_number(name: str) -> bool:
    return re.fullmatch(r"[-+]?\d*[.,]\d+ ?%?", name) is not None


def _filled(mapping: Mapping, file: File) -> Mapping:
    """Return a mapping whose constants have the file's name in the place of {stem}."""
    path = file.path
    folder = Path(file.name).parent.name or path.parent.name
    known = {"{stem}": path.stem, "{name}": path.name, "{folder}": folder}

    def told(written: str | float) -> str | float:
        for sign, value in known.items():
            if isinstance(written, str):
                written = written.replace(sign, value)
        return written

    return structs.replace(
        mapping,
        constants={name: told(text) for name, text in mapping.constants.items()},
        set={name: told(text) for name, text in mapping.set.items()},
    )


def _found(file: File, table: Table, mapping: Mapping) -> Found:
    """Return a find; its first model and scenario tell it from other files of its name."""
    plan, _ = planned(mapping, table.columns)
    assert plan is not None
    cells = Cells(table.decimal, mapping.separator, mapping.missing)
    own = {"model": "models", "scenario": "scenarios"}
    said = {
        field: plan.cells[0].name
        if plan.axis == axis
        else cells.name(plan.cell(table.first, field))
        for field, axis in own.items()
    }
    constants = mapping.constants
    return Found(
        importer="table",
        key=f"{file.path.name}:{said['scenario']}/{said['model']}",
        files=(str(file.path),),
        names=(file.name,),
        title=mapping.title or f"{table.form} table",
        model=str(constants.get("model", "")),
        scenario=str(constants.get("scenario", "")),
        when=file.changed,
        options={
            "table": msgspec.to_builtins(structs.replace(table, first={})),
            "mapping": msgspec.to_builtins(mapping),
        },
    )


def _mark(mapping: Mapping) -> str:
    """Return what a mapping is known by."""
    blob = msgspec.json.encode(mapping, order="deterministic")
    return hashlib.sha256(blob).hexdigest()


IMPORTER = Tables()
