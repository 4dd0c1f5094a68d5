"""Columns that stand for several scenarios: which, and how their cells make one."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

from helmsite.query.rows import Cell, Column
from helmsite.schema import ScenarioFacts

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from helmsite.query.rows import Hole, Joint


def claims(named: Mapping[str, Collection[str]]) -> dict[str, tuple[str, ...]]:
    """Return the scenarios of each name, so that none is in two.

    A scenario goes to the smallest set that it is in, of equally large ones to the first:
    `synthetic_reasoning_natural` keeps its own, though `synthetic_reasoning` has them too.
    """
    owner: dict[str, str] = {}
    for name in sorted(named, key=lambda n: len(named[n])):
        for scenario in named[name]:
            owner.setdefault(scenario, name)
    return {
        name: tuple(s for s in scenarios if owner[s] == name)
        for name, scenarios in named.items()
    }


def title(name: str, titles: Collection[str]) -> str:
    """Return what scenarios are called together.

    "MMLU" for "MMLU (anatomy)" and "MMLU (astronomy)"; the name, where titles do not
    begin alike before a bracket or a colon.
    """
    if len(set(titles)) == 1:
        return next(iter(titles))
    return stem(titles) or name.replace("_", " ").capitalize()


def stem(titles: Iterable[str]) -> str:
    """Return what titles begin with before a bracket or a colon; '' if it is not one."""
    stems = {t.partition("(")[0].partition(":")[0].strip() for t in titles}
    return stems.pop() if len(stems) == 1 else ""


def columns(
    joint: Joint, members: Iterable[Column], family: str, main: str
) -> list[Column]:
    """Return the columns of scenarios that share one: one for each metric.

    Args:
        joint: the scenarios.
        members: their columns in a family of metrics.
        family: its name.
        main: the metric that the first of them is known by.
    """
    found: dict[tuple[str, str, str], list[Column]] = {}
    for column in members:
        key = column.metric.name, column.perturbation, column.computed_on
        found.setdefault(key, []).append(column)
    facts = ScenarioFacts(joint.board, title=joint.title, main_metric=main)
    return [
        own[0]
        if len(own) == 1
        else Column(
            facts,
            own[0].metric,
            perturbation=own[0].perturbation,
            computed_on=own[0].computed_on,
            members=tuple(own),
            board=joint.board,
            family=family,
        )
        for own in found.values()
    ]


def cell(cells: Sequence[Cell]) -> Cell:
    """Return the cell of a column from those of its members; a single one is its own.

    The value is the mean over the members that have one; each counts once, however many
    instances, trials or runs it has. Counts of observations are sums.
    """
    if len(cells) == 1:
        return cells[0]
    held = [c for c in cells if c.value is not None]
    values = [c.value for c in held if c.value is not None]
    low, high = interval(held)
    return Cell(
        value=math.fsum(values) / len(values) if values else None,
        ci_low=low,
        ci_high=high,
        n_scored=sum(c.n_scored for c in cells),
        n_asked=sum(c.n_asked for c in cells),
        missing="" if values else _reason(cells),
        origin="reported" if any(c.origin == "reported" for c in held) else "computed",
        scorer=max((c.scorer for c in held), default=""),
        held=len(values),
        of=len(cells),
    )


def interval(cells: Sequence[Cell]) -> tuple[float | None, float | None]:
    """Return the interval of the mean of independent values from those of each.

    The distances from the values to the ends are squared, added, and their root divided
    by n: for intervals that are z standard errors wide, z · √(Σ se²) / n. None where a
    value has no interval: how uncertain it is is not known then.

    Source: Zou and Donner, 2008, Statistics in Medicine 27, of n values.
    """
    low: list[float] = []
    high: list[float] = []
    values: list[float] = []
    for each in cells:
        if each.value is None or each.ci_low is None or each.ci_high is None:
            return None, None
        values.append(each.value)
        low.append(each.value - each.ci_low)
        high.append(each.ci_high - each.value)
    if not values:
        return None, None
    n = len(values)
    mean = math.fsum(values) / n
    return mean - math.hypot(*low) / n, mean + math.hypot(*high) / n


def _reason(cells: Sequence[Cell]) -> Hole:
    """Return why none has a value: the most frequent reason, "not run" if it is all."""
    counted = Counter(c.missing for c in cells if c.missing != "not run")
    most: Hole = "not run"
    return max(sorted(counted), key=lambda reason: counted[reason], default=most)
