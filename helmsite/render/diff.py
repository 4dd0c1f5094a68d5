"""Where two texts differ: by words first, then by characters inside a changed word.

Bounded in time, whatever the texts are: what both begin and end with goes first, words
that occur once in either text split the rest, and only short stretches in between are
compared pair by pair. A stretch that is still too long counts as changed as a whole.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, NamedTuple

from markupsafe import Markup

from helmsite.render.text import visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

PAIRS = 8_000  # words times words that are compared one by one
LETTERS = 60  # of a changed stretch that is looked at letter by letter
ALIKE = 0.5
WORD = re.compile(r"\w+\s?|[^\w]")
JOINED = {"Mn", "Me", "Mc", "Cf", "Sk"}
GAP = Markup('<mark class="gap"></mark>')


class Span(NamedTuple):
    """A stretch of a text; an empty one is a place where the other text has more."""

    start: int
    end: int


class Changes(NamedTuple):
    """The stretches of either text that the other does not have, in order."""

    first: tuple[Span, ...]
    second: tuple[Span, ...]


def changes(first: str, second: str) -> Changes:
    """Return where two texts differ."""
    pairs = [
        pair
        for block in _blocks(WORD.findall(first), WORD.findall(second))
        for pair in _finer(block, first, second)
    ]
    return Changes(
        _whole(first, (Span(a, b) for a, b, _, _ in pairs)),
        _whole(second, (Span(c, d) for _, _, c, d in pairs)),
    )


def marked(text: str, spans: Iterable[Span]) -> Markup:
    """Return a text as HTML with a mark around each span; the text stays what it is."""
    parts, at = [], 0
    for start, end in spans:
        parts.append(visible(text[at:start]))
        inner = visible(text[start:end])
        parts.append(Markup(f"<mark>{inner}</mark>") if inner else GAP)  # noqa: S704
        at = end
    parts.append(visible(text[at:]))
    return Markup("").join(parts)


Block = tuple[int, int, int, int]


def _blocks(first: list[str], second: list[str]) -> Iterator[Block]:
    """Yield the differing stretches of two lists of words, as offsets of characters."""
    starts = [_offsets(first), _offsets(second)]
    for a, b, c, d in _differing(first, second, (0, len(first), 0, len(second))):
        yield starts[0][a], starts[0][b], starts[1][c], starts[1][d]


def _offsets(words: Sequence[str]) -> list[int]:
    found = [0]
    for word in words:
        found.append(found[-1] + len(word))
    return found


def _differing(
    first: Sequence[str], second: Sequence[str], block: Block
) -> Iterator[Block]:
    a, b, c, d = _trimmed(first, second, block)
    if (a, c) == (b, d):
        return
    if a == b or c == d:
        yield a, b, c, d
    elif (b - a) * (d - c) <= PAIRS:
        matcher = SequenceMatcher(None, first[a:b], second[c:d], autojunk=False)
        for tag, i, j, k, m in matcher.get_opcodes():
            if tag != "equal":
                yield a + i, a + j, c + k, c + m
    elif stops := _anchors(first, second, (a, b, c, d)):
        for i, k in [*stops, (b, d)]:
            yield from _differing(first, second, (a, i, c, k))
            a, c = i, k
    else:
        yield from _in_step(first, second, (a, b, c, d))


def _in_step(
    first: Sequence[str], second: Sequence[str], block: Block
) -> Iterator[Block]:
    """Yield the words that differ where most of both sides' words go in step, else all."""
    a, b, c, d = block
    steps = range(b - a if b - a == d - c else 0)
    other = [i for i in steps if first[a + i] != second[c + i]]
    if 0 < len(other) <= ALIKE * len(steps):
        yield from ((a + i, a + i + 1, c + i, c + i + 1) for i in other)
    else:
        yield block


def _trimmed(first: Sequence[str], second: Sequence[str], block: Block) -> Block:
    a, b, c, d = block
    while a < b and c < d and first[a] == second[c]:
        a, c = a + 1, c + 1
    while a < b and c < d and first[b - 1] == second[d - 1]:
        b, d = b - 1, d - 1
    return a, b, c, d


def _anchors(
    first: Sequence[str], second: Sequence[str], block: Block
) -> list[tuple[int, int]]:
    """Return where words that are unique on both sides meet, rising on both sides."""
    a, b, c, d = block
    here, there = _unique(first, a, b), _unique(second, c, d)
    meeting = [(i, there[word]) for word, i in here.items() if word in there]
    ends: list[int] = []
    tails: list[int] = []  # the place in `meeting` of each chain's last pair
    before: list[int] = []
    for place, (_, k) in enumerate(meeting):
        at = bisect_left(ends, k)
        before.append(tails[at - 1] if at else -1)
        ends[at : at + 1] = [k]
        tails[at : at + 1] = [place]
    chain: list[tuple[int, int]] = []
    place = tails[-1] if tails else -1
    while place >= 0:
        chain.append(meeting[place])
        place = before[place]
    return chain[::-1]


def _unique(words: Sequence[str], start: int, end: int) -> dict[str, int]:
    found: dict[str, int] = {}
    twice = set()
    for i in range(start, end):
        if words[i] in found:
            twice.add(words[i])
        found.setdefault(words[i], i)
    return {word: i for word, i in found.items() if word not in twice}


def _finer(block: Block, first: str, second: str) -> Iterator[Block]:
    """Yield a changed stretch letter by letter where most of its letters are alike."""
    a, b, c, d = block
    if max(b - a, d - c) > LETTERS:
        yield _trimmed(first, second, block)
        return
    matcher = SequenceMatcher(None, first[a:b], second[c:d], autojunk=False)
    if matcher.ratio() < ALIKE:
        yield block
        return
    found: list[Block] = []
    for tag, i, j, k, m in matcher.get_opcodes():
        if tag == "equal":
            continue
        starts = a + i, c + k
        if found and starts[0] - found[-1][1] <= 1:  # one letter in between: swapped
            starts = found[-1][0], found.pop()[2]
        found.append((starts[0], a + j, starts[1], c + m))
    yield from found


def _whole(text: str, spans: Iterable[Span]) -> tuple[Span, ...]:
    """Return spans in order, none touching the next, none inside a visible character."""
    return united(_widened(text, start, end) for start, end in spans)


def _widened(text: str, start: int, end: int) -> Span:
    """Return a span without a part of a visible character at either end."""
    while 0 < start < len(text) and _joins(text, start):
        start -= 1
    while start < end < len(text) and _joins(text, end):
        end += 1
    return Span(start, end)


def _joins(text: str, place: int) -> bool:
    """Return whether a character belongs to the visible one before it."""
    here = text[place]
    if here.isascii():
        return False
    return unicodedata.category(here) in JOINED or text[place - 1] == "\u200d"


def united(spans: Iterable[Span]) -> tuple[Span, ...]:
    """Return what any of the spans covers, in order."""
    found: list[Span] = []
    for start, end in sorted(spans):
        if found and start <= found[-1].end:
            found[-1] = Span(found[-1].start, max(end, found[-1].end))
        else:
            found.append(Span(start, end))
    return tuple(found)
