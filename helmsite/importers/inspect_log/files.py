"""Logs of Inspect as files: `.json`, and `.eval`, a zip whose members are packed by zstd.

Python's zipfile knows the directory of such a zip but not the method of its members (93),
so a member's bytes are taken from the file and unpacked by pyarrow. Nothing is unpacked
beyond the size that the directory tells, and beyond LIMIT.
"""

from __future__ import annotations

import json
import re
import struct
import zipfile
import zlib
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from helmsite.errors import SourceError
from helmsite.importers import reading
from helmsite.importers.values import Place, Row

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LIMIT = 512 * 1024 * 1024
"""The largest member that is unpacked, in bytes."""
ZSTD = 93
HEADER, START, SUMMARIES, REDUCTIONS = (
    "header.json",
    "_journal/start.json",
    "summaries.json",
    "reductions.json",
)
SAMPLES = "samples/"
_LOCAL = struct.Struct("<4s22xHH")
_SIGNATURE = b"PK\x03\x04"
_EVAL = re.compile(r'"eval"\s*:\s*(?=\{)')
_STATUS = re.compile(r'"status"\s*:\s*"(\w+)"')
MOST_HEAD = 32 * 1024 * 1024


@dataclass
class Head:
    """What the beginning of a log says: `eval` is its object of that name."""

    eval: Row
    status: str = ""
    samples: int | None = None


