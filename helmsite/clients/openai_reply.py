"""Reading replies of OpenAI-compatible endpoints, in both shapes of log-probabilities."""

from __future__ import annotations

import itertools
import math
import re
from typing import Any

import msgspec
from msgspec import structs

from helmsite.clients.tokens import Step, cut, token_text
from helmsite.schema import Completion, Record, TopLogprob, Usage

_BYTES = re.compile(r"bytes:((?:\\x[0-9a-fA-F]{2})+)")
_PATH = re.compile(r"/|[A-Za-z]:\\|\\\\")
_LARGEST_COUNT = 2**31 - 1
_FINISH = {
    "": "unknown",
    "eos": "endoftext",
    "eos_token": "endoftext",
    "max_tokens": "length",
    "stop_sequence": "stop",
}


class Choice(Record, frozen=True):
    """One answer as the endpoint gives it, before stop sequences are looked for.

    `steps` are its tokens, None where it names none; `offsets` are where they start in
    the text, in the classic shape only. `merged` says that a step stands for several
    tokens, so that its log-probability is not that of its text.
    """

    text: str
    finish_reason: str
    reasoning: str = ""
    refusal: str = ""
    steps: tuple[Step, ...] | None = None
    offsets: tuple[int, ...] = ()
    merged: bool = False
    tool_calls: tuple[Any, ...] = ()


class Answer(Record, frozen=True):
    """A parsed reply: its choices in order, and what it says of all of them."""

    choices: tuple[Choice, ...]
    usage: Usage
    model_version: str


class _Alternative(msgspec.Struct):
    token: str
    logprob: float | None = None
    bytes: list[int] | None = None
    id: int | None = None


class _Position(_Alternative):
    top_logprobs: list[_Alternative] | None = None


class _Classic(msgspec.Struct):
    tokens: list[str]
    token_logprobs: list[float | None]
    top_logprobs: list[dict[str, float | None] | None] | None = None
    text_offset: list[int] | None = None


class _Message(msgspec.Struct):
    content: str | list[dict[str, Any]] | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    refusal: str | None = None
    tool_calls: list[Any] | None = None


class _Choice(msgspec.Struct):
    index: int = 0
    text: str | None = None
    message: _Message | None = None
    logprobs: Any = None
    finish_reason: str | None = None
    stop_reason: Any = ""


class _Reply(msgspec.Struct):
    choices: list[_Choice]
    usage: Any = None
    model: str | None = None
    system_fingerprint: str | None = None


def read(data: object) -> Answer:
    """Return a reply as records.

    Raises:
        ValueError: it is no completion: fields are missing or of a wrong type.
    """
    reply = msgspec.convert(data, _Reply)
    if not reply.choices:
        raise ValueError("it has no choices")
    usage = _usage(reply.usage)
    name = reply.model or ""
    if _PATH.match(name):  # a file on the server's machine
        name = re.split(r"[/\\]", name)[-1]
    version = " ".join(part for part in (name, reply.system_fingerprint) if part)
    ordered = sorted(reply.choices, key=lambda choice: choice.index)
    return Answer(tuple(_choice(c) for c in ordered), usage, version)


def completions(answer: Answer, stops: tuple[str, ...], top_k: int) -> list[Completion]:
    """Return the choices of an answer with texts that end before a stop sequence.

    The counts of `usage` are for all choices together: where tokens are not named, the
    first completion has the sum, the others 0.
    """
    total = answer.usage.completion_tokens
    counts = [None if c.steps is None else len(c.steps) for c in answer.choices]
    rest = [count or 0 for count in counts[1:]]
    if total is not None:
        told = None not in counts and sum(rest) <= total
        counts = [total - sum(rest), *rest] if told else [total, *(0 for _ in rest)]
    alone = len(counts) == 1
    return [
        structs.replace(
            _completion(choice, stops, top_k, total if alone else None),
            usage=structs.replace(answer.usage, completion_tokens=count),
            model_version=answer.model_version,
        )
        for choice, count in zip(answer.choices, counts, strict=True)
    ]


