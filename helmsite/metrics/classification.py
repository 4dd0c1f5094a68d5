"""Classification: F1, precision and recall over the labels of all instances.

A generated answer is a label once it is normalised, articles left in; with `multi_label`
it names several, parted by ", ". The labels that count are those of the right answers,
or those that the name lists (`classification_macro_f1:labels=yes|no`); an answer that is
none of them is wrong for all. In joint multiple choice the options are labels as they
are, and a letter that stands for nothing is one of its own. Both as in HELM, by the
rules of scikit-learn: a label without any hit counts as 0.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from helmsite.metrics.kinds import Measure, pooled_metric
from helmsite.metrics.text import normalise
from helmsite.schema import MetricFacts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from helmsite.metrics.case import Case
    from helmsite.schema import PopulationMetric

    Rows = NDArray[np.float64]

ROWS = "classification_macro_f1"
NAME = re.compile(
    r"classification_(macro|micro|weighted)_(f1|precision|recall)(?::labels=(.+))?"
)
DELIMITER = ", "
WHAT = {
    "f1": ("F1", "harmonic mean of precision and recall"),
    "precision": ("precision", "share of answers with a label that are right"),
    "recall": ("recall", "share of a label's instances that are answered with it"),
}
HOW = {
    "macro": ("Macro", "Mean over labels of the {}; each label weighs the same"),
    "micro": ("Micro", "The {}, over all labels together; frequent ones weigh more"),
    "weighted": ("Weighted", "Mean over labels of the {}, by how often each is right"),
}


def judge(case: Case) -> Measure | None:
    """Return the right labels of an instance and those of its answer."""
    mapping = case.exchanges[0].request.output_mapping
    golds = case.instance.gold
    if not golds or (len(golds) > 1 and not (mapping or case.adapter.multi_label)):
        return None
    if mapping:
        letter = case.ranked[0].text.strip()
        gold, found = [golds[0]], [mapping.get(letter, letter)]
    else:
        text = case.first.text
        parts = text.split(DELIMITER) if case.adapter.multi_label else [text]
        gold = [normalise(label, articles=True) for label in golds if label]
        found = [normalise(part, articles=True) for part in parts if part]
    return Measure(
        float({*gold} == {*found}),
        text=DELIMITER.join(found),
        details={"gold": gold, "predicted": found, "open": bool(mapping)},
    )


def pool_of(listed: Sequence[str]) -> Any:
    """Return a pool of (n, labels, 3): hits, false alarms and misses of each label."""

    def pool(details: Sequence[Mapping[str, Any]]) -> Rows:
        is_open = any(d["open"] for d in details)
        known = {normalise(label, articles=True) for label in listed}
        if not listed or is_open:
            known = {label for d in details for label in d["gold"]}
        if is_open:
            known |= {label for d in details for label in d["predicted"]}
        place = {label: i for i, label in enumerate(sorted(known))}
        gold, found = np.zeros((2, len(details), len(known)))
        for rows, name in ((gold, "gold"), (found, "predicted")):
            for row, d in zip(rows, details, strict=True):
                row[[place[label] for label in d[name] if label in place]] = 1
        if len(known) == 1 and not is_open:
            gold, found = _with_rest(gold, found)
        return np.stack([gold * found, found * (1 - gold), gold * (1 - found)], axis=-1)

    return pool


def _with_rest(gold: Rows, found: Rows) -> tuple[Rows, Rows]:
    """Add "any other" to a single label, if there is any: scikit-learn counts it too."""
    both = [np.hstack([rows, 1 - rows]) for rows in (gold, found)]
    used = np.any(both[0] + both[1], axis=0)
    return both[0][:, used], both[1][:, used]


def _shares(counts: Rows, what: str) -> Rows:
    """Return F1, precision or recall of (..., 3) counts, 0 where there is nothing."""
    hits, alarms, misses = np.moveaxis(counts, -1, 0)
    top, bottom = {
        "f1": (2 * hits, 2 * hits + alarms + misses),
        "precision": (hits, hits + alarms),
        "recall": (hits, hits + misses),
    }[what]
    empty = np.zeros_like(bottom, dtype=float)
    np.divide(top, bottom, out=empty, where=bottom > 0)
    return empty


def _value(rows: Rows, how: str, what: str) -> float | None:
    if not rows.shape[1]:
        return None
    counts = rows.sum(axis=0)
    if how == "micro":
        return float(_shares(counts.sum(axis=0), what))
    shares = _shares(counts, what)
    if how == "macro":
        return float(np.mean(shares))
    support = counts[:, 0] + counts[:, 2]
    return float(shares @ support / support.sum()) if support.sum() else 0.0


def measure(name: str) -> PopulationMetric:
    """Return the metric of a name; the rows are those of `classification_macro_f1`."""
    match = NAME.fullmatch(name)
    assert match, name
    how, what, labels = match.groups()
    listed = tuple(labels.split("|")) if labels else ()
    title, sentence = HOW[how]
    facts = MetricFacts(
        name=name,
        title=f"{title} {WHAT[what][0]}"
        + (f" ({', '.join(listed)})" if listed else ""),
        description=f"{sentence.format(WHAT[what][1])}.",
        family="classification_metrics",
        aggregation="population",
        higher_is_better=True,
        format="share",
        source="HELM",
    )
    own = judge if name == ROWS else None
    found = pooled_metric(facts, ROWS, pool_of(listed), show=own)
    return found(lambda rows: _value(rows, how, what))
