"""What is to be run: plans, the work left of them, and who is told about it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from helmsite import adapters, perturbations
from helmsite.schema import (
    AdapterSpec,
    Completion,
    Instance,
    LoadedScenario,
    Manifest,
    ModelIdentity,
    PerturbationFacts,
    Request,
    RunSpec,
    run_id,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from helmsite.config import ModelConfig
    from helmsite.perturbations import Perturbation


@dataclass(frozen=True)
class Plan:
    """One run to be made: a model on a scenario under an adapter.

    `entry` is what the suite says; several plans share it where it sweeps a value.
    """

    suite: str
    scenario: LoadedScenario
    adapter: AdapterSpec
    metrics: tuple[str, ...]
    model: ModelConfig
    identity: ModelIdentity
    perturbations: tuple[Perturbation, ...] = ()
    seeds_per_instance: int = 1
    repeat: str = ""
    entry: str = ""

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
            perturbations=perturbations.identities(
                self.perturbations, self.seeds_per_instance
            ),
        )

    @cached_property
    def versions(self) -> tuple[PerturbationFacts, ...]:
        """What is made of each instance besides the original: a version for each seed."""
        return perturbations.facts_of(self.perturbations, self.seeds_per_instance)

    def evaluated(self) -> tuple[Instance, ...]:
        """Return the instances that are asked, each before its perturbed versions."""
        drawn = adapters.eval_instances(self.scenario.instances, self.adapter)
        made = perturbations.perturb(
            drawn, self.perturbations, seeds_per_instance=self.seeds_per_instance
        )
        return tuple(made)

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

    def downloading(self, name: str, done: int, total: int | None) -> None:
        """A file of a scenario comes from the network: bytes so far, and of how many."""

    def planned(self, plan: Plan, asked: int, answered: int) -> None:
        """A run starts; `answered` of its requests are already known."""

    def replied(self, completions: Sequence[Completion]) -> None:
        """One more request came back."""

    def finished(self, plan: Plan, manifest: Manifest, *, made: bool) -> None:
        """A run is in the archive; `made` says whether anything was asked for it."""


@dataclass
class Silent:
    """An observer that says nothing."""

    def downloading(self, name: str, done: int, total: int | None) -> None:
        """Ignore it."""

    def planned(self, plan: Plan, asked: int, answered: int) -> None:
        """Ignore it."""

    def replied(self, completions: Sequence[Completion]) -> None:
        """Ignore it."""

    def finished(self, plan: Plan, manifest: Manifest, *, made: bool) -> None:
        """Ignore it."""
