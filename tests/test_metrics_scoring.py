"""From replies to scores: which completion is judged, and what is said when none can be."""

import random
import re
import time
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from helmsite import metrics
from helmsite.errors import MetricError
from helmsite.metrics import CaseMetric, Measure, text_metric
from helmsite.metrics import names as metric_names
from helmsite.schema import (
    AdapterSpec,
    Completion,
    Decoding,
    Instance,
    MetricFacts,
    Reference,
    Reply,
    Request,
    Score,
    Usage,
    expressions,
    preset,
)

GENERATION = preset("generation")
JOINT = preset("multiple_choice_joint")
ORIGINAL = preset("multiple_choice_separate_original")
CALIBRATED = preset("multiple_choice_separate_calibrated")
LANGUAGE = preset("language_modeling")


def instance(
    *references: str, right: Sequence[int] = (0,), id_: str = "id1", **more: Any
) -> Instance:
    tagged = tuple(
        Reference(text, ("correct",) if i in right else ())
        for i, text in enumerate(references)
    )
    return Instance(
        instance_id=id_, input="?", references=tagged, **{"split": "test", **more}
    )


def said(
    text: str, *logprobs: float, id_: str = "id1", index: int = 0, **more: Any
) -> Reply:
    """A generated answer with one token per log-probability."""
    request = Request(instance_id=id_, prompt="?", decoding=Decoding(), **more)
    known: dict[str, Any] = {}
    if logprobs:
        tokens = (text,) + ("",) * (len(logprobs) - 1)
        known = {
            "tokens": tokens,
            "token_logprobs": logprobs,
            "logprob": sum(logprobs),
        }
    return Reply(request, Completion(text=text, **known), index)


def given_text(
    *pairs: tuple[str, float | None], id_: str = "id1", **more: Any
) -> Reply:
    """A continuation whose tokens got log-probabilities."""
    request = Request(
        instance_id=id_, prompt="context", decoding=Decoding(), score_start=3, **more
    )
    values = tuple(value for _, value in pairs)
    completion = Completion(
        tokens=tuple(token for token, _ in pairs),
        token_logprobs=values,
        logprob=sum(value for value in values if value is not None),
        usage=Usage(prompt_tokens=7),
    )
    return Reply(request, completion)


def failed(reply: Reply) -> Reply:
    return Reply(reply.request, Completion(error="503 after 5 tries"))


def one(
    metric: str,
    asked: Instance,
    replies: list[Reply],
    adapter: AdapterSpec = GENERATION,
) -> Score:
    [score] = metrics.score([asked], replies, adapter, [metric])
    return score


def values(scores: list[Score]) -> dict[str, float | None]:
    return {score.metric: score.value for score in scores}


# which text is judged


def test_the_likeliest_completion_is_judged_and_stripped() -> None:
    adapter = structs.replace(GENERATION, num_outputs=3)
    replies = [
        said("wrong", -2.0, index=0),
        said(" right\n", -0.5, index=1),
        said("wrong", -0.7, index=2),
    ]
    assert one("exact_match", instance("right"), replies, adapter).value == 1


def test_the_first_of_equally_likely_completions_is_judged() -> None:
    adapter = structs.replace(GENERATION, num_outputs=2)
    replies = [said("b", -1.0, index=1), said("a", -1.0, index=0)]
    assert one("exact_match", instance("a"), replies, adapter).value == 1
    assert one("exact_match", instance("b"), replies, adapter).value == 0
    assert one("exact_match@2", instance("b"), replies, adapter).value == 1


def test_completions_without_logprobs_keep_their_order_and_come_last() -> None:
    adapter = structs.replace(GENERATION, num_outputs=2)
    unknown = [said("a", index=0), said("b", index=1)]
    assert one("exact_match", instance("a"), unknown, adapter).value == 1
    mixed = [said("a", index=0), said("b", -9.0, index=1)]
    assert one("exact_match", instance("b"), mixed, adapter).value == 1


