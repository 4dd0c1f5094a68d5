"""Analytical reasoning of the LSAT, by the family of questions."""

from __future__ import annotations

import string
from typing import TYPE_CHECKING

from helmsite.errors import ScenarioError
from helmsite.scenarios.loaders import Loader
from helmsite.scenarios.loaders.texts import CORRECT, with_passage
from helmsite.scenarios.sources import Once
from helmsite.schema import TEST, TRAIN, VALID, Instance, Reference

if TYPE_CHECKING:
    from collections.abc import Iterator

    from helmsite.scenarios.files import Files
    from helmsite.scenarios.sources import Row

ALL, OTHERS = "all", "miscellaneous"
FAMILIES = {
    "in/out grouping": "grouping",
    "distribution grouping": "grouping",
    "simple ordering": "ordering",
    "relative ordering": "ordering",
    "complex ordering": "ordering",
    "determined assignment": "assignment",
    "undetermined assignment": "assignment",
}
SAME = ("grouping (distribution)", "distribution grouping")
PLACE_OF_KIND = 2


def load(files: Files, *, task: str) -> Iterator[Instance]:
    """Yield the questions of a family, or all; those of no kind are miscellaneous."""
    for split in (TRAIN, VALID, TEST):
        once = Once("question id")
        for passage in files.rows(split):
            for row in passage.rows("questions"):
                once.check(row.fields.get("id", row.place), row.place)
                family = _family(row)
                if task in (ALL, family):
                    text = with_passage(passage.text("passage"), row.text("question"))
                    yield Instance(
                        "",
                        text,
                        tuple(_references(row)),
                        split=split,
                        attributes={"family": (family,)},
                    )


def _family(row: Row) -> str:
    tags = row.texts("tags")
    if len(tags) <= PLACE_OF_KIND:
        raise ScenarioError(
            f"{row.place}: {len(tags)} tags.", "The third one is the kind of question."
        )
    kind = tags[PLACE_OF_KIND].replace(*SAME) or OTHERS
    return FAMILIES.get(kind, kind)


def _references(row: Row) -> Iterator[Reference]:
    options, letter = row.texts("options"), row.text("answer")
    letters = string.ascii_uppercase[: len(options)]
    if len(letter) != 1 or letter not in letters:
        raise ScenarioError(
            f"{row.place}: the answer {letter!r} is none of {', '.join(letters)}.",
            f"There are {len(options)} options.",
        )
    for at, option in zip(letters, options, strict=True):
        if not option.strip():
            raise ScenarioError(f"{row.place}: option {at} is empty.", "Is it cut off?")
        yield Reference(option, CORRECT if at == letter else ())


LSAT_QA = Loader(version=1, load=load)
