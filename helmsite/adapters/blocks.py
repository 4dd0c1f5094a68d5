"""The blocks that a prompt is made of: one for each example, one for the question."""

from __future__ import annotations

from typing import TYPE_CHECKING

from helmsite.errors import AdapterError
from helmsite.schema.manifest import JOINT

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from helmsite.schema import AdapterSpec, Instance

NO_GOLD = "n/a"
BETWEEN_GOLDS = ", "
RELEVANT, IRRELEVANT = "Yes", "No"
WITH_THOUGHTS = "multiple_choice_joint_chain_of_thought"
CHAIN_OF_THOUGHT = "chain_of_thought"


def example_block(instance: Instance, spec: AdapterSpec) -> str:
    """Return an in-context example: its input, its choices if joint, its gold output."""
    if spec.method == "ranking_binary":
        return spec.instance_prefix.join(_judged(instance, spec))
    gold = instance.gold
    if spec.method in JOINT:
        pairs = zip(_named(instance, spec), instance.references, strict=True)
        gold = tuple(name for name, r in pairs if r.is_correct)
    if not spec.multi_label:
        gold = gold[:1]
    output = BETWEEN_GOLDS.join(gold) if gold else NO_GOLD
    if spec.method == WITH_THOUGHTS:
        output = _thought(instance, spec) + output
    return _question(instance, spec) + spec.output_prefix + output + spec.output_suffix


def document_block(instance: Instance, index: int, spec: AdapterSpec) -> str:
    """Return the question whether one document (a reference) answers the query."""
    reference = instance.references[index]
    return (
        f"{spec.reference_prefix}{reference.text}{spec.reference_suffix}"
        f"{spec.input_prefix}{instance.input}{spec.input_suffix}"
        f"{spec.output_prefix.rstrip()}"
    )


def _judged(instance: Instance, spec: AdapterSpec) -> Iterator[str]:
    """Yield a block for each document of an example, with its right answer."""
    blanks = spec.output_prefix[len(spec.output_prefix.rstrip()) :]
    for index, reference in enumerate(instance.references):
        word = RELEVANT if reference.is_correct else IRRELEVANT
        block = document_block(instance, index, spec)
        yield f"{block}{blanks}{word}{spec.output_suffix}"


def _thought(instance: Instance, spec: AdapterSpec) -> str:
    """Return what an example's answer is reasoned with; nothing where it says nothing."""
    said = instance.extra.get(CHAIN_OF_THOUGHT, "")
    if not isinstance(said, str):
        raise AdapterError(
            f"The chain of thought of instance {instance.instance_id} is no text.",
            f"Correct extra: {CHAIN_OF_THOUGHT} in the scenario's file.",
        )
    return spec.chain_of_thought_prefix + said + spec.chain_of_thought_suffix


def eval_block(instance: Instance, spec: AdapterSpec) -> str:
    """Return what is asked; it ends with the output prefix without trailing blanks."""
    return _question(instance, spec) + spec.output_prefix.rstrip()


def reference_letters(instance: Instance, spec: AdapterSpec) -> tuple[str, ...]:
    """Return what names each choice: A, B, ..., or `reference_prefix_characters`.

    Raises:
        AdapterError: `reference_prefix` holds no letter or digit to count from, or there
            are more choices than characters.
    """
    count = len(instance.references)
    if spec.reference_prefix_characters:
        letters = spec.reference_prefix_characters[:count]
        if len(letters) < count:
            raise AdapterError(
                f"Instance {instance.instance_id} has {count} choices, but "
                f"reference_prefix_characters names {len(letters)}.",
                "Add characters to reference_prefix_characters, or leave it out.",
            )
        return letters
    first = ord(_first_letter(spec))
    return tuple(chr(first + i) for i in range(count))


def _first_letter(spec: AdapterSpec) -> str:
    found = next((c for c in spec.reference_prefix if c.isalnum()), "")
    if not found:
        raise AdapterError(
            f"reference_prefix {spec.reference_prefix!r} has no letter or digit that "
            "could count the choices.",
            'Write it like reference_prefix = "A. ".',
        )
    return found


def _named(instance: Instance, spec: AdapterSpec) -> tuple[str, ...]:
    """Return what an example's answer says for each choice.

    That is its letter, after a chain of thought its whole prefix, as in "B. " (HELM).
    """
    letters = reference_letters(instance, spec)
    return _prefixes(letters, spec) if spec.method == WITH_THOUGHTS else letters


def _prefixes(letters: Sequence[str], spec: AdapterSpec) -> tuple[str, ...]:
    counter = _first_letter(spec)
    return tuple(spec.reference_prefix.replace(counter, each) for each in letters)


def _question(instance: Instance, spec: AdapterSpec) -> str:
    text = spec.input_prefix + instance.input + spec.input_suffix
    if spec.method not in JOINT:
        return text
    prefixes = _prefixes(reference_letters(instance, spec), spec)
    return text + "".join(
        prefix + reference.text + spec.reference_suffix
        for prefix, reference in zip(prefixes, instance.references, strict=True)
    )
