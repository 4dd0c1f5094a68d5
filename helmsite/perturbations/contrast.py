"""Contrast sets: an instance's own variants, written by people, with their answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import structs

from helmsite.errors import ScenarioError
from helmsite.perturbations.kinds import Kind
from helmsite.schema import Instance, Record, Reference

if TYPE_CHECKING:
    from random import Random

    from helmsite.perturbations.kinds import NoParameters, Rewrite

CONTRAST = "contrast"  # the key in Instance.extra


class Contrast(Record, frozen=True):
    """A variant: its input, and its references as pairs of text and tags."""

    input: str
    references: tuple[tuple[str, tuple[str, ...]], ...]


def contrast_sets(_: NoParameters) -> Rewrite:
    """Return what takes one of an instance's variants, if it has any."""

    def rewrite(instance: Instance, rng: Random) -> Instance:
        variants = _variants(instance)
        if not variants:
            return instance
        chosen = rng.choice(variants)
        references = tuple(Reference(text, tags) for text, tags in chosen.references)
        return structs.replace(instance, input=chosen.input, references=references)

    return rewrite


def _variants(instance: Instance) -> tuple[Contrast, ...]:
    given: Any = instance.extra.get(CONTRAST, ())
    try:
        return msgspec.convert(given, tuple[Contrast, ...])
    except msgspec.ValidationError as error:
        raise ScenarioError(
            f"Instance {instance.instance_id!r}: its contrast set cannot be read: {error}.",
            "Each variant is {'input': text, 'references': [[text, [tags]], ...]}.",
        ) from error


CONTRAST_SETS = Kind(
    title="Contrast sets",
    description="The instance is replaced by a variant of it that people wrote so that the answer changes, with the variant's references.",
    make=contrast_sets,
    robustness=True,
)
