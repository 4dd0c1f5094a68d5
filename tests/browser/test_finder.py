"""The finder in Chromium: over http under a prefix, and from file://."""

from __future__ import annotations

import functools
import itertools
import random
import re
import shutil
import string
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import pytest
from msgspec import structs

from helmsite.config import SiteConfig
from helmsite.render import build
from helmsite.render.names import anchor
from helmsite.render.scoreindex import ScoreIndex, read
from helmsite.render.verdicts import outcome
from tests.browser.conftest import serious
from tests.finder_source import (
    BIG,
    F1,
    LARGE,
    MIXED,
    ORIGINALS,
    FinderResults,
    mixed,
    row,
)
from tests.site_source import EXACT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from playwright.sync_api import Locator, Page

    from helmsite.query.rows import InstanceView
    from helmsite.schema import MetricFacts
    from tests.browser.conftest import Pages

    Open = Callable[..., Page]

pytestmark = pytest.mark.browser

VIEWS = list(mixed())
TWINS = len(VIEWS) - ORIGINALS
NAMES = {
    "1": "right",
    "0": "wrong",
    "p": "partly right",
    "f": "failed",
    "-": "not scored",
}


@pytest.fixture(scope="session")
def runs_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("finder") / "under" / "prefix"
    build(FinderResults(), out, SiteConfig(title="Runs to be searched"))
    return out


@pytest.fixture
def open_run(runs_site: Path, pages: Pages, address: Callable[[Path], str]) -> Open:
    return functools.partial(pages.open, address(runs_site))


def found(page: Page) -> list[str]:
    """The ids in the list, with their perturbation."""
    return [
        cell.replace("\n", " ").strip()
        for cell in page.locator("#finder tbody th").all_inner_texts()
    ]


def shown(page: Page) -> list[str]:
    rows: list[str] = page.evaluate(
        "[...document.querySelectorAll('#articles > article:not([hidden])')].map(a => a.id)"
    )
    return rows


def where(page: Page) -> str:
    address: str = page.evaluate("location.href")
    return address


def says(page: Page, words: str) -> None:
    page.locator("#finder .found").filter(has_text=words).wait_for(timeout=8000)


def control(page: Page, name: str) -> Locator:
    return page.locator(f'#finder [name="{name}"]')


def names(views: list[InstanceView]) -> list[str]:
    return [
        f"{v.instance.instance_id} {v.instance.perturbation}".strip() for v in views
    ]


# ---- The filters are what they say


def mean(
    name: str, view: InstanceView, metric: MetricFacts, trials: list[int]
) -> float | None:
    values: list[float] = []
    for trial in (view.trials[t] for t in trials):
        completion = trial.requests[0].replies[0].completion
        value: float | None = None
        if name == "score":
            value = outcome(trial, metric)[1]
        elif name == "length" and not completion.error:
            value = completion.usage.completion_tokens
        elif name == "confidence":
            sure = [s.value for s in trial.scores if s.metric == "max_prob"]
            value = round(1000 * sure[0]) if sure and sure[0] is not None else None
        values += [] if value is None else [value]
    scale = 1000 if name == "confidence" else 1
    return sum(values) / len(values) / scale if values else None


def within(value: float | None, ends: str) -> bool:
    low, high = (float(e) if e else None for e in ends.split(".."))
    if value is None or (low is not None and value < low):
        return False
    return high is None or value <= high


def is_shown(wanted: str, codes: list[str], trials: list[int]) -> bool:
    if wanted == "trials disagree":
        return len(set(codes)) > 1
    return not wanted or wanted in {NAMES[codes[t]] for t in trials}


def oracle(views: list[InstanceView], query: list[tuple[str, str]]) -> list[int]:
    """Filter and sort as docs/site.md says, from the records alone."""
    state = dict(query)
    groups = [value.split("=", 1) for key, value in query if key == "group"]
    metric = F1 if state.get("metric") == "f1" else EXACT
    trials = [int(state["trial"])] if "trial" in state else [0, 1, 2]

    def fits(view: InstanceView) -> bool:
        own = view.instance
        made = [view.trials[t].requests[0].replies[0].completion for t in trials]
        wanted = {"original": ""}.get(state.get("pert", ""), state.get("pert"))
        return (
            is_shown(
                state.get("show", ""),
                [outcome(t, metric)[0] for t in view.trials],
                trials,
            )
            and all(
                within(mean(name, view, metric, trials), state[name])
                for name in ("score", "confidence", "length")
                if name in state
            )
            and state.get("id", "").lower() in own.instance_id.lower()
            and state.get("split", own.split) == own.split
            and state.get("sub", own.sub_split) == own.sub_split
            and wanted in {None, own.perturbation}
            and state.get("finish")
            in {None, *("failed" if c.error else c.finish_reason for c in made)}
            and all(value in own.attributes[name] for name, value in groups)
        )

    rows = [i for i, view in enumerate(views) if fits(view)]
    by = state.get("sort", "")
    if by:
        sign = -1 if by.startswith("-") else 1
        values = {i: mean(by.lstrip("-"), views[i], metric, trials) for i in rows}
        rows.sort(key=lambda i: (values[i] is None, sign * (values[i] or 0), i))
    elif "id" in state:
        rows.sort(key=lambda i: views[i].instance.instance_id != state["id"])
    return rows


