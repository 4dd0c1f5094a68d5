"""A scenario's page: every model under every metric, its parts, and what it asks."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlencode

from markupsafe import Markup

from helmsite.render import board as boards
from helmsite.render import (
    charts,
    contamination,
    curves,
    reach,
    sentences,
    sizes,
    views,
)
from helmsite.render.blocks import ReferenceView
from helmsite.render.gaps import cell as gap_cell
from helmsite.render.gaps import of_table, with_foot
from helmsite.render.names import link, up
from helmsite.render.pages import ScenarioView
from helmsite.render.parts import CellView, ColumnView, Fact, Link, RowView, Stats
from helmsite.render.runcells import SUB_SPLIT, dimension_of, spread
from helmsite.render.text import plain, visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from helmsite.query.rows import Cell, Column, Part, RunSummary, ScenarioPage
    from helmsite.render.frames import Frames
    from helmsite.schema import MetricFacts

MOST_MODELS = 12
LONGEST = 2000
WITHHELD = "The prompts of this scenario are not published."
PUBLICATION = "aggregates only: no instance, prompt or completion is published"


def scenario(page: ScenarioPage, frames: Frames) -> ScenarioView:
    """Return a scenario's page."""
    facts, site = page.facts, frames.map
    path = site.scenario(facts.name)
    title = sentences.scenario_title(facts)
    withheld = facts.publication == "aggregates"
    place = sentences.main_column(page)
    example = None if withheld else page.example
    return ScenarioView(
        frame=frames.frame(
            path,
            title,
            "Scenarios",
            (Link("Scenarios", up(path) + "scenarios/index.html"),),
        ),
        sentence=sentences.scenario(page),
        description=facts.description,
        facts=tuple(_facts(page)),
        citation=facts.citation,
        metrics=tuple(
            Fact(plain(m.title), plain(m.description), boards.arrow(m)[1])
            for m in page.metrics
        ),
        chart=_dots(page, place, frames, path),
        board=boards.board(
            *boards.telling(page.columns, page.rows),
            site,
            path,
            f"Models on {title}",
            by="metric",
        ),
        example=views.example(example.prompt) if example else None,
        example_note=WITHHELD if withheld else "",
        runs=views.runs_table(sorted(page.runs, key=_by_model), frames, path),
        sizes=sizes.of_scenario(page, place, frames, path),
        courses=_courses(page, frames, path),
        parts=tuple(_parts(page, place, frames, path)),
        reply=views.reply(page.example_reply.text)
        if example and page.example_reply
        else None,
        references=_references(page) if example else (),
        instance=_instance(page, frames, path) if example else None,
        contamination=contamination.of_scenario(page.rows, facts.name, frames, path),
    )


def _by_model(run: RunSummary) -> tuple[str, str, str]:
    """Return where a run stands in a scenario's list: beside the model's others."""
    card = run.manifest.card
    return (card.title or card.name, card.name, run.manifest.run_id)


def _facts(page: ScenarioPage) -> Iterator[Fact]:
    facts = page.facts
    taxonomy = facts.taxonomy
    private = facts.publication == "aggregates"
    known = [
        ("Name", facts.name, ""),
        ("Task", sentences.told(taxonomy.task), ""),
        ("What", sentences.told(taxonomy.what), ""),
        ("Who", sentences.told(taxonomy.who), ""),
        ("When", sentences.told(taxonomy.when), ""),
        ("Language", sentences.told(taxonomy.language), ""),
        ("Caution", facts.caution, ""),
        ("Licence", facts.licence, ""),
        ("Source", facts.url, facts.url),
        ("Groups", ", ".join(facts.groups), ""),
        ("Main metric", _main_words(page), ""),
        ("Published", PUBLICATION if private else "", ""),
    ]
    return (Fact(n, plain(v), href=h) for n, v, h in known if v)


def _main_words(page: ScenarioPage) -> str:
    place = sentences.main_column(page)
    if place is None:
        return ""
    column = page.columns[place]
    on = f" on {column.split}" if column.split else ""
    return f"{plain(column.metric.title)}{on}"


def _dots(page: ScenarioPage, place: int | None, frames: Frames, path: str) -> Markup:
    if place is None:
        return Markup("")
    metric = page.columns[place].metric
    dots = [
        charts.Dot(
            label=sentences.line_title(row),
            href=up(path) + frames.map.model(row.card.name),
            value=cell.value,
            low=cell.ci_low,
            high=cell.ci_high,
        )
        for row in page.rows
        for cell in [row.cells[place]]
        if cell.value is not None and frames.map.model(row.card.name)
    ]
    title = f"{plain(metric.title)} on {sentences.scenario_title(page.facts)}"
    return charts.dot_plot(dots, metric, title)


