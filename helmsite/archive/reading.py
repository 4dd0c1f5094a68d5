"""Parquet files of an archive as tables and records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from helmsite.archive import rows
from helmsite.archive.store import damage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from helmsite.archive.store import Store
    from helmsite.schema import Decoding, Reply

_BATCH = 1000


def table(store: Store, relative: str, columns: list[str] | None = None) -> pa.Table:
    """Return a file as a table, or some of its columns."""
    with store.open(relative) as source, damage(store.show(relative)):
        return pq.ParquetFile(source).read(columns)


def of_instance(store: Store, relative: str, instance_id: str) -> pa.Table:
    """Return the rows of a file that are about an instance.

    Only the ids are read of all rows; the rest of the row groups that hold the instance,
    a batch at a time.
    """
    with store.open(relative) as source, damage(store.show(relative)):
        file = pq.ParquetFile(source, read_dictionary=["instance_id"])
        wanted = pa.scalar(instance_id)
        groups = [
            g
            for g in range(file.num_row_groups)
            if _holds(file.read_row_group(g, ["instance_id"]), wanted)
        ]
        found = [file.schema_arrow.empty_table()]
        for batch in file.iter_batches(_BATCH, row_groups=groups):
            part = batch.filter(pc.equal(batch["instance_id"], wanted))
            if part.num_rows:
                found.append(pa.Table.from_batches([part]))
        return pa.concat_tables(found)


def _holds(ids: pa.Table, wanted: pa.Scalar[Any]) -> bool:
    return bool(pc.any(pc.equal(ids["instance_id"], wanted)).as_py())


def replies(store: Store, relative: str, default: Decoding) -> Iterator[Reply]:
    """Yield the replies of a file, a row group at a time."""
    with store.open(relative) as source, damage(store.show(relative)):
        file = pq.ParquetFile(source)
        for group in range(file.num_row_groups):
            yield from rows.read_replies(file.read_row_group(group), default)
