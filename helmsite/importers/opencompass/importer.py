"""OpenCompass: predictions of a data set are a run; results and summaries alone are cells."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from helmsite.errors import SourceError
from helmsite.importers import naming, reading
from helmsite.importers.found import Aggregates, Found, Imported
from helmsite.importers.opencompass import files, items, judged
from helmsite.importers.table import files as tables
from helmsite.importers.table import mapping as mappings
from helmsite.importers.table.cells import Cells
from helmsite.importers.table.metrics import facts
from helmsite.importers.table.plan import planned
from helmsite.importers.table.results import Results
from helmsite.importers.table.troubles import Troubles
from helmsite.importers.tree import HEAD
from helmsite.importers.values import Place, Row
from helmsite.schema import (
    Instance,
    ModelIdentity,
    PublishedStat,
    Reply,
    RunSpec,
    ScenarioFacts,
    Score,
    Stat,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from helmsite.importers.found import Notes
    from helmsite.importers.opencompass.files import Key, Pair, Version
    from helmsite.importers.tree import File, Tree

TOOL = "opencompass"


class OpenCompass:
    """Takes OpenCompass's work folders, or parts of them."""

    title = "OpenCompass"

    def survey(self, tree: Tree, notes: Notes) -> Iterator[Found]:
        """Claim predictions, results and summaries; logs and programs are skipped."""
        pairs = files.pairs(tree, notes)
        summed = files.summaries(tree, notes)
        versions = {file.path.parent.parent: said for file, said in summed}
        covered: dict[Path, list[list[str]]] = {}
        for key, pair in sorted(pairs.items()):
            covered.setdefault(key.root, []).append([key.dataset, key.model])
            said = versions.get(key.root, {}).get(key.dataset)
            found = _found(key, pair, said)
            if found is not None:
                yield found
        for file, _ in summed:
            root = file.path.parent.parent
            yield _summary(file, root, covered.get(root, []))
        roots = {key.root for key in pairs} | {f.path.parent.parent for f, _ in summed}
        files.leftovers(tree, roots, notes)

    def read(self, found: Found, notes: Notes) -> Iterator[Imported | Aggregates]:
        """Yield a run, or results without instances.

        Raises:
            SourceError: nothing of it can be used.
        """
        if "covered" in found.options:
            yield from _cells(found, notes)
            return
        results = None
        at = found.options["results"]
        if at is not None:
            try:
                data = reading.json_file(Path(found.files[at]))
                results = Row(data, Place(found.names[at]))
            except SourceError as error:
                if at == 0:
                    raise
                notes.problem(_renamed(error, found.names[at]))
        if at == 0:
            assert results is not None
            yield _published(found, results)
            return
        run = _Run(found, results)
        run.take(notes)
        yield run.made()


def _renamed(error: SourceError, name: str) -> SourceError:
    """Return an error about a file under the name that people know it by."""
    return SourceError(name, error.why, error.line, error.field)


def _found(key: Key, pair: Pair, said: Version | None) -> Found | None:
    several = list(pair.predictions) or ([pair.stopped] if pair.stopped else [])
    answers = len(several)
    if pair.results:
        several.append(pair.results)
    if not several:
        return None
    settings = {} if said is None else {"version": said.version, "mode": said.mode}
    return Found(
        importer=TOOL,
        key=f"{key.root.name}/{key.model}/{key.dataset}",
        files=tuple(str(each.path) for each in several),
        names=tuple(each.name for each in several),
        title=f"{'predictions' if answers else 'results'} of {key.dataset}",
        model=key.model,
        scenario=key.dataset,
        when=files.seconds(key.root) or max(each.changed for each in several),
        options={
            "answers": answers,
            "results": answers if pair.results else None,
            "stopped": bool(pair.stopped and not pair.predictions),
            "settings": settings,
        },
    )


def _summary(file: File, root: Path, covered: list[list[str]]) -> Found:
    return Found(
        importer=TOOL,
        key=f"{root.name}/{file.path.name}",
        files=(str(file.path),),
        names=(file.name,),
        title="summary",
        when=files.seconds(root) or file.changed,
        options={"covered": covered},
    )


def _cells(found: Found, notes: Notes) -> Iterator[Aggregates]:
    """Yield what a summary says beyond the results that are there themselves."""
    path, name = Path(found.files[0]), found.names[0]
    mapping = dict(mappings.ready())[judged.SUMMARY]
    with path.open("rb") as file:
        table = tables.look(path, file.read(HEAD), mapping)
    plan, problems = planned(mapping, table.columns if table else ())
    if plan is None or table is None:
        raise SourceError(name, "; ".join(problems))
    troubles = Troubles(notes, name)
    results = Results(plan, Cells(nothing=mapping.missing), troubles)
    results.take(tables.rows(path, table, name))
    covered = {tuple(pair) for pair in found.options["covered"]}
    for each in results.made():
        each.results = [
            row for row in each.results if (row.scenario, row.model) not in covered
        ]
        if each.results:
            yield each
    troubles.end()


