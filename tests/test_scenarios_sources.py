"""Files become rows, all of them or none; every message names the file and the row."""

import csv
import hashlib
import io
import json
import os
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helmsite.config import load_project
from helmsite.errors import ScenarioError
from helmsite.scenarios import load
from helmsite.scenarios.definition import Source
from helmsite.scenarios.sources import read_rows

BOM = "\ufeff"
HOSTILE = st.text(
    st.characters(blacklist_categories=["Cs"]) | st.sampled_from('",\n\r\t\0\u2028{}')
)
CELL = HOSTILE.filter(lambda text: not text.startswith(BOM))
SCALARS = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | HOSTILE
VALUES = SCALARS | st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    VALUES, lambda v: st.lists(v, max_size=3) | st.dictionaries(HOSTILE, v, max_size=3)
)
ROWS = st.lists(st.dictionaries(HOSTILE, JSON, max_size=4), min_size=1, max_size=5)
TABLES = st.integers(1, 4).flatmap(
    lambda width: st.lists(
        st.lists(CELL, min_size=width, max_size=width), min_size=1, max_size=5
    )
)
Q = '"'


def fields(path: Path, **source: Any) -> list[dict[str, Any]]:
    return [row.fields for row in read_rows(path, Source(**source)).rows]


def places(path: Path) -> list[str]:
    rows = read_rows(path, Source()).rows
    return [row.place.removeprefix(f"{path}, ") for row in rows]


def write(path: Path, data: bytes | str) -> Path:
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


def fails(path: Path, **source: Any) -> str:
    with pytest.raises(ScenarioError) as caught:
        read_rows(path, Source(**source))
    error = caught.value
    assert error.hint
    assert str(path) in error.message
    return error.message.replace(f"{path.parent}/", "")


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("sources")


@settings(max_examples=150, deadline=None)
@given(rows=TABLES, bom=st.booleans(), ending=st.sampled_from(["\n", "\r\n"]))
def test_csv_comes_back_as_written(
    folder: Path, rows: list[list[str]], bom: bool, ending: str
) -> None:
    columns = [f"c{n}" for n in range(len(rows[0]))]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator=ending, quoting=csv.QUOTE_ALL)
    writer.writerows([columns, *rows])
    path = write(folder / "t.csv", (BOM if bom else "") + text.getvalue())
    expected = [dict(zip(columns, row, strict=True)) for row in rows]
    assert fields(path) == expected


@settings(max_examples=100, deadline=None)
@given(rows=ROWS, bom=st.booleans(), ending=st.sampled_from(["\n", "\r\n", "\n\n"]))
def test_jsonl_comes_back_as_written(
    folder: Path, rows: list[dict[str, Any]], bom: bool, ending: str
) -> None:
    lines = [json.dumps(row, ensure_ascii=False) for row in rows]
    path = write(folder / "t.jsonl", (BOM if bom else "") + ending.join(lines) + ending)
    assert fields(path) == rows


@settings(max_examples=50, deadline=None)
@given(rows=ROWS)
def test_json_arrays_come_back_wherever_they_stand(
    folder: Path, rows: list[dict[str, Any]]
) -> None:
    assert fields(write(folder / "t.json", json.dumps(rows))) == rows
    inside = write(folder / "i.json", json.dumps({"data": {"items": rows}}))
    assert fields(inside, records="data.items") == rows


@settings(max_examples=200, deadline=None)
@given(data=st.binary(max_size=60))
def test_any_bytes_are_rows_or_a_clear_error(folder: Path, data: bytes) -> None:
    for name in ("b.csv", "b.tsv", "b.json", "b.jsonl", "b.parquet"):
        path = write(folder / name, data)
        message = ""
        try:
            rows = len(read_rows(path, Source()).rows)
        except ScenarioError as error:
            rows, message = 0, str(error)
        assert rows or (str(path) in message and "→" in message)


def test_parquet_values_become_plain(tmp_path: Path) -> None:
    table = pa.table(
        {
            "text": ["ä", None],
            "number": [1.5, float("nan")],
            "list": [["a", "b"], []],
            "struct": [{"x": 1}, {"x": None}],
            "day": [date(2024, 1, 31), None],
            "moment": [datetime(2024, 1, 31, 12, 30), None],  # noqa: DTZ001
            "price": [Decimal("1.10"), None],
            "yes": [True, False],
        }
    )
    pq.write_table(table, tmp_path / "t.parquet")
    first, second = fields(tmp_path / "t.parquet")
    assert first == {
        "text": "ä",
        "number": 1.5,
        "list": ["a", "b"],
        "struct": {"x": 1},
        "day": "2024-01-31",
        "moment": "2024-01-31T12:30:00",
        "price": "1.10",
        "yes": True,
    }
    assert second["number"] is None
    assert second["text"] is None


