"""Every question a page asks, over archives small enough to check by hand."""

import subprocess
import sys
from pathlib import Path

import duckdb
import pytest
from msgspec import structs

from helmsite.archive import Archive
from helmsite.config import GroupConfig, SiteConfig
from helmsite.errors import ArchiveError, ConfigError
from helmsite.query import Results, statistics, summarise
from helmsite.schema import AdapterSpec, Contamination, MetricFacts
from tests.query_runs import EM, SECONDS, make_run


@pytest.fixture
def archive(tmp_path: Path) -> Archive:
    return Archive(tmp_path / "runs")


def results(archive, **site) -> Results:
    return Results(archive, SiteConfig(**site), None)


def board(archive, family="accuracy", group="all", **site):
    with results(archive, **site) as found:
        return found.leaderboard(group, family)


def cell(archive, row=0, column=0, **site):
    return board(archive, **site).rows[row].cells[column]


def names(rows):
    return [row.card.name for row in rows]


# nothing, one and odd


def test_an_empty_archive_has_nothing_to_show(archive):
    with results(archive) as found:
        overview = found.overview()
        assert (overview.n_models, overview.n_runs, overview.newest) == (0, 0, None)
        assert not found.groups()
        assert not found.scenarios()
        assert not found.models()
        assert not found.runs()
        with pytest.raises(ConfigError, match="There is no group 'all'"):
            found.leaderboard("all")


def test_a_group_without_runs_is_an_empty_table(archive):
    group = GroupConfig("QA", ("boolq",))
    with results(archive, groups={"qa": group}) as found:
        assert found.groups()[0].scenarios == ()
        table = found.leaderboard("qa")
        assert (table.columns, table.rows) == ((), ())


def test_one_model_has_no_win_rate(archive):
    make_run(archive, "boolq", "a", [1, 0, 1, 1])
    (row,) = board(archive).rows
    assert (row.win_rate, row.win_rate_columns, row.band, row.coverage) == (
        None,
        0,
        0,
        1,
    )
    (found,) = row.cells
    assert (found.value, found.best, found.heat) == (0.75, False, -1)
    assert (found.ci_low, found.ci_high) == statistics.wilson(3, 4)


def test_a_run_that_failed_throughout_says_so(archive):
    make_run(archive, "boolq", "a", ["failed", "failed"])
    make_run(archive, "boolq", "b", [1, "failed"])
    table = board(archive)
    failed = table.rows[names(table.rows).index("a")].cells[0]
    assert (failed.value, failed.missing) == (None, "failed")
    assert (failed.n_scored, failed.n_asked) == (0, 2)
    half = table.rows[names(table.rows).index("b")].cells[0]
    assert (half.value, half.n_scored, half.n_asked) == (1.0, 1, 2)
    assert [row.win_rate for row in table.rows] == [None, None]


def test_only_failures_still_make_a_table(archive):
    make_run(archive, "boolq", "a", ["failed", "failed"])
    with results(archive) as found:
        (group,) = found.groups()
        assert group.families == ("accuracy",)
        assert found.leaderboard("all").rows[0].cells[0].missing == "failed"
        assert found.models()[0].win_rate is None
        assert found.scenarios()[0].best_model == ""
        assert found.runs()[0].main.missing == "failed"


def test_names_may_hold_anything(archive):
    name, scenario = "org/模型 1,β=2", "mmlu:subject=é è,k=2"
    identifier = make_run(archive, scenario, name, [1, 0])
    with results(archive) as found:
        assert found.model(name).results[0].cell.value == 0.5
        assert found.scenario(scenario).rows[0].card.name == name
        assert found.run(identifier).summary.manifest.scenario.name == scenario


def test_an_imported_run_has_no_requests_and_no_method(archive):
    identifier = make_run(
        archive, "boolq", "a", [1, 0], method="", origin="tool:x", replies=False
    )
    with results(archive) as found:
        page = found.run(identifier)
        assert (page.example, page.summary.n_instances) == (None, 2)
        assert page.defaults.method == ""
        views = list(found.instances(identifier))
        assert [v.trials[0].requests for v in views] == [(), ()]
        assert [s.value for v in views for s in v.trials[0].scores] == [1, 0]
        assert found.scenario("boolq").example is None


# cells


