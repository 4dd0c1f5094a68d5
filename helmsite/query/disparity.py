"""Between groups: how far the best group of a run is ahead of the worst."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import TYPE_CHECKING

from msgspec import structs

from helmsite.query.ranking import rounded
from helmsite.query.rows import Gap

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from helmsite.query.rows import Cell, ScenarioPage
    from helmsite.schema import MetricFacts, Stat

    Measured = Stat | Cell
    Groups = Mapping[str, Measured]


def of_run(stats: Iterable[Stat], metrics: Sequence[MetricFacts]) -> tuple[Gap, ...]:
    """Return the gaps of a run's metrics that have a good direction.

    There is one for each metric, scorer, split and dimension with two groups or more
    that have a value: attributes by their dimension, sub-splits as dimension ''.
    """
    order = {facts.name: n for n, facts in enumerate(metrics)}
    better = {f.name: f.higher_is_better for f in metrics}
    found: dict[tuple[str, str, str, str], dict[str, Measured]] = defaultdict(dict)
    for stat in stats:
        plain = stat.trial == -1 and not stat.perturbation
        if plain and stat.sub_split and better.get(stat.metric) is not None:
            key = stat.metric, stat.scorer, stat.origin, stat.split
            found[key][stat.sub_split] = stat
    return tuple(
        gap
        for key in sorted(found, key=lambda k: (order[k[0]], *k))
        for gap in _gaps(found[key], Gap(*key, higher=bool(better[key[0]])))
    )


def of_scenario(page: ScenarioPage) -> tuple[Gap, ...]:
    """Return the gaps of each run of a scenario's page, in its main metric."""
    if not page.columns or page.columns[0].metric.higher_is_better is None:
        return ()
    metric = page.columns[0].metric
    found: dict[tuple[str, str], dict[str, Measured]] = defaultdict(dict)
    for part in page.parts:
        for cell in part.cells:
            if part.sub_split and cell.run_id:
                found[cell.run_id, part.split][part.sub_split] = cell
    return tuple(
        gap
        for (run_id, split), groups in sorted(found.items())
        for gap in _gaps(
            groups,
            Gap(
                metric.name,
                split=split,
                higher=bool(metric.higher_is_better),
                run_id=run_id,
            ),
        )
    )


def _gaps(groups: Groups, about: Gap) -> Iterator[Gap]:
    by_dimension: dict[str, dict[str, Measured]] = defaultdict(dict)
    for name, group in sorted(groups.items()):
        dimension, value = name.split("=", 1) if "=" in name else ("", name)
        if group.value is not None:
            by_dimension[dimension][value] = group
    sign = 1 if about.higher else -1
    for dimension, values in sorted(by_dimension.items()):
        if len(values) < 2:
            continue
        ranked = sorted(
            values, key=lambda v: (-sign * rounded(values[v].value or 0.0), v)
        )
        best, worst = ranked[0], ranked[-1]
        gap, low, high = difference(values[best], values[worst], sign)
        yield structs.replace(
            about,
            dimension=dimension,
            best=best,
            worst=worst,
            value=gap,
            ci_low=low,
            ci_high=high,
            groups=len(values),
        )


def difference(
    best: Measured, worst: Measured, sign: int
) -> tuple[float, float | None, float | None]:
    """Return how far one group is ahead, with an interval from those of both.

    Source: Newcombe, 1998, Statistics in Medicine 17 (method 10); Zou and Donner, 2008,
    for other intervals than Wilson's. It takes the groups for independent: groups that
    share instances differ less by chance than it says.
    """
    ahead, behind = sign * (best.value or 0.0), sign * (worst.value or 0.0)
    gap = ahead - behind
    ends = [best.ci_low, best.ci_high, worst.ci_low, worst.ci_high]
    known = [end for end in ends if end is not None]
    if len(known) < len(ends):
        return gap, None, None
    ahead_low, ahead_high = sorted((sign * known[0], sign * known[1]))
    behind_low, behind_high = sorted((sign * known[2], sign * known[3]))
    low = gap - math.hypot(ahead - ahead_low, behind_high - behind)
    high = gap + math.hypot(ahead_high - ahead, behind - behind_low)
    return gap, low, high
