"""From a suite to plans: scenarios loaded once, every problem found before a model is."""

from __future__ import annotations

from collections import OrderedDict
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec
from msgspec import structs

from helmsite import clients, metrics, perturbations, scenarios
from helmsite.errors import (
    ConfigError,
    HelmsiteError,
    ScenarioError,
    problems_of,
    together,
)
from helmsite.fetching import Fetcher
from helmsite.run.choice import ALL, choose
from helmsite.run.definitions import Definitions
from helmsite.run.plan import Observer, Plan, Silent
from helmsite.schema import AdapterSpec, override_adapter
from helmsite.schema.adjusting import adjusted
from helmsite.schema.expanders import About, expand

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from helmsite.config import ModelConfig, Project, Suite
    from helmsite.perturbations import Perturbation
    from helmsite.run.choice import Choice, Setup
    from helmsite.schema import LoadedScenario, ModelCard, ModelIdentity

TWICE = "Remove one, or give it `repeat: <label>` if the repeat is meant."
MOST_INSTANCES = 500_000
"""How many instances are kept in memory; a scenario beyond them is loaded again."""


@dataclass
class Library:
    """The scenarios of a project, each loaded once as long as there is room.

    `offline` forbids to fetch data; None does as the environment says. `observer` is
    told of downloads.
    """

    project: Project
    offline: bool | None = None
    observer: Observer = field(default_factory=Silent)
    room: int = MOST_INSTANCES
    _kept: OrderedDict[str, LoadedScenario] = field(default_factory=OrderedDict)

    def load(self, entry: str) -> LoadedScenario:
        """Return a scenario with its instances.

        Raises:
            ConfigError: there is no such scenario, or a parameter is wrong.
            ScenarioError: its data is missing or does not fit.
        """
        if entry not in self._kept:
            project = self.project
            fetcher = Fetcher(self.offline, self.observer.downloading)
            loaded = scenarios.load(
                entry, project.scenario_folders, project.data_folders, fetcher
            )
            self._kept[entry] = loaded
            while sum(map(_size, self._kept.values())) > self.room and self._kept:
                self._kept.popitem(last=False)
            return loaded
        self._kept.move_to_end(entry)
        return self._kept[entry]


def _size(scenario: LoadedScenario) -> int:
    return len(scenario.instances)


