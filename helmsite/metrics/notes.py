"""What a run's readers must know about its scores; it is kept among the run's warnings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from helmsite.metrics import code

if TYPE_CHECKING:
    from collections.abc import Iterable

    from helmsite.metrics.sandbox import Sandbox
    from helmsite.schema import Score

NO_OPTION = "no_option"
"""The detail of BBQ's rows that says how many answers name no option."""

LOST = "answers name no option"
NOTES = (code.NOTE, LOST)
"""What tells a note of each kind from other warnings."""


def notes(
    names: Iterable[str], scores: Iterable[Score], sandbox: Sandbox | None
) -> list[str]:
    """Return what is to be told of programs that ran or did not, and of lost answers."""
    return [*code.notes(names, sandbox), *_lost(scores)]


def renewed(old: Iterable[str], new: Iterable[str]) -> tuple[str, ...]:
    """Return old warnings with new notes, which take the place of those of their kind."""
    new = tuple(new)
    told = [mark for mark in NOTES if any(mark in note for note in new)]
    return (*(w for w in old if not any(mark in w for mark in told)), *new)


def _lost(scores: Iterable[Score]) -> list[str]:
    counts = [s.details for s in scores if NO_OPTION in s.details]
    lost, made = (sum(d[name] for d in counts) for name in (NO_OPTION, "answers"))
    if not lost:
        return []
    return [
        f"BBQ: {lost:,} of {made:,} {LOST}. They count as wrong, and in the bias metrics as answers against the stereotype."
    ]
