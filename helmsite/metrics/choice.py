"""Separate multiple choice: each reference is a request, the most probable one is the answer.

multiple_choice_separate_original scores a reference by its mean token log-probability,
multiple_choice_separate_calibrated by how much the question raises its log-probability
over that without the question (sums, no division by length).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from helmsite.metrics.kinds import Measure, case_metric
from helmsite.metrics.text import exact_match as exact_text_match
from helmsite.schema import MetricFacts
from helmsite.schema.records import CALIBRATION, ORIGINAL

if TYPE_CHECKING:
    from helmsite.metrics.case import Case
    from helmsite.schema import Completion

CALIBRATED = "multiple_choice_separate_calibrated"


def expected_requests(method: str, references: int) -> set[tuple[str, int]]:
    """Return (mode, reference_index) of each request that the method makes."""
    modes = (ORIGINAL, CALIBRATION) if method == CALIBRATED else (ORIGINAL,)
    return {(mode, index) for mode in modes for index in range(references)}


def total_logprob(completion: Completion | None) -> float | None:
    """Return the log-probability of the scored text, None where it is not known."""
    if completion is None:
        return None
    logprobs = completion.token_logprobs
    if logprobs is None:
        return completion.logprob
    known = [value for value in logprobs if value is not None]
    return sum(known) if len(known) == len(logprobs) else None


def _score(
    case: Case, answers: dict[tuple[str, int], Completion], i: int
) -> float | None:
    original = answers.get((ORIGINAL, i))
    own = total_logprob(original)
    if original is None or own is None:
        return None
    if case.adapter.method == CALIBRATED:
        prior = total_logprob(answers.get((CALIBRATION, i)))
        return None if prior is None else own - prior
    return own / len(original.tokens) if original.tokens else None


def scores(case: Case) -> list[float] | None:
    """Return the score of each reference, None if one of them has none."""
    answers = {
        (e.request.mode, e.request.reference_index): e.first for e in case.exchanges
    }
    values = [_score(case, answers, i) for i in range(len(case.instance.references))]
    known = [value for value in values if value is not None]
    return known if known and len(known) == len(values) else None


def _best(values: list[float]) -> list[int]:
    top = max(values)
    return [i for i, value in enumerate(values) if value >= top]


def _exact_match(case: Case) -> Measure | None:
    values = scores(case)
    if values is None:
        return None
    best, references = _best(values), case.instance.references
    right = sum(references[i].is_correct for i in best)
    return Measure(
        right / len(best),
        text=references[best[0]].text,
        details={"scores": values, "chosen": best},
    )


def confidence(case: Case) -> Measure | None:
    """Return the largest softmax over the references' scores."""
    values = scores(case)
    if values is None:
        return None
    top = max(values)
    return Measure(1.0 / sum(math.exp(value - top) for value in values))


@case_metric(
    MetricFacts(
        name="predicted_index",
        title="Predicted index",
        description="Mean index, from 0, of the reference that the model finds most probable (the first among equals).",
        family="general_information",
        source="HELM",
    )
)
def predicted_index(case: Case) -> Measure | None:
    """Return the index of the most probable reference."""
    values = scores(case)
    if values is None:
        return None
    best = _best(values)[0]
    return Measure(float(best), text=case.instance.references[best].text)


exact_match = case_metric(exact_text_match.facts)(_exact_match)
