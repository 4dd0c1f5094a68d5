"""OpenCompass's results: aggregates, and verdicts on single answers where there are details."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from msgspec import structs

from helmsite.importers import values
from helmsite.importers.table import mapping as mappings
from helmsite.importers.table.cells import Cells
from helmsite.schema import Score, Stat

if TYPE_CHECKING:
    from collections.abc import Iterator

    from helmsite.importers.table.mapping import Measure
    from helmsite.importers.values import Place, Row

SUMMARY = "opencompass_summary"
RIGHT = ("correct", "is_correct", "cascade_correct")
FOUND = ("pred", "predictions", "prediction", "parsed")
TEXTS = {*FOUND, "answer", "answers", "references", "reference", "refr", "gold"}
ACCURACY = "accuracy"
Verdicts = list[dict[str, Any]]


def measures() -> dict[str, Measure]:
    """Return what is known of OpenCompass's metrics: which are in percent, among others."""
    return dict(mappings.ready())[SUMMARY].metrics


def measure(name: str, known: dict[str, Measure]) -> Measure | None:
    """Return what is known of a metric: `accuracy (4 runs average)` is an accuracy."""
    return known.get(name) or known.get(name.partition(" (")[0])


def stats(results: Row, known: dict[str, Measure], split: str = "") -> list[Stat]:
    """Return the aggregates; what else the results say is in the first one's details."""
    made: list[Stat] = []
    rest: dict[str, Any] = {}
    for name, value in results.value.items():
        if name == "details":
            continue
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            rest[name] = values.plain(value)
            continue
        figure = Cells().figure(value, results.at(name), measure(name, known))
        made.append(
            Stat(
                name,
                figure.value,
                split=split,
                origin="reported",
                missing=figure.missing,
            )
        )
    if made and rest:
        made[0] = structs.replace(made[0], details=rest)
    return made


def verdicts(results: Row) -> tuple[Verdicts, int]:
    """Return the details of single answers, in order, and how often each was asked."""
    found = results.get("details")
    if isinstance(found, dict):
        numbered = [
            (int(k), v) for k, v in found.items() if k.isascii() and k.isdigit()
        ]
        several = [each for _, each in sorted(numbered, key=lambda pair: pair[0])]
    else:
        several = found if isinstance(found, list) else []
    if not several or not all(isinstance(each, dict) for each in several):
        return [], 1
    lists = [
        len(value)
        for each in several
        for name in RIGHT
        if isinstance(value := each.get(name), list)
    ]
    return several, (lists[0] if lists and len(set(lists)) == 1 and lists[0] else 1)


def scores(
    found: dict[str, Any], name: str, trial: int, metric: str, place: Place
) -> Iterator[Score]:
    """Yield the scores of one answer.

    Args:
        found: its details; where it was asked several times a value is a list.
        name: its instance.
        trial: which of the times.
        metric: what being right is called.
        place: where it is.

    Raises:
        SourceError: a score is a number too large.
    """
    own = {key: _one(value, trial) for key, value in found.items()}
    answer = next((own[key] for key in FOUND if own.get(key) is not None), None)
    text = Cells().text(answer)
    numbers = {
        key: value
        for key, value in own.items()
        if isinstance(value, (bool, int, float)) and key not in TEXTS
    }
    rest = {k: values.plain(v) for k, v in own.items() if k not in numbers}
    for key in FOUND:
        if rest.get(key) == text:
            rest.pop(key, None)
    for number, (key, value) in enumerate(numbers.items()):
        figure = Cells().figure(value, place.inside(key))
        yield Score(
            name,
            metric if key in RIGHT else key,
            figure.value,
            trial=trial,
            text=text,
            details=rest if number == 0 else {},
            origin="reported",
            missing=figure.missing,
        )


def called(results: Row, found: Verdicts) -> str:
    """Return what being right is called: accuracy, where that is the mean of it."""
    right: list[float] = []
    for each in found:
        said = next((each[key] for key in RIGHT if key in each), None)
        for one in said if isinstance(said, list) else [said]:
            number = _number(one)
            right += [] if number is None else [number]
    value = _number(results.get(ACCURACY))
    if right and value is not None:
        share = 100 * sum(right) / len(right)
        return ACCURACY if math.isclose(value, share, abs_tol=1e-6) else RIGHT[0]
    return RIGHT[0]


def _number(found: Any) -> float | None:
    """Return what is a number as one, None for others, and for those too large."""
    if isinstance(found, bool):
        return float(found)
    if not isinstance(found, (int, float)):
        return None
    return values.number(found, values.Place(""))


def _one(value: Any, trial: int) -> Any:
    """Return what is said of one time that something was asked."""
    if isinstance(value, list) and len(value) == 1:
        return value[0]
    if isinstance(value, list) and trial < len(value):
        return value[trial]
    return value
