"""A run from scenario to archive, read top to bottom: plan, ask, score, keep."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from helmsite import __version__, adapters, clients, metrics, query, scenarios
from helmsite.config import ModelConfig, Suite, SuiteEntry, override_adapter
from helmsite.errors import ConfigError, HelmsiteError
from helmsite.executors import LocalExecutor
from helmsite.schema import (
    AdapterSpec,
    Client,
    Completion,
    Counts,
    Instance,
    LoadedScenario,
    Manifest,
    ModelIdentity,
    PopulationMetric,
    Provenance,
    Reply,
    Request,
    RunSpec,
    Score,
    Stat,
    run_id,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from helmsite.archive import Archive, Journal
    from helmsite.config import Project


@dataclass(frozen=True)
class Plan:
    """One run to be made: a model on a scenario under an adapter."""

    suite: str
    scenario: LoadedScenario
    adapter: AdapterSpec
    metrics: tuple[str, ...]
    model: ModelConfig
    identity: ModelIdentity
    repeat: str = ""

    @property
    def origin(self) -> str:
        """`native`, or `native:<label>` for a deliberate repeat."""
        return f"native:{self.repeat}" if self.repeat else "native"

    @cached_property
    def spec(self) -> RunSpec:
        """All that can change a request or a reply."""
        return RunSpec(
            scenario=self.scenario.facts.name,
            model=self.identity,
            adapter=self.adapter,
            data=self.scenario.data,
            definition_sha256=self.scenario.definition_sha256,
            perturbations=tuple(p.name for p in self.scenario.perturbations),
        )

    @cached_property
    def run_id(self) -> str:
        """The id that the finished run will have."""
        return run_id(self.spec.spec_id, self.suite, self.origin)


class Observer(Protocol):
    """Told how a run goes; the command line draws it."""

    def planned(self, plan: Plan, asked: int, answered: int) -> None:
        """A run starts; `answered` of its requests are already known."""

    def replied(self, completions: Sequence[Completion]) -> None:
        """One more request came back."""

    def finished(self, plan: Plan, manifest: Manifest, *, made: bool) -> None:
        """A run is in the archive; `made` says whether it was made just now."""


@dataclass
class Silent:
    """An observer that says nothing."""

    def planned(self, plan: Plan, asked: int, answered: int) -> None:
        """Ignore it."""

    def replied(self, completions: Sequence[Completion]) -> None:
        """Ignore it."""

    def finished(self, plan: Plan, manifest: Manifest, *, made: bool) -> None:
        """Ignore it."""


@dataclass(frozen=True)
class Work:
    """What is left of a plan: all requests, and the completions already known."""

    plan: Plan
    instances: tuple[Instance, ...]
    requests: tuple[Request, ...]
    known: dict[tuple[object, ...], list[Completion]]

    @property
    def open(self) -> list[Request]:
        """The requests that have no answer yet."""
        return [r for r in self.requests if r.key not in self.known]


@dataclass
class Runner:
    """Makes the runs of a suite, one model after the other."""

    project: Project
    archive: Archive
    executor: LocalExecutor = field(default_factory=LocalExecutor)
    observer: Observer = field(default_factory=Silent)
    _scenarios: dict[str, LoadedScenario] = field(default_factory=dict)

    def run(
        self, suite: Suite, models: Sequence[str] = (), entries: Sequence[str] = ()
    ) -> list[Manifest]:
        """Make every run of a suite that is not complete yet; return all of them."""
        made = []
        for plans, client in self.plans(suite, models, entries):
            made += [self.make(plan, client) for plan in plans]
        return made

    def plans(
        self, suite: Suite, models: Sequence[str] = (), entries: Sequence[str] = ()
    ) -> Iterator[tuple[list[Plan], Client]]:
        """Yield the plans of each model with its client, which is closed afterwards.

        Raises:
            ConfigError: an unknown model, scenario or metric, or two equal runs; found
                for the whole suite before the first model is loaded.
        """
        chosen = _choose(suite, models, entries)
        self._check(suite, chosen)
        for name, of_model in chosen.items():
            model = self.project.model(name)
            client = clients.create(model.client, model.name, model.settings)
            try:
                plans = [self._plan(suite, e, model, client.identity) for e in of_model]
                _refuse_twins(plans)
                yield plans, client
            finally:
                client.close()

    def make(self, plan: Plan, client: Client) -> Manifest:
        """Return the finished run: from the archive, or after asking what is open."""
        old = self.archive.find(plan.run_id)
        if old is not None and old.status == "complete":
            self.observer.finished(plan, old, made=False)
            return old
        with self.archive.journal(plan.run_id, plan.identity) as journal:
            work = self.prepare(plan, client, journal)
            self.observer.planned(plan, len(work.requests), len(work.known))

            def keep(request: Request, completions: list[Completion]) -> None:
                journal.put(request, completions)
                work.known[request.key] = completions
                self.observer.replied(completions)

            self.executor.execute(client, work.open, keep)
            manifest = self._archive(work)
            journal.discard()
        self.observer.finished(plan, manifest, made=True)
        return manifest

    def prepare(self, plan: Plan, client: Client, journal: Journal | None) -> Work:
        """Return a plan's requests and what the archive and the journal answer of them."""
        instances = plan.scenario.instances
        evaluated = adapters.eval_instances(instances, plan.adapter)
        window = adapters.Window(
            tokenizer=client.tokenizer,
            max_request_length=client.max_request_length,
            has_prefix_token=client.has_prefix_token,
        )
        requests = adapters.adapt(instances, plan.adapter, window, evaluated)
        known = self._archived(plan.run_id)
        for request in requests:
            found = journal.get(request) if journal else None
            if found and not found[0].error:
                known[request.key] = found
        return Work(plan, tuple(evaluated), tuple(requests), known)

    def _archived(self, identifier: str) -> dict[tuple[object, ...], list[Completion]]:
        """The answers that an earlier, partial run left in the archive."""
        known: dict[tuple[object, ...], list[Completion]] = {}
        if self.archive.find(identifier) is not None:
            for reply in self.archive.replies(identifier):
                if not reply.completion.error:
                    known.setdefault(reply.request.key, []).append(reply.completion)
        return known

    def _archive(self, work: Work) -> Manifest:
        plan = work.plan
        replies = [
            Reply(request=request, completion=completion, completion_index=index)
            for request in work.requests
            for index, completion in enumerate(work.known[request.key])
        ]
        scores, stats = verdicts(
            work.instances, replies, plan.adapter, plan.metrics, plan.scenario
        )
        failed = sum(1 for r in work.requests if work.known[r.key][0].error)
        started = [c.started_at for k in work.known.values() for c in k if c.started_at]
        manifest = Manifest(
            run_id=plan.run_id,
            spec_id=plan.spec.spec_id,
            suite=plan.suite,
            origin=plan.origin,
            status="partial" if failed else "complete",
            counts=Counts(
                asked=len(work.requests),
                answered=len(work.requests) - failed,
                failed=failed,
                scored=sum(1 for s in scores if s.value is not None),
            ),
            spec=plan.spec,
            scenario=plan.scenario.facts,
            metrics=metrics.resolve(plan.metrics),
            perturbations=plan.scenario.perturbations,
            card=plan.model.card,
            provenance=Provenance(
                helmsite_version=__version__,
                started_at=min(started, default=None),
                finished_at=time.time(),
            ),
            warnings=_warnings(work, failed),
        )
        return self.archive.write_run(manifest, work.instances, replies, scores, stats)

    def _load(self, entry: str) -> LoadedScenario:
        if entry not in self._scenarios:
            folders = self.project.scenario_folders
            self._scenarios[entry] = scenarios.load(entry, folders)
        return self._scenarios[entry]

    def _plan(
        self,
        suite: Suite,
        entry: SuiteEntry,
        model: ModelConfig,
        identity: ModelIdentity,
    ) -> Plan:
        scenario = self._load(entry.scenario)
        adapter = override_adapter(scenario.adapter, {**suite.adapter, **entry.adapter})
        wanted = tuple(dict.fromkeys([*scenario.metrics, *entry.metrics]))
        return Plan(
            suite=suite.name,
            scenario=scenario,
            adapter=adapter,
            metrics=metrics.applicable(adapter.method, wanted, adapter.num_outputs),
            model=model,
            identity=identity,
            repeat=entry.repeat,
        )

    def _check(self, suite: Suite, chosen: dict[str, list[SuiteEntry]]) -> None:
        """Find the problems of every entry and model before anything is loaded."""
        problems: list[str] = []
        hint = "Correct them in the suite or the scenario; nothing was run."
        for entry in {id(e): e for of in chosen.values() for e in of}.values():
            try:
                scenario = self._load(entry.scenario)
                override_adapter(scenario.adapter, {**suite.adapter, **entry.adapter})
                metrics.resolve((*scenario.metrics, *entry.metrics))
            except HelmsiteError as error:
                problems += [f"{entry.scenario}: {text}" for text in _each(error)]
        for name in chosen:
            try:
                self.project.model(name)
            except ConfigError as error:
                problems += error.problems
        if problems:
            raise ConfigError(problems, hint)


