"""Every Eval Ever into the archive: the example files, older versions, and files gone wrong."""

from __future__ import annotations

import json
import math
import shutil
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import structs

from tests.eee_files import NAME, evaluation, result, sample, write
from tests.importing import accounted, bring, mutants

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from helmsite.archive import Archive
    from helmsite.schema import Manifest, PublishedStat
    from tests.importing import Brought

EXAMPLES = "samples/every_eval_ever"
UNSCORED = "nanny:mean"
"""Scored NaN once: its conversion to Every Eval Ever made up a 0."""


@pytest.fixture(scope="module")
def examples(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Brought:
    return bring([shared / EXAMPLES], tmp_path_factory.mktemp("examples") / "runs")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "runs"


def only(brought: Brought) -> Manifest:
    assert brought.report.notes.problems == []
    (manifest,) = brought.runs
    return manifest


def published(archive: Archive) -> list[PublishedStat]:
    return list(archive.published())


def atoms(value: Any) -> Iterator[Any]:
    """Every text and number in a value, JSON in texts too; numbers as text are numbers."""
    if isinstance(value, msgspec.Struct):
        value = structs.asdict(value)
    if isinstance(value, dict):
        for each in value.values():
            yield from atoms(each)
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from atoms(each)
    elif isinstance(value, str):
        try:
            yield float(value)
        except ValueError:
            yield value
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield float(value)


def test_all_example_files_are_accounted_for(examples: Brought, shared: Path) -> None:
    assert accounted(examples, [shared / EXAMPLES]) == set()
    assert examples.report.notes.problems == []
    assert examples.report.failed == []
    assert len({n for f in examples.survey.found for n in f.names}) == 15
    assert len(examples.runs) == 7
    assert examples.report.cells == {"imported": 1}
    assert not list(examples.archive.check())


def test_importing_again_adds_nothing(shared: Path, place: Path) -> None:
    folder = shared / EXAMPLES / "examples/data/planets"
    bring([folder], place)
    again = bring([folder], place)
    assert (len(again.report.made), len(again.report.unchanged)) == (0, 1)


def test_lines_of_metrics_and_epochs_are_one_instance(examples: Brought) -> None:
    run = next(m for m in examples.runs if m.spec.scenario == "planets")
    archive = examples.archive
    instances = archive.instances(run.run_id)
    replies, scores = list(archive.replies(run.run_id)), archive.scores(run.run_id)
    assert (len(instances), len(replies), len(scores)) == (20, 40, 80)
    assert {r.request.trial for r in replies} == {0, 1}
    assert {(s.metric, s.scorer) for s in scores} == {
        ("accuracy", "choice"),
        ("mean", "nanny"),
    }
    first = instances[0]
    assert first.gold == ("Mercury",)
    assert replies[0].request.output_mapping["A"] == "Mercury"
    judged = next(s for s in scores if s.scorer == "nanny")
    assert judged.text == "len based"
    mean = next(m for m in run.metrics if m.name == "mean")
    assert mean.higher_is_better is None


def test_scores_give_the_aggregates_of_the_source(
    examples: Brought, shared: Path
) -> None:
    checked = 0
    for folder in (shared / EXAMPLES / "examples/data").iterdir():
        for file in folder.rglob("*.json"):
            source = json.loads(file.read_text())
            run = next(
                (
                    m
                    for m in examples.runs
                    if m.origin == f"every_eval_ever:{source['evaluation_id']}"
                ),
                None,
            )
            if run is None:
                continue
            values: dict[str, list[float]] = {}
            for score in examples.archive.scores(run.run_id):
                assert score.value is not None
                values.setdefault(score.details["evaluation_result_id"], []).append(
                    score.value
                )
            for each in source["evaluation_results"]:
                own = values.get(each["evaluation_result_id"])
                if own is None or each["evaluation_result_id"] == UNSCORED:
                    continue
                said = each["score_details"]["score"]
                assert math.fsum(own) / len(own) == pytest.approx(said, abs=1e-9)
                checked += 1
    assert checked == 40
    different = [name for made in examples.report.made for name in made.different]
    assert different == ["mean (nanny)"]


def test_nothing_that_a_line_says_is_lost(examples: Brought, shared: Path) -> None:
    for file in sorted((shared / EXAMPLES).rglob("*_samples.jsonl")):
        lines = [json.loads(text) for text in file.read_text().splitlines()]
        key = f"every_eval_ever:{lines[0]['evaluation_id']}"
        run = next(m for m in examples.runs if m.origin == key)
        archive = examples.archive
        by_id: dict[str, set[Any]] = {}
        rows = [
            *((i.instance_id, i) for i in archive.instances(run.run_id)),
            *((r.request.instance_id, r) for r in archive.replies(run.run_id)),
            *((s.instance_id, s) for s in archive.scores(run.run_id)),
        ]
        for identifier, row in rows:
            by_id.setdefault(identifier, set()).update(atoms(row))
        told = set(atoms(run)) | {lines[0]["evaluation_id"]}
        for line in lines:
            epoch = (line["metadata"] or {}).pop("epoch", "1")
            trials = {
                float(r.request.trial + 1)
                for r in archive.replies(run.run_id)
                if r.request.instance_id == line["sample_id"]
            }
            assert float(epoch) in trials
            there = told | by_id[line["sample_id"]]
            assert set(atoms(line)) - there - {"0.3.0"} == set()


def test_aggregate_files_are_found_again_in_stats_and_manifest(
    examples: Brought, shared: Path
) -> None:
    for file in sorted((shared / EXAMPLES / "examples").rglob("*.json")):
        source = json.loads(file.read_text())
        key = f"every_eval_ever:{source['evaluation_id']}"
        run = next((m for m in examples.runs if m.origin == key), None)
        if run:
            told = {*atoms(run), *atoms(examples.archive.stats(run.run_id)), key}
            told |= set(atoms([run.origin.split(":", 1)[1]]))
        else:
            (batch,) = examples.archive.batches()
            told = set(atoms(published(examples.archive)))
            told |= set(atoms(examples.archive.published_facts(batch)))
            source["evaluation_id"] = ""
        details = source.pop("detailed_evaluation_results", {})
        if run:
            assert details["checksum"] not in told  # it is verified, not kept
        missing = set(atoms(source)) - told - {"0.3.0", "unknown", ""}
        times = {
            float(source["retrieved_timestamp"]),
            float(source["evaluation_timestamp"]),
        }
        assert missing - times == set()


def test_a_run_says_how_many_samples_are_here(examples: Brought) -> None:
    warnings = {m.spec.scenario: m.warnings for m in examples.runs}
    assert warnings["math_perturbed_full"] == (
        "The source's aggregates are over 5,000 samples, of which 10 are here.",
    )
    assert warnings["mmlu:subject=philosophy"] == ()


def test_results_alone_are_cells_with_their_error(examples: Brought) -> None:
    (cell,) = published(examples.archive)
    assert cell.scenario == "math_rephrased_full"
    assert cell.stat.value == 0.0004
    assert cell.stat.stderr == pytest.approx(0.00028281, abs=1e-8)
    assert cell.stat.n_scored == 5000
    assert cell.settings["generation_args"]["max_tokens"] == 512


def test_arguments_of_helm_scenarios_are_part_of_their_names(examples: Brought) -> None:
    names = {m.spec.scenario for m in examples.runs}
    assert "mmlu:subject=philosophy" in names
    assert "hellaswag" in names


def test_worst_cases_without_perturbations_have_no_value(examples: Brought) -> None:
    run = next(m for m in examples.runs if m.spec.scenario == "hellaswag")
    stats = examples.archive.stats(run.run_id)
    worst = [s for s in stats if s.perturbation == "robustness"]
    assert len(worst) == 8
    assert {(s.value, s.missing, s.computed_on) for s in worst} == {
        (None, "not asked", "worst")
    }
    plain = {s.metric: s.value for s in stats if not s.perturbation and s.trial == -1}
    assert all(s.details["reported"] == plain[s.metric] for s in worst)


def test_worst_cases_of_perturbed_runs_keep_theirs(place: Path, tmp_path: Path) -> None:
    results = [
        result(f"em:test:{name}", 0.25, details={"details": {"perturbation": name}})
        for name in ("typos", "robustness")
    ]
    row = evaluation(results, eval_library={"name": "helm", "version": "0.5"})
    brought = bring([write(tmp_path / "in", row)], place)
    assert {
        (c.stat.perturbation, c.stat.computed_on, c.stat.split, c.stat.value)
        for c in published(brought.archive)
    } == {("typos", "perturbed", "test", 0.25), ("robustness", "worst", "test", 0.25)}


def test_a_run_keeps_how_it_was_made(place: Path, tmp_path: Path) -> None:
    generation = {
        "generation_args": {"temperature": 0.25, "max_tokens": 7},
        "additional_details": {"until": '["\\n"]', "num_fewshot": "3"},
    }
    model = {
        "name": "M one",
        "id": "org/m-1b",
        "developer": "The Org",
        "inference_engine": {"name": "vllm", "version": "0.9"},
        "additional_details": {
            "deployment_type": "self_deployed",
            "model_availability": "open_weights",
            "revision": "step143000",
            "params_billions": "1.4",
            "dtype": "bfloat16",
        },
    }
    row = evaluation([result(generation_config=generation)], model_info=model)
    brought = bring([write(tmp_path / "in", row, [sample()])], place)
    run = only(brought)
    assert run.spec.adapter.temperature == 0.25
    assert run.spec.adapter.stop_sequences == ("\n",)
    assert run.spec.adapter.max_train_instances == 3
    assert run.spec.settings["generation_config"] == generation
    assert run.spec.model.revision == "step143000"
    assert run.spec.model.runtime == "vllm 0.9"
    assert run.spec.model.settings["dtype"] == "bfloat16"
    assert run.card.creator == "The Org"
    assert run.card.num_parameters == 1_400_000_000
    assert run.card.access == "open"
    assert run.card.aliases == ("M one",)
    assert run.provenance.started_at == 1_700_000_000
    assert run.provenance.source_at == 1_700_000_100
    assert run.provenance.source_version == "0.3.0"


def test_checksum_and_number_of_lines_are_verified(place: Path, tmp_path: Path) -> None:
    folder = write(tmp_path / "in", evaluation(), [sample("a"), sample("b", 0.0)])
    file = next(folder.rglob("*.jsonl"))
    file.write_text(file.read_text().splitlines()[0] + "\n")
    brought = bring([folder], place)
    fields = [p.field for p in brought.report.notes.problems]
    assert fields == [
        "detailed_evaluation_results.checksum",
        "detailed_evaluation_results.total_rows",
    ]
    (run,) = brought.runs
    assert any("checksum differs" in warning for warning in run.warnings)
    assert any("2 lines are announced, and 1" in warning for warning in run.warnings)


def test_md5_checksums_count_too(place: Path, tmp_path: Path) -> None:
    details = {
        "format": "jsonl",
        "file_path": f"data/sums/org/m-1b/{NAME}_samples.jsonl",
        "hash_algorithm": "md5",
        "checksum": "00000000000000000000000000000000",
    }
    row = evaluation(detailed_evaluation_results=details)
    brought = bring([write(tmp_path / "in", row, [sample()])], place)
    (problem,) = brought.report.notes.problems
    assert "checksum" in problem.why


def test_multi_turn_and_agentic_samples(place: Path, tmp_path: Path) -> None:
    call = {"id": "c1", "name": "bash", "arguments": {"cmd": "ls"}}
    turns = [
        {"turn_idx": 0, "role": "system", "content": "Be brief."},
        {"turn_idx": 1, "role": "user", "content": "What is there?"},
        {"turn_idx": 2, "role": "assistant", "content": None, "tool_calls": [call]},
        {"turn_idx": 3, "role": "tool", "content": "a.txt", "tool_call_id": ["c1"]},
        {
            "turn_idx": 4,
            "role": "assistant",
            "content": "a.txt",
            "reasoning_trace": "I see it.",
        },
    ]
    row = sample(interaction_type="agentic", output=None, messages=turns)
    brought = bring([write(tmp_path / "in", evaluation(), [row])], place)
    run = only(brought)
    (reply,) = brought.archive.replies(run.run_id)
    assert [m.role for m in reply.request.messages] == ["system", "user"]
    assert reply.completion.text == "a.txt"
    assert reply.completion.reasoning == "I see it."
    assert [turn["role"] for turn in reply.completion.transcript] == [
        "assistant",
        "tool",
        "assistant",
    ]
    assert reply.completion.transcript[0]["tool_calls"] == [call]
    assert run.spec.adapter.method == "chat"


def test_several_outputs_are_several_completions(place: Path, tmp_path: Path) -> None:
    row = sample(
        output={"raw": ["2", "3"], "reasoning_trace": ["one more", "two more"]},
        token_usage={
            "input_tokens": 5,
            "output_tokens": 4,
            "total_tokens": 9,
            "input_tokens_cache_read": 2,
            "reasoning_tokens": 1,
        },
        performance={"latency_ms": 50, "generation_time_ms": 1500},
        answer_attribution=[
            {
                "turn_idx": 0,
                "source": "output.raw",
                "extracted_value": "two",
                "extraction_method": "regex",
                "is_terminal": True,
            }
        ],
        metadata={"stop_reason": "stop", "subject": "algebra"},
    )
    brought = bring([write(tmp_path / "in", evaluation(), [row])], place)
    run = only(brought)
    first, second = brought.archive.replies(run.run_id)
    assert (first.completion.text, second.completion.text) == ("2", "3")
    assert second.completion.reasoning == "two more"
    assert first.completion.usage.prompt_tokens == 5
    assert first.completion.usage.cached_tokens == 2
    assert first.completion.extra["token_usage"]["reasoning_tokens"] == 1
    assert first.completion.duration_s == 1.5
    assert first.completion.finish_reason == "stop"
    (score,) = brought.archive.scores(run.run_id)
    assert score.text == "two"
    assert score.details["answer_attribution"][0]["extraction_method"] == "regex"
    (instance,) = brought.archive.instances(run.run_id)
    assert instance.extra["metadata"] == {"subject": "algebra"}


def test_errors_without_an_answer_are_failures(place: Path, tmp_path: Path) -> None:
    samples = [
        sample("a", 1.0),
        sample("b", 0.0, output={"raw": []}, error="timeout at /home/ann/x"),
        sample("c", 0.0, output={"raw": ["I will not."]}, error="refusal"),
    ]
    brought = bring([write(tmp_path / "in", evaluation(), samples)], place)
    run = only(brought)
    a, b, c = brought.archive.scores(run.run_id)
    assert (a.value, b.value, b.missing, c.value) == (1.0, None, "failed", 0.0)
    failed = next(
        r for r in brought.archive.replies(run.run_id) if r.request.instance_id == "b"
    )
    assert failed.completion.error == "timeout at ~/x"
    assert brought.report.notes.hidden["a home folder"] == 1
    assert run.counts.failed == 1
    stat = next(
        s
        for s in brought.archive.stats(run.run_id)
        if s.trial == -1 and not s.sub_split
    )
    assert (stat.value, stat.n_scored, stat.n_asked) == (0.5, 2, 3)


def test_repeats_are_trials_and_other_inputs_are_told_apart(
    place: Path, tmp_path: Path
) -> None:
    samples = [
        sample("a", 1.0),
        sample("a", 0.0, output={"raw": ["9"]}),
        sample("a", 0.0, input={"raw": "a PLUS 1 =", "reference": ["2"]}),
        sample("a#2", 1.0),
    ]
    brought = bring([write(tmp_path / "in", evaluation(), samples)], place)
    run = only(brought)
    ids = [i.instance_id for i in brought.archive.instances(run.run_id)]
    assert ids == ["a", "a#2#2", "a#2"]
    trials = [
        (r.request.instance_id, r.request.trial)
        for r in brought.archive.replies(run.run_id)
    ]
    assert trials == [("a", 0), ("a", 1), ("a#2#2", 0), ("a#2", 0)]
    assert any("more than one input" in warning for warning in run.warnings)


def test_metrics_of_one_repeat_in_any_order(place: Path, tmp_path: Path) -> None:
    both = [result("accuracy"), result("f1", 0.25)]
    said = {"raw": ["9"]}
    samples = [
        sample("a", 1.0),
        sample("a", 0.0, output=said),
        sample("a", 0.0, output=said, evaluation_result_id="f1"),
        sample("a", 0.5, evaluation_result_id="f1"),
    ]
    brought = bring([write(tmp_path / "in", evaluation(both), samples)], place)
    run = only(brought)
    found = {(s.trial, s.metric): s.value for s in brought.archive.scores(run.run_id)}
    assert found == {
        (0, "accuracy"): 1.0,
        (1, "accuracy"): 0.0,
        (0, "f1"): 0.5,
        (1, "f1"): 0.0,
    }


def test_lines_that_stand_twice_count_once(place: Path, tmp_path: Path) -> None:
    row = sample("a", 1.0, metadata={"epoch": "1"})
    other = sample("a", 0.0, metadata={"epoch": "1"}, output={"raw": ["9"]})
    folder = write(tmp_path / "in", evaluation([result(score=1.0)]), [row, row, other])
    brought = bring([folder], place)
    run = only(brought)
    scores = brought.archive.scores(run.run_id)
    assert [(s.instance_id, s.value) for s in scores] == [("a", 1.0), ("a#2", 0.0)]
    assert any("count once" in warning for warning in run.warnings)


def test_filters_of_lm_eval_are_scorers_of_one_run(place: Path, tmp_path: Path) -> None:
    names = {"strict": "gsm8k/strict", "flexible": "gsm8k/flexible"}
    results = [
        result(f"exact_match:{f}", 0.5, evaluation_name=n) for f, n in names.items()
    ]
    samples = [
        sample(
            str(doc),
            score,
            evaluation_name=name,
            evaluation_result_id=f"exact_match:{which}",
            metadata={"filter": which},
        )
        for which, name in names.items()
        for doc, score in ((0, 1.0), (1, 0.0))
    ]
    row = evaluation(results, eval_library={"name": "lm_eval", "version": "0.4"})
    brought = bring([write(tmp_path / "in", row, samples)], place)
    run = only(brought)
    assert run.spec.scenario == "gsm8k"
    scores = brought.archive.scores(run.run_id)
    assert {(s.metric, s.scorer) for s in scores} == {
        ("exact_match", "strict"),
        ("exact_match", "flexible"),
    }
    assert len(brought.archive.instances(run.run_id)) == 2


def test_evaluations_of_one_file_are_runs_and_cells(
    place: Path, tmp_path: Path
) -> None:
    results = [
        result("accuracy", 1.0),
        result("other", 0.5, evaluation_name="products"),
        result("more", 0.5, evaluation_name="quotients"),
    ]
    samples = [
        sample("a"),
        sample("a", 0.5, evaluation_name="products", evaluation_result_id="other"),
    ]
    brought = bring([write(tmp_path / "in", evaluation(results), samples)], place)
    assert brought.report.notes.problems == []
    assert {m.spec.scenario for m in brought.runs} == {"sums", "products"}
    assert len({m.origin for m in brought.runs}) == 2
    assert [c.scenario for c in published(brought.archive)] == ["quotients"]


def test_uncertainty_levels_and_unbounded_scores(place: Path, tmp_path: Path) -> None:
    interval = {"lower": -0.05, "upper": 0.05, "confidence_level": 0.9}
    results = [
        result("a", details={"uncertainty": {"confidence_interval": interval}}),
        result(
            "b",
            -1,
            config={
                "score_type": "levels",
                "level_names": ["low", "high"],
                "has_unknown_level": True,
            },
        ),
        result("c", 3.5, config={"max_score": "Infinity", "lower_is_better": True}),
        result("d", 1200, config={"metric_unit": "ms", "max_score": "Infinity"}),
        result("e", config={"additional_details": {"polarity": "unknown"}}),
    ]
    brought = bring([write(tmp_path / "in", evaluation(results))], place)
    assert brought.report.notes.problems == []
    cells = {c.stat.metric: c.stat for c in published(brought.archive)}
    assert cells["a"].ci_low == pytest.approx(0.45)
    assert cells["a"].ci_high == pytest.approx(0.55)
    assert (cells["b"].value, cells["b"].missing) == (None, "nan")
    assert cells["c"].details["metric_config"]["max_score"] == "Infinity"
    (batch,) = brought.archive.batches()
    assert batch.suite == "imported"


def test_results_of_one_name_are_told_apart(place: Path, tmp_path: Path) -> None:
    config = {"metric_name": "accuracy"}
    results = [
        result("", 0.5, config=config),
        result("", 0.5, config=config),  # the same again
        result("", 0.25, config=config),
        result("hard.accuracy", 0.75, config=config),
    ]
    brought = bring([write(tmp_path / "in", evaluation(results))], place)
    cells = published(brought.archive)
    assert {(c.stat.scorer, c.stat.value) for c in cells} == {
        ("", 0.5),
        ("#3", 0.25),
        ("hard.accuracy", 0.75),
    }


def test_leaderboards_keep_their_name(place: Path, tmp_path: Path) -> None:
    source = {
        "source_name": "A board",
        "source_type": "documentation",
        "source_organization_name": "somebody",
        "evaluator_relationship": "other",
    }
    results = [
        result("Arabic", 0.5, evaluation_name="Arabic"),
        result("all", 0.5, evaluation_name="A Board"),
    ]
    row = evaluation(
        results, source_metadata=source, evaluation_id="a-board/org_m/1700000000"
    )
    brought = bring([write(tmp_path / "in", row)], place)
    assert {c.scenario for c in published(brought.archive)} == {
        "a-board",
        "a-board/Arabic",
    }
    assert brought.report.cells == {"a-board": 2}


def test_version_0_1_with_samples_inside(place: Path, tmp_path: Path) -> None:
    row = {
        "schema_version": "0.1.0",
        "evaluation_id": "ai2_arc/org_m-1b/1761000045.0",
        "retrieved_timestamp": "1761000045.0",
        "source_data": {
            "dataset_name": "ai2_arc",
            "hf_repo": "allenai/ai2_arc",
            "sample_ids": [1],
        },
        "source_metadata": {
            "source_name": "inspect_ai",
            "source_type": "evaluation_run",
            "source_organization_name": "unknown",
            "evaluator_relationship": "third_party",
        },
        "model_info": {"name": "org/m-1b", "id": "org/m-1b"},
        "evaluation_results": [
            {
                "evaluation_name": "choice",
                "metric_config": {
                    "evaluation_description": "accuracy",
                    "lower_is_better": False,
                },
                "score_details": {"score": 1.0},
                "generation_config": {},
            }
        ],
        "detailed_evaluation_results_per_samples": [
            {
                "sample_id": "1",
                "input": "Which?",
                "ground_truth": "B",
                "response": "B",
                "choices": ["this", "that"],
            }
        ],
    }
    brought = bring([write(tmp_path / "in", row)], place)
    run = only(brought)
    assert run.spec.scenario == "ai2_arc"
    assert run.scenario.url == "https://huggingface.co/datasets/allenai/ai2_arc"
    (instance,) = brought.archive.instances(run.run_id)
    assert instance.gold == ("that",)
    (stat,) = brought.archive.stats(run.run_id)
    assert (stat.metric, stat.scorer, stat.value) == ("accuracy", "choice", 1.0)


def test_version_0_0_1_of_a_leaderboard(place: Path, tmp_path: Path) -> None:
    row = {
        "schema_version": "0.0.1",
        "evaluation_id": "lab/a-board/2025-11-28T00:36:05.010417Z",
        "evaluation_source": {
            "evaluation_source_name": "A board",
            "evaluation_source_type": "leaderboard",
        },
        "retrieved_timestamp": "2025-11-28T00:36:05.010417Z",
        "source_data": ["https://example.org/board"],
        "source_metadata": {
            "source_organization_name": "Lab",
            "evaluator_relationship": "third_party",
        },
        "model_info": {"name": "M 7B", "id": "lab/m-7b"},
        "evaluation_results": [
            {
                "evaluation_name": "English",
                "metric_config": {
                    "evaluation_description": "Accuracy in English",
                    "lower_is_better": False,
                    "min_score": 0.0,
                    "max_score": 1.0,
                },
                "score_details": {"score": 0.89, "details": {"stddev": 0.03}},
            }
        ],
    }
    brought = bring([write(tmp_path / "in", row)], place)
    assert brought.report.notes.problems == []
    (cell,) = published(brought.archive)
    assert (cell.scenario, cell.stat.metric) == ("a-board/English", "score")
    assert cell.stat.details["score_details"]["details"] == {"stddev": 0.03}
    (found,) = brought.survey.found
    assert found.when == pytest.approx(1764290165.010417)


def test_version_0_2_texts_where_lists_came_later(place: Path, tmp_path: Path) -> None:
    samples = [
        sample(
            "q1",
            True,
            schema_version="instance_level_eval_0.2.0",
            input={"raw": "1 + 1 =", "reference": "2"},
            output={"raw": "2", "reasoning_trace": "easy"},
            sample_id=4,
            evaluation_result_id=None,
        ),
        sample(
            "q2",
            0.0,
            interaction_type="multi_turn",
            output=None,
            interactions=[
                {"turn_idx": 0, "role": "user", "content": "hi"},
                {"turn_idx": 1, "role": "assistant", "content": "ho"},
            ],
            evaluation_result_id=None,
        ),
    ]
    row = evaluation(
        [
            result(
                details={"confidence_interval": {"lower": 0.25, "upper": 0.75}},
            )
        ],
        schema_version="0.2.0",
    )
    brought = bring([write(tmp_path / "in", row, samples)], place)
    run = only(brought)
    first, second = brought.archive.replies(run.run_id)
    assert first.request.instance_id == "4"
    assert (first.completion.text, first.completion.reasoning) == ("2", "easy")
    assert second.completion.text == "ho"
    stat = next(s for s in brought.archive.stats(run.run_id) if s.trial == -1)
    assert (stat.value, stat.ci_low, stat.ci_high) == (0.5, 0.25, 0.75)


def test_samples_and_aggregates_that_lie_apart(place: Path, tmp_path: Path) -> None:
    folder = write(tmp_path / "in", evaluation(), [sample()])
    other = tmp_path / "in/elsewhere"
    other.mkdir()
    shutil.move(next(folder.rglob("*.jsonl")), other / "renamed.jsonl")
    brought = bring([folder], place)
    assert len(brought.survey.found[0].files) == 2
    assert only(brought).counts.scored == 1


def test_samples_alone_and_a_broken_aggregate(place: Path, tmp_path: Path) -> None:
    folder = write(tmp_path / "in", None, [sample("a"), sample("b", 0.0)])
    assert only(bring([folder], place)).counts.scored == 2
    folder = write(tmp_path / "other", evaluation(), [sample("a")])
    file = next(folder.rglob(f"{NAME}.json"))
    file.write_bytes(file.read_bytes()[:600])
    brought = bring([folder], tmp_path / "second/runs")
    (problem,) = brought.report.notes.problems
    assert problem.why.startswith("no JSON: column 596")
    (run,) = brought.runs
    assert run.counts.scored == 1


def test_samples_that_are_not_there_are_told(place: Path, tmp_path: Path) -> None:
    details = {"format": "jsonl", "file_path": "data/a/b/c/x_samples.jsonl"}
    folder = write(tmp_path / "in", evaluation(detailed_evaluation_results=details))
    brought = bring([folder], place)
    assert "it is not there" in brought.report.notes.skipped["x_samples.jsonl"]
    assert len(published(brought.archive)) == 1


def test_secrets_in_settings_are_replaced(place: Path, tmp_path: Path) -> None:
    command = "run --api_key=sk-Ab1Cd2Ef3Gh4Ij5Kl6Mn7Op8Qr9 --out /home/ann/out"
    generation = {"generation_args": {"execution_command": command}}
    folder = write(tmp_path / "in", evaluation([result(generation_config=generation)]))
    brought = bring([folder], place)
    (cell,) = published(brought.archive)
    said = cell.settings["generation_args"]["execution_command"]
    assert "sk-Ab1" not in said
    assert "ann" not in said


def test_a_broken_line_costs_itself_only(place: Path, tmp_path: Path) -> None:
    folder = write(tmp_path / "in", evaluation([result(score=1.0)]), [sample("a")])
    file = next(folder.rglob("*.jsonl"))
    bad = json.dumps(sample("b", "no number"))
    file.write_text(file.read_text() + bad + "\n{broken\n")
    brought = bring([folder], place)
    assert [(p.line, p.field) for p in brought.report.notes.problems][:2] == [
        (2, "evaluation.score"),
        (3, ""),
    ]
    (run,) = brought.runs
    assert run.counts.scored == 1


def test_a_datastore_listing_and_schemas_are_left_out(
    place: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    row = {"eval_schema_version": "0.2.2", "object_path": "x", "record_type": "a"}
    (folder / "aggregate.jsonl").write_text(json.dumps(row) + "\n")
    schema = {"$schema": "s", "properties": {"evaluation_id": {}}}
    (folder / "eval.schema.json").write_text(json.dumps(schema))
    brought = bring([folder], place)
    assert set(brought.report.notes.skipped) == {"aggregate.jsonl", "eval.schema.json"}
    assert "no importer" not in str(brought.report.notes.skipped)


TURNS = [
    {"turn_idx": 0, "role": "user", "content": "What is there?"},
    {
        "turn_idx": 1,
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c1", "name": "bash", "arguments": {"cmd": "ls"}}],
    },
    {"turn_idx": 2, "role": "tool", "content": "a.txt", "tool_call_id": ["c1"]},
    {"turn_idx": 3, "role": "assistant", "content": "a.txt", "reasoning_trace": "so"},
]


@settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_conversations_gone_wrong_end_in_a_message_or_an_import(
    data: st.DataObject, tmp_path: Path
) -> None:
    shutil.rmtree(tmp_path, ignore_errors=True)
    rows = [
        sample("a", interaction_type="agentic", output=None, messages=TURNS),
        sample("b", 0.0, metadata={"epoch": "2", "attributes": '{"a": ["b"]}'}),
    ]
    folder = write(tmp_path / "in", evaluation(), rows)
    file = next(folder.rglob("*.jsonl"))
    file.write_bytes(data.draw(mutants(file.read_bytes())))
    brought = bring([folder], tmp_path / "runs")
    assert accounted(brought, [folder]) == set()
    assert not list(brought.archive.check())


SMALL = {
    "aggregate": "ai2_arc/ollama/qwen2.5-0.5b/a38f805d-ffb5-41a6-8faa-ff158f168bb8.json",
    "samples": "planets/openai/delta-demo/039190a2-b433-40ba-9696-0d83993f61bb_samples.jsonl",
}


@pytest.mark.parametrize("which", ["aggregate", "samples"])
@settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_files_gone_wrong_end_in_a_message_or_an_import(
    which: str, data: st.DataObject, shared: Path, tmp_path: Path
) -> None:
    source = shared / EXAMPLES / "examples/data" / SMALL[which]
    raw = source.read_bytes()
    if which == "samples":
        raw = b"".join(raw.splitlines(keepends=True)[:6])
    other = source.with_name(
        source.name.replace(".json", "_samples.jsonl")
        if which == "aggregate"
        else source.name.replace("_samples.jsonl", ".json")
    )
    folder = tmp_path / "in"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.rmtree(tmp_path / "runs", ignore_errors=True)
    folder.mkdir()
    shutil.copyfile(other, folder / other.name)
    (folder / source.name).write_bytes(data.draw(mutants(raw)))
    brought = bring([folder], tmp_path / "runs")
    assert accounted(brought, [folder]) == set()
    assert not list(brought.archive.check())
    for run in brought.runs:
        ids = {i.instance_id for i in brought.archive.instances(run.run_id)}
        assert {s.instance_id for s in brought.archive.scores(run.run_id)} <= ids