def test_the_best_correct_reference_counts() -> None:
    asked = instance("no", "yes", "yep", right=(1, 2))
    assert one("exact_match", asked, [said("yep")]).value == 1
    assert one("exact_match", asked, [said("no")]).value == 0


def test_a_letter_stands_for_its_reference() -> None:
    asked = instance("Rome", "Oslo", right=(1,))
    letters = {"A": "Rome", "B": "Oslo"}
    score = one("exact_match", asked, [said(" B", output_mapping=letters)], JOINT)
    assert (score.value, score.text) == (1, "Oslo")
    unknown = one("exact_match", asked, [said("M", output_mapping=letters)], JOINT)
    assert (unknown.value, unknown.text, unknown.missing) == (0, "", "")


@pytest.mark.parametrize(
    "metric", ["f1_score", "exact_match_indicator", "iou_set_match"]
)
def test_an_unknown_letter_scores_0_where_helm_crashes(metric: str) -> None:
    reply = said("M", output_mapping={"A": "Rome"})
    assert one(metric, instance("Rome"), [reply], JOINT).value == 0


@pytest.mark.parametrize(
    ("pattern", "answer", "expected"),
    [
        (r"answer is ([A-D])", "I think the answer is B", 1),
        (r"[A-D]", "so: B.", 1),
        (r"answer is ([A-D])", "B", 0),
        (r"(A)|[B-D]", "B", 0),  # group 1 took no part: as unknown as in HELM
        (None, "B", 1),
        (None, "so: B.", 0),
    ],
)
def test_output_mapping_pattern_finds_the_letter(
    pattern: str | None, answer: str, expected: float
) -> None:
    adapter = structs.replace(JOINT, output_mapping_pattern=pattern)
    reply = said(answer, output_mapping={"A": "Rome", "B": "Oslo"})
    asked = instance("Rome", "Oslo", right=(1,))
    assert one("exact_match", asked, [reply], adapter).value == expected


def test_a_pattern_without_end_leaves_answers_unparsed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(expressions, "LIMIT_S", 0.05)
    adapter = structs.replace(JOINT, output_mapping_pattern=r"^(a|aa)+$|(A)")
    letters = {"A": "Rome", "B": "Oslo"}
    asked = [instance("Rome", "Oslo", id_=f"id{i}") for i in range(40)]
    long = "a" * 80 + "b"
    replies = [said("A", id_="id0", output_mapping=letters)]
    replies += [
        said(long, id_=i.instance_id, output_mapping=letters) for i in asked[1:]
    ]
    started = time.monotonic()
    first, *rest = metrics.score(asked, replies, adapter, ["exact_match"])
    assert time.monotonic() - started < 4
    assert first.missing == ""
    assert {row.missing for row in rest} == {"unparsed"}
    assert all(row.value is None for row in rest)
    assert rest[0].details == {"reason": "output_mapping_pattern takes too long"}


def test_a_broken_pattern_is_explained() -> None:
    adapter = structs.replace(JOINT, output_mapping_pattern="(")
    with pytest.raises(MetricError, match="no regular expression"):
        metrics.score([instance("a")], [], adapter, ["exact_match"])


# separate multiple choice


def choices(*logprobs: list[float], mode: str = "original") -> list[Reply]:
    return [
        given_text(
            *((f" t{i}", value) for i, value in enumerate(row)),
            reference_index=reference,
            mode=mode,
        )
        for reference, row in enumerate(logprobs)
    ]


SEPARATE = ["exact_match", "predicted_index", "max_prob"]


def test_original_compares_mean_token_logprobs() -> None:
    asked = instance("long one", "short", right=(0,))
    replies = choices([-1.0, -1.0, -1.0], [-2.0])  # sums -3 and -2, means -1 and -2
    found = values(metrics.score([asked], replies, ORIGINAL, SEPARATE))
    assert found["exact_match"] == 1
    assert found["predicted_index"] == 0
    assert found["max_prob"] == pytest.approx(1 / (1 + 2.718281828459045**-1))


