"""Efficiency: time and tokens that requests took, and what the model cost.

An instance with several requests has their mean. HELM sends the whole text of a given continuation and lets it
be echoed, so there num_completion_tokens equals num_prompt_tokens and no token is
output; the same holds here, where nothing is echoed. Estimated times and the cost of
training are known of some models only: by the tables of the HELM paper and the card.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import yaml

from helmsite.metrics.kinds import request_metric
from helmsite.schema import MetricFacts

if TYPE_CHECKING:
    from helmsite.metrics.case import Case, Exchange
    from helmsite.schema import ModelCard

TABLES = Path(__file__).parent / "data" / "runtimes.yaml"
Table = Literal["idealized", "denoised"]


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


@request_metric(
    MetricFacts(
        name="batch_size",
        title="Batch size",
        description="Mean number of requests that were computed together; 1 where each was answered by itself.",
        family="efficiency",
        unit="requests",
        source="HELM",
    )
)
def batch_size(_case: Case, exchange: Exchange) -> float | None:
    """Return the requests of a batch, as the source says in `extra`; else 1."""
    found = _batch(exchange)
    return found or (None if exchange.first.duration_s is None else 1.0)


def _batch(exchange: Exchange) -> float | None:
    found = exchange.first.extra.get("batch_size")
    return float(found) if isinstance(found, int | float) and found > 0 else None


class Runtimes(NamedTuple):
    """A model's line in a table: seconds by the length of the prompt, and beyond it."""

    prompt: tuple[tuple[int, float], ...]
    per_output_token: float
    overhead: float

    def seconds(self, prompt_tokens: float, output_tokens: float) -> float:
        """Return the time of a request.

        The prompt is read at the speed of the shortest measured one that is not
        shorter, or of the longest; the first output token comes with it.
        """
        longer = (step for step in self.prompt if prompt_tokens <= step[0])
        length, seconds = next(longer, self.prompt[-1])
        total = seconds * (prompt_tokens / length) + self.overhead
        if output_tokens > 0:
            total += self.per_output_token * (output_tokens - 1)
        return total


@cache
def runtimes(table: Table) -> dict[str, Runtimes]:
    """Return the published run times by the name of the model's deployment."""
    raw: dict[str, Any] = yaml.safe_load(TABLES.read_text(encoding="utf-8"))[table]
    return {
        name: Runtimes(
            tuple(zip(raw["prompt_tokens"], line["prompt"], strict=True)),
            line["per_output_token"],
            line.get("overhead", 0.0),
        )
        for line in raw["models"]
        for name in line["names"]
    }


def published(card: ModelCard | None, table: Table) -> Runtimes | None:
    """Return a model's line in a table, found by its name or another name of its."""
    names = (card.name, *card.aliases) if card else ()
    return next((r for n in names if (r := runtimes(table).get(n))), None)


def _estimated(case: Case, exchange: Exchange, table: Table) -> float | None:
    found = published(case.card, table)
    prompt = num_prompt_tokens.function(case, exchange)
    output = num_output_tokens.function(case, exchange)
    if found is None or prompt is None or output is None:
        return None
    return found.seconds(prompt, output)


@request_metric(
    MetricFacts(
        name="inference_denoised_runtime",
        title="Inference time (denoised)",
        description="Mean time of a request by a fit to undisturbed calls of the model's service, or an equal share of its batch's time.",
        family="efficiency",
        higher_is_better=False,
        unit="s",
        format="seconds",
        source="HELM",
    )
)
def inference_denoised_runtime(case: Case, exchange: Exchange) -> float | None:
    """Return the seconds by the table; of a batch, its time divided by its size."""
    together, taken = _batch(exchange), exchange.first.duration_s
    if together and taken is not None:
        return taken / together
    return _estimated(case, exchange, "denoised")


@request_metric(
    MetricFacts(
        name="inference_idealized_runtime",
        title="Inference time (idealised)",
        description="Mean time of a request by the model's architecture alone, on A100 accelerators under Megatron-LM.",
        family="efficiency",
        higher_is_better=False,
        unit="s",
        format="seconds",
        source="HELM",
    )
)
def inference_idealized_runtime(case: Case, exchange: Exchange) -> float | None:
    """Return the seconds by the table of architectures."""
    return _estimated(case, exchange, "idealized")


@request_metric(
    MetricFacts(
        name="training_co2_cost",
        title="Training emissions",
        description="Carbon dioxide that training the model emitted, as published or estimated by the HELM paper; the same for each request.",
        family="efficiency",
        higher_is_better=False,
        unit="t",
        source="HELM",
    )
)
def training_co2_cost(case: Case, _exchange: Exchange) -> float | None:
    """Return what the model's card says, in tonnes (HELM labels the same number kg)."""
    return case.card.training_co2_tonnes if case.card else None


@request_metric(
    MetricFacts(
        name="training_energy_cost",
        title="Training energy",
        description="Energy that training the model took, as published or estimated by the HELM paper; the same for each request.",
        family="efficiency",
        higher_is_better=False,
        unit="MWh",
        source="HELM",
    )
)
def training_energy_cost(case: Case, _exchange: Exchange) -> float | None:
    """Return what the model's card says, in megawatt hours."""
    return case.card.training_energy_mwh if case.card else None


def known_costs(card: ModelCard | None) -> tuple[str, ...]:
    """Return the metrics that are known of a model before it is asked anything."""
    known = {
        "inference_denoised_runtime": published(card, "denoised"),
        "inference_idealized_runtime": published(card, "idealized"),
        "training_co2_cost": card and card.training_co2_tonnes,
        "training_energy_cost": card and card.training_energy_mwh,
    }
    return tuple(name for name, value in known.items() if value is not None)
