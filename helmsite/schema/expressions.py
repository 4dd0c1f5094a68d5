"""Regular expressions that somebody else may have written: none runs for ever.

Python's own engine cannot be stopped, so it is given what is quick by its looks. All else
goes to the package regex, which reads the same syntax and keeps a time limit; it differs in
that combining marks are letters of a word.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import regex

if TYPE_CHECKING:
    from collections.abc import Iterator

LIMIT_S = 1.0
_BRACE = re.compile(r"\\N\{[^}]*\}|\\.|\{(?!\d*,\d*\}|\d+\})", re.DOTALL)
_QUICK_TEXT = 2000
_MOST_CHOICES = 6
_CLASS = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL)
_POSIX = re.compile(r"\[:\^?\w+:\]")


def fault(source: str, target: str = "") -> str:
    """Return what is wrong with an expression and what replaces its matches, or ''."""
    try:
        re.compile(source).sub(target, "")
        _compiled(source)
    except (re.error, IndexError, OverflowError, RecursionError, regex.error) as error:
        return f"is no regular expression: {error}"
    if _POSIX.search(source):
        return "is no regular expression: Python has no classes such as [:alpha:]"
    return ""


def search(source: str, text: str) -> Any:
    """Return the first match as Python's re.search does, None if there is none.

    Raises:
        TimeoutError: it takes longer than LIMIT_S.
    """
    return _run(source, text, "search")


def finditer(source: str, text: str) -> Iterator[Any]:
    """Yield all matches as Python's re.finditer does.

    Raises:
        TimeoutError: they take longer than LIMIT_S.
    """
    yield from _run(source, text, "finditer")


def _compiled(source: str) -> Any:
    """Compile an expression; a brace that repeats nothing is a brace, as in Python."""
    plain = _BRACE.sub(lambda m: "\\{" if m[0] == "{" else m[0], source)
    return regex.compile(plain, regex.VERSION0)


def _run(source: str, text: str, method: str) -> Any:
    if len(text) <= _QUICK_TEXT and _is_quick(source):
        return getattr(re.compile(source), method)(text)
    return getattr(_compiled(source), method)(text, timeout=LIMIT_S)


def _is_quick(source: str) -> bool:
    """Return whether Python's engine is at worst quadratic: one repeat of a character."""
    plain = _CLASS.sub("c", source)
    choices = plain.count("?") + plain.count("|")
    repeats = sum(plain.count(sign) for sign in "*+{")
    of_group = re.search(r"\)[*+{]", plain)
    return choices <= _MOST_CHOICES and repeats <= 1 and not of_group
