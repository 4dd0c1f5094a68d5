"""A built site goes to a folder or to S3: what changed, in order, and nothing else."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
import uuid
from typing import TYPE_CHECKING, Any

import fsspec
import pytest
from click.testing import CliRunner, Result

from helmsite.cli import destination, main
from helmsite.cli.destination import LISTING, Destination
from helmsite.render.output import MARKER
from helmsite.render.record import Mark, SiteRecord, encode

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

FIRST = {
    "index.html": "<p>the first page",
    "groups/all/accuracy.html": "<p>a board",
    "runs/index.html": "<p>runs",
    "runs/r1/index.html": "<p>a run",
    "runs/r1/1.html": "<p>instances",
    "runs/r1/index.js": "helmsite.index({})",
    "static/site.css": "p{}",
    "data/runs/r1/stats.parquet": "PAR1",
    "data/runs/r1/run.json": "{}",
    ".nojekyll": "",
}


@pytest.fixture
def s3_url(s3_server: str, monkeypatch: pytest.MonkeyPatch) -> str:
    for name, value in {
        "AWS_ENDPOINT_URL": s3_server,
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "sEcr3t-0f-th3-t3st",
        "AWS_DEFAULT_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)
    bucket = f"b{uuid.uuid4().hex[:16]}"
    fsspec.filesystem("s3").mkdir(bucket)
    return f"s3://{bucket}/eval/site"


@pytest.fixture(params=["folder", "s3", "memory"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "folder":
        return str(tmp_path / "www" / "site")
    if request.param == "memory":
        return f"memory://{uuid.uuid4().hex}"
    return str(request.getfixturevalue("s3_url"))


def make(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    """A folder as a build leaves it: files, and a record of them."""
    marks = {}
    for name, content in files.items():
        raw = content.encode() if isinstance(content, str) else content
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(raw)
        marks[name] = Mark(len(raw), hashlib.sha256(raw).hexdigest())
    (folder / MARKER).write_bytes(encode(SiteRecord("x", {}, marks)))
    return folder


@pytest.fixture
def site(tmp_path: Path) -> Path:
    return make(tmp_path / "site", FIRST)


def publish(url: str, site: Path, *options: str) -> Result:
    result = CliRunner().invoke(main, ["publish", url, "--site", str(site), *options])
    assert result.exception is None or isinstance(result.exception, SystemExit), (
        result.exception
    )
    return result


def there(url: str) -> dict[str, bytes]:
    """What is at an address, as another program sees it."""
    system, base = fsspec.core.url_to_fs(url)
    system.invalidate_cache()
    start = len(base.strip("/")) + 1
    found = {p.strip("/")[start:]: p for p in system.find(base)}
    return {name: system.cat_file(p) for name, p in sorted(found.items())}


def content(url: str) -> dict[str, str]:
    found = there(url)
    assert LISTING in found
    return {n: raw.decode() for n, raw in found.items() if n != LISTING}


def test_a_site_is_published_whole_and_the_second_time_nothing_is_sent(
    url: str, site: Path
) -> None:
    first = publish(url, site)
    assert first.exit_code == 0, first.output
    assert f"{len(FIRST)} files uploaded" in first.output
    assert content(url) == FIRST
    assert MARKER not in there(url)
    before = Destination(url).present()
    again = publish(url, site)
    assert f"0 files uploaded (0 B), {len(FIRST)} unchanged, 0 deleted." in again.output
    after = Destination(url).present()
    assert {n: p for n, p in before.items() if n != LISTING} == {
        n: p for n, p in after.items() if n != LISTING
    }


def test_only_what_changed_is_sent_and_only_ours_is_deleted(
    url: str, site: Path, tmp_path: Path
) -> None:
    publish(url, site)
    system, base = fsspec.core.url_to_fs(url)
    system.pipe_file(f"{base}/CNAME", b"eval.example.org")
    system.pipe_file(f"{base}/runs/r1/theirs.html", b"not ours")
    second = {
        **FIRST,
        "index.html": "<p>another first page",
        "runs/r2/1.html": "<p>new",
    }
    del second["runs/r1/1.html"], second["runs/r1/index.js"]
    new = make(tmp_path / "new", second)
    dry = publish(url, new, "--dry-run")
    lines = dry.output.splitlines()
    assert lines[:4] == ["upload runs/r2/1.html", "upload index.html",
                         "delete runs/r1/1.html", "delete runs/r1/index.js"]  # fmt: skip
    assert "2 files would be uploaded" in dry.output
    assert "2 would be deleted" in dry.output
    assert "runs/r1/1.html" in content(url)
    result = publish(url, new)
    assert result.exit_code == 0, result.output
    assert (
        f"2 files uploaded (27 B), {len(second) - 2} unchanged, 2 deleted."
        in result.output
    )
    foreign = {"CNAME": "eval.example.org", "runs/r1/theirs.html": "not ours"}
    assert content(url) == {**second, **foreign}


def test_what_others_put_there_is_not_replaced_unasked(url: str, site: Path) -> None:
    system, base = fsspec.core.url_to_fs(url)
    system.makedirs(base, exist_ok=True)
    system.pipe_file(f"{base}/index.html", b"somebody's home page")
    refused = publish(url, site)
    assert refused.exit_code == 5
    assert "index.html" in refused.output
    assert "--overwrite" in refused.output
    assert set(there(url)) == {"index.html"}
    assert publish(url, site, "--overwrite").exit_code == 0
    assert content(url) == FIRST


def test_a_file_that_was_changed_or_lost_there_is_sent_again(
    url: str, site: Path
) -> None:
    publish(url, site)
    system, base = fsspec.core.url_to_fs(url)
    time.sleep(0.02)
    changed = FIRST["runs/r1/1.html"].replace("i", "1").encode()
    system.pipe_file(f"{base}/runs/r1/1.html", changed)
    system.rm_file(f"{base}/static/site.css")
    result = publish(url, site)
    assert "2 files uploaded" in result.output, result.output
    assert content(url) == FIRST


def test_a_store_is_told_what_each_file_is(s3_url: str, site: Path) -> None:
    publish(s3_url, site)
    system, base = fsspec.core.url_to_fs(s3_url)
    kinds = {
        name: system.call_s3("head_object", Bucket=base.split("/")[0],
                             Key=f"{base.partition('/')[2]}/{name}")
        for name in FIRST
    }  # fmt: skip
    said = {name: facts["ContentType"] for name, facts in kinds.items()}
    assert said["index.html"] == "text/html; charset=utf-8"
    assert said["runs/r1/index.js"] == "text/javascript; charset=utf-8"
    assert said["static/site.css"] == "text/css; charset=utf-8"
    assert said["data/runs/r1/run.json"] == "application/json; charset=utf-8"
    assert said["data/runs/r1/stats.parquet"] == "application/vnd.apache.parquet"
    assert {facts["CacheControl"] for facts in kinds.values()} == {"no-cache"}


def test_pages_come_after_what_they_need_and_the_first_page_last(
    url: str, site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []
    put = Destination.put

    def noted(self: Destination, site: Path, path: str, mark: Mark) -> None:
        put(self, site, path, mark)
        order.append(path)

    monkeypatch.setattr(Destination, "put", noted)
    publish(url, site)
    at = {path: order.index(path) for path in FIRST}
    assets = [p for p in FIRST if not p.endswith(".html")]
    assert max(at[p] for p in assets) < at["runs/r1/1.html"]
    assert at["runs/r1/1.html"] < at["runs/r1/index.html"] < at["runs/index.html"]
    assert order[-1] == "index.html"


def test_a_publish_that_fails_goes_on_where_it_was(
    url: str, site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(url, site)
    second = {name: f"{text} " for name, text in FIRST.items()}
    new = make(tmp_path / "new", second)
    put = Destination.put

    def broken(self: Destination, site: Path, path: str, mark: Mark) -> None:
        if path == "runs/index.html":
            raise KeyboardInterrupt
        put(self, site, path, mark)

    with monkeypatch.context() as patch:
        patch.setattr(Destination, "put", broken)
        assert publish(url, new).exit_code == 130
    assert content(url)["index.html"] == FIRST["index.html"]
    result = publish(url, new)
    assert "2 files uploaded" in result.output, result.output
    assert content(url) == second


def test_what_a_killed_publish_left_is_ours(
    url: str, site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed at once, it writes no listing at its end: the one of its beginning serves."""
    write, calls = Destination.write_listing, []

    def once(self: Destination, files: Any) -> None:
        calls.append(files)
        if len(calls) > 1:
            raise KeyboardInterrupt
        write(self, files)

    with monkeypatch.context() as patch:
        patch.setattr(Destination, "write_listing", once)
        assert publish(url, site).exit_code == 130
    again = publish(url, site, "--dry-run")
    assert again.exit_code == 0, again.output
    if not url.startswith("memory"):  # which tells no digest: all is sent again
        assert "0 files would be uploaded" in again.output
    new = make(tmp_path / "new", {"index.html": "<p>other"})
    assert publish(url, new).exit_code == 0
    assert content(url) == {"index.html": "<p>other"}


