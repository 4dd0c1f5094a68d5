"""Columns that stand for several scenarios, on the pages of a site."""

from __future__ import annotations

import re
from html import unescape
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner
from msgspec import structs

from helmsite.archive import Archive
from helmsite.cli import main
from helmsite.config import GroupConfig, SiteConfig
from helmsite.query import Results
from helmsite.query.rows import Cell
from helmsite.render import board as boards
from helmsite.render import build, joints, samples
from helmsite.schema import Contamination, ModelCard
from tests.query_runs import make_run

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from helmsite.schema import ScenarioFacts

CORE = GroupConfig("Core", groups=("mmlu", "boolq"), combine=True)
OTHER = GroupConfig("Other", groups=("mmlu",), combine=True)


def titled(name: str) -> Callable[[ScenarioFacts], ScenarioFacts]:
    return lambda f: structs.replace(f, groups=("mmlu",), title=f"MMLU ({name})")


def fill(archive: Archive) -> None:
    for name in ("anatomy", "law", "logic"):
        for model, right in (("a", 3), ("b", 1)):
            if (name, model) != ("logic", "b"):
                make_run(
                    archive,
                    f"mmlu:subject={name}",
                    model,
                    [1] * right + [0] * (4 - right),
                    facts=titled(name),
                )
    for model in ("a", "b"):
        make_run(
            archive,
            "boolq",
            model,
            [1, 0],
            facts=lambda f: structs.replace(f, groups=("boolq",)),
        )


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("joint")
    archive = Archive(folder / "runs")
    fill(archive)
    config = SiteConfig(groups={"core": CORE, "other": OTHER})
    with Results(archive, config, None) as results:
        report = build(results, folder / "site", config, strict=True)
    assert not report.warnings
    return folder / "site"


def read(site: Path, name: str) -> str:
    return unescape((site / name).read_text(encoding="utf-8"))


def test_a_head_names_its_scenarios_and_leads_to_them(site):
    page = read(site, "groups/core/accuracy.html")
    heads = re.findall(r'<th scope="col" data-k.*?</th>', page, re.DOTALL)
    _, head, alone = heads  # the first is the win rate
    link = (
        '<a href="../../groups/mmlu/accuracy.html" title="mean over 3 scenarios">MMLU'
    )
    assert link in head
    assert "EM, mean of 3" in head
    assert 'data-s="3"' in head
    assert "mean" not in alone
    assert "title=" not in alone.partition("<small>")[0]


def test_a_cell_leads_to_what_it_is_made_of(site):
    page = read(site, "groups/core/accuracy.html")
    whole, part = re.findall(r"<tr[^>]*><th scope=\"row\".*?</tr>", page, re.DOTALL)
    assert '<a href="../../groups/mmlu/accuracy.html">0.750</a></td>' in whole
    assert "2 of 3" not in whole
    assert '<a href="../../groups/mmlu/accuracy.html">0.250</a><small>2 of 3' in part
    assert re.search(r'<td[^>]* data-s="2"', part)
    assert joints.SOME in page
    assert "2 models on 4 scenarios in 2 columns" in page


def test_the_board_of_a_column_shows_each_scenario(site):
    page = read(site, "groups/mmlu/accuracy.html")
    titles = ("MMLU (anatomy)", "MMLU (law)", "MMLU (logic)")
    assert [page.count(f">{title}</a>") for title in titles] == [1, 1, 1]
    assert "whose mean is one column of the leaderboards Core, Other." in page
    tabs = re.search(r'<nav class="tabs groups".*?</nav>', page, re.DOTALL)
    assert tabs
    assert re.findall(r">([^<]+)</a>", tabs[0]) == ["Core", "Other", "MMLU"]
    assert 'href="../../groups/core/accuracy.html"' in tabs[0]


def test_boards_of_columns_are_no_tabs_elsewhere(site):
    page = read(site, "index.html")
    tabs = re.search(r'<nav class="tabs groups".*?</nav>', page, re.DOTALL)
    assert tabs
    assert re.findall(r">([^<]+)</a>", tabs[0]) == ["Core", "Other"]
    assert '["group","MMLU","mmlu","groups/mmlu/accuracy.html"]' in read(
        site, "static/search-index.js"
    )


def test_a_title_says_over_how_many_scenarios():
    metric = samples.METRIC
    whole = Cell(0.5, n_scored=8, n_asked=8, missing="", held=2, of=2)
    view = boards.cell_view(whole, metric, "x")
    assert "mean over 2 scenarios; 8 of 8 observations" in view.title
    assert (view.part, view.some) == ("", 0)
    view = boards.cell_view(structs.replace(whole, held=1), metric, "x")
    assert "mean over 1 of 2 scenarios" in view.title
    assert (view.part, view.some) == ("1 of 2", 1)
    assert "mean" not in boards.cell_view(Cell(0.5), metric, "x").title


def test_a_mark_tells_of_how_many_scenarios_contamination_is_known():
    known = (
        Contamination("mmlu:subject=a", "weak"),
        Contamination("mmlu:subject=b", "strong", "The report says so."),
    )
    card = ModelCard("m", contamination=known)
    view = boards.cell_view(Cell(0.5, missing=""), samples.METRIC, "x")
    names = [f"mmlu:subject={s}" for s in "abc"]
    assert boards.marked(view, card, *names).mark == (
        "2 of 3 scenarios: strong evidence that the model was trained on this "
        "scenario: The report says so."
    )
    assert boards.marked(view, card, names[0]).mark.startswith("weak evidence")
    assert boards.marked(view, card, names[2]).mark == ""


def test_the_terminal_shows_means_and_hides_their_boards(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "helmsite.toml").write_text(
        '[site.groups.core]\ntitle = "Core"\ngroups = ["mmlu"]\ncombine = true\n'
        '[site.groups.more]\ntitle = "More"\nscenarios = ["boolq"]\n'
    )
    fill(Archive(tmp_path / "runs"))
    shown = CliRunner().invoke(main, ["aggregate"]).output
    assert "mean of 3" in shown
    assert "2 of 3" in shown
    assert "anatomy" not in shown
    inner = CliRunner().invoke(main, ["aggregate", "-g", "mmlu"]).output
    assert "MMLU" in inner
    assert "(anatomy)" in inner
