"""lighteval: a file of details is a run; results without details are cells."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import structs

from helmsite.errors import SourceError
from helmsite.importers import naming, reading, values
from helmsite.importers.found import Aggregates, Found, Imported
from helmsite.importers.lighteval import details, files, samples
from helmsite.importers.table import files as tables
from helmsite.importers.table.instances import ADAPTER
from helmsite.importers.table.metrics import facts
from helmsite.importers.table.troubles import Troubles
from helmsite.importers.values import Place, Row
from helmsite.schema import (
    AdapterSpec,
    Instance,
    PublishedStat,
    Reply,
    RunSpec,
    ScenarioFacts,
    Score,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from helmsite.importers.found import Notes
    from helmsite.importers.lighteval.details import Detail
    from helmsite.importers.lighteval.files import Results
    from helmsite.importers.tree import File, Tree

HOTTEST = 1e6


class Lighteval:
    """Takes lighteval's folders `results` and `details`, or files of them."""

    title = "lighteval"

    def survey(self, tree: Tree, notes: Notes) -> Iterator[Found]:
        """Claim details and results; yield a run for each file of details."""
        known = files.results_files(tree)
        covered: dict[Path, set[str]] = {}
        for file in tree.open():
            if not tree.head(file.path).startswith(tables.PARQUET):
                continue
            try:
                found = self._details(file, known, covered)
            except SourceError as error:
                if files.DETAILS.match(file.path.name):
                    tree.claim(file.path)
                    notes.skip(file.name, error.why)
                continue
            if found is not None:
                tree.claim(file.path)
                yield found
        for several in known.values():
            for results in several:
                yield from self._cells(results, covered, notes)

    def read(self, found: Found, notes: Notes) -> Iterator[Imported | Aggregates]:
        """Yield a run, or results without instances.

        Raises:
            SourceError: nothing of it can be used.
        """
        results = None
        if found.options["results"] is not None:
            at = found.options["results"]
            data = reading.json_file(Path(found.files[at]))
            row = Row(data, Place(found.names[at]))
            file = Path(found.files[at])
            results = files.Results(_bare(file, found.names[at]), "", row)
        if "tasks" in found.options:
            assert results is not None
            yield _published(results, found.options["tasks"], notes)
            return
        run = _Run(found, results)
        run.take(notes)
        yield run.made()

    def _details(
        self,
        file: File,
        known: dict[str, list[Results]],
        covered: dict[Path, set[str]],
    ) -> Found | None:
        table = tables.look(file.path, tables.PARQUET)
        how = details.layout(table.columns) if table else ""
        if not how:
            return None
        match = files.DETAILS.match(file.path.name)
        stamp = files.stamped(match[2]) if match else ""
        results = files.of_details(file.path, stamp, known)
        task = match[1] if match else file.path.stem
        own, count = _task_of(file.path, how)
        if results and not results.task(task):
            task = _spelt(task, own, results)
        elif own and not results:
            task = own
        name = results.model if results else ""
        name = name or files.model_of(file.path)
        if results:
            covered.setdefault(results.file.path, set()).add(task)
        several = [file] + ([results.file] if results else [])
        return Found(
            importer="lighteval",
            key=f"{stamp}/{name}/{task}",
            files=tuple(str(each.path) for each in several),
            names=tuple(each.name for each in several),
            title=f"details of {task}",
            model=name,
            scenario=files.split_task(task)[0],
            instances=count,
            when=files.seconds(stamp) or file.changed,
            options={"layout": how, "task": task, "results": 1 if results else None},
        )

    def _cells(
        self, results: Results, covered: dict[Path, set[str]], notes: Notes
    ) -> Iterator[Found]:
        there = covered.get(results.file.path, set())
        names = [str(each) for each in results.data.row("results")]
        tasks = [task for task in names if task not in there]
        if len(names) <= 2 and there:
            tasks = [task for task in tasks if task != files.ALL]
        if not results.model:
            notes.skip(results.file.name, "it does not say what the model is")
        elif tasks:
            yield Found(
                importer="lighteval",
                key=f"{results.stamp}/{results.model}",
                files=(str(results.file.path),),
                names=(results.file.name,),
                title="results",
                model=results.model,
                when=files.seconds(results.stamp) or results.file.changed,
                options={"tasks": tasks, "results": 0},
            )


