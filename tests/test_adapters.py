"""What an adapter does where HELM is silent, faulty, or where something is wrong."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from msgspec import structs

import helmsite.adapters
import helmsite.adapters.prompts
import helmsite.schema.expressions
from helmsite.adapters import Window, adapt, eval_instances, in_context_examples
from helmsite.errors import AdapterError
from helmsite.schema import (
    AdapterSpec,
    Decoding,
    Instance,
    ModelIdentity,
    Reference,
    RunSpec,
    Substitution,
    adapting,
    preset,
)
from helmsite.schema.manifest import LATER

if TYPE_CHECKING:
    from collections.abc import Sequence

GENERATION = preset("generation", input_noun="Q", output_noun="A")
JOINT = preset("multiple_choice_joint", input_noun="Q", output_noun="A")
SEPARATE = preset("multiple_choice_separate_original")
NO_LIMIT = Window()


class Bytes:
    """One token for each byte of UTF-8; counts the texts it encoded."""

    def __init__(self) -> None:
        self.encoded: list[str] = []

    def encode(self, text: str) -> list[int]:
        self.encoded.append(text)
        return list(text.encode())

    def decode(self, ids: Sequence[int]) -> str:
        return bytes(ids).decode("utf-8", "replace")


def make(number: int, *golds: str, split: str = "train", text: str = "") -> Instance:
    references = (
        Reference("no"),
        *(Reference(g, ("correct",)) for g in golds),
    )
    return Instance(
        f"id{number}", text or f"q{number}", references, position=number, split=split
    )


def ids(instances: Sequence[Instance]) -> list[str]:
    return [i.instance_id for i in instances]


def test_unlabelled_instances_fill_what_the_labelled_cannot() -> None:
    """HELM never comes back from this: it goes round its empty classes forever."""
    pool = [make(0, "a"), make(1, "b"), *(make(i) for i in range(2, 10))]
    spec = AdapterSpec(max_train_instances=5)
    chosen = in_context_examples(pool, spec, trial=0)
    assert len(chosen) == len(set(ids(chosen))) == 5
    assert set(ids(chosen[:2])) == {"id0", "id1"}
    assert all(not e.gold for e in chosen[2:])
    assert chosen == in_context_examples(pool, spec, trial=0)
    assert chosen != in_context_examples(pool, spec, trial=1)


def test_an_empty_answer_is_a_label_like_any_other() -> None:
    """HELM stops at it and then asks for more unlabelled instances than there are."""
    pool = [make(i, "") for i in range(4)] + [make(i, "x") for i in range(4, 8)]
    chosen = in_context_examples(pool, AdapterSpec(max_train_instances=6), trial=3)
    assert sorted(e.gold[0] for e in chosen) == ["", "", "", "x", "x", "x"]


def test_only_training_instances_are_shown() -> None:
    pool = [make(0, "a", split="test"), make(1, "a"), make(2, "a", split="valid")]
    assert ids(in_context_examples(pool, AdapterSpec(), trial=0)) == ["id1"]


def test_without_a_limit_eval_instances_keep_the_order_of_the_data() -> None:
    pool = [make(i, split=s) for i, s in enumerate(("train", "test", "valid", "test"))]
    assert ids(eval_instances(pool, AdapterSpec())) == ["id1", "id2", "id3"]
    few = AdapterSpec(max_eval_instances=3)
    assert ids(eval_instances(pool, few)) == ["id1", "id2", "id3"]
    only = AdapterSpec(eval_splits=("valid",))
    assert ids(eval_instances(pool, only)) == ["id2"]
    assert eval_instances(pool, AdapterSpec(eval_splits=())) == []


def test_trials_come_one_after_another_and_none_is_repeated_without_examples() -> None:
    pool = [make(i, "x") for i in range(6)] + [make(i, split="test") for i in (6, 7)]
    spec = structs.replace(GENERATION, max_train_instances=2, num_train_trials=3)
    made = adapt(pool, spec, NO_LIMIT)
    expected = [(t, f"id{i}") for t in range(3) for i in (6, 7)]
    assert [(r.trial, r.instance_id) for r in made] == expected
    assert len({r.example_ids for r in made}) == 3
    zero = structs.replace(spec, max_train_instances=0)
    assert [r.trial for r in adapt(pool, zero, NO_LIMIT)] == [0, 0]


def test_given_instances_are_asked_in_their_order_with_their_perturbation() -> None:
    pool = [make(0, "x"), make(1, split="test"), make(2, split="test")]
    twin = structs.replace(pool[2], perturbation="lowercase~0", input="small")
    made = adapt(pool, GENERATION, NO_LIMIT, evaluate=[pool[2], twin])
    assert [(r.instance_id, r.perturbation) for r in made] == [
        ("id2", ""),
        ("id2", "lowercase~0"),
    ]
    assert made[1].prompt == "Q: q0\nA: x\n\nQ: small\nA:"
    assert made[1].example_ids == ("id0",)


def test_keys_of_calibrated_requests_are_unique_and_alternate() -> None:
    asked = make(0, "right", split="test")
    spec = preset("multiple_choice_separate_calibrated")
    made = adapt([asked], spec, NO_LIMIT)
    assert [(r.mode, r.reference_index, r.prompt) for r in made] == [
        ("original", 0, "q0 no"),
        ("calibration", 0, "Answer: no"),
        ("original", 1, "q0 right"),
        ("calibration", 1, "Answer: right"),
    ]
    assert len({r.key for r in made}) == 4
    assert [r.prompt[r.score_start :] for r in made] == [" no"] * 2 + [" right"] * 2
    assert all(r.decoding == Decoding(max_tokens=0) for r in made)


def test_a_reference_without_a_blank_before_it_is_scored_alone() -> None:
    spec = structs.replace(SEPARATE, output_prefix="\n=> ", input_suffix="?")
    (first, _) = adapt([make(0, "yes", split="test")], spec, NO_LIMIT)
    assert (first.prompt, first.score_start) == ("q0?\n=> no", len("q0?\n=>"))
    tight = structs.replace(SEPARATE, output_prefix="")
    (first, _) = adapt([make(0, "yes", split="test")], tight, NO_LIMIT)
    assert (first.prompt, first.score_start) == ("q0no", 2)


@pytest.mark.parametrize(
    ("source", "target", "prompt", "scored"),
    [
        ("q", "quest", "quest0 no", " no"),
        ("o$", "OO", "q0 nOO", " nOO"),
        ("0 n", "-", "q-o", "-o"),
        (" ", "", "q0no", "no"),
        ("^", "[NLG] ", "[NLG] q0 no", " no"),
        ("x*", ".", ".q.0. .n.o.", ". .n.o."),
    ],
)
def test_scoring_starts_at_the_reference_after_substitutions(
    source: str, target: str, prompt: str, scored: str
) -> None:
    spec = structs.replace(SEPARATE, substitutions=(Substitution(source, target),))
    request = adapt([make(0, "yes", split="test")], spec, NO_LIMIT)[0]
    assert request.prompt == prompt
    assert request.prompt[request.score_start :] == scored


@pytest.mark.parametrize(
    ("sources", "what"),
    [
        ([("^(q|qq)+$", "")], "takes too long"),
        ([("q", "q" * 100)] * 8, "makes a huge text"),
    ],
)
def test_a_substitution_without_end_is_an_error(
    sources: list[tuple[str, str]], what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(helmsite.schema.expressions, "LIMIT_S", 0.2)
    monkeypatch.setattr(helmsite.adapters.prompts, "LONGEST", 100_000)
    made = tuple(Substitution(*each) for each in sources)
    spec = structs.replace(SEPARATE, global_prefix="q" * 80 + ".", substitutions=made)
    with pytest.raises(AdapterError, match=what) as caught:
        adapt([make(0, "yes", split="test")], spec, NO_LIMIT)
    assert caught.value.hint


def test_a_prompt_that_fits_is_encoded_once() -> None:
    tokenizer = Bytes()
    pool = [make(i, "x") for i in range(5)] + [make(9, split="test")]
    (request,) = adapt(pool, GENERATION, Window(tokenizer, 2000))
    assert tokenizer.encoded == [request.prompt]


def test_examples_are_dropped_until_the_generated_tokens_fit_as_well() -> None:
    pool = [make(i, "x") for i in range(5)] + [make(9, split="test")]
    (whole,) = adapt(pool, GENERATION, NO_LIMIT)
    assert whole.num_train_instances == 5
    room = len(whole.prompt) + GENERATION.max_tokens
    (same,) = adapt(pool, GENERATION, Window(Bytes(), room))
    assert same == whole
    (less,) = adapt(pool, GENERATION, Window(Bytes(), room - 1))
    assert less.num_train_instances == 4
    assert less.example_ids == whole.example_ids[:4]
    assert not less.truncated
    assert whole.prompt.startswith(less.prompt.removesuffix("Q: q9\nA:"))


def test_a_cut_never_leaves_more_tokens_than_fit() -> None:
    """A half character decodes to three bytes, so that characters have to go."""
    asked = make(0, split="test", text="🍰" * 10)
    spec = structs.replace(GENERATION, max_tokens=0)
    for limit in range(4, 46):
        (request,) = adapt([asked], spec, Window(Bytes(), limit))
        assert request.truncated
        assert len(request.prompt.encode()) <= limit


def test_a_context_without_room_is_an_error_that_says_what_to_change() -> None:
    window = Window(Bytes(), GENERATION.max_tokens)
    with pytest.raises(AdapterError, match="no room") as caught:
        adapt([make(0, split="test")], GENERATION, window)
    assert "max_tokens below 5" in caught.value.hint


def test_a_continuation_longer_than_the_context_is_sent_whole_and_flagged() -> None:
    asked = make(0, "a very long reference", split="test")
    made = adapt([asked], SEPARATE, Window(Bytes(), 8))
    assert [(r.prompt, r.truncated) for r in made] == [
        ("q0 no", False),
        ("q0 a very long reference", True),
    ]


def test_a_context_cut_on_the_left_leaves_the_continuation_whole() -> None:
    asked = Instance("id0", "éé end", (Reference("ok"),), split="test")
    for limit, prompt in ((9, "é end ok"), (8, " end ok"), (4, "d ok"), (3, " ok")):
        (request,) = adapt([asked], SEPARATE, Window(Bytes(), limit))
        assert request.prompt == prompt
        assert request.truncated
        assert request.prompt[request.score_start :] == " ok"


def test_language_modelling_without_a_tokeniser_says_which_clients_have_one() -> None:
    spec = preset("language_modeling")
    with pytest.raises(AdapterError, match="no tokeniser") as caught:
        adapt([make(0, split="test")], spec, NO_LIMIT)
    assert "llamacpp" in caught.value.hint


def test_a_text_without_a_known_limit_is_one_window() -> None:
    spec = preset("language_modeling")
    for prefix in (False, True):
        window = Window(Bytes(), None, prefix)
        (request,) = adapt([make(0, split="test", text="naïve")], spec, window)
        assert (request.prompt, request.score_start) == ("naïve", 0)
        assert request.num_conditioning_tokens == int(prefix)


def test_an_empty_text_is_one_empty_window() -> None:
    empty = Instance("id0", "", split="test")
    (request,) = adapt([empty], preset("language_modeling"), Window(Bytes(), 9, True))
    assert (request.prompt, request.score_start) == ("", 0)


@pytest.mark.parametrize(("text", "limit"), [("🍰🍰", 3), ("a🍰", 4), ("ab", 1)])
def test_windows_too_small_for_a_character_are_an_error(text: str, limit: int) -> None:
    asked = make(0, split="test", text=text)
    with pytest.raises(AdapterError, match="too small for the text of instance id0"):
        adapt([asked], preset("language_modeling"), Window(Bytes(), limit))


class Lower(Bytes):
    """A tokeniser that normalises, as SentencePiece models may."""

    def encode(self, text: str) -> list[int]:
        return super().encode(text.lower())


def test_a_normalised_text_takes_the_place_of_the_text() -> None:
    asked = make(0, split="test", text="ABCDEFG")
    made = adapt([asked], preset("language_modeling"), Window(Lower(), 4))
    assert [r.prompt for r in made] == ["abcd", "defg"]


class Stripped(Bytes):
    """A tokeniser whose decoding drops a blank at the start, as SentencePiece's may."""

    def decode(self, ids: Sequence[int]) -> str:
        return super().decode(ids).removeprefix(" ")


