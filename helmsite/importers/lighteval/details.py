"""Rows of lighteval's details, of all ages, in one shape: doc, response and metrics.

Since 0.10 a row has three objects, `doc`, `model_response` and `metric` (`__doc__` and so on
in some versions). Before it had columns of its own (`example`, `full_prompt`, `predictions`,
`metrics`, ...), in most versions written as the texts of Python values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from helmsite.importers import values
from helmsite.importers.values import Place, Row

if TYPE_CHECKING:
    from collections.abc import Iterable

NEW = ("doc", "model_response", "metric")
OLD = ("example", "full_prompt", "predictions", "metrics")
LONGEST = 1_000_000
"""Characters of a Python value that is read; a longer one stays a text."""

SIGNS = "[{(-NTF0123456789"
"""With which a list, a number, None, True or False may begin."""

LISTS = (
    *("predictions", "input_tokens", "cont_tokens", "truncated", "padded", "gold"),
    *("pred_logits", "choices", "gold_index"),
)


class Detail(NamedTuple):
    """One sample: what was asked, what came back, how it was judged."""

    doc: Row
    response: Row
    metric: Row


def layout(columns: Iterable[str]) -> str:
    """Return which layout columns have: new, dunder or old; '' for those of no details."""
    known = set(columns)
    if set(NEW) <= known:
        return "new"
    if {f"__{name}__" for name in NEW} <= known:
        return "dunder"
    return "old" if set(OLD) <= known else ""


def detail(found: dict[str, Any], how: str, place: Place) -> Detail:
    """Return a row as a sample.

    Args:
        found: the row.
        how: its layout.
        place: where it is.

    Raises:
        SourceError: it has no such parts.
    """
    if how == "old":
        return _old(found, place)
    names = [name if how == "new" else f"__{name}__" for name in NEW]
    doc, response, metric = (
        Row(found.get(name) or {}, place.inside(name)) for name in names
    )
    return Detail(doc, response, metric)


def _old(found: dict[str, Any], place: Place) -> Detail:
    said = {name: _literal(value) for name, value in found.items()}
    for name in LISTS:
        value = said.get(name)
        if not isinstance(value, list):
            said[name] = [] if value in (None, "", "None") else [value]
    predictions = said["predictions"]
    choices, golds = said["choices"], said["gold"]
    index = said["gold_index"]
    if not choices and golds:
        choices, index = golds, list(range(len(golds)))
    scored = [_likelihood(each) for each in predictions]
    are_texts = not predictions or any(each is None for each in scored)
    known = {*OLD, *LISTS, "instruction", "specifics"}
    doc = {
        "query": _text(found.get("example")),
        "instruction": _text(found.get("instruction")),
        "choices": choices,
        "gold_index": index,
        "specific": said.get("specifics"),
    }
    doc |= {name: value for name, value in said.items() if name not in known}
    response = {
        "input": _text(found.get("full_prompt")),
        "input_tokens": said["input_tokens"],
        "output_tokens": said["cont_tokens"],
        "truncated_tokens_count": _first(said["truncated"]),
        "padded_tokens_count": _first(said["padded"]),
        "logits": said["pred_logits"] or None,
        "text": [_text(each) for each in predictions] if are_texts else [],
        "logprobs": [] if are_texts else [each[0] for each in scored if each],
        "argmax_logits_eq_gold": [] if are_texts else [e[1] for e in scored if e],
    }
    metrics = said["metrics"] if isinstance(said["metrics"], dict) else {}
    if not metrics:
        response["metrics"] = said["metrics"]
    return Detail(
        Row(doc, place), Row(response, place), Row(metrics, place.inside("metrics"))
    )


def _literal(found: Any) -> Any:
    """Return the value that a text of Python stands for, the text where it is none."""
    if not isinstance(found, str) or found[:1] not in SIGNS:
        return found
    return values.plain(values.literal(found, LONGEST))


def _text(found: Any) -> str:
    if found is None or found == "None":
        return ""
    return found if isinstance(found, str) else str(found)


def _likelihood(found: Any) -> tuple[float, bool | None] | None:
    """Return a log-probability, and whether the text is the most probable one."""
    if isinstance(found, (int, float)) and not isinstance(found, bool):
        return float(found), None
    if isinstance(found, list) and len(found) == 2:
        number, greedy = found
        if isinstance(number, (int, float)) and isinstance(greedy, bool):
            return float(number), greedy
    return None


def _first(found: list[Any]) -> int:
    return found[0] if found and isinstance(found[0], int) else 0
