"""Results of other tools into an archive: survey, then take what is new, in several processes."""

from __future__ import annotations

import multiprocessing
import signal
from collections import defaultdict
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from helmsite import importers
from helmsite.archive import BatchFacts
from helmsite.errors import RunError, SourceError
from helmsite.importers import Aggregates, Found, Notes, Tree
from helmsite.run.definitions import Definitions
from helmsite.run.imported import Made, Taker, Wish, digest
from helmsite.run.reported import storable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from helmsite.archive import Archive
    from helmsite.config import Project
    from helmsite.importers.table.mapping import Mapping as TableMapping
    from helmsite.schema import PublishedStat

AHEAD = 2
FEW = 3


class Task(NamedTuple):
    """A find that is to be taken; `apart`: another one of this import has its key."""

    found: Found
    apart: bool = False


class Outcome(NamedTuple):
    """What became of a find."""

    found: Found
    made: list[Made | Aggregates]
    notes: Notes


class Watcher(Protocol):
    """Is told how far an import is."""

    def taken(self, outcome: Outcome, done: int, total: int) -> None:
        """Hear that a find is done with."""


@dataclass
class Report:
    """All that an import did; `cells` counts results without instances by suite."""

    made: list[Made] = field(default_factory=list)
    unchanged: list[Found] = field(default_factory=list)
    failed: list[Found] = field(default_factory=list)
    cells: dict[str, int] = field(default_factory=dict)
    notes: Notes = field(default_factory=Notes)


class Survey(NamedTuple):
    """What was found, before anything is written."""

    found: tuple[Found, ...]
    notes: Notes


def survey(
    paths: Sequence[Path],
    chosen: Sequence[str] = (),
    mapping: TableMapping | None = None,
) -> Survey:
    """Return the results in files and folders, and what is left out and why.

    Args:
        paths: files and folders.
        chosen: only results of these tools; default: all.
        mapping: what the columns of tables hold.

    Raises:
        ConfigError: a path is not there, or there is no importer of a name.
    """
    notes = Notes()
    tree = Tree(paths, notes, mapping)
    found = tuple(importers.survey(tree, notes, chosen))
    return Survey(found, notes)