def _courses(page: ScenarioPage, frames: Frames, path: str) -> Markup:
    """Return the main metric over the checkpoints of models that have several."""
    if page.main_metric is None:
        return Markup("")
    found = [
        curves.Curve(
            plain(course.card.title or course.card.name),
            link(path, frames.map.model(course.card.name)),
            tuple(
                curves.Step(
                    "",
                    reach.source(frames.map, path, cell),
                    cell.value,
                    cell.ci_low,
                    cell.ci_high,
                    step=step,
                )
                for step, cell in course.points
                if cell.value is not None
            ),
        )
        for course in page.courses
    ]
    title = f"{plain(page.main_metric.title)} by training step"
    return curves.curves(found, page.main_metric, title)


def _parts(
    page: ScenarioPage, place: int | None, frames: Frames, path: str
) -> Iterator[Stats]:
    """Yield the main metric by split and by dimension, a column for each model.

    With many models, those with the best values have a column.
    """
    if place is None or not page.rows:
        return
    main = page.columns[place]
    shown = range(min(len(page.rows), MOST_MODELS))
    heads = tuple(_head(page, n, place, frames, path) for n in shown)
    tables: dict[str, list[tuple[str, Part]]] = {}
    for part in page.parts:
        if not part.sub_split:
            tables.setdefault("", []).append((part.split, part))
        elif part.split == main.split:
            dimension, value = dimension_of(part.sub_split)
            tables.setdefault(dimension, []).append((value, part))
    for dimension, found in sorted(
        tables.items(), key=lambda item: (item[0] not in {"", SUB_SPLIT}, item[0])
    ):
        if dimension == "" and len(found) < 2:
            continue
        name = {"": "split", SUB_SPLIT: "sub-split"}.get(dimension, plain(dimension))
        rows = tuple(
            RowView(
                plain(value) or "all",
                "",
                "",
                tuple(_cell(part.cells[n], main) for n in shown),
            )
            for value, part in found
        )
        left = len(page.rows) - len(shown)
        best = [(p.cells[0].value, plain(v)) for v, p in found]
        leader = plain(page.rows[0].card.title or page.rows[0].card.name)
        table = Stats(
            f"{plain(main.metric.title)} by {name}",
            name[:1].upper() + name[1:],
            heads,
            rows,
            folded=len(rows) > MOST_MODELS,
            note=f"{leader}: {words}" if (words := spread(best, main.metric)) else "",
            more=f"The {len(shown)} models with the best values; {left:,} more have "
            "these numbers on their runs’ pages."
            if left
            else "",
        )
        apart = {
            g.run_id: g
            for g in of_table(page.gaps, main.split, dimension)
            if dimension and g.metric == main.metric.name
        }
        yield with_foot(
            table,
            [
                gap_cell(apart.get(page.rows[n].cells[place].run_id), main.metric)
                for n in shown
            ],
        )


def _head(
    page: ScenarioPage, n: int, place: int, frames: Frames, path: str
) -> ColumnView:
    row = page.rows[n]
    mark, words = boards.arrow(page.columns[place].metric)
    name = sentences.line_title(row)
    href = reach.source(frames.map, path, row.cells[place])
    return ColumnView(f"m{n}", name, "", href, mark, words)


def _cell(cell: Cell, column: Column) -> CellView:
    metric: MetricFacts = column.metric
    scale = (0.0, 1.0) if metric.format == "share" else None
    return boards.cell_view(cell, metric, "", scale)


def _references(page: ScenarioPage) -> tuple[ReferenceView, ...]:
    if page.example_instance is None:
        return ()
    return tuple(
        ReferenceView(
            visible(r.text if len(r.text) <= LONGEST else f"{r.text[:LONGEST]}…"),
            r.is_correct,
        )
        for r in page.example_instance.references[:MOST_MODELS]
    )


def _instance(page: ScenarioPage, frames: Frames, path: str) -> Link | None:
    """Return where the example's run has it, by the run's finder."""
    place = link(path, frames.map.run(page.example_run))
    if not place or page.example is None:
        return None
    state = urlencode({"id": page.example.instance_id}, errors="surrogatepass")
    run = next(r for r in page.runs if r.manifest.run_id == page.example_run)
    name = frames.run_name(run.manifest).title
    return Link(
        f"instance {plain(page.example.instance_id)} of {name}",
        f"{place}?{state}#instances",
    )
