"""Replies of a large file, packed while it is read, so that memory stays small."""

from __future__ import annotations

from collections.abc import Collection
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import pyarrow as pa

from helmsite.schema import Reply

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


class _Chunk(NamedTuple):
    """Replies of one instance: its id, their size in bytes, and their bytes."""

    instance_id: str
    size: int
    blob: bytes


class Packed(Collection[Reply]):
    """Replies that are packed; they come out in the archive's order.

    A sample of Inspect with its events takes 100 KB as objects and 5 KB packed; the
    requests of a question with five examples, 6 KB and 0.5 KB.
    """

    def __init__(self) -> None:
        self._chunks: list[_Chunk] = []
        self._count = 0
        self._positions: Mapping[str, int] = {}

    def add(self, replies: Sequence[Reply]) -> None:
        """Keep replies of one instance."""
        if not replies:
            return
        raw = msgspec.msgpack.encode(list(replies))
        blob = pa.compress(raw, "zstd", asbytes=True)
        name = replies[0].request.instance_id
        self._chunks.append(_Chunk(name, len(raw), blob))
        self._count += len(replies)

    def order(self, positions: Mapping[str, int]) -> None:
        """Say which place each instance has."""
        self._positions = positions

    def __len__(self) -> int:
        """Return how many there are."""
        return self._count

    def __contains__(self, reply: object) -> bool:
        """Say whether a reply is there."""
        return any(reply == each for each in self)

    def __iter__(self) -> Iterator[Reply]:
        """Yield the replies by their instance's place, then by their key."""
        decoder, places = msgspec.msgpack.Decoder(list[Reply]), self._positions

        def place(chunk: _Chunk) -> tuple[int, str]:
            return places.get(chunk.instance_id, 0), chunk.instance_id

        for _, chunks in groupby(sorted(self._chunks, key=place), place):
            found = [
                reply
                for each in chunks
                for reply in decoder.decode(
                    pa.decompress(each.blob, each.size, "zstd", asbytes=True)
                )
            ]
            yield from sorted(found, key=lambda r: (*r.request.key, r.completion_index))