def test_calibrated_subtracts_the_sum_without_the_question() -> None:
    asked = instance("long one", "short", right=(1,))
    replies = choices([-1.0, -1.0], [-2.0]) + choices(
        [-1.0, -0.5], [-4.0], mode="calibration"
    )
    random.Random(1).shuffle(replies)
    found = values(metrics.score([asked], replies, CALIBRATED, SEPARATE))
    assert found["predicted_index"] == 1  # -0.5 against +2
    assert found["exact_match"] == 1


@pytest.mark.parametrize(
    ("right", "expected"), [((0,), 1 / 2), ((0, 2), 1.0), ((1,), 0.0), ((), 0.0)]
)
def test_ties_give_fractions(right: tuple[int, ...], expected: float) -> None:
    asked = instance("a", "b", "c", right=right)
    replies = choices([-1.0], [-2.0], [-1.0])
    score = one("exact_match", asked, replies, ORIGINAL)
    assert score.value == pytest.approx(expected)
    assert score.text == "a"
    assert score.details == {"scores": [-1.0, -2.0, -1.0], "chosen": [0, 2]}


def test_a_total_is_enough_for_calibrated_but_not_for_a_mean_over_tokens() -> None:
    def bare(reply: Reply) -> Reply:
        known = structs.replace(reply.completion, tokens=None, token_logprobs=None)
        return structs.replace(reply, completion=known)

    asked = instance("a", "b")
    original = [bare(r) for r in choices([-1.0], [-3.0])]
    prior = [bare(r) for r in choices([-1.0], [-1.0], mode="calibration")]
    assert one("exact_match", asked, original + prior, CALIBRATED).value == 1
    assert one("exact_match", asked, original, ORIGINAL).missing == "not measurable"


def test_only_equal_scores_are_a_tie() -> None:
    asked = instance("a", "b", right=(1,))
    score = one("exact_match", asked, choices([-1.0000001], [-1.0]), ORIGINAL)
    assert (score.value, score.text, score.details["chosen"]) == (1, "b", [1])


@pytest.mark.parametrize("metric", SEPARATE)
def test_a_reference_without_a_logprob_leaves_nothing_to_compare(metric: str) -> None:
    asked = instance("a", "b")
    silent = given_text((" b", None), reference_index=1)
    replies = [*choices([-1.0]), silent]
    assert one(metric, asked, replies, ORIGINAL).missing == "not measurable"


def test_a_choice_is_none_where_references_are_no_requests() -> None:
    score = one("predicted_index", instance("a", "b"), [said("a", -1.0)])
    assert score.missing == "not measurable"


def test_text_metrics_mean_nothing_where_nothing_is_generated() -> None:
    asked = instance("a", "b")
    score = one("f1_score", asked, choices([-1.0], [-3.0]), ORIGINAL)
    assert (score.value, score.missing) == (None, "not measurable")
    assert "f1_score" not in metrics.applicable(ORIGINAL.method, ["f1_score"])


# language modelling


def test_each_window_has_a_row_with_its_weight() -> None:
    asked = instance()
    replies = [
        given_text(("ab", -1.0), ("c", -2.0), request_index=1),
        given_text(("\u00e9", -4.0), request_index=0),
    ]
    names = metrics.applicable("language_modeling", [])
    rows = metrics.score([asked], replies, LANGUAGE, names)
    bits = [
        (r.request_index, r.value, r.weight)
        for r in rows
        if r.metric == "bits_per_byte"
    ]
    assert [index for index, _, _ in bits] == [0, 1]
    assert [weight for _, _, weight in bits] == [2.0, 3.0]
    total = sum((value or 0) * (weight or 0) for _, value, weight in bits)
    expected = population("bits_per_byte", rows)
    assert expected == pytest.approx(total / 5, abs=1e-12)
    assert [r.value for r in rows if r.metric == "num_instances"] == [1.0]