def test_holes_have_their_reasons(archive):
    make_run(archive, "boolq", "a", [1, 0], typos=[1, 0], seconds=[1.0, 2.0])
    make_run(archive, "boolq", "b", [1, 0])
    make_run(archive, "quac", "c", [1, 0])
    accuracy = board(archive)
    missing = {r.card.name: [c.missing for c in r.cells] for r in accuracy.rows}
    assert missing == {"a": ["", "not run"], "b": ["", "not run"], "c": ["not run", ""]}
    assert {r.card.name: r.coverage for r in accuracy.rows} == dict.fromkeys("abc", 0.5)

    robust = board(archive, "robustness")
    assert [c.scenario.name for c in robust.columns] == ["boolq"]
    assert {r.card.name: r.cells[0].missing for r in robust.rows} == {
        "a": "",
        "b": "not asked",
    }
    time = board(archive, "efficiency")
    assert {r.card.name: r.cells[0].missing for r in time.rows} == {
        "a": "",
        "b": "not measurable",
    }


def test_robustness_is_the_worst_case(archive):
    make_run(archive, "boolq", "a", [1, 1, 0, 1], typos=[1, 0, 0, None])
    table = board(archive, "robustness")
    assert table.columns[0].perturbation == "robustness"
    assert table.columns[0].computed_on == "worst"
    assert table.rows[0].cells[0].value == 0.5


def test_the_cell_takes_the_run_with_most_instances_then_the_newest(archive):
    small = make_run(archive, "boolq", "a", [1], finished_at=9, origin="native:1")
    old = make_run(archive, "boolq", "a", [0, 0], finished_at=1, origin="native:2")
    new = make_run(archive, "boolq", "a", [1, 0], finished_at=2, origin="native:3")
    found = cell(archive)
    assert found.run_id == new
    assert found.other_runs == (old, small)
    assert found.value == 0.5


def test_a_run_without_a_value_gives_way(archive):
    failed = make_run(archive, "boolq", "a", ["failed"] * 3, origin="native:1")
    good = make_run(archive, "boolq", "a", [1, 0], origin="native:2")
    found = cell(archive)
    assert (found.run_id, found.other_runs) == (good, (failed,))


@pytest.mark.parametrize("scenario", ["mmlu:subject=x", "mmlu"])
def test_the_pinned_method_fills_the_cell(archive, scenario):
    joint = make_run(
        archive, "mmlu:subject=x", "a", [1, 0, 1], method="multiple_choice_joint"
    )
    separate = make_run(
        archive,
        "mmlu:subject=x",
        "a",
        [0, 0],
        method="multiple_choice_separate_original",
    )
    assert cell(archive).run_id == joint
    pinned = {scenario: "multiple_choice_separate_original"}
    found = cell(archive, pinned_methods=pinned)
    assert (found.run_id, found.other_runs) == (separate, (joint,))


def test_every_run_has_its_own_main_number(archive):
    """Also one that fills no cell."""
    make_run(archive, "boolq", "a", [1, 1], origin="native:1")
    make_run(archive, "boolq", "a", [0], origin="native:2")
    with results(archive) as found:
        assert sorted(r.main.value or 0 for r in found.runs()) == [0, 1]
        assert all(r.main.run_id == r.manifest.run_id for r in found.runs())
        assert found.models()[0].n_runs == 2


def test_a_run_without_the_main_metric_is_judged_by_its_own(archive):
    """Two tools name the same scenario; one has no metric of the main one's name."""
    own = MetricFacts("acc", "Accuracy", "", "accuracy", higher_is_better=True)
    make_run(archive, "boolq", "a", [1, 1])
    run_id = make_run(archive, "boolq", "b", [1, 0])
    scores = [structs.replace(s, metric="acc") for s in archive.scores(run_id)]
    stats = [structs.replace(s, metric="acc") for s in archive.stats(run_id)]
    archive.write_scores(run_id, scores, stats, (own,))
    with results(archive) as found:
        runs = {r.manifest.run_id: r for r in found.runs()}
        judged = {m.name: r.main.value for r in runs.values() if (m := r.main_metric)}
        assert judged == {"exact_match": 1, "acc": 0.5}
        assert runs[run_id].main.run_id == run_id


