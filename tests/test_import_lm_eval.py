"""Results of lm-evaluation-harness, taken as they lie on disk."""

from __future__ import annotations

import json
import math
import statistics
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from helmsite.run.importing import survey
from tests.importing import accounted, bring

if TYPE_CHECKING:
    from helmsite.schema import Manifest, Stat
    from tests.importing import Brought

NOT_OURS = {
    "README.md",
    "commands.sh",
    "run0_tiny_limit10_with_mcc/stdout.log",
    "task_data/arith.test.csv",
    "task_data/arith.train.csv",
    "task_data/capitals.test.jsonl",
    "task_data/capitals.train.jsonl",
    "task_data/elements.test.jsonl",
    "task_data/elements.train.jsonl",
    "task_data/paras.json",
    "task_data/proverbs.jsonl",
    "task_yaml/utils.py",
}
"""What lies beside the samples, and is no file of the harness."""


@pytest.fixture(scope="module")
def brought(tmp_path_factory: pytest.TempPathFactory, shared: Path) -> Brought:
    """All sample runs, in one archive."""
    place = tmp_path_factory.mktemp("lm_eval") / "runs"
    return bring([shared / "samples" / "lm_eval"], place)


def run_of(brought: Brought, stamp: str, task: str) -> Manifest:
    (found,) = [
        m
        for m in brought.runs
        if m.spec.scenario == task and m.origin.endswith(f"{stamp}/{task}")
    ]
    return found


def stats_of(brought: Brought, run: Manifest) -> dict[tuple[str, str], Stat]:
    return {
        (s.metric, s.scorer): s
        for s in brought.archive.stats(run.run_id)
        if s.sub_split == "" and s.trial == -1
    }


def test_every_file_of_the_samples_is_accounted_for(
    brought: Brought, shared: Path
) -> None:
    folder = shared / "samples" / "lm_eval"
    assert accounted(brought, [folder]) == set()
    unknown = {
        name
        for name, why in brought.survey.notes.skipped.items()
        if why == "no importer recognises it"
    }
    assert unknown <= NOT_OURS
    assert not brought.report.notes.problems
    assert len(brought.runs) == 24


def test_all_values_and_errors_of_the_results_are_found_again(
    brought: Brought, shared: Path
) -> None:
    """The reported aggregates, which helmsite's own sums gave again to 1e-9."""
    assert [made.different for made in brought.report.made if made.different] == []
    expected = 0
    for path in (shared / "samples" / "lm_eval").rglob("results_*.json"):
        results = json.loads(path.read_text())
        stamp = path.stem.removeprefix("results_")
        for task in results["configs"]:
            run = run_of(brought, stamp, task)
            stats = stats_of(brought, run)
            filters = {k.split(",")[1] for k in results["results"][task] if "," in k}
            for key, value in results["results"][task].items():
                metric, comma, kept = key.partition(",")
                if not comma or metric.startswith("bypass"):
                    continue
                name = metric.removesuffix("_stderr")
                stat = stats[name, kept if len(filters) > 1 else ""]
                assert stat.origin == "reported"
                if not metric.endswith("_stderr"):
                    assert stat.value == value
                    expected += metric != "mcc"
                elif value != "N/A":
                    assert stat.stderr == value
    assert sum(made.equal for made in brought.report.made) == expected == 90


def test_errors_of_means_are_those_of_the_scores(brought: Brought) -> None:
    compared = 0
    for run in brought.runs:
        means = {m.name for m in run.metrics if m.aggregation == "mean"}
        by_kind: dict[tuple[str, str], list[float]] = defaultdict(list)
        for score in brought.archive.scores(run.run_id):
            if score.value is not None:
                by_kind[score.metric, score.scorer].append(score.value)
        for kind, stat in stats_of(brought, run).items():
            if stat.origin == "reported" and kind[0] in means - {"brier_score"}:
                values = by_kind[kind]
                assert stat.value == pytest.approx(statistics.mean(values), abs=1e-9)
                error = statistics.stdev(values) / len(values) ** 0.5
                assert stat.stderr == pytest.approx(error, abs=1e-9)
                compared += 1
    assert compared > 60


