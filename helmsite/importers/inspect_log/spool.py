"""Replies of a long log, packed while it is read, so that memory stays small."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import pyarrow as pa

from helmsite.schema import Reply

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


class _Packed(NamedTuple):
    """A reply's place in its run, its size in bytes, and its bytes."""

    instance_id: str
    trial: int
    completion_index: int
    size: int
    blob: bytes


class Spool(Collection[Reply]):
    """Replies that are packed; they come out in the archive's order.

    A sample with its events takes 100 KB as objects and 5 KB packed.
    """

    def __init__(self) -> None:
        self._packed: list[_Packed] = []
        self._positions: Mapping[str, int] = {}

    def add(self, replies: Sequence[Reply]) -> None:
        """Keep replies."""
        for reply in replies:
            raw = msgspec.msgpack.encode(reply)
            request = reply.request
            self._packed.append(
                _Packed(
                    request.instance_id,
                    request.trial,
                    reply.completion_index,
                    len(raw),
                    pa.compress(raw, "zstd", asbytes=True),
                )
            )

    def order(self, positions: Mapping[str, int]) -> None:
        """Say which place each instance has."""
        self._positions = positions

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._packed)

    def __contains__(self, reply: object) -> bool:
        """Say whether a reply is there."""
        return any(reply == each for each in self)

    def __iter__(self) -> Iterator[Reply]:
        """Yield the replies by their instance's place, then by trial and choice."""
        decoder = msgspec.msgpack.Decoder(Reply)
        places = self._positions
        for each in sorted(
            self._packed,
            key=lambda p: (places.get(p.instance_id, 0), p.instance_id, p[1], p[2]),
        ):
            raw = pa.decompress(each.blob, each.size, "zstd", asbytes=True)
            yield decoder.decode(raw)
