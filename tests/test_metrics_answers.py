"""Metrics of whole instances: rankings, copied text, diversity and summaries."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helmsite.errors import MetricError
from helmsite.metrics import applicable, score
from helmsite.metrics.copying import distance, similarity
from helmsite.metrics.extras import is_there
from helmsite.metrics.names import load, require
from helmsite.metrics.summarization import fragments
from helmsite.schema import (
    AdapterSpec,
    Completion,
    Decoding,
    Instance,
    Reference,
    Reply,
    Request,
)

RANKED = AdapterSpec(method="ranking_binary", num_outputs=1, max_train_instances=0)
PLAIN = AdapterSpec(method="generation", num_outputs=1, max_train_instances=0)


def query(*documents: str) -> Instance:
    """A query; each document is its tags, separated by blanks."""
    references = tuple(
        Reference(f"document {i}", tuple(tags.split()))
        for i, tags in enumerate(documents)
    )
    return Instance("id1", "query", references, split="test")


def judged(index: int, text: str, logprob: float | None) -> Reply:
    request = Request("id1", "?", Decoding(), reference_index=index)
    return Reply(request, Completion(text=text, logprob=logprob))


def asked(name: str, instance: Instance, replies: list[Reply], adapter: AdapterSpec):
    (found,) = score([instance], replies, adapter, [name])
    return found


FOUR = query(
    "relevance=1 correct rank=2",
    "rank=1",
    "relevance=1 correct",
    "rank=3",
)
ANSWERS = [
    judged(0, "No", -0.5),  # the surer the lower
    judged(1, "Yes", -0.9),
    judged(2, " yes", -0.1),
    judged(3, "No", -2.0),
]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("RR@1", 1.0),
        ("RR@10", 1.0),
        ("RR@10 (topk=3)", 1 / 3),
        ("RR@2 (topk=3)", 0.0),
        ("Success@1", 1.0),
        ("Success@2 (topk=3)", 0.0),
        ("Recall@2", 0.5),
        ("Recall@4", 1.0),
        ("Recall@9 (topk=2)", 0.5),
        ("NDCG@10", (1 + 1 / math.log2(5)) / (1 + 1 / math.log2(3))),
        ("ref2_rank", 0.0),
        ("ref1_rank", 1.0),
        ("ref3_rank", 2.0),
        ("ref0_rank", 3.0),
    ],
)
def test_measures_of_a_ranking(name: str, expected: float) -> None:
    assert asked(name, FOUR, ANSWERS, RANKED).value == pytest.approx(expected)


def test_gain_is_the_relevance_itself_and_a_weak_one_is_no_hit() -> None:
    graded = query("relevance=1", "relevance=3 correct")
    answers = [judged(0, "Yes", -1.0), judged(1, "No", -1.0)]
    ndcg = (1 + 3 / math.log2(3)) / (3 + 1 / math.log2(3))
    assert asked("NDCG@10", graded, answers, RANKED).value == pytest.approx(ndcg)
    assert asked("RR@10", graded, answers, RANKED).value == 0.5


def test_only_weakly_relevant_documents_are_measurable_and_never_found() -> None:
    weak = query("relevance=1", "rank=1")
    answers = [judged(0, "Yes", -1.0), judged(1, "No", -1.0)]
    assert asked("RR@10", weak, answers, RANKED).value == 0.0
    assert asked("Recall@10", weak, answers, RANKED).value == 0.0


@pytest.mark.parametrize(
    ("instance", "answers"),
    [
        (query("rank=1", "rank=2"), [judged(0, "Yes", -1.0), judged(1, "No", -1.0)]),
        (FOUR, [judged(i, "Yes", None) for i in range(4)]),
    ],
    ids=["nothing is relevant", "no log-probabilities"],
)
def test_a_ranking_that_says_nothing_is_not_measurable(
    instance: Instance, answers: list[Reply]
) -> None:
    found = asked("RR@10", instance, answers, RANKED)
    assert (found.value, found.missing) == (None, "not measurable")


def test_a_document_that_was_not_asked_about_is_missed() -> None:
    found = asked("RR@10", FOUR, ANSWERS[:3], RANKED)
    assert (found.value, found.missing) == (None, "not asked")


def test_rankings_have_their_own_metrics_and_no_text_metrics() -> None:
    names = applicable("ranking_binary", ["RR@10", "NDCG@7 (topk=30)", "exact_match"])
    assert names[:2] == ("RR@10", "NDCG@7 (topk=30)")
    assert not {"exact_match", "logprob", "ece_10_bin", "max_prob"} & {*names}
    assert "num_prompt_tokens" in names
    assert "RR@10" not in applicable("generation", ["RR@10", "exact_match"])


@pytest.mark.parametrize("name", ["RR@0", "NDCG", "RR@10 (topk=0)", "ref_rank"])
def test_a_name_that_no_measure_has_is_unknown(name: str) -> None:
    with pytest.raises(MetricError, match="Unknown metric") as caught:
        load(name)
    assert caught.value.hint == "Type: helmsite ls metrics"


def said(*texts: str) -> list[Reply]:
    request = Request("id1", "?", Decoding(num_completions=len(texts)))
    return [Reply(request, Completion(text=t), i) for i, t in enumerate(texts)]


def poem(rest: str) -> Instance:
    start = "roses are red "
    return Instance(
        "id1", start, (Reference(start + rest, ("correct",)),), split="test"
    )


@pytest.mark.parametrize(
    ("made", "prefix", "edits", "alike"),
    [
        ("violets are blue", 3, 0, 1.0),
        ("violets are green", 2, 1, 2 / 3),
        ("tulips are blue", 0, 2, 1 / 3),  # the text is cut to "violets are bl"
        ("", 0, 0, 0.0),
    ],
)
def test_copying_is_counted_in_words_per_word_given(
    made: str, prefix: int, edits: int, alike: float
) -> None:
    known = poem("violets are blue sugar is sweet")
    found = {
        name: asked(name, known, said(made), PLAIN).value
        for name in ("longest_common_prefix_length", "edit_distance", "edit_similarity")
    }
    assert [*found.values()] == pytest.approx([prefix / 3, edits / 3, alike / 3])


def test_the_completion_that_copies_most_counts() -> None:
    known = poem("violets are blue")
    several = said("nothing", "violets are blue")
    assert asked("edit_distance", known, several, PLAIN).value == 0.0
    assert asked("longest_common_prefix_length", known, several, PLAIN).value == 1.0


def test_without_one_known_text_copying_is_not_measurable() -> None:
    two = Instance("id1", "a b", (Reference("a b c"), Reference("a b d")), split="test")
    assert asked("edit_distance", two, said("c"), PLAIN).missing == "not measurable"


def edits(a: list[int], b: list[int]) -> int:
    """Levenshtein, as in the textbook."""
    if not a or not b:
        return len(a) + len(b)
    return min(
        edits(a[1:], b[1:]) + (a[0] != b[0]), edits(a[1:], b) + 1, edits(a, b[1:]) + 1
    )


@settings(max_examples=40, deadline=None)
@given(
    a=st.lists(st.integers(0, 2), max_size=5), b=st.lists(st.integers(0, 2), max_size=5)
)
def test_distance_is_that_of_the_textbook(a: list[int], b: list[int]) -> None:
    made, known = np.array(a, np.int64), np.array(b, np.int64)
    assert distance(made, known) == edits(a, b)
    assert 0.0 <= similarity(made, known) <= 1.0


def test_equal_answers_are_wholly_alike_and_foreign_ones_not() -> None:
    thesis = Instance("id1", "thesis", split="test")
    same = said("rain falls on the town", "rain falls on the town")
    other = said("rain falls on the town", "ships sail far away today")
    assert asked("self_bleu", thesis, same, PLAIN).value == pytest.approx(100.0)
    low = asked("self_bleu", thesis, other, PLAIN).value
    assert low is not None
    assert low < 10
    assert asked("self_bleu", thesis, said("one", " "), PLAIN).value == 0.0
    assert asked("self_bleu", thesis, said("one"), PLAIN).missing == "not measurable"


def test_entropy_is_the_mean_of_the_negative_logprobs() -> None:
    request = Request("id1", "?", Decoding(num_completions=3))
    known = [(-1.0, -0.5), (-0.25,), ()]
    replies = [
        Reply(request, Completion("x", tokens=("t",) * len(p), token_logprobs=p), i)
        for i, p in enumerate(known)
    ]
    thesis = Instance("id1", "thesis", split="test")
    assert asked("monte_carlo_entropy", thesis, replies, PLAIN).value == 0.875
    unknown = [Reply(request, Completion("x"))]
    found = asked("monte_carlo_entropy", thesis, unknown, PLAIN)
    assert found.missing == "not measurable"


@pytest.mark.parametrize(
    ("summary", "source", "expected"),
    [
        ("a b c", "x a b c y", [3]),
        ("a b z c", "a b c", [2, 1]),
        ("a b", "a x a b", [2]),
        ("x y", "a b", []),
        ("", "a", []),
        ("a a a", "a a", [2, 1]),
        ("a a b", "a a a b", [2, 1]),  # a search goes on behind what it found
    ],
)
def test_fragments_are_the_longest_from_the_left(
    summary: str, source: str, expected: list[int]
) -> None:
    assert fragments(summary.split(), source.split()) == expected


def test_a_summary_beside_its_source() -> None:
    article = Instance("id1", "{The ship left at noon. It rained.}", split="test")
    made = said("{the ship left. It snowed.}")
    # the ship left | . It | .   of   the ship left . It snowed .
    found = {
        name: asked(f"summarization_{name}", article, made, PLAIN).value
        for name in ("coverage", "density", "compression")
    }
    assert found == {
        "coverage": pytest.approx(6 / 7),
        "density": pytest.approx((9 + 4 + 1) / 7),
        "compression": pytest.approx(9 / 7),
    }
    assert asked("summarization_coverage", article, said(""), PLAIN).value == 0.0


@pytest.mark.parametrize(
    ("name", "library", "extra"),
    [
        ("summac", "summac", "faithfulness"),
        ("BERTScore-F", "bert_score", "faithfulness"),
    ],
)
def test_what_needs_a_library_says_so_before_anything_runs(
    name: str, library: str, extra: str
) -> None:
    if is_there(library):
        pytest.skip(f"{library} is installed")
    with pytest.raises(MetricError, match=library) as caught:
        require(["exact_match", name])
    assert f"pip install 'helmsite[{extra}]'" in caught.value.hint


def test_what_is_installed_is_not_asked_for() -> None:
    require(["exact_match", "rouge_l", "rouge_l@5", "self_bleu", "RR@10", "unheard_of"])
