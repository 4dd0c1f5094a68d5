"""Intervals: Wilson, Student's t and a bootstrap that every run of a scenario shares.

All are two-sided 95 % intervals. Nothing here draws from a random generator: bootstrap
weights come from a hash of scenario and instance, so that each run and model of a
scenario is resampled alike and differences between models are paired.
"""

from __future__ import annotations

import hashlib
import math
from functools import lru_cache
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

LEVEL = 0.95
RESAMPLES = 1000
CHUNK = 4096
NORMAL = NormalDist()
Z = NORMAL.inv_cdf(0.5 + LEVEL / 2)


def wilson(successes: float, n: int) -> tuple[float, float]:
    """Return Wilson's score interval for a share of n independent 0/1 values.

    Source: E. B. Wilson, 1927, JASA 22, without continuity correction.
    """
    share = successes / n
    scale = 1 + Z * Z / n
    centre = (share + Z * Z / (2 * n)) / scale
    half = Z / scale * math.sqrt(share * (1 - share) / n + Z * Z / (4 * n * n))
    low = 0.0 if share == 0 else max(0.0, centre - half)
    return low, 1.0 if share == 1 else min(1.0, centre + half)


def _beta_fraction(a: float, b: float, x: float) -> float:
    """Return the continued fraction of the incomplete beta function (Lentz)."""
    tiny = 1e-300
    c, d = 1.0, 1.0 - (a + b) * x / (a + 1)
    d = 1.0 / (d if abs(d) > tiny else tiny)
    value = d
    for m in range(1, 1000):
        for numerator in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1.0 + numerator * d
            d = 1.0 / (d if abs(d) > tiny else tiny)
            c = 1.0 + numerator / c
            c = c if abs(c) > tiny else tiny
            value *= c * d
        if abs(c * d - 1.0) < 1e-16:
            break
    return value


def incomplete_beta(a: float, b: float, x: float) -> float:
    """Return the regularised incomplete beta function I_x(a, b)."""
    if x <= 0 or x >= 1:
        return 0.0 if x <= 0 else 1.0
    log_front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    front = math.exp(log_front + a * math.log(x) + b * math.log1p(-x))
    if x < (a + 1) / (a + b + 2):
        return front * _beta_fraction(a, b, x) / a
    return 1.0 - front * _beta_fraction(b, a, 1 - x) / b


def _t_expansion(df: int) -> float:
    """Return the quantile from the normal one (Abramowitz and Stegun 26.7.5)."""
    z = Z
    return (
        z
        + (z**3 + z) / (4 * df)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * df**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * df**3)
    )


@lru_cache(maxsize=4096)
def t_quantile(df: int) -> float:
    """Return t with P(|T| ≤ t) = 0.95 for Student's distribution.

    By bisection on the incomplete beta function, by an expansion above 1000 degrees of
    freedom; both to 1e-10.
    """
    if df > 1000:
        return _t_expansion(df)
    low, high = Z, 13.0
    while high - low > 1e-13 * high:
        middle = (low + high) / 2
        outside = incomplete_beta(df / 2, 0.5, df / (df + middle * middle))
        if outside > 1 - LEVEL:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def mean_interval(value: float, stderr: float, n: int) -> tuple[float, float]:
    """Return value ± t · stderr with n − 1 degrees of freedom (n ≥ 2 instances)."""
    half = t_quantile(n - 1) * stderr
    return value - half, value + half


@lru_cache(maxsize=1)
def _poisson_edges() -> NDArray[np.uint32]:
    """Return the upper edges, in 1/65536, of the steps of a Poisson(1) distribution."""
    share = np.cumsum([math.exp(-1) / math.factorial(k) for k in range(9)])
    return np.round(share * 65536).astype(np.uint32)


