"""Parquet files of an archive as tables and records: one gate that all readers pass.

An archive may come from anybody. A file whose schema is not the table's, whose rows are
not as many as the manifest says, or that holds a value that helmsite never writes is an
ArchiveError before anything works with it.
"""

from __future__ import annotations

from contextlib import contextmanager
from functools import reduce
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from helmsite.archive import layout, manifests, sound, tables
from helmsite.archive.store import damage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from helmsite.archive.store import Store
    from helmsite.schema import FileFacts

_BATCH = 1000
ROWS, _BYTES = 1000, 4 << 20
_BUFFER = 1 << 18

Item = TypeVar("Item")


class Source(NamedTuple):
    """A file: where it is, which table it is to be, and how many rows it is to have."""

    path: str
    table: tables.Table
    rows: int | None


def published(path: str, facts: FileFacts) -> Source:
    """Return the source of a batch of published results."""
    return Source(path, tables.PUBLISHED, facts.rows)


@contextmanager
def opened(store: Store, source: Source, **options: Any) -> Iterator[pq.ParquetFile]:
    """Open a file whose schema and number of rows are as they should be.

    What goes wrong while it is open is damage of this file.
    """
    with store.open(source.path) as stream, damage(store.show(source.path)):
        file = pq.ParquetFile(stream, **options)
        found = file.metadata.num_rows
        if found != source.rows and found != _said(store, source):
            raise ValueError(f"{found} rows, the manifest says {source.rows}")
        schema = file.metadata.schema.to_arrow_schema()
        if not schema.equals(source.table.schema):
            raise ValueError(tables.difference(schema, source.table.schema))
        yield file


def _said(store: Store, source: Source) -> int | None:
    """Return the rows that run.json says: a run can be newer than its catalogue entry."""
    path = f"{source.path.rpartition('/')[0]}/{layout.MANIFEST}"
    blob = store.read(path)
    if blob is None:
        return None
    facts = manifests.decode(blob, store.show(path)).files.get(source.table.name)
    return None if facts is None else facts.rows


def table(
    store: Store, source: Source, columns: Sequence[str] | None = None
) -> pa.Table:
    """Return a file as a table, or some of its columns."""
    with opened(store, source) as file:
        found = file.read(None if columns is None else list(columns))
        sound.refuse(found)
        return found


def of_instance(store: Store, source: Source, instance_id: str) -> pa.Table:
    """Return the rows of a file that are about an instance.

    Only the ids are read of all rows; the rest of the row groups that hold the instance,
    a batch at a time, until all of its rows are found.
    """
    ways = {**_ways(store), "read_dictionary": ["instance_id"]}
    with opened(store, source, **ways) as file:
        wanted = pa.scalar(instance_id)
        found = [file.schema_arrow.empty_table()]
        for group in range(file.num_row_groups):
            ids = file.read_row_group(group, ["instance_id"])["instance_id"]
            left = pc.sum(pc.equal(ids, wanted)).as_py() or 0
            batches = file.iter_batches(_BATCH, [group]) if left else iter(())
            while left > 0 and (batch := next(batches, None)) is not None:
                part = batch.filter(pc.equal(batch["instance_id"], wanted))
                left -= part.num_rows
                found.append(pa.Table.from_batches([part]))
        whole = pa.concat_tables(found)
        sound.refuse(whole)
        return whole


def _ways(store: Store) -> dict[str, Any]:
    """Return how a file is opened to be read in order, with little of it in memory.

    The pages of a local file are read as they come, however large its row groups are; a
    remote one is fetched a row group at a time.
    """
    return {"pre_buffer": store.local is None, "buffer_size": _BUFFER}


def pieces(store: Store, source: Source, count: int = ROWS) -> Iterator[pa.Table]:
    """Yield a file's rows in order, at most `count` at a time, fewer of long ones.

    Memory stays flat, see `_ways`.
    """
    with opened(store, source, **_ways(store)) as file:
        for group in range(file.num_row_groups):
            facts = file.metadata.row_group(group)
            fitting = _BYTES * facts.num_rows // max(1, facts.total_byte_size)
            size = max(1, min(count, fitting))
            for batch in file.iter_batches(size, [group], use_threads=False):
                piece = pa.Table.from_batches([batch])
                sound.refuse(piece)
                yield piece


def stream(
    store: Store,
    source: Source,
    decode: Callable[[pa.Table], Iterable[Item]],
    count: int = ROWS,
) -> Iterator[Item]:
    """Yield the rows of a file as records; those of a piece are held at a time.

    A piece has at most `count` rows.

    Raises:
        ArchiveError: the file is damaged; names it.
    """
    for piece in pieces(store, source, count):
        yield from decoded(store.show(source.path), decode(piece))


def bundles(
    store: Store,
    source: Source,
    decode: Callable[[pa.Table], Iterable[Item]],
    same: Sequence[str],
) -> Iterator[list[Item]]:
    """Yield rows that follow each other and are equal in the columns `same` together.

    They are decoded as they are taken: records that live shortly stay in the caches.

    Raises:
        ArchiveError: the file is damaged; names it.
    """
    held: list[Item] = []
    last: list[Any] = []
    for piece in pieces(store, source):
        if not len(piece):
            continue
        items = decoded(store.show(source.path), decode(piece))
        keys = piece.select(same)
        sizes = [b - a for a, b in pairwise(_changes(keys))]
        first = list(islice(items, sizes[0]))
        if held and keys.slice(0, 1).to_pylist() == last:
            held.extend(first)
        else:
            if held:
                yield held
            held = first
        for size in sizes[1:]:
            yield held
            held = list(islice(items, size))
        last = keys.slice(len(keys) - 1).to_pylist()
    if held:
        yield held


def _changes(keys: pa.Table) -> list[int]:
    """Return where rows begin that differ from the one before, and where the last ends."""
    count = len(keys)
    differs = [
        pc.not_equal(c.slice(1), c.slice(0, count - 1))
        for c in keys.combine_chunks().columns
    ]
    places = pc.indices_nonzero(reduce(pc.or_, differs)).to_pylist()
    return [0, *(place + 1 for place in places), count]


def decoded(where: str, items: Iterable[Item]) -> Iterator[Item]:
    """Yield records that are being decoded from the rows of a file.

    Raises:
        ArchiveError: a row cannot be decoded; names the file.
    """
    with damage(where):
        yield from items
