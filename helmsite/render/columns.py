"""Columns of a score index, written so that a script can read 100,000 rows at once.

A column is `{"of": [value]}` where all rows have the same value, `{"of": values, "at":
text}` where few values occur (one or two characters of `DIGITS` per row say which), and
else the list of its values. Ids that end in a number are a prefix and the step from the
number before. static/rows.js reads the same.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Sequence

DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
BASE = len(DIGITS)
NUMBER = 15  # digits at most: more are not exact in a script
PAIRS = [a + b for a in DIGITS for b in DIGITS]
WORTH = 4  # rows per value from which two characters a row are shorter than the value


class _Places(dict[Any, int]):
    """Where each value stands among the different ones."""

    def __missing__(self, value: Hashable) -> int:
        place = self[value] = len(self)
        return place


class Column:
    """Collects a column row by row: four bytes for each, and each value once.

    Args:
        nothing: the value of rows that were left out.
    """

    __slots__ = ("_known", "_nothing", "_places")

    def __init__(self, nothing: Hashable = None) -> None:
        self._known = _Places()
        self._places = array("I")
        self._nothing = nothing

    def __len__(self) -> int:
        return len(self._places)

    def put(self, row: int, value: Hashable) -> None:
        """Keep a row's value; rows come in order."""
        places = self._places
        if len(places) < row:
            self.fill(row)
        places.append(self._known[value])

    def fill(self, rows: int) -> None:
        """Make it so many rows long."""
        if (missing := rows - len(self._places)) > 0:
            self._places.extend([self._known[self._nothing]] * missing)

    def takes(self, value: Hashable, most: int) -> bool:
        """Return whether with a value there would be at most so many different ones."""
        return value in self._known or len(self._known) < most

    def values(self) -> Iterator[Hashable]:
        """Yield the value of each row."""
        known = list(self._known)
        return (known[place] for place in self._places)

    def count(self, value: Hashable) -> int:
        """Return how many rows have a value."""
        place = self._known.get(value)
        return 0 if place is None else self._places.count(place)

    def encoded(self) -> Any:
        """Return the column as JSON can hold it."""
        known, places = list(self._known), self._places
        if len(known) == 1:
            return {"of": known}
        if len(known) <= BASE and places:
            return {"of": known, "at": "".join([DIGITS[p] for p in places])}
        if len(known) <= len(PAIRS) and len(known) * WORTH <= len(places):
            return {"of": known, "at": "".join([PAIRS[p] for p in places])}
        return [known[p] for p in places]


class IdColumn:
    """Collects ids as prefixes and steps, as they are where that is shorter."""

    def __init__(self) -> None:
        self._heads, self._steps = Column(), Column()
        self._first: list[int] = []
        self._number = 0
        self._plain: list[str] | None = None

    def add(self, name: str) -> None:
        """Add the id of the next row."""
        if self._plain is None:
            digits = name[len(name.rstrip("0123456789")) :][-NUMBER:]
            if digits and self._step(name[: -len(digits)], digits):
                return
            self._plain = list(self._ids())
            self._heads, self._steps = Column(), Column()
        self._plain.append(name)

    def _step(self, prefix: str, digits: str) -> bool:
        """Add an id that ends in a number; return whether prefixes are few enough."""
        width = len(digits) if digits[0] == "0" and digits != "0" else 0
        row, number = len(self._heads), int(digits)
        if not self._heads.takes((prefix, width), BASE):
            return False
        self._heads.put(row, (prefix, width))
        if row:
            self._steps.put(row - 1, number - self._number)
        else:
            self._first = [number]
        self._number = number
        return True

    def _ids(self) -> Iterator[str]:
        return _numbered(self._heads.values(), [*self._first, *self._steps.values()])

    def encoded(self) -> Any:
        """Return the column as JSON can hold it."""
        if self._plain is not None:
            return encode(self._plain)
        heads, steps = self._heads.encoded(), self._steps
        step = steps.encoded() if len(steps) else []
        return {"head": heads, "first": self._first, "step": step}


def encode(values: Iterable[Hashable]) -> Any:
    """Return a column as JSON can hold it."""
    column = Column()
    for row, value in enumerate(values):
        column.put(row, value)
    return column.encoded()


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
    column = IdColumn()
    for name in ids:
        column.add(name)
    return column.encoded()


def decode_ids(column: Any, rows: int) -> list[str]:
    """Return ids."""
    return list(each_id(column, rows))


def each_id(column: Any, rows: int) -> Iterator[str]:
    """Yield ids."""
    if isinstance(column, list) or "of" in column:
        yield from decode(column, rows)
    elif rows:
        steps = [*column["first"], *decode(column["step"], rows - 1)]
        yield from _numbered(decode(column["head"], rows), steps)


def _numbered(heads: Iterable[Any], steps: Iterable[Any]) -> Iterator[str]:
    number = 0
    for (prefix, width), step in zip(heads, steps, strict=True):
        number += step
        yield f"{prefix}{number:0{width}d}"


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value
