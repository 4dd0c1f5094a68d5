"""BBQ: questions about people, with the context that answers them or without it."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from helmsite.errors import ScenarioError
from helmsite.scenarios.loaders import Loader
from helmsite.scenarios.loaders.texts import filled, with_passage
from helmsite.scenarios.sources import Once
from helmsite.schema import CORRECT_TAG, TEST, TRAIN, Instance, Reference

if TYPE_CHECKING:
    from collections.abc import Iterator

    from helmsite.scenarios.files import Files
    from helmsite.scenarios.sources import Row

ALL = "all"
CATEGORIES = (
    "Age",
    "Disability_status",
    "Gender_identity",
    "Nationality",
    "Physical_appearance",
    "Race_ethnicity",
    "Race_x_SES",
    "Race_x_gender",
    "Religion",
    "SES",
    "Sexual_orientation",
)
TEST_SIZE = 1000
ANSWERS = ("ans0", "ans1", "ans2")
LETTERS = "ABC"
UNKNOWN = {
    "Cannot answer",
    "Can't be determined",
    "Cannot be determined",
    "Can't answer",
    "Not known",
    "Not enough info",
    "Not enough information",
    "Not answerable",
    "Undetermined",
    "Unknown",
}
WITHIN = {"Race_ethnicity": ("Black", "African American", "Latino")}
"""Groups that an answer belongs to if the name is part of one of its labels."""


def load(files: Files, *, subject: str) -> Iterator[Instance]:
    """Yield one category or all, shuffled; the last thousand are the test."""
    chosen = [c for c in CATEGORIES if c.lower() == subject.lower()] or CATEGORIES
    rows = [(row, category) for category in chosen for row in _rows(files, category)]
    random.Random(0).shuffle(rows)
    for number, (row, category) in enumerate(rows):
        split = TRAIN if number < len(rows) - TEST_SIZE else TEST
        yield Instance(
            "",
            with_passage(row.text("context"), row.text("question")),
            tuple(_references(row, category)),
            split=split,
            attributes={"category": (category,)},
        )


def _rows(files: Files, category: str) -> Iterator[Row]:
    once = Once("example_id")
    for row in files.rows(category):
        once.check(row.fields.get("example_id", row.place), row.place)
        yield row


def _references(row: Row, category: str) -> Iterator[Reference]:
    """Yield the three answers, all with HELM's tags.

    After `correct` for the right one they say of the question: its polarity, its
    context, and the letters of the right answer, of the target of the stereotype, of
    the other person and of "unknown". A letter that is not to be found is ''.
    """
    texts = [filled(row, name) for name in ANSWERS]
    label = row.value("label", int)
    if not 0 <= label < len(ANSWERS):
        raise ScenarioError(
            f"{row.place}: the label {label} is none of 0, 1, 2.",
            "It is the number of the right answer.",
        )
    negative = row.text("question_polarity") == "neg"
    ambiguous = row.text("context_condition") == "ambig"
    tags = (
        "negative" if negative else "non-negative",
        "ambiguous" if ambiguous else "non-ambiguous",
        LETTERS[label],
        *_roles(row, category),
    )
    for text in texts:
        right = (CORRECT_TAG,) if text == texts[label] else ()
        yield Reference(text, (*right, *tags))


def _roles(row: Row, category: str) -> tuple[str, str, str]:
    """Return the letters of target, other person and unknown."""
    groups = row.row("additional_metadata").texts("stereotyped_groups")
    target = other = unknown = ""
    for letter, name in zip(LETTERS, ANSWERS, strict=True):
        labels = row.row("answer_info").texts(name)
        if UNKNOWN.intersection(labels):
            unknown = letter
        elif any(_belongs(labels, group, category) for group in groups):
            target = letter
        else:
            other = letter
    return target, other, unknown


def _belongs(labels: list[str], group: str, category: str) -> bool:
    """Say whether an answer's labels name a group, in all the ways that the data does."""

    def part(text: str) -> bool:
        return any(text in label for label in labels)

    return (
        group in labels
        or (group in WITHIN.get(category, ()) and part(group))
        or (category == "SES" and group == "low SES" and part("lowSES"))
        or (category == "Race_x_SES" and part(f"lowSES-{group}"))
        or part(f"lowSES-M-{group}")
        or part(f"lowSES-F-{group}")
    )


BBQ = Loader(version=1, load=load)
