"""The site in Chromium: over http under a prefix, and from file://."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING

import pytest

from tests.site_source import FakeResults

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from playwright.sync_api import Browser, Page

    Open = Callable[..., Page]

pytestmark = pytest.mark.browser

FIRST = "runs/r0000000000000000"
SEPARATE = "runs/r0000000000000001"
EVIL_RUN = "runs/r0000000700000006"


def column(page: Page, key: str) -> list[str]:
    """The texts of a column of the main table, from top to bottom."""
    found: list[str] = page.evaluate(
        """key => {
          const table = document.querySelector("table[data-main]");
          const at = [...table.tHead.rows[0].cells].findIndex(c => c.dataset.k === key);
          return [...table.tBodies[0].rows].filter(r => !r.hidden).map(
            r => r.cells[at].querySelector("a, span")?.textContent ?? r.cells[at].textContent);
        }""",
        key,
    )
    return found


def where(page: Page) -> str:
    """The address now (`page.url` lags behind history.replaceState)."""
    address: str = page.evaluate("location.href")
    return address


def articles(page: Page) -> list[str]:
    return [
        a.get_attribute("id") or ""
        for a in page.query_selector_all("#articles > article")
        if a.is_visible()
    ]


# ---- Leaderboard


@pytest.mark.parametrize("clicks", [1, 2])
def test_missing_values_stay_last_both_ways(open_page: Open, clicks: int) -> None:
    page = open_page("index.html")
    heads = page.locator("table[data-main] thead th")
    key = heads.nth(3).get_attribute("data-k") or ""
    for _ in range(clicks):
        heads.nth(3).get_by_role("button").click()
    values = column(page, key)
    known = [float(v) for v in values if v != "·"]
    assert values[-2:] == ["·", "·"]
    assert len(known) == 6
    assert known == sorted(known, reverse=clicks == 1)
    assert heads.nth(3).get_attribute("aria-sort") == (
        "descending" if clicks == 1 else "ascending"
    )
    assert "Sorted by" in page.locator(".filter [role=status]").first.inner_text()


def test_a_third_click_brings_back_the_order(open_page: Open) -> None:
    page = open_page("index.html")
    before = column(page, "model")
    button = page.locator("thead th").nth(2).get_by_role("button")
    for _ in range(3):
        button.click()
    assert column(page, "model") == before
    assert "sort=" not in where(page)


def test_sorting_and_filter_survive_a_reload(open_page: Open) -> None:
    page = open_page("index.html")
    page.locator("thead th").nth(2).get_by_role("button").click()
    page.get_by_role("searchbox", name=re.compile("Filter rows")).fill("willow")
    assert "sort=-" in where(page)
    assert "q=willow" in where(page)
    before = column(page, "model")
    page.reload()
    assert column(page, "model") == before
    assert len(before) == 2
    assert "2 of 8 models" in page.locator(".filter").first.inner_text()


def test_the_reason_of_a_hole_shows_on_focus_and_on_tap(open_page: Open) -> None:
    page = open_page("index.html", has_touch=True)
    hole = page.locator(".hole").first
    hole.tap()
    assert "not run" in page.locator("#tip").inner_text()
    page.keyboard.press("Escape")
    assert page.locator("#tip").is_hidden()
    page.locator(".hole").nth(1).focus()
    assert page.locator("#tip").is_visible()


def test_the_search_box_finds_models_scenarios_and_runs(open_page: Open) -> None:
    page = open_page(f"{FIRST}/1.html")
    box = page.get_by_role("combobox", name=re.compile("Search models"))
    box.fill("anatomy willow 7b")
    page.wait_for_selector("#search li a")
    box.press("Enter")
    page.wait_for_url(f"**/{SEPARATE}/index.html")


# ---- Instances


def test_a_permalink_opens_on_its_article(open_page: Open) -> None:
    page = open_page(f"{FIRST}/2.html#i-id77")
    box = page.locator("#i-id77").bounding_box()
    assert box is not None
    assert -40 < box["y"] < 600


@pytest.mark.parametrize("fragment", ["%", "%E0%A4%A", "a%zz"])
def test_a_broken_fragment_stops_no_script(open_page: Open, fragment: str) -> None:
    page = open_page(f"{FIRST}/1.html#{fragment}")
    page.get_by_role("button", name="Filter and search").click()
    page.select_option("#finder select[name=show]", "wrong")
    assert "match" in page.locator("#finder .found").inner_text()
    page.evaluate("location.hash = '#%'")
    shown = page.locator("article:not([hidden]) details.prompt").first
    shown.locator("summary").click()
    shown.locator("button.copy").wait_for(timeout=5000)


def test_wrong_answers_can_be_filtered_across_pages(open_page: Open) -> None:
    page = open_page(f"{FIRST}/index.html")
    script = page.evaluate(
        "document.querySelector('script[src=\"index.js\"]') !== null"
    )
    assert script
    page.get_by_label("Outcome").select_option("wrong")
    results = FakeResults()
    expected = [
        v.instance.instance_id
        for v in results.instances("r0000000000000000")
        if any(t.scores[0].value == 0 for t in v.trials)
    ]
    assert 0 < len(expected) < 50
    assert (
        f"{len(expected)} of 120 instances match"
        in page.locator("#finder").inner_text()
    )
    rows = page.locator("#finder tbody th a").all_inner_texts()
    assert rows == expected
    page.locator("#finder tbody th a").last.click()
    page.wait_for_url("**/*show=wrong*")
    shown = articles(page)
    assert shown
    assert set(shown) <= {f"i-{i}" for i in expected}
    page.reload()
    assert articles(page) == shown
    assert page.get_by_label("Outcome").input_value() == "wrong"


def test_groups_trials_and_order_can_be_chosen(open_page: Open) -> None:
    page = open_page(
        f"{FIRST}/index.html?group=subject%3Dart&trial=1&show=right&sort=lowest"
    )
    results = FakeResults()
    expected = {
        v.instance.instance_id
        for v in results.instances("r0000000000000000")
        if v.instance.attributes["subject"] == ("art",)
        and v.trials[1].scores[0].value == 1
    }
    assert f"{len(expected)} of 120" in page.locator("#finder").inner_text()
    values = [float(v) for v in page.locator("#finder td.score").all_inner_texts()]
    assert values == sorted(values)
    assert set(page.locator("#finder tbody th a").all_inner_texts()) <= expected


def test_j_goes_to_the_next_match_across_pages(open_page: Open) -> None:
    page = open_page(f"{FIRST}/1.html?split=valid")
    for _ in range(10):
        page.keyboard.press("j")
    assert where(page).endswith("#i-id45")
    page.keyboard.press("j")
    page.wait_for_url("**/2.html?split=valid#i-id50")
    page.keyboard.press("k")
    page.wait_for_url("**/1.html?split=valid#i-id45")


@pytest.mark.parametrize(
    ("folder", "number"), [(FIRST, 3), (EVIL_RUN, 4), (EVIL_RUN, 8), (EVIL_RUN, 10)]
)
def test_a_copied_prompt_is_the_archives_byte_for_byte(
    open_page: Open, folder: str, number: int
) -> None:
    views = list(
        itertools.islice(
            FakeResults().instances(folder.rsplit("/", maxsplit=1)[-1]), number + 1
        )
    )
    prompt = views[number].trials[0].requests[0].request.prompt
    page = open_page(f"{folder}/1.html")
    # The clipboard of the system may change line ends: what the page gives it counts.
    page.evaluate(
        "navigator.clipboard.writeText = async (text) => { window.copied = text; }"
    )
    article = page.locator("article").nth(number)
    details = article.locator("details.prompt").first
    details.locator("summary").click()
    details.get_by_role("button", name="Copy exact prompt").click()
    assert page.evaluate("window.copied") == prompt
    assert "characters copied" in details.inner_text()


def test_the_clipboard_gets_the_prompt(open_page: Open) -> None:
    prompt = (
        next(FakeResults().instances("r0000000000000000"))
        .trials[0]
        .requests[0]
        .request.prompt
    )
    page = open_page(f"{FIRST}/1.html")
    details = page.locator("details.prompt").first
    details.locator("summary").click()
    details.get_by_role("button", name="Copy exact prompt").click()
    page.wait_for_selector("text=characters copied")
    assert page.evaluate("navigator.clipboard.readText()") == prompt
    shown = details.locator("pre").all_text_contents()
    assert "".join(shown) == prompt


def test_a_cut_prompt_offers_the_file_instead(open_page: Open) -> None:
    page = open_page(f"{EVIL_RUN}/1.html")
    details = page.locator("article").nth(9).locator("details.prompt")
    details.locator("summary").click()
    details.locator(".tinted").wait_for()
    assert details.get_by_role("button").count() == 0
    assert (
        details.get_by_role("link", name="The exact prompt as a text file").count() == 1
    )


def test_the_token_strip_tells_on_tap_hover_and_keys(open_page: Open) -> None:
    page = open_page(f"{FIRST}/1.html", has_touch=True)
    details = page.locator("details[data-l]").first
    details.locator("summary").tap()
    details.locator(".tok").first.tap()
    words = details.locator(".readout").inner_text()
    assert "log-probability −0.20 (82 %)" in words
    assert "the model’s candidates: “ A” 82 %, “ B” 17 %, “⏎” 0.67 %" in words
    page = open_page("patterns.html")
    tokens = page.locator("#i-id2 details[data-l]")
    tokens.first.locator("summary").click()
    strip = tokens.first.locator(".tok")
    strip.first.focus()
    page.keyboard.press("ArrowRight")
    assert "Token 2 of" in tokens.first.locator(".readout").inner_text()
    strip.nth(2).hover()
    assert "Token 3 of" in tokens.first.locator(".readout").inner_text()


def test_the_strip_has_nine_steps_from_expected_to_surprising(open_page: Open) -> None:
    page = open_page("patterns.html")
    details = page.locator("#i-id2 details[data-l]")
    details.locator("summary").click()
    details.locator(".readout").wait_for()
    classes = [c.get_attribute("class") for c in details.locator(".tok").all()]
    assert [re.findall(r"t\d", c or "")[0] for c in classes] == [
        f"t{i}" for i in range(9)
    ]
    texts = details.locator(".tok").all_inner_texts()
    assert texts[0] == " B"
    assert texts[-1].startswith("⏎")


# ---- Every kind of page


def test_the_first_column_stays_while_a_table_scrolls(open_page: Open) -> None:
    page = open_page(
        "groups/all-b-392bdeb7976e0204/accuracy.html",
        viewport={"width": 390, "height": 844},
    )
    first = page.locator("tbody th").first
    before = first.bounding_box()
    page.evaluate("document.querySelector('.scroll').scrollLeft = 200")
    after = first.bounding_box()
    assert before is not None
    assert after is not None
    assert abs(before["x"] - after["x"]) < 1


def test_the_theme_is_dark_by_the_system_and_by_choice(open_page: Open) -> None:
    colour = "getComputedStyle(document.documentElement).backgroundColor"
    page = open_page("index.html", color_scheme="dark")
    assert page.evaluate(colour) == "rgb(21, 23, 26)"
    page.get_by_role("button", name="Switch to the light theme").click()
    assert page.evaluate(colour) == "rgb(255, 255, 255)"
    page.reload()
    assert page.evaluate(colour) == "rgb(255, 255, 255)"
    page.goto(page.url.replace("index.html", "runs/index.html"))
    assert page.evaluate(colour) == "rgb(255, 255, 255)"


def test_without_javascript_everything_reads(open_page: Open) -> None:
    page = open_page("index.html", java_script_enabled=False)
    assert page.locator("table tbody tr").count() == 8
    page.get_by_role("link", name="Calibration").click()
    assert "groups/core/calibration.html" in where(page)
    page = open_page(f"{FIRST}/1.html", java_script_enabled=False)
    assert page.locator("article").count() == 50
    assert page.locator("#finder").is_hidden()
    details = page.locator("details.prompt").first
    details.locator("summary").click()
    assert details.inner_text().split("\n")[-4].startswith("shared partQuestion:")
    tokens = page.locator("details[data-l]").first
    tokens.locator("summary").click()
    assert "first token: “ A” 82 %" in tokens.inner_text()
    page.get_by_role("link", name="next page").first.click()
    assert where(page).endswith("/2.html")


# ---- Text files and other runs


def test_a_text_file_is_read_as_utf_8(chromium: Browser, root: str, site: Path) -> None:
    page = chromium.new_page()  # not watched: a browser asks for a text's favicon.ico
    for file in (site / EVIL_RUN / "text").iterdir():
        page.goto(f"{root}/{EVIL_RUN}/text/{file.name}")
        assert page.evaluate("document.characterSet") == "UTF-8"
    page.close()


def test_other_runs_of_a_cell_are_found_by_their_link(
    open_page: Open,
) -> None:
    page = open_page("index.html")
    page.click('td a[title^="1 other run"] >> nth=0')
    page.wait_for_url("**#runs-here")
    shown = page.locator("#runs-here tbody tr:visible")
    assert shown.count() == 1
    assert "Willow 7B" in shown.inner_text()
