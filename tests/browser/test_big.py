"""A run of 100,000 instances, from an archive, in Chromium: nothing of it is out of reach."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import pytest

from helmsite.archive import Archive
from helmsite.config import SiteConfig
from helmsite.query import Results, summarise
from helmsite.render import build
from helmsite.schema import (
    CORRECT_TAG,
    Completion,
    Instance,
    Manifest,
    ModelCard,
    ModelIdentity,
    Reference,
    Reply,
    Request,
    RunSpec,
    ScenarioFacts,
    Score,
    preset,
    run_id,
)
from tests.browser.conftest import once
from tests.query_runs import EM

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from playwright.sync_api import Page

    from tests.browser.conftest import Pages

    Open = Callable[..., Page]

pytestmark = pytest.mark.browser

MANY = 100_000
WRONG = range(8, MANY, 9)
RARE = (4_321, 77_777, 99_998)
SHARED = "Add the numbers.\n\nQuestion: What is 1+1?\nAnswer: 2\n\n"
SPEC = RunSpec("sums", ModelIdentity("demo/adder"), preset("generation"))
RUN = run_id(SPEC.spec_id, "big", "native")
COLD_BYTES, COLD_REQUESTS = 150_000, 5


def question(n: int) -> str:
    rare = " Mind the quicksilver\u00a0é!" if n in RARE else ""
    return f"What is {n % 97}+{n % 89}?{rare}"


def store(archive: Archive) -> None:
    decoding = SPEC.adapter.decoding
    instances, replies, scores = [], [], []
    for n in range(MANY):
        name, answer = f"id{n}", str(n % 97 + n % 89)
        asked = question(n)
        right = float(n % 9 != 8)
        instances.append(
            Instance(
                name,
                asked,
                (Reference(answer, (CORRECT_TAG,)),),
                position=n,
                split="test",
            )
        )
        replies.append(
            Reply(
                Request(name, f"{SHARED}Question: {asked}\nAnswer:", decoding),
                Completion(f" {answer}" if right else " no idea"),
            )
        )
        scores.append(Score(name, EM.name, right))
    manifest = Manifest(
        run_id=RUN,
        spec_id=SPEC.spec_id,
        suite="big",
        spec=SPEC,
        scenario=ScenarioFacts("sums", "Sums", main_metric=EM.name),
        card=ModelCard("demo/adder", "Adder"),
        metrics=(EM,),
    )
    stats = summarise(instances, scores, (EM,), (), (), scenario="sums")
    archive.write_run(manifest, instances, replies, scores, stats)


@pytest.fixture(scope="session")
def big(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the archive and, under two folders, its site."""

    def make(folder: Path) -> None:
        archive, site = Archive(folder / "runs"), SiteConfig(title="Big")
        store(archive)
        with Results(archive, site, cache=None) as results:
            build(results, folder / "www" / "my" / "site", site)

    return once(tmp_path_factory, "big", make)


@pytest.fixture
def open_big(big: Path, pages: Pages, address: Callable[[Path], str]) -> Open:
    """Open a page of the run."""
    root = address(big / "www" / "my" / "site")

    def opened(path: str) -> Page:
        return pages.open(root, f"runs/{RUN}/{path}")

    return opened


def target(page: Page) -> str:
    """The article that the address points at, once it is in sight."""
    page.wait_for_function(
        """() => {
          const article = document.querySelector("article:target");
          const box = article && article.getBoundingClientRect();
          return box && box.height && box.top < innerHeight && box.bottom > 0;
        }"""
    )
    text: str = page.locator("article:target h2").inner_text()
    return text.strip()


def test_the_777th_instance_opens_by_its_address(open_big: Open) -> None:
    page = open_big("16.html#i-id776")
    assert target(page) == "id776"
    assert question(776) in page.locator("article:target").inner_text()


def test_the_777th_instance_is_found_by_its_id(open_big: Open) -> None:
    page = open_big("index.html?id=id776")
    first = page.locator("#finder tbody th a").first
    first.wait_for()
    assert first.inner_text() == "id776"
    first.click()
    page.wait_for_url("**/16.html?id=id776#i-id776")
    assert target(page) == "id776"


