"""Scores of Inspect → scores, aggregates and what their metrics mean.

A value that Inspect averages as `accuracy` is a score of that metric, by the scorer of
that name where there are several. Other scalar values are a metric named like their
scorer, a dictionary's values one each named like its key. An epoch is a trial.
"""

from __future__ import annotations

import math
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from helmsite.importers.values import Row, plain
from helmsite.schema import Score

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from helmsite.schema.records import Missing

ACCURACY, OF_ALL = "accuracy", "accuracy_of_all"
AVERAGES = (ACCURACY, "mean")
ERRORS = ("stderr", "bootstrap_stderr", "bootstrap_std")
LETTERS = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
WORDS = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
LOWER = {"perplexity", "target_perplexity", "toxicity"}
HIGHER = {ACCURACY, OF_ALL, "f1", "exact", "match", "includes", "choice", "math"}
UNNAMED = "score"


class Series(NamedTuple):
    """A series of scores: a metric by a scorer."""

    metric: str
    scorer: str


class Asked(NamedTuple):
    """An instance in a trial, and why it has no score if it has none."""

    instance_id: str
    trial: int
    missing: Missing


def number(value: Any, *, counted: bool) -> tuple[float | None, Missing]:
    """Return a score's value as Inspect's metrics read it, or why it is none.

    Args:
        value: a letter, a word, a number.
        counted: what cannot be read counts 0, as in Inspect's accuracy and mean.
    """
    unreadable: tuple[float | None, Missing] = (
        (0.0, "") if counted else (None, "not measurable")
    )
    if isinstance(value, str):
        word = value.strip().lower()
        read = LETTERS.get(value, WORDS.get(word))
        if read is None:
            with suppress(ValueError):
                read = float(word)
        return (read, "") if read is not None and math.isfinite(read) else unreadable
    if isinstance(value, (bool, int, float)):
        with suppress(OverflowError):
            read = float(value)
            if math.isfinite(read):
                return read, ""
        return None, "nan"
    return unreadable if value is None else (None, "not measurable")


def bare(name: str) -> str:
    """Return a name without its package: `inspect_ai/accuracy` is accuracy."""
    return name.rpartition("/")[2]


@dataclass
class Scorers:
    """The scorers of a log and how their values are averaged, by what its header says.

    `averages` are the names of the metrics of each scorer's scalar values; `keys` the
    keys of those that give dictionaries.
    """

    averages: dict[str, set[str]] = field(default_factory=dict)
    keys: dict[str, list[str]] = field(default_factory=dict)
    headline: str = ""
    headline_key: str = ""
    results: list[Row] = field(default_factory=list)

    @classmethod
    def of(cls, header: Row) -> Scorers:
        """Return the scorers of a log.

        Raises:
            SourceError: what it says of them makes no sense.
        """
        found = cls()
        for row in header.row("eval").rows("scorers", ()):
            found._define(row)
        results = header.row("results", None)
        found.results = _results(results) if results else []
        for row in found.results:
            name = row.text("name", UNNAMED)
            scorer = row.text("scorer", name)
            metrics = set(row.row("metrics", None) or ())
            found.averages.setdefault(scorer, set())
            if name == scorer:
                found.averages[scorer] |= {bare(m) for m in metrics}
            else:
                _add(found.keys.setdefault(scorer, []), name)
        chosen = results.row("headline", None) if results else None
        first = next(iter(found.averages), "")
        found.headline = chosen.text("scorer", first) if chosen else first
        keys = found.keys.get(found.headline, [""])
        found.headline_key = chosen.text("score", keys[0]) if chosen else keys[0]
        return found

    def _define(self, row: Row) -> None:
        name = bare(row.text("name", UNNAMED))
        again = 0
        while (f"{name}{again}" if again else name) in self.averages:
            again += 1  # of one name the second is name1 in the results
        name = f"{name}{again}" if again else name
        said = row.get("metrics")
        parts = said if isinstance(said, list) else [said]
        scalar = [p["name"] for p in parts if isinstance(p, dict) and _named(p)]
        self.averages[name] = {bare(each) for each in scalar}
        for part in parts:
            if isinstance(part, dict) and not _named(part):
                plain_keys = [k for k in part if not set(k) & set("*?[")]
                for key in plain_keys:
                    _add(self.keys.setdefault(name, []), key)

    @property
    def first(self) -> str:
        """The scorer of a log of the first version, which does not name it."""
        return next(iter(self.averages), UNNAMED)

    @property
    def names(self) -> list[str]:
        """The scorers' names."""
        return list(self.averages)

    def metric(self, scorer: str) -> str:
        """Return the metric of a scorer's scalar values."""
        return ACCURACY if ACCURACY in self.averages.get(scorer, ()) else scorer

    def label(self, scorer: str) -> str:
        """Return what stands in the column `scorer`: nothing where there is one only."""
        return scorer if len(self.averages) > 1 else ""

    def series(self) -> list[Series]:
        """Return the series that the header tells of, for samples that all failed."""
        found = []
        for scorer in self.averages:
            keys = self.keys.get(scorer, [])
            if not keys or self.averages[scorer]:
                found.append(Series(self.metric(scorer), self.label(scorer)))
            found += [Series(key, self.label(scorer)) for key in keys]
        return found

    @property
    def main(self) -> str:
        """The scenario's main metric."""
        metric = self.metric(self.headline)
        if metric == ACCURACY:
            return OF_ALL
        return self.headline_key or metric

    def scores(self, sample: Row, instance_id: str, trial: int) -> Iterator[Score]:
        """Yield the scores of a sample.

        Raises:
            SourceError: one makes no sense.
        """
        found = sample.row("scores", None)
        legacy = sample.get("score")
        said = dict(found.value) if found else {}
        if isinstance(legacy, dict):
            said.setdefault(self.first, legacy)
        for scorer, value in said.items():
            if value is not None:
                self._meet(scorer, value)
                row = Row(value, sample.at("scores").inside(scorer))
                yield from self.split(row, scorer, instance_id, trial)

    def _meet(self, scorer: str, said: Any) -> None:
        """Know a scorer that the header does not name; letters are averaged as accuracy."""
        value = said.get("value") if isinstance(said, dict) else None
        if not self.averages.get(scorer) and not self.keys.get(scorer):
            letter = isinstance(value, str) and value in LETTERS
            self.averages[scorer] = {ACCURACY} if letter else set()

    def split(
        self, row: Row, scorer: str, instance_id: str, trial: int
    ) -> Iterator[Score]:
        """Yield a score's values: one, or one for each key or place of it."""
        value = row.get("value")
        named = {self.metric(scorer): value}
        if isinstance(value, dict):
            named = {str(key): each for key, each in value.items()}
        elif isinstance(value, list):
            named = {f"{scorer}_{n + 1}": each for n, each in enumerate(value)}
        counted = bool(self.averages.get(scorer, set()) & set(AVERAGES))
        counted = counted or isinstance(value, dict)
        details = row.rest("value", "answer", "sample_id")
        details = {k: v for k, v in details.items() if v not in (None, "", [], {})}
        answer = row.get("answer")
        for metric, each in named.items():
            read, missing = number(each, counted=counted)
            same = isinstance(each, (int, float)) and not isinstance(each, bool)
            yield Score(
                instance_id,
                metric,
                read,
                trial=trial,
                scorer=scorer,
                text=answer if isinstance(answer, str) else "",
                details=details if same else {**details, "value": plain(each)},
                origin="reported",
                missing=missing,
            )


