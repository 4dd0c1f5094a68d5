"""What several loaders of questions and answers share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from helmsite.errors import ScenarioError
from helmsite.schema import CORRECT_TAG, Reference

if TYPE_CHECKING:
    from collections.abc import Iterable

    from helmsite.scenarios.sources import Row

CORRECT = (CORRECT_TAG,)
NO_ANSWER = "instances without the text of a right answer"


def right(texts: Iterable[str]) -> tuple[Reference, ...]:
    """Return a correct reference for each text; none if all of them are blank.

    A blank one among others stays, as in HELM: it matches no completion.
    """
    found = tuple(Reference(text, CORRECT) for text in texts)
    return found if any(each.text.strip() for each in found) else ()


def with_passage(passage: str, question: str, between: str = "\n") -> str:
    """Return HELM's input of a question about a passage."""
    return f"{passage}{between}Question: {question}"


def asked(row: Row, name: str) -> str:
    """Return the question in a field.

    Raises:
        ScenarioError: there is none.
    """
    if not row.text(name).strip():
        raise ScenarioError(f"{row.place}: {name} is empty.", "It holds the question.")
    return row.text(name)


def with_mark(question: str) -> str:
    """Return a question that ends in a question mark."""
    return question if question.endswith("?") else f"{question}?"


def filled(row: Row, name: str) -> str:
    """Return a text field that must not be blank.

    Raises:
        ScenarioError: it is.
    """
    text = row.text(name)
    if not text.strip():
        raise ScenarioError(
            f"{row.place}: {name} is empty.",
            "A model would see nothing there. Is the row cut off?",
        )
    return text


def as_read(text: str) -> str:
    r"""Return text with each line break as "\n", as reading a file in text mode gives."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def utf8_or_latin1(data: bytes) -> str:
    """Return UTF-8 as text, and Latin-1 where it isn't."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("latin-1")
