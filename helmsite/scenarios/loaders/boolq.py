"""BoolQ with its contrast set."""

from __future__ import annotations

from typing import TYPE_CHECKING

from helmsite.errors import ScenarioError
from helmsite.scenarios.loaders import Loader
from helmsite.schema import CORRECT_TAG, TRAIN, VALID, Instance, Reference

if TYPE_CHECKING:
    from collections.abc import Iterator

    from helmsite.scenarios.files import Files
    from helmsite.scenarios.sources import Row

ANSWERS = {True: "Yes", False: "No"}
TRUTHS = {"TRUE": True, "FALSE": False}


def load(files: Files, *, only_contrast: bool) -> Iterator[Instance]:
    """Yield the train and dev questions, dev ones with their contrast questions."""
    flips = _flips(files)
    for split in (TRAIN, VALID):
        for row in files.rows(split):
            question, passage = row.text("question"), row.text("passage")
            flipped = flips.get(question, []) if split == VALID else []
            if only_contrast and split == VALID and not flipped:
                continue
            contrast = [
                {
                    "input": _asked(passage, text),
                    "references": [[answer, [CORRECT_TAG]]],
                }
                for text, answer in flipped
            ]
            answer = ANSWERS[row.value("answer", bool)]
            yield Instance(
                "",
                _asked(passage, question),
                (Reference(answer, (CORRECT_TAG,)),),
                split=split,
                extra={"contrast": contrast} if contrast else {},
            )


def _asked(passage: str, question: str) -> str:
    return f"{passage}\nQuestion: {question.strip().capitalize()}?"


def _flips(files: Files) -> dict[str, list[tuple[str, str]]]:
    """Return the questions that turn the answer of an original one, with the new answer.

    The first item of the file describes its columns.
    """
    found: dict[str, list[tuple[str, str]]] = {}
    for row in list(files.rows("contrast", records="data"))[1:]:
        answer = _truth(row)
        found[row.text("question")] = [
            (item.text("perturbed_q"), ANSWERS[not answer])
            for item in row.rows("perturbed_questions")
            if item.text("perturbed_q") and _truth(item) != answer
        ]
    return found


def _truth(row: Row) -> bool:
    said = row.text("answer")
    if said not in TRUTHS:
        raise ScenarioError(
            f"{row.place}: the answer is {said!r}.",
            f"It is one of {', '.join(TRUTHS)}.",
        )
    return TRUTHS[said]


BOOLQ = Loader(version=1, load=load)
