"""Text and set metrics: HELM's figures, and what must hold for any pair of texts."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helmsite.metrics import TextMetric
from helmsite.metrics.names import load
from helmsite.metrics.sets import elements
from helmsite.metrics.text import normalise

FROZEN = Path(__file__).with_name("frozen") / "text_scores.json"
TEXT = [
    "exact_match",
    "quasi_exact_match",
    "prefix_exact_match",
    "quasi_prefix_exact_match",
    "exact_match_indicator",
    "f1_score",
]
SETS = ["exact_set_match", "iou_set_match", "f1_set_match"]
OTHERS = [
    "quasi_leave_articles_exact_match",
    "final_number_exact_match",
    "absolute_value_difference",
    "math_equiv",
    "math_equiv_chain_of_thought",
    "rouge_1",
    "rouge_2",
    "rouge_l",
    "bleu_1",
    "bleu_4",
]

WORDS = st.sampled_from(
    ["a", "the", "The", "cat", "Cat.", "is", "and", "5", "-5", "北京", "’", "", "."]
)
texts = st.one_of(
    st.text(max_size=12),
    st.lists(WORDS, max_size=6).map(" ".join),
)


def metric(name: str) -> Callable[[str, str], float]:
    found = load(name)
    assert isinstance(found, TextMetric)
    return found


@pytest.mark.parametrize("name", TEXT + SETS + OTHERS)
def test_figures_equal_those_of_helm(name: str) -> None:
    frozen = json.loads(FROZEN.read_text(encoding="utf-8"))
    column, score = frozen["metrics"].index(name), metric(name)
    ours = [score(gold, prediction) for gold, prediction, _ in frozen["pairs"]]
    theirs = [figures[column] for _, _, figures in frozen["pairs"]]
    assert ours == pytest.approx(theirs, abs=1e-12)
    assert len(ours) >= 400
    assert len(set(theirs)) > 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The  Cat,\ta DOG!", "cat dog"),
        ("-5", "5"),
        ("U.S.", "us"),
        ("l’eau", "l’eau"),  # only ASCII punctuation goes
        ("theatre", "theatre"),
        ("an", ""),
        ("NBSP\u00a0here", "nbsp here"),
        ("。北京", "。北京"),
        ("the-end", "theend"),  # punctuation goes before articles do
        ("\uff21", "\uff41"),  # full width letters stay full width
    ],
)
def test_normalising_deletes_punctuation_then_articles(
    text: str, expected: str
) -> None:
    assert normalise(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Nothing.", set()),
        ("Nothing", {"Nothing"}),
        ("", {""}),
        ("The cat is red and small.", {"red", "small"}),
        ("that is, it is a and b", {"a", "b"}),
        ("1.5 and 2", {"15", "2"}),
    ],
)
def test_a_set_is_what_follows_the_last_is(text: str, expected: set[str]) -> None:
    assert elements(text) == expected


@pytest.mark.parametrize("name", ["prefix_exact_match", "quasi_prefix_exact_match"])
def test_an_empty_gold_text_is_a_prefix_of_every_answer_as_in_helm(name: str) -> None:
    assert metric(name)("", "whatever") == 1
    assert metric(name)("", "") == 0


def test_f1_counts_words_as_sets_as_in_helm() -> None:
    assert metric("f1_score")("cat cat sat", "cat sat") == 1


def test_punctuation_makes_different_numbers_equal_as_in_helm() -> None:
    assert metric("quasi_exact_match")("-5", "5") == 1
    assert metric("quasi_exact_match")("1.5", "15") == 1


@settings(deadline=None)
@given(texts, texts, st.sampled_from(TEXT + SETS))
def test_every_score_is_between_0_and_1(gold: str, answer: str, name: str) -> None:
    assert 0 <= metric(name)(gold, answer) <= 1


@settings(deadline=None)
@given(texts, texts)
def test_exact_implies_quasi_implies_prefix(gold: str, answer: str) -> None:
    exact, quasi = metric("exact_match"), metric("quasi_exact_match")
    prefix, loose = metric("prefix_exact_match"), metric("quasi_prefix_exact_match")
    assert exact(gold, answer) <= quasi(gold, answer) <= loose(gold, answer)
    assert exact(gold, answer) <= prefix(gold, answer)


@settings(deadline=None)
@given(texts)
def test_a_text_matches_itself_unless_it_is_empty(text: str) -> None:
    for name in TEXT[:4]:
        assert metric(name)(text, text) == float(bool(text))
    assert metric("f1_score")(text, text) == float(bool(normalise(text)))


@settings(deadline=None)
@given(texts, texts)
def test_f1_and_full_texts_do_not_care_which_is_gold(one: str, other: str) -> None:
    for name in ("f1_score", "exact_match_indicator"):
        assert metric(name)(one, other) == pytest.approx(metric(name)(other, one))
    if one and other:
        assert metric("exact_match")(one, other) == metric("exact_match")(other, one)
        quasi = metric("quasi_exact_match")
        assert quasi(one, other) == quasi(other, one)


@settings(deadline=None)
@given(texts, texts)
def test_equal_words_have_f1_of_1(one: str, other: str) -> None:
    if normalise(one) and normalise(one) == normalise(other):
        assert metric("f1_score")(one, other) == 1


@settings(deadline=None)
@given(texts.filter(lambda t: "\n" not in t), texts.filter(lambda t: "\n" not in t))
def test_set_metrics_agree_on_full_and_no_overlap(one: str, other: str) -> None:
    exact, iou, f1 = (metric(name)(one, other) for name in SETS)
    assert exact <= iou <= f1
    assert (exact == 1) == (iou == 1) == (f1 == 1)
    assert (iou == 0) == (f1 == 0)
    if elements(one) and elements(other):
        assert iou == metric("iou_set_match")(other, one)


@settings(deadline=None)
@given(texts)
def test_normalising_twice_needs_no_third_time(text: str) -> None:
    twice = normalise(normalise(text))
    assert normalise(twice) == twice
