"""Conversations in order: who said what, what was thought, which tool was called.

A transcript is whatever its source kept. What reads as a turn is shown as one; every
field that has no place of its own is kept beside it as JSON, so nothing is hidden.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from markupsafe import Markup
from msgspec import structs

from helmsite.render.blocks import Clip, Said
from helmsite.render.text import plain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from helmsite.schema import Message

    Show = Callable[[str], Clip]

TEXTS = {"text", "input_text", "output_text"}
THOUGHTS = ("reasoning_content", "reasoning", "thinking")
NAME = 80
MOST, TURN = 120_000, 200  # characters of a transcript on a page, and what a turn adds
DEEP = "This turn is nested too deeply to be shown; the archive has it."


def messages(said: Iterable[Message], show: Show) -> tuple[Said, ...]:
    """Return messages in order, each followed by the tool calls that it makes.

    `extra` holds the other fields of a message as JSON, the calls among them.
    """
    found = []
    for message in said:
        who = _name(message.role)
        extra = as_json(message.extra) if message.extra else ""
        found.append(Said(who, show(message.content), extra=_extra(extra, show)))
        calls = message.extra.get("tool_calls")
        for call in calls if isinstance(calls, list) else []:
            known = _call(call) if isinstance(call, dict) else None
            if known:
                found.append(_called(who, known, show))
    return tuple(found)


def as_sent(said: Iterable[Message]) -> str:
    """Return messages as the JSON that a chat interface is sent."""
    return as_json([{"role": m.role, "content": m.content, **m.extra} for m in said])


def transcript(items: Sequence[Any], show: Show) -> tuple[Said, ...]:
    """Return a transcript's turns in order."""
    found: list[Said] = []
    for item in items:
        try:
            found += list(_turns(item, "", show))
        except RecursionError:
            found.append(Said("data", show(DEEP), "data"))
    return tuple(found)


def shortened(said: tuple[Said, ...], whole: Callable[[], str]) -> tuple[Said, ...]:
    """Return turns, of very many the first and the last with a link to all of them.

    Args:
        said: the turns.
        whole: stores all of them as a file and returns its address.
    """
    sizes = [t.text.characters + (t.extra.characters if t.extra else 0) for t in said]
    if sum(sizes) + TURN * len(said) <= MOST:
        return said
    room, first = MOST, 0
    while first < len(said) and (room := room - sizes[first] - TURN) > MOST // 4:
        first += 1
    last = len(said)
    while last > first and (room := room - sizes[last - 1] - TURN) > 0:
        last -= 1
    note = Markup('<a href="{}">the whole transcript as JSON</a>').format(whole())
    cut = Said(f"{last - first:,} turns left out here", Clip(note, 0), "data")
    return (*said[:first], cut, *said[last:])


def as_json(value: object) -> str:
    """Return a value as JSON that people read."""
    return json.dumps(value, ensure_ascii=False, indent=1)


def _turns(item: Any, who: str, show: Show) -> Iterator[Said]:
    """Yield what an item says: one turn, or one for each of its parts."""
    if isinstance(item, str):
        yield Said(who or "text", show(item))
    elif not isinstance(item, dict):
        yield Said(_join(who, "data"), show(as_json(item)), "data")
    elif isinstance(item.get("role"), str):
        yield from _message(item, show)
    elif call := _call(item):
        turn = _called(who, call, show)
        yield structs.replace(turn, extra=_rest(item, call[2], show))
    else:
        yield from _part(item, who, show)


def _message(item: dict[str, Any], show: Show) -> Iterator[Said]:
    who = _name(item["role"])
    used = {"role", "content"}
    found: list[Said] = []
    for key in THOUGHTS:
        if isinstance(item.get(key), str) and item[key]:
            used.add(key)
            found.append(Said(_join(who, "thinks"), show(item[key]), "thought"))
    content = item.get("content")
    parts = content if isinstance(content, list) else [content]
    if who == "tool":
        name = next(
            (item[k] for k in ("function", "name") if isinstance(item.get(k), str)), ""
        )
        who = f"result of {_name(name)}" if name else "result of a tool"
    kind = "result" if who.startswith("result") else ""
    for part in parts:
        if part not in (None, ""):
            found += (_kind(turn, kind) for turn in _turns(part, who, show))
    if isinstance(calls := item.get("tool_calls"), list):
        used.add("tool_calls")
        found += (turn for call in calls for turn in _turns(call, who, show))
    if not found:
        found.append(Said(who, show(""), kind))
    rest = _rest(item, used, show)
    yield from found[:-1]
    last = found[-1]
    yield structs.replace(last, extra=_both(last.extra, rest)) if rest else last


def _both(first: Clip | None, second: Clip) -> Clip:
    if first is None:
        return second
    return Clip(first.html + "\n" + second.html, first.characters + second.characters)


def _kind(turn: Said, kind: str) -> Said:
    return turn if turn.kind else structs.replace(turn, kind=kind)


def _called(who: str, call: tuple[str, Any, set[str]], show: Show) -> Said:
    name, arguments, _ = call
    text = arguments if isinstance(arguments, str) else as_json(arguments)
    return Said(_join(who, f"calls {_name(name)}"), show(text), "call")


def _call(item: dict[str, Any]) -> tuple[str, Any, set[str]] | None:
    """Return the name and arguments of a tool call, and the fields that hold them."""
    function = item.get("function")
    if isinstance(function, dict) and function.keys() <= {"name", "arguments"}:
        if isinstance(name := function.get("name"), str):
            return name, function.get("arguments", ""), {"function"}
        return None
    if isinstance(function, str) and "arguments" in item:
        return function, item["arguments"], {"function", "arguments"}
    if isinstance(item.get("name"), str):
        for key in ("arguments", "input"):
            if key in item:
                return item["name"], item[key], {"name", key}
    return None


def _part(item: dict[str, Any], who: str, show: Show) -> Iterator[Said]:
    """Yield a part of a message: a text, a thought, a tool's result, anything else."""
    kind = item["type"] if isinstance(item.get("type"), str) else ""
    if kind in TEXTS and isinstance(item.get("text"), str):
        yield Said(
            who or "text", show(item["text"]), "", _rest(item, {"type", "text"}, show)
        )
        return
    for key in (*THOUGHTS, "text"):
        if kind in THOUGHTS and isinstance(item.get(key), str):
            rest = _rest(item, {"type", key}, show)
            yield Said(_join(who, "thinks"), show(item[key]), "thought", rest)
            return
    if kind == "tool_result" and isinstance(content := item.get("content"), str | list):
        for part in content if isinstance(content, list) else [content]:
            for turn in _turns(part, "result of a tool", show):
                yield _kind(turn, "result")
        if rest := _rest(item, {"type", "content"}, show):
            yield Said("result of a tool, other fields", rest, "data")
        return
    yield Said(_join(who, "data"), show(as_json(item)), "data")


def _rest(item: dict[str, Any], used: set[str], show: Show) -> Clip | None:
    """Return the fields that have no place of their own, None without any."""
    rest = {
        k: v for k, v in item.items() if k not in used and v not in (None, "", [], {})
    }
    if rest.get("type") in ("function", "tool_use"):
        del rest["type"]
    return _extra(as_json(rest) if rest else "", show)


def _extra(text: str, show: Show) -> Clip | None:
    return show(text) if text else None


def _name(text: str) -> str:
    return plain(text)[:NAME] or "nobody"


def _join(who: str, does: str) -> str:
    if not who:
        return does
    return f"{who} {does}" if does.startswith(("calls", "thinks")) else f"{who}, {does}"
