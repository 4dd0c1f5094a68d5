"""Built sites, served under a prefix and opened from a disk, and a watched Chromium.

What costs most in these tests is to start a page's process, so pages are kept and given to
one test after the other, emptied in between. `open_page(path, fresh=True)` opens a page in
a context that nobody used before and nobody will use again.
"""

from __future__ import annotations

import functools
import gzip
import http.server
import json
import threading
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from filelock import FileLock

from helmsite.config import SiteConfig
from helmsite.render import build
from tests.site_source import FakeResults

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page
    from playwright.sync_api import Request as Sent

    Open = Callable[..., Page]

CHROMIUM = "/usr/bin/chromium"
VIEWPORT = {"width": 1280, "height": 860}
PACKED = (".html", ".js", ".css", ".svg", ".txt", ".json")


def once(
    tmp_path_factory: pytest.TempPathFactory, name: str, make: Callable[[Path], None]
) -> Path:
    """Return a folder that `make` filled, once for all processes of a test run."""
    base = tmp_path_factory.getbasetemp()
    if base.name.startswith(
        "popen-"
    ):  # a process of pytest-xdist: go to what they share
        base = base.parent
    folder = base / f"once-{name}"
    with FileLock(base / f"once-{name}.lock"):
        if not (folder / "done").exists():
            folder.mkdir(exist_ok=True)
            make(folder)
            (folder / "done").touch()
    return folder


# ---- Servers


class PackedHandler(http.server.SimpleHTTPRequestHandler):
    """Serves files as a host does: texts packed, where the browser takes that."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments: object) -> None:
        """Keep the test's output clean."""

    def do_GET(self) -> None:
        path = Path(self.translate_path(self.path))
        packs = "gzip" in self.headers.get("Accept-Encoding", "")
        if not packs or path.suffix not in PACKED or not path.is_file():
            super().do_GET()
            return
        body = gzip.compress(path.read_bytes(), compresslevel=6, mtime=0)
        self.send_response(200)
        self.send_header("Content-Type", self.guess_type(str(path)))
        self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class QuietServer(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser may leave whenever it wants."""


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """Serve a folder at the address of its parent's parent: under a prefix."""
    base = folder.parents[1]
    handler = functools.partial(PackedHandler, directory=str(base))
    with QuietServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/{folder.relative_to(base)}"
        server.shutdown()
        thread.join()


@pytest.fixture(scope="session")
def serve() -> Iterator[Callable[[Path], str]]:
    """Return the address of a folder, for as long as the tests run."""
    known: dict[Path, str] = {}
    running = []

    def address(folder: Path) -> str:
        if folder not in known:
            running.append(serving(folder))
            known[folder] = running[-1].__enter__()
        return known[folder]

    yield address
    for server in running:
        server.__exit__(None, None, None)


@pytest.fixture(params=["http", "file"])
def address(
    request: pytest.FixtureRequest, serve: Callable[[Path], str]
) -> Callable[[Path], str]:
    """Say where a folder is: on a server, and on a disk."""
    return serve if request.param == "http" else Path.as_uri


# ---- Sites


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site of `FakeResults`, under two folders."""
    out = tmp_path_factory.mktemp("www") / "under" / "prefix"
    build(FakeResults(), out, SiteConfig(title="Demo evaluations"))
    return out


@pytest.fixture(scope="session")
def served(site: Path, serve: Callable[[Path], str]) -> str:
    """The site's address on a real server, under a prefix."""
    return serve(site)


@pytest.fixture
def root(site: Path, address: Callable[[Path], str]) -> str:
    """Where the site is: on a server, and on a disk."""
    return address(site)


# ---- Chromium


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    api = pytest.importorskip("playwright.sync_api")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox"]
        )
        yield browser
        browser.close()


class Pages:
    """Pages by their options; a test borrows them and complains of what went wrong."""

    def __init__(self, chromium: Browser) -> None:
        self.chromium = chromium
        self.free: dict[str, list[Page]] = {}
        self.lent: list[tuple[str, Page]] = []
        self.fresh: list[BrowserContext] = []
        self.roots: list[str] = []
        self.troubles: list[str] = []

    def open(
        self, root: str, path: str, fresh: bool = False, **options: object
    ) -> Page:
        settings: dict[str, Any] = {
            "viewport": VIEWPORT,
            "permissions": ["clipboard-read", "clipboard-write"],
            **options,
        }
        page = self._new(settings) if fresh else self._borrow(root, settings)
        if fresh:
            self.fresh.append(page.context)
        self.roots.append(root)
        page.goto(f"{root}/{path}")
        return page

    def close(self) -> list[str]:
        """Take all pages back; return what went wrong."""
        for context in self.fresh:
            context.close()
        for key, page in self.lent:
            if page.is_closed():
                continue
            if '"java_script_enabled": false' not in key:
                page.evaluate("localStorage.clear(); sessionStorage.clear();")
            page.unroute_all()
            page.goto("about:blank")
            self.free.setdefault(key, []).append(page)
        found, self.troubles = self.troubles, []
        self.lent, self.fresh, self.roots = [], [], []
        return found

    def _borrow(self, root: str, settings: dict[str, Any]) -> Page:
        key = f"{root[:4]} {json.dumps(settings, sort_keys=True)}"
        pages = self.free.setdefault(key, [])
        page = pages.pop() if pages else self._new(settings)
        page.set_viewport_size(settings["viewport"])
        page.emulate_media(color_scheme=settings.get("color_scheme", "light"))
        self.lent.append((key, page))
        return page

    def _new(self, settings: dict[str, Any]) -> Page:
        page = self.chromium.new_context(**settings).new_page()
        page.on("console", self._said)
        page.on("pageerror", lambda error: self.troubles.append(str(error)))
        page.on("dialog", self._asked)
        page.on("request", self._sent)
        page.on("requestfailed", self._failed)
        return page

    def _said(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            self.troubles.append(message.text)

    def _asked(self, dialog: Any) -> None:
        self.troubles.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _sent(self, request: Sent) -> None:
        if not request.url.startswith((*self.roots, "data:", "about:")):
            self.troubles.append(request.url)

    def _failed(self, request: Sent) -> None:
        if request.failure != "net::ERR_ABORTED":  # that is a page left early
            self.troubles.append(f"failed: {request.url}")


@pytest.fixture(scope="session")
def all_pages(chromium: Browser) -> Pages:
    return Pages(chromium)


@pytest.fixture
def pages(all_pages: Pages) -> Iterator[Pages]:
    """Pages for one test, of any site: no error, no foreign request, no dialog."""
    yield all_pages
    assert all_pages.close() == []


@pytest.fixture
def open_page(pages: Pages, root: str) -> Open:
    """Open a page of the site; at the end, complain of errors and foreign requests."""
    return functools.partial(pages.open, root)


@pytest.fixture(scope="session")
def axe() -> str:
    """The source of axe-core, which finds what hinders people."""
    source = resources.files("axe_playwright_python") / "axe.min.js"
    return source.read_text(encoding="utf-8")


def serious(violations: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    """Return what of axe's findings keeps somebody out, with its first places."""
    return [
        (v["id"], node["html"][:160], node["failureSummary"][:240])
        for v in violations
        if v["impact"] in {"serious", "critical"}
        for node in v["nodes"][:3]
    ]
