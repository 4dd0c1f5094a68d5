"""Rows of a table by the run that they belong to, on disk where they are many."""

from __future__ import annotations

import tempfile
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator
    from types import TracebackType
    from typing import BinaryIO

    from helmsite.importers.values import Place

MOST = 64 << 20
"""Bytes that are held in memory."""

LENGTH = 8


class Groups:
    """Keeps rows in groups; each comes back as it went in, the groups in order of coming.

    Use it in a `with` statement: the file that holds what is too much goes at its end.
    """

    def __init__(self, most: int = MOST) -> None:
        self._most, self._size = most, 0
        self._held: dict[Hashable, list[bytes]] = {}
        self._written: dict[Hashable, list[tuple[int, int]]] = {}
        self._file: BinaryIO | None = None

    def __enter__(self) -> Groups:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._file:
            self._file.close()

    def add(self, group: Hashable, place: Place, row: dict[str, Any]) -> None:
        """Keep a row."""
        blob = msgspec.msgpack.encode([list(place), row])
        self._held.setdefault(group, []).append(blob)
        self._size += len(blob)
        if self._size > self._most:
            self._spill()

    def __iter__(self) -> Iterator[Hashable]:
        """Yield the groups."""
        return iter(list(self._held))

    def rows(self, group: Hashable) -> Iterator[tuple[list[Any], dict[str, Any]]]:
        """Yield a group's rows, each with its place."""
        for start, size in self._written.get(group, ()):
            assert self._file is not None
            self._file.seek(start)
            block = self._file.read(size)
            at = 0
            while at < len(block):
                length = int.from_bytes(block[at : at + LENGTH], "little")
                at += LENGTH
                yield msgspec.msgpack.decode(block[at : at + length])
                at += length
        for blob in self._held.get(group, ()):
            yield msgspec.msgpack.decode(blob)

    def _spill(self) -> None:
        if self._file is None:
            self._file = tempfile.TemporaryFile()  # noqa: SIM115 - closed by __exit__
        self._file.seek(0, 2)
        for group, blobs in self._held.items():
            if not blobs:
                continue
            start = self._file.tell()
            for blob in blobs:
                self._file.write(len(blob).to_bytes(LENGTH, "little") + blob)
            end = self._file.tell()
            self._written.setdefault(group, []).append((start, end - start))
            self._held[group] = []
        self._size = 0
