"""What is put between or after the words: spaces, fillers, a style."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from helmsite.perturbations.kinds import Kind, Probability, of_input
from helmsite.schema import Record

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

    from helmsite.perturbations.kinds import Rewrite

_SPACES = re.compile(" +")


class ExtraSpace(Record, frozen=True):
    """How many spaces each space becomes."""

    num_spaces: Annotated[int, Meta(ge=0)]


class Space(Record, frozen=True):
    """The most spaces that a run of spaces becomes."""

    max_spaces: Annotated[int, Meta(ge=1)]


class FillerWords(Record, frozen=True):
    """The chance of a filler before a word, how many at most, and of which groups."""

    insert_prob: Probability = 0.333
    max_num_insert: int | None = None
    speaker_ph: bool = True
    uncertain_ph: bool = True
    fill_ph: bool = True


class Style(Record, frozen=True):
    """What follows the text, after a comma."""

    suffix: str


def spaced(text: str, most: int, rng: Random) -> str:
    """Return a text in which each run of spaces is one to `most` spaces long."""
    return _SPACES.sub(lambda _: " " * rng.randint(1, most), text)


def filler_words(parameters: FillerWords, fillers: Sequence[Sequence[str]]) -> Rewrite:
    """Return what puts a filler before words; every space ends a word."""
    groups = {group: phrases for group, *phrases in fillers}
    wanted = {
        "speaker": parameters.speaker_ph,
        "uncertain": parameters.uncertain_ph,
        "fill": parameters.fill_ph,
    }
    phrases = [p for group, used in wanted.items() if used for p in groups[group]]
    prob, most = parameters.insert_prob, parameters.max_num_insert

    def change(text: str, rng: Random) -> str:
        made: list[str] = []
        inserted = 0
        for word in text.split(" "):
            if (most is None or inserted < most) and rng.random() <= prob:
                made.append(rng.choice(phrases))
                inserted += 1
            made.append(word)
        return " ".join(made)

    return of_input(change)


EXTRA_SPACE = Kind(
    title="Extra space ({num_spaces})",
    description="Each space becomes {num_spaces} spaces.",
    make=lambda p: of_input(lambda text, _: text.replace(" ", " " * p.num_spaces)),
    parameters=ExtraSpace,
    robustness=True,
)
SPACE = Kind(
    title="Space (up to {max_spaces})",
    description="Each run of spaces becomes one to {max_spaces} spaces.",
    make=lambda p: of_input(lambda text, rng: spaced(text, p.max_spaces, rng)),
    parameters=Space,
    robustness=True,
)
FILLER_WORDS = Kind(
    title="Filler words (p = {insert_prob})",
    description="Before each word stands, with probability {insert_prob}, a filler such as “perhaps” or “you know”.",
    make=filler_words,
    parameters=FillerWords,
    robustness=True,
    lists=("fillers",),
)
STYLE = Kind(
    title="Style: {suffix}",
    description="A comma and “{suffix}” follow the input.",
    make=lambda p: of_input(lambda text, _: f"{text}, {p.suffix}"),
    parameters=Style,
)
