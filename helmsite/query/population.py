"""Aggregates of metrics that look at all instances at once, such as calibration."""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from helmsite.errors import MetricError
from helmsite.query import statistics
from helmsite.query.intervals import NOTHING, clipped, majority, over_trials
from helmsite.query.sql import query
from helmsite.schema import Stat

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import duckdb
    import pyarrow as pa
    from numpy.typing import NDArray

    from helmsite.query.columns import Tables
    from helmsite.query.intervals import Interval, Resampler
    from helmsite.schema import PopulationMetric

POOL_LIMIT = 500_000  # elements; 1000 resamples of so many take about two seconds


class Context(NamedTuple):
    """Where a value belongs: metric number, split, sub_split and perturbation."""

    p: int
    split: str
    sub_split: str
    perturbation: str
    computed_on: str


class Trial(NamedTuple):
    """What one trial offers a metric: arrays with a row per complete observation.

    There is one array for each of the metric's inputs, or the one that it has pooled.
    """

    context: Context
    trial: int
    arrays: tuple[NDArray[Any], ...]
    instance: NDArray[np.int32]
    reasons: tuple[str, ...]

    def value(self, metric: PopulationMetric) -> float | None:
        """Return the metric's value; None where it is not defined or not finite."""
        found = metric(*self.arrays) if len(self.instance) else None
        return found if found is not None and np.isfinite(found) else None

    def draws(
        self, metric: PopulationMetric, counts: NDArray[np.uint8]
    ) -> NDArray[np.float64]:
        """Return the metric's value in each resample, NaN where it has none."""
        rows = np.arange(len(self.instance))
        often = np.ascontiguousarray(counts[self.instance].T)
        drawn = np.full(len(often), np.nan)
        for b in range(len(often)):
            taken = np.repeat(rows, often[b])
            value = metric(*(a[taken] for a in self.arrays)) if len(taken) else None
            drawn[b] = np.nan if value is None else value
        return drawn


class Part(NamedTuple):
    """A trial with its value and the value's draws."""

    trial: Trial
    value: float | None
    draws: NDArray[np.float64] | None


def population_stats(
    connection: duckdb.DuckDBPyConnection, run: Tables, resampler: Resampler
) -> list[Stat]:
    """Return the aggregates of the metrics that are computed from all instances."""
    if not run.inputs:
        return []
    rows = connection.sql(query("population")).to_arrow_table().combine_chunks()
    stats = []
    for context, trials in groupby(_trials(rows, run), key=lambda t: t.context):
        metric, _ = run.inputs[context.p]
        parts = [_part(metric, trial, resampler) for trial in trials]
        stats += [_stat(run, part.trial.trial, [part]) for part in parts]
        stats.append(_stat(run, -1, parts))
    return stats


def _trials(rows: pa.Table, run: Tables) -> Iterator[Trial]:
    """Yield each context's trials from the rows of population.sql."""
    batch = rows["batch"].to_numpy()
    starts = np.flatnonzero(np.diff(batch, prepend=-1))
    keys = rows.select([*Context._fields, "trial"]).take(starts).to_pylist()
    for start, end, key in zip(starts, [*starts[1:], len(batch)], keys, strict=True):
        part = rows.slice(start, end - start)
        held = part.filter(part["xs"].is_valid())
        trial = key.pop("trial")
        context = Context(**key)
        by_instance: dict[int, str] = {}
        for i, reason in zip(
            part["i"].to_pylist(), part["reason"].to_pylist(), strict=True
        ):
            by_instance[i] = by_instance.get(i) or reason
        yield Trial(
            context=context,
            trial=trial,
            arrays=_arrays(held, run, run.inputs[context.p][0]),
            instance=held["i"].to_numpy(),
            reasons=tuple(by_instance.values()),
        )


def _arrays(
    held: pa.Table, run: Tables, metric: PopulationMetric
) -> tuple[NDArray[Any], ...]:
    """Return what a metric is computed from: its inputs' values, or what it pools.

    Raises:
        MetricError: the pool has another number of rows than it was given.
    """
    if not len(held):
        return ()
    if metric.pool is None:
        xs = held["xs"].combine_chunks().flatten().to_numpy()
        return tuple(np.ascontiguousarray(xs.reshape(len(held), -1).T))
    pooled = metric.pool([run.details[row] for row in held["row"].to_pylist()])
    if len(pooled) != len(held):
        raise MetricError(
            f"The pool of metric {metric.facts.name!r} made {len(pooled)} rows of {len(held)}.",
            "It must return an array with one row for each of the details that it gets, in their order.",
        )
    return (pooled,)


def _part(metric: PopulationMetric, trial: Trial, resampler: Resampler) -> Part:
    """Evaluate a trial, with draws where they are affordable and mean something."""
    value = trial.value(metric)
    if value is None or not _is_resampled(metric, trial):
        return Part(trial, value, None)
    return Part(trial, value, trial.draws(metric, resampler.counts))


def _is_resampled(metric: PopulationMetric, trial: Trial) -> bool:
    """Say whether a trial has draws: for whole, unperturbed splits, else it takes long.

    A count has none: how many instances there are is no matter of chance. Nor has a
    metric that is slow by its own word, or that pools an array beyond POOL_LIMIT.
    """
    if trial.context.sub_split or trial.context.computed_on or not metric.resampled:
        return False
    is_large = metric.pool is not None and trial.arrays[0].size > POOL_LIMIT
    return metric.facts.format != "integer" and not is_large


def _stat(run: Tables, number: int, parts: Sequence[Part]) -> Stat:
    context = parts[0].trial.context
    metric, kind = run.inputs[context.p]
    values = [part.value for part in parts if part.value is not None]
    value = sum(values) / len(values) if values else None
    reasons = [reason for part in parts for reason in part.trial.reasons]
    missing = Counter(reason for reason in reasons if reason)
    details: dict[str, Any] = (
        {"missing": dict(sorted(missing.items()))} if missing else {}
    )
    if number == -1 and values:
        details |= over_trials(len(values), sum(values), sum(v * v for v in values))
        details |= {"min": min(values), "max": max(values)}
    stderr, low, high = _interval(metric, value, parts)
    return Stat(
        metric=kind.metric,
        scorer=kind.scorer,
        origin=cast("Any", kind.origin),
        split=context.split,
        sub_split=context.sub_split,
        perturbation=context.perturbation,
        computed_on=context.computed_on,
        trial=number,
        value=value,
        stderr=stderr,
        ci_low=low,
        ci_high=high,
        n_scored=len(reasons) - missing.total(),
        n_asked=len(reasons),
        missing=cast("Any", "" if value is not None else majority(missing)),
        details=details,
    )


def _interval(
    metric: PopulationMetric, value: float | None, parts: Sequence[Part]
) -> Interval:
    """Percentile bootstrap, moved so that its mean is the value.

    Resamples hold instances twice, which makes a calibration error look larger; without
    the move an interval could lie above its own value.
    """
    draws = [part.draws for part in parts if part.draws is not None]
    if value is None or not draws:
        return NOTHING
    n = len(np.unique(np.concatenate([part.trial.instance for part in parts])))
    mean = np.mean(draws, axis=0)
    found = statistics.percentile_interval(mean, n)
    if found is None:
        return NOTHING
    stderr, low, high = found
    bias = float(np.mean(mean[np.isfinite(mean)])) - value
    low, high = clipped(metric.facts, low - bias, high - bias)
    return stderr, min(low, value), max(high, value)