def population(name: str, rows: list[Score]) -> float | None:
    """A population metric of all rows, its inputs matched by key."""
    import numpy as np

    [metric] = [m for m in metrics.population() if m.facts.name == name]
    by_key: dict[tuple[Any, ...], dict[str, float]] = {}
    for row in rows:
        if row.value is not None:
            key = (row.instance_id, row.perturbation, row.trial, row.request_index)
            by_key.setdefault(key, {})[row.metric] = row.value
    complete = [r for r in by_key.values() if all(i in r for i in metric.inputs)]
    return metric(*(np.array([r[i] for r in complete]) for i in metric.inputs))


def test_the_logprob_of_an_answer_without_bytes_is_not_lost() -> None:
    asked = [instance("x", id_="id1"), instance("x", id_="id2")]
    replies = [said("", -3.0, id_="id1"), said("abcd", -1.0, id_="id2")]
    names = metrics.applicable("generation", [])
    rows = metrics.score(asked, replies, GENERATION, names)
    assert population("logprob_per_byte", rows) == pytest.approx(-4 / 4)
    shown = [r for r in rows if r.metric == "logprob_per_byte"]
    assert [(r.value, r.missing) for r in shown] == [
        (None, "not measurable"),
        (-1 / 4, ""),
    ]
    assert population("perplexity", rows) == pytest.approx(2.718281828459045**2)


def test_a_token_without_a_logprob_is_left_out_of_all_three_sums() -> None:
    reply = given_text(("The", None), (" cat", -2.0))
    names = ["logprob", "num_perplexity_tokens", "num_bytes"]
    rows = metrics.score([instance()], [reply], LANGUAGE, names)
    assert values(rows) == {
        "logprob": -2.0,
        "num_perplexity_tokens": 1.0,
        "num_bytes": 4.0,
    }


def test_a_text_without_any_logprob_is_not_measurable() -> None:
    names = metrics.applicable("language_modeling", [])[:6]
    rows = metrics.score([instance()], [given_text(("a", None))], LANGUAGE, names)
    assert {row.missing for row in rows} == {"not measurable"}
    assert len(rows) == 6


def test_a_perplexity_beyond_all_numbers_is_said_to_be_none() -> None:
    rows = metrics.score(
        [instance()],
        [given_text(("a", -1e6))],
        LANGUAGE,
        metrics.applicable("language_modeling", []),
    )
    [shown] = [row for row in rows if row.metric == "perplexity"]
    assert (shown.value, shown.missing) == (None, "nan")
    assert population("perplexity", rows) is None


@pytest.mark.parametrize(
    ("token", "size"),
    [
        ("a", 1),
        ("\u00e9", 2),
        ("\u5317", 3),
        ("bytes:\\xe2\\x80", 2),
        ("", 0),
        ("\ud800", 3),
    ],
)
def test_bytes_of_a_token(token: str, size: float) -> None:
    score = one("num_bytes", instance(), [given_text((token, -1.0))], LANGUAGE)
    assert score.value == size


def test_a_failed_window_is_the_only_one_that_fails() -> None:
    replies = [
        given_text(("a", -1.0), request_index=0),
        failed(given_text(("b", -1.0), request_index=1)),
    ]
    rows = metrics.score([instance()], replies, LANGUAGE, ["logprob", "num_instances"])
    assert [(r.metric, r.request_index, r.missing) for r in rows] == [
        ("num_instances", -1, "failed"),
        ("logprob", 0, ""),
        ("logprob", 1, "failed"),
    ]


sums = st.lists(
    st.lists(
        st.tuples(st.text(alphabet="ab\u00e9\u5317", max_size=3), st.floats(-20, 0)),
        min_size=1,
        max_size=4,
    ),
    min_size=1,
    max_size=5,
)


@settings(deadline=None)
@given(sums)
def test_ratios_are_ratios_of_sums(documents: list[list[tuple[str, float]]]) -> None:
    asked = [instance(id_=f"id{i}") for i in range(len(documents))]
    replies = [given_text(*tokens, id_=f"id{i}") for i, tokens in enumerate(documents)]
    names = metrics.applicable("language_modeling", [])
    rows = metrics.score(asked, replies, LANGUAGE, names)
    logprob = sum(value for tokens in documents for _, value in tokens)
    size = sum(len(t.encode()) for tokens in documents for t, _ in tokens)
    count = sum(len(tokens) for tokens in documents)
    expected = logprob / size if size else None
    found = population("logprob_per_byte", rows)
    assert found == (None if expected is None else pytest.approx(expected, abs=1e-9))
    assert population("perplexity", rows) == pytest.approx(
        2.718281828459045 ** (-logprob / count), rel=1e-9
    )


