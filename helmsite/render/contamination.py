"""What is known of contamination, as pages tell it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from helmsite.render import sentences
from helmsite.render.names import link
from helmsite.render.pages import ContaminationLine
from helmsite.render.parts import Link
from helmsite.render.text import plain
from helmsite.schema import matches_entry

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from helmsite.query.rows import LeaderboardRow
    from helmsite.render.frames import Frames
    from helmsite.schema import Contamination, ModelCard, ScenarioFacts

MEANING = {
    "strong": "strong evidence that the model was trained on this scenario",
    "weak": "weak evidence that the model was trained on this scenario",
}


def known_of(card: ModelCard, scenario: str) -> tuple[Contamination, ...]:
    """Return what a card says about a scenario, the strongest first."""
    found = [c for c in card.contamination if matches_entry(c.scenario, scenario)]
    return tuple(sorted(found, key=lambda c: c.evidence != "strong"))


def mark(card: ModelCard, *scenarios: str) -> str:
    """Return the words behind a cell's mark, '' where nothing is known.

    Of several scenarios they tell how many it is known of, and the strongest.
    """
    known = [found for s in scenarios if (found := known_of(card, s))]
    if not known:
        return ""
    first = min((found[0] for found in known), key=lambda c: c.evidence != "strong")
    note = plain(first.note)
    of = f"{len(known)} of {len(scenarios)} scenarios: " if len(scenarios) > 1 else ""
    return f"{of}{MEANING[first.evidence]}{f': {note}' if note else ''}"


def of_model(
    card: ModelCard, scenarios: Sequence[ScenarioFacts], frames: Frames, path: str
) -> tuple[ContaminationLine, ...]:
    """Return what a card says, with the scenarios of the site that it is about."""
    return tuple(
        ContaminationLine(
            tuple(
                Link(
                    sentences.scenario_title(facts),
                    link(path, frames.map.scenario(facts.name)),
                )
                for facts in scenarios
                if matches_entry(known.scenario, facts.name)
            )
            or (Link(plain(known.scenario), "", "not on this site"),),
            known.evidence,
            plain(known.note),
            known.url,
        )
        for known in card.contamination
    )


def of_scenario(
    rows: Iterable[LeaderboardRow], scenario: str, frames: Frames, path: str
) -> tuple[ContaminationLine, ...]:
    """Return what the cards of a scenario's models say about it."""
    return tuple(
        ContaminationLine(
            (
                Link(
                    plain(row.card.title or row.card.name),
                    link(path, frames.map.model(row.card.name)),
                ),
            ),
            known.evidence,
            plain(known.note),
            known.url,
        )
        for row in rows
        for known in known_of(row.card, scenario)
    )