def some_state(rng: random.Random) -> list[tuple[str, str]]:
    def ends(top: float) -> str:
        end = round(rng.random() * top, 2)
        return rng.choice([f"{end}..", f"..{end}", f"0..{end}"])

    outcomes = [*NAMES.values(), "trials disagree"]
    known = [
        ("show", rng.choice(outcomes)),
        ("metric", "f1"),
        ("id", rng.choice(["id1", "ID2", "7", "id17"])),
        ("split", rng.choice(["test", "valid"])),
        ("sub", rng.choice(["easy", "hard"])),
        ("group", f"subject={rng.choice(['art', 'music', 'science'])}"),
        ("group", f"level=level {rng.randrange(5)}"),
        ("pert", rng.choice(["original", "typos(prob=0.1)"])),
        ("trial", rng.choice("012")),
        ("finish", rng.choice(["stop", "length", "failed"])),
        ("score", ends(1)),
        ("confidence", ends(1)),
        ("length", ends(12)),
        ("sort", rng.choice(["", "-"]) + rng.choice(["score", "confidence", "length"])),
    ]
    chosen = sorted(rng.sample(range(len(known)), k=rng.choice([1, 1, 2, 2, 3])))
    return [known[i] for i in chosen]


def payload_of(views: list[InstanceView]) -> dict[str, Any]:
    index = ScoreIndex(next(iter(FinderResults().runs())))
    for n, view in enumerate(views):
        if n % 50 == 0:
            index.start_page()
        index.add(view)
    payload = read(index.script())
    assert payload is not None
    return payload


ASK = """([index, queries]) => queries.map((query) => {
  const rows = helmsite.rows(index);
  const { state, ignored } = rows.parse(new URLSearchParams(query));
  const { rows: found, originals, counts } = rows.filter(state);
  const again = new URLSearchParams(helmsite.entries(state));
  return { found, originals, ignored, shown: counts[state.show], again: rows.filter(rows.parse(again).state).rows };
})"""


@pytest.mark.parametrize("seed", range(4))
def test_the_filters_are_those_of_an_oracle(
    pages: Pages, runs_site: Path, seed: int
) -> None:
    rng = random.Random(seed)
    views = [
        row(rng, rng.randrange(40), rng.choice(["", "", "typos(prob=0.1)"]))
        for _ in range(rng.choice([60, 250]))
    ]
    states = [some_state(rng) for _ in range(80)]
    page = pages.open(runs_site.as_uri(), f"{MIXED}/1.html")
    answers = page.evaluate(ASK, [payload_of(views), [urlencode(s) for s in states]])
    counts = []
    for state, answer in zip(states, answers, strict=True):
        expected = oracle(views, state)
        if answer["ignored"]:
            continue
        assert answer["found"] == expected, state
        assert answer["again"] == expected, state
        assert answer["originals"] == sum(
            not views[i].instance.perturbation for i in expected
        )
        if "show" in dict(state):
            assert answer["shown"] == len(expected), state
        counts.append(len(expected))
    assert len(counts) > 60
    assert sum(0 < n < len(views) for n in counts) > 40


def test_the_script_makes_the_anchors_of_the_build(
    pages: Pages, runs_site: Path
) -> None:
    rng = random.Random(3)
    letters = string.printable + "äß語😀\u202e\0é"
    pairs = [
        (
            "".join(rng.choices(letters, k=rng.randrange(90))),
            "".join(rng.choices(letters, k=rng.choice([0, 0, 9, 70]))),
        )
        for _ in range(400)
    ]
    pairs += [
        ("id7", ""),
        ("a-deadbeef", ""),
        ("x" * 81, ""),
        ("id7", "typos(prob=0.1)~1"),
        ("", ""),
    ]
    page = pages.open(runs_site.as_uri(), f"{MIXED}/1.html")
    made = page.evaluate(
        "pairs => pairs.map(([id, pert]) => helmsite.anchorOf(id, pert))", pairs
    )
    assert made == [anchor(*pair) for pair in pairs]


# ---- The run's page