def test_a_tokeniser_that_drops_a_leading_blank_loses_nothing_between_windows() -> None:
    asked = make(0, split="test", text="a b c d e f")
    made = adapt([asked], preset("language_modeling"), Window(Stripped(), 3))
    assert "".join(r.prompt[r.score_start :] for r in made) == "a b c d e f"


class Shuffled(Bytes):
    """Not a tokeniser: what it decodes depends on how much it is given."""

    def decode(self, ids: Sequence[int]) -> str:
        return super().decode(ids) if len(ids) > 5 else "?"


def test_a_tokeniser_that_decodes_to_something_else_is_an_error() -> None:
    asked = make(0, split="test", text="abcdefgh")
    with pytest.raises(AdapterError, match="something else"):
        adapt([asked], preset("language_modeling"), Window(Shuffled(), 4))


def test_choices_are_named_by_letters_or_given_characters() -> None:
    asked = Instance(
        "id0",
        "q",
        tuple(Reference(t, ("correct",) * (t != "x")) for t in ("x", "y", "z")),
        split="train",
    )
    target = structs.replace(asked, instance_id="id1", split="test")
    spec = structs.replace(
        JOINT, multi_label=True, reference_prefix_characters=("i", "ii", "iii")
    )
    (request,) = adapt([asked, target], spec, NO_LIMIT)
    question = "Q: q\ni. x\nii. y\niii. z\nA:"
    assert request.prompt == f"{question} ii, iii\n\n{question}"
    assert request.output_mapping == {"i": "x", "ii": "y", "iii": "z"}
    assert request.decoding == Decoding(max_tokens=1, top_k_per_token=5)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (structs.replace(JOINT, reference_prefix="- "), "no letter or digit"),
        (structs.replace(JOINT, reference_prefix_characters=("a",)), "names 1"),
        (AdapterSpec(), "Unknown adapter method ''"),
    ],
)
def test_settings_that_make_no_prompt_are_errors(
    spec: AdapterSpec, message: str
) -> None:
    with pytest.raises(AdapterError, match=message) as caught:
        adapt([make(0, "yes", split="test")], spec, NO_LIMIT)
    assert caught.value.hint


