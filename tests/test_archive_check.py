"""`check` finds each kind of damage, names it, and says what to do next."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from msgspec import structs

from helmsite.archive import Archive, layout, manifests, tables
from helmsite.schema import Counts, FileFacts, Manifest, PublishedStat, Stat
from tests.archive_cases import realistic, small

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture
def archive(tmp_path: Path) -> Archive:
    return Archive(tmp_path)


def change(
    archive: Archive, made: Manifest, name: str, edit: Callable[[pa.Table], pa.Table]
) -> None:
    """Rewrite a table of a run and make the manifest agree with the new file."""
    path = Path(archive.file(made.run_id, name))
    table = edit(pq.ParquetFile(path).read())
    pq.write_table(table, path, store_schema=False)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    facts = FileFacts(table.num_rows, path.stat().st_size, digest)
    amend(archive, made, files={**made.files, name: facts})


def amend(archive: Archive, made: Manifest, **changes: Any) -> None:
    path = Path(archive.file(made.run_id, "stats")).with_name("run.json")
    path.write_bytes(manifests.encode(structs.replace(made, **changes)))
    archive.reindex()


def put(column: str, value: object) -> Callable[[pa.Table], pa.Table]:
    """Set a column's first value."""

    def edit(table: pa.Table) -> pa.Table:
        place = table.schema.get_field_index(column)
        kind = table.schema.field(place).type
        rest = table[column].slice(1).combine_chunks()
        values = pa.concat_arrays([pa.array([value], kind), rest])
        return table.set_column(
            place,
            pa.field(column, kind, nullable=table.schema.field(place).nullable),
            values,
        )

    return edit


CASES: list[tuple[str, Callable[[pa.Table], pa.Table], str]] = [
    ("instances", lambda t: pa.concat_tables([t, t.slice(0, 1)]), "1 rows repeat the key"),
    ("requests", lambda t: pa.concat_tables([t, t.slice(0, 2)]), "2 rows repeat the key"),
    ("scores", lambda t: pa.concat_tables([t, t.slice(0, 1)]), "1 rows repeat the key"),
    ("stats", lambda t: pa.concat_tables([t, t]), "1 rows repeat the key"),
    ("requests", put("instance_id", "id99"), "1 instances are not in instances.parquet, as 'id99'"),
    ("scores", put("instance_id", "id99"), "1 instances are not in instances.parquet, as 'id99'"),
    ("instances", lambda t: t.slice(1), "1 instances are not in instances.parquet, as 'id0'"),
    ("scores", put("value", float("nan")), "1 values of value are NaN or infinite"),
    ("scores", put("weight", float("inf")), "1 values of weight are NaN or infinite"),
    ("stats", put("ci_low", float("-inf")), "1 values of ci_low are NaN or infinite"),
    ("requests", put("logprob", float("nan")), "1 values of logprob are NaN or infinite"),
    ("requests", put("token_logprobs", [float("-inf")]), "1 values of token_logprobs are NaN"),
    ("scores", lambda t: t.drop_columns(["weight"]), "the file lacks the columns weight"),
    ("scores", lambda t: t.append_column("mood", t["text"]), "has unknown columns mood"),
    (
        "scores",
        lambda t: t.set_column(2, "trial", pc.cast(t["trial"], pa.int64())),
        "trial is int64, not int32",
    ),
    ("stats", lambda t: t.select(t.column_names[::-1]), "columns are in another order"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "edit", "said"), CASES, ids=[f"{c[0]}-{c[2][:30]}" for c in CASES]
)
def test_bad_rows_are_found(archive: Archive, name: str, edit: Any, said: str) -> None:
    made = archive.write_run(*small())
    change(archive, made, name, edit)
    found = [p for p in archive.check() if said in p.what]
    assert found, archive.check()
    assert found[0].run_id == made.run_id
    assert found[0].severity == "error"
    assert found[0].next_step
    assert archive.check(deep=False) == []


