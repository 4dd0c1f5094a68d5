"""HELM's adapters and run expanders beside ours: the same specs, the same requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import structs

from helmsite.errors import ConfigError
from helmsite.schema import AdapterSpec, ModelCard, preset
from helmsite.schema.adjusting import OF_TAGS, adjusted
from helmsite.schema.expanders import EXPANDERS, About, expand
from helmsite.schema.format_instructions import LETTERS, TEXTS, THOUGHTS
from tests.parity.reference import HelmError

if TYPE_CHECKING:
    from tests.parity.reference import Reference

many = settings(
    max_examples=200,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)

SPECS = {
    "generation": preset(
        "generation",
        instructions="Answer.",
        input_noun="Question",
        output_noun="Answer",
    ),
    "named": structs.replace(
        preset("generation", output_noun="Label"), stop_sequences=("\n", " ", ".")
    ),
    "joint": preset(
        "multiple_choice_joint", input_noun="Question", output_noun="Answer"
    ),
    "thoughts": preset(
        "multiple_choice_joint_chain_of_thought",
        instructions="Think.",
        output_noun="Answer",
    ),
    "ranking": preset("ranking_binary"),
    "summary": structs.replace(
        preset("generation"), output_prefix="Summarize the above article.\n"
    ),
    "warm": structs.replace(preset("generation"), temperature=0.7, max_tokens=1),
}
SCENARIOS = ("boolq", "msmarco", "summarization_cnndm", "summarization_xsum")
PLAIN_VALUES = {
    "format_prompt": ("Read: ",),
    "add_to_stop": ("newline", "END"),
    "num_train_trials": ("1", "3", 5),
    "max_train_instances": (3,),
    "max_eval_instances": (25,),
    "num_outputs": (4,),
    "num_trials": (2,),
    "num_output_tokens": (7,),
    "output_format_instructions": tuple(
        f"{name}{end}"
        for name in dict.fromkeys(
            [*LETTERS, *TEXTS, *THOUGHTS, "mmlu", "mcqa", "other"]
        )
        for end in ("", "_suffix", "_no_prefix", "_no_prefix_suffix")
    ),
    "temperature": (0, 0.5),
    "increase_temperature": (0.25, 1),
    "increase_max_tokens": (10,),
    "chatml": ("",),
}
ONLY_BY_TAG = {
    "anthropic",
    "claude_3",
    "amazon-nova",
    "idefics_instruct",
    "llava",
    "open_flamingo",
}


def built(spec: AdapterSpec) -> dict[str, Any]:
    return dict(msgspec.json.decode(msgspec.json.encode(spec)))


@pytest.mark.parametrize("name", [n for n in EXPANDERS if n not in ONLY_BY_TAG])
def test_every_expander_makes_what_helm_makes_of_every_value(
    helm: Reference, name: str
) -> None:
    expander = EXPANDERS[name]
    values = (*expander.known, *expander.sweeps, *PLAIN_VALUES.get(name, ()))
    compared = 0
    for value in values:
        for spec in SPECS.values():
            for scenario in SCENARIOS:
                case = {
                    "spec": built(spec),
                    "expand": [name, value],
                    "scenario": scenario,
                }
                try:
                    theirs = helm.ask(case)
                except HelmError:
                    if not (name == "chatml" and scenario == "msmarco"):
                        with pytest.raises(ConfigError):
                            expand(spec, name, value, About(scenario))
                    continue
                ours = expand(spec, name, value, About(scenario))
                assert [[e.label, built(e.adapter)] for e in ours] == theirs
                compared += len(theirs)
    assert compared >= len(values)


def test_instructions_for_instructed_models_alone(helm: Reference) -> None:
    tags = ["INSTRUCTION_FOLLOWING_MODEL_TAG"]
    name, value = "follow_format_instructions", "instruct"
    spec = SPECS["generation"]
    case = {"spec": built(spec), "expand": [name, value], "tags": tags}
    ((_, theirs),) = helm.ask(case)
    (ours,) = expand(spec, name, value, About(tags=tuple(tags)))
    assert built(ours.adapter) == theirs != built(spec)


@many
@given(
    tags=st.lists(st.sampled_from([*OF_TAGS, "TEXT_MODEL_TAG"]), unique=True),
    spec=st.sampled_from(list(SPECS.values())),
    scenario=st.sampled_from(["boolq", "summarization_xsum"]),
)
def test_models_are_adjusted_by_their_tags_as_in_helm(
    helm: Reference, tags: list[str], spec: AdapterSpec, scenario: str
) -> None:
    if "IDEFICS_INSTRUCT_MODEL_TAG" in tags:
        tags.append("IDEFICS_MODEL_TAG")
    card = ModelCard("org/m", tags=tuple(tags))
    case = {"spec": built(spec), "tags": tags, "scenario": scenario}
    assert built(adjusted(spec, card, f"{scenario}:a=b")) == helm.ask(case)
