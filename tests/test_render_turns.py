"""Conversations: messages as sent, and whatever a source kept as a transcript."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmsite.render.blocks import Clip, Said
from helmsite.render.text import visible
from helmsite.render.turns import MOST, as_sent, messages, shortened, transcript
from helmsite.schema import Message
from tests.test_render_text import unseen


def show(text: str) -> Clip:
    return Clip(visible(text), len(text))


def told(*items: Any) -> list[tuple[str, str, str]]:
    """Each turn's name, kind and text."""
    return [(t.name, t.kind, unseen(t.text.html)) for t in transcript(items, show)]


def fields(turn: Said) -> dict[str, Any]:
    """The fields of a turn that have no place of their own."""
    found: dict[str, Any] = json.loads(unseen(turn.extra.html)) if turn.extra else {}
    return found


def test_a_tool_call_and_its_result_are_turns_in_order() -> None:
    call = {
        "id": "c1",
        "type": "function",
        "function": {"name": "add", "arguments": '{"x":1}'},
    }
    assert told(
        {"role": "user", "content": "1 + 1?"},
        {"role": "assistant", "content": "Let me see.", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "name": "add", "content": "2"},
        {"role": "assistant", "content": "2"},
    ) == [
        ("user", "", "1 + 1?"),
        ("assistant", "", "Let me see."),
        ("assistant calls add", "call", '{"x":1}'),
        ("result of add", "result", "2"),
        ("assistant", "", "2"),
    ]


@pytest.mark.parametrize(
    ("call", "arguments"),
    [
        ({"function": {"name": "add", "arguments": "x, y"}}, "x, y"),
        ({"function": "add", "arguments": {"x": 1}}, '{\n "x": 1\n}'),
        ({"type": "tool_use", "name": "add", "input": {"x": "é"}}, '{\n "x": "é"\n}'),
        ({"name": "add", "arguments": ""}, ""),
    ],
)
def test_calls_of_several_interfaces_read_alike(call: Any, arguments: str) -> None:
    assert told({"id": "7", **call}) == [("calls add", "call", arguments)]
    assert fields(transcript([{"id": "7", **call}], show)[0]) == {"id": "7"}


def test_parts_of_a_message_are_turns_of_their_own() -> None:
    parts = [
        {"type": "thinking", "thinking": "Hmm."},
        {"type": "text", "text": "I see a cat.", "citations": [1]},
        "and a dog",
        {"type": "tool_use", "id": "t", "name": "look", "input": {}},
        {"type": "image", "source": "data:..."},
    ]
    found = transcript([{"role": "assistant", "content": parts}], show)
    assert [(t.name, t.kind) for t in found] == [
        ("assistant thinks", "thought"),
        ("assistant", ""),
        ("assistant", ""),
        ("assistant calls look", "call"),
        ("assistant, data", "data"),
    ]
    assert fields(found[1]) == {"citations": [1]}


def test_a_result_in_a_message_of_the_user_is_one() -> None:
    part = {
        "type": "tool_result",
        "tool_use_id": "t",
        "content": [{"type": "text", "text": "4"}],
    }
    found = transcript([{"role": "user", "content": [part]}], show)
    assert [(t.name, t.kind) for t in found[:1]] == [("result of a tool", "result")]
    assert "tool_use_id" in found[1].text.html


def test_what_a_message_thinks_comes_before_what_it_says() -> None:
    turn = {"role": "assistant", "content": "Yes", "reasoning_content": "Because."}
    assert told(turn) == [
        ("assistant thinks", "thought", "Because."),
        ("assistant", "", "Yes"),
    ]


@pytest.mark.parametrize(
    "item", [{"event": "x"}, [1, 2], 3, 2.5, None, True, {"role": 7}]
)
def test_anything_else_is_shown_as_json(item: Any) -> None:
    ((name, kind, text),) = told(item)
    assert (name, kind) == ("data", "data")
    assert json.loads(text) == item


def test_an_empty_message_still_has_its_turn() -> None:
    assert told({"role": "assistant", "content": None}) == [("assistant", "", "")]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text("ab<&", max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "role",
                    "content",
                    "type",
                    "text",
                    "name",
                    "input",
                    "function",
                    "tool_calls",
                    "reasoning",
                    "x",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(st.lists(JSON, max_size=3))
def test_every_text_of_a_transcript_is_somewhere(items: list[Any]) -> None:
    def texts(value: Any) -> list[str]:
        if isinstance(value, str):
            return [value]
        if isinstance(value, dict):
            return [t for v in value.values() for t in texts(v)]
        return [t for v in value for t in texts(v)] if isinstance(value, list) else []

    said = transcript(items, show)
    shown = " ".join(
        f"{t.name} {unseen(t.text.html)} {unseen(t.extra.html) if t.extra else ''}"
        for t in said
    )
    dull = {"text", "reasoning", "function", "tool_use"}  # kinds that the form tells
    for text in texts(items):
        assert (
            text in dull
            or text.strip() == ""
            or json.dumps(text)[1:-1] in shown
            or text in shown
        )


def test_a_turn_that_is_nested_without_end_stops_no_page() -> None:
    deep: Any = "x"
    for _ in range(5_000):
        deep = {"role": "user", "content": [deep]}
    found = told(deep, {"role": "user", "content": "hi"})
    assert found[0][2].startswith("This turn is nested too deeply")
    assert found[1] == ("user", "", "hi")


def test_of_very_many_turns_first_and_last_are_shown_with_a_link_to_all() -> None:
    items = [{"role": "user", "content": f"{n} " + "x" * 500} for n in range(1_000)]
    said = transcript(items, show)
    kept: list[int] = []

    def whole() -> str:
        kept.append(1)
        return "text/all.txt"

    assert shortened(said[:20], whole) == said[:20]
    assert not kept
    made = shortened(said, whole)
    (at,) = [n for n, t in enumerate(made) if t.kind == "data"]
    assert made[:at] == said[:at]
    assert made[at + 1 :] == said[at + 1 - len(made) :]
    assert 0 < len(made) - at - 1 < at
    assert made[at].name == f"{len(said) - len(made) + 1} turns left out here"
    assert '<a href="text/all.txt">' in made[at].text.html
    assert sum(t.text.characters for t in made) < MOST
    huge = transcript([{"role": "user", "content": "x" * 500_000}] * 3, show)
    assert [t.kind for t in shortened(huge, whole)] == ["data"]


def test_messages_keep_their_other_fields() -> None:
    said = messages([Message("user", "hi", {"name": "Ada"}), Message("system")], show)
    assert [t.name for t in said] == ["user", "system"]
    assert fields(said[0]) == {"name": "Ada"}
    assert said[1].extra is None


def test_a_messages_tool_calls_are_turns_too() -> None:
    call = {"id": "c", "function": {"name": "add", "arguments": "{}"}}
    said = messages([Message("assistant", "", {"tool_calls": [call, 3]})], show)
    assert [(t.name, t.kind) for t in said] == [
        ("assistant", ""),
        ("assistant calls add", "call"),
    ]
    assert fields(said[0]) == {"tool_calls": [call, 3]}


def test_messages_as_sent_are_one_json_text() -> None:
    made = as_sent([Message("user", "a\n“b”", {"x": [1.0]})])
    assert json.loads(made) == [{"role": "user", "content": "a\n“b”", "x": [1.0]}]
    assert re.search(r"1\.0", made)
