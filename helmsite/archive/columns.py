"""Python values ⇄ Arrow columns, whole columns at a time and without loss."""

from __future__ import annotations

from itertools import accumulate, chain, pairwise
from typing import TYPE_CHECKING, Any

import msgspec
import pyarrow as pa

from helmsite.archive import sound, tables
from helmsite.errors import ArchiveError
from helmsite.schema import Message, Reference, TopLogprob, Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

_encoder = msgspec.json.Encoder(order="deterministic")


def to_json(value: Any) -> str | None:
    """Return canonical JSON (sorted keys), None for an empty value.

    Raises:
        ValueError: JSON cannot say it: NaN, infinity, a key that is no text, a lone
            surrogate, an object that is no JSON.
    """
    if not value:
        return None
    try:
        blob = _encoder.encode(value)
    except (TypeError, UnicodeError, OverflowError) as error:
        raise ValueError(str(error)) from error
    if (back := msgspec.json.decode(blob)) != value and back != _plain(value):
        raise ValueError("it holds NaN, infinity, or keys that are not text")
    return blob.decode()


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    return value


def from_json(text: str | None, empty: Any) -> Any:
    """Return what `to_json` was given; `empty` for None.

    Raises:
        ValueError: it is no JSON, or not of the same kind as `empty`.
    """
    if text is None:
        return empty
    value = msgspec.json.decode(text)
    if type(value) is not type(empty):
        raise ValueError(f"{_short(text)} is not a JSON {type(empty).__name__}")
    return value


def read_json(column: pa.Array, kind: type[Any] = dict) -> list[Any]:
    """Return what the JSON of each row says, a new empty `kind` where it is NULL.

    Raises:
        ValueError: as `from_json`.
    """
    if column.null_count == len(column):
        return [kind() for _ in range(len(column))]
    return [from_json(text, kind()) for text in column.to_pylist()]


def nested(
    lists: Sequence[Sequence[Any] | None],
    kind: pa.ListType,
    build: Callable[[list[Any]], pa.Array],
) -> pa.ListArray:
    """Return a list column: `build` makes one array of all the items."""
    offsets = [0, *accumulate(len(one or ()) for one in lists)]
    items = build(list(chain.from_iterable(one or () for one in lists)))
    missing = [one is None for one in lists]
    mask = pa.array(missing) if any(missing) else None
    return pa.ListArray.from_arrays(
        pa.array(offsets, pa.int32()), items, type=kind, mask=mask
    )


def unnest(column: pa.ListArray, items: Iterable[Any]) -> list[Any]:
    """Return a tuple of items for each list of a column, None for a null."""
    if column.null_count == len(column):
        return [None] * len(column)
    flat = tuple(items)
    if column.null_count == 0:
        if not flat:
            return [()] * len(column)
        offsets = accumulate(column.value_lengths().to_pylist(), initial=0)
        return [flat[a:b] for a, b in pairwise(offsets)]
    lengths = column.value_lengths().to_pylist()
    ends = accumulate(length or 0 for length in lengths)
    return [
        None if length is None else flat[end - length : end]
        for length, end in zip(lengths, ends, strict=True)
    ]


def _struct(kind: pa.StructType, *columns: Sequence[Any]) -> pa.StructArray:
    arrays = [
        c if isinstance(c, pa.Array) else pa.array(c, kind.field(i).type)
        for i, c in enumerate(columns)
    ]
    return pa.StructArray.from_arrays(arrays, fields=list(kind))


def messages(rows: Sequence[Sequence[Message]]) -> pa.Array:
    """Return the messages column."""
    kind = tables.MESSAGES
    return nested(
        rows,
        kind,
        lambda flat: _struct(
            kind.value_type,
            [m.role for m in flat],
            [m.content for m in flat],
            [to_json(m.extra) for m in flat],
        ),
    )


def read_messages(column: pa.Array) -> list[tuple[Message, ...]]:
    """Return the messages of each row."""
    roles, contents, extras = column.flatten().flatten()
    flat = map(Message, roles.to_pylist(), contents.to_pylist(), read_json(extras))
    return unnest(column, flat)


def references(rows: Sequence[Sequence[Reference]]) -> pa.Array:
    """Return the references column."""
    kind = tables.REFERENCES
    return nested(
        rows,
        kind,
        lambda flat: _struct(
            kind.value_type,
            [r.text for r in flat],
            texts([r.tags for r in flat]),
        ),
    )


def read_references(column: pa.Array) -> list[tuple[Reference, ...]]:
    """Return the references of each row."""
    text, tags = column.flatten().flatten()
    return unnest(column, map(Reference, text.to_pylist(), read_lists(tags)))


def texts(rows: Sequence[Sequence[str] | None]) -> pa.Array:
    """Return a column of lists of text."""
    return nested(rows, pa.list_(pa.string()), lambda f: pa.array(f, pa.string()))


def read_lists(column: pa.Array) -> list[Any]:
    """Return a tuple of texts or numbers, or None, for each row."""
    return unnest(column, column.flatten().to_pylist())


def reals(rows: Sequence[Sequence[float | None] | None]) -> pa.Array:
    """Return a column of lists of numbers."""
    return nested(rows, pa.list_(pa.float64()), lambda f: pa.array(f, pa.float64()))


