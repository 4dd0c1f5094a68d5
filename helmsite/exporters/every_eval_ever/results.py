"""A run's aggregates as results of Every Eval Ever, and what ids they have."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from helmsite.schema import Manifest, MetricFacts, Stat

SAME = 1e-9
MEAN = -1
UNITS = {"share": "proportion", "seconds": "seconds", "bits": "bits"}
KINDS = {"accuracy", "calibration", "toxicity", "bias", "efficiency"}
LEVEL = 0.95


@dataclass
class Results:
    """What is exported of a run's aggregates.

    Attributes:
        stats: those with a value, by id.
        undefined: why the others have none, by id.
        repeated: metrics with their scorers of which reported values are the computed ones.
        twice: metrics with their scorers that have values of both kinds.
        metrics: names of all that are exported.
    """

    manifest: Manifest
    stats: dict[str, Stat] = field(default_factory=dict)
    undefined: dict[str, str] = field(default_factory=dict)
    repeated: set[tuple[str, str]] = field(default_factory=set)
    twice: set[tuple[str, str]] = field(default_factory=set)
    metrics: frozenset[str] = frozenset()

    def scorer(self, metric: str, scorer: str, origin: str) -> str:
        """Return a scorer's name here, where a number may be reported and computed."""
        if origin == "reported" and (metric, scorer) in self.twice:
            return f"{scorer} as reported".strip()
        return scorer

    def is_left_out(self, metric: str, scorer: str, origin: str) -> bool:
        """Say whether a reported number is left out, because the computed one is equal."""
        return origin == "reported" and (metric, scorer) in self.repeated

    def id_of(self, stat: Stat) -> str:
        """Return an aggregate's id: `metric:split`, and what else tells it apart."""
        scorer = self.scorer(stat.metric, stat.scorer, stat.origin)
        parts = [stat.metric, stat.split, stat.sub_split, stat.perturbation]
        parts += [stat.computed_on if stat.perturbation else ""]
        parts += [f"scorer={scorer}" if scorer else ""]
        return ":".join(filter(None, parts))


def chosen(
    manifest: Manifest, stats: Iterable[Stat], metrics: Iterable[str] = ()
) -> Results:
    """Return the aggregates of a run that are exported.

    Each is a result with its source and settings, so there are those of the mean over
    trials alone, and of groups of instances (`dimension=value`) unperturbed alone.

    Args:
        manifest: the run's.
        stats: all of them.
        metrics: only these; default: all.
    """
    wanted = set(metrics)
    named = [s for s in stats if not wanted or s.metric in wanted]
    rows = [s for s in named if s.trial == MEAN and not _is_inner(s)]
    made = Results(manifest, metrics=frozenset(s.metric for s in named))
    by_origin: dict[tuple[Any, ...], dict[str, float | None]] = defaultdict(dict)
    for s in rows:
        by_origin[_context(s)][s.origin] = s.value
    for key, values in by_origin.items():
        if len(values) == 2:
            made.twice.add(key[:2])
    equal = {
        name
        for name in made.twice
        if all(_equal(v) for key, v in by_origin.items() if key[:2] == name)
    }
    made.repeated = equal
    for s in rows:
        if made.is_left_out(s.metric, s.scorer, s.origin):
            continue
        if s.value is None:
            made.undefined[made.id_of(s)] = s.missing or "not measurable"
        else:
            made.stats[_free(made.id_of(s), made.stats)] = s
    return made


def _is_inner(s: Stat) -> bool:
    """Say whether an aggregate is of a group of perturbed instances."""
    return "=" in s.sub_split and bool(s.perturbation)


def _context(s: Stat) -> tuple[Any, ...]:
    return (
        s.metric,
        s.scorer,
        s.split,
        s.sub_split,
        s.perturbation,
        s.computed_on,
    )