def test_a_thousand_five_shot_prompts_take_well_under_a_second() -> None:
    text = "word " * 120
    pool = [make(i, f"g{i % 4}", text=text) for i in range(20)]
    pool += [make(i, "g", split="test", text=text) for i in range(20, 1020)]
    start = time.perf_counter()
    made = adapt(pool, JOINT, NO_LIMIT)
    assert len(made) == 1000
    assert len(made[0].prompt) > 3000
    assert time.perf_counter() - start < 0.5


class Doubling(Bytes):
    """A tokeniser that puts an empty token before a text that begins inside a word."""

    def encode(self, text: str) -> list[int]:
        return ([0] if text[:1] not in {"", "a"} else []) + super().encode(text)

    def decode(self, ids: Sequence[int]) -> str:
        return super().decode([i for i in ids if i])


def test_a_window_that_has_more_tokens_when_encoded_again_ends_earlier() -> None:
    asked = make(0, split="test", text="abcdefgh")
    made = adapt([asked], preset("language_modeling"), Window(Doubling(), 4))
    assert [r.prompt for r in made] == ["abcd", "def", "fgh"]
    assert "".join(r.prompt[r.score_start :] for r in made) == "abcdefgh"


def test_a_context_that_has_more_tokens_when_cut_loses_characters() -> None:
    asked = Instance("id0", "abcdefgh", (Reference("abc"),), split="test")
    spec = structs.replace(SEPARATE, output_prefix="")
    (request,) = adapt([asked], spec, Window(Doubling(), 8))
    assert len(Doubling().encode(request.prompt)) == 8
    assert (request.prompt, request.score_start) == ("efghabc", 4)


