"""From query's rows to the records that templates see, page by page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from markupsafe import Markup

from helmsite.render import board as boards
from helmsite.render import formats, reach, sentences
from helmsite.render.blocks import Clip
from helmsite.render.names import link
from helmsite.render.pages import (
    ModelLine,
    ModelsPage,
    ScenarioLine,
    ScenariosPage,
)
from helmsite.render.parts import CellView, Link, RunLine
from helmsite.render.runnames import source
from helmsite.render.text import HEAD, TAIL, blank, edged, plain, visible

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from helmsite.query.rows import (
        ModelSummary,
        RunSummary,
        ScenarioSummary,
    )
    from helmsite.render.frames import Frames
    from helmsite.schema import ModelCard


def scenarios(
    rows: Sequence[ScenarioSummary],
    best: Mapping[str, Sequence[ModelCard]],
    frames: Frames,
) -> ScenariosPage:
    """Return the list of scenarios; `best` are each one's models with the best value."""
    path = "scenarios/index.html"
    site = frames.map
    lines = []
    for row in rows:
        cards = best.get(row.facts.name, ())
        metric = row.main_metric
        href = reach.source(site, path, row.best)
        lines.append(
            ScenarioLine(
                link=Link(
                    sentences.scenario_title(row.facts),
                    link(path, site.scenario(row.facts.name)),
                    plain(row.facts.name) if row.facts.title else "",
                ),
                task=sentences.told(row.facts.taxonomy.task),
                language=sentences.told(row.facts.taxonomy.language),
                models=row.n_models,
                runs=row.n_runs,
                instances=row.n_instances,
                metric=plain(metric.title) if metric else "",
                best=boards.cell_view(row.best, metric, href),
                best_model=_leader(row, cards, path, frames),
            )
        )
    instances = sum(r.n_instances for r in rows)
    sentence = sentences.counted(
        "scenario",
        len(lines),
        f", {formats.count(instances, 'instance')} in all" if instances else "",
    )
    return ScenariosPage(
        frames.frame(path, "Scenarios", "Scenarios"), sentence, tuple(lines)
    )


def _leader(
    row: ScenarioSummary, cards: Sequence[ModelCard], path: str, frames: Frames
) -> Link | None:
    """Return the model with the best value, or how many share it."""
    if len(cards) > 1:
        every = "all " if len(cards) == row.n_models else ""
        words = f"{every}{formats.count(len(cards), 'model')}"
        return Link(words, link(path, frames.map.scenario(row.facts.name)))
    if not cards:
        return None
    name = cards[0].name
    return Link(plain(frames.model_title(name)), link(path, frames.map.model(name)))


def _short(text: str) -> Clip:
    """Return an example prompt: long ones lose their middle, its run has all of it."""
    if len(text) <= HEAD + TAIL:
        return Clip(visible(text), len(text))
    cut = Markup('<span class="cut">… {:,} characters left out here …</span>')
    html = visible(text[:HEAD]) + cut.format(len(text) - HEAD - TAIL)
    return Clip(html + visible(text[-TAIL:]), len(text))


def example(text: str) -> Clip | None:
    """Return an example prompt for a page, None without one."""
    return _short(text) if text else None


def reply(text: str) -> Clip | None:
    """Return an example completion; its white space can be seen, as an instance's."""
    if len(text) > HEAD + TAIL:
        return _short(text)
    return (
        Clip(edged(text) if text.strip() else blank(text), len(text)) if text else None
    )


def models(rows: Sequence[ModelSummary], frames: Frames) -> ModelsPage:
    """Return the list of models."""
    path = "models/index.html"
    lines = []
    told = boards.rests_on(rows)
    for row in rows:
        card = row.card
        win = CellView("·", title="no column shared with another model")
        if row.win_rate is not None:
            rate = formats.value(row.win_rate, "share")
            over = f"over {formats.count(row.win_rate_columns, 'column')}"
            win = CellView(
                rate,
                repr(round(row.win_rate, 9)),
                over,
                part="" if told else f"over {row.win_rate_columns}",
            )
        lines.append(
            ModelLine(
                link=Link(
                    plain(card.title or card.name),
                    link(path, frames.map.model(card.name)),
                    plain(card.name) if card.title else "",
                ),
                creator=plain(card.creator),
                size=formats.parameters(card.num_parameters),
                size_sort=str(card.num_parameters or ""),
                access=card.access,
                scenarios=row.n_scenarios,
                runs=row.n_runs,
                win=win,
                sources=row.n_sources,
            )
        )
    rated = any(row.win_rate is not None for row in rows)
    order = ", best mean win rate first" if rated else ""
    sentence = sentences.counted("model", len(lines), order)
    return ModelsPage(
        frames.frame(path, "Models", "Models"),
        sentence,
        tuple(lines),
        boards.over_words(told),
    )


def runs_table(
    rows: Sequence[RunSummary], frames: Frames, path: str
) -> tuple[RunLine, ...]:
    """Return runs as lines of a table on the page at `path`."""
    return tuple(run_line(row, frames, path) for row in rows)


def run_line(row: RunSummary, frames: Frames, path: str) -> RunLine:
    """Return one run as a line of a table."""
    manifest, metric = row.manifest, row.main_metric
    site = frames.map
    href = link(path, site.run(manifest.run_id))
    how = sentences.method(manifest.spec.adapter, row.n_trials)
    return RunLine(
        run_id=manifest.run_id,
        href=href,
        scenario=Link(
            sentences.scenario_title(manifest.scenario),
            link(path, site.scenario(manifest.scenario.name)),
        ),
        model=Link(
            plain(manifest.card.title or manifest.card.name),
            link(path, site.model(manifest.card.name)),
        ),
        method="; ".join(p for p in (how, frames.run_name(manifest).differs) if p),
        suite=plain(manifest.suite),
        metric=plain(metric.title) if metric else "",
        cell=boards.cell_view(row.main, metric, href),
        instances=row.n_instances,
        status=manifest.status,
        day=formats.day(manifest.provenance.finished_at),
        origin=plain(source(manifest)),
        anchor=reach.line_of(site, manifest.run_id),
    )
