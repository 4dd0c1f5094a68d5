"""What a page holds once: shared beginnings, inputs and continuations in prompts."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup
from msgspec import structs

from helmsite.query.rows import InstanceView, ReplyView, RequestView, TrialView
from helmsite.render import samples
from helmsite.render.articles import Articles
from helmsite.render.blocks import Shared
from helmsite.render.prompts import KNOWN, SHORT, clip
from helmsite.render.text import LONG
from helmsite.render.theme import Theme
from helmsite.schema import Completion, Decoding, Instance, Message, Request
from tests.test_render_text import unseen

THEME = Theme()
TEXT = "A text that is long enough to stand on a page but once. " * 4
ODD = "<b>\0\r\n\u202e\u200d日本 e\u0301 &amp; \t"


def asked(
    prompt: str, text: str = TEXT, own_start: int = 0, **more: Any
) -> InstanceView:
    completion = more.pop("completion", Completion("a"))
    request = structs.replace(Request("id1", prompt, Decoding()), **more)
    view = RequestView(request, (ReplyView(completion, 0),), own_start)
    return InstanceView(Instance("id1", text), (TrialView(0, (view,)),))


def page_of(view: InstanceView) -> tuple[str, dict[str, str], dict[str, str]]:
    """An article, the shared parts by their address, and the files."""
    files: dict[str, str] = {}
    articles = Articles(samples.summary("generation"), files.__setitem__)
    html = THEME.fragment("instance.html", articles.article(view))
    shared = {f"#{s.key}": str(s.html) for s in articles.take_shared()}
    return html, shared, files


def pre(html: str, kind: str) -> str:
    found = re.search(rf"<pre class={kind}>\n(.*?)</pre>", html, re.DOTALL)
    assert found
    bare = re.sub(
        "<i(?: class=nl| class=tb)?>(.)</i>", r"\1", found[1], flags=re.DOTALL
    )
    return re.sub("</?mark[^>]*>", "", bare)


def whole(html: str, shared: dict[str, str]) -> str:
    """The prompt as static/instance.js puts it together."""

    def meant(link: re.Match[str]) -> str:
        if link[1]:
            return pre(html, "out")
        return shared[link[2]] if link[2] in shared else pre(html, "big")

    own = re.search(r"</summary><pre>\n(.*?)</pre>", html, re.DOTALL)
    if own is None:
        assert "Exact prompt: 0 characters<" in html
        return ""
    joined = re.sub("<a (class=given )?href=(#[^>]*)>[^<]*</a>", meant, own[1])
    return unseen(re.sub(r"</?mark[^>]*>", "", joined))


SIDES = st.one_of(st.text(max_size=20), st.sampled_from(["", "\n", ODD, "Answer:"]))


@given(SIDES, SIDES, SIDES, st.text(max_size=30), st.booleans())
def test_a_prompt_in_parts_spells_the_prompt_exactly(
    head: str, before: str, after: str, odd: str, long: bool
) -> None:
    text = odd + TEXT if long else odd
    prompt = f"{head}{before}{text}{after}"
    html, shared, files = page_of(asked(prompt, text, len(head)))
    assert whole(html, shared) == prompt
    assert html.count(TEXT) == long
    assert not files


@given(SIDES, SIDES, st.sampled_from([TEXT, "short", ODD, TEXT + ODD, ""]))
def test_a_prompt_with_a_continuation_does_too(
    head: str, context: str, given: str
) -> None:
    prompt = f"{head}{context}{given}"
    start = len(head) + len(context)
    html, shared, _ = page_of(asked(prompt, "other", len(head), score_start=start))
    assert whole(html, shared) == prompt
    assert html.count(TEXT.strip()) == (TEXT in given)


def test_an_input_stands_on_a_page_once() -> None:
    html, _, _ = page_of(asked(f"Passage: {TEXT}\nAnswer:"))
    assert html.count(TEXT) == 1
    assert "<pre>\nPassage: <a href=#i-id1>input</a>\nAnswer:</pre>" in html


def test_a_short_input_is_read_in_its_place() -> None:
    html, _, _ = page_of(asked("Question: why?\nAnswer:", "why?"))
    assert "</summary><pre>\nQuestion: why?\nAnswer:</pre>" in html


def test_a_document_that_is_scored_stands_on_a_page_once() -> None:
    html, _, _ = page_of(asked(TEXT, score_start=0))
    assert html.count(TEXT) == 1
    window = asked(f"{TEXT}and more of it", "other", score_start=0)
    html, shared, _ = page_of(window)
    assert html.count(TEXT) == 1
    assert whole(html, shared) == window.trials[0].requests[0].request.prompt


@pytest.mark.parametrize(
    ("prompt", "text"),
    [
        ("Passage: " + "x" * (LONG + 1) + "\nAnswer:", "x" * (LONG + 1)),
        ("y" * (LONG + 1) + TEXT, TEXT),
        ("y" * (LONG + 1), "other"),
    ],
)
def test_what_a_page_cannot_hold_is_a_file_with_the_whole_prompt(
    prompt: str, text: str
) -> None:
    html, _, files = page_of(asked(prompt, text))
    assert prompt in files.values()
    assert "The exact prompt as a text file" in html
    assert len(html) < 3 * LONG


def test_messages_link_to_the_input_too() -> None:
    said = (Message("system", "Be brief."), Message("user", f"Read: {TEXT}"))
    html, _, _ = page_of(asked("", messages=said, prompt_kind="absent"))
    assert html.count(TEXT) == 1
    assert "Read: <a href=#i-id1>input</a></pre>" in html
    assert "Messages sent <small>2</small>" in html
    assert "Prompt (not kept" not in html


@pytest.mark.parametrize("before", ["Read: ", "y" * (LONG + 1)])
def test_a_message_that_a_page_cannot_hold_names_a_file_that_is_there(
    before: str,
) -> None:
    files: dict[str, str] = {}
    articles = Articles(samples.summary("generation"), files.__setitem__)
    said = f"{before}{TEXT}"
    made = articles.article(asked("", messages=(Message("user", said),)))
    (message,) = made.trials[0].requests[0].messages
    assert bool(message.text.file) is (len(before) > LONG)
    if message.text.file:
        assert files[message.text.file] == said


def test_a_long_text_is_stored_once_and_its_file_is_the_one_that_is_linked() -> None:
    stored: list[str] = []

    def store(text: str) -> str:
        stored.append(text)
        return "text/a.txt"

    made = clip("x" * (LONG + 1), store)
    assert made.file == "text/a.txt"
    assert 'href="text/a.txt"' in made.html
    assert stored == ["x" * (LONG + 1)]
    assert clip("x" * LONG, store).file == ""
    assert len(stored) == 1


def test_messages_that_are_the_instances_are_not_repeated() -> None:
    said = (Message("user", TEXT),)
    view = asked("", messages=said, prompt_kind="absent")
    view = structs.replace(view, instance=structs.replace(view.instance, messages=said))
    html, _, _ = page_of(view)
    assert html.count(TEXT) == 1
    assert "Those of the input, nothing else." in html
    assert '<div class="said input"><p class="role">user</p><pre>' in html


def test_a_run_whose_prompts_share_little_keeps_few_of_them() -> None:
    articles = Articles(samples.summary("generation"), lambda name, text: None)
    for n in range(3 * KNOWN):
        articles.article(asked(f"{n} {TEXT}why?", "why?", own_start=len(f"{n} {TEXT}")))
        assert len(articles.take_shared()) == 1
        assert len(articles._prompts._made) <= KNOWN


def test_a_limit_of_short_texts_is_where_a_link_is_shorter() -> None:
    link = "<a href=#i-an-id-of-some-length-0123456789abcdef>input</a>"
    assert len(link) < SHORT


def test_beginnings_of_one_trial_are_counted_and_those_of_several_named() -> None:
    module: Any = THEME.environment.get_template("parts.html").module

    def heads(*labels: str) -> list[str]:
        parts = [Shared(f"s{n}", of, Markup("x"), 1) for n, of in enumerate(labels)]
        return re.findall("How prompts begin([^:]*):", module.shared(parts))

    assert heads("trial 0") == [""]
    assert heads("trial 0", "trial 1") == [", trial 0", ", trial 1"]
    assert heads("trial 0", "trial 0") == [", 1 of 2", ", 2 of 2"]