def test_reported_values_fill_in_where_nothing_was_computed(archive):
    from helmsite.schema import Stat

    first = make_run(archive, "boolq", "a", [1, 0])
    second = make_run(archive, "boolq", "b", [1, 0])
    reported = Stat("exact_match", 0.25, split="test", origin="reported", n_asked=9)
    for run_id, computed in ((first, archive.stats(first)), (second, [])):
        scores = archive.scores(run_id)
        archive.write_scores(run_id, scores, [*computed, reported], (EM,))
    found = {r.card.name: r.cells[0] for r in board(archive).rows}
    assert (found["a"].value, found["a"].origin) == (0.5, "computed")
    assert (found["b"].value, found["b"].origin) == (0.25, "reported")


def test_heat_and_best_are_within_a_column(archive):
    for model, right in {"a": 4, "b": 2, "c": 0}.items():
        make_run(
            archive,
            "boolq",
            model,
            [1] * right + [0] * (4 - right),
            seconds=[right + 1.0] * 4,
        )
    accuracy, time = board(archive), board(archive, "efficiency")
    assert [(r.cells[0].heat, r.cells[0].best) for r in accuracy.rows] == [
        (8, True),
        (4, False),
        (0, False),
    ]
    assert names(time.rows) == ["c", "b", "a"]
    assert [(r.cells[0].heat, r.cells[0].best) for r in time.rows] == [
        (8, True),
        (4, False),
        (0, False),
    ]


# win rates and bands


def test_win_rates_follow_helm(archive):
    make_run(archive, "s1", "a", [1, 1, 1, 1])
    make_run(archive, "s1", "b", [1, 1, 0, 0])
    make_run(archive, "s1", "c", [1, 1, 0, 0])
    make_run(archive, "s2", "a", [0, 0, 0, 0])
    make_run(archive, "s2", "b", [1, 1, 0, 0])
    make_run(archive, "s3", "c", [1, 1, 0, 0])
    found = {r.card.name: (r.win_rate, r.win_rate_columns) for r in board(archive).rows}
    assert found == {"a": (0.5, 2), "b": (0.625, 2), "c": (0.25, 1)}
    with results(archive) as all_results:
        assert names(all_results.models()) == ["b", "a", "c"]


def test_models_that_differ_on_many_instances_are_told_apart(archive):
    good = [1] * 36 + [0] * 4
    make_run(archive, "boolq", "a", good)
    make_run(archive, "boolq", "b", [*good[1:], 0])
    make_run(archive, "boolq", "c", [0] * 30 + [1] * 10)
    rows = board(archive).rows
    assert [(r.card.name, r.band) for r in rows] == [("a", 1), ("b", 1), ("c", 2)]
    assert [r.band for r in board(archive, "accuracy").rows] == [1, 1, 2]


def test_pairing_tells_close_models_apart(archive):
    """b is a but for 12 instances that only a gets right: intervals overlap, pairs don't."""
    a = [1] * 60 + [0] * 40
    b = [1] * 48 + [0] * 52
    make_run(archive, "boolq", "a", a)
    make_run(archive, "boolq", "b", b)
    rows = board(archive).rows
    assert [r.band for r in rows] == [1, 2]
    assert rows[0].cells[0].ci_low < rows[1].cells[0].ci_high


# groups


def test_without_configuration_scenarios_bring_their_groups(archive):
    def grouped(*groups):
        return lambda facts: structs.replace(facts, groups=groups)

    make_run(archive, "boolq", "a", [1], facts=grouped("question_answering"))
    make_run(archive, "gsm", "a", [1], facts=grouped("reasoning", "maths"))
    with results(archive) as found:
        groups = {g.name: (g.title, g.scenarios) for g in found.groups()}
        assert list(groups) == ["all", "maths", "question_answering", "reasoning"]
        assert groups["all"] == ("All scenarios", ("boolq", "gsm"))
        assert groups["question_answering"] == ("Question answering", ("boolq",))
        assert found.scenarios()[0].groups == ("all", "question_answering")


