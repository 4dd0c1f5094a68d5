"""The tables of a run as Arrow schemas, and how they are written to Parquet.

Key columns are never null. NULL elsewhere means "not said": JSON columns are NULL for an
empty object (but `settings`, a key: {}), `score_start` for a request that generates.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from helmsite.errors import ArchiveError
from helmsite.schema import SCHEMA_VERSION

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


class Table(NamedTuple):
    """A table's name, columns and key; `short` columns get statistics and dictionaries."""

    name: str
    schema: pa.Schema
    key: tuple[str, ...]
    short: tuple[str, ...]

    @property
    def json_columns(self) -> tuple[str, ...]:
        """Text columns that hold JSON."""
        return tuple(f.name for f in self.schema if f.name in _JSON)


_JSON = frozenset({"extra", "details", "transcript", "params", "settings"})

_TEXT, _INT, _REAL = pa.string(), pa.int32(), pa.float64()
MESSAGES = pa.list_(
    pa.struct([("role", _TEXT), ("content", _TEXT), ("extra", _TEXT)]),
)
REFERENCES = pa.list_(pa.struct([("text", _TEXT), ("tags", pa.list_(_TEXT))]))
ATTRIBUTES = pa.map_(_TEXT, pa.list_(_TEXT))
TOP_LOGPROBS = pa.list_(
    pa.list_(pa.struct([("token", _TEXT), ("logprob", _REAL)])),
)
USAGE = pa.struct(
    [("prompt_tokens", _INT), ("completion_tokens", _INT), ("cached_tokens", _INT)]
)


def _schema(name: str, key: tuple[str, ...], columns: dict[str, pa.DataType]) -> Table:
    nullable = {c for c in columns if c in _NULLABLE and c not in key}
    fields = [pa.field(c, t, nullable=c in nullable) for c, t in columns.items()]
    short = tuple(c for c in columns if c in _SHORT)
    return Table(name, pa.schema(fields), key, short)


_NULLABLE = _JSON | {
    "score_start", "tokens", "token_logprobs", "top_logprobs", "logprob", "duration_s",
    "started_at", "value", "weight", "stderr", "ci_low", "ci_high",
}  # fmt: skip
_SHORT = frozenset({
    "instance_id", "perturbation", "position", "split", "sub_split", "trial", "mode",
    "request_index", "reference_index", "completion_index", "prompt_kind",
    "finish_reason", "model_version", "cached", "truncated", "num_train_instances",
    "metric", "scorer", "origin", "missing", "computed_on", "scenario", "model",
    "source_file", "source_sha256", "settings", "params",
})  # fmt: skip

