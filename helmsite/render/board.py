"""Tables of models: cells with their interval, coverage and reason, from query's rows."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from msgspec import structs

from helmsite.render import contamination, formats, joints, reach
from helmsite.render.names import digest, link, slug
from helmsite.render.parts import Bar, Board, CellView, ColumnView, RowView
from helmsite.render.text import plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from helmsite.query.rows import Cell, Column, LeaderboardRow, ModelSummary
    from helmsite.render.names import SiteMap
    from helmsite.schema import MetricFacts, ModelCard

WIDTH = 24.0
NARROW = 0.4
CONTAMINATED = (
    "†: the model may have been trained on the scenario; its page tells what is known"
)
DECIMAL = re.compile(r"\d{1,15}(\.\d+)?")
ARROWS = {True: ("↑", "higher is better"), False: ("↓", "lower is better")}
Range = tuple[float, float]


def arrow(metric: MetricFacts | None) -> tuple[str, str]:
    """Return the arrow of a metric's good direction and its words."""
    better = metric.higher_is_better if metric else None
    return ("", "") if better is None else ARROWS[better]


def describes(metric: MetricFacts) -> bool:
    """Return whether a metric tells of the requests rather than of the answers."""
    counted = metric.family == "efficiency" and metric.higher_is_better is None
    return counted or metric.family == formats.LAST_FAMILY


def telling(
    columns: Sequence[Column], rows: Sequence[LeaderboardRow]
) -> tuple[list[Column], list[LeaderboardRow]]:
    """Return a table without the columns, but for the first, that describe requests."""
    places = [i for i, c in enumerate(columns) if i == 0 or not describes(c.metric)]
    kept = [
        structs.replace(row, cells=tuple(row.cells[i] for i in places)) for row in rows
    ]
    return [columns[i] for i in places], kept


def model_note(card: ModelCard) -> str:
    """Return what stands small under a model's name: creator and size."""
    parts = [card.creator, formats.parameters(card.num_parameters)]
    return " · ".join(plain(p) for p in parts if p)


def span(cells: Sequence[Cell], form: str) -> Range:
    """Return the scale of a column's bars: from its lowest to its highest interval end.

    Shares span at least 0.4, so that wide and narrow intervals look different.
    """
    ends = [end for c in cells for end in (c.value, c.ci_low, c.ci_high)]
    seen = [end for end in ends if end is not None and abs(end) < formats.HUGE]
    low, high = (min(seen), max(seen)) if seen else (0.0, 1.0)
    if form == "share" and high - low < NARROW:
        low = min(max(0.0, (low + high - NARROW) / 2), 1.0 - NARROW)
        high = low + NARROW
    return (low, high)


def bar(cell: Cell, scale: Range | None) -> Bar | None:
    """Return a cell's interval as a thin bar, None without an interval or a scale."""
    if (
        scale is None
        or cell.ci_low is None
        or cell.ci_high is None
        or cell.value is None
    ):
        return None
    if not max(abs(cell.ci_low), abs(cell.ci_high), abs(cell.value)) < formats.HUGE:
        return None
    low, high = scale
    width = (high - low) or 1.0

    def place(x: float) -> float:
        return round(min(max((x - low) / width, 0.0), 1.0) * WIDTH, 1)

    return Bar(place(cell.ci_low), place(cell.ci_high), place(cell.value))


def cell_view(
    cell: Cell,
    metric: MetricFacts | None,
    href: str,
    scale: Range | None = None,
    others: str = "",
) -> CellView:
    """Return a cell with all that stands behind it in its title.

    Without a `scale` the cell stands in a list of unlike numbers: no bar, tint or bold.
    `others` is where the runs are listed that could have filled the cell.
    """
    form = metric.format if metric else "number"
    name = plain(metric.title) if metric else "value"
    if cell.value is None:
        reason = cell.missing or "not run"
        words = formats.hole(reason)
        return CellView("·", title=words, href=href, more=reach.more(cell, others))
    exact = formats.value(cell.value, form)
    judge = f" by {plain(cell.scorer)}" if cell.scorer else ""
    known = [f"{name}{judge} {exact}", formats.interval(cell, form), joints.words(cell)]
    if cell.n_asked:
        known.append(f"{cell.n_scored:,} of {cell.n_asked:,} observations scored")
    if unseen := reach.unseen(cell):
        known.append(f"{unseen} not shown here")
    known.append(reach.origin(cell))
    partial = cell.n_scored < cell.n_asked
    view = CellView(
        text=exact,
        sort=repr(round(cell.value, 9)),
        title="; ".join(k for k in known if k),
        href=href,
        heat=cell.heat if scale else -1,
        best=cell.best and scale is not None,
        bar=bar(cell, scale),
        part=f"{cell.n_scored:,}/{cell.n_asked:,}" if partial else "",
        more=reach.more(cell, others),
        ends=_ends(cell, form),
        counted=f"{cell.n_scored:,}/{cell.n_asked:,}" if cell.n_asked else "",
        reported=cell.origin == "reported",
    )
    return joints.told(view, cell)


