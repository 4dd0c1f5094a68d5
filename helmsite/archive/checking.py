"""Is an archive whole? Every problem with the next step."""

from __future__ import annotations

import hashlib
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from helmsite.archive import layout, rows, sound, staging, tables
from helmsite.archive.indexing import is_published, scan
from helmsite.archive.published import of_footer
from helmsite.archive.store import UNSOUND, damage
from helmsite.errors import ArchiveError
from helmsite.schema import Manifest, Record

if TYPE_CHECKING:
    from collections.abc import Iterator

    from helmsite.archive.catalogue import Catalogue, Entry
    from helmsite.archive.indexing import Scan
    from helmsite.archive.store import Store

_REINDEX = "Type: helmsite check --reindex."
_DERIVED = frozenset({"scores", "stats"})


class Problem(Record, frozen=True):
    """Something wrong: in which run (if in one) and file, what, and what to do."""

    severity: Literal["error", "warning"]
    where: str
    what: str
    next_step: str
    run_id: str = ""


def check(store: Store, catalogue: Catalogue, deep: bool) -> list[Problem]:
    """Return all problems of an archive, those of the catalogue first, then by path."""
    found = scan(store)
    problems = list(_catalogue(catalogue, found))
    problems += _interrupted(store, catalogue)
    problems += _strays(found)
    for path, error in found.unreadable.items():
        problems.append(Problem("error", path, error.message, error.hint))
    for entry in sorted(found.entries.values(), key=lambda e: e.path):
        if entry.manifest is not None:
            problems += _Run(store, entry, entry.manifest, found).check(deep)
        elif deep:
            problems += _published(store, entry)
    return problems


def verified(store: Store, entry: Entry) -> tuple[Path, ...]:
    """Return the files of a run in a local archive that are what its manifest says."""
    if store.local is None or entry.manifest is None:
        return ()
    files = entry.manifest.files
    expected = {
        f"{n}.parquet": files[n].sha256 for n in tables.RUN_TABLES if n in files
    }
    found = []
    for name, sha256 in {**expected, layout.MANIFEST: entry.sha256}.items():
        try:
            path = store.path(f"{entry.path}/{name}")
            with store.open(f"{entry.path}/{name}") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]
        except ArchiveError:
            continue
        if digest == sha256:
            found.append(Path(path))
    return tuple(sorted(found))


def _catalogue(catalogue: Catalogue, found: Scan) -> Iterator[Problem]:
    try:
        broken = catalogue.damaged()
        listed = None if broken else catalogue.entries()
    except ArchiveError as error:
        yield Problem("error", layout.CATALOGUE, error.message, error.hint)
        return
    if broken:
        for path in broken:
            yield Problem(
                "error", path, "this part of the catalogue is damaged", _REINDEX
            )
        return
    if listed is None:
        if found.entries:
            what = "there is no catalogue: every command looks through all folders"
            yield Problem("warning", layout.CATALOGUE, what, _REINDEX)
        return
    for key in sorted(listed.keys() | found.entries.keys()):
        old, new = listed.get(key), found.entries.get(key)
        if old is None and new is not None:
            yield Problem("error", new.path, "not in the catalogue", _REINDEX, key)
        elif new is None and old is not None:
            what = "in the catalogue, but its files are gone"
            yield Problem("error", old.path, what, _REINDEX, key)
        elif old and new and (old.sha256, old.path) != (new.sha256, new.path):
            what = "the catalogue holds another version of it"
            yield Problem("error", new.path, what, _REINDEX, key)


def _interrupted(store: Store, catalogue: Catalogue) -> Iterator[Problem]:
    try:
        left = [f"{layout.INCOMING}/{name}" for name in staging.leftovers(store)]
        left += catalogue.torn()
    except ArchiveError as error:
        yield Problem("error", layout.INCOMING, error.message, error.hint)
        return
    for path in left:
        what = "an interrupted write left files behind"
        yield Problem("warning", path, what, _REINDEX)


