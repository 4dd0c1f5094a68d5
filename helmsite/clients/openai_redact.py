"""Replies without the key that was sent, in whatever pieces a server repeats it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec import structs

from helmsite.clients.openai_http import HIDDEN
from helmsite.clients.tokens import token_text

if TYPE_CHECKING:
    from helmsite.clients.openai_reply import Answer, Choice
    from helmsite.clients.tokens import Step


def without_key(answer: Answer, key: str) -> Answer:
    """Return an answer in whose texts and tokens `[API key]` stands for the key.

    Tokens that spell the key together are changed as the text is, so that they still
    spell it: the first one takes the replacement, the others keep what is not the key.
    An empty key changes nothing.
    """
    if not key:
        return answer
    choices = tuple(_choice(choice, key) for choice in answer.choices)
    return structs.replace(answer, choices=choices)


def _choice(choice: Choice, key: str) -> Choice:
    steps = choice.steps
    return structs.replace(
        choice,
        text=_text(choice.text, key),
        reasoning=_text(choice.reasoning, key),
        refusal=_text(choice.refusal, key),
        steps=None if steps is None else _steps(steps, key),
    )


def _text(text: str, key: str) -> str:
    """Return a text without the key, also where it is written in bytes, as tokens are."""
    spelled = "".join(f"\\x{byte:02x}" for byte in key.encode())
    shown = re.escape(spelled)
    return re.sub(shown, HIDDEN, text.replace(key, HIDDEN), flags=re.IGNORECASE)


def _steps(steps: tuple[Step, ...], key: str) -> tuple[Step, ...]:
    pieces = _pieces([step.data for step in steps], key.encode())
    return tuple(
        structs.replace(
            step,
            data=piece,
            text=_text(step.text if piece == step.data else token_text(piece), key),
            top=tuple(structs.replace(t, token=_text(t.token, key)) for t in step.top),
        )
        for step, piece in zip(steps, pieces, strict=True)
    )


def _pieces(pieces: list[bytes], key: bytes) -> list[bytes]:
    whole, hidden = b"".join(pieces), HIDDEN.encode()
    begins = [match.start() for match in re.finditer(re.escape(key), whole)]
    if not begins:
        return pieces
    made, at = [], 0
    for piece in pieces:
        end, kept = at + len(piece), b""
        for begin in begins:
            if begin >= end or begin + len(key) <= at:
                continue
            kept += whole[at:begin]
            kept += hidden if begin >= at else b""
            at = min(begin + len(key), end)
        made.append(kept + whole[at:end])
        at = end
    return made
