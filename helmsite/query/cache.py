"""The aggregates of all runs in one DuckDB file, which can be deleted at any time."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from typing import TYPE_CHECKING

import duckdb
import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from helmsite.query import published
from helmsite.query.sql import query

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from helmsite.archive import Archive
    from helmsite.schema import Manifest

FORMAT = "2"
BATCH = 64
SAFE: dict[str, str | bool | int | float | list[str]] = {
    "threads": 1,
    "enable_external_access": "false",
    "autoload_known_extensions": "false",
    "autoinstall_known_extensions": "false",
}
LOCKED = "Could not set lock"
STAT_COLUMNS = [
    *("metric", "scorer", "origin", "split", "sub_split", "perturbation"),
    *("computed_on", "trial", "value", "stderr", "ci_low", "ci_high"),
    *("n_scored", "n_asked", "missing"),
]


class _HeldError(Exception):
    """Another process has the file open."""


def open_cache(archive: Archive, path: Path | None) -> duckdb.DuckDBPyConnection:
    """Return a connection whose tables hold the aggregates of everything in the archive.

    Only runs whose manifest is new or changed are read, and batches of published results. A file that is damaged anywhere
    or of another format is made anew; one that another process holds, or a folder that
    cannot be written, leads to a cache in memory.
    """
    manifests = archive.manifests()
    if path is not None:
        with suppress(_HeldError, OSError, duckdb.Error):
            path.parent.mkdir(parents=True, exist_ok=True)
            return _from_file(path, archive, manifests)
    return _filled(_connect(":memory:"), archive, manifests)


def _from_file(
    path: Path, archive: Archive, manifests: Sequence[Manifest]
) -> duckdb.DuckDBPyConnection:
    """Open the file; where DuckDB finds fault with it, begin a new one."""
    try:
        return _filled(_known(path), archive, manifests)
    except duckdb.Error:
        for file in (path, path.with_name(path.name + ".wal")):
            file.unlink(missing_ok=True)
        return _filled(_connect(str(path)), archive, manifests)


def _known(path: Path) -> duckdb.DuckDBPyConnection:
    """Open a file of this format (or none), every block of which can be read."""
    is_new = not path.exists()
    connection = _connect(str(path))
    try:
        if not is_new:
            _refuse_foreign(connection)
            found = connection.execute("SELECT format FROM cache_format").fetchall()
            if found != [(FORMAT,)]:
                raise duckdb.DataError(f"the cache has the format {found}")
            connection.execute(query("cache_verify")).fetchall()
    except BaseException:
        connection.close()
        raise
    return connection


def _refuse_foreign(connection: duckdb.DuckDBPyConnection) -> None:
    """Refuse a file that holds anything but this module's tables: no view or macro runs."""
    with _connect(":memory:") as fresh:
        fresh.execute(query("cache"))
        expected = fresh.execute(query("cache_contents")).fetchall()
    found = connection.execute(query("cache_contents")).fetchall()
    if found != expected:
        raise duckdb.DataError("the cache holds something else than its tables")


def _connect(name: str) -> duckdb.DuckDBPyConnection:
    """Open a database whose SQL can reach no other file and load no extension."""
    try:
        connection = duckdb.connect(name, config=SAFE)
        connection.execute("SET lock_configuration = true")
        return connection
    except duckdb.IOException as error:
        if LOCKED in str(error):
            raise _HeldError from error
        raise


def digest(manifest: Manifest) -> str:
    """Return 64 hex digits over everything that a manifest says."""
    blob = msgspec.json.encode(manifest, order="deterministic")
    return hashlib.sha256(blob).hexdigest()


def _filled(
    connection: duckdb.DuckDBPyConnection,
    archive: Archive,
    manifests: Sequence[Manifest],
) -> duckdb.DuckDBPyConnection:
    """Bring the tables up to date, all or nothing."""
    try:
        connection.begin()
        connection.execute(query("cache"))
        connection.execute("DELETE FROM cache_format")
        connection.execute("INSERT INTO cache_format VALUES (?)", [FORMAT])
        current = {m.run_id: digest(m) for m in manifests}
        held = dict(connection.execute("SELECT run_id, digest FROM run").fetchall())
        stale = sorted(r for r, d in held.items() if current.get(r) != d)
        if stale:
            connection.register("stale", pa.table({"run_id": stale}))
            connection.execute(query("cache_forget"))
        fresh = [m for m in manifests if held.get(m.run_id) != current[m.run_id]]
        for start in range(0, len(fresh), BATCH):
            ids = [m.run_id for m in fresh[start : start + BATCH]]
            _add(connection, archive, {run_id: current[run_id] for run_id in ids})
        published.fill(connection, archive)
        connection.commit()
    except BaseException:
        connection.close()
        raise
    return connection


def _add(
    connection: duckdb.DuckDBPyConnection, archive: Archive, digests: dict[str, str]
) -> None:
    """Read the aggregates of a few runs."""
    stats, counts = [], []
    for run_id in digests:
        table = archive.table(run_id, "stats", STAT_COLUMNS)
        stats.append(table.append_column("run_id", pa.repeat(run_id, len(table))))
        versions = archive.table(run_id, "instances", ["perturbation"])["perturbation"]
        counts.append(pc.sum(pc.equal(versions, "")).as_py() or 0)
    fresh = {
        "run_id": list(digests),
        "digest": list(digests.values()),
        "n_instances": pa.array(counts, pa.int32()),
    }
    connection.register("fresh_run", pa.table(fresh))
    connection.register("fresh_stat", pa.concat_tables(stats))
    connection.execute(query("cache_add"))
