"""A metric against the sizes of the models: of a scenario, or the mean of a leaderboard."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from markupsafe import Markup

from helmsite.query import joint
from helmsite.render import formats, joints, scatter
from helmsite.render.names import link
from helmsite.render.sentences import line_title, scenario_title
from helmsite.render.text import plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from helmsite.query.rows import (
        Cell,
        Column,
        Leaderboard,
        LeaderboardRow,
        ScenarioPage,
    )
    from helmsite.render.frames import Frames
    from helmsite.schema import ModelCard

SIZE = re.compile(
    r"(?<![a-zA-Z0-9.])\d{1,6}(?:\.\d{1,6})?\s?[mMbBtT]\d{0,2}(?![a-zA-Z0-9])"
)
FEWEST = 3
"""So many models make a plot of a leaderboard's means worth its room."""


def family(card: ModelCard) -> str:
    """Return what joins a model with its like: its family, else its name without a size."""
    if card.family:
        return plain(card.family)
    shown = plain(card.name)
    stem = SIZE.sub("", shown, count=1)
    return stem if stem != shown else ""


def of_scenario(
    page: ScenarioPage, place: int | None, frames: Frames, path: str
) -> Markup:
    """Return the main metric against the models' sizes; '' with less than two sizes."""
    if place is None:
        return Markup("")
    metric = page.columns[place].metric
    points = _points([(r, r.cells[place]) for r in page.rows], frames, path)
    title = f"{plain(metric.title)} by the number of parameters"
    return scatter.scatter(points, metric, title)


def _points(
    found: Sequence[tuple[LeaderboardRow, Cell]], frames: Frames, path: str
) -> list[scatter.Point]:
    return [
        scatter.Point(
            label=line_title(row),
            href=link(path, frames.map.model(row.card.name)),
            size=row.card.num_parameters,
            value=cell.value,
            family=family(row.card) + row.variant if family(row.card) else "",
            low=cell.ci_low,
            high=cell.ci_high,
        )
        for row, cell in found
        if cell.value is not None
        and row.card.num_parameters
        and frames.map.model(row.card.name)
    ]


def of_board(shown: Leaderboard, frames: Frames, path: str) -> tuple[Markup, str]:
    """Return the models' means against their sizes, and what they are means of.

    Over scenarios of one metric that all of the models drawn have a value on, so that no
    easier choice of scenarios lifts a model. Nothing with less than three models or two
    sizes, or if a scenario's own page shows the same.
    """
    nothing = Markup(""), ""
    if shown.family != "accuracy":
        return nothing
    sized = [r for r in shown.rows if r.card.num_parameters]
    drawn, places = _block(shown.columns, sized)
    if not places:
        return nothing
    columns = [shown.columns[p] for p in places]
    if len(columns) == 1 and not columns[0].members:
        return nothing
    means = [(r, joint.cell([r.cells[p] for p in places])) for r in drawn]
    metric = columns[0].metric
    plot = scatter.scatter(
        _points(means, frames, path), metric, f"{plain(metric.title)} by parameters"
    )
    if not plot:
        return nothing
    whose = formats.count(len(sized), "model")
    if len(drawn) < len(sized):
        whose = f"{len(drawn):,} of {whose}"
    return plot, _over(columns, shown.columns, whose, metric.title)


def _block(
    columns: Sequence[Column], rows: Sequence[LeaderboardRow]
) -> tuple[list[LeaderboardRow], list[int]]:
    """Return lines and columns of one metric, a share, with a value in every cell.

    The metric is that of most values. Lines with fewest values are left out, as long as
    the others share so many more columns that more values remain in all.
    """
    held: Counter[str] = Counter()
    for place, column in enumerate(columns):
        if column.metric.format == "share":
            held[column.metric.name] += sum(r.cells[place].is_whole for r in rows)
    usual = max(sorted(held), key=lambda name: held[name], default="")
    own = [p for p, c in enumerate(columns) if c.metric.name == usual]
    ordered = sorted(rows, key=lambda r: -sum(r.cells[p].is_whole for p in own))
    best: tuple[int, int, list[int]] = (0, 0, [])
    left = own
    for count, row in enumerate(ordered, 1):
        left = [p for p in left if row.cells[p].is_whole]
        if count >= FEWEST and count * len(left) >= best[0]:
            best = (count * len(left), count, left)
    return ordered[: best[1]], best[2]


def _over(
    columns: Sequence[Column], every: Sequence[Column], models: str, metric: str
) -> str:
    """Return what the means are of, in a sentence."""
    if len(columns) == 1:
        what = scenario_title(columns[0].scenario)
        return f"{plain(metric)} on {what}, by size: {models} whose size is known."
    scenarios = formats.count(len(joints.scenarios(columns)), "scenario")
    whole = len(joints.scenarios(every))
    of = f" of {whole:,}" if len(joints.scenarios(columns)) < whole else ""
    count = scenarios.replace(" scenario", f"{of} scenario")
    if any(c.members for c in columns):
        count = f"{formats.count(len(columns), 'column')} ({count})"
    return (
        f"{plain(metric)} by size: the mean over {count} in which {models} whose size is "
        "known have a value."
    )
