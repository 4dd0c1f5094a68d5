"""Metrics of all instances at once that need more of each than a number."""

import dataclasses
import random

import duckdb
import numpy as np
import pytest
from msgspec import structs

from helmsite import metrics
from helmsite.archive import Archive
from helmsite.errors import MetricError
from helmsite.query import population, summarise
from helmsite.query.outcomes import Outcomes
from helmsite.query.rows import Column
from helmsite.query.sql import query
from helmsite.schema import (
    AdapterSpec,
    Completion,
    Decoding,
    Instance,
    MetricFacts,
    PopulationMetric,
    Reply,
    Request,
    ScenarioFacts,
    Score,
)
from tests.query_runs import EM, make_run

FACTS = MetricFacts("kinds", "Kinds", "", "accuracy", "population")
WORDS = [["a", "b"], ["b"], ["c"], ["a"]]


def pool(details):
    """One column for each word that any instance has."""
    words = sorted({word for d in details for word in d["words"]})
    return np.array([[d["words"].count(word) for word in words] for d in details])


def share_of_a(rows):
    return float(rows[:, 0].sum() / rows.sum())


SHARE = PopulationMetric(FACTS, ("words",), share_of_a, pool=pool)


def given(words=WORDS, **fields):
    return [
        Score(f"id{i}", "words", float(len(w)), details={"words": w}, **fields)
        for i, w in enumerate(words)
    ]


def instances(n=4, perturbation=""):
    return [
        Instance(
            f"id{i}",
            "x",
            position=i,
            split="test",
            perturbation=perturbation,
            attributes={"half": ("low" if i < 2 else "high",)},
        )
        for i in range(n)
    ]


def stats_of(scores, metric=SHARE, asked=None):
    facts = [MetricFacts("words", "Words", "", "accuracy"), metric.facts]
    found = summarise(asked or instances(), scores, facts, (), [metric], scenario="s")
    return {
        (s.sub_split, s.perturbation, s.computed_on, s.trial): s
        for s in found
        if s.metric == metric.facts.name
    }


def test_details_are_pooled_in_the_order_of_the_instances_and_once_per_context():
    seen = []

    def watch(details):
        seen.append([d["words"] for d in details])
        return pool(details)

    scores = given()
    random.Random(0).shuffle(scores)
    stats = stats_of(scores, dataclasses.replace(SHARE, pool=watch))
    assert stats["", "", "", -1].value == pytest.approx(2 / 5)
    assert stats["half=low", "", "", -1].value == pytest.approx(1 / 3)
    assert sorted(seen, key=len) == [WORDS[2:], WORDS[:2], WORDS]


def test_the_interval_comes_from_resampled_rows():
    stat = stats_of(given())["", "", "", -1]
    assert stat.ci_low < stat.value < stat.ci_high
    assert stat.stderr > 0
    assert stats_of(given())["half=low", "", "", -1].ci_low is None


def test_a_slow_or_large_metric_has_a_value_and_no_interval(monkeypatch):
    slow = stats_of(given(), dataclasses.replace(SHARE, resampled=False))[
        "", "", "", -1
    ]
    assert (slow.value, slow.ci_low) == (pytest.approx(2 / 5), None)
    monkeypatch.setattr(population, "POOL_LIMIT", 11)
    assert stats_of(given())["", "", "", -1].ci_low is None
    monkeypatch.setattr(population, "POOL_LIMIT", 12)
    assert stats_of(given())["", "", "", -1].ci_low is not None


def test_rows_may_be_texts():
    longest = PopulationMetric(
        FACTS,
        ("words",),
        lambda texts: float(max(len(text) for text in texts)),
        pool=lambda details: np.array(["".join(d["words"]) for d in details], object),
    )
    assert stats_of(given(), longest)["", "", "", -1].value == 2


def test_a_failed_row_is_missing_and_not_pooled():
    scores = given()
    scores[1] = Score("id1", "words", None, missing="failed")
    stat = stats_of(scores)["", "", "", -1]
    assert (stat.value, stat.n_scored, stat.n_asked) == (pytest.approx(2 / 4), 3, 4)
    assert stat.details["missing"] == {"failed": 1}
    nothing = [Score(f"id{i}", "words", None, missing="failed") for i in range(4)]
    assert stats_of(nothing)["", "", "", -1].missing == "failed"


def test_trials_and_perturbations_are_pooled_by_themselves():
    scores = [
        *given(),
        *given([["a"]] * 4, trial=1),
        *given([["b", "c"]], perturbation="typos"),
    ]
    stats = stats_of(scores, asked=[*instances(), *instances(1, "typos")])
    assert stats["", "", "", 0].value == pytest.approx(2 / 5)
    assert stats["", "", "", 1].value == 1
    assert stats["", "", "", -1].value == pytest.approx((2 / 5 + 1) / 2)
    # words are numbered anew: of one instance's versions "b" is the first
    assert stats["", "typos", "perturbed", -1].value == pytest.approx(1 / 2)
    assert stats["", "typos", "original", 0].value == pytest.approx(1 / 2)


def test_what_a_source_reported_is_not_pooled():
    """Its details are the source's own, with whatever keys it likes."""
    assert stats_of([structs.replace(s, origin="reported") for s in given()]) == {}


def test_a_pool_of_another_length_is_an_error():
    short = dataclasses.replace(SHARE, pool=lambda details: pool(details)[1:])
    with pytest.raises(MetricError, match="made 3 rows of 4"):
        stats_of(given(), short)


def test_a_pool_has_one_input():
    with pytest.raises(ValueError, match="one input"):
        PopulationMetric(FACTS, ("words", "other"), share_of_a, pool=pool)


def test_a_metric_can_pool_its_own_rows_from_reply_to_number(monkeypatch):
    """Its rows hold what is pooled; the rows' values are never averaged."""

    def show(case):
        return metrics.Measure(9.0, details={"words": [case.first.text]})

    metric = metrics.pooled_metric(FACTS, "kinds", pool, show=show)(share_of_a)
    monkeypatch.setattr("helmsite.metrics.scoring.load", lambda name, method: metric)
    replies = [
        Reply(Request(f"id{i}", "x", Decoding()), Completion(text=text))
        for i, text in enumerate("aaba")
    ]
    adapter = AdapterSpec(method="generation")
    rows = metrics.score(instances(), replies, adapter, ["kinds"])
    assert [row.value for row in rows] == [9.0] * 4
    assert stats_of(rows, metric)["", "", "", -1].value == pytest.approx(3 / 4)


def test_resamples_lie_around_the_number_even_if_rows_have_another_mean(tmp_path):
    """The rows of an F1 over labels are right or wrong; their mean is no F1."""
    archive = Archive(tmp_path / "runs")
    made = make_run(archive, "s", "a", [1, 0, 1, 1, 0, 1, 0, 1])
    with duckdb.connect() as connection:
        connection.execute(query("cache"))
        column = Column(ScenarioFacts("s"), EM, "test")
        outcomes = Outcomes(connection, archive)
        moved = outcomes.draws(column, [made], np.array([0.3]))
        connection.execute("DELETE FROM drawn")
        plain = outcomes.draws(column, [made], np.array([5 / 8]))
    assert np.mean(plain) == pytest.approx(5 / 8, abs=0.02)
    assert moved == pytest.approx(plain + (0.3 - 5 / 8))
