"""Overlap of word sequences: ROUGE (Lin 2004) and BLEU (Papineni et al. 2002).

ROUGE is the rouge_score package's, with stemming. BLEU is NLTK's, on NLTK's words.
`bleu_4` is HELM's: the precision of 4-grams alone, not the mean over 1- to 4-grams.
"""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any

from helmsite.metrics.extras import need
from helmsite.metrics.kinds import TextMetric
from helmsite.metrics.words import EXTRA, words
from helmsite.schema import MetricFacts


@cache
def _scorer(kind: str) -> Any:
    scorer = need("rouge_score.rouge_scorer", EXTRA)
    return scorer.RougeScorer([kind], use_stemmer=True)


def _rouge(name: str, kind: str, title: str, shared: str) -> TextMetric:
    facts = MetricFacts(
        name=name,
        title=title,
        description=f"Mean over instances of the F1 of {shared} that answer and reference share, words stemmed.",
        family="accuracy",
        higher_is_better=True,
        format="share",
        source="HELM",
    )

    def score(gold: str, prediction: str) -> float:
        return float(_scorer(kind).score(gold, prediction)[kind].fmeasure)

    return TextMetric(facts, score)


def _bleu(n: int, what: str) -> TextMetric:
    facts = MetricFacts(
        name=f"bleu_{n}",
        title=f"BLEU-{n}",
        description=f"Mean over instances of the share of an answer's {what} that the reference has, less a penalty where the answer is shorter.",
        family="accuracy",
        higher_is_better=True,
        format="share",
        source="HELM",
    )
    weights = tuple(float(order == n) for order in range(1, 5))

    def score(gold: str, prediction: str) -> float:
        bleu = need("nltk.translate.bleu_score", EXTRA)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # no 4-gram is shared
            return float(
                bleu.sentence_bleu([words(gold)], words(prediction), weights=weights)
            )

    return TextMetric(facts, score)


rouge_1 = _rouge("rouge_1", "rouge1", "ROUGE-1", "the words")
rouge_2 = _rouge("rouge_2", "rouge2", "ROUGE-2", "the word pairs")
rouge_l = _rouge("rouge_l", "rougeL", "ROUGE-L", "the longest sequence of words")
bleu_1 = _bleu(1, "words")
bleu_4 = _bleu(4, "4-grams")
