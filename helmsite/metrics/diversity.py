"""Diversity of several answers to one prompt: are they alike, and how sure is the model?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from helmsite.metrics.extras import need
from helmsite.metrics.kinds import Measure, case_metric
from helmsite.metrics.words import EXTRA
from helmsite.schema import MetricFacts

if TYPE_CHECKING:
    from helmsite.metrics.case import Case


@case_metric(
    MetricFacts(
        name="self_bleu",
        title="Self-BLEU",
        description="Mean BLEU (0 to 100) of each answer against the other answers to the same prompt; low means diverse.",
        family="disinformation_metrics",
        source="HELM",
    )
)
def self_bleu(case: Case) -> Measure | None:
    """Return the mean of sacreBLEU's sentence scores; 0 with fewer than two answers.

    A single request for one completion has no answers to compare: not measurable.
    """
    completions = case.exchanges[0].completions
    if len(completions) < 2:
        return None
    texts = [text for c in completions if (text := c.text.strip())]
    if len(texts) < 2:
        return Measure(0.0)
    bleu = need("sacrebleu.metrics", EXTRA).BLEU(effective_order=True)
    scores = [
        float(bleu.sentence_score(text, [*texts[:i], *texts[i + 1 :]]).score)
        for i, text in enumerate(texts)
    ]
    return Measure(sum(scores) / len(scores))


@case_metric(
    MetricFacts(
        name="monte_carlo_entropy",
        title="Entropy (Monte Carlo)",
        description="Mean of minus the log-probability of the sampled answers: an estimate of the model's entropy at temperature 1.",
        family="disinformation_metrics",
        unit="nats",
        source="HELM",
    )
)
def monte_carlo_entropy(case: Case) -> Measure | None:
    """Return the mean over completions of minus the sum of their log-probabilities."""
    sums = []
    for completion in case.exchanges[0].completions:
        if completion.tokens is None or completion.token_logprobs is None:
            return None
        known = [value for value in completion.token_logprobs if value is not None]
        if len(known) < len(completion.tokens):
            return None
        if known:
            sums.append(-sum(known))
    return Measure(sum(sums) / len(sums)) if sums else None
