"""The aggregates of a run: one value, interval and count for each metric and context."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import duckdb
import numpy as np

from helmsite.query import statistics
from helmsite.query.columns import tables
from helmsite.query.intervals import (
    NOTHING,
    REASONS,
    Resampler,
    clipped,
    majority,
    over_trials,
)
from helmsite.query.population import population_stats
from helmsite.query.sql import query
from helmsite.schema import MetricFacts, Stat

if TYPE_CHECKING:
    from collections.abc import Sequence

    from helmsite.query.columns import Tables
    from helmsite.query.intervals import Interval
    from helmsite.schema import (
        Instance,
        PerturbationFacts,
        PopulationMetric,
        Score,
    )


class Aggregate(NamedTuple):
    """One row of stats.sql: an aggregate before its interval."""

    m: int
    split: str
    sub_split: str
    perturbation: str
    computed_on: str
    trial: int
    n_trials: int
    total: float | None
    total_squared: float | None
    lowest: float | None
    highest: float | None
    is_binary: bool
    is_even: bool
    n: int
    stderr: float | None
    n_scored: int
    n_asked: int
    n_failed: int
    n_unasked: int
    n_unmeasurable: int
    n_nan: int
    n_unparsed: int

    @property
    def value(self) -> float | None:
        """The mean over the trials' values."""
        return None if self.total is None else self.total / self.n_trials

    @property
    def missing(self) -> dict[str, int]:
        """How many observations have no full score, by reason."""
        counts = zip(REASONS, self[-len(REASONS) :], strict=True)
        return {reason: int(n) for reason, n in counts if n}


def summarise(
    instances: Sequence[Instance],
    scores: Sequence[Score],
    metrics: Sequence[MetricFacts],
    perturbations: Sequence[PerturbationFacts],
    population: Sequence[PopulationMetric],
    *,
    scenario: str,
) -> list[Stat]:
    """Return every aggregate of one run, in the order of `metrics` and contexts.

    A context is a split with '' (everything), each sub_split and each attribute value
    (`dimension=value`), unperturbed or under a perturbation. Each has a value per trial
    and, as trial -1, the mean over trials. docs/aggregation.md has the formulas.

    Args:
        instances: all that were asked, perturbed versions included.
        scores: all verdicts on them, missing ones included.
        metrics: facts of the metrics; a metric without any is averaged.
        perturbations: facts of the perturbations, for the worst-case families.
        population: the metrics that are computed from all instances at once.
        scenario: name of the scenario; runs of the same one share bootstrap weights.
    """
    run = tables(instances, scores, metrics, perturbations, population)
    facts = {f.name: f for f in metrics} | {p.facts.name: p.facts for p in population}
    resampler = Resampler(scenario, run.names)
    with duckdb.connect(":memory:", config={"threads": 1}) as connection:
        for name in ("score", "kind", "twin", "member", "family", "input"):
            connection.register(name, getattr(run, name))
        connection.execute(query("units"))
        rows = connection.execute(query("stats")).fetchall()
        aggregates = [Aggregate._make(row) for row in rows]
        stats = [_stat(connection, run, facts, resampler, a) for a in aggregates]
        stats += population_stats(connection, run, resampler)
    place = {name: n for n, name in enumerate(facts)}
    return sorted(stats, key=lambda s: (place.get(s.metric, len(place)), *stat_key(s)))


def stat_key(stat: Stat) -> tuple[Any, ...]:
    """Return what identifies a stat within its run, in the order of its table."""
    return (
        stat.metric,
        stat.scorer,
        stat.split,
        stat.sub_split,
        stat.perturbation,
        stat.computed_on,
        stat.trial,
        stat.origin,
    )


def _stat(
    connection: duckdb.DuckDBPyConnection,
    run: Tables,
    facts: dict[str, MetricFacts],
    resampler: Resampler,
    row: Aggregate,
) -> Stat:
    kind = run.kinds[row.m]
    known = facts.get(kind.metric) or MetricFacts(kind.metric, kind.metric, "", "")
    straight = known.aggregation == "mean" or (
        known.aggregation == "ratio" and row.is_even
    )
    value = row.value if row.value is not None and math.isfinite(row.value) else None
    if value is None or row.n < 2:
        stderr, low, high = NOTHING
    elif straight or row.computed_on == "worst":
        stderr, low, high = _mean_interval(row, known)
    else:
        stderr, low, high = _drawn_interval(connection, resampler, known, row)
    if stderr is not None and not math.isfinite(stderr):
        stderr, low, high = NOTHING  # of numbers whose squares no float can hold
    missing = "" if value is not None else majority(row.missing)
    return Stat(
        metric=kind.metric,
        scorer=kind.scorer,
        origin=cast("Any", kind.origin),
        split=row.split,
        sub_split=row.sub_split,
        perturbation=row.perturbation,
        computed_on=row.computed_on,
        trial=row.trial,
        value=value,
        stderr=stderr,
        ci_low=low,
        ci_high=high,
        n_scored=row.n_scored,
        n_asked=row.n_asked,
        missing=cast("Any", missing),
        details=_details(row),
    )


def _details(row: Aggregate) -> dict[str, Any]:
    details: dict[str, Any] = {"missing": row.missing} if row.missing else {}
    is_small = math.isfinite(row.total or 0.0) and math.isfinite(row.total_squared or 0)
    if row.trial == -1 and row.total is not None and is_small:
        details |= over_trials(row.n_trials, row.total, row.total_squared or 0.0)
        details |= {"min": row.lowest, "max": row.highest}
    return details


def _mean_interval(row: Aggregate, facts: MetricFacts) -> Interval:
    """Wilson for shares of 0/1 values of one trial, or all equal; else Student's t.

    Values without any spread say nothing about chance: no interval.
    """
    value, stderr = cast("float", row.value), cast("float", row.stderr)
    binary = row.is_binary and facts.format == "share"
    if binary and (row.n_trials == 1 or value in (0, 1)):
        return stderr, *statistics.wilson(value * row.n, row.n)
    if stderr == 0:
        return NOTHING
    low, high = statistics.mean_interval(value, stderr, row.n)
    return stderr, *clipped(facts, low, high)


def _drawn_interval(
    connection: duckdb.DuckDBPyConnection,
    resampler: Resampler,
    facts: MetricFacts,
    row: Aggregate,
) -> Interval:
    """Percentile bootstrap over instances of a ratio or a geometric mean."""
    where = {
        "m": row.m,
        "split": row.split,
        "sub_split": row.sub_split,
        "perturbation": row.perturbation,
        "computed_on": row.computed_on,
    }
    found = connection.execute(query("draws"), where).fetchnumpy()
    trials = np.asarray(found["trial"])
    values = []
    for trial in np.unique(trials) if row.trial == -1 else [row.trial]:
        here = trials == trial
        columns = np.column_stack([found["s"][here], found["w"][here]])
        counts = resampler.counts[found["i"][here]]
        s, w = statistics.resampled_sums(counts, columns).T
        with np.errstate(divide="ignore", invalid="ignore"):
            values.append(np.exp(s / w) if facts.aggregation == "geometric" else s / w)
    drawn = statistics.percentile_interval(np.mean(values, axis=0), row.n)
    return NOTHING if drawn is None else drawn
