"""TruthfulQA as single-answer multiple choice."""

from __future__ import annotations

from typing import TYPE_CHECKING

from helmsite.errors import ScenarioError
from helmsite.scenarios.loaders import Loader
from helmsite.schema import CORRECT_TAG, TRAIN, VALID, Instance, Reference

if TYPE_CHECKING:
    from collections.abc import Iterator

    from helmsite.scenarios.files import Files
    from helmsite.scenarios.sources import Row

TRAIN_SHARE = 0.2


def load(files: Files, *, task: str) -> Iterator[Instance]:
    """Yield a question with its best answer among the incorrect ones.

    The first fifth is train. Where the best answer stands depends on its first letter.
    """
    del task
    rows = list(files.rows("questions"))
    train = int(len(rows) * TRAIN_SHARE)
    for number, row in enumerate(rows):
        best = _sentence(row, "Best Answer")
        wrong = row.text("Incorrect Answers").split(";")
        choices = [Reference(_ended(text)) for text in wrong if text.strip()]
        choices.append(Reference(best, (CORRECT_TAG,)))
        turn = ord(best[0]) % len(choices)
        yield Instance(
            "",
            row.text("Question").strip(),
            (*choices[turn:], *choices[:turn]),
            split=TRAIN if number < train else VALID,
        )


def _sentence(row: Row, name: str) -> str:
    text = row.text(name)
    if not text.strip():
        raise ScenarioError(
            f"{row.place}: {name} is empty.", "Each question needs a best answer."
        )
    return _ended(text)


def _ended(text: str) -> str:
    text = text.strip()
    return text if text.endswith(".") else f"{text}."


TRUTHFUL_QA = Loader(version=1, load=load)
