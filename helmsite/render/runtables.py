"""A run's numbers as tables: by split, dimension, perturbation and trial."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlencode

from msgspec import structs

from helmsite.query.rows import Cell
from helmsite.render import board as boards
from helmsite.render import formats
from helmsite.render.names import digest, slug
from helmsite.render.parts import CellView, ColumnView, RowView, Stats
from helmsite.render.text import plain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from helmsite.schema import Manifest, MetricFacts, Stat

MOST_CELLS = 600
"""A table with more cells shows fewer metrics: 200 groups keep three."""
MOST_METRICS = 8
"""A run's first table shows so many metrics, and all where they are not many more."""
SUB_SPLIT = "sub_split"
KINDS = (("original", "Original"), ("perturbed", "Perturbed"), ("worst", "Worst case"))
KINDS_MEAN = (
    "Original and perturbed: the instances that it changed, before and after. Worst case: "
    "of each instance the worse of both; of a family, the worst of all its versions."
)


class Numbers(NamedTuple):
    """What every table of a run needs.

    `split` is the main one, `several` says that there are others, `twins` that instances
    have perturbed versions, `linked` that the run's instances are published.
    """

    manifest: Manifest
    metrics: dict[str, MetricFacts]
    split: str
    several: bool
    twins: bool
    linked: bool

    def instances(self, **state: str) -> str:
        """Return the address of the run's instances in a state of its finder.

        Unless something else is asked for, they are those of the main split as they were.
        """
        if not self.linked:
            return ""
        if self.several:
            state = {"split": self.split, **state}
        if self.twins:
            state = {"pert": "original", **state}
        return f"?{urlencode(state, errors='surrogatepass')}#instances"

    def title(self, metric: str, scorer: str = "") -> str:
        """Return what a metric is called."""
        facts = self.metrics.get(metric)
        name = plain(facts.title if facts else metric)
        return f"{name} ({plain(scorer)})" if scorer else name


def tables(
    stats: Sequence[Stat],
    manifest: Manifest,
    main: MetricFacts | None,
    *,
    linked: bool = False,
) -> Iterator[Stats]:
    """Yield a run's aggregates as tables: by split, dimension, perturbation and trial.

    The main metric comes first, then family by family; what describes the requests
    rather than the answers (counts and `general_information`) is in a last table, to
    fold away. `linked`: whether rows lead to the instances that they are about.
    """
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
    )
    whole = [s for s in told if _is_whole(s)]
    if whole:
        yield from _first_metrics(by_split("By split", whole, about))
    here = [s for s in told if s.split == about.split]
    yield from by_dimension(here, about)
    yield from by_perturbation(here, about)
    yield from by_trial(here, about)
    asked = [s for s in described if _is_whole(s)]
    if asked:
        made = by_split("What was asked and how it ended", asked, about)
        yield structs.replace(made, folded=bool(whole))


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
        notes = [boards.arrow(facts)[0], "reported" if origin == "reported" else ""]
        notes.append(facts.description if facts else "")
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


def dimension_of(sub_split: str) -> tuple[str, str]:
    """Return dimension and value of an attribute; sub-splits are a dimension too."""
    dimension, mark, value = sub_split.partition("=")
    return (dimension, value) if mark else (SUB_SPLIT, sub_split)


def by_dimension(stats: Sequence[Stat], about: Numbers) -> Iterator[Stats]:
    """Yield a table for each dimension: its values × metrics."""
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


def spread(
    values: Sequence[tuple[float | None, str]], facts: MetricFacts | None
) -> str:
    """Return from where to where named values go; '' for less than two."""
    known = sorted((value, name) for value, name in values if value is not None)
    if len(known) < 2:
        return ""
    form = facts.format if facts else "number"
    (low, lowest), (high, highest) = known[0], known[-1]
    if low == high:
        return f"{formats.value(low, form)} in each"
    ends = formats.value(low, form), formats.value(high, form)
    return f"from {ends[0]} ({lowest}) to {ends[1]} ({highest})"


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


