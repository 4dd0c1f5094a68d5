"""Conversations as Every Eval Ever writes them: one list of turns."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from helmsite.schema import Completion, Request

THOUGHTS = ("reasoning_trace", "reasoning_content", "reasoning", "thinking")


def turns(request: Request, completion: Completion) -> list[dict[str, Any]]:
    """Return all turns of a conversation: what was sent, and all that followed."""
    sent = [{**m.extra, "role": m.role, "content": m.content} for m in request.messages]
    followed = [dict(item) for item in completion.transcript if is_turn(item)]
    if followed and sent and _begins_with(followed, sent):
        sent = []
    if not any(item["role"] == "assistant" for item in followed):
        said = {"role": "assistant", "content": completion.text}
        if completion.reasoning:
            said["reasoning_trace"] = completion.reasoning
        followed.append(said)
    return [_turn(n, item) for n, item in enumerate([*sent, *followed])]


def is_turn(item: Any) -> bool:
    """Say whether an item of a transcript is a message."""
    return isinstance(item, dict) and isinstance(item.get("role"), str)


def kind(found: Sequence[dict[str, Any]]) -> str:
    """Return what a conversation is called: an agent's, or one of several turns."""
    tools = any(t["role"] == "tool" or t.get("tool_calls") for t in found)
    return "agentic" if tools else "multi_turn"


def _begins_with(items: list[dict[str, Any]], sent: list[dict[str, Any]]) -> bool:
    pairs = list(zip(items, sent, strict=False))
    return len(items) >= len(sent) and all(
        a["role"] == b["role"] and _content(a) == _content(b) for a, b in pairs
    )


def _turn(index: int, item: dict[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = {
        "turn_idx": index,
        "role": item["role"],
        "content": _content(item),
    }
    thought = next((item[k] for k in THOUGHTS if isinstance(item.get(k), str)), "")
    if thought:
        made["reasoning_trace"] = thought
    calls = item.get("tool_calls")
    if isinstance(calls, list) and calls:
        found = [_call(n, c) for n, c in enumerate(calls) if isinstance(c, dict)]
        made["tool_calls"] = found
    answered = item.get("tool_call_id")
    ids = answered if isinstance(answered, list) else [answered]
    if texts := [each for each in ids if isinstance(each, str)]:
        made["tool_call_id"] = texts
    return made


def _content(item: dict[str, Any]) -> str | None:
    """Return a turn's text: of one in parts the text of each, other parts as JSON."""
    content = item.get("content")
    if content is None or isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else [content]
    texts = [
        part
        if isinstance(part, str)
        else part["text"]
        if isinstance(part, dict) and isinstance(part.get("text"), str)
        else json.dumps(part, ensure_ascii=False, sort_keys=True)
        for part in parts
    ]
    return "\n".join(texts)


def _call(index: int, call: dict[str, Any]) -> dict[str, Any]:
    """Return a call of a tool, in whichever of the usual forms it is."""
    function = call.get("function")
    inner = function if isinstance(function, dict) else call
    name = inner.get("name") or (function if isinstance(function, str) else "")
    arguments = inner.get("arguments")
    if isinstance(arguments, str):
        with suppress(ValueError, RecursionError):
            arguments = json.loads(arguments)
    if not isinstance(arguments, dict):
        arguments = {} if arguments is None else {"arguments": arguments}
    return {
        "id": str(call.get("id") or f"call_{index}"),
        "name": str(name),
        "arguments": {
            str(k): v if isinstance(v, str) else json.dumps(v, ensure_ascii=False)
            for k, v in arguments.items()
        },
    }
