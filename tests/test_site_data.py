"""The page about the data is true: its tables are the archive's, its examples run."""

from __future__ import annotations

import datetime as dt
import functools
import hashlib
import html
import http.server
import json
import os
import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import duckdb
import pyarrow.parquet as pq
import pytest
from fsspec.implementations.http import HTTPFileSystem
from msgspec import structs

from helmsite.archive import Archive, tables
from helmsite.cli.build import _downloads
from helmsite.config import SiteConfig
from helmsite.query import Results
from helmsite.render import build, check_links
from helmsite.render.datapage import ticked
from helmsite.schema import Manifest, meanings
from tests.archive_cases import FACTS, small
from tests.site_source import FakeResults
from tests.test_archive_docs import written

if TYPE_CHECKING:
    from collections.abc import Iterator

DOCS = (Path(__file__).parents[1] / "docs/archive.md").read_text(encoding="utf-8")


class RangeHandler(http.server.SimpleHTTPRequestHandler):
    """A server of static files that answers requests for a range, as hosts do."""

    ranges: list[str]

    def log_message(self, *arguments: object) -> None:
        """Keep the test's output clean."""

    def do_GET(self) -> None:
        """Answer with the range that was asked for, else with the whole file."""
        wanted = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range") or "")
        path = Path(self.translate_path(self.path))
        if not wanted or not path.is_file():
            super().do_GET()
            return
        raw = path.read_bytes()
        first, last = int(wanted[1]), min(int(wanted[2] or len(raw)), len(raw) - 1)
        self.ranges.append(self.path)
        self.send_response(206)
        self.send_header("Content-Range", f"bytes {first}-{last}/{len(raw)}")
        self.send_header("Content-Length", str(last + 1 - first))
        self.send_header("Accept-Ranges", "bytes")
        self.end_headers()
        self.wfile.write(raw[first : last + 1])


class Web(HTTPFileSystem):  # type: ignore[misc] # fsspec has no types
    """What DuckDB's httpfs does, where its extension cannot be loaded (offline)."""

    def modified(self, path: str) -> dt.datetime:
        """Return a time: DuckDB asks for one, HTTP servers need not tell it."""
        return dt.datetime(2026, 1, 1, tzinfo=dt.UTC)


class Published(NamedTuple):
    """An archive, its site in a folder, and its site on a server with a base address."""

    folder: Path
    site: Path
    online: Path
    ranges: list[str]

    def page(self, online: bool) -> str:
        path = (self.online if online else self.site) / "data" / "index.html"
        return path.read_text(encoding="utf-8")


def archived(folder: Path) -> Archive:
    archive = Archive(folder / "runs")
    for run in (
        small(3),
        small(2, suite="2024-01-01", model="org/é:x"),
        small(2, model="o'brien/m"),
    ):
        facts = structs.replace(run.manifest.scenario, main_metric=FACTS.name)
        archive.write_run(
            structs.replace(run.manifest, metrics=(FACTS,), scenario=facts), *run[1:]
        )
    return archive


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Published]:
    folder = tmp_path_factory.mktemp("data")
    archive, online = archived(folder), folder / "www" / "o'site"
    ranges: list[str] = []
    made = type("Handler", (RangeHandler,), {"ranges": ranges})
    handler = functools.partial(made, directory=str(folder / "www"))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        base = f"http://127.0.0.1:{server.server_port}/o'site"
        for out, config in (
            (folder / "site", SiteConfig()),
            (online, SiteConfig(base_url=base)),
        ):
            with Results(archive, config, None) as results:
                build(results, out, config, downloads=_downloads(archive))
            assert check_links(out) == []
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield Published(folder, folder / "site", online, ranges)
        server.shutdown()
        thread.join()


def examples(page: str) -> list[tuple[str, str, str]]:
    """Return (section, language, code) of each example on the page, as it is copied."""
    found = []
    part = page.partition('<h2 id="schema">')[0]
    for section in re.split(r'<h2 id="examples-\d">', part)[1:]:
        title = section.partition("<")[0]
        for language, code in re.findall(
            r'<pre class="text code"[^>]*data-language="(\w+)"[^>]*>\n(.*?)</pre>',
            section,
            re.DOTALL,
        ):
            found.append((title, language, html.unescape(code)))
    assert found
    assert not [code for _, _, code in found if "<" in re.sub(r"<\w+>", "<", code)]
    return found


def run_sql(code: str, place: Path, online: bool) -> list[tuple[Any, ...]]:
    before = Path.cwd()
    os.chdir(place)
    try:
        with duckdb.connect() as connection:
            if online:
                connection.register_filesystem(Web())
            return connection.execute(code).fetchall()
    finally:
        os.chdir(before)


