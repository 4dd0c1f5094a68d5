"""Perturbed texts: HELM's, frozen; their rules one by one; what holds for any text."""

from __future__ import annotations

import json
import re
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import structs

from helmsite.errors import ConfigError, ScenarioError
from helmsite.perturbations import (
    KINDS,
    WordLists,
    facts_of,
    identities,
    perturb,
    resolve,
)
from helmsite.perturbations.kinds import match_case
from helmsite.perturbations.phrases import Separated, WholeWords
from helmsite.schema import Instance, Message, Reference
from tests.perturbation_texts import (
    CONTRACTIONS,
    DIALECT,
    MISSPELT,
    frozen_instances,
    instances,
    sentences,
    texts,
    write_lists,
)

FROZEN = Path(__file__).with_name("frozen") / "perturbations.json"
ALL = [
    *("lowercase", "typos(prob=0.1)", "misspellings(prob=0.5)", "contraction"),
    *("expansion", "mild_mix", "extra_space(num_spaces=2)", "space(max_spaces=3)"),
    *("filler_words", "style(suffix=watercolor)", "contrast_sets", "dialect(prob=0.5)"),
    *("gender(mode=terms,prob=1.0)", "gender(mode=pronouns,prob=0.5)"),
    "person_name(prob=0.5)",
]
quick = settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> WordLists:
    return WordLists(write_lists(tmp_path_factory.mktemp("lists")))


def changed(name: str, text: str, words: WordLists, item: str = "id0") -> str:
    """A perturbed text; the text itself where nothing is changed."""
    made = perturb([Instance(item, text, split="test")], resolve([name], words))
    return made[-1].input


def test_versions_equal_those_of_helm(words: WordLists) -> None:
    frozen = json.loads(FROZEN.read_text(encoding="utf-8"))
    originals = frozen_instances()
    versions = 0
    for name, number, expected in frozen:
        chosen = resolve([name], words)
        seeds = 2 if chosen[0].kind.seeded else 1
        made = perturb([originals[number]], chosen, seeds_per_instance=seeds)[1:]
        ours = [[v.input, [[r.text, list(r.tags)] for r in v.references]] for v in made]
        assert ours == expected, (name, number)
        versions += len(made)
    assert {name.partition("(")[0] for name, *_ in frozen} == {*KINDS.table()} - {
        "synonym"
    }
    assert versions >= 300


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("lowercase", "ÄB İ", "äb i̇"),
        ("extra_space(num_spaces=2)", "a b  c\n d", "a  b    c\n  d"),
        ("style(suffix=oil painting)", "A dog", "A dog, oil painting"),
        ("contraction", "It is cold. I am", "It's cold. I am"),  # no space after "am"
        ("contraction", "IT IS it is not ", "It's it's not "),
        ("contraction", "do not\tgo", "do not\tgo"),
        ("expansion", "CAN'T can't've don't.", "Cannot cannot've do not."),
        ("expansion", "Won't, I'M", "Will not, I am"),
        ("typos(prob=0.0)", "Straße K\u212a", "Straße KK"),  # Kelvin becomes a K
        ("gender(mode=pronouns,prob=1.0)", "he said he (his).", "he said she (her)."),
        ("gender(mode=pronouns,prob=1.0)", " HIMSELF His he ", " HERSELF Her she "),
        ("gender(mode=terms,prob=1.0)", "a man-king ", "a woman-queen "),
        (
            "gender(mode=terms,prob=1.0,source_class=female,target_class=neutral)",
            "my mom, sisters.",
            "my parent, siblings.",
        ),
        ("dialect(prob=1.0)", "I’m here! Going", "I’m hea Going"),
        ("dialect(prob=1.0)", "the here!Go the", "the here!Go the"),
        ("dialect(prob=1.0)", " here! here! here! ", " hea here! hea "),
        ("dialect(prob=1.0)", " b/c I can’t .", " cuz I cain ."),
        ("dialect(prob=1.0)", " W/ -the- ", " Wit -the- "),
        ("person_name(prob=1.0)", "Adam's ADAM adam_", "Tyrone's TYRONE adam_"),
        ("person_name(prob=1.0)", "Bobbie-Sue", "Bobbie-Sue"),
        ("person_name(prob=1.0)", "Greg", "Greg"),  # nobody of his gender
        ("misspellings(prob=1.0)", "A LOT of A lot", "A LOT of Alot"),
        (
            "filler_words(insert_prob=1.0,speaker_ph=False,fill_ph=False)",
            "",
            "possibly ",
        ),
        (
            "filler_words(insert_prob=1.0,max_num_insert=1,speaker_ph=False)",
            "a b",
            "ahh a b",
        ),
    ],
)
def test_rules(name: str, text: str, expected: str, words: WordLists) -> None:
    assert changed(name, text, words) == expected


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ("word", "WoRd", "word"),
        ("WORD", "WoRd", "WORD"),
        ("Word", "woRD", "Word"),
        ("wORD", "woRD", "woRD"),
        ("don't", "Do Not", "Do Not"),
        ("I", "ahm", "AHM"),
        ("北京", "x", "x"),
        ("", "X", "x"),
    ],
)
def test_case_follows_the_word(source: str, target: str, expected: str) -> None:
    assert match_case(source, target) == expected


