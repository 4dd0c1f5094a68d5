"""Records ⇄ tables, exact in both directions."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import structs

from helmsite.archive import columns, tables
from helmsite.schema import (
    Completion,
    Decoding,
    Instance,
    PublishedStat,
    Record,
    Reply,
    Request,
    Score,
    Stat,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import pyarrow as pa

    Getters = dict[str, Callable[[Any], Any]]


def _getters(table: tables.Table, prefix: dict[str, type[Record]]) -> Getters:
    """Return a getter per column: the attribute of that name, of a part that has it."""
    found: Getters = {}
    for name in table.schema.names:
        part = next((p for p, r in prefix.items() if name in r.__struct_fields__), "")
        found[name] = attrgetter(f"{part}.{name}" if part else name)
    return found


_INSTANCE = _getters(tables.INSTANCES, {})
_SCORE = _getters(tables.SCORES, {})
_STAT = _getters(tables.STATS, {})
_PUBLISHED = _getters(tables.PUBLISHED, {"stat": Stat})
_REPLY: Getters = {
    **_getters(tables.REQUESTS, {"request": Request, "completion": Completion}),
    "completion": attrgetter("completion.text"),
}


def instances(rows: Sequence[Instance]) -> pa.RecordBatch:
    """Return instances as rows of the table `instances`."""
    return columns.batch(tables.INSTANCES, rows, _INSTANCE)


def replies(rows: Sequence[Reply], default: Decoding) -> pa.RecordBatch:
    """Return replies as rows of `requests`; `params` says what differs from `default`."""
    cache: dict[Decoding, dict[str, Any]] = {}

    def params(row: Reply) -> dict[str, Any]:
        decoding = row.request.decoding
        if decoding not in cache:
            cache[decoding] = _difference(decoding, default)
        return cache[decoding]

    get: Getters = {**_REPLY, "params": params}
    return columns.batch(tables.REQUESTS, rows, get)


def scores(rows: Sequence[Score]) -> pa.RecordBatch:
    """Return scores as rows of the table `scores`."""
    return columns.batch(tables.SCORES, rows, _SCORE)


def stats(rows: Sequence[Stat]) -> pa.RecordBatch:
    """Return stats as rows of the table `stats`."""
    return columns.batch(tables.STATS, rows, _STAT)


def published(rows: Sequence[PublishedStat]) -> pa.RecordBatch:
    """Return published results as rows of their table."""
    return columns.batch(tables.PUBLISHED, rows, _PUBLISHED)


def read_instances(table: pa.Table) -> Iterator[Instance]:
    """Yield the instances of a table."""
    get = _Columns(table)
    yield from map(
        Instance,
        get.plain("instance_id"),
        get.plain("input"),
        columns.read_references(get["references"]),
        *map(get.plain, ("perturbation", "position", "split", "sub_split")),
        columns.read_maps(get["attributes"]),
        columns.read_messages(get["messages"]),
        get.json("extra"),
    )


def read_replies(table: pa.Table, default: Decoding) -> Iterator[Reply]:
    """Yield the replies of a table; `default` is the decoding of the run's spec."""
    get = _Columns(table)
    cache: dict[str | None, Decoding] = {None: default}
    base = structs.asdict(default)

    def decoding(params: str | None) -> Decoding:
        if params not in cache:
            changed = {**base, **columns.from_json(params, {})}
            cache[params] = msgspec.convert(changed, Decoding)
        return cache[params]

    requests = map(
        Request,
        get.plain("instance_id"),
        get.plain("prompt"),
        map(decoding, get.plain("params")),
        *map(get.plain, ("perturbation", "trial", "mode")),
        *map(get.plain, ("request_index", "reference_index", "prompt_kind")),
        columns.read_messages(get["messages"]),
        columns.read_maps(get["output_mapping"]),
        columns.read_lists(get["example_ids"]),
        *map(get.plain, ("num_train_instances", "truncated")),
        *map(get.plain, ("num_conditioning_tokens", "score_start")),
    )
    completions = map(
        Completion,
        *map(get.plain, ("completion", "reasoning")),
        map(tuple, get.json("transcript", list)),
        columns.read_lists(get["tokens"]),
        columns.read_lists(get["token_logprobs"]),
        columns.read_top_logprobs(get["top_logprobs"]),
        *map(get.plain, ("logprob", "finish_reason")),
        columns.read_usages(get["usage"]),
        *map(get.plain, ("duration_s", "started_at", "cached", "model_version")),
        get.plain("error"),
        get.json("extra"),
    )
    yield from map(Reply, requests, completions, get.plain("completion_index"))


def read_scores(table: pa.Table) -> Iterator[Score]:
    """Yield the scores of a table."""
    return _read_flat(table, Score)


def read_stats(table: pa.Table) -> Iterator[Stat]:
    """Yield the stats of a table."""
    return _read_flat(table, Stat)


def read_published(table: pa.Table) -> Iterator[PublishedStat]:
    """Yield the published results of a table."""
    get = _Columns(table)
    yield from map(
        PublishedStat,
        get.plain("scenario"),
        get.plain("model"),
        _read_flat(table, Stat),
        get.json("settings"),
        get.plain("source_file"),
        get.plain("source_sha256"),
    )


def _read_flat(table: pa.Table, record: type[Any]) -> Iterator[Any]:
    get = _Columns(table)
    names = record.__struct_fields__
    yield from map(
        record, *(get.json(n) if n == "details" else get.plain(n) for n in names)
    )


class _Columns:
    """The columns of a table as Python values."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table.combine_chunks()

    def __getitem__(self, name: str) -> pa.Array:
        column = self._table.column(name)
        if column.num_chunks == 1:
            return column.chunk(0)
        return column.combine_chunks()

    def plain(self, name: str) -> list[Any]:
        values: list[Any] = self._table.column(name).to_pylist()
        return values

    def json(self, name: str, kind: type[Any] = dict) -> list[Any]:
        return columns.read_json(self[name], kind)


def _difference(decoding: Decoding, default: Decoding) -> dict[str, Any]:
    mine, usual = structs.asdict(decoding), structs.asdict(default)
    return {k: v for k, v in mine.items() if v != usual[k]}
