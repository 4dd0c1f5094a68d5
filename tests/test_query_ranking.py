"""Heat, best, mean win rate and rank bands."""

import numpy as np
import pytest

from helmsite.query import ranking


def rates(*columns):
    """Mean win rates of models from columns of (higher_is_better, values)."""
    models = len(columns[0][1])
    given = []
    for direction, values in columns:
        present = [m for m, v in enumerate(values) if v is not None]
        given.append(
            (present, np.array([[values[m] for m in present]], float), direction)
        )
    return ranking.win_rates(ranking.column_wins(given, models))


def test_a_win_over_everybody_is_1():
    assert rates((True, [0.9, 0.5, 0.1])) == [(1.0, 1), (0.5, 1), (0.0, 1)]


def test_lower_may_be_better():
    assert rates((False, [0.9, 0.5, 0.1])) == [(0.0, 1), (0.5, 1), (1.0, 1)]


def test_ties_count_half():
    assert rates((True, [0.5, 0.5, 0.1])) == [(0.75, 1), (0.75, 1), (0.0, 1)]


def test_ties_are_ties_after_rounding():
    assert rates((True, [0.1 + 0.2, 0.3])) == [(0.5, 1), (0.5, 1)]


def test_absent_models_do_not_count():
    found = rates((True, [0.9, None, 0.1]), (True, [0.2, 0.3, 0.4]))
    assert found == [(0.5, 2), (0.5, 1), (0.5, 2)]


def test_columns_without_direction_or_rival_do_not_count():
    found = rates((None, [1.0, 2.0]), (True, [1.0, None]), (True, [None, None]))
    assert found == [(None, 0), (None, 0)]
    assert ranking.win_rates(np.empty((0, 2))) == [(None, 0), (None, 0)]


def test_heat_goes_from_worst_to_best():
    assert ranking.heats([0.0, 0.5, 1.0, None], True) == [0, 4, 8, -1]
    assert ranking.heats([0.0, 0.5, 1.0, None], False) == [8, 4, 0, -1]
    assert ranking.heats([0.0, 1.0], None) == [-1, -1]
    assert ranking.heats([0.3, 0.1 + 0.2], True) == [-1, -1]
    assert ranking.heats([], True) == []


def test_only_a_single_best_is_best():
    assert ranking.bests([0.1, 0.3, None], True) == [False, True, False]
    assert ranking.bests([0.1, 0.3, None], False) == [True, False, False]
    assert ranking.bests([0.3, 0.1 + 0.2, 0.1], True) == [False] * 3
    assert ranking.bests([0.3, None], True) == [False, False]
    assert ranking.bests([0.1, 0.2], None) == [False, False]


def test_ranks_share_their_mean():
    values = [0.9, 0.5, 0.5, None]
    assert ranking.places(values, True) == [(1, 3), (2.5, 3), (2.5, 3), (None, 3)]
    assert ranking.places(values, False) == [(3, 3), (1.5, 3), (1.5, 3), (None, 3)]
    assert ranking.places(values, None) == [(None, 3)] * 4
    assert ranking.places([0.3, 0.1 + 0.2], True) == [(1.5, 2), (1.5, 2)]
    assert ranking.places([], True) == []


def test_wins_are_counted_against_every_other_model():
    draw = np.random.default_rng(0)
    values = draw.integers(0, 6, (50, 9)) / 7
    for higher_is_better in (True, False):
        signed = values if higher_is_better else -values
        for row, won in zip(
            signed, ranking.wins(values, higher_is_better), strict=True
        ):
            for model, share in enumerate(won):
                others = np.delete(row, model)
                beaten = (others < row[model]).sum() + (others == row[model]).sum() / 2
                assert share == beaten / 8


def test_the_leader_has_the_best_value():
    assert ranking.leader({"b": 1.0, "a": 1.0, "c": 0.5}, True) == "a"
    assert ranking.leader({"b": 1.0, "c": 0.5, "d": None}, False) == "c"
    assert ranking.leader({"b": None}, True) == ""
    assert ranking.leader({"b": 1.0}, None) == ""


def draws(*models):
    """Wins of one column, from a value per resample and model."""
    values = np.column_stack(models)
    return ranking.column_wins([(range(len(models)), values[None], True)], len(models))


def test_models_that_take_turns_share_a_band():
    turns = np.arange(100) % 2
    won = draws(turns + 0.5, 1.5 - turns, np.full(100, -1.0))
    assert ranking.bands([0.8, 0.7, 0.0], won) == [1, 1, 2]


def test_bands_are_seen_from_their_first_model():
    """1 beats 2 for sure; 0 and 1, and 0 and 2, can't be told apart."""
    noise = np.where(np.arange(100) % 10 == 0, -3.0, 3.0)
    won = draws(noise, np.full(100, 1.0), np.full(100, 0.0))
    assert ranking.bands([0.9, 0.6, 0.1], won) == [1, 1, 1]
    assert ranking.bands([None, 0.6, 0.1], won) == [0, 1, 2]


def test_models_without_a_shared_column_cannot_be_told_apart():
    won = ranking.column_wins(
        [
            ([0, 2], np.tile([1.0, 0.0], (1, 50, 1)), True),
            ([1, 2], np.tile([0.5, 0.0], (1, 50, 1)), True),
        ],
        3,
    )
    assert ranking.bands([1.0, 0.9, 0.0], won) == [1, 1, 2]


def test_no_rate_no_band():
    assert ranking.bands([None, None], np.empty((0, 10, 2))) == [0, 0]


@pytest.mark.parametrize("models", [2, 3, 7])
def test_wins_of_all_models_add_up(models):
    values = np.random.default_rng(0).integers(0, 3, (20, models)).astype(float)
    assert ranking.wins(values, True).sum(axis=1) == pytest.approx(models / 2)
