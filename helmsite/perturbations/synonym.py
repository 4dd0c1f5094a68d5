"""Synonyms from WordNet, for words whose part of speech a spaCy model tells.

Needs `pip install 'helmsite[synonym]'`, HELM's table of synonyms, WordNet's own files and
spaCy's English model: none of them comes with helmsite.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from helmsite.errors import ConfigError
from helmsite.perturbations.kinds import Kind, match_case, of_input
from helmsite.perturbations.spelling import Probable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path
    from random import Random

    from helmsite.perturbations.kinds import Rewrite

# spaCy's part of speech → the letter in the table's keys
_WORDNET_POS = {"VERB": "v", "NOUN": "n", "ADV": "r", "ADJ": "s"}
_FILES = {"v": "verb", "n": "noun", "r": "adv", "s": "adj"}
# Endings and what replaces them, as in WordNet's documentation (morphy, 7WN).
_ENDINGS = {
    "n": (
        *(("s", ""), ("ses", "s"), ("ves", "f"), ("xes", "x"), ("zes", "z")),
        *(("ches", "ch"), ("shes", "sh"), ("men", "man"), ("ies", "y")),
    ),
    "v": (
        *(("s", ""), ("ies", "y"), ("es", "e"), ("es", ""), ("ed", "e"), ("ed", "")),
        *(("ing", "e"), ("ing", "")),
    ),
    "s": (("er", ""), ("est", ""), ("er", "e"), ("est", "e")),
    "r": (),
}


def synonym(
    parameters: Probable,
    table: Mapping[str, Sequence[str]],
    wordnet: Path,
    model: Path,
) -> Rewrite:
    """Return what replaces verbs, nouns, adverbs and adjectives by a synonym."""
    tagger, lemmas = _tagger(model), Lemmas(wordnet)

    def synonyms(word: str, part: str) -> list[str]:
        pos = _WORDNET_POS.get(part, "")
        found = [
            other
            for base in (lemmas.bases(word, pos) if pos else ())
            for other in table.get(f"{base}:{pos}", ())
        ]
        return [other for other in dict.fromkeys(found) if other != word]

    def change(text: str, rng: Random) -> str:
        made = []
        for token in tagger(text):
            word = token.text
            others = synonyms(word.lower(), token.pos_)
            if others and rng.random() < parameters.prob:
                word = match_case(word, rng.choice(others))
            made.append(word + token.whitespace_)
        return "".join(made)

    return of_input(change)


def _tagger(model: Path) -> Callable[[str], Any]:
    """The spaCy model in a folder; its tokens have a text, a `pos_` and a `whitespace_`."""
    try:
        import spacy
    except ImportError as error:
        raise ConfigError(
            ["The perturbation synonym needs spaCy, which is not installed."],
            "pip install 'helmsite[synonym]', or go without synonym.",
        ) from error
    try:
        tagger: Callable[[str], Any] = spacy.load(model)
    except (OSError, ValueError) as error:
        problem = f"{model}: spaCy cannot load it: {error}"
        raise ConfigError([problem], "Is it a model for this version?") from error
    return tagger


class Lemmas:
    """WordNet's base forms of inflected words (its `morphy`), from its own files.

    Args:
        folder: with `index.noun`, `noun.exc` and the same of verb, adj and adv.
    """

    def __init__(self, folder: Path) -> None:
        self._known: dict[str, frozenset[str]] = {}
        self._irregular: dict[str, dict[str, list[str]]] = {}
        for pos, part in _FILES.items():
            index = _lines(folder / f"index.{part}")
            self._known[pos] = frozenset(line.partition(" ")[0] for line in index)
            rows = map(str.split, _lines(folder / f"{part}.exc"))
            self._irregular[pos] = {inflected: bases for inflected, *bases in rows}

    def bases(self, word: str, pos: str) -> list[str]:
        """Return all lemmas that a word in lower case may be a form of, itself first."""
        forms = self._irregular[pos].get(word)
        if forms is None:
            endings = _ENDINGS[pos]
            forms = [
                word.removesuffix(old) + new
                for old, new in endings
                if word.endswith(old)
            ]
        known = self._known[pos]
        return [form for form in dict.fromkeys([word, *forms]) if form in known]


def _lines(path: Path) -> list[str]:
    """The entries of a WordNet file; its licence, before them, is indented."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            [f"{path}: cannot be read: {error}."],
            "Is its folder WordNet's? It has files such as index.noun and noun.exc.",
        ) from error
    return [line for line in lines if line.strip() and not line.startswith(" ")]


SYNONYM = Kind(
    title="Synonyms (p = {prob})",
    description="Each verb, noun, adverb and adjective is, with probability {prob}, replaced by a synonym of WordNet.",
    make=synonym,
    parameters=Probable,
    robustness=True,
    lists=("synonyms", "wordnet", "en_core_web_sm"),
)