def _published(found: Found, results: Row) -> Aggregates:
    known = judged.measures()
    stats = judged.stats(results, known)
    if not stats:
        why = results.get("error")
        told = f"no result: {why}" if isinstance(why, str) else "no number in it"
        raise SourceError(found.names[0], told)
    settings = found.options["settings"]
    return Aggregates(
        results=[
            PublishedStat(found.scenario, found.model, s, settings) for s in stats
        ],
        scenarios=(ScenarioFacts(found.scenario, title=found.scenario),),
        metrics=_facts([], stats, known),
        cards=(naming.card(found.model),),
    )


def _facts(scores: list[Score], stats: list[Stat], known: dict[str, Any]) -> Any:
    found: dict[str, list[float]] = {}
    numbers: list[Score | Stat] = [*scores, *stats]
    for each in numbers:
        inside = found.setdefault(each.metric, [])
        if each.value is not None:
            inside.append(each.value)
    return tuple(
        facts(name, judged.measure(name, known), several, TOOL)
        for name, several in found.items()
    )


class _Run:
    """Gathers the answers of a model on a data set."""

    def __init__(self, found: Found, results: Row | None) -> None:
        self._found, self._results = found, results
        self._verdicts, self._times = judged.verdicts(results) if results else ([], 1)
        self._metric = judged.called(results, self._verdicts) if results else ""
        self._instances: dict[str, Instance] = {}
        self._replies: list[Reply] = []
        self._scores: list[Score] = []
        self._scored = False
        self._warnings: list[str] = []

    def take(self, notes: Notes) -> None:
        """Read all answers; one that is broken is a problem of its own.

        Raises:
            SourceError: no answer can be taken.
        """
        several: list[Row] = []
        for path, name in zip(
            self._found.files,
            self._found.names[: self._found.options["answers"]],
            strict=False,
        ):
            try:
                several += _items(Path(path), name, notes)
            except SourceError as error:
                notes.problem(_renamed(error, name))
        times = self._times
        size = len(several) // times if times > 1 and len(several) % times == 0 else 0
        if not size or size != len(self._verdicts):
            times, size = 1, len(several)
        troubles = Troubles(notes, self._found.names[0])
        for number, item in enumerate(several):
            try:
                self._add(item, number % size, number // size)
            except SourceError as error:
                troubles.add(error)
        troubles.end()
        if self._verdicts and len(self._verdicts) != size:
            self._warnings.append(
                f"The results have details of {len(self._verdicts)} answers, but {size} were given."
            )
        if not self._instances:
            raise SourceError(self._found.names[0], "no answer can be taken")

    def _add(self, item: Row, number: int, trial: int) -> None:
        name = str(number)
        instance = items.instance(item, name, number)
        replies = list(items.replies(item, instance, trial))
        scores: list[Score] = []
        if number < len(self._verdicts):
            assert self._results is not None
            place = self._results.at("details").inside(number)
            verdict = self._verdicts[number]
            scores = list(judged.scores(verdict, name, trial, self._metric, place))
        self._scored = self._scored or items.is_scored(item)
        self._instances.setdefault(name, instance)
        self._replies += replies
        self._scores += scores

    def made(self) -> Imported:
        """Return the run."""
        known = judged.measures()
        found, results = self._found, self._results
        stats = judged.stats(results, known, split="test") if results else []
        if results is not None and not stats:
            self._warnings.append(f"OpenCompass has no result: {results.get('error')}")
        gold = any(i.references for i in self._instances.values())
        blind = gold and not self._scored and not self._scores
        return Imported(
            key=found.key,
            spec=RunSpec(
                found.scenario,
                ModelIdentity(found.model, client=TOOL),
                items.LIKELIHOOD if self._scored else items.GENERATION,
                settings=found.options["settings"],
            ),
            scenario=ScenarioFacts(found.scenario, title=found.scenario),
            card=naming.card(found.model),
            instances=list(self._instances.values()),
            replies=self._replies,
            scores=self._scores,
            stats=stats,
            metrics=_facts(self._scores, stats, known),
            compute=("exact_match", "quasi_exact_match") if blind else (),
            cancelled=found.options["stopped"],
            warnings=tuple(self._warnings),
        )


def _items(path: Path, name: str, notes: Notes) -> list[Row]:
    """Return a file's answers in order of their numbers; a line that is broken is left out."""
    found: list[tuple[int, Row]] = []
    if path.suffix == ".jsonl":
        for line, value in reading.json_lines(path):
            place = Place(name, line)
            try:
                if isinstance(value, SourceError):
                    raise place.error(value.why)
                row = Row(value, place)
                rest = {k: v for k, v in row.value.items() if k != "idx"}
                found.append((row.integer("idx"), Row(rest, place)))
            except SourceError as error:
                notes.problem(error)
    else:
        whole = Row(reading.json_file(path), Place(name))
        for key in whole:
            if not (key.isascii() and key.isdigit() and len(key) < 10):
                notes.problem(whole.at(key).error("not the number of an answer"))
                continue
            try:
                found.append((int(key), whole.row(key)))
            except SourceError as error:
                notes.problem(error)
    return [row for _, row in sorted(found, key=lambda pair: pair[0])]


IMPORTER = OpenCompass()