def _ends(cell: Cell, form: str) -> str:
    if cell.ci_low is None or cell.ci_high is None:
        return ""
    return f"{formats.rough(cell.ci_low, form)} {formats.rough(cell.ci_high, form)}"


def lean(
    heads: Sequence[ColumnView], rows: Sequence[Sequence[CellView]]
) -> tuple[list[ColumnView], list[list[CellView]]]:
    """Return columns and cells without what a reader can put together from both.

    A column says how many observations its cells usually rest on; the cells that rest
    on as many don't. A cell has its exact number only where its text is none, or where
    another one's text is the same and its number is not.
    """
    columns, kept = [], [list(row) for row in rows]
    for i, head in enumerate(heads):
        cells = [row[i] for row in rows if row[i].sort]
        usual = Counter(c.counted for c in cells).most_common(1)
        counted = usual[0][0] if usual else ""
        columns.append(structs.replace(head, counted=counted))
        exact: dict[str, set[str]] = {}
        for cell in cells:
            exact.setdefault(cell.text, set()).add(cell.sort)
        for row in kept:
            cell = row[i]
            told = DECIMAL.fullmatch(cell.text) and len(exact[cell.text]) == 1
            row[i] = structs.replace(
                cell,
                counted="" if cell.counted == counted else cell.counted,
                exact="" if told else cell.sort,
            )
    return columns, kept


def column_view(column: Column, href: str, by: str) -> ColumnView:
    """Return a column headed by its scenario or, on a scenario's page, by its metric."""
    mark, words = arrow(column.metric)
    scenario = plain(column.scenario.title or column.scenario.name)
    metric = plain(column.metric.title)
    extra = [column.perturbation, column.computed_on]
    extra += (
        [column.split] if column.split not in {"", column.scenario.main_split} else []
    )
    detail = " · ".join(plain(e) for e in extra if e)
    if by == "metric":
        title, note = metric, " · ".join(p for p in (column.metric.unit, detail) if p)
    else:
        title, note = scenario, f"{metric} · {detail}" if detail else metric
    if column.members:
        note += f", mean of {len(column.members)}"
    usual = by != "metric" and column.metric.name == column.scenario.main_metric
    key = ["" if by == "metric" else column.scenario.name]
    key += ["" if usual else column.metric.name, *extra]
    return ColumnView(
        short(".".join(k for k in key if k)),
        title,
        note,
        href,
        mark,
        words,
        metric,
        of=len(column.members),
    )


def short(name: str) -> str:
    """Return what names a column in an address; different names have different ones."""
    plain_name = slug(name)
    same = plain_name == name
    return plain_name if same else f"{plain_name}-{digest(name, 4)}".lstrip("-")


def marked(view: CellView, card: ModelCard, *scenarios: str) -> CellView:
    """Return a cell with a mark where its model may know the scenarios' instances."""
    if not card.contamination or not view.sort:
        return view
    return structs.replace(view, mark=contamination.mark(card, *scenarios))


def bands(rows: Sequence[LeaderboardRow]) -> list[str]:
    """Return each row's place in its band; a band of one has none."""
    places = []
    for i, row in enumerate(rows):
        above = i > 0 and rows[i - 1].band == row.band
        below = i + 1 < len(rows) and rows[i + 1].band == row.band
        inside = "mid" if above and below else "last" if above else "first"
        places.append(inside if row.band and (above or below) else "")
    return places


def rests_on(rows: Iterable[LeaderboardRow | ModelSummary]) -> int:
    """Return on how many columns all mean win rates rest; 0 where they differ."""
    found = {r.win_rate_columns for r in rows if r.win_rate is not None}
    return found.pop() if len(found) == 1 else 0


