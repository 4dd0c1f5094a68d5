"""Pages of results that came without instances: cells, sources, checkpoints and sizes."""

from __future__ import annotations

import html
import re
import time
from html.parser import HTMLParser
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from helmsite.archive import Archive, BatchFacts
from helmsite.cli import main
from helmsite.config import GroupConfig, SiteConfig, load_project
from helmsite.errors import ConfigError
from helmsite.query import Results
from helmsite.query.rows import Cell, Column, LeaderboardRow
from helmsite.render import build, curves, reach, scatter, sizes
from helmsite.render.links import check_links
from helmsite.render.names import SiteMap
from helmsite.render.sourceview import moment
from helmsite.schema import (
    MetricFacts,
    ModelCard,
    PublishedStat,
    ScenarioFacts,
    Stat,
)
from tests.hostile import NAMES
from tests.importing import bring
from tests.published_results import ACC, CHANGING, RAN, SCENARIOS, SIZES, STEPS, write

if TYPE_CHECKING:
    from pathlib import Path

    from helmsite.render.build import BuildReport

SECONDS = 10


def built(archive: Archive, out: Path, **site: object) -> BuildReport:
    config = SiteConfig(title="Papers", **site)  # type: ignore[arg-type]
    with Results(archive, config, cache=None) as results:
        return build(results, out, config)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("published")
    built(write(folder / "runs"), folder / "site")
    return folder / "site"


def page(site: Path, path: str) -> str:
    return (site / path).read_text(encoding="utf-8")


def told(source: str) -> str:
    """Return what a page says, without its markup."""
    body = source.partition("<main")[2]
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", body)).split())


def of_model(site: Path, name: str) -> str:
    return next(
        source
        for path in sorted((site / "models").glob("*/index.html"))
        for source in [path.read_text(encoding="utf-8")]
        if f"<dd>{name}</dd>" in source
    )


def source_of(site: Path, name: str) -> str:
    """Return the path of a file's page from the site's root."""
    (found,) = (site / "sources").glob(f"*/*/*{name}.json-*.html")
    return found.relative_to(site).as_posix()


def test_every_link_of_the_site_leads_somewhere(site: Path) -> None:
    assert check_links(site) == []
    assert len(list((site / "sources").glob("papers/lm_eval/*.html"))) == 8


def test_a_cell_leads_to_its_line_on_the_page_of_its_source(site: Path) -> None:
    board = page(site, "groups/all/accuracy.html")
    target = source_of(site, "oak-1b-step143000")
    found = re.findall(
        rf'<td[^>]*data-r[^>]*><a href="\.\./\.\./({target}#[^"]+)">', board
    )
    assert len(found) == len(SCENARIOS)
    ids = set(re.findall(r'<tr id="([^"]+)">', page(site, target)))
    assert {address.partition("#")[2] for address in found} == ids
    assert "Italics: as reported by its source, not computed here." in told(board)
    ran = re.search(r'<td[^>]*>(<a href="\.\./\.\./runs/[^"]+">)', board)
    assert ran
    assert "data-r" not in ran[0]


def test_a_source_says_what_made_it_and_all_that_it_holds(site: Path) -> None:
    text = told(page(site, source_of(site, "oak-410m-step143000")))
    for part in (
        "lm-evaluation-harness 0.3.0 reports 5 values of oak-410m on 4 scenarios",
        "They came without instances",
        "File oak/oak-410m-step143000.json",
        f"SHA-256 {len('oak/oak-410m-step143000.json'):064x}",
        "Suite papers",
        "In the archive suite=papers/published/lm_eval.parquet",
        "num_fewshot 0 revision step143000",
        "batch_size 16 device cuda",
        "0.400 se 0.0125",
        "Perplexity ↓",
        "se: the standard error that the source gives. Accuracy: Share of right answers.",
    ):
        assert part in text, part
    assert re.search(r"LAMBADA 0\.550 se 0\.0125 11\.5", text)


def test_sources_are_listed_from_runs_and_data(site: Path) -> None:
    listed = page(site, "sources/index.html")
    assert "8 files report 40 values of 4 models; they came without" in told(listed)
    assert listed.count("<tr>") == 1 + 8
    for start in ("runs/index.html", "data/index.html"):
        assert '<a href="../sources/index.html">8 files of results' in page(site, start)


