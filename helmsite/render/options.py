"""Separate multiple choice: each option with the score that decides, and the choice."""

from __future__ import annotations

from typing import TYPE_CHECKING

from helmsite.render.formats import MINUS
from helmsite.render.parts import Option
from helmsite.render.text import visible

if TYPE_CHECKING:
    from helmsite.query.rows import TrialView
    from helmsite.schema import Completion, Instance

ORIGINAL = "multiple_choice_separate_original"
CALIBRATED = "multiple_choice_separate_calibrated"
OPTION_METHODS = {ORIGINAL, CALIBRATED}


def rule(method: str) -> str:
    """Return how the choice is made, in words."""
    if method == CALIBRATED:
        return "Chosen: the largest rise of the log-probability by the question"
    return "Chosen: the highest log-probability per token"


def options(trial: TrialView, instance: Instance, method: str) -> tuple[Option, ...]:
    """Return a trial's options in the order of the references."""
    answers: dict[tuple[str, int], Completion] = {}
    for view in trial.requests:
        if view.replies:
            key = (view.request.mode, view.request.reference_index)
            answers.setdefault(key, view.replies[0].completion)
    rows = []
    for i, reference in enumerate(instance.references):
        own = answers.get(("original", i))
        prior = answers.get(("calibration", i))
        rows.append((reference, own, prior, _score(own, prior, method)))
    best = max((s for *_, s in rows if s is not None), default=None)
    return tuple(
        Option(
            text=visible(reference.text[:2000]),
            correct=reference.is_correct,
            chosen=score is not None and score == best,
            score=_number(score),
            logprob=_number(own.logprob if own else None),
            calibration=_number(prior.logprob if prior else None),
        )
        for reference, own, prior, score in rows
    )


def _score(
    own: Completion | None, prior: Completion | None, method: str
) -> float | None:
    if own is None or own.logprob is None:
        return None
    if method == CALIBRATED:
        if prior is None or prior.logprob is None:
            return None
        return own.logprob - prior.logprob
    return own.logprob / len(own.tokens) if own.tokens else None


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}".replace("-", MINUS)
