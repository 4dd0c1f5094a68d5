"""Every kind of page for everybody: with a keyboard, large letters, few colours, no script.

axe finds nothing serious, in light and dark, wide and narrow, also with everything opened.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.browser.conftest import serious

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Page

    from tests.browser.conftest import Pages

    Open = Callable[..., Page]

pytestmark = pytest.mark.browser

RUN = "runs/r0000000000000000"
SEPARATE = "runs/r0000000000000001"
PROSE = "runs/r0000000000000004"
EVIL_RUN = "runs/r0000000700000006"
PARTIAL = "runs/r0000000300000000"
KINDS = {
    "leaderboard": "index.html",
    "leaderboard of one family": "groups/core/calibration.html",
    "leaderboard of all": "groups/all-b-392bdeb7976e0204/accuracy.html",
    "scenarios": "scenarios/index.html",
    "scenario": "scenarios/knowledge/index.html",
    "models": "models/index.html",
    "model": "models/demo-willow-7b-989033c3ff170acf/index.html",
    "runs": "runs/index.html",
    "run": f"{RUN}/index.html",
    "run of separate requests": f"{SEPARATE}/index.html",
    "run that is partial": f"{PARTIAL}/index.html",
    "run of hostile texts": f"{EVIL_RUN}/index.html",
    "instances": f"{RUN}/3.html",
    "instances of separate requests": f"{SEPARATE}/1.html",
    "instances of prose": f"{PROSE}/1.html",
    "instances that failed": f"{PARTIAL}/1.html",
    "instances of hostile texts": f"{EVIL_RUN}/1.html",
    "data": "data/index.html",
    "patterns": "patterns.html",
}
FILTERED = {
    "run, filtered": f"{RUN}/index.html?show=wrong",
    "run, searched": f"{RUN}/index.html?q=capital",
    "run, nothing found": f"{RUN}/index.html?id=nowhere",
    "instances, filtered": f"{RUN}/3.html?show=wrong",
    "leaderboard, sorted": "index.html?q=willow&sort=model",
}
EVERY = {**KINDS, **FILTERED}
NARROW, WIDE = {"width": 390, "height": 844}, {"width": 1280, "height": 860}
COLOURS = ["color-contrast", "link-in-text-block"]

# Opens what can be opened: what is folded (of the first articles alone, as the others are
# like them), and each menu that a button leads to.
OPEN = """async () => {
  for (const details of document.querySelectorAll("details")) {
    const article = details.closest("article");
    details.open = !article || article.matches(":nth-child(-n+3)");
  }
  await new Promise((done) => setTimeout(done, 0));
  for (const button of document.querySelectorAll("main button[aria-expanded=false]")) {
    if (button.offsetParent) button.click();
  }
  const row = document.querySelector("#finder tbody tr, #finder .found");
  await new Promise((done) => setTimeout(done, row ? 100 : 0));
}"""
# The other articles are like the first ones, and axe takes long.
FEW = "document.querySelectorAll('#articles > article:nth-child(n+13)').forEach(e => e.remove())"
# What sticks out of the page, or is cut, where nobody can scroll to it.
OUT = """(width) => {
  const found = [];
  const beyond = (e) => {
    for (let up = e; up && up !== document.body; up = up.parentElement) {
      const style = getComputedStyle(up);
      if (/auto|scroll/.test(style.overflowX)) return false;
      if (up.matches(".sr, .skip, svg")) return false;
    }
    return true;
  };
  for (const e of document.querySelectorAll("body *")) {
    const box = e.getBoundingClientRect();
    if (!box.width || !box.height || !e.checkVisibility()) continue;
    if ((box.right > width + 1 || box.left < -1) && beyond(e)) found.push(["sticks out", e.outerHTML.slice(0, 120), box.right]);
    const style = getComputedStyle(e);
    const cuts = /hidden|clip/.test(style.overflowX) && style.textOverflow !== "ellipsis";
    const forEars = box.width <= 1 && style.clipPath !== "none";
    if (cuts && !forEars && e.scrollWidth > e.clientWidth + 1 && !e.matches(".sr, .sr *, svg, svg *")) found.push(["is cut", e.outerHTML.slice(0, 120), e.scrollWidth]);
  }
  const all = document.documentElement.scrollWidth;
  if (all > width) found.push(["the page is wider", "", all]);
  return found.slice(0, 5);
}"""


# ---- axe, and nothing out of sight


@pytest.mark.parametrize("kind", EVERY)
def test_axe_finds_nothing_serious(
    pages: Pages, served: str, axe: str, kind: str
) -> None:
    # The policy forbids what axe does to be run, so it is lifted here.
    page = pages.open(served, EVERY[kind], bypass_csp=True, viewport=NARROW)
    page.evaluate(OPEN)
    assert page.evaluate(OUT, NARROW["width"]) == []
    page.evaluate(FEW)
    page.evaluate(axe)
    found = []
    for scheme, viewport in (("light", NARROW), ("dark", NARROW), ("light", WIDE)):
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        page.set_viewport_size(viewport)  # type: ignore[arg-type]
        # All but the colours is the same in the dark.
        rules = {"runOnly": COLOURS} if scheme == "dark" else {}
        said = page.evaluate("rules => axe.run(rules).then(r => r.violations)", rules)
        found += [(scheme, viewport["width"], *each) for each in serious(said)]
    assert found == [], json.dumps(found, indent=1)


def test_the_search_results_are_for_everybody(
    pages: Pages, served: str, axe: str
) -> None:
    page = pages.open(served, "index.html", bypass_csp=True, viewport=NARROW)
    box = page.locator("#search input")
    box.fill("willow")
    page.locator("#search li a").first.wait_for()
    assert page.evaluate(OUT, 390) == []
    page.evaluate(axe)
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        said = page.evaluate("axe.run().then(r => r.violations)")
        assert serious(said) == []


@pytest.mark.parametrize("kind", EVERY)
def test_nothing_is_lost_in_letters_of_twice_the_size(
    pages: Pages, served: str, kind: str
) -> None:
    page = pages.open(served, "data/index.html", viewport=WIDE, locale="en-GB")
    before = page.evaluate(SIZES)
    session = page.context.new_cdp_session(page)
    session.send("Page.setFontSizes", {"fontSizes": {"standard": 32, "fixed": 26}})
    try:
        assert page.evaluate(SIZES) == [2 * size for size in before]
        page.goto(f"{served}/{EVERY[kind]}")
        page.evaluate(OPEN)
        assert page.evaluate(OUT, 1280) == []
    finally:
        session.send("Page.setFontSizes", {"fontSizes": {"standard": 16, "fixed": 13}})
        session.detach()


SIZES = """() => ["p", "small, .quiet, footer", "table td"].map((which) =>
  parseFloat(getComputedStyle(document.querySelector(which)).fontSize))"""


# ---- Keyboard


STEP = """() => {
  const e = document.activeElement;
  if (!e || e === document.body) return null;
  const box = e.getBoundingClientRect();
  const style = getComputedStyle(e);
  const x = Math.min(innerWidth - 1, Math.max(0, box.left + box.width / 2));
  const y = Math.min(innerHeight - 1, Math.max(0, box.top + Math.min(box.height / 2, 12)));
  const top = document.elementFromPoint(x, y);
  const all = [...document.querySelectorAll("*")];
  return {
    what: e.outerHTML.slice(0, 100), at: all.indexOf(e), positive: e.tabIndex > 0,
    marked: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0,
    inside: box.width > 0 && box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth,
    covered: !(top && (e.contains(top) || top.contains(e))),
  };
}"""


@pytest.mark.parametrize(
    "kind", ["leaderboard", "run", "instances", "runs", "scenario"]
)
@pytest.mark.parametrize("viewport", [WIDE, NARROW], ids=["wide", "narrow"])
def test_the_tab_key_leads_through_a_page_in_its_order(
    pages: Pages, served: str, kind: str, viewport: dict[str, int]
) -> None:
    page = pages.open(served, KINDS[kind], viewport=viewport)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    steps = []
    for _ in range(60):
        step = page.evaluate(STEP)
        if step is None:
            break
        steps.append(step)
        page.keyboard.press("Tab")
    assert len(steps) > 10
    places = [step["at"] for step in steps]
    assert places == sorted(places)
    for flaw in ("positive", "covered"):
        assert [s["what"] for s in steps if s[flaw]] == [], flaw
    for virtue in ("marked", "inside"):
        assert [s["what"] for s in steps if not s[virtue]] == [], virtue


def test_the_skip_link_leads_to_the_content(pages: Pages, served: str) -> None:
    page = pages.open(served, KINDS["instances"])
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('main') !== null")


# ---- Without script


DEAD = "button, input, select, textarea, [role=button], [role=search]"


@pytest.mark.parametrize("kind", KINDS)
def test_without_script_a_page_reads(pages: Pages, served: str, kind: str) -> None:
    page = pages.open(served, KINDS[kind], java_script_enabled=False)
    assert page.locator("h1").count() == 1
    assert page.locator("h1").inner_text()
    assert len(page.locator("main").inner_text()) > 100
    dead = [e for e in page.locator(DEAD).all() if e.is_visible()]
    assert [e.evaluate("e => e.outerHTML") for e in dead] == []
    for table in page.locator("main table").all():
        assert table.locator("thead th").count() > 1
        assert table.locator("tbody tr").count() > 0


def test_without_script_a_prompt_and_its_answer_read(pages: Pages, served: str) -> None:
    page = pages.open(served, KINDS["instances"], java_script_enabled=False)
    article = page.locator("article").first
    assert "id100" in article.locator("h2").inner_text()
    assert "What is the capital of Italy? (number 100)" in article.inner_text()
    for summary in article.locator("summary").all():
        if summary.is_visible():
            summary.click()
    words = article.inner_text()
    assert "Question: What is the capital of Italy? (number 100)" in words
    assert "Σ log p" in words
    link = article.get_by_role("link", name="shared part").first
    shared = link.get_attribute("href")
    assert shared
    assert "The following are multiple choice questions." in (
        page.locator(shared).text_content() or ""
    )


# ---- Other wishes


@pytest.mark.parametrize("kind", ["leaderboard", "run", "instances", "runs"])
def test_nothing_moves_for_who_wants_that(pages: Pages, served: str, kind: str) -> None:
    page = pages.open(served, KINDS[kind], reduced_motion="reduce")
    page.evaluate(OPEN)
    moving = page.evaluate(
        """() => [...document.querySelectorAll("*")].filter((e) => {
          const style = getComputedStyle(e);
          const durations = `${style.transitionDuration}, ${style.animationDuration}`;
          return durations.split(", ").some((d) => parseFloat(d) > 0) || style.scrollBehavior === "smooth";
        }).map((e) => e.outerHTML.slice(0, 80))"""
    )
    assert moving == []


@pytest.mark.parametrize("kind", ["leaderboard", "run", "instances"])
def test_with_forced_colours_what_is_current_still_shows(
    pages: Pages, served: str, kind: str
) -> None:
    """Backgrounds and shadows are gone then: something else must tell them apart."""
    page = pages.open(served, KINDS[kind], forced_colors="active")
    page.evaluate(OPEN)
    same = page.evaluate(
        """() => [...document.querySelectorAll("[aria-current]")].filter((e) => {
          const other = [...e.parentElement.children].find((o) => o.localName === "a" && !o.hasAttribute("aria-current"));
          if (!other) return false;
          const [a, b] = [e, other].map((x) => getComputedStyle(x));
          return !["fontWeight", "textDecorationLine", "borderBottomStyle", "borderBottomWidth", "outlineStyle", "color"].some((p) => a[p] !== b[p]);
        }).map((e) => e.outerHTML)"""
    )
    assert same == []
    for verdict in page.locator(".v, article b[class]").all()[:5]:
        assert verdict.inner_text().strip()
