"""What is to be run: plans, the work left of them, and who is told about it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from helmsite.errors import ConfigError, suggest
from helmsite.schema import (
    AdapterSpec,
    Completion,
    Instance,
    LoadedScenario,
    Manifest,
    ModelIdentity,
    Request,
    RunSpec,
    run_id,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from helmsite.config import ModelConfig, Suite, SuiteEntry


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


@dataclass(frozen=True)
class Work:
    """What a plan comes to: all requests, and the completions already known.

    `known` maps a request's key to its completions; failed ones enter only when the
    request was sent in this run.
    """

    plan: Plan
    instances: tuple[Instance, ...]
    requests: tuple[Request, ...]
    known: dict[tuple[object, ...], list[Completion]]

    @property
    def open(self) -> list[Request]:
        """The requests that have no answer yet."""
        return [r for r in self.requests if r.key not in self.known]


class Observer(Protocol):
    """Told how a run goes; the command line draws it."""

    def planned(self, plan: Plan, asked: int, answered: int) -> None:
        """A run starts; `answered` of its requests are already known."""

    def replied(self, completions: Sequence[Completion]) -> None:
        """One more request came back."""

    def finished(self, plan: Plan, manifest: Manifest, *, made: bool) -> None:
        """A run is in the archive; `made` says whether anything was asked for it."""


@dataclass
class Silent:
    """An observer that says nothing."""

    def planned(self, plan: Plan, asked: int, answered: int) -> None:
        """Ignore it."""

    def replied(self, completions: Sequence[Completion]) -> None:
        """Ignore it."""

    def finished(self, plan: Plan, manifest: Manifest, *, made: bool) -> None:
        """Ignore it."""


def choose(
    suite: Suite, models: Sequence[str], entries: Sequence[str]
) -> dict[str, list[SuiteEntry]]:
    """Return each chosen model with the suite's entries that it runs, in suite order.

    Args:
        suite: the suite to choose from.
        models: names of models; none means all.
        entries: scenarios as the suite writes them; none means all.

    Raises:
        ConfigError: a chosen model or entry that the suite doesn't have, or no run left.
    """
    known = dict.fromkeys(
        [*suite.models, *(m for e in suite.scenarios for m in e.models)]
    )
    listed = [entry.scenario for entry in suite.scenarios]
    problems = [
        *_strangers("model", models, known, suite.name),
        *_strangers("scenario", entries, listed, suite.name),
    ]
    if problems:
        raise ConfigError(problems, "`helmsite run --dry-run` shows the whole suite.")
    chosen = {}
    for model in known:
        of_model = [
            entry
            for entry in suite.scenarios
            if model in (entry.models or suite.models)
            and (not entries or entry.scenario in entries)
        ]
        if of_model and (not models or model in models):
            chosen[model] = of_model
    if not chosen:
        raise ConfigError(
            [f"Suite {suite.name!r} has no run for the chosen models and scenarios."],
            "`helmsite run --dry-run` shows the whole suite.",
        )
    return chosen


def refuse_twins(plans: Sequence[Plan]) -> None:
    """Refuse plans that would be the same run.

    Raises:
        ConfigError: two of them have one run id.
    """
    seen: dict[str, Plan] = {}
    for plan in plans:
        if plan.run_id in seen:
            what = f"{plan.model.name} on {plan.scenario.facts.name}"
            raise ConfigError(
                [f"Suite {plan.suite!r} lists the same run twice: {what}."],
                "Remove one, or give it `repeat: <label>` if the repeat is meant.",
            )
        seen[plan.run_id] = plan


def _strangers(
    kind: str, names: Iterable[str], known: Iterable[str], suite: str
) -> list[str]:
    listed = list(known)
    return [
        f"Suite {suite!r} has no {kind} {name!r}.{suggest(name, listed)}"
        for name in names
        if name not in listed
    ]