def _strays(found: Scan) -> Iterator[Problem]:
    homes = {path.rpartition("/")[0] for path in found.files}
    for home in sorted(homes):
        if f"{home}/{layout.MANIFEST}" in found.files:
            continue
        if home.rpartition("/")[2].startswith("run="):
            what = "files of a run without run.json: its upload or deletion was interrupted"
            step = "Run it again, or delete this folder; other commands pass over it."
            yield Problem("warning", home, what, step)
    for path in found.files:
        if "/run=" not in path and not is_published(path):
            what = "not a file of an archive"
            yield Problem("warning", path, what, "Move it elsewhere or delete it.")


def _published(store: Store, entry: Entry) -> Iterator[Problem]:
    try:
        with store.open(entry.path) as source, damage(store.show(entry.path)):
            file = pq.ParquetFile(source)
            table = file.read()
            of_footer(file.metadata.metadata)
    except ArchiveError as error:
        yield Problem("error", entry.path, error.message, error.hint)
        return
    for what in _content(tables.PUBLISHED, table):
        step = "Import these results again from their source."
        yield Problem("error", entry.path, what, step)


class _Run:
    """The check of one run."""

    def __init__(
        self, store: Store, entry: Entry, manifest: Manifest, found: Scan
    ) -> None:
        self._store, self._path, self._manifest = store, entry.path, manifest
        self._files = found.files

    def check(self, deep: bool) -> list[Problem]:
        """Return the problems of the run."""
        problems = list(self._identity())
        read: dict[str, pa.Table] = {}
        for name, table in tables.RUN_TABLES.items():
            wrong = self._size(name)
            if not wrong and deep:
                wrong = self._digest(name)
            if wrong:
                problems.append(self._problem(name, wrong))
            elif deep:
                problems += self._rows(table, read)
        if deep:
            problems += self._orphans(read)
            problems += self._counts(read)
        return problems

    def _identity(self) -> Iterator[Problem]:
        manifest = self._manifest
        where = f"{self._path}/{layout.MANIFEST}"
        if manifest.spec_id != manifest.spec.spec_id:
            step = "Run it again: someone changed the spec by hand."
            what = "the spec_id is not that of the spec"
            yield Problem("error", where, what, step, manifest.run_id)
        known = {f"{name}.parquet" for name in tables.RUN_TABLES} | {layout.MANIFEST}
        for path in self._files:
            home, _, name = path.rpartition("/")
            if home == self._path and name not in known:
                step = "Move it elsewhere or delete it."
                yield Problem(
                    "warning", path, "not a file of a run", step, manifest.run_id
                )

    def _size(self, name: str) -> str:
        facts = self._manifest.files.get(name)
        size = self._files.get(self._file(name))
        if size is None:
            return "the file is missing"
        if facts is None:
            return "the manifest says nothing of this file"
        if size != facts.bytes:
            return f"{size} bytes, the manifest says {facts.bytes}"
        return ""

    def _digest(self, name: str) -> str:
        try:
            with self._store.open(self._file(name)) as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]
        except ArchiveError as error:
            return error.message
        if digest != self._manifest.files[name].sha256:
            return "the SHA-256 is not the manifest's"
        return ""

    def _rows(
        self, table: tables.Table, read: dict[str, pa.Table]
    ) -> Iterator[Problem]:
        """Check one file's schema and rows; keep its key columns in `read`."""
        try:
            kept = self._read(table)
        except ArchiveError as error:
            yield self._problem(table.name, error.message)
            return
        if isinstance(kept, str):
            yield self._problem(table.name, kept)
            return
        read[table.name], unsound = kept
        for what in [*_content(table, read[table.name])] or unsound:
            yield self._problem(table.name, what)

    def _read(self, table: tables.Table) -> tuple[pa.Table, list[str]] | str:
        """Return the columns to be looked at and what else is wrong with the values.

        Or what is wrong with the schema or the number of rows: then nothing is read.
        """
        where = self._file(table.name)
        with self._store.open(where) as source, damage(where):
            file = pq.ParquetFile(source)
            expected = self._manifest.files[table.name].rows
            if file.metadata.num_rows != expected:
                return f"{file.metadata.num_rows} rows, the manifest says {expected}"
            if not file.schema_arrow.equals(table.schema):
                return tables.difference(file.schema_arrow, table.schema)
            wanted = table.schema.empty_table().select(_looked_at(table))
            parts = [wanted]
            unsound: dict[str, None] = {}
            for number in range(file.num_row_groups):  # whole: every page is decoded
                group = file.read_row_group(number)
                parts.append(group.select(wanted.column_names))
                try:
                    sound.refuse(group)
                    self._decode(table.name, group)
                except UNSOUND as error:
                    unsound[str(error)] = None
            return pa.concat_tables(parts), list(unsound)

    def _decode(self, name: str, group: pa.Table) -> None:
        """Decode every row once, for the JSON in it."""
        default = self._manifest.spec.adapter.decoding
        decode = {
            "instances": rows.read_instances,
            "requests": lambda g: rows.read_replies(g, default),
            "scores": rows.read_scores,
            "stats": rows.read_stats,
        }
        deque(decode[name](group), maxlen=0)

    def _orphans(self, read: dict[str, pa.Table]) -> Iterator[Problem]:
        if "instances" not in read:
            return
        known = _pairs(read["instances"])
        for name in ("requests", "scores"):
            if name in read and (lost := _pairs(read[name]) - known):
                example = min(lost)[0]
                what = f"{len(lost)} instances are not in instances.parquet, as {example!r}"
                yield self._problem(name, what)

    def _counts(self, read: dict[str, pa.Table]) -> Iterator[Problem]:
        """Compare the manifest's counts with the rows."""
        counts, where = self._manifest.counts, f"{self._path}/{layout.MANIFEST}"
        said = {}
        if "requests" in read:
            table = read["requests"]
            keys = [c for c in tables.REQUESTS.key if c != "completion_index"]
            asked = table.group_by(keys).aggregate([("error", "max")])
            failed = pc.sum(pc.not_equal(asked["error_max"], "")).as_py() or 0
            said = {"failed": failed, "answered": asked.num_rows - failed}
        if "scores" in read:
            said["scored"] = (
                read["scores"].num_rows - read["scores"]["value"].null_count
            )
        for name, count in said.items():
            if getattr(counts, name) != count:
                what = f"the manifest counts {getattr(counts, name)} {name}, there are {count}"
                step = "Score the run again (helmsite score); if that does not help, run it again."
                yield Problem("error", where, what, step, self._manifest.run_id)

    def _file(self, name: str) -> str:
        return f"{self._path}/{name}.parquet"

    def _problem(self, name: str, what: str) -> Problem:
        run_id = self._manifest.run_id
        step = (
            f"Score it again: helmsite score {run_id}."
            if name in _DERIVED
            else "Restore the file from a copy, or delete the run's folder and run it again."
        )
        return Problem("error", self._file(name), what, step, run_id)


