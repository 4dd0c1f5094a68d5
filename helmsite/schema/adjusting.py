"""What a model needs in its prompts: changes of the adapter spec, as data in its card."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from helmsite.errors import ConfigError, suggest
from helmsite.schema import adapting
from helmsite.schema.expanders import About, expand
from helmsite.schema.manifest import AdapterSpec, Adjustment

if TYPE_CHECKING:
    from collections.abc import Iterator

    from helmsite.schema.manifest import ModelCard

JOINT_OR_GENERATION = {"method": ["generation", "multiple_choice_joint"]}
OF_TAGS: dict[str, Adjustment] = {
    "NO_NEWLINES_TAG": Adjustment("stop=hash", where=JOINT_OR_GENERATION),
    "NLG_PREFIX_TAG": Adjustment("global_prefix=nlg"),
    "CHATML_MODEL_TAG": Adjustment("chatml"),
    "ANTHROPIC_CLAUDE_1_MODEL_TAG": Adjustment("anthropic"),
    "ANTHROPIC_CLAUDE_2_MODEL_TAG": Adjustment("anthropic"),
    "ANTHROPIC_CLAUDE_3_MODEL_TAG": Adjustment("claude_3"),
    "IDEFICS_INSTRUCT_MODEL_TAG": Adjustment("idefics_instruct"),
    "LLAVA_MODEL_TAG": Adjustment("llava"),
    "OPEN_FLAMINGO_MODEL_TAG": Adjustment("open_flamingo"),
    "BUGGY_TEMP_0_TAG": Adjustment(
        "increase_temperature=0.0001", where={"temperature": 0}
    ),
}
"""What HELM does for models with a tag, in its order."""
USUAL = AdapterSpec("generation", output_prefix="Answer:\n")


def adjusted(adapter: AdapterSpec, card: ModelCard, scenario: str = "") -> AdapterSpec:
    """Return the spec as a model gets it: changed by its tags (HELM), then by its card.

    Args:
        adapter: the spec that a scenario, a suite and a run entry made.
        card: the model's; what is in its tags and its adjustments counts once.
        scenario: the run entry or its bare name, which chatml looks at.

    Raises:
        ConfigError: an adjustment that cannot be read, or that the spec cannot take.
    """
    about = About(scenario.partition(":")[0], card.tags)
    done: list[Adjustment] = []
    of_tags = (each for tag, each in OF_TAGS.items() if tag in card.tags)
    for adjustment in (*of_tags, *card.adjustments):
        if adjustment not in done and _concerns(adjustment, adapter):
            adapter = _apply(adapter, adjustment, about)
        done.append(adjustment)
    return adapter


def faults(adjustment: Adjustment) -> Iterator[str]:
    """Yield what is wrong with an adjustment by itself."""
    plain = msgspec.to_builtins(USUAL)
    for name in adjustment.where:
        if name not in plain:
            yield f"'where' has no setting {name!r}.{suggest(name, plain)}"
    if not adjustment.expand and not adjustment.set:
        yield "it says neither 'expand' nor 'set'."
    problems: list[str] = []
    adapting.check(adjustment.set, "", problems, "set")
    yield from (problem.removeprefix(": ") for problem in problems)
    if adjustment.expand:
        try:
            _expanded(USUAL, adjustment.expand, About())
        except ConfigError as error:
            yield from error.problems


def _concerns(adjustment: Adjustment, adapter: AdapterSpec) -> bool:
    plain = msgspec.to_builtins(adapter)
    return all(
        plain.get(name) in (wanted if isinstance(wanted, list) else [wanted])
        for name, wanted in adjustment.where.items()
    )


def _apply(adapter: AdapterSpec, adjustment: Adjustment, about: About) -> AdapterSpec:
    if adjustment.expand:
        adapter = _expanded(adapter, adjustment.expand, about)
    if adjustment.set:
        adapter = adapting.adapter_spec(adjustment.set, "adjustments.set", adapter)
    return adapter


def _expanded(adapter: AdapterSpec, entry: str, about: About) -> AdapterSpec:
    name, _, value = entry.partition("=")
    made = expand(adapter, name, value, about)
    if len(made) != 1:
        raise ConfigError(
            [
                f"{entry} makes {len(made)} runs of one; a model's card can have one only."
            ],
            "Write the number that is meant.",
        )
    return made[0].adapter
