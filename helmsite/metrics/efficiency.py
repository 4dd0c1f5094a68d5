"""Efficiency: time and tokens that requests took.

An instance with several requests has their mean. HELM sends the whole text of a given continuation and lets it
be echoed, so there num_completion_tokens equals num_prompt_tokens and no token is
output; the same holds here, where nothing is echoed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from helmsite.metrics.kinds import request_metric
from helmsite.schema import MetricFacts

if TYPE_CHECKING:
    from helmsite.metrics.case import Case, Exchange


@request_metric(
    MetricFacts(
        name="inference_runtime",
        title="Inference time",
        description="Mean time from sending a request to its answer, as observed; depends on where the model ran.",
        family="efficiency",
        higher_is_better=False,
        unit="s",
        format="seconds",
        source="HELM",
    )
)
def inference_runtime(_case: Case, exchange: Exchange) -> float | None:
    """Return the seconds that the request took."""
    return exchange.first.duration_s


@request_metric(
    MetricFacts(
        name="num_prompt_tokens",
        title="Prompt tokens",
        description="Mean number of tokens in a prompt, a given continuation included.",
        family="efficiency",
        unit="tokens",
        source="HELM",
    )
)
def num_prompt_tokens(_case: Case, exchange: Exchange) -> float | None:
    """Return the tokens of the prompt as the model's side counts them."""
    return exchange.first.usage.prompt_tokens


def _generated(exchange: Exchange) -> float | None:
    counts = [
        c.usage.completion_tokens if c.tokens is None else len(c.tokens)
        for c in exchange.completions
    ]
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None


@request_metric(
    MetricFacts(
        name="num_completion_tokens",
        title="Completion tokens",
        description="Mean number of tokens in all completions of a request; a given continuation counts with its prompt.",
        family="efficiency",
        unit="tokens",
        source="HELM",
    )
)
def num_completion_tokens(case: Case, exchange: Exchange) -> float | None:
    """Return the tokens of all completions; of the echoed prompt where none is generated."""
    if exchange.request.score_start is not None:
        return num_prompt_tokens.function(case, exchange)
    return _generated(exchange)


@request_metric(
    MetricFacts(
        name="num_output_tokens",
        title="Output tokens",
        description="Mean number of tokens that were generated for a request, over all its completions.",
        family="efficiency",
        unit="tokens",
        source="HELM",
    )
)
def num_output_tokens(_case: Case, exchange: Exchange) -> float | None:
    """Return the tokens that were generated, 0 for a given continuation."""
    return 0.0 if exchange.request.score_start is not None else _generated(exchange)
