"""Metrics of the harness: what they mean, and how their rows become one value.

Most are means. Perplexities come as log-likelihoods, which become what the geometric mean
(or ratio) of helmsite gives the harness's value from. Of others the source's value stays.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from helmsite.errors import SourceError
from helmsite.importers.titles import metric_title
from helmsite.importers.values import Place, number, plain
from helmsite.schema import MetricFacts

if TYPE_CHECKING:
    from helmsite.importers.lm_eval.results import Results
    from helmsite.importers.values import Row
    from helmsite.schema.manifest import Format
    from helmsite.schema.records import Missing

SOURCE = "lm-evaluation-harness"
BYPASS = "bypass"
"""The metric of runs with --predict_only: none."""

UNJUDGED = ("exact_match", "quasi_exact_match", "f1_score")
"""Metrics of helmsite that are computed where the harness judged no generated answer."""

Rule = Literal["mean", "perplexity", "weighted_perplexity", "bits_per_byte", "other"]
RULES: dict[str, Rule] = {
    "mean": "mean",
    "nanmean": "mean",
    "brier_score": "mean",
    "perplexity": "perplexity",
    "weighted_perplexity": "weighted_perplexity",
    "bits_per_byte": "bits_per_byte",
}
OWN: dict[str, Rule] = {
    "perplexity": "perplexity",
    "ppl": "perplexity",
    "word_perplexity": "weighted_perplexity",
    "byte_perplexity": "weighted_perplexity",
    "bits_per_byte": "bits_per_byte",
    "f1": "mean",
    **dict.fromkeys(("mcc", "bleu", "chrf", "chrf++", "ter", "median"), "other"),
    **dict.fromkeys(("likelihood", BYPASS), "other"),
}
AGGREGATIONS: dict[Rule, Literal["mean", "ratio", "geometric", "population"]] = {
    "mean": "mean",
    "perplexity": "geometric",
    "weighted_perplexity": "geometric",
    "bits_per_byte": "ratio",
    "other": "population",
}


class Known(NamedTuple):
    """What is known of a metric by its name."""

    title: str
    description: str
    family: str = "accuracy"
    higher_is_better: bool = True
    format: Format = "share"


KNOWN = {
    "acc": Known(
        "Accuracy",
        "Share of instances whose right choice is the one with the highest "
        "log-probability; without choices, whose target the model would say greedily.",
    ),
    "acc_norm": Known(
        "Accuracy, by length",
        "Share of instances whose right choice has the highest log-probability for each "
        "of its characters.",
    ),
    "acc_bytes": Known(
        "Accuracy, by bytes",
        "Share of instances whose right choice has the highest log-probability for each "
        "of its UTF-8 bytes.",
    ),
    "acc_mutual_info": Known(
        "Accuracy, by mutual information",
        "Share of instances whose right choice gains most log-probability from the "
        "question.",
    ),
    "exact_match": Known(
        "Exact match",
        "Share of instances whose filtered answer equals a target; with choices, whose "
        "right choice the model would say greedily.",
    ),
    "brier_score": Known(
        "Brier score",
        "Mean squared distance of the probabilities of the choices from the right answer.",
        "calibration",
        higher_is_better=False,
        format="number",
    ),
    "perplexity": Known(
        "Perplexity",
        "e to the mean negative log-likelihood of the targets.",
        higher_is_better=False,
        format="number",
    ),
    "ppl": Known(
        "Perplexity",
        "e to the mean negative log-likelihood of the targets.",
        higher_is_better=False,
        format="number",
    ),
    "word_perplexity": Known(
        "Perplexity of words",
        "e to the negative log-likelihood for each word of the texts.",
        higher_is_better=False,
        format="number",
    ),
    "byte_perplexity": Known(
        "Perplexity of bytes",
        "e to the negative log-likelihood for each byte of the texts.",
        higher_is_better=False,
        format="number",
    ),
    "bits_per_byte": Known(
        "Bits per byte",
        "Bits that a byte of the texts costs the model.",
        higher_is_better=False,
        format="bits",
    ),
    "f1": Known("F1", "F1 as the task computes it.", format="number"),
    "mcc": Known(
        "MCC", "Matthews correlation of choice and right choice.", format="number"
    ),
    "bleu": Known("BLEU", "BLEU of the corpus, 0 to 100.", format="number"),
    "chrf": Known("chrF", "chrF of the corpus, 0 to 100.", format="number"),
    "chrf++": Known("chrF++", "chrF++ of the corpus, 0 to 100.", format="number"),
    "ter": Known(
        "TER",
        "Translation edit rate of the corpus.",
        higher_is_better=False,
        format="number",
    ),
    "likelihood_difference": Known(
        "Difference of likelihoods",
        "Mean absolute difference between the log-likelihoods of the two sentences of a pair.",
        "bias",
        higher_is_better=False,
        format="number",
    ),
    "pct_stereotype": Known(
        "Stereotypes preferred",
        "Share of pairs of which the stereotyping sentence is the more likely one.",
        "bias",
        higher_is_better=False,
    ),
}


def rule(name: str, config: Row) -> Rule:
    """Return how the rows of a metric become one value, by the task's own word."""
    said = _listed(name, config).get("aggregation")
    if isinstance(said, str) and said:
        return RULES.get(said, "other")
    return OWN.get(name, "mean")


