"""An answer in OpenCompass's predictions → an instance, requests and replies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import structs

from helmsite.importers import reading, values
from helmsite.importers.table.cells import Cells
from helmsite.importers.table.instances import ADAPTER
from helmsite.schema import (
    CORRECT_TAG,
    Completion,
    Instance,
    Message,
    Reference,
    Reply,
    Request,
    Usage,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from helmsite.importers.values import Row
    from helmsite.schema import AdapterSpec

LABEL = "label: "
ROLES = {"HUMAN": "user", "BOT": "assistant", "SYSTEM": "system"}
KNOWN = (
    *("origin_prompt", "prediction", "gold", "res_length", "all_input_length"),
    *("prompt", "testing input", "choices"),
)
LIKELIHOOD = ADAPTER
GENERATION = structs.replace(ADAPTER, method="generation")
_text = Cells().text


def is_scored(item: Row) -> bool:
    """Return whether labels were scored, and no text was generated."""
    return any(key.startswith(LABEL) for key in item)


def instance(item: Row, name: str, position: int) -> Instance:
    """Return what was asked about."""
    gold = item.get("gold")
    golds = [_text(g) for g in gold] if isinstance(gold, list) else [_text(gold)]
    golds = [each for each in golds if each] if gold is not None else []
    labels = [key.removeprefix(LABEL) for key in item if key.startswith(LABEL)]
    options = labels or [_text(each) for each in _list(item.get("choices"))]
    made = [Reference(o, (CORRECT_TAG,) if o in golds else ()) for o in options]
    made += [Reference(gold, (CORRECT_TAG,)) for gold in golds if gold not in options]
    said = item.get("origin_prompt")
    if said is None:
        said = item.get(
            "testing input",
        )
    if said is None:
        said = item.get("prompt")
    messages = _messages(said)
    alone = messages[0].content if len(messages) == 1 else ""
    return Instance(
        name,
        reading.clean(said) if isinstance(said, str) else alone,
        tuple(made),
        position=position,
        split="test",
        messages=() if alone else messages,
    )


def replies(item: Row, of: Instance, trial: int) -> Iterator[Reply]:
    """Yield what was sent and what came back.

    Raises:
        SourceError: a number is none.
    """
    extra = item.rest(*KNOWN, *(key for key in item if key.startswith(LABEL)))
    if is_scored(item):
        yield from _scored(item, of, trial)
        chosen = _request(of, None, LIKELIHOOD, trial)
        yield Reply(chosen, Completion(_text(item.get("prediction")), extra=extra))
        return
    said, came = item.get("origin_prompt"), item.get("prediction")
    if said is None:
        said = item.get("prompt")
    usage = Usage(_count(item, "all_input_length"), _count(item, "res_length"))
    if _is_rounds(said, came):
        for number, (asked, answer) in enumerate(zip(said, came, strict=True)):
            request = _request(of, asked, GENERATION, trial)
            request = structs.replace(request, request_index=number)
            more = extra if number == 0 else {}
            yield Reply(request, Completion(_text(answer), extra=more))
        return
    texts = came if isinstance(came, list) and _are_texts(came) else [came]
    request = _request(of, said, GENERATION, trial)
    for number, text in enumerate(texts):
        first = number == 0
        yield Reply(
            request,
            Completion(
                _text(text),
                usage=usage if first else Usage(),
                extra=(extra | _odd(text)) if first else {},
            ),
            number,
        )


def _scored(item: Row, of: Instance, trial: int) -> Iterator[Reply]:
    labels = [key for key in item if key.startswith(LABEL)]
    for index, key in enumerate(labels):
        row = item.row(key)
        request = _request(of, row.get("prompt"), LIKELIHOOD, trial)
        whole = bool(request.prompt) and "PPL" in row  # the mean over all of it
        likelihood = row.number("Loglikelihood", None)
        yield Reply(
            structs.replace(
                request,
                reference_index=index,
                score_start=0 if whole else None,
            ),
            Completion(logprob=likelihood, extra=row.rest("prompt")),
        )


def _request(of: Instance, said: Any, how: AdapterSpec, trial: int) -> Request:
    prompt = reading.clean(said) if isinstance(said, str) else ""
    return Request(
        of.instance_id,
        prompt,
        how.decoding,
        trial=trial,
        prompt_kind="exact" if prompt else "absent",
        messages=_messages(said),
    )


def _messages(said: Any) -> tuple[Message, ...]:
    """Return a conversation; () for what is none."""
    made = []
    for each in said if isinstance(said, list) else ():
        if not isinstance(each, dict):
            return ()
        role = each.get("role")
        own = role if isinstance(role, str) else ""
        key = "prompt" if "prompt" in each else "content"
        content = each.get(key)
        known = {"role", key} if isinstance(content, str) else {"role"}
        rest = values.plain({k: v for k, v in each.items() if k not in known})
        text = reading.clean(content) if isinstance(content, str) else ""
        made.append(Message(ROLES.get(own, reading.clean(own)), text, rest))
    return tuple(made)


def _is_rounds(said: Any, came: Any) -> bool:
    """Return whether a conversation was held: a list of prompts, and one of answers."""
    if not isinstance(said, list) or not isinstance(came, list) or not said:
        return False
    return len(said) == len(came) and all(isinstance(each, list) for each in said)


def _are_texts(found: list[Any]) -> bool:
    return bool(found) and all(isinstance(each, str) for each in found)


def _odd(found: Any) -> dict[str, Any]:
    """Return a prediction that is no text, as it is."""
    plain = isinstance(found, (str, int, float, type(None)))
    return {} if plain else {"prediction": values.plain(found)}


def _list(found: Any) -> list[Any]:
    return found if isinstance(found, list) else []


def _count(item: Row, key: str) -> int | None:
    found = item.get(key)
    ok = isinstance(found, int) and not isinstance(found, bool) and 0 <= found < 2**31
    return found if ok else None