@pytest.mark.parametrize("name", ["instances", "requests", "scores", "stats"])
def test_a_changed_file_is_found(archive: Archive, name: str) -> None:
    made = archive.write_run(*realistic(50))
    path = Path(archive.file(made.run_id, name))
    blob = bytearray(path.read_bytes())
    blob[len(blob) // 3] ^= 1
    path.write_bytes(blob)
    (problem,) = archive.check()
    assert problem.what == "the SHA-256 is not the manifest's"
    assert problem.where.endswith(f"{name}.parquet")
    again = name in {"scores", "stats"}
    assert ("helmsite score" in problem.next_step) is again
    assert ("Restore" in problem.next_step) is not again
    path.write_bytes(blob[:-1])
    (problem,) = archive.check(deep=False)
    assert "bytes, the manifest says" in problem.what
    path.unlink()
    (problem,) = archive.check(deep=False)
    assert problem.what == "the file is missing"


def test_null_keys_are_found(archive: Archive) -> None:
    made = archive.write_run(*small())

    def edit(table: pa.Table) -> pa.Table:
        values = pa.array([None, "exact_match", "exact_match"])
        return table.set_column(6, pa.field("metric", pa.string()), values)

    change(archive, made, "scores", edit)
    (problem,) = archive.check()
    assert problem.what == "the file metric may be null"
    assert "helmsite score" in problem.next_step


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        (Counts(3, 2, 0, 3), "the manifest counts 2 answered, there are 3"),
        (Counts(3, 3, 1, 3), "the manifest counts 1 failed, there are 0"),
        (Counts(3, 3, 0, 9), "the manifest counts 9 scored, there are 3"),
    ],
)
def test_wrong_counts_are_found(archive: Archive, counts: Counts, said: str) -> None:
    made = archive.write_run(*small())
    amend(archive, made, counts=counts)
    (problem,) = archive.check()
    assert problem.what == said


def test_a_wrong_number_of_rows_is_found(archive: Archive) -> None:
    made = archive.write_run(*small())
    facts = structs.replace(made.files["stats"], rows=7)
    amend(archive, made, files={**made.files, "stats": facts})
    (problem,) = archive.check()
    assert problem.what == "1 rows, the manifest says 7"


def test_a_manifest_without_a_files_facts_is_found(archive: Archive) -> None:
    made = archive.write_run(*small())
    files = {k: v for k, v in made.files.items() if k != "stats"}
    amend(archive, made, files=files)
    (problem,) = archive.check()
    assert problem.what == "the manifest says nothing of this file"


def test_a_changed_spec_is_found(archive: Archive) -> None:
    made = archive.write_run(*small())
    amend(archive, made, spec=structs.replace(made.spec, definition_sha256="x"))
    (problem,) = archive.check()
    assert problem.what == "the spec_id is not that of the spec"


@pytest.mark.parametrize("copy", ["run=r0", "run=z"])
def test_a_moved_and_a_copied_run_are_found(
    archive: Archive, tmp_path: Path, copy: str
) -> None:
    made = archive.write_run(*small())
    home = tmp_path / layout.run_path(made)
    shutil.copytree(home, home.with_name(copy))
    archive.reindex()
    assert archive.manifests() == (made,)
    shutil.rmtree(home)
    archive.reindex()
    (problem,) = archive.check()
    assert problem.what == "the run stands in another folder than its manifest says"
    assert layout.run_path(made) in problem.next_step


def test_files_that_belong_to_no_run_are_found(
    archive: Archive, tmp_path: Path
) -> None:
    made = archive.write_run(*small())
    home = tmp_path / layout.run_path(made)
    (home / "notes.txt").write_text("x")
    (tmp_path / "suite=s" / "readme.md").write_text("x")
    half = tmp_path / "suite=s/scenario=a/model=b/run=r1"
    half.mkdir(parents=True)
    (half / "scores.parquet").write_bytes(b"x")
    told = {(p.where.rpartition("/")[2], p.severity) for p in archive.check()}
    assert told == {
        ("notes.txt", "warning"),
        ("readme.md", "warning"),
        ("run=r1", "warning"),
    }
    assert archive.manifests() == (made,)


def test_what_stands_beside_the_suites_is_nobodys_business(
    archive: Archive, tmp_path: Path
) -> None:
    archive.write_run(*small())
    (tmp_path / ".gitignore").write_text("*")
    (tmp_path / "_cache").mkdir()
    (tmp_path / "_cache/aggregates.duckdb").write_bytes(b"x")
    assert archive.check() == []


def test_damaged_published_results_are_found(archive: Archive) -> None:
    results = [PublishedStat("a", m, Stat("acc", 0.5), source_file="f") for m in "xyz"]
    batch = archive.write_published("s", "b", results)
    path = Path(archive.published_file(batch))
    table = pq.ParquetFile(path).read()
    with tables.writer(tables.PUBLISHED, path, {"suite": "s", "batch": "b"}) as file:
        file.write_table(pa.concat_tables([table, table.slice(0, 1)]))
    archive.reindex()
    (problem,) = archive.check()
    assert "1 rows repeat the key" in problem.what
    path.write_bytes(path.read_bytes()[:100])
    assert any("is damaged" in p.what for p in archive.check())


def test_a_good_archive_of_several_runs_has_no_problems(archive: Archive) -> None:
    for origin in ("native", "native:b", "helm:x"):
        archive.write_run(*small(origin=origin))
    archive.write_run(*realistic(30))
    assert archive.check() == archive.check(deep=False) == []
