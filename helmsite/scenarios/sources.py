"""Rows out of JSON, JSONL, CSV, TSV and Parquet files; each knows where it stood.

Nothing is skipped and nothing is guessed: a file is read whole or an error names the
file, the row and what to do.
"""

from __future__ import annotations

import csv
import io
import sys
from datetime import date, datetime, time
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import msgspec

from helmsite.errors import ScenarioError, suggest
from helmsite.scenarios.opening import inner_suffix, read_bytes, read_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from helmsite.scenarios.definition import Reading

SUFFIXES = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".json": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
}
PICKLES = (".pk", ".pkl", ".pickle", ".pt", ".pth", ".joblib")
FORMATS = (*sorted(set(SUFFIXES.values())), "text", "lines")
KINDS = {
    str: "a text",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    list: "a list",
    dict: "an object",
}
T = TypeVar("T")
ITSELF = "."


class Row(NamedTuple):
    """One row: `place` says where it stood, for error messages."""

    place: str
    fields: dict[str, Any]

    def value(self, name: str, kind: type[T]) -> T:
        """Return a field of a type.

        Raises:
            ScenarioError: there is no such field, or it is of another type.
        """
        if name not in self.fields:
            raise ScenarioError(
                f"{self.place}: there is no field {name!r}.{suggest(name, self.fields)}",
                f"Fields of this row: {', '.join(self.fields) or 'none'}.",
            )
        found = self.fields[name]
        if kind is float and type(found) is int:
            found = float(found)
        if isinstance(found, kind) and (kind is bool or not isinstance(found, bool)):
            return found
        raise ScenarioError(
            f"{self.place}: {name} must be {KINDS.get(kind, kind.__name__)}, "
            f"but is {type(found).__name__}.",
            "Is this the right file, in its original layout?",
        )

    def text(self, name: str) -> str:
        """Return a text field."""
        return self.value(name, str)

    def row(self, name: str) -> Row:
        """Return an object field as a row of its own."""
        return Row(f"{self.place}: {name}", self.value(name, dict))

    def rows(self, name: str) -> Iterator[Row]:
        """Yield the objects of a list field, each as a row of its own."""
        for number, item in enumerate(self.value(name, list), start=1):
            place = f"{self.place}: {name}, item {number}"
            yield Row(place, _object(item, place))

    def texts(self, name: str) -> list[str]:
        """Return a field that is a list of texts."""
        found = self.value(name, list)
        for number, item in enumerate(found, start=1):
            Row(f"{self.place}: {name}", {f"item {number}": item}).text(
                f"item {number}"
            )
        return found