def test_importing_twice_adds_nothing(brought: Brought, shared: Path) -> None:
    before = {m.run_id: m for m in brought.runs}
    again = bring([shared / "samples" / "lm_eval"], Path(brought.archive.root))
    assert again.report.made == []
    assert len(again.report.unchanged) == len(again.survey.found)
    assert {m.run_id: m for m in again.runs} == before


def test_choices_of_a_question_are_one_instance(brought: Brought) -> None:
    run = run_of(brought, "2026-11-29T19-59-51.575345", "mini_capitals")
    first = brought.archive.instances(run.run_id)[0]
    assert first.instance_id == "0"
    assert first.input == "Question: What is the capital city of South Korea?\nAnswer:"
    assert [r.text for r in first.references] == [
        "Sofia",
        "Seoul",
        "Tallinn",
        "Athens",
    ]
    assert first.gold == ("Seoul",)
    replies = [
        r for r in brought.archive.replies(run.run_id) if r.request.instance_id == "0"
    ]
    assert [(r.request.mode, r.request.reference_index) for r in replies] == [
        *(("calibration", n) for n in range(4)),
        *(("original", n) for n in range(4)),
    ]
    seoul = replies[5]
    assert seoul.request.prompt == f"{first.input} Seoul"
    assert seoul.request.score_start == len(first.input)
    assert seoul.completion.logprob == -5.693026542663574
    assert seoul.completion.extra == {"is_greedy": False}
    scores = {
        s.metric: s for s in brought.archive.scores(run.run_id) if s.instance_id == "0"
    }
    assert {m: s.value for m, s in scores.items() if m != "brier_score"} == {
        "acc": 1.0,
        "acc_norm": 1.0,
        "acc_bytes": 1.0,
        "exact_match": 0.0,
        "acc_mutual_info": 0.0,
    }
    assert all(s.scorer == "" and s.origin == "reported" for s in scores.values())


def test_filters_are_scorings_of_one_request(brought: Brought) -> None:
    run = run_of(brought, "2026-11-29T19-59-51.575345", "mini_arith")
    assert len(brought.archive.instances(run.run_id)) == 60
    assert len(list(brought.archive.replies(run.run_id))) == 60
    scores = [s for s in brought.archive.scores(run.run_id) if s.instance_id == "0"]
    assert {(s.scorer, s.text) for s in scores} == {
        ("strict-match", "[invalid]"),
        ("flexible-extract", "10"),
    }
    (exact,) = [m for m in run.metrics if m.name == "exact_match"]
    assert exact.source == "lm-evaluation-harness"


def test_repeats_are_completions(brought: Brought) -> None:
    run = run_of(brought, "2026-11-29T20-07-54.645869", "mini_arith_sc")
    replies = [
        r for r in brought.archive.replies(run.run_id) if r.request.instance_id == "0"
    ]
    assert [r.completion_index for r in replies] == [0, 1, 2]
    assert len({r.completion.text for r in replies}) == 3
    assert run.spec.adapter.num_outputs == 3
    assert run.spec.adapter.temperature == 0.8


def test_ids_that_lie_are_not_trusted(brought: Brought, shared: Path) -> None:
    """--samples 9,3,6 logs the documents 3, 6 and 9 under these numbers."""
    run = run_of(brought, "2026-11-29T20-08-26.645545", "mini_capitals")
    whole = run_of(brought, "2026-11-29T19-59-51.575345", "mini_capitals")
    right = {
        i.content_hash: i.instance_id for i in brought.archive.instances(whole.run_id)
    }
    found = brought.archive.instances(run.run_id)
    assert [right[i.content_hash] for i in found] == ["3", "6", "9"]
    assert [i.extra["doc_id"] for i in found] == [9, 3, 6]
    assert all(i.instance_id.startswith("doc-") for i in found)
    assert any("numbers are not those of the data" in w for w in run.warnings)


def test_hashes_and_formulas_are_verified(brought: Brought) -> None:
    for run in brought.runs:
        assert run.provenance.verified[0] == (
            "Hashes that hold, computed anew: doc_hash, prompt_hash, target_hash, "
            "task_hashes."
        )
        assert not any("log-likelihoods give" in w for w in run.warnings)
    run = run_of(brought, "2026-11-29T19-59-51.575345", "mini_capitals")
    assert run.warnings == ()
    assert run.provenance.verified[1] == (
        "Values that the log-likelihoods give again: acc, acc_norm, acc_bytes, "
        "exact_match, brier_score, acc_mutual_info."
    )


