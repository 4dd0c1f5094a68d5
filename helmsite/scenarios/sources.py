"""Rows out of JSON, JSONL, CSV, TSV and Parquet files; each knows where it stood.

Nothing is skipped and nothing is guessed: a file is read whole or an error names the
file, the row and what to do.
"""

from __future__ import annotations

import csv
import hashlib
import io
import sys
from datetime import date, datetime, time
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import msgspec

from helmsite.errors import ScenarioError, suggest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from helmsite.scenarios.definition import Source

SUFFIXES = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".json": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
}
KINDS = {str: "a text", bool: "true or false", list: "a list", dict: "an object"}
T = TypeVar("T")
BOM = b"\xef\xbb\xbf"


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
        if isinstance(found, kind):
            return found
        raise ScenarioError(
            f"{self.place}: {name} must be {KINDS.get(kind, kind.__name__)}, "
            f"but is {type(found).__name__}.",
            "Is this the right file, in its original layout?",
        )

    def text(self, name: str) -> str:
        """Return a text field."""
        return self.value(name, str)


class FileRows(NamedTuple):
    """All rows of one file, with the SHA-256 of its bytes."""

    sha256: str
    rows: list[Row]


def read_rows(path: Path, source: Source) -> FileRows:
    """Return all rows of a file.

    Raises:
        ScenarioError: the file is missing, empty, of an unknown format or damaged.
    """
    kind = source.format or SUFFIXES.get(path.suffix.lower(), "")
    if not kind:
        known = ", ".join(sorted(set(SUFFIXES.values())))
        raise ScenarioError(
            f"{path}: the name does not tell its format.",
            f"Add format: to the source, one of {known}.",
        )
    data = read_bytes(path)
    read: dict[str, Callable[[bytes, Path, Source], Iterator[Row]]] = {
        "csv": _csv,
        "tsv": _csv,
        "json": _json,
        "jsonl": _jsonl,
        "parquet": _parquet,
    }
    rows = list(read[kind](data, path, source))
    if not rows:
        raise ScenarioError(
            f"{path}: there are no rows in it.", "Is it the right file?"
        )
    return FileRows(hashlib.sha256(data).hexdigest(), rows)


def read_bytes(path: Path) -> bytes:
    """Return the bytes of a file that is there and not empty."""
    try:
        data = path.read_bytes()
    except FileNotFoundError as error:
        near = _neighbours(path)
        raise ScenarioError(
            f"{path}: there is no such file.{suggest(path.name, near)}",
            "Paths are relative to the scenario's YAML file.",
        ) from error
    except OSError as error:
        reason = error.strerror or str(error)
        raise ScenarioError(
            f"{path}: cannot be read: {reason}.", "Check it."
        ) from error
    if not data.removeprefix(BOM).strip():
        raise ScenarioError(f"{path}: the file is empty.", "Was it copied completely?")
    return data


def _neighbours(path: Path) -> list[str]:
    folder = path.parent
    return sorted(p.name for p in folder.iterdir()) if folder.is_dir() else []


def read_text(data: bytes, path: Path) -> str:
    """Return bytes of a file as text, without a byte order mark."""
    try:
        return data.removeprefix(BOM).decode("utf-8")
    except UnicodeDecodeError as error:
        offset = error.start + (len(BOM) if data.startswith(BOM) else 0)
        line = data.count(b"\n", 0, offset) + 1
        utf16 = data[:2] in (b"\xff\xfe", b"\xfe\xff")
        name = "UTF-16" if utf16 else "LATIN1"
        raise ScenarioError(
            f"{path}: not UTF-8: the byte 0x{data[offset]:02x} at offset {offset}"
            f" (line {line}).",
            f"Convert it, for instance: iconv -f {name} -t UTF-8 {path.name} > new.file",
        ) from error


def _csv(data: bytes, path: Path, source: Source) -> Iterator[Row]:
    tabs = (source.format or SUFFIXES.get(path.suffix.lower())) == "tsv"
    delimiter = source.delimiter or ("\t" if tabs else ",")
    lines = _records(read_text(data, path), path, delimiter, quotes=source.quotes)
    columns = source.columns or _header(lines, path)
    for number, (line, values) in enumerate(lines, start=1):
        place = f"{path}, row {number} (line {line})"
        if len(values) != len(columns):
            raise ScenarioError(
                f"{place}: {len(values)} values for {len(columns)} columns"
                f" ({', '.join(columns)}).",
                f"Put values that hold {delimiter!r} or a line break in double quotes."
                if source.quotes
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


def _jsonl(data: bytes, path: Path, _: Source) -> Iterator[Row]:
    read_text(data, path)
    for number, line in enumerate(data.removeprefix(BOM).split(b"\n"), start=1):
        if line.strip():
            place = f"{path}, line {number}"
            yield Row(place, _object(_decoded(line, place), place))


def _json(data: bytes, path: Path, source: Source) -> Iterator[Row]:
    read_text(data, path)
    found = _decoded(data.removeprefix(BOM), str(path))
    at = source.records
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


def _decoded(data: bytes, place: str) -> Any:
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


def _parquet(data: bytes, path: Path, _: Source) -> Iterator[Row]:
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