def test_wrong_ones_are_filtered_and_counted(open_run: Open) -> None:
    page = open_run(f"{MIXED}/index.html")
    says(page, f"{ORIGINALS} instances and {TWINS} perturbed versions.")
    control(page, "show").select_option("wrong")
    rows = [VIEWS[i] for i in oracle(VIEWS, [("show", "wrong")])]
    own = sum(not v.instance.perturbation for v in rows)
    says(
        page,
        f"{own} of {ORIGINALS} instances and {len(rows) - own} of {TWINS} perturbed versions match.",
    )
    assert found(page) == names(rows[:50])
    assert where(page).endswith("?show=wrong")
    assert (
        f"wrong ({len(rows)})"
        in control(page, "show").locator("option:checked").inner_text()
    )
    page.get_by_role("button", name="next →").click()
    assert found(page) == names(rows[50:100])
    page.reload()
    says(page, f"{own} of {ORIGINALS}")
    assert found(page) == names(rows[50:100])
    page.get_by_role("button", name="Remove the filter wrong").click()
    says(page, f"{ORIGINALS} instances and")
    assert "?" not in where(page)


def test_many_filters_survive_a_reload_and_can_be_cleared(open_run: Open) -> None:
    page = open_run(f"{MIXED}/index.html")
    page.get_by_text("More filters").click()
    control(page, "metric").select_option(label="F1")
    control(page, "group subject").select_option("science")
    control(page, "sub").select_option("hard")
    control(page, "confidence-from").fill("0.4")
    control(page, "length-to").fill("8")
    control(page, "sort").select_option("-confidence")
    query = [
        ("metric", "f1"),
        ("sub", "hard"),
        ("group", "subject=science"),
        ("confidence", "0.4.."),
        ("length", "..8"),
        ("sort", "-confidence"),
    ]
    rows = [VIEWS[i] for i in oracle(VIEWS, query)]
    assert 3 < len(rows) < 50
    page.wait_for_url(f"**?{urlencode(query)}")
    assert found(page) == names(rows)
    assert "4 in use" in page.locator("#finder .lower summary").inner_text()
    page.reload()
    page.wait_for_selector("#finder tbody th")
    assert found(page) == names(rows)
    assert control(page, "sort").input_value() == "-confidence"
    page.get_by_role("button", name="Clear").click()
    assert where(page).endswith("?sort=-confidence")


def test_values_that_are_missing_come_last_both_ways(open_run: Open) -> None:
    page = open_run(f"{MIXED}/index.html?trial=0")
    page.wait_for_selector("#finder tbody th")
    for press in ("ascending", "descending"):
        page.get_by_role("button", name="Sort by confidence", exact=True).click()
        column = page.locator("#finder th[aria-sort]")
        assert column.get_attribute("aria-sort") == press
        sign = "-" if press == "descending" else ""
        rows = oracle(VIEWS, [("trial", "0"), ("sort", f"{sign}confidence")])
        assert found(page) == names([VIEWS[i] for i in rows[:50]])
    page.get_by_label("Page of the list").fill("99")
    page.keyboard.press("Enter")
    assert page.locator("#finder td.confidence").last.inner_text() == "·"
    assert page.locator("#finder th[aria-sort]").count() == 1


def test_an_instance_is_found_by_its_id(open_run: Open) -> None:
    page = open_run(f"{LARGE}/index.html?id=id777")
    says(page, f"1 of {BIG:,} instances match.")
    page = open_run(f"{MIXED}/index.html?id=id17")
    page.wait_for_selector("#finder tbody th")
    assert found(page)[0] == "id17"
    assert len(found(page)) > 5
    page.locator("#finder tbody th a").first.click()
    page.wait_for_url("**id=id17#i-id17")
    assert page.locator("#i-id17").is_visible()


def test_what_a_run_does_not_know_is_left_out_and_said(open_run: Open) -> None:
    page = open_run(
        f"{MIXED}/index.html?split=moon&trial=9&group=subject%3Dchess&score=a..b&sort=colour&show=wrong&stats-1.sort=x"
    )
    page.wait_for_selector("#finder tbody th")
    words = page.locator("#finder .chips .warn").inner_text()
    for part in (
        "split “moon”",
        "trial “9”",
        "group “subject=chess”",
        "score “a..b”",
        "sort “colour”",
    ):
        assert part in words
    assert found(page) == names(
        [VIEWS[i] for i in oracle(VIEWS, [("show", "wrong")])[:50]]
    )
    control(page, "split").select_option("test")
    assert "moon" not in where(page)
    assert "stats-1.sort=x" in where(page)


