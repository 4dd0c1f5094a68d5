"""Records of one run as Arrow tables, in an order that only depends on their content."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from helmsite.schema import (
        Instance,
        MetricFacts,
        PerturbationFacts,
        PopulationMetric,
        Score,
    )


class Kind(NamedTuple):
    """A series of scores: one metric by one scorer from one origin."""

    metric: str
    scorer: str
    origin: str


class Tables(NamedTuple):
    """What units.sql, stats.sql and population.sql read, and what the numbers stand for.

    `kinds[m]` is the series number m, `names[i]` the id of the instance number i,
    `inputs[p]` the metric of all instances number p with the scorer and origin of its
    inputs, `details[row]` what the score with that row number says beside its value.
    """

    score: pa.Table
    kind: pa.Table
    twin: pa.Table
    member: pa.Table
    family: pa.Table
    input: pa.Table
    kinds: tuple[Kind, ...]
    names: tuple[str, ...]
    inputs: tuple[tuple[PopulationMetric, Kind], ...]
    details: tuple[Mapping[str, Any], ...]


def contexts(instance: Instance) -> list[tuple[str, str]]:
    """Return the (split, sub_split) pairs in which an instance counts."""
    parts = {""} | ({instance.sub_split} if instance.sub_split else set())
    parts |= {f"{d}={v}" for d, values in instance.attributes.items() for v in values}
    return [(instance.split, part) for part in sorted(parts)]


def _kinds(
    scores: Sequence[Score], metrics: Sequence[MetricFacts]
) -> dict[Kind, tuple[int, str]]:
    """Number the series: metrics in their own order, unknown ones last and by name."""
    place = {facts.name: (n, facts.aggregation) for n, facts in enumerate(metrics)}
    last = (len(place), "mean")
    found = {Kind(s.metric, s.scorer, s.origin) for s in scores}
    ordered = sorted(found, key=lambda k: (place.get(k.metric, last)[0], k))
    return {k: (m, place.get(k.metric, last)[1]) for m, k in enumerate(ordered)}


def _weight(score: Score) -> float:
    return 1.0 if score.weight is None else score.weight


def _sound(score: Score, aggregation: str) -> tuple[float | None, str]:
    """Return value and reason; a number that cannot be averaged counts as missing."""
    if score.value is None:
        return None, score.missing or "not measurable"
    sound = math.isfinite(score.value) and math.isfinite(_weight(score))
    if aggregation == "geometric":
        sound = sound and score.value > 0
    return (float(score.value), "") if sound else (None, "nan")


def _score_table(
    scores: Sequence[Score],
    kinds: dict[Kind, tuple[int, str]],
    order: dict[str, int],
) -> tuple[pa.Table, tuple[Mapping[str, Any], ...]]:
    """Return the scores in a canonical order, and their details in the same one."""
    keys = sorted(
        {(s.request_index, s.reference_index, s.completion_index) for s in scores}
    )
    numbers = {key: n for n, key in enumerate(keys)}
    series = [kinds[Kind(s.metric, s.scorer, s.origin)] for s in scores]
    verdicts = [_sound(s, kind[1]) for s, kind in zip(scores, series, strict=True)]
    key = [
        numbers[s.request_index, s.reference_index, s.completion_index] for s in scores
    ]
    table = pa.table(
        {
            "i": pa.array([order[s.instance_id] for s in scores], pa.int32()),
            "m": pa.array([m for m, _ in series], pa.int32()),
            "perturbation": pa.array([s.perturbation for s in scores], pa.string()),
            "trial": pa.array([s.trial for s in scores], pa.int32()),
            "key": pa.array(key, pa.int32()),
            "value": pa.array([value for value, _ in verdicts], pa.float64()),
            "weight": pa.array([_weight(s) for s in scores], pa.float64()),
            "missing": pa.array([missing for _, missing in verdicts], pa.string()),
            "row": pa.array(np.arange(len(scores)), pa.int32()),
        }
    )
    by = [(c, "ascending") for c in ("i", "perturbation", "trial", "key", "m")]
    table = table.sort_by(by)
    details = tuple(scores[row].details for row in table["row"].to_pylist())
    rows = pa.array(np.arange(len(table)), pa.int32())
    return table.set_column(table.column_names.index("row"), "row", rows), details


def _inputs(
    kinds: dict[Kind, tuple[int, str]], population: Sequence[PopulationMetric]
) -> tuple[list[tuple[PopulationMetric, Kind]], pa.Table]:
    """Find the series that each metric of all instances is computed from."""
    series = sorted({(k.scorer, k.origin) for k in kinds})
    metrics: list[tuple[PopulationMetric, Kind]] = []
    rows = []
    for metric in population:
        for scorer, origin in series:
            own = [Kind(name, scorer, origin) for name in metric.inputs]
            needed = [k if k in kinds else k._replace(scorer="") for k in own]
            if not all(k in kinds for k in needed) or not any(k in own for k in needed):
                continue
            if metric.pool and origin != "computed":
                continue  # what a source's details hold is not known
            rows += [
                (len(metrics), place, kinds[kind][0], len(needed))
                for place, kind in enumerate(needed)
            ]
            metrics.append((metric, Kind(metric.facts.name, scorer, origin)))
    p, place, m, inputs = zip(*rows, strict=True) if rows else ((),) * 4
    number = pa.int32()
    return metrics, pa.table(
        {
            "p": pa.array(p, number),
            "place": pa.array(place, number),
            "m": pa.array(m, number),
            "inputs": pa.array(inputs, number),
        }
    )


def _texts(**columns: Sequence[int | str]) -> pa.Table:
    kinds = {"i": pa.int32(), "m": pa.int32(), "is_cost": pa.bool_()}
    return pa.table(
        {name: pa.array(c, kinds.get(name, pa.string())) for name, c in columns.items()}
    )


def families(perturbations: Sequence[PerturbationFacts]) -> list[tuple[str, str]]:
    """Return (family, perturbation) pairs; a family without perturbation has none."""
    pairs = []
    for name in ("fairness", "robustness"):
        members = [p.name for p in perturbations if getattr(p, name)]
        pairs += [(name, member) for member in sorted({"", *members}) if members]
    return pairs


def tables(
    instances: Sequence[Instance],
    scores: Sequence[Score],
    metrics: Sequence[MetricFacts],
    perturbations: Sequence[PerturbationFacts],
    population: Sequence[PopulationMetric],
) -> Tables:
    """Return everything about a run that its aggregates are made from.

    A score of an instance that is not in the list counts in the split ''. Versions of
    perturbations that the run does not hold make no family.
    """
    placed = {x.instance_id: x.position for x in instances}
    strangers = {s.instance_id for s in scores} - placed.keys()
    last = max(placed.values(), default=0) + 1
    placed.update(dict.fromkeys(strangers, last))
    names = sorted(placed, key=lambda name: (placed[name], name))
    order = {name: i for i, name in enumerate(names)}
    member = {(order[x.instance_id], *c) for x in instances for c in contexts(x)}
    member |= {(order[name], "", "") for name in strangers}
    twins = {(order[x.instance_id], x.perturbation) for x in instances}
    twins |= {(order[s.instance_id], s.perturbation) for s in scores}
    twin = sorted(pair for pair in twins if pair[1])
    present = {name for _, name in twin}
    family = families([p for p in perturbations if p.name in present])
    kinds = _kinds(scores, metrics)
    costs = {facts.name for facts in metrics if facts.higher_is_better is False}
    inputs, input_table = _inputs(kinds, population)
    score_table, details = _score_table(scores, kinds, order)
    i, split, sub_split = zip(*sorted(member), strict=True) if member else ((), (), ())
    return Tables(
        score=score_table,
        kind=_texts(
            m=[m for m, _ in kinds.values()],
            aggregation=[aggregation for _, aggregation in kinds.values()],
            is_cost=[kind.metric in costs for kind in kinds],
        ),
        twin=_texts(i=[i for i, _ in twin], perturbation=[p for _, p in twin]),
        member=_texts(i=i, split=split, sub_split=sub_split),
        family=_texts(
            name=[name for name, _ in family], perturbation=[p for _, p in family]
        ),
        input=input_table,
        kinds=tuple(kinds),
        names=tuple(names),
        inputs=tuple(inputs),
        details=details,
    )