def _add(names: list[str], name: str) -> None:
    if name not in names:
        names.append(name)


def _named(part: dict[str, Any]) -> bool:
    return isinstance(part.get("name"), str)


def _results(results: Row) -> list[Row]:
    """Return the results of scorers; first there was one, with its metrics apart."""
    if "scorer" in results:
        row = results.row("scorer")
        value = dict(row.value)
        value.setdefault("metrics", results.get("metrics") or {})
        value["scorer"] = value.get("name")
        return [Row(value, row.place)]
    return results.rows("scores", ()) or results.rows("scorers", ())


def completed(
    scores: Iterable[Score], asked: Sequence[Asked], scorers: Scorers
) -> list[Score]:
    """Return scores under their final names, with a row for each that is missing.

    The headline's accuracy gets a twin in which failed samples count 0.
    """
    rows: dict[Series, dict[tuple[str, int], Score]] = defaultdict(dict)
    for score in scores:
        label = scorers.label(score.scorer)
        rows[Series(score.metric, label)][score.instance_id, score.trial] = score
    for series in scorers.series():
        rows[series]
    found = []
    headline = Series(ACCURACY, scorers.label(scorers.headline))
    for series, there in rows.items():
        for instance_id, trial, missing in asked:
            score = there.get((instance_id, trial)) or Score(
                instance_id,
                series.metric,
                None,
                trial=trial,
                origin="reported",
                missing=missing,
            )
            found.append(_as(score, series.metric, series.scorer))
            if series == headline:
                found.append(_honest(score, missing, series.scorer))
    return found


def _as(score: Score, metric: str, scorer: str, **more: Any) -> Score:
    kept = {name: getattr(score, name) for name in score.__struct_fields__}
    return Score(**{**kept, "metric": metric, "scorer": scorer, **more})


def _honest(score: Score, missing: Missing, scorer: str) -> Score:
    if score.value is None and score.missing == "failed" and missing == "failed":
        return _as(score, OF_ALL, scorer, value=0.0, missing="")
    return _as(score, OF_ALL, scorer, details={})


def balanced(scores: Iterable[Score]) -> bool:
    """Return whether each instance with a value of a series has one in each trial."""
    trials: dict[str, set[int]] = defaultdict(set)
    for score in scores:
        if score.value is not None:
            trials[score.instance_id].add(score.trial)
    return len({frozenset(t) for t in trials.values()}) <= 1
