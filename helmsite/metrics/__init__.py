"""Metrics: pure functions from instances and replies to scores, with their facts beside them.

A metric of another package is named by an entry point of the group `helmsite.metrics`:

    @text_metric(MetricFacts(name="same_length", title=..., description=..., family=...))
    def same_length(gold: str, prediction: str) -> float: ...
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from helmsite.errors import MetricError
from helmsite.metrics.case import Case, Exchange, UnmeasurableError
from helmsite.metrics.code import runs_code
from helmsite.metrics.kinds import (
    CaseMetric,
    Measure,
    RequestMetric,
    ShownPopulation,
    TextMetric,
    case_metric,
    pooled_metric,
    population_metric,
    request_metric,
    text_metric,
)
from helmsite.metrics.names import REGISTRY, applicable, load, require
from helmsite.metrics.notes import notes, renewed
from helmsite.metrics.sandbox import Limits, Sandbox
from helmsite.metrics.scoring import score
from helmsite.schema import PopulationMetric

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from helmsite.schema import MetricFacts

__all__ = [
    "Case",
    "CaseMetric",
    "Exchange",
    "Limits",
    "Measure",
    "RequestMetric",
    "Sandbox",
    "ShownPopulation",
    "TextMetric",
    "UnmeasurableError",
    "applicable",
    "case_metric",
    "is_known",
    "is_ours",
    "known",
    "notes",
    "pooled_metric",
    "population",
    "population_metric",
    "renewed",
    "request_metric",
    "require",
    "resolve",
    "runs_code",
    "score",
    "text_metric",
]


def known() -> tuple[MetricFacts, ...]:
    """Return the facts of every known metric, those of other packages included, by name."""
    return resolve(REGISTRY.table())


def is_known(name: str) -> bool:
    """Say whether there is a metric of that name; `exact_match@5` counts."""
    try:
        load(name)
    except MetricError:
        return False
    return True


def is_ours(facts: MetricFacts) -> bool:
    """Say whether facts are of a known metric, not of another tool's of the same name."""
    if not is_known(facts.name):
        return False
    return facts.source in {"", load(facts.name).facts.source}


def resolve(
    names: Iterable[str], groups: Sequence[str] = ()
) -> tuple[MetricFacts, ...]:
    """Return the facts of metrics, in the order of their names.

    Raises:
        MetricError: a name is unknown; the nearest ones are suggested, of `groups` too.
    """
    return tuple(load(name, groups=groups).facts for name in names)


def population(names: Iterable[str] | None = None) -> tuple[PopulationMetric, ...]:
    """Return the metrics of all instances at once among some, by default all known."""
    found = (load(name) for name in (REGISTRY.table() if names is None else names))
    return tuple(metric for metric in found if isinstance(metric, PopulationMetric))
