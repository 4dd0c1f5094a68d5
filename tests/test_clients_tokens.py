"""Tokens as text, stop sequences, and where a continuation begins."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmsite.clients.tokens import Step, cut, first_scored, token_text


def steps(*pieces: str | bytes) -> list[Step]:
    data = [p.encode() if isinstance(p, str) else p for p in pieces]
    return [Step(d, token_text(d), -1.0) for d in data]


def test_a_piece_of_a_character_is_written_in_hex() -> None:
    assert token_text(b" \xf0\x9f") == r"bytes:\x20\xf0\x9f"
    assert token_text(" é".encode()) == " é"
    assert token_text(b"") == ""


@pytest.mark.parametrize(
    ("pieces", "stops", "kept", "text", "stopped"),
    [
        ((" Paris", ".", "\n"), ("\n",), 2, " Paris.", True),
        ((" Paris", ".\n", "x"), ("\n",), 2, " Paris.", True),
        ((" a", " b"), (), 2, " a b", False),
        ((" a", " b"), ("", "z"), 2, " a b", False),
        (("ab", "cd"), ("cd", "bc"), 1, "a", True),
        (("stop",), ("stop",), 0, "", True),
        ((), ("\n",), 0, "", False),
        (("é", b"\xf0\x9f", b"\x8e\x89", "!"), ("!",), 3, "é🎉", True),
        ((b"\xf0\x9f",), ("\n",), 1, "\ufffd", False),
    ],
)
def test_a_text_ends_before_the_first_stop_sequence(
    pieces: tuple[str, ...], stops: tuple[str, ...], kept: int, text: str, stopped: bool
) -> None:
    made = steps(*pieces)
    assert cut(made, stops) == (made[:kept], text, stopped)


def split(text: str, sizes: list[int]) -> list[bytes]:
    data, pieces = text.encode(), []
    for size in sizes:
        pieces.append(data[:size])
        data = data[size:]
    return [p for p in [*pieces, data] if p]


@given(
    st.text(min_size=1, max_size=12), st.lists(st.integers(1, 5), max_size=8), st.data()
)
def test_scored_tokens_are_exactly_those_that_hold_a_part_of_the_continuation(
    text: str, sizes: list[int], data: st.DataObject
) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    pieces = split(text, sizes)
    first = first_scored(pieces, text, start)
    begin = len(text[:start].encode())
    assert first is not None
    assert len(b"".join(pieces[:first])) <= begin
    assert len(b"".join(pieces[: first + 1])) > begin


def test_a_space_that_the_tokeniser_adds_is_not_counted() -> None:
    assert first_scored([b" Hello", b" you"], "Hello you", 5) == 1
    assert first_scored([b" Hello", b" you"], "Hello you", 0) == 0


def test_a_tokeniser_that_rewrites_its_text_is_noticed() -> None:
    assert first_scored([b"hello"], "HELLO", 2) is None