INSTANCES = _schema(
    "instances",
    ("instance_id", "perturbation"),
    {
        "instance_id": _TEXT,
        "perturbation": _TEXT,
        "position": _INT,
        "content_hash": _TEXT,
        "split": _TEXT,
        "sub_split": _TEXT,
        "attributes": ATTRIBUTES,
        "input": _TEXT,
        "messages": MESSAGES,
        "references": REFERENCES,
        "extra": _TEXT,
    },
)
REQUESTS = _schema(
    "requests",
    (
        "instance_id",
        "perturbation",
        "trial",
        "mode",
        "request_index",
        "reference_index",
        "completion_index",
    ),
    {
        "instance_id": _TEXT,
        "perturbation": _TEXT,
        "trial": _INT,
        "mode": _TEXT,
        "request_index": _INT,
        "reference_index": _INT,
        "completion_index": _INT,
        "prompt": _TEXT,
        "prompt_kind": _TEXT,
        "messages": MESSAGES,
        "params": _TEXT,
        "output_mapping": pa.map_(_TEXT, _TEXT),
        "example_ids": pa.list_(_TEXT),
        "num_train_instances": _INT,
        "truncated": pa.bool_(),
        "num_conditioning_tokens": _INT,
        "score_start": _INT,
        "completion": _TEXT,
        "reasoning": _TEXT,
        "transcript": _TEXT,
        "tokens": pa.list_(_TEXT),
        "token_logprobs": pa.list_(_REAL),
        "top_logprobs": TOP_LOGPROBS,
        "logprob": _REAL,
        "finish_reason": _TEXT,
        "usage": USAGE,
        "duration_s": _REAL,
        "started_at": _REAL,
        "cached": pa.bool_(),
        "model_version": _TEXT,
        "error": _TEXT,
        "extra": _TEXT,
    },
)
SCORES = _schema(
    "scores",
    (
        "instance_id",
        "perturbation",
        "trial",
        "request_index",
        "reference_index",
        "completion_index",
        "metric",
        "scorer",
        "origin",
    ),
    {
        "instance_id": _TEXT,
        "perturbation": _TEXT,
        "trial": _INT,
        "request_index": _INT,
        "reference_index": _INT,
        "completion_index": _INT,
        "metric": _TEXT,
        "scorer": _TEXT,
        "value": _REAL,
        "weight": _REAL,
        "text": _TEXT,
        "details": _TEXT,
        "origin": _TEXT,
        "missing": _TEXT,
    },
)
_STAT_COLUMNS = {
    "metric": _TEXT,
    "scorer": _TEXT,
    "split": _TEXT,
    "sub_split": _TEXT,
    "perturbation": _TEXT,
    "computed_on": _TEXT,
    "trial": _INT,
    "value": _REAL,
    "stderr": _REAL,
    "ci_low": _REAL,
    "ci_high": _REAL,
    "n_scored": _INT,
    "n_asked": _INT,
    "origin": _TEXT,
    "missing": _TEXT,
    "details": _TEXT,
}
_STAT_KEY = (
    "metric",
    "scorer",
    "split",
    "sub_split",
    "perturbation",
    "computed_on",
    "trial",
    "origin",
)
STATS = _schema("stats", _STAT_KEY, _STAT_COLUMNS)
PUBLISHED = _schema(
    "published",
    ("scenario", "model", "settings", "source_file", *_STAT_KEY),
    {
        "scenario": _TEXT,
        "model": _TEXT,
        "settings": _TEXT,
        "source_file": _TEXT,
        "source_sha256": _TEXT,
        **_STAT_COLUMNS,
    },
)
RUN_TABLES = {t.name: t for t in (INSTANCES, REQUESTS, SCORES, STATS)}


def writer(
    table: Table, path: Path, names: Mapping[str, str] | None = None
) -> pq.ParquetWriter:
    """Open a Parquet file with the archive's settings; equal rows give equal bytes.

    `names` goes into the footer's key-value metadata, as `helmsite.<name>`.

    zstd 9: 6 % smaller than 3 and as quick to read; writing is a fraction of a second
    either way. Pages of up to 8 MB, so that what prompts share is stored once a row
    group. No Arrow schema in the footer (it would be most of a small file).
    """
    facts = {"table": table.name, "schema_version": str(SCHEMA_VERSION)}
    file = pq.ParquetWriter(
        path,
        table.schema,
        compression="zstd",
        compression_level=9,
        use_dictionary=[name for name in table.short if name != "position"],
        write_statistics=list(table.short),
        data_page_size=8 << 20,
        max_rows_per_page=10_000_000,
        store_schema=False,
        version="2.6",
    )
    said = {f"helmsite.{k}": v for k, v in {**facts, **(names or {})}.items()}
    file.add_key_value_metadata(said)
    return file


def known(name: str) -> Table:
    """Return a table of a run by its name.

    Raises:
        ArchiveError: there is no such table.
    """
    if name not in RUN_TABLES:
        raise ArchiveError(
            f"A run has no table {name!r}.", f"Its tables: {', '.join(RUN_TABLES)}."
        )
    return RUN_TABLES[name]


def difference(found: pa.Schema, expected: pa.Schema) -> str:
    """Say how the schema of a file is not the one expected."""
    lacks = [n for n in expected.names if n not in found.names]
    more = [n for n in found.names if n not in expected.names]
    common = [f for f in expected if f.name in found.names]
    types = {f.name: (found.field(f.name).type, f.type) for f in common}
    changed = [f"{n} is {a}, not {b}" for n, (a, b) in types.items() if a != b]
    nulls = [
        f"{f.name} may be null"
        for f in common
        if found.field(f.name).nullable and not f.nullable
    ]
    parts = [
        f"lacks the columns {', '.join(lacks)}" if lacks else "",
        f"has unknown columns {', '.join(more)}" if more else "",
        *changed,
        *nulls,
    ]
    return (
        "the file " + "; ".join(p for p in parts if p)
        if any(parts)
        else "columns are in another order"
    )
