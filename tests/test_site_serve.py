"""`helmsite serve` as a process of its own, asked over real connections."""

from __future__ import annotations

import gzip
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING, TextIO

import httpx
import pytest
from click.testing import CliRunner

from helmsite.archive import Archive
from helmsite.cli.new import new_project
from helmsite.cli.options import Place
from helmsite.cli.serve import command
from helmsite.cli.watching import Watch, changes
from helmsite.config import load_project
from helmsite.run import Choice, Runner
from tests.archive_cases import small

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

START = "from helmsite.cli.serve import command; command()"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "index.html").write_text("<p>café")
    (tmp_path / "prompt.txt").write_text("\ufeffcafé", encoding="utf-8")
    (tmp_path / "big.txt").write_bytes(b"x" * 20_000_000)
    (tmp_path / "rows.parquet").write_bytes(b"PAR1")
    return tmp_path


@pytest.fixture
def server(folder: Path) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, "-c", START, str(folder), "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        yield process
        process.kill()


def address(server: subprocess.Popen[str]) -> str:
    assert server.stdout
    found = re.search(r"http://127\.0\.0\.1:(\d+)/", server.stdout.readline())
    assert found
    return found[0]


def test_texts_are_sent_as_utf_8(server: subprocess.Popen[str]) -> None:
    root = address(server)
    kinds = {
        name: httpx.get(root + name).headers["content-type"]
        for name in ("index.html", "prompt.txt", "rows.parquet")
    }
    assert kinds["index.html"] == "text/html; charset=utf-8"
    assert kinds["prompt.txt"] == "text/plain; charset=utf-8"
    assert "charset" not in kinds["rows.parquet"]
    assert httpx.get(root + "prompt.txt").content.startswith(b"\xef\xbb\xbf")


def test_no_type_is_guessed_and_an_impossible_path_is_no_traceback(
    server: subprocess.Popen[str],
) -> None:
    root = httpx.URL(address(server))
    for path in ("index.html", "nothing.html"):
        sent = httpx.get(f"{root}{path}").headers.get_list("x-content-type-options")
        assert sent == ["nosniff"], path
    for impossible in ("/a%00b", "/%ED%A0%80", "/%00/index.html"):
        with socket.create_connection((root.host, root.port or 80)) as connection:
            connection.sendall(f"GET {impossible} HTTP/1.0\r\n\r\n".encode())
            assert b" 404 " in connection.recv(1000).split(b"\r\n")[0], impossible
    assert httpx.get(f"{root}index.html?q=%00").status_code == 200
    server.send_signal(signal.SIGINT)
    _, errors = server.communicate(timeout=10)
    assert errors.strip() == "Stopped."


def test_a_browser_that_leaves_and_ctrl_c_are_no_tracebacks(
    server: subprocess.Popen[str],
) -> None:
    root = httpx.URL(address(server))
    with socket.create_connection((root.host, root.port or 80)) as connection:
        connection.sendall(b"GET /big.txt HTTP/1.1\r\nHost: x\r\n\r\n")
        connection.recv(1000)
        linger = (1).to_bytes(4, sys.byteorder) + bytes(4)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    assert httpx.get(f"{root}index.html").status_code == 200
    time.sleep(0.3)
    server.send_signal(signal.SIGINT)
    _, errors = server.communicate(timeout=10)
    assert server.returncode == 0
    assert errors.strip() == "Stopped."


@pytest.mark.parametrize("port", ["99999", "-1"])
def test_a_port_that_cannot_be_is_refused_by_name(folder: Path, port: str) -> None:
    result = CliRunner().invoke(command, [str(folder), f"--port={port}"])
    assert result.exit_code == 2
    assert "0<=x<=65535" in result.output


LONG = "<p>A page of some length, as pages are. é</p>" * 100


