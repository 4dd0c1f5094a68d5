"""Runs that are alike, cells with several runs, and the tables of a run's numbers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from msgspec import structs

from helmsite.config import SiteConfig
from helmsite.query.rows import Cell, Group, LeaderboardRow, RunSummary
from helmsite.render import build, samples, sentences
from helmsite.render.board import board, telling, win_view
from helmsite.render.names import SiteMap
from helmsite.render.runnames import run_names
from helmsite.render.runtables import tables
from helmsite.render.runview import told_facts
from helmsite.schema import AdapterSpec, MetricFacts, Provenance, Stat, preset
from tests.site_source import EXACT, RUNTIME, SCENARIOS, FakeResults

if TYPE_CHECKING:
    from pathlib import Path

    from helmsite.query.rows import RunPage


def run_like(
    run_id: str, method: str = "multiple_choice_joint", **manifest: object
) -> RunSummary:
    summary = samples.summary()
    spec = structs.replace(summary.manifest.spec, adapter=preset(method))  # type: ignore[arg-type]
    changed = {"run_id": run_id, "spec": spec, **manifest}
    return structs.replace(
        summary, manifest=structs.replace(summary.manifest, **changed)
    )


# ---- Names


def test_a_single_run_is_called_by_its_model_and_scenario() -> None:
    assert run_names([run_like("r1")])["r1"].title == "Alder 3B on Colours"


def test_runs_that_differ_in_method_say_how_they_were_asked() -> None:
    named = run_names(
        [run_like("r1"), run_like("r2", "multiple_choice_separate_original")]
    )
    assert [n.title for n in named.values()] == [
        "Alder 3B on Colours (5-shot, joint multiple choice)",
        "Alder 3B on Colours (zero-shot, separate multiple choice)",
    ]
    assert [n.differs for n in named.values()] == ["", ""]


def test_runs_of_one_method_say_what_else_differs() -> None:
    first = run_like("r1")
    adapter = structs.replace(first.manifest.spec.adapter, max_tokens=7)
    spec = structs.replace(first.manifest.spec, adapter=adapter)
    named = run_names([first, run_like("r2", spec=spec)])
    assert named["r2"].differs == "max_tokens = 7"
    assert named["r2"].title.endswith("(5-shot, joint multiple choice, max_tokens = 7)")
    suites = run_names([first, run_like("r2", suite="other")])
    assert suites["r2"].differs == "suite other"


def test_equal_runs_have_their_ids_as_the_last_resort() -> None:
    named = run_names([run_like("r1"), run_like("r2"), run_like("r3", suite="s")])
    assert named["r2"].differs.endswith("r2")
    assert len({n.title for n in named.values()}) == 3


class TwoMethods(FakeResults):
    """Every run of the first scenario twice: joint and separate."""

    def __init__(self) -> None:
        super().__init__(2, SCENARIOS[:1], 2)
        for summary in list(self.summaries):
            spec = structs.replace(
                summary.manifest.spec,
                adapter=preset("multiple_choice_separate_original"),
            )
            manifest = structs.replace(
                summary.manifest,
                run_id=summary.manifest.run_id.replace("r0", "r1"),
                spec=spec,
            )
            self.summaries.append(structs.replace(summary, manifest=manifest))


def test_titles_breadcrumbs_and_the_search_tell_runs_apart(tmp_path: Path) -> None:
    out = tmp_path / "site"
    build(TwoMethods(), out, SiteConfig())
    titles = {}
    for page in sorted(out.glob("runs/r*/index.html")):
        (heading,) = re.findall("<h1>(.*)</h1>", page.read_text())
        titles[page.parent.name] = heading
    assert len(set(titles.values())) == 4
    assert titles["r1000000000000000"] == (
        "Willow 7B on General knowledge (zero-shot, separate multiple choice)"
    )
    instances = (out / "runs" / "r1000000000000000" / "1.html").read_text()
    crumbs = re.search(r'<nav class="crumbs".*?</nav>', instances, re.DOTALL)
    assert crumbs
    assert titles["r1000000000000000"] in crumbs[0]
    index = (out / "static" / "search-index.js").read_text()
    inside = [title.partition(" (")[2].removesuffix(")") for title in titles.values()]
    assert all(f'"{words}"' in index for words in inside)


def test_the_search_keeps_the_brackets_of_what_tells_runs_apart(tmp_path: Path) -> None:
    results = FakeResults(1, SCENARIOS[:1], 2)
    (first,) = results.summaries
    model = structs.replace(first.manifest.spec.model, settings={"mode": "f(a)"})
    manifest = structs.replace(
        first.manifest,
        run_id=first.manifest.run_id.replace("r0", "r1"),
        spec=structs.replace(first.manifest.spec, model=model),
    )
    results.summaries.append(structs.replace(first, manifest=manifest))
    assert run_names(results.summaries)[manifest.run_id].title.endswith("f(a))")
    build(results, tmp_path, SiteConfig())
    index = (tmp_path / "static" / "search-index.js").read_text()
    assert f'mode = f(a)","{manifest.run_id}"' in index


# ---- Cells


def test_other_runs_of_a_cell_are_one_link_away(tmp_path: Path) -> None:
    out = tmp_path / "site"
    build(FakeResults(models=2), out, SiteConfig())
    front = (out / "index.html").read_text()
    target = "scenarios/knowledge/index.html?runs-here.model=Willow%207B#runs-here"
    assert f'<a href="{target}" title="1 other run of this model' in front
    assert "+n: so many other runs of the model" in front
    scenario = (out / "scenarios" / "knowledge" / "index.html").read_text()
    assert scenario.count('href="?runs-here.model=Willow%207B#runs-here"') == 1
    model = (
        out / SiteMap([], [], ["demo/willow-7b"], []).model("demo/willow-7b")
    ).read_text()
    assert f'href="../../{target}"' in model


def row(coverage: float, over: int, columns: int) -> LeaderboardRow:
    cells = FakeResults(1).leaderboard("core").rows[0].cells[:1] * columns
    card = FakeResults(1).cards[0]
    return LeaderboardRow(card, cells, 0.5, over, coverage)


def test_coverage_stands_beside_the_win_rate_where_it_is_not_full() -> None:
    assert win_view(row(1.0, 6, 6), "scenario").part == "over 6"
    assert win_view(row(5 / 6, 5, 6), "scenario").part == "over 5; 5 of 6"
    shown = win_view(row(5 / 6, 4, 6))
    assert shown.part == "over 4; 5 of 6"
    assert shown.title == "mean win rate over 4 columns; a value in 5 of 6 columns"


def test_the_heading_says_once_on_how_many_columns_all_win_rates_rest() -> None:
    assert win_view(row(1.0, 6, 6), told=6).part == ""
    assert win_view(row(5 / 6, 6, 6), told=6).part == "5 of 6"
    site, shown = SiteMap([], [], [], []), FakeResults(models=2).leaderboard("core")
    made = board(shown.columns, shown.rows, site, "x.html", "")
    assert made.over == f"over {len(shown.columns)} columns"
    odd = (structs.replace(shown.rows[0], win_rate_columns=1), *shown.rows[1:])
    made = board(shown.columns, odd, site, "x.html", "")
    assert made.over == "over n columns"
    assert [r.win.part for r in made.rows if r.win] == [
        f"over {r.win_rate_columns}" for r in odd
    ]


def test_a_table_of_several_columns_for_a_scenario_counts_columns() -> None:
    shown = FakeResults(models=2).leaderboard("core")
    rows = tuple(structs.replace(r, coverage=0.5) for r in shown.rows)
    site = SiteMap([], [], [], [])
    made = board(shown.columns, rows, site, "x.html", "")
    assert made.rows[0].win
    assert made.rows[0].win.part == "2 of 4"
    twice = tuple(
        structs.replace(c, scenario=shown.columns[0].scenario) for c in shown.columns
    )
    made = board(twice, rows, site, "x.html", "")
    assert made.rows[0].win
    assert made.rows[0].win.part == "2 of 4"


# ---- Equal values


@pytest.mark.parametrize("skill", [0.0, 1.0])
def test_of_equal_models_none_is_called_the_best(tmp_path: Path, skill: float) -> None:
    out = tmp_path / "site"
    results = FakeResults(3, SCENARIOS[:1], 2, (skill,) * 3)
    assert len(sentences.leaders(results.scenario("knowledge"))) == 3
    build(results, out, SiteConfig())
    page = (out / "scenarios" / "index.html").read_text()
    assert 'href="../scenarios/knowledge/index.html">all 3 models</a>' in page
    assert "Willow" not in page


def test_a_single_best_model_is_named(tmp_path: Path) -> None:
    out = tmp_path / "site"
    build(FakeResults(2, SCENARIOS[:1], 2), out, SiteConfig())
    assert ">Willow 7B</a>" in (out / "scenarios" / "index.html").read_text()


def test_ties_for_the_first_place_are_not_first_places() -> None:
    page = FakeResults(models=3).model("demo/willow-7b")
    tied = tuple(structs.replace(r, rank=1.5, of=3) for r in page.results)
    assert "It is the best alone on none of the 7 scenarios" in sentences.model(
        structs.replace(page, results=tied)
    )
    first = (structs.replace(tied[0], rank=1.0), *tied[1:])
    assert "It is the best alone on 1 of the 7 scenarios" in sentences.model(
        structs.replace(page, results=first)
    )
    one = structs.replace(page, results=first[:1])
    assert "It is the best alone on the one that it shares" in sentences.model(one)


# ---- A scenario without a main metric of its own


def test_a_scenario_without_a_main_metric_is_told_by_the_archives_choice() -> None:
    page = FakeResults(models=2).scenario("knowledge")
    bare = structs.replace(page, facts=structs.replace(page.facts, main_metric=""))
    assert sentences.scenario(bare) == sentences.scenario(page)
    assert sentences.main_column(bare) == 0


# ---- Numbers


GENERAL = MetricFacts("num_trials", "Trials", "", "general_information")


def numbers(*names: str) -> list[Stat]:
    return [
        Stat(name, 1.0, "test", group, n_scored=1, n_asked=1)
        for name in names
        for group in ("", "level=easy")
    ]


def test_the_main_metric_leads_and_general_information_is_folded() -> None:
    manifest = structs.replace(samples.manifest(), metrics=(GENERAL, RUNTIME, EXACT))
    made = list(
        tables(
            numbers("num_trials", "inference_runtime", "exact_match"), manifest, EXACT
        )
    )
    assert [(t.caption, t.folded) for t in made] == [
        ("By split", False),
        ("By level", False),
        ("What was asked and how it ended", True),
    ]
    assert [r.title for r in made[0].rows] == ["Exact match", "Inference runtime"]
    assert [r.title for r in made[2].rows] == ["Trials"]
    assert [c.title for c in made[1].columns] == [
        "n",
        "Exact match",
        "Inference runtime",
    ]


def test_a_run_with_nothing_but_general_information_shows_it() -> None:
    manifest = structs.replace(samples.manifest(), metrics=(GENERAL,))
    (only,) = tables(numbers("num_trials"), manifest, None)
    assert not only.folded


# ---- Sentences of rare archives


class WithoutScores(FakeResults):
    """Runs that nobody has scored: no group has a family to show."""

    def groups(self) -> tuple[Group, ...]:
        return tuple(structs.replace(g, families=()) for g in super().groups())


def test_an_archive_of_runs_without_scores_is_not_called_empty(tmp_path: Path) -> None:
    build(WithoutScores(models=2), tmp_path / "site", SiteConfig())
    front = (tmp_path / "site" / "index.html").read_text()
    assert "No run of the archive has a score yet." in front
    assert "has no runs yet" not in front


def test_models_without_a_value_are_not_counted_among_those_that_have_one() -> None:
    page = FakeResults(models=3).scenario("knowledge")
    first, *rest = page.rows
    hole = Cell(missing="failed")
    empty = tuple(structs.replace(r, cells=(hole, *r.cells[1:])) for r in rest)
    words = sentences.scenario(structs.replace(page, rows=(first, *empty)))
    assert words.endswith("exact match 0.94; 2 without a value.")


def test_a_single_model_has_no_rank(tmp_path: Path) -> None:
    build(FakeResults(1, SCENARIOS[:1], 2), tmp_path / "site", SiteConfig())
    page = (
        tmp_path
        / "site"
        / SiteMap([], [], ["demo/willow-7b"], []).model("demo/willow-7b")
    ).read_text()
    assert "1 of 1" not in page
    models = (tmp_path / "site/models/index.html").read_text()
    assert ">1 model.<" in models


def test_the_legend_explains_what_the_table_holds_and_no_more() -> None:
    page = FakeResults(models=2).leaderboard("core")
    site = SiteMap([], [], [], [])
    full = board(page.columns, page.rows, site, "x.html", "").keys
    assert [k.split(":")[0] for k in full] == ["Bar", "Tint"]
    bare = tuple(
        structs.replace(
            r,
            cells=tuple(Cell(0.5, n_scored=1, n_asked=2, missing="") for _ in r.cells),
        )
        for r in page.rows
    )
    (only,) = board(page.columns, bare, site, "x.html", "").keys
    assert only.startswith("n/N")


# ---- A scenario's table


def test_a_scenarios_table_leaves_out_what_describes_the_requests() -> None:
    page = FakeResults(models=2).scenario("knowledge")
    general = structs.replace(page.columns[1], metric=GENERAL)
    columns, rows = telling((general, page.columns[0], general), page.rows)
    assert [c.metric.name for c in columns] == ["num_trials", "exact_match"]
    assert [r.cells for r in rows] == [r.cells[:2] for r in page.rows]


def test_a_hole_leads_to_the_runs_that_have_a_value() -> None:
    page = FakeResults(models=1).scenario("knowledge")
    hole = Cell(missing="not measurable", other_runs=("r2", "r3"))
    row = structs.replace(page.rows[0], cells=(page.rows[0].cells[0], hole, hole))
    site = SiteMap([], ["knowledge"], [], [])
    path = site.scenario("knowledge")
    made = board(page.columns, (row,), site, path, "Models", by="metric")
    more = [c.more.text if c.more else "" for c in made.rows[0].cells]
    assert more == ["+1", "+2", "+2"]


# ---- Many metrics


@pytest.mark.parametrize(("metrics", "shown"), [(1, 1), (12, 12), (13, 8), (24, 8)])
def test_of_many_metrics_the_first_are_in_sight_and_all_are_there(
    metrics: int, shown: int
) -> None:
    manifest = structs.replace(
        samples.manifest(),
        metrics=tuple(
            structs.replace(EXACT, name=f"m{i}", title=f"M{i}") for i in range(metrics)
        ),
    )
    stats = [Stat(f"m{i}", 0.5, "test") for i in range(metrics)]
    made = list(tables(stats, manifest, manifest.metrics[0]))
    assert [t.folded for t in made] == [False, True][: len(made)]
    assert len(made[0].rows) == shown
    titles = [row.title for table in made for row in table.rows]
    assert titles == [f"M{i}" for i in range(metrics)]
    if shown < metrics:
        left = metrics - shown - 3
        assert made[1].note == f"M8, M9, M10 and {left} others"


def test_runs_of_other_tools_are_told_apart_by_tool_then_by_time() -> None:
    tool = {"source_tool": "lm_eval"}

    def brought(run_id: str, started: float, **more: str) -> RunSummary:
        made = Provenance(started_at=started, **(tool | more))  # type: ignore[arg-type]
        return run_like(run_id, origin=f"lm_eval:{run_id}", provenance=made)

    named = run_names([brought("r1", 1e9), brought("r2", 1e9 + 1), run_like("r3")])
    assert [n.differs for n in named.values()] == [
        "lm_eval, 2001-09-09 01:46:40 UTC",
        "lm_eval, 2001-09-09 01:46:41 UTC",
        "native",
    ]


def test_a_number_that_the_source_reports_as_we_compute_it_has_one_row() -> None:
    summary = samples.summary()
    stats = [
        Stat("em", 0.5, split="test", n_scored=2, n_asked=2),
        Stat("em", 0.5 + 1e-12, split="test", n_scored=2, n_asked=2, origin="reported"),
        Stat("f1", 0.5, split="test", n_scored=2, n_asked=2),
        Stat("f1", 0.6, split="test", n_scored=2, n_asked=2, origin="reported"),
        Stat("ppl", None, split="test", missing="nan"),
        Stat("ppl", None, split="test", missing="nan", origin="reported"),
        Stat("loss", None, split="test", missing="nan"),
        Stat("loss", 0.5, split="test", n_scored=2, n_asked=2, origin="reported"),
        Stat("em", None, split="test", perturbation="robustness", computed_on="worst",
             missing="not asked", origin="reported"),
    ]  # fmt: skip
    made = list(tables(stats, summary.manifest, None))
    assert [t.caption for t in made] == ["By split"]
    assert [(r.title, r.note) for r in made[0].rows] == [
        ("em", "As the source reports it."),
        ("f1", ""),
        ("f1", "Reported by the source."),
        ("loss", ""),
        ("loss", "Reported by the source."),
        ("ppl", ""),
    ]


def test_a_scorer_that_is_called_as_its_metric_is_named_once() -> None:
    stats = [Stat("neat", 0.5, "test", scorer=name) for name in ("neat", "judge")]
    made = next(iter(tables(stats, samples.manifest(), None)))
    assert [row.title for row in made.rows] == ["neat (judge)", "neat"]


def test_a_run_of_another_tool_shows_no_prefix_that_its_source_never_said(
    tmp_path: Path,
) -> None:
    results = FakeResults(1, SCENARIOS[:1], 2)
    manifest = results.summaries[0].manifest
    adapter = AdapterSpec(
        method="generation", input_prefix="", input_suffix="", max_train_instances=0,
        num_outputs=1, max_tokens=48, temperature=0.5, stop_sequences=("</s>",),
    )  # fmt: skip
    for tool, is_told in (("inspect", True), ("helm", False)):
        results.summaries[0] = structs.replace(
            results.summaries[0],
            manifest=structs.replace(
                manifest,
                origin=f"{tool}:x",
                spec=structs.replace(manifest.spec, adapter=adapter),
                provenance=Provenance(source_tool=tool),
            ),
        )
        build(results, tmp_path / tool, SiteConfig())
        page = (tmp_path / tool / "runs" / manifest.run_id / "index.html").read_text()
        part = page.partition('id="settings"')[2].partition('id="instances"')[0]
        shown = part.partition("<details")[0]
        assert ("the source (inspect) tells them" in shown) is is_told
        assert ("Preset</th>" in shown) is not is_told
        assert ("input_suffix" in shown) is not is_told
        assert "max_tokens" in shown
        assert "48" in shown


def test_what_an_importer_fills_in_is_no_setting() -> None:
    unknown = AdapterSpec(
        input_prefix="", reference_prefix="", output_prefix="", num_outputs=1,
        max_train_instances=0, temperature=0.0, max_tokens=0,
    )  # fmt: skip
    assert [f.name for f in told_facts(unknown)] == ["max_train_instances"]


def test_a_value_on_another_split_alone_is_the_runs_value(tmp_path: Path) -> None:
    class OnAll(FakeResults):
        def page(self, summary: RunSummary) -> RunPage:
            page = super().page(summary)
            metric = page.summary.main_metric
            assert metric is not None
            hole = Cell(missing="not measurable", run_id=summary.manifest.run_id)
            stat = Stat(metric.name, 0.25, "", n_scored=4, n_asked=4)
            found = structs.replace(page.summary, main=hole)
            return structs.replace(page, summary=found, stats=(stat,))

    results = OnAll(1, SCENARIOS[:1], 2)
    build(results, tmp_path, SiteConfig())
    (page,) = tmp_path.glob("runs/r*/index.html")
    lead = page.read_text().partition('<p class="lead">')[2].partition("</p>")[0]
    assert "0.25" in lead
    assert "no value" not in lead


def test_a_description_without_a_full_stop_runs_into_no_other_sentence() -> None:
    facts = MetricFacts("tone", "Tone", "mean from a scorer", "accuracy")
    manifest = structs.replace(samples.manifest(), metrics=(facts,))
    stats = [Stat("tone", 0.5, "test", origin="reported")]
    (row,) = next(iter(tables(stats, manifest, facts))).rows
    assert row.note == "mean from a scorer. Reported by the source."
