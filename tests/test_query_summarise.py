"""The aggregates of a run, on examples small enough to check by hand."""

import json
import math
import os
import random
import subprocess
import sys
from itertools import product
from typing import Any

import msgspec
import numpy as np
import pytest

from helmsite.query import statistics, summarise
from helmsite.schema import (
    Instance,
    MetricFacts,
    PerturbationFacts,
    PopulationMetric,
    Score,
    Stat,
)

EM = MetricFacts("exact_match", "EM", "", "accuracy", format="share")
TOKENS = MetricFacts("tokens", "Tokens", "", "efficiency")


def scores(metric: str, values: list[Any], **fields: Any) -> list[Score]:
    """A score per value, for id0, id1, ...; text is a reason, None no score at all."""
    return [
        Score(f"id{i}", metric, None, **{"missing": value, **fields})
        if isinstance(value, str)
        else Score(f"id{i}", metric, value, **fields)
        for i, value in enumerate(values)
        if value is not None
    ]


def instances(n, perturbation="", **fields):
    return [
        Instance(
            f"id{i}", "x", position=i, split="test", perturbation=perturbation, **fields
        )
        for i in range(n)
    ]


def one(stats: list[Stat], metric: str = "exact_match", **fields: Any) -> Any:
    wanted = {"trial": -1, "sub_split": "", "perturbation": "", **fields}
    found = [
        s
        for s in stats
        if s.metric == metric and all(getattr(s, k) == v for k, v in wanted.items())
    ]
    assert len(found) == 1, found
    return found[0]


def run(given, metrics=(EM,), n=4, perturbations=(), population=(), extra=()):
    asked = instances(n) + list(extra)
    return summarise(asked, given, metrics, perturbations, population, scenario="s")


def interval(stat):
    return (stat.ci_low, stat.ci_high)


# values and intervals


def test_a_share_of_one_trial_has_wilsons_interval():
    stats = run(scores("exact_match", [1, 0, 1, 1]))
    stat = one(stats)
    assert stat.value == 0.75
    assert interval(stat) == statistics.wilson(3, 4)
    assert stat.stderr == pytest.approx(0.25)  # sqrt(.1875 · 4 / 3 / 4)
    assert (stat.n_scored, stat.n_asked, stat.missing) == (4, 4, "")
    trial = one(stats, trial=0)
    assert (trial.value, interval(trial)) == (0.75, interval(stat))
    assert trial.details == {}
    assert stat.details == {
        "count": 1,
        "sum": 0.75,
        "sum_squared": 0.5625,
        "min": 0.75,
        "max": 0.75,
        "mean": 0.75,
        "variance": 0.0,
        "stddev": 0.0,
    }


@pytest.mark.parametrize("value", [0.5, 0.1, 4.0, 1e-9, -0.7, 0.0])
def test_values_without_spread_have_no_interval(value):
    """Each the same, or mirrored in a second trial: that says nothing about chance."""
    same = one(run(scores("f1", [value] * 10), n=10), "f1")
    assert same.value == pytest.approx(value)
    assert (same.stderr, *interval(same)) == (None, None, None)
    series = [value, 3 * value + 0.3]
    twice = [
        *scores("f1", series * 5),
        *scores("f1", series[::-1] * 5, trial=1),
    ]
    stats = run(twice, n=10)
    mirrored = one(stats, "f1")
    assert mirrored.value == pytest.approx(2 * value + 0.15)
    assert (mirrored.stderr, *interval(mirrored)) == (None, None, None)
    assert one(stats, "f1", trial=0).stderr > 0


def test_mirrored_verdicts_have_no_interval():
    given = [
        *scores("exact_match", [1, 0, 1, 0]),
        *scores("exact_match", [0, 1, 0, 1], trial=1),
    ]
    stat = one(run(given))
    assert (stat.value, stat.stderr, *interval(stat)) == (0.5, None, None, None)
    assert interval(one(run(given), trial=0)) == statistics.wilson(2, 4)


def test_a_small_spread_is_a_spread():
    given = scores("f1", [0.5, 0.5, 0.5, 0.5 + 1e-9])
    assert one(run(given), "f1").stderr == pytest.approx(2.5e-10, rel=1e-4)