def weights(scenario: str, instance_ids: Sequence[str]) -> NDArray[np.uint8]:
    """Return how often each resample holds each instance; shape (instances, 1000).

    Poisson(1) counts, read off SHAKE-128 of scenario and instance id: an instance has
    the same column of counts in every run, whatever else is in the run.
    """
    found = np.empty((len(instance_ids), RESAMPLES), dtype=np.uint8)
    for row, name in enumerate(instance_ids):
        seed = f"{scenario}\0{name}".encode("utf-8", "surrogatepass")
        drawn = hashlib.shake_128(seed).digest(2 * RESAMPLES)
        uniform = np.frombuffer(drawn, dtype="<u2")
        found[row] = np.searchsorted(_poisson_edges(), uniform, side="right")
    return found


@lru_cache(maxsize=1)
def _normal_steps() -> NDArray[np.float64]:
    """Return the quantiles of the normal distribution in the middle of each resample's share."""
    shares = [(i + 0.5) / RESAMPLES for i in range(RESAMPLES)]
    return np.array([NORMAL.inv_cdf(share) for share in shares])


def normal(seed: str, mean: float, stderr: float) -> NDArray[np.float64]:
    """Return a normally distributed number for each resample, the same for the same seed.

    Of two seeds, the numbers vary independently: the quantiles are the same, in an order
    read off SHAKE-128 of the seed.
    """
    drawn = hashlib.shake_128(seed.encode("utf-8", "surrogatepass"))
    order = np.frombuffer(drawn.digest(8 * RESAMPLES), dtype="<u8")
    return mean + stderr * _normal_steps()[np.argsort(order, kind="stable")]


def resampled_sums(
    counts: NDArray[np.uint8], columns: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the sums of each resample; (n, B) counts and (n, k) columns give (B, k).

    Sums in a fixed order without a multi-threaded library: same input, same bytes.
    """
    total = np.zeros((counts.shape[1], columns.shape[1]))
    for start in range(0, len(columns), CHUNK):
        part = counts[start : start + CHUNK].astype(np.float64)
        for k in range(columns.shape[1]):
            total[:, k] += np.einsum("ib,i->b", part, columns[start : start + CHUNK, k])
    return total


def percentile_interval(
    draws: NDArray[np.float64], n: int
) -> tuple[float, float, float] | None:
    """Return standard error and expanded percentile interval of bootstrap draws.

    The percentiles are widened for small n as t widens the normal interval
    (T. Hesterberg, 2015, The American Statistician 69: expanded percentiles). Draws
    that are not finite, from resamples without any value, are left out. None if fewer
    than half remain, if n < 2, and if all are equal but for rounding: then they say
    nothing about chance.
    """
    kept = np.sort(draws[np.isfinite(draws)])
    if n < 2 or 2 * len(kept) < len(draws):
        return None
    if kept[-1] - kept[0] <= 1e-12 * max(abs(kept[0]), abs(kept[-1])):
        return None
    tail = NORMAL.cdf(-math.sqrt(n / (n - 1)) * t_quantile(n - 1))
    low, high = np.quantile(kept, [tail, 1 - tail])
    return float(np.std(kept)), float(low), float(high)


def difference_interval(
    gaps: NDArray[np.float64], *, is_binary: bool
) -> tuple[float, float, float] | None:
    """Return standard error and Student's interval of the mean of paired differences.

    Differences that are all the same have no spread. For 0/1 values Wilson's limit for
    none of n then says how many of all instances may still behave otherwise; others have
    no interval (None).
    """
    n = len(gaps)
    mean = math.fsum(gaps) / n
    stderr = math.sqrt(math.fsum((gaps - mean) ** 2) / (n - 1) / n)
    if np.ptp(gaps) > 1e-13 * np.max(np.abs(gaps), initial=0):
        return stderr, *mean_interval(mean, stderr, n)
    if not is_binary:
        return None
    span = (1 + abs(mean)) * wilson(0, n)[1]
    return stderr, max(-1.0, mean - span), min(1.0, mean + span)


def sign_test(first: int, second: int) -> float:
    """Return the two-sided p-value of `first` against `second` wins, exactly binomial."""
    n, k = first + second, min(first, second)
    if 2 * k >= n:
        return 1.0
    return min(1.0, 2 * incomplete_beta(n - k, k + 1, 0.5))