def test_old_links_keep_their_meaning(open_run: Open) -> None:
    page = open_run(f"{MIXED}/index.html?group=sub_split%3Dhard&sort=lowest")
    page.wait_for_selector("#finder tbody th")
    rows = oracle(VIEWS, [("sub", "hard"), ("sort", "score")])
    assert found(page) == names([VIEWS[i] for i in rows[:50]])


def test_the_main_metric_need_not_be_named_and_may_be(open_run: Open) -> None:
    listed = {}
    for metric in ("", "&metric=exact_match", "&metric=f1"):
        page = open_run(f"{MIXED}/index.html?show=wrong{metric}")
        says(page, "match.")
        listed[metric] = found(page)
        other = metric == "&metric=f1"
        assert control(page, "metric").input_value() == ("f1" if other else "")
        assert page.locator("#finder .chip").count() == 1 + other
        assert not page.locator("#finder .warn").count()
        href = page.locator(".found-list tbody a").first.get_attribute("href") or ""
        assert "show=wrong" in href
        assert ("metric=" in href) is other
    assert listed[""] == listed["&metric=exact_match"] != listed["&metric=f1"]


def test_the_back_button_brings_the_list_back(open_run: Open) -> None:
    page = open_run(f"{MIXED}/index.html")
    control(page, "show").select_option("failed")
    before = found(page)
    assert before != names(VIEWS[:50])
    page.locator("#finder tbody th a").nth(2).click()
    page.wait_for_url("**/*.html?show=failed#*")
    page.go_back()
    page.wait_for_selector("#finder tbody th")
    assert found(page) == before


def test_typing_keeps_the_focus_and_is_told_once(open_run: Open) -> None:
    page = open_run(f"{MIXED}/index.html")
    page.wait_for_selector("#finder tbody th")
    page.evaluate(
        """() => { window.told = []; new MutationObserver(() => window.told.push(document.querySelector('#finder .found').textContent))
          .observe(document.querySelector('#finder .found'), {childList: true, characterData: true, subtree: true}); }"""
    )
    control(page, "id").press_sequentially("id123", delay=30)
    says(page, "1 of 180 instances and 2 of")
    assert page.evaluate("document.activeElement.name") == "id"
    assert len(page.evaluate("window.told")) <= 2


# ---- A page of instances


def requests_of(page: Page) -> list[str]:
    sent: list[str] = []
    page.on("request", lambda r: sent.append(r.url))
    return sent


def test_a_permalink_and_plain_steps_need_no_index(open_run: Open) -> None:
    page = open_run("index.html", fresh=True)
    sent = requests_of(page)
    base = where(page).removesuffix("index.html")
    page.goto(f"{base}{LARGE}/16.html#i-id777")
    assert page.locator("#i-id777").is_visible()
    assert "28 of 50 on this page" in page.locator(".stepper").inner_text()
    for _ in range(3):
        page.keyboard.press("j")
    page.wait_for_url("**/16.html#i-id780")
    page.goto(f"{base}{LARGE}/16.html#i-id799")
    page.keyboard.press("j")
    page.wait_for_url("**/17.html#i-id800")
    page.keyboard.press("k")
    page.wait_for_url("**/16.html#i-id799")
    page.get_by_role("button", name="next instance").click()
    page.wait_for_url("**/17.html#i-id800")
    assert not [u for u in sent if u.endswith("index.js") or "/search/" in u]
    assert len({u for u in sent if "16.html" not in u and "17.html" not in u}) <= 5


def test_keys_step_through_what_matches_in_its_order(open_run: Open) -> None:
    state = [("show", "wrong"), ("sort", "-confidence")]
    page = open_run(f"{MIXED}/index.html?{urlencode(state)}")
    rows = [VIEWS[i] for i in oracle(VIEWS, state)]
    page.wait_for_selector("#finder tbody th")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")
    page.keyboard.press("Enter")
    for n, view in enumerate(rows[:7]):
        own = view.instance
        page.wait_for_url(
            f"**.html?{urlencode(state)}#{anchor(own.instance_id, own.perturbation)}"
        )
        page.locator(".stepper").filter(has_text=f"{n + 1} of {len(rows)}").wait_for()
        page.keyboard.press("j")
    page.wait_for_url(
        lambda url: url.endswith(
            f"#{anchor(rows[7].instance.instance_id, rows[7].instance.perturbation)}"
        )
    )
    page.locator(".stepper").filter(has_text=f"8 of {len(rows)}").wait_for()
    page.get_by_role("button", name="previous instance").click()
    page.locator(".stepper").filter(has_text=f"7 of {len(rows)}").wait_for()


def test_quick_keys_wait_for_the_index(open_run: Open) -> None:
    page = open_run(f"{LARGE}/1.html?show=wrong")
    for _ in range(9):
        page.keyboard.press("j")
    page.wait_for_url("**/2.html?show=wrong#i-id56")
    page.keyboard.press("k")
    page.wait_for_url("**/1.html?show=wrong#i-id49")


