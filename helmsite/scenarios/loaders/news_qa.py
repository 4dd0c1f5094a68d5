"""NewsQA: one question about each story, some of them without an answer."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from helmsite.errors import ScenarioError
from helmsite.scenarios.loaders import Loader
from helmsite.scenarios.loaders.texts import NO_ANSWER, right, with_passage
from helmsite.scenarios.sources import Once
from helmsite.schema import TRAIN, VALID, Instance

if TYPE_CHECKING:
    from collections.abc import Iterator

    from helmsite.scenarios.files import Files
    from helmsite.scenarios.sources import Row

NONE_IN_TEXT = "No Answer"


def load(files: Files) -> Iterator[Instance]:
    """Yield a question for each story with a good one; all but train stories are valid."""
    draws = random.Random(0)
    once = Once("story")
    for story in files.rows("stories", records="data"):
        once.check(story.fields.get("storyId", story.place), story.place)
        good = [row for row in story.rows("questions") if not _is_bad(row)]
        if not good:
            continue
        question = draws.sample(good, 1)[0]
        references = right(dict.fromkeys(_answers(question, story.text("text"))))
        if not references:
            files.skip(NO_ANSWER)
            continue
        text = with_passage(story.text("text"), question.text("q"), "\n\n")
        split = TRAIN if story.text("type") == TRAIN else VALID
        yield Instance("", text, references, split=split)


def _is_bad(question: Row) -> bool:
    """Say whether any of the crowd found the question bad."""
    if question.fields.get("isQuestionBad", 0):
        return True
    return question.row("consensus").fields.get("badQuestion") is True


def _answers(question: Row, text: str) -> Iterator[str]:
    """Yield the answer agreed upon, then the first one of each worker."""
    agreed = question.row("consensus")
    if agreed.fields.get("noAnswer") is True:
        yield NONE_IN_TEXT
    else:
        yield _span(agreed, text)
    for answer in question.rows("answers"):
        found = next(answer.rows("sourcerAnswers"), None)
        if found is None:
            raise ScenarioError(
                f"{answer.place}: sourcerAnswers is empty.",
                "Is this the file that the newsqa tools make?",
            )
        yield NONE_IN_TEXT if "noAnswer" in found.fields else _span(found, text)


def _span(row: Row, text: str) -> str:
    begin, end = row.value("s", int), row.value("e", int)
    if not 0 <= begin <= end <= len(text):
        raise ScenarioError(
            f"{row.place}: the characters {begin} to {end} are not within the story,"
            f" which has {len(text)}.",
            "Text and answers must be of the same version.",
        )
    return text[begin:end]


NEWS_QA = Loader(version=1, load=load)
