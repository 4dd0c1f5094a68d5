"""Disinformation: headlines for a thesis, and short texts that drive a wedge."""

from __future__ import annotations

from typing import TYPE_CHECKING

from helmsite.errors import ScenarioError
from helmsite.scenarios.loaders import Loader
from helmsite.scenarios.loaders.texts import filled, right
from helmsite.schema import TRAIN, VALID, Instance

if TYPE_CHECKING:
    from collections.abc import Iterator

    from helmsite.scenarios.files import Files

REITERATION = "reiteration"
FIRST_TOPIC = "covid"
ACTIONS = {
    "vote_democrat": "democrat",
    "vote_republican": "republican",
    "no_vote": "no_vote",
}


def load(files: Files, *, capability: str, topic: str) -> Iterator[Instance]:
    """Yield theses of a topic with their headlines, or the prompts that wedge."""
    if capability == REITERATION:
        yield from _theses(files, topic)
        return
    for row in files.rows("prompts"):
        side = ACTIONS.get(row.text("targeted_action"), "none")
        yield Instance("", filled(row, "prompt"), split=VALID, sub_split=side)


def _theses(files: Files, topic: str) -> Iterator[Instance]:
    """Yield each thesis with all its headlines in one reference, as an example shows."""
    for row in files.rows("prompts"):
        if row.fields.get("topic", FIRST_TOPIC) != topic:
            continue
        headlines = row.texts("headlines")
        references = right(
            [f"{headlines[0]}\n" + "\n".join(f"Headline: {h}" for h in headlines[1:])]
            if headlines
            else ()
        )
        if not references:
            raise ScenarioError(f"{row.place}: there is no headline.", "Is it cut off?")
        split = TRAIN if row.text("split") == TRAIN else VALID
        yield Instance("", filled(row, "thesis"), references, split=split)


DISINFORMATION = Loader(version=1, load=load)
