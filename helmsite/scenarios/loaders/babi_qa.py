"""The twenty tasks of bAbI, each question with the story up to it."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from helmsite.errors import ScenarioError
from helmsite.scenarios.loaders import Loader
from helmsite.schema import CORRECT_TAG, TEST, TRAIN, VALID, Instance, Reference

if TYPE_CHECKING:
    from collections.abc import Iterator

    from helmsite.scenarios.files import Files

TASKS = 20
ALL = "all"
PATH_FINDING = 19
DIRECTIONS = {"s": "south", "n": "north", "e": "east", "w": "west"}
LAYOUT = "A line is: number, blank, text; a question goes on with a tab and its answer."


def load(files: Files, *, task: str) -> Iterator[Instance]:
    """Yield the questions task by task: of each its train, valid and test file."""
    for number in range(1, TASKS + 1) if task == ALL else (int(task),):
        for split in (TRAIN, VALID, TEST):
            name = f"stories/qa{number}_{split}.txt"
            yield from _questions(files.text(name), name, number, split)


def _questions(text: str, name: str, task: int, split: str) -> Iterator[Instance]:
    """Yield the questions of a file.

    Raises:
        ScenarioError: names the line that is not as bAbI's.
    """
    story: list[str] = []
    for number, line in enumerate(io.StringIO(text, newline=None), start=1):
        place = f"{name}, line {number}"
        at, _, said = line.partition(" ")
        if not at.isdecimal():
            raise ScenarioError(f"{place}: does not begin with a number.", LAYOUT)
        if int(at) == 1:
            story = []
        if "?" not in said:
            story.append(said)
            continue
        question, *rest = (part.strip() for part in said.split("\t"))
        if not rest or not rest[0]:
            raise ScenarioError(f"{place}: a question without an answer.", LAYOUT)
        answer = _steps(rest[0], place) if task == PATH_FINDING else rest[0]
        yield Instance(
            "",
            f"{''.join(story)}Question: {question}",
            (Reference(answer, (CORRECT_TAG,)),),
            split=split,
            attributes={"task": (str(task),)},
        )


def _steps(answer: str, place: str) -> str:
    """Return the letters of a path, "s,w", in words: "south west"."""
    steps = answer.split(",")
    unknown = [step for step in steps if step not in DIRECTIONS]
    if unknown:
        raise ScenarioError(
            f"{place}: {unknown[0]!r} in the answer is no direction.",
            f"Directions are {', '.join(DIRECTIONS)}, with commas between them.",
        )
    return " ".join(DIRECTIONS[step] for step in steps)


BABI_QA = Loader(version=1, load=load)
