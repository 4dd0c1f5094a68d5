"""Samples as they lie on disk, row after row, and which rows are of one document."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from helmsite.errors import SourceError
from helmsite.importers import reading
from helmsite.importers.lm_eval.results import broken
from helmsite.importers.values import Place, Row, told

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from helmsite.importers.found import Notes

MOST = 20
_NUMBER = re.compile(rb'^\s*\{\s*"doc_id"\s*:\s*(\d{1,9})\s*,')


class Numbered(NamedTuple):
    """A row and its number in the file, from 1."""

    number: int
    row: Row


class Samples:
    """A file of samples: JSONL, or one JSON array as before 0.4.3.

    Args:
        path: where it is.
        name: the file's name as it is told of.
        notes: is told of rows that cannot be read.
    """

    def __init__(self, path: Path, name: str, notes: Notes) -> None:
        self.name = name
        self.unread = 0
        self._path, self._notes = path, notes
        self._array: list[Any] | None = None
        if _is_array(path):
            found = reading.value(reading.blob(path), name)
            if not isinstance(found, list):
                raise SourceError(
                    name, f"expected a list of samples, got {told(found)}"
                )
            self._array = found

    def __iter__(self) -> Iterator[Numbered]:
        """Yield the rows that can be read; of the others the first ones are noted."""
        for number, value in self._values():
            place = Place(self.name, number)
            if self._array is not None:
                place = Place(self.name, 0, f"[{number - 1}]")
            if isinstance(value, SourceError):
                self.skip(broken(self.name, value))
                continue
            try:
                yield Numbered(number, Row(value, place))
            except SourceError as error:
                self.skip(error)

    def _values(self) -> Iterator[tuple[int, Any]]:
        if self._array is None:
            return reading.json_lines(self._path)
        return enumerate(self._array, 1)

    def skip(self, error: SourceError) -> None:
        """Leave a row out, and say why."""
        self.unread += 1
        if self.unread <= MOST:
            self._notes.problem(error)

    def end(self, count: int) -> None:
        """Say how many rows were left out of `count` and more.

        Raises:
            SourceError: all of them.
        """
        if not count:
            raise SourceError(self.name, "no sample in it can be read")
        if self.unread > MOST:
            why = f"{self.unread - MOST} more rows cannot be read"
            self._notes.problem(SourceError(self.name, why))

    def numbers(self) -> list[int]:
        """Return the documents' numbers as the rows of the first filter have them."""
        found: list[int] = []
        seen: set[int] = set()
        for each in self._numbers():
            if each in seen:
                break
            seen.add(each)
            found.append(each)
        return found

    def _numbers(self) -> Iterator[int]:
        if self._array is not None:
            for value in self._array:
                said = value.get("doc_id") if isinstance(value, dict) else None
                if isinstance(said, int):
                    yield said
            return
        with suppress(OSError), self._path.open("rb") as file:
            for line in file:
                if match := _NUMBER.match(line):
                    yield int(match[1])


def _is_array(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            head = file.read(4096)
    except OSError:  # read as lines, where it is told
        return False
    return (
        head.replace(b"\x00", b"")
        .lstrip(b"\xef\xbb\xbf\xff\xfe \t\r\n")
        .startswith(b"[")
    )