@pytest.mark.parametrize(
    ("given", "value", "missing"),
    [
        ([1e308, -1e308, 0.0, 0.0], 0.0, ""),
        ([1e308] * 4, None, "not measurable"),
        ([-1e308] * 4, None, "not measurable"),
    ],
)
def test_numbers_that_no_float_can_sum_give_no_infinity(given, value, missing):
    for trial in (-1, 0):
        stat = one(run(scores("f1", given)), "f1", trial=trial)
        assert (stat.value, stat.missing) == (value, missing)
        assert (stat.stderr, *interval(stat)) == (None, None, None)
        numbers = [n for n in stat.details.values() if isinstance(n, float)]
        assert all(map(math.isfinite, numbers))


def test_ratios_of_equal_parts_have_no_interval():
    bytes_ = MetricFacts("bits", "Bits", "", "accuracy", aggregation="ratio")
    given = [
        Score(f"id{i}", "bits", 0.7, weight=weight)
        for i, weight in enumerate((3.0, 5.0, 7.0, 11.0))
    ]
    stat = one(run(given, metrics=(bytes_,)), "bits")
    assert stat.value == pytest.approx(0.7)
    assert (stat.stderr, *interval(stat)) == (None, None, None)


def test_other_means_have_students_interval():
    stat = one(run(scores("f1", [0.1, 0.2, 0.4, 0.5])), "f1")
    half = 3.1824463052837078 * np.std([0.1, 0.2, 0.4, 0.5], ddof=1) / 2
    assert stat.value == pytest.approx(0.3)
    assert interval(stat) == pytest.approx((0.3 - half, 0.3 + half))


def test_intervals_of_shares_stay_between_0_and_1():
    facts = MetricFacts("f1", "F1", "", "accuracy", format="share")
    stat = one(run(scores("f1", [0.7, 0.9, 1.0, 1.0]), [facts]), "f1")
    assert stat.ci_high == 1.0
    assert 0 < stat.ci_low < stat.value


def test_counts_are_no_shares_even_if_all_are_0_or_1():
    stat = one(run(scores("tokens", [1, 1, 1, 1]), [TOKENS]), "tokens")
    assert interval(stat) == (None, None)


def test_across_trials_is_the_mean_of_the_trials_means():
    given = scores("exact_match", [1, 1, 0, 0]) + scores(
        "exact_match", [1, None, None, None], trial=1
    )
    stats = run(given)
    assert one(stats, trial=0).value == 0.5
    assert one(stats, trial=1).value == 1.0
    stat = one(stats)
    assert stat.value == 0.75  # not 3/5
    assert (stat.n_scored, stat.n_asked) == (5, 5)
    helm = stat.details
    assert (helm["count"], helm["sum"], helm["sum_squared"]) == (2, 1.5, 1.25)
    assert (helm["min"], helm["max"], helm["variance"]) == (0.5, 1.0, 0.0625)
    assert helm["stddev"] == 0.25


def test_trials_of_an_instance_are_one_cluster():
    """Asking each instance three times with the same result adds no information."""
    once = run(scores("f1", [0.1, 0.7, 0.3, 0.4]))
    thrice = run(
        [s for t in range(3) for s in scores("f1", [0.1, 0.7, 0.3, 0.4], trial=t)]
    )
    assert one(thrice, "f1").stderr == pytest.approx(one(once, "f1").stderr)
    assert interval(one(thrice, "f1")) == pytest.approx(interval(one(once, "f1")))


def test_several_trials_have_students_interval_over_instances():
    given = scores("exact_match", [1, 1, 0, 0]) + scores(
        "exact_match", [1, 0, 1, 0], trial=1
    )
    stat = one(run(given))
    half = 3.1824463052837078 * np.std([1, 0.5, 0.5, 0], ddof=1) / 2
    low, high = max(0, 0.5 - half), min(1, 0.5 + half)
    assert interval(stat) == pytest.approx((low, high))


def test_all_right_in_all_trials_is_not_certain():
    given = [s for t in range(3) for s in scores("exact_match", [1, 1, 1, 1], trial=t)]
    assert interval(one(run(given))) == statistics.wilson(4, 4)


