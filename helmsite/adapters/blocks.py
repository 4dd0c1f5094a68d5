"""The blocks that a prompt is made of: one for each example, one for the question."""

from __future__ import annotations

from typing import TYPE_CHECKING

from helmsite.errors import AdapterError

if TYPE_CHECKING:
    from helmsite.schema import AdapterSpec, Instance

NO_GOLD = "n/a"
BETWEEN_GOLDS = ", "


def example_block(instance: Instance, spec: AdapterSpec) -> str:
    """Return an in-context example: its input, its choices if joint, its gold output."""
    gold = instance.gold
    if spec.method == "multiple_choice_joint":
        letters = reference_letters(instance, spec)
        pairs = zip(letters, instance.references, strict=True)
        gold = tuple(letter for letter, r in pairs if r.is_correct)
    if not spec.multi_label:
        gold = gold[:1]
    output = BETWEEN_GOLDS.join(gold) if gold else NO_GOLD
    return _question(instance, spec) + spec.output_prefix + output + spec.output_suffix


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


def _question(instance: Instance, spec: AdapterSpec) -> str:
    text = spec.input_prefix + instance.input + spec.input_suffix
    if spec.method != "multiple_choice_joint":
        return text
    counter = _first_letter(spec)
    letters = reference_letters(instance, spec)
    return text + "".join(
        spec.reference_prefix.replace(counter, letter)
        + reference.text
        + spec.reference_suffix
        for letter, reference in zip(letters, instance.references, strict=True)
    )
