"""Texts from strangers, names and numbers, as pages show them."""

from __future__ import annotations

import html
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmsite.query.rows import Cell
from helmsite.render import formats
from helmsite.render.names import anchor, assign, slug
from helmsite.render.text import (
    HEAD,
    LONG,
    blank,
    clipped,
    plain,
    prose,
    spaced,
    visible,
    web_address,
)
from helmsite.render.tokens import script_json


def unseen(markup: str) -> str:
    """What a browser's script reads back from `visible`: see static/site.js, exact()."""
    restored = re.sub(
        r'<i class="cc" data-c="([0-9a-f]+)">[^<]*</i>',
        lambda m: f"&#x{m[1]};" if int(m[1], 16) in {0xA, 0x9} else f"\0{m[1]}\0",
        markup,
    )
    assert "<" not in restored
    text = html.unescape(restored)
    return re.sub("\0([0-9a-f]+)\0", lambda m: chr(int(m[1], 16)), text)


@given(st.text())
def test_a_visible_text_can_be_read_back_exactly(text: str) -> None:
    assert unseen(str(visible(text))) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\0", "␀"),
        ("\r", "␍"),
        ("\x7f", "␡"),
        ("\u202e", "[U+202E]"),
        ("\u2067", "[U+2067]"),
        ("\u200f", "[U+200F]"),
        ("\u2028", "[U+2028]"),
        ("\ufeff", "[U+FEFF]"),
        ("\x85", "[U+0085]"),
        ("\U000e0041", "[U+E0041]"),
        ("\U000e01ef", "[U+E01EF]"),
        ("\u034f", "[U+034F]"),
        ("\u115f", "[U+115F]"),
        ("\u2800", "[U+2800]"),
        ("\u3164", "[U+3164]"),
        ("\ufe00", "[U+FE00]"),
        ("\ufe0f", "[U+FE0F]"),
        ("\u200d", "[U+200D]"),
        ("\uffa0", "[U+FFA0]"),
        ("\U0001d173", "[U+1D173]"),
    ],
)
def test_characters_that_act_are_symbols(text: str, shown: str) -> None:
    assert f">{shown}</i>" in visible(f"a{text}b")
    assert text not in visible(f"a{text}b")


def test_letters_of_any_script_line_feeds_and_tabs_stay() -> None:
    text = "שלום\tعربى\n日本 👩‍👩‍👧 é"
    assert visible(text) == text


@pytest.mark.parametrize(
    "text",
    ["❤️‍🔥", "1️⃣ ©️", "👩🏽‍🚀", "🏳️‍🌈", "می‌خواهم", "क्‍ष", "☠︎"],
)
def test_selectors_and_joiners_in_their_place_stay(text: str) -> None:
    assert visible(text) == text
    assert plain(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("😀\ufe0f\ufe0f", "😀\ufe0f[U+FE0F]"),
        ("😀\u200d\u200d", "😀\u200d[U+200D]"),
        ("日\ufe0f", "日[U+FE0F]"),
        ("\ufe0f😀", "[U+FE0F]😀"),
        ("😀" + "\U000e0148", "😀[U+E0148]"),
    ],
)
def test_what_hides_behind_a_picture_shows(text: str, shown: str) -> None:
    assert re.sub("<[^>]*>", "", visible(text)) == shown


def test_a_text_of_white_space_alone_shows_every_character() -> None:
    shown = re.sub("<[^>]*>", "", blank(" \u3000\u00a0\t\x0b\u2028"))
    assert shown == "␣[U+3000][U+00A0]⇥␋[U+2028]"


def test_an_attribute_has_no_control_character() -> None:
    assert plain("a\nb\t\0c\u202e") == "a b [U+0000]c[U+202E]"


def test_spaces_show_at_the_edges_only() -> None:
    shown = re.sub("<[^>]*>", "", spaced("Question:  what is it \nAnswer: "))
    assert shown == "Question:␣␣what is it␣⏎\nAnswer:␣"


def test_a_long_text_shows_head_and_tail_and_names_the_rest() -> None:
    kept: list[str] = []

    def keep(text: str) -> str:
        kept.append(text)
        return "text/x.txt"

    text = "a" * HEAD + "b" * LONG + "z<"
    shown = clipped(text, keep)
    assert kept == [text]
    assert shown.startswith("a" * HEAD + '<span class="cut">')
    assert shown.endswith("z&lt;")
    assert f"{len(text):,} characters" in shown
    assert clipped("short<", keep) == "short&lt;"
    assert kept == [text]


@pytest.mark.parametrize(
    "source",
    [
        "<script>alert(1)</script>",
        "[x](javascript:alert(1))",
        "![x](https://evil.example/x.png)",
        "<img src=x onerror=alert(1)>",
        "<a href='/etc' style='position:fixed' onclick='x()'>x</a>",
        "<svg onload=alert(1)>",
        "[x](data:text/html,<script>alert(1)</script>)",
        "<iframe src=https://evil.example></iframe>",
    ],
)
def test_markdown_cannot_act(source: str) -> None:
    made = prose(source)
    assert not re.search(r"<(script|img|svg|iframe)|\s(on\w+|style|src)=", made)
    assert "href" not in made


def test_markdown_keeps_emphasis_and_web_links() -> None:
    made = prose("A **bold** [page](https://example.org/x?a=1&b=2).")
    assert "<strong>bold</strong>" in made
    assert 'href="https://example.org/x?a=1&amp;b=2"' in made


