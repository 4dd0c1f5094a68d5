"""MS MARCO passage ranking: queries, each with passages to put in order."""

from __future__ import annotations

import csv
import itertools
import random
import sys
from array import array
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from helmsite.errors import ScenarioError
from helmsite.scenarios.loaders import Loader
from helmsite.schema import CORRECT_TAG, TRAIN, VALID, Instance, Reference

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from helmsite.scenarios.files import Files

SEED = 1885
TRAIN_QUERIES = 1000
TRAIN_DEPTH = 20
FIRST_WRONG_RANK = 11
LEAST_DEPTH = 11
GOLD = {TRAIN: {1}, "regular": {1}, "trec": {2, 3}}
Judged = dict[int, dict[int, int]]
"""Query → document → relevance, or rank."""


class Queries(NamedTuple):
    """The queries of a split with what is known of their documents.

    `depth` is the number of ranked documents that a query must have; 0 is none.
    """

    texts: dict[int, str]
    relevance: Judged
    ranks: Judged
    gold: set[int]
    depth: int

    def fault(self, query: int) -> str:
        """Return why a query cannot be asked, '' if it can."""
        if not self.gold.intersection(self.relevance.get(query, {}).values()):
            return "queries without a relevant passage"
        if len(self.ranks.get(query, ())) < self.depth:
            return f"queries of which fewer than {self.depth} passages are ranked"
        return ""

    def usable(self, order: Iterable[int]) -> Iterator[int]:
        """Yield the queries with a gold document and ranks deep enough, in order."""
        return (query for query in order if not self.fault(query))

    def example(self, query: int) -> set[int]:
        """Return the best document and the first ranked low that is not gold, if any."""
        judged = self.relevance[query]
        best = max(judged, key=lambda document: judged[document])
        low = range(FIRST_WRONG_RANK, TRAIN_DEPTH + 1)
        wrong = (
            document
            for document, rank in self.ranks[query].items()
            if rank in low and judged.get(document) not in self.gold
        )
        return {best, *itertools.islice(wrong, 1)}

    def candidates(self, query: int) -> set[int]:
        """Return the judged documents and those ranked within the depth."""
        ranks = self.ranks.get(query, {}) if self.depth else {}
        near = (document for document, rank in ranks.items() if rank <= self.depth)
        return {*self.relevance[query], *near}


def load(files: Files, *, track: str, valid_topk: int) -> Iterator[Instance]:
    """Yield the first thousand train queries of a random order, then all valid ones."""
    if 0 < valid_topk < LEAST_DEPTH:
        raise ScenarioError(
            f"valid_topk={valid_topk} is below {LEAST_DEPTH}.",
            "Give 11 to 1000, or 0 for the judged passages alone.",
        )
    train = _queries(files, TRAIN, GOLD[TRAIN], TRAIN_DEPTH)
    valid = _queries(files, VALID, GOLD[track], valid_topk)
    wanted = {d for query in train.usable(train.texts) for d in train.example(query)}
    for query in valid.usable(valid.texts):
        wanted |= valid.candidates(query)
    documents, texts = _collection(files, wanted)
    draws = random.Random(SEED)
    draws.shuffle(documents)
    position = {each: n for n, each in enumerate(documents) if each in texts}
    order = {TRAIN: list(train.texts), VALID: list(valid.texts)}
    draws.shuffle(order[TRAIN])
    draws.shuffle(order[VALID])
    for query in itertools.islice(train.usable(order[TRAIN]), TRAIN_QUERIES):
        found = train.example(query)
        if len(found) == 1:
            raise ScenarioError(
                f"The train query {query} has no wrong passage of rank"
                f" {FIRST_WRONG_RANK} to {TRAIN_DEPTH}.",
                "Take the list of the top 20 passages of train queries.",
            )
        yield _instance(train, query, _sorted(found, position, query), texts, TRAIN)
    for query in order[VALID]:
        if fault := valid.fault(query):
            files.skip(fault)
            continue
        found = valid.candidates(query)
        yield _instance(valid, query, _sorted(found, position, query), texts, VALID)


