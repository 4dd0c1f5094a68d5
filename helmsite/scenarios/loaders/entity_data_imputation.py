"""Rows of a table with one value left out, to be filled in."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import numpy as np

from helmsite.errors import ScenarioError
from helmsite.scenarios.loaders import Loader
from helmsite.scenarios.loaders.tables import named, parsed
from helmsite.schema import CORRECT_TAG, TEST, TRAIN, VALID, Instance, Reference

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd

    from helmsite.scenarios.files import Files

BUY, RESTAURANT = "Buy", "Restaurant"
TARGETS = {BUY: "manufacturer", RESTAURANT: "city"}
FILES = {BUY: "Buy.csv", RESTAURANT: "fz.arff"}
SEED = 1234
TEST_SHARE, VALID_SHARE = 0.1, 0.2
ATTRIBUTE, DATA = "@attribute ", "@data"


def load(files: Files, *, dataset: str) -> Iterator[Instance]:
    """Yield the rows of a table; a tenth is test, a fifth of the others valid.

    Raises:
        ScenarioError: a column is missing, or the value to be filled in is empty.
    """
    key, target = named(files, "table", FILES[dataset]), TARGETS[dataset]
    read = _buy if dataset == BUY else _arff
    table = read(files.text(key), key)
    columns = {c: table[c].tolist() for c in table.columns}
    for split, rows in _splits(len(table)).items():
        for at in rows:
            said = (f"{c}: {v[at]}".strip() for c, v in columns.items() if c != target)
            value = str(columns[target][at])
            if not value:
                place = f"{key}, row {table.index[at] + 1}"
                raise ScenarioError(f"{place}: {target} is empty.", "Was it changed?")
            yield Instance(
                "",
                f"{'. '.join(said)}. {target}?",
                (Reference(value, (CORRECT_TAG,)),),
                split=split,
            )


def _splits(count: int) -> dict[str, list[int]]:
    """Return the rows of each split; test and valid in the order of their draw."""
    rows = np.arange(count)
    test = _drawn(rows, TEST_SHARE)
    rest = np.setdiff1d(rows, test)
    valid = _drawn(rest, VALID_SHARE)
    train = np.setdiff1d(rest, valid)
    return {TRAIN: train.tolist(), VALID: valid.tolist(), TEST: test.tolist()}


def _drawn(rows: np.ndarray, share: float) -> np.ndarray:
    draws = np.random.RandomState(SEED)
    size = round(share * len(rows))
    return rows[draws.choice(len(rows), size=size, replace=False)]


def _buy(text: str, name: str) -> pd.DataFrame:
    """Return the products that have a description, without their ids."""
    table = parsed(text, name, ("id", "description", TARGETS[BUY]))
    return table[table["description"].notna()].drop(columns="id")


def _arff(text: str, name: str) -> pd.DataFrame:
    """Return the rows of an ARFF file of texts that lack no value, without the class."""
    lines = [line for line in io.StringIO(text, newline=None) if line.strip()]
    begins = next((n for n, line in enumerate(lines) if line.startswith(DATA)), -1)
    columns = [x.split()[1] for x in lines[: max(begins, 0)] if x.startswith(ATTRIBUTE)]
    if not columns:
        raise ScenarioError(f"{name}: has no @attribute and @data.", "Is it fz.arff?")
    data = "\n".join(line.strip() for line in lines[begins + 1 :])
    wanted = ("class", TARGETS[RESTAURANT])
    table = parsed(data, name, wanted, header=None, names=columns, dtype=str)
    del table["class"]
    for column in table.columns:
        table[column] = table[column].str.replace('"', "").str.strip()
    return table.dropna()


ENTITY_DATA_IMPUTATION = Loader(version=1, load=load)
