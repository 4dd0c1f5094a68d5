"""HELM's statistics as scores and aggregates: per_instance_stats.json and stats.json."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from msgspec import structs

from helmsite.errors import SourceError
from helmsite.importers.helm.naming import FAMILIES, Perturbations
from helmsite.importers.values import Place, Row, number, plain
from helmsite.schema import Score, Stat

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from helmsite.schema.records import Missing

Key = tuple[str, str, int]
PROMPT_TOKENS, INSTANCES = "num_prompt_tokens", "num_instances"
CERTAIN = frozenset(
    {
        *("max_prob", "logprob", "num_perplexity_tokens", "num_bytes"),
        *("perplexity", "bits_per_byte", "logprob_per_byte"),
    }
)
"""What HELM computes from log-probabilities; where all of them are 0 it knows nothing."""

COSTS = frozenset(
    {
        *("training_co2_cost", "training_energy_cost"),
        *("inference_denoised_runtime", "inference_idealized_runtime"),
    }
)
"""What HELM writes of every model, empty for those without figures: then it says nothing."""

UNTOLD = {
    "reason": "all log-probabilities are 0: the model's client does not tell them"
}
COPIED = {
    "reason": "no instance was perturbed; HELM repeats the value without perturbation"
}
FIELDS = ("count", "sum", "sum_squared", "min", "max", "variance", "stddev")
NUMBERS = {int, float}
EMPTY = {"name", "count", "sum", "sum_squared"}
DERIVED = frozenset({"name", "mean", *FIELDS})


@dataclass
class Scores:
    """The verdicts of a run; `prompt_tokens` where it is known of a single request."""

    rows: list[Score] = field(default_factory=list)
    prompt_tokens: dict[Key, int] = field(default_factory=dict)
    weighted: set[str] = field(default_factory=set)


@dataclass
class Reader:
    """Reads statistics.

    Args:
        perturbations: their names.
        windows: whether several requests of an instance are windows of its text.
        told: whether log-probabilities of answers are.
        problem: hears what cannot be taken.
    """

    perturbations: Perturbations
    windows: bool
    told: bool
    problem: Callable[[SourceError], None]

    def scores(
        self, found: Any, place: Place, known: Collection[tuple[str, str]] | None = None
    ) -> Scores:
        """Return what is said about each instance; of those in `known` if it is given.

        A key may come several times, once for each of HELM's classes of metrics, and for
        each window; these are numbered. HELM's mean is over requests: where an instance
        may have several, scores are weighted by their number.
        """
        made = Scores()
        if not isinstance(found, list):
            raise place.error("expected a list of statistics by instance")
        there: dict[Key, dict[str, float | None]] = defaultdict(dict)
        count: dict[tuple[Key, str], int] = defaultdict(int)
        for n, each in enumerate(found):
            try:
                row = Row(each, place.inside(n))
                told = self.perturbations.told(
                    row.get("perturbation"), row.at("perturbation")
                )
                key = (
                    row.text("instance_id"),
                    told.name,
                    row.integer("train_trial_index", 0),
                )
                stats = row.items("stats")
            except SourceError as error:
                self.problem(error)
                continue
            if known is None or key[:2] in known:
                self._of_request(stats, row.at("stats"), key, there[key], count, made)
        return made

    def _of_request(
        self,
        stats: list[Any],
        place: Place,
        key: Key,
        there: dict[str, float | None],
        count: dict[tuple[Key, str], int],
        made: Scores,
    ) -> None:
        identifier, perturbation, trial = key
        index = -1
        for n, stat in enumerate(stats):
            try:
                name, value, weight, details = _fast(stat) or _slow(stat, place, n)
            except SourceError as error:
                self.problem(error)
                continue
            if value is None and name in COSTS and "mean" not in details:
                continue
            if self.windows:
                index = count[key, name]
                count[key, name] += 1
                weight = weight or 1.0
            elif name in there:
                if there[name] != value:
                    self.problem(
                        place.inside(n).error(
                            f"{name} stands there twice, with another value; the first is taken"
                        )
                    )
                continue
            else:
                there[name] = value
            is_one = details.get("min") == details.get("max")
            if name == PROMPT_TOKENS and value is not None and is_one:
                made.prompt_tokens[key] = int(value)
            missing = _reason(value, details)
            if value is not None and not self.told and name in CERTAIN:
                details = {**details, "reported": value, **UNTOLD}
                value, weight, missing = None, None, "not measurable"
            if weight is not None:
                made.weighted.add(name)
            made.rows.append(
                Score(
                    identifier,
                    name,
                    value,
                    perturbation,
                    trial,
                    index,
                    weight=weight,
                    details=details,
                    origin="reported",
                    missing=missing,
                )
            )

    def stats(self, found: Any, place: Place) -> list[Stat]:
        """Return the run's aggregates."""
        if not isinstance(found, list):
            raise place.error("expected a list of statistics")
        made: dict[tuple[str, ...], Stat] = {}
        families: set[str] = set()
        for n, each in enumerate(found):
            try:
                stat = self._stat(Row(each, place.inside(n)), families)
            except SourceError as error:
                self.problem(error)
                continue
            if stat.metric in COSTS and stat.missing == "not measurable":
                continue
            key = (
                stat.metric,
                stat.split,
                stat.sub_split,
                stat.perturbation,
                stat.computed_on,
            )
            if key in made and made[key] != stat:
                why = f"{stat.metric} stands there twice; the first is taken"
                self.problem(place.inside(n).error(why))
            made.setdefault(key, stat)
        counts = {
            key[1:]: stat.details.get("sum")
            for key, stat in made.items()
            if key[0] == INSTANCES
        }
        return [
            _counted(self._honest(stat, families), counts.get(key[1:]))
            for key, stat in made.items()
        ]

    def _stat(self, row: Row, families: set[str]) -> Stat:
        name, details = row.row("name"), row.rest("name", "mean")
        described = name.get("perturbation")
        told = self.perturbations.told(described, name.at("perturbation"))
        if described and told.name not in FAMILIES:
            families |= {f for f in FAMILIES if described.get(f) is True}
        value = _mean(row)
        if value is None and "mean" in row and row.get("count") != 0:
            details["mean"] = plain(row.get("mean"))
        return Stat(
            metric=_metric(name),
            value=value,
            split=name.text("split", ""),
            sub_split=name.text("sub_split", ""),
            perturbation=told.name,
            computed_on=told.computed_on,
            origin="reported",
            missing=_reason(value, details),
            details=details,
        )

    def _honest(self, stat: Stat, families: set[str]) -> Stat:
        """Return a statistic without a value where HELM has one but does not know it."""
        if stat.value is None:
            return stat
        details = {**stat.details, "reported": stat.value}
        if stat.perturbation in FAMILIES and stat.perturbation not in families:
            return structs.replace(
                stat, value=None, missing="not asked", details=details | COPIED
            )
        if not self.told and stat.metric in CERTAIN:
            return structs.replace(
                stat, value=None, missing="not measurable", details=details | UNTOLD
            )
        return stat


