"""NarrativeQA: one question about the summary of each book or film script."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from helmsite.errors import ScenarioError
from helmsite.scenarios.loaders import Loader
from helmsite.scenarios.loaders.texts import (
    NO_ANSWER,
    as_read,
    asked,
    right,
    with_mark,
    with_passage,
)
from helmsite.scenarios.sources import Once
from helmsite.schema import TEST, TRAIN, VALID, Instance

if TYPE_CHECKING:
    from collections.abc import Iterator

    from helmsite.scenarios.files import Files
    from helmsite.scenarios.sources import Row

SPLITS = (TRAIN, VALID, TEST)


def load(files: Files) -> Iterator[Instance]:
    """Yield the instances of each split, its documents in the order of the questions."""
    draws = random.Random(0)
    summaries = _summaries(files)
    questions: dict[str, dict[str, list[Row]]] = {split: {} for split in SPLITS}
    for row in files.rows("questions"):
        documents = questions[_split(row)]
        documents.setdefault(row.text("document_id"), []).append(row)
    for split in SPLITS:
        for document, rows in questions[split].items():
            row = draws.choice(rows)
            if (split, document) not in summaries:
                raise ScenarioError(
                    f"{row.place}: there is no summary of the document {document!r} in"
                    f" {split}.",
                    "qaps.csv and summaries.csv must be of the same version.",
                )
            references = right(as_read(row.text(f"answer{n}")) for n in (1, 2))
            if not references:
                files.skip(NO_ANSWER)
                continue
            question = with_mark(as_read(asked(row, "question").strip()))
            text = with_passage(summaries[split, document], question)
            yield Instance("", text, references, split=split)


def _summaries(files: Files) -> dict[tuple[str, str], str]:
    found: dict[tuple[str, str], str] = {}
    once = Once("document")
    for row in files.rows("summaries"):
        key = (_split(row), row.text("document_id"))
        once.check(key[1], row.place)
        found[key] = as_read(row.text("summary").strip())
    return found


def _split(row: Row) -> str:
    split = row.text("set")
    if split not in SPLITS:
        raise ScenarioError(
            f"{row.place}: set is {split!r}.", f"It must be one of {', '.join(SPLITS)}."
        )
    return split


NARRATIVE_QA = Loader(version=1, load=load)