def _looked_at(table: tables.Table) -> list[str]:
    extra = ["error"] if "error" in table.schema.names else []
    numbers = [f.name for f in table.schema if pa.types.is_floating(f.type)]
    lists = [n for n in ("token_logprobs",) if n in table.schema.names]
    return [*table.key, *extra, *numbers, *lists]


def _pairs(table: pa.Table) -> set[tuple[str, str]]:
    pairs = table.select(["instance_id", "perturbation"])
    distinct = pairs.group_by(pairs.column_names).aggregate([])
    return set(zip(*(c.to_pylist() for c in distinct.columns), strict=True))


def _content(table: tables.Table, rows: pa.Table) -> Iterator[str]:
    """Say what is wrong with keys and numbers (that no key is null, the schema says)."""
    distinct = rows.select(table.key).group_by(list(table.key)).aggregate([])
    if twice := rows.num_rows - distinct.num_rows:
        yield f"{twice} rows repeat the key of another ({', '.join(table.key)})"
    for name, column in zip(rows.column_names, rows.columns, strict=True):
        if pa.types.is_list(column.type):
            column = pc.list_flatten(column)  # noqa: PLW2901
        if pa.types.is_floating(column.type):
            odd = pc.sum(pc.invert(pc.is_finite(column))).as_py()
            if odd:
                yield f"{odd} values of {name} are NaN or infinite"
