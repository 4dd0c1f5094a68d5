"""The kinds of metrics, and the decorators that attach a metric's facts to its function.

TextMetric         a gold text and a predicted text → a number
CaseMetric         everything asked of an instance in a trial → a measure
RequestMetric      one request and its answer → a number; the mean over the requests
PopulationMetric   all instances at once, from other metrics' rows (helmsite.schema)
ShownPopulation    the same, with a row of its own for each instance
OutsideMetric      rows from a detector, which is asked when a user says so

Nothing is registered here: a name is known by the table in `helmsite.metrics` or by an
entry point of the group `helmsite.metrics`, and both lead to one of these objects.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from helmsite.schema import MetricFacts, PopulationMetric, Record

if TYPE_CHECKING:
    from collections.abc import Callable

    from helmsite.metrics.case import Case, Exchange
    from helmsite.schema.protocols import Pool


class Measure(Record, frozen=True):
    """A metric's verdict: value, and what a Score keeps beside it."""

    value: float
    weight: float | None = None
    text: str = ""
    details: dict[str, Any] = {}


@dataclass(frozen=True)
class TextMetric:
    """Compares a gold text with a prediction; the best pair counts (HELM's rule)."""

    facts: MetricFacts
    function: Callable[[str, str], float]

    def __call__(self, gold: str, prediction: str) -> float:
        """Return the score of a prediction against one gold text."""
        return self.function(gold, prediction)


@dataclass(frozen=True)
class CaseMetric:
    """Judges an instance by all its requests of a trial; None is 'not measurable'."""

    facts: MetricFacts
    function: Callable[[Case], Measure | None]

    def __call__(self, case: Case) -> Measure | None:
        """Return the measure of a case."""
        return self.function(case)


@dataclass(frozen=True)
class RequestMetric:
    """Judges each request by itself; an instance gets the mean over its requests."""

    facts: MetricFacts
    function: Callable[[Case, Exchange], float | None]

    def __call__(self, case: Case) -> Measure | None:
        """Return the mean over the case's requests, None if one has no value."""
        values = [self.function(case, exchange) for exchange in case.exchanges]
        known = [value for value in values if value is not None]
        if len(known) < len(values):
            return None
        return Measure(sum(known) / len(known))


@dataclass(frozen=True)
class ShownPopulation(PopulationMetric):
    """A metric of all instances at once that also has a row for each instance.

    The rows are for reading and sorting; `compute` gives the number. A metric with a
    pool can be its own input. `whole` rows are one per instance even where the requests
    of a document are judged one by one.
    """

    show: Callable[[Case], Measure | None]
    whole: bool = False


@dataclass(frozen=True)
class OutsideMetric:
    """A metric whose rows replies do not give: a detector does, asked for it by name."""

    facts: MetricFacts


AnyMetric = TextMetric | CaseMetric | RequestMetric | PopulationMetric | OutsideMetric
KINDS = (TextMetric, CaseMetric, RequestMetric, PopulationMetric, OutsideMetric)


def text_metric(
    facts: MetricFacts,
) -> Callable[[Callable[[str, str], float]], TextMetric]:
    """Attach facts to a function of a gold text and a prediction."""
    return lambda function: TextMetric(facts, function)


def case_metric(
    facts: MetricFacts,
) -> Callable[[Callable[[Case], Measure | None]], CaseMetric]:
    """Attach facts to a function of a case."""
    return lambda function: CaseMetric(facts, function)


def request_metric(
    facts: MetricFacts,
) -> Callable[[Callable[[Case, Exchange], float | None]], RequestMetric]:
    """Attach facts to a function of one request and its answer."""
    return lambda function: RequestMetric(facts, function)


def population_metric(
    facts: MetricFacts, *inputs: str
) -> Callable[[Callable[..., float | None]], PopulationMetric]:
    """Attach facts, and the metrics that it is computed from, to a function of arrays."""
    return lambda function: PopulationMetric(facts, inputs, function)


def pooled_metric(
    facts: MetricFacts,
    source: str,
    pool: Pool,
    *,
    show: Callable[[Case], Measure | None] | None = None,
    resampled: bool = True,
) -> Callable[[Callable[..., float | None]], PopulationMetric]:
    """Attach facts to a function of an array that is pooled from rows' details.

    Args:
        facts: what the metric is; its aggregation is 'population'.
        source: the metric whose rows' details are pooled; with `show` its own name.
        pool: turns the details, one mapping per row, into an array with n rows.
        show: makes the rows of this metric, if they are not another's.
        resampled: whether the function is fast enough for a bootstrap.
    """

    def attach(function: Callable[..., float | None]) -> PopulationMetric:
        if show is None:
            return PopulationMetric(
                facts, (source,), function, pool=pool, resampled=resampled
            )
        return ShownPopulation(
            facts, (source,), function, show, pool=pool, resampled=resampled
        )

    return attach
