"""Commonsense questions with choices: five datasets, each in its own layout."""

from __future__ import annotations

from typing import TYPE_CHECKING

from helmsite.errors import ScenarioError
from helmsite.scenarios.loaders import Loader
from helmsite.schema import CORRECT_TAG, TEST, TRAIN, VALID, Instance, Reference

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from helmsite.scenarios.files import Files
    from helmsite.scenarios.sources import Row

    Read = Callable[[Row], tuple[str, list[str], int]]

SPLITS = (TRAIN, VALID, TEST)
LABELS = "labels"


def load(files: Files, *, dataset: str) -> Iterator[Instance]:
    """Yield the questions of a dataset, split by split.

    Raises:
        ScenarioError: a row without a right answer among its choices, or a blank one.
    """
    read = READERS[dataset]
    for split in SPLITS:
        if split not in files:
            continue
        rows = files.rows(split)
        labels = f"{split}_{LABELS}"
        if labels in files:
            rows = _labelled(rows, files.rows(labels, format="lines"), labels)
        for row in rows:
            question, choices, right = read(row)
            if not 0 <= right < len(choices):
                raise ScenarioError(
                    f"{row.place}: the answer is number {right + 1} of {len(choices)}"
                    " choices.",
                    "Do the labels belong to this file?",
                )
            if not choices[right].strip():
                raise ScenarioError(
                    f"{row.place}: the right choice is empty.", "Is the row cut off?"
                )
            yield Instance(
                "", question, _references(choices, choices[right]), split=split
            )


def _references(choices: list[str], right: str) -> tuple[Reference, ...]:
    """Return the choices; one that reads as the right one does is right too (HELM)."""
    tags = {right: (CORRECT_TAG,)}
    return tuple(Reference(text, tags.get(text, ())) for text in choices)


def _labelled(rows: Iterator[Row], labels: Iterator[Row], name: str) -> Iterator[Row]:
    """Yield rows with the label that stands on the same line of another file."""
    found, given = list(rows), list(labels)
    if len(found) != len(given):
        raise ScenarioError(
            f"{name}: {len(given)} labels for {len(found)} rows.",
            "Both files must be whole and of one split.",
        )
    for row, label in zip(found, given, strict=True):
        yield row._replace(fields={**row.fields, LABELS: _number(label, "text")})


def _number(row: Row, name: str) -> int:
    """Return a whole number that is written as one or as a text.

    Raises:
        ScenarioError: it is neither.
    """
    value = row.fields.get(name)
    if isinstance(value, int):
        return value
    text = row.text(name).strip()
    if not text.isdecimal():
        raise ScenarioError(
            f"{row.place}: {name} is {text!r}, not a whole number.",
            "Is this the right file, in its original layout?",
        )
    return int(text)


def _hellaswag(row: Row) -> tuple[str, list[str], int]:
    end = row.text("ctx_b")
    begin = f"{row.text('activity_label')}: {row.text('ctx_a')}"
    question = f"{begin} {end[:1].upper()}{end[1:]}"
    return question, row.texts("endings"), _number(row, "label")


def _letters(row: Row) -> tuple[str, list[str], int]:
    """Read OpenBookQA's and CommonsenseQA's layout: choices have letters."""
    question = row.row("question")
    choices = list(question.rows("choices"))
    letters = [choice.text("label") for choice in choices]
    answer = row.text("answerKey")
    right = letters.index(answer) if answer in letters else len(letters)
    return question.text("stem"), [choice.text("text") for choice in choices], right


def _piqa(row: Row) -> tuple[str, list[str], int]:
    return row.text("goal"), [row.text("sol1"), row.text("sol2")], row.fields[LABELS]


def _siqa(row: Row) -> tuple[str, list[str], int]:
    question = f"{row.text('context')} {row.text('question')}"
    choices = [row.text(f"answer{letter}") for letter in "ABC"]
    return question, choices, row.fields[LABELS] - 1


READERS: dict[str, Read] = {
    "hellaswag": _hellaswag,
    "openbookqa": _letters,
    "commonsenseqa": _letters,
    "piqa": _piqa,
    "siqa": _siqa,
}
COMMONSENSE = Loader(version=1, load=load)