def test_the_last_page_of_a_large_run_is_a_jump_away(open_run: Open) -> None:
    page = open_run(f"{LARGE}/index.html")
    group = page.locator("nav.pages details").last
    group.locator("summary").click()
    group.get_by_role("link").last.click()
    page.wait_for_url(f"**/{BIG // 50}.html")
    assert page.locator("article").last.get_attribute("id") == f"i-id{BIG - 1}"
    page.keyboard.press("k")
    page.wait_for_url(f"**/{BIG // 50 - 1}.html#i-id{BIG - 51}")
    page.goto(
        where(page).replace(
            f"{BIG // 50 - 1}.html#i-id{BIG - 51}", f"{BIG // 50}.html#i-id{BIG - 1}"
        )
    )
    assert page.get_by_role("button", name="next instance").is_disabled()


def test_filters_on_a_page_hide_what_does_not_match(open_run: Open) -> None:
    page = open_run(f"{MIXED}/2.html")
    all_here = shown(page)
    page.get_by_role("button", name="Filter and search").click()
    control(page, "show").select_option("failed")
    wanted = {
        anchor(VIEWS[i].instance.instance_id, VIEWS[i].instance.perturbation)
        for i in oracle(VIEWS, [("show", "failed")])
    }
    says(page, "match.")
    assert shown(page) == [a for a in all_here if a in wanted]
    assert (
        page.get_by_role("link", name="next page →").first.get_attribute("href")
        == "3.html?show=failed"
    )
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Filter and search").focus()
    page.keyboard.press("?")
    assert "j next and k previous" in page.locator("#finder .keys").inner_text()
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.name") == "q"


# ---- Text search


def test_a_word_is_found_in_texts_and_marked(open_run: Open) -> None:
    page = open_run(f"{MIXED}/index.html")
    control(page, "q").fill('UNICORN "tell me of"')
    expected = [v for v in VIEWS if "unicorn" in v.instance.input]
    assert 3 < len(expected) < 30
    own = sum(not v.instance.perturbation for v in expected)
    says(page, f"{own} of {ORIGINALS} instances and {len(expected) - own} of")
    assert found(page) == names(expected)
    assert page.locator("#finder .snippet mark").first.inner_text().lower() in {
        "unicorn",
        "tell me of",
    }
    page.locator("#finder tbody th a").nth(1).click()
    page.wait_for_url("**/*.html?q=*")
    page.locator(".stepper").filter(has_text=f"2 of {len(expected)}").wait_for()
    assert page.evaluate(
        "[...CSS.highlights.get('found')].map(String).includes('unicorn')"
    )
    page.keyboard.press("j")
    page.locator(".stepper").filter(has_text=f"3 of {len(expected)}").wait_for()


def test_text_search_goes_with_filters_places_and_trials(open_run: Open) -> None:
    def has(view: InstanceView, trial: int) -> bool:
        return "öl" in view.trials[trial].requests[0].replies[0].completion.text.lower()

    state = {"q": "O\u0308L", "in": "completion", "trial": "1", "pert": "original"}
    page = open_run(f"{MIXED}/index.html?{urlencode(state)}")
    expected = [v for v in VIEWS if has(v, 1) and not v.instance.perturbation]
    assert 10 < len(expected) < 150
    says(
        page,
        f"{len(expected)} of {ORIGINALS} instances and 0 of {TWINS} perturbed versions match.",
    )
    page.get_by_role("button", name="Remove the filter trial 1").click()
    either = [
        v
        for v in VIEWS
        if any(has(v, t) for t in range(3)) and not v.instance.perturbation
    ]
    says(page, f"{len(either)} of {ORIGINALS} instances")
    control(page, "q").fill("ponder")
    pondering = [
        v
        for v in VIEWS
        if any(t.requests[0].replies[0].completion.reasoning for t in v.trials)
        and not v.instance.perturbation
    ]
    says(page, f"{len(pondering)} of {ORIGINALS} instances")
    assert "reasoning" in page.locator("#finder .snippet").first.inner_text()
    control(page, "q").fill("no such word")
    says(page, f"0 of {ORIGINALS} instances")


def test_only_shards_with_rows_that_may_match_are_read(
    open_run: Open, runs_site: Path
) -> None:
    page = open_run("index.html", fresh=True)
    sent = requests_of(page)
    base = where(page).removesuffix("index.html")
    page.goto(f"{base}{LARGE}/index.html?q=zebra&in=input&id=id3999")
    says(page, f"1 of {BIG:,} instances match.")
    assert len([u for u in sent if "/search/" in u]) == 1
    page.get_by_role("button", name="Remove the filter id: id3999").click()
    says(page, f"4 of {BIG:,} instances match.")
    assert found(page) == ["id999", "id1999", "id2999", "id3999"]
    index = read((runs_site / LARGE / "index.js").read_text())
    assert index is not None
    assert (
        len([u for u in sent if "/search/" in u])
        == len(index["texts"]["inputs"]["names"])
        == 8
    )


