"""A model's page: its card, what is known of it, its values, ranks and runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from markupsafe import Markup

from helmsite.render import board as boards
from helmsite.render import (
    charts,
    contamination,
    course,
    formats,
    reach,
    sentences,
    views,
)
from helmsite.render.names import link, up
from helmsite.render.pages import ModelRow, ModelView
from helmsite.render.parts import Fact, Link
from helmsite.render.sourceview import name_of
from helmsite.render.text import plain
from helmsite.schema import MetricFacts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from helmsite.query.rows import (
        ModelPage,
        ModelResult,
        ModelSummary,
        RunSummary,
        ScenarioSummary,
        SourceFile,
    )
    from helmsite.render.frames import Frames
    from helmsite.schema import ModelCard, Prices

SHARES = MetricFacts(
    "share",
    "Main metric of each scenario, where it is a share",
    "",
    "",
    higher_is_better=None,
    format="share",
)
MOST = 3
"""So many different settings are told; more are on the runs' pages."""


def model(
    page: ModelPage,
    frames: Frames,
    summary: ModelSummary | None = None,
    scenarios: Sequence[ScenarioSummary] = (),
    sources: Sequence[SourceFile] = (),
) -> ModelView:
    """Return a model's page.

    Args:
        page: the model.
        frames: those of the site's pages.
        summary: its line among all models.
        scenarios: all of the site.
        sources: files of results without instances that tell of it.
    """
    card = page.card
    path = frames.map.model(card.name)
    ran = {r.manifest.scenario.name for r in page.runs}
    ran |= {r.column.scenario.name for r in page.results if r.cell.is_filled}
    facts = [s.facts for s in scenarios]
    return ModelView(
        frame=frames.frame(
            path,
            plain(card.title or card.name),
            "Models",
            (Link("Models", up(path) + "models/index.html"),),
        ),
        sentence=sentences.model(page),
        description=card.description,
        facts=tuple(_card(card)),
        results=tuple(_result(r, card, frames, path) for r in page.results),
        runs=views.runs_table(page.runs, frames, path),
        win=_win(summary),
        contamination=contamination.of_model(card, facts, frames, path),
        chart=_chart(page, frames, path),
        not_run=tuple(
            Link(sentences.scenario_title(f), link(path, frames.map.scenario(f.name)))
            for f in facts
            if f.name not in ran
        ),
        setups=tuple(_setups(page.runs)),
        course=course.chart(page, frames, path),
        variants=course.table(page, frames, path),
        sources=tuple(
            Link(plain(s.file) or name_of(s), link(path, frames.map.source(s.key)))
            for s in sources
        ),
    )


def _card(card: ModelCard) -> Iterator[Fact]:
    context = f"{card.context_length:,} tokens" if card.context_length else ""
    known = [
        ("Name", card.name, ""),
        ("Creator", card.creator, ""),
        ("Family", card.family, ""),
        ("Parameters", formats.parameters(card.num_parameters), ""),
        ("Context", context, ""),
        ("Access", card.access, ""),
        ("Tokenizer", card.tokenizer, ""),
        ("Released", card.release_date, ""),
        ("Licence", card.licence, ""),
        ("Training energy", _amount(card.training_energy_mwh, "MWh"), ""),
        ("Training emissions", _amount(card.training_co2_tonnes, "tonnes of CO2"), ""),
        ("How that is known", card.training_note, ""),
        ("Price", _price(card.prices), ""),
        ("Also called", ", ".join(card.aliases), ""),
        ("Source", card.url, card.url),
    ]
    return (Fact(n, plain(v), href=h) for n, v, h in known if v)


def _amount(value: float | None, unit: str) -> str:
    return "" if value is None else f"{value:,.10g} {unit}"


def _price(prices: Prices | None) -> str:
    if prices is None:
        return ""
    asked, made = prices.input_per_million, prices.output_per_million
    return (
        f"{asked:,.10g} {prices.currency} for a million tokens of prompts, "
        f"{made:,.10g} for a million of completions"
    )


def _setups(runs: Iterable[RunSummary]) -> Iterator[Fact]:
    """Yield which clients, revisions and weights its runs had."""
    models = [r.manifest.spec.model for r in runs]
    known = [
        ("Client", [m.client for m in models]),
        ("Revision", [m.revision for m in models]),
        ("Quantisation", [m.quantisation for m in models]),
        ("Runtime", [m.runtime for m in models]),
        ("Weights SHA-256", [m.weights_sha256 for m in models]),
    ]
    for name, values in known:
        found = sorted({plain(v) for v in values if v})
        more = f" and {len(found) - MOST:,} more" if len(found) > MOST else ""
        if found:
            unsaid = "; not said by all runs" if not all(values) else ""
            yield Fact(name, ", ".join(found[:MOST]) + more + unsaid)


def _win(summary: ModelSummary | None) -> str:
    if summary is None or summary.win_rate is None:
        return ""
    rate = formats.value(summary.win_rate, "share")
    over = formats.count(summary.win_rate_columns, "column")
    return f"Mean win rate {rate} over {over}."


def _chart(page: ModelPage, frames: Frames, path: str) -> Markup:
    """Return its shares as a dot plot: the scenarios whose main metric is one."""
    dots = [
        charts.Dot(
            sentences.scenario_title(r.column.scenario),
            link(path, frames.map.scenario(r.column.scenario.name)),
            r.cell.value,
            r.cell.ci_low,
            r.cell.ci_high,
        )
        for r in page.results
        if r.cell.value is not None
        and r.column.metric.format == "share"
        and frames.map.scenario(r.column.scenario.name)
    ]
    return (
        charts.dot_plot(
            dots, SHARES, f"Values of {plain(page.card.title or page.card.name)}"
        )
        if len(dots) > 1
        else Markup("")
    )


def _result(
    result: ModelResult, card: ModelCard, frames: Frames, path: str
) -> ModelRow:
    column = result.column
    metric = column.metric
    ranked = result.rank is not None and result.of > 1
    scale = (0.0, 1.0) if metric.format == "share" else None
    return ModelRow(
        scenario=Link(
            sentences.scenario_title(column.scenario),
            link(path, frames.map.scenario(column.scenario.name)),
        ),
        metric=plain(metric.title),
        arrow=boards.arrow(metric)[0],
        cell=boards.marked(
            boards.cell_view(
                result.cell,
                metric,
                reach.source(frames.map, path, result.cell),
                scale,
                reach.others(frames.map, path, column.scenario.name, card, result.cell),
            ),
            card,
            column.scenario.name,
        ),
        rank=f"{result.rank:g} of {result.of}" if ranked else "",
        rank_sort=f"{result.rank:g}" if ranked else "",
    )
