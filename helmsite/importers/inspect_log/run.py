"""A log, sample by sample → the records of a run."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

from helmsite.errors import SourceError
from helmsite.importers import naming, reading, redact
from helmsite.importers.found import Aggregates, Imported
from helmsite.importers.inspect_log import samples, spec
from helmsite.importers.inspect_log import stats as results
from helmsite.importers.inspect_log.replies import moment, replies, request
from helmsite.importers.inspect_log.scores import OF_ALL, Asked, Scorers, completed
from helmsite.importers.packed import Packed
from helmsite.importers.values import Row, plain
from helmsite.schema import PublishedStat, RunSpec, ScenarioFacts, preset

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterator, Sequence

    from helmsite.importers.found import Notes
    from helmsite.importers.inspect_log.files import Log
    from helmsite.schema import AdapterSpec, Instance, Score

MOST_GROUPS = 30
USUAL_MAX_TOKENS = 2048
SUCCESS = "success"


@dataclass
class Reader:
    """Reads a log sample by sample."""

    log: Log
    notes: Notes
    instances: dict[str, Instance] = field(default_factory=dict)
    replies: Packed = field(default_factory=Packed)
    scores: list[Score] = field(default_factory=list)
    state: dict[tuple[str, int], str] = field(default_factory=dict)
    unread: int = 0

    def __post_init__(self) -> None:
        """Read the header."""
        header = self.log.header
        self.eval = header.row("eval")
        self.identity = spec.identity(self.eval)
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
        return msgspec.structs.replace(
            preset("chat"),
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
                self.unread += 1
            except RecursionError:
                self.notes.problem(raw.place.error(reading.DEEP))
                self.unread += 1
        for unread in self.log.unread:
            self.notes.problem(unread)
        self.unread += len(self.log.unread)
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
        asked = request(sample, name, trial, self.adapter.decoding)
        answered = replies(sample, asked, self.eval.text("model"), self.hidden)
        known[name] = own
        self.instances.setdefault(name, instance)
        self.scores += scores
        self.replies.add(answered)
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
        self.replies.order({n: i.position for n, i in self.instances.items()})
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
        summed = results.summed(self.scorers, self.log.reductions, scores, fitting)
        done = sum(not a.missing for a in asked)
        stats = [
            *summed.stats,
            results.completed_stat(done, len(asked), self._told()),
        ]
        times = header.row("stats", None)
        when = {
            name: moment(times.get(name), times.at(name)) if times else None
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
            metrics=(*summed.facts, results.COMPLETED_FACTS),
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
            scenario=spec.scenario(self.eval),
            model=self.identity,
            adapter=self.adapter,
            settings={
                k: spec.short(spec.stated(v))
                for k, v in settings.items()
                if v not in (None, "", [], {})
            },
        )

    def _facts(self) -> ScenarioFacts:
        name = self.eval.text("task")
        shown = self.eval.text("task_display_name", "") or name.rpartition("/")[2]
        return ScenarioFacts(
            spec.scenario(self.eval),
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
            for key, value in metadata.items() if isinstance(metadata, dict) else ():
                text = str(value).lower() if isinstance(value, bool) else value
                if isinstance(text, str) and 0 < len(text) <= spec.SHORT:
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
            counted = self.scorers.main == OF_ALL
            more = (
                " Inspect leaves those without a score out of its results; "
                f"{OF_ALL} counts them as wrong."
            )
            told = f"{failed} of {len(asked)} samples ended in an error."
            yield told + more * counted
        status = header.text("status", "started")
        if status != SUCCESS:
            said = header.get("error")
            why = said.get("message") if isinstance(said, dict) else ""
            told = f": {redact.text(str(why), self.hidden)[:500]}" if why else ""
            if status == "started" and not why:
                told = ": it was killed, or it was still going on"
            yield f"The evaluation did not end: its status is {status}{told}"
        if self.unread:
            yield f"{self.unread} samples could not be read; they are left out."
        if header.get("invalidated") is True:
            yield "Inspect marks this log as invalid: some samples were invalidated."

    def aggregates(self) -> Aggregates:
        """Return the results of a log that holds no samples."""
        summed = results.summed(self.scorers, [], [], [])
        run = self._spec()
        stats = list(summed.stats)
        said = self.log.header.row("results", None)
        if said and stats:
            done = said.integer("completed_samples", None)
            total = said.integer("total_samples", None)
            if done is not None and total is not None:
                epochs = self.adapter.num_trials
                stats += results.honest(self.scorers, stats, total - done, epochs)
            stats.append(results.completed_stat(done, total or 0, self._told()))
        known = {m.name: m for m in [*summed.facts, results.COMPLETED_FACTS]}
        metrics = {
            s.metric: known.get(s.metric) or results.fact(s.metric) for s in stats
        }
        settings = redact.settings(
            {**run.settings, "model": run.model.settings}, self.hidden
        )
        return Aggregates(
            results=[
                PublishedStat(run.scenario, run.model.name, stat, settings=settings)
                for stat in stats
            ],
            scenarios=(self._facts(),),
            metrics=tuple(metrics.values()),
            cards=(naming.card(run.model.name),),
            version=self._version(),
        )

    def _told(self) -> dict[str, Any]:
        """Return the log's header without secrets."""
        told: dict[str, Any] = redact.settings(
            plain(self.log.header.value), self.hidden
        )
        return told
