"""Sets written as text ("... is red and round."): how well do two of them agree?"""

from __future__ import annotations

from helmsite.metrics.kinds import text_metric
from helmsite.schema import MetricFacts

_NOTHING = "Nothing."
_START, _SEPARATOR = " is ", " and "


def elements(text: str) -> frozenset[str]:
    """Return the set that a sentence names: what follows its last ' is ', cut at ' and '."""
    if text == _NOTHING:
        return frozenset()
    return frozenset(text.replace(".", "").split(_START)[-1].split(_SEPARATOR))


def _pair(gold: str, prediction: str) -> tuple[frozenset[str], frozenset[str]]:
    return elements(gold), elements(prediction.split("\n", maxsplit=1)[0])


@text_metric(
    MetricFacts(
        name="exact_set_match",
        title="Exact set match",
        description="Share of instances whose answer names exactly the set that a correct reference names.",
        family="accuracy",
        higher_is_better=True,
        format="share",
        source="HELM",
    )
)
def exact_set_match(gold: str, prediction: str) -> float:
    """Return 1 if both sets are equal."""
    expected, found = _pair(gold, prediction)
    return float(expected == found)


@text_metric(
    MetricFacts(
        name="iou_set_match",
        title="Set overlap (IoU)",
        description="Mean over instances of intersection over union of the sets that answer and reference name.",
        family="accuracy",
        higher_is_better=True,
        format="share",
        source="HELM",
    )
)
def iou_set_match(gold: str, prediction: str) -> float:
    """Return intersection over union; for an empty gold set, whether both are empty."""
    expected, found = _pair(gold, prediction)
    if not expected:
        return float(not found)
    return len(expected & found) / len(expected | found)


@text_metric(
    MetricFacts(
        name="f1_set_match",
        title="Set overlap (F1)",
        description="Mean over instances of the F1 of the sets that answer and reference name.",
        family="accuracy",
        higher_is_better=True,
        format="share",
        source="HELM",
    )
)
def f1_set_match(gold: str, prediction: str) -> float:
    """Return F1 of the two sets; for an empty gold set, whether both are empty."""
    expected, found = _pair(gold, prediction)
    if not expected:
        return float(not found)
    return 2 * len(expected & found) / (len(expected) + len(found))