class Import:
    """Takes results into an archive.

    Args:
        archive: where they go.
        project: its models and scenarios are known by name.
        wish: how they are taken.
        workers: how many processes read and score.
    """

    def __init__(
        self, archive: Archive, project: Project, wish: Wish, workers: int = 1
    ) -> None:
        self._archive, self._wish = archive, wish
        self._kit = _Kit(archive, project, wish)
        self._workers = workers

    def take(self, found: Sequence[Found], watcher: Watcher | None = None) -> Report:
        """Archive what is not there yet; a broken result never blocks the others."""
        report = Report()
        known = frozenset() if self._wish.again else self._known()
        tasks = self._tasks(found, report)
        collected: dict[tuple[str, str], list[Aggregates]] = defaultdict(list)
        for done, outcome in enumerate(self._outcomes(tasks, known), 1):
            report.notes.take(outcome.notes)
            if outcome.made == [] and not outcome.notes.problems:
                report.unchanged.append(outcome.found)
            elif not outcome.made:
                report.failed.append(outcome.found)
            for each in outcome.made:
                if isinstance(each, Aggregates):
                    collected[each.suite, outcome.found.importer].append(each)
                else:
                    report.made.append(each)
            if watcher:
                watcher.taken(outcome, done, len(tasks))
        for (suite, importer), several in sorted(collected.items()):
            self._publish(suite, importer, several)
            cells = sum(len(each.results) for each in several)
            report.cells[suite] = report.cells.get(suite, 0) + cells
        return report

    def _known(self) -> frozenset[str]:
        """Return what the content of everything that was imported before is known by."""
        runs = {m.provenance.source_sha256 for m in self._archive.manifests()}
        cells: set[str] = set()
        for batch in self._archive.batches():
            column = self._archive.published_table(batch)["source_sha256"]
            cells.update(column.unique().to_pylist())
        return frozenset((runs | cells) - {""})

    def _tasks(self, found: Sequence[Found], report: Report) -> list[Task]:
        """Return what is to be taken, of results with one key each content once.

        The newest of them keeps the key.
        """
        same: dict[tuple[str, str], list[Found]] = defaultdict(list)
        for each in found:
            same[each.importer, each.key].append(each)
        tasks = []
        for several in same.values():
            if len(several) == 1:
                tasks.append(Task(several[0]))
                continue
            by_content: dict[str, Found] = {}
            for each in several:
                try:
                    first = by_content.setdefault(digest(each), each)
                except SourceError as error:
                    report.notes.problem(error)
                    continue
                if first is not each:
                    why = f"the same result as {first.names[0]}"
                    for name in set(each.names) - set(first.names):
                        report.notes.skip(name, why)
            ordered = sorted(by_content.items(), key=lambda e: (-e[1].when, e[0]))
            tasks += [Task(each, n > 0) for n, (_, each) in enumerate(ordered)]
        return tasks

    def _outcomes(
        self, tasks: Sequence[Task], known: frozenset[str]
    ) -> Iterator[Outcome]:
        if self._workers < 2 or len(tasks) <= FEW:
            for task in tasks:
                yield self._kit.outcome(task, known)
            return
        context = multiprocessing.get_context("spawn")
        pool = ProcessPoolExecutor(
            min(self._workers, len(tasks)),
            mp_context=context,
            initializer=_begin,
            initargs=(self._kit, known),
        )
        waiting, doing = list(reversed(tasks)), set[Future[Outcome]]()
        try:
            while waiting or doing:
                while waiting and len(doing) < AHEAD * self._workers:
                    doing.add(pool.submit(_outcome, waiting.pop()))
                ready, doing = wait(doing, return_when=FIRST_COMPLETED)
                for each in ready:
                    yield each.result()
        except BrokenProcessPool as error:
            raise RunError(
                "A process that read results ended; what was taken until then is archived.",
                "If memory was short, type the same with `--workers 1`: it goes on from here.",
            ) from error
        finally:
            pool.shutdown(wait=True, cancel_futures=True)

    def _publish(
        self, suite: str, importer: str, several: Sequence[Aggregates]
    ) -> None:
        """Put cells into the suite's batch of the tool, in place of those of the same files."""
        fresh, _ = storable(row for each in several for row in each.results)
        files = {row.source_file for row in fresh}
        there = [
            b
            for b in self._archive.batches()
            if (b.suite, b.batch) == (suite, importer)
        ]
        kept: list[PublishedStat] = []
        facts = BatchFacts()
        if there:
            facts = self._archive.published_facts(there[0])
            kept = [
                r
                for r in self._archive.published(suite, importer)
                if r.source_file not in files
            ]
        for each in several:
            facts = facts.updated(_facts(importer, each))
        self._archive.write_published(suite, importer, [*kept, *fresh], facts)


def _facts(importer: str, found: Aggregates) -> BatchFacts:
    """Return what cells mean, and the tool and its version for each of their files."""
    files = {row.source_file for row in found.results} if found.version else ()
    return BatchFacts(
        tool=importers.load(importer).title,
        scenarios=found.scenarios,
        metrics=found.metrics,
        cards=found.cards,
        versions=dict.fromkeys(sorted(files), found.version),
    )


@dataclass
class _Kit:
    """What a process needs to take results."""

    archive: Archive
    project: Project
    wish: Wish

    @cached_property
    def taker(self) -> Taker:
        """Who takes them, one in each process."""
        return Taker(self.archive, self.wish, Definitions(self.project))

    def outcome(self, task: Task, known: frozenset[str]) -> Outcome:
        """Take a find, unless its content is known."""
        notes = Notes()
        made: list[Made | Aggregates] = []
        try:
            mark = digest(task.found)
            if mark not in known:
                made = list(self.taker.take(task.found, mark, notes, apart=task.apart))
        except SourceError as error:
            notes.problem(error)
        return Outcome(task.found, made, notes)


_state: dict[str, Any] = {}


def _begin(kit: _Kit, known: frozenset[str]) -> None:
    """Begin a process; Ctrl-C is for the main one, which ends it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _state.update(kit=kit, known=known)


def _outcome(task: Task) -> Outcome:
    outcome: Outcome = _state["kit"].outcome(task, _state["known"])
    return outcome
