"""Large tables in Chromium: sorting, filters, columns, a wide board's pages, the search."""

from __future__ import annotations

import functools
import itertools
import re
from typing import TYPE_CHECKING

import pytest
from msgspec import structs

from helmsite.config import SiteConfig
from helmsite.query.rows import Cell, Group, Leaderboard
from helmsite.render import boardpages, build, runlist
from tests import site_boards
from tests.browser.conftest import once
from tests.test_site_runs import TwoMethods

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from playwright.sync_api import Locator, Page

    from helmsite.schema import MetricFacts
    from tests.browser.conftest import Pages

    Open = Callable[..., Page]

pytestmark = pytest.mark.browser

MODELS = 30
BOARD = site_boards.leaderboard(MODELS, 20)
CARDS = [row.card for row in BOARD.rows]
TITLES = (
    "CNN/DailyMail",
    "CivilComments",
    "RealToxicityPrompts",
    "BBQ (Bias Benchmark for Question Answering)",
    "Disinformation (reiteration)",
    "IMDB",
)
LONG = "Model of a very long name שלום " + "x" * 170


def alike() -> Leaderboard:
    """A board of ten models that nothing but their names tells apart."""
    rows = [
        structs.replace(
            r,
            card=structs.replace(
                r.card, creator="One", access="open", num_parameters=None
            ),
        )
        for r in site_boards.leaderboard(10, 4).rows
    ]
    rows[0] = structs.replace(rows[0], card=structs.replace(rows[0].card, title=LONG))
    return structs.replace(site_boards.leaderboard(10, 4), rows=tuple(rows))


def entitled() -> Leaderboard:
    """A board whose scenarios are called as HELM's are."""
    board = site_boards.leaderboard(4, len(TITLES))
    columns = tuple(
        structs.replace(c, scenario=structs.replace(c.scenario, title=title))
        for c, title in zip(board.columns, TITLES, strict=True)
    )
    return structs.replace(board, columns=columns)


class Twice(TwoMethods):
    """Results whose first cell could have been filled by another run as well."""

    def cell(self, model: int, scenario: int, metric: MetricFacts) -> Cell:
        shown = super().cell(model, scenario, metric)
        others = ("r1000000000000000",) if model == scenario == 0 else ()
        return structs.replace(shown, other_runs=others)


