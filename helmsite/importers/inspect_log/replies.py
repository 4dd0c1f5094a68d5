"""What models answered in samples of Inspect: texts, thoughts, tool calls, log-probabilities."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import structs

from helmsite.importers import redact, values
from helmsite.importers.inspect_log.events import (
    before_answer,
    events,
    own_calls,
    without_colours,
)
from helmsite.importers.inspect_log.samples import LETTERS, message, told
from helmsite.importers.values import Place, Row, number, plain
from helmsite.schema import Completion, Reply, Request, TopLogprob, Usage

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Sequence

    from helmsite.schema import Decoding, Message

REASONS = {"max_tokens": "length", "model_length": "length"}
MOST = 2**31


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
    happened = events(sample, rows, hidden)
    first = before_answer(rows, happened)
    sent = _with_messages(request, tuple(map(message, rows[:first])))
    output = sample.row("output", Row({}, sample.at("output")))
    choices = output.rows("choices", ())
    said = rows[first:]
    common = _common(sample, output, model, hidden)
    extra = _extra(sample, output, happened, hidden)
    if not choices:
        completion = Completion(
            output.text("completion", ""),
            transcript=tuple(plain(row.value) for row in said),
            finish_reason=_limit(sample),
            extra=extra,
            **common,
        )
        return [Reply(sent, completion)]
    several = tuple(plain(row.value) for row in said) if len(said) > 1 else ()
    found = []
    for n, choice in enumerate(choices):
        first_of_all = {"transcript": several, "extra": extra} if n == 0 else {}
        completion = _completion(choice, output, {**common, **first_of_all})
        if limit := _limit(sample):
            completion = structs.replace(completion, finish_reason=limit)
        found.append(Reply(sent, completion, n))
    return found


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


def _completion(choice: Row, output: Row, common: dict[str, Any]) -> Completion:
    spoken = choice.row("message", None)
    text, thoughts = told(spoken.get("content")) if spoken else ("", "")
    if not text and "extra" in common:
        text = output.text("completion", "")
    reason = choice.text("stop_reason", "")
    tokens, logprobs, top = _tokens(choice)
    rest = choice.rest("message", "logprobs")
    if spoken:
        rest["message"] = spoken.rest(*_plain_parts(spoken))
    known = [p for p in logprobs or () if p is not None]
    return Completion(
        text,
        reasoning=thoughts,
        tokens=tokens,
        token_logprobs=logprobs,
        top_logprobs=top,
        logprob=sum(known) if logprobs and len(known) == len(logprobs) else None,
        finish_reason=REASONS.get(reason, reason),
        **{**common, "extra": {**common.get("extra", {}), "choice": rest}},
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
            (_token(each), each.number("logprob", None))
            for each in row.rows("top_logprobs", ())
        ]
        tops.append(tuple(TopLogprob(t, p) for t, p in pairs if p is not None))
    return (
        tuple(map(_token, rows)),
        tuple(row.number("logprob", None) for row in rows),
        tuple(tops) if any(tops) else None,
    )


def _token(row: Row) -> str:
    r"""Return a token; one that is no text by itself as `bytes:\xe2\x80`."""
    token, raw = row.text("token"), row.get("bytes")
    if not isinstance(raw, list) or not raw:
        return token
    try:
        blob = bytes(raw)
        return blob.decode()
    except UnicodeDecodeError:
        return "bytes:" + "".join(f"\\x{each:02x}" for each in raw)
    except (TypeError, ValueError):
        return token


def _common(
    sample: Row, output: Row, model: str, hidden: Counter[str]
) -> dict[str, Any]:
    """Return the fields that all completions of a sample share."""
    calls = own_calls(sample)
    error = sample.get("error")
    told_error = error.get("message") if isinstance(error, dict) else error
    duration = output.number("time", None) if len(calls) < 2 else None
    if duration is None:
        duration = sample.number("working_time", None)
    return {
        "usage": _spent(sample, output, calls, model),
        "duration_s": duration if duration is None or duration >= 0 else None,
        "started_at": moment(sample.get("started_at"), sample.at("started_at")),
        "cached": bool(calls) and all(c.get("cache") == "read" for c in calls),
        "model_version": output.text("model", ""),
        "error": redact.text(str(told_error) or "no message", hidden) if error else "",
    }


def _spent(sample: Row, output: Row, calls: Sequence[Row], model: str) -> Usage:
    """Return the tokens of all calls of a sample, without those of its scorers."""
    said = output.row("usage", None)
    if len(calls) == 1 and said is not None:
        return _usage(said)
    several = [row.row("output", None) for row in calls]
    each = [row.row("usage", None) if row else None for row in several]
    if each and None not in each:
        known = [_usage(row) for row in each if row is not None]
        return Usage(
            *(_sum(column) for column in zip(*map(structs.astuple, known), strict=True))
        )
    used = sample.row("model_usage", None)
    own = used.row(model, None) if used else None
    both = own if own is not None else said
    return Usage() if both is None else _usage(both)


def _sum(column: Sequence[int | None]) -> int | None:
    """Return the sum of what is known, None if nothing is, or it is too large to keep."""
    known = [each for each in column if each is not None]
    return sum(known) if known and sum(known) < MOST else None


def _usage(row: Row) -> Usage:
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
            extra[name] = redact.settings(
                without_colours(plain(sample.get(name))), hidden
            )
    return extra


def moment(found: Any, place: Place) -> float | None:
    """Return a time as seconds since 1970, None if there is none.

    Raises:
        SourceError: it is no time.
    """
    if found in (None, ""):
        return None
    if not isinstance(found, str):
        return _possible(number(found, place))
    read = values.moment(found)
    if read is None:
        raise place.error(f"expected a time, got {found[:40]!r}")
    return _possible(read)


def _possible(seconds: float | None) -> float | None:
    """Return a time that archives hold (from 1970 to 9999), else None."""
    return seconds if seconds is not None and 0 <= seconds < 253_370_764_800 else None