def test_groups_are_spelled_as_their_scenarios_are(archive):
    def facts(title, *groups):
        return lambda f: structs.replace(f, title=title, groups=groups)

    for name, title, *groups in (
        ("bbq", "BBQ (Bias Benchmark)", "bbq"),
        ("gsm", "GSM8K", "gsm", "reasoning"),
        ("mmlu:subject=a", "MMLU (a)", "mmlu", "reasoning"),
        ("mmlu:subject=b", "MMLU (b)", "mmlu"),
        ("copyright:x=1", "Copyright (text)", "copyright_text"),
        ("copyright:x=2", "Copyright (code)", "copyright_code"),
        ("nlu", "nlu at 8,192 tokens", "helmet_icl", "hendrycksTest"),
        ("nq", "nq at 8,192 tokens", "helmet_icl", "hendrycksTest"),
    ):
        make_run(archive, name, "a", [1], facts=facts(title, *groups))
    with results(archive) as found:
        assert {g.name: g.title for g in found.groups()} == {
            "all": "All scenarios",
            "bbq": "BBQ",
            "copyright_code": "Copyright code",
            "copyright_text": "Copyright text",
            "gsm": "GSM8K",
            "helmet_icl": "HELMET ICL",
            "hendrycksTest": "HendrycksTest",
            "mmlu": "MMLU",
            "reasoning": "Reasoning",
        }


def test_configured_groups_keep_their_order(archive):
    for scenario in ("mmlu:subject=x,k=1", "mmlu:subject=y", "boolq", "gsm"):
        make_run(archive, scenario, "a", [1])
    groups = {
        "z": GroupConfig("Last letter first", ("boolq", "mmlu", "absent")),
        "b": GroupConfig("X", ("mmlu:subject=x",), "Only x."),
    }
    with results(archive, groups=groups) as found:
        first, second, rest = found.groups()
    assert first.scenarios == ("boolq", "mmlu:subject=x,k=1", "mmlu:subject=y")
    assert second.scenarios == ("mmlu:subject=x,k=1",)
    assert second.description == "Only x."
    assert (rest.name, len(rest.scenarios)) == ("all", 4)


def test_an_entry_that_cannot_be_read_is_told_of(archive):
    make_run(archive, "boolq", "a", [1])
    group = GroupConfig("QA", ("boolq", "mmlu:law"))
    with (
        results(archive, groups={"qa": group}) as found,
        pytest.raises(ConfigError, match="Cannot read the scenario 'mmlu:law'"),
    ):
        found.groups()


def test_complete_configurations_need_no_rest(archive):
    make_run(archive, "boolq", "a", [1])
    with results(archive, groups={"all": GroupConfig("My all", ("boolq",))}) as found:
        assert [g.title for g in found.groups()] == ["My all"]
    make_run(archive, "gsm", "a", [1])
    with results(archive, groups={"all": GroupConfig("My all", ("boolq",))}) as found:
        assert [g.name for g in found.groups()] == ["all", "all_scenarios"]


def test_other_families_are_columns_too(archive):
    words = MetricFacts("words", "Words", "", "style", higher_is_better=None)
    make_run(
        archive, "boolq", "a", [1, 0], metrics=(words, EM, SECONDS), seconds=[1, 2]
    )
    with results(archive) as found:
        assert found.groups()[0].families == ("accuracy", "efficiency")
        with pytest.raises(ConfigError, match="Did you mean 'efficiency'"):
            found.leaderboard("all", "eficiency")
    time = structs.replace(SECONDS, family="style")
    make_run(archive, "boolq", "a", [1, 0], metrics=(EM, time), seconds=[1, 2])
    assert board(archive, "style").columns[0].metric == time


def test_general_information_shows_helms_columns(archive):
    kept, left_out = (
        MetricFacts(name, name, "", "general_information")
        for name in ("num_train_instances", "predicted_index")
    )
    style = MetricFacts("words", "Words", "", "style")
    metrics = (EM, left_out, kept, style)
    identifier = make_run(archive, "boolq", "a", [1], metrics=metrics)
    (stat, _) = archive.stats(identifier)
    stats = [structs.replace(stat, metric=m.name) for m in metrics]
    archive.write_scores(identifier, archive.scores(identifier), stats, metrics)
    with results(archive) as found:
        families = ("accuracy", "style", "general_information")
        assert found.groups()[0].families == families  # last: it ranks nobody
        (column,) = found.leaderboard("all", "general_information").columns
        assert column.metric == kept


# pages


def test_the_overview_counts(archive):
    make_run(archive, "boolq", "a", [1, 0], typos=[1, 0], finished_at=5)
    make_run(archive, "boolq", "b", [1, 0], trials=[[0, 0]], finished_at=3)
    with results(archive) as found:
        overview = found.overview()
    assert (overview.n_models, overview.n_scenarios, overview.n_runs) == (2, 1, 2)
    assert (overview.n_instances, overview.n_requests) == (4, 8)
    assert (overview.newest, overview.state) == (5, archive.state())


