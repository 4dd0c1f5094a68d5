"""Samples of Inspect → instances: input, choices, targets, metadata."""

from __future__ import annotations

from typing import Any

from helmsite.importers.values import Row, plain
from helmsite.schema import CORRECT_TAG, Instance, Message, Reference

ATTACHED = "attachment://"
LONG = {"logprobs", "prompt_logprobs"}
"""What is long and never refers to anything."""
SPLIT = "test"
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
REASONS = {"max_tokens": "length", "model_length": "length"}
TEXT, THOUGHT = "text", "reasoning"
SPOKEN = {"messages", "input", "prompt", "contents", "system"}
"""Where interfaces of models expect what they are asked, which is left as it is."""
MOST = 2**31


def resolved(sample: Row) -> Row:
    """Return a sample in which attachments stand where they are referred to.

    It is changed in place. Attachments that nothing refers to stay under that name.
    """
    legacy = sample.row("transcript", None)  # before `events` and `attachments`
    value = sample.value
    if legacy is not None:
        del value["transcript"]
        value.setdefault("events", legacy.get("events"))
        value.setdefault("attachments", legacy.get("content"))
    texts = value.pop("attachments", None)
    if isinstance(texts, dict) and texts:
        used = _fill(value, texts)
        left = {k: v for k, v in texts.items() if k not in used}
        if left:
            value["attachments"] = left
    return sample


def _fill(value: dict[str, Any], texts: dict[str, Any]) -> set[str]:
    """Put texts in the place of references to them; return those that were referred to."""
    used: set[str] = set()
    todo: list[Any] = [value]
    while todo:
        inside = todo.pop()
        pairs = inside.items() if isinstance(inside, dict) else enumerate(inside)
        for key, each in pairs:
            if isinstance(each, str):
                name = each[len(ATTACHED) :] if each.startswith(ATTACHED) else ""
                if name and isinstance(texts.get(name), str):
                    used.add(name)
                    inside[key] = texts[name]
            elif isinstance(each, (dict, list)) and key not in LONG:
                todo.append(each)
    return used


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
    """Return a message; what is not plain text is in its `extra`, as in the source.

    Its id is left out: it is another one in each run.
    """
    content = row.get("content")
    role = row.text("role", "")
    if isinstance(content, str):
        return Message(role, content, row.rest("id", "role", "content"))
    parts = content if isinstance(content, list) else []
    text, _ = told(parts)
    only = parts and all(_is(part, TEXT) and len(part) == 2 for part in parts)
    return Message(role, text, row.rest("id", "role", *(["content"] if only else [])))


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