class Once:
    """Says so where something that must be there once comes twice."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._seen: dict[object, str] = {}

    def check(self, key: object, place: str) -> None:
        """Note a key.

        Raises:
            ScenarioError: it was there before; names both places.
        """
        before = self._seen.setdefault(key, place)
        if before != place:
            raise ScenarioError(
                f"{place}: the {self._what} {key!r} is there already: {before}.",
                "Was something appended to the file twice?",
            )


class FileRows(NamedTuple):
    """All rows of one file, with the SHA-256 of its bytes."""

    sha256: str
    rows: list[Row]


def read_rows(path: Path, source: Reading, name: str = "") -> FileRows:
    """Return all rows of a file; `name` is its path below the scenario's folder.

    Raises:
        ScenarioError: the file is missing, empty, of an unknown format or damaged.
    """
    kind = source.format or SUFFIXES.get(inner_suffix(path), "")
    if not kind:
        raise _unknown_format(path)
    data, sha256 = read_bytes(path)
    read: dict[str, Callable[[bytes, Path, Reading], Iterator[Row]]] = {
        "csv": _csv,
        "tsv": _csv,
        "json": _json,
        "jsonl": _jsonl,
        "parquet": _parquet,
        "text": _text,
        "lines": _lines,
    }
    rows = list(read[kind](data, path, source))
    if kind == "text":
        rows = [
            Row(row.place, {**row.fields, "path": name or path.name}) for row in rows
        ]
    if not rows:
        raise ScenarioError(
            f"{path}: there are no rows in it.", "Is it the right file?"
        )
    return FileRows(sha256, rows)


def _unknown_format(path: Path) -> ScenarioError:
    if inner_suffix(path) in PICKLES:
        return ScenarioError(
            f"{path}: is a pickle, which can run any program when it is read.",
            "It is never read here: convert it to JSONL, CSV or Parquet.",
        )
    known = ", ".join(FORMATS)
    return ScenarioError(
        f"{path}: the name does not tell its format.",
        f"Add format: to the source, one of {known}.",
    )


def _text(data: bytes, path: Path, source: Reading) -> Iterator[Row]:
    """Yield one row for the whole file."""
    text = read_text(data, path, source.encoding)
    yield Row(str(path), {"text": text})


def _lines(data: bytes, path: Path, source: Reading) -> Iterator[Row]:
    r"""Yield a row for each line that is not empty; a line ends with \n or \r\n."""
    text = read_text(data, path, source.encoding)
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield Row(
                f"{path}, line {number}",
                {"text": line.removesuffix("\r"), "number": number},
            )


def _csv(data: bytes, path: Path, source: Reading) -> Iterator[Row]:
    tabs = (source.format or SUFFIXES.get(inner_suffix(path))) == "tsv"
    delimiter = source.delimiter or ("\t" if tabs else ",")
    text = read_text(data, path, source.encoding)
    quotes = source.quotes is not False
    lines = _records(text, path, delimiter, quotes=quotes)
    columns = source.columns or _header(lines, path)
    for number, (line, values) in enumerate(lines, start=1):
        place = f"{path}, row {number} (line {line})"
        if len(values) != len(columns):
            raise ScenarioError(
                f"{place}: {len(values)} values for {len(columns)} columns"
                f" ({', '.join(columns)}).",
                f"Put values that hold {delimiter!r} or a line break in double quotes."
                if quotes
                else "With quotes: false a value cannot hold the delimiter.",
            )
        yield Row(place, dict(zip(columns, values, strict=True)))


def _records(
    text: str, path: Path, delimiter: str, *, quotes: bool
) -> Iterator[tuple[int, list[str]]]:
    """Yield the non-empty records with the line on which each begins."""
    reader = csv.reader(
        io.StringIO(text, newline=""),
        delimiter=delimiter,
        quoting=csv.QUOTE_MINIMAL if quotes else csv.QUOTE_NONE,
        strict=True,
    )
    begins = 1
    before = csv.field_size_limit(sys.maxsize)
    try:
        for values in reader:
            if values:
                yield begins, values
            begins = reader.line_num + 1
    except csv.Error as error:
        raise ScenarioError(
            f"{path}, line {begins}: not valid CSV: {error}.",
            'A double quote within a quoted value is written twice: "".'
            " For files without quoting set quotes: false.",
        ) from error
    finally:
        csv.field_size_limit(before)


def _header(lines: Iterator[tuple[int, list[str]]], path: Path) -> tuple[str, ...]:
    _, names = next(lines, (0, []))
    hint = "Name the columns with columns: if the file has no header line."
    for name in names:
        if not name.strip():
            raise ScenarioError(f"{path}: a column of the header has no name.", hint)
        if names.count(name) > 1:
            raise ScenarioError(f"{path}: two columns are called {name!r}.", hint)
    return tuple(names)


def _jsonl(data: bytes, path: Path, source: Reading) -> Iterator[Row]:
    text = read_text(data, path, source.encoding).encode()
    for number, line in enumerate(text.split(b"\n"), start=1):
        if line.strip():
            place = f"{path}, line {number}"
            yield json_row(line, place)


def _json(data: bytes, path: Path, source: Reading) -> Iterator[Row]:
    found = decoded(read_text(data, path, source.encoding).encode(), str(path))
    at = source.records
    if at == ITSELF:
        yield Row(str(path), _object(found, str(path)))
        return
    for name in at.split(".") if at else ():
        if not isinstance(found, dict) or name not in found:
            known = list(found) if isinstance(found, dict) else []
            raise ScenarioError(
                f"{path}: there is no {name!r} of records: {at}.{suggest(name, known)}",
                f"Keys there: {', '.join(known) or 'none'}.",
            )
        found = found[name]
    if not isinstance(found, list):
        arrays = (
            [k for k, v in found.items() if isinstance(v, list)]
            if isinstance(found, dict)
            else []
        )
        raise ScenarioError(
            f"{path}: {at or 'the file'} is not an array of rows.",
            f"Add records: with the path to it; arrays here: {', '.join(arrays) or 'none'}.",
        )
    for number, item in enumerate(found, start=1):
        place = f"{path}, row {number}"
        yield Row(place, _object(item, place))


def json_row(data: bytes, place: str) -> Row:
    """Return the row that one JSON object makes."""
    return Row(place, _object(decoded(data, place), place))


def decoded(data: bytes, place: str) -> Any:
    """Return what a JSON text holds; `place` says where it stood."""
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError) as error:
        reason = str(error).removeprefix("JSON is malformed: ")
        raise ScenarioError(
            f"{place}: malformed JSON: {reason}.",
            "One JSON object a line is format: jsonl, one array is format: json.",
        ) from error


def _object(item: Any, place: str) -> dict[str, Any]:
    if isinstance(item, dict):
        return item
    raise ScenarioError(
        f"{place}: not an object with fields, but {type(item).__name__}.",
        'Write each row as {"field": value, ...}.',
    )


def _parquet(data: bytes, path: Path, _: Reading) -> Iterator[Row]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(pa.BufferReader(data))
        rows = table.to_pylist()
    except (pa.ArrowException, OSError, ValueError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise ScenarioError(
            f"{path}: not a readable Parquet file: {reason}.",
            "It may be cut short: compare its size with the original's.",
        ) from error
    for number, fields in enumerate(rows, start=1):
        place = f"{path}, row {number}"
        yield Row(place, {k: _plain(v, f"{place}: {k}") for k, v in fields.items()})


def _plain(value: Any, place: str) -> Any:
    """Return a Parquet value as JSON would have it; NaN is null, times are ISO 8601."""
    if isinstance(value, dict):
        return {str(k): _plain(v, place) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v, place) for v in value]
    if isinstance(value, (datetime, date, time)):
        return value.isoformat()
    if isinstance(value, Decimal):
        return str(value)
    if value is None or isinstance(value, (str, int, float)):
        return None if value != value else value
    raise ScenarioError(
        f"{place}: values of type {type(value).__name__} cannot be used in templates.",
        "Leave the column out, or write it as text.",
    )
