"""Instances in Chromium: what the model saw, what it said, how sure it was."""

from __future__ import annotations

import html
import json
import random
import re
import time
from typing import TYPE_CHECKING, Any

import pytest

from helmsite.config import SiteConfig
from helmsite.render import build
from helmsite.render.names import anchor
from helmsite.render.text import HIDDEN, PICTURES, visible
from tests.browser.conftest import serious
from tests.instance_source import (
    ANSWER,
    LINE,
    MIXED,
    PASSAGE,
    RAW,
    RUN,
    SAID,
    InstanceResults,
    prompt_of,
    view_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from playwright.sync_api import Locator, Page

    from tests.browser.conftest import Pages

    Open = Callable[..., Page]

pytestmark = pytest.mark.browser

PAGE = f"runs/{RUN}/1.html"
PHONE = {"width": 390, "height": 844}
# The ends of each range of characters that matter to what is hidden and what may stay.
CLASSES = [ord(c) for c in re.sub("-", "", f"{HIDDEN}{PICTURES}")]
CLASSES += [0x300, 0x1FFF, 0x2100, 0xFDFF, 0xFE10, 0xFFDC, 0x10000, 0xDFFFF]
CLASSES = [code for code in CLASSES if code > 0]


@pytest.fixture(scope="session")
def instances_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("instances") / "under" / "prefix"
    build(InstanceResults(), out, SiteConfig(title="Instances of every kind"))
    return out


@pytest.fixture
def open_instances(
    instances_site: Path, pages: Pages, address: Callable[[Path], str]
) -> Open:
    root = address(instances_site)
    return lambda path=PAGE, **options: pages.open(root, path, **options)


def article(page: Page, name: str, perturbation: str = "") -> Locator:
    return page.locator(f'[id="{anchor(name, perturbation)}"]')


def copied(page: Page, details: Locator) -> str:
    """What the button of a folded prompt gives to the clipboard.

    The clipboard of the system may change line ends: what the page gives it counts.
    """
    page.evaluate(
        "navigator.clipboard.writeText = async (text) => { window.copied = text; }"
    )
    if details.get_attribute("open") is None:
        details.locator("> summary").click()
    details.get_by_role("button", name="Copy").click()
    # A string with a lone surrogate cannot be sent as it is.
    points = page.evaluate("[...window.copied].map(c => c.codePointAt(0))")
    return "".join(map(chr, points))


def unfold(page: Page) -> None:
    page.evaluate(
        "document.querySelectorAll('details').forEach(d => { d.open = true; })"
    )


def box(part: Locator) -> dict[str, float]:
    found: Any = part.bounding_box()
    assert found is not None
    return dict(found)


# ---- Exact prompts


@pytest.mark.parametrize(
    "name", ["passage", "twins", "mixed", "scored", "window", "raw"]
)
def test_a_prompt_is_copied_to_the_letter(open_instances: Open, name: str) -> None:
    page = open_instances()
    details = article(page, name).locator("details.prompt").first
    assert copied(page, details) == prompt_of(name)
    assert details.locator("pre a").count() == 0


def test_the_input_stands_on_the_page_once_until_its_prompt_is_opened(
    open_instances: Open, instances_site: Path
) -> None:
    source = (instances_site / PAGE).read_text("utf-8", "surrogatepass")
    own = source[source.index("<article id=i-passage>") :]
    own = own[: own.index("</article>")]
    assert own.count("The old mill stood by the river. Nobody knew why.") == 60
    page = open_instances()
    details = article(page, "passage").locator("details.prompt").first
    details.locator("summary").click()
    assert (
        details.locator(".tinted").inner_text().strip().startswith("Read, then answer.")
    )
    assert details.locator(".part").count() == 1
    assert details.locator("pre").get_attribute("tabindex") == "0"


def test_a_long_prompt_is_a_file_with_every_byte(
    open_instances: Open, instances_site: Path
) -> None:
    page = open_instances()
    details = article(page, "line").locator("details.prompt")
    details.locator("summary").click()
    assert details.get_by_role("button").count() == 0
    link = details.get_by_role("link", name="The exact prompt as a text file")
    file = instances_site / "runs" / RUN / (link.get_attribute("href") or "")
    assert file.read_bytes() == b"\xef\xbb\xbf" + prompt_of("line").encode()
    shown = article(page, "line").locator("pre.big").inner_text()
    assert "192,000 characters left out here" in shown
    assert len(shown) < 9_000


def test_messages_are_copied_as_they_were_sent(open_instances: Open) -> None:
    page = open_instances()
    details = article(page, "chat").locator("details.sent")
    text = copied(page, details)
    sent = [{"role": m.role, "content": m.content, **m.extra} for m in SAID]
    assert json.loads(text) == sent
    assert details.locator(".call .role").all_inner_texts() == ["assistant calls look"]
    assert "12345678901234567890" in text
    assert "1.0" in text
    asked = copied(page, article(page, "asked").locator("details.sent"))
    assert json.loads(asked) == [{"role": "user", "content": "Is it?"}]


# ---- Conversations


def test_a_conversation_reads_in_order(open_instances: Open) -> None:
    page = open_instances()
    chat = article(page, "chat")
    roles = chat.locator(".turns .role").all_inner_texts()
    assert roles == [
        "assistant",
        "assistant calls weather",
        "result of weather",
        "data",
    ]
    result = chat.locator(".turns .result")
    assert result.locator("pre").first.is_hidden()
    assert "snow <b>" in result.locator(".fold > summary").inner_text()
    result.locator(".fold > summary").click()
    assert result.locator("pre").first.text_content() == "snow <b>\n" * 200
    assert chat.locator(".thought > summary").inner_text().startswith("Reasoning")
    assert chat.locator("pre.out").inner_text() == "Yes, it snows."
    assert chat.get_by_text("Exact prompt").count() == 0
    top = [box(chat.locator(s).first)["y"] for s in (".thought", ".turns", "pre.out")]
    assert top == sorted(top)


# ---- Tokens


def test_a_tokens_values_show_on_hover_focus_and_tap(open_instances: Open) -> None:
    page = open_instances(has_touch=True)
    details = (
        article(page, "passage").locator("section").first.locator("details[data-l]")
    )
    details.locator("summary").click()
    tokens, readout = details.locator(".tok"), details.locator(".readout")
    before = box(details.locator(".strip"))
    tokens.nth(3).hover()
    assert readout.inner_text() == "Token 4 of 57 “why ”: log-probability −1.50 (22 %)"
    told = details.locator(".readout", has_text="Token 5 of 57 “the ”")
    tokens.nth(4).tap()
    told.wait_for()
    page.wait_for_timeout(200)  # the mouse still rests on the fourth
    assert told.is_visible()
    page.mouse.move(0, 0)
    assert details.locator(".tok.on").count() == 1
    tokens.first.focus()
    for key, number in (("ArrowRight", 2), ("End", 57), ("ArrowLeft", 56), ("Home", 1)):
        page.keyboard.press(key)
        details.locator(".readout", has_text=f"Token {number} of 57").wait_for()
    assert box(details.locator(".strip")) == before
    assert details.locator(".scale").is_visible()
    assert "".join(tokens.all_text_contents()).replace("␣", " ") == f"{ANSWER}∅"


def test_white_space_bytes_and_special_tokens_can_be_told_apart(
    open_instances: Open,
) -> None:
    page = open_instances()
    details = article(page, "raw").locator("details[data-l]")
    details.locator("summary").click()
    shown = details.locator(".tok").all_text_contents()
    assert shown == ["<|start|>", "␣", "a", "⏎\n", "⇥", "E2 82", "∅", RAW[7], "😀"]
    details.locator(".tok").nth(7).hover()
    assert details.locator(".readout").inner_text() == (
        f"Token 8 of 9 “{RAW[7]}”: log-probability −0.50 (61 %); "
        f"the model’s candidates: “{RAW[7]}” 61 %, “=|;~%3C<” 14 %"
    )
    details.locator(".tok").first.hover()
    assert "no log-probability" in details.locator(".readout").inner_text()
    details.locator(".tok").nth(1).hover()
    least = "Token 2 of 9 “␣”: log-probability −40.94 or less"
    assert details.locator(".readout").inner_text().startswith(least)


AWKWARD = [
    *(chr(code) for edge in CLASSES for code in range(edge - 1, edge + 2)),
    *"\u200c\u200d\ufe0e\ufe0f\u20e3" * 12,
    *"\n\ta &<1日م中क\u0301❤😀👩©⏎",
]


def test_the_browser_shows_awkward_characters_as_pages_do(open_instances: Open) -> None:
    rng = random.Random(7)
    asked = ["".join(rng.choices(AWKWARD, k=rng.randint(1, 12))) for _ in range(3_000)]
    asked += [
        "日\ufe0f",
        "😀\u200d\u200d",
        "\n\ufe0f",
        "\t\u200d",
        "1\ufe0f\u20e3",
        "\x7f\0",
    ]
    # A high and a low surrogate side by side are one character to a browser.
    texts = [re.sub("[\ud800-\udbff]+(?=[\udc00-\udfff])", "", text) for text in asked]
    points = open_instances().evaluate(
        """texts => texts.map((text) => [...helmsite.shown(String.fromCodePoint(...text))]
          .map((c) => c.codePointAt(0)))""",
        [[ord(c) for c in text] for text in texts],
    )
    told = ["".join(map(chr, found)) for found in points]
    expected = [html.unescape(re.sub("<[^>]*>", "", visible(text))) for text in texts]
    expected = [e.replace("\n", "⏎\n").replace("\t", "⇥") for e in expected]
    pairs = zip(texts, told, expected, strict=True)
    assert [(t, got, must) for t, got, must in pairs if got != must] == []
    assert sum(t == e for t, e in zip(texts, expected, strict=True)) > 20


def test_tokens_of_a_scored_text_are_those_of_the_input(open_instances: Open) -> None:
    page = open_instances()
    for name, text in (("scored", PASSAGE), ("window", ANSWER)):
        details = article(page, name).locator("details[data-l]")
        details.locator("summary").click()
        details.locator(".tok").first.wait_for()
        spelled = details.locator(".tok").all_text_contents()
        assert len(spelled) == len(text.split(" "))
        assert [s.strip("␣ ") for s in spelled[40:43]] == text.split(" ")[40:43]


def test_five_thousand_tokens_are_quick(open_instances: Open) -> None:
    page = open_instances()
    details = article(page, "many").locator("details[data-l]")
    start = time.monotonic()
    details.locator("summary").click()
    details.locator(".tok").last.wait_for()
    assert details.locator(".tok").count() == 5_000
    assert time.monotonic() - start < 5
    spent = page.evaluate(
        """() => {
          const tokens = document.querySelectorAll("#i-many .tok");
          const start = performance.now();
          for (let i = 0; i < 1000; i += 1) {
            tokens[i * 5].dispatchEvent(new MouseEvent("mousemove", { bubbles: true }));
            document.querySelector("#i-many .readout").offsetHeight;
          }
          return performance.now() - start;
        }"""
    )
    assert spent < 5_000  # 5 ms a token on a busy machine, layout and all


def test_confidence_is_seen_without_a_click(open_instances: Open) -> None:
    page = open_instances()
    summary = article(page, "passage").locator("details[data-l] summary").first
    assert summary.inner_text() == "Tokens: 57, Σ log p −150.00, mean 7 %"
    assert summary.locator("b").get_attribute("class") == "t5"


# ---- Trials


def test_trials_are_tabs_whose_choice_is_in_the_address(open_instances: Open) -> None:
    page = open_instances(f"{PAGE}#i-passage")
    tabs = article(page, "passage").get_by_role("tab")
    words = ["Trial 0 right", "Trial 1 right", "Trial 2 wrong"]
    assert [" ".join(t.split()) for t in tabs.all_text_contents()] == words
    panels = article(page, "passage").get_by_role("tabpanel")
    assert panels.count() == 1
    ids = page.locator("article .trial").evaluate_all("all => all.map(e => e.id)")
    assert len(ids) == len(set(ids)) > 0
    assert not [
        i for i in ids if i.startswith("i-")
    ]  # such is an instance's, of any id
    tabs.nth(1).click()
    assert "The same completion as in trial 0, to the letter." in panels.inner_text()
    assert "tab=1" in page.evaluate("location.search")
    page.keyboard.press("ArrowRight")
    assert tabs.nth(2).get_attribute("aria-selected") == "true"
    assert tabs.nth(2).evaluate("e => e === document.activeElement")
    assert panels.locator("pre.out").inner_text() == "No."
    page.reload()
    assert panels.locator("pre.out").inner_text() == "No."
    assert page.evaluate("location.hash") == "#i-passage"
    tabs.nth(2).focus()
    page.keyboard.press("Home")
    assert tabs.first.get_attribute("aria-selected") == "true"


def test_a_tab_stays_where_it_was_tapped(open_instances: Open) -> None:
    page = open_instances(viewport=PHONE)
    tab = article(page, "passage").get_by_role("tab").nth(2)
    tab.scroll_into_view_if_needed()
    before = box(tab)["y"]
    tab.click()
    assert abs(box(tab)["y"] - before) < 2


def test_a_repeated_answer_has_its_tokens(open_instances: Open) -> None:
    page = open_instances(f"{PAGE}?tab=1")
    details = (
        article(page, "passage").get_by_role("tabpanel").locator("details[data-l]")
    )
    details.locator("summary").click()
    texts = details.locator(".tok").all_text_contents()
    assert texts[1:4] == ["Nobody ", "knew ", "why "]


# ---- Perturbed twins


def test_twins_stand_beside_their_original(open_instances: Open) -> None:
    page = open_instances()
    original = article(page, "twins")
    typos, lower = (article(page, "twins", p) for p in ("typos~1", "lower"))
    assert box(original)["y"] == box(typos)["y"]
    assert box(typos)["x"] > box(original)["x"] + 400
    inputs = [box(a.locator("pre.out"))["y"] for a in (original, typos)]
    assert abs(inputs[0] - inputs[1]) < 1
    assert box(lower)["y"] > box(original)["y"]
    assert typos.locator("pre.big mark:not(.gap)").all_text_contents() == ["eh", "ti"]
    assert lower.locator("pre.big mark").all_text_contents() == ["w", "i"]
    assert original.locator("pre.big mark").all_text_contents() == [
        "W",
        "he",
        "it",
        "I",
    ]
    for name in ("", "typos~1", "lower"):
        text = article(page, "twins", name).locator("pre.big").text_content()
        assert text == view_of("twins", name).instance.input
    header = typos.locator("header").inner_text()
    assert header.index("right") < header.index("→") < header.index("wrong")
    assert "now wrong" in original.locator("header").inner_text()


def test_twins_are_stacked_on_a_phone_and_alone_without_their_original(
    open_instances: Open,
) -> None:
    page = open_instances(viewport=PHONE)
    original, twin = article(page, "twins"), article(page, "twins", "typos~1")
    assert box(twin)["y"] >= box(original)["y"] + box(original)["height"] - 1
    page = open_instances()
    article(page, "twins").evaluate("e => { e.hidden = true; }")
    width = page.evaluate("document.querySelector('#articles').clientWidth")
    assert box(article(page, "twins", "typos~1"))["width"] > 0.95 * width


# ---- Texts


def test_each_line_of_a_text_has_its_own_direction(open_instances: Open) -> None:
    page = open_instances()
    edges = page.evaluate(
        """() => {
          const pre = document.querySelector("#i-mixed pre.big");
          const text = pre.firstChild, box = pre.getBoundingClientRect();
          let at = 0;
          return text.data.split("\\n").slice(0, 3).map((line) => {
            const range = document.createRange();
            range.setStart(text, at);
            range.setEnd(text, at + line.length);
            at += line.length + 1;
            const found = range.getBoundingClientRect();
            return [found.left - box.left, box.right - found.right];
          });
        }"""
    )
    assert [left < right for left, right in edges] == [True, False, False]
    assert max(min(pair) for pair in edges) < 20


def test_a_text_copied_by_hand_is_the_true_one(open_instances: Open) -> None:
    page = open_instances()
    for name, text in (("mixed", MIXED), ("passage", ANSWER)):
        chosen = (
            article(page, name)
            .locator("pre.out")
            .first.evaluate(
                "e => { getSelection().selectAllChildren(e); return getSelection().toString(); }"
            )
        )
        assert chosen == text
    signs = article(page, "mixed").locator("pre.out i:not([class])")
    assert signs.count() == 2
    assert "␣" in signs.first.evaluate("e => getComputedStyle(e, '::before').content")


def test_an_answer_of_white_space_can_be_seen(open_instances: Open) -> None:
    page = open_instances()
    shown = article(page, "blank").locator("pre.out").inner_text()
    assert shown == "␣␣⏎⇥␣"


def test_failed_and_unasked_instances_cannot_be_missed(open_instances: Open) -> None:
    page = open_instances()
    failed = article(page, "failed")
    assert "request failed: HTTP 500 after 5 attempts" in failed.inner_text()
    colour = "e => getComputedStyle(e).borderLeftWidth"
    assert failed.evaluate(colour) == "3px"
    unasked = article(page, "unasked")
    assert "Not asked: the run holds no request" in unasked.inner_text()
    assert "not asked" in unasked.locator("header").inner_text()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_overflows_and_axe_finds_nothing(
    pages: Pages,
    instances_site: Path,
    serve: Callable[[Path], str],
    axe: str,
    scheme: str,
    width: int,
) -> None:
    page = pages.open(
        serve(instances_site),
        PAGE,
        viewport={"width": width, "height": 860},
        color_scheme=scheme,
        bypass_csp=True,  # it forbids what axe does to be run
    )
    article(page, "many").evaluate("e => e.remove()")  # 5,000 tokens: axe is slow
    unfold(page)
    page.wait_for_selector(".tok")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.evaluate(axe)
    found = page.evaluate("axe.run('#articles').then(r => r.violations)")
    assert serious(found) == []


def test_without_javascript_everything_reads(open_instances: Open) -> None:
    page = open_instances(java_script_enabled=False)
    own = article(page, "passage")
    assert own.locator("section.trial").count() == 3
    assert all(s.is_visible() for s in own.locator("section.trial").all())
    details = own.locator("details.prompt").first
    details.locator("summary").click()
    text = details.inner_text()
    assert text.index("shared part") < text.index("input") < text.index("Answer:")
    details.get_by_role("link", name="input").click()
    assert page.url.endswith("#i-passage")
    tokens = own.locator("details[data-l] summary").first
    assert "mean 7 %" in tokens.inner_text()
    assert article(page, "chat").locator(".turns .said").count() == 4
    assert LINE[:100] in article(page, "line").inner_text()
