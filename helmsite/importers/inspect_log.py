"""Inspect: an evaluation log, `.eval` or `.json`, is a run.

Logs of one task id are attempts at one run: of those that did not end well the newest
whole one takes the place.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from helmsite.errors import SourceError
from helmsite.importers import inspect_samples as samples
from helmsite.importers import inspect_stats, naming, redact
from helmsite.importers.found import Aggregates, Found, Imported
from helmsite.importers.inspect_files import (
    Head,
    Log,
    open_log,
    packed_head,
    plain_head,
)
from helmsite.importers.inspect_scores import Asked, Scorers, completed
from helmsite.importers.values import Place, Row, plain
from helmsite.schema import (
    AdapterSpec,
    ModelIdentity,
    PublishedStat,
    RunSpec,
    ScenarioFacts,
    format_entry,
)

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterator, Sequence

    from helmsite.importers.found import Notes
    from helmsite.importers.tree import File, Tree
    from helmsite.schema import Instance, Reply, Score

SERVICES = {"azure", "bedrock", "vertex"}
"""What may stand between a provider and a model's name."""
GATEWAYS = {"openai-api", "hf-inference-providers", "openrouter"}
USEFUL = ("source", "revision", "quantization", "dtype", "device")
LONG, SHORT = 2000, 60
MOST_GROUPS = 30
USUAL_MAX_TOKENS = 2048
SUCCESS = "success"


@dataclass
class _Candidate:
    """A log that was seen, before it is known whether another one is of the same run."""

    file: File
    head: Head | SourceError
    key: str = ""
    when: float = 0.0


class InspectImporter:
    """Takes logs of Inspect."""

    title = "Inspect"

    def survey(self, tree: Tree, notes: Notes) -> Iterator[Found]:
        """Claim logs; of attempts at one run that failed only the newest log is kept."""
        by_key: dict[str, list[_Candidate]] = defaultdict(list)
        for file in tree.open():
            head = _head(tree, file)
            if head is None:
                if reason := _useless(tree, file):
                    tree.claim(file.path)
                    notes.skip(file.name, reason)
                continue
            tree.claim(file.path)
            one = _Candidate(file, head, file.name, file.changed)
            if isinstance(head, Head):
                with suppress(SourceError):
                    one.key = _key(head.eval)
                    one.when = _when(head) or file.changed
            by_key[one.key].append(one)
        for several in by_key.values():
            for each in _chosen(several, notes):
                yield _found(each)

    def read(self, found: Found, notes: Notes) -> Iterator[Imported | Aggregates]:
        """Yield the log's run, or its results if it holds no samples."""
        log = open_log(Path(found.files[0]))
        reader = _Reader(log, notes)
        reader.load()
        if reader.instances:
            yield reader.imported(found.key)
            return
        aggregates = reader.aggregates()
        if not aggregates.results:
            raise log.header.place.error("it holds neither samples nor results")
        yield aggregates


def _head(tree: Tree, file: File) -> Head | SourceError | None:
    head = tree.head(file.path)
    packed = packed_head(file.path, head)
    if packed is not None:
        return packed
    return plain_head(file.path, tree.keys(file.path), head)


def _useless(tree: Tree, file: File) -> str:
    """Return why a file that Inspect writes beside logs is left out, '' if it is none."""
    keys = set(tree.keys(file.path))
    if {"eval_set_id", "tasks"} <= keys and file.name.endswith("eval-set.json"):
        return "the manifest of a set of evaluations; the logs say the same"
    logs = bool(keys) and all(key.endswith((".eval", ".json")) for key in keys)
    if logs and file.path.name in {"listing.json", "logs.json"}:
        return "a listing of logs; the logs say the same"
    if file.path.name == ".eval-set-id":
        return "the id of a set of evaluations"
    return ""


def _key(spec: Row) -> str:
    """Return what all attempts at one run have in common."""
    if known := spec.text("task_id", ""):
        return known
    parts = ("run_id", "task", "model", "created")
    return ":".join(spec.text(part, "") for part in parts)


def _when(head: Head) -> float | None:
    ended = samples.moment(head.completed_at, Place("", 0, "completed_at"))
    created = head.eval.get("created")
    return ended or samples.moment(created, head.eval.at("created"))


