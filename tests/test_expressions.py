"""Expressions mean what Python's do, and none runs for ever."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from helmsite.schema import expressions

SLOW, ENDLESS = r"(a|aa)+$", "a" * 80 + "b"
PATTERNS = [
    r"answer is:?\s*\(?([A-D])\)?",
    r"(?i)\b([a-d])\b",
    r"(?s)^(.*?)\n",
    r"(A)|[B-D]",
    r"[A-D]",
    r"\\boxed\{([^}]*)\}",
    r"####\s*(-?[\d,.]+)",
    r"(?<=answer )\w+$",
    r"(\w)\1",
    r"x*",
    r"(?:answer){e}",
    r"(?:answer){i<=1}|{}|[{e}]",
    r"\\{e}|\{d}|s{1}|a{,2}|b{1,}|\N{DIGIT ONE}",
    r"$",
    r"^",
]
TEXT = st.text(st.sampled_from("abcdABCDx answeris:(){}#-1,.\n\\ßİK٣")) | st.text()


@given(st.sampled_from(PATTERNS), TEXT)
@example(PATTERNS[0], "The answer is: (B)")
@example(PATTERNS[5], "so \\boxed{12}")
@example(r"(?:answer){e}", "anwer answer{e}")
@example(PATTERNS[7], "the answer Yes\n")
def test_a_match_is_that_of_python(pattern: str, text: str) -> None:
    if not expressions._is_quick(pattern):
        text = re.sub(r"[^\x00-\x7f]", "é", text)  # the engines' words differ in marks
    found, expected = expressions.search(pattern, text), re.search(pattern, text)
    assert (found is None) == (expected is None)
    if expected is not None:
        assert (found.span(), found.groups()) == (expected.span(), expected.groups())
    both = [expressions.finditer(pattern, text), re.finditer(pattern, text)]
    spans, wanted = ([match.span() for match in each] for each in both)
    assert spans == wanted


def test_a_group_that_took_no_part_is_nothing() -> None:
    (match,) = expressions.finditer("(a)|b", "b")
    assert match.expand(r"<\1>") == "<>"


@pytest.mark.parametrize(
    ("source", "target"),
    [("(", ""), ("a", r"\1"), ("a", r"\g<x>"), ("(?z)", ""), ("[a[:alpha:]]", "")],
)
def test_a_faulty_expression_is_told(source: str, target: str) -> None:
    assert expressions.fault(source, target).startswith("is no regular expression: ")
    assert not expressions.fault("(a)", r"\1")


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (SLOW, ENDLESS),
        (r"(.*)(.*)(.*)(.*)(.*)(.*)y", "x" * 3000),
        ("(a+)+$", ENDLESS),
        ("a?" * 40 + "a" * 40, "a" * 39),
        ("(a|a)" * 40 + "b", "a" * 40),
    ],
)
def test_none_runs_for_ever(source: str, text: str) -> None:
    started = time.monotonic()
    for ask in (expressions.search, lambda *of: list(expressions.finditer(*of))):
        try:
            assert not ask(source, text)
        except TimeoutError:
            assert time.monotonic() - started > expressions.LIMIT_S / 2
    assert time.monotonic() - started < 10 * expressions.LIMIT_S
