"""Plain data of other tools, asked for what should be there.

row = Row(value, Place("scenario_state.json"))
row.text("model")                     # SourceError: model: expected a text, got 3
row.number("logprob", None)           # None where there is none, NaN or an infinity
row.row("instance").rows("references")
row.rest("model", "logprob")          # what else there is, as an archive can hold it
"""

from __future__ import annotations

import ast
import math
import warnings
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, overload

from helmsite.errors import SourceError

if TYPE_CHECKING:
    from collections.abc import Iterator

T = TypeVar("T")
NAMES = {
    type(None): "nothing",
    bool: "yes or no",
    dict: "an object",
    list: "a list",
    int: "a number",
    float: "a number",
    str: "a text",
}
WORDS = {"nan": math.nan, "inf": math.inf, "infinity": math.inf}
LONG = 40


class _Must:
    """The default of what must be there."""


MUST = _Must()


class Place(NamedTuple):
    """Where a value stands: file, line (0: the file is one value) and field."""

    file: str
    line: int = 0
    field: str = ""

    def inside(self, key: str | int) -> Place:
        """Return the place of a value's part."""
        if isinstance(key, int):
            return Place(self.file, self.line, f"{self.field}[{key}]")
        return Place(self.file, self.line, f"{self.field}.{key}" if self.field else key)

    def error(self, why: str) -> SourceError:
        """Return the error that says what is wrong here."""
        return SourceError(self.file, why, self.line, self.field)


class Row:
    """An object of JSON. What it is asked for has the right type, or there is an error.

    Each method takes a key and, for what may be missing (or null), a default.

    Raises:
        SourceError: the value is no object; then, of each method: the key is missing
            and there is no default, or its value is of another type.
    """

    __slots__ = ("place", "value")

    def __init__(self, value: Any, place: Place) -> None:
        if not isinstance(value, dict):
            raise place.error(f"expected an object, got {told(value)}")
        self.value: dict[str, Any] = value
        self.place = place

    def __contains__(self, key: str) -> bool:
        """Say whether a key has a value that is not null."""
        return self.value.get(key) is not None

    def __iter__(self) -> Iterator[str]:
        """Yield the keys."""
        return iter(self.value)

    def at(self, key: str) -> Place:
        """Return the place of a value."""
        return self.place.inside(key)

    def get(self, key: str) -> Any:
        """Return a value as it is, None if there is none."""
        return self.value.get(key)

    @overload
    def text(self, key: str) -> str: ...
    @overload
    def text(self, key: str, default: T) -> str | T: ...
    def text(self, key: str, default: Any = MUST) -> Any:
        """Return a text."""
        return self._typed(key, str, "a text", default)

    @overload
    def flag(self, key: str) -> bool: ...
    @overload
    def flag(self, key: str, default: T) -> bool | T: ...
    def flag(self, key: str, default: Any = MUST) -> Any:
        """Return whether something is so."""
        return self._typed(key, bool, "true or false", default)

    @overload
    def number(self, key: str) -> float | None: ...
    @overload
    def number(self, key: str, default: None) -> float | None: ...
    @overload
    def number(self, key: str, default: T) -> float | T | None: ...
    def number(self, key: str, default: Any = MUST) -> Any:
        """Return a number, one that is written as text too; None for NaN and infinities."""
        found = self.value.get(key)
        if found is None:
            return self._missing(key, default)
        if type(found) is float and math.isfinite(found):
            return found
        return number(found, self.at(key))

    @overload
    def integer(self, key: str) -> int: ...
    @overload
    def integer(self, key: str, default: T) -> int | T: ...
    def integer(self, key: str, default: Any = MUST) -> Any:
        """Return a whole number of at most 32 bits, which archives hold."""
        found = self.value.get(key)
        if found is None:
            return self._missing(key, default)
        if type(found) is int and abs(found) < 2**31:
            return found
        return integer(found, self.at(key))

    @overload
    def row(self, key: str) -> Row: ...
    @overload
    def row(self, key: str, default: T) -> Row | T: ...
    def row(self, key: str, default: Any = MUST) -> Any:
        """Return an object."""
        found = self.value.get(key)
        return (
            self._missing(key, default) if found is None else Row(found, self.at(key))
        )

    @overload
    def items(self, key: str) -> list[Any]: ...
    @overload
    def items(self, key: str, default: T) -> list[Any] | T: ...
    def items(self, key: str, default: Any = MUST) -> Any:
        """Return a list, whatever is in it."""
        return self._typed(key, list, "a list", default)

    def rows(self, key: str, default: Any = MUST) -> list[Row]:
        """Return a list of objects; with any default an empty one if there is none."""
        found = self.items(key) if default is MUST else self.items(key, [])
        place = self.at(key)
        return [Row(each, place.inside(n)) for n, each in enumerate(found)]

    def texts(self, key: str, default: Any = MUST) -> tuple[str, ...]:
        """Return a list of texts; with any default an empty one if there is none."""
        found = self.items(key) if default is MUST else self.items(key, [])
        for n, each in enumerate(found):
            if not isinstance(each, str):
                place = self.at(key).inside(n)
                raise place.error(f"expected a text, got {told(each)}")
        return tuple(found)

    def rest(self, *known: str) -> dict[str, Any]:
        """Return what is under other keys, as an archive can hold it."""
        return {k: plain(v) for k, v in self.value.items() if k not in known}

    def _typed(self, key: str, kind: type, name: str, default: Any) -> Any:
        found = self.value.get(key)
        if found is None:
            return self._missing(key, default)
        if not isinstance(found, kind):
            raise self.at(key).error(f"expected {name}, got {told(found)}")
        return found

    def _missing(self, key: str, default: Any) -> Any:
        if default is MUST:
            raise self.at(key).error("missing" if key not in self.value else "null")
        return default


