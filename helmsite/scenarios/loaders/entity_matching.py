"""Pairs of rows of two tables: do they describe the same thing?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from helmsite.errors import ScenarioError
from helmsite.scenarios.loaders import Loader
from helmsite.scenarios.loaders.tables import named, parsed
from helmsite.scenarios.sources import Once
from helmsite.schema import CORRECT_TAG, TEST, TRAIN, VALID, Instance, Reference

if TYPE_CHECKING:
    from collections.abc import Iterator

    from helmsite.scenarios.files import Files

ANSWERS = {0: "No", 1: "Yes"}
LABELS = ("ltable_id", "rtable_id", "label")
PINNED = "HELM's random state could not be had: train pairs are drawn with seed 0."
LAYOUT = "The folder holds tableA, tableB, train, valid and test.csv of DeepMatcher."
Pair = tuple[str, str, int]


def load(files: Files, *, dataset: str) -> Iterator[Instance]:
    """Yield the pairs of a dataset: in train as many that differ as that match.

    Those of train are drawn with a saved state of HELM's random numbers, as HELM's own
    runs were. Without that file, or for a dataset that it does not name, the seed is 0.
    """
    draws = _draws(files, dataset)
    tables = [_texts(files, f"table{side}.csv") for side in "AB"]
    for split in (TRAIN, VALID, TEST):
        pairs = _pairs(files, f"{split}.csv", tables)
        if split == TRAIN:
            pairs = _balanced(pairs, draws)
        for left, right, label in pairs:
            yield Instance(
                "",
                f"Product A is {left}. Product B is {right}. Are A and B the same?",
                (Reference(ANSWERS[label], (CORRECT_TAG,)),),
                split=split,
            )


def _draws(files: Files, dataset: str) -> np.random.RandomState:
    """Return the random numbers for a dataset.

    Raises:
        ScenarioError: the file does not hold states of numpy's legacy generator.
    """
    draws = np.random.RandomState(0)
    if "state" not in files:
        files.note(PINNED)
        return draws
    try:
        states = msgspec.convert(files.json("state"), dict[str, list[Any]])
        if state := states.get(dataset):
            name, keys, *rest = state
            draws.set_state((name, np.array(keys, dtype=np.uint32), *rest))
    except (msgspec.ValidationError, ValueError, TypeError, OverflowError) as error:
        raise ScenarioError(
            f"state: does not hold numpy's random states by dataset: {error}.",
            "Remove it to draw with seed 0.",
        ) from error
    return draws


def _texts(files: Files, name: str) -> dict[Any, str]:
    """Return each row of a table by its id, in words: "title: x. price: 3.5"."""
    key = named(files, "tables", name)
    table = parsed(files.text(key), key, ("id",))
    columns = {c: table[c].tolist() for c in table.columns if c != "id"}
    found: dict[Any, str] = {}
    once = Once("id")
    for at, each in enumerate(table["id"].tolist()):
        once.check(each, f"{key}, row {at + 1}")
        fields = (f"{c}: {values[at]}".strip() for c, values in columns.items())
        found[each] = ". ".join(fields)
    return found


def _pairs(files: Files, name: str, tables: list[dict[Any, str]]) -> list[Pair]:
    """Return the pairs of a file in its order; one with an unknown id is left out."""
    key = named(files, "tables", name)
    labels = parsed(files.text(key), key, LABELS)
    left, right = tables
    found: list[Pair] = []
    rows = zip(*(labels[column].tolist() for column in LABELS), strict=True)
    for number, (a, b, label) in enumerate(rows, start=1):
        if label not in ANSWERS:
            raise ScenarioError(
                f"{key}, row {number}: the label {label!r} is neither 0 nor 1.", LAYOUT
            )
        if a not in left or b not in right:
            files.skip(f"an id of the pair is in no table ({name})")
            continue
        found.append((left[a], right[b], int(label)))
    return found


def _balanced(pairs: list[Pair], draws: np.random.RandomState) -> list[Pair]:
    """Return as many pairs that differ as that match, both in an order that is drawn.

    Raises:
        ScenarioError: fewer differ than match.
    """
    kinds = [[pair for pair in pairs if pair[2] == label] for label in ANSWERS]
    different, same = kinds
    if len(same) >= len(different):
        raise ScenarioError(
            f"train.csv: {len(different)} pairs differ and {len(same)} match.",
            "More must differ: as many as match are drawn of them.",
        )
    return [
        kind[index]
        for kind in kinds
        for index in draws.choice(len(kind), size=len(same), replace=False).tolist()
    ]


ENTITY_MATCHING = Loader(version=1, load=load)