def test_everything_fits_into_an_unknown_context() -> None:
    assert NO_LIMIT.fits("x" * 10_000, 10_000)
    assert not NO_LIMIT.is_limited


class Words(Bytes):
    """Words with the blank before them, numbered as they come."""

    def __init__(self) -> None:
        super().__init__()
        self.words: list[str] = []

    def encode(self, text: str) -> list[int]:
        found = re.findall(r" ?[^ ]+| ", text)
        self.words += sorted(set(found) - set(self.words))
        return [self.words.index(word) for word in found]

    def decode(self, ids: Sequence[int]) -> str:
        return "".join(self.words[i] for i in ids)


def shipped(name: str) -> list[Instance]:
    path = Path(helmsite.__file__).parent / "scenarios" / "data" / f"{name}.jsonl"
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    return [
        Instance(
            f"id{i}",
            row["question"],
            tuple(
                Reference(t, ("correct",) * ("answers" in row or j == row["answer"]))
                for j, t in enumerate(row.get("answers") or row["choices"])
            ),
            split=row["split"],
        )
        for i, row in enumerate(rows)
    ]


THINKING = structs.replace(
    preset(
        "multiple_choice_joint_chain_of_thought",
        input_noun="Question",
        output_noun="Answer",
    ),
    chain_of_thought_prefix="Let us think. ",
    chain_of_thought_suffix=" The answer is ",
)
RANKED = [
    Instance(
        "id0",
        "when is high tide",
        (
            Reference("A tide comes twice a day.", ("correct",)),
            Reference("The harbour was built in 1880."),
        ),
        split="train",
    ),
    Instance(
        "id1",
        "what do gulls eat",
        (Reference("Gulls eat fish and eggs.", ("correct",)),),
        split="test",
    ),
]