def leaves(value: Any) -> set[Any]:
    if isinstance(value, dict):
        return set().union(*map(leaves, value.values()))
    if isinstance(value, list):
        return set().union(*map(leaves, value))
    if isinstance(value, str):
        try:
            return {float(value)} if math.isfinite(float(value)) else {value}
        except ValueError:
            return {value} - {"True", "False"}
    return {float(value)} if isinstance(value, (int, float)) else set()


def test_nothing_of_a_row_is_lost(brought: Brought, shared: Path) -> None:
    """Every text and number is in some column; hashes that hold can be computed anew."""
    for path in (shared / "samples" / "lm_eval").rglob("samples_*.jsonl"):
        stamp = path.stem[-26:]
        task = path.stem.removeprefix("samples_")[:-27]
        run = run_of(brought, stamp, task)
        kept = leaves(
            json.loads(
                msgspec.json.encode(
                    [
                        brought.archive.instances(run.run_id),
                        list(brought.archive.replies(run.run_id)),
                        brought.archive.scores(run.run_id),
                        run,
                    ]
                )
            )
        )
        prompts = {r.request.prompt for r in brought.archive.replies(run.run_id)}
        for line in path.read_text().splitlines():
            row = json.loads(line)
            for name in ("prompt_hash", "target_hash"):
                del row[name]
            if len(run.metrics) and "perplexity" in row:
                del row["perplexity"]
            for arguments in row.pop("arguments").values():
                texts = [a for a in arguments.values() if isinstance(a, str)]
                assert "".join(texts) in prompts
                given = [a for a in arguments.values() if isinstance(a, dict)]
                assert leaves(given) <= kept
            lost = leaves(row) - kept - {"none"}
            assert not lost, (path.name, lost)


def test_a_survey_tells_of_all_runs_before_it_reads_them(shared: Path) -> None:
    found = survey([shared / "samples" / "lm_eval"], ("lm_eval",)).found
    assert sum(f.instances or 0 for f in found if f.scenario) > 500
    assert {f.model for f in found} == {"smollm2-hf", "tiny-random-llama"}
    assert all("/models" not in f.key for f in found)


def test_runs_that_were_not_judged(brought: Brought) -> None:
    """--predict_only: helmsite judges what was generated; filtered answers are kept."""
    run = run_of(brought, "2026-11-29T20-08-08.753648", "mini_arith")
    assert any("--predict_only" in w for w in run.warnings)
    stats = stats_of(brought, run)
    assert stats["exact_match", ""].origin == "computed"
    assert stats["exact_match", ""].n_scored == 2
    assert "bypass" not in {m.name for m in run.metrics}
    first = brought.archive.instances(run.run_id)[0]
    assert first.extra["filtered_resps"]["strict-match"] == ["[invalid]"]
    run = run_of(brought, "2026-11-29T20-08-08.753648", "mini_capitals")
    assert stats_of(brought, run) == {}
    assert len(list(brought.archive.replies(run.run_id))) == 12


def test_means_of_groups_are_cells(brought: Brought, shared: Path) -> None:
    cells = {
        (row.source_file, row.stat.metric): row
        for row in brought.archive.published("imported", "lm_eval")
    }
    folder, count = shared / "samples" / "lm_eval", 0
    for path in folder.rglob("results_*.json"):
        group = json.loads(path.read_text()).get("groups", {}).get("mini_knowledge", {})
        for metric in ("acc", "acc_norm") if group else ():
            row = cells[path.relative_to(folder).as_posix(), metric]
            assert row.scenario == "mini_knowledge"
            assert row.stat.value == group[f"{metric},none"]
            assert row.stat.stderr == group[f"{metric}_stderr,none"]
            assert row.stat.n_scored == group["sample_count"][f"{metric},none"]
            if row.settings.get("limit") is None:  # else both tasks are of one size
                assert row.stat.details["weight_by_size"] == (metric == "acc")
            count += 1
    assert count == len(cells) == 8
    run = run_of(brought, "2026-11-29T19-59-51.575345", "mini_elements")
    assert run.scenario.groups == ("mini_knowledge",)
