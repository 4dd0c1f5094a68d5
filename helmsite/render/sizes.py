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

    Over the scenarios of the most frequent metric that all models of a known size have a
    value on, so that no easier choice of scenarios lifts a model. Nothing with less than
    three models or two sizes, or if a scenario's own page shows the same.
    """
    nothing = Markup(""), ""
    if shown.family != "accuracy":
        return nothing
    sized = [r for r in shown.rows if r.card.num_parameters]
    places = _shared(shown.columns, sized)
    if len(sized) < FEWEST or not places:
        return nothing
    columns = [shown.columns[p] for p in places]
    if len(columns) == 1 and not columns[0].members:
        return nothing
    means = [(r, joint.cell([r.cells[p] for p in places])) for r in sized]
    metric = columns[0].metric
    plot = scatter.scatter(
        _points(means, frames, path), metric, f"{plain(metric.title)} by parameters"
    )
    return (
        (plot, _over(columns, shown.columns, len(sized), metric.title))
        if plot
        else nothing
    )


def _shared(columns: Sequence[Column], rows: Sequence[LeaderboardRow]) -> list[int]:
    """Return the columns of one metric, a share, in which all lines have a whole value."""
    kinds = Counter(c.metric.name for c in columns if c.metric.format == "share")
    usual = max(sorted(kinds), key=lambda name: kinds[name], default="")
    return [
        place
        for place, column in enumerate(columns)
        if column.metric.name == usual and all(r.cells[place].is_whole for r in rows)
    ]


def _over(
    columns: Sequence[Column], every: Sequence[Column], models: int, metric: str
) -> str:
    """Return what the means are of, in a sentence."""
    if len(columns) == 1:
        what = scenario_title(columns[0].scenario)
        return f"{plain(metric)} on {what}, by size."
    known = f"{formats.count(models, 'model')} whose size is known"
    scenarios = formats.count(len(joints.scenarios(columns)), "scenario")
    whole = len(joints.scenarios(every))
    of = f" of {whole:,}" if len(joints.scenarios(columns)) < whole else ""
    count = scenarios.replace(" scenario", f"{of} scenario")
    if any(c.members for c in columns):
        count = f"{formats.count(len(columns), 'column')} ({count})"
    return (
        f"{plain(metric)} by size: the mean over {count}, in which all {known} have a "
        "value."
    )
