"""Which models run which entries of a suite: selection by name, group and priority."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from msgspec import structs

from helmsite import perturbations
from helmsite.errors import ConfigError, suggest, together
from helmsite.run.definitions import Definitions
from helmsite.schema import Record, format_entry, matches_entry, parse_entry
from helmsite.schema.entries import RunEntry, read_entry

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from helmsite.config import Project, Suite, SuiteEntry

ALL = "all"
WHOLE = "`helmsite run --dry-run` shows the whole suite."
ABLATION = "ABLATION_MODEL_TAG"
TEXT, CODE = "TEXT_MODEL_TAG", "CODE_MODEL_TAG"
TAGS: dict[str, tuple[str, ...]] = {
    "all": (),
    "text": (TEXT,),
    "code": (CODE,),
    "text_code": (TEXT, CODE),
    "full_functionality_text": ("FULL_FUNCTIONALITY_TEXT_MODEL_TAG",),
    "limited_functionality_text": ("LIMITED_FUNCTIONALITY_TEXT_MODEL_TAG",),
    "instruction_following": ("INSTRUCTION_FOLLOWING_MODEL_TAG",),
}
"""HELM's groups of models: one of these tags makes a member."""
LISTS = ("summarization_zs", "biomedical", "interactive_qa")
"""Groups that are lists of names in HELM; here all models belong to them."""


TOKENIZER = "tokenizer"
SWEEPS: dict[tuple[str, str], tuple[str, ...]] = {
    ("num_prompt_tokens", "default_sweep"): ("1", "256", "512", "1024", "1536"),
}
"""Values of scenario parameters that stand for several (synthetic_efficiency)."""


class Choice(Record, frozen=True):
    """Which part of a suite runs, and how much of each run.

    Nothing chosen means everything. `entries` are as the suite writes them; `groups` are
    those of scenarios, of entries, or leaderboards of the site. An entry without a
    priority has the highest. `max_eval_instances` counts where nothing else limits the
    instances, `num_train_trials` wherever there are examples (both as in HELM).
    `accept_cautions` names scenarios (or ALL) that run in spite of their caution.
    """

    models: tuple[str, ...] = ()
    entries: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    priority: int | None = None
    max_eval_instances: int | None = None
    num_train_trials: int | None = None
    accept_cautions: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Setup:
    """An entry of a suite, read; it makes a run, or several where it sweeps a value.

    `perturbations` has the names of each of these runs, None for the scenario's own.
    With a `tokenizer` it is for the models that have that one.
    """

    entry: SuiteEntry
    run: RunEntry
    perturbations: tuple[tuple[str, ...] | None, ...] = (None,)
    tokenizer: str = ""

    @property
    def label(self) -> str:
        """The entry as the suite writes it."""
        return self.entry.scenario


def choose(suite: Suite, choice: Choice, project: Project) -> dict[str, list[Setup]]:
    """Return each chosen model with what it runs, in suite order.

    Raises:
        ConfigError: an entry that cannot be read; a chosen model or entry that the suite
            does not have; no model for an entry; or no run left.
    """
    return _Chooser(suite, choice, project).chosen()


