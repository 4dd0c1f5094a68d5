"""Ratings by people, imported from a CSV file: checked whole before anything is written.

Columns: `run`, or `model` and `scenario`; `instance_id`, `metric`, `value`; and if they
are needed `rater`, `trial`, `perturbation`, `completion_index`, `better` (higher, lower).
"""

from __future__ import annotations

import csv
import math
from collections import defaultdict
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

from helmsite import metrics
from helmsite.errors import ConfigError
from helmsite.run.outside import Addition, added
from helmsite.schema import MetricFacts, Score, Stat

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from helmsite.archive import Archive
    from helmsite.schema import Manifest

    Unit = tuple[str, str, int, int]

NEEDED = ("instance_id", "metric", "value")
OPTIONAL = ("run", "model", "scenario", "rater", "trial", "perturbation")
COLUMNS = (*OPTIONAL, *NEEDED, "completion_index", "better")
FAMILY = "human"
PEOPLE = "people"
"""Who rated, where the file does not say."""

SHOWN = 20
EXAMPLE = "run,instance_id,rater,metric,value"


class Rating(NamedTuple):
    """A line of the file: who gave which value to what."""

    run_id: str
    unit: Unit
    rater: str
    metric: str
    value: float
    better: str


def rate(archive: Archive, path: Path) -> list[Manifest]:
    """Import the ratings of a file; return the runs that have them now.

    Importing a file again changes nothing. A rater's new values take the place of the
    old ones of the same run and metric. Where several people rate, the mean of an
    instance's ratings and the raters' agreement stand beside their own rows.

    Raises:
        ConfigError: lines that cannot be used, each with its number; nothing is written.
    """
    problems: list[str] = []
    ratings = list(_read(archive, path, problems))
    if not ratings and not problems:
        problems.append(f"{path}: there are no ratings in it.")
    if problems:
        more = len(problems) - SHOWN
        shown = problems[:SHOWN] + ([f"... and {more} more."] if more > 0 else [])
        raise ConfigError(shown, f"Correct the file; nothing was imported. {_format()}")
    by_run: dict[str, list[Rating]] = defaultdict(list)
    for rating in ratings:
        by_run[rating.run_id].append(rating)
    return [_import(archive, run_id, of) for run_id, of in sorted(by_run.items())]


def _format() -> str:
    return f"It begins with a line such as: {EXAMPLE}"


def _read(archive: Archive, path: Path, problems: list[str]) -> Iterator[Rating]:
    runs = _Runs(archive)
    seen: dict[tuple[str, Unit, str, str], int] = {}
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            lines = csv.DictReader(file, strict=True)
            wrong = _columns(lines.fieldnames or ())
            problems += [f"{path}: {what}" for what in wrong]
            for line in lines if not wrong else ():
                place = f"{path}, line {lines.line_num}"
                try:
                    rating = runs.rating(line)
                except ValueError as error:
                    problems.append(f"{place}: {error}")
                    continue
                key = rating[:4]
                if key in seen:
                    problems.append(
                        f"{place}: line {seen[key]} has the same rater's rating of the same thing."
                    )
                seen.setdefault(key, lines.line_num)
                yield rating
    except (OSError, UnicodeError, csv.Error) as error:
        problems.append(f"{path}: it cannot be read: {error}.")


def _columns(found: Iterable[str]) -> list[str]:
    names = list(found)
    wrong = [f"column {n!r} is unknown." for n in names if n not in COLUMNS]
    wrong += [f"column {n!r} is missing." for n in NEEDED if n not in names]
    if "run" not in names and not {"model", "scenario"} <= set(names):
        wrong.append("there is neither column 'run' nor 'model' and 'scenario'.")
    if len(set(names)) < len(names):
        wrong.append("a column is there twice.")
    return wrong


