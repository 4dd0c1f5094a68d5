"""Files of results that came without instances: their list, and a page about each."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

import msgspec

from helmsite.query import variants
from helmsite.query.rows import Cell
from helmsite.render import board as boards
from helmsite.render import formats, sentences
from helmsite.render.names import line_anchor, link, up
from helmsite.render.pages import SourceRow, SourcesPage, SourceView
from helmsite.render.parts import CellView, ColumnView, Fact, Link, RowView, Stats
from helmsite.render.text import plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from helmsite.query.rows import SourceFile, SourceLine, SourcePage
    from helmsite.render.frames import Frames
    from helmsite.schema import MetricFacts, ModelCard, Stat

FIRST = "sources/index.html"
PER_PAGE = 1000
TITLE = "Results without instances"
MOST_MODELS = 3
DATE = "date"
"""The setting under which lm-evaluation-harness tells when it began, in seconds."""

ERRORS = "se: the standard error that the source gives."
ABSENT = CellView("·", title=formats.hole("not reported"))


def place(number: int) -> str:
    """Return the address of a page of the list."""
    return FIRST if number == 1 else f"sources-{number}.html"


def listed(count: int, path: str) -> Link | None:
    """Return how the page at `path` reaches the list; None where it would be empty."""
    if not count:
        return None
    words = f"{formats.count(count, 'file')} of results that came without instances"
    return Link(words, link(path, FIRST))


def by_model(files: Iterable[SourceFile]) -> dict[str, list[SourceFile]]:
    """Return the files that tell of each model."""
    found: dict[str, list[SourceFile]] = {}
    for file in files:
        for model in file.models:
            found.setdefault(model, []).append(file)
    return found


def name_of(file: SourceFile) -> str:
    """Return what a file is called: the end of its path."""
    return plain(file.file.replace("\\", "/").rpartition("/")[2] or "unnamed file")


def pages(files: Sequence[SourceFile], frames: Frames) -> Iterator[SourcesPage]:
    """Yield the pages of the list; none if there are no such results."""
    starts = range(0, len(files), PER_PAGE)
    values = formats.count(sum(f.n_values for f in files), "value")
    models = formats.count(len({m for f in files for m in f.models}), "model")
    many = formats.count(len(files), "file")
    verb = "reports" if len(files) == 1 else "report"
    sentence = f"{many} {verb} {values} of {models}; they came without instances."
    for number, start in enumerate(starts, 1):
        path = place(number)
        parts = tuple(
            Link(
                f"{a + 1:,}–{min(a + PER_PAGE, len(files)):,}",
                up(path) + place(n),
                current=n == number,
            )
            for n, a in enumerate(starts, 1)
        )
        yield SourcesPage(
            frames.frame(
                path, TITLE, "Runs", (Link("Runs", up(path) + "runs/index.html"),)
            ),
            sentence,
            tuple(_row(f, frames, path) for f in files[start : start + PER_PAGE]),
            parts if len(parts) > 1 else (),
        )


def _row(file: SourceFile, frames: Frames, path: str) -> SourceRow:
    return SourceRow(
        link=Link(plain(file.file) or name_of(file), up(path) + frames.map.source(file.key)),
        tool=_tool(file),
        suite=plain(file.suite),
        models=tuple(
            Link(plain(frames.model_title(m)), link(path, frames.map.model(m)))
            for m in file.models[:MOST_MODELS]
        ),
        more=max(0, len(file.models) - MOST_MODELS),
        scenarios=file.n_scenarios,
        values=file.n_values,
    )  # fmt: skip


def _tool(file: SourceFile) -> str:
    return plain(" ".join(filter(None, (file.tool, file.version))))


def source(page: SourcePage, frames: Frames) -> SourceView:
    """Return the page about a file."""
    file = page.source
    path = frames.map.source(file.key)
    root = up(path)
    crumbs = (Link("Runs", root + "runs/index.html"), Link(TITLE, root + FIRST))
    shared = _shared([line.settings for line in page.lines])
    details = _shared([line.stat.details for line in page.lines])
    return SourceView(
        frame=frames.frame(path, name_of(file), "Runs", crumbs),
        sentence=_sentence(page),
        facts=tuple(_facts(file)),
        settings=tuple(
            Fact(name, moment(value) if name == DATE else _told(value))
            for told in (shared, details)
            for name, value in sorted(told.items())
        ),
        tables=tuple(_tables(page, shared, frames, path)),
    )


def moment(value: Any) -> str:
    """Return a setting that is a time in seconds as a date; any other as it is."""
    is_time = isinstance(value, (int, float)) and not isinstance(value, bool)
    return formats.moment(value, exact=True) if is_time else _told(value)


def _sentence(page: SourcePage) -> str:
    file, cards = page.source, page.cards
    where = "these files" if "*" in file.file else "this file"
    whose = plain(cards[0].title or cards[0].name) if len(cards) == 1 else ""
    of = whose or formats.count(len(cards), "model")
    values = formats.count(file.n_values, "value")
    on = formats.count(file.n_scenarios, "scenario")
    return (
        f"{_tool(file)} reports {values} of {of} on {on} in {where}. They came "
        "without instances: what was asked and answered cannot be looked at here."
    )


def _facts(file: SourceFile) -> Iterator[Fact]:
    known = [
        ("File", file.file),
        ("SHA-256", file.sha256),
        ("Tool", file.tool),
        ("Version", file.version),
        ("Suite", file.suite),
        ("In the archive", file.path),
    ]
    return (Fact(name, plain(value)) for name, value in known if value)


def _shared(several: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the settings that all have, with the same value."""
    first = several[0] if several else {}
    kinds = {msgspec.json.encode(s, order="deterministic"): s for s in several}
    return {
        name: value
        for name, value in first.items()
        if all(name in s and s[name] == value for s in kinds.values())
    }


