"""RAFT: eleven tasks of classifying texts with few labelled examples."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from helmsite.scenarios.loaders import Loader
from helmsite.scenarios.loaders.texts import filled
from helmsite.schema import CORRECT_TAG, TEST, TRAIN, Instance, Reference

if TYPE_CHECKING:
    from collections.abc import Iterator

    from helmsite.scenarios.files import Files

FIELDS = {
    "ade_corpus_v2": ("Sentence",),
    "banking_77": ("Query",),
    "neurips_impact_statement_risks": ("Impact statement", "Paper title"),
    "one_stop_english": ("Article",),
    "overruling": ("Sentence",),
    "semiconductor_org_types": ("Organization name", "Paper title"),
    "systematic_review_inclusion": ("Title", "Abstract", "Journal"),
    "tai_safety_research": (
        *("Title", "Abstract Note", "Publication Title"),
        *("Item Type", "Publication Year"),
    ),
    "terms_of_service": ("Sentence",),
    "tweet_eval_hate": ("Tweet",),
    "twitter_complaints": ("Tweet text",),
}
"""What a model is shown of a row, in the order of the authors' own prompts."""

TEST_SHARE = 0.8
SEED = 42


def load(files: Files, *, subset: str) -> Iterator[Instance]:
    """Yield the labelled rows: a fifth of them, drawn with a seed, is train.

    The draw is that of datasets' train_test_split: a permutation of numpy's default
    generator of which the first part is test.
    """
    import numpy as np

    rows = list(files.rows("labelled"))
    order = np.random.default_rng(SEED).permutation(len(rows)).tolist()
    count = math.ceil(TEST_SHARE * len(rows))
    for split, numbers in ((TRAIN, order[count:]), (TEST, order[:count])):
        for row in (rows[number] for number in numbers):
            shown = (f"{field}: {row.text(field)}" for field in FIELDS[subset])
            label = Reference(filled(row, "Label"), (CORRECT_TAG,))
            yield Instance("", "\n".join(shown), (label,), split=split)


RAFT = Loader(version=1, load=load)
