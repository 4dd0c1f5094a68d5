"""How words are written: case, typing errors, misspellings, contractions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from helmsite.perturbations.insertion import spaced
from helmsite.perturbations.kinds import (
    Kind,
    Probability,
    match_case,
    of_input,
)
from helmsite.perturbations.phrases import WholeWords
from helmsite.schema import Record

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

    from helmsite.perturbations.kinds import Change, NoParameters, Rewrite

    Rows = Sequence[Sequence[str]]
    Pairs = Sequence[tuple[str, str]]


class Probable(Record, frozen=True):
    """The chance of a change wherever one is possible."""

    prob: Probability


def lowercase(_: NoParameters) -> Rewrite:
    """Return what writes the input in lower case."""
    return of_input(lambda text, _: text.lower())


def typos(parameters: Probable, keyboard: Pairs) -> Rewrite:
    """Return what hits a neighbouring key instead of a letter."""
    prob = parameters.prob
    near = dict(keyboard)

    def typed(character: str, rng: Random) -> str:
        lower = character.lower()
        made = lower
        if lower in near and rng.random() < prob:
            made = rng.choice(near[lower])
        return made if lower == character else made.upper()

    return of_input(lambda text, rng: "".join([typed(c, rng) for c in text]))


def misspelt(prob: float, misspellings: Rows) -> Change:
    """Return what misspells words; each hit draws once, each change once more."""
    wrong = {word: forms for word, *forms in misspellings}
    words = WholeWords(wrong)

    def change(text: str, rng: Random) -> str:
        def replace(word: str, _: str) -> str:
            if rng.random() < prob:
                return match_case(word, rng.choice(wrong[word]))
            return word

        return words.sub(text, replace)

    return change


def contracted(contractions: Pairs) -> Change:
    """Return what contracts ("it is " to "it's "), never before a sentence's end."""
    short = {whole: contraction for contraction, whole in contractions}
    return _exchanged(short, after=" ")


def expanded(contractions: Pairs) -> Change:
    """Return what writes contractions out."""
    return _exchanged(dict(contractions))


def _exchanged(pairs: dict[str, str], after: str = "") -> Change:
    words = WholeWords(pairs, fold_case=True, after=after)

    def replace(found: str, phrase: str) -> str:
        return match_case(found, pairs[phrase])

    return lambda text, _: words.sub(text, replace)


def mild_mix(_: NoParameters, contractions: Pairs, misspellings: Rows) -> Rewrite:
    """Return HELM's canonical mix, in its order: the steps share the random stream."""
    contract = contracted(contractions)
    misspell = misspelt(0.1, misspellings)

    def change(text: str, rng: Random) -> str:
        text = contract(text.lower(), rng)
        return spaced(misspell(text, rng), 3, rng)

    return of_input(change)


LOWERCASE = Kind(
    title="Lower case",
    description="The input is written in lower case.",
    make=lowercase,
    robustness=True,
)
TYPOS = Kind(
    title="Typos (p = {prob})",
    description="Each letter a to z is, with probability {prob}, replaced by a neighbour on a QWERTY keyboard.",
    make=typos,
    parameters=Probable,
    robustness=True,
    lists=("keyboard",),
)
MISSPELLINGS = Kind(
    title="Misspellings (p = {prob})",
    description="Each word that is often misspelt is, with probability {prob}, replaced by one of its common misspellings.",
    make=lambda parameters, words: of_input(misspelt(parameters.prob, words)),
    parameters=Probable,
    robustness=True,
    lists=("misspellings",),
)
CONTRACTION = Kind(
    title="Contraction",
    description="Phrases such as “it is” are contracted to “it's” where a space follows.",
    make=lambda _, words: of_input(contracted(words)),
    robustness=True,
    lists=("contractions",),
)
EXPANSION = Kind(
    title="Expansion",
    description="Contractions such as “it's” are written out.",
    make=lambda _, words: of_input(expanded(words)),
    robustness=True,
    lists=("contractions",),
)
MILD_MIX = Kind(
    title="Mild mix",
    description="The input is written in lower case, contracted, misspelt with probability 0.1, and each run of spaces becomes one to three.",
    make=mild_mix,
    robustness=True,
    lists=("contractions", "misspellings"),
)
