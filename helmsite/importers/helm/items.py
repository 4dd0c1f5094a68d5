"""Parts of a request state: instances, messages, prompts, reasons of an end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from helmsite.schema import Instance, Message, Reference

if TYPE_CHECKING:
    from helmsite.importers.values import Row

INSTANCE = ("id", "input", "references", "split", "sub_split", "perturbation")


def instance_of(row: Row, name: str, perturbation: str) -> Instance:
    """Return an instance; its text and those of its references may be objects or not."""
    given = row.get("input")
    text = ""
    messages: tuple[Message, ...] = ()
    more: dict[str, Any] = {}
    if isinstance(given, str):
        text = given
    else:
        said = row.row("input")
        text = said.text("text", "") or media_text(said.get("multimedia_content"))
        messages = messages_of(said)
        more = said.rest("text", "messages")
    extra = row.rest(*INSTANCE)
    if more := {k: v for k, v in more.items() if v is not None}:
        extra["input"] = more
    references = []
    for n, each in enumerate(row.rows("references", ())):
        output = each.get("output")
        if isinstance(output, str):
            references.append(Reference(output, each.texts("tags", ())))
            continue
        said = each.row("output")
        rest = said.rest("text") | each.rest("output", "tags")
        if rest := {k: v for k, v in rest.items() if v is not None}:
            extra.setdefault("references", {})[str(n)] = rest
        shown = said.text("text", "") or media_text(said.get("multimedia_content"))
        references.append(Reference(shown, each.texts("tags", ())))
    return Instance(
        instance_id=name,
        input=text,
        references=tuple(references),
        perturbation=perturbation,
        split=row.text("split", ""),
        sub_split=row.text("sub_split", ""),
        messages=messages,
        extra={k: v for k, v in extra.items() if v is not None},
    )


def number_of(name: str) -> int | None:
    """Return N of HELM's ids `idN`, None of another one."""
    digits = name.removeprefix("id")
    plain_ = digits.isascii() and digits.isdigit() and len(digits) < 10
    return int(digits) if name.startswith("id") and plain_ else None


def media_text(found: Any) -> str:
    """Return the texts among images and sounds."""
    objects = found.get("media_objects") if isinstance(found, dict) else None
    texts = [
        each["text"]
        for each in (objects if isinstance(objects, list) else [])
        if isinstance(each, dict) and isinstance(each.get("text"), str)
    ]
    return "\n".join(texts)


def prompt_of(asked: Row) -> tuple[str, str]:
    """Return a prompt, and whether it is exact, abridged (images are left out) or absent."""
    prompt = asked.text("prompt", "")
    if prompt:
        return prompt, "exact"
    if "multimodal_prompt" in asked:
        return media_text(asked.get("multimodal_prompt")), "abridged"
    return "", "absent" if "messages" in asked else "exact"


def messages_of(row: Row) -> tuple[Message, ...]:
    """Return the messages of a conversation; what is no text among them is kept apart."""
    made = []
    for each in row.rows("messages", ()):
        content = each.get("content")
        if isinstance(content, str):
            extra = each.rest("role", "content")
            made.append(Message(each.text("role", ""), content, extra))
        else:
            made.append(Message(each.text("role", ""), "", each.rest("role")))
    return tuple(made)


def mapping_of(row: Row) -> dict[str, str]:
    """Return the letters of options with their texts."""
    said = row.row("output_mapping")
    return {letter: said.text(letter) for letter in said}


def finish_of(row: Row) -> tuple[str, dict[str, Any]]:
    """Return why a completion ended, and what else is said about it."""
    found = row.get("finish_reason")
    if isinstance(found, str):
        return found, {}
    if found is None:
        return "", {}
    said = row.row("finish_reason")
    rest = said.rest("reason")
    return said.text("reason", ""), {"finish_reason": rest} if rest else {}
