"""Events of Inspect, without what a sample says elsewhere: calls of models, tools, limits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from helmsite.importers import redact
from helmsite.importers.values import plain

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Sequence

    from helmsite.importers.values import Row

SPOKEN = {"messages", "input", "prompt", "contents", "system"}
"""Where interfaces of models expect what they are asked, which is left as it is."""


def before_answer(rows: Sequence[Row], events: Sequence[dict[str, Any]]) -> int:
    """Return how many of the messages were there before the model first spoke."""
    for event in events:
        if event.get("event") == "model" and not event.get("role"):
            given = event.get("input")
            if isinstance(given, dict):
                return int(given["messages"])
            break
    for n, row in enumerate(rows):
        if row.get("role") == "assistant" and row.get("source") != "input":
            return n
    return len(rows)


def own_calls(sample: Row) -> list[Row]:
    """Return the calls of the model that is evaluated: without a role, before scoring."""
    found = []
    for row in sample.rows("events", ()):
        begins = row.get("event") == "span_begin" or row.get("action") == "begin"
        if begins and row.get("type") in {"scorer", "scorers"}:
            break
        if row.get("event") == "model" and not row.get("role"):
            found.append(row)
    return found


def events(
    sample: Row, messages: Sequence[Row], hidden: Counter[str]
) -> list[dict[str, Any]]:
    """Return the events; what a sample says elsewhere too is left out of them.

    The messages that a model was sent are given as their number, `{"messages": 3}`, where
    they are the first of the sample's; an output that is the sample's own is left out, and
    so is what the state's changes say of messages and output.
    """
    pools = sample.row("events_data", None)
    pool = pools.items("messages", []) if pools else []
    calls = pools.items("calls", []) if pools else []
    spoken = [_bare(row.value) for row in messages]
    output = sample.get("output")
    found = []
    for row in sample.rows("events", ()):
        event = dict(row.value)
        kind = event.get("event")
        if kind == "sample_init":
            event.pop("sample", None)
            event.pop("state", None)
        elif kind == "model":
            refs = event.pop("input_refs", None)
            given = _taken(refs, pool) if refs else event.get("input")
            bare = [_bare(each) for each in given] if isinstance(given, list) else None
            same = bare is not None and bare == spoken[: len(bare)]
            event["input"] = (
                {"messages": len(bare)} if same and bare is not None else given
            )
            if event.get("output") == output:
                event.pop("output", None)
            _refill(event, calls)
        elif kind == "state":
            event["changes"] = _own_changes(event.get("changes"))
        found.append(_clean(without_colours(event), hidden))
    return found


def without_colours(found: Any) -> Any:
    """Return errors without the copy of their traceback that is coloured for terminals.

    It stands in the error of a sample, in those of its retries, and in that of an event.
    """
    if isinstance(found, list):
        return [without_colours(each) for each in found]
    if isinstance(found, dict):
        kept = {k: v for k, v in found.items() if k != "traceback_ansi"}
        if isinstance(kept.get("error"), dict):
            kept["error"] = without_colours(kept["error"])
        return kept
    return found


def _own_changes(changes: Any) -> Any:
    """Return changes of a sample's state but those of its messages and its output."""
    if not isinstance(changes, list):
        return changes
    return [each for each in changes if not _is_said(each)]


def _is_said(change: Any) -> bool:
    path = change.get("path") if isinstance(change, dict) else None
    return isinstance(path, str) and path.startswith(("/messages", "/output"))


def _clean(event: dict[str, Any], hidden: Counter[str]) -> dict[str, Any]:
    """Replace secrets in what went wrong and in how models and sandboxes were called."""
    kept: dict[str, Any] = plain(event)
    for name in ("error", "traceback", "config"):
        if name in kept:
            kept[name] = redact.settings(kept[name], hidden)
    call = kept.get("call")
    if isinstance(call, dict) and isinstance(call.get("request"), dict):
        sent = {
            k: v if k in SPOKEN else redact.settings(v, hidden, k)
            for k, v in call["request"].items()
        }
        kept["call"] = {**call, "request": sent}
    return kept


def _bare(found: Any) -> Any:
    """Return a message without its id, which pools don't keep apart, and empty fields."""
    if not isinstance(found, dict):
        return found
    return {k: v for k, v in found.items() if k != "id" and v is not None}


def _taken(refs: Any, pool: list[Any]) -> list[Any]:
    """Return what ranges of a pool hold; those that make no sense hold nothing."""
    found: list[Any] = []
    for each in refs if isinstance(refs, list) else []:
        if isinstance(each, list) and len(each) == 2:
            start, end = each
            if isinstance(start, int) and isinstance(end, int) and 0 <= start <= end:
                found += pool[start:end]
    return found


def _refill(event: dict[str, Any], pool: list[Any]) -> None:
    """Put the messages of a call to a model's interface back into it."""
    call = event.get("call")
    if not isinstance(call, dict) or not call.get("call_refs"):
        return
    call = dict(call)
    refs, key = call.pop("call_refs"), call.pop("call_key", None)
    sent = call.get("request")
    call["request"] = {
        **(sent if isinstance(sent, dict) else {}),
        key if isinstance(key, str) else "messages": _taken(refs, pool),
    }
    event["call"] = call
