"""Summaries beside their source: how much is copied, in how long pieces, how much shorter?

The extractive fragments are those of Newsroom (Grusky et al. 2018): from left to right,
each word of the summary begins the longest sequence that stands in the source, the first
one among equals; words are spaCy's English ones, compared in lower case.
"""

from __future__ import annotations

from collections import defaultdict
from functools import cache
from typing import TYPE_CHECKING, Any

from helmsite.metrics.extras import need
from helmsite.metrics.kinds import CaseMetric, Measure
from helmsite.schema import MetricFacts

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from helmsite.metrics.case import Case

EXTRA = "summarization"


def fragments(summary: Sequence[str], source: Sequence[str]) -> list[int]:
    """Return the lengths of the sequences that a summary takes from its source.

    A search for a longer sequence goes on behind one that was found, as Newsroom's does.
    """
    places: dict[str, list[int]] = defaultdict(list)
    for place, word in enumerate(source):
        places[word].append(place)
    found, start = [], 0
    while start < len(summary):
        best = beyond = 0
        for place in places.get(summary[start], ()):
            if place >= beyond:
                length = _common(summary, start, source, place)
                best, beyond = max(best, length), place + length
        if best:
            found.append(best)
        start += best or 1
    return found


def _common(a: Sequence[str], i: int, b: Sequence[str], j: int) -> int:
    n, most = 0, min(len(a) - i, len(b) - j)
    while n < most and a[i + n] == b[j + n]:
        n += 1
    return n


@cache
def _english() -> Any:
    return need("spacy", EXTRA).blank("en").tokenizer


def _words(text: str) -> list[str]:
    return [token.text.lower() for token in _english()(text)]


def without_braces(text: str) -> str:
    """Return a text without one brace at its beginning and one at its end."""
    return text.removeprefix("{").removesuffix("}")


def _metric(
    facts: MetricFacts, compute: Callable[[list[str], list[str]], float]
) -> CaseMetric:
    def judge(case: Case) -> Measure | None:
        if case.exchanges[0].request.score_start is not None:
            return None
        summary = _words(without_braces(case.first.text.strip()))
        source = _words(without_braces(case.instance.input))
        return Measure(compute(summary, source) if summary else 0.0)

    return CaseMetric(facts, judge)


summarization_coverage = _metric(
    MetricFacts(
        name="summarization_coverage",
        title="Coverage",
        description="Mean share of a summary's words that belong to sequences taken from the source.",
        family="summarization_metrics",
        format="share",
        source="HELM",
    ),
    lambda summary, source: sum(fragments(summary, source)) / len(summary),
)

summarization_density = _metric(
    MetricFacts(
        name="summarization_density",
        title="Density",
        description="Mean length, in words, of the taken sequence that a summary's word belongs to; 0 for a word that is not taken.",
        family="summarization_metrics",
        source="HELM",
    ),
    lambda summary, source: (
        sum(n * n for n in fragments(summary, source)) / len(summary)
    ),
)

summarization_compression = _metric(
    MetricFacts(
        name="summarization_compression",
        title="Compression",
        description="Mean number of words in the source for each word of the summary.",
        family="summarization_metrics",
        source="HELM",
    ),
    lambda summary, source: len(source) / len(summary),
)
