"""A small HTTP server for a folder of static files: gzip, 304, nothing from outside it."""

from __future__ import annotations

import gzip
import os
import sys
import time
from email.utils import formatdate, parsedate_to_datetime
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO
from urllib.parse import quote, unquote, urlsplit

from helmsite.cli.destination import KINDS

if TYPE_CHECKING:
    from os import stat_result

SMALLEST, LARGEST = 600, 32 << 20  # bytes of a text that is worth compressing
SWAP_S = 0.5
IDLE_S = 30


class Server(ThreadingHTTPServer):
    """Serves each connection in a thread; a browser may leave whenever it wants."""

    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of closed connections; show any other error."""
        if not isinstance(sys.exception(), ConnectionError | TimeoutError):
            super().handle_error(request, client_address)


class Files(SimpleHTTPRequestHandler):
    """Serves the files of a folder as a static host does, without a line per request.

    A path is looked up anew for each request: the folder may be replaced at any time.
    """

    protocol_version = "HTTP/1.1"
    server_version = "helmsite"
    sys_version = ""
    timeout = IDLE_S

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""
        del format, args

    def end_headers(self) -> None:
        """Add that a browser must not guess a file's type by its content."""
        self.send_header("X-Content-Type-Options", "nosniff")
        super().end_headers()

    def send_head(self) -> BytesIO | BinaryIO | None:
        """Send the status and headers; return what of the body is to be sent."""
        place = self._place()
        if place is None:
            self.send_error(HTTPStatus.NOT_FOUND, "File not found")
            return None
        if place.is_dir():
            address = urlsplit(self.path)
            query = f"?{address.query}" if address.query else ""
            path = "/" + quote(unquote(address.path).strip("/\\")) + "/"
            self._plain(HTTPStatus.MOVED_PERMANENTLY, [("Location", path + query)])
            return None
        try:
            file = place.open("rb")
        except OSError:
            self.send_error(HTTPStatus.NOT_FOUND, "File not found")
            return None
        return self._file(place, file)

    def _place(self) -> Path | None:
        """Return the file that a request asks for, or a folder whose / it left out."""
        try:
            place = Path(self.translate_path(self.path))
            root = Path(self.directory)
            until = time.monotonic() + SWAP_S
            while not root.is_dir() and time.monotonic() < until:
                time.sleep(0.01)  # a new site takes the place of the old one
            is_folder = unquote(urlsplit(self.path).path).endswith("/")
            if is_folder and place.is_dir():
                place /= "index.html"
            elif is_folder or (place.is_dir() and not (place / "index.html").is_file()):
                return None
            hidden = any(part.startswith(".") for part in place.relative_to(root).parts)
            inside = place.resolve().is_relative_to(root.resolve())
            sound = inside and (place.is_file() or place.is_dir())
            return None if hidden or not sound else place
        except (OSError, RuntimeError, ValueError):
            return None  # no file system can hold such a path, or links run in a circle

    def _file(self, place: Path, file: BinaryIO) -> BytesIO | BinaryIO | None:
        facts = os.fstat(file.fileno())
        kind = KINDS.get(place.suffix.lower(), "application/octet-stream")
        is_text = "charset=" in kind
        packed = is_text and SMALLEST <= facts.st_size <= LARGEST and self._takes_gzip()
        tag = f'"{facts.st_mtime_ns:x}-{facts.st_size:x}{"-gz" if packed else ""}"'
        shared = [
            ("ETag", tag),
            ("Last-Modified", formatdate(facts.st_mtime, usegmt=True)),
            ("Cache-Control", "no-cache"),
            *([("Vary", "Accept-Encoding")] if is_text else []),
        ]
        if self._is_known(tag, facts):
            file.close()
            self._plain(HTTPStatus.NOT_MODIFIED, shared)
            return None
        body: BytesIO | BinaryIO = file
        length = facts.st_size
        if packed:
            with file:
                data = gzip.compress(file.read(), 6, mtime=0)
            body, length = BytesIO(data), len(data)
            shared.append(("Content-Encoding", "gzip"))
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(length))
        for name, value in shared:
            self.send_header(name, value)
        self.end_headers()
        return body

    def _plain(self, status: HTTPStatus, headers: list[tuple[str, str]]) -> None:
        """Send an answer without a body."""
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        if status != HTTPStatus.NOT_MODIFIED:
            self.send_header("Content-Length", "0")
        self.end_headers()

    def _takes_gzip(self) -> bool:
        """Return whether the browser has asked for gzip, and not with q=0."""
        for each in self.headers.get("Accept-Encoding", "").lower().split(","):
            name, _, rest = each.partition(";")
            if name.strip() in {"gzip", "*"}:
                value = rest.replace(" ", "").removeprefix("q=")
                return value.strip("0.") != "" or value == ""
        return False

    def _is_known(self, tag: str, facts: stat_result) -> bool:
        """Return whether the browser has this very file already."""
        tags = self.headers.get("If-None-Match")
        if tags is not None:
            known = {each.strip().removeprefix("W/") for each in tags.split(",")}
            return tag in known or "*" in known
        since = self.headers.get("If-Modified-Since")
        try:
            when = parsedate_to_datetime(since) if since else None
            return when is not None and int(facts.st_mtime) <= when.timestamp()
        except (TypeError, ValueError, OverflowError):
            return False
