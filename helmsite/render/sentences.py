"""The one sentence at the head of a page: what is known, in words with numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from helmsite.render import formats, joints
from helmsite.render.text import plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from helmsite.query.rows import (
        Leaderboard,
        LeaderboardRow,
        ModelPage,
        RunSummary,
        ScenarioPage,
    )
    from helmsite.schema import AdapterSpec, ModelCard, ScenarioFacts

METHODS = {
    "generation": "generation",
    "multiple_choice_joint": "joint multiple choice",
    "multiple_choice_joint_chain_of_thought": "joint multiple choice after a chain of thought",
    "multiple_choice_separate_original": "separate multiple choice",
    "multiple_choice_separate_calibrated": "calibrated separate multiple choice",
    "ranking_binary": "ranking, document by document",
    "language_modeling": "language modelling",
    "chat": "chat",
    "": "method unknown",
}
NOT_TOLD = {"?", "n/a"}
UNSCORED = (
    "No run of the archive has a score yet. Add scores with “helmsite score”, then build "
    "the site again; the runs are listed under Runs."
)
EMPTY = "The archive has no runs yet. Make some with “helmsite run”, then build the site again."


def scenario_title(facts: ScenarioFacts) -> str:
    """Return a scenario's title, its name where it has none."""
    return plain(facts.title or facts.name)


def line_title(row: LeaderboardRow) -> str:
    """Return what a table's line is about: 'Pythia 410M', 'Pythia 410M, step512'."""
    name = plain(row.card.title or row.card.name)
    return f"{name}, {plain(row.variant)}" if row.variant else name


def told(answer: str) -> str:
    """Return an answer of a scenario's taxonomy; '' where it is HELM's sign for none."""
    return "" if answer.strip().lower() in NOT_TOLD else plain(answer)


def method(adapter: AdapterSpec, trials: int = 0) -> str:
    """Return how a scenario was asked: '5-shot, joint multiple choice, 3 trials'."""
    parts = [METHODS[adapter.method]]
    if adapter.method not in {"", "language_modeling", "chat"}:
        shots = adapter.max_train_instances
        parts.insert(0, f"{shots}-shot" if shots else "zero-shot")
    if trials > 1:
        parts.append(f"{trials} trials")
    return ", ".join(parts)


def board(shown: Leaderboard) -> str:
    """Return the sentence of a leaderboard."""
    if not shown.rows or not shown.columns:
        return EMPTY
    models = _lines(shown.rows)
    across = formats.count(len(joints.scenarios(shown.columns)), "scenario")
    if any(c.members for c in shown.columns):
        across += f" in {formats.count(len(shown.columns), 'column')}"
    start = f"{models} on {across}, {_family(shown.family)}."
    rated = [r for r in shown.rows if r.win_rate is not None]
    if not rated:
        return f"{start} {_no_rates(shown)}"
    leader = rated[0]
    rate = formats.rough(leader.win_rate or 0.0, "share")
    columns = formats.count(leader.win_rate_columns, "column")
    tied = [
        r for r in rated if round((r.win_rate or 0) - (leader.win_rate or 0), 9) == 0
    ]
    names = [line_title(r) for r in tied]
    if len(tied) == len(rated) > 1:
        return f"{start} All of them have the same mean win rate, {rate}."
    if len(tied) > 1:
        return (
            f"{start} {formats.listed(names)} share the highest mean win rate, "
            f"{rate} over {_over(tied)}."
        )
    return (
        f"{start} {names[0]} has the highest mean win rate, {rate} over "
        f"{columns}{_tied(leader, shown.rows)}."
    )


def _over(rows: Sequence[LeaderboardRow]) -> str:
    """Return on how many columns win rates rest: '6 columns', '1 to 6 columns'."""
    found = sorted({r.win_rate_columns for r in rows})
    most = formats.count(found[-1], "column")
    return most if len(found) == 1 else f"{found[0]:,} to {most}"