def test_the_scenario_page_lists_its_metrics_main_one_first(archive):
    make_run(archive, "boolq", "a", [1, 0], typos=[0, 0], seconds=[3.0, 1.0])
    make_run(archive, "boolq", "b", [1, 1])
    with results(archive) as found:
        page = found.scenario("boolq")
        (summary,) = found.scenarios()
    columns = [(c.metric.name, c.perturbation) for c in page.columns]
    assert columns == [
        ("exact_match", ""),
        ("exact_match", "robustness"),
        ("inference_runtime", ""),
    ]
    assert [m.name for m in page.metrics] == ["exact_match", "inference_runtime"]
    assert names(page.rows) == ["b", "a"]
    assert [c.value for c in page.rows[1].cells] == [0.5, 0.0, 2.0]
    assert len(page.runs) == 2
    assert page.example is not None
    assert page.example.prompt.startswith("Question: example 0")
    assert (summary.best_model, summary.best.value) == ("b", 1.0)
    assert (summary.n_models, summary.n_runs, summary.n_instances) == (2, 2, 2)


def test_a_row_of_the_scenario_page_is_one_run(archive):
    """A leaderboard may take another run for what the chosen one does not have."""
    quasi = structs.replace(EM, name="quasi_exact_match", family="style")
    joint, separate = "multiple_choice_joint", "multiple_choice_separate_original"

    def add(model, verdicts, method, also=()):
        metrics = (EM, quasi, SECONDS) if also else (EM, SECONDS)
        made = make_run(
            archive, "mmlu", model, verdicts, method=method, metrics=metrics,
            seconds=[1.0, 2.0] if method == separate else (),
        )  # fmt: skip
        if also:
            own = archive.scores(made)
            more = [
                structs.replace(s, metric="quasi_exact_match", value=v)
                for s, v in zip(own, also, strict=True)
            ]
            stats = summarise(
                archive.instances(made), own + more, metrics, (), (), scenario="mmlu"
            )
            archive.write_scores(made, own + more, stats, metrics)
        return made

    first = add("a", [1, 0], joint, also=[1, 1]), add("a", [0, 0], separate)
    second = add("b", [0, 1], joint, also=[0, 1])
    with results(archive, pinned_methods={"mmlu": separate}) as found:
        page = found.scenario("mmlu")
        style = found.leaderboard("all", "style")
    assert [c.metric.name for c in page.columns] == [
        "exact_match",
        "quasi_exact_match",
        "inference_runtime",
    ]
    assert names(page.rows) == ["b", "a"]
    b, a = page.rows
    assert {c.run_id for c in a.cells} == {first[1]}
    assert [c.value for c in a.cells] == [0.0, None, 1.5]
    assert [c.missing for c in a.cells] == ["", "not measurable", ""]
    assert [c.other_runs for c in a.cells] == [(first[0],), (first[0],), ()]
    assert [c.run_id for c in b.cells] == [second] * 3
    assert [c.value for c in b.cells] == [0.5, 0.5, None]
    assert [c.other_runs for c in b.cells] == [()] * 3
    assert (a.coverage, b.coverage) == (2 / 3, 2 / 3)
    assert [c.heat for c in b.cells] == [8, -1, -1]  # compared among the rows alone
    (column,) = style.rows[0].cells
    assert {r.card.name: r.cells[0].run_id for r in style.rows} == {
        "a": first[0],
        "b": second,
    }
    assert column.value == 1.0
    archive.remove(second)
    with results(archive, pinned_methods={"mmlu": separate}) as found:
        page = found.scenario("mmlu")
    assert [c.metric.name for c in page.columns] == ["exact_match", "inference_runtime"]
    assert [m.name for m in page.metrics] == ["exact_match", "inference_runtime"]


def test_coverage_is_the_share_of_columns_with_a_value(archive):
    make_run(archive, "s1", "a", [1, 0])
    make_run(archive, "s2", "a", ["failed", "failed"])
    make_run(archive, "s2", "b", [1, 0])
    make_run(archive, "s3", "b", [1, "failed"])
    rows = board(archive).rows
    assert {r.card.name: r.coverage for r in rows} == {"a": 1 / 3, "b": 2 / 3}


