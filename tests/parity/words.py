"""A byte-level tokeniser that both sides run: longest known piece first, else one byte."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


class Words:
    """Pieces of a vocabulary and single bytes; a character may be several tokens.

    With the blank before a word in its piece (as GPT-2 has it), a text cut within a word
    or a character has other tokens than the same part of the whole text.
    """

    def __init__(self, vocabulary: Sequence[str]) -> None:
        self.vocabulary = list(vocabulary)
        single = [bytes([n]) for n in range(256)]
        pieces = sorted({v.encode() for v in vocabulary if v})
        self._pieces = single + [p for p in pieces if len(p) > 1]
        self._ids = {piece: i for i, piece in enumerate(self._pieces)}
        self._longest = max(map(len, self._pieces))

    def encode(self, text: str) -> list[int]:
        """Return the token ids of a text."""
        data, ids, at = text.encode(), [], 0
        while at < len(data):
            length = next(
                n for n in range(self._longest, 0, -1) if data[at : at + n] in self._ids
            )
            ids.append(self._ids[data[at : at + length]])
            at += length
        return ids

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of token ids; broken UTF-8 shows as U+FFFD."""
        return b"".join(self._pieces[i] for i in ids).decode("utf-8", "replace")
