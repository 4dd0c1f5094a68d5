"""Summaries judged by models: SummaC against the source, BERTScore against references.

Both load a model of some gigabytes, so they belong to no scenario by default: ask for
them with `helmsite score --metric`. HELM computes them only where it has a GPU.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from helmsite.metrics.extras import is_there, need
from helmsite.metrics.kinds import CaseMetric, Measure, case_metric
from helmsite.metrics.summarization import without_braces
from helmsite.schema import MetricFacts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from helmsite.metrics.case import Case

EXTRA = "faithfulness"
BERT = "microsoft/deberta-large-mnli"


def _device() -> str:
    if not is_there("torch"):
        return "cpu"
    return "cuda" if need("torch", EXTRA).cuda.is_available() else "cpu"


@cache
def _summac() -> Any:
    return need("summac.model_summac", EXTRA).SummaCZS(
        granularity="sentence", model_name="vitc", device=_device()
    )


@case_metric(
    MetricFacts(
        name="summac",
        title="SummaC",
        description="Mean support of a summary's sentences by the source, as an entailment model sees it (SummaC zero-shot, Laban et al. 2022).",
        family="summarization_metrics",
        higher_is_better=True,
        source="HELM",
    )
)
def summac(case: Case) -> Measure | None:
    """Return SummaC's score of the summary against the source."""
    source, summary = without_braces(case.instance.input), _summary(case)
    if not summary:
        return None
    return Measure(float(_summac().score_one(source, summary)["score"]))


def _summary(case: Case) -> str:
    return without_braces(case.first.text.strip())


@cache
def _bert() -> Any:
    return need("bert_score", EXTRA).BERTScorer(
        model_type=BERT, lang="en", rescale_with_baseline=True, device=_device()
    )


@cache
def bert_scores(summary: str, references: tuple[str, ...]) -> tuple[float, ...]:
    """Return BERTScore's precision, recall and F1 of the best reference."""
    found: Sequence[Any] = _bert().score([summary], [list(references)])
    return tuple(float(column[0].item()) for column in found)


def _bert_metric(letter: str, title: str, what: str, place: int) -> CaseMetric:
    facts = MetricFacts(
        name=f"BERTScore-{letter}",
        title=title,
        description=f"Mean {what} of the likeness in meaning of a summary's words and a reference's (Zhang et al. 2020, {BERT}, rescaled).",
        family="summarization_metrics",
        higher_is_better=True,
        source="HELM",
    )

    def judge(case: Case) -> Measure | None:
        texts = tuple(without_braces(r.text) for r in case.instance.references)
        summary = _summary(case)
        if not texts or not summary:
            return None
        return Measure(bert_scores(summary, texts)[place])

    return CaseMetric(facts, judge)


bertscore_p = _bert_metric("P", "BERTScore (P)", "precision", 0)
bertscore_r = _bert_metric("R", "BERTScore (R)", "recall", 1)
bertscore_f = _bert_metric("F", "BERTScore (F1)", "F1", 2)