def test_a_store_that_hiccups_is_asked_again_and_one_that_refuses_is_not(
    s3_url: str, site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(destination, "FIRST_PAUSE_S", 0.001)
    send, failures = Destination._send_once, {"index.html": 3}

    def flaky(self: Destination, path: str, content: bytes | Path) -> None:
        if failures.get(path, 0):
            failures[path] -= 1
            raise ConnectionResetError("connection lost")
        send(self, path, content)

    monkeypatch.setattr(Destination, "_send_once", flaky)
    assert publish(s3_url, site).exit_code == 0
    assert failures == {"index.html": 0}
    tries = []

    def refusing(self: Destination, path: str, content: bytes | Path) -> None:
        tries.append(path)
        raise PermissionError(13, "no")

    monkeypatch.setattr(Destination, "_send_once", refusing)
    result = publish(f"{s3_url}2", site)
    assert result.exit_code == 5
    assert "Permission denied" in result.output
    assert tries == [LISTING]


def test_a_large_file_is_sent_in_parts_and_known_again(
    s3_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(destination, "WHOLE", 1000)
    site = make(
        tmp_path / "big", {"index.html": "x", "data/a.parquet": os.urandom(5000)}
    )
    assert publish(s3_url, site).exit_code == 0
    assert there(s3_url)["data/a.parquet"] == (site / "data/a.parquet").read_bytes()
    assert "0 files uploaded" in publish(s3_url, site).output


def test_a_folder_that_is_no_build_is_not_published(tmp_path: Path, url: str) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.html").write_text("mine")
    result = publish(url, tmp_path / "docs")
    assert result.exit_code == 5
    assert "Build it first" in result.output
    (tmp_path / "docs" / MARKER).write_text("anything\n")
    assert publish(url, tmp_path / "docs").exit_code == 5
    assert publish(url, tmp_path / "nowhere").exit_code == 5
    assert there(url) == {}


@pytest.mark.parametrize("kind", ["changed", "gone", "link", "linked folder"])
def test_what_the_build_did_not_write_is_not_published(
    url: str, site: Path, tmp_path: Path, kind: str
) -> None:
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "1.html").write_text(FIRST["runs/r1/1.html"])
    page = site / "runs/r1/1.html"
    if kind == "linked folder":
        (site / "runs/r1").rename(tmp_path / "moved")
        (site / "runs/r1").symlink_to(tmp_path / "moved")
    else:
        page.unlink()
    if kind == "changed":
        page.write_text("<p>inst4nces")
    if kind == "link":
        page.symlink_to(secret / "1.html")
    result = publish(url, site)
    assert result.exit_code == 5, result.output
    assert "1.html" in result.output or "r1" in result.output
    assert "Build the site anew" in result.output
    assert "index.html" not in there(url)


def test_a_record_cannot_name_a_file_elsewhere(tmp_path: Path, url: str) -> None:
    (tmp_path / "key").write_text("secret")
    for name in ("../key", "/etc/hostname", "a/../../key", "..\\key"):
        site = tmp_path / "odd"
        make(site, {"index.html": "x"})
        mark = Mark(6, hashlib.sha256(b"secret").hexdigest())
        (site / MARKER).write_bytes(encode(SiteRecord("x", {}, {name: mark})))
        assert publish(url, site).exit_code == 5, name
    assert there(url) == {}


def test_a_listing_cannot_make_it_delete_elsewhere(site: Path, tmp_path: Path) -> None:
    url = tmp_path / "www"
    publish(str(url), site)
    (tmp_path / "precious").write_text("x")
    listing = json.loads((url / LISTING).read_bytes())
    listing["files"]["../precious"] = [1, "", ""]
    listing["files"]["../site/index.html"] = [1, "", ""]
    (url / LISTING).write_text(json.dumps(listing))
    assert publish(str(url), site).exit_code == 0
    assert (tmp_path / "precious").exists()
    assert (site / "index.html").exists()
    for damaged in (
        "",
        "[]",
        "{",
        '{"format":2,"files":{}}',
        '{"format":1,"files":{"a":1}}',
    ):
        (url / LISTING).write_text(damaged)
        assert publish(str(url), site).exit_code == 0, damaged
        assert content(str(url)) == FIRST


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["{site}"], "one in the other"),
        (["{site}/inside"], "one in the other"),
        (["{tmp}"], "one in the other"),
        (["nosuch://bucket"], "fsspec package"),
        (["s3://me:secret-word@bucket/x"], "credentials"),
        (["abfs://box:secret-word@account.dfs.example.org/x"], "credentials"),
        (["abfs://box@account.dfs.example.org/x?sig=secret-word"], "credentials"),
        (["s3://"], "names no bucket"),
        (["file:///"], "names no bucket"),
    ],
)
def test_an_address_that_cannot_be_is_told(
    site: Path, tmp_path: Path, words: list[str], expected: str
) -> None:
    result = publish(words[0].format(site=site, tmp=tmp_path), site)
    assert result.exit_code == 5, result.output
    assert expected in result.output
    assert "secret-word" not in result.output


