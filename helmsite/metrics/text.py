"""Text overlap: does a prediction equal, begin with or share words with a gold text?

The rules are HELM's to the digit, odd ones included: punctuation is deleted, not
replaced ("-5" is quasi-equal to "5"), only ASCII punctuation counts, and an empty gold
text is a prefix of every answer.
"""

from __future__ import annotations

import re
import string

from helmsite.metrics.kinds import text_metric
from helmsite.schema import MetricFacts

_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_SOURCE = "HELM"


def normalise(text: str, *, articles: bool = False) -> str:
    """Return a text in lower case without ASCII punctuation, articles and extra spaces.

    Args:
        text: any text.
        articles: whether to leave them in.
    """
    bare = text.lower().translate(_PUNCTUATION)
    return " ".join((bare if articles else _ARTICLES.sub(" ", bare)).split())


@text_metric(
    MetricFacts(
        name="exact_match",
        title="Exact match",
        description="Share of instances whose answer equals a correct reference, letter for letter but for space around it.",
        family="accuracy",
        higher_is_better=True,
        format="share",
        source=_SOURCE,
    )
)
def exact_match(gold: str, prediction: str) -> float:
    """Return 1 if both are equal but for surrounding space, 0 for an empty prediction."""
    return float(bool(prediction) and gold.strip() == prediction.strip())


@text_metric(
    MetricFacts(
        name="quasi_exact_match",
        title="Quasi-exact match",
        description="Share of instances whose answer equals a correct reference without regard to case, punctuation, articles and spacing.",
        family="accuracy",
        higher_is_better=True,
        format="share",
        source=_SOURCE,
    )
)
def quasi_exact_match(gold: str, prediction: str) -> float:
    """Return 1 if both are equal once normalised, 0 for an empty prediction."""
    return float(bool(prediction) and normalise(gold) == normalise(prediction))


@text_metric(
    MetricFacts(
        name="quasi_leave_articles_exact_match",
        title="Quasi-exact match (with articles)",
        description="Share of instances whose answer equals a correct reference without regard to case, punctuation and spacing; articles count.",
        family="accuracy",
        higher_is_better=True,
        format="share",
        source=_SOURCE,
    )
)
def quasi_leave_articles_exact_match(gold: str, prediction: str) -> float:
    """Return 1 if both are equal once normalised, articles left in."""
    expected, found = (normalise(text, articles=True) for text in (gold, prediction))
    return float(bool(prediction) and expected == found)


@text_metric(
    MetricFacts(
        name="prefix_exact_match",
        title="Prefix exact match",
        description="Share of instances whose answer begins with a correct reference, letter for letter.",
        family="accuracy",
        higher_is_better=True,
        format="share",
        source=_SOURCE,
    )
)
def prefix_exact_match(gold: str, prediction: str) -> float:
    """Return 1 if the prediction begins with the gold text, 0 if it is empty."""
    return float(bool(prediction) and prediction.strip().startswith(gold.strip()))


@text_metric(
    MetricFacts(
        name="quasi_prefix_exact_match",
        title="Prefix quasi-exact match",
        description="Share of instances whose answer begins with a correct reference without regard to case, punctuation, articles and spacing.",
        family="accuracy",
        higher_is_better=True,
        format="share",
        source=_SOURCE,
    )
)
def quasi_prefix_exact_match(gold: str, prediction: str) -> float:
    """Return 1 if the normalised prediction begins with the normalised gold text."""
    return float(bool(prediction) and normalise(prediction).startswith(normalise(gold)))


@text_metric(
    MetricFacts(
        name="exact_match_indicator",
        title="Exact match (final)",
        description="Share of instances whose last word equals the last word of a correct reference, letter for letter.",
        family="accuracy",
        higher_is_better=True,
        format="share",
        source=_SOURCE,
    )
)
def exact_match_indicator(gold: str, prediction: str) -> float:
    """Return 1 if what follows the last space is the same in both."""
    return exact_match(
        gold.rsplit(" ", maxsplit=1)[-1].strip(),
        prediction.rsplit(" ", maxsplit=1)[-1].strip(),
    )


@text_metric(
    MetricFacts(
        name="f1_score",
        title="F1",
        description="Mean over instances of the harmonic mean of precision and recall over the sets of words of answer and reference.",
        family="accuracy",
        higher_is_better=True,
        format="share",
        source=_SOURCE,
    )
)
def f1_score(gold: str, prediction: str) -> float:
    """Return F1 over the sets of normalised words, 0 if either has none."""
    expected, found = set(normalise(gold).split()), set(normalise(prediction).split())
    common = len(expected & found)
    if not common:
        return 0.0
    return 1.0 / (0.5 / (common / len(found)) + 0.5 / (common / len(expected)))