class _Run:
    """Gathers the samples of a file of details."""

    def __init__(self, found: Found, results: Results | None) -> None:
        self._found, self._results = found, results
        self._task: str = found.options["task"]
        self._scenario, self._shots = files.split_task(self._task)
        self._adapter: AdapterSpec | None = None
        self._instances: list[Instance] = []
        self._replies: list[Reply] = []
        self._scores: list[Score] = []
        self._names: dict[str, int] = {}

    def take(self, notes: Notes) -> None:
        """Read all samples; one that is broken is a problem of its own.

        Raises:
            SourceError: the file cannot be read, or has no sample that can.
        """
        path, name = Path(self._found.files[0]), self._found.names[0]
        table, troubles = tables.Table("parquet", ()), Troubles(notes, name)
        for place, row in tables.rows(path, table, name):
            try:
                if isinstance(row, SourceError):
                    raise row
                self._add(details.detail(row, self._found.options["layout"], place))
            except SourceError as error:
                troubles.add(error)
        troubles.end()
        if not self._instances:
            raise SourceError(name, "no sample can be taken")

    def _add(self, found: Detail) -> None:
        position = len(self._instances)
        said = found.doc.get("id")
        own = str(position) if said in (None, "") else reading.clean(str(said))
        count = self._names.get(own, 0) + 1
        name = own if count == 1 else f"{own}#{count}"
        if self._adapter is None:
            self._adapter = self._how(found)
        instance = samples.instance(found, name, position)
        replies = list(samples.replies(found, instance, self._adapter, self._shots))
        scores = list(samples.scores(found, instance))
        self._names[own] = count
        self._instances.append(instance)
        self._replies += replies
        self._scores += scores

    def _how(self, found: Detail) -> AdapterSpec:
        """Return how the first sample was asked, for all."""
        general = self._general()
        drawn = found.doc.get("num_samples")
        size = found.doc.get("generation_size")
        likelihood = samples.is_likelihood(found)
        return structs.replace(
            ADAPTER,
            method="multiple_choice_separate_original" if likelihood else "generation",
            max_train_instances=self._shots,
            num_outputs=drawn if _small(drawn) else 1,
            temperature=_temperature(general),
            max_tokens=size if _small(size) else 0,
            stop_sequences=() if likelihood else _stops(found.doc),
        )

    def _general(self) -> Row | None:
        return self._results.general if self._results else None

    def made(self) -> Imported:
        """Return the run."""
        assert self._adapter is not None
        general, results = self._general(), self._results
        said = results.task(self._task) if results else {}
        place = Place(results.file.name if results else "").inside(self._task)
        settings: dict[str, Any] = {"task": self._task}
        if results:
            settings |= _settings(results, self._task)
        found: dict[str, list[float]] = {}
        for score in self._scores:
            inside = found.setdefault(score.metric, [])
            if score.value is not None:
                inside.append(score.value)
        stats = files.stats(said, place, split="test")
        for stat in stats:
            found.setdefault(stat.metric, []).extend(
                [] if stat.value is None else [stat.value]
            )
        repeated = sorted(own for own, count in self._names.items() if count > 1)
        return Imported(
            key=self._found.key,
            spec=RunSpec(
                self._scenario,
                files.identity(self._found.model, general),
                self._adapter,
                settings=settings,
            ),
            scenario=ScenarioFacts(self._scenario, title=self._scenario),
            card=naming.card(self._found.model),
            instances=self._instances,
            replies=self._replies,
            scores=self._scores,
            stats=stats,
            metrics=tuple(
                facts(name, None, v, "lighteval") for name, v in found.items()
            ),
            version=_version(general),
            warnings=(
                f"{len(repeated)} ids occur more than once; the later samples are named #2, #3 and so on.",
            )
            if repeated
            else (),
        )