def number(found: Any, place: Place) -> float | None:
    """Return a number, one that is written as text too; None for NaN and infinities.

    Raises:
        SourceError: it is no number.
    """
    read: float | None = None
    if isinstance(found, (int, float)) and not isinstance(found, bool):
        read = _float(found)
    elif isinstance(found, str):
        word = found.strip().lower()
        try:
            read = (
                WORDS.get(word.lstrip("+-"), math.nan)
                if word.lstrip("+-") in WORDS
                else float(word)
            )
        except ValueError:
            read = None
    if read is None:
        raise place.error(f"expected a number, got {told(found)}")
    return read if math.isfinite(read) else None


def integer(found: Any, place: Place) -> int:
    """Return a whole number of at most 32 bits; `3.0` and `"3"` are 3.

    Raises:
        SourceError: it is none.
    """
    read = number(found, place)
    if read is None or read != int(read) or abs(read) >= 2**31:
        raise place.error(f"expected a whole number, got {told(found)}")
    return int(read)


def plain(found: Any) -> Any:
    """Return data as an archive can hold it: NaN and infinities as the texts of their names."""
    if isinstance(found, float) and not math.isfinite(found):
        return {math.inf: "Infinity", -math.inf: "-Infinity"}.get(found, "NaN")
    if isinstance(found, int) and not isinstance(found, bool) and abs(found) >= 2**63:
        return str(found)
    if isinstance(found, dict):
        return {str(k): plain(v) for k, v in found.items()}
    return (
        [plain(each) for each in found] if isinstance(found, (list, tuple)) else found
    )


def moment(written: str) -> float | None:
    """Return a time of ISO 8601 in seconds since 1970, None if it is none.

    One without a zone is taken for UTC: the same file gives the same time everywhere.
    """
    try:
        read = datetime.fromisoformat(written.strip())
        return (read if read.tzinfo else read.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


def literal(written: str, longest: int = 100_000) -> Any:
    """Return what a text says as a literal of Python; the text itself if it is none.

    Nothing is run: literals are read by `ast`. A text longer than `longest` is not read.
    """
    if len(written) > longest:
        return written
    try:
        with warnings.catch_warnings(action="ignore"):
            return ast.literal_eval(written.strip())
    except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
        return written


def told(found: Any) -> str:
    """Return a value as messages tell of it, cut if it is long."""
    if isinstance(found, (dict, list, type(None))):
        return NAMES[type(found)]
    written = repr(found)
    return written if len(written) <= LONG else f"{written[:LONG]}…"


def _float(found: float) -> float:
    try:
        return float(found)
    except OverflowError:
        return math.inf
