"""`helmsite serve` as a process of its own, asked over real connections."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import httpx
import pytest
from click.testing import CliRunner

from helmsite.cli.serve import command

if TYPE_CHECKING:
    from collections.abc import Iterator
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
