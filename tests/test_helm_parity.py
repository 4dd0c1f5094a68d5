"""HELM's sample runs through the importer: archive → score → aggregate, to HELM's numbers.

Each run folder is imported: what HELM asked and got is archived, scored and aggregated
here, beside what HELM reports. Then every per-instance score and every statistic that HELM
wrote is looked up: it is equal, or `fault` names the fault of HELM that it is.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from helmsite import metrics
from tests.importing import bring

if TYPE_CHECKING:
    from helmsite.schema import Manifest, Reply, Score, Stat

SAMPLES = Path("samples/helm/benchmark_output/runs/sample")
FAMILIES = {"robustness", "fairness"}
SHOWN_ONLY = {"bits_per_byte", "logprob_per_byte", "perplexity", "num_instances"}
CERTAIN = {
    "max_prob",
    "logprob",
    "num_perplexity_tokens",
    "num_bytes",
    *SHOWN_ONLY - {"num_instances"},
}
"""What HELM computes from log-probabilities that are all 0."""

COSTS = {facts.name for facts in metrics.known() if facts.higher_is_better is False}
NAMES = {
    "dialect": "dialect(prob=1.0)",
    "gender": "gender(mode=pronouns,prob=1.0)",
    "person_name": "person_name(prob=1.0)",
}
"""HELM's names of the sample's perturbations, and ours where they differ."""

FIGURES = {"training_co2_cost", "training_energy_cost"}
StatKey = tuple[str, str, str, str, str]
PerInstance = dict[tuple[str, str, int], list[dict[str, dict[str, Any]]]]


class HelmRun(NamedTuple):
    """HELM's numbers of a run as it wrote them.

    `per_instance` has for each (instance, perturbation, trial) a list of {metric: stat}:
    one for each window of a document, else one.
    """

    per_instance: PerInstance
    stats: list[dict[str, Any]]
    is_perturbed: bool


class Scored(NamedTuple):
    """A run, and what the archive holds of it: rows that were computed, and reported."""

    run: HelmRun
    manifest: Manifest
    replies: list[Reply]
    scores: list[Score]
    stats: dict[StatKey, Stat]
    reported: list[Score]
    reported_stats: dict[StatKey, Stat]

    @property
    def is_certain(self) -> bool:
        """Whether no answer's log-probability is known: HELM's client does not tell it."""
        made = [r for r in self.replies if r.request.score_start is None]
        return bool(made) and all(r.completion.logprob is None for r in made)


def read(folder: Path) -> HelmRun:
    """Read HELM's numbers of a run."""
    stats, per_instance, spec = (
        json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
        for name in ("stats", "per_instance_stats", "run_spec")
    )
    augmented = spec["data_augmenter_spec"]["perturbation_specs"]
    return HelmRun(united(per_instance), stats, bool(augmented))


def united(entries: list[dict[str, Any]]) -> PerInstance:
    """HELM's statistics by instance: those of several classes of metrics together."""
    found: PerInstance = {}
    for entry in entries:
        key = (
            entry["instance_id"],
            perturbation_name(entry.get("perturbation")),
            entry["train_trial_index"],
        )
        stats = {stat["name"]["name"]: stat for stat in entry["stats"]}
        rows = found.setdefault(key, [])
        for row in rows:
            if not row.keys() & stats.keys():
                row.update(stats)
                break
        else:
            rows.append(stats)
    return found


def perturbation_name(described: dict[str, Any] | None) -> str:
    """Our name of a perturbation, '' for none."""
    return NAMES.get(described["name"], described["name"]) if described else ""


@pytest.fixture(scope="module")
def runs(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Scored]:
    brought = bring([shared / SAMPLES], tmp_path_factory.mktemp("helm") / "runs")
    assert not brought.report.notes.problems
    archive, found = brought.archive, {}
    for manifest in brought.runs:
        name = manifest.origin.removeprefix("helm:sample/")
        scores = archive.scores(manifest.run_id)
        across = [s for s in archive.stats(manifest.run_id) if s.trial == -1]
        found[name] = Scored(
            run=read(shared / SAMPLES / name),
            manifest=manifest,
            replies=list(archive.replies(manifest.run_id)),
            scores=[s for s in scores if s.origin == "computed"],
            stats=by_key([s for s in across if s.origin == "computed"]),
            reported=[s for s in scores if s.origin == "reported"],
            reported_stats=by_key([s for s in across if s.origin == "reported"]),
        )
    return found