def test_without_a_main_metric_accuracy_is_the_main_one(archive):
    make_run(archive, "boolq", "a", [1, 0], main_metric="", metrics=(SECONDS, EM))
    with results(archive) as found:
        assert found.runs()[0].main_metric == EM
    make_run(archive, "quac", "a", [1, 0], main_metric="", metrics=())
    with results(archive) as found:
        assert found.runs()[1].main_metric is None
        assert found.runs()[1].main.missing == "not measurable"
        assert found.scenario("quac").rows == ()


def test_without_the_main_split_the_largest_one_counts(archive):
    make_run(
        archive,
        "boolq",
        "a",
        [1, 0],
        facts=lambda f: structs.replace(f, main_split="dev"),
    )
    assert board(archive).columns[0].split == "test"
    assert cell(archive).value == 0.5


def test_the_model_page_ranks(archive):
    for model, right in (("a", 2), ("b", 2), ("c", 1)):
        make_run(archive, "boolq", model, [1] * right + [0] * (2 - right))
    make_run(archive, "quac", "c", [1, 0])
    with results(archive) as found:
        assert [(r.rank, r.of) for r in found.model("a").results] == [(1.5, 3)]
        assert [(r.rank, r.of) for r in found.model("c").results] == [(3, 3), (1, 1)]
        with pytest.raises(ConfigError, match="There is no model 'd'"):
            found.model("d")


def test_the_run_page_has_every_stat(archive):
    identifier = make_run(archive, "boolq", "a", [1, 0], trials=[[1, 1]])
    with results(archive) as found:
        page = found.run(identifier)
    assert [(s.trial, s.value) for s in page.stats] == [(-1, 0.75), (0, 0.5), (1, 1.0)]
    assert (page.summary.n_trials, page.summary.n_instances) == (2, 2)
    assert page.summary.main.value == 0.75
    assert isinstance(page.defaults, AdapterSpec)
    assert page.defaults.max_tokens == 5


def test_unknown_runs_are_named(archive):
    make_run(archive, "boolq", "a", [1])
    with results(archive) as found, pytest.raises(ArchiveError):
        found.run("r0")
    with results(archive) as found, pytest.raises(ArchiveError):
        list(found.instances("r0"))


# pairs


def test_pairs_are_instances_of_equal_content(archive):
    a = make_run(archive, "boolq", "a", [1, 1, 0, 1, 1, 1])
    b = make_run(archive, "boolq", "b", [1, 0, 0, 0, "failed"])
    with results(archive) as found:
        difference = found.paired(a, b, "exact_match")
        back = found.paired(b, a, "exact_match")
    assert (difference.n, difference.mean) == (4, 0.5)
    half = 3.1824463052837078 * (1 / 3) ** 0.5 / 2
    assert (difference.ci_low, difference.ci_high) == pytest.approx(
        (0.5 - half, 0.5 + half)
    )
    details = difference.details
    assert (details["both"], details["neither"]) == (1, 1)
    assert (details["only_first"], details["only_second"]) == (2, 0)
    assert details["mcnemar_p"] == pytest.approx(0.5)
    assert (details["n_first"], details["n_second"]) == (6, 4)
    assert (back.mean, back.n) == (-0.5, 4)
    assert back.ci_low == pytest.approx(-0.5 - half)


def test_changed_data_is_not_paired(archive):
    a = make_run(archive, "boolq", "a", [1, 1])
    b = make_run(archive, "boolq", "b", [1, 0], content="Where is")
    with results(archive) as found:
        difference = found.paired(a, b, "exact_match")
        assert (difference.n, difference.mean, difference.ci_low) == (0, None, None)
        with pytest.raises(ConfigError, match="Did you mean 'exact_match'"):
            found.paired(a, b, "exactmatch")


def test_trials_are_averaged_before_pairing(archive):
    a = make_run(archive, "boolq", "a", [1, 1], trials=[[0, 1]])
    b = make_run(archive, "boolq", "b", [0, 1], trials=[[0, 0]])
    with results(archive) as found:
        difference = found.paired(a, b, "exact_match")
    assert difference.mean == 0.5
    assert "both" not in difference.details


# the cache


def everything(archive, cache):
    with Results(archive, SiteConfig(), cache) as found:
        return (
            found.overview(),
            found.groups(),
            found.leaderboard("all"),
            found.scenarios(),
            found.models(),
            found.runs(),
        )


