"""Rows with an instance each → runs, one for each model and scenario."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from helmsite.errors import SourceError
from helmsite.importers import naming, values
from helmsite.importers.found import Imported
from helmsite.importers.table.instances import ADAPTER, Reader
from helmsite.importers.table.metrics import facts, in_percent
from helmsite.importers.table.plan import at
from helmsite.importers.table.results import SHOTS, numbers, scenario
from helmsite.importers.values import Place
from helmsite.schema import Instance, ModelIdentity, Reply, RunSpec, Score

if TYPE_CHECKING:
    from collections.abc import Iterator

    from helmsite.importers.table.cells import Cells
    from helmsite.importers.table.files import Rows
    from helmsite.importers.table.groups import Groups
    from helmsite.importers.table.plan import Cell, Plan
    from helmsite.importers.table.troubles import Troubles

SHOWN = 3
DEFAULT = ("exact_match", "quasi_exact_match")
"""What is computed where a table has answers and right answers, but no scores."""


class Key(NamedTuple):
    """What tells the runs of a table apart; `settings` is JSON."""

    model: str
    scenario: str
    suite: str
    revision: str
    quantisation: str
    num_fewshot: int
    settings: str


class Sorter:
    """Puts rows into groups, one for each run; a row of a wide table into several."""

    def __init__(self, plan: Plan, cells: Cells) -> None:
        self._plan, self._cells = plan, cells

    def sort(self, rows: Rows, groups: Groups, troubles: Troubles) -> None:
        """Put all rows; of one that cannot be put there is a problem."""
        wide = self._plan.cells if self._plan.axis == "models" else ()
        for place, row in rows:
            if isinstance(row, SourceError):
                troubles.add(row)
                continue
            try:
                plain = values.plain(row)
                for cell in wide or (None,):
                    if cell is None or at(row, cell.column) not in (None, ""):
                        groups.add(self._key(row, place, cell), place, plain)
            except SourceError as error:
                troubles.add(error)

    def _key(self, row: dict[str, Any], place: Place, cell: Cell | None) -> Key:
        plan, cells = self._plan, self._cells
        names = Key._fields[:-2]
        said = {field: cells.name(plan.cell(row, field)) for field in names}
        if cell:
            said["model"] = cell.name
        for field in ("model", "scenario"):
            if not said[field]:
                raise place.inside(plan.columns.get(field, field)).error("empty")
        settings = plan.settings(row, cells)
        shots = cells.integer(plan.cell(row, SHOTS), place.inside(SHOTS)) or 0
        blob = msgspec.json.encode(settings, order="deterministic").decode()
        return Key(**said, num_fewshot=max(0, shots), settings=blob)


def runs(
    plan: Plan, cells: Cells, groups: Groups, key: str, troubles: Troubles
) -> Iterator[Imported]:
    """Yield the runs that rows make.

    Args:
        plan: where things stand.
        cells: how cells are read.
        groups: the rows by run.
        key: what the runs' keys begin with.
        troubles: is told of rows that cannot be taken.
    """
    wide = {cell.name: cell for cell in plan.cells if plan.axis == "models"}
    for group in groups:
        assert isinstance(group, Key)
        run = _Run(Reader(plan, cells, wide.get(group.model)))
        for where, row in groups.rows(group):
            try:
                run.add(row, Place(*where))
            except SourceError as error:
                troubles.add(error)
        if run.instances:
            own = f"{group.scenario}/{group.model}"
            name = key if key.endswith(f":{own}") else f"{key}+{own}"
            yield run.made(plan, group, name)


class _Run:
    """Gathers one run.

    A row of an instance that is there already is another trial of it, another score (where
    rows have a metric each), or a repetition, named `id#2`.
    """

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self.instances: dict[tuple[str, str], Instance] = {}
        self._replies: dict[tuple[str, str, int], Reply] = {}
        self._scores: list[Score] = []
        self._names = _Names()
        self._rows = 0

    def add(self, row: dict[str, Any], place: Place) -> None:
        """Take a row.

        Raises:
            SourceError: something in it is wrong; nothing of it is taken.
        """
        reader = self._reader
        instance = reader.instance(row, place, self._rows)
        trial = reader.trial(row)
        reply = reader.reply(row, place, instance, trial) if reader.replied else None
        failed = bool(reply and reply.completion.error)
        scores = list(reader.scores(row, place, instance, trial, failed=failed))
        answer = reply.completion.text if reply and reader.long else ""
        metric = (scores[0].metric, scores[0].scorer) if reader.long else ("", "")
        name = self._names.name(instance, trial, answer, metric)
        if name != instance.instance_id:
            instance, reply, scores = _renamed(name, instance, reply, scores)
        self._rows += 1
        where = (name, instance.perturbation)
        self.instances.setdefault(where, instance)
        if reply:
            self._replies.setdefault((*where, trial), reply)
        self._scores += scores

    def made(self, plan: Plan, key: Key, origin: str) -> Imported:
        """Return the run."""
        mapping = plan.mapping
        scores = self._judged()
        found = numbers(scores)
        shares = {
            name
            for name, several in found.items()
            if in_percent(name, mapping.metrics.get(name), several)
        }
        if shares:
            scores = [_share(s) if s.metric in shares else s for s in scores]
            found = numbers(scores)
        adapter = msgspec.structs.replace(
            ADAPTER,
            method="generation" if self._answered() else "",
            max_train_instances=key.num_fewshot,
        )
        identity = ModelIdentity(
            key.model, revision=key.revision, quantisation=key.quantisation
        )
        return Imported(
            key=origin,
            spec=RunSpec(
                key.scenario,
                identity,
                adapter,
                settings=msgspec.json.decode(key.settings),
            ),
            scenario=scenario(key.scenario, mapping.groups),
            card=naming.card(key.model),
            instances=list(self.instances.values()),
            replies=list(self._replies.values()),
            scores=scores,
            metrics=tuple(
                facts(name, mapping.metrics.get(name), several, percent=name in shares)
                for name, several in found.items()
            ),
            compute=mapping.compute or self._computable(scores),
            suite=key.suite,
            warnings=self._names.warnings(),
        )

    def _judged(self) -> list[Score]:
        """Return the scores but those of metrics that no row has a value of."""
        there = {s.metric for s in self._scores if s.value is not None}
        there = there or {s.metric for s in self._scores if s.missing == "failed"}
        return [s for s in self._scores if s.metric in there]

    def _computable(self, scores: list[Score]) -> tuple[str, ...]:
        gold = any(i.references for i in self.instances.values())
        return DEFAULT if gold and self._answered() and not scores else ()

    def _answered(self) -> bool:
        return any(r.completion.text for r in self._replies.values())


class _Names:
    """Gives instances names: their id and, of what is there already, `id#2`, `id#3`, ..."""

    def __init__(self) -> None:
        self._answers: dict[tuple[Any, ...], dict[str, int]] = {}
        self._counts: dict[tuple[Any, ...], int] = {}
        self._given: dict[tuple[Any, ...], str] = {}
        self._used: dict[tuple[str, str], int] = {}
        self._again: dict[str, None] = {}

    def name(
        self, instance: Instance, trial: int, answer: str, metric: tuple[str, str]
    ) -> str:
        """Return a name under which nothing of the kind is kept.

        Args:
            instance: what the row is about.
            trial: its trial.
            answer: its answer, where rows have a metric each.
            metric: then its metric and scorer.
        """
        own, change = instance.instance_id, instance.perturbation
        content = (own, change, instance.input, instance.references)
        answers = self._answers.setdefault((*content, trial), {})
        which = answers.setdefault(answer, len(answers))
        counted = (*content, trial, which, *metric)
        count = self._counts[counted] = self._counts.get(counted, 0) + 1
        slot = (*content, which, count)
        if slot not in self._given:
            self._given[slot] = self._new(own, change)
        return self._given[slot]

    def warnings(self) -> tuple[str, ...]:
        """Return what a reader of the run should know."""
        if not self._again:
            return ()
        many = len(self._again) - SHOWN
        shown = ", ".join(list(self._again)[:SHOWN])
        more = f" and {many:,} more" if many > 0 else ""
        return (
            f"These ids occur more than once, with another text or for no reason that the table tells; the later ones are named #2, #3 and so on: {shown}{more}.",
        )

    def _new(self, own: str, change: str) -> str:
        name = own
        while (name, change) in self._used:
            self._again[own] = None
            self._used[own, change] += 1
            name = f"{own}#{self._used[own, change]}"
        self._used[name, change] = 1
        return name


def _share(score: Score) -> Score:
    """Return a score in percent as a share."""
    value = None if score.value is None else score.value / 100
    return msgspec.structs.replace(score, value=value)


def _renamed(
    name: str, instance: Instance, reply: Reply | None, scores: list[Score]
) -> tuple[Instance, Reply | None, list[Score]]:
    replace = msgspec.structs.replace
    if reply:
        reply = replace(reply, request=replace(reply.request, instance_id=name))
    return (
        replace(instance, instance_id=name),
        reply,
        [replace(score, instance_id=name) for score in scores],
    )
