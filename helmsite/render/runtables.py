"""A run's numbers as tables: by split, dimension, perturbation and trial."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from msgspec import structs

from helmsite.render import board as boards
from helmsite.render import formats
from helmsite.render.gaps import NONE, of_table, with_foot
from helmsite.render.gaps import cell as gap_cell
from helmsite.render.names import digest, slug
from helmsite.render.parts import CellView, ColumnView, RowView, Stats
from helmsite.render.perturbed import by_perturbation
from helmsite.render.runcells import SUB_SPLIT, Numbers, cell, dimension_of, spread
from helmsite.render.text import plain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from helmsite.query.rows import Gap
    from helmsite.schema import Manifest, MetricFacts, Stat

MOST_CELLS = 600
"""A table with more cells shows fewer metrics: 200 groups keep three."""
CONFIRMED = "As the source reports it."
REPORTED = "Reported by the source."
SAID = "As reported by "
MOST_METRICS = 8
"""A run's first table shows so many metrics, and all where they are not many more."""


def tables(
    stats: Sequence[Stat],
    manifest: Manifest,
    main: MetricFacts | None,
    gaps: Sequence[Gap] = (),
    *,
    linked: bool = False,
) -> Iterator[Stats]:
    """Yield a run's aggregates as tables: by split, dimension, perturbation and trial.

    The main metric comes first, then family by family; what describes the requests
    rather than the answers (counts and `general_information`) is in a last table, to
    fold away. Tables of groups end with their `gaps`. `linked`: whether rows lead to the
    instances that they are about.
    """
    stats, confirmed = _without_twins(stats)
    metrics = {m.name: m for m in manifest.metrics}
    first = main.name if main else ""
    ordered = sorted(stats, key=_order(manifest, first))
    told: list[Stat] = []
    described: list[Stat] = []
    for stat in ordered:
        facts = metrics.get(stat.metric)
        general = facts and stat.metric != first and boards.describes(facts)
        (described if general else told).append(stat)
    sizes = _sizes(stats)
    about = Numbers(
        manifest,
        metrics,
        split=manifest.scenario.split(sizes),
        several=len(sizes) > 1,
        twins=any(s.perturbation for s in stats),
        linked=linked,
        confirmed=confirmed,
    )
    whole = [s for s in told if _is_whole(s)]
    if whole:
        yield from _first_metrics(by_split("By split", whole, about))
    here = [s for s in told if s.split == about.split]
    yield from by_dimension(here, about, gaps)
    yield from by_perturbation(here, about)
    yield from by_trial(here, about)
    asked = [s for s in described if _is_whole(s)]
    if asked:
        made = by_split("What was asked and how it ended", asked, about)
        yield structs.replace(made, folded=bool(whole))


def _without_twins(
    stats: Sequence[Stat],
) -> tuple[list[Stat], frozenset[tuple[str, str]]]:
    """Return aggregates without those that the source reports as we compute them.

    And the metrics, with their scorer, of which there were some and no others. Where
    neither has a value there is one hole, ours.
    """
    computed = {_place(s): s.value for s in stats if s.origin == "computed"}
    kept, equal, other = [], set(), set()
    for stat in stats:
        if stat.origin != "reported" or _place(stat) not in computed:
            kept.append(stat)
            continue
        mine = computed[_place(stat)]
        if mine is None or stat.value is None:
            if mine is not stat.value:
                kept.append(stat)
        elif math.isclose(mine, stat.value, rel_tol=1e-9, abs_tol=1e-9):
            equal.add((stat.metric, stat.scorer))
        else:
            kept.append(stat)
            other.add((stat.metric, stat.scorer))
    return kept, frozenset(equal - other)


def _place(stat: Stat) -> tuple[object, ...]:
    return (
        *(stat.metric, stat.scorer, stat.split, stat.sub_split),
        *(stat.perturbation, stat.computed_on, stat.trial),
    )


def _first_metrics(table: Stats) -> Iterator[Stats]:
    """Yield a table of metrics; of many the first ones, and the rest to unfold."""
    first, rest = table.rows[:MOST_METRICS], table.rows[MOST_METRICS:]
    if len(rest) <= MOST_METRICS // 2:
        yield table
        return
    names = [row.title for row in rest[:3]]
    yield structs.replace(table, rows=first)
    yield structs.replace(
        table,
        caption="More metrics by split",
        rows=rest,
        folded=True,
        note=f"{', '.join(names)} and {formats.count(len(rest) - len(names), 'other')}",
    )


def _order(
    manifest: Manifest, first: str
) -> Callable[[Stat], tuple[bool, int, int, str, str]]:
    order = {m.name: (m.family, i) for i, m in enumerate(manifest.metrics)}
    names = formats.families(sorted({m.family for m in manifest.metrics}))
    families = {name: i for i, name in enumerate(names)}

    def place(stat: Stat) -> tuple[bool, int, int, str, str]:
        family, number = order.get(stat.metric, ("", len(order)))
        rank = families.get(family, len(families))
        return (stat.metric != first, rank, number, stat.metric, stat.scorer)

    return place


def _sizes(stats: Iterable[Stat]) -> dict[str, int]:
    """Return the observations on each split."""
    sizes: dict[str, int] = {}
    for stat in stats:
        sizes[stat.split] = max(stat.n_asked, sizes.get(stat.split, 0))
    return sizes


def _is_whole(stat: Stat) -> bool:
    return stat.trial == -1 and not stat.sub_split and not stat.perturbation