def _no_rates(shown: Leaderboard) -> str:
    if len(shown.rows) == 1:
        return "With nothing to compare there are no win rates."
    if all(c.metric.higher_is_better is None for c in shown.columns):
        return "These metrics have no good direction, so there are no win rates."
    return "No two models share a column, so there are no win rates."


def _family(family: str) -> str:
    if family == "accuracy":
        return "each by its main metric"
    return f"{lower(formats.family(family)).removesuffix(' metrics')} metrics"


def _tied(leader: LeaderboardRow, rows: Sequence[LeaderboardRow]) -> str:
    band = leader.band
    others = sum(r.band == band for r in rows) - 1 if band else 0
    if not others:
        return ""
    return f"; {formats.count(others, 'other model')} cannot be told apart from it"


def main_column(page: ScenarioPage) -> int | None:
    """Return the place of a scenario's main metric among its columns, None without one."""
    main = page.main_metric or next(
        (r.main_metric for r in page.runs if r.main_metric), None
    )
    found = (
        place
        for place, column in enumerate(page.columns)
        if main and column.metric.name == main.name and not column.perturbation
    )
    return next(found, None)


def leaders(page: ScenarioPage) -> tuple[ModelCard, ...]:
    """Return the models with the best main value: several if they are equal to 9 digits.

    None without a good direction or a value.
    """
    place = main_column(page)
    better = None if place is None else page.columns[place].metric.higher_is_better
    values = [
        (round(v, 9), row.card)
        for row in page.rows
        if place is not None and (v := row.cells[place].value) is not None
    ]
    if better is None or not values:
        return ()
    top = (max if better else min)(value for value, _ in values)
    return tuple(card for value, card in values if value == top)


def scenario(page: ScenarioPage) -> str:
    """Return the sentence of a scenario's page."""
    place = main_column(page)
    start = _tried(page)
    scored = [
        r for r in page.rows if place is not None and r.cells[place].value is not None
    ]
    if place is None or not scored:
        return f"{start}; none has a value under its main metric."
    metric = page.columns[place].metric
    values = sorted(r.cells[place].value or 0.0 for r in scored)
    label = lower(metric.title)
    left = len(page.rows) - len(scored)
    without = f"; {left:,} without a value" if left else ""
    if values[0] == values[-1]:
        each = "" if len(scored) == 1 else " for each of them"
        value = formats.rough(values[0], metric.format)
        return f"{start}: {label} {value}{'' if left else each}{without}."
    low, high = (
        f"{formats.rough(value, metric.format)}{_whose(scored, place, value)}"
        for value in (values[0], values[-1])
    )
    return f"{start}: {label} from {low} to {high}{without}."


def _lines(rows: Sequence[LeaderboardRow]) -> str:
    """Return how many models a table has, and how many lines where they are more."""
    models = formats.count(len({r.card.name for r in rows}), "model")
    if not any(r.variant for r in rows):
        return models
    return f"{formats.count(len(rows), 'line')} of {models}"


def _tried(page: ScenarioPage) -> str:
    """Return who was run on a scenario, and who has a reported result on it alone."""
    models, title = _lines(page.rows), scenario_title(page.facts)
    one = len(page.rows) == 1
    told = sum(any(c.source for c in r.cells) for r in page.rows)
    if not told:
        return f"{models} {'was' if one else 'were'} run on {title}"
    start = f"{models} {'has a result' if one else 'have results'} on {title}"
    if told == len(page.rows):
        return f"{start}, as reported and without instances"
    return f"{start}, {told:,} of them as reported and without instances"


def _whose(rows: Sequence[LeaderboardRow], place: int, value: float) -> str:
    """Return ' (Willow 7B)', the one model that has the value; '' where several have."""
    names = [
        line_title(r)
        for r in rows
        if round((r.cells[place].value or 0.0) - value, 9) == 0
    ]
    return f" ({names[0]})" if len(names) == 1 else ""


