"""Leaderboards of any size: what cells say, how wide ones are divided, what they weigh."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from helmsite.config import SiteConfig
from helmsite.errors import BuildError
from helmsite.query.rows import Group, Leaderboard, ModelSummary, ScenarioSummary
from helmsite.render import board as boards
from helmsite.render import boardpages, build, runlist, search
from helmsite.render.boardpages import BoardPages, divided, place
from helmsite.render.parts import Bar, CellView, ColumnView
from helmsite.render.theme import Theme
from tests import site_boards
from tests.site_source import FakeResults

LIGHT = 150_000
OWN = Group("core", "Core", "What *all* ran.", (), ("accuracy", "calibration"))


def pages_of(models: int, columns: int) -> tuple[BoardPages, Leaderboard]:
    shown = site_boards.leaderboard(models, columns)
    return BoardPages(shown, OWN, [OWN], site_boards.frames(shown)), shown


def packed(text: str) -> int:
    return len(gzip.compress(text.encode(), 6))


@pytest.mark.parametrize(
    ("title", "wide"),
    [
        ("IMDB", False),
        ("Exact match", False),
        ("MMLU (anatomy)", False),
        ("CNN/DailyMail", True),
        ("Quasi-exact match (best of 5)", True),
        ("", False),
    ],
)
def test_a_head_is_wide_for_long_titles_and_words(title: str, wide: bool) -> None:
    assert ColumnView("k", title).wide == wide


# ---- Weight and pages


def test_a_page_of_the_largest_leaderboard_is_light() -> None:
    made, _ = pages_of(300, 40)
    theme = Theme()
    page = made.page(1, "index.html")
    assert len(page.parts) == 3
    files = theme.static()
    shared = sum(packed(files[name].decode()) for name in ("site.css", "site.js"))
    assert packed(theme.render("leaderboard.html", page)) + shared < LIGHT
    assert packed(next(made.scripts(theme))[1]) < LIGHT


def test_a_board_of_ninety_models_and_fifty_scenarios_is_one_page() -> None:
    made, _ = pages_of(90, 50)
    theme = Theme()
    (page,) = [theme.render("leaderboard.html", page) for page in made]
    assert packed(page) / 4500 < 23
    assert len(page) / 4500 < 140
    assert list(made.scripts(theme)) == []


@given(st.integers(0, 2000), st.integers(0, 3000))
def test_every_column_stands_on_one_page(columns: int, rows: int) -> None:
    parts = divided(columns, rows)
    assert [i for part in parts for i in part] == list(range(columns))
    assert all(part for part in parts) or parts == [range(0)]
    for part in parts:
        assert len(part) <= boardpages.FEWEST or len(part) * rows <= boardpages.CELLS


def test_the_parts_of_a_board_have_all_models_and_the_whole_win_rate(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(boardpages, "CELLS", 80)
    made, shown = pages_of(10, 20)
    pages = list(made)
    assert [p.frame.path for p in pages] == [
        "groups/core/accuracy.html",
        "groups/core/accuracy/2.html",
        "groups/core/accuracy/3.html",
    ]
    titles = [c.title for p in pages for c in p.board.columns]
    assert titles == [c.scenario.title for c in shown.columns]
    for page in pages:
        assert len(page.board.rows) == 10
        assert page.board.over == "over 20 columns"
        assert [link.current for link in page.parts].count(True) == 1
    assert pages[1].frame.title == "Core, columns 8–14"
    assert pages[0].description
    assert not pages[1].description
    first = structs.replace(pages[0].parts[1]).href
    assert first == "../../groups/core/accuracy/2.html"
    assert made.page(1, "index.html").parts[1].href == "groups/core/accuracy/2.html"
    assert place("groups/core/accuracy.html", 1) == "groups/core/accuracy.html"


def test_the_scripts_of_a_wide_board_hold_each_column_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(boardpages, "CELLS", 80)
    made, shown = pages_of(10, 20)
    stored = {}
    for path, script in made.scripts(Theme()):
        found = re.fullmatch(r"helmsite\.store\((.*)\);\n", script)
        assert found
        assert "<" not in script
        name, data = json.loads(f"[{found[1]}]")
        assert name == path
        stored[path.rsplit("/", 1)[-1]] = data
    assert sorted(stored) == ["cells-1.js", "cells-2.js", "cells-3.js", "columns.js"]
    assert stored["columns.js"]["sizes"] == [7, 7, 6]
    assert len(stored["columns.js"]["heads"]) == 20
    for number, start in ((1, 0), (2, 7), (3, 14)):
        lines = stored[f"cells-{number}.js"]
        assert len(lines) == 10
        for line, row in zip(lines, shown.rows, strict=True):
            hrefs = re.findall(r'<td[^>]*><a href="([^"]*)"', line)
            runs = [c.run_id for c in row.cells[start : start + 7] if c.run_id]
            assert hrefs == [f"runs/{r}/index.html" for r in runs]


def test_a_built_site_has_the_pages_of_its_wide_boards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(boardpages, "CELLS", 8)
    monkeypatch.setattr(boardpages, "FEWEST", 2)
    monkeypatch.setattr(runlist, "PER_PAGE", 5)
    build(FakeResults(), tmp_path / "s", SiteConfig())
    made = {p.name for p in (tmp_path / "s/groups/core/accuracy").iterdir()}
    assert made == {"2.html", "cells-1.js", "cells-2.js", "columns.js"}
    assert (tmp_path / "s/runs-2.html").exists()


def test_a_theme_without_the_macro_says_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(boardpages, "CELLS", 80)
    (tmp_path / "templates").mkdir()
    (tmp_path / "templates" / "parts.html").write_text(
        "{% macro head(c) %}{% endmacro %}"
    )
    made, _ = pages_of(10, 20)
    with pytest.raises(BuildError, match=r"parts\.html") as caught:
        list(made.scripts(Theme(str(tmp_path))))
    assert "lean" in (caught.value.hint or "")


# ---- Cells


def test_a_bar_is_drawn_by_two_classes_within_its_line() -> None:
    assert Bar(3.2, 9.7, 5.0).steps == "ci a3 b10"
    assert Bar(0.0, 24.0, 5.0).steps == "ci a0 b24"
    css = (Path(__file__).parents[1] / "static" / "tables.css").read_text()
    for step in range(25):
        assert f".a{step} {{ --a: {step}px; }}" in css
        assert f".b{step} {{ --b: {step}px; }}" in css


def cells(*values: tuple[str, str, str]) -> list[list[CellView]]:
    return [[CellView(t, sort=v, counted=n)] for t, v, n in values]


def test_a_cell_has_its_exact_number_only_where_its_text_does_not_tell() -> None:
    rows = cells(
        ("0.734", "0.7341", "9/9"),
        ("0.734", "0.7344", "9/9"),
        ("0.5", "0.5", "9/9"),
        ("1,200", "1200.0", "8/9"),
        ("12 ms", "0.012", "9/9"),
        ("−0.25", "-0.25", "9/9"),
    )
    rows.append([CellView("·", title="not run")])
    heads, lean = boards.lean([ColumnView("k", "t")], rows)
    assert heads[0].counted == "9/9"
    assert [row[0].exact for row in lean] == [
        *("0.7341", "0.7344", "", "1200.0", "0.012", "-0.25", ""),
    ]
    assert [row[0].counted for row in lean] == [*[""] * 3, "8/9", *[""] * 3]


def test_an_empty_column_is_lean_too() -> None:
    heads, lean = boards.lean([ColumnView("k", "t")], [[CellView("·", title="x")]])
    assert heads[0].counted == ""
    assert lean[0][0].exact == ""


@pytest.mark.parametrize(
    ("first", "second"),
    [("a:b", "a=b"), ("松", "林"), ("x" * 100, "x" * 101), ("שלום", "?"), ("", "--")],
)
def test_columns_of_like_names_have_keys_of_their_own(first: str, second: str) -> None:
    keys = {boards.short(first), boards.short(second)}
    assert len(keys) == 2
    assert all(re.fullmatch(r"[A-Za-z0-9._-]*", key) for key in keys)


def test_a_plain_name_is_its_own_key() -> None:
    assert boards.short("gsm8k.exact_match") == "gsm8k.exact_match"


# ---- Runs and the search box


def test_runs_are_listed_newest_first_on_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runlist, "PER_PAGE", 4)
    shown = site_boards.leaderboard(3, 3)
    runs = site_boards.runs(shown)
    at = {run.manifest.run_id: float(n) for n, run in enumerate(runs)}
    runs = [
        structs.replace(
            r,
            manifest=structs.replace(
                r.manifest,
                provenance=structs.replace(
                    r.manifest.provenance, finished_at=at[r.manifest.run_id]
                ),
            ),
        )
        for r in runs
    ]
    pages = list(runlist.pages(runs, site_boards.frames(shown)))
    listed = [line.run_id for page in pages for line in page.runs]
    assert listed == [r.manifest.run_id for r in reversed(runs)]
    assert [p.frame.path for p in pages][:2] == ["runs/index.html", "runs-2.html"]
    assert pages[0].parts[0].text == "1–4"
    assert pages[1].parts[0].href == "runs/index.html"
    assert pages[0].parts[1].href == "../runs-2.html"


def test_no_run_makes_one_page_of_none() -> None:
    shown = site_boards.leaderboard(1, 1)
    (page,) = runlist.pages([], site_boards.frames(shown))
    assert page.runs == ()
    assert page.parts == ()


def index_of(shown: Leaderboard, runs: list[Any]) -> dict[str, Any]:
    models = [ModelSummary(r.card) for r in shown.rows]
    tests = [ScenarioSummary(c.scenario) for c in shown.columns]
    script = search.script([OWN], tests, models, runs, site_boards.frames(shown))
    found = re.fullmatch(r"helmsite\.searchable\((.*)\);\n", script)
    assert found
    data: dict[str, Any] = json.loads(found[1])
    return data


def test_the_search_names_groups_scenarios_models_and_runs() -> None:
    shown = site_boards.leaderboard(4, 3)
    runs = site_boards.runs(shown)
    data = index_of(shown, list(runs))
    kinds = [kind for kind, *_ in data["things"]]
    assert kinds == ["group"] + ["scenario"] * 3 + ["model"] * 4
    for line, run in zip(data["runs"], runs, strict=True):
        model, scenario, inside, run_id = line
        assert data["things"][model][2] == run.manifest.card.name
        assert data["things"][scenario][2] == run.manifest.scenario.name
        assert inside == ""
        assert run_id == run.manifest.run_id


def test_a_run_of_an_odd_id_keeps_its_address_and_a_stray_one_its_title() -> None:
    shown = site_boards.leaderboard(2, 1)
    runs = site_boards.runs(shown)
    odd = structs.replace(
        runs[0], manifest=structs.replace(runs[0].manifest, run_id="odd id")
    )
    card = structs.replace(runs[0].manifest.card, name="who", title="Who")
    stray = structs.replace(runs[0], manifest=structs.replace(odd.manifest, card=card))
    data = index_of(shown, [odd, stray])
    assert data["runs"][0][3:] == ["odd id", ""]
    assert data["things"][-1][0] == "run"
    assert data["things"][-1][1].startswith("Who on ")


def test_forty_pages_of_runs_are_folded_and_a_dozen_are_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shown = site_boards.leaderboard(5, 8)
    runs, framed, theme = site_boards.runs(shown), site_boards.frames(shown), Theme()
    assert len(runs) > 24
    for size, folded in ((1, True), (len(runs) // 3, False)):
        monkeypatch.setattr(runlist, "PER_PAGE", size)
        page = list(runlist.pages(runs, framed))[1]
        text = theme.render("runs.html", page)
        assert ('<details class="many">' in text) is folded
        assert page.parts[1].text in text
