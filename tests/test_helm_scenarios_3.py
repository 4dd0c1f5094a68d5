"""Scenarios of language, reasoning, code and tables: what they make of small files.

What HELM's own classes make of the same files is frozen in frozen/scenarios_3.json; the
rest is data that is not as it should be.
"""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from helmsite import scenarios
from helmsite.errors import HelmsiteError
from helmsite.fetching import Fetcher
from helmsite.scenarios.loaders.code import tabbed
from helmsite.scenarios.loaders.math import boxed
from tests.made_scenarios_3 import ENTRIES, write

if TYPE_CHECKING:
    from collections.abc import Callable

    from helmsite.schema import LoadedScenario

FROZEN = json.loads(
    Path(__file__).with_name("frozen").joinpath("scenarios_3.json").read_text("utf-8")
)
OFFLINE = Fetcher(offline=True)
OF_MODELS = {"model", "model_deployment"}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("made"))


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A copy of the made-up data that a test may damage."""
    return write(tmp_path / "data")


def load(entry: str, data: Path) -> LoadedScenario:
    return scenarios.load(entry, [], [data], OFFLINE)


def rows(loaded: LoadedScenario) -> list[Any]:
    return [
        [
            *(each.instance_id, each.split, each.sub_split or None, each.input),
            [[r.text, list(r.tags)] for r in each.references],
        ]
        for each in loaded.instances
    ]


@pytest.mark.parametrize("entry", ENTRIES)
def test_instances_are_helms(entry: str, made: Path) -> None:
    assert rows(load(entry, made)) == FROZEN[entry]["instances"]


@pytest.mark.parametrize("entry", ENTRIES)
def test_adapters_and_groups_are_helms(entry: str, made: Path) -> None:
    loaded = load(entry, made)
    ours = json.loads(msgspec.json.encode(loaded.adapter))
    said = {k: v for k, v in FROZEN[entry]["adapter"].items() if k not in OF_MODELS}
    helms = {k: v for k, v in said.items() if v is not None}
    assert {k: ours.get(k) for k in helms} == helms
    assert [k for k in said.keys() - helms.keys() if ours.get(k) is not None] == []
    assert list(loaded.facts.groups) == FROZEN[entry]["groups"]


def damaged(own: Path, name: str, change: Callable[[str], str]) -> None:
    """Change the text of a file, packed or not."""
    path = own / name
    data = path.read_bytes()
    if name.endswith(".gz"):
        path.write_bytes(gzip.compress(change(gzip.decompress(data).decode()).encode()))
    elif name.endswith(".zst"):
        text = pa.input_stream(str(path), compression="zstd").read().decode()
        path.write_bytes(pa.compress(change(text).encode(), "zstd", asbytes=True))
    else:
        path.write_bytes(change(data.decode()).encode())


STORY = "babi_qa/tasks_1-20_v1-2/en-valid/qa19_valid.txt"
PAIRS = "blimp/data/ellipsis_n_bar_2.jsonl"
PILE = "the_pile/test.jsonl.zst"
LIST = "the_pile/test_subsample_indices/gutenberg/group0.json"
FIRST = "math/MATH/test/algebra/1.json"
HUMANEVAL = "code/HumanEval.jsonl.gz"
BEER = "entity_matching/Beer"
BUY = "entity_data_imputation/Buy/Buy.csv"
ARFF = "entity_data_imputation/Restaurant/fz.arff"
STATE = "entity_matching/entity_matching_scenario_fixed_random_state.json"
UBUNTU = "the_pile:subset=Ubuntu IRC"
GUTENBERG = "the_pile:subset=Gutenberg (PG-19)"
ELLIPSIS = "blimp:phenomenon=ellipsis"
ALGEBRA = "math:subject=algebra,level=5"
COT = "math:subject=algebra,level=5,use_chain_of_thought=True"


@pytest.mark.parametrize(
    ("entry", "name", "change", "message"),
    [
        (
            "wikitext_103",
            "wikitext_103/wiki.test.raw",
            lambda t: t.replace("= Article 8 =", "= = Article 8 = ="),
            "test: 59 articles, but the test set has 60",
        ),
        (
            "babi_qa:task=19",
            STORY,
            lambda t: t.replace("2 John", "John"),
            "qa19_valid.txt, line 2: does not begin with a number",
        ),
        (
            "babi_qa:task=19",
            STORY,
            lambda t: t.replace("now? \t n,e\t1 4", "now?"),
            "qa19_valid.txt, line 5: a question without an answer",
        ),
        (
            "babi_qa:task=19",
            STORY,
            lambda t: t.replace("\ts,w\t", "\t \t"),
            "qa19_valid.txt, line 3: a question without an answer",
        ),
        (
            "babi_qa:task=19",
            STORY,
            lambda t: t.replace("n,e", "n,x"),
            "qa19_valid.txt, line 5: 'x' in the answer is no direction",
        ),
        (
            ELLIPSIS,
            PAIRS,
            lambda t: t.replace("sentence_bad", "sentence_worse", 1),
            "ellipsis_n_bar_2.jsonl, line 1: there is no field 'sentence_bad'",
        ),
        (
            ELLIPSIS,
            PAIRS,
            lambda t: t.replace("Eats 1.", " "),
            "ellipsis_n_bar_2.jsonl, line 2: sentence_bad is empty",
        ),
        (
            UBUNTU,
            PILE,
            lambda t: t.replace('"meta"', '"mata"', 1),
            "test.jsonl.zst, line 1: not a document of the Pile",
        ),
        (
            UBUNTU,
            PILE,
            lambda t: t.replace("Ubuntu IRC", "Ubuntu"),
            "none is of the subset 'Ubuntu IRC'",
        ),
        (
            GUTENBERG,
            LIST,
            lambda t: t.replace("6", "7"),
            "document 7 of Gutenberg (PG-19) is asked for, but there are 7",
        ),
        (GUTENBERG, LIST, lambda t: '["6"]', "indices: not a list of numbers"),
        (GUTENBERG, LIST, lambda t: "[]", "indices: no numbers of documents"),
        (ALGEBRA, FIRST, lambda t: t[:-9], "1.json: malformed JSON"),
        (
            ALGEBRA,
            FIRST,
            lambda t: t.replace('"level"', '"stufe"'),
            "1.json: there is no field 'level'",
        ),
        (
            "code:dataset=humaneval",
            HUMANEVAL,
            lambda t: t.replace("HumanEval/2", "HumanEval/0"),
            "line 3: the task 'HumanEval/0' is there already: ",
        ),
        (
            "code:dataset=humaneval",
            HUMANEVAL,
            lambda t: t.replace("entry_point", "entry"),
            "line 1: there is no field 'entry_point'",
        ),
        (
            "code:dataset=apps",
            "code/APPS/train/0001/solutions.json",
            lambda t: '{"a": 1}',
            "train/0001/solutions.json: Expected `array`",
        ),
        (
            "code:dataset=apps",
            "code/APPS/test/0003/input_output.json",
            lambda t: t[:-1],
            "test/0003/input_output.json: Input data was truncated",
        ),
        (
            "code:dataset=apps",
            "code/APPS/code_scenario_apps_pinned_file_order.json",
            lambda t: "[1]",
            "order: does not list problems by split",
        ),
        (
            "entity_matching:dataset=Beer",
            f"{BEER}/test.csv",
            lambda t: t.replace(",1\n", ",yes\n"),
            "test.csv, row 1: the label 'yes' is neither 0 nor 1",
        ),
        (
            "entity_matching:dataset=Beer",
            f"{BEER}/valid.csv",
            lambda t: t.replace("ltable_id", "left"),
            "valid.csv: there is no column 'ltable_id'",
        ),
        (
            "entity_matching:dataset=Beer",
            f"{BEER}/tableB.csv",
            lambda t: t.replace("\r\n8,", "\r\n7,"),
            "tableB.csv, row 9: the id 7 is there already: tables/tableB.csv, row 8",
        ),
        (
            "entity_matching:dataset=Beer",
            f"{BEER}/tableB.csv",
            lambda t: t.replace("\r\n8,", "\r\n8,8,"),
            "tableB.csv: not valid CSV",
        ),
        (
            "entity_matching:dataset=Beer",
            f"{BEER}/train.csv",
            lambda t: t.replace(",0\n", ",1\n"),
            "train.csv: 0 pairs differ",
        ),
        (
            "entity_matching:dataset=Beer",
            STATE,
            lambda t: t.replace("MT19937", "PCG64"),
            "state: does not hold numpy's random states",
        ),
        (
            "entity_data_imputation:dataset=Buy",
            BUY,
            lambda t: t.replace("manufacturer", "maker"),
            "Buy.csv: there is no column 'manufacturer'",
        ),
        (
            "entity_data_imputation:dataset=Restaurant",
            ARFF,
            lambda t: t.replace('"city 3"', '" "'),
            "fz.arff, row 4: city is empty",
        ),
        (
            "entity_data_imputation:dataset=Restaurant",
            ARFF,
            lambda t: t.replace("@data", ""),
            "fz.arff: has no @attribute and @data",
        ),
    ],
)
def test_bad_data_is_named(
    entry: str, name: str, change: Callable[[str], str], message: str, own: Path
) -> None:
    damaged(own, name, change)
    with pytest.raises(HelmsiteError) as error:
        load(entry, own)
    assert message in error.value.message


@pytest.mark.parametrize(
    ("entry", "name"),
    [
        ("babi_qa:task=3", "babi_qa/tasks_1-20_v1-2/en-valid/qa3_valid.txt"),
        (ELLIPSIS, PAIRS),
        ("entity_matching:dataset=Beer", f"{BEER}/tableA.csv"),
        ("entity_data_imputation:dataset=Restaurant", ARFF),
    ],
)
def test_a_missing_file_is_named(entry: str, name: str, own: Path) -> None:
    path = own / name
    path.rename(path.with_name("notes.txt"))
    with pytest.raises(HelmsiteError) as error:
        load(entry, own)
    assert path.name in error.value.message


@pytest.mark.parametrize(
    "change",
    [
        lambda t: t.replace("boxed", "box"),
        lambda t: re.sub(r"boxed\{[^{}]*\}", "boxed{ }", t),
    ],
)
def test_a_solution_without_an_answer_in_a_box_is_counted(
    change: Callable[[str], str], own: Path
) -> None:
    before = load(ALGEBRA, own)
    damaged(own, FIRST, change)
    after = load(ALGEBRA, own)
    assert len(after.instances) == len(before.instances) - 1
    assert after.skipped == {"no \\boxed{...} ends the solution": 1}
    assert len(load(COT, own).instances) == len(before.instances)


def test_problems_may_come_as_the_hubs_parquet(own: Path) -> None:
    before = load(ALGEBRA, own)
    for folder in [*(own / "math/MATH").glob("*/*")]:
        files = sorted(folder.iterdir())
        table = pa.Table.from_pylist([json.loads(f.read_text("utf-8")) for f in files])
        pq.write_table(table, folder / "0000.parquet")
        for file in files:
            file.unlink()
    after = load(ALGEBRA, own)
    assert rows(after) == rows(before)
    assert after.data.sha256 != before.data.sha256


def test_a_chain_of_thought_has_no_official_examples(made: Path) -> None:
    with pytest.raises(HelmsiteError, match="no chain of thought"):
        load(f"{COT},use_official_examples=True", made)


def test_pairs_and_problems_that_are_left_out_are_counted(made: Path) -> None:
    assert load("entity_matching:dataset=Beer", made).skipped == {
        "an id of the pair is in no table (test.csv)": 1,
        "an id of the pair is in no table (train.csv)": 8,
        "an id of the pair is in no table (valid.csv)": 1,
    }
    assert load("code:dataset=apps", made).skipped == {
        "no question.txt or no input_output.json (test)": 2,
        "no question.txt or no solutions.json (train)": 1,
        "not in HELM's order of the problems (train)": 2,
    }


def test_what_stands_in_for_a_pin_is_said(own: Path) -> None:
    pinned = load("entity_matching:dataset=Beer", own)
    (own / STATE).unlink()
    drawn = load("entity_matching:dataset=Beer", own)
    assert drawn.notes == (
        "HELM's random state could not be had: train pairs are drawn with seed 0.",
    )
    assert pinned.notes == ()
    assert drawn.data.sha256 != pinned.data.sha256
    assert rows(drawn) != rows(pinned)
    (own / "code/APPS/code_scenario_apps_pinned_file_order.json").unlink()
    by_name = load("code:dataset=apps", own)
    assert by_name.notes == (
        "HELM's order of the problems could not be had: they come by name.",
    )
    assert len(by_name.instances) == 7


def test_programs_come_with_what_tests_them(made: Path) -> None:
    (first, *_) = load("code:dataset=humaneval", made).instances
    assert first.extra == {
        "test": "def check(f):\n    assert f(1) == 1\n",
        "entry_point": "f0",
    }
    problems = load("code:dataset=apps,timeout=7", made).instances
    tested = [each for each in problems if each.split == "test"]
    for each in tested:
        assert each.extra["timeout"] == 7
        assert len(json.loads(each.extra["input_output"])["inputs"][0]) == 5002
    assert all(not each.extra for each in problems if each.split == "train")
    assert tested


def test_programs_are_judged_by_their_datasets_metrics(made: Path) -> None:
    humaneval, apps = (load(f"code:dataset={n}", made) for n in ("humaneval", "apps"))
    assert (humaneval.metrics, humaneval.facts.main_metric) == (
        ("code_eval_acc", "pass"),
        "pass",
    )
    assert (apps.metrics, apps.facts.main_metric) == (
        ("test_avg", "strict_acc"),
        "test_avg",
    )


def test_an_empty_file_of_a_problem_is_a_text(own: Path) -> None:
    (own / "code/APPS/test/0003/starter_code.py").write_text("")
    texts = [each.input for each in load("code:dataset=apps", own).instances]
    assert any("Question 3\nof\nmany\n\n\n\nUse Call-Based" in text for text in texts)


def test_results_can_be_split_by_paradigm_and_task(made: Path) -> None:
    found = {i.attributes["paradigm"] for i in load(ELLIPSIS, made).instances}
    assert found == {("ellipsis_n_bar_1",), ("ellipsis_n_bar_2",)}
    tasks = [i.attributes["task"] for i in load("babi_qa:task=all", made).instances]
    assert list(dict.fromkeys(tasks)) == [(str(n),) for n in range(1, 21)]


def test_a_large_document_is_read_whole(own: Path) -> None:
    text = "Ein längerer Text. " * 600_000
    damaged(own, PILE, lambda t: t.replace("one line", text))
    longest = max(len(each.input) for each in load(UBUNTU, own).instances)
    assert longest == len(text) + len("Ubuntu IRC")


def test_texts_that_are_not_utf8_are_named(own: Path) -> None:
    path = own / BUY
    path.write_bytes(path.read_bytes().replace(b"Thing", b"Th\xefng"))
    with pytest.raises(HelmsiteError, match=r"Buy.csv: not UTF-8: the byte 0xef"):
        load("entity_data_imputation:dataset=Buy", own)


@pytest.mark.parametrize(
    ("solution", "answer"),
    [
        (r"It is $\boxed{\frac{1}{2}}$.", r"\frac{1}{2}"),
        (r"\boxed{1} and \boxed{2}", "2"),
        (r"\boxed{}", ""),
        (r"\boxed{{a}", None),
        (r"\boxed 5", None),
        (r"\fbox{5}", None),
        (r"\boxed{1} then \boxed", None),
        ("5", None),
    ],
)
def test_the_last_box_is_the_answer(solution: str, answer: str | None) -> None:
    assert boxed(solution) == answer


@pytest.mark.parametrize(
    ("code", "made"),
    [
        ("", ""),
        ("a", "a\n"),
        ("if a:\n    b\n        c", "if a:\n\tb\n\t\tc\n"),
        ("if a:\n  b\n     c\n", "if a:\n\tb\n\t\t c\n"),
        ("\n   \n \tx\n    y\n", "\n   \n \tx\n\t\ty\n"),
        ("def f():\n\tx\n\t\ty\r\n\n", "def f():\n\tx\n\t\ty\n\n"),
        ("\x0c\n  a\u2028b\n", "\x0c\n\ta\u2028b\n"),
    ],
)
def test_code_is_indented_by_tabs(code: str, made: str) -> None:
    assert tabbed(code) == made