def test_the_last_of_100000_is_reached_page_by_page(open_big: Open) -> None:
    """By the list of pages on the run's page, the pager and the finder's list."""
    page = open_big("index.html")
    page.locator("nav.pages summary").last.click()
    page.locator("nav.pages a:visible").last.click()
    page.wait_for_url("**/2000.html")
    last = page.locator("#articles > article").last
    assert last.get_attribute("id") == f"i-id{MANY - 1}"
    assert page.get_by_role("link", name="next page").count() == 0
    page.get_by_role("link", name="previous page").first.click()
    page.wait_for_url("**/1999.html")
    page.get_by_role("link", name="next page").first.click()
    page.wait_for_url("**/2000.html")
    page = open_big("index.html?split=test")
    jump = page.get_by_role("spinbutton", name="Page of the list")
    jump.fill("2000")
    jump.press("Enter")
    link = page.get_by_role("link", name=f"id{MANY - 1}", exact=True)
    link.click()
    assert target(page) == f"id{MANY - 1}"


def test_wrong_answers_are_filtered(open_big: Open) -> None:
    page = open_big("index.html")
    load = page.get_by_role("button", name="Filter and search")
    if load.is_visible():
        load.click()
    page.get_by_label("Outcome").select_option("wrong")
    page.locator("#finder tbody th a").first.wait_for()
    assert f"{len(WRONG):,} of {MANY:,} instances match" in (
        page.locator("#finder").inner_text()
    )
    names = page.locator("#finder tbody th a").all_inner_texts()
    assert names == [f"id{n}" for n in WRONG[: len(names)]]
    assert len(names) == 50


def test_a_word_is_searched_in_all_texts(open_big: Open) -> None:
    page = open_big("index.html?q=quicksilver&in=input")
    page.wait_for_function(
        "n => document.querySelectorAll('#finder tbody tr').length === n",
        arg=len(RARE),
        timeout=60_000,
    )
    names = page.locator("#finder tbody th a").all_inner_texts()
    assert names == [f"id{n}" for n in RARE]
    assert page.locator("#finder mark").all_inner_texts() == ["quicksilver"] * 3
    page.locator("#finder tbody th a").nth(1).click()
    assert target(page) == f"id{RARE[1]}"
    assert "quicksilver" in page.locator("article:target").inner_text()


def test_the_keys_step_through_what_matches(open_big: Open) -> None:
    page = open_big(f"2.html?show=wrong#i-id{WRONG[9]}")
    assert target(page) == "id89"
    for n in WRONG[10:13]:
        page.keyboard.press("j")
        page.wait_for_url(f"**#i-id{n}")
        assert target(page) == f"id{n}"
    assert "/3.html?show=wrong" in page.url
    page.keyboard.press("k")
    page.wait_for_url(f"**#i-id{WRONG[11]}")
    page.go_back()


@pytest.mark.parametrize("n", [776, RARE[0]])
def test_the_copied_prompt_is_the_archives(open_big: Open, big: Path, n: int) -> None:
    page = open_big(f"{n // 50 + 1}.html#i-id{n}")
    details = page.locator("article:target details.prompt").first
    details.locator("summary").click()
    details.get_by_role("button", name="Copy exact prompt").click()
    page.wait_for_selector("text=characters copied")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.encode() == archived(big)[n].encode()
    assert copied.startswith(SHARED)


@functools.cache
def archived(big: Path) -> dict[int, str]:
    """The prompts of the archive's first pages of requests, by the instance's number."""
    replies = Archive(big / "runs").replies(RUN)
    return {n: next(replies).request.prompt for n in range(RARE[0] + 1)}


def test_a_cold_permalink_moves_little(
    big: Path, pages: Pages, serve: Callable[[Path], str]
) -> None:
    """What a link to one of 100,000 instances costs who never was here before."""
    root = serve(big / "www" / "my" / "site")
    page = pages.open(root, f"runs/{RUN}/1556.html#i-id{RARE[1]}", fresh=True)
    session = page.context.new_cdp_session(page)
    session.send("Network.enable")
    session.send("Network.setCacheDisabled", {"cacheDisabled": True})
    sizes: dict[str, int] = {}
    asked: dict[str, str] = {}
    session.on(
        "Network.requestWillBeSent",
        lambda event: asked.update({event["requestId"]: event["request"]["url"]}),
    )
    session.on(
        "Network.loadingFinished",
        lambda event: sizes.update({event["requestId"]: event["encodedDataLength"]}),
    )
    page.reload(wait_until="networkidle")
    assert target(page) == f"id{RARE[1]}"
    # The icon of the first load may be asked for once more, late: Chromium takes its time.
    assert len(set(asked.values())) <= COLD_REQUESTS, sorted(asked.values())
    sizes = {name: size for name, size in sizes.items() if name in asked}
    assert len(sizes) == len(asked)  # what ends late was asked before the reload
    assert sum(sizes.values()) < COLD_BYTES, sizes
    assert all(url.startswith(root) for url in asked.values())
