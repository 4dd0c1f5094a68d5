"""Calibration: the figures of the library that HELM uses, and what must always hold."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helmsite.metrics import population, score
from helmsite.metrics.calibration import accuracies, bin_edges, expected_error
from helmsite.schema import (
    AdapterSpec,
    Completion,
    Decoding,
    Instance,
    Reference,
    Reply,
    Request,
)

FROZEN = Path(__file__).with_name("frozen") / "calibration.json"
CASES = json.loads(FROZEN.read_text(encoding="utf-8"))["cases"]
METRICS = {metric.facts.name: metric for metric in population()}
NAMES = ["ece_10_bin", "ece_1_bin", "selective_cov_acc_area", "selective_acc@10"]
PLATT = ["platt_coef", "platt_intercept", "platt_ece_10_bin", "platt_ece_1_bin"]

observations = st.lists(
    st.tuples(
        st.one_of(st.floats(0, 1), st.sampled_from([0.0, 0.25, 0.5, 1.0])),
        st.sampled_from([0.0, 0.5, 1.0]),
    ),
    min_size=1,
    max_size=60,
)


def evaluate(name: str, p: object, y: object, logprob: object = -1.0) -> float | None:
    prob = np.asarray(p, dtype=float)
    right = np.asarray(y, dtype=float)
    return METRICS[name](prob, right, np.broadcast_to(np.asarray(logprob), prob.shape))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_figures_equal_those_of_helms_library(case: dict[str, Any]) -> None:
    ours = [evaluate(n, case["max_prob"], case["exact_match"]) for n in NAMES]
    theirs = [case["ece_10_bin"], case["ece_1_bin"], *case["selective_stable"]]
    assert ours == pytest.approx(theirs, abs=1e-12)
    if len(set(case["max_prob"])) == len(case["max_prob"]):
        assert case["selective"] == pytest.approx(case["selective_stable"], abs=1e-12)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_platt_scaling_stops_where_scikit_learn_stops(case: dict[str, Any]) -> None:
    ours = [evaluate(n, case["max_prob"], case["exact_match"]) for n in PLATT]
    for mine, theirs in zip(ours, case["platt"], strict=True):
        assert mine == (theirs if theirs is None else pytest.approx(theirs, rel=1e-7))


def test_platt_scaling_of_separated_answers_is_finite() -> None:
    """The best slope would be infinite; the solver's rule says where to stop."""
    p, y = [0.2, 0.3, 0.6, 0.7], [0, 0, 1, 1]
    slope = evaluate("platt_coef", p, y)
    assert slope is not None
    assert 5 < slope < 100


def test_platt_scaling_has_no_interval() -> None:
    assert not any(METRICS[name].resampled for name in PLATT)


def test_cases_cover_ties_and_few_and_only_right_or_wrong() -> None:
    assert any(len(set(c["max_prob"])) < len(c["max_prob"]) for c in CASES)
    assert any(len(c["max_prob"]) < 10 for c in CASES)
    assert {0, 1} <= {c["selective"][0] for c in CASES}
    assert len(CASES) > 40


def test_equal_confidence_keeps_the_order_of_the_instances() -> None:
    right = np.array([1.0, 0.0, 1.0, 0.0])
    found = accuracies(np.full(4, 0.5), right)
    assert found.tolist() == pytest.approx([1, 1 / 2, 2 / 3, 1 / 2])


def test_a_value_on_an_edge_belongs_to_the_lower_bin() -> None:
    p = np.array([0.25, 0.5, 0.5, 0.75])
    edges = bin_edges(p, bins=2)
    assert edges.tolist() == [0.5, 1.0]
    lower, upper = 0.25 + 0.5 + 0.5, 1 - 0.75
    right = np.array([0.0, 0.0, 0.0, 1.0])
    assert expected_error(p, right, edges) == pytest.approx((lower + upper) / 4)


def test_edges_are_merged_where_values_repeat() -> None:
    assert bin_edges(np.full(30, 0.4)).tolist() == [0.4, 1.0]