def _listed(name: str, config: Row) -> dict[str, Any]:
    found = config.get("metric_list")
    several = found if isinstance(found, list) else []
    return next(
        (e for e in several if isinstance(e, dict) and e.get("metric") == name), {}
    )


def facts(name: str, results: Results | None, task: str) -> MetricFacts:
    """Return what a metric of a task or group means."""
    known = KNOWN.get(name)
    config = results.task_config(task) if results else None
    higher: Any = None
    if results and config is not None:
        direction = results.of("higher_is_better", task)
        if isinstance(direction, dict):
            higher = direction.get(name)
        if higher is None:
            higher = _listed(name, config).get("higher_is_better")
    if not isinstance(higher, bool):
        higher = known.higher_is_better if known else None
    applied = rule(name, config) if config is not None else OWN.get(name, "mean")
    return MetricFacts(
        name=name,
        title=known.title if known else metric_title(name),
        description=known.description if known else "As the task's own code says.",
        family=known.family if known else "accuracy",
        aggregation=AGGREGATIONS[applied],
        higher_is_better=higher,
        format=known.format if known else "number",
        source=SOURCE,
    )


class Verdict(NamedTuple):
    """A row's value of a metric, as helmsite's scores hold it."""

    value: float | None
    weight: float | None = None
    missing: Missing = ""
    details: dict[str, Any] = {}


def verdict(found: Any, applied: Rule, place: Place) -> Verdict:
    """Return what a row says of a metric.

    Args:
        found: a number, one as text, true or false, or the parts that a number is made of.
        applied: how rows of the metric become one value.
        place: where it stands.
    """
    if isinstance(found, list) and applied in {"weighted_perplexity", "bits_per_byte"}:
        return _of_text(found, applied, place)
    if isinstance(found, bool) or found in ("True", "False"):
        found = float(found in (True, "True"))
    try:
        value = number(found, place)
    except SourceError:
        details = {} if found is None else {"value": plain(found)}
        return Verdict(None, missing="not measurable", details=details)
    if value is None:
        return Verdict(None, missing="nan", details={"value": str(found)})
    if applied == "perplexity":
        value = _power(-value)
        if value is None:
            details = {"value": plain(found)}
            return Verdict(None, missing="not measurable", details=details)
    return Verdict(value)


def _of_text(found: list[Any], applied: Rule, place: Place) -> Verdict:
    """Return the verdict of `[log-likelihood, words or bytes]`."""
    details = {"value": plain(found)}
    try:
        parts = [number(each, place.inside(n)) for n, each in enumerate(found)]
    except SourceError:
        return Verdict(None, missing="not measurable", details=details)
    if len(parts) != 2 or None in parts:
        return Verdict(None, missing="nan", details=details)
    total, units = parts
    if total is None or units is None or units <= 0:
        return Verdict(None, missing="not measurable", details=details)
    cost = -total / units
    value = cost / math.log(2) if applied == "bits_per_byte" else _power(cost)
    if value is None:
        return Verdict(None, missing="not measurable", details=details)
    return Verdict(value, units)


def _power(exponent: float) -> float | None:
    """Return e to a power, None if it is too large or small for a number."""
    try:
        found = math.exp(exponent)
    except OverflowError:
        return None
    return found if found > 0 else None
