"""What metrics of other tools are called."""

from __future__ import annotations

import pytest

from helmsite.importers.helmet.stats import MEANINGS, fact
from helmsite.importers.titles import metric_title


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("exact_match", "Exact match"),
        ("quasi_exact_match@5", "Quasi-exact match (best of 5)"),
        ("rouge_l", "ROUGE-L"),
        ("acc", "Accuracy"),
        ("Exact match", "Exact match"),
        ("length", "length"),
        ("P@5", "P@5"),
        ("accuracy@5", "accuracy@5"),
        ("our_metric", "our_metric"),
        ("", ""),
    ],
)
def test_a_metric_is_called_by_its_title_where_one_is_known(
    name: str, title: str
) -> None:
    assert metric_title(name) == title


def test_no_metric_of_helmet_is_called_by_a_raw_name() -> None:
    titles = {name: fact(name).title for name in MEANINGS}
    assert [t for t in titles.values() if "_" in t] == []
    assert len(set(titles.values())) == len(titles)
    assert titles["str_em"] == "String exact match"
    assert titles["length"] == "Words in an answer"
    assert titles["rougeL_f1"] == "ROUGE-L F1"
    assert fact("NDCG@10").title == "NDCG@10"
