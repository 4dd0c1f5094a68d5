"""Texts from strangers, names and numbers, as pages show them."""

from __future__ import annotations

import html
import inspect
import math
import re
import sys
import time
from itertools import product
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup
from msgspec import structs

from helmsite.errors import BuildError
from helmsite.query.rows import Cell, TrialView
from helmsite.render import charts, formats
from helmsite.render.board import bar, cell_view, span
from helmsite.render.names import anchor, assign, slug
from helmsite.render.options import options
from helmsite.render.parts import Link
from helmsite.render.samples import LOSS
from helmsite.render.text import (
    HEAD,
    LONG,
    SPACES,
    blank,
    clipped,
    edged,
    plain,
    prose,
    spaced,
    visible,
    web_address,
)
from helmsite.render.theme import Theme
from helmsite.render.tokens import script_json, tokens
from helmsite.render.verdicts import verdict
from helmsite.schema import Completion, Instance, Reference, Score, TopLogprob

if TYPE_CHECKING:
    from pathlib import Path


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


@given(st.text(" \t\nab<\r\u202e", max_size=90))
def test_white_space_at_the_edges_is_shown_and_stays(text: str) -> None:
    made = str(edged(text))
    plain_text = re.sub(
        "<i(?: class=nl| class=tb)?>(.)</i>", r"\1", made, flags=re.DOTALL
    )
    assert unseen(plain_text) == text
    if text.strip() and text[:1] in {" ", "\t", "\n"} and len(text) < 40:
        assert made.startswith(SPACES[text[0]])


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
        (0.034, "seconds", "34.0 ms"),
        (1.034, "seconds", "1.03 s"),
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


@pytest.mark.parametrize(
    "source",
    [
        "[" * 10_000,
        "word " * 1_001,
        "[" * 4_000,
        ">" * 4_999,
        "**" * 2_000,
        "`" * 4_000,
    ],
)
def test_a_long_or_deep_description_is_shown_as_it_is_at_once(source: str) -> None:
    start = time.monotonic()
    made = prose(source)
    assert time.monotonic() - start < 2
    assert made.startswith('<pre class="text">')
    assert html.unescape(made.split("\n", 1)[1].removesuffix("</pre>")) == source


def test_what_markdown_cannot_finish_is_shown_as_it_is() -> None:
    limit = sys.getrecursionlimit()
    deep = "".join("    " * i + "- <b>deep\n" for i in range(45))
    try:
        sys.setrecursionlimit(len(inspect.stack()) + 120)
        made = prose(deep)
    finally:
        sys.setrecursionlimit(limit)
    assert made.startswith('<pre class="text">\n- &lt;b&gt;deep')
    assert prose("- deep").startswith("<ul>")


def test_a_description_cannot_act_where_it_is_shown_as_it_is() -> None:
    made = prose("<script>alert(1)</script>\u202e" + "x" * 5_000)
    assert "<script" not in made
    assert "[U+202E]" in made


# ---- Numbers out of range


@pytest.mark.parametrize("number", [math.inf, -math.inf, math.nan])
@pytest.mark.parametrize("form", ["share", "integer", "seconds", "number", "bits"])
def test_no_number_stops_a_page(number: float, form: str) -> None:
    assert formats.value(number, form).startswith("? (")
    assert formats.rough(number, form).startswith("? (")


def test_a_huge_number_is_short_in_every_format() -> None:
    for form in ("share", "integer", "seconds", "number"):
        assert len(formats.value(1e308, form)) < 14
        assert len(formats.value(-1e308, form)) < 14


@pytest.mark.parametrize(
    ("number", "shown"),
    [
        (1e300, "? (1e+300)"),
        (-1e18, "? (−1e+18)"),
        (math.inf, "? (inf)"),
        (math.nan, "? (nan)"),
        (1_750_000_000.0, "2025-06-15 15:06 UTC"),
        (-62_000_000_000.0, "0005-04-19 09:46 UTC"),
    ],
)
def test_a_time_that_is_no_date_is_shown_as_a_number(number: float, shown: str) -> None:
    assert formats.moment(number) == shown
    assert formats.day(number) == (shown if "?" in shown else shown[:10])


@pytest.mark.parametrize("number", [math.inf, math.nan, -5.0, 1e300])
def test_a_duration_out_of_range_is_shown_as_a_number(number: float) -> None:
    assert formats.seconds(number) == f"? ({number:g})".replace("-", "−")


def test_a_reason_that_nobody_knows_is_shown_as_it_is() -> None:
    assert formats.hole("strange\u202e") == "? (strange[U+202E])"
    assert formats.hole("not run") == "not run: this model was not run here"
    cells = [cell_view(Cell(None, missing=m), None, "") for m in ("lost", "failed")]  # type: ignore[arg-type]
    assert [c.title for c in cells] == ["? (lost)", "failed: every request failed"]
    made = verdict(Score("id1", "exact_match", None, missing="lost"), None)  # type: ignore[arg-type]
    assert (made.kind, made.word) == ("missing", "? (lost)")


@pytest.mark.parametrize("wild", [1e308, -1e308, math.inf, -math.inf, math.nan])
def test_wild_log_probabilities_are_drawn_at_the_edge(wild: float) -> None:
    top = ((TopLogprob("a", wild), TopLogprob("b", -1.0)),) * 2
    made = tokens(
        Completion(
            "ab", tokens=("a", "b"), token_logprobs=(wild, -0.5), top_logprobs=top
        ),
        "ab",
    )
    assert made is not None
    assert made.centinats in {"AAAy", "_-Ay"}  # 0 or 4094, then 50
    assert len(made.summary) < 300


