"""Averages of HELMET → aggregates on the scale of their scores, and what its metrics mean."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from helmsite.importers.helmet.rows import JUDGE, LENGTHS, SPLIT
from helmsite.importers.titles import metric_title
from helmsite.importers.values import Row, number, plain
from helmsite.schema import MetricFacts, Stat

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

PERCENT = 100.0
PLAIN = {"length", "num_preds"}
"""What ALCE's own evaluation gives as it is, not times 100."""

MEANINGS = {
    "exact_match": "Share of answers that equal a reference, both normalised",
    "f1": "Mean overlap of words between answer and reference, as F1",
    "substring_exact_match": "Share of answers that contain a reference, both normalised",
    "rougeL_f1": "Mean F1 of the longest common subsequence with a reference",
    "rougeL_recall": "Mean recall of the longest common subsequence with a reference",
    "rougeLsum_f1": "Mean F1 of the longest common subsequences, sentence by sentence",
    "rougeLsum_recall": "Mean recall of the longest common subsequences, by sentence",
    "rougeLsum": "F1 of the longest common subsequences, sentence by sentence",
    "ruler_recall": "Mean share of the right values that occur in the answer",
    "MRR": "Mean of 1 by the rank of the first relevant passage",
    "num_preds": "Mean number of items in an answer",
    "gpt-4-score": "Mean correctness (0 to 3) times fluency (0 or 1), by a judge",
    "gpt-4-f1": "Mean F1 of key points found and sentences supported, by a judge",
    "gpt-4-recall": "Mean share of key points that a summary has, by a judge",
    "gpt-4-precision": "Mean share of a summary's sentences that are supported, by a judge",
    "gpt-4-fluency": "Share of summaries that a judge finds fluent",
    "str_em": "Mean share of a question's short answers that occur in the answer",
    "str_hit": "Share of answers that hold all of a question's short answers",
    "citation_rec": "Mean share of sentences that their citations support",
    "citation_prec": "Mean share of citations that are of use",
    "qampari_prec": "Mean share of listed items that are right",
    "qampari_rec": "Mean share of right items that are listed",
    "qampari_rec_top5": "Mean recall of right items where five are enough",
    "qampari_f1": "Mean F1 of listed items",
    "qampari_f1_top5": "Mean F1 of listed items where five are enough",
    "length": "Mean number of words in an answer",
    "input_len": "Mean number of tokens in a prompt, as HELMET counts them",
    "output_len": "Mean number of tokens in an answer, as HELMET counts them",
    "throughput": "Items answered in a second",
    "memory_usage": "Most memory of accelerators in use, in bytes",
}
TITLES = {
    "citation_prec": "Citation precision",
    "citation_rec": "Citation recall",
    "gpt-4-f1": "GPT-4 F1",
    "gpt-4-fluency": "GPT-4 fluency",
    "gpt-4-precision": "GPT-4 precision",
    "gpt-4-recall": "GPT-4 recall",
    "gpt-4-score": "GPT-4 score",
    "input_len": "Prompt tokens",
    "length": "Words in an answer",
    "memory_usage": "Memory",
    "num_preds": "Items in an answer",
    "output_len": "Answer tokens",
    "qampari_f1": "QAMPARI F1",
    "qampari_f1_top5": "QAMPARI F1 (top 5)",
    "qampari_prec": "QAMPARI precision",
    "qampari_rec": "QAMPARI recall",
    "qampari_rec_top5": "QAMPARI recall (top 5)",
    "rougeL_f1": "ROUGE-L F1",
    "rougeL_recall": "ROUGE-L recall",
    "rougeLsum_f1": "ROUGE-Lsum F1",
    "rougeLsum_recall": "ROUGE-Lsum recall",
    "ruler_recall": "RULER recall",
    "str_em": "String exact match",
    "str_hit": "String hit",
    "substring_exact_match": "Substring exact match",
    "throughput": "Throughput",
}
"""Those of HELMET's names alone; others are called as everywhere."""

RANKED = {
    "NDCG": "Mean discounted gain of the first",
    "MAP": "Mean of average precision over the first",
    "Recall": "Mean share of relevant passages among the first",
    "P": "Mean share of the first that are relevant: of",
}
GENERAL = {"num_preds", "length", *LENGTHS}
EFFICIENCY = {"throughput": True, "memory_usage": False}
NO_SHARE = {"gpt-4-score", *GENERAL, *EFFICIENCY}


def averages(row: Row) -> Iterator[Stat]:
    """Yield `averaged_metrics`: means times 100, a judge's and lengths as they are.

    Values are those of scores, 0 to 1; `details` have the number as it was and the scale.
    """
    for name in row:
        judged = name.startswith("gpt-4-")
        scale = 1.0 if judged or "_len" in name else PERCENT
        yield _stat(row, name, scale, JUDGE if judged else "")


def alce(row: Row) -> Iterator[Stat]:
    """Yield what ALCE's evaluation gives: shares times 100, numbers as they are."""
    for name in row:
        value = row.get(name)
        if isinstance(value, dict):
            continue
        yield _stat(row, name, 1.0 if name in PLAIN else PERCENT)


def _stat(row: Row, name: str, scale: float, scorer: str = "") -> Stat:
    said = number(row.get(name), row.at(name)) if row.get(name) is not None else None
    details: dict[str, Any] = {}
    if scale != 1:
        details = {"reported": plain(row.get(name)), "scale": scale}
    return Stat(
        name,
        None if said is None else said / scale,
        split=SPLIT,
        scorer=scorer,
        origin="reported",
        missing="nan" if said is None else "",
        details=details,
    )


def facts(names: Iterable[str]) -> tuple[MetricFacts, ...]:
    """Return what metrics of HELMET mean."""
    return tuple(fact(name) for name in dict.fromkeys(names))


def fact(name: str) -> MetricFacts:
    """Return what a metric of HELMET means."""
    kind, at, first = name.partition("@")
    if at and kind in RANKED:
        said = f"{RANKED[kind]} {first[:9]} passages"
    else:
        said = MEANINGS.get(name, f"As HELMET computes {name}")
    family = (
        "efficiency"
        if name in EFFICIENCY
        else "general_information"
        if name in GENERAL
        else "accuracy"
    )
    return MetricFacts(
        name=name,
        title=TITLES.get(name) or metric_title(name),
        description=f"{said}.",
        family=family,
        higher_is_better=EFFICIENCY.get(name, None if name in GENERAL else True),
        format="number" if name in NO_SHARE else "share",
        source="HELMET",
    )
