"""A run from scenario to archive, read top to bottom: plan, ask, score, keep."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from helmsite import __version__, adapters, clients, metrics
from helmsite.executors import LocalExecutor
from helmsite.run.choice import Choice
from helmsite.run.plan import Observer, Plan, Silent, Work
from helmsite.run.planner import Library, Planner
from helmsite.run.scoring import About, rescore, verdicts
from helmsite.schema import (
    Completion,
    Counts,
    Manifest,
    Provenance,
    Reply,
    Request,
    failed,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from helmsite.archive import Archive, Journal
    from helmsite.config import Project, Suite
    from helmsite.errors import HelmsiteError
    from helmsite.schema import Client


@dataclass
class Runner:
    """Makes the runs of a suite, one model after the other.

    With `skip_missing`, entries whose data is not there or that need consent are left
    out; `left_out` says which those were, and why. `offline` forbids to fetch data; None does as the
    environment says. Programs that models write are run in the `sandbox`, if there is one.
    """

    project: Project
    archive: Archive
    executor: LocalExecutor = field(default_factory=LocalExecutor)
    observer: Observer = field(default_factory=Silent)
    skip_missing: bool = False
    offline: bool | None = None
    sandbox: metrics.Sandbox | None = None

    def __post_init__(self) -> None:
        self.library = Library(self.project, self.offline, self.observer)
        self.left_out: dict[str, HelmsiteError] = {}

    def run(self, suite: Suite, choice: Choice | None = None) -> list[Manifest]:
        """Make every run of a suite that is not complete yet; return all of them."""
        made = []
        for plans, client in self.plans(suite, choice):
            made += [self.make(plan, client) for plan in plans]
        return made

    def plans(
        self, suite: Suite, choice: Choice | None = None
    ) -> Iterator[tuple[Iterator[Plan], Client]]:
        """Yield the plans of each model with its client, which is closed afterwards.

        Raises:
            ConfigError: an unknown model, scenario or metric, wrong settings or two equal
                runs, found for the whole suite before the first model is loaded.
        """
        planner = self.planner(suite, choice)
        chosen = planner.chosen()
        self.left_out = planner.left_out
        for name, setups in chosen.items():
            model = self.project.model(name)
            client = clients.create(model.client, model.name, model.settings)
            try:
                yield planner.plans(setups, model, client.identity), client
            finally:
                client.close()

    def planner(self, suite: Suite, choice: Choice | None = None) -> Planner:
        """Return what plans a suite's runs with the scenarios that are loaded already."""
        chosen = choice or Choice()
        return Planner(self.project, suite, chosen, self.library, self.skip_missing)

    def make(self, plan: Plan, client: Client) -> Manifest:
        """Return the finished run: from the archive, or after asking what is open."""
        old = self.archive.find(plan.run_id)
        if old is not None and old.status == "complete":
            missing = set(plan.metrics) - {m.name for m in old.metrics}
            if missing:
                old = rescore(self.archive, plan.run_id, plan.metrics, self.sandbox)
            self.archive.discard_journal(plan.run_id)
            self.observer.finished(plan, old, made=False)
            return old
        with self.archive.journal(plan.run_id, plan.identity) as journal:
            work = self.prepare(plan, client, journal)
            self.observer.planned(plan, len(work.requests), len(work.known))

            def keep(request: Request, completions: list[Completion]) -> None:
                journal.put(request, completions)
                work.known[request.key] = completions
                self.observer.replied(completions)

            self.executor.execute(client, work.open, keep, answered=bool(work.known))
            manifest = self._archive(work)
            journal.discard()
        self.observer.finished(plan, manifest, made=True)
        return manifest

    def prepare(self, plan: Plan, client: Client, journal: Journal | None) -> Work:
        """Return a plan's requests and what the archive and the journal answer of them."""
        evaluated = plan.evaluated()
        window = adapters.Window(
            tokenizer=client.tokenizer,
            max_request_length=client.max_request_length,
            has_prefix_token=client.has_prefix_token,
        )
        requests = adapters.adapt(
            plan.scenario.instances, plan.adapter, window, evaluated
        )
        known = self._archived(plan.run_id, {r.key: r for r in requests})
        for request in requests:
            found = journal.get(request) if journal else None
            if found and not failed(found):
                known[request.key] = found
        return Work(plan, evaluated, tuple(requests), known)

    def _archived(
        self, run_id: str, asked: Mapping[tuple[object, ...], Request]
    ) -> dict[tuple[object, ...], list[Completion]]:
        """The answers to just these requests that a partial run left in the archive."""
        found: dict[tuple[object, ...], list[Completion]] = {}
        if self.archive.find(run_id) is not None:
            for reply in self.archive.replies(run_id):
                if asked.get(reply.request.key) == reply.request:
                    found.setdefault(reply.request.key, []).append(reply.completion)
        return {key: of for key, of in found.items() if not failed(of)}

    def _archive(self, work: Work) -> Manifest:
        plan = work.plan
        replies = [
            Reply(request=request, completion=completion, completion_index=index)
            for request in work.requests
            for index, completion in enumerate(work.known[request.key])
        ]
        scores, stats = verdicts(
            work.instances,
            replies,
            plan.adapter,
            plan.metrics,
            About(plan.scenario.facts.name, plan.versions, plan.model.card),
            self.sandbox,
        )
        failures = sum(failed(work.known[r.key]) for r in work.requests)
        started = [c.started_at for k in work.known.values() for c in k if c.started_at]
        manifest = Manifest(
            run_id=plan.run_id,
            spec_id=plan.spec.spec_id,
            suite=plan.suite,
            origin=plan.origin,
            status="partial" if failures else "complete",
            counts=Counts(
                asked=len(work.requests),
                answered=len(work.requests) - failures,
                failed=failures,
                scored=sum(1 for s in scores if s.value is not None),
            ),
            spec=plan.spec,
            scenario=plan.scenario.facts,
            metrics=metrics.resolve(plan.metrics),
            perturbations=plan.versions,
            card=plan.model.card,
            provenance=Provenance(
                helmsite_version=__version__,
                started_at=min(started, default=None),
                finished_at=time.time(),
            ),
            warnings=(
                *_warnings(work, failures),
                *metrics.notes(plan.metrics, scores, self.sandbox),
            ),
        )
        return self.archive.write_run(manifest, work.instances, replies, scores, stats)


def _warnings(work: Work, failures: int) -> tuple[str, ...]:
    found = []
    if failures:
        found.append(f"{failures} of {len(work.requests)} requests failed.")
    found += work.plan.scenario.notes
    for reason, count in sorted(work.plan.scenario.skipped.items()):
        found.append(f"{count} rows of the data were left out: {reason}.")
    truncated = sum(1 for r in work.requests if r.truncated)
    if truncated:
        found.append(f"{truncated} of {len(work.requests)} prompts were truncated.")
    return tuple(found)
