"""Metrics by the names that tools give them: what people call them."""

from __future__ import annotations

import re

TITLES = {
    "acc": "Accuracy",
    "acc_norm": "Accuracy, by length",
    "accuracy": "Accuracy",
    "bleu": "BLEU",
    "bleu_1": "BLEU-1",
    "bleu_4": "BLEU-4",
    "chrf": "chrF",
    "exact_match": "Exact match",
    "f1": "F1",
    "f1_score": "F1",
    "mcc": "MCC",
    "prefix_exact_match": "Prefix exact match",
    "quasi_exact_match": "Quasi-exact match",
    "quasi_prefix_exact_match": "Prefix quasi-exact match",
    "rouge1": "ROUGE-1",
    "rouge2": "ROUGE-2",
    "rougeL": "ROUGE-L",
    "rougeLsum": "ROUGE-Lsum",
    "rouge_1": "ROUGE-1",
    "rouge_2": "ROUGE-2",
    "rouge_l": "ROUGE-L",
}
BEST_OF = re.compile(r"(\w*exact_match)@(\d{1,6})")


def metric_title(name: str) -> str:
    """Return what a metric of that name is called; the name where no title is known.

    `exact_match@5` is 'Exact match (best of 5)', as in HELM.
    """
    if found := BEST_OF.fullmatch(name):
        base = TITLES.get(found[1])
        return f"{base} (best of {int(found[2])})" if base else name
    return TITLES.get(name, name)
