"""Samples of Inspect → instances and replies: messages, tool calls, events, log-probabilities."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from helmsite.importers import redact
from helmsite.importers.values import Place, Row, number, plain
from helmsite.schema import (
    CORRECT_TAG,
    Completion,
    Instance,
    Message,
    Reference,
    Reply,
    Request,
    TopLogprob,
    Usage,
)

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Sequence

    from helmsite.errors import SourceError
    from helmsite.schema import Decoding

ATTACHED = "attachment://"
SPLIT = "test"
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
REASONS = {"max_tokens": "length", "model_length": "length"}
TEXT, THOUGHT = "text", "reasoning"
SPOKEN = {"messages", "input", "prompt", "contents", "system"}
"""Where interfaces of models expect what they are asked, which is left as it is."""
MOST = 2**31


def resolved(sample: Row) -> Row:
    """Return a sample in which attachments stand where they are referred to.

    Those that nothing refers to stay under `attachments`.
    """
    legacy = sample.row("transcript", None)  # before `events` and `attachments`
    value = dict(sample.value)
    if legacy is not None:
        del value["transcript"]
        value.setdefault("events", legacy.get("events"))
        value.setdefault("attachments", legacy.get("content"))
    texts = value.pop("attachments", None)
    if not isinstance(texts, dict) or not texts:
        return Row(value, sample.place)
    used: set[str] = set()
    value = _filled(value, texts, used)
    left = {k: v for k, v in texts.items() if k not in used}
    if left:
        value["attachments"] = left
    return Row(value, sample.place)


def _filled(value: Any, texts: dict[str, Any], used: set[str]) -> Any:
    if isinstance(value, str):
        name = value.removeprefix(ATTACHED)
        if len(name) < len(value) and isinstance(texts.get(name), str):
            used.add(name)
            return texts[name]
        return value
    if isinstance(value, dict):
        return {k: _filled(v, texts, used) for k, v in value.items()}
    if isinstance(value, list):
        return [_filled(v, texts, used) for v in value]
    return value


def identifier(sample: Row) -> str:
    """Return a sample's id as text.

    Raises:
        SourceError: it has none.
    """
    found = sample.get("id")
    if isinstance(found, bool) or not isinstance(found, (str, int, float)):
        raise sample.at("id").error("expected a text or a number")
    return found if isinstance(found, str) else str(plain(found))


def instance(sample: Row, instance_id: str, position: int) -> Instance:
    """Return what was asked: input, choices and targets; metadata is in `extra`."""
    said = sample.get("input")
    messages: tuple[Message, ...] = ()
    text = said if isinstance(said, str) else ""
    if isinstance(said, list):
        rows = sample.rows("input")
        messages = tuple(map(message, rows))
        asked = [m.content for m in messages if m.role == "user" and m.content]
        text = asked[-1] if asked else ""
    choices = sample.texts("choices", ())
    extra = {
        k: plain(sample.get(k))
        for k in ("target", "metadata", "description", "sandbox", "files", "setup")
        if sample.get(k) not in (None, "", [], {})
    }
    references = _references(targets(sample), choices)
    if not choices and not isinstance(extra.get("target"), dict):
        extra.pop("target", None)  # the references say it
    return Instance(
        instance_id,
        text,
        references,
        position=position,
        split=SPLIT,
        messages=messages,
        extra=extra,
    )


def unasked(instance_id: str, position: int) -> Instance:
    """Return a sample of which a log says only that it is in the data set."""
    return Instance(instance_id, "", position=position, split=SPLIT)


def targets(sample: Row) -> tuple[str, ...]:
    """Return the right answers, those that are no texts as texts."""
    found = sample.get("target")
    several = found if isinstance(found, list) else [found]
    return tuple(
        each if isinstance(each, str) else str(plain(each))
        for each in several
        if each not in (None, "") and not isinstance(each, (dict, list))
    )


def _references(
    right: tuple[str, ...], choices: tuple[str, ...]
) -> tuple[Reference, ...]:
    """Return the choices, right ones tagged, or the targets where there are none.

    A target names a choice by its letter; one that names none is a reference too.
    """
    letters = dict(zip(LETTERS, range(len(choices)), strict=False))
    chosen = {letters[t] for t in right if t in letters}
    others = [t for t in right if t not in letters]
    for target in list(others):
        if target in choices:
            chosen.add(choices.index(target))
            others.remove(target)
    return (
        *(
            Reference(text, (CORRECT_TAG,) if n in chosen else ())
            for n, text in enumerate(choices)
        ),
        *(Reference(text, (CORRECT_TAG,)) for text in others),
    )


def message(row: Row) -> Message:
    """Return a message; what is not plain text is in its `extra`, as in the source."""
    content = row.get("content")
    role = row.text("role", "")
    if isinstance(content, str):
        return Message(role, content, row.rest("role", "content"))
    parts = content if isinstance(content, list) else []
    text, _ = told(parts)
    only = parts and all(_is(part, TEXT) and len(part) == 2 for part in parts)
    return Message(role, text, row.rest("role", *(["content"] if only else [])))


def told(content: Any) -> tuple[str, str]:
    """Return the text and the thoughts in a message's content."""
    if isinstance(content, str):
        return content, ""
    parts = content if isinstance(content, list) else []
    said = {
        kind: [
            str(part.get(kind) or part.get("summary") or "")
            for part in parts
            if _is(part, kind)
        ]
        for kind in (TEXT, THOUGHT)
    }
    return "\n".join(said[TEXT]), "\n".join(said[THOUGHT])