def ask(root: str | httpx.URL, words: str) -> tuple[str, dict[str, str], bytes]:
    """Send a request as it stands here; return status, headers and body as they came."""
    address = httpx.URL(root)
    with socket.create_connection((address.host, address.port or 80)) as connection:
        connection.sendall(f"{words}\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
        received = b""
        while piece := connection.recv(1 << 16):
            received += piece
    head, _, body = received.partition(b"\r\n\r\n")
    status, *lines = head.decode().split("\r\n")
    return status, dict(line.lower().split(": ", 1) for line in lines), body


def test_texts_travel_compressed_where_the_browser_asks_for_it(
    folder: Path, server: subprocess.Popen[str]
) -> None:
    (folder / "long.html").write_text(LONG, encoding="utf-8")
    root = address(server)
    for asks in ("gzip", "deflate, gzip;q=0.5, br", "*", "GZIP"):
        _, headers, body = ask(
            root, f"GET /long.html HTTP/1.1\r\nAccept-Encoding: {asks}"
        )
        assert headers["content-encoding"] == "gzip", asks
        assert headers["vary"] == "accept-encoding"
        assert headers["content-type"] == "text/html; charset=utf-8"
        assert int(headers["content-length"]) == len(body) < len(LONG) / 10
        assert gzip.decompress(body).decode() == LONG
    for asks in ("", "br", "gzip;q=0", "identity, gzip;q=0.0"):
        _, headers, body = ask(
            root, f"GET /long.html HTTP/1.1\r\nAccept-Encoding: {asks}"
        )
        assert "content-encoding" not in headers, asks
        assert headers["vary"] == "accept-encoding"
        assert body.decode() == LONG
    (folder / "table.parquet").write_bytes(b"PAR1" * 1000)
    for name in ("table.parquet", "index.html"):  # no text; too short to gain anything
        _, headers, _ = ask(root, f"GET /{name} HTTP/1.1\r\nAccept-Encoding: gzip")
        assert "content-encoding" not in headers, name


def test_what_the_browser_has_is_not_sent_again(
    folder: Path, server: subprocess.Popen[str]
) -> None:
    (folder / "long.html").write_text(LONG, encoding="utf-8")
    root = address(server)
    packed = "GET /long.html HTTP/1.1\r\nAccept-Encoding: gzip"
    _, first, _ = ask(root, packed)
    _, plain, _ = ask(root, "GET /long.html HTTP/1.1")
    assert first["etag"] != plain["etag"]
    for line in (f"If-None-Match: W/\"x\", {first['etag']}", "If-None-Match: *",
                 f"If-Modified-Since: {first['last-modified'].title().replace('Gmt', 'GMT')}"):  # fmt: skip
        status, headers, body = ask(root, f"{packed}\r\n{line}")
        assert " 304 " in status, line
        assert body == b""
        assert headers["etag"] == first["etag"]
        assert headers["vary"] == "accept-encoding"
    for line in (f"If-None-Match: {plain['etag']}", "If-Modified-Since: nonsense",
                 "If-Modified-Since: Thu, 01 Jan 1970 00:00:00 GMT"):  # fmt: skip
        assert " 200 " in ask(root, f"{packed}\r\n{line}")[0], line
    (folder / "long.html").write_text(f"{LONG} ", encoding="utf-8")
    assert " 200 " in ask(root, f"{packed}\r\nIf-None-Match: {first['etag']}")[0]


def test_a_head_request_says_what_a_get_would(
    folder: Path, server: subprocess.Popen[str]
) -> None:
    (folder / "long.html").write_text(LONG, encoding="utf-8")
    root = address(server)
    rest = "/long.html HTTP/1.1\r\nAccept-Encoding: gzip"
    _, get, _ = ask(root, f"GET {rest}")
    status, head, body = ask(root, f"HEAD {rest}")
    assert " 200 " in status
    assert body == b""
    assert {k: v for k, v in head.items() if k != "date"} == {
        k: v for k, v in get.items() if k != "date"
    }


def test_one_connection_serves_many_requests(server: subprocess.Popen[str]) -> None:
    root = address(server)
    with httpx.Client(base_url=root) as client:
        for path in ("/index.html", "/nothing", "/index.html", "/prompt.txt"):
            assert client.get(path).status_code in {200, 404}
        assert client.get("/index.html").http_version == "HTTP/1.1"


def test_nothing_outside_the_folder_is_served(
    tmp_path: Path, server: subprocess.Popen[str], folder: Path
) -> None:
    (tmp_path.parent / "secret.txt").write_text("secret")
    (folder / ".helmsite-build").write_text("record")
    (folder / "runs").mkdir()
    (folder / "runs" / "index.html").write_text("runs")
    (folder / "empty").mkdir()
    (folder / "link.txt").symlink_to(tmp_path.parent / "secret.txt")
    (folder / "linked").symlink_to(tmp_path.parent)
    (folder / "circle").symlink_to(folder / "circle")
    os.mkfifo(folder / "pipe")
    root = address(server)
    for path in ("/../secret.txt", "/%2e%2e/secret.txt", "/runs/../../secret.txt", "/..%2fsecret.txt",
                 "//../secret.txt", "/..\\secret.txt", "/.helmsite-build", "/nothing", "/empty/",
                 "/empty", "/index.html/", f"//{folder}/../secret.txt", "/runs/index.html/x",
                 "/link.txt", "/linked/secret.txt", "/circle", "/pipe"):  # fmt: skip
        status, _, body = ask(root, f"GET {path} HTTP/1.1")
        assert " 404 " in status, path
        assert b"secret" not in body.replace(path.encode(), b""), path
    assert ask(root, "GET /runs/ HTTP/1.1")[2] == b"runs"
    assert ask(root, "GET / HTTP/1.1")[2] == "<p>café".encode()
    status, headers, _ = ask(root, "GET /runs?q=1 HTTP/1.1")
    assert " 301 " in status
    assert headers["location"] == "/runs/?q=1"
    status, headers, _ = ask(root, "GET //runs HTTP/1.1")
    assert headers["location"] == "/runs/"
    assert " 501 " in ask(root, "DELETE /index.html HTTP/1.1")[0]


def test_a_folder_that_is_replaced_goes_on_being_served(
    tmp_path: Path, folder: Path, server: subprocess.Popen[str]
) -> None:
    root = address(server)
    assert httpx.get(root).text == "<p>café"
    for n in range(5):
        new = tmp_path.parent / f"{folder.name}-new"
        new.mkdir()
        (new / "index.html").write_text(f"<p>{n}")
        folder.rename(tmp_path.parent / f"{folder.name}-old{n}")
        time.sleep(0.05)
        new.rename(folder)
        assert httpx.get(root).text == f"<p>{n}"


class Lines:
    """What a process prints, line by line, with an end to waiting."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.seen: list[str] = []
        self._process = process
        for stream in (process.stdout, process.stderr):
            assert stream is not None
            threading.Thread(target=self._read, args=(stream,), daemon=True).start()

    def _read(self, stream: TextIO) -> None:
        for line in stream:
            self.seen.append(line.rstrip())

    def wait(self, words: str, times: int = 1, seconds: float = 180) -> str:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            found = [line for line in list(self.seen) if words in line]
            if len(found) >= times:
                return found[-1]
            if self._process.poll() is not None:
                break
            time.sleep(0.05)
        raise AssertionError(f"{words!r} not printed {times} times: {self.seen}")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A starter project with two runs of one scenario."""
    folder = tmp_path_factory.mktemp("watched") / "mine"
    new_project(folder)
    loaded = load_project(folder)
    Runner(loaded, Archive(loaded.archive)).run(
        loaded.suite("first"), Choice(entries=("capitals",))
    )
    return folder


def test_a_site_follows_its_archive_settings_and_theme_while_it_is_served(
    project: Path,
) -> None:
    script = "from helmsite.cli import main, serve; serve.LOCAL_S = 0.2; main()"
    command = [sys.executable, "-c", script, "serve", "--port", "0"]
    with subprocess.Popen(
        command, cwd=project, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            lines = Lines(process)
            root = re.findall(r"http://[\d.:]+/", lines.wait("Ctrl-C stops it"))[0]
            lines.wait("Built in")
            assert "My evaluation" in httpx.get(root).text

            made = Archive(project / "runs").write_run(*small(3))
            lines.wait(f"Building again: run {made.run_id} added.")
            lines.wait("Built in", 2)
            page = f"{root}runs/{made.run_id}/index.html"
            assert httpx.get(page).status_code == 200

            settings = project / "helmsite.toml"
            text = settings.read_text(encoding="utf-8")
            settings.write_text(text.replace("[site]", "[site"), encoding="utf-8")
            lines.wait("cannot be read as TOML")
            assert httpx.get(page).status_code == 200
            theme = '[site]\noverrides = "theme"'
            (project / "theme" / "templates").mkdir(parents=True)
            settings.write_text(text.replace("[site]", theme), encoding="utf-8")
            lines.wait("Building again: helmsite.toml changed.")
            lines.wait("Built in", 3)

            template = project / "theme" / "templates" / "runs.html"
            template.write_text("{{ nothing_of_that_name }}", encoding="utf-8")
            lines.wait("Building again: runs.html changed.")
            lines.wait("the old one stays")
            assert httpx.get(page).status_code == 200
            template.unlink()
            lines.wait("Building again: runs.html changed.", 2)
            lines.wait("Built in", 4)

            Archive(project / "runs").remove(made.run_id)
            lines.wait(f"Building again: run {made.run_id} removed.")
            lines.wait("Built in", 5)
            assert httpx.get(page).status_code == 404
            process.send_signal(signal.SIGINT)
            process.wait(10)
        finally:
            process.kill()
    assert process.returncode == 0
    assert lines.seen[-1] == "Stopped."
    assert not [line for line in lines.seen if "Traceback" in line]
    assert not list(project.glob(".site.*"))


def test_what_changed_is_told_in_words(project: Path) -> None:
    watch = Watch(Place(project))
    first = watch.look()
    assert first.mark == watch.look().mark
    archive = Archive(project / "runs")
    made = [
        archive.write_run(*small(n, origin=name)) for n, name in ((2, "a"), (3, "b"))
    ]
    second = watch.look()
    assert changes(first, second) == ["2 runs added"]
    archive.remove(made[0].run_id)
    archive.write_run(*small(4, origin="b"))
    third = watch.look()
    assert changes(second, third) == [
        f"run {made[1].run_id} changed",
        f"run {made[0].run_id} removed",
    ]
    archive.write_published("s", "batch", [])
    fourth = watch.look()
    assert changes(third, fourth) == ["published results changed"]
    archive.remove(made[1].run_id)


def test_a_project_without_an_archive_is_told_what_to_do(tmp_path: Path) -> None:
    new_project(tmp_path)
    command = [sys.executable, "-m", "helmsite", "serve", "--port", "0"]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 5
    assert "`helmsite run` makes one" in done.stderr
    assert "Build it first" in done.stderr


@pytest.mark.parametrize("kill", [os.kill, os.killpg])
def test_ctrl_c_in_the_first_build_is_told_once(
    project: Path, tmp_path: Path, kill: Callable[[int, int], None]
) -> None:
    command = [sys.executable, "-m", "helmsite", "serve", str(tmp_path / "site"),
               "--port", "0", "-p", str(project)]  # fmt: skip
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        until = time.monotonic() + 30
        while not list(tmp_path.glob(".site.building-*")):
            assert time.monotonic() < until
            time.sleep(0.005)
        kill(process.pid, signal.SIGINT)
        _, errors = process.communicate(timeout=30)
    assert errors.split() == ["Stopped."]
    assert process.returncode == 130
    assert not list(tmp_path.glob(".site.*"))


@pytest.mark.parametrize(
    "words", [["{site}"], ["{site}", "--no-watch"], ["--no-watch"]]
)
def test_a_site_is_served_as_it_is_where_that_is_asked_for(
    tmp_path: Path, words: list[str]
) -> None:
    new_project(tmp_path)
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "index.html").write_text("as it is")
    command = [sys.executable, "-m", "helmsite", "serve", "--port", "0",
               *[w.format(site=tmp_path / "site") for w in words]]  # fmt: skip
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        root = address(process)
        time.sleep(1)
        assert httpx.get(root).text == "as it is"
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=10)
    assert errors.strip() == "Stopped."


def test_a_theme_whose_folders_come_and_go_is_looked_at_all_the_same(
    tmp_path: Path,
) -> None:
    project = tmp_path / "mine"
    new_project(project)
    Archive(project / "runs").write_run(*small(2, origin="a"))
    theme = project / "theme"
    theme.mkdir()
    settings = (project / "helmsite.toml").read_text()
    (project / "helmsite.toml").write_text(
        settings.replace("[site]", '[site]\noverrides = "theme"', 1)
    )
    stopped = threading.Event()

    def churn() -> None:
        while not stopped.is_set():
            for n in range(30):
                (theme / f"d{n}" / "e").mkdir(parents=True, exist_ok=True)
            for n in range(30):
                shutil.rmtree(theme / f"d{n}")

    worker = threading.Thread(target=churn)
    worker.start()
    try:
        watch = Watch(Place(project))
        assert {watch.look().problem for _ in range(400)} == {""}
    finally:
        stopped.set()
        worker.join()
