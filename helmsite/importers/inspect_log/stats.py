"""Results of Inspect → aggregates, scores that epochs were reduced to, facts of metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import structs

from helmsite.importers.inspect_log.samples import SPLIT
from helmsite.importers.inspect_log.scores import (
    ACCURACY,
    AVERAGES,
    ERRORS,
    HIGHER,
    LOWER,
    OF_ALL,
    Scorers,
    balanced,
)
from helmsite.schema import MetricFacts, Score, Stat

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from helmsite.importers.inspect_log.scores import Asked
    from helmsite.importers.values import Row

MEAN = "mean"
COMPLETED = "completed_samples"


class Summed(NamedTuple):
    """Aggregates, the scores that they are of where epochs were reduced, and facts."""

    stats: list[Stat]
    scores: list[Score]
    facts: list[MetricFacts]


def summed(
    scorers: Scorers,
    reductions: Sequence[Row],
    scores: Sequence[Score],
    asked: Sequence[Asked],
) -> Summed:
    """Return what Inspect's results say, and what they are of.

    Where each instance has as many epochs as another the mean over epochs is the mean of
    the epochs' scores. Else, and for other reducers, there is one more metric,
    `accuracy_max`, whose scores are the reduced ones.

    Args:
        scorers: with the results.
        reductions: the reduced scores that the log holds.
        scores: those of all epochs.
        asked: all instances and trials.
    """
    made: dict[tuple[str, str], Stat] = {}
    reduced: dict[tuple[str, str], list[Score]] = {}
    told: dict[str, MetricFacts] = {}
    even = _even(scores)
    number = len({each.instance_id for each in asked})
    for row in scorers.results:
        name = row.text("name", "")
        scorer = row.text("scorer", name)
        reducer = row.text("reducer", "") or ""
        metric = scorers.metric(scorer) if name == scorer else name
        label = scorers.label(scorer)
        ending = "" if reducer in {"", MEAN} else f"_{reducer}"
        if not ending and not even.get((metric, label), True):
            ending = f"_{MEAN}"
        if ending:
            rows = _reduced(scorers, reductions, (scorer, reducer), metric, ending)
            if rows:
                reduced[metric + ending, label] = _whole(rows, asked)
        for stat in _stats(row, metric, label, ending, number):
            unique = stat
            if (stat.metric, label) in made:
                again = f"{stat.metric} ({row.place.field})"
                unique = structs.replace(stat, metric=again)
            made[unique.metric, label] = unique
            _tell(told, unique.metric, metric, ending, reducer, name)
    return Summed(
        list(made.values()),
        [score for rows in reduced.values() for score in rows],
        [*_facts(scores, told), *told.values()],
    )


def _even(scores: Iterable[Score]) -> dict[tuple[str, str], bool]:
    by: dict[tuple[str, str], list[Score]] = {}
    for score in scores:
        by.setdefault((score.metric, score.scorer), []).append(score)
    return {key: balanced(rows) for key, rows in by.items()}


def _reduced(
    scorers: Scorers,
    reductions: Sequence[Row],
    wanted: tuple[str, str],
    metric: str,
    ending: str,
) -> list[Score]:
    """Return the reduced scores of a metric by the scorer and reducer that are wanted."""
    scorer, reducer = wanted
    label = scorers.label(scorer)
    found = []
    for group in reductions:
        if group.text("scorer", "") != scorer or (
            (group.text("reducer", "") or MEAN) != (reducer or MEAN)
        ):
            continue
        for row in group.rows("samples", ()):
            known = row.get("sample_id")
            if known is None:
                continue
            found += [
                structs.replace(score, metric=metric + ending, scorer=label)
                for score in scorers.split(row, scorer, str(known), 0)
                if score.metric == metric
            ]
    return found


def _whole(rows: list[Score], asked: Sequence[Asked]) -> list[Score]:
    """Return reduced scores with a row for each instance that has none."""
    there = {row.instance_id: row for row in rows}
    first = rows[0]
    why: dict[str, list[str]] = {}
    for each in asked:
        why.setdefault(each.instance_id, []).append(each.missing)
    found = []
    for instance_id, reasons in why.items():
        row = there.get(instance_id)
        if row is None:
            reason = next((r for r in reasons if r), "not measurable")
            row = structs.replace(
                first,
                instance_id=instance_id,
                value=None,
                text="",
                details={},
                missing=reason,
            )
        found.append(row)
    return found


def _stats(
    row: Row, metric: str, label: str, ending: str, number: int
) -> Iterator[Stat]:
    """Yield a result's aggregates: its average with its standard error, and all others.

    Args:
        row: the result.
        metric: what it is of.
        label: by which scorer.
        ending: of the names, where epochs were reduced.
        number: of samples, failed ones too; 0 if that is not known.
    """
    metrics = row.row("metrics", None)
    said = {} if metrics is None else {key: metrics.row(key) for key in metrics}
    values = {key: each.number("value", None) for key, each in said.items()}
    average = next((key for key in AVERAGES if key in said), "")
    error = next((key for key in ERRORS if key in said), "")
    counts = {
        key: row.integer(key, None) for key in ("scored_samples", "unscored_samples")
    }
    scored = counts["scored_samples"] or 0
    unscored = counts["unscored_samples"] or 0
    about = {
        k: v
        for k, v in row.rest("name", "scorer", "metrics", *counts).items()
        if v not in (None, "", [], {})
    }
    for key, each in said.items():
        if average and key == error:
            continue
        value = values[key]
        details = {**about, **each.rest("value")}
        if key == average and error:
            details["stderr"] = said[error].rest("value")
        details = {k: v for k, v in details.items() if v not in (None, "", [], {})}
        own = key == average
        stem = metric if own else _other(metric, key)
        yield Stat(
            stem + ending,
            value,
            split=SPLIT,
            scorer=label,
            stderr=_positive(values[error]) if own and error else None,
            n_scored=scored if value is not None else 0,
            n_asked=max(scored + unscored, number),
            origin="reported",
            missing="" if value is not None else "nan",
            details=details,
        )


def _positive(value: float | None) -> float | None:
    return value if value is None or value >= 0 else None


def _other(metric: str, key: str) -> str:
    """Return the name of a metric that is no average: of accuracies its own."""
    return key if metric == ACCURACY else f"{metric}_{key}"


def _facts(
    scores: Iterable[Score], told: dict[str, MetricFacts]
) -> Iterator[MetricFacts]:
    """Yield the facts of the metrics of scores that results did not tell of."""
    found: dict[str, list[float]] = {}
    for score in scores:
        rows = found.setdefault(score.metric, [])
        if score.value is not None:
            rows.append(score.value)
    for name, values in found.items():
        if name not in told:
            yield fact(name, shared=all(0 <= v <= 1 for v in values))


def fact(name: str, *, shared: bool = False) -> MetricFacts:
    """Return what a metric means; `shared`: its values lie between 0 and 1."""
    title, description = {
        ACCURACY: (
            "Accuracy",
            "Share of right answers among the samples that were scored; samples that "
            "ended in an error are left out, as Inspect leaves them out.",
        ),
        OF_ALL: (
            "Accuracy of all samples",
            "Share of right answers among all samples that were run; one that ended in "
            "an error counts as wrong.",
        ),
    }.get(name, (name, f"Mean of the values that the log's scorer gives as {name}."))
    return MetricFacts(
        name=name,
        title=title,
        description=description,
        family="accuracy",
        higher_is_better=True if name in HIGHER else False if name in LOWER else None,
        format="share" if name in {ACCURACY, OF_ALL} and shared else "number",
        source="Inspect",
    )


def _tell(
    told: dict[str, MetricFacts],
    name: str,
    metric: str,
    ending: str,
    reducer: str,
    result: str,
) -> None:
    """Add the facts of a metric that stands in results only."""
    if name == metric and not ending:
        return
    if ending and name == metric + ending:
        plain = fact(metric)
        description = (
            f"Mean over samples of each one's {reducer or MEAN} over its epochs, as "
            f"Inspect computes {metric}."
        )
        told[name] = structs.replace(
            plain,
            name=name,
            title=f"{plain.title}, {reducer or MEAN} of epochs",
            description=description,
        )
        return
    told[name] = MetricFacts(
        name,
        name,
        f"As Inspect's metric of that name computes it from the values of {result}.",
        "accuracy",
        source="Inspect",
    )


def honest(
    scorers: Scorers, stats: Iterable[Stat], failed: int, epochs: int
) -> Iterator[Stat]:
    """Yield the headline's accuracy with failed samples as wrong, of a log without samples.

    It follows from the number of those, but for several epochs.
    """
    label = scorers.label(scorers.headline)
    for stat in stats:
        if (stat.metric, stat.scorer) != (ACCURACY, label) or stat.value is None:
            continue
        if not failed:
            yield structs.replace(stat, metric=OF_ALL, origin="computed")
        elif failed > 0 and epochs == 1:
            number = stat.n_scored + failed
            yield structs.replace(
                stat,
                metric=OF_ALL,
                value=stat.value * stat.n_scored / number,
                stderr=None,
                n_scored=number,
                n_asked=max(number, stat.n_asked),
                origin="computed",
            )


def completed_stat(done: int | None, total: int, log: dict[str, Any]) -> Stat:
    """Return how many samples came to their end; the log's header is in its details."""
    return Stat(
        COMPLETED,
        None if done is None else float(done),
        split=SPLIT,
        n_scored=total,
        n_asked=total,
        origin="reported",
        missing="not measurable" if done is None else "",
        details={"log": log},
    )


COMPLETED_FACTS = MetricFacts(
    COMPLETED,
    "Completed samples",
    "Number of samples, each epoch counted, that ended without an error; the details of "
    "this number hold the log's header.",
    "general_information",
    format="integer",
    source="Inspect",
)
