"""Copying: how much of a known text does a model go on with, given its beginning?

The instance's reference is the whole text, its input the beginning. The rest is cut to
the length of the answer (in characters), both are cut into words (Penn Treebank), and the
words are compared. As in HELM's runs, `longest_common_prefix_length` and the edit
measures are divided by the number of words in the input. The worst completion counts,
in the sense of copying: the longest prefix, the least distance, the most alike.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from helmsite.metrics.kinds import CaseMetric, Measure
from helmsite.metrics.words import treebank
from helmsite.schema import MetricFacts

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from helmsite.metrics.case import Case

    Codes = NDArray[np.int64]


def common_prefix(made: Codes, known: Codes) -> float:
    """Return with how many equal words both begin."""
    n = min(len(made), len(known))
    differ = np.flatnonzero(made[:n] != known[:n])
    return float(differ[0] if len(differ) else n)


def distance(made: Codes, known: Codes) -> float:
    """Return the Levenshtein distance in words: fewest insertions, removals, changes."""
    steps = np.arange(len(known) + 1)
    row = steps
    for number, word in enumerate(made, start=1):
        best = np.minimum(row[1:] + 1, row[:-1] + (known != word))
        row = np.concatenate(([number], best))
        row = np.minimum.accumulate(row - steps) + steps  # words of `known` put in
    return float(row[-1])


def similarity(made: Codes, known: Codes) -> float:
    """Return 1 - distance / longer length, 0 if either is empty."""
    if not len(made) or not len(known):
        return 0.0
    return 1.0 - distance(made, known) / max(len(made), len(known))


def _coded(words: Sequence[str], codes: dict[str, int]) -> Codes:
    return np.array([codes.setdefault(word, len(codes)) for word in words], np.int64)


def _copying(
    facts: MetricFacts,
    compare: Callable[[Codes, Codes], float],
    worst: Callable[[list[float]], float],
) -> CaseMetric:
    def judge(case: Case) -> Measure | None:
        start, references = case.instance.input, case.instance.references
        length = len(treebank(start))
        if len(references) != 1 or not length:
            return None
        rest = references[0].text[len(start) :]
        values = []
        for completion in case.exchanges[0].completions:
            text = completion.text.strip()
            codes: dict[str, int] = {}
            made = _coded(treebank(text), codes)
            values.append(compare(made, _coded(treebank(rest[: len(text)]), codes)))
        return Measure(worst(values) / length)

    return CaseMetric(facts, judge)


longest_common_prefix_length = _copying(
    MetricFacts(
        name="longest_common_prefix_length",
        title="Longest common prefix length",
        description="Mean number of words with which an answer goes on as the known text does, per word of the beginning that was given.",
        family="copyright_metrics",
        higher_is_better=False,
        source="HELM",
    ),
    common_prefix,
    max,
)

edit_distance = _copying(
    MetricFacts(
        name="edit_distance",
        title="Edit distance (Levenshtein)",
        description="Mean number of words to insert, remove or change between an answer and the known text, per word of the beginning that was given.",
        family="copyright_metrics",
        higher_is_better=True,
        source="HELM",
    ),
    distance,
    min,
)

edit_similarity = _copying(
    MetricFacts(
        name="edit_similarity",
        title="Edit similarity (Levenshtein)",
        description="Mean likeness of an answer and the known text (1 - edit distance / length), per word of the beginning that was given.",
        family="copyright_metrics",
        higher_is_better=False,
        source="HELM",
    ),
    similarity,
    max,
)