def test_a_search_can_be_stopped_and_goes_on(
    pages: Pages, runs_site: Path, serve: Callable[[Path], str]
) -> None:
    page = pages.open(serve(runs_site), "index.html", fresh=True)
    held: list[Any] = []
    free = False

    def hold(route: Any) -> None:
        if free:
            route.continue_()
        else:
            held.append(route)

    page.route("**/search/*.js", hold)
    page.goto(
        f"{serve(runs_site)}/{LARGE}/index.html?q=zebra", wait_until="domcontentloaded"
    )
    page.locator("#finder .progress").filter(
        has_text=f"Searched 0 of {BIG:,} …"
    ).wait_for()
    page.get_by_role("button", name="Stop").click()
    page.locator("#finder .progress").filter(
        has_text=f"Searched 0 of {BIG:,}."
    ).wait_for()
    assert page.evaluate("document.activeElement.textContent") == "Go on"
    says(page, f"0 of {BIG:,} instances match.")
    free = True
    for route in held:
        route.continue_()
    page.get_by_role("button", name="Go on").click()
    says(page, f"4 of {BIG:,} instances match.")
    assert page.locator("#finder .progress").is_hidden()


# ---- When something is missing


@pytest.fixture
def spoiled(runs_site: Path, tmp_path: Path) -> Path:
    copy = tmp_path / "under" / "prefix"
    shutil.copytree(runs_site, copy)
    return copy


def test_a_missing_index_is_said(pages: Pages, spoiled: Path) -> None:
    (spoiled / LARGE / "index.js").unlink()
    page = pages.open(spoiled.as_uri(), f"{LARGE}/index.html")
    page.get_by_text("The score index (index.js) could not be loaded").wait_for()
    page.goto(f"{spoiled.as_uri()}/{LARGE}/2.html")
    page.get_by_role("button", name="Filter and search").click()
    page.get_by_text("The instances of this page are complete without it.").wait_for()
    page.keyboard.press("j")
    assert where(page).endswith("2.html#i-id50")
    assert page.locator("#i-id50").is_visible()
    assert pages.troubles
    pages.troubles.clear()


def test_a_missing_shard_is_said_and_the_rest_found(
    pages: Pages, spoiled: Path
) -> None:
    index = read((spoiled / LARGE / "index.js").read_text())
    assert index is not None
    (spoiled / "search" / f"{index['texts']['inputs']['names'][3]}.js").unlink()
    page = pages.open(spoiled.as_uri(), f"{LARGE}/index.html?q=zebra&in=input")
    page.get_by_text(
        "1 part of the text index (search/) could not be loaded."
    ).wait_for()
    assert found(page) == ["id999", "id2999", "id3999"]
    pages.troubles.clear()


def test_a_site_without_text_search_says_why(pages: Pages, tmp_path: Path) -> None:
    out = tmp_path / "www" / "site"
    build(FinderResults(), out, SiteConfig(text_search=False))
    assert not (out / "search").exists()
    page = pages.open(out.as_uri(), f"{MIXED}/index.html?q=river")
    page.locator("#finder .warn").filter(
        has_text="built without text search"
    ).wait_for()
    says(page, f"{ORIGINALS} instances and")
    assert control(page, "q").count() == 0
    page.get_by_text("More filters").click()
    assert "built without text search" in page.locator("#finder .lower").inner_text()


# ---- Many rows


