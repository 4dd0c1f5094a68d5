"""The data sets that ship: frozen, free of duplicates, balanced, kept out of training."""

import hashlib
import json
import re
import unicodedata
from collections import Counter
from pathlib import Path
from statistics import mean
from typing import Any

import pytest

from helmsite.adapters import Window, adapt
from helmsite.clients.ngram import read_corpus
from helmsite.metrics import is_known
from helmsite.scenarios import load
from helmsite.schema import Request

DATA = Path(__file__).parents[1] / "helmsite" / "scenarios" / "data"

# Frozen before any model saw them. A changed set needs a new file name, not a new hash.
FROZEN = {
    "knowledge": "184cdf5a227e017a77b9d5ce3c65f527fd1313828a6a06b4cb1024ae429c5e10",
    "plain_text": "1b8af03e48a3f3b0cc0f9f460983906d754176e621e45c5d4cea22960bbe5a5e",
    "short_answers": "bb393f7870dea4cd0b240b6b19de3b58187ebb6f451d098fe500a5f2b4528344",
}
SUBJECTS = {
    "astronomy",
    "biology",
    "chemistry",
    "everyday life",
    "geography",
    "history",
    "language and literature",
    "mathematics",
    "physics",
}
KINDS = {"who", "what", "where", "when", "how many"}


