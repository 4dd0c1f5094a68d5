"""A cache that someone else made runs no SQL and forges no number."""

from pathlib import Path

import duckdb
import pytest

from helmsite.archive import Archive
from helmsite.config import GroupConfig, SiteConfig
from helmsite.query import Results
from helmsite.query.cache import _connect, digest
from tests.query_runs import make_run

SECRET = "4711"


@pytest.fixture
def archive(tmp_path: Path) -> Archive:
    return Archive(tmp_path / "runs")


def value(archive: Archive, cache: Path) -> float | None:
    with Results(archive, SiteConfig(), cache) as found:
        return found.scenario("boolq").rows[0].cells[0].value


def poisons(secret: Path) -> dict[str, str]:
    columns = (
        "'' AS scorer, 'computed' AS origin, 'test' AS split, '' AS sub_split, "
        "'' AS perturbation, '' AS computed_on"
    )
    numbers = "0.0 AS stderr, 0.0 AS ci_low, 1.0 AS ci_high, 3 AS n_scored, 3 AS n_asked, '' AS missing"
    read = f"(SELECT content::DOUBLE FROM read_text('{secret}'))"
    return {
        "view": f"ALTER TABLE stat RENAME TO hidden; CREATE VIEW stat AS SELECT run_id, "
        f"'exact_match' AS metric, {columns}, {read} AS value, {numbers} FROM run",
        "macro": f"CREATE MACRO coalesce_(a) AS {read}",
        "generated": "ALTER TABLE drawn RENAME TO hidden; CREATE TABLE drawn (run_id VARCHAR, "
        "metric VARCHAR, split VARCHAR, draws BLOB AS ('x'::BLOB))",
        "default": "ALTER TABLE stat ALTER value SET DEFAULT 4711",
        "table": "CREATE TABLE more (a INTEGER)",
        "schema": "CREATE SCHEMA more",
        "sequence": "CREATE SEQUENCE more",
        "type": "CREATE TYPE more AS ENUM ('a')",
        "index": "CREATE INDEX more ON run (run_id)",
    }


@pytest.mark.parametrize("kind", poisons(Path()))
def test_a_cache_with_anything_but_its_tables_is_made_anew(
    archive: Archive, tmp_path: Path, kind: str
) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text(SECRET)
    run_id = make_run(archive, "boolq", "a", [1, 0, 1])
    cache = tmp_path / "aggregates.duckdb"
    expected = value(archive, cache)
    with duckdb.connect(str(cache)) as connection:
        connection.execute(poisons(secret)[kind])
        held = connection.execute("SELECT run_id, digest FROM run").fetchall()
    assert held == [(run_id, digest(archive.manifest(run_id)))]  # up to date: it counts
    assert value(archive, cache) == expected
    with duckdb.connect(str(cache), read_only=True) as connection:
        names = connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()
        tables = ["batch", "cache_format", "drawn", "published", "run", "stat"]
        assert sorted(names) == [(name,) for name in tables]
        more = "SELECT count(*) FROM duckdb_views() WHERE NOT internal"
        assert connection.execute(more).fetchone() == (0,)


@pytest.mark.parametrize("where", ["memory", "file"])
def test_sql_reaches_no_file_and_cannot_unlock_itself(
    tmp_path: Path, where: str
) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text(SECRET)
    name = ":memory:" if where == "memory" else str(tmp_path / "c.duckdb")
    with _connect(name) as connection:
        for statement in (
            f"SELECT * FROM read_text('{secret}')",
            f"COPY (SELECT 1) TO '{tmp_path / 'out.csv'}'",
            f"ATTACH '{tmp_path / 'other.duckdb'}'",
            "SET enable_external_access = true",
            "SET threads = 2",
        ):
            with pytest.raises(duckdb.Error):
                connection.execute(statement)
    assert {p.name for p in tmp_path.iterdir()} <= {"secret.txt", "c.duckdb"}


def test_a_scenario_whose_name_is_no_entry_is_shown(archive: Archive) -> None:
    make_run(archive, "task: a,b", "m", [1, 0, 1])
    make_run(archive, "boolq", "m", [1, 0, 1])
    groups = {"qa": GroupConfig("QA", ("boolq",)), "rest": GroupConfig("R", ("task",))}
    with Results(archive, SiteConfig(groups=groups), None) as found:
        shown = {g.name: g.scenarios for g in found.groups()}
    assert shown == {"qa": ("boolq",), "rest": (), "all": ("boolq", "task: a,b")}