def _chosen(several: list[_Candidate], notes: Notes) -> list[_Candidate]:
    """Return the logs of a run that count: no copies, no attempts that a later one ends."""
    if len(several) == 1:
        return several
    whole: dict[str, _Candidate] = {}
    for each in sorted(several, key=lambda c: (c.when, c.file.name)):
        mark = _mark(each)
        if mark in whole:
            notes.skip(each.file.name, f"the same log as {whole[mark].file.name}")
        else:
            whole[mark] = each
    kept = list(whole.values())
    status = {c.file.name: _status(c) for c in kept}
    best = [c for c in kept if status[c.file.name] == SUCCESS] or kept
    last = best[-1]
    for each in kept:
        if each is not last and status[each.file.name] != SUCCESS:
            notes.skip(
                each.file.name,
                f"an attempt that did not end well; {last.file.name} is a later one",
            )
    return [c for c in kept if c is last or status[c.file.name] == SUCCESS]


def _status(candidate: _Candidate) -> str:
    return candidate.head.status if isinstance(candidate.head, Head) else ""


def _mark(candidate: _Candidate) -> str:
    """Return what two copies of a log in different forms have in common."""
    try:
        header = open_log(candidate.file.path).header
        said = {k: header.get(k) for k in ("eval", "status", "results", "stats")}
        blob = msgspec.json.encode(plain(said), order="deterministic")
    except (SourceError, ValueError, RecursionError):
        return candidate.file.name
    return hashlib.sha256(blob).hexdigest()


def _found(candidate: _Candidate) -> Found:
    file, head = candidate.file, candidate.head
    model = scenario = ""
    number: int | None = None
    if isinstance(head, Head):
        with suppress(SourceError):
            model = _identity(head.eval).name
            scenario = _scenario(head.eval)
            number = head.samples
            dataset = head.eval.row("dataset", None)
            if number is None and dataset:
                number = dataset.integer("samples", None)
    return Found(
        importer="inspect",
        key=candidate.key,
        files=(str(file.path),),
        names=(file.name,),
        title=f"{scenario or file.name}{f' by {model}' if model else ''}",
        model=model,
        scenario=scenario,
        instances=number,
        when=candidate.when,
    )


def _identity(spec: Row) -> ModelIdentity:
    """Return the model: `hf/org/name` is org/name by hf, `openai/name` keeps its whole name."""
    whole = spec.text("model")
    client, _, rest = whole.partition("/")
    service, _, inner = rest.partition("/")
    runtime = ""
    if inner and service in SERVICES:
        runtime, name = service, f"{client}/{inner}"
    elif "/" in rest:
        name = rest
    else:
        name = whole
    arguments = spec.row("model_args", None)
    said = arguments.value if arguments else {}
    settings: dict[str, Any] = {"model": whole}
    if said:
        settings["model_args"] = {k: _short(v) for k, v in said.items()}
    for key in ("model_base_url", "model_generate_config", "model_roles"):
        if spec.get(key):
            settings[key] = _short(_stated(spec.get(key)))
    quantisation = said.get("quantization") or said.get("quantisation") or ""
    for bits in (4, 8):
        if said.get(f"load_in_{bits}bit") is True:
            quantisation = quantisation or f"{bits}bit"
    return ModelIdentity(
        name=name,
        client=client,
        revision=str(said.get("revision") or ""),
        runtime=runtime,
        quantisation=str(quantisation),
        settings=settings,
    )


def _short(value: Any) -> Any:
    """Return a setting, of a very long one its digest; the log's header has the whole."""
    found = plain(value)
    blob = msgspec.json.encode(found, order="deterministic")
    if len(blob) <= LONG:
        return found
    return {"bytes": len(blob), "sha256": hashlib.sha256(blob).hexdigest()}


def _stated(value: Any) -> Any:
    """Return settings without those that are not set."""
    if isinstance(value, dict):
        return {k: _stated(v) for k, v in value.items() if v is not None}
    return value


def _scenario(spec: Row) -> str:
    """Return the task with the arguments that it was given, as far as they are short."""
    given = spec.row("task_args_passed", None)
    if given is None:
        given = spec.row("task_args", None)
    parameters = {}
    for key, value in (given.value if given else {}).items():
        text = str(value).lower() if isinstance(value, bool) else str(value)
        plain_value = isinstance(value, (str, int, float))
        if (
            plain_value
            and 0 < len(text) <= SHORT
            and not set(text + key) & set(",=:\n")
        ):
            parameters[key] = text
    return format_entry(spec.text("task"), parameters)