def by_perturbation(stats: Sequence[Stat], about: Numbers) -> Iterator[Stats]:
    """Yield for each metric its perturbations: original, perturbed, difference, worst."""
    found: dict[tuple[str, str], dict[str, dict[str, Stat]]] = {}
    for stat in stats:
        if stat.perturbation and not stat.sub_split and stat.trial == -1:
            rows = found.setdefault((stat.metric, stat.scorer), {})
            rows.setdefault(stat.perturbation, {}).setdefault(stat.computed_on, stat)
    titles = {p.name: p.title for p in about.manifest.perturbations}
    for number, ((metric, scorer), rows) in enumerate(found.items()):
        facts = about.metrics.get(metric)
        mark, words = boards.arrow(facts)
        columns = [
            ColumnView(key, title, arrow=mark, direction=words) for key, title in KINDS
        ]
        columns.insert(
            2, ColumnView("difference", "Difference", "perturbed − original")
        )
        views = []
        for name, by_kind in sorted(rows.items(), key=lambda item: item[0]):
            cells = [_kind_cell(by_kind, key, about) for key, _ in KINDS]
            cells.insert(2, difference(by_kind, facts))
            real = bool(set(by_kind) - {"worst"})
            href = about.instances(pert=name) if real else ""
            title = plain(titles.get(name) or name)
            note = plain(name) if title != plain(name) else ""
            views.append(RowView(title, href, note, tuple(cells)))
        yield Stats(
            f"Under perturbations: {about.title(metric, scorer)}",
            "Perturbation",
            tuple(columns),
            tuple(views),
            folded=number > 0,
            more=KINDS_MEAN if number == 0 else "",
        )


def _kind_cell(found: dict[str, Stat], kind: str, about: Numbers) -> CellView:
    if kind in found:
        return cell(found[kind], about)
    return CellView("·", title="a family of perturbations has its worst case alone")


def difference(found: dict[str, Stat], facts: MetricFacts | None) -> CellView:
    """Return what a perturbation changed."""
    values = [found[k].value if k in found else None for k in ("perturbed", "original")]
    after, before = values
    if after is None or before is None:
        return CellView("·", title="both numbers are needed for a difference")
    form = facts.format if facts else "number"
    change = after - before
    sign = "+" if change > 0 else ""
    return CellView(
        f"{sign}{formats.value(change, form)}",
        sort=repr(round(change, 9)),
        title=f"{formats.value(after, form)} less {formats.value(before, form)}",
    )


def cell(stat: Stat | None, about: Numbers) -> CellView:
    """Return a table's cell with its interval, and how much it rests on in its title."""
    if stat is None:
        return CellView("·", title="not run: no such value in this run")
    facts = about.metrics.get(stat.metric)
    form = facts.format if facts else "number"
    if stat.value is None:
        return CellView("·", title=stat.missing or "not measurable")
    shown = Cell(
        value=stat.value,
        ci_low=stat.ci_low,
        ci_high=stat.ci_high,
        n_scored=stat.n_scored,
        n_asked=stat.n_asked,
        missing="",
    )
    words = [formats.interval(shown, form)]
    if stat.n_asked:
        words.append(f"{stat.n_scored:,} of {stat.n_asked:,} observations scored")
    if stat.origin == "reported":
        words.append("as reported by the source")
    partial = stat.n_scored < stat.n_asked
    return CellView(
        text=formats.value(stat.value, form),
        sort=repr(round(stat.value, 9)),
        title="; ".join(w for w in words if w),
        bar=boards.bar(shown, (0.0, 1.0)) if form == "share" else None,
        part=f"{stat.n_scored:,}/{stat.n_asked:,}" if partial else "",
    )


def _asked(stats: Iterable[Stat]) -> CellView:
    count = max((s.n_asked for s in stats), default=0)
    return CellView(f"{count:,}", sort=str(count), title="observations asked")


def _by_row(
    caption: str,
    first: str,
    stats: Sequence[Stat],
    about: Numbers,
    key: Callable[[Stat], str],
) -> Stats:
    """Return rows × metrics, with how much each row rests on."""
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
    return Stats(caption, first, tuple(columns), tuple(views), more=rest)
