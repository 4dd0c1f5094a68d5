"""The per-instance results of runs, resampled and paired."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.compute as pc

from helmsite.query import statistics
from helmsite.query.rows import Difference
from helmsite.query.sql import query

if TYPE_CHECKING:
    from collections.abc import Sequence

    import duckdb
    from numpy.typing import NDArray

    from helmsite.archive import Archive
    from helmsite.query.rows import Column

SCORE_COLUMNS = [
    *("instance_id", "perturbation", "trial", "request_index", "reference_index"),
    *("completion_index", "metric", "scorer", "origin", "value", "weight"),
]
INSTANCE_COLUMNS = ["instance_id", "perturbation", "position", "content_hash", "split"]
WEIGHTED = ("ratio", "population")

FAR = 1e-6
"""How far, relative to it, the mean of the rows may be from a run's number."""


class Outcomes:
    """Reads what each instance contributes to a run's number; keeps resamples cached."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, archive: Archive) -> None:
        self._connection = connection
        self._archive = archive
        self._weights: tuple[str, dict[str, NDArray[np.uint8]]] = ("", {})

    def read(self, run_id: str, column: Column) -> dict[str, NDArray[Any]]:
        """Return place, instance_id, content_hash, s and w of each scored instance.

        Unperturbed instances of the column's split; an instance's value is s / w, over
        all of its trials.
        """
        connection, archive = self._connection, self._archive
        scores = archive.table(run_id, "scores", SCORE_COLUMNS)
        instances = archive.table(run_id, "instances", INSTANCE_COLUMNS)
        wanted = pc.equal(scores["metric"], column.metric.name)
        connection.register("run_score", scores.filter(wanted))
        connection.register("run_instance", instances)
        parameters = {
            "metric": column.metric.name,
            "split": column.split,
            "weighted": column.metric.aggregation in WEIGHTED,
        }
        found = connection.execute(query("outcome"), parameters).fetchnumpy()
        return {name: np.asarray(values) for name, values in found.items()}

    def draws(
        self, column: Column, runs: Sequence[str], values: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return each run's number in each resample; shape (resamples, runs).

        Resamples are the same for all runs of a scenario. A run without scores of its
        own keeps its value in all of them.
        """
        found = np.empty((statistics.RESAMPLES, len(runs)))
        key = (column.metric.name, column.split)
        wanted = {"runs": list(runs), "metric": key[0], "split": key[1]}
        held = dict(self._connection.execute(query("drawn"), wanted).fetchall())
        fresh = []
        for place, (run_id, value) in enumerate(zip(runs, values, strict=True)):
            if run_id in held:
                drawn = np.frombuffer(held[run_id], dtype="<f8")
            else:
                drawn = self._resampled(run_id, column, float(value))
                fresh.append((run_id, *key, drawn.astype("<f8").tobytes()))
            found[:, place] = np.where(np.isfinite(drawn), drawn, value)
        if fresh:
            self._connection.begin()
            self._connection.executemany("INSERT INTO drawn VALUES (?, ?, ?, ?)", fresh)
            self._connection.commit()
        return found

    def _resampled(
        self, run_id: str, column: Column, value: float
    ) -> NDArray[np.float64]:
        """Return the mean of the rows in each resample.

        Where that of all rows is not the run's number (an F1 over labels, say, or one by
        another detector), the draws are moved to lie around the number.
        """
        found = self.read(run_id, column)
        ids = found["instance_id"].tolist()
        if not ids:
            return np.full(statistics.RESAMPLES, np.nan)
        counts = self._counts(column.scenario.name, ids)
        sums = statistics.resampled_sums(
            counts, np.column_stack([found["s"], found["w"]]).astype(np.float64)
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            drawn = np.asarray(sums[:, 0] / sums[:, 1])
        own = float(found["s"].sum() / found["w"].sum())
        apart = abs(own - value) > FAR * max(1.0, abs(value))
        return drawn + (value - own) if apart else drawn

    def _counts(self, scenario: str, ids: list[str]) -> NDArray[np.uint8]:
        """Return the weights of instances; those of the last scenario are kept."""
        if self._weights[0] != scenario:
            self._weights = (scenario, {})
        known = self._weights[1]
        new = [name for name in ids if name not in known]
        known.update(zip(new, statistics.weights(scenario, new), strict=True))
        return np.stack([known[name] for name in ids])

    def paired(self, first: str, second: str, column: Column) -> Difference:
        """Return first − second over instances that both hold with equal content.

        Instances with the same content within a run are paired in their order.
        """
        sides = [_by_content(self.read(run_id, column)) for run_id in (first, second)]
        shared = [key for key in sides[0] if key in sides[1]]
        a, b = (np.array([side[key] for key in shared]) for side in sides)
        details: dict[str, Any] = {
            "n_first": len(sides[0]),
            "n_second": len(sides[1]),
            "split": column.split,
        }
        n = len(shared)
        if n == 0:
            return Difference(
                first, second, column.metric.name, 0, None, details=details
            )
        details |= {"mean_first": math.fsum(a) / n, "mean_second": math.fsum(b) / n}
        is_binary = bool(np.isin(a, (0, 1)).all() and np.isin(b, (0, 1)).all())
        if is_binary:
            details |= mcnemar(a, b)
        mean = math.fsum(a - b) / n
        low = high = None
        found = None
        if n > 1:
            found = statistics.difference_interval(a - b, is_binary=is_binary)
        if found is not None:
            details["stderr"], low, high = found
        return Difference(
            first, second, column.metric.name, n, mean, low, high, details=details
        )


def _by_content(found: dict[str, NDArray[Any]]) -> dict[tuple[str, int], float]:
    """Return instance values by content and its how-manyth occurrence."""
    seen: dict[str, int] = {}
    values = {}
    hashes, s, w = (found[name].tolist() for name in ("content_hash", "s", "w"))
    for content, total, weight in zip(hashes, s, w, strict=True):
        seen[content] = seen.get(content, -1) + 1
        values[content, seen[content]] = total / weight
    return values


def mcnemar(first: NDArray[np.float64], second: NDArray[np.float64]) -> dict[str, Any]:
    """Return how often both, only one or none is right, and McNemar's exact p-value."""
    only_first = int(np.sum((first == 1) & (second == 0)))
    only_second = int(np.sum((first == 0) & (second == 1)))
    return {
        "both": int(np.sum((first == 1) & (second == 1))),
        "only_first": only_first,
        "only_second": only_second,
        "neither": int(np.sum((first == 0) & (second == 0))),
        "mcnemar_p": statistics.sign_test(only_first, only_second),
    }
