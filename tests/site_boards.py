"""Made-up leaderboards, models and runs of any size, written as pages of a site.

Only the pages of many rows are rendered: what they link to is not there.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from msgspec import structs

from helmsite.config import SiteConfig
from helmsite.query.rows import (
    Cell,
    Column,
    Group,
    Leaderboard,
    LeaderboardRow,
    ModelSummary,
    Overview,
    RunSummary,
    ScenarioSummary,
)
from helmsite.render import runlist, search, views
from helmsite.render.boardpages import BoardPages
from helmsite.render.frames import Frames
from helmsite.render.names import SiteMap
from helmsite.render.theme import Theme
from helmsite.schema import ModelCard, ScenarioFacts
from tests.site_source import ECE, EXACT, FakeResults, metric_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from helmsite.render.pages import Page

CREATORS = ("Demo Lab", "Heather", "Orchid", "Institut für Sprache", "שלום", "helmsite")
SIZES = (135e6, 360e6, 1.1e9, 7.2e9, 8e9, 70e9, 405e9, None)
FIRST = ("Willow", "Heather", "Orchid", "Rowan", "Alder", "Łódź", "Ñandú", "松", "Elm")
SUBJECTS = (
    "abstract algebra",
    "anatomy",
    "astronomy",
    "clinical knowledge",
    "formal logic",
    "world religions",
)


def cards(count: int) -> list[ModelCard]:
    """Return so many models; their names sort otherwise than their skill."""
    rng = random.Random("cards")
    found: list[ModelCard] = []
    for i in range(count):
        size = SIZES[i % len(SIZES)]
        name = f"{FIRST[i % len(FIRST)]} {i:03d}"
        found.append(
            ModelCard(
                f"lab{i % 6}/{name.lower().replace(' ', '-')}",
                name + (" Instruct" if rng.random() < 0.4 else ""),
                CREATORS[i % len(CREATORS)],
                access=("open", "limited", "closed")[i % 3],
                num_parameters=int(size) if size else None,
            )
        )
    return found


def scenarios(count: int) -> list[ScenarioFacts]:
    """Return so many scenarios."""
    return [
        ScenarioFacts(
            f"mmlu:subject=s{j}",
            f"MMLU {SUBJECTS[j % len(SUBJECTS)]} {j}",
            main_metric="exact_match",
        )
        for j in range(count)
    ]


def cell(i: int, j: int, share: float, rng: random.Random) -> Cell:
    """Return a realistic cell; a few are holes, partial or one of several runs."""
    if rng.random() < 0.05:
        return Cell(missing="not run")
    value = min(1.0, max(0.0, share + rng.gauss(0, 0.06)))
    half = 1.96 * (value * (1 - value) / 300) ** 0.5
    asked = (114, 135, 152, 265, 126, 171)[j % 6]
    return Cell(
        value=value,
        ci_low=max(0.0, value - half),
        ci_high=min(1.0, value + half * rng.uniform(0.8, 1.1)),
        n_scored=asked - (rng.random() < 0.02),
        n_asked=asked,
        missing="",
        run_id=f"r{rng.getrandbits(64):016x}",
        other_runs=("rother",) if rng.random() < 0.02 else (),
        heat=min(8, int(value * 9)),
    )


def leaderboard(models: int, columns: int, family: str = "accuracy") -> Leaderboard:
    """Return a leaderboard, best first, with bands."""
    rng = random.Random(f"{models}-{columns}")
    metric = ECE if family == "calibration" else EXACT
    made = cards(models)
    rng.shuffle(made)
    rows = []
    for i, card in enumerate(made):
        share = 0.95 - 0.7 * i / max(1, models)
        cells = tuple(cell(i, j, share, rng) for j in range(columns))
        rows.append(
            LeaderboardRow(
                card,
                cells,
                round(1 - i / max(1, models - 1), 4),
                columns,
                sum(c.value is not None for c in cells) / max(1, columns),
                band=i // 3 + 1,
            )
        )
    heads = tuple(Column(f, metric, "test") for f in scenarios(columns))
    return Leaderboard("core", family, heads, tuple(rows))


def frames(board: Leaderboard, groups: Sequence[Group] = ()) -> Frames:
    """Return the frames of a site that has a page for all that a board shows."""
    places = SiteMap(
        [board.group, *(g.name for g in groups)],
        [c.scenario.name for c in board.columns],
        [r.card.name for r in board.rows],
        [c.run_id for r in board.rows for c in r.cells if c.run_id],
        ["accuracy", "calibration", board.family],
    )
    overview = Overview(len(board.rows), len(board.columns), 1, 1, 1, "f00d" * 16)
    titles = {r.card.name: r.card.title for r in board.rows}
    return Frames(SiteConfig(title="Large evaluations"), places, overview, titles)


def runs(board: Leaderboard) -> list[RunSummary]:
    """Return the runs of a board's cells."""
    like = FakeResults(2).summaries[0]
    found: list[RunSummary] = []
    for row in board.rows:
        for column, shown in zip(board.columns, row.cells, strict=True):
            if not shown.run_id:
                continue
            manifest = structs.replace(
                like.manifest,
                run_id=shown.run_id,
                card=row.card,
                scenario=column.scenario,
                suite="demo" if len(found) % 3 else "spring",
                status="partial" if len(found) % 50 == 7 else "complete",
            )
            found.append(
                structs.replace(
                    like,
                    manifest=manifest,
                    main=shown,
                    main_metric=metric_of(column.scenario),
                )
            )
    return found


def write(out: Path, board: Leaderboard, groups: Sequence[Group] = ()) -> None:
    """Write the pages that list a board's models, and its models and runs."""
    theme, framed = Theme(), frames(board, groups)
    own = Group(board.group, "Core scenarios", "", (), ("accuracy", "calibration"))
    summaries = [
        ModelSummary(r.card, len(r.cells), len(r.cells), r.win_rate, r.win_rate_columns)
        for r in board.rows
    ]
    listed = runs(board)
    boards = BoardPages(board, own, [own, *groups], framed)
    pages: list[tuple[str, Page]] = [
        ("leaderboard.html", boards.page(1, "index.html")),
        *(("leaderboard.html", page) for page in boards),
        ("models.html", views.models(summaries, framed)),
        *(("runs.html", page) for page in runlist.pages(listed, framed)),
    ]
    for template, page in pages:
        path = out / page.frame.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(theme.render(template, page), encoding="utf-8")
    for name, content in theme.static().items():
        path = out / "static" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    for name, text in boards.scripts(theme):
        (out / name).write_text(text, encoding="utf-8")
    tests = [ScenarioSummary(c.scenario) for c in board.columns]
    index = search.script([own, *groups], tests, summaries, listed, framed)
    (out / "static/search-index.js").write_text(index, encoding="utf-8")
