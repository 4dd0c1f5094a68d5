"""`helmsite serve`: look at a site, and see it follow what changes."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from helmsite.cli.options import FOLDER, place, visible
from helmsite.errors import BuildError

if TYPE_CHECKING:
    from helmsite.cli.options import Place
    from helmsite.cli.serving import Server
    from helmsite.cli.watching import Seen

LOCAL_S, REMOTE_S = 2.0, 30.0
GRACE_S = 1.0
INTERRUPTED = 130


@click.command()
@click.argument("site", metavar="[FOLDER]", type=FOLDER, required=False)
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
@click.option(
    "--watch/--no-watch",
    default=None,
    help="Build again when the archive, helmsite.toml or the theme change (default: "
    "where the project's own site is served, or --project or --archive is given).",
)
@place
def command(
    place: Place, site: Path | None, port: int, host: str, watch: bool | None
) -> None:
    """Serve the site in FOLDER (default: site, of the project) until Ctrl-C.

    In a project the site is built first, and again whenever what it is made of changes;
    the old one is served meanwhile, and stays where a build fails.
    """
    given = place.folder != Path() or place.archive_url is not None
    if watch is None:
        watch = given or (site is None and _is_project(place))
    site = site or place.folder / "site"
    follow = Follow(place, site) if watch else None
    has_site = (site / "index.html").is_file()
    if follow and not has_site:
        has_site = follow.build()
    if not has_site:
        raise BuildError(
            f"There is no site in {site}.", "Build it first: `helmsite build`."
        )
    with _server(site, host, port) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        click.echo(
            f"{site} is at http://{host}:{server.server_port}/ (Ctrl-C stops it)"
        )
        try:
            if follow:
                follow.forever()
            while thread.is_alive():
                thread.join(1.0)
        except KeyboardInterrupt:
            click.echo("\nStopped.", err=True)
        except SystemExit:  # a build that went on has said so
            pass
        server.shutdown()


def _is_project(place: Place) -> bool:
    from helmsite.config import CONFIG_NAME

    return (place.folder / CONFIG_NAME).is_file()


def _server(site: Path, host: str, port: int) -> Server:
    from helmsite.cli.serving import Files, Server

    try:
        return Server((host, port), partial(Files, directory=str(site.absolute())))
    except OSError as error:
        raise BuildError(
            f"Cannot listen on {host}:{port}: {error.strerror}.",
            "Choose another port: --port 0 takes a free one.",
        ) from error


class Follow:
    """Keeps a site in step with its archive, settings and theme.

    Each build is a process of its own: it shares no memory with the server, and where it
    fails it tells why and leaves the old site.
    """

    def __init__(self, place: Place, site: Path) -> None:
        from helmsite.cli.watching import Watch

        self._watch = Watch(place)
        self._words = ["-p", str(place.folder), "-o", str(site)]
        if place.archive_url is not None:
            self._words += ["-a", place.archive_url]
        self._built: Seen | None = None

    def build(self) -> bool:
        """Build the site of what there is now; return whether that went well."""
        self._built = self._watch.look()
        command = [sys.executable, "-m", "helmsite", "build", *self._words]
        started = time.monotonic()
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:  # noqa: S603
            try:
                process.wait()
            except KeyboardInterrupt:
                _stop(process)
                raise
        if process.returncode == 0:
            click.echo(f"Built in {time.monotonic() - started:.1f} s.")
        return process.returncode == 0

    def forever(self) -> None:
        """Look and build until Ctrl-C."""
        from helmsite.cli.watching import changes

        if self._built is None:
            self._try()
        problem = ""
        while True:
            time.sleep(LOCAL_S if self._watch.is_local else REMOTE_S)
            seen = self._watch.look()
            if seen.problem and seen.problem != problem:
                click.secho(visible(seen.problem), fg="red", err=True)
            problem = seen.problem
            assert self._built is not None
            if not problem and seen.mark != self._built.mark:
                what = ", ".join(changes(self._built, seen))
                click.echo(visible(f"Building again: {what}."))
                self._try()

    def _try(self) -> None:
        if not self.build():
            click.secho(
                "The site was not built: the old one stays.", fg="red", err=True
            )


def _stop(process: subprocess.Popen[bytes]) -> None:
    """End a build that is not wanted any more, and this process too if it says so itself.

    Ctrl-C in a terminal reaches it as well; a signal to this process alone does not.
    """
    try:
        process.wait(GRACE_S)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(10 * GRACE_S)
        except subprocess.TimeoutExpired:
            process.kill()
    if process.wait() == INTERRUPTED:
        raise SystemExit(INTERRUPTED)
