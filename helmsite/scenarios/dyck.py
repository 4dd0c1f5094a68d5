"""Words of Dyck languages with their last closing brackets left out."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import numpy as np

from helmsite.scenarios.generators import Generator
from helmsite.schema import CORRECT_TAG, TEST, TRAIN, Instance, Reference

if TYPE_CHECKING:
    from collections.abc import Iterator

PAIRS = (("(", ")"), ("[", "]"), ("{", "}"), ("<", ">"))
CLOSER = dict(PAIRS)
SEED = 42
WRAP, JOIN = 0.5, 0.75
MAX_DEPTH = 100
MAX_PART = 100
MAX_MISSING = 3
BLOCK = 4096
SPLITS = ((TRAIN, 3, 4, 50), (TEST, 500, 52, 100))


def generate(num_parenthesis_pairs: int) -> Iterator[Instance]:
    """Yield 3 train and 500 test instances over the first kinds of brackets.

    The draws are those of HELM's scenario after Suzgun et al. (2019).
    """
    source = _Words(num_parenthesis_pairs)
    seen: set[str] = set()
    for split, count, shortest, longest in SPLITS:
        for _ in range(count):
            text, closers = source.fresh(shortest, longest, seen)
            seen.add(text)
            answer = Reference(" " + " ".join(closers), (CORRECT_TAG,))
            yield Instance("", text, (answer,), split=split)


class _Words:
    """The two streams of random numbers and the words that they make."""

    def __init__(self, kinds: int) -> None:
        self.pairs = PAIRS[:kinds]
        self.python = random.Random(SEED)
        self.kinds = self._draw(np.random.RandomState(SEED))

    def _draw(self, state: np.random.RandomState) -> Iterator[tuple[str, str]]:
        """Yield pairs of brackets; drawn in blocks, which is the same stream."""
        while True:
            for kind in state.randint(len(self.pairs), size=BLOCK).tolist():
                yield self.pairs[kind]

    def fresh(
        self, shortest: int, longest: int, seen: set[str]
    ) -> tuple[str, list[str]]:
        """Return an unseen text without its last closers, and those closers."""
        while True:
            word = self.word(0, longest)
            if len(word) < shortest:
                continue
            kept = _cut(word, self.python.randint(1, MAX_MISSING))
            text = " ".join(kept)
            if text and text not in seen:
                return text, _closers(kept)

    def word(self, depth: int, longest: int = MAX_PART) -> str:
        """Return a random word; one that got longer than `longest` becomes empty."""
        if depth > MAX_DEPTH:
            return ""
        draw = self.python.random()
        if draw < WRAP:
            opener, closer = next(self.kinds)
            word = opener + self.word(depth + 1) + closer
        elif draw < JOIN:
            word = self.word(depth) + self.word(depth)
        else:
            word = ""
        return word if len(word) <= longest else ""


def _cut(word: str, missing: int) -> str:
    """Return what stands before the last point at which `missing` closers are open."""
    balance = 0
    for position in range(len(word) - 1, -1, -1):
        balance += -1 if word[position] in CLOSER else 1
        if balance == missing:
            return word[:position]
    return ""


def _closers(text: str) -> list[str]:
    """Return the closing brackets that a beginning of a word still needs, in order."""
    expected: list[str] = []
    for symbol in text:
        if symbol in CLOSER:
            expected.append(CLOSER[symbol])
        else:
            expected.pop()
    return expected[::-1]


DYCK_LANGUAGE = Generator(version=1, generate=generate)