class _Runs:
    """What the archive holds that can be rated; each run is read once."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive
        self._manifests = archive.manifests()
        self._units: dict[str, dict[tuple[str, str, int], int]] = {}

    def rating(self, line: Mapping[str, str | None]) -> Rating:
        """Return the rating that a line of the file is.

        Raises:
            ValueError: it is none; the message says why.
        """
        if None in line or None in line.values():
            raise ValueError("it has another number of fields than the first line.")
        fields = {name: (text or "").strip() for name, text in line.items()}
        run_id = self._run(fields)
        metric = fields["metric"]
        if not metric or metrics.is_known(metric):
            why = "helmsite computes that itself" if metric else "it is empty"
            raise ValueError(f"metric {metric!r} cannot be rated: {why}.")
        better = fields.get("better", "")
        if better not in ("", "higher", "lower"):
            raise ValueError(f"better is {better!r}, not higher or lower.")
        unit = (
            fields["instance_id"],
            fields.get("perturbation", ""),
            _number(fields, "trial", 0),
            _number(fields, "completion_index", -1),
        )
        self._check(run_id, unit)
        value = _value(fields["value"])
        return Rating(
            run_id, unit, fields.get("rater", "") or PEOPLE, metric, value, better
        )

    def _run(self, fields: Mapping[str, str]) -> str:
        model, scenario = fields.get("model", ""), fields.get("scenario", "")
        if wanted := fields.get("run", ""):
            found = [m for m in self._manifests if m.run_id == wanted]
            what = f"run {wanted!r}"
        else:
            found = [
                m
                for m in self._manifests
                if (m.spec.model.name, m.scenario.name) == (model, scenario)
            ]
            what = f"run of {model!r} on {scenario!r}"
        if not found:
            raise ValueError(f"there is no {what} in the archive.")
        if len(found) > 1:
            ids = ", ".join(m.run_id for m in found)
            raise ValueError(f"there are {len(found)} runs of both: name one of {ids}.")
        return found[0].run_id

    def _check(self, run_id: str, unit: Unit) -> None:
        if run_id not in self._units:
            made: dict[tuple[str, str, int], int] = defaultdict(int)
            for reply in self._archive.replies(run_id):
                request = reply.request
                key = request.instance_id, request.perturbation, request.trial
                made[key] = max(made[key], reply.completion_index + 1)
            self._units[run_id] = dict(made)
        index = unit[3]
        made_here = self._units[run_id].get((unit[0], unit[1], unit[2]))
        if made_here is None:
            raise ValueError(
                f"run {run_id} has no answer for instance {unit[0]!r}, perturbation {unit[1]!r}, trial {unit[2]}."
            )
        if not -1 <= index < made_here:
            raise ValueError(f"there are {made_here} completions, not number {index}.")


def _number(fields: Mapping[str, str], name: str, default: int) -> int:
    text = fields.get(name, "")
    if not text:
        return default
    if not text.isdecimal() and text != "-1":
        raise ValueError(f"{name} is {text!r}, not a whole number.")
    return int(text)


def _value(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ValueError(f"value is {text!r}, not a number.")
    return value


def _import(archive: Archive, run_id: str, ratings: Sequence[Rating]) -> Manifest:
    """Write a run's ratings, with the means over raters and their agreement."""
    new = {(r.metric, r.rater) for r in ratings}
    names = sorted({r.metric for r in ratings})
    held = [s for s in archive.scores(run_id) if s.metric in names]
    rows = [s for s in held if s.scorer and (s.metric, s.scorer) not in new]
    rows += [_row(rating) for rating in ratings]
    better = {r.metric: r.better for r in ratings if r.better}
    known = {m.name: m for m in archive.manifest(run_id).metrics}
    facts = [_facts(name, better.get(name, ""), known.get(name)) for name in names]
    stats: list[Stat] = []
    splits = {x.instance_id: x.split for x in archive.instances(run_id)}
    for name in names:
        own = [row for row in rows if row.metric == name]
        if len({row.scorer for row in own}) > 1:
            rows += _means(own)
            stats += _agreements(name, own, splits)
            facts.append(_agreement_facts(name))
    replaced = {*names, *(f"{name}_agreement" for name in names)}
    return added(
        archive,
        run_id,
        Addition(rows, tuple(facts), lambda row: row.metric in replaced, stats),
    )


def _row(rating: Rating) -> Score:
    instance_id, perturbation, trial, index = rating.unit
    return Score(
        instance_id,
        rating.metric,
        rating.value,
        perturbation=perturbation,
        trial=trial,
        completion_index=index,
        scorer=rating.rater,
        origin="reported",
    )


def _facts(name: str, better: str, known: MetricFacts | None) -> MetricFacts:
    direction = {"higher": True, "lower": False}.get(better)
    if direction is None and known:
        direction = known.higher_is_better
    return MetricFacts(
        name=name,
        title=name.replace("_", " ").capitalize(),
        description="Mean rating by people, as imported from a file.",
        family=FAMILY,
        higher_is_better=direction,
        source="ratings file",
    )


def _unit(row: Score) -> Unit:
    return row.instance_id, row.perturbation, row.trial, row.completion_index


def _by_unit(rows: Sequence[Score]) -> dict[Unit, list[float]]:
    found: dict[Unit, list[float]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: row.scorer):
        if row.value is not None:
            found[_unit(row)].append(row.value)
    return dict(sorted(found.items()))


def _means(rows: Sequence[Score]) -> Iterator[Score]:
    """Yield the mean of each thing's ratings, as the row of no rater in particular."""
    for (instance_id, perturbation, trial, index), values in _by_unit(rows).items():
        yield Score(
            instance_id,
            rows[0].metric,
            math.fsum(values) / len(values),
            perturbation=perturbation,
            trial=trial,
            completion_index=index,
            origin="reported",
            details={"raters": len(values)},
        )


def _agreements(
    name: str, rows: Sequence[Score], splits: Mapping[str, str]
) -> Iterator[Stat]:
    """Yield the raters' agreement in each split, perturbed versions left out."""
    plain = [row for row in rows if not row.perturbation]
    for split in sorted({splits.get(row.instance_id, "") for row in plain}):
        here = [row for row in plain if splits.get(row.instance_id, "") == split]
        units = _by_unit(here)
        value = alpha(list(units.values()))
        yield Stat(
            f"{name}_agreement",
            value,
            split=split,
            n_scored=sum(len(values) > 1 for values in units.values()),
            n_asked=len(units),
            missing="" if value is not None else "not measurable",
        )


def _agreement_facts(name: str) -> MetricFacts:
    return MetricFacts(
        name=f"{name}_agreement",
        title=f"{name.replace('_', ' ').capitalize()}: agreement",
        description="Krippendorff's alpha for interval data over what several people rated: 1 is full agreement, 0 is chance.",
        family=FAMILY,
        aggregation="population",
        source="helmsite",
    )


def alpha(units: Sequence[Sequence[float]]) -> float | None:
    """Return Krippendorff's alpha for interval data, None where it is not defined.

    Source: K. Krippendorff, 2011, Computing Krippendorff's Alpha-Reliability.

    Args:
        units: the ratings of each thing; those of fewer than two people are passed over.
    """
    paired = [values for values in units if len(values) > 1]
    everything = [value for values in paired for value in values]
    n = len(everything)
    if n < 2:
        return None
    observed = math.fsum(
        2
        * math.fsum((a - b) ** 2 for a, b in combinations(values, 2))
        / (len(values) - 1)
        for values in paired
    )
    centre = math.fsum(everything) / n
    expected = (
        2 * n * math.fsum((value - centre) ** 2 for value in everything) / (n - 1)
    )
    return 1 - observed / expected if expected else None
