"""The pages of runs, scenarios and models: what they say, and in which words."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import pytest
from msgspec import structs

from helmsite.archive import Archive
from helmsite.config import SiteConfig
from helmsite.query import Results
from helmsite.query.rows import Part
from helmsite.render import build, check_links, samples, sentences, views
from helmsite.render.charts import Dot, dot_plot
from helmsite.render.names import SiteMap
from helmsite.render.runtables import MOST_CELLS, tables
from helmsite.render.scatter import Point, scatter
from helmsite.schema import (
    Contamination,
    Counts,
    FileFacts,
    Manifest,
    PerturbationFacts,
    Stat,
    Taxonomy,
)
from tests.archive_cases import FACTS, small
from tests.site_source import ECE, EXACT, RUNTIME, SCENARIOS, FakeResults

if TYPE_CHECKING:
    from pathlib import Path

    from helmsite.query.rows import RunPage, RunSummary, ScenarioPage
    from helmsite.render.parts import Stats

FIRST = "r0000000000000000"


def stat(value: float | None, metric: str = "exact_match", **more: object) -> Stat:
    return Stat(metric, value, "test", n_scored=10, n_asked=10, **more)  # type: ignore[arg-type]


def made(*stats: Stat, linked: bool = True, **changes: object) -> dict[str, Stats]:
    manifest = structs.replace(
        samples.manifest(), metrics=(EXACT, ECE, RUNTIME), **changes
    )
    return {t.caption: t for t in tables(stats, manifest, EXACT, linked=linked)}


def texts(table: Stats) -> list[list[str]]:
    return [[r.title, *(c.text for c in r.cells)] for r in table.rows]


def text_of(page: str) -> str:
    main = page[page.index("<main") :]
    return " ".join(html.unescape(re.sub("<[^>]*>", " ", main)).split())


# ---- A run's numbers


def test_each_dimension_has_a_table_and_sub_splits_one_of_their_own() -> None:
    found = made(
        stat(0.5),
        stat(0.1, sub_split="anatomy"),
        stat(0.9, sub_split="virology"),
        stat(0.4, sub_split="level=easy"),
        stat(0.6, sub_split="subject=a=b"),
    )
    assert list(found) == ["By split", "By sub-split", "By level", "By subject"]
    assert texts(found["By sub-split"]) == [
        ["anatomy", "10", "0.100"],
        ["virology", "10", "0.900"],
    ]
    assert texts(found["By subject"]) == [["a=b", "10", "0.600"]]
    note = found["By sub-split"].note
    assert note == "Exact match from 0.100 (anatomy) to 0.900 (virology)"


def test_rows_lead_to_the_instances_that_they_are_about() -> None:
    name = "misspelling(prob=0.1)~0"
    found = made(
        stat(0.5),
        structs.replace(stat(0.5), split="valid"),
        stat(0.4, sub_split="virology & co"),
        stat(0.4, sub_split="subject=a=b"),
        *(stat(0.3, perturbation=name, computed_on=k) for k in ("original", "worst")),
        *(stat(0.3, trial=n) for n in (1, 0)),
    )
    states = {
        caption: [
            {k: v[0] for k, v in parse_qs(urlsplit(row.href).query).items()}
            for row in table.rows
        ]
        for caption, table in found.items()
        if caption != "By split"
    }
    plain = {"split": "test", "pert": "original"}
    assert states == {
        "By sub-split": [{**plain, "sub": "virology & co"}],
        "By subject": [{**plain, "group": "subject=a=b"}],
        "Under perturbations: Exact match": [{"split": "test", "pert": name}],
        "By trial": [{**plain, "trial": "0"}, {**plain, "trial": "1"}],
    }
    heads = [urlsplit(c.href) for c in found["By split"].columns]
    assert [(h.query, h.fragment) for h in heads] == [
        ("pert=original&split=test", "instances"),
        ("pert=original&split=valid", "instances"),
    ]


def test_a_run_of_one_split_needs_no_split_in_its_links() -> None:
    found = made(stat(0.5), stat(0.4, sub_split="level=easy"))
    assert found["By level"].rows[0].href == "?group=level%3Deasy#instances"


def test_without_published_instances_no_row_leads_anywhere() -> None:
    found = made(stat(0.5), stat(0.4, sub_split="level=easy"), linked=False)
    assert not [r.href for t in found.values() for r in t.rows if r.href]
    assert not [c.href for t in found.values() for c in t.columns if c.href]


def test_a_perturbation_stands_beside_its_original() -> None:
    name = "misspelling(prob=0.1)~0"
    kinds = {"original": 0.8, "perturbed": 0.55, "worst": 0.5}
    found = made(
        stat(0.75),
        *(stat(v, perturbation=name, computed_on=k) for k, v in kinds.items()),
        stat(0.45, perturbation="robustness", computed_on="worst"),
        stat(0.2, "ece_10_bin", perturbation=name, computed_on="original"),
        perturbations=(PerturbationFacts(name, "Misspellings"),),
    )
    first = found["Under perturbations: Exact match"]
    assert [c.title for c in first.columns] == [
        "Original",
        "Perturbed",
        "Difference",
        "Worst case",
    ]
    assert texts(first) == [
        ["Misspellings", "0.800", "0.550", "−0.250", "0.500"],
        ["robustness", "·", "·", "·", "0.450"],
    ]
    assert [r.note for r in first.rows] == [name, ""]
    assert first.rows[1].href == ""
    second = found["Under perturbations: ECE (10 bins)"]
    assert second.folded
    assert texts(second) == [["Misspellings", "0.200", "·", "·", "·"]]


def test_a_better_value_under_a_perturbation_has_its_sign() -> None:
    found = made(
        stat(0.1, perturbation="p", computed_on="original"),
        stat(0.1, perturbation="q", computed_on="original"),
        stat(0.3, perturbation="p", computed_on="perturbed"),
        stat(0.1, perturbation="q", computed_on="perturbed"),
    )
    (table,) = found.values()
    assert [r.cells[2].text for r in table.rows] == ["+0.200", "0.000"]


def test_many_groups_keep_their_first_metrics() -> None:
    names = [f"m{n:02}" for n in range(12)]
    rows = [
        stat(0.5, name, sub_split=f"subject={n:03}")
        for name in ("exact_match", *names)
        for n in range(200)
    ]
    (table,) = made(*rows).values()
    assert len(table.rows) == 200
    assert [c.title for c in table.columns] == ["n", "Exact match", "m00", "m01"]
    assert table.more == "10 more metrics in stats.parquet."
    assert sum(len(r.cells) - 1 for r in table.rows) == MOST_CELLS


def test_a_run_of_another_split_shows_that_splits_groups() -> None:
    stats = [
        structs.replace(s, split="valid")
        for s in (stat(0.5), stat(0.4, sub_split="level=easy"))
    ]
    assert texts(made(*stats)["By level"]) == [["easy", "10", "0.400"]]


# ---- A run's page


class Changed(FakeResults):
    """Runs whose manifests are changed."""

    def __init__(self, **changes: object) -> None:
        super().__init__(models=1)
        self.changes = changes

    def _changed(self, run: RunSummary) -> RunSummary:
        manifest = structs.replace(run.manifest, **self.changes)
        return structs.replace(run, manifest=manifest)

    def runs(self) -> tuple[RunSummary, ...]:
        return tuple(map(self._changed, super().runs()))

    def run(self, run_id: str) -> RunPage:
        page = super().run(run_id)
        return structs.replace(page, summary=self._changed(page.summary))


def built(results: FakeResults, out: Path, config: SiteConfig | None = None) -> Path:
    build(results, out, config or SiteConfig(title="Our evaluations"))
    assert check_links(out) == []
    return out


def run_page(results: FakeResults, out: Path) -> str:
    return (built(results, out) / "runs" / FIRST / "index.html").read_text()


@pytest.mark.parametrize(
    ("status", "counts", "expected"),
    [
        ("partial", Counts(10, 9, 1), "Partial run. 1 request failed for good and"),
        ("partial", Counts(10, 7, 3), "3 requests failed for good and count in no"),
        ("cancelled", Counts(10, 4, 1), "before its end. 1 request failed for good"),
        ("cancelled", Counts(10, 9, 0), "The run was stopped with 1 request never"),
        ("partial", Counts(10, 8, 0), "Partial run. 2 requests were never sent."),
        ("partial", Counts(), "Partial run. The run is partial."),
    ],
)
def test_how_a_run_ended_comes_first(
    tmp_path: Path, status: str, counts: Counts, expected: str
) -> None:
    page = run_page(Changed(status=status, counts=counts), tmp_path / "site")
    assert expected in text_of(page)
    assert f'<div class="ended {status}"' in page
    assert page.index('class="ended') < page.index("<h2>Numbers")


def test_a_complete_run_has_no_note(tmp_path: Path) -> None:
    page = run_page(FakeResults(models=1), tmp_path / "site")
    assert 'class="ended' not in page


class Perturbed(FakeResults):
    """A run of so many metrics under a perturbation, and a last table behind theirs."""

    def __init__(self, metrics: int) -> None:
        super().__init__(models=1)
        self.names = [f"m{n}" for n in range(metrics)]

    def page(self, summary: RunSummary) -> RunPage:
        page = super().page(summary)
        twins = [
            stat(0.5, name, perturbation="p", computed_on=kind)
            for name in self.names
            for kind in ("original", "perturbed", "worst")
        ]
        trials = [stat(0.5, "m0", trial=n) for n in range(2)]
        return structs.replace(page, stats=(*twins, *trials))


def test_perturbations_of_many_metrics_are_folded_together(tmp_path: Path) -> None:
    page = run_page(Perturbed(6), tmp_path / "site")
    assert page.count("Under perturbations: 5 other metrics</summary>") == 1
    start = page.index("5 other metrics")
    inside = page[start : page.index("</div></details>", start)]
    assert re.findall(r"<caption>Under perturbations: (\w+)", inside) == [
        f"m{n}" for n in range(1, 6)
    ]
    assert page.index("<caption>Under perturbations: m0") < start
    assert "<caption>By trial" not in inside
    assert page.count("<details") == page.count("</details>")


def test_perturbations_of_few_metrics_are_folded_one_by_one(tmp_path: Path) -> None:
    page = run_page(Perturbed(4), tmp_path / "site")
    assert "other metrics</summary>" not in page
    assert page.count("<summary>Under perturbations: m") == 3


def test_a_runs_files_stand_on_its_page(tmp_path: Path) -> None:
    files = {
        "stats": FileFacts(1200, 34567, "ab" * 32),
        "scores": FileFacts(7, 8, "0" * 64),
    }
    page = run_page(Changed(files=files), tmp_path / "site")
    assert "scores.parquet 8 bytes 7 000000000000…" in text_of(page)
    assert "stats.parquet 34.6 KB 1,200 abababababab…" in text_of(page)
    assert f'data-copy="{"ab" * 32}"' in page
    assert "This site offers none of them" in page
    assert '<a href="#downloads">download</a>' in page
    instances = (tmp_path / "site" / "runs" / FIRST / "1.html").read_text()
    assert '<a href="index.html#downloads">download</a>' in instances


def test_files_of_private_runs_say_why_they_are_not_offered(tmp_path: Path) -> None:
    files = {name: FileFacts(1, 2, "0" * 64) for name in ("requests", "stats")}
    out = built(Changed(files=files), tmp_path / "site")
    page = text_of((out / "runs" / "r0000000000000005" / "index.html").read_text())
    assert "requests.parquet not published: only aggregates" in page
    assert "stats.parquet not" not in page


def test_a_run_without_files_says_so(tmp_path: Path) -> None:
    page = run_page(Changed(files={}), tmp_path / "site")
    assert "The manifest of this run names no files." in page


def asked(page: str) -> dict[str, str]:
    part = page[page.index("How the model was set up") :]
    part = part[: part.index("</details>")]
    pairs = re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", part, re.DOTALL)
    strip = re.compile("<[^>]*>")
    return {strip.sub("", k): html.unescape(strip.sub("", v)) for k, v in pairs}


def test_settings_of_the_model_decoding_and_seeds_are_told(tmp_path: Path) -> None:
    out = built(FakeResults(models=1), tmp_path / "site")
    told = asked((out / "runs" / FIRST / "index.html").read_text())
    assert told["client"] == "llamacpp"
    assert told["n_ctx"] == "2048"
    assert told["decoding: temperature"] == "0"
    assert told["decoding: candidates a token"] == "5"
    assert told["seeds"] == "in-context examples: 0, 1 and 2 (the trials)"
    told = asked((out / "runs" / "r0000000000000002" / "index.html").read_text())
    assert told["decoding: stop"] == "“⏎\n”"
    told = asked((out / "runs" / "r0000000000000004" / "index.html").read_text())
    assert "seeds" not in told


def test_a_page_can_be_cited(tmp_path: Path) -> None:
    config = SiteConfig(title="Our <evaluations>", base_url="https://example.org/e/")
    out = built(FakeResults(models=1), tmp_path / "site", config)
    page = html.unescape((out / "runs" / FIRST / "index.html").read_text())
    assert (
        "Our <evaluations>: Willow 7B on General knowledge. "
        f"https://example.org/e/runs/{FIRST}/index.html "
        f"(run {FIRST}, spec 000000000000)"
    ) in page
    front = html.unescape((out / "index.html").read_text())
    assert (
        "https://example.org/e/index.html (built from archive state f00dfeed" in front
    )


def test_a_runs_page_depends_on_the_run_alone(tmp_path: Path) -> None:
    one = run_page(FakeResults(models=1), tmp_path / "one")
    many = run_page(FakeResults(models=8), tmp_path / "many")
    assert one == many


# ---- Sentences


def sentence(**changes: object) -> str:
    summary = samples.summary()
    manifest: Manifest = structs.replace(summary.manifest, **changes)
    return sentences.run(structs.replace(summary, manifest=manifest))


def test_a_sentence_counts_requests_only_where_some_were_not_answered() -> None:
    assert sentence(counts=Counts(8, 8)).startswith(
        "Alder 3B answered 4 of 4 instances of Colours ("
    )
    assert sentence(counts=Counts(8, 7, 1)).startswith(
        "Alder 3B answered 7 of 8 requests about 4 instances of Colours ("
    )
    assert sentence(counts=Counts(1, 0, 1)).startswith(
        "Alder 3B answered 0 of 1 request about 4 instances of Colours ("
    )


# ---- Scenarios and models


KNOWN = (
    Contamination(
        "knowledge", "strong", "It holds the <questions>.", "https://example.org/r"
    ),
    Contamination("mmlu", "weak"),
    Contamination("elsewhere:x=1", "weak", url="javascript:alert(1)"),
)


class Informed(FakeResults):
    """Models of one creator are a family; the first may have been trained on things."""

    def __init__(self, models: int = 4, groups: int = 3) -> None:
        super().__init__(models)
        self.groups_of_each = groups
        self.cards = tuple(
            structs.replace(c, family=c.creator, contamination=() if i else KNOWN)
            for i, c in enumerate(self.cards)
        )

    def scenario(self, name: str) -> ScenarioPage:
        page = super().scenario(name)
        main = tuple(row.cells[0] for row in page.rows)
        cells = tuple(structs.replace(c, value=0.25, best=False) for c in main)
        run = page.runs[0].manifest.run_id
        view = next(iter(self.instances(run)))
        return structs.replace(
            page,
            parts=(
                Part("test", "", main),
                Part("test", "anatomy", main),
                *(
                    Part("test", f"level={n}", cells)
                    for n in range(self.groups_of_each)
                ),
                Part("valid", "", cells),
                Part("valid", "level=1", main),
            ),
            example_instance=view.instance,
            example_reply=view.trials[0].requests[0].replies[0].completion,
            example_run=run,
        )


def page_of(out: Path, kind: str, name: str) -> str:
    found = SiteMap([], [name], [name], [])
    place = found.scenario(name) if kind == "scenario" else found.model(name)
    return (out / place).read_text(encoding="utf-8")


def test_a_scenarios_parts_have_a_table_each(tmp_path: Path) -> None:
    page = page_of(built(Informed(), tmp_path / "site"), "scenario", "knowledge")
    captions = re.findall(r"<caption>(.*?)</caption>", page)
    assert captions == [
        "Exact match by split",
        "Exact match by sub-split",
        "Exact match by level",
    ]
    table = page[page.index("<caption>Exact match by level") :]
    table = table[: table.index("</table>")]
    assert re.findall(r'<th scope="row" class="first">(.*?)</th>', table) == list("012")
    assert table.count(">0.250<") == 3 * 4
    assert 'href="../../runs/r0000000000000000/index.html"' in table


def test_what_a_taxonomy_does_not_tell_is_left_out(tmp_path: Path) -> None:
    taxonomy = Taxonomy("?", "n/a", " ? ", "N/A", "English")
    facts = structs.replace(SCENARIOS[0], taxonomy=taxonomy)
    out = built(FakeResults(2, (facts,)), tmp_path / "site")
    page = page_of(out, "scenario", facts.name)
    named = re.findall(
        r"<dt>(.*?)</dt><dd>(.*?)</dd>", page[page.index("What it is") :]
    )
    assert dict(named)["Language"] == "English"
    assert not {"Task", "What", "Who", "When"} & dict(named).keys()
    line = (out / "scenarios" / "index.html").read_text(encoding="utf-8")
    assert re.findall(r"</th><td>(.*?)</td><td>(.*?)</td>", line) == [("", "English")]


def test_many_parts_are_folded_and_tell_their_range(tmp_path: Path) -> None:
    out = built(Informed(groups=57), tmp_path / "site")
    page = page_of(out, "scenario", "knowledge")
    folded = re.search(r'<details class="more"><summary>(.*?)</summary>', page)
    assert folded
    assert text_of(f"<main>{folded[1]}") == (
        "Exact match by level 57 rows; Willow 7B: 0.250 in each"
    )


def test_sizes_are_a_chart_and_families_are_joined(tmp_path: Path) -> None:
    page = page_of(built(Informed(), tmp_path / "site"), "scenario", "knowledge")
    chart = page[page.index('aria-label="Chart by size"') :]
    chart = chart[: chart.index("</svg>")]
    assert chart.count('<circle class="dot"') == 4
    assert re.findall(r"<polyline[^>]*><title>(.*?)</title>", chart) == [
        "Demo Lab",
        "Heather",
    ]
    assert "Willow 7B: 7.2B parameters, Exact match 0.9" in chart
    assert "style=" not in chart


def test_one_size_makes_no_chart(tmp_path: Path) -> None:
    page = page_of(
        built(Informed(models=1), tmp_path / "site"), "scenario", "knowledge"
    )
    assert "Chart by size" not in page
    assert "1 model was run on General knowledge" in page


def test_labels_of_a_crowded_chart_do_not_cover_each_other() -> None:
    points = [Point(f"Model {n}", "x.html", 0.5, size=1e9 + n) for n in range(30)]
    points.append(Point("Far <away>", "y.html", 1e300, size=1e6))
    points.append(Point("Small", "y.html", 0.1, 0.0, 0.2, size=1e7))
    chart = scatter(points, EXACT, "Title")
    assert chart.count('<circle class="dot"') == 31
    assert chart.count('class="point"') == 2
    assert "Far" not in chart
    assert scatter(points[:1] * 3, EXACT, "Title") == ""


@pytest.mark.parametrize(
    "title", ["F1", "Calibration error after Platt scaling (10 bins)"]
)
def test_a_chart_has_room_on_a_phone_and_cuts_no_words_of_its_axis(title: str) -> None:
    metric = structs.replace(EXACT, title=title, higher_is_better=False)
    long = "A model of a name so long that two lines cannot hold all of it, by far"
    names = ("Short", "Two lines: BBQ (Bias Benchmark for Questions)", long)
    dots = [
        Dot(n, "x.html", v, 0.0, 1.0) for n, v in zip(names, (0.1, 1, 0), strict=True)
    ]
    points = [Point(n, "x.html", 0.5, size=1e6**i) for i, n in enumerate(names, 1)]
    words: dict[str, list[str]] = {}
    for chart in (dot_plot(dots, metric, "Title"), scatter(points, metric, "Title")):
        width, height = map(int, re.findall(r'viewBox="0 0 (\d+) (\d+)"', chart)[0])
        texts = re.findall(
            r'<text class="(\w+)"[^>]* x="([\d.]+)" y="([\d.]+)">([^<]*)', chart
        )
        assert width <= 410
        for kind, x, y, text in texts:
            assert 0 <= float(x) <= width, text
            assert 0 < float(y) <= height, text
            words.setdefault(kind, []).append(text)
    assert words["name"][:1] == ["A model of a name so long that"]
    assert words["name"][1].endswith("…")
    assert not any(line.startswith("→") for line in words["axis"])
    axis = " ".join(words["axis"]).replace("\N{NO-BREAK SPACE}", " ")
    assert axis.startswith(f"{title}, ← lower is better {title}, ↓ lower is better, by")
    assert axis.endswith("parameters →")
    assert max(map(len, words["axis"])) <= 54


def test_an_interval_that_no_scale_holds_changes_no_chart_by_size() -> None:
    metric = structs.replace(EXACT, format="number")
    other = Point("Large", "y.html", 2.0, 1.5, 2.5, size=2e9)
    wild = Point("Small", "x.html", 1.0, -1e300, 900.0, size=1e9)
    charts = [
        scatter([p, other], metric, "Title")
        for p in (wild, structs.replace(wild, low=None, high=None))
    ]
    assert charts[0] == charts[1]
    assert charts[0].count('class="reach') == 1


def test_the_example_has_its_completion_and_what_was_right(tmp_path: Path) -> None:
    out = built(Informed(), tmp_path / "site")
    text = text_of(page_of(out, "scenario", "knowledge"))
    assert re.search(r"Completion A References Rome ✓ correct Milan This is", text)
    page = page_of(out, "scenario", "knowledge")
    assert 'href="../../runs/r0000000000000000/index.html?id=id0#instances"' in page
    private = page_of(out, "scenario", "private")
    assert "Rome" not in private
    assert "aggregates only: no instance, prompt or completion" in private


def test_a_citation_can_be_copied(tmp_path: Path) -> None:
    page = page_of(built(Informed(), tmp_path / "site"), "scenario", "knowledge")
    assert re.search(r'<pre class="text" data-copy="Copy"[^>]*>\n@misc\{demo,', page)


def test_contamination_is_told_wherever_it_bears(tmp_path: Path) -> None:
    out = built(Informed(), tmp_path / "site")
    model = page_of(out, "model", "demo/willow-7b")
    part = model[model.index('id="contamination"') :]
    part = part[: part.index("<h2>")]
    assert (
        "Known contamination Scenario Evidence What is known "
        "General knowledge ‼ strong It holds the <questions>. source "
        "MMLU anatomy ! weak elsewhere:x=1 not on this site ! weak Strong:"
    ) in text_of(f"<main>{part}")
    assert "javascript:" not in part
    words = "strong evidence that the model was trained on this scenario: It holds the"
    for place in ("index.html", "scenarios/knowledge/index.html"):
        page = html.unescape((out / place).read_text(encoding="utf-8"))
        assert page.count(f'title="{words}') == 1, place
        assert "†: the model may have been trained on the scenario" in page
    scenario = page_of(out, "scenario", "knowledge")
    assert '<th scope="row" class="first"><a href="../../models/' in scenario
    clean = page_of(out, "model", "demo/willow-1b")
    assert "contamination" not in clean
    assert "†" not in clean
    run = (out / "runs" / FIRST / "index.html").read_text(encoding="utf-8")
    assert "†" not in run


def test_a_models_page_tells_its_win_rate_its_setups_and_its_gaps(
    tmp_path: Path,
) -> None:
    out = built(FakeResults(), tmp_path / "site")
    text = text_of(page_of(out, "model", "demo/willow-7b"))
    assert "Mean win rate 0.857 over 7 columns." in text
    assert "Runtime llama.cpp b1" in text
    assert "Quantisation Q4_K_M" in text
    assert "No run on Hostile <script>alert(1)</script>" in text
    page = page_of(out, "model", "demo/willow-7b")
    chart = page[page.index("<svg") : page.index("</svg>")]
    assert chart.count("<a href=") == 5  # bits per byte is no share
    assert 'href="../../scenarios/knowledge/index.html"' in chart


@pytest.mark.parametrize("skill", [0.0, 1.0])
def test_all_and_none_correct_read_well(tmp_path: Path, skill: float) -> None:
    results = FakeResults(3, SCENARIOS[:2], 2, (skill,) * 3)
    out = built(results, tmp_path / "site")
    text = text_of(page_of(out, "scenario", "knowledge"))
    assert (
        f"3 models were run on General knowledge: exact match {skill:.2f} for" in text
    )
    run = text_of((out / "runs" / FIRST / "index.html").read_text())
    assert "answered 120 of 120 instances of General knowledge (5-shot" in run
    assert f"exact match {skill:.2f}" in run


def test_an_empty_archive_says_how_to_fill_every_list(tmp_path: Path) -> None:
    out = built(FakeResults(models=0), tmp_path / "site")
    for place in ("scenarios", "models", "runs"):
        page = text_of((out / place / "index.html").read_text())
        assert "The archive has no runs yet. Make some with “helmsite run”" in page
    data = text_of((out / "data" / "index.html").read_text())
    assert "This site offers no downloads" in data


def test_an_archives_scenario_has_its_parts_and_a_whole_example(tmp_path: Path) -> None:
    archive = Archive(tmp_path / "runs")
    run = small(3)
    stats = [
        *run.stats,
        Stat("exact_match", 0.25, "test", "anatomy", n_scored=2, n_asked=3),
        Stat("exact_match", 0.5, "test", perturbation="p", computed_on="original"),
    ]
    archive.write_run(structs.replace(run.manifest, metrics=(FACTS,)), *run[1:4], stats)
    with Results(archive, SiteConfig(), None) as results:
        page = results.scenario("mmlu:subject=a/b")
        assert [(p.split, p.sub_split, p.cells[0].value) for p in page.parts] == [
            ("test", "", 0.5),
            ("test", "anatomy", 0.25),
        ]
        assert (page.parts[1].cells[0].n_scored, page.parts[1].cells[0].n_asked) == (
            2,
            3,
        )
        assert page.example_reply
        assert page.example_reply.text == " A"
        assert page.example_instance
        assert page.example_instance.gold == ("yes",)
        assert page.example_run == run.manifest.run_id
        built(results, tmp_path / "site")  # type: ignore[arg-type]


def test_what_became_known_of_contamination_renders_no_run(tmp_path: Path) -> None:
    out = tmp_path / "site"
    first = build(FakeResults(models=2), out, SiteConfig())
    known: dict[str, tuple[Contamination, ...]] = {
        "demo/willow-7b": (Contamination("knowledge", "weak"),)
    }
    again = build(FakeResults(models=2), out, SiteConfig(contamination=known))
    assert first.rendered == again.reused > 0
    assert again.rendered == 0
    assert not again.current


def test_a_scenario_tells_at_once_who_has_the_lowest_and_the_highest_value() -> None:
    page = FakeResults().scenario("knowledge")
    values = {r.card.title: r.cells[0].value or 0.0 for r in page.rows}
    low, high = min(values, key=values.__getitem__), max(values, key=values.__getitem__)
    words = sentences.scenario(page)
    assert f" from {values[low]:.2f} ({low}) to {values[high]:.2f} ({high})." in words
    top = next(r for r in page.rows if r.card.title == high)
    twice = structs.replace(page, rows=(*page.rows, top))
    assert f"({low}) to {values[high]:.2f}." in sentences.scenario(twice)


def test_white_space_of_an_example_completion_can_be_seen() -> None:
    told = views.reply(" \n")
    assert told
    assert "␣" in told.html
    assert "⏎" in told.html
    told = views.reply(" A")
    assert told
    assert told.html == "<i> </i>A"
    assert views.reply("") is None