def test_rows_of_an_instance_are_one_cluster():
    """Two windows of id0, one of id1: the mean is over rows, the error over instances."""
    given = [
        Score("id0", "f1", 0.2, request_index=0),
        Score("id0", "f1", 0.4, request_index=1),
        Score("id1", "f1", 0.9, request_index=0),
    ]
    stat = one(run(given, n=2), "f1")
    assert stat.value == pytest.approx(0.5)
    errors = [(0.6 - 0.5 * 2) / 3, (0.9 - 0.5) / 3]
    assert stat.stderr == pytest.approx((2 * sum(e * e for e in errors)) ** 0.5)
    assert (stat.n_scored, stat.n_asked) == (2, 2)


def test_one_instance_has_no_interval():
    for metric in ("exact_match", "f1"):
        stat = one(run(scores(metric, [1.0]), n=1), metric)
        assert stat.value == 1.0
        assert (stat.stderr, *interval(stat)) == (None, None, None)


def test_ratios_are_ratios_of_sums():
    facts = MetricFacts("bpb", "BPB", "", "accuracy", aggregation="ratio")
    given = [
        Score("id0", "bpb", 1.0, weight=30.0),
        Score("id1", "bpb", 4.0, weight=10.0),
    ]
    stat = one(run(given, [facts], n=2), "bpb")
    assert stat.value == 70 / 40
    assert stat.ci_low == pytest.approx(1.0)
    assert stat.ci_high == pytest.approx(4.0)


def test_a_ratio_with_equal_weights_is_a_mean():
    facts = MetricFacts("r", "R", "", "accuracy", aggregation="ratio")
    values = [0.1, 0.2, 0.4, 0.5]
    ratio = one(run(scores("r", values, weight=7.0), [facts]), "r")
    mean = one(run(scores("r", values)), "r")
    assert ratio.value == pytest.approx(mean.value)
    assert interval(ratio) == pytest.approx(interval(mean))


def test_geometric_means_weigh_logarithms():
    facts = MetricFacts("ppl", "PPL", "", "accuracy", aggregation="geometric")
    given = [
        Score("id0", "ppl", 2.0, weight=3.0),
        Score("id1", "ppl", 16.0, weight=1.0),
    ]
    stat = one(run([*given, Score("id2", "ppl", 0.0)], [facts], n=3), "ppl")
    assert stat.value == pytest.approx(2 ** (7 / 4))
    assert stat.ci_low < stat.value < stat.ci_high
    assert stat.details["missing"] == {"nan": 1}


def test_runs_of_a_scenario_are_resampled_alike():
    """A model that is twice as good on each instance is so in each resample."""
    facts = MetricFacts("r", "R", "", "accuracy", aggregation="ratio")
    weights = [1.0, 5.0, 2.0, 9.0]
    values = [1.0, 4.0, 2.0, 3.0]

    def made(factor):
        return [
            Score(f"id{i}", "r", factor * v, weight=w)
            for i, (v, w) in enumerate(zip(values, weights, strict=True))
        ]

    first, second = (one(run(made(k), [facts]), "r") for k in (1, 2))
    assert second.stderr == pytest.approx(2 * first.stderr)
    assert interval(second) == pytest.approx([2 * x for x in interval(first)])


# contexts


def test_every_sub_split_and_attribute_is_a_context():
    asked = [
        Instance("id0", "x", position=0, split="test", sub_split="a"),
        Instance("id1", "x", position=1, split="test", sub_split="b"),
        Instance(
            "id2", "x", position=2, split="valid", attributes={"topic": ("é", "z")}
        ),
    ]
    given = scores("exact_match", [1, 0, 1])
    stats = summarise(asked, given, [EM], (), (), scenario="s")
    found = {(s.split, s.sub_split): s.value for s in stats if s.trial == -1}
    assert found == {
        ("test", ""): 0.5,
        ("test", "a"): 1.0,
        ("test", "b"): 0.0,
        ("valid", ""): 1.0,
        ("valid", "topic=z"): 1.0,
        ("valid", "topic=é"): 1.0,
    }


