"""Results without instances in Chromium: from a cell to its source, charts, and for everybody."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from helmsite.config import SiteConfig
from helmsite.query import Results
from helmsite.render import build
from tests.browser.conftest import serious
from tests.browser.test_access import COLOURS, NARROW, OPEN, OUT, WIDE
from tests.published_results import write

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.browser.conftest import Pages

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def papers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("papers") / "under"
    site = SiteConfig(title="Papers")
    with Results(write(folder / "runs"), site, cache=None) as results:
        build(results, folder / "site", site)
    return folder / "site"


@pytest.fixture
def place(papers: Path, address: Callable[[Path], str]) -> str:
    """Where the site is: on a server, and on a disk."""
    return address(papers)


def test_a_reported_cell_says_so_and_leads_to_its_line(
    pages: Pages, place: str
) -> None:
    page = pages.open(place, "index.html")
    link = page.locator("#board td[data-r] > a").first
    link.hover()
    said = link.get_attribute("title")
    assert said is not None
    assert said.startswith("Accuracy 0.")
    assert said.endswith("as reported by its source, without instances")
    assert "95 % interval" in said
    assert link.evaluate("e => getComputedStyle(e).fontStyle") == "italic"
    link.click()
    line = page.locator("tr:target")
    line.wait_for()
    assert "se 0.0125" in line.inner_text()


def test_other_checkpoints_are_reached_from_a_cell(pages: Pages, place: str) -> None:
    page = pages.open(place, "index.html")
    others = 'a[title^="4 other results"]'
    cell = page.locator(f"#board td:has({others}) > a").first
    cell.hover()
    assert "4 other results not shown here" in (cell.get_attribute("title") or "")
    page.locator(f"#board {others}").first.click()
    page.wait_for_url("**#reported")
    assert page.locator("#variants tbody tr").count() == 5
    page.locator('svg[aria-label$="by training step"] circle').first.click()
    assert page.locator("h1").inner_text().endswith(".json")


def test_rows_of_one_model_are_told_apart_and_sorted(
    tmp_path: Path, pages: Pages
) -> None:
    site = SiteConfig(title="Papers", rows="revision")
    with Results(write(tmp_path / "runs"), site, cache=None) as results:
        build(results, tmp_path / "site", site)
    page = pages.open(tmp_path.as_uri(), "site/index.html?q=step512")
    rows = page.locator("#board tbody tr:visible")
    assert rows.count() == 1
    assert "oak-410m step512" in " ".join(rows.inner_text().split())


KINDS = {
    "board": "index.html",
    "scenario": "scenarios/lambada/index.html",
    "model": "models/*410m*/index.html",
    "source": "sources/papers/lm_eval/*410m-step0*.html",
    "sources": "sources/index.html",
    "runs": "runs/index.html",
    "models": "models/index.html",
}


@pytest.mark.parametrize("kind", KINDS)
def test_axe_finds_nothing_serious_and_nothing_sticks_out(
    pages: Pages, papers: Path, serve: Callable[[Path], str], axe: str, kind: str
) -> None:
    (found,) = papers.glob(KINDS[kind])
    path = found.relative_to(papers).as_posix()
    page = pages.open(serve(papers), path, bypass_csp=True, viewport=NARROW)
    page.evaluate(OPEN)
    assert page.evaluate(OUT, NARROW["width"]) == []
    page.evaluate(axe)
    wrong = []
    for scheme, viewport in (("light", NARROW), ("dark", NARROW), ("light", WIDE)):
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        page.set_viewport_size(viewport)  # type: ignore[arg-type]
        rules = {"runOnly": COLOURS} if scheme == "dark" else {}
        said = page.evaluate("rules => axe.run(rules).then(r => r.violations)", rules)
        wrong += [(scheme, viewport["width"], *each) for each in serious(said)]
    assert wrong == [], json.dumps(wrong, indent=1)
