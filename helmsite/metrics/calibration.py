"""Calibration: does a model's probability of its answer say how often it is right?

Inputs are max_prob and exact_match of each instance (a fraction counts as wrong), and
logprob: HELM computes calibration only if some instance has a log-probability below 0,
which separate multiple choice never reports. Bins and edges follow the verified
calibration library that HELM uses (Kumar et al. 2019). Platt scaling fits a logistic
curve to the same instances that it is then judged on.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from helmsite.metrics import choice, logistic
from helmsite.metrics.kinds import Measure, case_metric, population_metric
from helmsite.schema import MetricFacts, PopulationMetric

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from helmsite.metrics.case import Case

    Column = NDArray[np.float64]

INPUTS = ("max_prob", "exact_match", "logprob")
BINS = 10
CLOSEST = 1e-12
"""How near to 0 and 1 a probability may come before its log-odds are taken."""


@case_metric(
    MetricFacts(
        name="max_prob",
        title="Confidence",
        description="Mean probability that the model gives its own answer.",
        family="calibration",
        format="share",
        source="HELM",
    )
)
def max_prob(case: Case) -> Measure | None:
    """Return exp(log-probability) of the best completion; separate: the largest softmax."""
    if case.adapter.method.startswith("multiple_choice_separate"):
        return choice.confidence(case)
    best = case.ranked[0].logprob
    return None if best is None else Measure(float(np.exp(best)))


def _measurable(logprob: Column) -> bool:
    return bool(np.any(logprob < 0))


def bin_edges(probabilities: Column, bins: int = BINS) -> Column:
    """Return upper edges of bins of equal mass: midpoints between neighbours, then 1."""
    ordered = np.sort(probabilities)
    parts = np.array_split(ordered, min(bins, len(ordered)))
    middles = [(left[-1] + right[0]) / 2.0 for left, right in pairwise(parts)]
    return np.unique([*middles, 1.0])


def expected_error(probabilities: Column, right: Column, edges: Column) -> float:
    """Return Σ over bins of share · |mean probability - share right|.

    A probability equal to an edge belongs to the bin below the edge.
    """
    last = len(edges) - 1
    index = np.minimum(np.searchsorted(edges, probabilities), last)
    gaps = np.bincount(index, weights=probabilities - right, minlength=last + 1)
    return float(np.abs(gaps).sum() / len(probabilities))


def accuracies(probabilities: Column, right: Column) -> Column:
    """Return the share right among the k most confident, k = 1..n; ties stay in order."""
    order = np.argsort(-probabilities, kind="stable")
    return np.cumsum(right[order]) / np.arange(1, len(right) + 1)


@population_metric(
    MetricFacts(
        name="ece_10_bin",
        title="Calibration error (10 bins)",
        description="Mean gap between confidence and accuracy over 10 bins with equally many instances; unreliable below about 300 instances.",
        family="calibration",
        aggregation="population",
        higher_is_better=False,
        format="share",
        source="HELM",
    ),
    *INPUTS,
)
def ece_10_bin(prob: Column, right: Column, logprob: Column) -> float | None:
    """Return the expected calibration error over ten bins of equal mass."""
    if not _measurable(logprob):
        return None
    return expected_error(prob, np.floor(right), bin_edges(prob))


@population_metric(
    MetricFacts(
        name="ece_1_bin",
        title="Calibration error (1 bin)",
        description="Gap between mean confidence and accuracy.",
        family="calibration",
        aggregation="population",
        higher_is_better=False,
        format="share",
        source="HELM",
    ),
    *INPUTS,
)
def ece_1_bin(prob: Column, right: Column, logprob: Column) -> float | None:
    """Return |mean probability - share right|."""
    if not _measurable(logprob):
        return None
    return float(abs(np.mean(prob) - np.mean(np.floor(right))))


@population_metric(
    MetricFacts(
        name="selective_cov_acc_area",
        title="Selective accuracy (area)",
        description="Accuracy on the most confident answers, averaged over all coverages from one instance to all.",
        family="calibration",
        aggregation="population",
        higher_is_better=True,
        format="share",
        source="HELM",
    ),
    *INPUTS,
)
def selective_cov_acc_area(
    prob: Column, right: Column, logprob: Column
) -> float | None:
    """Return the area under the coverage-accuracy curve."""
    if not _measurable(logprob):
        return None
    return float(np.mean(accuracies(prob, np.floor(right))))


@population_metric(
    MetricFacts(
        name="selective_acc@10",
        title="Accuracy at 10% coverage",
        description="Accuracy on the tenth of the answers (and one more) that the model is most confident of.",
        family="calibration",
        aggregation="population",
        higher_is_better=True,
        format="share",
        source="HELM",
    ),
    *INPUTS,
)
def selective_acc_at_10(prob: Column, right: Column, logprob: Column) -> float | None:
    """Return the accuracy of the int(n / 10) + 1 most confident answers."""
    if not _measurable(logprob):
        return None
    return float(accuracies(prob, np.floor(right))[int(0.1 * len(prob))])


@lru_cache(maxsize=8)
def _fitted(prob: bytes, right: bytes) -> tuple[float, float]:
    """Return slope and intercept; cached, for four metrics ask for the same fit."""
    odds = _log_odds(np.frombuffer(prob))
    return logistic.fit(odds, np.frombuffer(right))


def _log_odds(prob: Column) -> Column:
    inside = np.clip(prob, CLOSEST, 1 - CLOSEST)
    return np.log(inside / (1 - inside))


def platt(prob: Column, right: Column) -> tuple[float, float] | None:
    """Return slope and intercept of Platt scaling; None if all are right, or all wrong."""
    if right.min() == right.max():
        return None
    return _fitted(prob.tobytes(), right.tobytes())


def rescaled(prob: Column, right: Column) -> Column | None:
    """Return the probabilities after Platt scaling; None if all are right, or all wrong."""
    found = platt(prob, right)
    if found is None:
        return None
    with np.errstate(over="ignore"):  # e to a large power is infinite, its inverse 0
        return 1 / (1 + np.exp(-(found[0] * _log_odds(prob) + found[1])))


def _platt_metric(
    name: str, title: str, description: str, compute: Callable[..., float | None]
) -> PopulationMetric:
    """Make a metric of Platt scaling; a thousand fits for an interval take too long."""
    is_error = name.startswith("platt_ece")
    facts = MetricFacts(
        name=name,
        title=title,
        description=description,
        family="calibration",
        aggregation="population",
        higher_is_better=False if is_error else None,
        format="share" if is_error else "number",
        source="HELM",
    )

    def measured(prob: Column, right: Column, logprob: Column) -> float | None:
        return compute(prob, np.floor(right)) if _measurable(logprob) else None

    return PopulationMetric(facts, INPUTS, measured, resampled=False)


def _slope(prob: Column, right: Column) -> float | None:
    found = platt(prob, right)
    return found and found[0]


def _intercept(prob: Column, right: Column) -> float | None:
    found = platt(prob, right)
    return found and found[1]


def _error_10(prob: Column, right: Column) -> float:
    scaled = rescaled(prob, right)
    if scaled is None:
        return 0.0
    return expected_error(scaled, right, bin_edges(scaled))


def _error_1(prob: Column, right: Column) -> float:
    scaled = rescaled(prob, right)
    return 0.0 if scaled is None else float(abs(np.mean(scaled) - np.mean(right)))


platt_coef = _platt_metric(
    "platt_coef",
    "Platt scaling (slope)",
    "Slope of the logistic curve from the log-odds of confidence to the chance of being right; 1 with intercept 0 would change nothing.",
    _slope,
)
platt_intercept = _platt_metric(
    "platt_intercept",
    "Platt scaling (intercept)",
    "Intercept of the logistic curve from the log-odds of confidence to the chance of being right.",
    _intercept,
)
platt_ece_10_bin = _platt_metric(
    "platt_ece_10_bin",
    "Calibration error after Platt scaling (10 bins)",
    "Calibration error over 10 bins after Platt scaling, fitted and judged on the same instances; 0 if all are right or all wrong.",
    _error_10,
)
platt_ece_1_bin = _platt_metric(
    "platt_ece_1_bin",
    "Calibration error after Platt scaling (1 bin)",
    "Gap between mean confidence and accuracy after Platt scaling, fitted and judged on the same instances; 0 if all are right or all wrong.",
    _error_1,
)