def test_scorers_and_origins_stay_apart():
    given = (
        scores("exact_match", [1, 1, 1, 1])
        + scores("exact_match", [0, 0, 0, 0], scorer="strict")
        + scores("exact_match", [0, 1, 0, 1], origin="reported")
    )
    stats = run(given)
    found = {(s.scorer, s.origin): s.value for s in stats if s.trial == -1}
    assert found == {
        ("", "computed"): 1.0,
        ("", "reported"): 0.5,
        ("strict", "computed"): 0.0,
    }


def test_stats_come_in_the_order_of_the_metrics():
    given = (
        scores("unknown", [1.0]) + scores("tokens", [1]) + scores("exact_match", [1])
    )
    stats = run(given, [EM, TOKENS], n=1)
    assert [s.metric for s in stats] == [
        *["exact_match"] * 2,
        *["tokens"] * 2,
        *["unknown"] * 2,
    ]


def test_no_scores_make_no_stats():
    assert run([]) == []
    assert summarise([], [], [], [], [], scenario="") == []


def test_scores_without_their_instance_are_not_dropped():
    stats = summarise([], scores("exact_match", [1, 0]), [EM], (), (), scenario="s")
    assert one(stats, split="").value == 0.5


# missing values


def test_failed_requests_count_as_asked():
    stat = one(run(scores("exact_match", [1, 1, "failed", "failed"])))
    assert stat.value == 1.0
    assert (stat.n_scored, stat.n_asked) == (2, 4)
    assert stat.details["missing"] == {"failed": 2}
    assert interval(stat) == statistics.wilson(2, 2)


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        (["failed", "failed"], "failed"),
        (["not asked", "failed", "not asked"], "not asked"),
        (["not measurable", "failed"], "failed"),
        (["not measurable"] * 3, "not measurable"),
        (["unparsed", "unparsed", "nan"], "unparsed"),
    ],
)
def test_no_value_has_the_most_frequent_reason(values, reason):
    stats = run(scores("exact_match", values))
    for trial in (-1, 0):
        stat = one(stats, trial=trial)
        assert stat.value is None
        assert (stat.stderr, *interval(stat)) == (None, None, None)
        assert stat.missing == reason
        assert (stat.n_scored, stat.n_asked) == (0, len(values))
    assert set(one(stats).details) == {"missing"}


def test_a_trial_that_failed_is_left_out_of_the_mean():
    given = scores("exact_match", [1, 0]) + scores(
        "exact_match", ["failed"] * 2, trial=1
    )
    stats = run(given)
    assert one(stats).value == 0.5
    assert one(stats).details["count"] == 1
    assert one(stats, trial=1).missing == "failed"
    assert (one(stats).n_scored, one(stats).n_asked) == (2, 4)


def test_a_failed_window_leaves_its_document_half_scored():
    given = [
        Score("id0", "f1", 0.5, request_index=0),
        Score("id0", "f1", None, request_index=1, missing="failed"),
    ]
    stat = one(run(given, n=1), "f1")
    assert (stat.value, stat.n_scored, stat.n_asked) == (0.5, 0, 1)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_what_is_no_number_never_enters_a_mean(value):
    stat = one(run(scores("f1", [0.5, value])), "f1")
    assert (stat.value, stat.n_scored, stat.n_asked) == (0.5, 1, 2)
    assert stat.details["missing"] == {"nan": 1}


# perturbations

TYPOS = PerturbationFacts("typos", robustness=True)
CASE = PerturbationFacts("case", robustness=True)
DIALECT = PerturbationFacts("dialect", fairness=True)


def perturbed():
    """id2 is not changed by typos, only id0 by dialect; `case` did not run."""
    given = (
        scores("exact_match", [1, 0, 1])
        + scores("exact_match", [0, 1, None], perturbation="typos")
        + scores("exact_match", [1, None, None], perturbation="dialect")
    )
    extra = instances(2, "typos") + instances(1, "dialect")
    return run(given, n=3, perturbations=[TYPOS, CASE, DIALECT], extra=extra)


