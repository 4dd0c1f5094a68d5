"""Perturbations: changed versions of instances, which a model should take as the same.

    words = WordLists(find_in(places(project.data_folders)))
    chosen = resolve(["canonical", "typos(prob=0.05)"], words)
    require(chosen)                       # all word lists are here, or one error for all
    instances = perturb(evaluated, chosen)
    facts, spec = facts_of(chosen), identities(chosen)

`named` knows HELM's `data_augmentation` presets and every single perturbation; `variants`
says which runs a preset stands for. Nothing is read before it is needed: a name can be
checked without any word list.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from helmsite.errors import ConfigError, suggest, together
from helmsite.perturbations.kinds import KINDS, Kind
from helmsite.perturbations.perturbation import Perturbation, parse
from helmsite.perturbations.presets import LEFT_OUT, PRESETS
from helmsite.perturbations.wordlists import (
    HINT,
    INDEX,
    ListFacts,
    WordLists,
    find_in,
    places,
)
from helmsite.schema import TRAIN

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from helmsite.schema import Instance, PerturbationFacts

__all__ = [
    "KINDS",
    "PRESETS",
    "Kind",
    "ListFacts",
    "Perturbation",
    "WordLists",
    "facts_of",
    "find_in",
    "identities",
    "lacking",
    "named",
    "perturb",
    "places",
    "require",
    "resolve",
    "variants",
]

_LABELS = {label: names for runs in PRESETS.values() for label, names in runs.items()}


def variants(preset: str) -> dict[str, tuple[str, ...]]:
    """Return the runs that HELM makes of `data_augmentation=<preset>`.

    Most presets stand for one run, `misspelling_sweep` for four. The key is how HELM
    labels the run (`...,data_augmentation=misspelling0.05`); the value are the names of
    its perturbations, none of them for a run that is not perturbed.

    Raises:
        ConfigError: there is no such preset; near ones are suggested.
    """
    if preset in PRESETS:
        return PRESETS[preset]
    if preset in _LABELS:
        return {preset: _LABELS[preset]}
    raise _unknown(preset, "data_augmentation", {*PRESETS, *_LABELS})


def named(name: str, words: WordLists | None = None) -> tuple[Perturbation, ...]:
    """Return what a name stands for: a preset's perturbations, or a single one.

    Args:
        name: a preset of one run (`canonical`), HELM's label of a run (`typo0.1`) or a
            perturbation with its parameters (`misspellings(prob=0.2)`).
        words: where word lists come from.

    Raises:
        ConfigError: an unknown name, with near ones; a parameter that does not fit; a
            preset of several runs.
    """
    words = words or WordLists()
    if name in PRESETS or name in _LABELS:
        runs = variants(name)
        if len(runs) > 1:
            raise ConfigError(
                [f"{name!r} stands for {len(runs)} runs, not for one."],
                f"Name one of them: {', '.join(runs)}.",
            )
        (names,) = runs.values()
        return tuple(parse(each, words) for each in names)
    if name.partition("(")[0].strip() in KINDS.table():
        return (parse(name, words),)
    raise _unknown(name, "perturbation", {*PRESETS, *_LABELS, *KINDS.table()})


def resolve(
    names: Iterable[str], words: WordLists | None = None
) -> tuple[Perturbation, ...]:
    """Return what all names together stand for, in order, each perturbation once.

    Raises:
        ConfigError: as `named` does, for all names at once.
    """
    words = words or WordLists()
    found: dict[str, Perturbation] = {}
    problems: list[ConfigError] = []
    for name in names:
        try:
            found.update((p.name, p) for p in named(name, words) if p.name not in found)
        except ConfigError as error:
            problems.append(error)
    if problems:
        raise together(problems)
    return tuple(found.values())


def require(perturbations: Iterable[Perturbation]) -> None:
    """Check, before a run starts, that all word lists are on this machine.

    Raises:
        ConfigError: some are missing; it says where to get each, where to put it, and how
            to go without.
    """
    missing = [text for p in perturbations for text in p.words.missing(p.kind.lists)]
    if missing:
        raise ConfigError(list(dict.fromkeys(missing)), HINT)


def lacking(perturbations: Iterable[Perturbation]) -> list[ListFacts]:
    """Return the word lists that are missing, for what fetches them, each once."""
    names = {n: None for p in perturbations for n in p.words.lacking(p.kind.lists)}
    return [INDEX[name] for name in names]


def perturb(
    instances: Iterable[Instance],
    perturbations: Sequence[Perturbation],
    *,
    seeds_per_instance: int = 1,
    include_original: bool = True,
    skip_unchanged: bool = True,
) -> list[Instance]:
    """Return instances with their perturbed versions, as HELM's data augmenter makes them.

    Behind each original stand its versions, by perturbation in the given order and then
    by seed. A version has the instance's id and position; its `perturbation` is the
    perturbation's name, with `~seed` for a further seed. Training instances pass through.

    Args:
        instances: the evaluated instances, already drawn (and training instances).
        perturbations: which ones, none of them twice.
        seeds_per_instance: how many versions each perturbation makes of an instance.
        include_original: whether originals stay.
        skip_unchanged: whether a version is left out whose input is the original's.
    """
    made: list[Instance] = []
    for original in instances:
        if include_original or original.split == TRAIN or not perturbations:
            made.append(original)
        if original.split == TRAIN:
            continue
        for perturbation in perturbations:
            for seed in perturbation.seeds(seeds_per_instance):
                version = perturbation.apply(original, seed)
                if not (skip_unchanged and _same_input(version, original)):
                    made.append(version)
    return made


def facts_of(
    perturbations: Sequence[Perturbation], seeds_per_instance: int = 1
) -> tuple[PerturbationFacts, ...]:
    """Return the facts of all versions, for a run's manifest and its aggregates."""
    return tuple(
        perturbation.facts_of(seed)
        for perturbation in perturbations
        for seed in perturbation.seeds(seeds_per_instance)
    )


def identities(
    perturbations: Sequence[Perturbation], seeds_per_instance: int = 1
) -> tuple[str, ...]:
    """Return what belongs into a run's spec: names, versions, digests of word lists.

    Raises:
        ConfigError: a word list is missing.
    """
    return tuple(
        perturbation.identity_of(seed)
        for perturbation in perturbations
        for seed in perturbation.seeds(seeds_per_instance)
    )


def _same_input(version: Instance, original: Instance) -> bool:
    return (version.input, version.messages) == (original.input, original.messages)


def _unknown(name: str, what: str, known: Iterable[str]) -> ConfigError:
    if name in LEFT_OUT:
        return ConfigError(
            [f"HELM's preset {name!r} is not available: {LEFT_OUT[name]}."],
            "docs/perturbations.md lists what there is.",
        )
    near = suggest(name.partition("(")[0], known)
    single = ", ".join(KINDS.table())
    return ConfigError(
        [f"Unknown {what} {name!r}.{near}"],
        f"Perturbations are {single}; presets are canonical, robustness, fairness and "
        "more: docs/perturbations.md lists them.",
    )
