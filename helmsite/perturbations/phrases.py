r"""Finding many whole-word phrases in a text, as an alternation of them would, but fast.

A regular expression `\b(first|second|...)\b` of some thousand phrases tries all of them
at each word. Here they are looked up by how they begin.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_RUN = re.compile(r"\w+")
_SEPARATED_RUN = re.compile(r"[^\w-]([\w-]*)")


def fold(text: str) -> str:
    """Return a text in lower case, of the same length.

    The dotted capital I, alone in Unicode, becomes longer; it equals no letter of a list.
    """
    return text.replace("\u0130", "\u0131").lower()


class WholeWords:
    r"""Phrases between word boundaries: `\b(first|second|...)\b`, and then `after`.

    Where several phrases match at the same place, the first one listed does. Each begins
    with a letter or digit.

    Args:
        phrases: in order; in lower case if `fold_case`.
        fold_case: whether case is ignored.
        after: separators that must follow.
    """

    def __init__(
        self, phrases: Iterable[str], *, fold_case: bool = False, after: str = ""
    ) -> None:
        self._fold = fold if fold_case else str
        self._after = after
        self._by_start: dict[str, list[str]] = {}
        for phrase in phrases:
            run = _RUN.match(phrase)
            assert run
            self._by_start.setdefault(run[0], []).append(phrase)

    def sub(self, text: str, replace: Callable[[str, str], str]) -> str:
        """Return the text with each match replaced, from left to right.

        Args:
            text: the text.
            replace: gets the words as they stand in the text and the phrase of the list;
                returns what takes their place (`after` stays).
        """
        searched = self._fold(text)
        made: list[str] = []
        end = 0
        position = 0
        while run := _RUN.search(searched, position):
            start, position = run.span()
            if not (phrase := self._phrase_at(searched, start, run[0])):
                continue
            position = start + len(phrase)
            made += text[end:start], replace(text[start:position], phrase)
            end = position
        return "".join(made) + text[end:] if made else text

    def _phrase_at(self, text: str, start: int, run: str) -> str:
        for phrase in self._by_start.get(run, ()):
            end = start + len(phrase)
            if (
                text.startswith(phrase, start)
                and _bounded(text, end)
                and text.startswith(self._after, end)
            ):
                return phrase
        return ""


def _bounded(text: str, end: int) -> bool:
    """Whether there is a word boundary at `end`, which is not the start of the text."""
    before = _is_word(text[end - 1])
    return before != (end < len(text) and _is_word(text[end]))


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


class Separated:
    r"""Phrases between two separators: `[^\w-](first|second|...)[^\w-]`, case ignored.

    The separators belong to the match: of two phrases with one space between them only
    the first is found, and none at the start or the end of a text.
    """

    def __init__(self, phrases: Iterable[str]) -> None:
        self._by_start: dict[str, list[str]] = {}
        for phrase in phrases:
            run = re.match(r"[\w-]*", phrase)
            assert run
            self._by_start.setdefault(run[0], []).append(phrase)

    def sub(self, text: str, replace: Callable[[str, str, str], str]) -> str:
        """Return the text with each match replaced, from left to right.

        Args:
            text: the text.
            replace: gets the whole match with its separators, the words as they stand in
                the text and the phrase of the list; returns what takes the match's place.
        """
        searched = fold(text)
        made: list[str] = []
        end = 0
        position = 0
        while found := _SEPARATED_RUN.search(searched, position):
            start, position = found.span(1)
            if not (phrase := self._phrase_at(searched, start, found[1])):
                continue
            after = start + len(phrase)
            made += (
                text[end : start - 1],
                replace(text[start - 1 : after + 1], text[start:after], phrase),
            )
            position = end = after + 1
        return "".join(made) + text[end:] if made else text

    def _phrase_at(self, text: str, start: int, run: str) -> str:
        for phrase in self._by_start.get(run, ()):
            end = start + len(phrase)
            if text.startswith(phrase, start) and _separates(text[end : end + 1]):
                return phrase
        return ""


def _separates(character: str) -> bool:
    return bool(character) and not _is_word(character) and character != "-"
