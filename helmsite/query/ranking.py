"""How models compare within a table: heat, best, mean win rate and rank bands."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

import numpy as np

from helmsite.query import statistics

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    Draws = NDArray[np.float64]

DIGITS = 9
STEPS = 8


def rounded(value: float) -> float:
    """Return a value as it is compared: ties are ties after rounding to 9 decimals."""
    return round(value, DIGITS) + 0.0


def heats(values: Sequence[float | None], higher_is_better: bool | None) -> list[int]:
    """Return 0 (the column's worst) to 8 (its best) per value, in equal steps.

    -1 for a missing value, without a good direction, or where all values are equal.
    """
    known = [rounded(v) for v in values if v is not None]
    low, high = min(known, default=0.0), max(known, default=0.0)
    if higher_is_better is None or low == high:
        return [-1] * len(values)
    shares = [None if v is None else (rounded(v) - low) / (high - low) for v in values]
    return [
        -1
        if share is None
        else round(STEPS * (share if higher_is_better else 1 - share))
        for share in shares
    ]


def bests(values: Sequence[float | None], higher_is_better: bool | None) -> list[bool]:
    """Return which value is better than every other one; none if there is a tie.

    A column with a single value has no best one.
    """
    known = [rounded(v) for v in values if v is not None]
    if higher_is_better is None or len(known) < 2:
        return [False] * len(values)
    top = max(known) if higher_is_better else min(known)
    alone = known.count(top) == 1
    return [v is not None and alone and rounded(v) == top for v in values]


def leader(values: Mapping[str, float | None], higher_is_better: bool | None) -> str:
    """Return the name of the best value, the first by name of several; '' if none."""
    sign = 1 if higher_is_better is False else -1
    known = [(sign * rounded(v), name) for name, v in values.items() if v is not None]
    return min(known)[1] if known and higher_is_better is not None else ""


def places(
    values: Sequence[float | None], higher_is_better: bool | None
) -> list[tuple[float | None, int]]:
    """Return each value's rank, 1 the best, ties sharing their mean, and of how many.

    None without a value or a good direction.
    """
    sign = -1 if higher_is_better else 1
    known = sorted(sign * rounded(v) for v in values if v is not None)

    def rank(value: float | None) -> float | None:
        if value is None or higher_is_better is None:
            return None
        own = sign * rounded(value)
        return (bisect_left(known, own) + bisect_right(known, own) + 1) / 2

    return [(rank(value), len(known)) for value in values]


def wins(values: Draws, higher_is_better: bool) -> Draws:
    """Return each model's share of wins over the others; (..., models) in and out.

    A tie is half a win. There are at least two models, all with a value.
    """
    signed = np.round(values if higher_is_better else -values, DIGITS)
    models = signed.shape[-1]
    order = np.argsort(signed, axis=-1, kind="stable")
    ordered = np.take_along_axis(signed, order, axis=-1)
    # of equal values, all take the place between the first and the last of them
    places = np.arange(models)
    starts = np.ones(signed.shape, dtype=bool)
    starts[..., 1:] = ordered[..., 1:] != ordered[..., :-1]
    ends = np.ones(signed.shape, dtype=bool)
    ends[..., :-1] = starts[..., 1:]
    first = np.maximum.accumulate(np.where(starts, places, 0), axis=-1)
    backward = np.where(ends, places, models)[..., ::-1]
    last = np.minimum.accumulate(backward, axis=-1)[..., ::-1]
    found = np.empty(signed.shape)
    np.put_along_axis(found, order, (first + last) / 2 / (models - 1), axis=-1)
    return found


def joint_wins(values: Draws, higher_is_better: bool) -> Draws:
    """Return each model's share of wins by the mean over the members of a column.

    (members, ..., models) in, (..., models) out. Two models are compared by their means
    over the members that both have; a model counts the others that it shares one with,
    and is NaN if there is none.

    Args:
        values: NaN where a model has no value in a member, in all resamples alike.
        higher_is_better: the good direction.
    """
    missing = np.isnan(values)
    if not missing.any():
        return wins(values.mean(axis=0), higher_is_better)
    has = ~missing.reshape(len(values), -1, values.shape[-1])[:, 0]
    known = np.where(missing, 0.0, values if higher_is_better else -values)
    found = np.full(values.shape[1:], np.nan)
    for model in range(values.shape[-1]):
        own, both = known[has[:, model]], has[has[:, model]]
        shared = both.sum(axis=0)
        rivals = shared > 0
        rivals[model] = False
        if not rivals.any():
            continue
        with_rivals = both[:, rivals].astype(np.float64)
        mine = np.einsum("m...,mr->...r", own[..., model], with_rivals)
        theirs = own[..., rivals].sum(axis=0)
        gaps = np.round(mine / shared[rivals], DIGITS)
        gaps -= np.round(theirs / shared[rivals], DIGITS)
        found[..., model] = ((gaps > 0) + (gaps == 0) / 2).mean(axis=-1)
    return found


def column_wins(
    columns: Iterable[tuple[Sequence[int], Draws, bool | None]], models: int
) -> Draws:
    """Return the wins of each model in each column that counts; (columns, ..., models).

    HELM's rule: a column counts if its good direction is known and it has at least two
    values. NaN where a model has no value.

    Args:
        columns: per column the models with a value, their values (members, ..., those
            models) and the good direction.
        models: how many models there are.
    """
    found = []
    for present, values, higher_is_better in columns:
        if higher_is_better is None or len(present) < 2:
            continue
        won = joint_wins(values, higher_is_better)
        line = np.full((*won.shape[:-1], models), np.nan)
        line[..., list(present)] = won
        found.append(line)
    return np.stack(found) if found else np.empty((0, models))


def win_rates(won: Draws) -> list[tuple[float | None, int]]:
    """Return each model's mean win rate and the columns that it rests on.

    The plain mean over the columns where the model has a value, None if there is none.

    Args:
        won: shape (columns, models).
    """
    found: list[tuple[float | None, int]] = []
    for model in range(won.shape[1]):
        known = won[~np.isnan(won[:, model]), model]
        found.append(
            (float(np.sum(known) / len(known)) if len(known) else None, len(known))
        )
    return found


def bands(rates: Sequence[float | None], won: Draws) -> list[int]:
    """Return the rank band of each model, 1 the best, 0 without a rate.

    Going down from the best, a model is in the band of the band's first model unless it
    can be told apart from it: unless the 95 % interval, over paired resamples, of the
    difference of their wins over the columns that both have lies above 0.

    Args:
        rates: mean win rates.
        won: wins in each resample; shape (columns, resamples, models).
    """
    known = [m for m, rate in enumerate(rates) if rate is not None]
    order = sorted(known, key=lambda m: (-rounded(rates[m] or 0.0), m))
    found, band, first = [0] * len(rates), 0, -1
    for m in order:
        if band == 0 or _told_apart(won[:, :, first] - won[:, :, m]):
            band, first = band + 1, m
        found[m] = band
    return found


def _told_apart(gaps: Draws) -> bool:
    """Say whether wins differ; gaps (columns, resamples), NaN where one has no value."""
    shared = gaps[~np.isnan(gaps).any(axis=1)]
    if not len(shared):
        return False
    return bool(np.quantile(shared.sum(axis=0), 0.5 - statistics.LEVEL / 2) > 0)