# what is missing


def test_a_failed_request_is_failed_for_every_metric() -> None:
    names = metrics.applicable("generation", ["exact_match", "f1_score"])
    rows = metrics.score([instance("a")], [failed(said("a"))], GENERATION, names)
    assert {row.missing for row in rows} == {"failed"}
    assert all(row.value is None for row in rows)
    answered = metrics.score([instance("a")], [said("a", -1.0)], GENERATION, names)
    assert [row.metric for row in rows] == [row.metric for row in answered]


def test_one_failed_request_of_several_fails_the_instance() -> None:
    first, second = choices([-1.0], [-2.0])
    rows = metrics.score(
        [instance("a", "b")], [first, failed(second)], ORIGINAL, SEPARATE
    )
    assert {row.missing for row in rows} == {"failed"}


def test_what_was_never_asked_is_said() -> None:
    adapter = structs.replace(GENERATION, num_train_trials=2)
    asked = [instance("a", id_="id1"), instance("a", id_="id2")]
    rows = metrics.score(asked, [said("a", id_="id2")], adapter, ["exact_match"])
    assert [(r.instance_id, r.trial, r.missing) for r in rows] == [
        ("id1", 0, "not asked"),
        ("id1", 1, "not asked"),
        ("id2", 0, ""),
        ("id2", 1, "not asked"),
    ]


def test_a_run_that_stopped_between_two_references_was_not_asked() -> None:
    [first] = choices([-1.0])
    rows = metrics.score([instance("a", "b")], [first], ORIGINAL, SEPARATE)
    assert {row.missing for row in rows} == {"not asked"}


def test_without_logprobs_probabilities_are_not_measurable() -> None:
    names = metrics.applicable("generation", ["exact_match"])
    rows = metrics.score([instance("a")], [said("a")], GENERATION, names)
    missing = {row.metric for row in rows if row.missing == "not measurable"}
    assert missing >= {"max_prob", "logprob", "num_bytes", "perplexity"}
    assert values(rows)["exact_match"] == 1


def test_without_a_correct_reference_there_is_nothing_to_match() -> None:
    for asked in (instance("a", right=()), instance()):
        score = one("exact_match", asked, [said("a")])
        assert (score.value, score.missing) == (None, "not measurable")


def test_a_value_that_is_no_number_is_said_to_be_one() -> None:
    score = one("logprob", instance("a"), [said("a", float("-inf"))])
    assert (score.value, score.missing) == (None, "nan")
    score = one("max_prob", instance("a"), [said("a", float("nan"))])
    assert (score.value, score.missing) == (None, "nan")


def test_train_instances_are_not_missed_unless_they_are_evaluated() -> None:
    asked = [instance("a", split="train")]
    assert metrics.score(asked, [], GENERATION, ["exact_match"]) == []
    adapter = structs.replace(GENERATION, eval_splits=("train",))
    assert len(metrics.score(asked, [], adapter, ["exact_match"])) == 1
    assert len(metrics.score(asked, [said("a")], GENERATION, ["exact_match"])) == 1


def test_a_reply_to_nobody_is_an_error() -> None:
    with pytest.raises(MetricError, match="'id9'"):
        metrics.score([instance("a")], [said("a", id_="id9")], GENERATION, ["f1_score"])


def test_a_judges_replies_are_not_the_models() -> None:
    replies = [said("a"), said("b", mode="judge:quality")]
    assert one("exact_match", instance("a"), replies).value == 1


# efficiency and general information