def _published(results: Results, tasks: list[str], notes: Notes) -> Aggregates:
    """Return what a results file says of tasks without details, and of groups."""
    rows: list[PublishedStat] = []
    general = results.general
    who = files.identity(results.model, general)
    for task in tasks:
        scenario, shots = files.split_task(task)
        settings: dict[str, Any] = {"num_fewshot": shots} if "|" in task else {}
        if who.revision:
            settings["revision"] = who.revision
        version = _settings(results, task).get("version")
        if version is not None:
            settings["version"] = version
        place = results.data.at("results").inside(task)
        try:
            stats = files.stats(results.task(task), place)
        except SourceError as error:
            notes.problem(error)
            continue
        rows += [PublishedStat(scenario, who.name, stat, settings) for stat in stats]
    found: dict[str, list[float]] = {}
    for row in rows:
        inside = found.setdefault(row.stat.metric, [])
        inside += [] if row.stat.value is None else [row.stat.value]
    return Aggregates(
        results=rows,
        scenarios=tuple(
            ScenarioFacts(name, title=name)
            for name in dict.fromkeys(row.scenario for row in rows)
        ),
        metrics=tuple(facts(name, None, v, "lighteval") for name, v in found.items()),
        cards=(naming.card(who.name),),
        version=_version(general),
    )


def _task_of(path: Path, how: str) -> tuple[str, int | None]:
    """Return the task that the first sample names, and how many samples there are."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            count = file.metadata.num_rows
            if how == "old" or not count:
                return "", count
            column = "doc" if how == "new" else "__doc__"
            (batch, *_) = [next(file.iter_batches(1, columns=[column]))]
            doc = batch.to_pylist()[0][column]
    except (pa.ArrowException, OSError, ValueError, StopIteration) as error:
        raise SourceError(str(path), f"no Parquet: {error}") from error
    task = doc.get("task_name") if isinstance(doc, dict) else None
    return (task if isinstance(task, str) else ""), count


def _spelt(task: str, own: str, results: Results) -> str:
    """Return a task as the results spell it: file names may have other signs."""
    if own and results.task(own):
        return own

    def letters(name: str) -> str:
        return "".join(sign for sign in name.lower() if sign.isalnum())

    same = [t for t in results.data.row("results") if letters(t) == letters(task)]
    return same[0] if len(same) == 1 else own or task


def _settings(results: Results, task: str) -> dict[str, Any]:
    """Return version and configuration of a task, and how the run was limited."""
    found: dict[str, Any] = {}
    for name, key in (("version", "versions"), ("config", "config_tasks")):
        inside = results.data.get(key)
        scenario, shots = files.split_task(task)
        if isinstance(inside, dict):
            for spelt in (
                task,
                f"{scenario}|{shots}",
                scenario,
                task.rpartition("|")[0],
            ):
                if inside.get(spelt) is not None:
                    found[name] = values.plain(inside[spelt])
                    break
    for key in ("max_samples", "num_fewshot_seeds"):
        if results.general.get(key) is not None:
            found[key] = values.plain(results.general.get(key))
    return found


def _version(general: Row | None) -> str:
    said = general.get("lighteval_sha") if general else None
    return reading.clean(said) if isinstance(said, str) and said != "?" else ""


def _temperature(general: Row | None) -> float:
    config = general.get("model_config") if general else None
    inner = config.get("generation_parameters") if isinstance(config, dict) else None
    said = inner.get("temperature") if isinstance(inner, dict) else None
    if isinstance(said, bool) or not isinstance(said, (int, float)):
        return 0.0
    return float(said) if abs(said) < HOTTEST else 0.0


def _stops(doc: Row) -> tuple[str, ...]:
    said = doc.get("stop_sequences")
    several = said if isinstance(said, list) else []
    return tuple(reading.clean(each) for each in several if isinstance(each, str))


def _small(found: Any) -> bool:
    return isinstance(found, int) and not isinstance(found, bool) and 0 < found < 2**31


def _bare(path: Path, name: str) -> File:
    from helmsite.importers.tree import File

    return File(path, name, 0, 0.0)


IMPORTER = Lighteval()
