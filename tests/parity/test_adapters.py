"""HELM's adapters and run expanders beside ours: the same specs, the same requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import structs

from helmsite.adapters import Window
from helmsite.errors import ConfigError
from helmsite.metrics.case import extract
from helmsite.schema import (
    AdapterSpec,
    Instance,
    Message,
    ModelCard,
    Reference,
    preset,
)
from helmsite.schema.adjusting import OF_TAGS, adjusted
from helmsite.schema.expanders import EXPANDERS, About, expand
from helmsite.schema.format_instructions import LETTERS, TEXTS, THOUGHTS
from helmsite.schema.manifest import JOINT
from tests.adapter_states import built, case_of, states
from tests.parity.reference import HelmError
from tests.parity.words import Words

if TYPE_CHECKING:
    from tests.parity.reference import Reference as Helm

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


@pytest.mark.parametrize("name", [n for n in EXPANDERS if n not in ONLY_BY_TAG])
def test_every_expander_makes_what_helm_makes_of_every_value(
    helm: Helm, name: str
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


def test_instructions_for_instructed_models_alone(helm: Helm) -> None:
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
    helm: Helm, tags: list[str], spec: AdapterSpec, scenario: str
) -> None:
    if "IDEFICS_INSTRUCT_MODEL_TAG" in tags:
        tags.append("IDEFICS_MODEL_TAG")
    card = ModelCard("org/m", tags=tuple(tags))
    case = {"spec": built(spec), "tags": tags, "scenario": scenario}
    assert built(adjusted(spec, card, f"{scenario}:a=b")) == helm.ask(case)


TEXTS_OF = st.text("ab \n.?é€😀", min_size=1, max_size=12)
BEFORE = st.sampled_from(["", "Q: ", "Input: ", "\n", "[x]", "é"])
AFTER = st.sampled_from(["", "\n", ". ", "\n\n"])
SUBSTITUTIONS = st.lists(
    st.sampled_from(
        [
            {"source": "\n", "target": "<br>\n"},
            {"source": "a+", "target": "A"},
            {"source": "b*", "target": "-"},
            {"source": "(Q): (.)", "target": r"\2 \1"},
        ]
    ),
    max_size=2,
)
VOCABULARY = ["ab", " a", " ab", "Q:", "\n\n", "ba", "Answer", "Yes", "é", "<s>"]
WORDS = [
    "the",
    "ferry",
    "was",
    "late",
    "again",
    "on",
    "jetty",
    "a",
    "boy",
    "counting",
    "gulls",
    "rain",
    "tide",
]


@st.composite
def specs(draw: st.DrawFn, method: str) -> AdapterSpec:
    made = {
        "method": method,
        "global_prefix": draw(BEFORE),
        "global_suffix": draw(AFTER),
        "instructions": draw(st.sampled_from(["", "Answer.\n", "Tell é."])),
        "input_prefix": draw(BEFORE),
        "input_suffix": draw(AFTER),
        "reference_prefix": draw(st.sampled_from(["A. ", "\nA) ", "1: ", "(a-a) "])),
        "reference_prefix_characters": draw(
            st.sampled_from([None, list("QRSTUVWXYZ")])
        ),
        "reference_suffix": draw(AFTER),
        "chain_of_thought_prefix": draw(BEFORE),
        "chain_of_thought_suffix": draw(AFTER),
        "output_prefix": draw(st.sampled_from(["", "Answer: ", "Answer:\n", " "])),
        "output_suffix": draw(AFTER),
        "instance_prefix": draw(AFTER),
        "substitutions": draw(SUBSTITUTIONS),
        "max_train_instances": draw(st.integers(0, 4)),
        "num_outputs": draw(st.integers(1, 3)),
        "num_train_trials": draw(st.integers(1, 3)),
        "num_trials": draw(st.integers(1, 3)),
        "sample_train": draw(st.booleans()),
        "temperature": draw(st.sampled_from([0.0, 1.0])),
        "max_tokens": draw(st.integers(1, 6)),
        "stop_sequences": draw(st.sampled_from([[], ["\n"], ["é", "."]])),
        "random": draw(st.sampled_from([None, "7"])),
        "multi_label": draw(st.booleans()),
    }
    spec = msgspec.convert(made, AdapterSpec)
    return structs.replace(spec, num_train_trials=spec.train_trials)


@st.composite
def instances(draw: st.DrawFn, wanted: int) -> list[Instance]:
    """Draw instances; HELM never ends where unlabelled ones have to fill up."""
    count = draw(st.integers(1, 6))
    made = [draw(instance(n, "train")) for n in range(count)]
    labelled = [i for i in made if i.gold]
    if len(labelled) < min(wanted, count):
        made = labelled
    asked = draw(st.integers(1, 3))
    splits = st.sampled_from(["valid", "test"])
    return made + [draw(instance(9 + n, draw(splits))) for n in range(asked)]


@st.composite
def instance(draw: st.DrawFn, number: int, split: str) -> Instance:
    texts = draw(st.lists(TEXTS_OF, min_size=0, max_size=4))
    tags = st.sampled_from([(), ("correct",), ("relevance=2", "rank=1", "correct")])
    extras: list[dict[str, Any]] = [{}, {"chain_of_thought": "So a."}, {"x": 1}]
    thought = draw(st.sampled_from(extras))
    return Instance(
        f"id{number}",
        draw(TEXTS_OF),
        references=tuple(Reference(t, draw(tags)) for t in texts),
        split=split,
        extra=thought,
    )


def compare(helm: Helm, spec: AdapterSpec, pool: Any, window: Window) -> int:
    case = case_of(spec, pool, window)
    expected = helm.ask(case)
    assert states(case) == expected
    return len(expected)


GENERATED = ["generation", *JOINT, "ranking_binary"]


@pytest.mark.parametrize("method", GENERATED)
@many
@given(data=st.data())
def test_requests_that_generate(helm: Helm, method: str, data: st.DataObject) -> None:
    spec = data.draw(specs(method))
    pool = data.draw(instances(spec.max_train_instances))
    limit = data.draw(st.none() | st.integers(spec.max_tokens + 1, 90))
    compare(helm, spec, pool, Window(Words(VOCABULARY), limit))


@pytest.mark.parametrize("kind", ["original", "calibrated"])
@many
@given(data=st.data())
def test_requests_for_given_choices(helm: Helm, kind: str, data: st.DataObject) -> None:
    spec = data.draw(specs(f"multiple_choice_separate_{kind}"))
    spec = structs.replace(spec, random=None, num_trials=1)
    pool = data.draw(instances(spec.max_train_instances))
    compare(helm, spec, pool, Window(Words(VOCABULARY)))


ROLES = st.sampled_from(["system", "user", "assistant"])


@many
@given(data=st.data())
def test_conversations(helm: Helm, data: st.DataObject) -> None:
    spec = structs.replace(
        data.draw(specs("chat")), instructions="", num_train_trials=1
    )
    turns = st.builds(Message, ROLES, TEXTS_OF)
    pool = [
        structs.replace(i, messages=tuple(data.draw(st.lists(turns, min_size=1))))
        for i in data.draw(instances(spec.max_train_instances))
    ]
    compare(helm, spec, pool, Window(Words(VOCABULARY)))


@many
@given(data=st.data())
def test_windows_of_documents(helm: Helm, data: st.DataObject) -> None:
    text = data.draw(st.text("ab \nQ:", min_size=1, max_size=400))
    pool = [Instance("id0", text, split="test")]
    prefix = data.draw(st.booleans())
    length = data.draw(st.integers(4, 60))
    window = Window(
        Words(VOCABULARY),
        max_request_length=length + int(prefix),
        has_prefix_token=prefix,
        max_sequence_length=length - data.draw(st.integers(0, int(not prefix))),
    )
    compare(helm, preset("language_modeling"), pool, window)


@pytest.mark.parametrize(
    ("limits", "count"),
    [
        ({"max_request_length": 2049, "max_sequence_length": 2048}, 3),
        ({"max_request_length": 2048}, 3),
        (
            {
                "max_request_length": 2049,
                "max_sequence_length": 2048,
                "has_prefix_token": True,
            },
            3,
        ),
        (
            {
                "max_request_length": 2049,
                "max_sequence_length": 1500,
                "max_sequence_and_generated_tokens_length": 1501,
            },
            4,
        ),
    ],
)
def test_a_document_of_five_thousand_tokens(
    helm: Helm, limits: dict[str, Any], count: int
) -> None:
    words = Words(["<s>", *(f" {word}" for word in WORDS)])
    text = "".join(f" {WORDS[n * n % len(WORDS)]}" for n in range(5000))
    assert len(words.encode(text)) == 5000
    pool = [Instance("id0", text, split="test")]
    window = Window(words, **limits)
    assert compare(helm, preset("language_modeling"), pool, window) == count


PATTERNS = [
    r"(?<=[Aa]nswer is )(A|B)",
    r"[A-D]",
    r"answer: *([a-d])?",
    r"^\s*(\w)(\w)",
    r"(?i)\b(yes|no)\b",
    r"B*",
]


@many
@given(
    pattern=st.sampled_from(PATTERNS),
    text=st.lists(
        st.sampled_from(["The answer is A", "answer: c", "B", "\n", " ", "Yes,", "é"]),
        max_size=5,
    ).map("".join),
)
def test_answers_that_a_pattern_finds(helm: Helm, pattern: str, text: str) -> None:
    expected = helm.ask({"pattern": pattern, "text": text})
    assert extract(pattern, text) == (expected or "")
