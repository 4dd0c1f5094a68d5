"""Reuse of a prompt's shared beginning that leaves no trace in the results.

llama.cpp computes a token a little differently (up to 0.5 nats in the end) in batches of
different sizes, so with its plain prefix cache a log-probability depends on which
requests came before. Here each context is computed in parts that follow from the context
alone: chunks of CHUNK tokens at fixed positions, the rest but the last token, the last
token, and then one token at a time. Only whole parts of an earlier request are reused.
Values are equal to the last bit with and without reuse, in any order of requests.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from helmsite.clients.llamacpp_server import NativeReply, Server

CHUNK = 16

logger = logging.getLogger(__name__)


def parts(length: int, total: int) -> list[int]:
    """Return where the parts end of `total` tokens whose first `length` are the context."""
    chunks = range(CHUNK, length - 1, CHUNK)
    return [*chunks, *([length - 1] if length > 1 else []), *range(length, total + 1)]


def shared(left: Sequence[int], right: Sequence[int]) -> int:
    """Return how many items two sequences have in common at their start."""
    pairs = enumerate(zip(left, right, strict=False))
    different = (index for index, (a, b) in pairs if a != b)
    return next(different, min(len(left), len(right)))


class _UnexpectedReuseError(Exception):
    """The server reused another number of tokens than the parts allow."""


class PromptCache:
    """What the server's only slot holds, and calls that keep to the parts.

    `others` are two different tokens. Not for several threads at once.
    """

    def __init__(self, server: Server, others: tuple[int, int]) -> None:
        self._server = server
        self._others = others
        self._ids: list[int] = []
        self._ends: list[int] = []
        self._can_reuse = True

    def complete(
        self, ids: list[int], length: int, body: dict[str, Any]
    ) -> tuple[NativeReply, int]:
        """Return the reply to `ids`, of which `length` are the context, and the reuse.

        The second value is how many tokens had been computed for an earlier request. A
        model that cannot go back to an earlier place (a recurrent one) is always asked
        without reuse.
        """
        for _ in range(2 if self._can_reuse else 0):
            try:
                return self._in_parts(ids, length, body)
            except _UnexpectedReuseError:
                continue
        if self._can_reuse:
            logger.warning("This model cannot reuse what it computed; it will be slow.")
            self._can_reuse = False
        return self._ask(ids, {**body, "cache_prompt": False}), 0

    def _in_parts(
        self, ids: list[int], length: int, body: dict[str, Any]
    ) -> tuple[NativeReply, int]:
        known, ends = self._ids, self._ends
        self._set([], [])  # unless all goes well
        kept = self._prepare(ids, length, known, ends)
        reply = self._send(ids, len(ids) - 1, body)
        self._hold(ids + list(reply.tokens[:-1]), length)
        return reply, kept

    def _prepare(
        self, ids: list[int], length: int, known: list[int], ends: list[int]
    ) -> int:
        """Make the slot hold all of `ids` but the last, and return how many it held."""
        common = ends[: shared(ends, parts(length, len(ids)))]
        same, context = shared(known, ids), length - 1
        kept = max((e for e in common if e <= min(same, len(ids) - 1)), default=0)
        done = max(kept, context)
        if kept < context:
            natural = same if same < context else context - 1
            if 0 < kept != natural:  # put another token where the reuse has to end
                other = next(i for i in self._others if i != known[kept])
                self._send([*known[:kept], other], kept, {"n_predict": 1})
            self._send(ids[:context], kept, {"n_predict": 1, "cache_prompt": kept > 0})
        for end in range(done + 1, len(ids)):
            self._send(ids[:end], end - 1, {"n_predict": 1})
        return kept

    def _send(self, ids: list[int], cached: int, body: dict[str, Any]) -> NativeReply:
        reply = self._ask(ids, body)
        if reply.cached != cached:
            raise _UnexpectedReuseError
        return reply

    def _ask(self, ids: list[int], body: dict[str, Any]) -> NativeReply:
        settled = {"temperature": 0.0, "top_k": 1, "samplers": ["top_k"]}
        return self._server.complete({**settled, **body, "prompt": ids})

    def _hold(self, ids: list[int], length: int) -> None:
        self._set(ids, parts(length, len(ids)))

    def _set(self, ids: list[int], ends: list[int]) -> None:
        self._ids, self._ends = ids, ends