def thinking(knowledge: list[Instance]) -> list[Instance]:
    """Return the frog, with a thought, as the only example."""
    frog = next(i for i in knowledge if "young frog" in i.input)
    said = {"chain_of_thought": "Frogs lay eggs, and tadpoles hatch from them."}
    asked = [i for i in knowledge if i.split != "train"]
    return [structs.replace(frog, extra=said), *asked]


def test_a_thought_that_is_no_text_is_told() -> None:
    wrong = [make(0, "x"), make(1, "x"), make(2, "x", split="test")]
    wrong[0] = structs.replace(wrong[0], extra={"chain_of_thought": ["a"]})
    with pytest.raises(AdapterError, match="chain of thought of instance id0"):
        adapt(wrong, THINKING, NO_LIMIT)


def test_a_chat_needs_messages() -> None:
    with pytest.raises(AdapterError, match="Instance id0 has no messages"):
        adapt([make(0, split="test")], preset("chat"), NO_LIMIT)


def test_repeats_are_trials_with_seeds_of_their_own() -> None:
    spec = structs.replace(
        GENERATION, max_train_instances=1, num_train_trials=2, num_trials=3, random="7"
    )
    pool = [make(n, "x") for n in range(9)] + [make(9, split="test")]
    made = adapt(pool, spec, NO_LIMIT)
    assert [r.trial for r in made] == list(range(6))
    assert [r.decoding.random for r in made] == ["7", "1", "2"] * 2
    assert len({r.prompt for r in made[:3]}) == len({r.prompt for r in made[3:]}) == 1
    assert len({r.example_ids for r in made}) == 2
    assert len({r.key for r in made}) == 6