def test_perturbations_have_their_views():
    stats = perturbed()
    found = {
        (s.perturbation, s.computed_on): (s.value, s.n_asked)
        for s in stats
        if s.trial == -1
    }
    assert found == {
        ("", ""): (2 / 3, 3),
        ("typos", "perturbed"): (0.5, 2),
        ("typos", "original"): (0.5, 2),
        ("typos", "worst"): (0.0, 2),
        ("dialect", "perturbed"): (1.0, 1),
        ("dialect", "original"): (1.0, 1),
        ("dialect", "worst"): (1.0, 1),
        ("robustness", "worst"): (1 / 3, 3),  # unchanged ones keep their value
        ("fairness", "worst"): (2 / 3, 3),
    }


def test_worst_cases_of_shares_have_wilsons_interval():
    stat = one(perturbed(), perturbation="robustness")
    assert interval(stat) == statistics.wilson(1, 3)


def test_runs_without_perturbations_have_no_robustness():
    stats = run(scores("exact_match", [1, 0]), perturbations=[TYPOS, DIALECT])
    assert {s.perturbation for s in stats} == {""}


def test_the_worst_case_is_per_trial():
    given = [
        Score("id0", "exact_match", float(v), perturbation=p, trial=t)
        for (p, t), v in zip(product(("", "typos"), (0, 1)), [1, 0, 0, 1], strict=True)
    ]
    stats = run(given, n=1, perturbations=[TYPOS], extra=instances(1, "typos"))
    assert one(stats, perturbation="robustness", trial=0).value == 0
    assert one(stats, perturbation="robustness", trial=1).value == 0
    assert one(stats, perturbation="robustness").value == 0


def test_the_worst_case_of_a_failed_version_is_unknown():
    given = scores("exact_match", [1, 1]) + scores(
        "exact_match", ["failed", 1], perturbation="typos"
    )
    stats = run(given, n=2, perturbations=[TYPOS], extra=instances(2, "typos"))
    for name in ("typos", "robustness"):
        stat = one(stats, perturbation=name, computed_on="worst")
        assert (stat.value, stat.n_scored, stat.n_asked) == (1.0, 1, 2)


@pytest.mark.parametrize(("better", "worst"), [(True, 3.0), (None, 3.0), (False, 5.0)])
def test_the_worst_case_is_the_largest_where_lower_is_better(better, worst):
    """HELM takes the smallest always, which is the best case of a toxicity or a time."""
    given = scores("seconds", [3.0]) + scores("seconds", [5.0], perturbation="typos")
    facts = MetricFacts("seconds", "", "", "efficiency", higher_is_better=better)
    stats = run(given, [facts], 1, perturbations=[TYPOS], extra=instances(1, "typos"))
    for name in ("robustness", "typos"):
        found = one(stats, "seconds", perturbation=name, computed_on="worst")
        assert found.value == worst


# metrics of all instances at once

GAP = PopulationMetric(
    MetricFacts("gap", "Gap", "", "calibration", "population", format="share"),
    ("max_prob", "exact_match"),
    lambda p, y: None if p.min() == p.max() else float(abs(p.mean() - y.mean())),
)


def test_population_metrics_see_complete_rows_in_order():
    seen = []

    def compute(p, y):
        seen.append((p.tolist(), y.tolist()))
        return 0.5

    metric = PopulationMetric(GAP.facts, GAP.inputs, compute)
    given = scores("exact_match", [1, 0, "failed", 1]) + scores(
        "max_prob", [0.9, 0.8, "failed", 0.7]
    )
    random.Random(0).shuffle(given)
    stat = one(run(given, population=[metric]), "gap")
    assert seen[0] == ([0.9, 0.8, 0.7], [1, 0, 1])
    assert (stat.value, stat.n_scored, stat.n_asked) == (0.5, 3, 4)
    assert stat.details["missing"] == {"failed": 1}


def test_population_metrics_average_over_trials_and_have_an_interval():
    given = [
        s
        for t in (0, 1)
        for s in scores("exact_match", [1, 0, 0, t], trial=t)
        + scores("max_prob", [0.9, 0.8, 0.6, 0.7], trial=t)
    ]
    stats = run(given, population=[GAP])
    assert one(stats, "gap", trial=0).value == pytest.approx(0.5)
    assert one(stats, "gap", trial=1).value == pytest.approx(0.25)
    stat = one(stats, "gap")
    assert stat.value == pytest.approx(0.375)
    assert stat.ci_low <= stat.value <= stat.ci_high
    assert stat.stderr > 0
    assert (stat.details["count"], stat.n_asked) == (2, 8)