def rows(name: str) -> list[dict[str, Any]]:
    text = (DATA / f"{name}.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())


def plain(text: str) -> str:
    return " ".join(words(text))


KNOWLEDGE = rows("knowledge")
SHORT = rows("short_answers")
PROSE = rows("plain_text")


@pytest.mark.parametrize("name", sorted(FROZEN))
def test_sets_are_frozen(name):
    data = (DATA / f"{name}.jsonl").read_bytes()
    assert hashlib.sha256(data).hexdigest() == FROZEN[name]


@pytest.mark.parametrize("name", sorted(FROZEN))
def test_text_is_clean_composed_unicode(name):
    text = (DATA / f"{name}.jsonl").read_text(encoding="utf-8")
    assert unicodedata.is_normalized("NFC", text)
    strange = {c for c in text if unicodedata.category(c) in {"Cc", "Cf", "Co", "Cn"}}
    assert strange == {"\n"}
    assert "  " not in text
    for row in rows(name):
        for value in row.values():
            texts = value if isinstance(value, list) else [value]
            assert all(t == t.strip() for t in texts if isinstance(t, str))


def test_sets_have_the_promised_sizes():
    assert Counter(r["split"] for r in KNOWLEDGE) == {"train": 36, "test": 118}
    assert Counter(r["split"] for r in SHORT) == {"train": 25, "test": 84}
    assert len(PROSE) == 24


def test_no_question_is_asked_twice():
    asked = Counter(plain(r["question"]) for r in KNOWLEDGE + SHORT)
    assert [q for q, n in asked.items() if n > 1] == []


def test_no_question_is_almost_another_with_the_same_answer():
    def key(row):
        gold = row["choices"][row["answer"]] if "choices" in row else row["answers"][0]
        return plain(gold), frozenset(words(row["question"]))

    items = [key(r) for r in KNOWLEDGE + SHORT]
    close = [
        (a, b)
        for i, (gold, a) in enumerate(items)
        for other, b in items[:i]
        if gold == other and len(a & b) / len(a | b) >= 0.7
    ]
    assert close == []


def test_knowledge_has_four_different_short_options_and_one_answer():
    for row in KNOWLEDGE:
        assert set(row) == {
            "question",
            "choices",
            "answer",
            "subject",
            "level",
            "split",
        }
        assert len({plain(c) for c in row["choices"]}) == 4
        assert row["answer"] in range(4)
        assert row["question"].endswith("?")
        assert all(0 < len(c.split()) <= 3 for c in row["choices"])


def test_an_answer_does_not_stand_in_its_question():
    for row in KNOWLEDGE:
        gold = plain(row["choices"][row["answer"]])
        assert f" {gold} " not in f" {plain(row['question'])} "
    for row in SHORT:
        question = f" {plain(row['question'])} "
        assert not any(f" {plain(a)} " in question for a in row["answers"])


def test_knowledge_attributes_are_known_and_all_in_both_splits():
    for split in ("train", "test"):
        part = [r for r in KNOWLEDGE if r["split"] == split]
        assert {r["subject"] for r in part} == SUBJECTS
        assert {r["level"] for r in part} == {"easy", "medium"}
    assert min(Counter(r["subject"] for r in KNOWLEDGE).values()) >= 16


def test_right_answers_are_spread_evenly_over_the_letters():
    for split in ("train", "test"):
        count = Counter(r["answer"] for r in KNOWLEDGE if r["split"] == split)
        assert max(count.values()) - min(count.values()) <= 1


def test_the_length_of_an_option_does_not_give_it_away():
    right = [len(r["choices"][r["answer"]]) for r in KNOWLEDGE]
    wrong = [
        len(c)
        for r in KNOWLEDGE
        for i, c in enumerate(r["choices"])
        if i != r["answer"]
    ]
    assert abs(mean(right) - mean(wrong)) < 0.5
    longest = mean(
        len(r["choices"][r["answer"]])
        > max(len(c) for i, c in enumerate(r["choices"]) if i != r["answer"])
        for r in KNOWLEDGE
    )
    assert longest <= 0.25


def test_options_agree_in_their_articles():
    """An article before some options only would be a hint, bar names that have none."""

    def article(text):
        first = text.split()[0]
        return first if first in {"a", "an", "the"} else ""

    for row in KNOWLEDGE:
        kinds = {article(c).replace("an", "a") for c in row["choices"]}
        assert kinds <= {"a"} or kinds <= {"the", ""}, row["question"]


def test_short_answers_have_distinct_short_aliases():
    for row in SHORT:
        assert set(row) == {"question", "answers", "kind", "split"}
        folded = [a.casefold() for a in row["answers"]]
        assert folded
        assert len(set(folded)) == len(folded), row["question"]
        assert all(0 < len(a.split()) <= 7 for a in row["answers"])


def test_short_answer_kinds_fit_their_questions():
    for row in SHORT:
        assert row["question"].casefold().startswith(row["kind"] + " ")
    for split in ("train", "test"):
        assert {r["kind"] for r in SHORT if r["split"] == split} == KINDS


def test_counts_are_accepted_as_digits_and_as_words():
    for row in SHORT:
        if row["kind"] == "how many":
            assert row["answers"][0].isdecimal()
            assert any(
                a.replace("-", " ").replace(" ", "").isalpha() for a in row["answers"]
            )


def test_prose_has_paragraphs_of_similar_length_in_as_many_registers():
    assert all(60 <= len(r["text"].split()) <= 130 for r in PROSE)
    assert len({r["register"] for r in PROSE}) == len(PROSE)


def test_training_text_holds_no_item():
    corpus = f" {plain(' '.join(read_corpus()))} "
    for row in KNOWLEDGE + SHORT:
        assert plain(row["question"]) not in corpus
    runs = words(corpus)
    seen = {tuple(runs[i : i + 7]) for i in range(len(runs) - 6)}
    for row in PROSE:
        text = words(row["text"])
        shared = [
            text[i : i + 7]
            for i in range(len(text) - 6)
            if tuple(text[i : i + 7]) in seen
        ]
        assert shared == []


@pytest.mark.parametrize(
    ("entry", "train", "test", "main"),
    [
        ("knowledge", 36, 118, "exact_match"),
        ("short_answers", 25, 84, "quasi_exact_match"),
        ("plain_text", 0, 24, "bits_per_byte"),
    ],
)
def test_scenario_files_load_their_sets(entry, train, test, main):
    scenario = load(entry)
    splits = Counter(i.split for i in scenario.instances)
    assert splits == Counter(train=train, test=test)
    assert scenario.facts.main_metric == main
    assert scenario.facts.licence == "Apache-2.0"
    assert scenario.data.sha256 == FROZEN[entry]
    assert all(is_known(name) for name in scenario.metrics)


def test_knowledge_instances_have_one_right_reference_and_their_attributes():
    for row, instance in zip(KNOWLEDGE, load("knowledge").instances, strict=True):
        assert instance.gold == (row["choices"][row["answer"]],)
        assert [r.text for r in instance.references] == row["choices"]
        assert instance.attributes["subject"] == (row["subject"],)
        assert instance.attributes["level"] == (row["level"],)


def test_every_alias_of_a_short_answer_is_a_right_reference():
    for row, instance in zip(SHORT, load("short_answers").instances, strict=True):
        assert list(instance.gold) == row["answers"]


def prompts(entry: str) -> list[Request]:
    scenario = load(entry)
    [one] = [i for i in scenario.instances if "capital of Japan" in i.input]
    return adapt([one], scenario.adapter, Window())


def test_knowledge_prompts_read_as_questions_with_letters():
    [request] = prompts("knowledge")
    assert request.prompt == (
        "The following are multiple choice questions (with answers) about general "
        "knowledge.\n\n"
        "Question: What is the capital of Japan?\n"
        "A. Tokyo\nB. Seoul\nC. Osaka\nD. Beijing\nAnswer:"
    )


@pytest.mark.parametrize("kind", ["original", "calibrated"])
def test_separate_scoring_completes_the_question_with_each_option(kind):
    found = prompts(f"knowledge:method=multiple_choice_separate_{kind}")
    shown = [r for r in found if r.mode == "original"]
    assert [r.prompt[r.score_start :] for r in shown] == [
        " Tokyo",
        " Seoul",
        " Osaka",
        " Beijing",
    ]
    question = "Question: What is the capital of Japan?\nAnswer:"
    assert {r.prompt[: r.score_start] for r in shown} == {question}
    bare = {r.prompt[: r.score_start] for r in found if r.mode == "calibration"}
    expected = {"Question: Answer:\nAnswer:"} if kind == "calibrated" else set()
    assert bare == expected