def scored(steps: tuple[Step, ...], choice: Choice, top_k: int) -> Completion:
    """Return the completion of a given continuation from its tokens."""
    return _with_tokens(Completion(), steps, top_k, choice.merged)


def scored_steps(choice: Choice, prompt: str, start: int) -> tuple[Step, ...] | None:
    """Return the tokens of `prompt[start:]` from an echoed prompt, None if it isn't one.

    Each token that holds a part of the continuation counts, so a space before it does
    where the tokeniser makes it part of the word (lm-evaluation-harness moves such a
    space to the continuation). What was generated after the prompt is left out.
    """
    steps = choice.steps or ()
    for lead in (0, 1):  # some servers echo the beginning-of-text token
        for space in (b"", b" "):  # a SentencePiece model's own first space
            found = _spelled(
                steps[lead:], space + prompt.encode(), space, prompt[:start]
            )
            if found is not None:
                return found
    return _by_offset(choice, prompt, start)


def _spelled(
    steps: tuple[Step, ...], whole: bytes, space: bytes, context: str
) -> tuple[Step, ...] | None:
    if not b"".join(step.data for step in steps).startswith(whole):
        return None
    begin = len(space + context.encode())
    ends = list(itertools.accumulate(len(step.data) for step in steps))
    return tuple(
        step
        for step, end in zip(steps, ends, strict=True)
        if end > begin and end - len(step.data) < len(whole)
    )


def _by_offset(choice: Choice, prompt: str, start: int) -> tuple[Step, ...] | None:
    """Return the scored tokens by text_offset: tokens that don't spell their text.

    The offsets are trusted only where one of them, or the end, is the prompt's end.
    """
    steps, offsets = choice.steps or (), choice.offsets
    if not steps or len(offsets) != len(steps) or not choice.text.startswith(prompt):
        return None
    ends = (*offsets[1:], offsets[-1] + len(steps[-1].text))
    if offsets[0] != 0 or len(prompt) not in ends or list(ends) != sorted(ends):
        return None
    return tuple(
        step
        for step, begin, end in zip(steps, offsets, ends, strict=True)
        if end > start and begin < len(prompt)
    )


def _completion(
    choice: Choice, stops: tuple[str, ...], top_k: int, total: int | None
) -> Completion:
    ends = [at for s in stops if s and (at := choice.text.find(s)) >= 0]
    text = choice.text[: min(ends, default=None)] if ends else choice.text
    completion = Completion(
        text=text,
        reasoning=choice.reasoning,
        transcript=choice.tool_calls,
        finish_reason="stop" if ends else choice.finish_reason,
        extra={"refusal": choice.refusal} if choice.refusal else {},
    )
    if choice.steps is None:
        return completion
    kept = _kept(choice.steps, text, stops)
    partial = (total or 0) > len(choice.steps) + _unnamed(choice.finish_reason, stops)
    if (
        partial
    ):  # which ones are merged is not said; each has a character of several bytes
        kept = tuple(
            s if s.data.isascii() else structs.replace(s, logprob=None) for s in kept
        )
    return _with_tokens(completion, kept, top_k, choice.merged or partial)


def _unnamed(finish_reason: str, stops: tuple[str, ...]) -> int:
    """Return how many tokens a reply may count but not name: its end, a stop sequence."""
    if finish_reason == "length":
        return 0
    return 1 + max((len(s.encode()) for s in stops), default=0)


def _kept(
    steps: tuple[Step, ...], text: str, stops: tuple[str, ...]
) -> tuple[Step, ...]:
    """Return the tokens that make up a text: none of a stop sequence, no end of text."""
    whole = text.encode()
    if not b"".join(step.data for step in steps).startswith(whole):
        return tuple(cut(steps, stops)[0])
    starts = itertools.accumulate((len(step.data) for step in steps), initial=0)
    return tuple(s for s, at in zip(steps, starts, strict=False) if at < len(whole))


