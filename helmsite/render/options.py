"""Separate multiple choice: each option with the score that decided, as the metric says."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec

from helmsite.render.blocks import Option
from helmsite.render.formats import HUGE, MINUS
from helmsite.render.text import visible
from helmsite.schema.records import CALIBRATION, ORIGINAL

if TYPE_CHECKING:
    from helmsite.query.rows import TrialView
    from helmsite.schema import Completion, Instance

SEPARATE = "multiple_choice_separate_original"
CALIBRATED = "multiple_choice_separate_calibrated"
OPTION_METHODS = {SEPARATE, CALIBRATED}
METRIC = "exact_match"


class Decided(NamedTuple):
    """What the metric kept: the score of each reference, and which were chosen."""

    scores: list[float]
    chosen: list[int]


def rule(trial: TrialView, method: str) -> str:
    """Return how the choice was made, in words; '' where the metric did not keep it."""
    decided = _decided(trial)
    if decided is None:
        return ""
    tie = " (a tie: each counts its share)" if len(decided.chosen) > 1 else ""
    if method == CALIBRATED:
        return f"Chosen: the largest rise of the log-probability by the question{tie}"
    return f"Chosen: the highest log-probability per token{tie}"


def options(trial: TrialView, instance: Instance) -> tuple[Option, ...]:
    """Return a trial's options in the order of the references."""
    answers: dict[tuple[str, int], Completion] = {}
    for view in trial.requests:
        if view.replies:
            key = (view.request.mode, view.request.reference_index)
            answers.setdefault(key, view.replies[0].completion)
    decided = _decided(trial)
    scores = dict(enumerate(decided.scores)) if decided else {}
    return tuple(
        Option(
            text=visible(reference.text[:2000]),
            correct=reference.is_correct,
            chosen=decided is not None and i in decided.chosen,
            score=_number(scores.get(i)),
            logprob=_number(_logprob(answers.get((ORIGINAL, i)))),
            calibration=_number(_logprob(answers.get((CALIBRATION, i)))),
        )
        for i, reference in enumerate(instance.references)
    )


def _decided(trial: TrialView) -> Decided | None:
    for score in trial.scores:
        kept = score.details
        if score.metric == METRIC and {"scores", "chosen"} <= kept.keys():
            try:
                return msgspec.convert([kept["scores"], kept["chosen"]], Decided)
            except msgspec.ValidationError:
                return None  # not what the metric keeps: as if it had kept nothing
    return None


def _logprob(completion: Completion | None) -> float | None:
    """Return the sum that the model's side reports, or that of its tokens."""
    if completion is None or completion.logprob is not None:
        return completion.logprob if completion else None
    values = [v for v in completion.token_logprobs or () if v is not None]
    return sum(values) if values else None


def _number(value: float | None) -> str:
    if value is None:
        return ""
    shown = f"{value:.3f}" if abs(value) < HUGE else f"{value:g}"
    return shown.replace("-", MINUS)
