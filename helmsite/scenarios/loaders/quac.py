"""QuAC: one question out of each dialogue about a section of Wikipedia."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from helmsite.errors import ScenarioError
from helmsite.scenarios.loaders import Loader
from helmsite.scenarios.loaders.texts import NO_ANSWER, right
from helmsite.schema import TRAIN, VALID, Instance

if TYPE_CHECKING:
    from collections.abc import Iterator

    from helmsite.scenarios.files import Files
    from helmsite.scenarios.sources import Row

UNKNOWN = "CANNOTANSWER"
FEWEST = 3
OTHER_WORDS = ("Not enough information", "Cannot answer", "Do not know")


def load(files: Files) -> Iterator[Instance]:
    """Yield one question of each dialogue, train before valid."""
    draws = random.Random(0)
    for split in (TRAIN, VALID):
        for row in files.rows(split, records="data"):
            text, answers = _question(row, draws)
            references = right(answers)
            if references:
                yield Instance("", text, references, split=split)
            else:
                files.skip(NO_ANSWER)


def _question(row: Row, draws: random.Random) -> tuple[str, list[str]]:
    """Return a question with what comes before it, and its answers.

    HELM leaves out the turn right before the question; so does this.
    """
    dialogue = next(row.rows("paragraphs"), None)
    turns = list(dialogue.rows("qas")) if dialogue else []
    if not dialogue or len(turns) < FEWEST:
        raise ScenarioError(
            f"{row.place}: {len(turns)} questions, fewer than {FEWEST}.",
            "HELM's rule needs two turns before the one that is asked.",
        )
    context = dialogue.text("context")
    if not context.endswith(f" {UNKNOWN}"):
        raise ScenarioError(
            f"{dialogue.place}: context does not end in {UNKNOWN!r}.",
            "Take the files of version 0.2.",
        )
    asked = draws.randint(FEWEST, len(turns)) - 1
    before = "".join(
        f"Question: {turn.text('question')}\n"
        f"Answer: {turn.row('orig_answer').text('text')}\n\n"
        for turn in turns[: asked - 1]
    )
    text = (
        f"Title: {row.text('title')}\n\n"
        f"Background: {row.text('background')}\n\n"
        f"Section: {row.text('section_title')}\n"
        f"Passage: {context.removesuffix(f' {UNKNOWN}')}\n\n"
        f"{before}Question: {turns[asked].text('question')}"
    )
    found = dict.fromkeys(each.text("text") for each in turns[asked].rows("answers"))
    answers = [*found, *(OTHER_WORDS if list(found) == [UNKNOWN] else ())]
    return text, answers


QUAC = Loader(version=1, load=load)
