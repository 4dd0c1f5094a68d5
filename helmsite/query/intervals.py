"""What every kind of aggregate shares: reasons, resamples, statistics over trials."""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING, Any

from helmsite.query import statistics

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from helmsite.schema import MetricFacts

    Interval = tuple[float | None, float | None, float | None]

NOTHING: Interval = (None, None, None)
REASONS = ("failed", "not asked", "not measurable", "nan", "unparsed")


class Resampler:
    """The bootstrap weights of a scenario's instances, made when first asked for."""

    def __init__(self, scenario: str, names: Sequence[str]) -> None:
        self._scenario = scenario
        self._names = names

    @cached_property
    def counts(self) -> NDArray[np.uint8]:
        """How often each resample holds each instance; shape (instances, resamples)."""
        return statistics.weights(self._scenario, self._names)


def majority(missing: Mapping[str, int]) -> str:
    """Return the most frequent reason; of equally frequent ones the gravest."""
    return (
        max(REASONS, key=lambda r: missing.get(r, 0)) if missing else "not measurable"
    )


def over_trials(count: int, total: float, total_squared: float) -> dict[str, Any]:
    """Return HELM's statistics over trials; variance is that of the population."""
    mean = total / count
    variance = max(0.0, total_squared / count - mean * mean)
    return {
        "count": count,
        "sum": total,
        "sum_squared": total_squared,
        "mean": mean,
        "variance": variance,
        "stddev": math.sqrt(variance),
    }


def clipped(facts: MetricFacts, low: float, high: float) -> tuple[float, float]:
    """Return an interval that does not leave 0 to 1 where the metric is a share."""
    return (max(0.0, low), min(1.0, high)) if facts.format == "share" else (low, high)
