"""A built site, served under a prefix and opened from a disk, and a watched Chromium."""

from __future__ import annotations

import functools
import http.server
import threading
from typing import TYPE_CHECKING, Any

import pytest

from helmsite.config import SiteConfig
from helmsite.render import build
from tests.site_source import FakeResults

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Page, Request

CHROMIUM = "/usr/bin/chromium"


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *arguments: object) -> None:
        """Keep the test's output clean."""


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("www") / "under" / "prefix"
    build(FakeResults(), out, SiteConfig(title="Demo evaluations"))
    return out


@pytest.fixture(scope="session")
def served(site: Path) -> Iterator[str]:
    """The site's address on a real server, under a prefix."""
    handler = functools.partial(QuietHandler, directory=str(site.parents[1]))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/under/prefix"
        server.shutdown()
        thread.join()


@pytest.fixture(params=["http", "file"])
def root(request: pytest.FixtureRequest, site: Path) -> str:
    """Where the site is: on a server, and on a disk."""
    if request.param == "file":
        return site.as_uri()
    return str(request.getfixturevalue("served"))


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    api = pytest.importorskip("playwright.sync_api")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox"]
        )
        yield browser
        browser.close()


@pytest.fixture
def open_page(chromium: Browser, root: str) -> Iterator[Callable[..., Page]]:
    """Open a page of the site; at the end, complain of errors and foreign requests."""
    troubles: list[str] = []
    contexts = []

    def failed(request: Request) -> None:
        if request.failure != "net::ERR_ABORTED":  # that is a page left early
            troubles.append(f"failed: {request.url}")

    def watch(page: Page) -> None:
        page.on(
            "console",
            lambda m: (
                troubles.append(m.text) if m.type in {"error", "warning"} else None
            ),
        )
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("dialog", lambda dialog: troubles.append(dialog.message))
        page.on(
            "request",
            lambda r: (
                None if r.url.startswith((root, "data:")) else troubles.append(r.url)
            ),
        )
        page.on("requestfailed", failed)

    def opened(path: str, **options: object) -> Page:
        settings: dict[str, Any] = {
            "viewport": {"width": 1280, "height": 860},
            "permissions": ["clipboard-read", "clipboard-write"],
            **options,
        }
        context = chromium.new_context(**settings)
        contexts.append(context)
        page = context.new_page()
        watch(page)
        page.goto(f"{root}/{path}")
        return page

    yield opened
    for context in contexts:
        context.close()
    assert troubles == []