def top_logprobs(
    rows: Sequence[Sequence[Sequence[TopLogprob]] | None],
) -> pa.Array:
    """Return the column of alternatives per token."""
    outer = tables.TOP_LOGPROBS
    inner = outer.value_type

    def pairs(flat: list[TopLogprob]) -> pa.Array:
        return _struct(
            inner.value_type, [t.token for t in flat], [t.logprob for t in flat]
        )

    return nested(rows, outer, lambda flat: nested(flat, inner, pairs))


def read_top_logprobs(column: pa.Array) -> list[Any]:
    """Return the alternatives per token, or None, for each row."""
    if column.null_count == len(column):
        return [None] * len(column)
    inner = column.flatten()
    token, logprob = inner.flatten().flatten()
    pairs = map(TopLogprob, token.to_pylist(), logprob.to_pylist())
    return unnest(column, unnest(inner, pairs))


def usages(rows: Sequence[Usage]) -> pa.Array:
    """Return the usage column."""
    return _struct(
        tables.USAGE,
        [u.prompt_tokens for u in rows],
        [u.completion_tokens for u in rows],
        [u.cached_tokens for u in rows],
    )


def read_usages(column: pa.Array) -> Iterator[Usage]:
    """Yield the usage of each row."""
    return map(Usage, *(c.to_pylist() for c in column.flatten()))


def maps(rows: Sequence[dict[str, Any]], kind: pa.MapType) -> pa.Array:
    """Return a map column, keys sorted."""
    return pa.array([sorted(d.items()) for d in rows], kind)


def read_maps(column: pa.MapArray) -> list[dict[str, Any]]:
    """Return the map of each row; values that are lists become tuples."""
    offsets = column.offsets.to_pylist()
    first, count = offsets[0], offsets[-1] - offsets[0]
    if not count:
        return [{} for _ in range(len(column))]
    values = column.items.slice(first, count)
    items = read_lists(values) if pa.types.is_list(values.type) else values.to_pylist()
    keys = column.keys.slice(first, count).to_pylist()
    pairs = list(zip(keys, items, strict=True))
    return [dict(pairs[a - first : b - first]) for a, b in pairwise(offsets)]


def batch(
    table: tables.Table, rows: Sequence[Any], get: dict[str, Callable[[Any], Any]]
) -> pa.RecordBatch:
    """Return rows as a record batch; `get` takes a column's value from a row.

    Raises:
        ArchiveError: a value that the archive cannot hold; names row and column.
    """
    arrays = []
    for field in table.schema:
        values = [get[field.name](row) for row in rows]
        try:
            arrays.append(_column(field, values))
        except (ValueError, TypeError, OverflowError) as error:
            raise _refused(table, field, rows, values) from error
    made = pa.RecordBatch.from_arrays(arrays, schema=table.schema)
    try:
        sound.refuse_lengths(made)
    except ValueError as error:
        raise ArchiveError(
            f"Cannot archive {table.name}: {error}.",
            "A client gives one log-probability (or None) for each token.",
        ) from error
    return made


def _column(field: pa.Field, values: list[Any]) -> pa.Array:
    build = _BUILD.get(field.name)
    if build is not None:
        array = build(values)
    elif pa.types.is_map(field.type):
        array = maps(values, field.type)
    else:
        array = pa.array(values, field.type)
    if array.null_count and not field.nullable:
        raise ValueError("None where a value is needed")
    sound.refuse_column(field.name, array)
    return array


_BUILD: dict[str, Callable[[Any], pa.Array]] = {
    "messages": messages,
    "references": references,
    "tokens": texts,
    "example_ids": texts,
    "token_logprobs": reals,
    "top_logprobs": top_logprobs,
    "usage": usages,
    **{
        name: lambda values: pa.array(map(to_json, values), pa.string())
        for name in ("extra", "details", "transcript", "params")
    },
    "settings": lambda values: pa.array(
        [to_json(v) or "{}" for v in values], pa.string()
    ),
}


def _refused(
    table: tables.Table, field: pa.Field, rows: Sequence[Any], values: list[Any]
) -> ArchiveError:
    """Find the first row whose value cannot be stored and say what is wrong with it."""
    for row, value in zip(rows, values, strict=True):
        try:
            _column(field, [value])
        except UnicodeError:
            why = "a lone surrogate (half of a character), which UTF-8 cannot hold"
            hint = "Escape it where the text is read, as in text.encode('utf-8', 'backslashreplace').decode()."
        except (ValueError, TypeError, OverflowError) as error:
            why, hint = (
                f"{str(error)[:200]} ({_short(value)})",
                (
                    "Leave a number out (None) and say why in `missing`; JSON holds text, "
                    "finite numbers, true, false, null, lists and objects with text keys."
                ),
            )
        else:
            continue
        owner = getattr(row, "request", getattr(row, "stat", row))
        who = getattr(owner, "instance_id", "") or getattr(owner, "metric", "")
        return ArchiveError(
            f"Cannot archive {table.name} of {who!r}: column {field.name} holds {why}.",
            hint,
        )
    return ArchiveError(f"Cannot archive {table.name}: column {field.name}.")


def _short(value: Any) -> str:
    text = ascii(value)
    return text if len(text) <= 80 else text[:77] + "..."