def by_key(stats: list[Stat]) -> dict[StatKey, Stat]:
    """Aggregates by metric and context; no two have the same."""
    found = {
        (s.metric, s.split, s.sub_split, s.perturbation, s.computed_on): s
        for s in stats
    }
    assert len(found) == len(stats)
    return found


def theirs(run: HelmRun) -> dict[StatKey, dict[str, Any]]:
    """HELM's aggregates, those without a value included, by metric and context."""
    found = {}
    for stat in run.stats:
        name = stat["name"]
        perturbation = name.get("perturbation")
        key = (
            name["name"],
            name["split"],
            name.get("sub_split", ""),
            perturbation_name(perturbation),
            perturbation["computed_on"] if perturbation else "",
        )
        assert key not in found
        found[key] = stat
    return found


COPIED = "robustness of a run that was never perturbed"
SWAPPED = "the best case as the worst where lower is better"
UNTOLD = "certainty where log-probabilities are not told"


def fault(key: StatKey, run: Scored) -> str:
    """Name the fault of HELM that a number of its is, '' for a number that we share."""
    if key[3] in FAMILIES and not run.run.is_perturbed:
        return COPIED
    if key[4] == "worst" and key[0] in COSTS:
        return SWAPPED
    if run.is_certain and key[0] in CERTAIN:
        return UNTOLD
    return ""


def is_honest(mine: Stat | None, what: str, stat: dict[str, Any]) -> bool:
    """Whether we have, in place of a fault, no value or a worst case that is no better."""
    if what != SWAPPED:
        return mine is None or mine.value is None
    return mine is not None and (mine.value or 0.0) >= stat["mean"] - 1e-9


def test_the_sample_has_all_eleven_runs(runs: dict[str, Scored]) -> None:
    assert len(runs) == 11
    assert {run.manifest.spec.adapter.method for run in runs.values()} == {
        "generation",
        "multiple_choice_joint",
        "multiple_choice_separate_original",
        "multiple_choice_separate_calibrated",
        "language_modeling",
    }


def test_every_per_instance_score_equals_helms(runs: dict[str, Scored]) -> None:
    compared = 0
    for name, scored in runs.items():
        expected = {
            (*key, metric): stat["mean"]
            for key, rows in scored.run.per_instance.items()
            for row in rows
            for metric, stat in row.items()
            if stat["count"] and not fault((metric, "", "", "", ""), scored)
        }
        found = {
            (s.instance_id, s.perturbation, s.trial, s.metric): s.value
            for s in scored.scores
            if s.metric not in SHOWN_ONLY and s.value is not None
        }
        assert found == pytest.approx(expected, abs=1e-9), name
        compared += len(expected)
    assert compared == 1222


def test_every_aggregate_equals_helms_or_is_one_of_its_faults(
    runs: dict[str, Scored],
) -> None:
    """None of 1,049 differs by chance: all are equal, or not shared for a named reason."""
    outcome: Counter[str] = Counter()
    for name, scored in runs.items():
        for key, stat in theirs(scored.run).items():
            mine = scored.stats.get(key)
            if what := fault(key, scored):
                assert is_honest(mine, what, stat), (name, key)
                outcome[what] += 1
            elif not stat["count"]:
                assert mine is None or mine.value is None, (name, key)
                outcome["without a value"] += 1
            else:
                assert mine is not None, (name, key)
                assert mine.value == pytest.approx(stat["mean"], abs=1e-9), (name, key)
                for part in ("count", "sum", "min", "max", "stddev"):
                    # HELM's stddev is the root of a difference of squares
                    slack = 1e-7 if part == "stddev" else 1e-9
                    near = pytest.approx(stat[part], abs=slack)
                    assert mine.details[part] == near, (name, key, part)
                outcome["equal"] += 1
    assert outcome == {
        "equal": 641,
        SWAPPED: 6,
        "without a value": 38,
        COPIED: 336,
        UNTOLD: 28,
    }


