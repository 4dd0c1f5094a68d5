"""General information: how often answers end for which reason, and what was asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from helmsite.metrics.kinds import (
    Measure,
    RequestMetric,
    ShownPopulation,
    request_metric,
)
from helmsite.schema import MetricFacts

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from helmsite.metrics.case import Case, Exchange

KNOWN_REASONS = ("length", "stop", "endoftext")


def _finish(reason: str, because: str) -> RequestMetric:
    """Make the share of requests whose first completion ended for a reason."""

    def ended(_case: Case, exchange: Exchange) -> float:
        found = exchange.first.finish_reason
        return float((found if found in KNOWN_REASONS else "unknown") == reason)

    facts = MetricFacts(
        name=f"finish_reason_{reason}",
        title=f"Finished: {reason}",
        description=f"Share of requests whose first completion ended {because}.",
        family="general_information",
        format="share",
        source="HELM",
    )
    return RequestMetric(facts, ended)


finish_reason_length = _finish("length", "at the token limit")
finish_reason_stop = _finish("stop", "at a stop sequence")
finish_reason_endoftext = _finish("endoftext", "with the model's end-of-text token")
finish_reason_unknown = _finish("unknown", "for a reason that was not reported")


@request_metric(
    MetricFacts(
        name="prompt_truncated",
        title="Truncated",
        description="Share of requests whose prompt was cut to fit the context, after all in-context examples were dropped.",
        family="general_information",
        format="share",
        source="HELM",
    )
)
def prompt_truncated(_case: Case, exchange: Exchange) -> float:
    """Return 1 if the prompt was cut."""
    return float(exchange.request.truncated)


@request_metric(
    MetricFacts(
        name="num_train_instances",
        title="In-context examples",
        description="Mean number of in-context examples in a prompt.",
        family="general_information",
        unit="examples",
        source="HELM",
    )
)
def num_train_instances(_case: Case, exchange: Exchange) -> float:
    """Return the number of in-context examples that are left in the prompt."""
    return float(exchange.request.num_train_instances)


@request_metric(
    MetricFacts(
        name="num_references",
        title="References",
        description="Mean number of references of an instance.",
        family="general_information",
        unit="references",
        source="HELM",
    )
)
def num_references(case: Case, _exchange: Exchange) -> float:
    """Return the number of the instance's references, right and wrong ones."""
    return float(len(case.instance.references))


@request_metric(
    MetricFacts(
        name="num_train_trials",
        title="Trials",
        description="Number of trials, each with its own in-context examples.",
        family="general_information",
        unit="trials",
        format="integer",
        source="HELM",
    )
)
def num_train_trials(case: Case, _exchange: Exchange) -> float:
    """Return the number of trials that the adapter asks for."""
    return float(case.adapter.num_train_trials)


def _count(instances: NDArray[np.float64]) -> float | None:
    return float(instances.sum()) if len(instances) else None


num_instances = ShownPopulation(
    MetricFacts(
        name="num_instances",
        title="Instances",
        description="Number of instances that were answered.",
        family="general_information",
        unit="instances",
        aggregation="population",
        format="integer",
        source="HELM",
    ),
    ("num_instances",),
    _count,
    lambda _case: Measure(1.0),
    whole=True,
)
