"""Scores and aggregates equal HELM's own on the sample runs, to 1e-9."""

from pathlib import Path
from typing import Any

import pytest

from helmsite import metrics, query
from helmsite.schema import Score, Stat
from tests import helm_reader
from tests.helm_reader import HelmRun

NOT_OURS = {"batch_size", "training_co2_cost", "training_energy_cost"}
PLATT = {"platt_coef", "platt_intercept", "platt_ece_10_bin", "platt_ece_1_bin"}
FAMILIES = {"robustness", "fairness"}
SHOWN_ONLY = {"bits_per_byte", "logprob_per_byte", "perplexity", "num_instances"}


@pytest.fixture(scope="module")
def runs(shared: Path) -> list[HelmRun]:
    return [helm_reader.read(folder) for folder in helm_reader.run_folders(shared)]


def names_of(run: HelmRun) -> tuple[str, ...]:
    return metrics.applicable(run.adapter.method, run.names, run.adapter.num_outputs)


def scores_of(run: HelmRun) -> list[Score]:
    return metrics.score(run.instances, run.replies, run.adapter, names_of(run))


def test_the_sample_has_all_eleven_runs(runs: list[HelmRun]) -> None:
    assert len(runs) == 11
    assert {run.adapter.method for run in runs} == {
        "generation",
        "multiple_choice_joint",
        "multiple_choice_separate_original",
        "multiple_choice_separate_calibrated",
        "language_modeling",
    }


def test_every_per_instance_score_equals_helms(runs: list[HelmRun]) -> None:
    compared = 0
    for run in runs:
        expected = {
            (*key, metric): stat["mean"]
            for key, rows in run.per_instance.items()
            for row in rows
            for metric, stat in row.items()
            if metric not in NOT_OURS
        }
        found = {
            (s.instance_id, s.perturbation, s.trial, s.metric): s.value
            for s in scores_of(run)
            if s.metric not in SHOWN_ONLY
        }
        assert found == pytest.approx(expected, abs=1e-9), run.name
        compared += len(expected)
    assert compared > 1000


StatKey = tuple[str, str, str, str, str]


def theirs(run: HelmRun) -> dict[StatKey, dict[str, Any]]:
    """HELM's aggregates that have a value, by metric and context."""
    found = {}
    for stat in run.stats:
        name = stat["name"]
        perturbation = name.get("perturbation")
        key = (
            name["name"],
            name["split"],
            name.get("sub_split", ""),
            helm_reader.perturbation_name(perturbation),
            perturbation["computed_on"] if perturbation else "",
        )
        assert key not in found
        if stat["count"]:
            found[key] = stat
    return found


def ours(run: HelmRun) -> dict[StatKey, Stat]:
    """Our aggregates across trials, by metric and context."""
    names = names_of(run)
    stats = query.summarise(
        run.instances,
        scores_of(run),
        metrics.resolve(names),
        run.perturbations,
        [m for m in metrics.population() if m.facts.name in names],
        scenario=run.name,
    )
    across = [stat for stat in stats if stat.trial == -1]
    found = {
        (s.metric, s.split, s.sub_split, s.perturbation, s.computed_on): s
        for s in across
    }
    assert len(found) == len(across)
    return found


def is_worst_of_nothing(key: StatKey, run: HelmRun) -> bool:
    return key[3] in FAMILIES and not run.perturbations


def test_every_aggregate_equals_helms(runs: list[HelmRun]) -> None:
    compared = 0
    for run in runs:
        found = ours(run)
        for key, stat in theirs(run).items():
            if key[0] in NOT_OURS | PLATT or is_worst_of_nothing(key, run):
                continue
            assert found[key].value == pytest.approx(stat["mean"], abs=1e-9), key
            for name in ("count", "sum", "min", "max", "stddev"):
                # HELM's stddev is the root of a difference of squares: half the digits
                slack = 1e-7 if name == "stddev" else 1e-9
                near = pytest.approx(stat[name], abs=slack)
                assert found[key].details[name] == near, (run.name, key, name)
            compared += 1
    assert compared > 600


def test_each_kind_of_context_and_each_metric_was_compared(
    runs: list[HelmRun],
) -> None:
    keys = {
        key for run in runs for key in theirs(run) if not is_worst_of_nothing(key, run)
    }
    assert {key[4] for key in keys} == {"", "original", "perturbed", "worst"}
    assert {key[3] for key in keys} >= {*FAMILIES, "mild_mix", "dialect", "gender"}
    compared = {key[0].partition("@")[0] for key in keys} - NOT_OURS - PLATT
    known = {facts.name.partition("@")[0] for facts in metrics.known()}
    # those that no sample run has are compared with HELM's functions instead
    assert known - compared == {
        "f1_score",
        "exact_set_match",
        "iou_set_match",
        "f1_set_match",
    }


# where HELM's own rule is a fault, and what we do


def test_runs_without_perturbations_have_no_robustness_though_helm_says_so(
    runs: list[HelmRun],
) -> None:
    """HELM copies the plain value, as if the run had been tried for robustness."""
    plain = [run for run in runs if not run.perturbations]
    assert len(plain) == 10
    copied = 0
    for run in plain:
        assert not {key for key in ours(run) if key[3]}
        stats = theirs(run)
        for key, stat in stats.items():
            if key[3] in FAMILIES and key[0] in ("exact_match", "logprob", "max_prob"):
                unperturbed = stats[(*key[:3], "", "")]
                assert stat["mean"] == pytest.approx(unperturbed["mean"])
                copied += 1
    assert copied > 20


def test_calibration_without_logprobs_is_missing_with_a_reason(
    runs: list[HelmRun],
) -> None:
    """HELM's Hugging Face client reports 0.0 for each greedy token: nothing to judge."""
    silent = [
        run
        for run in runs
        if run.adapter.method == "multiple_choice_joint"
        and all(reply.completion.logprob == 0 for reply in run.replies)
    ]
    assert len(silent) == 2
    for run in silent:
        assert not any(key[0].startswith("ece") for key in theirs(run))
        stat = ours(run)["ece_10_bin", "test", "", "", ""]
        assert (stat.value, stat.missing) == (None, "not measurable")


def test_all_that_we_aggregate_beyond_helm_is_of_all_instances_at_once(
    runs: list[HelmRun],
) -> None:
    """HELM has no 'original' of calibration and ratios; we do, for a fair comparison."""
    together = {metric.facts.name for metric in metrics.population()}
    for run in runs:
        more = {key for key, stat in ours(run).items() if stat.value is not None}
        more -= theirs(run).keys()
        assert {key[0] for key in more} <= together
        assert {key[4] for key in more} <= {"original"}
