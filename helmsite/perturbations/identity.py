"""Who speaks and who is spoken of: dialect, gender, names (individual fairness)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from helmsite.errors import ConfigError, suggest
from helmsite.perturbations.kinds import (
    Kind,
    Probability,
    match_case,
    of_everything,
    rewritten,
)
from helmsite.perturbations.phrases import Separated, fold
from helmsite.schema import Record

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from random import Random

    from helmsite.perturbations.kinds import Rewrite
    from helmsite.perturbations.wordlists import Name
    from helmsite.schema import Instance

Gender = Literal["neutral", "female", "male"]
GENDERS: tuple[Gender, ...] = ("neutral", "female", "male")  # the columns of the list


class Dialect(Record, frozen=True):
    """The chance of a change, and between which dialects."""

    prob: Probability
    source_class: Literal["SAE"] = "SAE"
    target_class: Literal["AAVE"] = "AAVE"


class Genders(Record, frozen=True):
    """Which words of which gender become which, with what chance."""

    mode: Literal["terms", "pronouns"]
    prob: Probability
    source_class: Gender = "male"
    target_class: Gender = "female"
    bidirectional: bool = False


class PersonNames(Record, frozen=True):
    """Whose names become whose: `race=white_american`, several joined by a plus sign."""

    prob: Probability
    source_class: str = "race=white_american"
    target_class: str = "race=black_american"
    person_name_type: Literal["first_name", "last_name"] = "first_name"
    preserve_gender: bool = True


def dialect(parameters: Dialect, mapping: Mapping[str, Sequence[str]]) -> Rewrite:
    """Return what replaces words between separators by a variant of the other dialect."""
    variants = {
        fold(word): mapping.get(fold(word), found)
        for word, found in mapping.items()
        if found
    }
    words = Separated(variants)

    def change(text: str, rng: Random) -> str:
        def replace(whole: str, word: str, phrase: str) -> str:
            if rng.random() < parameters.prob:
                variant = match_case(word, rng.choice(variants[phrase]))
                return whole.replace(word, variant)
            return whole

        return words.sub(text, replace)

    return of_everything(change)


def gender(parameters: Genders, words: Sequence[tuple[str, ...]]) -> Rewrite:
    """Return what replaces the words of one gender, pair by pair in the list's order.

    A later pair sees what an earlier one made. A word needs a separator on both sides.
    """
    source, target = map(
        GENDERS.index, (parameters.source_class, parameters.target_class)
    )
    rows = [row for mode, *row in words if mode == parameters.mode]
    pairs = [(row[source], row[target]) for row in rows]
    if parameters.bidirectional:
        pairs += [(after, before) for before, after in pairs]
    patterns = [(re.compile(rf"\W({a})\W", re.IGNORECASE), b) for a, b in pairs]

    def change(text: str, rng: Random) -> str:
        for pattern, other in patterns:

            def replace(found: re.Match[str], other: str = other) -> str:
                if rng.random() < parameters.prob:
                    return found[0].replace(found[1], match_case(found[1], other))
                return found[0]

            text = pattern.sub(replace, text)
        return text

    return of_everything(change)


def person_name(parameters: PersonNames, names: Sequence[Name]) -> Rewrite:
    """Return what renames people, everywhere in an instance in the same way."""
    if parameters.preserve_gender and parameters.person_name_type == "last_name":
        raise ConfigError(
            ["person_name: last names have no gender to preserve."],
            "Add preserve_gender=False.",
        )
    options = dict(_options(parameters, names))

    def rewrite(instance: Instance, rng: Random) -> Instance:
        change = _Renaming(options, parameters.prob, rng)
        return rewritten(instance, change, references=True)

    return rewrite


class _Renaming:
    """What the names of one instance become; each name is decided once."""

    def __init__(
        self, options: Mapping[str, Sequence[str]], prob: float, rng: Random
    ) -> None:
        self._options = options
        self._prob = prob
        self._rng = rng
        self._new: dict[str, str] = {}  # a name that stays maps to itself

    def __call__(self, text: str) -> str:
        return "".join(map(self._token, re.split(r"(\W)", text)))

    def _token(self, token: str) -> str:
        name = token.lower()
        options = self._options.get(name)
        if options is None:
            return token
        if name not in self._new:
            if self._rng.random() >= self._prob:
                self._new[name] = ""
            elif options:
                self._new[name] = self._rng.choice(options)
        new = self._new.get(name)
        return match_case(token, new) if new else token


def _options(
    parameters: PersonNames, names: Sequence[Name]
) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield each name of the source and what it may become, in the list's order."""
    known: dict[tuple[str, str], list[str]] = {}
    for entry in names:
        if entry.kind == parameters.person_name_type:
            for category in entry.categories:
                known.setdefault(category, []).append(entry.name)
    targets = _people(parameters.target_class, known)
    for name in _people(parameters.source_class, known):
        genders = (known.get(("gender", g), []) for g in ("female", "male", "neutral"))
        own = next((g for g in genders if name in g), None)
        if parameters.preserve_gender and own is not None:
            yield name, [target for target in targets if target in own]
        else:
            yield name, targets


def _people(wanted: str, known: Mapping[tuple[str, str], list[str]]) -> list[str]:
    """The names in all of the categories wanted, in the order of the first."""
    found: list[list[str]] = []
    for part in wanted.lower().split("+"):
        category, _, value = part.partition("=")
        if (category, value) not in known:
            have = sorted(f"{c}={v}" for c, v in known)
            raise ConfigError(
                [f"No names of {part!r} in person_names.txt.{suggest(part, have)}"],
                f"It has these: {', '.join(have)}.",
            )
        found.append(known[category, value])
    return [name for name in found[0] if all(name in other for other in found[1:])]


DIALECT = Kind(
    title="Dialect (p = {prob})",
    description="Words of Standard American English are, with probability {prob}, replaced by variants of African American English, in references too.",
    make=dialect,
    parameters=Dialect,
    fairness=True,
    lists=("dialect",),
)
GENDER = Kind(
    title="Gender {mode} (p = {prob})",
    description="The {mode} for {source_class} people are, with probability {prob}, replaced by those for {target_class} people, in references too.",
    make=gender,
    parameters=Genders,
    fairness=True,
    lists=("gender",),
)
PERSON_NAME = Kind(
    title="Person names (p = {prob})",
    description="Names of people ({source_class}) are, with probability {prob}, replaced by others ({target_class}), the same ones everywhere in an instance and its references.",
    make=person_name,
    parameters=PersonNames,
    fairness=True,
    lists=("person_names",),
    seeded=False,
)
