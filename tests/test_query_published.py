"""Results without instances: kept with what they mean, and cells of every table."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from helmsite.archive import Archive, BatchFacts, tables
from helmsite.config import GroupConfig, SiteConfig
from helmsite.errors import ArchiveError, ConfigError
from helmsite.query import Results, statistics, variants
from helmsite.schema import (
    MetricFacts,
    ModelCard,
    PublishedStat,
    ScenarioFacts,
    Stat,
)
from tests.query_runs import make_run

if TYPE_CHECKING:
    from helmsite.query.rows import Cell

ACC = MetricFacts(
    "acc", "Accuracy", "", "accuracy", higher_is_better=True, format="share"
)
LOSS = MetricFacts("loss", "Loss", "", "loss", higher_is_better=False)


@pytest.fixture
def archive(tmp_path: Path) -> Archive:
    return Archive(tmp_path / "runs")


def given(
    scenario: str,
    model: str,
    value: float | None,
    *,
    metric: str = "acc",
    file: str = "results.json",
    settings: dict[str, object] | None = None,
    **stat: object,
) -> PublishedStat:
    told = Stat(metric, value, origin="reported", **stat)  # type: ignore[arg-type]
    return PublishedStat(scenario, model, told, settings or {}, file, "ab")


def test_a_batch_keeps_what_its_cells_mean(archive: Archive) -> None:
    facts = BatchFacts(
        tool="lm-evaluation-harness",
        scenarios=(ScenarioFacts("zoo"), ScenarioFacts("boolq", "BoolQ")),
        metrics=(LOSS, ACC, LOSS),
        cards=(ModelCard("a/x", num_parameters=7), ModelCard("unused")),
        versions={"results.json": "0.3.0", "gone.json": "0.2.0"},
    )
    rows = [given("boolq", "a/x", 0.5), given("zoo", "a/x", 0.1, metric="loss")]
    batch = archive.write_published("s", "b", rows, facts)
    kept = Archive(archive.root).published_facts(batch)
    assert kept == BatchFacts(
        "lm-evaluation-harness",
        (ScenarioFacts("boolq", "BoolQ"), ScenarioFacts("zoo")),
        (LOSS, ACC),
        (ModelCard("a/x", num_parameters=7),),
        {"results.json": "0.3.0"},
    )
    assert archive.check() == []
    assert archive.write_published("s", "b", rows[::-1], facts) == batch  # same bytes


def test_newer_facts_count_and_older_ones_stay() -> None:
    old = BatchFacts(
        "a", (ScenarioFacts("x"), ScenarioFacts("y")), (ACC,), (), {"f": "1"}
    )
    new = BatchFacts("", (ScenarioFacts("x", "X"),), (LOSS,), (), {"g": "2"})
    assert old.updated(new) == BatchFacts(
        "a",
        (ScenarioFacts("x", "X"), ScenarioFacts("y")),
        (ACC, LOSS),
        (),
        {"f": "1", "g": "2"},
    )  # fmt: skip


def test_a_batch_of_an_older_archive_has_no_facts(archive: Archive) -> None:
    batch = archive.write_published("s", "b", [given("boolq", "a", 0.5)])
    path = Path(archive.published_file(batch))
    table = pq.ParquetFile(path).read()
    with tables.writer(tables.PUBLISHED, path, {"suite": "s", "batch": "b"}) as file:
        file.write_table(table)
    archive.reindex()
    assert archive.published_facts(archive.batches()[0]) == BatchFacts()
    assert archive.check() == []


@pytest.mark.parametrize("blob", ["{", "[]", '{"tool": 1}', '{"more": 1}', "\xff"])
def test_facts_that_helmsite_never_writes_are_damage(
    archive: Archive, blob: str
) -> None:
    batch = archive.write_published("s", "b", [given("boolq", "a", 0.5)])
    path = Path(archive.published_file(batch))
    table = pq.ParquetFile(path).read()
    names = {"suite": "s", "batch": "b", "facts": blob}
    with tables.writer(tables.PUBLISHED, path, names) as file:
        file.write_table(table)
    archive.reindex()
    with pytest.raises(ArchiveError, match="is damaged"):
        archive.published_facts(archive.batches()[0])
    assert [p.severity for p in archive.check()] == ["error"]


@pytest.mark.parametrize(
    "facts",
    [
        BatchFacts("\ud800"),
        BatchFacts(
            cards=(ModelCard("a", training_energy_mwh=float("nan")),),
        ),
    ],
)
def test_facts_that_cannot_be_stored_are_refused(
    archive: Archive, facts: BatchFacts
) -> None:
    with pytest.raises(ArchiveError, match="what is known of published results"):
        archive.write_published("s", "b", [given("boolq", "a", 0.5)], facts)
    assert archive.batches() == ()
    assert archive.check() == []


FACTS = BatchFacts(
    "lm-evaluation-harness",
    (
        ScenarioFacts("boolq", "BoolQ", main_metric="acc"),
        ScenarioFacts("piqa", "PIQA", main_metric="acc"),
    ),
    (ACC, LOSS),
    (ModelCard("a/x-1b", num_parameters=10**9), ModelCard("b/y")),
)


def results(archive: Archive, cache: Path | None = None, **site: Any) -> Results:
    return Results(archive, SiteConfig(**site), cache)


def board(archive: Archive, **site: Any) -> dict[str, tuple[Cell, ...]]:
    """Return the cells of the leaderboard of everything, by model and variant."""
    with results(archive, **site) as found:
        rows = found.leaderboard("all").rows
    return {" ".join(filter(None, (r.card.name, r.variant))): r.cells for r in rows}


def test_models_and_scenarios_without_any_run_make_a_leaderboard(
    archive: Archive,
) -> None:
    rows = [
        given("boolq", "a/x-1b", 0.6, stderr=0.01),
        given("boolq", "b/y", 0.5, stderr=0.02, n_scored=11, n_asked=11),
        given("piqa", "a/x-1b", 0.7),
        given("piqa", "a/x-1b", 3.0, metric="loss"),
    ]
    archive.write_published("s", "lm_eval", rows, FACTS)
    with results(archive) as found:
        shown = found.leaderboard("all")
        assert [c.scenario.title for c in shown.columns] == ["BoolQ", "PIQA"]
        assert [(r.card.name, r.win_rate) for r in shown.rows] == [
            ("a/x-1b", 1.0),
            ("b/y", 0.0),
        ]
        best, other = (r.cells[0] for r in shown.rows)
        assert (best.value, best.heat, best.best, best.origin) == (
            0.6,
            8,
            True,
            "reported",
        )
        assert best.run_id == ""
        assert best.source
        # a normal interval where the number of instances is not told, else Student's
        assert best.ci_high == pytest.approx(0.6 + 1.959964 * 0.01)
        assert other.ci_high == pytest.approx(0.5 + 2.228139 * 0.02)
        assert shown.rows[0].cells[1].ci_low is None  # nothing is known: no interval
        assert shown.rows[1].cells[1].missing == "not run"
        assert [m.card.num_parameters for m in found.models()] == [10**9, None]
        page = found.scenario("piqa")
        assert [c.metric.name for c in page.columns] == ["acc", "loss"]
        assert [c.value for c in page.rows[0].cells] == [0.7, 3.0]
        assert page.runs == ()
        model = found.model("a/x-1b")
        assert [(r.cell.value, r.rank, r.of) for r in model.results] == [
            (0.6, 1, 2),
            (0.7, 1, 1),
        ]
        assert found.overview().n_models == 2
        assert found.overview().n_runs == 0


def test_shares_do_not_leave_their_range_and_others_do(archive: Archive) -> None:
    rows = [
        given("boolq", "a", 0.999, stderr=0.01),
        given("boolq", "a", 0.999, metric="loss", stderr=0.01),
        given("piqa", "a", 0.5, ci_low=0.1, ci_high=0.6, stderr=0.01),
        given("piqa", "b", None, stderr=0.01, missing="nan"),
    ]
    archive.write_published("s", "b", rows, FACTS)
    with results(archive) as found:
        cells = found.scenario("boolq").rows[0].cells
        piqa, none = (r.cells[0] for r in found.scenario("piqa").rows)
    assert cells[0].ci_high == 1.0
    assert cells[1].ci_high == pytest.approx(1.0186, abs=1e-4)
    assert (piqa.ci_low, piqa.ci_high) == (0.1, 0.6)  # the source's own word
    assert (none.value, none.ci_low, none.ci_high) == (None, None, None)
    assert none.missing == "not measurable"


def test_a_run_goes_before_what_a_source_says(archive: Archive) -> None:
    run_id = make_run(archive, "boolq", "a", [1, 0, 1])
    failed = make_run(archive, "boolq", "c", ["failed"] * 3)
    rows = [
        given("boolq", model, 0.9, metric="exact_match") for model in ("a", "b", "c")
    ]
    archive.write_published("s", "b", rows)
    cells = board(archive)
    ran, reported, other = (cells[m][0] for m in ("a", "b", "c"))
    assert (ran.run_id, ran.source, ran.more_sources) == (run_id, "", 1)
    assert ran.value == pytest.approx(2 / 3)
    assert (reported.run_id, reported.value, reported.origin) == ("", 0.9, "reported")
    # a run that failed has no value to give: the reported one stands, and leads to it
    assert (other.value, other.other_runs, bool(other.source)) == (0.9, (failed,), True)


def test_a_split_that_is_not_told_is_the_main_one(archive: Archive) -> None:
    make_run(archive, "boolq", "a", [1, 0, 1])  # on the split test
    rows = [
        given("boolq", "b", 0.5, metric="exact_match"),
        given("boolq", "c", 0.4, metric="exact_match", split="test"),
        given("boolq", "d", 0.3, metric="exact_match", split="valid"),
    ]
    archive.write_published("s", "b", rows)
    cells = board(archive)
    assert [cells[m][0].value for m in "bcd"] == [0.5, 0.4, None]
    assert cells["d"][0].missing == "not reported"


def test_the_last_checkpoint_fills_a_models_cell(archive: Archive) -> None:
    steps = [0, 512, 143000, 9000]
    rows = [
        given("boolq", "a", n / 10, settings={"revision": f"step{s}"}, file=f"{s}.json")
        for n, s in enumerate(steps)
    ]
    archive.write_published("s", "b", rows, FACTS)
    (cell,) = board(archive)["a"]
    assert (cell.value, cell.more_sources) == (0.2, 3)
    by_revision = board(archive, rows="revision")
    assert {name: c.value for name, (c,) in by_revision.items()} == {
        f"a step{s}": n / 10 for n, s in enumerate(steps)
    }
    assert {c.more_sources for (c,) in by_revision.values()} == {0}
    with results(archive, rows="revision") as found:
        assert [r.variant for r in found.scenario("boolq").rows] == [
            "step9000",
            "step143000",
            "step512",
            "step0",
        ]
        assert [m.card.name for m in found.models()] == ["a"]
        assert found.model("a").results[0].cell.value == 0.2


def test_models_are_compared_as_most_of_them_were_asked(archive: Archive) -> None:
    def asked(model: str, shots: int, value: float) -> PublishedStat:
        file = f"{model}-{shots}.json"
        return given("boolq", model, value, settings={"num_fewshot": shots}, file=file)

    rows = [
        asked("a", 0, 0.1),
        asked("a", 5, 0.2),
        asked("b", 0, 0.3),
        asked("c", 0, 0.4),
        asked("c", 5, 0.5),
        asked("d", 5, 0.6),
        asked("e", 0, 0.7),
    ]
    archive.write_published("s", "b", rows, FACTS)
    assert {m: c.value for m, (c,) in board(archive).items()} == {
        "a": 0.1,
        "b": 0.3,
        "c": 0.4,
        "d": 0.6,
        "e": 0.7,
    }
    both = board(archive, rows=["revision", "num_fewshot"])
    assert both["a zero-shot"][0].value == 0.1
    assert both["a 5-shot"][0].value == 0.2


def test_runs_of_several_revisions_take_part(archive: Archive) -> None:
    for step, right in ((1000, 1), (2000, 2)):
        make_run(
            archive, "boolq", "a", [1] * right + [0] * (3 - right),
            origin=f"native:{step}", revision=f"step{step}",
        )  # fmt: skip
    (cell,) = board(archive)["a"]
    assert cell.value == pytest.approx(2 / 3)
    assert len(cell.other_runs) == 1
    rows = board(archive, rows="revision")
    assert {name: round(c.value or 0, 3) for name, (c,) in rows.items()} == {
        "a step1000": 0.333,
        "a step2000": 0.667,
    }
    with results(archive, rows="revision") as found:
        assert [r.variant for r in found.scenario("boolq").rows] == [
            "step2000",
            "step1000",
        ]


@pytest.mark.parametrize(
    ("settings", "step"),
    [
        ({"revision": "step143000"}, 143000),
        ({"revision": "global_step_25"}, 25),
        ({"revision": "checkpoint-500"}, 500),
        ({"revision": "iter_0005000"}, 5000),
        ({"revision": "stage1-step1000-tokens3B"}, 1000),
        ({"revision": "main", "step": 7}, 7),
        ({"revision": "main"}, math.inf),
        ({"revision": "footstep12"}, math.inf),
        ({"revision": "step12b"}, math.inf),
        ({"revision": 12}, math.inf),
        ({"step": True}, math.inf),
        ({}, math.inf),
    ],
)
def test_steps_are_read_from_what_checkpoints_are_called(
    settings: dict[str, object], step: float
) -> None:
    assert variants.step_of(settings) == step


def test_bands_take_a_sources_standard_error_into_account(archive: Archive) -> None:
    names = [f"s{i}" for i in range(4)]
    facts = BatchFacts(
        "", tuple(ScenarioFacts(n, main_metric="acc") for n in names), (ACC,)
    )
    values = {"a": 0.60, "b": 0.59, "c": 0.3}
    for stderr, bands in ((0.02, [1, 1, 2]), (0.0001, [1, 2, 3])):
        rows = [
            given(name, model, value, stderr=stderr)
            for name in names
            for model, value in values.items()
        ]
        archive.write_published("s", "b", rows, facts)
        with results(archive) as found:
            shown = found.leaderboard("all").rows
        assert [(r.card.name, r.band) for r in shown] == list(
            zip("abc", bands, strict=True)
        )


def test_the_draws_of_a_source_are_normal_and_always_the_same() -> None:
    first, second = (statistics.normal(seed, 0.5, 0.1) for seed in "ab")
    assert first.mean() == pytest.approx(0.5)
    assert first.std() == pytest.approx(0.1, rel=0.01)
    assert abs(np.corrcoef(first, second)[0, 1]) < 0.1
    assert (statistics.normal("a", 0.5, 0.1) == first).all()


def test_a_changed_batch_is_read_anew_and_a_removed_one_is_gone(
    archive: Archive, tmp_path: Path
) -> None:
    cache = tmp_path / "cache.duckdb"

    def values() -> list[float | None]:
        with results(archive, cache) as found:
            return [r.cells[0].value for r in found.scenario("boolq").rows]

    archive.write_published("s", "b", [given("boolq", "a", 0.5)], FACTS)
    assert values() == [0.5]
    assert values() == [0.5]
    archive.write_published("s", "c", [given("boolq", "b", 0.4)], FACTS)
    archive.write_published("s", "b", [given("boolq", "a", 0.6)], FACTS)
    assert values() == [0.6, 0.4]
    Path(archive.published_file(archive.batches()[0])).unlink()
    archive.reindex()
    assert values() == [0.4]


def test_without_facts_there_are_names_and_no_direction(archive: Archive) -> None:
    rows = [given("boolq", model, 0.5, metric="some_score") for model in "ab"]
    archive.write_published("s", "b", rows)
    with results(archive) as found:
        shown = found.leaderboard("all")
        assert shown.columns[0].scenario.name == "boolq"
        assert shown.columns[0].metric.title == "some score"
        assert [r.win_rate for r in shown.rows] == [None, None]
        assert {r.cells[0].heat for r in shown.rows} == {-1}


def test_a_columns_mean_takes_reported_values_too(archive: Archive) -> None:
    rows = [
        given(scenario, "a", value, stderr=0.01)
        for scenario, value in (("mmlu:subject=x", 0.2), ("mmlu:subject=y", 0.4))
    ]
    facts = BatchFacts(
        "",
        tuple(ScenarioFacts(r.scenario, main_metric="acc") for r in rows),
        (ACC,),
    )
    archive.write_published("s", "b", rows, facts)
    combined = {"mmlu": GroupConfig("MMLU", scenarios=("mmlu",), combine=True)}
    with results(archive, groups=combined) as found:
        (row,) = found.leaderboard("mmlu").rows
    (cell,) = row.cells
    assert cell.value == pytest.approx(0.3)
    assert (cell.held, cell.of) == (2, 2)
    assert cell.ci_high == pytest.approx(0.3 + 1.96 * 0.01 / 2**0.5, abs=1e-5)
    assert cell.origin == "reported"


def test_a_model_over_its_checkpoints(archive: Archive) -> None:
    steps = [0, 512, 143000]
    rows = [
        given(
            scenario, "a", n / 10 + more, file=f"{step}-{shots}.json", stderr=0.01,
            settings={"revision": f"step{step}", "num_fewshot": shots},
        )
        for scenario, more in (("mmlu:subject=x", 0), ("mmlu:subject=y", 0.2), ("piqa", 0.5))
        for n, step in enumerate(steps)
        for shots in ((0, 5) if step == 143000 else (0,))
    ]  # fmt: skip
    rows += [given("piqa", "b", 0.1), given("boolq", "b", 0.1)]
    names = sorted({r.scenario for r in rows})
    facts = BatchFacts(
        "", tuple(ScenarioFacts(n, main_metric="acc") for n in names), (ACC,)
    )
    archive.write_published("s", "b", rows, facts)
    with results(archive) as found:
        page = found.model("a")
        assert page.n_sources == 4
        assert [(c.scenario.title, len(c.members)) for c in page.columns] == [
            ("mmlu", 2),
            ("", 0),
        ]
        assert [(v.label, v.step) for v in page.variants] == [
            ("step0, zero-shot", 0),
            ("step512, zero-shot", 512),
            ("step143000, 5-shot", 143000),
            ("step143000, zero-shot", 143000),
        ]
        assert [v.cells[0].value for v in page.variants] == pytest.approx(
            [0.1, 0.2, 0.3, 0.3]
        )
        assert page.variants[0].cells[1].source.startswith("p")
        assert len({v.way for v in page.variants}) == 2
        assert found.model("b").variants == ()
        (course,) = found.scenario("piqa").courses
        assert course.card.name == "a"
        assert [step for step, _ in course.points] == steps
        assert [c.value for _, c in course.points] == pytest.approx([0.5, 0.6, 0.7])
        assert found.scenario("boolq").courses == ()


def test_a_source_tells_all_of_its_numbers(archive: Archive) -> None:
    rows = [
        given("piqa", "b/y", 3.0, metric="loss", settings={"k": [1]}),
        given("piqa", "b/y", 0.5, stderr=0.1, settings={"k": [1]}),
        given("boolq", "b/y", None, missing="nan", settings={"k": [1]}),
        given("boolq", "a/x-1b", 0.25),
        given("boolq", "a/x-1b", 0.25, file="other.json"),
        given("boolq", "a/x-1b", 0.75, trial=0),
    ]
    versions = BatchFacts(versions={"results.json": "0.3.0"})
    archive.write_published("s", "b", rows, FACTS.updated(versions))
    with results(archive) as found:
        other, first = found.sources()
        assert (first.file, first.tool, first.version) == (
            "results.json",
            "lm-evaluation-harness",
            "0.3.0",
        )
        assert (first.n_values, first.n_scenarios) == (3, 2)
        assert first.models == ("a/x-1b", "b/y")
        assert other.version == ""
        page = found.source(first.key)
        assert [c.num_parameters for c in page.cards] == [10**9, None]
        assert [
            (n.model, n.scenario.title, n.metric.name, n.stat.value, n.settings)
            for n in page.lines
        ] == [
            ("a/x-1b", "BoolQ", "acc", 0.25, {}),
            ("b/y", "BoolQ", "acc", None, {"k": [1]}),
            ("b/y", "PIQA", "acc", 0.5, {"k": [1]}),
            ("b/y", "PIQA", "loss", 3.0, {"k": [1]}),
        ]
        assert page.lines[1].stat.missing == "nan"
        cells = [r.cells[0] for r in found.leaderboard("all").rows]
        shown = {c.source for c in cells}
        assert f"{first.key}-{page.lines[1].entry}" in shown
        with pytest.raises(ConfigError, match="There is no source 'p'"):
            found.source("p")


def test_alternatives_are_not_made_of_shots_that_differ_by_scenario(
    archive: Archive,
) -> None:
    make_run(archive, "boolq", "a", [1, 0, 1], method="generation")
    make_run(archive, "boolq", "a", [1, 0, 1], method="multiple_choice_joint")
    make_run(archive, "piqa", "a", [1, 0, 1], revision="step1")
    with results(archive) as found:
        assert found.model("a").variants == ()
    make_run(archive, "boolq", "a", [1, 1, 1], revision="step1")
    with results(archive) as found:
        assert [v.label for v in found.model("a").variants] == ["step1", ""]


@pytest.mark.parametrize(
    ("settings", "label"),
    [
        ({"revision": "step1", "num_fewshot": 0, "limit": 30.0}, "step1, zero-shot, limit 30"),
        ({"num_fewshot": 5, "limit": None, "dtype": ""}, "5-shot"),
        ({"limit": 0.5, "dtype": "bfloat16"}, "limit 0.5, dtype bfloat16"),
        ({"revision": "x" * 99, "limit": [1]}, f"{'x' * 60}…, limit [1]"),
        ({"limit": 1e300}, "limit 1e300"),
        ({}, ""),
    ],
)  # fmt: skip
def test_settings_are_told_in_words(settings: dict[str, object], label: str) -> None:
    names = ("revision", "num_fewshot", "limit", "dtype")
    assert variants.label(settings, names) == label


def test_many_files_are_loaded_and_compared_in_seconds(
    archive: Archive, tmp_path: Path
) -> None:
    scenarios = [f"task{n}" for n in range(65)]
    rows = [
        given(
            scenario,
            f"lab/m-{model}b",
            (model * 31 + step * 7 + n) % 97 / 97,
            stderr=0.01,
            settings={"revision": f"step{step}000"},
            file=f"{model}-{step}.json",
        )
        for model in range(10)
        for step in range(30)
        for n, scenario in enumerate(scenarios)
    ]
    facts = BatchFacts(
        "", tuple(ScenarioFacts(n, main_metric="acc") for n in scenarios), (ACC,)
    )
    archive.write_published("s", "b", rows, facts)
    start = time.process_time()
    with results(archive, tmp_path / "cache.duckdb") as found:
        shown = found.leaderboard("all")
        assert (len(shown.rows), len(shown.columns)) == (10, 65)
        assert {c.more_sources for r in shown.rows for c in r.cells} == {29}
        assert len(found.model("lab/m-3b").variants) == 30
    with results(archive, tmp_path / "cache.duckdb", rows="revision") as found:
        assert len(found.leaderboard("all").rows) == 300
    assert time.process_time() - start < 10  # a third of that on two busy cores


def test_a_scenario_is_judged_by_the_metric_that_most_models_have(
    archive: Archive,
) -> None:
    rows = [given("piqa", model, 0.5) for model in ("a/x", "a/y")]
    archive.write_published("s", "b", rows, FACTS)
    make_run(archive, "piqa", "a/z", [1, 0])
    with Results(archive, SiteConfig(), cache=None) as results:
        (column,) = results.leaderboard("all").columns
        assert column.metric.name == "acc"
    make_run(archive, "piqa", "a/v", [1, 0])
    with Results(archive, SiteConfig(), cache=None) as results:
        (column,) = results.leaderboard("all").columns
        assert column.metric.name == "exact_match"  # as many have it: the newest's word