def _collection(files: Files, wanted: set[int]) -> tuple[array[int], dict[int, str]]:
    """Return the ids of all documents and the texts of the wanted ones.

    Raises:
        ScenarioError: an id is there twice.
    """
    ids = array("q")
    texts: dict[int, str] = {}
    for place, (name, text) in _records(files, "documents", 2):
        ids.append(_number(name, place))
        if ids[-1] in texts:
            raise ScenarioError(
                f"{place}: the passage {name} is there already.",
                "Was something appended to the file?",
            )
        if ids[-1] in wanted:
            texts[ids[-1]] = text
    if len(np.unique(ids)) != len(ids):
        raise ScenarioError(
            "Two passages of the collection have one id.", "Download it again."
        )
    return ids, texts


def _queries(files: Files, split: str, gold: set[int], depth: int) -> Queries:
    texts: dict[int, str] = {}
    for place, (name, text) in _records(files, f"{split}_queries", 2):
        if texts.setdefault(_number(name, place), text) != text:
            raise ScenarioError(
                f"{place}: the query {name} is there already with another text.",
                "Was something appended to the file?",
            )
    relevance = _judged(files, f"{split}_qrels", 4, (0, 2, 3))
    ranks = _judged(files, f"{split}_topk", 3, (0, 1, 2))
    return Queries(texts, relevance, ranks, gold, depth)


def _judged(
    files: Files, name: str, columns: int, chosen: tuple[int, int, int]
) -> Judged:
    found: Judged = {}
    for place, values in _records(files, name, columns):
        query, document, value = (_number(values[n], place) for n in chosen)
        if found.setdefault(query, {}).setdefault(document, value) != value:
            raise ScenarioError(
                f"{place}: query {query} and passage {document} have another value before.",
                "Was something appended to the file?",
            )
    return found


def _records(files: Files, name: str, columns: int) -> Iterator[tuple[str, list[str]]]:
    """Yield place and values of each record, in columns of tabs or of blanks.

    Quotes are as lenient as in HELM's reader: a value that begins with one ends at the
    next one, wherever that is.
    """
    place = ""

    def lines() -> Iterator[str]:
        nonlocal place
        for place, line in files.lines(name):
            try:
                text = line.decode("utf-8")
            except UnicodeDecodeError as error:
                raise ScenarioError(
                    f"{place}: not UTF-8.", "Download the file again."
                ) from error
            yield text if "\t" in text else text.replace(" ", "\t")

    before = csv.field_size_limit(sys.maxsize)
    try:
        for values in csv.reader(lines(), delimiter="\t"):
            if len(values) != columns:
                raise ScenarioError(
                    f"{place}: {len(values)} columns instead of {columns}.",
                    "Is it the right file, in its original layout?",
                )
            yield place, values
    except csv.Error as error:
        raise ScenarioError(f"{place}: {error}.", "Is the file damaged?") from error
    finally:
        csv.field_size_limit(before)


def _number(text: str, place: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ScenarioError(
            f"{place}: {text!r} is no whole number.", "Ids, ranks and relevance are."
        ) from None


def _sorted(found: set[int], position: dict[int, int], query: int) -> list[int]:
    """Return documents in the random order of the collection.

    Raises:
        ScenarioError: one of them is not in the collection.
    """
    for document in sorted(found):
        if document not in position:
            raise ScenarioError(
                f"The passage {document} of query {query} is not in the collection.",
                "All files must be of the same version of MS MARCO.",
            )
    return sorted(found, key=position.__getitem__)


def _instance(
    queries: Queries,
    query: int,
    documents: list[int],
    texts: dict[int, str],
    split: str,
) -> Instance:
    references = []
    for document in documents:
        relevance = queries.relevance[query].get(document)
        rank = queries.ranks.get(query, {}).get(document)
        tags = [f"docid={document}"]
        tags += [CORRECT_TAG] * (relevance in queries.gold)
        tags += [f"relevance={relevance}"] * bool(relevance)
        tags += [f"rank={rank}"] * bool(rank)
        references.append(Reference(texts[document], tuple(tags)))
    return Instance("", queries.texts[query], tuple(references), split=split)


MSMARCO = Loader(version=1, load=load)
