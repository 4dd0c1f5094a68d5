"""Numbers in texts: is the last one the same, and how far apart are two of them?"""

from __future__ import annotations

import math
import re

from helmsite.metrics.kinds import text_metric
from helmsite.metrics.text import exact_match
from helmsite.schema import MetricFacts

_NUMBER = re.compile(r"-?[\d,]+(?:.\d+)?")  # HELM's: any character is a decimal point


def final_number(text: str) -> str:
    """Return the last number of a text without its commas, '' if there is none."""
    found = _NUMBER.findall(text)
    return found[-1].replace(",", "") if found else ""


@text_metric(
    MetricFacts(
        name="final_number_exact_match",
        title="Exact match (final number)",
        description="Share of instances whose last number equals the last number of a correct reference, digit for digit.",
        family="accuracy",
        higher_is_better=True,
        format="share",
        source="HELM",
    )
)
def final_number_exact_match(gold: str, prediction: str) -> float:
    """Return 1 if the last numbers are written alike, 0 if the prediction has none."""
    return exact_match(final_number(gold), final_number(prediction))


def _whole(text: str) -> int:
    try:
        return int(text.replace(",", ""))
    except ValueError:
        return 0


@text_metric(
    MetricFacts(
        name="absolute_value_difference",
        title="Absolute difference",
        description="Mean distance between the whole number that an answer is and the reference; what is no whole number counts as 0.",
        family="accuracy",
        higher_is_better=False,
        source="HELM",
    )
)
def absolute_value_difference(gold: str, prediction: str) -> float:
    """Return the distance of two whole numbers, infinity where no float holds it."""
    try:
        return float(abs(_whole(gold) - _whole(prediction)))
    except OverflowError:
        return math.inf
