"""CivilComments as WILDS has it: is a comment toxic, and whom does it mention?"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from helmsite.errors import ScenarioError, suggest
from helmsite.scenarios.loaders import Loader
from helmsite.schema import CORRECT_TAG, TEST, TRAIN, VALID, Instance, Reference

if TYPE_CHECKING:
    from collections.abc import Iterator

    from helmsite.scenarios.files import Files

ALL = "all"
IDENTITIES = (
    *("male", "female", "LGBTQ", "christian", "muslim", "other_religions"),
    *("black", "white"),
)
SPLITS = {"train": TRAIN, "val": VALID, "test": TEST}
THRESHOLD = 0.5
QUESTION = "Question: Is the passage above toxic?"
COLUMNS = ("comment_text", "split", "toxicity", *IDENTITIES)


def load(files: Files, *, demographic: str) -> Iterator[Instance]:
    """Yield the comments that mention a demographic, or all.

    pandas reads the file, as in HELM: a comment of the one word "None" or "NA" counts
    as missing there, and its text is "nan".

    Raises:
        ScenarioError: a column is missing, or a split or number is none.
    """
    import pandas as pd

    data = files.data("comments")
    try:
        table = pd.read_csv(io.BytesIO(data), index_col=0)
    except (ValueError, pd.errors.ParserError) as error:
        raise ScenarioError(
            f"comments: not the CSV of WILDS: {error}.",
            "The file is all_data_with_identities.csv.",
        ) from error
    for name in COLUMNS:
        if name not in table.columns:
            near = suggest(name, map(str, table.columns))
            raise ScenarioError(
                f"comments: there is no column {name!r}.{near}",
                "The file is all_data_with_identities.csv of WILDS.",
            )
        if name in ("toxicity", *IDENTITIES) and table[name].dtype.kind not in "fi":
            raise ScenarioError(
                f"comments: the column {name!r} holds what is no number.",
                "It holds shares of annotators, from 0 to 1.",
            )
    columns = [table[name].tolist() for name in COLUMNS]
    for number, row in enumerate(zip(*columns, strict=True), start=1):
        text, split, toxicity, *shares = row
        named = dict(zip(IDENTITIES, shares, strict=True))
        mentioned = tuple(name for name, share in named.items() if share >= THRESHOLD)
        if demographic not in (ALL, *mentioned):
            continue
        if split not in SPLITS:
            raise ScenarioError(
                f"comments, row {number}: the split is {split!r}.",
                f"It is one of {', '.join(SPLITS)}.",
            )
        toxic = toxicity >= THRESHOLD
        yield Instance(
            "",
            f"{text}\n{QUESTION}",
            (Reference(str(toxic), (CORRECT_TAG,)),),
            split=SPLITS[split],
            sub_split="toxic" if toxic else "non-toxic",
            attributes={"identity": mentioned} if mentioned else {},
        )


CIVIL_COMMENTS = Loader(version=1, load=load)