def test_other_checkpoints_are_one_link_away(site: Path) -> None:
    board = page(site, "groups/all/accuracy.html")
    (to,) = set(
        re.findall(r'<a href="([^"]+)" title="4 other results of this model', board)
    )
    assert to.endswith("#reported")
    model = of_model(site, CHANGING)
    assert '<h2 id="reported">' in model
    rows = re.findall(r'<th scope="row" class="first">(step[^<]+)</th>', model)
    assert rows == [
        *(f"step{s}, zero-shot" for s in STEPS[:-1]),
        "step143000, 5-shot",
        "step143000, zero-shot",
    ]
    text = told(model)
    assert "results in 5 files on 4 scenarios" in text
    assert "MMLU Accuracy, mean of 2" in text
    assert "oak-70m-step" not in text
    assert 'id="reported"' not in of_model(site, RAN)


def test_curves_are_drawn_for_models_with_checkpoints_alone(site: Path) -> None:
    curve = re.compile(
        r'<svg[^>]*aria-label="[^"]*by training step">(.*?)</svg>', re.DOTALL
    )
    (found,) = curve.findall(of_model(site, CHANGING))
    assert found.count("<polyline") == 3  # PIQA, LAMBADA and the mean of MMLU
    assert "MMLU (2)" in found
    assert "step 512: 0.300" in found
    assert not curve.search(of_model(site, "lab/oak-1b"))
    scenario = page(site, "scenarios/lambada/index.html")
    (found,) = curve.findall(scenario)
    assert found.count("<polyline") == 1
    assert ">oak-410m</text>" in found


def test_sizes_are_drawn_and_families_joined(site: Path) -> None:
    scenario = page(site, "scenarios/lambada/index.html")
    drawn = re.search(
        r'<svg[^>]*aria-label="[^"]*number of parameters">.*?</svg>',
        scenario,
        re.DOTALL,
    )
    assert drawn
    assert drawn[0].count("<circle") == len(SIZES)
    assert "<title>lab/oak-</title>" in drawn[0]
    board = page(site, "groups/all/accuracy.html")
    assert (
        "Accuracy by size: the mean over 4 scenarios in which 4 models whose size is known "
        "have a value." in told(board)
    )


def test_pages_without_runs_say_so_in_words(tmp_path: Path) -> None:
    archive = Archive(tmp_path / "runs")
    archive.write_published("s", "b", [PublishedStat("x", "m", Stat("acc", 0.5))])
    report = built(archive, tmp_path / "site")
    assert report.warnings == ()
    site = tmp_path / "site"
    scenario = told(page(site, "scenarios/x/index.html"))
    assert (
        "1 model has a result on x, as reported and without instances: acc 0.500."
        in scenario
    )
    assert "Runs" not in scenario
    runs = told(page(site, "runs/index.html"))
    assert "No runs: everything in this archive came without instances." in runs
    assert "1 scenario." in told(page(site, "scenarios/index.html"))
    assert "unnamed file" in told(page(site, "sources/index.html"))
    assert "m has results in 1 file on 1 scenario" in told(
        page(site, "models/m/index.html")
    )


def test_rows_of_revisions(tmp_path: Path) -> None:
    archive = write(tmp_path / "runs")
    built(archive, tmp_path / "site", rows="revision")
    board = page(tmp_path / "site", "groups/all/accuracy.html")
    rows = re.findall(r'>oak-410m</a> <span class="variant">([^<]+)</span>', board)
    assert sorted(rows) == sorted(f"step{s}" for s in STEPS)
    assert "8 lines of 5 models on 4 scenarios" in told(board)
    models = told(page(tmp_path / "site", "models/index.html"))
    assert models.count("oak-410m") == 2  # title and name, once each


def test_rows_stand_in_the_projects_settings(tmp_path: Path) -> None:
    file = tmp_path / "helmsite.toml"
    for written, rows in (
        ('"model"', ()),
        ('"revision"', ("revision",)),
        ('["model", "revision", "num_fewshot"]', ("revision", "num_fewshot")),
    ):
        file.write_text(f"[site]\nrows = {written}\n")
        assert load_project(tmp_path).site.row_settings == rows
    file.write_text("[site]\nrows = 3\n")
    with pytest.raises(ConfigError, match="rows"):
        load_project(tmp_path)


