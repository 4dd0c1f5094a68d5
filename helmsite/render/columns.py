"""Columns of a score index, written so that a script can read 100,000 rows at once.

A column is `{"of": [value]}` where all rows have the same value, `{"of": values, "at":
text}` where few values occur (one or two characters of `DIGITS` per row say which), and
else the list of its values. Ids that end in a number are a prefix and the step from the
number before. static/rows.js reads the same.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
BASE = len(DIGITS)
NUMBERED = re.compile(r"(.*?)([0-9]{1,15})\Z", re.DOTALL)
PAIRS = [a + b for a in DIGITS for b in DIGITS]
WORTH = 4  # rows per value from which two characters a row are shorter than the value


def encode(values: Sequence[Hashable]) -> Any:
    """Return a column as JSON can hold it."""
    known: dict[Hashable, int] = {}
    places = [known.setdefault(value, len(known)) for value in values]
    if len(known) == 1:
        return {"of": list(known)}
    if len(known) <= BASE and places:
        return {"of": list(known), "at": "".join([DIGITS[p] for p in places])}
    if len(known) <= len(PAIRS) and len(known) * WORTH <= len(places):
        return {"of": list(known), "at": "".join([PAIRS[p] for p in places])}
    return list(values)


def decode(column: Any, rows: int) -> list[Any]:
    """Return the values of a column, lists as tuples."""
    if isinstance(column, list):
        return [_frozen(v) for v in column]
    known = [_frozen(v) for v in column["of"]]
    if len(known) == 1:
        return known * rows
    text = column["at"]
    if len(text) == rows:
        return [known[DIGITS.index(c)] for c in text]
    pairs = (text[i : i + 2] for i in range(0, len(text), 2))
    return [known[DIGITS.index(a) * BASE + DIGITS.index(b)] for a, b in pairs]


def encode_ids(ids: Sequence[str]) -> Any:
    """Return ids as prefixes and steps, as a plain column where that is shorter."""
    found = [NUMBERED.match(i) for i in ids]
    heads, numbers = [], [0]
    for match in found:
        if match is None:
            return encode(ids)
        prefix, digits = match.groups()
        heads.append((prefix, len(digits) if digits[0] == "0" and digits != "0" else 0))
        numbers.append(int(digits))
    if len(set(heads)) > BASE:
        return encode(ids)
    steps = [after - before for before, after in pairwise(numbers)]
    first = steps[:1]
    return {"head": encode(heads), "first": first, "step": encode(steps[1:])}


def decode_ids(column: Any, rows: int) -> list[str]:
    """Return ids."""
    if isinstance(column, list) or "of" in column:
        return decode(column, rows)
    steps = [*column["first"], *decode(column["step"], rows - 1)] if rows else []
    number, ids = 0, []
    for (prefix, width), step in zip(decode(column["head"], rows), steps, strict=True):
        number += step
        ids.append(f"{prefix}{number:0{width}d}")
    return ids


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value