def make(folder: Path) -> None:
    """Write `wide`: a board on three pages, `alike`: a small one, `twice`: a whole site."""
    groups = [Group(f"g{n}", f"Group {n}", "", (), ("accuracy",)) for n in range(14)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(boardpages, "CELLS", MODELS * 8)
        patch.setattr(runlist, "PER_PAGE", 400)
        site_boards.write(folder / "wide", BOARD, groups)
    site_boards.write(folder / "alike", alike())
    site_boards.write(folder / "entitled", entitled())
    build(Twice(), folder / "twice", SiteConfig())


@pytest.fixture(scope="session")
def sites(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return once(tmp_path_factory, "boards", make)


@pytest.fixture
def opened(sites: Path, pages: Pages, address: Callable[[Path], str]) -> Open:
    """Open a page of the sites, over http and from a disk."""
    return functools.partial(pages.open, address(sites))


def rows(page: Page) -> Locator:
    return page.locator("table[data-main] tbody tr:visible")


def names(page: Page) -> list[str]:
    return page.locator(
        "table[data-main] tbody tr:visible th .who > a"
    ).all_inner_texts()


def heads(page: Page) -> list[str]:
    found: list[str] = page.evaluate(
        "[...document.querySelectorAll('table[data-main] thead th')]"
        ".filter(h => !h.hidden).map(h => h.dataset.k)"
    )
    return found


def column(page: Page, key: str) -> list[str]:
    found: list[str] = page.evaluate(
        """key => {
          const table = document.querySelector("table[data-main]");
          const at = [...table.tHead.rows[0].cells].findIndex(c => c.dataset.k === key);
          return [...table.tBodies[0].rows].filter(r => !r.hidden).map(
            r => r.cells[at].firstElementChild.textContent);
        }""",
        key,
    )
    return found


def status(page: Page) -> str:
    return page.locator(".filter [role=status]").first.inner_text()


def search(page: Page) -> str:
    found: str = page.evaluate("decodeURIComponent(location.search)")
    return found


def choose(page: Page, label: str) -> Locator:
    """Open a list to choose from."""
    labels = page.locator(".chooser summary").all_inner_texts()
    chooser = page.locator(".chooser").nth(labels.index(label))
    chooser.locator("summary").click()
    chooser.locator(".choices label").first.wait_for()
    return chooser


# ---- Sorting


@pytest.mark.parametrize("times", [1, 2])
def test_a_column_is_sorted_by_its_exact_values_with_holes_last(
    opened: Open, times: int
) -> None:
    page = opened("wide/index.html")
    place = next(
        i for i in range(7) if any(r.cells[i].value is None for r in BOARD.rows)
    )
    key = heads(page)[2 + place]
    button = page.locator(f"th[data-k='{key}'] .sort")
    for _ in range(times):
        button.focus()
        page.keyboard.press("Enter")
    cells = [(row.cells[place], row.card.title) for row in BOARD.rows]
    known = [c for c in cells if c[0].value is not None]
    known.sort(key=lambda c: c[0].value or 0, reverse=times == 1)
    holes = [c for c in cells if c[0].value is None]
    assert holes
    assert names(page) == [title for _, title in [*known, *holes]]
    assert column(page, key)[-len(holes) :] == ["·"] * len(holes)
    order = "descending" if times == 1 else "ascending"
    assert page.locator("th[aria-sort]").get_attribute("aria-sort") == order
    assert f", {order}." in status(page)
    page.reload()
    assert names(page) == [title for _, title in [*known, *holes]]
    button.click()
    if times == 1:
        button.click()
    assert names(page) == [c.title for c in CARDS]
    assert "sort" not in search(page)
    assert "In the original order." in status(page)


def test_brackets_are_of_the_original_order_alone(opened: Open) -> None:
    page = opened("wide/index.html")
    drawn = """() => getComputedStyle(document.querySelector(".band-first > .first"),
      "::before").content"""
    assert page.evaluate(drawn) == '""'
    assert page.locator(".bands").is_visible()
    page.locator("th[data-k=model] .sort").click()
    assert page.evaluate(drawn) == "none"
    assert page.locator(".bands").is_hidden()


# ---- Filters


def test_models_are_filtered_by_name_creator_size_and_access(opened: Open) -> None:
    page = opened("wide/index.html")
    creators = choose(page, "Creator")
    creators.get_by_text("Orchid").click()
    creators.get_by_text("Heather").click()
    page.keyboard.press("Escape")
    expected = [c.title for c in CARDS if c.creator in {"Orchid", "Heather"}]
    assert names(page) == expected
    assert f"{len(expected)} of {MODELS} models." in status(page)
    page.get_by_label("Parameters from").fill("1b")
    page.get_by_label("Parameters to").fill("8.0 B")
    choose(page, "Access").get_by_text("limited").click()
    expected = [
        c.title
        for c in CARDS
        if c.creator in {"Orchid", "Heather"}
        and c.access == "limited"
        and 1e9 <= (c.num_parameters or 0) <= 8e9
    ]
    assert 0 < len(expected) < 8
    assert names(page) == expected
    state = search(page)
    for part in (
        "creator=Orchid",
        "creator=Heather",
        "access=limited",
        "size=1b..8.0+B",
    ):
        assert part in state
    page.reload()
    assert names(page) == expected
    page.get_by_role("button", name="Clear filters").click()
    assert len(names(page)) == MODELS
    assert search(page) == ""
    assert page.get_by_role("button", name="Clear filters").is_hidden()


def test_marks_need_not_be_typed_and_nonsense_is_marked(opened: Open) -> None:
    page = opened("wide/index.html")
    page.get_by_label("Filter rows").fill("lodz")
    assert names(page) == [c.title for c in CARDS if c.title.startswith("Łódź")]
    page.get_by_label("Filter rows").fill("no such model")
    assert page.get_by_text("None of the models matches.").is_visible()
    page.get_by_label("Filter rows").fill("")
    page.get_by_label("Parameters from").fill("seven")
    assert page.get_by_label("Parameters from").get_attribute("aria-invalid") == "true"
    assert len(names(page)) == MODELS


def test_filters_that_tell_nothing_apart_are_not_there(opened: Open) -> None:
    page = opened("alike/index.html")
    assert page.get_by_label("Filter rows").is_visible()
    assert page.locator(".chooser summary").all_inner_texts() == ["Columns"]
    assert page.locator(".sizes").count() == 0


def test_tabs_keep_the_filters(opened: Open) -> None:
    page = opened("wide/index.html?creator=Orchid&sort=model")
    page.get_by_role("link", name="8–14").click()
    page.wait_for_url("**/2.html*")
    assert names(page) == [c.title for c in CARDS if c.creator == "Orchid"]


# ---- Columns


def test_columns_are_hidden_and_the_address_says_which(opened: Open) -> None:
    page = opened("alike/index.html")
    before = heads(page)
    box = choose(page, "Columns")
    assert "still counts in the mean win rate" in box.inner_text()
    box.locator("label").nth(1).click()
    assert heads(page) == [h for h in before if h != before[3]]
    assert search(page) == f"?hide={before[3]}"
    box.get_by_role("button", name="None").click()
    assert heads(page) == before[:2]
    box.locator("label").nth(2).click()
    assert search(page) == f"?cols={before[4]}"
    page.reload()
    assert heads(page) == [*before[:2], before[4]]
    assert page.locator("tbody tr").first.locator("td:visible").count() == 2
    page.emulate_media(media="print")
    assert page.locator("tbody tr").first.locator("td:visible").count() == 2
    assert page.locator(".filter").first.is_hidden()
    page.emulate_media(media="screen")
    choose(page, "Columns: 1 of 4").get_by_role("button", name="All").click()
    assert heads(page) == before
    assert search(page) == ""


def test_columns_of_another_page_come_beside_those_of_this(opened: Open) -> None:
    far = opened("wide/groups/core/accuracy/3.html")
    key = heads(far)[-1]
    values = dict(zip(names(far), column(far, key), strict=True))
    links = far.evaluate(
        "[...document.querySelectorAll('tbody td:last-child > a')].map(a => a.href)"
    )
    page = opened("wide/groups/core/accuracy.html")
    here = heads(page)
    box = choose(page, "Columns: 7 of 20")
    assert box.locator("label").count() == 20
    box.get_by_label("Find in the list").fill("religions 17")
    assert box.locator("label:visible").count() == 1
    box.locator("label:visible").click()
    page.wait_for_function(
        "n => document.querySelectorAll('thead th').length > n", arg=len(here)
    )
    box.get_by_label("Find in the list").fill(str(len(BOARD.columns) - 1))
    box.locator("label:visible").last.click()
    page.locator(f"th[data-k='{key}']").wait_for()
    assert heads(page) == [*here, heads(page)[-2], key]
    assert dict(zip(names(page), column(page, key), strict=True)) == values
    reached = page.evaluate(
        "[...document.querySelectorAll('tbody td:last-child > a')].map(a => a.href)"
    )
    assert reached == links
    page.keyboard.press("Escape")
    page.locator(f"th[data-k='{key}'] .sort").click()
    order = names(page)
    assert order != [c.title for c in CARDS]
    assert "cols=" in search(page)
    page.reload()
    page.locator(f"th[data-k='{key}'][aria-sort=descending]").wait_for()
    assert names(page) == order


# ---- Cells


def test_a_cell_tells_its_value_interval_count_and_run(opened: Open) -> None:
    page = opened("wide/index.html")
    row, cell = next(
        (row, c)
        for row in BOARD.rows
        for c in row.cells[:7]
        if c.value is not None and not c.other_runs and c.n_scored < c.n_asked
    )
    place = row.cells.index(cell)
    link = page.locator("tbody tr").nth(BOARD.rows.index(row)).locator("td > a")
    link = link.and_(page.locator(f"[href*='{cell.run_id}']"))
    link.focus()
    words = page.locator("#tip").inner_text()
    assert link.inner_text() == f"{cell.value:.3f}"
    for part in (
        f"Exact match {cell.value:.3f}",
        f"95 % interval {cell.ci_low:.2f} to {cell.ci_high:.2f}",
        f"{cell.n_scored} of {cell.n_asked} observations scored",
        f"run {cell.run_id}",
    ):
        assert part in words
    assert place < 7
    link.hover()
    assert link.get_attribute("title") == words


@pytest.mark.parametrize("script", [True, False])
def test_other_runs_are_reached_with_and_without_script(
    opened: Open, script: bool
) -> None:
    page = opened("twice/index.html", java_script_enabled=script)
    more = page.locator("td small a", has_text="+1").first
    more.click()
    page.wait_for_url("**#run-*")
    target = page.locator("tr:target")
    assert target.is_visible()
    model = target.locator("td").first.inner_text()
    listed = page.locator("#runs-here tbody tr:visible")
    if script:
        assert "2 of 4 runs" in page.locator(".filter").last.inner_text()
        assert listed.count() == 2
    both = [
        row.locator("td").first.inner_text() == model
        for row in (listed.nth(n) for n in range(listed.count()))
    ]
    assert sum(both) == 2
    assert [shown for shown, _ in itertools.groupby(both)].count(True) == 1


# ---- Sticky, phone, keyboard


def test_head_and_first_column_stay_and_hide_no_focus(opened: Open) -> None:
    for width in (1280, 390):
        page = opened(
            "wide/index.html", viewport={"width": width, "height": 700}, fresh=True
        )
        assert page.evaluate("document.documentElement.scrollWidth") == width
        region = page.locator(".scroll:has(table)")
        assert "more" in (region.get_attribute("class") or "")
        box = region.bounding_box()
        assert box
        page.evaluate("document.querySelector('.scroll').scrollTo(200, 400)")
        corner = page.locator("thead .first").bounding_box()
        assert corner
        assert abs(corner["x"] - box["x"]) <= 2
        assert abs(corner["y"] - box["y"]) <= 2
        assert corner["width"] <= 0.45 * width
        page.evaluate("document.querySelector('.scroll').scrollTo(9999, 9999)")
        page.wait_for_selector(".scroll:not(.more)")
        link = page.locator("tbody tr").nth(5).locator("td > a").first
        link.focus()
        place = link.bounding_box()
        corner = page.locator("thead .first").bounding_box()
        assert place
        assert corner
        assert place["x"] >= corner["x"] + corner["width"] - 1
        assert place["y"] >= corner["y"] + corner["height"] - 1


def test_a_long_name_breaks_and_nothing_overflows(opened: Open) -> None:
    for width, scheme in ((1280, "light"), (390, "dark")):
        page = opened(
            "alike/index.html",
            viewport={"width": width, "height": 800},
            color_scheme=scheme,
        )
        assert page.evaluate("document.documentElement.scrollWidth") == width
        first = page.locator("tbody .first").first.bounding_box()
        assert first
        assert first["width"] <= 0.45 * width


@pytest.mark.parametrize("width", [1280, 390])
def test_no_head_breaks_inside_of_a_word_or_towers(opened: Open, width: int) -> None:
    page = opened("entitled/index.html", viewport={"width": width, "height": 800})
    lines = page.evaluate(
        """() => [...document.querySelectorAll("thead th .head a")].map((link) => {
          const text = link.firstChild, range = document.createRange();
          const tops = (from, to) => {
            range.setStart(text, from);
            range.setEnd(text, to);
            return new Set([...range.getClientRects()].map((r) => Math.round(r.top))).size;
          };
          const words = [...text.data.matchAll(/[^ -]+/g)];
          return [text.data, tops(0, text.length),
                  Math.max(...words.map((w) => tops(w.index, w.index + w[0].length)))];
        })"""
    )
    assert [title for title, _, _ in lines] == list(TITLES)
    assert {word for _, _, word in lines} == {1}, lines
    assert max(whole for _, whole, _ in lines) <= 3, lines


def test_without_script_all_pages_of_a_wide_board_read(opened: Open) -> None:
    page = opened("wide/index.html", java_script_enabled=False)
    assert page.locator(".filter, .sort").count() == 0
    assert page.locator("#search").is_hidden()
    assert page.locator("#theme").is_hidden()
    seen = heads_without_script(page)
    for part in ("8–14", "15–20"):
        page.get_by_role("link", name=part).click()
        seen += heads_without_script(page)
        assert page.locator("tbody tr").count() == MODELS
        assert page.locator(".parts [aria-current]").inner_text() == part
    assert len(seen) == len(set(seen)) == 20
    assert "over 20 columns" in page.locator("th.win").inner_text()
    bar = page.locator("td.ci").first.evaluate(
        "e => getComputedStyle(e).backgroundSize"
    )
    assert re.match(r"[\d.]+px 3px", bar) or "max(" in bar


def heads_without_script(page: Page) -> list[str]:
    heads = page.query_selector_all("thead th[data-m]")
    return [h.get_attribute("data-k") or "" for h in heads]


def test_many_groups_fold_and_tell_the_current_one(opened: Open) -> None:
    page = opened("wide/index.html", java_script_enabled=False)
    fold = page.locator("details.many")
    assert fold.locator("summary").inner_text().startswith("Groups of scenarios: Core")
    assert fold.get_by_role("link", name="Group 9").is_hidden()
    fold.locator("summary").click()
    assert fold.get_by_role("link", name="Group 9").is_visible()


# ---- Runs and models


def test_runs_are_filtered_by_what_tells_them_apart(opened: Open) -> None:
    page = opened("wide/runs/index.html")
    assert rows(page).count() == 400
    listed = page.locator(".chooser summary").all_inner_texts()
    assert listed == ["Scenario", "Model", "Suite", "Status"]
    choose(page, "Status").get_by_text("partial").click()
    partial = rows(page).count()
    assert 0 < partial < 30
    assert f"{partial} of 400 runs." in status(page)
    assert page.locator("tbody tr:visible small.warn").count() == partial
    page.reload()
    assert rows(page).count() == partial
    page = opened("wide/runs-2.html")
    whole = sum(c.run_id != "" for r in BOARD.rows for c in r.cells)
    assert rows(page).count() == whole - 400


def test_models_are_filtered_in_their_list(opened: Open) -> None:
    page = opened("wide/models/index.html?size=70B..&access=open")
    expected = [
        c.title for c in CARDS if c.access == "open" and (c.num_parameters or 0) >= 70e9
    ]
    assert len(expected) > 0
    assert page.locator("tbody tr:visible th > a").all_inner_texts() == expected


# ---- The search box


def test_the_search_is_a_combobox(opened: Open) -> None:
    page = opened("wide/index.html")
    page.keyboard.press("/")
    box = page.get_by_role("combobox", name=re.compile("Search models"))
    assert box.evaluate("e => e === document.activeElement")
    page.keyboard.type("lodz model")
    page.get_by_role("option").first.wait_for()
    assert box.get_attribute("aria-expanded") == "true"
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    second = page.get_by_role("option").nth(1)
    assert second.get_attribute("aria-selected") == "true"
    assert box.get_attribute("aria-activedescendant") == second.get_attribute("id")
    assert "Łódź" in second.inner_text()
    assert "models/" in (second.get_attribute("href") or "")
    page.keyboard.press("Escape")
    assert box.get_attribute("aria-expanded") == "false"
    box.fill("group 7")
    assert "groups/g7/accuracy.html" in (
        page.get_by_role("option").first.get_attribute("href") or ""
    )
    run = next(c.run_id for r in BOARD.rows for c in r.cells if c.run_id)
    box.fill(f"{run} id 7".replace("id 7", "id7"))
    href = page.get_by_role("option").first.get_attribute("href") or ""
    assert href.endswith(f"runs/{run}/index.html?id=id7")
    box.fill("zzz")
    assert "Nothing found." in page.locator("#found").inner_text()
