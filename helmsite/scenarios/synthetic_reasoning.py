"""Abstract symbolic patterns: matching, substitution and induction of rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from helmsite.scenarios.generators import Generator
from helmsite.schema import CORRECT_TAG, TEST, TRAIN, VALID, Instance, Reference

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SEED = 42
SPLITS = ((TRAIN, 1000), (VALID, 5000), (TEST, 5000))
SYMBOLS = ("X", "Y", "Z")
OPERATORS = ("+", "-", "*", "=")
WORDS = (
    "zebra cobra stork penguin shark lion buffalo whale seal eagle horse rat apple "
    "peach watermelon banana grape kiwi pear strawberry blueberry blackberry"
)
TOKENS = tuple(WORDS.split())
DECOYS = 3
Table = dict[str, str]


def generate(mode: str) -> Iterator[Instance]:
    """Yield 1000 train, 5000 valid and 5000 test instances of a mode.

    The draws are those of HELM's scenario after Wu et al. (2021).
    """
    draws = _Draws(np.random.RandomState(SEED))
    for split, count in SPLITS:
        for _ in range(count):
            text, answer = _problem(draws, mode)
            reference = Reference(answer, (CORRECT_TAG,))
            yield Instance("", text, (reference,), split=split)


class _Draws:
    """The draws of the scenario; with replacement, as randint makes choice's stream."""

    def __init__(self, state: np.random.RandomState) -> None:
        self.state = state

    def some(self, least: int, most: int, items: Sequence[str]) -> list[str]:
        """Return `least` to `most` items."""
        count = self.state.randint(least, most + 1)
        return [items[i] for i in self.state.randint(0, len(items), size=count)]

    def shuffled(self, items: list[str]) -> list[str]:
        """Return the items in random order."""
        copy: Any = list(items)
        self.state.shuffle(copy)
        return list(copy)

    def table(self, symbols: Sequence[str]) -> Table:
        """Return a text of one or two tokens for each symbol."""
        return {s: " ".join(self.some(1, 2, TOKENS)) for s in symbols}


def _problem(draws: _Draws, mode: str) -> tuple[str, str]:
    drawn = draws.some(2, 3, SYMBOLS)
    operators = draws.some(2, 3, OPERATORS)
    pattern = draws.shuffled(drawn + operators)
    symbols = sorted(set(drawn))
    first, second = draws.table(symbols), draws.table(symbols)
    rule = " ".join(pattern)
    if mode == "pattern_match":
        rules = [" ".join(draws.shuffled(symbols + operators)) for _ in range(DECOYS)]
        listed = " | ".join(draws.shuffled([*rules, rule]))
        return f"Rules: {listed} | Result: {_apply(pattern, first)}", rule
    if mode == "variable_substitution":
        pairs = " , ".join(f'{s} by " {text} "' for s, text in first.items())
        return f"Rules: {rule} | Substitutions: {pairs}", _apply(pattern, first)
    results = f"{_apply(pattern, first)} | {_apply(pattern, second)}"
    return f"Two results: {results}", f"Rule: {rule}"


def _apply(pattern: list[str], table: Table) -> str:
    return " ".join(table.get(part, part) for part in pattern)


SYNTHETIC_REASONING = Generator(version=1, generate=generate)