def over_words(columns: int) -> str:
    """Return what a heading says of them: 'over 4 columns', 'over n columns'."""
    return f"over {formats.count(columns, 'column')}" if columns else "over n columns"


def win_view(row: LeaderboardRow, noun: str = "column", told: int = 0) -> CellView:
    """Return a row's mean win rate, the columns it rests on and, if not full, coverage.

    `noun` is what a column of the table stands for, `told` the number of columns that
    the heading names: then only coverage is left to say.
    """
    if row.win_rate is None:
        return CellView("·", title="no column shared with another model")
    of, over = len(row.cells), row.win_rate_columns
    filled = round(row.coverage * of)
    has = f"{filled} of {formats.count(of, noun)}"
    return CellView(
        text=formats.value(row.win_rate, "share"),
        sort=repr(round(row.win_rate, 9)),
        title=f"mean win rate over {formats.count(over, 'column')}; a value in {has}",
        part="; ".join(
            p
            for p in (
                "" if over == told else f"over {over}",
                "" if filled == of else f"{filled} of {of}",
            )
            if p
        ),
    )


def _keys(cells: Sequence[CellView]) -> Iterator[str]:
    """Yield what explains the signs that occur in a table."""
    if any(c.bar for c in cells):
        yield (
            "Bar: the value in its 95 % interval, between the lowest and the highest "
            "end of the column."
        )
    if any(c.heat >= 0 for c in cells):
        yield "Tint: from the worst (none) to the best (full) of the column."
    if any(c.reported for c in cells):
        yield "Italics: as reported by its source, not computed here."
    if any("/" in c.part for c in cells):
        yield "n/N: scored of asked, where some are missing."
    if any(c.some for c in cells):
        yield joints.SOME
    if any(c.mark for c in cells):
        yield f"{CONTAMINATED}."


def noun(columns: Sequence[Column], by: str = "scenario") -> str:
    """Return what a column stands for: a scenario, where no two are of the same."""
    each = len({c.scenario.name for c in columns if not c.members}) == len(columns)
    return "scenario" if each and by == "scenario" else "column"


def board(
    columns: Sequence[Column],
    rows: Sequence[LeaderboardRow],
    site: SiteMap,
    path: str,
    caption: str,
    by: str = "scenario",
) -> Board:
    """Return a table of models for the page at `path`."""
    scales = [
        span([r.cells[i] for r in rows], c.metric.format) for i, c in enumerate(columns)
    ]
    table = []
    for row in rows:
        cells = [
            cell_view(
                cell,
                column.metric,
                joints.source(site, path, column, cell),
                scale,
                reach.others(site, path, column.scenario.name, row.card, cell),
            )
            for cell, column, scale in zip(row.cells, columns, scales, strict=True)
        ]
        cells = [
            marked(cell, row.card, *(p.scenario.name for p in column.parts))
            for cell, column in zip(cells, columns, strict=True)
        ]
        if by == "metric":
            rest = (
                structs.replace(c, more=None, mark="") if c.sort else c
                for c in cells[1:]
            )
            cells = [*cells[:1], *rest]
        table.append(cells)
    heads, table = lean(
        [column_view(c, joints.target(site, path, c), by) for c in columns],
        table,
    )
    stands_for, over = noun(columns, by), rests_on(rows)
    views = [
        RowView(
            title=plain(row.card.title or row.card.name),
            href=link(path, site.model(row.card.name)),
            note=model_note(row.card),
            variant=plain(row.variant),
            cells=tuple(cells),
            band=place,
            win=win_view(row, stands_for, over),
            creator=plain(row.card.creator),
            size=formats.parameters(row.card.num_parameters),
            parameters=str(row.card.num_parameters or ""),
            access=row.card.access,
        )
        for row, place, cells in zip(rows, bands(rows), table, strict=True)
    ]
    kinds = {c.missing or "not run" for r in rows for c in r.cells if c.value is None}
    return Board(
        caption=caption,
        columns=tuple(heads),
        rows=tuple(views),
        wins=any(r.win_rate is not None for r in rows),
        over=over_words(over),
        bands=any(v.band for v in views),
        others=any(c.more for v in views for c in v.cells),
        reported=any(c.more_sources for r in rows for c in r.cells),
        keys=tuple(_keys([c for v in views for c in v.cells])),
        holes=tuple(map(formats.hole, sorted(kinds, key=formats.hole_order))),
    )