class Packed:
    """The members of an `.eval` file, one at a time; of a name given twice the last counts.

    Raises:
        SourceError: it cannot be read, or its directory is damaged; then, of each
            method: the member is.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            with zipfile.ZipFile(path) as packed:
                self._members = {info.filename: info for info in packed.infolist()}
        except OSError as error:
            raise SourceError(str(path), error.strerror or str(error)) from error
        except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
            why = "its directory is missing or damaged: was it copied to the end?"
            raise SourceError(str(path), why) from error

    def __contains__(self, name: str) -> bool:
        """Say whether there is a member of that name."""
        return name in self._members

    def names(self, prefix: str = "") -> list[str]:
        """Return the members' names in the order in which they were written."""
        inside = (i for i in self._members.values() if i.filename.startswith(prefix))
        return [i.filename for i in sorted(inside, key=lambda i: i.header_offset)]

    def value(self, name: str) -> Any:
        """Return what a member says, which is JSON."""
        return reading.value(self._bytes(name), self.place(name).file)

    def place(self, name: str) -> Place:
        """Return the place of a member's value."""
        return Place(f"{self._path}/{name}")

    def _bytes(self, name: str) -> bytes:
        info, place = self._members[name], self.place(name)
        if info.file_size > LIMIT:
            raise place.error(f"unpacked it has more than {LIMIT >> 20} MB")
        if info.flag_bits & 1:
            raise place.error("it is encrypted")
        try:
            raw = self._unpacked(info)
        except (OSError, EOFError, ValueError, zlib.error, pa.ArrowException) as error:
            raise place.error(f"damaged: {_short(error)}") from error
        except (zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
            raise place.error(f"it cannot be unpacked: {_short(error)}") from error
        if len(raw) != info.file_size or zlib.crc32(raw) != info.CRC:
            raise place.error("damaged: it is not what the zip's directory tells")
        return raw

    def _unpacked(self, info: zipfile.ZipInfo) -> bytes:
        if info.compress_type != ZSTD:
            with zipfile.ZipFile(self._path) as packed, packed.open(info) as member:
                return member.read(info.file_size + 1)
        with self._path.open("rb") as file:
            file.seek(info.header_offset)
            head = file.read(_LOCAL.size)
            if len(head) < _LOCAL.size:
                raise ValueError("a member begins behind the file's end")
            signature, name, extra = _LOCAL.unpack(head)
            if signature != _SIGNATURE:
                raise ValueError("no member begins where the directory tells")
            file.seek(name + extra, 1)
            blob = file.read(info.compress_size)
        with pa.CompressedInputStream(pa.BufferReader(blob), "zstd") as stream:
            raw: bytes = stream.read(info.file_size + 1)
        return raw


@dataclass
class Log:
    """A log that is open: all but its samples, which are read one after the other.

    `header` is the log's object without samples and reductions. `read` is where samples
    come from: a list, or the packed file.
    """

    header: Row
    reductions: list[Row]
    read: Packed | list[Any]
    unread: list[SourceError] = field(default_factory=list)

    def samples(self) -> Iterator[Row]:
        """Yield the samples; what is wrong with those that cannot be read is in `unread`."""
        if isinstance(self.read, list):
            place = self.header.at("samples")
            found = ((each, place.inside(n)) for n, each in enumerate(self.read))
            for each, where in found:
                yield from self._row(each, where)
            return
        for name in self.read.names(SAMPLES):
            if name.endswith(".json"):
                try:
                    value = self.read.value(name)
                except SourceError as error:
                    self.unread.append(error)
                    continue
                yield from self._row(value, self.read.place(name))

    def _row(self, value: Any, place: Place) -> Iterator[Row]:
        try:
            row = Row(value, place)
        except SourceError as error:
            self.unread.append(error)
        else:
            yield row


def open_log(path: Path) -> Log:
    """Open a log of either form.

    Raises:
        SourceError: it cannot be read, or is no log.
    """
    if is_packed(path):
        return _open_packed(Packed(path))
    whole = Row(reading.json_file(path), Place(str(path)))
    samples = whole.items("samples", [])
    results = whole.row("results", None)
    reductions = whole.rows("reductions", ())
    if not reductions and results is not None:
        reductions = results.rows("sample_reductions", ())
    rest = {k: v for k, v in whole.value.items() if k not in {"samples", "reductions"}}
    return Log(Row(rest, whole.place), reductions, samples)


def _open_packed(packed: Packed) -> Log:
    reductions: list[Row] = []
    if HEADER in packed:
        header = Row(packed.value(HEADER), packed.place(HEADER))
    elif START in packed:
        start = Row(packed.value(START), packed.place(START))
        header = Row({"status": "started", **start.value}, start.place)
    else:
        raise packed.place(HEADER).error("missing")
    log = Log(header, reductions, packed)
    if REDUCTIONS in packed:
        try:
            whole = Row(
                {"reductions": packed.value(REDUCTIONS)}, packed.place(REDUCTIONS)
            )
            reductions += whole.rows("reductions", ())
        except SourceError as error:
            log.unread.append(error)
    return log


def is_packed(path: Path) -> bool:
    """Return whether a file begins as a zip does."""
    try:
        with path.open("rb") as file:
            return file.read(len(_SIGNATURE)) == _SIGNATURE
    except OSError:
        return False


def packed_head(path: Path, head: bytes) -> Head | SourceError | None:
    """Return what a zip says of its log, what is wrong with it, None if it is no log."""
    if not head.startswith(_SIGNATURE):
        return None
    try:
        packed = Packed(path)
        if HEADER not in packed and START not in packed:
            return None
        log = _open_packed(packed)
        return _head(log.header.row("eval"), log.header)
    except SourceError as error:
        return error if _begins_as_log(head) else None
    except RecursionError:
        return SourceError(str(path), reading.DEEP)


def _begins_as_log(head: bytes) -> bool:
    """Return whether the first member of a zip has a name that Inspect gives."""
    _, length, _ = _LOCAL.unpack(head[: _LOCAL.size].ljust(_LOCAL.size, b"\0"))
    first = head[_LOCAL.size : _LOCAL.size + length].decode("utf-8", "replace")
    return first in {HEADER, START} or first.startswith((SAMPLES, "_journal/"))


def plain_head(
    path: Path, keys: tuple[str, ...], head: bytes
) -> Head | SourceError | None:
    """Return what the beginning of a JSON file says of its log, None if it is none.

    Args:
        path: the file.
        keys: the keys of its object, as far as they stand in its head.
        head: its beginning.
    """
    found = _object(path, head) if "eval" in keys else None
    if found is None:
        return None
    value, before = found
    if not all(isinstance(value.get(k), str) and value[k] for k in ("task", "model")):
        return None
    status = _STATUS.search(before)
    try:
        row = Row(reading.whole(value), Place(str(path)).inside("eval"))
    except RecursionError:
        return SourceError(str(path), reading.DEEP)
    return Head(row, status[1] if status else "")


def _object(path: Path, head: bytes) -> tuple[dict[str, Any], str] | None:
    """Return the log's object `eval` and what stands before it, reading on as needed."""
    size = len(head)
    while True:
        text = _decoded(head)
        found = _EVAL.search(text)
        if found is None:
            return None
        with suppress(ValueError, RecursionError):
            value, _ = json.JSONDecoder().raw_decode(text, found.end())
            return value, text[: found.start()]
        if len(head) < size or size >= MOST_HEAD:
            return None
        size *= 8
        try:
            with path.open("rb") as file:
                head = file.read(size)
        except OSError:
            return None


def _head(row: Row, header: Row) -> Head:
    results = header.row("results", None)
    total = results.integer("total_samples", None) if results else None
    return Head(row, header.text("status", ""), total)


def _decoded(head: bytes) -> str:
    mark = next((name for mark, name in reading.MARKS if head.startswith(mark)), "")
    return head.decode(mark or "utf-8", "replace")


def _short(error: BaseException) -> str:
    return str(error).split("\n")[0].rstrip(".")[:200] or type(error).__name__