@pytest.mark.parametrize(
    ("url", "good"),
    [
        ("https://example.org/a", True),
        ("javascript:alert(1)", False),
        ("https://example.org/ x", False),
        ("//example.org", False),
        ("https://a\u202eb", False),
        ("", False),
    ],
)
def test_only_web_addresses_become_links(url: str, good: bool) -> None:
    assert bool(web_address(url)) is good


@given(st.lists(st.text(), unique=True))
def test_no_two_names_share_a_slug_on_any_system(names: list[str]) -> None:
    found = assign(names)
    assert len({s.lower() for s in found.values()}) == len(names)
    assert all(re.fullmatch(r"[A-Za-z0-9._-]{1,80}", s) for s in found.values())
    assert not any(s.startswith(".") for s in found.values())


def test_every_name_that_is_not_its_own_slug_gets_a_hash() -> None:
    found = assign(["a:b", "a/b", "a-c", "CON", "index", "X", "x"])
    assert found["a-c"] == "a-c"
    for name, readable in (("a:b", "a-b"), ("a/b", "a-b"), ("CON", "CON"), ("x", "x")):
        assert re.fullmatch(f"{readable}-[0-9a-f]{{16}}", found[name])
    assert found["index"] != "index"
    assert found["X"].lower() != found["x"].lower()


@pytest.mark.parametrize("name", ["x y", "x/y", "mmlu:subject=law", "真実"])
def test_no_name_can_be_written_to_take_anothers_place(name: str) -> None:
    place = assign([name])[name]
    for thief in (place, place.upper(), f"{slug(name)}-{'0' * 8}"):
        found = assign([name, thief])
        assert found[name] == place
        assert found[thief].lower() != place.lower()


def test_an_instance_cannot_take_anothers_anchor() -> None:
    place = anchor("x y")
    assert anchor(place.removeprefix("i-")) != place
    assert anchor("x y", "typos") != anchor(anchor("x y", "typos")[2:])


@pytest.mark.parametrize(
    "name",
    ["con", "AUX", "nul.txt", "aux.html", "com1", "LPT1", "lpt0.x", "Com9.tar.gz"],
)
def test_no_page_has_the_name_of_a_device(name: str) -> None:
    first = assign([name])[name].lower().partition(".")[0]
    assert not re.fullmatch(r"con|prn|aux|nul|(com|lpt)\d", first)
    assert first != "index"


def test_a_slug_does_not_depend_on_other_names() -> None:
    assert slug("mmlu:subject=anatomy") == "mmlu-subject-anatomy"
    assert assign(["x:y"])["x:y"] == assign(["x:y", "x-y"])["x:y"]


@given(st.text(), st.text())
def test_an_anchor_is_safe_in_any_address(instance: str, perturbation: str) -> None:
    assert re.fullmatch(r"i-[A-Za-z0-9._-]+", anchor(instance, perturbation))


def test_an_anchor_of_a_common_id_is_readable() -> None:
    assert anchor("id12") == "i-id12"
    assert anchor("id12", "typos") != anchor("id12")


@given(st.text())
def test_json_in_a_script_has_nothing_that_ends_it(text: str) -> None:
    made = script_json([text])
    assert made.isascii()
    assert not set("<>&\u2028\u2029") & set(made)


@pytest.mark.parametrize(
    ("number", "form", "shown"),
    [
        (0.5, "share", "0.500"),
        (1.0, "share", "1.000"),
        (1.2345, "number", "1.23"),
        (0.0, "number", "0"),
        (-0.01234, "number", "−0.0123"),
        (12345.6, "number", "12,346"),
        (1e-9, "number", "1.00e−09"),
        (1234.0, "integer", "1,234"),
        (0.034, "seconds", "0.0340 s"),
        (2.5, "bits", "2.50"),
    ],
)
def test_values_are_shown_in_their_format(number: float, form: str, shown: str) -> None:
    assert formats.value(number, form) == shown


def test_an_interval_is_told_in_words() -> None:
    cell = Cell(0.31, 0.25, 0.37, 200, 200, "")
    assert formats.interval(cell, "share") == "95 % interval 0.25 to 0.37"
    assert formats.interval(Cell(0.31), "share") == ""


@pytest.mark.parametrize(
    ("number", "shown"),
    [(135_000_000, "135M"), (7_200_000_000, "7.2B"), (None, ""), (1_500, "1.5K")],
)
def test_parameters_are_short(number: int | None, shown: str) -> None:
    assert formats.parameters(number) == shown


def test_counts_have_their_noun() -> None:
    assert formats.count(1, "run") == "1 run"
    assert formats.count(0, "run") == "no runs"
    assert formats.count(1200, "run") == "1,200 runs"


def test_durations_are_short() -> None:
    shown = [formats.seconds(s) for s in (0.034, 1.234, 245, 7260)]
    assert shown == ["34 ms", "1.23 s", "4 min 5 s", "2 h 1 min"]


def test_only_web_addresses_of_a_citation_become_links() -> None:
    made = prose(
        "[a](JaVaScRiPt:alert(1)) [b](data:text/html,x) [c](//evil.example) "
        "[d](/local) [e](mailto:x@example.org) [f](http://example.org/f)"
    )
    assert re.findall('href="([^"]*)"', made) == ["http://example.org/f"]