def test_tokens_and_time_of_an_instance_with_several_requests_are_means() -> None:
    replies = choices([-1.0], [-2.0, -2.0])
    names = ["num_prompt_tokens", "num_completion_tokens", "num_output_tokens"]
    slow = structs.replace(replies[0].completion, duration_s=3.0)
    quick = structs.replace(replies[1].completion, duration_s=1.0)
    replies = [
        structs.replace(replies[0], completion=slow),
        structs.replace(replies[1], completion=quick),
    ]
    rows = metrics.score(
        [instance("a", "b")], replies, ORIGINAL, [*names, "inference_runtime"]
    )
    assert values(rows) == {
        "num_prompt_tokens": 7.0,
        "num_completion_tokens": 7.0,
        "num_output_tokens": 0.0,
        "inference_runtime": 2.0,
    }


def test_tokens_are_counted_over_all_completions() -> None:
    adapter = structs.replace(GENERATION, num_outputs=2)
    replies = [said("a", -1.0, -1.0, index=0), said("b", -1.0, index=1)]
    names = ["num_completion_tokens", "num_output_tokens"]
    found = values(metrics.score([instance("a")], replies, adapter, names))
    assert found == {"num_completion_tokens": 3.0, "num_output_tokens": 3.0}


def test_usage_counts_where_tokens_are_unknown() -> None:
    reply = said("a b")
    counted = structs.replace(reply.completion, usage=Usage(5, 2))
    [score] = metrics.score(
        [instance("a")],
        [structs.replace(reply, completion=counted)],
        GENERATION,
        ["num_output_tokens"],
    )
    assert score.value == 2
    bare = one("num_output_tokens", instance("a"), [reply])
    assert bare.missing == "not measurable"


@pytest.mark.parametrize(
    "reason", ["length", "stop", "endoftext", "unknown", "", "eos"]
)
def test_exactly_one_finish_reason_is_1(reason: str) -> None:
    names = [f"finish_reason_{r}" for r in ("length", "stop", "endoftext", "unknown")]
    reply = said("a")
    ended = structs.replace(reply.completion, finish_reason=reason)
    replies = [structs.replace(reply, completion=ended)]
    found = values(metrics.score([instance("a")], replies, GENERATION, names))
    expected = reason if f"finish_reason_{reason}" in names else "unknown"
    assert found == {n: float(n == f"finish_reason_{expected}") for n in names}


# names


def test_unknown_names_are_errors_with_suggestions() -> None:
    with pytest.raises(MetricError, match=r"'exact_mach'.*'exact_match'") as caught:
        metrics.resolve(["f1_score", "exact_mach"])
    assert caught.value.hint == "Type: helmsite ls metrics"
    for wrong in ("selective_acc@11", "logprob@5", "exact_match@", "@5", ""):
        assert not metrics.is_known(wrong)
        with pytest.raises(MetricError):
            metrics.applicable("generation", [wrong])


def test_a_metric_of_the_best_of_k_has_facts_of_its_own() -> None:
    [plain, best] = metrics.resolve(["exact_match", "exact_match@5"])
    assert best.name == "exact_match@5"
    assert best.family == plain.family
    assert "5" in best.title
    assert best.title != plain.title
    assert metrics.is_known("exact_match@5")


@pytest.mark.parametrize("name", sorted(metric_names.BUILTIN))
def test_every_name_leads_to_a_metric_with_facts(name: str) -> None:
    [facts] = metrics.resolve([name])
    assert facts.name == name
    assert facts.title
    assert facts.description.endswith(".")
    assert not re.search(r"(?<!et al)\. ", facts.description), "one sentence"
    assert facts.source
    assert facts.family in {
        "accuracy",
        "bbq_metrics",
        "bias",
        "calibration",
        "classification_metrics",
        "copyright_metrics",
        "disinformation_metrics",
        "efficiency",
        "general_information",
        "summarization_metrics",
        "toxicity",
    }


def test_known_metrics_are_listed_by_name() -> None:
    names = [facts.name for facts in metrics.known()]
    assert names == sorted(names)
    assert set(names) >= set(metric_names.BUILTIN)