def run_python(code: str, place: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=place,
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("online", [False, True], ids=["folder", "published"])
def test_every_example_on_the_page_runs(published: Published, online: bool) -> None:
    ran = []
    for title, language, code in examples(published.page(online)):
        of_archive = title == "From the archive"
        elsewhere = published.folder / "elsewhere"
        elsewhere.mkdir(exist_ok=True)
        here = published.folder if of_archive else published.site
        place = elsewhere if online and not of_archive else here
        if language == "SQL":
            rows = run_sql(code, place, online and not of_archive)
            assert rows, code
        else:
            assert run_python(code, place).strip(), code
        ran.append((title, language))
    assert ran.count(("From this site", "SQL")) == 3
    assert ran.count(("From this site", "Python")) == 2
    assert ran.count(("From the archive", "SQL")) == 2
    assert ran.count(("From the archive", "Python")) == 2


def code_of(published: Published, words: str, online: bool = False) -> str:
    return next(c for _, _, c in examples(published.page(online)) if words in c)


@pytest.mark.parametrize("online", [False, True], ids=["folder", "published"])
def test_one_query_reads_every_run(published: Published, online: bool) -> None:
    code = code_of(published, "getvariable('files')", online)
    rows = run_sql(code, published.site, online)
    assert {(row[0], row[1]) for row in rows} == {
        ("mmlu:subject=a/b", "org/m"),
        ("mmlu:subject=a/b", "org/é:x"),
        ("mmlu:subject=a/b", "o'brien/m"),
    }
    values = {(row[1], *row[5:]) for row in rows if row[3] == FACTS.name}
    assert values == {("org/m", 0.5, 3), ("org/é:x", 0.5, 2), ("o'brien/m", 0.5, 2)}


def test_a_published_site_is_read_in_ranges(published: Published) -> None:
    published.ranges.clear()
    run_sql(code_of(published, "getvariable('files')", True), published.site, True)
    assert any(path.endswith("stats.parquet") for path in published.ranges)


def test_a_query_finds_what_was_wrong(published: Published) -> None:
    rows = run_sql(code_of(published, "s.value = 0"), published.folder, False)
    assert {row[0] for row in rows} == {"org/m", "org/é:x", "o'brien/m"}
    assert all(row[4] for row in rows)


def test_the_one_line_on_a_runs_page_runs(published: Published) -> None:
    for out, online in ((published.site, False), (published.online, True)):
        for page in sorted(out.glob("runs/*/index.html")):
            (line,) = re.findall(
                r'<pre class="text" data-copy="Copy"[^>]*>\n(FROM .*?)</pre>',
                page.read_text(encoding="utf-8"),
                re.DOTALL,
            )
            assert run_sql(html.unescape(line), published.site, online)


# ---- index.json


def test_the_list_of_files_is_what_is_there(published: Published) -> None:
    listed = json.loads((published.site / "data" / "index.json").read_bytes())
    files = sorted((published.site / "data" / "runs").rglob("*.*"))
    assert sorted(row["url"] for row in listed) == sorted(
        p.relative_to(published.site).as_posix() for p in files
    )
    for row in listed:
        path = published.site / row["url"]
        assert (published.site / row["page"]).is_file()
        if row["name"] == "run.json":
            assert json.loads(path.read_bytes())["run_id"] == row["run_id"]
            continue
        assert row["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
        assert row["bytes"] == path.stat().st_size
        assert row["rows"] == pq.read_metadata(path).num_rows
    online = json.loads((published.online / "data" / "index.json").read_bytes())
    assert all(row["url"].startswith("http://127.0.0.1:") for row in online)


def test_a_site_without_downloads_lists_none(tmp_path: Path) -> None:
    out = tmp_path / "site"
    build(FakeResults(models=1), out, SiteConfig())
    assert json.loads((out / "data" / "index.json").read_bytes()) == []
    page = (out / "data" / "index.html").read_text()
    assert "This site offers no downloads" in page
    assert {title for title, _, _ in examples(page)} == {"From the archive"}
    assert "index.json" not in page


def test_of_a_private_scenario_the_examples_read_what_is_offered(
    tmp_path: Path,
) -> None:
    archive = Archive(tmp_path / "runs")
    run = small(3)
    facts = structs.replace(run.manifest.scenario, publication="aggregates")
    archive.write_run(
        structs.replace(run.manifest, metrics=(FACTS,), scenario=facts), *run[1:]
    )
    config, out = SiteConfig(), tmp_path / "site"
    with Results(archive, config, None) as results:
        build(results, out, config, downloads=_downloads(archive))
    names = {p.name for p in (out / "data" / "runs").rglob("*.*")}
    assert names == {"run.json", "scores.parquet", "stats.parquet"}
    page = (out / "data" / "index.html").read_text(encoding="utf-8")
    for title, language, code in examples(page):
        place = tmp_path if title == "From the archive" else out
        if language == "SQL":
            assert run_sql(code, place, False)
        else:
            assert run_python(code, place)


# ---- The schema


@pytest.mark.parametrize("facts", meanings.TABLES, ids=lambda t: t.name)
def test_the_tables_are_the_archives(facts: meanings.TableFacts) -> None:
    table = tables.RUN_TABLES[facts.name]
    assert [(c.name, c.type) for c in facts.columns] == [
        (f.name, written(f.type, f.name, f.name in table.json_columns))
        for f in table.schema
    ]
    assert facts.key == table.key
    section = DOCS.split(f"### {facts.name}.parquet\n")[1].split("\n### ")[0]
    told = re.findall(r"^\| (\w+) \| .+? \| (.+) \|$", section, re.MULTILINE)
    assert [(c.name, c.meaning) for c in facts.columns] == told[1:]


def test_every_table_and_field_is_explained(published: Published) -> None:
    assert [t.name for t in meanings.TABLES] == list(tables.RUN_TABLES)
    assert sorted(f.name for f in meanings.MANIFEST) == sorted(
        Manifest.__struct_fields__
    )
    page = html.unescape(re.sub("<[^>]*>", "", published.page(False)))
    for facts in (*meanings.MANIFEST, *(c for t in meanings.TABLES for c in t.columns)):
        assert facts.meaning.replace("`", "") in page


def test_code_in_a_meaning_is_marked_and_markup_is_text() -> None:
    assert ticked("a `<b>` & c") == "a <code>&lt;b&gt;</code> &amp; c"
