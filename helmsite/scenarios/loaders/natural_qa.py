"""NaturalQuestions: the development set in halves, with a passage or without."""

from __future__ import annotations

import html
import random
import re
from typing import TYPE_CHECKING

from helmsite.errors import ScenarioError
from helmsite.scenarios.loaders import Loader
from helmsite.scenarios.loaders.texts import (
    NO_ANSWER,
    asked,
    right,
    with_mark,
    with_passage,
)
from helmsite.scenarios.sources import json_row
from helmsite.schema import TRAIN, VALID, Instance

if TYPE_CHECKING:
    from collections.abc import Iterator

    from helmsite.scenarios.files import Files
    from helmsite.scenarios.sources import Row

PARTS = 5
CLOSED, WIKI, LONG = "closedbook", "openbook_wiki", "openbook_longans"
NO_BREAK = b"\xc2\xa0"
NOWHERE = -1


def load(files: Files, *, mode: str) -> Iterator[Instance]:
    """Yield train and valid instances by turns, file by file.

    Questions without a short answer don't count; a train instance has one of its short
    answers, a valid one has all that differ.
    """
    draws = random.Random(0)
    for part in range(PARTS):
        number = 0
        for place, line in files.lines(f"dev{part}"):
            row = json_row(line, place)
            page = row.text("document_html").encode()
            answers = list(_answers(row, page))
            if not answers:
                continue
            split = VALID if number % 2 else TRAIN
            number += 1
            at = draws.randint(0, len(answers) - 1)
            shorts = [short for short, _ in answers]
            kept = [shorts[at]] if split == TRAIN else list(dict.fromkeys(shorts))
            references = right(kept)
            if not references:
                files.skip(NO_ANSWER)
                continue
            text = _input(row, mode, _text(answers[at][1]))
            yield Instance("", text, references, split=split)


def _input(row: Row, mode: str, long_answer: str) -> str:
    question = with_mark(asked(row, "question_text").capitalize())
    if mode == CLOSED:
        return question
    if mode == LONG:
        return with_passage(f"Passage: {long_answer}", question, "\n\n")
    title = row.text("document_title")
    passage = f"Title: {title}\n\nPassage: {_document(row)}"
    return with_passage(passage, question, "\n\n")


def _document(row: Row) -> str:
    """Return the page as its tokens with blanks between them; blanks within are _."""
    tokens = (each.text("token") for each in row.rows("document_tokens"))
    return " ".join(
        without_tags(html.unescape(token.replace(" ", "_"))) for token in tokens
    )


def _answers(row: Row, page: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield each short answer of each annotator with the bytes of the long answer."""
    for said in row.rows("annotations"):
        shorts = list(said.rows("short_answers"))
        if shorts:
            whole = _span(said.row("long_answer"), page)
            for short in shorts:
                yield _text(_span(short, page)), whole


def _span(row: Row, page: bytes) -> bytes:
    """Return the bytes from start to end; -1 to -1 is none."""
    begin, end = row.value("start_byte", int), row.value("end_byte", int)
    if begin == end == NOWHERE:
        return b""
    if not 0 <= begin <= end <= len(page):
        raise ScenarioError(
            f"{row.place}: the bytes {begin} to {end} are not within the page,"
            f" which has {len(page)}.",
            "Offsets are bytes of document_html in UTF-8.",
        )
    return page[begin:end]


def _text(found: bytes) -> str:
    text = found.replace(NO_BREAK, b" ").decode("utf-8", "replace")
    return without_tags(html.unescape(text))


def without_tags(text: str) -> str:
    """Return text without what stands between < and the next >.

    Looks at each character once, whatever the text: <<<< would take a regular
    expression for tags a time that grows with the square of its length.
    """
    whole, bracket, rest = text.rpartition(">")
    return re.sub(r"<[^>]*>", "", whole + bracket) + rest


NATURAL_QA = Loader(version=1, load=load)