def _with_tokens(
    completion: Completion, steps: tuple[Step, ...], top_k: int, partial: bool
) -> Completion:
    """Return the completion with its tokens; their sum only where each is known."""
    known = [s.logprob for s in steps if s.logprob is not None]
    total = sum(known)
    whole = len(known) == len(steps) and not partial and math.isfinite(total)
    note = {} if whole else {"logprobs": "not reported for every token"}
    return structs.replace(
        completion,
        tokens=tuple(s.text for s in steps),
        token_logprobs=tuple(s.logprob for s in steps),
        top_logprobs=tuple(s.top[:top_k] for s in steps),
        logprob=total if whole else None,
        extra={**completion.extra, **note},
    )


def _choice(choice: _Choice) -> Choice:
    message = choice.message or _Message(content=choice.text)
    steps, offsets, merged = _steps(choice.logprobs)
    reason = choice.finish_reason or ""
    if reason == "stop" and choice.stop_reason is None:  # vLLM: no stop sequence
        reason = "endoftext"
    return Choice(
        text=_plain(message.content),
        reasoning=message.reasoning_content or message.reasoning or "",
        refusal=message.refusal or "",
        finish_reason=_FINISH.get(reason, reason),
        steps=steps,
        offsets=offsets,
        merged=merged,
        tool_calls=tuple(message.tool_calls or ()),
    )


def _plain(content: str | list[dict[str, Any]] | None) -> str:
    """Return a message's text; of a list of parts, the parts that are text."""
    if isinstance(content, list):
        return "".join(str(part.get("text") or "") for part in content)
    return content or ""


def _steps(data: Any) -> tuple[tuple[Step, ...] | None, tuple[int, ...], bool]:
    """Return the steps of either shape, their text offsets, and if some are merged."""
    if not isinstance(data, dict):
        return None, (), False
    if data.get("content") is not None:
        positions = msgspec.convert(data["content"], list[_Position])
        merged = [_is_merged(p) for p in positions]
        pairs = zip(positions, merged, strict=True)
        return tuple(_content_step(p, m) for p, m in pairs), (), any(merged)
    if data.get("tokens") is None or data.get("token_logprobs") is None:
        return None, (), False
    classic = msgspec.convert(data, _Classic)
    tops = classic.top_logprobs or [None] * len(classic.tokens)
    columns = zip(classic.tokens, classic.token_logprobs, tops, strict=True)
    steps = tuple(_classic_step(*column) for column in columns)
    return steps, tuple(classic.text_offset or ()), False


def _content_step(position: _Position, merged: bool) -> Step:
    top = [(t, t.logprob) for t in position.top_logprobs or ()]
    data = _data(position)
    return Step(
        data,
        token_text(data),
        None if merged else position.logprob,
        _best([(token_text(_data(t)), logprob) for t, logprob in top]),
    )


def _is_merged(position: _Position) -> bool:
    """Whether a step stands for several tokens.

    llama.cpp gives tokens that end within a character together with the next, under the
    id and the log-probability of the last one alone.
    """
    return any(
        other.id is not None
        and other.id == position.id
        and other.bytes != position.bytes
        for other in position.top_logprobs or ()
    )


def _data(token: _Alternative) -> bytes:
    try:
        return bytes(token.bytes) if token.bytes else token.token.encode()
    except ValueError:  # not bytes at all
        return token.token.encode()


def _classic_step(
    token: str, logprob: float | None, top: dict[str, float | None] | None
) -> Step:
    data = token.encode()
    if match := _BYTES.fullmatch(token):
        data = bytes.fromhex(match[1].replace("\\x", ""))
    return Step(data, token_text(data), logprob, _best(list((top or {}).items())))


def _best(pairs: list[tuple[str, float | None]]) -> tuple[TopLogprob, ...]:
    known = [TopLogprob(token, value) for token, value in pairs if value is not None]
    return tuple(sorted(known, key=lambda each: -each.logprob))


def _usage(data: Any) -> Usage:
    """Return what is told of token counts; what is no count is left out."""
    usage = data if isinstance(data, dict) else {}
    details = usage.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else None
    return Usage(
        _count(usage.get("prompt_tokens")),
        _count(usage.get("completion_tokens")),
        _count(cached),
    )


def _count(value: Any) -> int | None:
    fits = type(value) is int and 0 <= value <= _LARGEST_COUNT
    return value if fits else None