def test_a_probability_just_above_1_falls_into_the_last_bin() -> None:
    above = float(np.nextafter(1.0, 2.0))
    assert evaluate("ece_1_bin", [above], [1]) == pytest.approx(0.0)
    assert evaluate("ece_10_bin", [0.3, above], [0, 1]) == pytest.approx(0.15)


def test_a_fraction_of_exact_match_counts_as_wrong() -> None:
    assert evaluate("ece_1_bin", [0.5, 0.5], [0.5, 1.0]) == pytest.approx(0.0)


@pytest.mark.parametrize("name", [*NAMES, *PLATT])
def test_without_a_negative_logprob_there_is_no_calibration(name: str) -> None:
    assert evaluate(name, [1.0, 1.0], [1, 0], logprob=0.0) is None
    assert evaluate(name, [1.0, 0.9], [1, 0], logprob=[0.0, -0.1]) is not None


@pytest.mark.parametrize("name", [*NAMES, *PLATT])
def test_nothing_to_look_at_has_no_value(name: str) -> None:
    assert METRICS[name](*[np.empty(0)] * len(METRICS[name].inputs)) is None


def test_calibration_needs_the_three_inputs_that_helm_looks_at() -> None:
    for name in NAMES:
        assert METRICS[name].inputs == ("max_prob", "exact_match", "logprob")


@settings(deadline=None)
@given(observations)
def test_every_calibration_figure_is_between_0_and_1(
    rows: list[tuple[float, float]],
) -> None:
    p, y = zip(*rows, strict=True)
    for name in NAMES:
        value = evaluate(name, p, y)
        assert value is not None
        assert -1e-12 <= value <= 1 + 1e-12


@settings(deadline=None)
@given(observations)
def test_more_bins_never_hide_error(rows: list[tuple[float, float]]) -> None:
    p, y = zip(*rows, strict=True)
    one, ten = evaluate("ece_1_bin", p, y), evaluate("ece_10_bin", p, y)
    assert one is not None
    assert ten is not None
    assert ten >= one - 1e-9


@settings(deadline=None)
@given(observations, st.randoms(use_true_random=False))
def test_calibration_error_does_not_depend_on_order(
    rows: list[tuple[float, float]], draw: Any
) -> None:
    shuffled = list(rows)
    draw.shuffle(shuffled)
    for name in NAMES[:2]:
        one = evaluate(name, *zip(*rows, strict=True))
        other = evaluate(name, *zip(*shuffled, strict=True))
        assert one == pytest.approx(other, abs=1e-9)


@settings(deadline=None)
@given(observations, st.booleans())
def test_always_right_or_wrong_makes_selection_pointless(
    rows: list[tuple[float, float]], right: bool
) -> None:
    p = [probability for probability, _ in rows]
    for name in NAMES[2:]:
        assert evaluate(name, p, [float(right)] * len(p)) == float(right)


def scored(*logprobs: float | None) -> dict[str, list[float | None]]:
    """max_prob and logprob of one-token answers with these log-probabilities."""
    asked = [
        Instance(f"id{i}", "x", (Reference("a", ("correct",)),), split="test")
        for i in range(len(logprobs))
    ]
    replies = [
        Reply(
            Request(f"id{i}", "x", Decoding()),
            Completion("a", tokens=("a",), token_logprobs=(p,), logprob=p),
        )
        for i, p in enumerate(logprobs)
    ]
    names = ("max_prob", "logprob")
    rows = score(asked, replies, AdapterSpec(method="generation"), names)
    return {name: [r.value for r in rows if r.metric == name] for name in names}


def test_log_probabilities_that_are_all_0_are_not_told() -> None:
    """No model is certain of every token; HELM takes it for certainty."""
    assert scored(0.0, -0.0, 0.0) == {"max_prob": [None] * 3, "logprob": [None] * 3}
    told = scored(0.0, -0.5)
    assert told["max_prob"] == pytest.approx([1, np.exp(-0.5)])
    assert told["logprob"] == [0, -0.5]
    assert scored(None, None)["max_prob"] == [None, None]