def test_a_hundred_thousand_rows_are_filtered_while_one_types(
    pages: Pages, runs_site: Path
) -> None:
    rng = random.Random(5)
    some = [row(rng, n) for n in range(500)]
    index = payload_of(some)
    page = pages.open(runs_site.as_uri(), f"{MIXED}/1.html")
    took = page.evaluate(
        """([index, times]) => {
          const wide = (column) => Array.isArray(column) ? Array(times).fill(column).flat() : column.at ? { of: column.of, at: column.at.repeat(times) } : column;
          const all = (columns) => columns.map(wide);
          Object.assign(index, { rows: index.rows * times, pages: Array(index.rows * times / 50).fill(50), split: wide(index.split), sub: wide(index.sub), pert: wide(index.pert),
            finish: all(index.finish), length: all(index.length), confidence: all(index.confidence), metrics: index.metrics.map(m => ({ ...m, values: all(m.values) })),
            groups: Object.fromEntries(Object.entries(index.groups).map(([k, v]) => [k, wide(v)])), ids: { head: { of: [["id", 0]] }, first: [0], step: { of: [1] } } });
          const times_ = {};
          const time = (name, what) => { const t = performance.now(); const v = what(); times_[name] = performance.now() - t; return v; };
          const rows = time("open", () => helmsite.rows(index));
          const ask = (query) => rows.filter(rows.parse(new URLSearchParams(query)).state).rows.length;
          time("sort", () => ask("sort=-confidence"));
          for (const id of ["i", "id9", "id99", "id999"]) time(id, () => ask(`id=${id}&show=wrong&sort=-confidence&length=..8`));
          return [rows.count, times_];
        }""",
        [index, 200],
    )
    assert took[0] == 100_000
    assert took[1].pop("sort") < 3_000
    assert took[1].pop("open") < 3_000
    assert max(took[1].values()) < 300 * 4, (
        took
    )  # 300 ms on a machine that does nothing else


def test_what_was_found_is_not_left_folded(open_run: Open) -> None:
    page = open_run(f"{MIXED}/1.html?q=ponder#i-id0")
    pondering = [v for v in VIEWS if v.instance.position % 10 == 0]
    page.locator(".stepper").filter(has_text=f"1 of {len(pondering)}").wait_for()
    folded = page.locator("#i-id0 details", has_text="I ponder.").first
    assert folded.get_attribute("open") is not None
    page.keyboard.press("j")
    page.locator(".stepper").filter(has_text=f"2 of {len(pondering)}").wait_for()


def test_the_tab_of_a_trial_is_not_a_filter(open_run: Open) -> None:
    page = open_run(f"{MIXED}/1.html?show=wrong")
    count = len(oracle(VIEWS, [("show", "wrong")]))
    page.locator(".stepper").filter(has_text=f"of {count}").wait_for()
    article = page.locator("#articles > article:not([hidden])").first
    article.get_by_role("tab", name="Trial 2").click()
    assert "tab=2" in where(page)
    page.keyboard.press("j")
    page.locator(".stepper").filter(has_text=f"1 of {count}").wait_for()
    page.get_by_role("link", name="next page →").first.click()
    page.wait_for_url("**/2.html?show=wrong*")
    page.locator(".stepper").filter(has_text=f"of {count}").wait_for()
    page.get_by_role("button", name="Filter and search").click()
    page.get_by_text("More filters").click()
    control(page, "trial").select_option("1")
    assert "tab=" not in where(page)
    first = page.locator("#articles > article:not([hidden])").first
    assert (
        first.get_by_role("tab", name="Trial 1").get_attribute("aria-selected")
        == "true"
    )


def test_a_link_to_what_a_filter_hides_shows_it(open_run: Open) -> None:
    page = open_run(f"{MIXED}/1.html?pert=typos(prob%3D0.1)")
    page.locator(".stepper").filter(has_text=f"of {TWINS // 2}").wait_for()
    twin = page.locator("#articles > article:not([hidden])").first
    twin.get_by_role("link", name="original").click()
    original = page.locator(page.evaluate("location.hash"))
    original.wait_for()
    assert (
        f"not among the {TWINS // 2} that match"
        in page.locator(".stepper").inner_text()
    )
    page.keyboard.press("j")
    assert page.locator(".stepper").filter(has_text=f"1 of {TWINS // 2}").is_visible()


class ManyTopics(FinderResults):
    """A run in which every instance has a topic and a sub-split of its own."""

    def instances(self, run_id: str) -> Iterator[InstanceView]:
        for n, view in enumerate(itertools.islice(super().instances(run_id), 400)):
            own = structs.replace(
                view.instance,
                attributes={"topic": (f"topic {n}", "any")},
                sub_split=f"part {n}",
            )
            yield structs.replace(view, instance=own)


def test_of_very_many_values_one_is_typed(pages: Pages, tmp_path: Path) -> None:
    out = tmp_path / "www" / "site"
    build(ManyTopics(), out, SiteConfig())
    page = pages.open(out.as_uri(), f"{LARGE}/index.html")
    page.get_by_text("More filters").click()
    topic = control(page, "group topic")
    topic.fill("topic 333")
    topic.press("Enter")
    says(page, "1 of 400 instances match.")
    assert found(page) == ["id333"]
    topic.fill("no topic")
    topic.press("Enter")
    page.locator("#finder .warn").filter(has_text="group “topic=no topic”").wait_for()
    assert topic.input_value() == "no topic"
    page.get_by_label("Instance id").first.focus()
    says(page, "400 instances.")


