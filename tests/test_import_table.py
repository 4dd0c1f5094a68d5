"""Tables: rows of results and rows of instances into the archive, as a mapping says."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from helmsite.archive import Archive
from helmsite.config import load_project
from helmsite.importers import Notes, Tree, survey
from helmsite.importers.table import mapping as mappings
from helmsite.run.imported import Wish
from helmsite.run.importing import Import, Survey
from tests.importing import Brought, accounted

if TYPE_CHECKING:
    from pathlib import Path

    from helmsite.schema import PublishedStat


def bring(path: Path, place: Path, mapping: mappings.Mapping | None = None) -> Brought:
    """Import a table, with a mapping or as its columns tell."""
    notes = Notes()
    tree = Tree([path], notes, mapping)
    found = Survey(tuple(survey(tree, notes, ("table",))), notes)
    archive = Archive(place / "runs")
    report = Import(archive, load_project(place), Wish()).take(found.found)
    report.notes.skipped |= notes.skipped
    return Brought(found, report, archive)


def written(folder: Path, name: str, text: str, encoding: str = "utf-8") -> Path:
    file = folder / name
    file.write_bytes(text.encode(encoding))
    return file


def published(brought: Brought) -> list[PublishedStat]:
    archive = brought.archive
    return [
        row
        for batch in archive.batches()
        for row in archive.published(batch.suite, batch.batch)
    ]


def problems(brought: Brought) -> list[str]:
    return [str(each) for each in brought.report.notes.problems]


LONG = """\
Model,Task,Metric,Score,Std. Error,n,shots,note
org/a-7b,mmlu,acc,0.53,0.01,100,5,x
org/a-7b,mmlu,acc,0.5,0.02,100,0,y
org/b,mmlu,acc,,,,5,
org/b,gsm8k,exact_match,nan,,,8,
"""


def test_a_long_table_with_obvious_columns_needs_no_mapping(tmp_path: Path) -> None:
    file = written(tmp_path, "long.csv", LONG)
    brought = bring(file, tmp_path)
    rows = published(brought)
    assert [
        (r.model, r.scenario, r.stat.metric, r.stat.value, r.stat.stderr, r.settings)
        for r in rows
    ] == [
        ("org/b", "gsm8k", "exact_match", None, None, {"shots": "8"}),
        ("org/a-7b", "mmlu", "acc", 0.5, 0.02, {"shots": "0"}),
        ("org/a-7b", "mmlu", "acc", 0.53, 0.01, {"shots": "5"}),
        ("org/b", "mmlu", "acc", None, None, {"shots": "5"}),
    ]
    assert [r.stat.missing for r in rows] == ["nan", "", "", "not measurable"]
    assert [r.stat.n_scored for r in rows] == [0, 100, 100, 0]
    assert rows[1].stat.details == {"note": "y"}
    assert {r.stat.origin for r in rows} == {"reported"}
    assert problems(brought) == []
    assert accounted(brought, [file]) == set()


def test_the_same_table_again_adds_nothing(tmp_path: Path) -> None:
    file = written(tmp_path, "long.csv", LONG)
    first = published(bring(file, tmp_path))
    again = bring(file, tmp_path)
    assert again.report.unchanged
    assert published(again) == first


ROWS: list[dict[str, Any]] = [
    {
        "m": "a",
        "task": "sum",
        "id": 7,
        "q": "1+1?",
        "out": "2",
        "gold": "2",
        "ok": True,
        "lang": "en",
        "ms": 3,
    },
    {
        "m": "a",
        "task": "sum",
        "id": 8,
        "q": "1+2?",
        "out": "4",
        "gold": ["3", "three"],
        "ok": False,
        "lang": "de",
    },
    {
        "m": "b",
        "task": "sum",
        "id": 7,
        "q": "1+1?",
        "out": None,
        "gold": "2",
        "ok": None,
        "why": "timeout",
    },
]
MAPPING = {
    "columns": {
        "model": "m",
        "scenario": "task",
        "id": "id",
        "input": "q",
        "completion": "out",
        "reference": "gold",
        "error": "why",
    },
    "scores": {"correct": "ok"},
    "attributes": ["lang"],
}


def test_rows_with_an_instance_each_become_runs(tmp_path: Path) -> None:
    lines = "".join(json.dumps(row) + "\n" for row in ROWS)
    file = written(tmp_path, "rows.jsonl", lines)
    brought = bring(file, tmp_path, mappings.parsed(MAPPING))
    runs = {run.spec.model.name: run for run in brought.runs}
    assert problems(brought) == []
    assert sorted(runs) == ["a", "b"]
    archive = brought.archive
    one, two = archive.instances(runs["a"].run_id)
    assert (one.instance_id, one.input, one.gold) == ("7", "1+1?", ("2",))
    assert two.gold == ("3", "three")
    assert two.attributes == {"lang": ("de",)}
    replies = list(archive.replies(runs["a"].run_id))
    assert [r.completion.text for r in replies] == ["2", "4"]
    assert replies[0].completion.extra == {"ms": 3}
    assert replies[0].request.prompt_kind == "absent"
    scores = archive.scores(runs["a"].run_id)
    assert [(s.metric, s.value, s.origin) for s in scores] == [
        ("correct", 1.0, "reported"),
        ("correct", 0.0, "reported"),
    ]
    (failed,) = archive.replies(runs["b"].run_id)
    assert failed.completion.error == "timeout"
    (lost,) = archive.scores(runs["b"].run_id)
    assert (lost.value, lost.missing) == (None, "failed")
    (fact,) = runs["a"].metrics
    assert (fact.name, fact.higher_is_better, fact.format) == ("correct", True, "share")


@pytest.mark.parametrize("name", ["c.csv", "c.jsonl", "c.json"])
def test_a_table_that_explains_itself_not_is_left_out_with_what_to_type(
    name: str, tmp_path: Path
) -> None:
    texts = {
        "c.csv": "name,accuracy\na,0.5\n",
        "c.jsonl": '{"name": "a", "accuracy": 0.5}\n',
        "c.json": '[{"name": "a", "accuracy": 0.5}]',
    }
    file = written(tmp_path, name, texts[name])
    brought = bring(file, tmp_path)
    assert brought.survey.found == ()
    reason = brought.report.notes.skipped[name]
    assert "(name, accuracy)" in reason
    assert "--constant scenario=NAME --column scores=accuracy" in reason