def _told(value: Any) -> str:
    return plain(
        value if isinstance(value, str) else msgspec.json.encode(value).decode()
    )


def _tables(
    page: SourcePage, shared: Mapping[str, Any], frames: Frames, path: str
) -> Iterator[Stats]:
    """Yield a table for each model and settings: scenarios by metrics."""
    cards = {card.name: card for card in page.cards}
    groups = [list(own) for _, own in groupby(page.lines, _about)]
    labels = variants.told_apart(
        [
            {k: v for k, v in own[0].settings.items() if k not in shared}
            for own in groups
        ]
    )
    for own, label in zip(groups, labels, strict=True):
        yield _table(own, cards[own[0].model], plain(label), frames, path)


def _about(line: SourceLine) -> tuple[str, bytes]:
    return line.model, msgspec.json.encode(line.settings, order="deterministic")


def _table(
    lines: Sequence[SourceLine], card: ModelCard, label: str, frames: Frames, path: str
) -> Stats:
    metrics = {line.metric.name: line.metric for line in lines}
    name = plain(card.title or card.name)
    rows: dict[tuple[str, str], dict[str, SourceLine]] = {}
    for line in lines:
        rows.setdefault((line.scenario.name, _where(line)), {})[line.metric.name] = line
    views, anchored = [], set[str]()
    for (scenario, where), cells in rows.items():
        first = next(iter(cells.values()))
        views.append(
            RowView(
                title=sentences.scenario_title(first.scenario),
                href=link(path, frames.map.scenario(scenario)),
                note=where,
                cells=tuple(
                    _cell(cells[m].stat, facts) if m in cells else ABSENT
                    for m, facts in metrics.items()
                ),
                anchor="" if first.entry in anchored else line_anchor(first.entry),
            )
        )
        anchored.add(first.entry)
    return Stats(
        caption=f"{name}, {label}" if label else name,
        first="Scenario",
        columns=tuple(_head(facts) for facts in metrics.values()),
        rows=tuple(views),
        more=_explained(lines, metrics.values()),
    )


def _head(facts: MetricFacts) -> ColumnView:
    mark, words = boards.arrow(facts)
    return ColumnView(
        boards.short(facts.name), plain(facts.title), plain(facts.unit), "", mark, words
    )


def _explained(lines: Iterable[SourceLine], metrics: Iterable[MetricFacts]) -> str:
    """Return what stands below a table: what se means, and its metrics."""
    told = [ERRORS] if any(line.stat.stderr is not None for line in lines) else []
    told += [
        f"{plain(m.title)}: {plain(m.description)}" for m in metrics if m.description
    ]
    return " ".join(t if t.endswith(".") else f"{t}." for t in told)


def _where(line: SourceLine) -> str:
    """Return what a number is about, if it is not the scenario's main split alone."""
    stat = line.stat
    split = "" if stat.split in {"", line.scenario.main_split} else stat.split
    parts = [split, stat.sub_split, stat.perturbation, stat.computed_on, stat.scorer]
    return " · ".join(plain(p) for p in parts if p)


def _cell(stat: Stat, facts: MetricFacts) -> CellView:
    """Return a number with its standard error below it, its interval as a bar."""
    cell = Cell(
        value=stat.value,
        ci_low=stat.ci_low,
        ci_high=stat.ci_high,
        n_scored=stat.n_scored,
        n_asked=stat.n_asked,
        missing="" if stat.value is not None else "not measurable",
    )
    view = boards.cell_view(
        cell, facts, "", (0.0, 1.0) if facts.format == "share" else None
    )
    if stat.stderr is None or stat.value is None:
        return view
    error = f"se {formats.significant(stat.stderr)}"
    part = f"{error}; {view.part}" if view.part else error
    title = f"{view.title}; standard error {formats.significant(stat.stderr)}"
    return msgspec.structs.replace(view, part=part, title=title)
