"""Rows with values of (model, scenario, metric) → results without instances."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import structs

from helmsite.errors import SourceError
from helmsite.importers import naming, values
from helmsite.importers.found import Aggregates
from helmsite.importers.table.mapping import Measure
from helmsite.importers.table.metrics import facts, in_percent
from helmsite.importers.table.plan import at
from helmsite.schema import PublishedStat, ScenarioFacts, Stat

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from helmsite.importers.table.cells import Cells, Figure
    from helmsite.importers.table.files import Rows
    from helmsite.importers.table.plan import Cell, Plan
    from helmsite.importers.table.troubles import Troubles
    from helmsite.importers.values import Place
    from helmsite.schema import Score

PLAIN = Measure()
SPREAD = "±"
SHOTS = "num_fewshot"
AXES = {"models": "model", "scenarios": "scenario", "scores": "metric"}


class Results:
    """Takes rows; gives their values, each once.

    Args:
        plan: where things stand.
        cells: how cells are read.
        troubles: is told of rows that cannot be taken.
    """

    def __init__(self, plan: Plan, cells: Cells, troubles: Troubles) -> None:
        self._plan, self._cells, self._troubles = plan, cells, troubles
        self._made: dict[tuple[Any, ...], tuple[PublishedStat, int | str]] = {}
        self._words: dict[str, str] = {}
        self._settings: dict[tuple[Any, ...], dict[str, Any]] = {}

    def take(self, rows: Rows) -> None:
        """Take all rows; what is wrong in one is a problem of that row alone."""
        for place, row in rows:
            if isinstance(row, SourceError):
                self._troubles.add(row)
                continue
            for cell in self._plan.cells or (None,):
                try:
                    self._add(row, place, cell)
                except SourceError as error:
                    self._troubles.add(error)

    def made(self, suite: str = "") -> Iterator[Aggregates]:
        """Yield the results, those of each suite together, with the facts that they need."""
        by_suite: dict[str, list[PublishedStat]] = {}
        for key, (made, _) in self._made.items():
            by_suite.setdefault(key[0] or suite, []).append(made)
        for name, results in by_suite.items():
            yield self._together(name, results)

    def _together(self, suite: str, results: list[PublishedStat]) -> Aggregates:
        mapping = self._plan.mapping
        found = numbers(each.stat for each in results)
        shares = {
            name
            for name, several in found.items()
            if in_percent(name, mapping.metrics.get(name), several)
        }
        if shares:
            results = [
                structs.replace(each, stat=_share(each.stat))
                if each.stat.metric in shares
                else each
                for each in results
            ]
            found = numbers(each.stat for each in results)
        scenarios = dict.fromkeys(each.scenario for each in results)
        models = dict.fromkeys(each.model for each in results)
        return Aggregates(
            results=results,
            scenarios=tuple(scenario(name, mapping.groups) for name in scenarios),
            metrics=tuple(
                facts(name, mapping.metrics.get(name), several, percent=name in shares)
                for name, several in found.items()
            ),
            cards=tuple(map(naming.card, models)),
            suite=suite,
        )

    def _add(self, row: dict[str, Any], place: Place, cell: Cell | None) -> None:
        plan, cells = self._plan, self._cells
        own = AXES[plan.axis] if cell else ""
        said = {
            field: cell.name if cell and field == own else self._name(row, field)
            for field in AXES.values()
        }
        column = cell.column if cell else plan.columns["value"]
        found = at(row, column)
        if cell and cells.is_nothing(found):
            return  # a hole of a wide table
        for field, text in said.items():
            if not text:
                raise place.inside(plan.columns.get(field, field)).error("empty")
        measure = plan.mapping.metrics.get(said["metric"], PLAIN)
        figure = cells.figure(found, place.inside(column), measure)
        stat = structs.replace(
            self._stat(row, place, said["metric"], measure),
            value=figure.value,
            missing=figure.missing,
            details=self._details(row, figure),
        )
        self._keep(said, stat, row, place.inside(column))

    def _stat(
        self, row: dict[str, Any], place: Place, metric: str, of: Measure
    ) -> Stat:
        plan, cells = self._plan, self._cells

        def side(field: str) -> tuple[Any, Place]:
            column = getattr(of, field)
            found = at(row, column) if column else plan.cell(row, field)
            return found, place.inside(column or plan.columns.get(field, field))

        count = cells.integer(*side("n"))
        return Stat(
            metric,
            None,
            split=self._name(row, "split"),
            sub_split=self._name(row, "sub_split"),
            perturbation=self._name(row, "perturbation"),
            scorer=self._name(row, "scorer"),
            stderr=cells.size(*side("stderr"), of),
            ci_low=cells.size(*side("ci_low"), of),
            ci_high=cells.size(*side("ci_high"), of),
            n_scored=max(0, count or 0),
            n_asked=max(0, count or 0),
            origin="reported",
        )

    def _name(self, row: dict[str, Any], field: str) -> str:
        found = self._cells.name(self._plan.cell(row, field))
        return self._words.setdefault(found, found)

    def _details(self, row: dict[str, Any], figure: Figure) -> dict[str, Any]:
        """Return what else a row says."""
        found: dict[str, Any] = values.plain(self._plan.rest(row))
        return found if figure.spread is None else found | {SPREAD: figure.spread}

    def _set(self, row: dict[str, Any], place: Place) -> dict[str, Any]:
        """Return a row's settings; equal ones are one object."""
        found = self._plan.settings(row, self._cells)
        shots = self._plan.cell(row, SHOTS)
        count = self._cells.integer(shots, place.inside(SHOTS))
        if count is not None:
            found[SHOTS] = count
        for field in ("revision", "quantisation"):
            if text := self._name(row, field):
                found[field] = text
        key = tuple((name, self._cells.text(value)) for name, value in found.items())
        return self._settings.setdefault(key, found)

    def _keep(
        self, said: dict[str, str], stat: Stat, row: dict[str, Any], place: Place
    ) -> None:
        settings, suite = self._set(row, place), self._name(row, "suite")
        settled = tuple(sorted((k, self._cells.text(v)) for k, v in settings.items()))
        key: tuple[Any, ...] = (
            suite,
            said["scenario"],
            said["model"],
            settled,
            stat.metric,
        )
        key += (stat.scorer, stat.split, stat.sub_split, stat.perturbation)
        new = PublishedStat(said["scenario"], said["model"], stat, settings)
        old, where = self._made.setdefault(key, (new, place.line or place.field))
        if old is new or old == new:
            return
        why = f"another value of {said['model']}, {said['scenario']} and {stat.metric} is on {_where(where)}"
        columns = _different(old.stat.details, stat.details)
        if columns:
            listed = ", ".join(columns)
            why += f"; if they differ in {listed}, name that under `settings`"
        raise place.error(why)


def numbers(judged: Iterable[Stat] | Iterable[Score]) -> dict[str, list[float]]:
    """Return the values of each metric."""
    found: dict[str, list[float]] = {}
    for each in judged:
        inside = found.setdefault(each.metric, [])
        if each.value is not None:
            inside.append(each.value)
    return found


def _share(stat: Stat) -> Stat:
    """Return a value in percent as a share."""
    sides = ("value", "stderr", "ci_low", "ci_high")
    there = {name: getattr(stat, name) for name in sides}
    details = dict(stat.details)
    if SPREAD in details:
        details[SPREAD] /= 100
    shares = {name: each / 100 for name, each in there.items() if each is not None}
    return structs.replace(stat, details=details, **shares)


def scenario(name: str, groups: dict[str, tuple[str, ...]]) -> ScenarioFacts:
    """Return what a table says of a scenario: its name, and the groups that it is in."""
    inside = tuple(group for group, names in groups.items() if name in names)
    return ScenarioFacts(name, title=name, groups=inside)


def _where(line: int | str) -> str:
    return line if isinstance(line, str) else f"line {line}"


def _different(one: dict[str, Any], other: dict[str, Any]) -> list[str]:
    return [name for name in {**one, **other} if one.get(name) != other.get(name)]
