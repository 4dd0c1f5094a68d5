"""HELMET's averages by category and over all, of a model at a length.

HELMET averages over what there is. Here an average with a missing part is missing, and its
details name the part.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from helmsite.errors import SourceError
from helmsite.importers import naming, reading
from helmsite.importers.found import Aggregates
from helmsite.importers.helmet import names
from helmsite.importers.helmet.files import without_items
from helmsite.importers.helmet.rows import SPLIT
from helmsite.importers.values import Place, Row
from helmsite.schema import (
    MetricFacts,
    PublishedStat,
    ScenarioFacts,
    Stat,
    format_entry,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from helmsite.importers.found import Found

METRIC = "helmet_score"
FACTS = MetricFacts(
    METRIC,
    "HELMET score",
    "Mean of the numbers that HELMET reports of a category's data sets, each 0 to 100; "
    "over all, the mean of the seven categories.",
    "accuracy",
    higher_is_better=True,
    unit="points",
    source="HELMET",
)


class Part(NamedTuple):
    """A number that goes into a category's mean, and why it is missing if it is."""

    name: str
    value: float | None
    why: str = ""


def overall(length: int) -> str:
    """Return the scenario of the average over all categories."""
    return format_entry("helmet", {"length": str(length)})


def averages(found: Found) -> Aggregates:
    """Return the averages that a model's results at a length give."""
    said = _numbers(found)
    length, model = int(found.options["length"]), str(found.options["model"])
    tag = str(found.options.get("tag", ""))
    where = Path(found.names[0]).parent / f"*_{tag}_*_in{length}_*"
    settings = {"tag": tag} if tag else {}

    def cell(scenario: str, stat: Stat) -> PublishedStat:
        return PublishedStat(scenario, model, stat, settings, where.as_posix())

    results: list[PublishedStat] = []
    scenarios = []
    means: dict[str, float | None] = {}
    for title in names.CATEGORIES:
        parts = _parts(title, said)
        if all(part.value is None and not part.why for part in parts):
            means[title] = None
            continue
        scenario = format_entry(names.group(title), {"length": str(length)})
        stat = _mean(parts)
        means[title] = stat.value
        results.append(cell(scenario, stat))
        scenarios.append(_facts(scenario, f"HELMET {title}", title, length))
    if len(results) > 1:
        stat = _mean([Part(title, value) for title, value in means.items()])
        results.append(cell(overall(length), stat))
        scenarios.append(_facts(overall(length), "HELMET", "", length))
    return Aggregates(
        results=results,
        scenarios=tuple(scenarios),
        metrics=(FACTS,),
        cards=(naming.card(model),),
    )


def _facts(scenario: str, title: str, category: str, length: int) -> ScenarioFacts:
    what = (
        f"the data sets of HELMET's category {category}"
        if category
        else "HELMET's seven categories"
    )
    return ScenarioFacts(
        scenario,
        title=f"{title} at {length:,} tokens",
        description=f"The plain mean of {what}, as its collect_results.py computes it.",
        groups=("helmet_averages",),
        main_metric=METRIC,
        main_split=SPLIT,
    )


def _parts(title: str, said: dict[tuple[str, str], Part]) -> list[Part]:
    return [
        said.get((dataset, metric), Part(f"{dataset} {metric}", None))
        for dataset in names.CATEGORIES[title]
        for metric in names.METRICS[dataset]
    ]


def _mean(parts: Sequence[Part]) -> Stat:
    """Return the plain mean of parts, none if one is missing."""
    values = [part.value for part in parts if part.value is not None]
    missing = {p.name: p.why or "not there" for p in parts if p.value is None}
    details: dict[str, Any] = {
        "parts": {p.name: p.value for p in parts if p.value is not None}
    }
    if missing:
        details["missing_parts"] = missing
    whole = not missing and bool(values)
    return Stat(
        METRIC,
        math.fsum(values) / len(values) if whole else None,
        split=SPLIT,
        n_scored=len(values),
        n_asked=len(parts),
        origin="reported",
        missing="" if whole else "not measurable",
        details=details,
    )


def _numbers(found: Found) -> dict[tuple[str, str], Part]:
    """Return what HELMET reads from the files: of each result the number that counts."""
    files: dict[str, dict[str, Path]] = {}
    for file in map(Path, found.files):
        ending = next(
            e
            for e in (names.SCORE, names.JUDGED, names.RESULT)
            if file.name.endswith(e)
        )
        files.setdefault(names.stem(file.name), {})[ending] = file
    said: dict[tuple[str, str], Part] = {}
    for _, result in sorted(files.items()):
        for dataset, part, metric in _counted(result):
            key = dataset, metric
            two = key in said and said[key].value != part.value
            why = "there are two results of it"
            said[key] = Part(part.name, None, why) if two else part
    return said


def _counted(result: dict[str, Path]) -> list[tuple[str, Part, str]]:
    """Return the numbers of a result that count, on HELMET's scale."""
    path = next(
        result[e] for e in (names.JUDGED, names.SCORE, names.RESULT) if e in result
    )
    dataset = _dataset(result)
    found = []
    try:
        if path.name.endswith(names.SCORE):
            row = Row(reading.json_file(path), Place(str(path)))
        else:
            row = without_items(path).row("averaged_metrics")
    except SourceError as error:
        return [
            (dataset, Part(f"{dataset} {m}", None, error.why), m)
            for m in names.METRICS.get(dataset, ())
        ]
    for metric in names.METRICS.get(dataset, ()):
        name, why, value = f"{dataset} {metric}", "", None
        if metric in row:
            try:
                value = row.number(metric)
            except SourceError as error:
                why = error.why
        else:
            why = (
                "no judge has read it"
                if metric.startswith("gpt-4")
                else "not in the result"
            )
        if value is not None:
            value *= names.SCALES.get(metric, 1.0)
        found.append((dataset, Part(name, value, why), metric))
    return found


def _dataset(result: dict[str, Path]) -> str:
    """Return HELMET's short name of a result's data set."""
    for file in result.values():
        if known := names.named(file.name):
            return names.simple(known.dataset)
    return names.simple(next(iter(result.values())).name)
