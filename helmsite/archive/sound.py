"""Whether the values of a table can be worked with: what every reader and writer relies on.

Parquet lets a file hold NaN, null inside lists, text that is not UTF-8 and lists that do
not belong together. helmsite writes none of that and reads none of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Iterator

LATEST_S = 253_370_764_800.0  # the year 9999: later, and earlier than 1970, is no date
_OPTIONAL = frozenset({
    "extra", "prompt_tokens", "completion_tokens", "cached_tokens", "token_logprobs",
})  # fmt: skip
_REAL = frozenset(kind.id for kind in (pa.float16(), pa.float32(), pa.float64()))


def refuse(table: pa.Table) -> None:
    """Refuse a table that was read from a file, or some of its columns.

    Raises:
        ValueError: a value that helmsite never writes; names the column.
    """
    table.validate(full=True)
    for name, column in zip(table.column_names, table.columns, strict=True):
        try:
            for chunk in column.chunks:
                refuse_column(name, chunk)
        except ValueError as error:
            raise ValueError(f"{name} holds {error}") from error
    refuse_lengths(table)


def refuse_column(name: str, array: pa.Array) -> None:
    """Refuse NaN, infinity, a time that is no date, and null inside a list or struct.

    Raises:
        ValueError: there is such a value; says which.
    """
    kind = array.type
    if kind.id in _REAL:
        if pc.all(pc.is_finite(array), min_count=0).as_py() is False:
            raise ValueError("NaN or infinity")
        if name == "started_at":
            ends = pc.min_max(array).as_py().values()
            if any(t is not None and not 0 <= t <= LATEST_S for t in ends):
                raise ValueError("a time that is not from 1970 to 9999")
    if not kind.num_fields:
        return
    for inner, part in _parts(name, array):
        if part.null_count and inner not in _OPTIONAL:
            raise ValueError(f"null in the place of {inner}")
        refuse_column(inner, part)


def refuse_lengths(table: pa.Table | pa.RecordBatch) -> None:
    """Refuse completions with another number of tokens than of log-probabilities.

    Raises:
        ValueError: there is such a row; gives its number.
    """
    if not {"tokens", "token_logprobs"} <= set(table.schema.names):
        return
    tokens, logprobs = (
        pc.list_value_length(table.column(n)) for n in ("tokens", "token_logprobs")
    )
    if tokens.equals(logprobs):
        return
    unequal = pc.fill_null(pc.not_equal(tokens, logprobs), fill_value=False)
    row = pc.index(unequal, pa.scalar(value=True)).as_py()
    if row >= 0:
        raise ValueError(
            f"row {row} has {tokens[row]} tokens and {logprobs[row]} token_logprobs"
        )


def _parts(name: str, array: Any) -> Iterator[tuple[str, pa.Array]]:
    kind = array.type
    if pa.types.is_map(kind):
        yield f"a key of {name}", array.keys
        yield f"a value of {name}", array.items
    elif pa.types.is_list(kind):
        yield name, array.flatten()
    elif pa.types.is_struct(kind):
        names = [kind.field(i).name for i in range(kind.num_fields)]
        yield from zip(names, array.flatten(), strict=True)
