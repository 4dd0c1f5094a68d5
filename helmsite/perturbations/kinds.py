"""Kinds of perturbations: their facts, their parameters, and how they rewrite."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta, structs

from helmsite.registry import Registry
from helmsite.schema import Instance, Record, Reference

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    Change = Callable[[str, Random], str]
    Rewrite = Callable[[Instance, Random], Instance]


Probability = Annotated[float, Meta(ge=0, le=1)]


class NoParameters(Record, frozen=True):
    """The parameters of a perturbation that has none."""


@dataclass(frozen=True)
class Kind:
    """What a perturbation does whatever its parameters are.

    `make` gets the parameters and then, in order, the word lists named in `lists`; it
    returns what rewrites an instance with the instance's own random stream. `title` and
    `description` may name parameters in braces. `version` goes up whenever a rewritten
    text changes. Of an unseeded kind there is one version of an instance, whatever
    `seeds_per_instance` says.
    """

    title: str
    description: str
    make: Callable[..., Rewrite]
    parameters: type[Record] = NoParameters
    robustness: bool = False
    fairness: bool = False
    lists: tuple[str, ...] = ()
    seeded: bool = True
    version: int = 1


_HOME = "helmsite.perturbations"
KINDS = Registry(
    "perturbation",
    {
        "lowercase": f"{_HOME}.spelling:LOWERCASE",
        "typos": f"{_HOME}.spelling:TYPOS",
        "misspellings": f"{_HOME}.spelling:MISSPELLINGS",
        "contraction": f"{_HOME}.spelling:CONTRACTION",
        "expansion": f"{_HOME}.spelling:EXPANSION",
        "mild_mix": f"{_HOME}.spelling:MILD_MIX",
        "extra_space": f"{_HOME}.insertion:EXTRA_SPACE",
        "space": f"{_HOME}.insertion:SPACE",
        "filler_words": f"{_HOME}.insertion:FILLER_WORDS",
        "style": f"{_HOME}.insertion:STYLE",
        "synonym": f"{_HOME}.synonym:SYNONYM",
        "contrast_sets": f"{_HOME}.contrast:CONTRAST_SETS",
        "dialect": f"{_HOME}.identity:DIALECT",
        "gender": f"{_HOME}.identity:GENDER",
        "person_name": f"{_HOME}.identity:PERSON_NAME",
    },
)


def of_input(change: Change) -> Rewrite:
    """Return what rewrites an instance's input and leaves its references."""

    def rewrite(instance: Instance, rng: Random) -> Instance:
        return rewritten(instance, lambda text: change(text, rng))

    return rewrite


def of_everything(change: Change) -> Rewrite:
    """Return what rewrites an instance's references and input."""

    def rewrite(instance: Instance, rng: Random) -> Instance:
        return rewritten(instance, lambda text: change(text, rng), references=True)

    return rewrite


def rewritten(
    instance: Instance, change: Callable[[str], str], *, references: bool = False
) -> Instance:
    """Return an instance with its texts changed.

    The order counts, as all texts of an instance share one random stream: references
    (where they are changed), then the input, then what the user says in a conversation.
    """
    kept = instance.references
    if references:
        kept = tuple(Reference(change(r.text), r.tags) for r in kept)
    return structs.replace(
        instance,
        references=kept,
        input=change(instance.input),
        messages=tuple(
            structs.replace(m, content=change(m.content)) if m.role == "user" else m
            for m in instance.messages
        ),
    )


def match_case(source: str, target: str) -> str:
    """Return `target` in the case of `source`: lower, UPPER or Capitalised, else as it is.

    A text is lower or upper case only if each of its characters is: "don't" is neither.
    """
    if all(map(str.islower, source)):
        return target.lower()
    if all(map(str.isupper, source)):
        return target.upper()
    return target.capitalize() if source[0].isupper() else target
