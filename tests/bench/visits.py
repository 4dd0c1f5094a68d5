"""What a browser that has never seen the site loads of it, and how long that takes."""

from __future__ import annotations

import re
import statistics
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser

TIMES = 5
SLOW = {  # a good phone: 60 ms, 10 Mbit/s down, 4 up
    "offline": False,
    "latency": 60,
    "downloadThroughput": 10e6 / 8,
    "uploadThroughput": 4e6 / 8,
}
SHOWN = """() => {
  const target = document.querySelector(":target");
  if (!location.hash) return true;
  if (!target) return false;
  const box = target.getBoundingClientRect();
  return box.top < innerHeight && box.bottom > 0;
}"""
TIMING = """() => {
  const paint = performance.getEntriesByName("first-contentful-paint")[0];
  const load = performance.getEntriesByType("navigation")[0];
  return [paint ? paint.startTime : null, load.loadEventEnd];
}"""


class Visit(NamedTuple):
    """One cold page: bytes on the wire, requests, those to elsewhere, milliseconds."""

    kb: float
    requests: int
    foreign: int
    paint: float
    load: float


def visit(browser: Browser, address: str, *, slow: bool = False) -> Visit:
    """Open a page with an empty cache, several times; return the medians."""
    found = [_once(browser, address, slow=slow) for _ in range(TIMES)]
    first = found[0]
    return Visit(
        max(v.kb for v in found),
        max(v.requests for v in found),
        first.foreign,
        statistics.median(v.paint for v in found),
        statistics.median(v.load for v in found),
    )


def _once(browser: Browser, address: str, *, slow: bool) -> Visit:
    context = browser.new_context(viewport={"width": 1280, "height": 860})
    try:
        page = context.new_page()
        session = context.new_cdp_session(page)
        session.send("Network.enable")
        if slow:
            session.send("Network.emulateNetworkConditions", SLOW)
        asked: list[str] = []
        sizes: list[float] = []

        def on_request(event: dict[str, Any]) -> None:
            asked.append(event["request"]["url"])

        session.on("Network.requestWillBeSent", on_request)
        session.on(
            "Network.loadingFinished", lambda e: sizes.append(e["encodedDataLength"])
        )
        page.goto(address, wait_until="load")
        page.wait_for_timeout(300)  # what a script asks for after the load counts too
        if not page.evaluate(SHOWN):
            raise RuntimeError(f"{address} does not show what it names")
        paint, load = page.evaluate(TIMING)
        if paint is None:
            raise RuntimeError(f"{address} painted nothing")
        here = urlsplit(address)
        own = (here.scheme, here.netloc)
        parts = [urlsplit(a) for a in asked if not a.startswith("data:")]
        foreign = sum((p.scheme, p.netloc) != own for p in parts)
        return Visit(sum(sizes) / 1000, len(parts), foreign, paint, load)
    finally:
        context.close()


@contextmanager
def chromium(path: str) -> Iterator[Browser]:
    """Start the system's Chromium."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=path, args=["--no-sandbox"]
        )
        yield browser
        browser.close()


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve a site as `helmsite serve` does; yield its address."""
    command = [sys.executable, "-u", "-m", "helmsite", "serve", "--port", "0"]
    process = subprocess.Popen(
        [*command, str(folder)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        assert process.stdout is not None
        said = ""
        for line in process.stdout:
            said += line
            if found := re.search(r"http://[\w.:]+", line):
                yield found[0]
                break
        else:
            raise RuntimeError(f"helmsite serve said: {said}")
    finally:
        process.terminate()
        process.wait()
