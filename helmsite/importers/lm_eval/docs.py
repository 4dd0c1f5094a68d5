"""What a document of a task says: its text, its choices, and which of them are right.

A task's templates are never run. Those that only put fields of the document into a text,
as most do, are filled in here; of others a document's fields with the usual names serve.
The text does not depend on the number of shots, so that runs can be compared.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from helmsite.importers import reading
from helmsite.importers.values import literal, plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from helmsite.importers.values import Row

USUAL = (
    *("question", "query", "input", "text", "prompt", "problem", "instruction", "goal"),
    *("sentence", "premise", "context", "passage", "ctx", "page", "content", "source"),
)
CHOICES = ("choices", "options", "endings", "answers")
GROUPS = (
    *("subject", "category", "subcategory", "topic", "domain", "discipline", "field"),
    *("level", "difficulty", "language", "lang", "type", "subset"),
)
"""Fields that put documents into groups."""

MOST_GROUPS, LABEL = 40, 60
MANY = 2**31
_PLACE = re.compile(r"\{\{-?([^{}]*?)-?\}\}")
_PATH = re.compile(
    r"^\s*([A-Za-z_]\w*)((?:\.[A-Za-z_]\w*|\[(?:\d+|'\w+'|\"\w+\")\])*)\s*$"
)
_STEP = re.compile(r"\.([A-Za-z_]\w*)|\[(\d+)\]|\[['\"](\w+)['\"]\]")
_TRIM = re.compile(r"(?:\|\s*trim|\.strip\(\))\s*$")
_NOTHING = object()


def text(doc: Any, config: Row, context: str) -> str:
    """Return the text of a document, as the task puts it to a model without examples.

    Args:
        doc: the document.
        config: the task's configuration.
        context: what serves if nothing else does.
    """
    if not isinstance(doc, dict):
        return doc if isinstance(doc, str) else context
    template = config.get("doc_to_text")
    if isinstance(template, str):
        filled = fill(template, doc)
        if filled is not None and filled.strip():
            return filled
    found = next((doc[k] for k in USUAL if isinstance(doc.get(k), str) and doc[k]), "")
    return found or context


def fill(template: str, doc: dict[str, Any]) -> str | None:
    """Return a template with a document's fields put in, None if it does other things.

    The text of a function, which stands in its place, has no fields to put in.
    """
    if isinstance(doc.get(template), str):  # the name of a field stands for its value
        return str(doc[template])
    if "{{" not in template or "{%" in template or "{#" in template:
        return None
    parts, end = [], 0
    for match in _PLACE.finditer(template):
        value = value_of(match[1], doc)
        if value is _NOTHING or isinstance(value, (dict, list)):
            return None
        parts += [template[end : match.start()], "" if value is None else str(value)]
        end = match.end()
    parts.append(template[end:])
    if any("{{" in each for each in parts[::2]):
        return None
    return "".join(parts)


def value_of(expression: str, doc: dict[str, Any]) -> Any:
    """Return the field that an expression means, _NOTHING if it is no plain field."""
    trimmed = _TRIM.sub("", expression)
    path = _PATH.match(trimmed)
    if path is None:
        return _NOTHING
    value = doc.get(path[1], _NOTHING)
    for step in _STEP.finditer(path[2]):
        key: Any = int(step[2]) if step[2] else step[1] or step[3]
        try:
            value = value[key]
        except (KeyError, IndexError, TypeError):
            return _NOTHING
    if trimmed != expression and isinstance(value, str):
        return value.strip()
    return value


def choices(doc: Any, config: Row, arguments: Sequence[Sequence[Any]]) -> list[str]:
    """Return the texts of a document's choices: as the task has them, else as were sent.

    Args:
        doc: the document.
        config: the task's configuration.
        arguments: context and continuation of each choice.
    """
    count = len(arguments)
    given = config.get("doc_to_choice")
    found: Any = given
    if isinstance(given, str) and isinstance(doc, dict):
        found = doc.get(given, _NOTHING)
        inside = _PLACE.fullmatch(given.strip())
        if found is _NOTHING and inside:
            found = value_of(inside[1], doc)
            if found is _NOTHING:
                found = _listed(inside[1], doc)
    if _are_texts(found, count):
        return [str(each) for each in found]
    ends = [str(a[1]) for a in arguments]
    if has_inputs(arguments):
        return _tails([str(a[0]) for a in arguments])
    delimiter = config.get("target_delimiter")
    delimiter = delimiter if isinstance(delimiter, str) else " "
    if delimiter and all(each.startswith(delimiter) for each in ends):
        return [each[len(delimiter) :] for each in ends]
    if isinstance(doc, dict):
        for key in CHOICES:
            if _are_texts(doc.get(key), count):
                return [str(each) for each in doc[key]]
    return ends


def _listed(expression: str, doc: dict[str, Any]) -> Any:
    """Return the list that `[choice1, choice2]` means."""
    inner = expression.strip()
    if not (inner.startswith("[") and inner.endswith("]")):
        return _NOTHING
    found = [value_of(part, doc) for part in inner[1:-1].split(",")]
    return _NOTHING if any(each is _NOTHING for each in found) else found


def _are_texts(found: Any, count: int) -> bool:
    return (
        isinstance(found, list)
        and len(found) == count
        and all(isinstance(e, (str, int, float)) for e in found)
    )


def _tails(contexts: list[str]) -> list[str]:
    """Return where contexts differ, from the beginning of a word on."""
    shortest = min(map(len, contexts))
    first = contexts[0]
    same = next(
        (n for n in range(shortest) if any(c[n] != first[n] for c in contexts)),
        shortest,
    )
    begin = max(first.rfind(" ", 0, same), first.rfind("\n", 0, same)) + 1
    return [each[begin:] for each in contexts]


def groups(documents: Sequence[Any]) -> dict[str, tuple[str, ...]]:
    """Return by which fields documents fall into groups, and the group of each.

    Those of the usual names that all documents have, with few different short values.
    """
    found = {}
    for name in GROUPS:
        values = [d.get(name) if isinstance(d, dict) else None for d in documents]
        if not all(isinstance(v, (str, int)) for v in values):
            continue
        written = tuple(str(v) for v in values)
        different = set(written)
        if 1 < len(different) <= min(MOST_GROUPS, len(written) // 2) and all(
            v and len(v) <= LABEL and v.isprintable() for v in different
        ):
            found[name] = written
    return found


def has_inputs(arguments: Sequence[Sequence[Any]]) -> bool:
    """Return whether the choices are in the contexts, with one continuation for all."""
    contexts, ends = {str(a[0]) for a in arguments}, {str(a[1]) for a in arguments}
    return len(contexts) > 1 and len(ends) == 1


def input_gold(doc: Any, config: Row, count: int) -> tuple[int, ...]:
    """Return the right choice of a document whose choices are in the contexts.

    There `doc_to_text` is its place: a field, or code that is not run.
    """
    template = config.get("doc_to_text")
    if not isinstance(template, str) or not isinstance(doc, dict):
        return ()
    filled = fill(template, doc) if template not in doc else doc[template]
    place = _place(literal(filled) if isinstance(filled, str) else filled, ())
    return () if place is None or place >= count else (place,)


def gold(target: Any, texts: Sequence[str]) -> tuple[int, ...]:
    """Return the places of the right choices; what is none is left out.

    A target is a place, the text of a choice, or a list of them, often written as text.
    """
    found = target
    if isinstance(target, str):
        if target in texts and not target.strip().lstrip("-").isdigit():
            return (list(texts).index(target),)
        found = literal(target)
    several = found if isinstance(found, (list, tuple)) else [found]
    places = [_place(each, texts) for each in several]
    return tuple(dict.fromkeys(n for n in places if n is not None))


def _place(found: Any, texts: Sequence[str]) -> int | None:
    if isinstance(found, bool):
        found = int(found)
    if isinstance(found, float) and found.is_integer():
        found = int(found)
    if isinstance(found, int):
        return found if 0 <= found < (len(texts) or MANY) else None
    return (
        list(texts).index(found) if isinstance(found, str) and found in texts else None
    )


def targets(target: Any, doc: Any) -> tuple[str, ...]:
    """Return the right answers: the target, or its parts if it is a list written as text.

    A text that looks like a list is one if the document has that list, or if it is one of
    texts as Python writes them.
    """
    if isinstance(target, (list, tuple)):
        return tuple(_written(each) for each in target)
    if not isinstance(target, str):
        return () if target is None else (_written(target),)
    if target.startswith("[") and target.endswith("]"):
        found = literal(target)
        fields = doc.values() if isinstance(doc, dict) else ()
        if isinstance(found, list) and found:
            texts = all(isinstance(each, str) for each in found)
            if (texts and repr(found) == target) or any(found == f for f in fields):
                return tuple(dict.fromkeys(_written(each) for each in found))
    return (target,)


def _written(found: Any) -> str:
    return reading.clean(str(plain(found)))
