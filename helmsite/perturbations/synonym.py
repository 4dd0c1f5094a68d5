"""Synonyms from WordNet, for words whose part of speech a spaCy model tells.

Needs `pip install 'helmsite[synonym]'`, HELM's table of synonyms, WordNet's own files and
spaCy's English model: none of them comes with helmsite.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from helmsite.errors import ConfigError
from helmsite.perturbations.kinds import Kind, match_case, of_input
from helmsite.perturbations.spelling import Probable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path
    from random import Random

    from helmsite.perturbations.kinds import Rewrite

    Bases = Callable[[str, str], Sequence[str]]

_WORDNET_POS = {"VERB": "v", "NOUN": "n", "ADV": "r", "ADJ": "s"}


def synonym(
    parameters: Probable,
    table: Mapping[str, Sequence[str]],
    wordnet: Path,
    model: Path,
) -> Rewrite:
    """Return what replaces verbs, nouns, adverbs and adjectives by a synonym."""
    tagger, bases = _tagger(model), _bases(wordnet)

    def synonyms(word: str, part: str) -> list[str]:
        pos = _WORDNET_POS.get(part, "")
        found = [
            other
            for base in (bases(word, pos) if pos else ())
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
        raise _not_installed("spacy") from error
    try:
        tagger: Callable[[str], Any] = spacy.load(model)
    except (OSError, ValueError) as error:
        problem = f"{model}: spaCy cannot load it: {error}"
        raise ConfigError([problem], "Is it a model for this version?") from error
    return tagger


def _bases(wordnet: Path) -> Bases:
    """What leads an inflected word in lower case to its base forms."""
    try:
        from nltk.corpus.reader.wordnet import WordNetCorpusReader
    except ImportError as error:
        raise _not_installed("nltk") from error
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # no other language is wanted
        try:
            reader = WordNetCorpusReader(str(wordnet), None)
        except (LookupError, OSError) as error:
            problem = f"{wordnet}: is not WordNet's folder: {error}"
            raise ConfigError([problem], "It has files such as noun.exc.") from error
    # The public `morphy` returns only the first base form; HELM takes all of them.
    bases: Bases = reader._morphy
    return bases


def _not_installed(package: str) -> ConfigError:
    return ConfigError(
        [f"The perturbation synonym needs {package}, which is not installed."],
        "pip install 'helmsite[synonym]', or go without synonym.",
    )


SYNONYM = Kind(
    title="Synonyms, {prob}",
    description="Each verb, noun, adverb and adjective is, with probability {prob}, replaced by a synonym of WordNet.",
    make=synonym,
    parameters=Probable,
    robustness=True,
    lists=("synonyms", "wordnet", "en_core_web_sm"),
)