def test_applicable_follows_the_method() -> None:
    own = ["quasi_exact_match", "exact_match"]
    joint = metrics.applicable("multiple_choice_joint", own, num_outputs=5)
    assert joint[:4] == (
        "quasi_exact_match",
        "quasi_exact_match@5",
        "exact_match",
        "exact_match@5",
    )
    assert {"ece_10_bin", "max_prob", "bits_per_byte", "num_instances"} <= set(joint)
    assert "predicted_index" not in joint
    separate = metrics.applicable("multiple_choice_separate_original", own)
    assert separate[0] == "exact_match"
    assert "quasi_exact_match" not in separate
    assert not {"logprob", "ece_10_bin", "perplexity"} & set(separate)
    language = metrics.applicable("language_modeling", own)
    assert not {"exact_match", "max_prob"} & set(language)
    assert "ece_10_bin" not in metrics.applicable("generation", ["f1_score"])


def test_applicable_adds_what_a_metric_is_computed_from_and_is_stable() -> None:
    names = metrics.applicable("generation", ["ece_1_bin"])
    assert "exact_match" in names
    assert metrics.applicable("generation", names) == names
    again = metrics.applicable("generation", names, num_outputs=3)
    assert metrics.applicable("generation", again, num_outputs=3) == again


class Plugin:
    """What importlib.metadata finds of an installed package."""

    def __init__(self, name: str, attribute: str) -> None:
        self.name, self.value = name, f"{__name__}:{attribute}"


@text_metric(
    MetricFacts(
        name="same_length",
        title="Same length",
        description="Share of answers as long as the reference.",
        family="accuracy",
    )
)
def same_length(gold: str, prediction: str) -> float:
    return float(len(gold) == len(prediction))


def test_another_package_adds_a_metric(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(
        sys.modules, __name__, sys.modules[same_length.function.__module__]
    )
    plugins = [Plugin("same_length", "same_length"), Plugin("broken", "GENERATION")]
    monkeypatch.setattr("helmsite.registry.entry_points", lambda group: plugins)
    names = metrics.applicable("generation", ["same_length"], num_outputs=2)
    assert names[:2] == ("same_length", "same_length@2")
    assert one("same_length", instance("abc"), [said("xyz")]).value == 1
    with pytest.raises(MetricError, match="'broken' is not a metric"):
        metrics.resolve(["broken"])


def test_a_metric_of_a_whole_case_sees_all_requests() -> None:
    facts = MetricFacts(name="x", title="x", description="x.", family="accuracy")
    metric = CaseMetric(facts, lambda case: Measure(float(len(case.exchanges))))
    assert metric.facts is facts


# order and speed


def test_the_order_of_replies_does_not_matter() -> None:
    adapter = structs.replace(GENERATION, num_outputs=3, num_train_trials=2)
    asked = [instance("a", id_=f"id{i}", position=i) for i in range(4)]
    replies = [
        said("ab"[(i + k) % 2], -1.0 - k, id_=f"id{i}", index=k, trial=t)
        for i in range(4)
        for t in range(2)
        for k in range(3)
    ]
    names = metrics.applicable("generation", ["exact_match", "f1_score"], 3)
    straight = metrics.score(asked, replies, adapter, names)
    random.Random(0).shuffle(replies)
    assert metrics.score(asked, replies, adapter, names) == straight
    keys = {(s.instance_id, s.trial, s.metric, s.request_index) for s in straight}
    assert len(keys) == len(straight)


def test_a_thousand_instances_are_scored_well_under_a_second() -> None:
    letters = dict(zip("ABCD", ("red fox", "the cow", "a dog", "owls"), strict=True))
    asked = [instance(*letters.values(), id_=f"id{i}") for i in range(1000)]
    replies = [
        said(" A" if i % 3 else " B", -0.5, id_=f"id{i}", output_mapping=letters)
        for i in range(1000)
    ]
    names = metrics.applicable(
        "multiple_choice_joint", ["exact_match", "quasi_exact_match", "f1_score"], 5
    )
    assert len(names) >= 25
    start = time.process_time()
    rows = metrics.score(asked, replies, JOINT, names)
    assert time.process_time() - start < 1.0
    assert len(rows) >= 22_000