def test_a_name_is_renamed_alike_in_input_and_references(words: WordLists) -> None:
    names = ["Emily", "emily, Adam", "EMILY"]
    item = Instance(
        "id5", "Adam met Emily.", tuple(map(Reference, names)), split="test"
    )
    _, made = perturb([item], resolve(["person_name(prob=1.0)"], words))
    new = made.references[0].text
    assert new in {"Aiesha", "Latisha", "Jo"}
    assert [r.text for r in made.references] == [
        new,
        f"{new.lower()}, Jamal"
        if made.input.startswith("Jamal")
        else f"{new.lower()}, Tyrone",
        new.upper(),
    ]
    assert made.input.endswith(f" met {new}.")


def test_originals_stand_before_their_versions(words: WordLists) -> None:
    train = Instance("id0", "It is he who", split="train")
    first = Instance("id1", "It is he who", position=1, split="valid")
    second = Instance("id2", "oslo", position=2, split="test")
    chosen = resolve(["mild_mix", "gender(mode=pronouns,prob=1.0)", "lowercase"], words)
    made = perturb([train, first, second], chosen, seeds_per_instance=2)
    keys = [(i.instance_id, i.perturbation) for i in made]
    assert keys == [
        ("id0", ""),
        ("id1", ""),
        ("id1", "mild_mix"),
        ("id1", "mild_mix~1"),
        ("id1", "gender(mode=pronouns,prob=1.0)"),
        ("id1", "gender(mode=pronouns,prob=1.0)~1"),
        ("id1", "lowercase"),
        ("id1", "lowercase~1"),
        ("id2", ""),
    ]
    assert {i.position for i in made if i.instance_id == "id1"} == {1}
    assert {i.split for i in made if i.instance_id == "id1"} == {"valid"}


def test_flags_of_the_augmenter(words: WordLists) -> None:
    item = Instance("id1", "oslo", split="test")
    chosen = resolve(["lowercase"], words)
    assert perturb([item], []) == [item]
    assert perturb([item], chosen) == [item]
    kept = perturb([item], chosen, skip_unchanged=False)
    assert [i.perturbation for i in kept] == ["", "lowercase"]
    assert perturb([item], chosen, include_original=False) == []


def test_what_a_user_says_in_a_conversation_is_perturbed(words: WordLists) -> None:
    says = [
        Message("system", "Be KIND"),
        Message("user", "HELLO"),
        Message("assistant", "Hi"),
    ]
    item = Instance("id1", "oslo", messages=tuple(says), split="test")
    _, made = perturb([item], resolve(["lowercase"], words))
    assert [m.content for m in made.messages] == ["Be KIND", "hello", "Hi"]


def test_contrast_sets_replace_input_and_references(words: WordLists) -> None:
    variants = [
        {"input": "Is it last?", "references": [["No", ["correct"]], ["Yes", []]]},
        {"input": "Is it first?", "references": [["Yes", ["correct"]]]},
    ]
    gold = (Reference("Yes", ("correct",)),)
    item = Instance(
        "id1", "Is it?", gold, split="test", extra={"contrast": variants, "k": 1}
    )
    plain = structs.replace(item, instance_id="id2", extra={})
    chosen = resolve(["contrast_sets"], words)
    original, made, other = perturb([item, plain], chosen)
    assert (original, other) == (item, plain)
    picked = variants[Random("id1").choice(range(2))]
    assert made.input == picked["input"]
    assert [[r.text, list(r.tags)] for r in made.references] == picked["references"]
    assert made.extra == {"k": 1}


def test_a_broken_contrast_set_names_its_instance(words: WordLists) -> None:
    item = Instance("id7", "Is it?", split="test", extra={"contrast": [{"input": 3}]})
    with pytest.raises(ScenarioError, match=r"'id7'.*contrast set") as caught:
        perturb([item], resolve(["contrast_sets"], words))
    assert "references" in caught.value.hint


def test_facts_and_identities_cover_every_seed(words: WordLists) -> None:
    chosen = resolve(["lowercase", "person_name(prob=1.0)", "typos(prob=0.1)"], words)
    facts = facts_of(chosen, 2)
    assert [f.name for f in facts] == [
        "lowercase",
        "lowercase~1",
        "person_name(prob=1.0)",
        "typos(prob=0.1)",
        "typos(prob=0.1)~1",
    ]
    assert [f.robustness for f in facts] == [True, True, False, True, True]
    assert [f.fairness for f in facts] == [False, False, True, False, False]
    named = [i.partition("#")[0] for i in identities(chosen, 2)]
    assert named == [f.name for f in facts]