def _is(part: Any, kind: str) -> bool:
    return isinstance(part, dict) and part.get("type") == kind


def replies(
    sample: Row, request: Request, model: str, hidden: Counter[str]
) -> list[Reply]:
    """Return what a model answered to a sample: a reply for each choice it gave.

    Args:
        sample: with its attachments in place.
        request: who is asked and how; its messages are filled in.
        model: the model that is evaluated, as `model_usage` names it.
        hidden: counts secrets in messages of errors, which are replaced.
    """
    rows = sample.rows("messages", ())
    events = _events(sample, rows, hidden)
    first = _asked(rows, events)
    asked = _with_messages(request, tuple(map(message, rows[:first])))
    output = sample.row("output", Row({}, sample.at("output")))
    choices = output.rows("choices", ())
    common = _common(sample, output, events, model, hidden)
    said = rows[first:]
    transcript: tuple[Any, ...] = ()
    if len(said) > 1 or (said and not choices):
        transcript = tuple(plain(row.value) for row in said)
    extra = _extra(sample, output, events, hidden)
    if not choices:
        completion = Completion(
            output.text("completion", ""),
            transcript=transcript,
            finish_reason=_limit(sample),
            extra=extra,
            **common,
        )
        return [Reply(asked, completion)]
    return [
        Reply(
            asked,
            _completion(choice, output, n, transcript if n == 0 else (), extra, common),
            n,
        )
        for n, choice in enumerate(choices)
    ]


def _with_messages(request: Request, messages: tuple[Message, ...]) -> Request:
    return Request(
        request.instance_id,
        "",
        request.decoding,
        trial=request.trial,
        prompt_kind="absent",
        messages=messages,
        output_mapping=request.output_mapping,
    )


def request(sample: Row, instance_id: str, trial: int, decoding: Decoding) -> Request:
    """Return the request of a sample without its messages."""
    choices = sample.texts("choices", ())
    return Request(
        instance_id,
        "",
        decoding,
        trial=trial,
        prompt_kind="absent",
        output_mapping=dict(zip(LETTERS, choices, strict=False)),
    )


def _asked(rows: Sequence[Row], events: Sequence[dict[str, Any]]) -> int:
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