def by_split(caption: str, stats: Sequence[Stat], about: Numbers) -> Stats:
    """Return metrics × splits."""
    splits = list(dict.fromkeys(s.split for s in stats))
    rows: dict[tuple[str, str, str], dict[str, Stat]] = {}
    for stat in stats:
        key = (stat.metric, stat.scorer, stat.origin)
        rows.setdefault(key, {})[stat.split] = stat
    views = []
    for (name, scorer, origin), found in rows.items():
        facts = about.metrics.get(name)
        notes = [boards.arrow(facts)[0], _ended(facts.description) if facts else ""]
        said = facts.description.startswith(SAID) if facts else False
        if origin == "reported" and not said:
            notes.append(REPORTED)
        notes.append(CONFIRMED if (name, scorer) in about.confirmed else "")
        views.append(
            RowView(
                about.title(name, scorer),
                "",
                " ".join(plain(n) for n in notes if n),
                tuple(cell(found.get(split), about) for split in splits),
            )
        )
    columns = tuple(
        ColumnView(
            slug(s) or "all",
            plain(s) or "all",
            href=about.instances(split=s) if s and len(splits) > 1 else "",
        )
        for s in splits
    )
    return Stats(caption, "Metric", columns, tuple(views))


def _ended(description: str) -> str:
    """Return a description that other sentences may follow."""
    said = description.strip()
    return f"{said}." if said and said[-1] not in ".!?…" else said


def by_dimension(
    stats: Sequence[Stat], about: Numbers, gaps: Sequence[Gap] = ()
) -> Iterator[Stats]:
    """Yield a table for each dimension: its values × metrics, at its foot their gaps."""
    found: dict[str, list[Stat]] = {}
    for stat in stats:
        if stat.sub_split and not stat.perturbation and stat.trial == -1:
            found.setdefault(dimension_of(stat.sub_split)[0], []).append(stat)
    for dimension, chosen in sorted(
        found.items(), key=lambda item: (item[0] != SUB_SPLIT, item[0])
    ):
        own = dimension == SUB_SPLIT
        name = "sub-split" if own else plain(dimension)
        made = _by_row(
            f"By {name}",
            name[:1].upper() + name[1:],
            chosen,
            about,
            lambda stat: dimension_of(stat.sub_split)[1],
            of_table(gaps, about.split, dimension),
        )
        rows = tuple(
            structs.replace(
                row,
                href=about.instances(sub=value)
                if own
                else about.instances(group=f"{dimension}={value}"),
            )
            for row, value in zip(
                made.rows,
                dict.fromkeys(dimension_of(s.sub_split)[1] for s in chosen),
                strict=True,
            )
        )
        yield structs.replace(made, rows=rows, note=_range(chosen, about))


def _range(stats: Sequence[Stat], about: Numbers) -> str:
    """Return from where to where the first metric of a table goes, and in which group."""
    first = stats[0]
    known = [
        (s.value, plain(dimension_of(s.sub_split)[1]))
        for s in stats
        if (s.metric, s.scorer) == (first.metric, first.scorer)
    ]
    words = spread(known, about.metrics.get(first.metric))
    return f"{about.title(first.metric, first.scorer)} {words}" if words else ""


def by_trial(stats: Sequence[Stat], about: Numbers) -> Iterator[Stats]:
    """Yield trials × metrics, where there are several trials."""
    chosen = [
        s for s in stats if s.trial >= 0 and not s.sub_split and not s.perturbation
    ]
    if len({s.trial for s in chosen}) < 2:
        return
    chosen.sort(key=lambda s: s.trial)
    made = _by_row("By trial", "Trial", chosen, about, lambda s: f"Trial {s.trial}")
    numbers = dict.fromkeys(s.trial for s in chosen)
    rows = tuple(
        structs.replace(row, href=about.instances(trial=str(number)))
        for row, number in zip(made.rows, numbers, strict=True)
    )
    yield structs.replace(made, rows=rows)


def _asked(stats: Iterable[Stat]) -> CellView:
    count = max((s.n_asked for s in stats), default=0)
    return CellView(f"{count:,}", sort=str(count), title="observations asked")


def _by_row(
    caption: str,
    first: str,
    stats: Sequence[Stat],
    about: Numbers,
    key: Callable[[Stat], str],
    gaps: Iterable[Gap] = (),
) -> Stats:
    """Return rows × metrics, with how much each row rests on and the rows' gaps."""
    names = list(dict.fromkeys((s.metric, s.scorer) for s in stats))
    rows: dict[str, dict[tuple[str, str], Stat]] = {}
    for stat in stats:
        rows.setdefault(key(stat), {}).setdefault((stat.metric, stat.scorer), stat)
    shown = names[: max(1, MOST_CELLS // len(rows))]
    columns = [ColumnView("n", "n", "observations")]
    for name, scorer in shown:
        facts = about.metrics.get(name)
        mark, words = boards.arrow(facts)
        column = slug(f"{name} {scorer}".strip()) or digest(name)
        columns.append(
            ColumnView(column, about.title(name), plain(scorer), "", mark, words)
        )
    views = [
        RowView(
            plain(row),
            "",
            "",
            (_asked(found.values()), *(cell(found.get(n), about) for n in shown)),
        )
        for row, found in rows.items()
    ]
    left = len(names) - len(shown)
    rest = f"{formats.count(left, 'more metric')} in stats.parquet." if left else ""
    made = Stats(caption, first, tuple(columns), tuple(views), more=rest)
    apart: dict[tuple[str, str], Gap] = {}
    for gap in gaps:
        apart.setdefault((gap.metric, gap.scorer), gap)
    return with_foot(
        made, [NONE, *(gap_cell(apart.get(n), about.metrics.get(n[0])) for n in shown)]
    )
