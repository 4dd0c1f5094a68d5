"""Tables: rows of results and rows of instances into the archive, as a mapping says."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from helmsite.archive import Archive
from helmsite.config import load_project
from helmsite.errors import ConfigError
from helmsite.importers import Notes, Tree, survey
from helmsite.importers.table import mapping as mappings
from helmsite.importers.table import metrics
from helmsite.importers.table.cells import Cells
from helmsite.importers.table.groups import Groups
from helmsite.importers.table.plan import guessed, planned
from helmsite.importers.values import Place
from helmsite.run.imported import Wish
from helmsite.run.importing import Import, Survey
from tests.importing import ODD, Brought, accounted, mutants
from tests.test_archive_samples import leaves

if TYPE_CHECKING:
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
        ("org/b", "gsm8k", "exact_match", None, None, {"num_fewshot": 8}),
        ("org/a-7b", "mmlu", "acc", 0.5, 0.02, {"num_fewshot": 0}),
        ("org/a-7b", "mmlu", "acc", 0.53, 0.01, {"num_fewshot": 5}),
        ("org/b", "mmlu", "acc", None, None, {"num_fewshot": 5}),
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
    assert "--column scenario=COLUMN --column scores=accuracy" in reason


@pytest.mark.parametrize(
    ("text", "typed"),
    [
        (
            "Rank,Model,Average ⬆️,IFEval,MMLU-PRO,MATH Lvl 5,#Params (B),\n"
            "1,a,52.08 %,80.6 %,**70.0 ± 0.4**,40.3,78,\n",
            "--column model=Model --column scenarios=IFEval --column scenarios=MMLU-PRO "
            "--column scenarios='MATH Lvl 5' --constant metric=accuracy",
        ),
        (
            ",qid,model,question,expected,answer,correct\n0,q,m,2+2?,4,four,True\n",
            "--column model=model --column id=qid --column input=question "
            "--column reference=expected --column completion=answer "
            "--constant scenario='{stem}' --column scores=correct",
        ),
        (
            "question,response\n2+2?,4\n",
            "--column input=question --column completion=response "
            "--constant model=NAME --constant scenario='{stem}'",
        ),
    ],
)
def test_what_is_told_to_type_imports_the_table(
    text: str, typed: str, tmp_path: Path
) -> None:
    file = written(tmp_path, "board.csv", text)
    reason = bring(file, tmp_path).report.notes.skipped["board.csv"]
    assert f"Tell it: {typed} (" in reason
    options = shlex.split(typed)
    pairs = list(zip(options[::2], options[1::2], strict=True))
    mapping = mappings.given(
        [told for option, told in pairs if option == "--column"],
        [told for option, told in pairs if option == "--constant"],
    )
    brought = bring(file, tmp_path, mapping)
    assert problems(brought) == []
    assert published(brought) or brought.report.made


def test_numbers_of_rows_are_no_values(tmp_path: Path) -> None:
    text = "Unnamed: 0,Model,MMLU\n7,a,0.5\n"
    mapping = mappings.parsed(
        {
            "columns": {"model": "Model"},
            "scenarios": "*",
            "constants": {"metric": "accuracy"},
        }
    )
    brought = bring(written(tmp_path, "x.csv", text), tmp_path, mapping)
    assert values(brought) == {("MMLU", "a", "accuracy"): 0.5}


def test_a_conversation_that_ends_with_an_answer_has_it(tmp_path: Path) -> None:
    asked = {"role": "user", "content": "2+2?"}
    answer = {"role": "assistant", "content": "4"}
    row = {"model": "m", "task": "t", "messages": [asked, answer], "correct": True}
    brought = bring(written(tmp_path, "x.jsonl", json.dumps(row)), tmp_path)
    run = run_of(brought)
    (reply,) = brought.archive.replies(run.run_id)
    assert [m.content for m in reply.request.messages] == ["2+2?"]
    assert reply.completion.text == "4"
    (instance,) = brought.archive.instances(run.run_id)
    assert [m.content for m in instance.messages] == ["2+2?"]
    both = row | {"completion": "5"}
    brought = bring(written(tmp_path, "y.jsonl", json.dumps(both)), tmp_path / "y")
    (reply,) = brought.archive.replies(run_of(brought).run_id)
    assert [m.content for m in reply.request.messages] == ["2+2?", "4"]
    assert reply.completion.text == "5"


def test_texts_and_scores_in_objects_are_found(tmp_path: Path) -> None:
    row = {
        "id": 1,
        "model": {"name": "m", "size": 7},
        "task": "quiz",
        "prompt": "2+2?",
        "response": {"text": "four", "usage": 3},
        "gold": "4",
        "scores": {"f1": 0.5, "judge": "fine"},
    }
    brought = bring(written(tmp_path, "x.jsonl", json.dumps(row)), tmp_path)
    run = run_of(brought)
    assert run.spec.model.name == "m"
    (reply,) = brought.archive.replies(run.run_id)
    assert reply.completion.text == "four"
    assert reply.completion.extra["response"] == {"usage": 3}
    (score,) = brought.archive.scores(run.run_id)
    assert (score.metric, score.value) == ("f1", 0.5)


def values(brought: Brought) -> dict[tuple[str, str, str], float | None]:
    return {
        (r.scenario, r.model, r.stat.metric): r.stat.value for r in published(brought)
    }


def test_the_same_table_by_another_mapping_takes_the_place(tmp_path: Path) -> None:
    rows = "model,task,id,out,a,b\nm,t,1,x,0.25,0.75\n"
    file = written(tmp_path, "x.csv", rows)
    columns = {"model": "model", "scenario": "task", "id": "id", "completion": "out"}
    one, two = (
        mappings.parsed({"columns": columns, "scores": {"acc": score}})
        for score in ("a", "b")
    )
    assert bring(file, tmp_path, one).report.made[0].fate == "new"
    assert bring(file, tmp_path, two).report.made[0].fate == "replaced"
    again = bring(file, tmp_path, two)
    assert again.report.unchanged
    (score_,) = again.archive.scores(run_of(again).run_id)
    assert score_.value == 0.75
    cells = {"columns": {"model": "model", "scenario": "task"}, "rows": "results"}
    for number in (1, 2):
        percent = {"acc": {"percent": number == 2}}
        mapping = mappings.parsed(cells | {"scores": {"acc": "a"}, "metrics": percent})
        brought = bring(file, tmp_path / "cells", mapping)
        assert values(brought)["t", "m", "acc"] == (0.25, 0.0025)[number - 1]


GERMAN = """\
Modell;Aufgabe;Genauigkeit;Länge
a;mmlu;85,3 %;1.234,5
b;mmlu;0,5;-7
"""
GERMAN_MAPPING = {
    "columns": {"model": "Modell", "scenario": "Aufgabe"},
    "scores": {"accuracy": "Genauigkeit", "length": "Länge"},
}


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32", "cp1252"]
)
def test_a_table_as_spreadsheets_export_it(encoding: str, tmp_path: Path) -> None:
    file = written(tmp_path, "x.csv", GERMAN, encoding)
    brought = bring(file, tmp_path, mappings.parsed(GERMAN_MAPPING))
    assert values(brought) == {
        ("mmlu", "a", "accuracy"): 0.853,
        ("mmlu", "a", "length"): 1234.5,
        ("mmlu", "b", "accuracy"): 0.5,
        ("mmlu", "b", "length"): -7.0,
    }
    told = problems(brought)
    if encoding == "cp1252":
        assert told == [
            "x.csv: not UTF-8: read as Windows-1252; if that is wrong, say `encoding`."
        ]
    else:
        assert told == []


def test_points_between_thousands_leave_the_comma_its_fractions(
    tmp_path: Path,
) -> None:
    text = "model;task;accuracy;n\na;mmlu;68,4;14.042\na;gsm8k;79,6;1.319\n"
    brought = bring(written(tmp_path, "x.csv", text), tmp_path)
    found = {
        r.scenario: (round(r.stat.value or 0, 9), r.stat.n_scored)
        for r in published(brought)
    }
    assert found == {
        "mmlu": (0.684, 14042),
        "gsm8k": (0.796, 1319),
    }
    assert problems(brought) == []


def test_titles_above_the_header_are_passed_over(tmp_path: Path) -> None:
    for number, above in enumerate(("Our results,,\n,,\n", "# made by us\n\n", "\n")):
        text = above + "model,task,accuracy\na,t,0.5\nb,t,half\n"
        place = tmp_path / str(number)
        place.mkdir()
        brought = bring(written(place, "x.csv", text), place)
        assert values(brought) == {("t", "a", "accuracy"): 0.5}
        line = text.count("\n")
        assert problems(brought) == [
            f"x.csv, line {line}: accuracy: expected a number, got 'half'."
        ]
    text = ",accuracy\na,0.5\n"
    mapping = mappings.parsed(
        {
            "columns": {"model": ""},
            "scores": ["accuracy"],
            "constants": {"scenario": "t"},
        }
    )
    brought = bring(written(tmp_path, "y.csv", text), tmp_path / "y", mapping)
    assert values(brought) == {("t", "a", "accuracy"): 0.5}


def test_a_table_without_a_header_is_told_to_get_one(tmp_path: Path) -> None:
    brought = bring(written(tmp_path, "x.csv", "a,t,0.5\nb,t,0.6\n"), tmp_path)
    reason = brought.report.notes.skipped["x.csv"]
    assert "first line (a, t, 0.5) has values" in reason
    assert "write a line with their names" in reason


def test_a_legacy_letter_far_behind_the_head_is_read_too(tmp_path: Path) -> None:
    lines = ["model,task,accuracy", *(f"m{n},t,0.5" for n in range(9000)), "é,t,0.25"]
    file = written(tmp_path, "x.csv", "\n".join(lines), "latin-1")
    brought = bring(file, tmp_path)
    assert len(problems(brought)) == 1
    assert values(brought)["t", "é", "accuracy"] == 0.25


@pytest.mark.parametrize("sign", [",", ";", "\t", "|"])
def test_the_sign_between_columns_is_found(sign: str, tmp_path: Path) -> None:
    text = "model|task|accuracy\na|t|0.5\nb|u|0.25\n".replace("|", sign)
    for prefix in ("", f"sep={sign}\n"):
        file = written(tmp_path, "x.csv", prefix + text)
        brought = bring(file, tmp_path / prefix.strip().replace(sign, ""))
        assert values(brought) == {
            ("t", "a", "accuracy"): 0.5,
            ("u", "b", "accuracy"): 0.25,
        }


@pytest.mark.parametrize(
    ("written_", "decimal", "value"),
    [
        ("0.5", ".", 0.5),
        ("1,234.5", ".", 1234.5),
        ("85.3%", ".", 0.853),
        ("−3", ".", -3.0),
        ("1 234,5", ",", 1234.5),
        ("1.234", ",", 1234.0),
        ("1.234", ".", 1.234),
        ("5e-3", ".", 0.005),
        ("TRUE", ".", 1.0),
        ("incorrect", ".", 0.0),
        (True, ".", 1.0),
        (3, ".", 3.0),
        ("0.5 ± 0.1", ".", 0.5),
        ("12 ± 3%", ".", 0.12),
        ("**71.3**", ".", 71.3),
        ("**71.3 ± 0.4**", ".", 71.3),
        ("**71.3** ± 0.4", ".", 71.3),
        ("71.3 (±0.4)", ".", 71.3),
        (r"$71.3_{\pm 0.4}$", ".", 71.3),
        (r"\textbf{71.3}", ".", 71.3),
        ("__*71.3*__", ".", 71.3),
        ("71.3*", ".", 71.3),
        ("71.3**", ".", 71.3),
        ("71.3† ± 0.4‡", ".", 71.3),
        ("71.3 % ↑", ".", 0.713),
        ("<b>71.3 %</b>", ".", 0.713),
        ("nan", ".", None),
        ("-", ".", None),
        ("", ".", None),
        (None, ".", None),
    ],
)
def test_numbers_as_people_write_them(
    written_: Any, decimal: str, value: float | None
) -> None:
    assert Cells(decimal).figure(written_, Place("x")).value == value


@pytest.mark.parametrize(
    "written_",
    [
        "**71.3 ± 0.4**",
        "**71.3** ± 0.4",
        "71.3 (±0.4)",
        "$71.3_{\\pm 0.4}$",
        "71.3±**0.4**",
    ],
)
def test_what_stands_behind_a_sign_is_kept_however_papers_write_it(
    written_: str,
) -> None:
    assert Cells().figure(written_, Place("x")) == (71.3, "", 0.4)


@pytest.mark.parametrize(
    "text",
    ["1,5", "1_0", "**", "**71.3*", "***", "abc", "0x10", "1.2.3", "%", "1,23,456"],
)
def test_what_is_no_number_is_refused(text: str) -> None:
    with pytest.raises(Exception, match="expected a number"):
        Cells().figure(text, Place("x"))


WIDE = "model,task,acc,acc_stderr,f1,f1 se,n,note\na,t,50,1,0.4,0.02,10,x\nb,t,60,2,,,12,\n"


def test_a_column_for_each_metric(tmp_path: Path) -> None:
    file = written(tmp_path, "x.csv", WIDE)
    rows = {(r.model, r.stat.metric): r.stat for r in published(bring(file, tmp_path))}
    assert set(rows) == {("a", "acc"), ("a", "f1"), ("b", "acc")}
    assert (rows["a", "acc"].value, rows["a", "acc"].stderr) == (0.5, 0.01)
    assert (rows["a", "f1"].stderr, rows["a", "f1"].n_scored) == (0.02, 10)
    assert rows["a", "f1"].details == {"note": "x"}
    percent: dict[str, Any] = {
        "columns": {"model": "model", "scenario": "task", "n": "n"},
        "scores": ["acc"],
    }
    percent["metrics"] = {
        "acc": {"percent": True, "stderr": "acc_stderr", "title": "Accuracy"}
    }
    again = bring(file, tmp_path / "b", mappings.parsed(percent))
    one = {(r.model, r.stat.metric): r.stat for r in published(again)}
    assert (one["b", "acc"].value, one["b", "acc"].stderr) == (0.6, 0.02)


@pytest.mark.parametrize("every", [True, False])
def test_a_column_for_each_scenario_or_model(every: bool, tmp_path: Path) -> None:
    one = written(tmp_path, "s.csv", "name,mmlu,gsm8k\na,0.5,0.25\nb,-,0.75\n")
    wide = "*" if every else ["mmlu", "gsm8k"]
    mapping: dict[str, Any] = {
        "columns": {"model": "name"},
        "constants": {"metric": "accuracy"},
    }
    assert values(
        bring(one, tmp_path / "a", mappings.parsed(mapping | {"scenarios": wide}))
    ) == {
        ("mmlu", "a", "accuracy"): 0.5,
        ("gsm8k", "a", "accuracy"): 0.25,
        ("gsm8k", "b", "accuracy"): 0.75,
    }
    two = written(tmp_path, "m.csv", "task,metric,a,b\nmmlu,acc,0.5,\n")
    models: dict[str, Any] = {"columns": {"scenario": "task", "metric": "metric"}}
    models |= {"models": "*" if every else {"org/a": "a", "org/b": "b"}}
    name = "a" if every else "org/a"
    assert values(bring(two, tmp_path / "b", mappings.parsed(models))) == {
        ("mmlu", name, "acc"): 0.5
    }


@pytest.mark.parametrize(
    ("values_", "percent", "shown"),
    [
        ([50, 60.5, 0], None, [0.5, 0.605, 0.0]),
        ([0.5, 1, 1.0000001], None, [0.5, 1.0, 1.0000001]),
        ([50, 150], None, [50.0, 150.0]),
        ([50, -1], None, [50.0, -1.0]),
        ([0.5, 0.75], True, [0.005, 0.0075]),
        ([50, 60], False, [50.0, 60.0]),
    ],
)
def test_shares_in_percent_become_shares(
    values_: list[float], percent: bool | None, shown: list[float], tmp_path: Path
) -> None:
    rows = [
        {"model": f"m{n}", "task": "t", "exact_match": v, "elo": 100 * v}
        for n, v in enumerate(values_)
    ]
    file = written(tmp_path, "x.jsonl", "".join(json.dumps(r) + "\n" for r in rows))
    columns = {
        "columns": {"model": "model", "scenario": "task"},
        "scores": ["exact_match", "elo"],
    }
    mapping = mappings.parsed(
        columns | {"metrics": {"exact_match": {"percent": percent}}}
    )
    found = values(bring(file, tmp_path, mapping))
    assert [found["t", f"m{n}", "exact_match"] for n in range(len(rows))] == shown
    assert found["t", "m0", "elo"] == 100 * values_[0]
    for n, row in enumerate(rows):
        row.update(model="m", id=str(n), prompt="x")
    file = written(tmp_path, "y.jsonl", "".join(json.dumps(r) + "\n" for r in rows))
    mapping = mappings.parsed(
        {
            **columns,
            "columns": {
                "model": "model",
                "scenario": "task",
                "id": "id",
                "prompt": "prompt",
            },
        }
        | {"metrics": {"exact_match": {"percent": percent}}}
    )
    brought = bring(file, tmp_path / "runs", mapping)
    scores = brought.archive.scores(run_of(brought).run_id)
    assert [s.value for s in scores if s.metric == "exact_match"] == shown


def test_two_values_of_one_thing_are_told_with_what_to_say(tmp_path: Path) -> None:
    text = "model,task,metric,score,prompt_style\na,t,acc,0.5,x\na,t,acc,0.6,y\na,t,acc,0.5,x\n"
    brought = bring(written(tmp_path, "x.csv", text), tmp_path)
    assert problems(brought) == [
        "x.csv, line 3: score: another value of a, t and acc is on line 2; "
        "if they differ in prompt_style, name that under `settings`."
    ]
    assert values(brought) == {("t", "a", "acc"): 0.5}


def test_rows_that_are_broken_are_left_out_with_their_line(tmp_path: Path) -> None:
    text = (
        'model,task,metric,score,note\na,t,acc,0.5,"two\nlines"\nb,t,acc,much,\n\n'
        'c,t,acc\nd,t,acc,1,2,3\n,t,acc,1,\ne,t,acc,0.1,x,,\nf,t,acc,0.2,"open\nb\n'
    )
    brought = bring(written(tmp_path, "x.csv", text), tmp_path)
    assert problems(brought) == [
        "x.csv, line 4: score: expected a number, got 'much'.",
        "x.csv, line 6: 3 cells, but the header has 5.",
        "x.csv, line 7: 6 cells, but the header has 5.",
        "x.csv, line 8: model: empty.",
        "x.csv, line 10: a quote that opens here is never closed.",
    ]
    assert set(values(brought)) == {("t", "a", "acc"), ("t", "e", "acc")}


def run_of(brought: Brought) -> Any:
    (run,) = brought.runs
    return run


BASE = {"columns": {"id": "id", "input": "q", "completion": "out"}}
BASE["constants"] = {"model": "m-{stem}", "scenario": "{folder}"}


def brought_rows(
    rows: list[dict[str, Any]], tmp_path: Path, form: str = "jsonl", **more: Any
) -> Brought:
    data = {**BASE, **more}
    data["columns"] = BASE["columns"] | more.get("columns", {})
    folder = tmp_path / "quiz"
    folder.mkdir()
    file = folder / f"x.{form}"
    if form == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), file)
    elif form == "json":
        file.write_text(json.dumps(rows))
    else:
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return bring(file, tmp_path, mappings.parsed(data))


def test_constants_may_be_the_names_of_file_and_folder(tmp_path: Path) -> None:
    brought = brought_rows([{"id": 1, "q": "?", "out": "!"}], tmp_path)
    run = run_of(brought)
    assert (run.spec.model.name, run.spec.scenario) == ("m-x", "quiz")


@pytest.mark.parametrize("form", ["jsonl", "json", "parquet"])
def test_every_form_gives_the_same_rows(form: str, tmp_path: Path) -> None:
    rows = [
        {
            "id": n,
            "q": f"q{n}",
            "out": f"o{n}",
            "tok": ["o", str(n)],
            "lp": [-0.5, -1.5],
            "usage": {"in": 3, "other": {"x": 1}},
            "judge": {"f1": n / 2, "why": "so"},
        }
        for n in range(3)
    ]
    more = {"tokens": "tok", "token_logprobs": "lp", "prompt_tokens": "usage.in"}
    brought = brought_rows(
        rows, tmp_path, form, columns=more, scores={"f1": "judge.f1"}
    )
    assert problems(brought) == []
    run = run_of(brought)
    replies = list(brought.archive.replies(run.run_id))
    assert [r.completion.tokens for r in replies] == [("o", str(n)) for n in range(3)]
    assert replies[0].completion.token_logprobs == (-0.5, -1.5)
    assert replies[0].completion.usage.prompt_tokens == 3
    assert replies[0].completion.extra == {
        "usage": {"other": {"x": 1}},
        "judge": {"why": "so"},
    }
    scores = list(brought.archive.scores(run.run_id))
    assert [s.value for s in scores] == [0.0, 0.5, 1.0]


def test_a_row_for_each_metric_of_an_instance(tmp_path: Path) -> None:
    rows = [
        {
            "id": i,
            "q": f"q{i}",
            "out": "o",
            "metric": metric,
            "v": v,
            "by": "j",
            "why": metric,
        }
        for i in (1, 2)
        for metric, v in (("acc", 1), ("f1", 0.5))
    ]
    brought = brought_rows(
        rows, tmp_path, columns={"metric": "metric", "value": "v", "scorer": "by"}
    )
    run = run_of(brought)
    assert len(list(brought.archive.instances(run.run_id))) == 2
    assert len(list(brought.archive.replies(run.run_id))) == 2
    scores = list(brought.archive.scores(run.run_id))
    assert [
        (s.instance_id, s.metric, s.value, s.scorer, s.details) for s in scores
    ] == [
        ("1", "acc", 1.0, "j", {"why": "acc"}),
        ("1", "f1", 0.5, "j", {"why": "f1"}),
        ("2", "acc", 1.0, "j", {"why": "acc"}),
        ("2", "f1", 0.5, "j", {"why": "f1"}),
    ]


def test_ids_that_are_repeated_get_a_number(tmp_path: Path) -> None:
    rows = [
        {"id": "a", "q": "x", "out": "1"},
        {"id": "a", "q": "x", "out": "2"},
        {"id": "a#2", "q": "x", "out": "3"},
        {"id": "a", "q": "other", "out": "4"},
    ]
    brought = brought_rows(rows, tmp_path)
    run = run_of(brought)
    replies = brought.archive.replies(run.run_id)
    assert {r.request.instance_id: r.completion.text for r in replies} == {
        "a": "1",
        "a#2": "2",
        "a#2#2": "3",
        "a#3": "4",
    }
    assert "a, a#2" in run.warnings[0]


def test_trials_are_kept_apart(tmp_path: Path) -> None:
    rows = [
        {"id": i, "q": f"q{i}", "out": f"{seed}", "seed": seed, "ok": seed == "s1"}
        for seed in ("s1", "s2")
        for i in (1, 2)
    ]
    brought = brought_rows(rows, tmp_path, columns={"trial": "seed"}, scores=["ok"])
    run = run_of(brought)
    assert len(list(brought.archive.instances(run.run_id))) == 2
    replies = brought.archive.replies(run.run_id)
    assert [
        (r.request.instance_id, r.request.trial, r.completion.text) for r in replies
    ] == [
        ("1", 0, "s1"),
        ("1", 1, "s2"),
        ("2", 0, "s1"),
        ("2", 1, "s2"),
    ]


@pytest.mark.parametrize(
    "right", ["B", "(b)", "1", 1, "second", ["second"], '["second"]']
)
def test_options_and_how_the_right_one_is_told(right: Any, tmp_path: Path) -> None:
    rows = [{"id": 1, "q": "?", "out": "B", "opt": ["first", "second"], "gold": right}]
    brought = brought_rows(
        rows, tmp_path, columns={"choices": "opt", "reference": "gold"}
    )
    (instance,) = brought.archive.instances(run_of(brought).run_id)
    assert [r.text for r in instance.references] == ["first", "second"]
    assert instance.gold == ("second",)


def test_answers_without_scores_are_scored_here(tmp_path: Path) -> None:
    rows = [
        {"id": 1, "q": "?", "out": "Yes", "gold": "Yes"},
        {"id": 2, "q": "?", "out": "the no.", "gold": "No"},
        {"id": 3, "q": "?", "out": "maybe", "gold": "No"},
    ]
    brought = brought_rows(rows, tmp_path, columns={"reference": "gold"})
    run = run_of(brought)
    stats = {
        s.metric: (s.value, s.origin)
        for s in brought.archive.stats(run.run_id)
        if s.trial == -1
    }
    assert stats["exact_match"] == (1 / 3, "computed")
    assert stats["quasi_exact_match"] == (2 / 3, "computed")


def test_models_side_by_side_are_a_run_each(tmp_path: Path) -> None:
    text = "id,question,gold,gpt,llama\n1,1+1?,2,2,3\n2,1+2?,3,,4\n"
    mapping = {
        "columns": {"id": "id", "input": "question", "reference": "gold"},
        "constants": {"scenario": "sums"},
        "models": ["gpt", "llama"],
    }
    file = written(tmp_path, "x.csv", text)
    brought = bring(file, tmp_path, mappings.parsed(mapping))
    found = {
        run.spec.model.name: [
            r.completion.text for r in brought.archive.replies(run.run_id)
        ]
        for run in brought.runs
    }
    assert found == {"gpt": ["2"], "llama": ["3", "4"]}


def test_odd_cells_of_models_side_by_side(tmp_path: Path) -> None:
    rows = [{"q": "?", "a": odd, "b": "x"} for odd in (["y"], {"z": 1}, None, 3, "")]
    file = written(tmp_path, "x.jsonl", "".join(json.dumps(r) + "\n" for r in rows))
    mapping = {"columns": {"input": "q"}, "constants": {"scenario": "s"}}
    brought = bring(file, tmp_path, mappings.parsed(mapping | {"models": ["a", "b"]}))
    (run,) = [run for run in brought.runs if run.spec.model.name == "a"]
    replies = brought.archive.replies(run.run_id)
    assert [r.completion.text for r in replies] == ['["y"]', '{"z": 1}', "3"]


def test_runs_that_differ_in_settings_are_apart(tmp_path: Path) -> None:
    rows = [
        {"id": 1, "q": "?", "out": str(n), "k": n, "heat": n, "step": f"step{n}"}
        for n in (0, 5)
    ]
    columns = {"revision": "step", "num_fewshot": "k"}
    brought = brought_rows(rows, tmp_path, columns=columns, settings=["heat"])
    assert sorted(
        (
            run.spec.settings["heat"],
            run.spec.model.revision,
            run.spec.adapter.max_train_instances,
        )
        for run in brought.runs
    ) == [(0, "step0", 0), (5, "step5", 5)]


def test_all_that_is_wrong_with_a_mapping_is_told_at_once(tmp_path: Path) -> None:
    file = tmp_path / "m.yaml"
    file.write_text(
        "columns: {modle: M, value: v}\nconstants: {value: 3}\nscores: [a]\n"
        "models: [b]\ndelimiter: ';;'\n"
    )
    with pytest.raises(ConfigError) as caught:
        mappings.read(file)
    told = "\n".join(caught.value.problems)
    assert f"{file}:1: unknown field 'modle'. Did you mean 'model'" in told
    assert f"{file}:2: 'value' is a column and a constant" in told
    assert "scores and models: only one of them" in told
    assert "'scores' and 'columns.value'" in told
    assert f"{file}:5: one sign, not ';;'" in told
    file.write_text("colums: {}\nrows: instance\nsettings: x\n")
    with pytest.raises(ConfigError) as caught:
        mappings.read(file)
    assert len(caught.value.problems) == 3


def test_options_of_a_command_make_a_mapping(tmp_path: Path) -> None:
    base = mappings.parsed(
        {"columns": {"model": "M"}, "metrics": {"acc": {"percent": True}}}
    )
    made = mappings.given(
        ["model=Name", "value=score=x", "settings=shots", "settings=prompt"],
        ["scenario=mmlu", "metric=acc"],
        base,
    )
    assert made.columns == {"model": "Name", "value": "score=x"}
    assert made.constants == {"scenario": "mmlu", "metric": "acc"}
    assert made.settings == ("shots", "prompt")
    assert made.metrics["acc"].percent
    assert mappings.given(["models=*"]).models == "*"
    with pytest.raises(ConfigError) as caught:
        mappings.given(["model", "=x"], ["a"])
    assert len(caught.value.problems) == 3
    with pytest.raises(ConfigError, match="unknown field 'modle'"):
        mappings.given(["modle=x"])


def test_a_mapping_that_does_not_fit_says_so(tmp_path: Path) -> None:
    file = written(tmp_path, "x.csv", LONG)
    mapping = mappings.given(["model=Modell", "value=Score"], ["metric=acc"])
    reason = bring(file, tmp_path, mapping).report.notes.skipped["x.csv"]
    assert "'columns.model' names the column 'Modell', which is not there" in reason
    assert "Did you mean 'Model'" in reason
    assert "nothing says what the scenario is" in reason


def test_every_ready_mapping_is_one_and_explained() -> None:
    known = dict(mappings.ready())
    assert set(known) >= {"alpaca_eval_outputs", "alpaca_eval_leaderboard"}
    for mapping in known.values():
        assert mapping.needs
        assert mapping.title
        plan, told = planned(mapping, [*mapping.needs, "a model"])
        assert plan is not None, told
    assert mappings.named("alpaca_eval_outputs").title == "AlpacaEval outputs"
    with pytest.raises(ConfigError, match="no ready mapping of that name"):
        mappings.named("alpaca")


def alpaca(preference: Any, number: int) -> dict[str, Any]:
    return {
        "instruction": f"Do {number}",
        "output_1": "base",
        "generator_1": "gpt4",
        "output_2": f"answer {number}",
        "generator_2": "my-7b",
        "dataset": ("koala", "vicuna")[number % 2],
        "annotator": "weighted",
        "preference": preference,
        "raw_completion": {"text": "M", "logprobs": [float("nan")]},
        "glm_preference": 0.25,
    }


def test_alpaca_eval_annotations_give_its_win_rate(tmp_path: Path) -> None:
    preferences = [1.0, 2.0, 1.5, 0, 1.25, None]
    rows = [alpaca(p, n) for n, p in enumerate(preferences)]
    file = written(tmp_path, "annotations.json", json.dumps(rows))
    brought = bring(file, tmp_path)
    assert problems(brought) == []
    run = run_of(brought)
    assert (run.spec.model.name, run.spec.scenario) == ("my-7b", "alpaca_eval")
    assert run.spec.settings == {"generator_1": "gpt4"}
    scores = [s for s in brought.archive.scores(run.run_id) if s.metric == "win_rate"]
    assert [s.value for s in scores] == [0.0, 1.0, 0.5, 0.5, 0.25, None]
    assert {s.scorer for s in scores} == {"weighted"}
    (stat,) = [
        s
        for s in brought.archive.stats(run.run_id)
        if (s.metric, s.trial, s.sub_split) == ("win_rate", -1, "")
    ]
    assert stat.value == pytest.approx(0.45, abs=1e-12)
    assert (stat.n_scored, stat.n_asked) == (5, 6)
    first = next(iter(brought.archive.replies(run.run_id)))
    assert first.completion.text == "answer 0"
    assert first.completion.extra["output_1"] == "base"
    assert first.completion.extra["raw_completion"]["logprobs"] == ["NaN"]


def test_alpaca_eval_outputs_and_leaderboards(tmp_path: Path) -> None:
    outputs = [
        {"dataset": "koala", "instruction": "Do", "output": "done", "generator": "g"}
    ]
    brought = bring(
        written(tmp_path, "model_outputs.json", json.dumps(outputs)), tmp_path / "a"
    )
    run = run_of(brought)
    (instance,) = brought.archive.instances(run.run_id)
    assert instance.attributes == {"dataset": ("koala",)}
    board = (
        ",win_rate,standard_error,n_wins,n_wins_base,n_draws,n_total,mode,avg_length,"
        "length_controlled_winrate,lc_standard_error\n"
        "m,65.5,1.25,520,283,2,805,community,2016,57.25,\n"
    )
    brought = bring(written(tmp_path, "board.csv", board), tmp_path / "b")
    rows = {r.stat.metric: r for r in published(brought)}
    assert set(rows) == {"win_rate", "length_controlled_win_rate", "avg_length"}
    one = rows["win_rate"]
    assert (one.stat.value, one.stat.stderr, one.stat.n_scored) == (0.655, 0.0125, 805)
    assert one.settings == {"leaderboard": "board"}
    assert one.stat.details["n_draws"] == "2"
    assert rows["avg_length"].stat.value == 2016.0


@pytest.mark.parametrize(
    ("columns", "rows"),
    [
        (["model", "task", "metric", "value"], "results"),
        (["Model Name", "Benchmark", "Accuracy"], "results"),
        (["id", "model", "task", "score"], "results"),
        (["question_id", "model", "task", "correct"], "instances"),
        (["model", "dataset", "prompt", "response"], "instances"),
        (["model", "value"], ""),
        (["name", "task", "accuracy"], ""),
        (["model", "task", "value"], ""),
        (["model", "task", "colour"], ""),
    ],
)
def test_what_columns_say_by_themselves(columns: list[str], rows: str) -> None:
    mapping = guessed(columns)
    assert (mapping.rows if mapping else "") == rows


def test_groups_come_back_as_they_went_in_also_from_the_disk() -> None:
    rows = [(n % 7, Place("f", n), {"n": n, "text": "x" * n}) for n in range(300)]
    with Groups(most=1000) as groups:
        for group, place, row in rows:
            groups.add(group, place, row)
        assert list(groups) == list(range(7))
        for each in groups:
            found = [(Place(*place), row) for place, row in groups.rows(each)]
            assert found == [(p, r) for g, p, r in rows if g == each]


def checked(
    raw: bytes, name: str, folder: Path, mapping: mappings.Mapping | None
) -> None:
    file = folder / name
    file.write_bytes(raw)
    brought = bring(file, folder, mapping)
    assert accounted(brought, [file]) == set()
    for problem in problems(brought):
        assert name in problem
    if brought.report.made or brought.report.cells:
        assert brought.archive.check() == []


@given(data=st.data(), mapped=st.booleans())
@settings(max_examples=50, deadline=None, derandomize=True)
def test_rows_gone_wrong_end_in_a_message(
    data: st.DataObject, mapped: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    raw = "".join(json.dumps(row) + "\n" for row in ROWS).encode()
    mapping = mappings.parsed(MAPPING) if mapped else None
    folder = tmp_path_factory.mktemp("mutant")
    checked(data.draw(mutants(raw)), "x.jsonl", folder, mapping)


@given(data=st.data())
@settings(max_examples=50, deadline=None, derandomize=True)
def test_tables_gone_wrong_end_in_a_message(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    raw = data.draw(st.sampled_from([LONG, WIDE, GERMAN])).encode()
    how = data.draw(st.sampled_from(["cut", "noise", "encoding", "cell"]))
    if how == "cut":
        raw = raw[: data.draw(st.integers(0, len(raw)))]
    elif how == "noise":
        at = data.draw(st.integers(0, len(raw) - 1))
        raw = raw[:at] + data.draw(st.binary(min_size=1, max_size=4)) + raw[at + 1 :]
    elif how == "encoding":
        name = data.draw(st.sampled_from(["utf-16", "utf-32", "latin-1", "utf-16-le"]))
        raw = raw.decode().encode(name, "replace")
    else:
        odd = data.draw(
            st.sampled_from([o for o in ODD if isinstance(o, (str, float))])
        )
        raw = raw.replace(b"0", str(odd).encode("utf-8", "surrogatepass"), 1)
    folder = tmp_path_factory.mktemp("mutant")
    checked(raw, "x.csv", folder, None)


def test_rows_larger_than_the_head_of_a_file(tmp_path: Path) -> None:
    rows = [{"model": "m", "task": "t", "prompt": "x" * 200_000, "response": "y"}] * 2
    for form, text in (
        ("jsonl", "\n".join(json.dumps(row) for row in rows)),
        ("json", json.dumps(rows, indent=1)),
    ):
        file = written(tmp_path, f"x.{form}", text)
        run = run_of(bring(file, tmp_path / form))
        assert run.counts.asked == 2


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("x.json", '{"model": "m", "task": "t", "accuracy": 0.5}'),
        ("x.json", '{"model": "m",\n "task": "t"}'),
        ("x.md", "model,task,accuracy\na,t,1\n"),
        ("x.csv", "one column\n1\n"),
        ("x.bin", "\x00\x01\x02"),
        ("x.json", "[1, 2]"),
        ("x.json", "[]"),
        ("x.log", "[info] model, task\n"),
    ],
)
def test_what_is_no_table_is_left_to_others(
    name: str, text: str, tmp_path: Path
) -> None:
    brought = bring(written(tmp_path, name, text), tmp_path)
    assert brought.report.notes.skipped == {name: "no importer recognises it"}


def test_a_workbook_is_told_how_to_come_in(tmp_path: Path) -> None:
    file = tmp_path / "x.xlsx"
    file.write_bytes(b"PK\x03\x04rest")
    reason = bring(file, tmp_path).report.notes.skipped["x.xlsx"]
    assert reason == "a workbook: save its sheet as CSV"


def test_a_list_that_ends_in_the_middle_is_told(tmp_path: Path) -> None:
    text = json.dumps([{"model": "m", "task": "t", "accuracy": 1}] * 3)[:-5]
    file = written(tmp_path, "x.json", text)
    assert "it ends in the middle" in problems(bring(file, tmp_path))[0]


@pytest.mark.parametrize("kind", ["rows", "alpaca", "long"])
def test_everything_that_a_row_says_is_in_the_archive(
    kind: str, tmp_path: Path
) -> None:
    mapping = mappings.parsed(MAPPING) if kind == "rows" else None
    rows = {
        "rows": ROWS,
        "alpaca": [alpaca(1.5, n) for n in range(3)],
        "long": [
            {
                "model": "m",
                "task": "t",
                "doc_id": n,
                "metric": m,
                "score": n / 4,
                "why": {"x": [m, n]},
            }
            for n in range(2)
            for m in ("acc", "f1")
        ],
    }[kind]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    brought = bring(written(tmp_path, "x.jsonl", text), tmp_path, mapping)
    assert problems(brought) == []
    archive = brought.archive
    kept = {
        leaf
        for run in brought.runs
        for part in (
            [run],
            archive.instances(run.run_id),
            archive.replies(run.run_id),
            archive.scores(run.run_id),
        )
        for record in part
        for leaf in leaves(record)
    }
    lost = {leaf for row in rows for leaf in leaves(row)} - kept
    assert lost - ({1.5} if kind == "alpaca" else set()) == set()  # 1.5 became 0.5


def test_a_million_problems_are_told_as_a_number(tmp_path: Path) -> None:
    for form, text in (
        ("results", "model,task,metric,score\n" + "m,t,acc,x\n" * 250),
        ("instances", "model,task,prompt,correct\n" + "m,t,p,x\n" * 250),
    ):
        brought = bring(written(tmp_path, f"{form}.csv", text), tmp_path / form)
        told = problems(brought)
        assert len(told) == 101
        assert told[-1] == f"{form}.csv: 150 more rows or values cannot be taken."


@pytest.mark.parametrize(
    ("name", "family", "higher"),
    [
        ("Accuracy", "accuracy", True),
        ("acc_norm", "accuracy", True),
        ("extractive_match", "accuracy", True),
        ("maj@8", "accuracy", True),
        ("gpqa_pass@k:k=1", "accuracy", True),
        ("pqem", "accuracy", True),
        ("rougeL", "accuracy", True),
        ("humaneval_pass@1", "accuracy", True),
        ("naive_average", "accuracy", True),
        ("word_perplexity", "accuracy", False),
        ("eval_loss", "accuracy", False),
        ("ECE", "calibration", False),
        ("toxicity_score", "toxicity", False),
        ("latency_ms", "efficiency", False),
        ("avg_length", "general_information", None),
        ("acc_stderr", "general_information", None),
        ("n_total", "general_information", None),
        ("_" * 100_000, "general_information", None),
    ],
)
def test_what_a_metrics_name_tells(name: str, family: str, higher: bool | None) -> None:
    fact = metrics.facts(name, None, [0.5])
    assert (fact.family, fact.higher_is_better) == (family, higher)


def test_the_manual_explains_every_field_and_its_examples_hold() -> None:
    text = Path(__file__).parents[1].joinpath("docs/importing.md").read_text()
    section = text.partition("\n## Tables\n")[2].partition("\n## ")[0]
    assert section
    for field in mappings.FIELDS:
        assert f"`{field}`" in section, field
    for setting in mappings.Mapping.__struct_fields__:
        if setting not in {"columns", "needs", "title", "delimiter", "encoding"}:
            assert setting in section, setting
    example = section.partition("```yaml\n")[2].partition("```")[0]
    mapping = mappings.parsed(yaml.safe_load(example))
    assert mapping.metrics["accuracy"].percent
    plan, told = planned(mapping, [*mapping.columns.values(), *mapping.settings, "row"])
    assert plan is not None, told
    assert plan.rows == "results"


def test_files_of_one_name_are_told_apart_by_what_they_are_about(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "in"
    for model in ("a", "b"):
        (folder / model).mkdir(parents=True)
        rows = [alpaca(1.5, n) | {"generator_2": model} for n in range(2)]
        written(folder / model, "annotations.json", json.dumps(rows))
    brought = bring(folder, tmp_path)
    assert sorted(run.origin for run in brought.runs) == [
        "table:annotations.json:alpaca_eval/a",
        "table:annotations.json:alpaca_eval/b",
    ]
    assert not any(run.warnings for run in brought.runs)
    rows = [alpaca(1.0, n) | {"generator_2": "a"} for n in range(2)]
    file = written(folder / "a", "annotations.json", json.dumps(rows))
    os.utime(file, (2e9, 2e9))
    again = bring(folder, tmp_path)
    assert [made.fate for made in again.report.made] == ["replaced"]
    assert len(again.runs) == 2


def test_a_table_without_rows_is_told_as_such(tmp_path: Path) -> None:
    file = written(tmp_path, "x.csv", "model,task,accuracy\n\n")
    brought = bring(file, tmp_path)
    assert brought.report.notes.skipped == {"x.csv": "a table without rows"}
    table = pa.table(
        {name: pa.array([], pa.string()) for name in ("model", "task", "acc")}
    )
    pq.write_table(table, tmp_path / "x.parquet")
    brought = bring(tmp_path / "x.parquet", tmp_path)
    assert brought.report.notes.skipped == {"x.parquet": "a table without rows"}


def test_a_ready_mapping_that_is_named_must_fit(tmp_path: Path) -> None:
    file = written(tmp_path, "x.csv", "generator,output,accuracy\na,b,1\n")
    brought = bring(file, tmp_path, mappings.named("alpaca_eval_outputs"))
    assert "there is no column 'instruction'" in brought.report.notes.skipped["x.csv"]