def test_a_long_name_in_a_chart_is_written_on_two_lines_not_cut() -> None:
    metric = structs.replace(LOSS, format="share")
    rows = [
        charts.Dot("Synthetic reasoning in plain words (easy)", "#a", 0.5),
        charts.Dot("Dyck", "#b", 0.6),
    ]
    made = charts.dot_plot(rows, metric, "Names")
    names = re.findall(r'class="name"[^>]*>([^<]*)<', made)
    assert names == ["Synthetic reasoning in plain", "words (easy)", "Dyck"]
    heights = [float(y) for y in re.findall(r'class="name"[^>]* y="([\d.]+)"', made)]
    assert heights == sorted(heights)
    assert "…" in charts.dot_plot([charts.Dot("x" * 99, "#", 0.1)], metric, "Cut")


@pytest.mark.parametrize("wild", [1e308, -1e308, math.inf, math.nan, 5e-324, 1e-12])
@pytest.mark.parametrize("form", ["share", "number"])
def test_wild_values_stop_no_chart_and_no_bar(wild: float, form: str) -> None:
    metric = structs.replace(LOSS, format=form)
    rows = [
        charts.Dot("a", "#a", wild, wild, 1.0),
        charts.Dot("b", "#b", 0.5, 0.1, wild),
        charts.Dot("c", "#c", 0.0),
    ]
    made = charts.dot_plot(rows, metric, "Wild")
    assert made.count("<circle") == 2 + (abs(wild) < 1)
    assert "nan" not in made
    assert "inf" not in made
    scale = span([Cell(wild), Cell(0.25, wild, 0.5)], form)
    assert all(math.isfinite(end) for end in scale)
    assert (bar(Cell(0.25, wild, 0.5), scale) is None) == (not abs(wild) < 1)


def test_tied_values_of_any_size_have_a_scale() -> None:
    for value in (0.0, 1e-12, 0.5, 1e11, -1e11):
        marks = charts.ticks(value, value + 1e-13)
        assert len(set(marks)) > 1


@pytest.mark.parametrize(
    "kept",
    [
        {"scores": "x", "chosen": 1},
        {"scores": ["a"], "chosen": [0]},
        {"scores": None, "chosen": None},
        {"scores": [1e308], "chosen": [0]},
    ],
)
def test_details_of_another_shape_stop_no_page(kept: dict[str, Any]) -> None:
    score = Score("id1", "exact_match", 1.0, details=kept)
    trial = TrialView(0, (), (score,))
    instance = Instance("id1", "It", (Reference("a"), Reference("b")))
    made = options(trial, instance)
    assert [o.chosen for o in made] == [
        kept["chosen"] == [0] and kept["scores"] != ["a"],
        False,
    ]
    assert all(len(o.score) < 20 for o in made)


# ---- Templates


class Odd(str):
    """A string of another kind."""


class Prepared:
    """What says by itself how it is written in HTML."""

    def __html__(self) -> str:
        return "<u>made</u>"


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("word", "word"),
        ('<i class="a">&\'', "&lt;i class=&#34;a&#34;&gt;&amp;&#39;"),
        ("Łódź", "Łódź"),
        ("", ""),
        (Markup("<b>"), "<b>"),
        (Prepared(), "<u>made</u>"),
        (Odd("<odd>"), "&lt;odd&gt;"),
        (3, "3"),
        (["<"], "[&#39;&lt;&#39;]"),
    ],
)
def test_templates_escape_all_that_is_not_markup(value: object, written: str) -> None:
    theme = Theme()
    for source, environment in product(
        (
            "{{ it }}",
            "{% set kept %}{{ it }}{% endset %}{{ kept }}",
            "{% macro m(x) %}{{ x }}{% endmacro %}{{ m(it) }}",
            "{% block b %}{{ it }}{% endblock %}",
            "{{ [it]|first }}",
        ),
        (theme.environment, theme._direct),
    ):
        assert environment.from_string(source).render(it=value) == written


def test_a_template_may_ask_for_what_is_not_there(tmp_path: Path) -> None:
    """Attributes are taken directly; where one is missing, Jinja says what that means."""
    page = tmp_path / "templates" / "own.html"
    page.parent.mkdir()
    page.write_text(
        "{% if text.nothing is defined %}odd{% else %}{{ {'class': '<b>'}.class }}"
        "{{ {'kind': '&'}.kind }}{{ text.upper() }}{% endif %}"
    )
    theme = Theme(str(tmp_path))
    for _ in range(2):
        assert theme.fragment("own.html", Link("a", "")) == "&lt;b&gt;&amp;A"
    page.write_text("{{ text.titel }}")
    with pytest.raises(BuildError, match=r"own\.html cannot be rendered: .*titel"):
        Theme(str(tmp_path)).fragment("own.html", Link("a", ""))


@pytest.mark.parametrize(
    ("number", "shown"),
    [
        (1_418_998.4, "1,420,000"),
        (172_700.6, "173,000"),
        (99_999.6, "100,000"),
        (1_234.4, "1,234"),
        (1_418_998.0, "1,418,998"),
        (206.4, "206"),
    ],
)
def test_a_large_mean_shows_no_digits_that_mean_nothing(
    number: float, shown: str
) -> None:
    assert formats.significant(number) == shown