def verdicts(
    instances: Sequence[Instance],
    replies: Sequence[Reply],
    adapter: AdapterSpec,
    names: Sequence[str],
    scenario: LoadedScenario | Manifest,
) -> tuple[list[Score], list[Stat]]:
    """Return the scores of replies and the aggregates of those scores."""
    scores = metrics.score(instances, replies, adapter, names)
    facts = (
        scenario.facts if isinstance(scenario, LoadedScenario) else scenario.scenario
    )
    stats = query.summarise(
        instances,
        scores,
        metrics.resolve(names),
        scenario.perturbations,
        _population(names),
        scenario=facts.name,
    )
    return scores, stats


def rescore(archive: Archive, identifier: str, extra: Sequence[str] = ()) -> Manifest:
    """Score an archived run again, without its model; `extra` adds metrics to it.

    Raises:
        ArchiveError: there is no such run.
        MetricError: an unknown metric.
    """
    manifest = archive.manifest(identifier)
    adapter = manifest.spec.adapter
    kept = [m.name for m in manifest.metrics if metrics.is_known(m.name)]
    wanted = tuple(dict.fromkeys([*kept, *extra]))
    names = metrics.applicable(adapter.method, wanted, adapter.num_outputs)
    instances = archive.instances(identifier)
    replies = list(archive.replies(identifier))
    scores, stats = verdicts(instances, replies, adapter, names, manifest)
    return archive.write_scores(identifier, scores, stats, metrics.resolve(names))