def _equal(values: Mapping[str, float | None]) -> bool:
    """Say whether a reported value, if there is one, is the computed one."""
    if "reported" not in values:
        return True
    if "computed" not in values:
        return False
    reported, computed = values["reported"], values["computed"]
    if reported is None or computed is None:
        return reported is computed
    return math.isclose(reported, computed, rel_tol=SAME, abs_tol=SAME)


def _free(identifier: str, taken: Mapping[str, Stat]) -> str:
    n = 1
    name = identifier
    while name in taken:
        n += 1
        name = f"{identifier}:{n}"
    return name


def result(identifier: str, stat: Stat, results: Results) -> dict[str, Any]:
    """Return one of `evaluation_results`, without its source and how it was made."""
    facts = next((m for m in results.manifest.metrics if m.name == stat.metric), None)
    scorer = results.scorer(stat.metric, stat.scorer, stat.origin)
    details = {
        "metric": stat.metric,
        "scorer": scorer,
        "split": stat.split,
        "sub_split": stat.sub_split,
        "perturbation": stat.perturbation,
        "computed_on": stat.computed_on,
        "origin": stat.origin,
        "n_scored": str(stat.n_scored),
        "n_asked": str(stat.n_asked),
    }
    return {
        "evaluation_result_id": identifier,
        "evaluation_name": results.manifest.spec.scenario,
        "metric_config": _config(stat, facts, results),
        "score_details": {
            "score": stat.value,
            "details": {k: v for k, v in details.items() if v or k == "split"},
            "uncertainty": _uncertainty(stat),
        },
    }


def _config(stat: Stat, facts: MetricFacts | None, results: Results) -> dict[str, Any]:
    made: dict[str, Any] = {
        "metric_id": f"{_owner(stat, facts, results)}.{stat.metric}",
        "metric_name": stat.metric,
        "lower_is_better": facts is not None and facts.higher_is_better is False,
    }
    if facts is None:
        return {**made, "additional_details": {"polarity": "unknown"}}
    if facts.description:
        made["evaluation_description"] = facts.description
    if facts.family in KINDS:
        made["metric_kind"] = facts.family
    unit = facts.unit or UNITS.get(facts.format, "")
    if unit:
        made["metric_unit"] = unit
    if facts.format == "share" and _is_share(stat.metric, results):
        made |= {"score_type": "continuous", "min_score": 0.0, "max_score": 1.0}
    more = {
        "title": facts.title,
        "family": facts.family,
        "aggregation": facts.aggregation,
        "format": facts.format,
        "version": str(facts.version),
        "source": facts.source,
        "polarity": "unknown" if facts.higher_is_better is None else "",
        "bounds_status": "" if "score_type" in made else "unknown",
    }
    keep = {k: v for k, v in more.items() if v or k == "family"}
    return {**made, "additional_details": keep}


def _owner(stat: Stat, facts: MetricFacts | None, results: Results) -> str:
    """Return whose metric it is: reported ones are the source's."""
    if stat.origin == "computed":
        return "helmsite"
    said = facts.source if facts else ""
    return said or results.manifest.provenance.source_tool or "reported"


def _is_share(metric: str, results: Results) -> bool:
    """Say whether all values of a metric are from 0 to 1."""
    return all(
        0 <= (s.value or 0) <= 1 for s in results.stats.values() if s.metric == metric
    )


def _uncertainty(stat: Stat) -> dict[str, Any]:
    made: dict[str, Any] = {"num_samples": stat.n_scored}
    computed = stat.origin == "computed"
    if stat.stderr is not None:
        made["standard_error"] = {"value": stat.stderr}
        if computed:
            made["standard_error"]["method"] = "analytic, clustered by instance"
    if stat.ci_low is not None and stat.ci_high is not None:
        made["confidence_interval"] = {"lower": stat.ci_low, "upper": stat.ci_high}
        if computed:
            made["confidence_interval"]["confidence_level"] = LEVEL
    return made


def as_text(value: object) -> str:
    """Return a value as the text that the format wants: JSON of what is none."""
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, sort_keys=True)
