"""Aggregates of results that another tool reports, held against what its instances give."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from msgspec import structs

from helmsite import query
from helmsite.query.summarise import stat_key

if TYPE_CHECKING:
    from collections.abc import Iterable

    from helmsite.importers import Imported
    from helmsite.schema import PublishedStat, Stat

TOLERANCE = 1e-9
FEW = 5


class Reported(NamedTuple):
    """Aggregates, how many of the source's were found again, and names of those not."""

    stats: list[Stat]
    equal: int
    different: tuple[str, ...]


def aggregates(of: Imported) -> Reported:
    """Return the aggregates of reported scores beside those that the source reports.

    Where both are equal there is one, the source's value and error with our counts and
    interval. Where they differ both stay: the source's as reported, ours as computed. One
    over more instances than are here stays as it is: nothing can be held against it; so
    does a worst case over requests.
    """
    own = query.summarise(
        of.instances,
        of.scores,
        of.metrics,
        of.perturbations,
        (),
        scenario=of.scenario.name,
    )
    found = {
        stat_key(stat): stat for stat in own if stat.n_scored or stat.value is not None
    }
    equal = 0
    different: dict[str, None] = {}
    for said in of.stats:
        key = stat_key(said)
        mine = found.get(key)
        by_request = said.computed_on == "worst" and said.metric in of.by_request
        if mine is None or said.n_scored > mine.n_asked or by_request:
            found[key] = said
        elif same(mine.value, said.value):
            equal += 1
            found[key] = _joined(mine, said)
        else:
            different[_told(said)] = None
            found[key] = structs.replace(
                said,
                n_scored=said.n_scored or mine.n_scored,
                n_asked=said.n_asked or mine.n_asked,
            )
            here = structs.replace(mine, origin="computed")
            found[stat_key(here)] = here
    return Reported(list(found.values()), equal, tuple(different))


def computed_again(said: Iterable[Stat], made: Iterable[Stat]) -> str:
    """Return how many of a source's aggregates our own from its replies equal, '' for none."""
    ours = {stat_key(structs.replace(s, origin="reported")): s for s in made}
    pairs = [
        (ours[stat_key(s)], s)
        for s in said
        if s.trial == -1 and s.value is not None and stat_key(s) in ours
    ]
    other = [_told(s) for mine, s in pairs if not same(mine.value, s.value)]
    if not pairs:
        return ""
    told = (
        f"{len(pairs) - len(other)} of {len(pairs)} aggregates that helmsite computes from "
        "the replies as well are equal to the source's"
    )
    if not other:
        return f"{told}."
    more = f" and {len(other) - FEW} more" if len(other) > FEW else ""
    return f"{told}; others are not: {', '.join(other[:FEW])}{more}."


def same(one: float | None, other: float | None) -> bool:
    """Return whether two values are equal, but for rounding."""
    if one is None or other is None:
        return one is other
    return math.isclose(one, other, rel_tol=TOLERANCE, abs_tol=TOLERANCE)


def _joined(mine: Stat, said: Stat) -> Stat:
    return structs.replace(
        mine,
        value=said.value,
        stderr=mine.stderr if said.stderr is None else said.stderr,
        ci_low=mine.ci_low if said.ci_low is None else said.ci_low,
        ci_high=mine.ci_high if said.ci_high is None else said.ci_high,
        details=mine.details | said.details,
    )


def _told(stat: Stat) -> str:
    where = [stat.split, stat.sub_split, stat.perturbation, stat.computed_on]
    inside = ", ".join(filter(None, [stat.scorer, *where]))
    return f"{stat.metric} ({inside})" if inside else stat.metric


def storable(rows: Iterable[PublishedStat]) -> tuple[list[PublishedStat], list[str]]:
    """Return the rows that an archive can hold, each key once, and what is wrong with others.

    Of several rows of one key the first counts; equal ones are no fault.
    """
    kept: dict[bytes, PublishedStat] = {}
    wrong: list[str] = []
    for row in rows:
        stat = row.stat
        name = f"{row.model} · {row.scenario}: {_told(stat)}"
        numbers = (stat.value, stat.stderr, stat.ci_low, stat.ci_high)
        if not all(n is None or math.isfinite(n) for n in numbers):
            wrong.append(f"{name} is no finite number")
            continue
        where = [row.scenario, row.model, row.settings, row.source_file]
        try:
            key = msgspec.json.encode([where, stat_key(stat)], order="deterministic")
        except (UnicodeError, TypeError, ValueError, RecursionError) as error:
            wrong.append(f"{name!a} cannot be stored: {error}")
            continue
        first = kept.setdefault(key, row)
        if not same(first.stat.value, stat.value):
            wrong.append(f"{name} is there twice, with two values; the first counts")
    return list(kept.values()), wrong