def test_a_second_start_reads_the_cache_alone(archive, tmp_path, monkeypatch):
    make_run(archive, "boolq", "a", [1, 0, 1])
    make_run(archive, "boolq", "b", [1, 0, 0])
    cache = tmp_path / "deep" / "aggregates.duckdb"
    first = everything(archive, cache)

    def refuse(*args):
        raise AssertionError(f"read {args}")

    monkeypatch.setattr(archive, "table", refuse)
    assert everything(archive, cache) == first
    assert everything(Archive(archive.root), None) == first


def test_only_what_changed_is_read_again(archive, tmp_path, monkeypatch):
    cache = tmp_path / "aggregates.duckdb"
    kept = make_run(archive, "boolq", "a", [1, 0, 1])
    changed = make_run(archive, "boolq", "b", [1, 0, 0])
    gone = make_run(archive, "quac", "b", [1, 0, 0])
    everything(archive, cache)
    archive.remove(gone)
    stats = [structs.replace(s, value=0.125) for s in archive.stats(changed)]
    archive.write_scores(changed, archive.scores(changed), stats, (EM,))
    new = make_run(archive, "boolq", "c", [1, 1, 1])
    read = set()
    table = Archive.table

    def spy(self, run_id, *rest):
        read.add(run_id)
        return table(self, run_id, *rest)

    monkeypatch.setattr(Archive, "table", spy)
    with Results(archive, SiteConfig(), cache) as found:
        rows = found.scenario("boolq").rows
        assert {r.card.name: r.cells[0].value for r in rows} == {
            "a": pytest.approx(2 / 3),
            "b": 0.125,
            "c": 1.0,
        }
        assert [s.facts.name for s in found.scenarios()] == ["boolq"]
    assert read == {changed, new}
    assert kept not in read


@pytest.mark.parametrize("damage", ["text", "format", "folder"])
def test_a_damaged_cache_is_made_anew(archive, tmp_path, damage):
    make_run(archive, "boolq", "a", [1, 0, 1])
    cache = tmp_path / "aggregates.duckdb"
    expected = everything(archive, cache)
    if damage == "text":
        cache.write_text("not a database")
    elif damage == "format":
        with duckdb.connect(str(cache)) as connection:
            connection.execute("UPDATE cache_format SET format = '0'; DROP TABLE stat")
    else:
        cache = tmp_path / "runs"
    assert everything(archive, cache) == expected


