"""Tokens as text, and where a stop sequence cuts them."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from helmsite.schema import Record, TopLogprob

if TYPE_CHECKING:
    from collections.abc import Sequence


class Step(Record, frozen=True):
    """One token with its log-probability (natural log) and its alternatives, best first.

    `data` are the token's own bytes; `text` is how it is shown.
    """

    data: bytes
    text: str
    logprob: float | None
    top: tuple[TopLogprob, ...] = ()


def token_text(data: bytes) -> str:
    r"""Return a token's text; a piece of a character is written `bytes:\xNN` (HELM)."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return "bytes:" + "".join(f"\\x{byte:02x}" for byte in data)


def cut(steps: Sequence[Step], stops: Sequence[str]) -> tuple[list[Step], str, bool]:
    """Return the tokens and the text before the first stop sequence, and if there was one.

    A token stays if one of its bytes is part of the text. HELM drops a token that starts
    with the stop sequence, which is the same where a stop starts at a token.
    """
    data = b"".join(step.data for step in steps)
    found = [at for s in stops if s and (at := data.find(s.encode())) >= 0]
    end = min(found, default=len(data))
    kept = before(steps, end) if found else list(steps)
    return kept, data[:end].decode("utf-8", "replace"), bool(found)


def before(steps: Sequence[Step], end: int) -> list[Step]:
    """Return the tokens that begin before a byte offset."""
    ends = itertools.accumulate((len(step.data) for step in steps), initial=0)
    return [step for step, offset in zip(steps, ends, strict=False) if offset < end]


def first_scored(pieces: Sequence[bytes], prompt: str, start: int) -> int | None:
    """Return the index of the first token that holds a part of `prompt[start:]`.

    A space before the continuation counts where the tokeniser makes it part of the word.
    None where the tokens do not spell the prompt: a tokeniser that rewrites its text.
    """
    spelled, begin = b"".join(pieces), len(prompt[:start].encode())
    if spelled == b" " + prompt.encode():  # a SentencePiece model's own first space
        begin += 1
    elif spelled != prompt.encode():
        return None
    ends = itertools.accumulate(len(piece) for piece in pieces)
    return next(index for index, end in enumerate(ends) if end > begin)
