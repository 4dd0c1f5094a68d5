"""`helmsite serve`: look at a built site."""

from __future__ import annotations

import sys
from functools import partial
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from helmsite.cli.options import FOLDER
from helmsite.errors import BuildError

if TYPE_CHECKING:
    from io import BytesIO


class Quiet(SimpleHTTPRequestHandler):
    """Serves files without a line for each request; texts are told to be UTF-8."""

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""
        del format, args

    def end_headers(self) -> None:
        """Add that a browser must not guess a file's type by its content."""
        self.send_header("X-Content-Type-Options", "nosniff")
        super().end_headers()

    def send_head(self) -> BytesIO | BinaryIO | None:
        """Answer 404 to a path that no file system can hold."""
        try:
            return super().send_head()
        except ValueError:
            self.send_error(HTTPStatus.NOT_FOUND, "File not found")
            return None

    def guess_type(self, path: Any) -> str:
        """Return a file's media type, that of a text with its encoding."""
        kind = super().guess_type(path)
        is_text = kind.startswith("text/") or kind.endswith(("json", "javascript"))
        return f"{kind}; charset=utf-8" if is_text else kind


class Server(ThreadingHTTPServer):
    """Serves each request in a thread; a browser may leave whenever it wants."""

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of closed connections; show any other error."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


@click.command()
@click.argument("folder", type=FOLDER, default=Path("site"))
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8000,
    show_default=True,
    help="0 picks a free one.",
)
@click.option(
    "--host", default="127.0.0.1", show_default=True, help="Address to listen on."
)
def command(folder: Path, port: int, host: str) -> None:
    """Serve the site in FOLDER (default: site) until Ctrl-C."""
    if not (folder / "index.html").is_file():
        raise BuildError(
            f"There is no site in {folder}.", "Build it first: `helmsite build`."
        )
    try:
        server = Server((host, port), partial(Quiet, directory=str(folder)))
    except OSError as error:
        raise BuildError(
            f"Cannot listen on {host}:{port}: {error.strerror}.",
            "Choose another port: --port 0 takes a free one.",
        ) from error
    with server:
        try:
            click.echo(
                f"{folder} is at http://{host}:{server.server_port}/ (Ctrl-C stops it)"
            )
            server.serve_forever()
        except KeyboardInterrupt:
            click.echo("\nStopped.", err=True)