def _events(
    sample: Row, messages: Sequence[Row], hidden: Counter[str]
) -> list[dict[str, Any]]:
    """Return the events; what a sample says elsewhere too is left out of them.

    The messages that a model was sent are given as their number, `{"messages": 3}`, where
    they are the first of the sample's; an output that is the sample's own is left out.
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
        event.pop("traceback_ansi", None)
        found.append(_clean(event, hidden))
    return found


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


def _completion(
    choice: Row,
    output: Row,
    n: int,
    transcript: tuple[Any, ...],
    extra: dict[str, Any],
    common: dict[str, Any],
) -> Completion:
    spoken = choice.row("message", None)
    text, thoughts = told(spoken.get("content")) if spoken else ("", "")
    if not text and n == 0:
        text = output.text("completion", "")
    reason = choice.text("stop_reason", "")
    tokens, logprobs, top = _tokens(choice)
    rest = choice.rest("message", "stop_reason", "logprobs")
    if spoken:
        rest |= {"message": spoken.rest(*_plain_parts(spoken))}
    known = [p for p in logprobs or () if p is not None]
    return Completion(
        text,
        reasoning=thoughts,
        transcript=transcript,
        tokens=tokens,
        token_logprobs=logprobs,
        top_logprobs=top,
        logprob=sum(known) if logprobs and len(known) == len(logprobs) else None,
        finish_reason=REASONS.get(reason, reason),
        extra={**(extra if n == 0 else {}), "choice": rest},
        **common,
    )


def _plain_parts(spoken: Row) -> tuple[str, ...]:
    """Return the fields of a message that a completion holds."""
    return ("role", "content") if isinstance(spoken.get("content"), str) else ("role",)


def _tokens(
    choice: Row,
) -> tuple[
    tuple[str, ...] | None,
    tuple[float | None, ...] | None,
    tuple[tuple[TopLogprob, ...], ...] | None,
]:
    found = choice.row("logprobs", None)
    rows = found.rows("content", ()) if found else []
    if not rows:
        return None, None, None
    tops = []
    for row in rows:
        pairs = [
            (each.text("token"), each.number("logprob", None))
            for each in row.rows("top_logprobs", ())
        ]
        tops.append(tuple(TopLogprob(t, p) for t, p in pairs if p is not None))
    return (
        tuple(row.text("token") for row in rows),
        tuple(row.number("logprob", None) for row in rows),
        tuple(tops) if any(tops) else None,
    )


def _common(
    sample: Row,
    output: Row,
    events: Sequence[dict[str, Any]],
    model: str,
    hidden: Counter[str],
) -> dict[str, Any]:
    """Return the fields that all completions of a sample share."""
    calls = [e for e in events if e.get("event") == "model" and not e.get("role")]
    used = sample.row("model_usage", None)
    own = used.row(model, None) if used else None
    error = sample.get("error")
    told_error = error.get("message") if isinstance(error, dict) else error
    duration = output.number("time", None) if len(calls) < 2 else None
    if duration is None:
        duration = sample.number("working_time", None)
    return {
        "usage": _usage(own or output.row("usage", None)),
        "duration_s": duration if duration is None or duration >= 0 else None,
        "started_at": moment(sample.get("started_at"), sample.at("started_at")),
        "cached": bool(calls) and all(c.get("cache") == "read" for c in calls),
        "model_version": output.text("model", ""),
        "error": redact.text(str(told_error) or "no message", hidden) if error else "",
    }


def _usage(row: Row | None) -> Usage:
    if row is None:
        return Usage()
    fresh = row.integer("input_tokens", None)
    cached = row.integer("input_tokens_cache_read", None)
    written = row.integer("input_tokens_cache_write", None)
    total = None if fresh is None else fresh + (cached or 0) + (written or 0)
    return Usage(
        total if total is None or total < MOST else None,
        row.integer("output_tokens", None),
        cached,
    )


def _limit(sample: Row) -> str:
    limit = sample.row("limit", None)
    return f"{limit.text('type', 'unknown')} limit" if limit else ""


HELD = (
    *("id", "epoch", "input", "choices", "target", "messages", "output", "scores"),
    *("score", "metadata", "description", "sandbox", "files", "setup", "events"),
    *("events_data", "error", "error_retries"),
)
"""The fields of a sample that have a place of their own."""


def _extra(
    sample: Row, output: Row, events: list[dict[str, Any]], hidden: Counter[str]
) -> dict[str, Any]:
    """Return what no column holds: usage, store, limit, events."""
    extra = {k: v for k, v in sample.rest(*HELD).items() if v not in (None, "", [], {})}
    rest = output.rest("choices", "completion", "model")
    if rest:
        extra["output"] = rest
    if events:
        extra["events"] = events
    for name in ("error", "error_retries"):
        if sample.get(name):
            extra[name] = redact.settings(_no_colours(plain(sample.get(name))), hidden)
    return extra


def _no_colours(found: Any) -> Any:
    """Return errors without the copy of their traceback that is coloured for terminals."""
    if isinstance(found, list):
        return [_no_colours(each) for each in found]
    if isinstance(found, dict):
        return {k: v for k, v in found.items() if k != "traceback_ansi"}
    return found


def moment(found: Any, place: Place) -> float | None:
    """Return a time as seconds since 1970, None if there is none.

    Raises:
        SourceError: it is no time.
    """
    if found in (None, ""):
        return None
    if not isinstance(found, str):
        return _possible(number(found, place))
    try:
        read = datetime.fromisoformat(found)
        read = read if read.tzinfo else read.replace(tzinfo=UTC)
        return _possible(read.timestamp())
    except (ValueError, OverflowError) as error:
        raise _odd_time(found, place) from error


def _possible(seconds: float | None) -> float | None:
    """Return a time that archives hold (from 1970 to 9999), else None."""
    return seconds if seconds is not None and 0 <= seconds < 253_370_764_800 else None


def _odd_time(found: str, place: Place) -> SourceError:
    return place.error(f"expected a time, got {found[:40]!r}")