def test_parquet_bytes_are_refused_by_column(tmp_path: Path) -> None:
    pq.write_table(pa.table({"image": [b"\x00"]}), tmp_path / "t.parquet")
    assert "row 1: image: values of type bytes" in fails(tmp_path / "t.parquet")


def test_tsv_reads_tabs_and_quotes(tmp_path: Path) -> None:
    path = write(tmp_path / "t.tsv", f'a\tb\n{Q}x\ty{Q}\tz,"w"\n')
    assert fields(path) == [{"a": "x\ty", "b": 'z,"w"'}]


def test_quotes_can_mean_nothing(tmp_path: Path) -> None:
    path = write(tmp_path / "t.tsv", 'a\tb\n"x\ty\n')
    assert "not valid CSV" in fails(path)
    assert fields(path, quotes=False) == [{"a": '"x', "b": "y"}]


def test_columns_and_delimiter_can_be_given(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "1;2\n3;4\n")
    rows = fields(path, columns=("a", "b"), delimiter=";")
    assert rows == [{"a": "1", "b": "2"}, {"a": "3", "b": "4"}]


def test_a_long_value_is_read(tmp_path: Path) -> None:
    before = csv.field_size_limit()
    path = write(tmp_path / "t.csv", f"a\n{'x' * 300_000}\n")
    assert len(fields(path)[0]["a"]) == 300_000
    assert csv.field_size_limit() == before


def test_places_count_rows_and_lines(tmp_path: Path) -> None:
    text = f"a,b\n{Q}1\n2{Q},3\n\n4,5\n"
    assert places(write(tmp_path / "t.csv", text)) == [
        "row 1 (line 2)",
        "row 2 (line 5)",
    ]
    assert places(write(tmp_path / "t.jsonl", "{}\n\n{}\n")) == ["line 1", "line 3"]
    assert places(write(tmp_path / "t.json", "[{}, {}]")) == ["row 1", "row 2"]


def test_suffix_of_a_strange_name_needs_a_format(tmp_path: Path) -> None:
    path = write(tmp_path / "t.dat", "a\n1\n")
    assert "does not tell its format" in fails(path)
    assert fields(path, format="csv") == [{"a": "1"}]


def test_the_hash_is_that_of_the_bytes(tmp_path: Path) -> None:
    found = read_rows(write(tmp_path / "t.csv", "a\n1\n"), Source())
    assert found.sha256 == hashlib.sha256(b"a\n1\n").hexdigest()