@dataclass
class _Chooser:
    suite: Suite
    choice: Choice
    project: Project
    problems: list[ConfigError] = field(default_factory=list)
    lacking: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.definitions = Definitions(self.project)
        self.asked = tuple(self._known(name) for name in self.choice.models)

    def chosen(self) -> dict[str, list[Setup]]:
        pairs = [(s, list(self._models(s))) for s in self._setups()]
        self._check_names(pairs)
        order = dict.fromkeys([*self.suite.models, *(m for _, of in pairs for m in of)])
        found = {
            model: setups
            for model in order
            if (setups := [setup for setup, of in pairs if model in of])
            and model in (self.asked or order)
        }
        if self.problems:
            raise together(self.problems)
        if self.lacking:
            listed = ", ".join(self.project.models)
            raise ConfigError(
                [f"Which models? {self.lacking[0]!r} names none."],
                f"Name them with -m; known: {listed}.",
            )
        if not found:
            what = "models and scenarios" if not self.choice.groups else "groups"
            raise ConfigError(
                [f"Suite {self.suite.name!r} has no run for the chosen {what}."], WHOLE
            )
        return found

    def _setups(self) -> Iterator[Setup]:
        choice = self.choice
        for entry in self.suite.scenarios:
            if choice.entries and entry.scenario not in choice.entries:
                continue
            most = choice.priority
            if most is not None and (entry.priority or 1) > most:
                continue
            try:
                yield from filter(self._in_groups, self._swept(self._setup(entry)))
            except ConfigError as error:
                told = [f"{entry.scenario}: {p}" for p in error.problems]
                self.problems.append(ConfigError(told, error.hint or WHOLE))

    def _setup(self, entry: SuiteEntry) -> Setup:
        name = read_entry(entry.scenario).scenario.partition(":")[0]
        run = read_entry(entry.scenario, self.definitions.parameters(name))
        if run.augmentation:
            runs = perturbations.variants(run.augmentation)
            return Setup(entry, run, tuple(runs.values()))
        said = entry.perturbations
        return Setup(entry, run, (self.suite.perturbations if said is None else said,))

    def _swept(self, setup: Setup) -> Iterator[Setup]:
        """Yield a setup for each value of scenario parameters that sweep (HELM's names).

        tokenizer=default is the model's own; as in HELM, a model without one has no run.
        """
        name, given = parse_entry(setup.run.scenario)
        known = {k: SWEEPS.get((k, v), (v,)) for k, v in given.items()}
        if given.get(TOKENIZER) == "default":
            of_models = dict.fromkeys(map(self._tokenizer, self._all()))
            known[TOKENIZER] = tuple(filter(None, of_models))
        for values in itertools.product(*known.values()):
            chosen = dict(zip(known, values, strict=True))
            run = structs.replace(setup.run, scenario=format_entry(name, chosen))
            by_model = given.get(TOKENIZER) == "default"
            tokenizer = chosen[TOKENIZER] if by_model else ""
            yield replace(setup, run=run, tokenizer=tokenizer)

    def _all(self) -> tuple[str, ...]:
        return self.asked or tuple(self.project.models)

    def _tokenizer(self, model: str) -> str:
        known = self.project.models.get(model)
        return known.card.tokenizer if known else ""

    def _in_groups(self, setup: Setup) -> bool:
        if not self.choice.groups:
            return True
        scenario, wanted = setup.run.scenario, set(self.choice.groups)
        groups = {*setup.entry.groups, *setup.run.groups, scenario.partition(":")[0]}
        groups.update(self.definitions.groups(scenario))
        known = self.project.site.groups
        boards = [known[name] for name in wanted & known.keys()]
        wanted.update(group for board in boards for group in board.groups)
        return bool(groups & wanted) or any(
            matches_entry(entry, scenario)
            for board in boards
            for entry in board.scenarios
        )

    def _models(self, setup: Setup) -> Iterator[str]:
        """Yield the models that an entry is for, before -m narrows them."""
        run = setup.run
        named = self._named(run)
        if named:
            yield named
            return
        group = run.model
        if not (self._members(group) or self._is_list(group)):
            near = suggest(group, [*TAGS, *self.project.models])
            what = f"{setup.label}: no model or group {group!r}.{near}"
            self.problems.append(ConfigError([what], WHOLE))
            return
        listed = setup.entry.models or self.suite.models or self.asked
        if not listed:
            self.lacking.append(setup.label)
        wanted = setup.tokenizer
        yield from (
            m
            for m in listed
            if self._fits(m, group) and wanted in ("", self._tokenizer(m))
        )

    def _named(self, run: RunEntry) -> str:
        """Return the model that an entry names, '' where it names a group or none."""
        for name in (run.deployment, run.model):
            known = self.project.named(name) if name else ""
            if known or "/" in name:
                return known or name
        return ""

    @staticmethod
    def _members(group: str) -> bool:
        return group in ("", "ablation") or group.removeprefix("ablation_") in TAGS

    @staticmethod
    def _is_list(group: str) -> bool:
        name = group.removeprefix("ablation_")
        return name in LISTS or name.startswith("opinions_qa_")

    def _fits(self, model: str, group: str) -> bool:
        """Return whether a model is in a group; one without tags is in all of them."""
        known = self.project.models.get(model)
        tags = known.card.tags if known else ()
        wanted = TAGS.get(group.removeprefix("ablation_"), ())
        if not tags:
            return True
        if group.startswith("ablation") and ABLATION not in tags:
            return False
        return not wanted or not set(wanted).isdisjoint(tags)

    def _known(self, name: str) -> str:
        return self.project.named(name) or name

    def _check_names(self, pairs: Iterable[tuple[Setup, list[str]]]) -> None:
        """Find chosen names that the suite does not have."""
        suite, entries = self.suite, self.suite.scenarios
        listed = [entry.scenario for entry in entries]
        self._strangers("scenario", self.choice.entries, listed)
        closed = bool(suite.models) or all(e.models for e in entries)
        if closed:
            of_pairs = (m for _, models in pairs for m in models)
            of_entries = (m for e in entries for m in e.models)
            self._strangers(
                "model", self.asked, [*suite.models, *of_entries, *of_pairs]
            )

    def _strangers(self, kind: str, names: Iterable[str], known: list[str]) -> None:
        begun = f"Suite {self.suite.name!r} has no {kind}"
        self.problems += [
            ConfigError([f"{begun} {name!r}.{suggest(name, known)}"], WHOLE)
            for name in names
            if name not in known
        ]