def test_population_metrics_have_contexts_but_no_worst_case():
    given = []
    for p in ("", "typos"):
        given += scores("exact_match", [1, 0], perturbation=p)
        given += scores("max_prob", [0.9, 0.8], perturbation=p)
    stats = run(
        given, n=2, perturbations=[TYPOS], population=[GAP], extra=instances(2, "typos")
    )
    found = {
        (s.perturbation, s.computed_on)
        for s in stats
        if s.metric == "gap" and s.trial == -1
    }
    assert found == {("", ""), ("typos", "perturbed"), ("typos", "original")}


def test_population_metrics_join_windows_by_their_index():
    total = PopulationMetric(
        MetricFacts("bpb", "", "", "accuracy", "population"),
        ("logprob", "bytes"),
        lambda logprob, count: float(-logprob.sum() / count.sum()),
    )
    given = [
        Score("id0", name, value, request_index=window)
        for name, values in {"logprob": (-6.0, -3.0), "bytes": (4.0, 2.0)}.items()
        for window, value in enumerate(values)
    ]
    shown = [Score("id0", "bpb", 1.5, weight=4.0, request_index=0)]
    stats = run(given + shown, [total.facts], n=1, population=[total])
    assert one(stats, "bpb").value == 1.5
    assert one(stats, "bpb").n_asked == 1


def test_population_metrics_that_are_not_defined_say_so():
    given = scores("exact_match", [1, 0]) + scores("max_prob", [0.5, 0.5])
    stat = one(run(given, population=[GAP]), "gap")
    assert (stat.value, stat.missing) == (None, "not measurable")
    nothing = scores("exact_match", ["failed"] * 2) + scores("max_prob", ["failed"] * 2)
    stat = one(run(nothing, population=[GAP]), "gap")
    assert (stat.value, stat.missing, stat.n_asked) == (None, "failed", 2)
    assert run(scores("exact_match", [1]), population=[GAP])[-1].metric != "gap"


def test_a_count_has_no_interval():
    facts = MetricFacts("n", "", "", "general", "population", format="integer")
    count = PopulationMetric(facts, ("exact_match",), lambda y: float(len(y)))
    stat = one(run(scores("exact_match", [1, 0, 1]), n=3, population=[count]), "n")
    assert (stat.value, *interval(stat)) == (3, None, None)


# the same in, the same out


def mixed(order):
    generator = random.Random(1)
    given = [
        Score(
            f"id{i}",
            metric,
            generator.random(),
            perturbation=p,
            trial=t,
            weight=generator.choice([1.0, 2.5]),
        )
        for i in range(40)
        for metric in ("exact_match", "max_prob", "r")
        for p in ("", "typos")
        for t in range(3)
    ]
    facts = [EM, MetricFacts("r", "", "", "x", aggregation="ratio")]
    random.Random(order).shuffle(given)
    asked = instances(40) + instances(40, "typos")
    random.Random(order).shuffle(asked)
    stats = summarise(asked, given, facts, [TYPOS], [GAP], scenario="s")
    return msgspec.json.encode(stats, order="deterministic")


def test_the_order_of_rows_changes_no_bit():
    assert mixed(0) == mixed(1)


def test_threads_and_hash_seeds_change_no_bit():
    script = (
        "import sys, hashlib; sys.path.insert(0, '.'); "
        "from tests.test_query_summarise import mixed; "
        "print(hashlib.sha256(mixed(int(sys.argv[1]))).hexdigest())"
    )

    def made(threads):
        environment = {**os.environ, "PYTHONHASHSEED": threads}
        environment |= dict.fromkeys(
            ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), threads
        )
        command = [sys.executable, "-c", script, threads]
        return subprocess.check_output(command, env=environment, text=True)

    assert made("1") == made("4")


def test_stats_never_hold_nan():
    text = mixed(0).decode()
    assert json.loads(text)
    assert "null" in text
    assert "NaN" not in text
