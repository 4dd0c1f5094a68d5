"""Logistic regression on one column, as scikit-learn's `lbfgs` solver computes it.

HELM's Platt scaling is what that solver has when it stops, at a gradient of 1e-4: on few
or well separated instances that is far from the optimum, which may not even be finite.
To give the same figures the steps have to be the same: L-BFGS without bounds (Zhu, Byrd,
Lu and Nocedal 1997) and the line search of Moré and Thuente (1994), with the constants
of scikit-learn 1.9 (C = 1e10, 100 iterations, 50 evaluations per search).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Column = NDArray[np.float64]
    Objective = Callable[[Column], tuple[float, Column]]

PENALTY = 1e-10  # 1 / C, on the slope alone
MEMORY = 10
ITERATIONS = 100
EVALUATIONS = 50
SMALL_GRADIENT = 1e-4
EPSILON = float(np.finfo(np.float64).eps)
SMALL_GAIN = 64 * EPSILON
LONGEST = 1e10
DECREASE, CURVATURE, WIDTH = 1e-3, 0.9, 0.1


class Point(NamedTuple):
    """A step along the direction of a search, with value and slope there."""

    step: float
    value: float
    slope: float

    def tilted(self, slope: float) -> Point:
        """Return the point of the function less a line of that slope."""
        return Point(self.step, self.value - self.step * slope, self.slope - slope)


def fit(x: Column, y: Column) -> tuple[float, float]:
    """Return slope and intercept of P(y = 1) = 1 / (1 + exp(−slope·x − intercept)).

    Args:
        x: one value for each instance.
        y: 0 or 1; both have to occur.
    """

    def objective(w: Column) -> tuple[float, Column]:
        z = w[0] * x + w[1]
        residual = _sigmoid(z) - y
        loss = float(np.mean(np.logaddexp(0.0, z) - y * z))
        ridge = PENALTY / len(x) * w[0]
        gradient = np.array([np.mean(residual * x) + ridge, np.mean(residual)])
        return loss + 0.5 * float(ridge * w[0]), gradient

    slope, intercept = minimise(objective, np.zeros(2))
    return float(slope), float(intercept)


def _sigmoid(z: Column) -> Column:
    return np.exp(-np.logaddexp(0.0, -z))


def minimise(objective: Objective, start: Column) -> Column:
    """Return the point where L-BFGS stops: gradient or gain are small, or it is stuck."""
    at, (value, gradient) = start, objective(start)
    pairs: list[tuple[Column, Column]] = []
    for iteration in range(ITERATIONS):
        if np.abs(gradient).max() <= SMALL_GRADIENT:
            break
        direction = -_preconditioned(gradient, pairs)
        longest = min(1 / float(np.linalg.norm(direction)), LONGEST)
        first = longest if iteration == 0 else 1.0
        step = _search(objective, at, direction, first)
        if step is None:
            if not pairs:
                break
            pairs = []
            continue
        here = at + step * direction
        before, (value, now) = value, objective(here)
        change = now - gradient
        slope = float(gradient @ direction)
        if step * float(change @ direction) > -EPSILON * step * slope:
            pairs = [*pairs, (step * direction, change)][-MEMORY:]
        at, gradient = here, now
        if before - value <= SMALL_GAIN * max(abs(before), abs(value), 1.0):
            break
    return at


def _preconditioned(gradient: Column, pairs: list[tuple[Column, Column]]) -> Column:
    """Return H·gradient, H the inverse Hessian that steps and their changes suggest."""
    q = gradient.copy()
    taken = []
    for step, change in reversed(pairs):
        share = float(step @ q) / float(step @ change)
        taken.append(share)
        q = q - share * change
    if pairs:
        step, change = pairs[-1]
        q = q * (float(step @ change) / float(change @ change))
    for (step, change), share in zip(pairs, reversed(taken), strict=True):
        q = q + step * (share - float(change @ q) / float(step @ change))
    return q


@dataclass
class _Bracket:
    """The best step so far, another one beyond it, and where the next may lie."""

    best: Point
    other: Point
    low: float
    high: float
    closed: bool = False

    def narrow(self, trial: Point, slope: float) -> float:
        """Take in a trial and return the next step; `slope` is taken off all of them."""
        best, other = self.best.tilted(slope), self.other.tilted(slope)
        trial_point = trial.tilted(slope)
        step = _next(self, best, other, trial_point)
        if trial_point.value > best.value:
            self.other = trial
        else:
            if trial_point.slope * best.slope < 0:
                self.other = self.best
            self.best = trial
        return step


def _search(
    objective: Objective, at: Column, direction: Column, first: float
) -> float | None:
    """Return a step of sufficient decrease and curvature; None where there is none."""

    def look(step: float) -> Point:
        value, gradient = objective(at + step * direction)
        return Point(step, value, float(gradient @ direction))

    start = look(0.0)
    if start.slope >= 0:
        return None
    enough = DECREASE * start.slope
    bracket = _Bracket(start, start, 0.0, 5 * first)
    widths = [LONGEST, 2 * LONGEST]
    step, early = first, True
    for _ in range(EVALUATIONS):
        trial = look(step)
        limit = start.value + step * enough
        early = early and not (trial.value <= limit and trial.slope >= 0)
        if _ends(bracket, trial, start, limit):
            return step
        modified = early and limit < trial.value <= bracket.best.value
        step = bracket.narrow(trial, enough if modified else 0.0)
        step = _bounded(bracket, step, widths)
    return None


def _ends(bracket: _Bracket, trial: Point, start: Point, limit: float) -> bool:
    """Say whether a trial is good enough, or as good as it gets."""
    step = trial.step
    if trial.value <= limit and abs(trial.slope) <= -CURVATURE * start.slope:
        return True
    if step == LONGEST:
        return trial.value <= limit and trial.slope <= DECREASE * start.slope
    return bracket.closed and (
        not bracket.low < step < bracket.high
        or bracket.high - bracket.low <= WIDTH * bracket.high
    )


def _bounded(bracket: _Bracket, step: float, widths: list[float]) -> float:
    """Keep the next step where the search may go; halve brackets that hardly shrink."""
    best, other = bracket.best.step, bracket.other.step
    if bracket.closed:
        if abs(other - best) >= 0.66 * widths[1]:
            step = best + 0.5 * (other - best)
        widths[:] = [abs(other - best), widths[0]]
        bracket.low, bracket.high = min(best, other), max(best, other)
    else:
        bracket.low = step + 1.1 * (step - best)
        bracket.high = step + 4.0 * (step - best)
    step = min(max(step, 0.0), LONGEST)
    if bracket.closed and (
        not bracket.low < step < bracket.high
        or bracket.high - bracket.low <= WIDTH * bracket.high
    ):
        return best
    return step


def _next(bracket: _Bracket, best: Point, other: Point, trial: Point) -> float:
    """Return the step that cubic and secant through the points suggest.

    The four cases of Moré and Thuente: the trial is higher; its slope has turned; the
    slope is less steep; it is not.
    """
    ahead = trial.step - best.step
    if trial.value > best.value:
        bracket.closed = True
        cubic = best.step + _cubic(best, trial)[0] * ahead
        secant = (best.value - trial.value) / ahead + best.slope
        square = best.step + best.slope / secant / 2 * ahead
        near = abs(cubic - best.step) <= abs(square - best.step)
        return cubic if near else cubic + (square - cubic) / 2
    if trial.slope * best.slope < 0:
        bracket.closed = True
        cubic = trial.step - _cubic(trial, best)[0] * ahead
        secant = trial.step - trial.slope / (trial.slope - best.slope) * ahead
        far = abs(cubic - trial.step) > abs(secant - trial.step)
        return cubic if far else secant
    edge = bracket.high if ahead > 0 else bracket.low
    if abs(trial.slope) < abs(best.slope):
        return _less_steep(bracket, best, other, trial, edge)
    if bracket.closed:
        return trial.step + _cubic(trial, other)[0] * (other.step - trial.step)
    return edge


def _less_steep(
    bracket: _Bracket, best: Point, other: Point, trial: Point, edge: float
) -> float:
    ahead = trial.step - best.step
    ratio, root = _cubic(trial, best)
    cubic = trial.step - ratio * ahead if ratio < 0 and root else edge
    secant = trial.step - trial.slope / (trial.slope - best.slope) * ahead
    cubic_is_near = abs(cubic - trial.step) < abs(secant - trial.step)
    if not bracket.closed:
        cubic_is_far = abs(cubic - trial.step) > abs(secant - trial.step)
        found = cubic if cubic_is_far else secant
        return min(max(found, bracket.low), bracket.high)
    found = cubic if cubic_is_near else secant
    limit = trial.step + 0.66 * (other.step - trial.step)
    return min(limit, found) if ahead > 0 else max(limit, found)


def _cubic(a: Point, b: Point) -> tuple[float, float]:
    """Return where between a (0) and b (1) their cubic has its minimum, and its root."""
    theta = 3 * (a.value - b.value) / (b.step - a.step) + a.slope + b.slope
    size = max(abs(theta), abs(a.slope), abs(b.slope))
    square = (theta / size) ** 2 - (a.slope / size) * (b.slope / size)
    root = math.copysign(size * math.sqrt(max(0.0, square)), b.step - a.step)
    ratio = ((root - a.slope) + theta) / (((root - a.slope) + root) + b.slope)
    return ratio, root