@dataclass
class _Reader:
    """Reads a log sample by sample."""

    log: Log
    notes: Notes
    instances: dict[str, Instance] = field(default_factory=dict)
    replies: list[Reply] = field(default_factory=list)
    scores: list[Score] = field(default_factory=list)
    state: dict[tuple[str, int], str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Read the header."""
        header = self.log.header
        self.eval = header.row("eval")
        self.identity = _identity(self.eval)
        self.scorers = Scorers.of(header)
        self.config = self.eval.row("config", Row({}, self.eval.at("config")))
        self.adapter = self._adapter()

    @property
    def hidden(self) -> Counter[str]:
        """Counts the secrets that are replaced."""
        return self.notes.hidden

    def _adapter(self) -> AdapterSpec:
        """Return how a model was asked; what the log leaves open has Inspect's default."""
        plan = self.log.header.row("plan", None)
        given = plan.row("config", None) if plan else None
        base = self.eval.row("model_generate_config", None)
        said: dict[str, Any] = {}
        for row in (base, given):
            if row:
                said |= {k: v for k, v in row.value.items() if v is not None}
        wanted = Row(said, self.eval.at("model_generate_config"))
        temperature = wanted.number("temperature", None)
        max_tokens = wanted.integer("max_tokens", None)
        return AdapterSpec(
            method="chat",
            input_prefix="",
            input_suffix="",
            output_prefix="",
            output_suffix="",
            instance_prefix="",
            max_train_instances=0,
            max_eval_instances=None,
            num_outputs=max(1, wanted.integer("num_choices", 1)),
            num_trials=max(1, self.config.integer("epochs", 1)),
            temperature=1.0 if temperature is None else max(0.0, temperature),
            max_tokens=USUAL_MAX_TOKENS if max_tokens is None else max(0, max_tokens),
            stop_sequences=wanted.texts("stop_seqs", ()),
        )

    def load(self) -> None:
        """Read all samples; one that makes no sense is left out with a problem."""
        known: dict[str, Any] = {}
        for raw in self.log.samples():
            try:
                self._take(raw, known)
            except SourceError as error:
                self.notes.problem(error)
        for unread in self.log.unread:
            self.notes.problem(unread)
        self._order()

    def _take(self, raw: Row, known: dict[str, Any]) -> None:
        sample = samples.resolved(raw)
        name = samples.identifier(sample)
        own = sample.get("id")
        while name in known and type(known[name]) is not type(own):
            name += "#2"  # the number 1 and the text "1" are two samples
        trial = sample.integer("epoch", 1) - 1
        if trial < 0:
            raise sample.at("epoch").error("expected a number from 1")
        if (name, trial) in self.state:
            raise sample.at("id").error(f"{own!r} is there twice in epoch {trial + 1}")
        instance = samples.instance(sample, name, len(self.instances))
        scores = list(self.scorers.scores(sample, name, trial))
        asked = samples.request(sample, name, trial, self.adapter.decoding)
        replies = samples.replies(sample, asked, self.eval.text("model"), self.hidden)
        known[name] = own
        self.instances.setdefault(name, instance)
        self.scores += scores
        self.replies += replies
        self.state[name, trial] = "failed" if sample.get("error") else ""

    def _order(self) -> None:
        """Put samples in the data set's order, and add those that were not run."""
        dataset = self.eval.row("dataset", None)
        listed = dataset.items("sample_ids", []) if dataset else []
        order = {str(plain(each)): n for n, each in reversed(list(enumerate(listed)))}
        if not self.instances:
            return
        more = len(order)
        self.instances = {
            name: msgspec.structs.replace(each, position=order.get(name, more + n))
            for n, (name, each) in enumerate(self.instances.items())
        }
        trials = range(self.adapter.num_trials)
        if self._gave_up:
            for name, position in order.items():
                if name not in self.instances:
                    self.instances[name] = samples.unasked(name, position)
            for name in self.instances:
                for trial in trials:
                    self.state.setdefault((name, trial), "not asked")

    @property
    def _gave_up(self) -> bool:
        return self.log.header.text("status", "started") != SUCCESS

    def imported(self, key: str) -> Imported:
        """Return the run."""
        header = self.log.header
        asked = [Asked(n, t, m) for (n, t), m in sorted(self.state.items())]  # type: ignore[arg-type]
        fitting = [a._replace(missing=a.missing or "not measurable") for a in asked]
        scores = completed(self.scores, fitting, self.scorers)
        summed = inspect_stats.summed(
            self.scorers, self.log.reductions, scores, fitting
        )
        done = sum(not a.missing for a in asked)
        log = redact.settings(plain(header.value), self.hidden)
        stats = [
            *summed.stats,
            inspect_stats.completed_stat(done, len(asked), log),
        ]
        times = header.row("stats", None)
        when = {
            name: samples.moment(times.get(name), times.at(name)) if times else None
            for name in ("started_at", "completed_at")
        }
        return Imported(
            key=key,
            spec=self._spec(),
            scenario=self._facts(),
            card=naming.card(self.identity.name),
            instances=self._grouped(),
            replies=self.replies,
            scores=[*scores, *summed.scores],
            stats=stats,
            metrics=(*summed.facts, inspect_stats.COMPLETED_FACTS),
            version=self._version(),
            started_at=when["started_at"],
            finished_at=when["completed_at"],
            cancelled=self._gave_up,
            warnings=tuple(self._warnings(asked)),
        )

    def _version(self) -> str:
        packages = self.eval.row("packages", None)
        return packages.text("inspect_ai", "") if packages else ""

    def _spec(self) -> RunSpec:
        """Return what can change a reply: the task, its plan and its limits."""
        plan = self.log.header.get("plan")
        settings = {
            key: self.eval.get(key)
            for key in ("task_version", "task_args", "solver", "solver_args", "config")
        }
        settings["plan"] = plan
        dataset = self.eval.row("dataset", None)
        if dataset:
            settings["dataset"] = dataset.rest("sample_ids", "samples")
        return RunSpec(
            scenario=_scenario(self.eval),
            model=self.identity,
            adapter=self.adapter,
            settings={
                k: _short(_stated(v))
                for k, v in settings.items()
                if v not in (None, "", [], {})
            },
        )

    def _facts(self) -> ScenarioFacts:
        name = self.eval.text("task")
        shown = self.eval.text("task_display_name", "") or name.rpartition("/")[2]
        return ScenarioFacts(
            _scenario(self.eval),
            title=shown,
            description=self.eval.text("task_description", ""),
            main_metric=self.scorers.main,
            main_split=samples.SPLIT,
        )

    def _grouped(self) -> Sequence[Instance]:
        """Return the instances, in groups by metadata that sorts them into a few."""
        said: dict[str, dict[str, str]] = defaultdict(dict)
        for name, instance in self.instances.items():
            metadata = instance.extra.get("metadata")
            for key, value in (metadata or {}).items():
                text = str(value).lower() if isinstance(value, bool) else value
                if isinstance(text, str) and 0 < len(text) <= SHORT:
                    said[key][name] = text
        few = {
            key: values
            for key, values in said.items()
            if 1 < len(set(values.values())) <= min(MOST_GROUPS, len(values) // 2)
        }
        return [
            msgspec.structs.replace(
                each,
                attributes={k: (v[name],) for k, v in few.items() if name in v},
            )
            for name, each in self.instances.items()
        ]

    def _warnings(self, asked: Sequence[Asked]) -> Iterator[str]:
        header = self.log.header
        failed = sum(a.missing == "failed" for a in asked)
        if failed:
            yield (
                f"{failed} of {len(asked)} samples ended in an error. Inspect leaves them "
                "out of its results; accuracy_of_all counts them as wrong."
            )
        status = header.text("status", "started")
        if status != SUCCESS:
            said = header.get("error")
            why = said.get("message") if isinstance(said, dict) else ""
            told = f": {redact.text(str(why), self.hidden)[:500]}" if why else ""
            yield f"The evaluation did not end: its status is {status}{told}"
        if header.get("invalidated") is True:
            yield "Inspect marks this log as invalid: some samples were invalidated."

    def aggregates(self) -> Aggregates:
        """Return the results of a log that holds no samples."""
        summed = inspect_stats.summed(self.scorers, [], [], [])
        spec = self._spec()
        main = self.scorers.main.replace("_of_all", "")
        facts = msgspec.structs.replace(self._facts(), main_metric=main)
        metrics = {m.name: m for m in summed.facts}
        for stat in summed.stats:
            metrics.setdefault(stat.metric, inspect_stats.fact(stat.metric))
        log = redact.settings(plain(self.log.header.value), self.hidden)
        results = self.log.header.row("results", None)
        stats = list(summed.stats)
        if results and stats:
            done = results.integer("completed_samples", 0)
            total = results.integer("total_samples", done)
            stats.append(inspect_stats.completed_stat(done, total, log))
            metrics[inspect_stats.COMPLETED] = inspect_stats.COMPLETED_FACTS
        settings = redact.settings(
            {**spec.settings, "model": spec.model.settings}, self.hidden
        )
        return Aggregates(
            results=[
                PublishedStat(spec.scenario, spec.model.name, stat, settings=settings)
                for stat in stats
            ],
            scenarios=(facts,),
            metrics=tuple(metrics.values()),
            cards=(naming.card(spec.model.name),),
            version=self._version(),
        )


IMPORTER = InspectImporter()
