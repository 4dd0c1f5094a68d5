"""From query's rows to the records that templates see, page by page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from markupsafe import Markup

from helmsite.render import board as boards
from helmsite.render import charts, formats, sentences
from helmsite.render.names import link, up
from helmsite.render.pages import (
    ModelLine,
    ModelRow,
    ModelsPage,
    ModelView,
    ScenarioLine,
    ScenariosPage,
    ScenarioView,
)
from helmsite.render.parts import CellView, Clip, Fact, Link, RunLine
from helmsite.render.text import HEAD, TAIL, plain, visible

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from helmsite.query.rows import (
        ModelPage,
        ModelResult,
        ModelSummary,
        RunSummary,
        ScenarioPage,
        ScenarioSummary,
    )
    from helmsite.render.frames import Frames
    from helmsite.schema import MetricFacts, ModelCard


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
        href = link(path, site.run(row.best.run_id))
        lines.append(
            ScenarioLine(
                link=Link(
                    sentences.scenario_title(row.facts),
                    link(path, site.scenario(row.facts.name)),
                    plain(row.facts.name) if row.facts.title else "",
                ),
                task=plain(row.facts.taxonomy.task),
                language=plain(row.facts.taxonomy.language),
                models=row.n_models,
                runs=row.n_runs,
                instances=row.n_instances,
                metric=plain(metric.title) if metric else "",
                best=boards.cell_view(row.best, metric, href),
                best_model=_leader(row, cards, path, frames),
            )
        )
    sentence = sentences.counted(
        "scenario",
        len(lines),
        f", {formats.count(sum(r.n_instances for r in rows), 'instance')} in all",
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


def scenario(page: ScenarioPage, frames: Frames) -> ScenarioView:
    """Return a scenario's page."""
    facts, site = page.facts, frames.map
    path = site.scenario(facts.name)
    title = sentences.scenario_title(facts)
    taxonomy = facts.taxonomy
    known = [
        ("Name", facts.name, ""),
        ("Task", taxonomy.task, ""),
        ("What", taxonomy.what, ""),
        ("Who", taxonomy.who, ""),
        ("When", taxonomy.when, ""),
        ("Language", taxonomy.language, ""),
        ("Licence", facts.licence, ""),
        ("Source", facts.url, facts.url),
        ("Main metric", _main_words(page), ""),
    ]
    withheld = facts.publication == "aggregates"
    example = page.example.prompt if page.example and not withheld else ""
    return ScenarioView(
        frame=frames.frame(
            path,
            title,
            "Scenarios",
            (Link("Scenarios", up(path) + "scenarios/index.html"),),
        ),
        sentence=sentences.scenario(page),
        description=facts.description,
        facts=tuple(Fact(n, plain(v), href=h) for n, v, h in known if v),
        citation=facts.citation,
        metrics=tuple(
            Fact(plain(m.title), plain(m.description), boards.arrow(m)[1])
            for m in page.metrics
        ),
        chart=_scenario_chart(page, frames, path),
        board=boards.board(
            *boards.telling(page.columns, page.rows),
            site,
            path,
            f"Models on {title}",
            by="metric",
        ),
        example=_short(example) if example else None,
        example_note="The prompts of this scenario are not published."
        if withheld
        else "",
        runs=runs_table(sorted(page.runs, key=_by_model), frames, path),
    )


def _by_model(run: RunSummary) -> tuple[str, str, str]:
    """Return where a run stands in a scenario's list: beside the model's others."""
    card = run.manifest.card
    return (card.title or card.name, card.name, run.manifest.run_id)


def _main_words(page: ScenarioPage) -> str:
    place = sentences.main_column(page)
    if place is None:
        return ""
    column = page.columns[place]
    on = f" on {column.split}" if column.split else ""
    return f"{column.metric.name}{on}"


def _scenario_chart(page: ScenarioPage, frames: Frames, path: str) -> Markup:
    place = sentences.main_column(page)
    if place is None:
        return Markup("")
    metric = page.columns[place].metric
    dots = [
        charts.Dot(
            label=plain(row.card.title or row.card.name),
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


def models(rows: Sequence[ModelSummary], frames: Frames) -> ModelsPage:
    """Return the list of models."""
    path = "models/index.html"
    lines = []
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
                part=f"over {row.win_rate_columns}",
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
            )
        )
    rated = any(row.win_rate is not None for row in rows)
    order = ", best mean win rate first" if rated else ""
    sentence = sentences.counted("model", len(lines), order)
    return ModelsPage(frames.frame(path, "Models", "Models"), sentence, tuple(lines))


def model(page: ModelPage, frames: Frames) -> ModelView:
    """Return a model's page."""
    card = page.card
    path = frames.map.model(card.name)
    return ModelView(
        frame=frames.frame(
            path,
            plain(card.title or card.name),
            "Models",
            (Link("Models", up(path) + "models/index.html"),),
        ),
        sentence=sentences.model(page),
        description=card.description,
        facts=_card(card),
        results=tuple(_result(r, card, frames, path) for r in page.results),
        runs=runs_table(page.runs, frames, path),
    )


def _card(card: ModelCard) -> tuple[Fact, ...]:
    context = f"{card.context_length:,} tokens" if card.context_length else ""
    known = [
        ("Name", card.name, ""),
        ("Creator", card.creator, ""),
        ("Family", card.family, ""),
        ("Parameters", formats.parameters(card.num_parameters), ""),
        ("Context", context, ""),
        ("Access", card.access, ""),
        ("Released", card.release_date, ""),
        ("Licence", card.licence, ""),
        ("Source", card.url, card.url),
    ]
    return tuple(Fact(n, plain(v), href=h) for n, v, h in known if v)


def _result(
    result: ModelResult, card: ModelCard, frames: Frames, path: str
) -> ModelRow:
    column = result.column
    metric = column.metric
    ranked = result.rank is not None and result.of > 1
    return ModelRow(
        scenario=Link(
            sentences.scenario_title(column.scenario),
            link(path, frames.map.scenario(column.scenario.name)),
        ),
        metric=plain(metric.title),
        arrow=boards.arrow(metric)[0],
        cell=boards.cell_view(
            result.cell,
            metric,
            link(path, frames.map.run(result.cell.run_id)),
            _whole(metric),
            boards.runs_of(frames.map, path, column.scenario.name, card, result.cell),
        ),
        rank=f"{result.rank:g} of {result.of}" if ranked else "",
        rank_sort=f"{result.rank:g}" if ranked else "",
    )


def _whole(metric: MetricFacts) -> tuple[float, float] | None:
    return (0.0, 1.0) if metric.format == "share" else None


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
        origin=plain(manifest.origin),
        anchor=boards.line_of(site, manifest.run_id),
    )