def test_a_cache_with_damage_anywhere_is_made_anew(archive, tmp_path):
    """Also in a block that no page has asked for yet, and in rows added by resamples."""
    for model, right in (("a", 3), ("b", 1)):
        make_run(archive, "boolq", model, [1] * right + [0] * (4 - right))
    cache = tmp_path / "aggregates.duckdb"
    expected = everything(archive, cache)
    whole = cache.read_bytes()
    refused = 0
    used = [place for place, byte in enumerate(whole) if byte]
    for place in used[:: len(used) // 12]:
        blob = bytearray(whole)
        for offset in range(place, min(place + 64, len(blob))):
            blob[offset] ^= 0xFF
        cache.write_bytes(bytes(blob))
        try:
            with duckdb.connect(str(cache), read_only=True) as connection:
                for table in ("run", "stat", "drawn"):
                    connection.execute(f"FROM {table}").fetchall()
        except duckdb.Error:
            refused += 1
        assert everything(archive, cache) == expected, place
        with duckdb.connect(str(cache), read_only=True) as connection:
            assert len(connection.execute("FROM drawn").fetchall()) == 2, place
    assert refused > 6


def test_a_checksum_error_is_not_taken_for_a_lock(archive, tmp_path):
    make_run(archive, "boolq", "a", [1, 0, 1])
    cache = tmp_path / "aggregates.duckdb"
    expected = everything(archive, cache)
    blob = bytearray(cache.read_bytes())
    blob[4200] ^= 0xFF  # in a header: DuckDB says "... in block at location 4096"
    blob[8300] ^= 0xFF
    cache.write_bytes(bytes(blob))
    with pytest.raises(duckdb.Error, match="lock"):
        duckdb.connect(str(cache))
    assert everything(archive, cache) == expected
    with duckdb.connect(str(cache), read_only=True) as connection:
        assert connection.execute("SELECT count(*) FROM run").fetchall() == [(1,)]


def test_two_readers_can_work_at_once(archive, tmp_path):
    make_run(archive, "boolq", "a", [1, 0, 1])
    cache = tmp_path / "aggregates.duckdb"
    with Results(archive, SiteConfig(), cache) as first:
        assert everything(archive, cache)[0] == first.overview()
        first.close()


def test_a_cache_that_another_process_holds_is_left_alone(archive, tmp_path):
    make_run(archive, "boolq", "a", [1, 0, 1])
    cache = tmp_path / "aggregates.duckdb"
    expected = everything(archive, cache)
    script = (
        "import duckdb, sys; c = duckdb.connect(sys.argv[1]); "
        "print('held', flush=True); sys.stdin.read()"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", script, str(cache)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        before = cache.read_bytes()
        assert everything(archive, cache) == expected
        assert cache.read_bytes() == before
    finally:
        holder.communicate()
    assert holder.returncode == 0


def test_a_damaged_run_is_named_and_spoils_no_cache(archive, tmp_path):
    cache = tmp_path / "aggregates.duckdb"
    make_run(archive, "boolq", "a", [1, 0, 1])
    expected = everything(archive, cache)
    broken = make_run(archive, "quac", "b", [1, 0, 1])
    file = Path(archive.file(broken, "stats"))
    file.write_bytes(file.read_bytes()[:40])
    with pytest.raises(ArchiveError, match=r"stats\.parquet"):
        everything(archive, cache)
    archive.remove(broken)
    assert everything(archive, cache)[1:] == expected[1:]


def test_a_model_with_a_reported_number_alone_counts_as_certain(archive):
    for model, verdicts in (("a", [1] * 10), ("b", [0] * 10)):
        identifier = make_run(archive, "boolq", model, verdicts)
        stats = [
            structs.replace(s, origin="reported") for s in archive.stats(identifier)
        ]
        archive.write_scores(identifier, [], stats, (EM,))
    assert [(r.win_rate, r.band) for r in board(archive).rows] == [(1.0, 1), (0.0, 2)]


def test_models_without_spread_still_have_a_rank(archive):
    """And their difference no interval."""
    f1 = structs.replace(EM, name="f1", format="number")
    made = []
    for model, value in (("a", 0.5), ("b", 0.25)):
        identifier = make_run(archive, "boolq", model, [1] * 8, main_metric="f1")
        scores = [
            structs.replace(s, metric="f1", value=value)
            for s in archive.scores(identifier)
        ]
        stats = summarise(
            archive.instances(identifier), scores, (f1,), (), (), scenario="boolq"
        )
        archive.write_scores(identifier, scores, stats, (f1,))
        made.append(identifier)
    table = board(archive)
    assert [(r.card.name, r.win_rate, r.band) for r in table.rows] == [
        ("a", 1.0, 1),
        ("b", 0.0, 2),
    ]
    assert [(r.cells[0].ci_low, r.cells[0].ci_high) for r in table.rows] == [
        (None, None)
    ] * 2
    with results(archive) as found:
        difference = found.paired(made[0], made[1], "f1")
    assert (difference.mean, difference.ci_low, difference.ci_high) == (
        0.25,
        None,
        None,
    )
    assert "stderr" not in difference.details


def test_one_pair_has_no_interval(archive):
    a = make_run(archive, "boolq", "a", [1])
    b = make_run(archive, "boolq", "b", [0])
    with results(archive) as found:
        difference = found.paired(a, b, "exact_match")
    assert (difference.n, difference.mean, difference.ci_low) == (1, 1, None)


def test_what_became_known_of_contamination_replaces_what_was_archived(archive):
    make_run(archive, "boolq", "a", [1, 0])
    make_run(archive, "boolq", "b", [1, 0])
    known = (Contamination("boolq", "strong", "It was trained on it."),)
    with results(archive, contamination={"a": known}) as found:
        shown = {row.card.name: row.card for row in found.leaderboard("all").rows}
        assert shown["a"].contamination == found.model("a").card.contamination == known
        assert not shown["b"].contamination


def test_a_known_model_under_an_older_name_is_told_of_by_its_card(archive):
    make_run(archive, "the_pile", "together/gpt-j-6b", [1, 0])
    with results(archive) as found:
        card = found.model("together/gpt-j-6b").card
    assert card.name == "together/gpt-j-6b"
    assert card.title == "GPT-J (6B)"
    assert card.creator == "EleutherAI"
    assert "eleutherai/gpt-j-6b" in card.aliases
    assert [c.scenario for c in card.contamination] == ["the_pile"]