@dataclass
class Planner:
    """Plans the runs of one suite.

    `left_out` says which entries cannot run here, and why: their data is missing (a
    ScenarioError), or they need consent (a ConfigError). Without `skip_missing` those are
    problems as all others.
    """

    project: Project
    suite: Suite
    choice: Choice
    library: Library
    skip_missing: bool = False
    left_out: dict[str, HelmsiteError] = field(default_factory=dict)
    _specs: dict[tuple[object, ...], list[AdapterSpec]] = field(default_factory=dict)
    _seen: set[tuple[object, ...]] = field(default_factory=set)

    def __post_init__(self) -> None:
        found = perturbations.places(self.project.data_folders)
        self.words = perturbations.WordLists(perturbations.find_in(found))
        self.definitions = Definitions(self.project)

    def chosen(self) -> dict[str, list[Setup]]:
        """Return what each model runs; all of it can be planned.

        Raises:
            ConfigError: every problem of entries, scenarios, metrics and models.
        """
        chosen = choose(self.suite, self.choice, self.project)
        faults: list[tuple[str, HelmsiteError]] = []
        models: dict[int, list[str]] = {}
        for name, of in chosen.items():
            faults += (("", error) for error in self._faults_of_model(name))
            for setup in of:
                models.setdefault(id(setup), []).append(name)
        setups = {id(s): s for of in chosen.values() for s in of}
        self._check_consent(setups.values())
        for key, setup in setups.items():
            if setup.label not in self.left_out:
                found = self._faults(setup, models[key])
                faults += ((setup.label, error) for error in found)
        if not self.skip_missing:
            faults += self.left_out.items()
        if faults:
            raise summed_up(faults, "Nothing was run.")
        there = {
            name: [s for s in of if s.label not in self.left_out]
            for name, of in chosen.items()
        }
        return {name: of for name, of in there.items() if of}

    def plans(
        self, setups: list[Setup], model: ModelConfig, identity: ModelIdentity
    ) -> Iterator[Plan]:
        """Yield the runs of a model, one after the other."""
        for setup in setups:
            yield from self._of_setup(setup, model, identity)

    def _of_setup(
        self, setup: Setup, model: ModelConfig, identity: ModelIdentity
    ) -> Iterator[Plan]:
        scenario = self._scenario(setup)
        wanted = tuple(dict.fromkeys([*scenario.metrics, *setup.entry.metrics]))
        for adapter in self._adapters(setup, scenario, model.card):
            for chosen in self._perturbations(setup, scenario):
                yield Plan(
                    suite=self.suite.name,
                    scenario=scenario,
                    adapter=adapter,
                    metrics=metrics.applicable(
                        adapter.method, wanted, adapter.num_outputs, model.card
                    ),
                    model=model,
                    identity=identity,
                    perturbations=chosen,
                    seeds_per_instance=self._seeds(setup),
                    repeat=setup.entry.repeat,
                    entry=setup.label,
                )

    def _scenario(self, setup: Setup) -> LoadedScenario:
        """Return the scenario of a setup, in the groups that the suite adds."""
        scenario = self.library.load(setup.run.scenario)
        more = (*setup.entry.groups, *setup.run.groups)
        if not more:
            return scenario
        groups = tuple(dict.fromkeys([*scenario.facts.groups, *more]))
        facts = structs.replace(scenario.facts, groups=groups)
        return structs.replace(scenario, facts=facts)

    def _perturbations(
        self, setup: Setup, scenario: LoadedScenario
    ) -> Iterator[tuple[Perturbation, ...]]:
        for names in setup.perturbations:
            own = scenario.perturbations if names is None else names
            yield perturbations.resolve(own, self.words)

    def _seeds(self, setup: Setup) -> int:
        return setup.entry.seeds_per_instance or self.suite.seeds_per_instance

    def _adapters(
        self, setup: Setup, scenario: LoadedScenario, card: ModelCard
    ) -> list[AdapterSpec]:
        """Return the adapters of a setup for a model, several where it sweeps a value.

        The order is HELM's: the scenario's, the suite's settings, the entry's expanders,
        what the model needs, the limits of the command line.
        """
        key = (id(setup), msgspec.json.encode([card.tags, card.adjustments]))
        if key not in self._specs:
            said = {**self.suite.adapter, **setup.entry.adapter}
            specs = [override_adapter(scenario, said)]
            about = About(scenario.facts.name.partition(":")[0], card.tags)
            for name, value in setup.run.expanders:
                specs = [
                    made.adapter
                    for spec in specs
                    for made in expand(spec, name, value, about)
                ]
            self._specs[key] = [
                limited(adjusted(spec, card, about.scenario), self.choice)
                for spec in specs
            ]
        return self._specs[key]

    def _faults(self, setup: Setup, models: list[str]) -> Iterator[HelmsiteError]:
        """Yield what is wrong with an entry for any of its models."""
        try:
            scenario = self._scenario(setup)
            for chosen in self._perturbations(setup, scenario):
                _require(chosen)
            metrics.resolve((*scenario.metrics, *setup.entry.metrics))
            metrics.require((*scenario.metrics, *setup.entry.metrics))
        except ScenarioError as error:
            self.left_out[setup.label] = error
            return
        except HelmsiteError as error:
            yield error
            return
        for model in (m for m in map(self.project.models.get, models) if m):
            try:
                yield from self._twins(setup, scenario, model)
            except HelmsiteError as error:
                yield error

    def _check_consent(self, setups: Iterable[Setup]) -> None:
        """Leave out what holds harmful content, before any of it is fetched."""
        accepted = {*self.suite.accept_cautions, *self.choice.accept_cautions}
        cautions: dict[str, tuple[str, str]] = {}
        for setup in setups:
            name = setup.run.scenario.partition(":")[0]
            if accepted.isdisjoint({name, ALL}):
                with suppress(ConfigError):  # told when the scenario is loaded
                    said = self.definitions.caution(setup.run.scenario)
                    cautions |= {setup.label: (name, said)} if said else {}
        names = sorted({name for name, _ in cautions.values()})
        hint = (
            f"Type {' '.join(f'--accept-cautions {name}' for name in names)} "
            f"(or --accept-cautions {ALL}), or write accept_cautions: "
            f"[{', '.join(names)}] in the suite."
        )
        for label, (name, said) in cautions.items():
            why = f"{name} runs with consent alone: {said}"
            self.left_out[label] = ConfigError([why], hint)

    def _twins(
        self, setup: Setup, scenario: LoadedScenario, model: ModelConfig
    ) -> Iterator[HelmsiteError]:
        """Yield the runs of an entry that another one makes too."""
        what = f"{model.name} on {scenario.facts.name}"
        for adapter in self._adapters(setup, scenario, model.card):
            for chosen in self._perturbations(setup, scenario):
                versions = perturbations.facts_of(chosen, self._seeds(setup))
                run = (what, adapter, versions, setup.entry.repeat)
                if run in self._seen:
                    told = (
                        f"Suite {self.suite.name!r} lists the same run twice: {what}."
                    )
                    yield ConfigError([told], TWICE)
                self._seen.add(run)

    def _faults_of_model(self, name: str) -> Iterator[HelmsiteError]:
        try:
            model = self.project.model(name)
            clients.check(model.client, model.name, model.settings)
        except HelmsiteError as error:
            yield error


def limited(adapter: AdapterSpec, choice: Choice) -> AdapterSpec:
    """Return an adapter with the limits of the command line, as HELM applies them.

    Without examples all train trials would be the same, so there is one.
    """
    changes: dict[str, int] = {}
    most, trials = choice.max_eval_instances, choice.num_train_trials
    if most is not None and adapter.max_eval_instances is None:
        changes["max_eval_instances"] = most
    if adapter.max_train_instances == 0:
        changes["num_train_trials"] = 1
    elif trials is not None:
        changes["num_train_trials"] = trials
    return structs.replace(adapter, **changes)


def _require(chosen: tuple[Perturbation, ...]) -> None:
    """Check that the word lists of perturbations are here.

    Raises:
        ScenarioError: one is missing; like a scenario's data, it must be got first.
    """
    try:
        perturbations.require(chosen)
    except ConfigError as error:
        raise ScenarioError(error.message, error.hint) from error


def summed_up(
    faults: Iterable[tuple[str, HelmsiteError]], end: str = ""
) -> ConfigError:
    """Return what is wrong with entries as one error, each problem with its hint once.

    Args:
        faults: pairs of an entry, '' where a problem is of none, and what it has.
        end: follows the last hint.
    """
    entries: dict[tuple[str, str], dict[str, None]] = {}
    for entry, error in faults:
        for text in problems_of(error):
            entries.setdefault((text, error.hint), {})[entry] = None
    return together(
        (
            ConfigError([_told(text, [*of])], hint)
            for (text, hint), of in entries.items()
        ),
        end,
    )


def _told(text: str, entries: list[str]) -> str:
    """Return a problem with the entries that have it."""
    rest = len(entries) - 1
    more = f" (and {rest} more {'entries' if rest > 1 else 'entry'})" if rest else ""
    return f"{entries[0]}{more}: {text}" if entries[0] else text