def test_the_prompts_of_the_docs_are_those_that_are_made() -> None:
    docs = Path(__file__).parents[1] / "docs" / "adapters.md"
    blocks = re.findall(r"```text\n(.*?)\n```", docs.read_text("utf-8"), re.DOTALL)
    few = "Answer each question in a few words."
    generation = preset(
        "generation", instructions=few, input_noun="Question", output_noun="Answer"
    )
    letters = (
        "The following are multiple choice questions (with answers) about general "
        "knowledge."
    )
    joint = preset(
        "multiple_choice_joint",
        instructions=letters,
        input_noun="Question",
        output_noun="Answer",
    )
    calibrated = preset("multiple_choice_separate_calibrated")
    short, knowledge = shipped("short_answers"), shipped("knowledge")
    made = [
        adapt(short, structs.replace(generation, max_train_instances=2), NO_LIMIT)[0],
        adapt(knowledge, structs.replace(joint, max_train_instances=2), NO_LIMIT)[0],
        adapt(thinking(knowledge), THINKING, NO_LIMIT)[0],
        *adapt(knowledge, calibrated, NO_LIMIT)[:2],
        adapt(RANKED, preset("ranking_binary"), NO_LIMIT)[0],
    ]
    text = "The ferry was late again. On the jetty a boy was counting gulls."
    spec = preset("language_modeling")
    windows = adapt([make(0, split="test", text=text)], spec, Window(Words(), 6))
    bars = [f"{w.prompt[: w.score_start]}|{w.prompt[w.score_start :]}" for w in windows]
    assert blocks == [*(r.prompt for r in made), "\n".join(bars)]


def test_the_public_names_are_complete() -> None:
    assert helmsite.adapters.__all__ == sorted(
        ["Window", "adapt", "eval_instances", "in_context_examples"]
    )


@pytest.mark.parametrize(
    ("changes", "trials"),
    [
        ({"max_train_instances": 2}, 3),
        ({"max_train_instances": 0}, 1),
        ({"method": "language_modeling"}, 1),
        ({"num_train_trials": 0}, 1),
    ],
)
def test_trials_that_would_be_equal_are_run_once(
    changes: dict[str, Any], trials: int
) -> None:
    spec = structs.replace(GENERATION, **{"num_train_trials": 3, **changes})
    assert spec.train_trials == trials
    if spec.method == "generation":
        pool = [make(0, "x"), make(1, "x"), make(2, split="test")]
        asked = adapt(pool, spec, NO_LIMIT)
        assert [r.trial for r in asked] == list(range(trials))


def test_every_setting_is_documented() -> None:
    text = (Path(__file__).parents[1] / "docs" / "adapters.md").read_text("utf-8")
    table = text.split("\n## Settings\n")[1].split("\n## ")[0]
    assert set(re.findall(r"`(\w+)`", table)) >= adapting.NAMES


BEFORE = {
    "generation": "c3aa5b22f4fdfdd047e02ef89232970090adeb799e0b437489a6b3b67ee3f870",
    "multiple_choice_joint": "57b92d8516df296f72d078719d8b6a8bd56b426910369f25aba6be9cd5b43087",
}


@pytest.mark.parametrize("method", BEFORE)
def test_a_spec_keeps_the_id_that_it_had_before_settings_came_later(
    method: Any,
) -> None:
    adapter = preset(method, instructions="Answer.")
    spec = RunSpec("boolq", ModelIdentity("org/m"), adapter)
    assert spec.spec_id == BEFORE[method]
    for name in LATER:
        changed = structs.replace(adapter, **{name: 3 if name == "num_trials" else "?"})
        assert structs.replace(spec, adapter=changed).spec_id != spec.spec_id