def test_two_builds_are_equal_and_a_change_of_a_batch_is_seen(tmp_path: Path) -> None:
    archive = write(tmp_path / "runs")
    out = tmp_path / "site"
    first = built(archive, out)
    assert not first.current
    assert built(archive, out).current
    built(archive, tmp_path / "again")
    for path in sorted(out.rglob("*")):
        if path.is_file():
            twin = tmp_path / "again" / path.relative_to(out)
            assert path.read_bytes() == twin.read_bytes(), path
    archive.write_published("papers", "lm_eval", [*archive.published()][:5])
    changed = built(archive, out)
    assert not changed.current
    assert changed.reused == 1  # the run's pages know nothing of it
    assert check_links(out) == []


class Acting(HTMLParser):
    """Collects what acts on a page: elements and handlers that no template writes."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = dict(attrs)
        if tag in {"img", "iframe", "form", "base", "embed", "object", "style"}:
            self.found.append(tag)
        if tag == "script" and not (known.get("src") or "").endswith(".js"):
            self.found.append(tag)
        self.found += [n for n in known if n.startswith("on") or n == "style"]
        led = [known.get("href") or "", known.get("src") or ""]
        self.found += [to for to in led if to.startswith(("javascript:", "data:"))]


def test_hostile_names_are_text(tmp_path: Path) -> None:
    rows = [
        PublishedStat(
            name,
            name,
            Stat(ACC.name, 0.5, stderr=0.1, scorer=name),
            {name: name, "revision": f"step{n}"},
            name,
            name,
        )
        for n, name in enumerate(NAMES.values())
    ]
    facts = BatchFacts(
        NAMES["script"],
        tuple(ScenarioFacts(n, n, n) for n in NAMES.values()),
        (ACC,),
        tuple(ModelCard(n, n, n) for n in NAMES.values()),
        {n: n for n in NAMES.values()},
    )
    archive = Archive(tmp_path / "runs")
    archive.write_published(NAMES["path"], NAMES["bidi"], rows, facts)
    for more in ({}, {"rows": ("revision", NAMES["script"])}):
        built(archive, tmp_path / "site", **more)
        assert check_links(tmp_path / "site") == []
        for path in (tmp_path / "site").rglob("*.html"):
            acting = Acting()
            acting.feed(path.read_text(encoding="utf-8"))
            assert acting.found == [], path


def test_an_address_of_a_source_depends_on_nothing_else(tmp_path: Path) -> None:
    rows = [
        PublishedStat("x", "m", Stat("acc", 0.5), {}, file)
        for file in ("a.json", "A.json")
    ]
    archive = Archive(tmp_path / "runs")
    archive.write_published("s", "b", rows[:1])
    with Results(archive, SiteConfig(), None) as results:
        (alone,) = results.sources()
    archive.write_published("s", "b", rows)
    with Results(archive, SiteConfig(), None) as results:
        both = {s.file: s for s in results.sources()}
    assert both["a.json"] == alone
    assert SiteMap((), (), (), (), (), [alone]).source(f"{alone.key}-ab") == (
        "sources/s/b/a.json.html#v-ab"
    )
    places = SiteMap((), (), (), (), (), both.values())
    assert len({places.source(s.key).lower() for s in both.values()}) == 2
    assert places.source("p") == ""


# ---- Charts

SHARE = MetricFacts(
    "acc", "Accuracy", "", "accuracy", higher_is_better=True, format="share"
)
NUMBER = MetricFacts("loss", "Loss", "", "loss", higher_is_better=False)
POINT = st.tuples(
    st.floats(allow_nan=False, allow_infinity=False) | st.integers(0, 10**6).map(float),
    st.floats(-2, 2) | st.floats(allow_nan=False, allow_infinity=False),
)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(
    st.lists(st.lists(POINT, max_size=6), max_size=10), st.sampled_from([SHARE, NUMBER])
)
def test_any_curves_can_be_drawn(
    lines: list[list[tuple[float, float]]], metric: MetricFacts
) -> None:
    given_curves = [
        curves.Curve(
            f"line {n}",
            "x",
            tuple(
                curves.Step("", "y", value, value - 0.1, value + 0.1, step=step)
                for step, value in sorted(points)
            ),
        )
        for n, points in enumerate(lines)
    ]
    drawn = str(curves.curves(given_curves, metric, "t"))
    numbers = re.findall(r' (?:x|y|cx|cy|x1|x2|y1|y2)="([^"]+)"', drawn)
    places = [
        p for found in re.findall(r'points="([^"]+)"', drawn) for p in found.split()
    ]
    for each in [*numbers, *(n for p in places for n in p.split(","))]:
        assert -1 <= float(each) <= 500, drawn
    several = any(
        len({s for s, v in points if 0 <= s < 1e12 and abs(v) < 1e12}) > 1
        for points in lines
    )
    assert bool(drawn) == several


def labels(drawn: str) -> dict[str, float]:
    found = re.findall(
        r'<text class="name[^"]*" x="[^"]+" y="([^"]+)">([^<]+)</text>', drawn
    )
    return {name: float(y) for y, name in found}


def line(name: str, *values: float) -> curves.Curve:
    points = (curves.Step("", "y", v, step=10.0**n) for n, v in enumerate(values))
    return curves.Curve(name, "x", tuple(points))


def test_labels_of_curves_stand_apart_and_inside() -> None:
    drawn = str(curves.curves([line(f"l{n}", 0.9, 0.1) for n in range(8)], SHARE, "t"))
    places = sorted(labels(drawn).values())
    assert len(places) == 8
    assert all(b - a >= 14.9 for a, b in pairwise(places))
    assert places[0] > 0
    assert places[-1] <= curves.TOP + curves.HEIGHT + 4.1


def test_of_many_curves_those_that_change_most_are_drawn() -> None:
    many = [line(f"l{n}", 0.5, 0.5 + n / 100) for n in range(12)]
    drawn = str(curves.curves(many, SHARE, "t"))
    assert set(labels(drawn)) == {f"l{n}" for n in range(4, 12)}


def test_far_steps_are_drawn_on_a_logarithmic_axis() -> None:
    ticks = re.compile(r'<text class="tick"[^>]*>([^<]+)<')
    far = str(curves.curves([line("a", *[0.1] * 6)], SHARE, "t"))
    assert ticks.findall(far) == ["1", "10", "100", "1K", "10K", "100K"]
    near = [curves.Step("", "", 0.1, step=s) for s in (1000.0, 2000.0, 3000.0)]
    drawn = str(curves.curves([curves.Curve("a", "", tuple(near))], SHARE, "t"))
    assert ticks.findall(drawn) == ["1K", "1.5K", "2K", "2.5K", "3K"]


def test_labels_of_points_cover_nothing() -> None:
    points = [
        scatter.Point(
            label=f"model {n}",
            href="x",
            value=0.4 + 0.02 * n,
            size=10.0 ** (8 + n / 10),
            family="a" if n % 2 else "b",
        )
        for n in range(12)
    ]
    drawn = str(scatter.scatter(points, SHARE, "t"))
    boxes = [
        (x - 7 * len(name), x, y) if anchor == "end" else (x, x + 7 * len(name), y)
        for anchor, x, y, name in (
            (anchor, float(x), float(y), name)
            for anchor, x, y, name in re.findall(
                r'text-anchor="([^"]+)" x="([^"]+)" y="([^"]+)">([^<]+)<', drawn
            )
        )
    ]
    dots = re.findall(r'<circle class="dot" cx="([^"]+)" cy="([^"]+)"', drawn)
    assert len(dots) == 12
    assert ">model 11</text>" in drawn  # the largest of its family
    assert len(boxes) > 3
    for left, right, base in boxes:
        inside = [
            (x, y) for x, y in dots
            if left < float(x) < right and base - 10 < float(y) < base
        ]  # fmt: skip
        assert inside == []


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("EleutherAI/pythia-410m-deduped", "EleutherAI/pythia--deduped"),
        ("facebook/opt-6.7b", "facebook/opt-"),
        ("bigscience/bloom-7b1", "bigscience/bloom-"),
        ("openai/gpt-4", ""),
    ],
)
def test_models_of_one_name_but_for_the_size_are_a_family(
    name: str, family: str
) -> None:
    assert sizes.family(ModelCard(name)) == family
    assert sizes.family(ModelCard(name, family="own")) == "own"


def test_what_could_have_filled_a_cell_is_counted_together() -> None:
    assert reach.unseen(Cell()) == ""
    assert reach.unseen(Cell(other_runs=("a",))) == "1 other run"
    assert reach.unseen(Cell(other_runs=("a",), more_sources=2)) == "3 other results"
    assert reach.origin(Cell(origin="reported")) == "as reported by its source"
    assert reach.origin(Cell(origin="reported", source="p-1")).endswith(
        "without instances"
    )


# ---- Pythia


def test_pythia_becomes_a_leaderboard_in_seconds(shared: Path, tmp_path: Path) -> None:
    samples = shared / "samples" / "pythia"
    start = time.process_time()
    brought = bring([samples], tmp_path / "runs")
    mmlu = GroupConfig(
        "Core", scenarios=("arc_easy", "piqa"), groups=("hendrycksTest",), combine=True
    )
    site = SiteConfig(groups={"core": mmlu})
    with Results(brought.archive, site, tmp_path / "cache") as results:
        shown = results.leaderboard("core")
        build(results, tmp_path / "site", site)
    assert time.process_time() - start < SECONDS
    assert brought.report.notes.problems == []
    assert [len(c.parts) for c in shown.columns] == [1, 1, 57]
    assert all(c.is_whole and c.ci_low is not None for r in shown.rows for c in r.cells)
    sized = {r.card.name: r.card.num_parameters for r in shown.rows}
    assert len(sized) == 29
    assert sized["EleutherAI/pythia-1.4b-deduped"] == 1_400_000_000
    assert sized["bigscience/bloom-7b1"] == 7_100_000_000
    board = page(tmp_path / "site", "index.html")
    assert 'aria-label="Accuracy by parameters"' in board
    model = of_model(tmp_path / "site", "EleutherAI/pythia-410m")
    assert len(set(re.findall(r">(step\d+), zero-shot</th>", model))) == 27
    assert "hendrycksTest (57)" in model


def test_a_model_without_most_values_leaves_the_others_their_plot() -> None:
    def row(name: str, size: int, values: str) -> LeaderboardRow:
        cells = tuple(
            Cell(value=0.5, missing="") if v == "x" else Cell() for v in values
        )
        return LeaderboardRow(ModelCard(name, num_parameters=size), cells)

    columns = [Column(ScenarioFacts(n), SHARE) for n in "abcd"]
    columns.append(Column(ScenarioFacts("e"), NUMBER))
    rows = [
        row("one", 1, "xxx.x"),
        row("poor", 2, "...xx"),
        row("two", 3, "xxx.."),
        row("three", 4, "xxxx."),
    ]
    drawn, places = sizes._block(columns, rows)
    assert [r.card.name for r in drawn] == ["three", "one", "two"]
    assert places == [0, 1, 2]
    assert sizes._block(columns, rows[:2]) == ([], [])
    assert sizes._block([], []) == ([], [])


def test_lines_of_one_model_are_told_apart_in_the_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "runs")
    (tmp_path / "helmsite.toml").write_text('[site]\nrows = "revision"\n')
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    done = CliRunner().invoke(main, ["aggregate"], catch_exceptions=False)
    assert done.exit_code == 0
    for step in STEPS:
        assert f"oak-410m, step{step}" in " ".join(done.output.split())


def test_what_cells_mean_is_kept_when_more_files_come(
    shared: Path, tmp_path: Path
) -> None:
    samples = shared / "samples" / "pythia"
    bring([samples / "opt"], tmp_path / "runs")
    first = bring([samples / "bloom"], tmp_path / "runs").archive
    again = bring([samples / "opt", samples / "bloom"], tmp_path / "runs")
    assert again.report.cells == {}
    (batch,) = first.batches()
    facts = first.published_facts(batch)
    assert {c.name.partition("/")[0] for c in facts.cards} == {"facebook", "bigscience"}
    assert len(facts.scenarios) == 65
    assert facts.tool == "lm-evaluation-harness"
    with Results(first, SiteConfig(), None) as results:
        assert len(results.sources()) == 8 + 5
        assert all(m.card.num_parameters for m in results.models())


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (1795982282.76, "2026-11-29 19:58:02 UTC"),
        (True, "true"),
        ("2026-11-29", "2026-11-29"),
        (1e300, "? (1e+300)"),
    ],
)
def test_a_time_among_settings_is_shown_as_one(value: object, shown: str) -> None:
    assert moment(value) == shown
