"""How models compare within a table: heat, best, mean win rate and rank bands."""

from __future__ import annotations

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


def place(
    value: float | None, values: Iterable[float | None], higher_is_better: bool | None
) -> tuple[float | None, int]:
    """Return the rank of a value, 1 the best, ties sharing their mean, and of how many."""
    known = [rounded(v) for v in values if v is not None]
    if value is None or higher_is_better is None:
        return None, len(known)
    sign = 1 if higher_is_better else -1
    better = sum(sign * v > sign * rounded(value) for v in known)
    return better + (known.count(rounded(value)) + 1) / 2, len(known)


def wins(values: Draws, higher_is_better: bool) -> Draws:
    """Return each model's share of wins over the others; (..., models) in and out.

    A tie is half a win. There are at least two models, all with a value.
    """
    signed = np.round(values if higher_is_better else -values, DIGITS)
    total = np.zeros(signed.shape)
    for other in range(signed.shape[-1]):
        rival = signed[..., other, None]
        total += (signed > rival) + 0.5 * (signed == rival)
    return np.asarray((total - 0.5) / (signed.shape[-1] - 1))


def column_wins(
    columns: Sequence[tuple[Sequence[int], Draws, bool | None]], models: int
) -> Draws:
    """Return the wins of each model in each column that counts; (columns, ..., models).

    HELM's rule: a column counts if its good direction is known and it has at least two
    values. NaN where a model has no value.

    Args:
        columns: per column the models with a value, their values (..., those models)
            and the good direction.
        models: how many models there are.
    """
    used = [c for c in columns if c[2] is not None and len(c[0]) >= 2]
    shape = used[0][1].shape[:-1] if used else ()
    found = np.full((len(used), *shape, models), np.nan)
    for line, (present, values, higher_is_better) in zip(found, used, strict=True):
        line[..., list(present)] = wins(values, bool(higher_is_better))
    return found


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