def test_the_container_of_an_azure_address_is_no_credential(
    site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []

    def opens(url: str) -> tuple[object, str]:
        opened.append(url)
        raise ValueError("no such store here")

    monkeypatch.setattr("fsspec.core.url_to_fs", opens)
    result = publish("abfss://box@account.dfs.example.org/x", site)
    assert opened == ["abfss://box@account.dfs.example.org/x"]
    assert "Cannot open abfss://" in result.output


def test_a_bucket_that_is_not_there_is_told_without_a_key(
    s3_url: str, site: Path
) -> None:
    result = publish("s3://no-such-bucket-here/x", site)
    assert result.exit_code == 5, result.output
    assert "s3://no-such-bucket-here/x" in result.output
    assert "sEcr3t" not in result.output


def test_a_link_at_the_destination_is_replaced_and_not_followed(
    site: Path, tmp_path: Path
) -> None:
    target = tmp_path / "precious.html"
    target.write_text("precious")
    url = tmp_path / "www"
    publish(str(url), site)
    (url / "index.html").unlink()
    (url / "index.html").symlink_to(target)
    assert publish(str(url), site).exit_code == 0
    assert target.read_text() == "precious"
    assert content(str(url)) == FIRST


def test_ctrl_c_in_the_middle_leaves_no_traceback_and_a_listing(
    s3_url: str, tmp_path: Path
) -> None:
    files = {f"runs/r{n}/1.html": f"<p>{n}" for n in range(150)}
    site = make(tmp_path / "many", {**files, "index.html": "x"})
    script = (
        "import time\nfrom helmsite.cli import destination, main\n"
        "send = destination.Destination._send_once\n"
        "def slow(self, path, content):\n"
        "    time.sleep(0.05)\n    send(self, path, content)\n    print('sent', flush=True)\n"
        "destination.Destination._send_once = slow\n"
        f"main(['publish', {s3_url!r}, '--site', {str(site)!r}])\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout
        for _ in range(20):
            process.stdout.readline()
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "Traceback" not in errors
    assert errors.strip().endswith("Stopped.")
    found = content(s3_url)
    assert 0 < len(found) < 150
    assert "index.html" not in found
    result = publish(s3_url, site)
    assert f"{151 - len(found)} files uploaded" in result.output, result.output
    assert len(content(s3_url)) == 151


def test_a_bucket_of_its_own_and_more_files_than_one_answer_lists(
    s3_url: str, tmp_path: Path
) -> None:
    root = s3_url.removesuffix("/eval/site")
    files = {f"data/{n}.json": "{}" for n in range(1100)}
    site = make(tmp_path / "many", {**files, "index.html": "<p>" + "é" * 9})
    first = publish(f"{root}/", site)
    assert first.exit_code == 0, first.output
    assert "1101 files uploaded" in first.output
    assert (
        fsspec.filesystem("s3").cat_file(f"{root}/index.html")
        == (site / "index.html").read_bytes()
    )
    assert "0 files uploaded (0 B), 1101 unchanged" in publish(root, site).output
