"""The articles of WikiText-103's raw test set."""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING

from helmsite.errors import ScenarioError
from helmsite.scenarios.loaders import Loader
from helmsite.schema import TEST, Instance

if TYPE_CHECKING:
    from collections.abc import Iterator

    from helmsite.scenarios.files import Files

TITLE = re.compile(r" = .+ = $")
SECTION = re.compile(r" = = .+ = = $")
BLANK = " \n"
HEAD = 3
ARTICLES = 60


def load(files: Files) -> Iterator[Instance]:
    """Yield each article as one document.

    Raises:
        ScenarioError: there are not 60 of them, as there are in the test set.
    """
    articles = list(_articles(files.text("test")))
    if len(articles) != ARTICLES:
        raise ScenarioError(
            f"test: {len(articles)} articles, but the test set has {ARTICLES}.",
            "It needs the whole wiki.test.raw, the raw variant, line breaks as they are.",
        )
    for text in articles:
        yield Instance("", text, split=TEST)


def _articles(text: str) -> Iterator[str]:
    """Yield the texts between titles; each begins with the blank line before its own."""
    lines = io.StringIO(text, newline=None).readlines()
    begins = at = 0
    while at < len(lines):
        if _titled(lines[at : at + HEAD]):
            if at > begins:
                yield "".join(lines[begins:at])
            begins = at
            at += HEAD
        else:
            at += 1
    if lines[begins:]:
        yield "".join(lines[begins:])


def _titled(lines: list[str]) -> bool:
    """Say whether lines are a title of the first level with a blank line around it."""
    if len(lines) < HEAD or lines[0] != BLANK or lines[2] != BLANK:
        return False
    return bool(TITLE.match(lines[1])) and not SECTION.match(lines[1])


WIKITEXT_103 = Loader(version=1, load=load)
