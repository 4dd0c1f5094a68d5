"""Columns that stand for several scenarios: which, their cells, and how they compare."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from helmsite import run
from helmsite.archive import Archive
from helmsite.config import GroupConfig, SiteConfig
from helmsite.query import Results, joint, ranking, statistics
from helmsite.query.rows import Cell, Column, Joint
from helmsite.schema import MetricFacts, ScenarioFacts
from tests.query_runs import SECONDS, make_run
from tests.test_detectors import Loud

if TYPE_CHECKING:
    from pathlib import Path

    from helmsite.query.rows import Group, Leaderboard

MMLU = {"mmlu": GroupConfig("Knowledge", groups=("mmlu",), combine=True)}


def of(*groups: str, title: str = ""):
    return lambda f: structs.replace(f, groups=groups, title=title or f.title)


@pytest.fixture
def archive(tmp_path: Path) -> Archive:
    return Archive(tmp_path / "runs")


def subject(archive, name, model, verdicts, **more):
    facts = of("mmlu", title=f"MMLU ({name})")
    return make_run(
        archive, f"mmlu:subject={name}", model, verdicts, facts=facts, **more
    )


def board(archive: Archive, family: str = "accuracy", **boards: GroupConfig):
    """The first board of a site, and its groups by name."""
    site = SiteConfig(groups=boards)
    with Results(archive, site, None) as found:
        groups = {g.name: g for g in found.groups()}
        return found.leaderboard(next(iter(boards)), family), groups


def core(*groups: str, scenarios: tuple[str, ...] = ()) -> GroupConfig:
    return GroupConfig("Core", scenarios, groups=groups, combine=True)


def cells_of(shown: Leaderboard, place: int = 0) -> dict[str, Cell]:
    return {row.card.name: row.cells[place] for row in shown.rows}


# ---- What shares a column


def test_a_group_is_one_column_and_has_a_board_of_its_own(archive):
    subject(archive, "anatomy", "a", [1, 1, 1, 0])
    subject(archive, "law", "a", [1, 0, 0, 0])
    make_run(archive, "boolq", "a", [1], facts=of("boolq"))
    shown, groups = board(archive, core=core("mmlu", "boolq"))
    joined, alone = shown.columns
    assert [c.scenario.name for c in joined.members] == [
        *("mmlu:subject=anatomy", "mmlu:subject=law"),
    ]
    assert (joined.scenario.title, joined.board, joined.family) == (
        *("MMLU", "mmlu", "accuracy"),
    )
    assert alone == Column(alone.scenario, alone.metric, "test")
    assert groups["core"].joints == (
        Joint("MMLU", "mmlu", ("mmlu:subject=anatomy", "mmlu:subject=law")),
    )
    inner: Group = groups["mmlu"]
    assert inner.inner
    assert inner.title == "MMLU"
    assert inner.scenarios == groups["core"].joints[0].scenarios
    assert inner.description == (
        "The 2 scenarios whose mean is one column of the leaderboard Core."
    )
    with Results(archive, SiteConfig(groups={"core": core("mmlu")}), None) as found:
        assert len(found.leaderboard("mmlu").columns) == 2


def test_a_name_is_one_column_too(archive):
    subject(archive, "anatomy", "a", [1])
    subject(archive, "law", "a", [1])
    shown, groups = board(archive, core=core(scenarios=("mmlu", "mmlu:subject=law")))
    assert [c.scenario.title for c in shown.columns] == [
        *("MMLU (anatomy)", "MMLU (law)")
    ]
    assert not groups["core"].joints
    shown, _ = board(archive, core=core(scenarios=("mmlu",)))
    assert [len(c.members) for c in shown.columns] == [2]


def test_without_combine_each_scenario_has_its_column(archive):
    subject(archive, "anatomy", "a", [1])
    subject(archive, "law", "a", [1])
    plain = GroupConfig("Core", groups=("mmlu",))
    shown, groups = board(archive, core=plain)
    assert [c.members for c in shown.columns] == [(), ()]
    assert list(groups) == ["core"]


def test_boards_with_the_same_column_share_its_board(archive):
    subject(archive, "anatomy", "a", [1])
    subject(archive, "law", "a", [1])
    _, groups = board(archive, core=core("mmlu"), other=core("mmlu"))
    assert list(groups) == ["core", "other", "mmlu"]
    _, groups = board(
        archive,
        core=core("mmlu"),
        subjects=GroupConfig("Subjects", groups=("mmlu",)),
    )
    assert list(groups) == ["core", "subjects"]
    assert groups["core"].joints[0].board == "subjects"


def test_the_board_of_a_column_takes_no_other_ones_name(archive):
    subject(archive, "anatomy", "a", [1])
    subject(archive, "law", "a", [1])
    make_run(archive, "own", "a", [1])
    _, groups = board(archive, mmlu=core("mmlu", scenarios=("own",)))
    assert groups["mmlu"].joints[0].board == "mmlu_scenarios"
    assert groups["mmlu_scenarios"].inner


def test_a_scenario_is_in_the_smallest_of_a_boards_groups(archive):
    for mode in ("induction", "pattern"):
        make_run(archive, f"symbols:mode={mode}", "a", [1], facts=of("reasoning"))
    for level in ("easy", "hard"):
        facts = of("reasoning", "in_words")
        make_run(archive, f"words:level={level}", "a", [0], facts=facts)
    shown, _ = board(archive, core=core("reasoning", "in_words"))
    assert [[p.scenario.name for p in c.members] for c in shown.columns] == [
        ["symbols:mode=induction", "symbols:mode=pattern"],
        ["words:level=easy", "words:level=hard"],
    ]
    assert [c.value for c in shown.rows[0].cells] == [1.0, 0.0]


@given(
    st.dictionaries(
        st.sampled_from("abcde"),
        st.lists(st.integers(0, 9).map(str), unique=True),
        max_size=5,
    )
)
def test_every_scenario_is_claimed_once(named):
    claimed = joint.claims(named)
    flat = [s for own in claimed.values() for s in own]
    assert sorted(flat) == sorted({s for own in named.values() for s in own})
    assert list(claimed) == list(named)
    for name, own in claimed.items():
        for scenario in own:
            others = [v for v in named.values() if scenario in v]
            assert len(named[name]) == min(map(len, others))


@pytest.mark.parametrize(
    ("titles", "called"),
    [
        (["MMLU (anatomy)", "MMLU (law)"], "MMLU"),
        (["CivilComments", "CivilComments (male)"], "CivilComments"),
        (["MATH (algebra, level 1)", "MATH (geometry, level 1)"], "MATH"),
        (["Copyright (text)", "Copyright (text)"], "Copyright (text)"),
        (["Arc: easy", "Arc: challenge"], "Arc"),
        (["One", "Two"], "Some name"),
        (["(a)", "(b)"], "Some name"),
    ],
)
def test_scenarios_are_called_by_how_their_titles_begin(titles, called):
    assert joint.title("some_name", titles) == called


def test_columns_of_one_title_are_told_apart(archive):
    for kind in ("regular", "thought"):
        for level in "12":
            make_run(
                archive,
                f"math:level={level},kind={kind}",
                "a",
                [1],
                facts=of(kind, title=f"MATH (level {level})"),
            )
    shown, _ = board(archive, core=core("regular", "thought"))
    assert [c.scenario.title for c in shown.columns] == [
        *("MATH (regular)", "MATH (thought)"),
    ]


def test_members_of_unlike_metrics_have_a_column_each(archive):
    for name in ("a", "b"):
        make_run(archive, f"s:x={name}", "m", [1], facts=of("s"))
    for name in ("c", "d"):
        make_run(
            archive,
            f"s:x={name}",
            "m",
            [0],
            seconds=[3.0],
            facts=of("s"),
            main_metric="inference_runtime",
        )
    shown, _ = board(archive, core=core("s"))
    assert [
        (c.metric.name, [p.scenario.name for p in c.members]) for c in shown.columns
    ] == [
        ("exact_match", ["s:x=a", "s:x=b"]),
        ("inference_runtime", ["s:x=c", "s:x=d"]),
    ]
    assert [c.value for c in shown.rows[0].cells] == [1.0, 3.0]


def test_other_families_are_means_too(archive):
    subject(archive, "anatomy", "a", [1, 1], seconds=[1.0, 3.0], typos=[1, 0])
    subject(archive, "law", "a", [1, 0], seconds=[5.0, 7.0])
    shown, groups = board(archive, "efficiency", core=core("mmlu"))
    assert cells_of(shown)["a"].value == pytest.approx(4.0)
    assert shown.columns[0].family == "efficiency"
    assert "robustness" in groups["core"].families
    robust, _ = board(archive, "robustness", core=core("mmlu"))
    assert [c.members for c in robust.columns] == [()]  # one alone was perturbed
    assert SECONDS.name == shown.columns[0].metric.name


# ---- Cells


def test_each_scenario_counts_once(archive):
    """However many instances and trials it has."""
    subject(archive, "anatomy", "a", [1, 1, 1, 1, 0, 0, 0, 0])
    subject(archive, "law", "a", [1, 0], trials=[[1, 1], [1, 1]])
    cell = cells_of(board(archive, core=core("mmlu"))[0])["a"]
    assert cell.value == pytest.approx((0.5 + (0.5 + 1 + 1) / 3) / 2)
    assert (cell.n_scored, cell.n_asked) == (8 + 6, 8 + 6)
    assert (cell.held, cell.of, cell.is_whole) == (2, 2, True)
    assert cell.run_id == ""


def test_a_run_in_two_groups_of_a_column_counts_once(archive):
    facts = of("mmlu", "also_mmlu")
    make_run(archive, "mmlu:subject=a", "m", [1], facts=facts)
    make_run(archive, "mmlu:subject=b", "m", [0, 0], facts=of("mmlu"))
    shown, _ = board(archive, core=core("mmlu", scenarios=("mmlu:subject=b", "mmlu")))
    assert len(shown.columns) == 1 + 1
    assert sum(cell.of or 1 for cell in shown.rows[0].cells) == 2


def test_a_cell_says_how_many_scenarios_it_has(archive):
    for name in ("a", "b", "c"):
        subject(archive, name, "whole", [1, 0])
    subject(archive, "a", "part", [1, 1])
    subject(archive, "b", "part", ["failed", "failed"])
    subject(archive, "a", "none", ["failed", "failed"])
    shown, _ = board(archive, core=core("mmlu"))
    cells = cells_of(shown)
    assert (cells["part"].value, cells["part"].held, cells["part"].of) == (1.0, 1, 3)
    assert (cells["part"].n_scored, cells["part"].n_asked) == (2, 4)
    assert not cells["part"].is_whole
    assert (cells["none"].value, cells["none"].missing) == (None, "failed")


def test_a_scenario_without_any_value_is_not_asked_for(archive):
    subject(archive, "a", "m", [1])
    subject(archive, "b", "m", [1])
    subject(archive, "c", "m", ["failed"])
    cell = cells_of(board(archive, core=core("mmlu"))[0])["m"]
    assert (cell.held, cell.of) == (2, 2)


def test_reasons_of_members():
    def hole(*reasons):
        return joint.cell([Cell(missing=r) for r in reasons]).missing

    assert hole("not run", "not run") == "not run"
    assert hole("not run", "not run", "failed") == "failed"
    assert hole("failed", "not asked", "not asked") == "not asked"


def test_reported_members_are_told_of():
    known, said = Cell(0.5), Cell(0.7, origin="reported")
    assert joint.cell([known, known]).origin == "computed"
    assert joint.cell([known, said]).origin == "reported"


def test_one_detector_judges_all_of_a_column(archive):
    """Scores of two detectors are never in one mean; that of most models has it."""
    made = {
        (name, model): subject(archive, name, model, [1, 0])
        for name in ("a", "b")
        for model in ("x", "y", "z")
    }
    for model in ("x", "y", "z"):
        run.detect(archive, made["a", model], Loud())
    run.detect(archive, made["b", "x"], Loud("aloud"))  # first by name
    run.detect(archive, made["b", "y"], Loud())
    shown, _ = board(archive, "toxicity", core=core("mmlu"))
    cells = cells_of(shown)
    assert {c.scorer for c in cells.values()} == {"loud@1"}
    assert {name: (c.held, c.of) for name, c in cells.items()} == {
        "x": (1, 2),
        "y": (2, 2),
        "z": (1, 2),
    }


# ---- Intervals


@given(
    st.lists(st.tuples(st.floats(0, 1), st.floats(0.001, 0.2)), min_size=2, max_size=60)
)
def test_symmetric_intervals_make_the_root_of_the_summed_squares(members):
    z = statistics.Z
    cells = [Cell(v, v - z * se, v + z * se) for v, se in members]
    low, high = joint.interval(cells)
    half = z * math.sqrt(sum(se * se for _, se in members)) / len(members)
    mean = sum(v for v, _ in members) / len(members)
    assert low == pytest.approx(mean - half, abs=1e-12)
    assert high == pytest.approx(mean + half, abs=1e-12)


@given(
    st.lists(
        st.integers(1, 50).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))),
        min_size=2,
        max_size=20,
    )
)
def test_intervals_of_shares_stay_inside(shares):
    cells = [Cell(k / n, *statistics.wilson(k, n)) for k, n in shares]
    low, high = joint.interval(cells)
    assert low is not None
    assert high is not None
    assert -1e-12 <= low <= sum(k / n for k, n in shares) / len(shares) + 1e-12
    assert high <= 1 + 1e-12


def test_intervals_hold_the_mean_of_scenarios_19_times_in_20():
    """20 scenarios of 40 instances, each of its own difficulty; no interval too wide."""
    draw = np.random.default_rng(7)
    rates = draw.uniform(0.02, 0.98, 20)
    truth, inside, widths, means = rates.mean(), 0, [], []
    for _ in range(2000):
        right = draw.binomial(40, rates)
        cells = [Cell(k / 40, *statistics.wilson(int(k), 40)) for k in right]
        low, high = joint.interval(cells)
        assert low is not None
        assert high is not None
        inside += low <= truth <= high
        widths.append(high - low)
        means.append(right.mean() / 40)
    assert 0.94 <= inside / 2000 <= 0.975
    assert np.mean(widths) == pytest.approx(2 * statistics.Z * np.std(means), rel=0.08)


def test_no_interval_where_that_of_a_member_is_not_known():
    sure = Cell(0.5, 0.4, 0.6)
    assert joint.interval([sure, Cell(0.5)]) == (None, None)
    assert joint.interval([]) == (None, None)


# ---- Comparisons


def naive(values: np.ndarray, higher: bool) -> list[float]:
    """Wins by the rule as it is written down, pair by pair."""
    won = []
    models = values.shape[1]
    for a in range(models):
        marks = []
        for b in range(models):
            both = ~np.isnan(values[:, a]) & ~np.isnan(values[:, b])
            if a == b or not both.any():
                continue
            gap = round(values[both, a].mean(), 9) - round(values[both, b].mean(), 9)
            gap = gap if higher else -gap
            marks.append(1.0 if gap > 0 else 0.5 if gap == 0 else 0.0)
        won.append(sum(marks) / len(marks) if marks else math.nan)
    return won


@pytest.mark.parametrize("higher", [True, False])
@pytest.mark.parametrize("holes", [0.0, 0.3, 0.8])
def test_models_are_compared_over_what_both_have(higher, holes):
    draw = np.random.default_rng(3)
    for _ in range(40):
        values = draw.integers(0, 5, (6, 7)) / 7
        values[draw.random(values.shape) < holes] = math.nan
        found = ranking.joint_wins(values, higher)
        assert found.tolist() == pytest.approx(naive(values, higher), nan_ok=True)
        stacked = np.stack([values, values], axis=1)
        assert np.array_equal(
            ranking.joint_wins(stacked, higher),
            np.stack([found, found]),
            equal_nan=True,
        )


def test_a_stray_scenario_of_one_model_changes_no_rank(archive):
    for name in ("a", "b"):
        subject(archive, name, "good", [1, 1, 1, 0])
        subject(archive, name, "poor", [0, 0, 0, 1])
    before, _ = board(archive, core=core("mmlu"))
    subject(archive, "stray", "poor", [1, 1, 1, 1])
    after, _ = board(archive, core=core("mmlu"))
    for shown in (before, after):
        rates = {r.card.name: r.win_rate for r in shown.rows}
        assert rates == {"good": 1.0, "poor": 0.0}
    cells = cells_of(after)
    assert (cells["good"].held, cells["good"].of) == (2, 3)
    assert cells["poor"].is_whole
    assert cells_of(before)["good"].best
    assert not cells["good"].best  # it stands beside no other whole one


def test_models_that_share_no_scenario_are_not_compared(archive):
    subject(archive, "a", "one", [1, 1])
    subject(archive, "b", "two", [0, 0])
    shown, _ = board(archive, core=core("mmlu"))
    assert [(r.win_rate, r.win_rate_columns) for r in shown.rows] == [(None, 0)] * 2


def test_bands_are_of_means_over_scenarios(archive):
    """Clear over ten scenarios together, though in none of them alone."""
    for n in range(10):
        subject(archive, f"s{n}", "good", [1, 1, 1, 1, 1, 1, 0, 0])
        subject(archive, f"s{n}", "poor", [0, 0, 1, 1, 1, 0, 1, 0])
    shown, _ = board(archive, core=core("mmlu"))
    assert [(r.card.name, r.band) for r in shown.rows] == [("good", 1), ("poor", 2)]
    few, _ = board(archive, core=core(scenarios=("mmlu:subject=s1",)))
    assert [r.band for r in few.rows] == [1, 1]


def test_metrics_without_a_direction_rank_nobody(archive):
    plain = MetricFacts("exact_match", "EM", "", "accuracy", higher_is_better=None)
    for name in ("a", "b"):
        for model in ("x", "y"):
            subject(archive, name, model, [1], metrics=(plain,))
    shown, _ = board(archive, core=core("mmlu"))
    assert [r.win_rate for r in shown.rows] == [None, None]
    assert isinstance(shown.columns[0].scenario, ScenarioFacts)
