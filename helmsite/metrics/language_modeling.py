r"""Language modelling: log-probability per byte and per token, as ratios of sums.

HELM divides the sum of all log-probabilities by the sum of all bytes (tokens), so these
are metrics of all instances at once, computed from logprob, num_bytes and
num_perplexity_tokens. Each instance (each window of a document) has a row too, with its
weight: Σ value·weight / Σ weight (perplexity: the geometric mean) is the same number,
unless an answer without a byte, such as a bare end-of-text token, has a log-probability.
Such an answer has no row value, yet its log-probability counts in the metric.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from helmsite.metrics.kinds import Measure, ShownPopulation, case_metric
from helmsite.schema import MetricFacts

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from helmsite.metrics.case import Case
    from helmsite.schema import Completion

    Column = NDArray[np.float64]


@dataclass(frozen=True)
class Sums:
    """Log-probability (natural), number of tokens and of UTF-8 bytes of a text."""

    logprob: float
    tokens: int
    bytes: int


def num_bytes_of(token: str) -> int:
    r"""Return a token's length in UTF-8 bytes; `bytes:\xe2\x80` counts two."""
    if token.startswith("bytes:"):
        return token.count("\\x")
    return len(token.encode("utf-8", "surrogatepass"))


def sums(completion: Completion) -> Sums | None:
    """Return the sums over a completion's tokens, None without log-probabilities.

    A token without one (the first of a text, for a model without a begin token) is left
    out of all three.
    """
    if completion.tokens is None or completion.token_logprobs is None:
        return None
    pairs = zip(completion.tokens, completion.token_logprobs, strict=True)
    scored = [(token, value) for token, value in pairs if value is not None]
    if completion.tokens and not scored:
        return None
    return Sums(
        logprob=sum(value for _, value in scored),
        tokens=len(scored),
        bytes=sum(num_bytes_of(token) for token, _ in scored),
    )


@case_metric(
    MetricFacts(
        name="logprob",
        title="Log-probability",
        description="Mean log-probability (natural) of the first answer, or of the given text.",
        family="general_information",
        higher_is_better=True,
        unit="nats",
        source="HELM",
    )
)
def logprob(case: Case) -> Measure | None:
    """Return the sum of the tokens' log-probabilities."""
    total = sums(case.first)
    return None if total is None else Measure(total.logprob)


@case_metric(
    MetricFacts(
        name="num_perplexity_tokens",
        title="Scored tokens",
        description="Mean number of tokens that have a log-probability in the first answer, or in the given text.",
        family="general_information",
        unit="tokens",
        source="HELM",
    )
)
def num_perplexity_tokens(case: Case) -> Measure | None:
    """Return the number of scored tokens."""
    total = sums(case.first)
    return None if total is None else Measure(float(total.tokens))


@case_metric(
    MetricFacts(
        name="num_bytes",
        title="Scored bytes",
        description="Mean number of UTF-8 bytes that have a log-probability in the first answer, or in the given text.",
        family="general_information",
        unit="bytes",
        source="HELM",
    )
)
def num_bytes(case: Case) -> Measure | None:
    """Return the number of scored bytes."""
    total = sums(case.first)
    return None if total is None else Measure(float(total.bytes))


def _bits(logprob: float, count: float) -> float:
    return -logprob / count / math.log(2)


def _per(logprob: float, count: float) -> float:
    return logprob / count


def _perplexity(logprob: float, count: float) -> float:
    try:
        return float(math.e ** (-logprob / count))
    except OverflowError:
        return math.inf


def _ratio(
    facts: MetricFacts, counted: str, rule: Callable[[float, float], float]
) -> ShownPopulation:
    """Make a metric of Σ logprob and Σ `counted`, with a row for each case."""

    def compute(logprob: Column, count: Column) -> float | None:
        total = float(count.sum())
        value = rule(float(logprob.sum()), total) if total > 0 else math.inf
        return value if math.isfinite(value) else None

    def show(case: Case) -> Measure | None:
        total = sums(case.first)
        if total is None:
            return None
        count = total.bytes if counted == "num_bytes" else total.tokens
        return Measure(rule(total.logprob, count), float(count)) if count else None

    return ShownPopulation(facts, ("logprob", counted), compute, show)


bits_per_byte = _ratio(
    MetricFacts(
        name="bits_per_byte",
        title="Bits per byte",
        description="Information content of all texts in bits, by the model's probabilities, divided by their bytes.",
        family="accuracy",
        aggregation="population",
        higher_is_better=False,
        unit="bits/byte",
        format="bits",
        source="HELM",
    ),
    "num_bytes",
    _bits,
)

logprob_per_byte = _ratio(
    MetricFacts(
        name="logprob_per_byte",
        title="Log-probability per byte",
        description="Log-probability (natural) of all texts together, divided by their bytes.",
        family="accuracy",
        aggregation="population",
        higher_is_better=True,
        unit="nats/byte",
        source="HELM",
    ),
    "num_bytes",
    _per,
)

perplexity = _ratio(
    MetricFacts(
        name="perplexity",
        title="Perplexity",
        description="Inverse geometric mean of the probabilities of all tokens of all texts; comparable only under the same tokeniser.",
        family="accuracy",
        aggregation="population",
        higher_is_better=False,
        source="HELM",
    ),
    "num_perplexity_tokens",
    _perplexity,
)
