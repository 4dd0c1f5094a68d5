"""Tables on disk: CSV as programs and spreadsheets write it, JSONL, JSON arrays, Parquet.

Rows are read one after the other, so that a file may be larger than memory (a JSON array
alone is read as a whole). Each comes with its place: the line where it begins, in Parquet
its number, in an array its index.
"""

from __future__ import annotations

import codecs
import csv
import io
import json
import re
from typing import TYPE_CHECKING, Any

from msgspec import structs

from helmsite.errors import SourceError
from helmsite.importers import reading, values
from helmsite.importers.table import shape
from helmsite.importers.table.shape import SAMPLE
from helmsite.importers.tree import HEAD
from helmsite.importers.values import Place
from helmsite.schema import Record

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from helmsite.importers.table.mapping import Mapping

    Rows = Iterator[tuple[Place, dict[str, Any] | SourceError]]

PARQUET = b"PAR1"
PIECE = 1 << 20
BATCH = 256
LEGACY = "cp1252"
LARGEST_CELL = (1 << 31) - 1
LONGEST_LINE = 1 << 28
JSONL_NAMES = {".jsonl", ".ndjson", ".jsonlines"}
CSV_NAMES = (".csv", ".tsv", ".tab")
_NEXT = re.compile(r"[\s,]*\{")
_SEP = re.compile(r"sep=(.)$")


class Table(Record, frozen=True):
    """A file that is a table: its form, its columns, and how its text is to be read.

    `skip` is how many lines stand before the header of a CSV file. `columns` are those of
    the first rows: a later object of JSONL may have others. `first` is the first row.
    """

    form: str
    columns: tuple[str, ...]
    encoding: str = "utf-8"
    delimiter: str = ","
    decimal: str = "."
    skip: int = 0
    first: dict[str, Any] = {}


def look(path: Path, head: bytes, wish: Mapping | None = None) -> Table | None:
    """Return what a file is as a table, None if it is none.

    Args:
        path: the file.
        head: its first bytes.
        wish: what the user says of its delimiter, encoding and decimal sign.

    Raises:
        SourceError: it begins like a table and cannot be read.
    """
    if head.startswith(PARQUET):
        table = Table("parquet", _parquet_columns(path))
        _, row = next(_parquet_rows(path, table, path.name), (None, {}))
        return structs.replace(table, first=row)
    encoding = _known(wish.encoding) if wish and wish.encoding else _encoding(head)
    text = _decoded(head, encoding)
    start = text.lstrip()[:1]
    if start == "[":
        objects = _array(text) or _whole_array(path, head)
        return Table("json", _keys(objects), first=objects[0]) if objects else None
    if start == "{":
        lines = _objects(path, text)
        return Table("jsonl", _keys(lines), first=lines[0]) if lines else None
    return _csv(text, encoding, wish, whole=len(head) < HEAD)


def rows(path: Path, table: Table, name: str) -> Rows:
    """Yield a table's rows with their places; one that cannot be read as an error.

    Args:
        path: the file.
        table: what `look` says of it.
        name: the file's name in places.

    Raises:
        SourceError: the file cannot be read (any further).
    """
    form = {"csv": _csv_rows, "jsonl": _json_rows, "json": _array_rows}
    return form.get(table.form, _parquet_rows)(path, table, name)


def legacy(path: Path, table: Table) -> bool:
    """Return whether a CSV file that looked like UTF-8 is none: Windows-1252, then."""
    if table.form != "csv" or table.encoding != "utf-8":
        return table.encoding == LEGACY
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        with path.open("rb") as file:
            while piece := file.read(PIECE):
                decoder.decode(piece)
            decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return True
    except OSError as error:
        raise SourceError(str(path), error.strerror or str(error)) from error
    return False


def _encoding(head: bytes) -> str:
    for mark, name in reading.MARKS:
        if head.startswith(mark):
            return name
    if head[1:2] == b"\0" and head[3:4] == b"\0":
        return "utf-16-le"
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        decoder.decode(head)  # a character may be cut at the end
    except UnicodeDecodeError:
        return LEGACY
    return "utf-8"


def _known(encoding: str) -> str:
    """Return an encoding that the user named."""
    try:
        "a".encode(encoding)
    except LookupError:  # also what is no encoding of text
        raise SourceError("", f"no encoding is called {encoding!r}") from None
    return encoding


def _decoded(head: bytes, encoding: str) -> str:
    decoder = codecs.getincrementaldecoder(encoding)(errors="replace")
    return decoder.decode(head).lstrip("\ufeff")


def _array(text: str) -> list[dict[str, Any]]:
    """Return the objects with which a list begins, as far as they are there."""
    decoder = json.JSONDecoder()
    found: list[dict[str, Any]] = []
    at = text.index("[") + 1
    while len(found) < SAMPLE and (match := _NEXT.match(text, at)):
        try:
            value, at = decoder.raw_decode(text, match.end() - 1)
        except (ValueError, RecursionError):
            break
        found.append(reading.whole(value))
    return found


def _whole_array(path: Path, head: bytes) -> list[dict[str, Any]]:
    """Return the objects of a list whose first one is larger than the head of its file."""
    if len(head) < HEAD:
        return []
    try:
        found = reading.json_file(path)
    except SourceError:
        return []
    several = found[:SAMPLE] if isinstance(found, list) else []
    return [each for each in several if isinstance(each, dict)]