def test_another_word_list_is_another_identity(tmp_path: Path) -> None:
    chosen = resolve(["dialect(prob=1.0)"], WordLists(write_lists(tmp_path)))
    (before,) = identities(chosen)
    assert re.fullmatch(r"dialect\(prob=1\.0\)#[0-9a-f]{8}", before)
    (tmp_path / "SAE_to_AAVE_mapping.json").write_text('{"the": ["da"]}')
    (after,) = identities(
        resolve(["dialect(prob=1.0)"], WordLists(lambda file: tmp_path / file))
    )
    assert before != after
    # A perturbation without word lists is its name.
    assert identities(resolve(["lowercase"])) == ("lowercase",)


@pytest.mark.parametrize("name", ALL)
def test_any_text_is_perturbed_in_the_same_way_each_time(
    name: str, words: WordLists
) -> None:
    chosen = resolve([name], words)

    @quick
    @given(instances())
    def check(item: Instance) -> None:
        made = perturb([item], chosen, seeds_per_instance=2)
        assert made == perturb([item], chosen, seeds_per_instance=2)
        assert made[0] == item
        assert all(v.input != item.input for v in made[1:])
        assert all(len(v.references) == len(item.references) for v in made[1:]) or (
            name == "contrast_sets"
        )
        # Alone or among others, an instance gets the same versions.
        others = [Instance("id100000", "It is he", split="test"), item]
        assert perturb(others, chosen, seeds_per_instance=2)[-len(made) :] == made

    check()


def reference(phrases: list[str], flags: int, around: str) -> re.Pattern[str]:
    inner = "|".join(map(re.escape, phrases))
    return re.compile(around.format(f"({inner})"), flags)


@pytest.mark.parametrize(
    ("phrases", "fold_case", "after"),
    [
        (MISSPELT, False, ""),
        (CONTRACTIONS, True, " "),
        (["can't", "can't've", "countries'", "a", "a lot", "3"], True, ""),
    ],
)
def test_whole_words_are_found_as_by_an_alternation(
    phrases: list[str], fold_case: bool, after: str
) -> None:
    plain = re.IGNORECASE if fold_case else 0
    pattern = reference(phrases, plain, rf"\b{{}}\b{after}")
    ours = WholeWords(phrases, fold_case=fold_case, after=after)

    @quick
    @given(st.one_of(sentences, texts), st.lists(st.sampled_from(phrases), max_size=5))
    def check(text: str, more: list[str]) -> None:
        for each in (text, text + " ".join(more), "-".join(more) + text):
            clean = each.translate({0x130: "I", 0x131: "i", 0x17F: "s"})
            expected = pattern.sub(lambda m: f"<{m[1]}>{after}", clean)
            assert ours.sub(clean, lambda word, _: f"<{word}>") == expected

    check()


def test_separated_words_are_found_as_by_an_alternation() -> None:
    phrases = [*DIALECT, "'cause", "-", "é"]
    pattern = reference(phrases, re.IGNORECASE, r"[^\w-]{}[^\w-]")
    ours = Separated(phrases)

    @quick
    @given(st.one_of(sentences, texts), st.lists(st.sampled_from(phrases), max_size=8))
    def check(text: str, more: list[str]) -> None:
        for each in (text, text + " ".join(more), "\n".join(more) + text):
            clean = each.translate({0x130: "I", 0x131: "i", 0x17F: "s"})
            expected = pattern.sub(lambda m: f"<{m[0]}|{m[1]}>", clean)
            assert ours.sub(clean, lambda m, word, _: f"<{m}|{word}>") == expected

    check()


def test_letters_that_only_look_alike_without_case_stay(words: WordLists) -> None:
    """HELM fails on them."""
    for text in (
        "\u0131t is cold",
        "\u017fhe is cold",
        "\u0130t is cold",
        " \u017fomething ",
    ):
        assert changed("contraction", text, words) == text
        assert changed("dialect(prob=1.0)", text, words) == text


def test_missing_names_of_a_class_are_an_error(words: WordLists) -> None:
    chosen = resolve(["person_name(prob=1.0,source_class=race=whit)"], words)
    with pytest.raises(
        ConfigError, match=r"race=whit'.*Did you mean 'race=white_american'"
    ) as caught:
        perturb([Instance("id1", "Adam", split="test")], chosen)
    assert "gender=female" in caught.value.hint
    wrong = resolve(["person_name(prob=1.0,person_name_type=last_name)"], words)
    with pytest.raises(ConfigError, match="no gender"):
        perturb([Instance("id1", "Adam", split="test")], wrong)


def test_mild_mix_draws_one_number_a_word_then_one_a_gap(words: WordLists) -> None:
    lists = {word: forms for word, *forms in words["misspellings"]}
    known = [word for word in lists if re.fullmatch("[a-z]+", word)][:2000]
    known.remove("cannot")  # it is contracted
    rng = Random("id9")
    made = [rng.choice(lists[w]) if rng.random() < 0.1 else w for w in known]
    gap = re.compile(" +")  # some misspellings have one too
    expected = gap.sub(lambda _: " " * rng.randint(1, 3), " ".join(made).lower())
    assert changed("mild_mix", " ".join(known).upper(), words, "id9") == expected
