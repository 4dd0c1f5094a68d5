"""Scores and aggregates equal HELM's own on the sample runs, to 1e-9."""

from pathlib import Path

import pytest

from helmsite import metrics
from helmsite.schema import Score
from tests import helm_reader
from tests.helm_reader import HelmRun

NOT_OURS = {"batch_size", "training_co2_cost", "training_energy_cost"}
PLATT = {"platt_coef", "platt_intercept", "platt_ece_10_bin", "platt_ece_1_bin"}
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