BROKEN = {
    "a.csv": (b"", "a.csv: the file is empty"),
    "blank.csv": (b"\xef\xbb\xbf \n\n", "blank.csv: the file is empty"),
    "head.csv": (b"a,b\n", "head.csv: there are no rows"),
    "ragged.csv": (b"a,b\n1,2\n3\n", "ragged.csv, row 2 (line 3): 1 values for 2 col"),
    "wide.csv": (b"a,b\n1,2,3\n", "wide.csv, row 1 (line 2): 3 values for 2 columns"),
    "twice.csv": (b"a,a\n1,2\n", "twice.csv: two columns are called 'a'"),
    "noname.csv": (b"a,\n1,2\n", "noname.csv: a column of the header has no name"),
    "open.csv": (b'a\n1\n"2\n', "open.csv, line 3: not valid CSV: unexpected end"),
    "latin.csv": (
        b"a\ncaf\xe9\n",
        "latin.csv: not UTF-8: the byte 0xe9 at offset 5 (line 2)",
    ),
    "utf16.csv": ("a\n1\n".encode("utf-16"), "utf16.csv: not UTF-8: the byte 0xff at"),
    "bom.csv": (
        b"\xef\xbb\xbfa\n\xff\n",
        "bom.csv: not UTF-8: the byte 0xff at offset 5",
    ),
    "a.jsonl": (b'{"a": 1}\n{"a": \n', "a.jsonl, line 2: malformed JSON"),
    "nan.jsonl": (b'{"a": NaN}\n', "nan.jsonl, line 1: malformed JSON"),
    "list.jsonl": (
        b"{}\n[1]\n",
        "list.jsonl, line 2: not an object with fields, but list",
    ),
    "bytes.jsonl": (b'{"a": "\xff"}\n', "bytes.jsonl: not UTF-8"),
    "half.jsonl": (b'{"a": "\\ud800"}\n', "half.jsonl, line 1: malformed JSON"),
    "deep.json": (b"[" * 100_000, "deep.json: malformed JSON"),
    "cut.json": (b'[{"a": 1}, ', "cut.json: malformed JSON"),
    "none.json": (b"[]", "none.json: there are no rows"),
    "object.json": (b'{"data": [], "n": 1}', "object.json: the file is not an array"),
    "item.json": (
        b'[{"a": 1}, 2]',
        "item.json, row 2: not an object with fields, but int",
    ),
    "a.parquet": (b"PAR1 and then nothing", "a.parquet: not a readable Parquet file"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_is_named(name: str, tmp_path: Path) -> None:
    data, message = BROKEN[name]
    assert message in fails(write(tmp_path / name, data))


def test_a_truncated_parquet_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": list(range(1000))}), path)
    whole = path.read_bytes()
    for size in (len(whole) - 1, len(whole) // 2, 10):
        write(path, whole[:size])
        assert "t.parquet: not a readable Parquet file" in fails(path)


def test_a_missing_file_suggests_its_neighbour(tmp_path: Path) -> None:
    write(tmp_path / "capitals.csv", "a\n1\n")
    message = fails(tmp_path / "capital.csv")
    assert message == "capital.csv: there is no such file. Did you mean 'capitals.csv'?"
    with pytest.raises(ScenarioError, match="there is no such file"):
        read_rows(tmp_path / "nowhere" / "a.csv", Source())


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "t.csv").mkdir()
    assert "t.csv: cannot be read" in fails(tmp_path / "t.csv")


def test_a_wrong_path_to_the_records_is_explained(tmp_path: Path) -> None:
    path = write(tmp_path / "t.json", '{"data": {"items": [{}]}}')
    assert "Did you mean 'items'" in fails(path, records="data.itms")
    assert "data is not an array of rows" in fails(path, records="data")
    assert "there is no 'x' of records" in fails(path, records="data.items.x")


# Where data may be

SCENARIO = """\
name: quiz
title: Quiz
source: {{path: {path}, format: csv}}
split: test
main_split: test
input: "{{{{ q }}}}"
references: {{correct: ["{{{{ a }}}}"]}}
adapter: {{method: generation, max_train_instances: 0}}
metrics: [exact_match]
"""


def quiz(tmp_path: Path, path: str) -> Path:
    """A project whose scenario is in a folder of the folder of scenarios."""
    write(tmp_path / "secret.csv", "q,a\nhidden,1\n")
    for folder in ("scenarios/mine", "data", "elsewhere"):
        (tmp_path / "project" / folder).mkdir(parents=True)
        write(tmp_path / "project" / folder / "rows.csv", f"q,a\n{folder},1\n")
    write(tmp_path / "project/.env", "q,a\nhidden,1\n")
    search = tmp_path / "project/scenarios"
    write(search / "mine/quiz.yaml", SCENARIO.format(path=json.dumps(path)))
    return search


@pytest.mark.parametrize(
    ("path", "read"),
    [
        ("rows.csv", "scenarios/mine"),
        ("../mine/rows.csv", "scenarios/mine"),
        ("../../data/rows.csv", "data"),
    ],
)
def test_a_scenario_reads_its_folder_and_the_data_beside(
    tmp_path: Path, path: str, read: str
) -> None:
    assert load("quiz", [quiz(tmp_path, path)]).instances[0].input == read


@pytest.mark.parametrize(
    "path",
    [
        "/etc/passwd",
        "/dev/zero",
        "../../../secret.csv",
        "../../.env",
        "../../elsewhere/rows.csv",
        "../../../nothing-there.csv",
        "link.csv",
        "folder/secret.csv",
        "/proc/self/environ",
    ],
)
def test_a_scenario_reads_nothing_else(tmp_path: Path, path: str) -> None:
    search = quiz(tmp_path, path)
    (search / "mine/link.csv").symlink_to(tmp_path / "secret.csv")
    (search / "mine/folder").symlink_to(tmp_path)
    with pytest.raises(ScenarioError, match="outside the folders") as caught:
        load("quiz", [search])
    assert "[scenarios] data" in caught.value.hint


def test_the_project_allows_more_folders(tmp_path: Path) -> None:
    search = quiz(tmp_path, "../../elsewhere/rows.csv")
    write(tmp_path / "project/helmsite.toml", '[scenarios]\ndata = ["elsewhere"]\n')
    roots = load_project(tmp_path / "project").data_folders
    assert roots == (tmp_path / "project" / "data", tmp_path / "project/elsewhere")
    assert load("quiz", [search], roots).instances[0].input == "elsewhere"


def test_links_to_folders_of_scenarios_are_fine(tmp_path: Path) -> None:
    search = quiz(tmp_path, "rows.csv")
    link = tmp_path / "linked"
    link.symlink_to(search)
    assert load("quiz", [link]).instances[0].input == "scenarios/mine"


def test_a_pipe_is_no_data(tmp_path: Path) -> None:
    search = quiz(tmp_path, "pipe")
    os.mkfifo(search / "mine/pipe")
    with pytest.raises(ScenarioError, match="a device or a pipe"):
        load("quiz", [search])


@pytest.mark.parametrize("path", ["a\0b.csv", "a" * 300 + ".csv"])
def test_a_name_that_no_file_can_have(tmp_path: Path, path: str) -> None:
    with pytest.raises(ScenarioError, match="cannot be read"):
        load("quiz", [quiz(tmp_path, path)])
