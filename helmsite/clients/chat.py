"""Conversations: what follows from their words, and their form for models of plain text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import structs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from helmsite.schema import Message, Request

ANSWER = "Assistant:"


def as_sent(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Return messages as chat APIs and chat templates take them."""
    return [{"role": m.role, "content": m.content, **m.extra} for m in messages]


def wording(request: Request) -> str:
    """Return all that a request says, for seeds: its prompt, then its messages if any."""
    if not request.messages:
        return request.prompt
    return request.prompt + msgspec.json.encode(as_sent(request.messages)).decode()


def as_text(request: Request) -> Request:
    """Return a request whose prompt is its conversation in plain form.

    Each message is its role and content, an empty line apart, and what is asked for
    follows `Assistant:`. A request that has a prompt stays as it is.
    """
    if request.prompt or not request.messages:
        return request
    told = [f"{m.role.capitalize()}: {m.content}" for m in request.messages]
    return structs.replace(request, prompt="\n\n".join([*told, ANSWER]))
