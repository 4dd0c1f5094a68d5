"""OpenCompass: work folders with generated texts, scored labels, conversations, parts, leftovers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.importing import Brought, accounted, bring, mutants
from tests.test_archive_samples import leaves

if TYPE_CHECKING:
    from helmsite.schema import Manifest

GENERATED: dict[str, dict[str, Any]] = {
    "0": {
        "origin_prompt": "1+1?",
        "prediction": "It is 2",
        "gold": "2",
        "res_length": 4,
    },
    "1": {
        "origin_prompt": [
            {"role": "SYSTEM", "prompt": "Add."},
            {"role": "HUMAN", "prompt": "1+2?"},
        ],
        "prediction": "4",
        "gold": ["3", "three"],
        "all_input_length": 9,
    },
    "10": {"origin_prompt": "no gold", "prediction": None},
    "2": {"origin_prompt": "1+3?", "prediction": ["4", "5"], "gold": "4", "note": "x"},
}
JUDGED = {
    "accuracy": 50.0,
    "other": "text",
    "details": {
        "type": "GEN",
        "0": {"pred": "2", "answer": "2", "correct": True, "length": 3},
        "1": {"pred": "4", "answer": "3", "correct": False},
        "2": {"pred": "4", "answer": "4", "correct": True},
        "3": {"pred": "", "answer": "", "correct": False},
    },
}
LABELS = {
    str(n): {
        "in-context examples": "Q A",
        "origin_prompt": f"Q{n}",
        "label: A": {
            "testing input": f"Q{n} A",
            "prompt": f"Q A Q{n} A",
            "PPL": 1.5,
            "BPB": 0.5,
        },
        "label: B": {
            "testing input": f"Q{n} B",
            "prompt": f"Q A Q{n} B",
            "PPL": 2.5,
            "BPB": 0.7,
        },
        "prediction": "A",
        "gold": "AB"[n % 2],
    }
    for n in range(2)
}
ROUNDS = {
    "0": {
        "origin_prompt": [
            [{"role": "HUMAN", "prompt": "Hi"}],
            [
                {"role": "HUMAN", "prompt": "Hi"},
                {"role": "BOT", "prompt": "Yes?"},
                {"role": "HUMAN", "prompt": "Go"},
            ],
        ],
        "prediction": ["Yes?", "No"],
        "gold": [None, "gone"],
    }
}
SUMMARY = """\
dataset,version,metric,mode,m-7b,other
sum,1d7fe4,accuracy,gen,50.00,61.50
labels,-,-,-,-,-
mmlu,-,naive_average,ppl,-,44.25
"""


def write(root: Path, name: str, data: Any) -> Path:
    file = root / "20240101_120000" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(data if isinstance(data, str) else json.dumps(data))
    return file


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("work") / "outputs"
    write(root, "predictions/m-7b/sum.json", GENERATED)
    write(root, "results/m-7b/sum.json", JUDGED)
    write(root, "predictions/m-7b/labels_0.json", LABELS)
    write(root, "predictions/m-7b/labels_1.json", LABELS)
    write(root, "predictions/m-7b/rounds.json", ROUNDS)
    write(root, "predictions/m-7b/tmp_sum.json", GENERATED)
    lines = [json.dumps({"idx": k, **v}) for k, v in GENERATED.items()]
    write(root, "predictions/m-7b/tmp_going.jsonl", "\n".join([*lines, '{"idx": "3']))
    write(root, "results/m-7b/alone.json", {"score": 7.5, "rouge1": 30.0})
    write(root, "results/m-7b/broken.json", {"error": "no predictions"})
    write(root, "summary/summary_20240101_120000.csv", SUMMARY)
    write(
        root, "summary/summary_20240101_120000.txt", "20240101_120000\ntabulate format"
    )
    write(root, "configs/20240101_120000_1.py", "models = []")
    write(root, "logs/infer/m-7b/sum.out", "hello")
    return root


@pytest.fixture(scope="module")
def brought(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Brought:
    return bring([folder], tmp_path_factory.mktemp("archive") / "runs")


def problems(brought: Brought) -> list[str]:
    return [str(each) for each in brought.report.notes.problems]


def by_scenario(brought: Brought) -> dict[str, Manifest]:
    return {run.spec.scenario: run for run in brought.runs}


def test_every_file_of_a_work_folder_is_accounted_for(
    folder: Path, brought: Brought
) -> None:
    assert accounted(brought, [folder]) == set()
    assert set(by_scenario(brought)) == {"sum", "labels", "rounds", "going"}
    torn, failed = sorted(problems(brought))
    assert "tmp_going.jsonl, line 5: no JSON: column " in torn
    assert failed.endswith("results/m-7b/broken.json: no result: no predictions.")
    again = bring([folder], Path(brought.archive.root))
    assert not again.report.made
    assert brought.archive.check() == []


def test_generated_texts_and_verdicts(brought: Brought) -> None:
    run = by_scenario(brought)["sum"]
    assert run.spec.model.name == "m-7b"
    assert run.spec.settings == {"version": "1d7fe4", "mode": "gen"}
    instances = list(brought.archive.instances(run.run_id))
    assert [i.input for i in instances] == ["1+1?", "", "1+3?", "no gold"]
    assert [i.gold for i in instances] == [("2",), ("3", "three"), ("4",), ()]
    replies = list(brought.archive.replies(run.run_id))
    assert [(r.completion_index, r.completion.text) for r in replies] == [
        (0, "It is 2"),
        (0, "4"),
        (0, "4"),
        (1, "5"),
        (0, ""),
    ]
    assert [m.role for m in replies[1].request.messages] == ["system", "user"]
    assert replies[0].completion.usage.completion_tokens == 4
    assert replies[1].completion.usage.prompt_tokens == 9
    assert replies[2].completion.extra == {"note": "x"}
    scores = list(brought.archive.scores(run.run_id))
    right = [(s.value, s.text) for s in scores if s.metric == "accuracy"]
    assert right == [(1.0, "2"), (0.0, "4"), (1.0, "4"), (0.0, "")]
    assert [s.value for s in scores if s.metric == "length"] == [3.0]
    (made,) = [m for m in brought.report.made if m.scenario == "sum"]
    assert (made.equal, made.different) == (1, ())
    stats = [s for s in brought.archive.stats(run.run_id) if s.metric == "accuracy"]
    assert {s.value for s in stats} == {0.5}


def test_labels_that_were_scored(brought: Brought) -> None:
    run = by_scenario(brought)["labels"]
    instances = list(brought.archive.instances(run.run_id))
    assert [i.gold for i in instances] == [("A",), ("B",), ("A",), ("B",)]
    replies = list(brought.archive.replies(run.run_id))
    assert len(replies) == 12
    asked = [r for r in replies if r.request.instance_id == "2"]
    assert [r.request.reference_index for r in asked] == [-1, 0, 1]
    assert [r.request.prompt for r in asked] == ["", "Q A Q0 A", "Q A Q0 B"]
    assert asked[0].completion.text == "A"
    assert asked[1].completion.extra == {
        "testing input": "Q0 A",
        "PPL": 1.5,
        "BPB": 0.5,
    }


def test_conversations_of_several_rounds(brought: Brought) -> None:
    run = by_scenario(brought)["rounds"]
    replies = list(brought.archive.replies(run.run_id))
    assert [(r.request.request_index, r.completion.text) for r in replies] == [
        (0, "Yes?"),
        (1, "No"),
    ]
    assert [m.content for m in replies[1].request.messages] == ["Hi", "Yes?", "Go"]


def test_a_run_that_stopped_is_taken_as_such(brought: Brought) -> None:
    run = by_scenario(brought)["going"]
    assert run.status == "cancelled"
    assert len(list(brought.archive.instances(run.run_id))) == 4


def test_results_without_predictions_and_summaries_are_cells(brought: Brought) -> None:
    archive = brought.archive
    cells = [r for b in archive.batches() for r in archive.published(b.suite, b.batch)]
    assert {(c.scenario, c.model, c.stat.metric): c.stat.value for c in cells} == {
        ("alone", "m-7b", "score"): 7.5,
        ("alone", "m-7b", "rouge1"): 0.3,
        ("sum", "other", "accuracy"): 0.615,
        ("mmlu", "other", "naive_average"): 44.25,
    }
    (group,) = [c for c in cells if c.scenario == "mmlu"]
    assert group.settings == {"mode": "ppl"}


def test_several_answers_of_one_question_are_trials(tmp_path: Path) -> None:
    asked = {
        str(n): {"origin_prompt": f"Q{n % 2}", "prediction": f"P{n}"} for n in range(4)
    }
    details = [
        {"example_abbr": "x_0", "pred": ["P0", "P2"], "correct": [True, False]},
        {"example_abbr": "x_1", "pred": ["P1", "P3"], "correct": [False, False]},
    ]
    root = tmp_path / "outputs"
    write(root, "predictions/m/d.json", asked)
    write(
        root,
        "results/m/d.json",
        {"accuracy (2 runs average)": 25.0, "details": details},
    )
    brought = bring([root], tmp_path / "runs")
    (run,) = brought.runs
    assert problems(brought) == []
    replies = list(brought.archive.replies(run.run_id))
    assert {
        (r.request.instance_id, r.request.trial): r.completion.text for r in replies
    } == {
        ("0", 0): "P0",
        ("0", 1): "P2",
        ("1", 0): "P1",
        ("1", 1): "P3",
    }
    scores = list(brought.archive.scores(run.run_id))
    assert {(s.instance_id, s.trial): s.value for s in scores} == {
        ("0", 0): 1.0,
        ("0", 1): 0.0,
        ("1", 0): 0.0,
        ("1", 1): 0.0,
    }


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("predictions/m/d.json", GENERATED),
        ("predictions/m/d.json", LABELS),
        ("predictions/m/d.json", ROUNDS),
        ("results/m/d.json", JUDGED),
    ],
    ids=["generated", "labels", "rounds", "results"],
)
@given(data_=st.data())
@settings(max_examples=20, deadline=None, derandomize=True)
def test_files_gone_wrong_end_in_a_message(
    name: str, data: Any, data_: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    root = tmp_path_factory.mktemp("mutant")
    if "results" in name:
        write(root / "in", "predictions/m/d.json", GENERATED)
    file = write(root / "in", name, data)
    file.write_bytes(data_.draw(mutants(json.dumps(data).encode())))
    brought = bring([root / "in"], root / "runs")
    assert accounted(brought, [root / "in"]) == set()
    assert brought.archive.check() == []


@pytest.mark.parametrize("name", ["sum", "labels", "rounds"])
def test_everything_that_an_answer_says_is_in_the_archive(
    name: str, brought: Brought
) -> None:
    source: Any = {"sum": [GENERATED, JUDGED], "labels": LABELS, "rounds": ROUNDS}[name]
    run = by_scenario(brought)[name]
    archive = brought.archive
    kept = {leaf for record in archive.instances(run.run_id) for leaf in leaves(record)}
    kept |= {leaf for record in archive.replies(run.run_id) for leaf in leaves(record)}
    kept |= {leaf for record in archive.scores(run.run_id) for leaf in leaves(record)}
    kept |= {leaf for record in archive.stats(run.run_id) for leaf in leaves(record)}
    lost = set(leaves(source)) - kept
    # Roles are told in the words of chats; percent became a share; the type says nothing.
    assert lost <= {"HUMAN", "BOT", "SYSTEM", 50.0, "GEN"}


@pytest.mark.parametrize("odd", [10**400, -1, 1e100, "yes", None, [], {}, float("nan")])
def test_odd_verdicts(odd: Any, tmp_path: Path) -> None:
    write(tmp_path / "in", "predictions/m/d.json", GENERATED)
    details = {"0": {"pred": "2", "correct": odd}, "1": {"correct": True}}
    for accuracy in (50.0, odd):
        results = {"accuracy": accuracy, "details": details}
        write(tmp_path / "in", "results/m/d.json", results)
        brought = bring([tmp_path / "in"], tmp_path / "runs")
        assert brought.runs
        assert brought.archive.check() == []
