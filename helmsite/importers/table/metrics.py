"""What a metric's name tells of it: its family, direction and format."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from helmsite.importers.titles import metric_title
from helmsite.schema import MetricFacts

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from helmsite.importers.table.mapping import Measure

ACCURACY, BIAS, TOXICITY = "accuracy", "bias", "toxicity"
CALIBRATION, EFFICIENCY, GENERAL = "calibration", "efficiency", "general_information"

_HIGHER = (
    r"(?:\w+_)?(?:acc|accuracy|(?:exact_|extractive_)?match|em|f1|win_?rate|score|auc|recall)"
    r"|acc_(?:norm|mutual_info)\w*|[pq]+em|m?f1|f1_(?:macro|micro|weighted|score)|loglikelihood_f1"
    r"|bleu\w*|rouge\w*|chrf\w*|meteor|bert_?score|comet|bleurt|summac|ndcg\w*|mrr|map"
    r"|(?:recall|precision)\w*|(?:\w+_)?(?:pass|maj|avg)_(?:at_)?(?:\d+|[kn])\w*|pass(?:ed|_rate)?"
    r"|(?:is_)?correct|correctness|mcc|auroc|roc_auc|iou|wins?|elo|rating|likelihood|preference"
    r"|hit_?rate|success\w*|helpfulness|faithfulness|average|avg|mean|\w+_average"
)
_LOWER = (
    r"(?:\w+_)?perplexity|ppl|(?:\w+_)?loss|nll|bits_per_byte|bpb|bits_per_char|wer|cer|ter|mae|mse"
    r"|rmse|error_rate|brier\w*|hallucination(?:_?rate)?"
)
_SORTS = (
    (CALIBRATION, False, r"ece\w*|(?:\w+_)?calibration_error"),
    (TOXICITY, False, r"toxic\w*|(?:\w+_)?toxicity"),
    (BIAS, False, r"bias|stereotype\w*|(?:\w+_)?bias"),
    (
        EFFICIENCY,
        False,
        r"(?:\w+_)?(?:latency|runtime|duration|seconds|cost|price)(?:_\w+)?",
    ),
    (ACCURACY, False, _LOWER),
    (ACCURACY, True, _HIGHER),
)
_KNOWN = [(f, up, re.compile(f"(?:{pattern})$")) for f, up, pattern in _SORTS]

_SHARE = re.compile(
    r"(?:\w+_)?(?:acc|accuracy|(?:exact_|extractive_)?match|em|f1|win_?rate|recall|precision)$"
    r"|acc_norm$|f1_(?:macro|micro|weighted)$|(?:\w+_)?pass_(?:at_)?\d+$|(?:is_)?correct$|pass_rate$"
)
LONGEST = 100
Format = Literal["share", "number", "integer", "seconds", "bits"]


def word(name: str) -> str:
    """Return a metric's name as words are compared."""
    return re.sub(r"[^a-z0-9]+", "_", name[:LONGEST].lower()).strip("_")


def is_metric(name: str) -> bool:
    """Return whether a column called so holds values of a metric, as everybody would say."""
    return any(known.match(word(name)) for _, _, known in _KNOWN)


def in_percent(name: str, said: Measure | None, values: Sequence[float]) -> bool:
    """Return whether values of a share are percentages: most but zeros are above 1.

    Never where the mapping says something of the kind, or a value is not from 0 to 100.
    """
    if said and (said.percent is not None or said.add or said.values):
        return False
    if not _SHARE.match(word(name)):
        return False
    above, some = sum(v > 1 for v in values), sum(v != 0 for v in values)
    return 2 * above > some and all(0 <= v <= 100 for v in values)


def facts(
    name: str,
    said: Measure | None,
    values: Iterable[float],
    source: str = "",
    *,
    percent: bool = False,
) -> MetricFacts:
    """Return a metric's facts: what the user says, else what its name tells.

    Args:
        name: the metric's name.
        said: what the mapping says of it.
        values: all its values, which show whether it is a share.
        source: which tool or table it is from.
        percent: whether the source has percentages, and these are shares.
    """
    family, higher = _known(name)
    if said and said.higher_is_better is not None:
        higher = said.higher_is_better
        family = ACCURACY if family == GENERAL else family
    if said and said.family:
        family = said.family
    title = (said.title if said else "") or metric_title(name)
    told = said.description if said else ""
    here = " in percent, here as a share" if percent else ""
    return MetricFacts(
        name=name,
        title=title,
        description=told or f"{title}, as the source reports it{here}.",
        family=family,
        higher_is_better=higher,
        unit=said.unit if said else "",
        format=_format(family, higher, values),
        source=source,
    )


def _known(name: str) -> tuple[str, bool | None]:
    written = word(name)
    for family, higher, pattern in _KNOWN:
        if pattern.match(written):
            return family, higher
    return GENERAL, None


def _format(family: str, higher: bool | None, values: Iterable[float]) -> Format:
    inside = whole = True
    some = False
    for value in values:
        some = True
        inside = inside and 0 <= value <= 1
        whole = whole and value.is_integer()
    if some and inside and (family != GENERAL or higher):
        return "share"
    return "integer" if some and whole and not inside else "number"