def lower(title: str) -> str:
    """Return a title as it stands inside of a sentence: "exact match", but "F1"."""
    shown = plain(title)
    return shown[:1].lower() + shown[1:] if shown[1:2].islower() else shown


def model(page: ModelPage) -> str:
    """Return the sentence of a model's page."""
    name = plain(page.card.title or page.card.name)
    ranked = [r for r in page.results if r.rank is not None and r.of > 1]
    alone = sum(r.rank == 1 for r in ranked)
    told = page.n_sources
    tried = sum(r.cell.missing != "not run" for r in page.results)
    held = [formats.count(len(page.runs), "run")] if page.runs or not told else []
    held += [f"results in {formats.count(told, 'file')}"] if told else []
    on = formats.count(tried, "scenario")
    start = f"{name} has {formats.listed(held)} on {on}"
    if not ranked:
        return f"{start}; no other model shares one of them."
    shared = formats.count(len(ranked), "scenario")
    if len(ranked) == 1:
        where = "is" if alone else "is not"
        return f"{start}. It {where} the best alone on the one that it shares with other models."
    return f"{start}. It is the best alone on {alone or 'none'} of the {shared} that it shares with other models."


def run(summary: RunSummary) -> str:
    """Return the sentence of a run's page: who answered how much, and the main number."""
    manifest, counts = summary.manifest, summary.manifest.counts
    name = plain(manifest.card.title or manifest.card.name)
    about = formats.count(summary.n_instances, "instance")
    title = scenario_title(manifest.scenario)
    how = method(manifest.spec.adapter, summary.n_trials)
    if counts.asked and counts.answered == counts.asked:
        all_of = f"{summary.n_instances:,} of {about}"
        asked = f"{name} answered {all_of} of {title} ({how})"
    elif counts.asked:
        asked = (
            f"{name} answered {counts.answered:,} of {formats.count(counts.asked, 'request')} "
            f"about {about} of {title} ({how})"
        )
    else:
        asked = f"{name} on {about} of {title} ({how})"
    return f"{asked}{main_value(summary)}."


def main_value(summary: RunSummary) -> str:
    """Return ': exact match 0.31, 95 % interval 0.25 to 0.37'."""
    cell, metric = summary.main, summary.main_metric
    if metric is None:
        return ""
    if cell.value is None:
        return f"; {lower(metric.title)} has no value ({cell.missing or 'not run'})"
    value = f"{lower(metric.title)} {formats.rough(cell.value, metric.format)}"
    return ": " + ", ".join(
        p for p in (value, formats.interval(cell, metric.format)) if p
    )


def ended(summary: RunSummary) -> tuple[str, ...]:
    """Return what is to know of how a run ended: failed, never asked, not scored."""
    manifest, counts = summary.manifest, summary.manifest.counts
    told = []
    if counts.failed:
        verb = "count" if counts.failed > 1 else "counts"
        so = f" and {verb} in no value" if manifest.is_native else ""
        told.append(f"{formats.count(counts.failed, 'request')} failed for good{so}.")
    left = counts.asked - counts.answered - counts.failed
    if left > 0:
        requests = formats.count(left, "request")
        verb = "was" if left == 1 else "were"
        stopped = manifest.status == "cancelled"
        told.append(
            f"The run was stopped with {requests} never sent."
            if stopped
            else f"{requests[:1].upper()}{requests[1:]} {verb} never sent."
        )
    cell = summary.main
    if cell.value is not None and cell.n_scored < cell.n_asked:
        told.append(
            f"The value rests on {cell.n_scored:,} of {cell.n_asked:,} observations."
        )
    if manifest.status != "complete" and not told:
        told.append(f"The run is {manifest.status}.")
    return tuple(told)


def counted(noun: str, number: int, detail: str) -> str:
    """Return a sentence about a list, or how to fill an empty one."""
    return f"{formats.count(number, noun)}{detail}." if number else EMPTY