def _population(names: Iterable[str]) -> tuple[PopulationMetric, ...]:
    wanted = set(names)
    return tuple(m for m in metrics.population() if m.facts.name in wanted)


def _choose(
    suite: Suite, models: Sequence[str], entries: Sequence[str]
) -> dict[str, list[SuiteEntry]]:
    """Return each chosen model with the suite's entries that it runs, in suite order."""
    chosen: dict[str, list[SuiteEntry]] = {}
    for model in dict.fromkeys(
        [*suite.models, *(m for e in suite.scenarios for m in e.models)]
    ):
        if models and model not in models:
            continue
        of_model = [
            entry
            for entry in suite.scenarios
            if model in (entry.models or suite.models)
            and (not entries or entry.scenario in entries)
        ]
        if of_model:
            chosen[model] = of_model
    if not chosen:
        raise ConfigError(
            [f"Suite {suite.name!r} has no run for the chosen models and scenarios."],
            "See `helmsite run --dry-run` for what it would run.",
        )
    return chosen


def _each(error: HelmsiteError) -> tuple[str, ...]:
    return error.problems if isinstance(error, ConfigError) else (error.message,)


def _refuse_twins(plans: Sequence[Plan]) -> None:
    seen: dict[str, Plan] = {}
    for plan in plans:
        if plan.run_id in seen:
            raise ConfigError(
                [
                    f"Suite {plan.suite!r} lists the same run twice: "
                    f"{plan.model.name} on {plan.scenario.facts.name}."
                ],
                "Remove one, or give it `repeat: <label>` if the repeat is meant.",
            )
        seen[plan.run_id] = plan


def _warnings(work: Work, failed: int) -> tuple[str, ...]:
    found = []
    if failed:
        found.append(f"{failed} of {len(work.requests)} requests failed.")
    truncated = sum(1 for r in work.requests if r.truncated)
    if truncated:
        found.append(f"{truncated} of {len(work.requests)} prompts were truncated.")
    return tuple(found)