def test_what_helm_reports_stands_beside_it_unchanged(runs: dict[str, Scored]) -> None:
    """Also what we do not take for known: there the value stands among the details.

    What HELM writes of every model's costs, empty where there are no figures, is left out.
    """
    for name, scored in runs.items():
        expected = {
            (*key, metric): stat.get("mean")
            for key, rows in scored.run.per_instance.items()
            for row in rows
            for metric, stat in row.items()
            if stat["count"] or metric not in FIGURES
        }
        found = {
            (s.instance_id, s.perturbation, s.trial, s.metric): s.details.get(
                "reported", s.value
            )
            for s in scored.reported
        }
        assert found == expected, name
        stats = {
            key: stat
            for key, stat in theirs(scored.run).items()
            if stat["count"] or key[0] not in FIGURES
        }
        assert scored.reported_stats.keys() == stats.keys()
        for key, stat in scored.reported_stats.items():
            assert stat.details.get("reported", stat.value) == stats[key].get("mean")
            assert stat.details["count"] == stats[key]["count"]
            known = not fault(key, scored) or fault(key, scored) == SWAPPED
            assert (stat.value is not None) == (known and stats[key]["count"] > 0)
            assert bool(stat.missing) == (stat.value is None)


def test_the_sources_aggregates_follow_from_its_own_instances(
    runs: dict[str, Scored],
) -> None:
    for scored in runs.values():
        assert not [w for w in scored.manifest.warnings if "aggregates" in w]


def test_each_kind_of_context_and_metric_was_compared(runs: dict[str, Scored]) -> None:
    keys = {
        key
        for scored in runs.values()
        for key, stat in theirs(scored.run).items()
        if stat["count"] and not fault(key, scored)
    }
    assert {key[4] for key in keys} == {"", "original", "perturbed", "worst"}
    assert {key[3] for key in keys} == {"", *FAMILIES, "mild_mix", *NAMES.values()}
    come_along = {
        name
        for method in ("generation", "language_modeling")
        for name in metrics.applicable(method, ["exact_match"])
    }
    assert come_along - {key[0] for key in keys} == set()


# where HELM's own rule is a fault, and what we do


def test_runs_without_perturbations_have_no_robustness_though_helm_says_so(
    runs: dict[str, Scored],
) -> None:
    """HELM copies the plain value, as if the run had been tried for robustness."""
    plain = [scored for scored in runs.values() if not scored.run.is_perturbed]
    assert len(plain) == 10
    copied = 0
    for scored in plain:
        assert not {key for key in scored.stats if key[3]}
        stats = theirs(scored.run)
        for key, stat in stats.items():
            if key[3] in FAMILIES and key[0] in ("exact_match", "logprob", "max_prob"):
                unperturbed = stats[(*key[:3], "", "")]
                assert stat["mean"] == pytest.approx(unperturbed["mean"])
                copied += 1
    assert copied > 20


def test_log_probabilities_that_are_not_told_are_missing_with_a_reason(
    runs: dict[str, Scored],
) -> None:
    """HELM's Hugging Face client reports 0.0 for each greedy token: nothing to judge."""
    silent = [scored for scored in runs.values() if scored.is_certain]
    assert len(silent) == 4
    for scored in silent:
        certain = theirs(scored.run)
        assert not any(key[0].startswith("ece") for key in certain)
        assert certain["max_prob", "test", "", "", ""]["mean"] == 1
        assert certain["perplexity", "test", "", "", ""]["mean"] == 1
        for name in ("max_prob", "perplexity"):
            stat = scored.stats[name, "test", "", "", ""]
            assert (stat.value, stat.missing) == (None, "not measurable")


def test_all_that_we_aggregate_beyond_helm_is_of_all_instances_at_once(
    runs: dict[str, Scored],
) -> None:
    """HELM has no 'original' of calibration and ratios; we do, for a fair comparison."""
    together = {metric.facts.name for metric in metrics.population()}
    for scored in runs.values():
        more = {key for key, stat in scored.stats.items() if stat.value is not None}
        more -= {key for key, stat in theirs(scored.run).items() if stat["count"]}
        assert {key[0] for key in more} <= together
        assert {key[4] for key in more} <= {"original"}
