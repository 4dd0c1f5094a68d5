"""What a perturbation changed: marked in both texts, true to the letter, and in time."""

from __future__ import annotations

import itertools
import random
import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmsite.render.diff import Span, changes, marked, united
from tests.test_render_text import unseen

# Words that repeat, so that texts share some of them, and characters that hide or join.
WORDS = st.lists(
    st.sampled_from(
        [
            "a",
            "the",
            "snow",
            "ist",
            " ",
            "\n",
            "e\u0301",
            "\u202e",
            "👩‍🚀",
            "<b>",
            "日本",
        ]
    ),
    max_size=40,
).map("".join)


def spelled(markup: str) -> str:
    """What a browser's script reads back: see exact() in static/core.js."""
    return unseen(re.sub(r'</?mark(?: class="gap")?>', "", markup))


def kept(text: str, spans: tuple[Span, ...]) -> str:
    """A text without its changed stretches."""
    parts, at = [], 0
    for start, end in spans:
        parts.append(text[at:start])
        at = end
    return "".join([*parts, text[at:]])


@given(st.one_of(st.text(), WORDS), st.one_of(st.text(), WORDS))
def test_marked_texts_still_spell_the_texts_exactly(first: str, second: str) -> None:
    found = changes(first, second)
    assert spelled(marked(first, found.first)) == first
    assert spelled(marked(second, found.second)) == second


@given(WORDS, WORDS)
def test_spans_are_in_order_and_apart(first: str, second: str) -> None:
    for text, spans in zip((first, second), changes(first, second), strict=True):
        ends = [end for span in spans for end in span]
        assert ends == sorted(ends)
        assert not ends or 0 <= ends[0] <= ends[-1] <= len(text)
        assert all(a.end < b.start for a, b in itertools.pairwise(spans))


@given(st.text("ab ,xyz", max_size=60), st.text("ab ,xyz", max_size=60))
def test_what_is_not_marked_is_the_same_in_both(first: str, second: str) -> None:
    found = changes(first, second)
    assert kept(first, found.first) == kept(second, found.second)


@given(WORDS)
def test_equal_texts_have_no_mark(text: str) -> None:
    assert changes(text, text) == ((), ())


@pytest.mark.parametrize(
    ("first", "second", "shown"),
    [
        ("Snow is white", "Snwo is white", ("Sn[ow] is white", "Sn[wo] is white")),
        ("It is", "it is", ("[I]t is", "[i]t is")),
        ("A man walks", "A woman walks", ("A []man walks", "A [wo]man walks")),
        ("It rains", "It often rains", ("It []rains", "It [often ]rains")),
        ("red cats", "blue dogs", ("[red cats]", "[blue dogs]")),
        (
            "caf\u00e9 e\u0301a",
            "caf\u00e9 e\u0300a",
            ("caf\u00e9 [e\u0301]a", "caf\u00e9 [e\u0300]a"),
        ),
        ("", "new", ("[]", "[new]")),
    ],
)
def test_marks_are_as_fine_as_the_change(
    first: str, second: str, shown: tuple[str, str]
) -> None:
    found = changes(first, second)
    pairs = zip((first, second), found, strict=True)
    made = [re.sub("</?mark[^>]*>", "|", marked(t, s)) for t, s in pairs]
    assert made == [re.sub(r"[\[\]]", "|", s) for s in shown]


def test_typing_errors_all_over_a_long_text_are_marked_one_by_one() -> None:
    rng = random.Random(7)
    words = [f"word{rng.randrange(200)}" for _ in range(2_500)]
    other = [w[:-2] + w[-1] + w[-2] if n % 7 == 0 else w for n, w in enumerate(words)]
    found = changes(" ".join(words), " ".join(other))
    changed = sum(a != b for a, b in zip(words, other, strict=True))
    assert len(found.first) == len(found.second) == changed
    assert sum(end - start for start, end in found.first) == 2 * changed


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("a b " * 5_000, "b a a " * 3_300),
        ("a" * 20_000, "a" * 19_000),
        (" " * 20_000, ". " * 10_000),
        ("x y z " * 3_300, "p q r " * 3_300),
        ("a b c " * 3_300, "c a b " * 3_300),
        (
            "".join(f"w{n} " for n in range(3_000)),
            "".join(f"w{n} " for n in range(3_000, 0, -1)),
        ),
        ("a" * 59 + "b" * 59, "b" * 59 + "a" * 59),
    ],
)
def test_no_two_texts_take_long_to_compare(first: str, second: str) -> None:
    start = time.process_time()
    found = changes(first[:20_000], second[:20_000])
    assert time.process_time() - start < 1
    assert spelled(marked(first[:20_000], found.first)) == first[:20_000]


def test_what_several_twins_change_is_one_set_of_marks() -> None:
    spans = {Span(4, 6), Span(0, 2), Span(2, 3), Span(5, 9), Span(12, 12)}
    assert united(spans) == (Span(0, 3), Span(4, 9), Span(12, 12))
