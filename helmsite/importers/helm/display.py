"""Runs without scenario_state.json: request states by what HELM made of them for its site.

HELM's site and many who publish its results have instances.json, display_requests.json and
display_predictions.json alone. They hold one answer to an instance, prompt and text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from helmsite.errors import SourceError
from helmsite.importers.values import Place, Row

if TYPE_CHECKING:
    from collections.abc import Callable

    from helmsite.importers.helm.naming import Perturbations

PREDICTION = (
    *("instance_id", "perturbation", "train_trial_index", "predicted_text"),
    *("reference_index", "annotations", "thinking_text", "stats"),
)
Key = tuple[str, str]


class Shown(NamedTuple):
    """What a file holds, None if it is not there, and where it stands."""

    value: Any
    place: Place


def displayed(
    instances: Shown,
    requests: Shown,
    predictions: Shown,
    perturbations: Perturbations,
    problem: Callable[[SourceError], None],
) -> list[dict[str, Any]]:
    """Return request states, each with an answer's text and nothing more.

    Args:
        instances: instances.json.
        requests: display_requests.json.
        predictions: display_predictions.json.
        perturbations: their names.
        problem: hears what cannot be taken.
    """
    known: dict[Key, dict[str, Any]] = {}
    for row in _rows(instances, problem):
        try:
            known[_key(row, "id", perturbations)] = row.value
        except SourceError as error:
            problem(error)
    asked = {
        key: row.get("request")
        for row in _rows(requests, problem)
        if (key := _full(row, perturbations, problem))
    }
    made = []
    for row in _rows(predictions, problem):
        key = _full(row, perturbations, problem)
        if not key:
            continue
        if key[:2] not in known:
            problem(row.place.error("instances.json has no such instance"))
            continue
        made.append(_state(row, known[key[:2]], asked.get(key)))
    return made


def scores(predictions: Any) -> list[Any]:
    """Return the few scores beside predictions as per_instance_stats.json has them."""
    made = []
    for each in predictions if isinstance(predictions, list) else []:
        stats = each.get("stats") if isinstance(each, dict) else None
        if isinstance(stats, dict):
            listed = [
                {"name": {"name": k}, "count": 1, "mean": v, "min": v, "max": v}
                for k, v in stats.items()
            ]
            made.append({**each, "stats": listed})
    return made


def _state(row: Row, instance: dict[str, Any], request: Any) -> dict[str, Any]:
    thought = row.get("thinking_text")
    rest = {
        k: v
        for k, v in row.value.items()
        if k not in PREDICTION and v not in (None, [])
    }
    completion = {
        "text": row.get("predicted_text"),
        "thinking": {"text": thought} if thought else None,
        "display": rest or None,
    }
    return {
        "instance": instance,
        "train_trial_index": row.get("train_trial_index"),
        "reference_index": row.get("reference_index"),
        "request": request if isinstance(request, dict) else {"messages": []},
        "result": {"success": True, "completions": [completion]},
        "annotations": row.get("annotations"),
    }


def _rows(shown: Shown, problem: Callable[[SourceError], None]) -> list[Row]:
    found, place = shown
    if found is None:
        return []
    if not isinstance(found, list):
        problem(place.error("expected a list"))
        return []
    made = []
    for n, each in enumerate(found):
        try:
            made.append(Row(each, place.inside(n)))
        except SourceError as error:
            problem(error)
    return made


def _key(row: Row, name: str, perturbations: Perturbations) -> Key:
    told = perturbations.told(row.get("perturbation"), row.at("perturbation"))
    return row.text(name), told.name


def _full(
    row: Row, perturbations: Perturbations, problem: Callable[[SourceError], None]
) -> tuple[str, str, int] | None:
    try:
        trial = row.integer("train_trial_index", 0)
        return (*_key(row, "instance_id", perturbations), trial)
    except SourceError as error:
        problem(error)
        return None
