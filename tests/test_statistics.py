"""Intervals against known values; the resamples that all runs of a scenario share."""

import math

import numpy as np
import pytest

from helmsite.query import statistics

# scipy.stats.t.ppf(0.975, df), scipy 1.17.1
T_TABLE = {
    1: 12.706204736174694,
    2: 4.302652729749462,
    3: 3.1824463052837078,
    5: 2.5705818356363146,
    9: 2.262157162798205,
    30: 2.0422724563012378,
    99: 1.9842169515864174,
    500: 1.9647198374673676,
    999: 1.9623414611334493,
    1001: 1.9623367052808798,
    99999: 1.9599877077718442,
}
# the score interval of scipy's binomtest, k of n
WILSON = {
    (5, 10): (0.236593090512564, 0.7634069094874361),
    (0, 10): (0.0, 0.27753279986288915),
    (10, 10): (0.7224672001371109, 1.0),
}

T_QUANTILE_4 = 2.7764451051977987
WEIGHTS = [0, 1, 1, 2, 1, 1, 2, 0, 1, 0, 1, 0]


def percentiles(draws: np.ndarray, n: int) -> tuple[float, float, float]:
    found = statistics.percentile_interval(draws, n)
    assert found is not None
    return found


@pytest.mark.parametrize("df", T_TABLE)
def test_t_quantiles_match_the_table(df):
    assert statistics.t_quantile(df) == pytest.approx(T_TABLE[df], abs=1e-8)


@pytest.mark.parametrize("case", WILSON)
def test_wilson_matches_the_table(case):
    assert statistics.wilson(*case) == pytest.approx(WILSON[case], abs=1e-12)


def test_the_incomplete_beta_function_has_its_closed_forms():
    assert statistics.incomplete_beta(1, 1, 0.3) == pytest.approx(0.3, abs=1e-14)
    assert statistics.incomplete_beta(3, 1, 0.5) == pytest.approx(0.125, abs=1e-14)
    assert statistics.incomplete_beta(2, 3, 0.4) == pytest.approx(0.5248, abs=1e-14)
    assert statistics.incomplete_beta(2, 3, 0) == 0
    assert statistics.incomplete_beta(2, 3, 1) == 1


@pytest.mark.parametrize(
    ("wins", "p"),
    [((0, 0), 1.0), ((3, 3), 1.0), ((3, 4), 1.0), ((0, 5), 2 / 32), ((1, 5), 14 / 64)],
)
def test_the_sign_test_is_binomial(wins, p):
    assert statistics.sign_test(*wins) == pytest.approx(p, abs=1e-14)
    assert statistics.sign_test(*reversed(wins)) == pytest.approx(p, abs=1e-14)


def test_weights_are_poisson_counts():
    counts = statistics.weights("s", [f"id{i}" for i in range(200)]).astype(float)
    assert counts.shape == (200, statistics.RESAMPLES)
    assert counts.mean() == pytest.approx(1, abs=0.01)
    assert counts.var() == pytest.approx(1, abs=0.02)
    for k in range(5):
        expected = math.exp(-1) / math.factorial(k)
        assert np.mean(counts == k) == pytest.approx(expected, abs=0.005)


def test_an_instance_is_resampled_alike_whatever_else_is_in_the_run():
    alone = statistics.weights("s", ["é𝄞"])
    among = statistics.weights("s", ["id0", "é𝄞", "\ud800"])
    assert (alone[0] == among[1]).all()
    assert (alone[0] != statistics.weights("other", ["é𝄞"])[0]).any()
    assert (among[0] != among[1]).any()


def test_weights_never_change():
    """Intervals of archived runs must come out again: the hash is part of the format."""
    assert statistics.weights("mmlu", ["id7"])[0, :12].tolist() == WEIGHTS


def test_sums_do_not_depend_on_chunks(monkeypatch):
    counts = statistics.weights("s", [f"id{i}" for i in range(50)])
    columns = np.arange(100, dtype=float).reshape(50, 2)
    whole = statistics.resampled_sums(counts, columns)
    assert whole == pytest.approx(counts.T.astype(float) @ columns)
    monkeypatch.setattr(statistics, "CHUNK", 7)
    assert statistics.resampled_sums(counts, columns) == pytest.approx(whole)


def test_one_instance_has_no_interval():
    assert statistics.percentile_interval(np.arange(100.0), 1) is None


def test_draws_that_are_all_equal_have_no_interval():
    assert statistics.percentile_interval(np.full(100, 0.5), 9) is None


def test_differences_have_students_interval():
    gaps = np.array([1.0, 0.0, 0.0, 1.0])
    half = 3.1824463052837078 * (1 / 3) ** 0.5 / 2
    found = statistics.difference_interval(gaps, is_binary=True)
    assert found == pytest.approx(((1 / 3) ** 0.5 / 2, 0.5 - half, 0.5 + half))


@pytest.mark.parametrize(("gap", "low", "high"), [(0, -1, 1), (1, -2, 0), (-1, 0, 2)])
def test_differences_without_spread_are_not_certain(gap, low, high):
    limit = statistics.wilson(0, 30)[1]
    found = statistics.difference_interval(np.full(30, float(gap)), is_binary=True)
    expected = (0, gap + low * limit, gap + high * limit)
    assert found == pytest.approx(expected)
    for equal in (0.5, 0.1, 0.0):
        gaps = np.full(30, equal)
        assert statistics.difference_interval(gaps, is_binary=False) is None


def test_draws_that_are_not_defined_are_left_out():
    draws = np.concatenate([np.linspace(0, 1, 901), np.full(99, np.nan)])
    stderr, low, high = percentiles(draws, 10_000)
    assert (low, high) == pytest.approx((0.025, 0.975), abs=1e-3)
    assert stderr == pytest.approx(1 / math.sqrt(12), abs=1e-3)
    draws[: len(draws) // 2] = np.nan
    assert statistics.percentile_interval(draws, 10_000) is None


def test_few_instances_widen_the_percentiles():
    draws = np.linspace(0, 1, 1001)
    few, many = percentiles(draws, 5), percentiles(draws, 500)
    assert few[1] < many[1] == pytest.approx(0.0247, abs=5e-4)
    tail = statistics.NORMAL.cdf(-math.sqrt(5 / 4) * T_QUANTILE_4)
    assert few[1] == pytest.approx(tail, abs=1e-6)


@pytest.mark.parametrize("n", [12, 60])
def test_bootstrap_intervals_of_ratios_cover_the_truth(n):
    generator = np.random.default_rng(0)
    counts = statistics.weights("coverage", [f"id{i}" for i in range(n)])
    covered = 0
    for _ in range(200):
        weight = generator.integers(1, 30, n).astype(float)
        value = generator.normal(2.0, 1.0, n)
        s, w = statistics.resampled_sums(
            counts, np.column_stack([value * weight, weight])
        ).T
        _, low, high = percentiles(s / w, n)
        covered += low <= 2.0 <= high
    assert 180 <= covered <= 198
