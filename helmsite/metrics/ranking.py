"""Ranking: a model judges each document by itself, and its judgements order them.

Each reference is a document, tagged `relevance=N` where it was judged relevant to the
query, `rank=N` where a first-stage ranker (BM25) found it, and `correct` where its
relevance is enough. Under ranking_binary the model says Yes or No to each: first come
those with Yes, the surest first, then those with No, the least sure first, then other
answers. Measures follow trec_eval: `NDCG@k` has the relevance itself as gain, the others
ask for correct documents alone.

`RR@10` is over all documents, judged ones that the ranker missed among them (HELM's
paper: boosted); `RR@10 (topk=30)` is over the ranker's first 30 (vanilla).
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, NamedTuple

from helmsite.metrics.kinds import CaseMetric, Measure
from helmsite.schema import MetricFacts

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from helmsite.metrics.case import Case, Exchange
    from helmsite.schema import Reference

METHOD = "ranking_binary"
NAME = re.compile(r"(RR|NDCG|Recall|Success)@([1-9]\d*)(?: \(topk=([1-9]\d*)\))?")
CLASSES = {"yes": 2, "no": 1}


class Document(NamedTuple):
    """Reference `number` as the measures see it; `rank` 0 is one that no ranker found."""

    number: int
    relevance: int
    rank: int
    is_correct: bool


def ranked(case: Case) -> list[Document] | None:
    """Return an instance's documents, best first; None where a probability is unknown.

    Documents that the model finds equal stay in the order of the references.
    """
    scored = []
    for exchange in case.exchanges:
        score = _score(exchange)
        if score is None:
            return None
        index = exchange.request.reference_index
        scored.append((score, _document(index, case.instance.references[index])))
    scored.sort(key=lambda pair: pair[0], reverse=True)
    return [document for _, document in scored]


def _score(exchange: Exchange) -> tuple[int, float] | None:
    logprob = exchange.first.logprob
    if logprob is None:
        return None
    place = CLASSES.get(exchange.first.text.strip().lower(), 0)
    return place, logprob if place == CLASSES["yes"] else -logprob


def _document(index: int, reference: Reference) -> Document:
    found = {"relevance": 0, "rank": 0}
    for tag in reference.tags:
        key, _, value = tag.partition("=")
        if key in found and value.isdecimal():
            found[key] = int(value)
    return Document(index, found["relevance"], found["rank"], reference.is_correct)


def _hits(documents: Sequence[Document]) -> list[bool]:
    return [d.is_correct and d.relevance > 0 for d in documents]


def _reciprocal_rank(
    run: Sequence[Document], _all: Sequence[Document], _k: int
) -> float:
    hits = _hits(run)
    return 1 / (hits.index(True) + 1) if any(hits) else 0.0


def _success(run: Sequence[Document], _all: Sequence[Document], _k: int) -> float:
    return float(any(_hits(run)))


def _recall(run: Sequence[Document], judged: Sequence[Document], _k: int) -> float:
    total = sum(_hits(judged))
    return sum(_hits(run)) / total if total else 0.0


def _gain(relevances: Sequence[int]) -> float:
    return sum(r / math.log2(place + 2) for place, r in enumerate(relevances))


def _ndcg(run: Sequence[Document], judged: Sequence[Document], k: int) -> float:
    ideal = _gain(sorted((d.relevance for d in judged), reverse=True)[:k])
    return _gain([d.relevance for d in run]) / ideal if ideal else 0.0


class Kind(NamedTuple):
    """A measure: its rule, and the sentence that describes it ({k} is the cut)."""

    rule: Callable[[Sequence[Document], Sequence[Document], int], float]
    sentence: str


KINDS = {
    "RR": Kind(
        _reciprocal_rank,
        "Mean over queries of 1/rank of the first relevant document, 0 if none is among the first {k}",
    ),
    "NDCG": Kind(
        _ndcg,
        "Mean over queries of the discounted gain of the first {k} documents, divided by that of the best order",
    ),
    "Recall": Kind(
        _recall,
        "Mean over queries of the share of relevant documents that are among the first {k}",
    ),
    "Success": Kind(
        _success, "Share of queries with a relevant document among the first {k}"
    ),
}


def measure(name: str) -> CaseMetric:
    """Make the measure of a name such as `NDCG@10` or `RR@10 (topk=30)`."""
    found = NAME.fullmatch(name)
    assert found is not None
    kind, k, limit = KINDS[found[1]], int(found[2]), int(found[3] or 0)
    among = f"; only documents among the first {limit} of the first-stage ranker"
    facts = MetricFacts(
        name=name,
        title=name,
        description=f"{kind.sentence.format(k=k)}{among if limit else ''}.",
        family="accuracy",
        higher_is_better=True,
        format="share",
        source="HELM",
    )

    def judge(case: Case) -> Measure | None:
        documents = ranked(case)
        if documents is None or not any(d.relevance for d in documents):
            return None
        run = [d for d in documents if not limit or 0 < d.rank <= limit]
        return Measure(kind.rule(run[:k], documents, k))

    return CaseMetric(facts, judge)


def reference_rank(name: str) -> CaseMetric:
    """Make `ref<i>_rank`: where a model puts reference i, counted from 0."""
    index = int(name.removeprefix("ref").removesuffix("_rank"))
    facts = MetricFacts(
        name=name,
        title=f"Rank of reference {index}",
        description=f"Mean place, from 0, that reference {index} has in the model's order.",
        family="general_information",
        source="HELM",
    )

    def judge(case: Case) -> Measure | None:
        places = [d.number for d in ranked(case) or ()]
        return Measure(float(places.index(index))) if index in places else None

    return CaseMetric(facts, judge)
