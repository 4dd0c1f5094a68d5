"""The gap between a run's best and worst group."""

import math

import pytest

from helmsite.archive import Archive
from helmsite.config import SiteConfig
from helmsite.query import Results, disparity, statistics, summarise
from helmsite.schema import Instance, MetricFacts, Score, Stat
from tests.query_runs import EM, make_run

TIME = MetricFacts("seconds", "Time", "", "efficiency", higher_is_better=False)
SIZE = MetricFacts("size", "Size", "", "general_information")


def stats_of(groups, metric=EM):
    """A run with these values in each group of the dimension `dialect`."""
    instances: list[Instance] = []
    scores: list[Score] = []
    for name, values in groups.items():
        for value in values:
            key = f"id{len(instances)}"
            place = len(instances)
            groups_of: dict[str, tuple[str, ...]] = {"dialect": (name,)}
            instances.append(
                Instance(key, "x", position=place, split="test", attributes=groups_of)
            )
            scores.append(Score(key, metric.name, value))
    return summarise(instances, scores, [metric], (), (), scenario="s")


def gaps(groups, metric=EM):
    return disparity.of_run(stats_of(groups, metric), [metric])


def test_the_best_group_is_compared_with_the_worst():
    [gap] = gaps({"a": [1, 1, 1, 0], "b": [1, 0, 0, 0], "c": [1, 1, 0, 0]})
    assert (gap.metric, gap.split, gap.dimension) == ("exact_match", "test", "dialect")
    assert (gap.best, gap.worst, gap.groups) == ("a", "b", 3)
    assert gap.value == pytest.approx(0.5)
    low_a, high_a = statistics.wilson(3, 4)
    low_b, high_b = statistics.wilson(1, 4)
    assert gap.ci_low == pytest.approx(0.5 - math.hypot(0.75 - low_a, high_b - 0.25))
    assert gap.ci_high == pytest.approx(0.5 + math.hypot(high_a - 0.75, 0.25 - low_b))


def test_newcombes_own_example():
    """56 of 70 against 48 of 80 (1998, table II, a): 0.2, from 0.0524 to 0.3339."""
    [gap] = gaps({"a": [1] * 56 + [0] * 14, "b": [1] * 48 + [0] * 32})
    assert gap.value == pytest.approx(0.2)
    assert (gap.ci_low, gap.ci_high) == pytest.approx((0.0524, 0.3339), abs=5e-5)


def test_where_lower_is_better_the_best_is_the_smallest():
    [gap] = gaps({"a": [1.0, 2.0], "b": [5.0, 6.0]}, TIME)
    assert (gap.best, gap.worst, gap.value, gap.higher) == ("a", "b", 4.0, False)
    assert gap.ci_low < 4.0 < gap.ci_high


def test_a_group_without_spread_leaves_no_interval():
    [gap] = gaps({"a": [1.0, 1.0], "b": [5.0, 6.0]}, TIME)
    assert (gap.value, gap.ci_low, gap.ci_high) == (4.5, None, None)


def test_a_groups_name_may_hold_an_equals_sign():
    [gap] = gaps({"x=1": [1, 1], "x=2": [1, 0], "y=1": [0, 0]})
    found = gap.dimension, gap.best, gap.worst, gap.groups
    assert found == ("dialect", "x=1", "y=1", 3)


def test_one_group_or_no_direction_has_no_gap():
    assert gaps({"a": [1, 0]}) == ()
    assert gaps({"a": [1, 0], "b": [1, 1]}, SIZE) == ()


def test_groups_without_a_value_and_perturbed_ones_do_not_count():
    def stat(sub_split, value, **fields):
        return Stat("exact_match", value, split="test", sub_split=sub_split, **fields)

    found = [
        stat("g=a", 0.5),
        stat("g=b", None, missing="failed"),
        stat("g=a", 0.1, perturbation="typos", computed_on="worst"),
        stat("g=b", 0.9, perturbation="typos", computed_on="worst"),
        stat("g=b", 0.9, trial=0),
        stat("toxic", 0.25),
        stat("non-toxic", 0.75),
    ]
    [gap] = disparity.of_run(found, [EM])
    assert (gap.dimension, gap.best, gap.worst) == ("", "non-toxic", "toxic")


def test_pages_of_runs_and_scenarios_have_the_gaps(tmp_path):
    archive = Archive(tmp_path / "runs")
    made = make_run(archive, "boolq", "a/b", [1, 0, 1, 1])
    groups = stats_of({"x": [1, 1, 0], "y": [0, 0, 0]})
    archive.write_scores(
        made, archive.scores(made), groups, archive.manifest(made).metrics
    )
    with Results(archive, SiteConfig(), None) as found:
        [own] = found.run(made).gaps
        [shown] = found.scenario("boolq").gaps
    assert (own.best, own.worst, own.run_id) == ("x", "y", "")
    assert (shown.best, shown.worst, shown.run_id) == ("x", "y", made)
    assert (shown.value, shown.ci_low, shown.ci_high) == (
        own.value,
        own.ci_low,
        own.ci_high,
    )