def test_what_is_being_written_is_not_corrected(open_run: Open) -> None:
    page = open_run(f"{MIXED}/index.html")
    text = control(page, "q")
    text.press_sequentially("unicorn ")
    says(page, "match.")
    page.wait_for_timeout(400)
    text.press_sequentially("tell")
    says(page, "match.")
    assert text.input_value() == "unicorn tell"
    page.wait_for_url("**?q=unicorn+tell")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("path", [f"{MIXED}/index.html", f"{MIXED}/2.html"])
def test_the_open_finder_is_accessible(
    pages: Pages,
    runs_site: Path,
    serve: Callable[[Path], str],
    axe: str,
    scheme: str,
    path: str,
) -> None:
    page = pages.open(
        serve(runs_site),
        f"{path}?q=unicorn&show=wrong&split=moon&sort=-score",
        fresh=True,
        color_scheme=scheme,
        bypass_csp=True,
        viewport={"width": 390, "height": 844},
    )
    says(page, "match.")
    if page.get_by_role("button", name="Filter and search").is_visible():
        page.get_by_role("button", name="Filter and search").click()
    page.get_by_text("More filters").click()
    page.keyboard.press("Tab")
    page.evaluate(axe)
    found = page.evaluate(
        "axe.run(document.querySelector('main')).then(r => r.violations)"
    )
    assert serious(found) == []
    wide = page.evaluate(
        """[...document.querySelectorAll('#finder *, .stepper *')].filter(
          e => !e.closest('.scroll') && e.getBoundingClientRect().right > innerWidth).map(e => e.outerHTML)"""
    )
    assert wide == []


def test_an_equals_sign_may_stand_in_a_dimension_and_in_a_value(
    pages: Pages, runs_site: Path
) -> None:
    first, second = (
        structs.replace(
            v, instance=structs.replace(v.instance, sub_split="", attributes=attributes)
        )
        for v, attributes in zip(
            VIEWS[:2], ({"a=b": ("c=d",)}, {"a": ("b=c",)}), strict=True
        )
    )
    page = pages.open(runs_site.as_uri(), f"{MIXED}/1.html")
    queries = [urlencode([("group", g)]) for g in ("a=b=c=d", "a=b=c", "a=x", "q=c")]
    answers = page.evaluate(ASK, [payload_of([first, second]), queries])
    assert [a["found"] for a in answers] == [[0], [1], [0, 1], [0, 1]]
    assert [len(a["ignored"]) for a in answers] == [0, 0, 1, 1]
    assert [a["again"] for a in answers] == [a["found"] for a in answers]


class Equations(FinderResults):
    """A run whose groups and sub-splits have an equals sign in their names."""

    def count(self, model: int, scenario: int) -> int:
        return 3

    def instances(self, run_id: str) -> Iterator[InstanceView]:
        groups = (("", ("c=d", "e")), ("x=1", ("e",)), ("x=1", ()))
        for view, (sub, values) in zip(VIEWS[:3], groups, strict=True):
            own = structs.replace(
                view.instance, sub_split=sub, attributes={"a=b": values}
            )
            yield structs.replace(view, instance=own)


def test_the_list_shows_groups_as_they_are_called(pages: Pages, tmp_path: Path) -> None:
    out = tmp_path / "www" / "site"
    build(Equations(), out, SiteConfig())
    page = pages.open(out.as_uri(), f"{MIXED}/index.html")
    says(page, "1 instance and 2 perturbed versions.")
    groups = page.locator(".found-list tbody td:last-child").all_inner_texts()
    assert groups == ["a=b: c=d, a=b: e", "x=1, a=b: e", "x=1"]


def test_quotes_without_words_search_for_nothing(open_run: Open) -> None:
    page = open_run(f"{MIXED}/index.html?q=%22%22")
    page.locator("#finder .warn").filter(has_text='q “""”').wait_for()
    says(page, f"{ORIGINALS} instances and")


def test_words_that_every_object_knows_are_no_order(open_run: Open) -> None:
    page = open_run(f"{MIXED}/index.html?sort=constructor&group=__proto__=x")
    page.locator("#finder .warn").filter(has_text="sort “constructor”").wait_for()
    says(page, f"{ORIGINALS} instances and")


def test_the_numbers_of_a_column_have_as_many_digits(open_run: Open) -> None:
    page = open_run(f"{MIXED}/index.html")
    says(page, f"{ORIGINALS} instances")
    for column in ("score", "confidence"):
        told = page.locator(f"td.{column}").all_inner_texts()
        assert told
        assert all(re.fullmatch(r"[01]|0\.\d{3}|·", text) for text in told), told
    assert all(
        re.fullmatch(r"\d+|\d\.\d\d|\d\d\.\d|·", text)
        for text in page.locator("td.length").all_inner_texts()
    )