def _fast(stat: Any) -> tuple[str, float | None, float | None, dict[str, Any]] | None:
    """Return (metric, value, weight, details) of a plain statistic, None of an odd one.

    Of a single value all else follows; of several their count is the weight.
    """
    try:
        name, count = stat["name"], stat["count"]
        metric = name["name"]
        named = type(metric) is str and metric != "" and "k" not in name
        if named and count == 0 and stat.keys() <= EMPTY:
            return metric, None, None, {}
        mean = stat["mean"]
        sound = named and type(mean) in NUMBERS and math.isfinite(mean)
        if sound and count == 1 and mean == stat["min"] == stat["max"]:
            return metric, float(mean), None, {}
        details = {key: stat[key] for key in FIELDS}
        numbers = {type(value) for value in details.values()} <= NUMBERS
        whole = len(stat) == len(FIELDS) + 2 and numbers and _finite(details)
        if sound and count > 1 and whole:
            return metric, float(mean), float(count), details
    except (KeyError, TypeError, AttributeError, OverflowError):
        pass
    return None


def _finite(details: dict[str, float]) -> bool:
    return all(map(math.isfinite, details.values()))


def _slow(
    stat: Any, place: Place, n: int
) -> tuple[str, float | None, float | None, dict[str, Any]]:
    """Return the same of any statistic; a mean that is no number stands in its details."""
    row = Row(stat, place.inside(n))
    metric, value = _metric(row.row("name")), _mean(row)
    count = row.number("count", None)
    details = row.rest(*DERIVED) if not count else row.rest("name", "mean")
    if value is None and count and "mean" in row:
        details["mean"] = plain(row.get("mean"))
    return metric, value, count if value is not None and count != 1 else None, details


def _reason(value: float | None, details: dict[str, Any]) -> Missing:
    if value is not None:
        return ""
    return "nan" if "mean" in details else "not measurable"


def _metric(name: Row) -> str:
    """Return a metric's name; older files have the K of `exact_match@5` beside it."""
    metric, k = name.text("name"), name.get("k")
    if not metric:
        raise name.at("name").error("empty")
    return f"{metric}@{k}" if isinstance(k, int) and "@" not in metric else metric


def _mean(row: Row) -> float | None:
    """Return the mean, by its parts where it is not given."""
    count = row.number("count", None)
    if count == 0:
        return None
    if "mean" in row:
        return row.number("mean")
    total = row.number("sum", None)
    return None if total is None or not count else total / count


def _counted(stat: Stat, observations: Any) -> Stat:
    """Return a statistic with the number of instances (and trials) that it is over."""
    try:
        n = number(observations, Place(""))
    except SourceError:
        n = None
    if not n or n != int(n) or not 0 < n < 2**31:
        return stat
    scored = int(n) if stat.value is not None else 0
    return structs.replace(stat, n_scored=scored, n_asked=int(n))
