"""lighteval: details of all ages, results with and without details, odd files."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helmsite.importers.lighteval import details, files
from tests.importing import Brought, accounted, bring, mutants
from tests.test_archive_samples import leaves

if TYPE_CHECKING:
    from pathlib import Path

STAMP = "2026-11-29T19-00-00.000000"
RESULTS: dict[str, Any] = {
    "config_general": {
        "lighteval_sha": "abc",
        "max_samples": 3,
        "model_name": "org/m-1b",
        "model_config": {
            "model_name": "org/m-1b",
            "revision": "step1000",
            "dtype": "bfloat16",
            "api_key": "hf_" + "aB3dE5gH7jK9mN1pQ3sT5vX7zB9cD1eF3gH",
            "generation_parameters": {"temperature": 0.7},
        },
    },
    "results": {
        "gsm8k|2": {"em": 0.5, "em_stderr": 0.5},
        "other:_average|0": {"acc": float("nan"), "acc_stderr": 0.1},
        "all": {"em": 0.5},
    },
    "versions": {"gsm8k|2": 1},
    "config_tasks": {"gsm8k|2": {"hf_repo": "gsm8k"}},
}


def doc(number: int, **more: Any) -> dict[str, Any]:
    return {
        "query": f"{number}+1?",
        "choices": [str(number + 1)],
        "gold_index": [0],
        "instruction": "Add.",
        "id": str(number),
        "task_name": "gsm8k|2",
        "fewshot_samples": [{"id": "t1"}, {"id": "t2"}],
        "sampling_methods": ["GENERATIVE"],
        "generation_size": 32,
        "stop_sequences": ["\n"],
        "num_samples": 2,
        "specific": {"level": "easy"},
    } | more


def response(*texts: str) -> dict[str, Any]:
    return {
        "input": "Add. 1+1?",
        "input_tokens": [1, 2, 3],
        "text": list(texts),
        "output_tokens": [[5, 6]] * len(texts),
        "reasonings": ["hm"] * len(texts),
        "text_post_processed": [text.strip() for text in texts],
        "logprobs": [],
        "truncated_tokens_count": 0,
    }


def written(folder: Path, rows: list[dict[str, Any]], task: str = "gsm8k|2") -> Path:
    place = folder / "details/org/m-1b" / STAMP
    place.mkdir(parents=True, exist_ok=True)
    file = place / f"details_{task}_{STAMP}.parquet"
    pq.write_table(pa.Table.from_pylist(rows), file)
    return file


def results(folder: Path, data: dict[str, Any] = RESULTS) -> Path:
    place = folder / "results/org/m-1b"
    place.mkdir(parents=True, exist_ok=True)
    file = place / f"results_{STAMP}.json"
    file.write_text(json.dumps(data))
    return file


def problems(brought: Brought) -> list[str]:
    return [str(each) for each in brought.report.notes.problems]


def test_the_sample_is_imported_whole_and_its_numbers_follow(
    shared: Path, tmp_path: Path
) -> None:
    folder = shared / "samples/lighteval"
    brought = bring([folder], tmp_path / "runs")
    assert accounted(brought, [folder]) == set()
    assert problems(brought) == []
    (made,) = brought.report.made
    assert (made.instances, made.equal, made.different) == (50, 1, ())
    archive = brought.archive
    (source,) = folder.rglob("*.parquet")
    rows = pq.read_table(source).to_pylist()
    instances = list(archive.instances(made.run_id))
    replies = list(archive.replies(made.run_id))
    scores = {s.instance_id: s.value for s in archive.scores(made.run_id)}
    assert len(replies) == 4 * len(rows)
    for row, instance in zip(rows, instances, strict=True):
        asked = row["doc"]
        assert instance.input == asked["query"]
        assert [r.text for r in instance.references] == asked["choices"]
        assert instance.gold == (asked["choices"][asked["gold_index"]],)
        assert scores[asked["id"]] == row["metric"]["acc"]
        own = [r for r in replies if r.request.instance_id == asked["id"]]
        said = row["model_response"]
        assert [r.completion.logprob for r in own] == said["logprobs"]
        assert [r.completion.extra["output_tokens"] for r in own] == said[
            "output_tokens"
        ]
        assert [r.completion.extra["argmax_logits_eq_gold"] for r in own] == said[
            "argmax_logits_eq_gold"
        ]
        for reply, choice in zip(own, asked["choices"], strict=True):
            assert reply.request.prompt == said["input"] + choice
            assert reply.request.score_start == len(said["input"])
    again = bring([folder], tmp_path / "runs")
    assert len(again.report.unchanged) == 1
    assert not again.report.made


@pytest.mark.parametrize("dunder", [False, True])
def test_generated_texts_with_what_belongs_to_each(
    dunder: bool, tmp_path: Path
) -> None:
    rows = [
        {
            "doc": doc(1),
            "model_response": response(" 2", "3"),
            "metric": {"em": 1.0, "ok": True, "parts": [1, 0]},
        },
        {
            "doc": doc(2),
            "model_response": response("4", "4"),
            "metric": {"em": 0.0, "ok": None, "parts": None},
        },
    ]
    if dunder:
        rows = [{f"__{k}__": v for k, v in row.items()} for row in rows]
    written(tmp_path, rows)
    results(tmp_path)
    brought = bring([tmp_path / "details", tmp_path / "results"], tmp_path / "runs")
    assert problems(brought) == []
    (run,) = brought.runs
    spec = run.spec
    assert (spec.scenario, spec.model.name, spec.model.revision) == (
        "gsm8k",
        "org/m-1b",
        "step1000",
    )
    assert spec.model.settings["dtype"] == "bfloat16"
    assert spec.model.settings["api_key"] == "[removed]"
    assert spec.adapter.method == "generation"
    assert (spec.adapter.max_train_instances, spec.adapter.num_outputs) == (2, 2)
    assert (spec.adapter.temperature, spec.adapter.max_tokens) == (0.7, 32)
    assert spec.settings["version"] == 1
    assert spec.settings["config"] == {"hf_repo": "gsm8k"}
    replies = list(brought.archive.replies(run.run_id))
    assert [(r.completion_index, r.completion.text) for r in replies] == [
        (0, " 2"),
        (1, "3"),
        (0, "4"),
        (1, "4"),
    ]
    first = replies[0]
    assert first.request.example_ids == ("t1", "t2")
    assert first.completion.reasoning == "hm"
    assert first.completion.extra == {
        "text_post_processed": "2",
        "output_tokens": [5, 6],
        "input_tokens": [1, 2, 3],
    }
    assert first.completion.usage.prompt_tokens == 3
    scores = list(brought.archive.scores(run.run_id))
    assert {(s.instance_id, s.metric): s.value for s in scores} == {
        ("1", "em"): 1.0,
        ("1", "ok"): 1.0,
        ("1", "parts"): None,
        ("2", "em"): 0.0,
        ("2", "ok"): None,
        ("2", "parts"): None,
    }
    (made,) = brought.report.made
    assert (made.equal, made.different) == (1, ())
    batches = brought.archive.batches()
    cells = [r for b in batches for r in brought.archive.published(b.suite, b.batch)]
    assert [
        (c.scenario, c.stat.value, c.stat.missing, c.stat.stderr) for c in cells
    ] == [
        ("all", 0.5, "", None),
        ("other:_average", None, "nan", 0.1),
    ]
    assert cells[0].settings["revision"] == "step1000"


def test_the_older_layout_of_texts_of_python_values(tmp_path: Path) -> None:
    choice = {
        "example": "Q",
        "instruction": "",
        "full_prompt": "Shots. Q",
        "num_effective_few_shots": "4",
        "num_asked_few_shots": "5",
        "predictions": "[(-1.5, False), (-0.5, True)]",
        "input_tokens": "[[1, 2], [1, 2]]",
        "cont_tokens": "[[3], [4]]",
        "truncated": "[0, 0]",
        "padded": "[1, 1]",
        "gold": "[]",
        "pred_logits": "[]",
        "choices": "[' a', \" b's\"]",
        "gold_index": "[1]",
        "metrics": "{'acc': 1, 'acc_norm': 0.0}",
        "specifics": "{'area': 'x'}",
    }
    text = choice | {
        "predictions": "['It is 4']",
        "gold": "['4']",
        "choices": "[]",
        "gold_index": "[]",
        "metrics": "{'acc': 0, 'acc_norm': array([1])}",
    }
    written(tmp_path, [choice, text], "leaderboard|arc:challenge|5|0")
    brought = bring([tmp_path / "details"], tmp_path / "runs")
    assert problems(brought) == []
    (run,) = brought.runs
    assert (run.spec.scenario, run.spec.model.name) == ("arc:challenge", "org/m-1b")
    assert run.spec.adapter.max_train_instances == 5
    one, two = brought.archive.instances(run.run_id)
    assert one.gold == (" b's",)
    assert two.gold == ("4",)
    assert one.extra["specific"] == {"area": "x"}
    assert one.extra["num_effective_few_shots"] == 4
    replies = list(brought.archive.replies(run.run_id))
    assert [r.completion.logprob for r in replies] == [-1.5, -0.5, None]
    assert [r.request.prompt for r in replies] == [
        "Shots. Q a",
        "Shots. Q b's",
        "Shots. Q",
    ]
    assert replies[2].completion.text == "It is 4"
    assert replies[2].completion.extra["metrics"].endswith("array([1])}")
    scores = list(brought.archive.scores(run.run_id))
    assert [(s.metric, s.value) for s in scores] == [("acc", 1.0), ("acc_norm", 0.0)]


def test_results_alone_are_cells(tmp_path: Path) -> None:
    file = results(tmp_path)
    brought = bring([file], tmp_path / "runs")
    assert accounted(brought, [file]) == set()
    assert not brought.report.made
    assert brought.report.cells == {"imported": 3}


@pytest.mark.parametrize(
    ("task", "name", "shots"),
    [
        ("lighteval|gsm8k|5|0", "gsm8k", 5),
        ("harness|arc:challenge|25", "arc:challenge", 25),
        ("mmlu:anatomy|5", "mmlu:anatomy", 5),
        ("gsm8k", "gsm8k", 0),
        ("all", "all", 0),
    ],
)
def test_tasks_have_a_name_and_shots(task: str, name: str, shots: int) -> None:
    assert files.split_task(task) == (name, shots)


@pytest.mark.parametrize(
    "text",
    ["[" * 10_000, "{'a': " * 1000, "[1, 2", "__import__('os')", "[f()]", "(1,)*9"],
)
def test_a_text_of_python_is_never_run(text: str) -> None:
    assert details._literal(text) == text


@given(data=st.data())
@settings(max_examples=40, deadline=None, derandomize=True)
def test_results_gone_wrong_end_in_a_message(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("mutant")
    raw = json.dumps(RESULTS).encode()
    written(
        folder,
        [{"doc": doc(1), "model_response": response("2"), "metric": {"em": 1.0}}],
    )
    results(folder).write_bytes(data.draw(mutants(raw)))
    brought = bring([folder / "details", folder / "results"], folder / "runs")
    assert accounted(brought, [folder / "details"]) == set()
    assert accounted(brought, [folder / "results"]) == set()
    assert brought.report.made
    assert brought.archive.check() == []


ODD: tuple[Any, ...] = (None, 3, 1.5, "x", [], [1], [None], {"a": 1}, True)


@given(
    part=st.sampled_from(["doc", "model_response", "metric"]),
    data=st.data(),
    odd=st.sampled_from(ODD),
)
@settings(max_examples=40, deadline=None, derandomize=True)
def test_samples_gone_wrong_end_in_a_message(
    part: str, data: st.DataObject, odd: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("mutant")
    row: dict[str, Any] = {
        "doc": doc(1),
        "model_response": response("2"),
        "metric": {"em": 1.0},
    }
    key = data.draw(st.sampled_from(["", *row[part]]))
    if key:
        row[part] = row[part] | {key: odd}
    else:
        row[part] = odd
    written(folder, [row])
    brought = bring([folder / "details"], folder / "runs")
    told = problems(brought)
    assert brought.report.made or told or brought.report.notes.skipped
    for problem in told:
        assert ".parquet, line 1: " in problem or "no sample" in problem


def test_everything_that_a_sample_says_is_in_the_archive(
    shared: Path, tmp_path: Path
) -> None:
    folder = shared / "samples/lighteval"
    brought = bring([folder], tmp_path / "runs")
    (run,) = brought.runs
    archive = brought.archive
    kept = {leaf for record in archive.instances(run.run_id) for leaf in leaves(record)}
    kept |= {leaf for record in archive.replies(run.run_id) for leaf in leaves(record)}
    kept |= {leaf for record in archive.scores(run.run_id) for leaf in leaves(record)}
    (source,) = folder.rglob("*.parquet")
    rows = pq.read_table(source).to_pylist()
    assert {leaf for row in rows for leaf in leaves(row)} <= kept


def test_the_oldest_layout_of_lists_and_objects(tmp_path: Path) -> None:
    rows = [
        {
            "example": f"Q{n}",
            "full_prompt": f"Shots. Q{n}",
            "instruction": None,
            "predictions": [-0.5, -1.5],
            "choices": ["a", "b"],
            "gold_index": n,
            "gold": None,
            "truncated": 1,
            "padded": 0,
            "metrics": {"acc": 1.0 - n, "acc_norm": None},
            "hashes": {"example": "00"},
            "num_asked_few_shots": 25,
        }
        for n in range(2)
    ]
    stamp = "2023-07-19T15:25:30.123456"
    folder = tmp_path / "details_org__m-7b"
    (folder / stamp).mkdir(parents=True)
    name = f"details_harness|arc:challenge|25_{stamp}.parquet"
    pq.write_table(pa.Table.from_pylist(rows), folder / stamp / name)
    results = {
        "config_general": {
            "model_name": "org/m-7b",
            "model_sha": "abc",
            "model_dtype": "f16",
        },
        "results": {"harness|arc:challenge|25": {"acc": 0.5}, "all": {"acc": 0.5}},
        "versions": {"harness|arc:challenge|25": 0, "all": 0},
    }
    (folder / f"results_{stamp}.json").write_text(json.dumps(results))
    brought = bring([folder], tmp_path / "runs")
    assert accounted(brought, [folder]) == set()
    assert problems(brought) == []
    (run,) = brought.runs
    assert (run.spec.scenario, run.spec.adapter.max_train_instances) == (
        "arc:challenge",
        25,
    )
    assert (run.spec.model.name, run.spec.model.revision) == ("org/m-7b", "abc")
    assert run.provenance.source_at == 1689780330.123456
    assert [i.gold for i in brought.archive.instances(run.run_id)] == [("a",), ("b",)]
    replies = list(brought.archive.replies(run.run_id))
    assert [r.completion.logprob for r in replies] == [-0.5, -1.5, -0.5, -1.5]
    assert all(r.request.truncated for r in replies)
    (made,) = brought.report.made
    assert (made.equal, made.different) == (1, ())
