"""docs/archive.md is true: its columns are the schemas', its examples run."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pytest

from helmsite.archive import Archive, tables
from tests.archive_cases import small

if TYPE_CHECKING:
    import pyarrow as pa

TEXT = (Path(__file__).parents[1] / "docs/archive.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```(sql|python)\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)


def written(kind: pa.DataType, name: str, json: bool) -> str:
    text = str(kind).replace("element: ", "").replace("item: ", "")
    text = text.replace(" not null", "").replace("double not null", "double")
    text = re.sub(r"list<\w+: ", "list<", text)
    text = re.sub(r" \('\w+'\)", "", text)
    return f"{text} (JSON)" if json else text


@pytest.mark.parametrize(
    "table", [*tables.RUN_TABLES.values(), tables.PUBLISHED], ids=lambda t: t.name
)
def test_every_column_is_documented(table: tables.Table) -> None:
    title = "published/<batch>" if table.name == "published" else table.name
    section = TEXT.split(f"### {title}.parquet\n")[1].split("\n### ")[0]
    told = dict(re.findall(r"^\| (\w+) \| (.+?) \| .+ \|$", section, re.MULTILINE))
    told.pop("column")
    columns = list(table.schema)
    if table is tables.PUBLISHED:
        columns = columns[: -len(tables.STATS.schema)]
    expected = {
        f.name: written(f.type, f.name, f.name in table.json_columns) for f in columns
    }
    assert told == expected
    key = re.findall(r"`(\w+)`", section.split("Key: ")[1].split(".")[0])
    if table is not tables.PUBLISHED:
        assert tuple(key) == table.key


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    archive = Archive(tmp_path / "runs")
    archive.write_run(*small(3))
    archive.write_run(*small(2, suite="2024-01-01", model="org/é:x"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("query", [code for kind, code in EXAMPLES if kind == "sql"])
def test_the_sql_examples_run(place: Path, query: str) -> None:
    with duckdb.connect() as connection:
        rows = connection.execute(query).fetchall()
    assert len(rows) in {2, 5}
    assert all(value is not None for row in rows for value in row)
    if "n_asked" in query:
        assert {(r[1], r[3], r[4], r[5]) for r in rows} == {
            ("org/m", 1 / 3, 3, 3),
            ("org/é:x", 0.5, 2, 2),
        }
    else:
        assert rows[0][3] == ["yes"]


def test_paths_are_decoded_and_a_suite_stays_text(place: Path) -> None:
    with duckdb.connect() as connection:
        rows = connection.sql(
            "SELECT DISTINCT suite, scenario, model FROM read_parquet("
            "'runs/*/*/*/*/stats.parquet', hive_partitioning = true, "
            "hive_types_autocast = false) ORDER BY ALL"
        ).fetchall()
    assert rows == [
        ("2024-01-01", "mmlu:subject=a/b", "org/é:x"),
        ("s", "mmlu:subject=a/b", "org/m"),
    ]


@pytest.mark.parametrize("code", [code for kind, code in EXAMPLES if kind == "python"])
def test_the_python_examples_run(place: Path, code: str) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=place,
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout
