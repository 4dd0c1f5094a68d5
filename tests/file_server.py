"""A real HTTP server on this machine that can do all that servers of data sets do wrong."""

from __future__ import annotations

import json
import socket
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass
class Answer:
    """How a path is answered.

    Args:
        data: the whole file.
        codes: status codes of the first answers, before the file is sent.
        cuts: how many bytes the first answers send before the connection breaks.
        ranges: whether the server can go on in the middle.
        tag: the file's ETag, '' for none.
        to: where the path is moved.
        pause: seconds before each 1,000 bytes.
    """

    data: bytes = b""
    codes: list[int] = field(default_factory=list)
    cuts: list[int] = field(default_factory=list)
    ranges: bool = True
    tag: str = '"v1"'
    to: str = ""
    pause: float = 0.0
    kind: str = "application/octet-stream"
    headers: dict[str, str] = field(default_factory=dict)
    no_length: bool = False


@dataclass
class Server:
    """The server's address, what it answers, and what it was asked."""

    url: str = ""
    answers: dict[str, Answer] = field(default_factory=dict)
    asked: list[tuple[str, dict[str, str]]] = field(default_factory=list)

    def paths(self) -> list[str]:
        return [path for path, _ in self.asked]

    def ranges(self) -> list[str]:
        return [headers.get("range", "") for _, headers in self.asked]

    def listing(self, path: str, files: list[str]) -> None:
        rows = [{"type": "file", "path": each, "size": 1} for each in files]
        rows.append({"type": "directory", "path": "elsewhere", "size": 0})
        self.answers[path] = Answer(json.dumps(rows).encode(), kind="application/json")


class _Handler(BaseHTTPRequestHandler):
    server_of: ClassVar[Server]
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: Any) -> None:
        """Stay silent."""

    def do_GET(self) -> None:
        headers = {k.lower(): v for k, v in self.headers.items()}
        self.server_of.asked.append((self.path, headers))
        answer = self.server_of.answers.get(self.path)
        code = 404 if answer is None else answer.codes.pop(0) if answer.codes else 0
        if answer is None or code:
            self._plain(code, {"Retry-After": "0"})
        elif answer.to:
            self._plain(302, {"Location": answer.to})
        else:
            with suppress(BrokenPipeError, ConnectionResetError):
                self._send(answer, headers)

    def _plain(self, code: int, headers: dict[str, str]) -> None:
        self.send_response(code)
        for name, value in {**headers, "Content-Length": "0"}.items():
            self.send_header(name, value)
        self.end_headers()

    def _send(self, answer: Answer, headers: dict[str, str]) -> None:
        start = 0
        asked = headers.get("range", "")
        fits = headers.get("if-range", answer.tag) == answer.tag
        if asked and answer.ranges and fits:
            start = int(asked.removeprefix("bytes=").removesuffix("-"))
            if start >= len(answer.data):
                self._plain(416, {})
                return
        data = answer.data[start:]
        self.send_response(206 if start else 200)
        if not answer.no_length:
            self.send_header("Content-Length", str(len(data)))
        if start:
            last = len(answer.data) - 1
            self.send_header("Content-Range", f"bytes {start}-{last}/{last + 1}")
        if answer.tag:
            self.send_header("ETag", answer.tag)
        self.send_header("Content-Type", answer.kind)
        self.send_header("Connection", "close")
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.end_headers()
        cut = answer.cuts.pop(0) if answer.cuts else len(data)
        for at in range(0, cut, 1000):
            if answer.pause:
                time.sleep(answer.pause)
            self.wfile.write(data[at : min(at + 1000, cut)])
        self.wfile.flush()
        self.close_connection = True
        if cut < len(data):
            self.connection.shutdown(socket.SHUT_RDWR)


def serving() -> Iterator[Server]:
    """Yield a running server."""
    found = Server()
    handler = type("Handler", (_Handler,), {"server_of": found})
    httpd = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    httpd.daemon_threads = True
    found.url = f"http://127.0.0.1:{httpd.server_address[1]}"
    thread = threading.Thread(target=httpd.serve_forever, args=(0.05,))
    thread.start()
    yield found
    httpd.shutdown()
    httpd.server_close()
    thread.join()