def _objects(path: Path, text: str) -> list[dict[str, Any]]:
    """Return the objects of the first lines. In a file called .json there are two or more."""
    named = path.suffix.lower() in JSONL_NAMES
    lines = [line for line in text.split("\n")[:SAMPLE] if line.strip()]
    if len(lines) == 1 and named:
        lines = [line.decode("utf-8", "replace") for line in _first_lines(path)]
    found: list[dict[str, Any]] = []
    for number, line in enumerate(lines):
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            if number == 0:
                return []
            continue
        if isinstance(value, dict):
            found.append(reading.whole(value))
    return found if named or len(found) > 1 else []


def _first_lines(path: Path) -> list[bytes]:
    """Return the first line of a file, which is longer than its head."""
    with path.open("rb") as file:
        return [file.readline(LONGEST_LINE).removeprefix(codecs.BOM_UTF8)]


def _keys(objects: list[dict[str, Any]]) -> tuple[str, ...]:
    """Return the keys of objects, of those inside them too: `a.b`."""
    found: dict[str, None] = {}
    for each in objects:
        for key, value in each.items():
            found[str(key)] = None
            if isinstance(value, dict):
                found.update((f"{key}.{inner}", None) for inner in value)
    return tuple(found)


def _parquet_columns(path: Path) -> tuple[str, ...]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        schema = pq.read_schema(path)
    except (pa.ArrowException, OSError) as error:
        raise SourceError(str(path), f"no Parquet: {_first(error)}") from error
    found = []
    for field in schema:
        found.append(field.name)
        if pa.types.is_struct(field.type):
            found += [f"{field.name}.{inner.name}" for inner in field.type]
    return tuple(found)


def _csv(
    text: str, encoding: str, wish: Mapping | None, *, whole: bool
) -> Table | None:
    lines = io.StringIO(text, newline="").readlines()
    skip = 0
    said = wish.delimiter if wish else ""
    if lines and (match := _SEP.match(lines[0].strip("\r\n\"'"))):
        said, skip = said or match[1], 1
    if not said:
        skip = shape.titles(lines)
    sample = "".join(lines[skip:])
    if not sample.strip():
        return None
    delimiter = said or shape.delimiter(sample)
    found = shape.cells(sample, delimiter, whole=whole)
    if not found or (len(found[0]) < 2 and not said):
        return None
    decimal = (wish.decimal if wish else "") or shape.decimal(found[1:], delimiter)
    names = shape.header(found[0])
    first = dict(zip(names, found[1], strict=False)) if len(found) > 1 else {}
    return Table("csv", names, encoding, delimiter, decimal, skip, first)


def _csv_rows(path: Path, table: Table, name: str) -> Rows:
    csv.field_size_limit(LARGEST_CELL)
    width = len(table.columns)
    try:
        with path.open(encoding=table.encoding, newline="") as file:
            for _ in range(table.skip):
                file.readline()
            reader = csv.reader(file, delimiter=table.delimiter, strict=True)
            begins, first = 1 + table.skip, True
            while True:
                place = Place(name, begins)
                try:
                    cells = next(reader, None)
                except csv.Error as error:
                    yield place, place.error(_quoting(error))
                    begins = reader.line_num + 1 + table.skip
                    first = False
                    continue
                begins = reader.line_num + 1 + table.skip
                if cells is None:
                    return
                if first or not any(cells):
                    first = first and not any(cells)
                    continue
                yield place, _row(cells, table.columns, width, place)
    except UnicodeError as error:
        raise SourceError(name, f"not {table.encoding}: {_first(error)}") from error
    except OSError as error:
        raise SourceError(name, error.strerror or str(error)) from error


def _row(
    cells: list[str], columns: tuple[str, ...], width: int, place: Place
) -> dict[str, Any] | SourceError:
    if len(cells) > width and not any(cells[width:]):
        cells = cells[:width]
    if len(cells) != width:
        return place.error(f"{len(cells)} cells, but the header has {width}")
    return dict(zip(columns, cells, strict=True))


def _quoting(error: csv.Error) -> str:
    if "unexpected end" in str(error):
        return "a quote that opens here is never closed"
    return f"the quotes are wrong: {error}"


def _json_rows(path: Path, _: Table, name: str) -> Rows:
    for line, value in reading.json_lines(path):
        place = Place(name, line)
        if isinstance(value, SourceError):
            yield place, place.error(value.why)
        else:
            yield place, _object(value, place)


def _array_rows(path: Path, _: Table, name: str) -> Rows:
    for index, value in enumerate(reading.json_file(path)):
        place = Place(name).inside(index)
        yield place, _object(value, place)


def _object(value: Any, place: Place) -> dict[str, Any] | SourceError:
    if isinstance(value, dict):
        return value
    return place.error(f"expected an object, got {values.told(value)}")


def _parquet_rows(path: Path, _: Table, name: str) -> Rows:
    import pyarrow as pa
    import pyarrow.parquet as pq

    number = 0
    try:
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(BATCH):
                for row in batch.to_pylist():
                    number += 1
                    place = Place(name, number)
                    yield place, {key: _plain(value) for key, value in row.items()}
    except (pa.ArrowException, OSError, UnicodeError, ValueError) as error:
        why = f"after row {number}: no Parquet: {_first(error)}"
        raise SourceError(name, why) from error


def _plain(value: Any) -> Any:
    """Return what Parquet holds as JSON would: times and numbers of other kinds as text."""
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


def _first(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
