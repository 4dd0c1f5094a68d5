"""What the parts of a run promise each other."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from helmsite.schema.manifest import (
    AdapterSpec,
    DataRevision,
    MetricFacts,
    ModelIdentity,
    ScenarioFacts,
)
from helmsite.schema.records import Completion, Instance, Record, Request

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy as np

    Pool = Callable[[Sequence[Mapping[str, Any]]], np.ndarray]


class LoadedScenario(Record, frozen=True):
    """A scenario ready to run: its facts, its defaults and all its instances.

    `definition_sha256` covers what shapes the instances (source, templates, splits) but
    no titles and no metrics. `methods` holds the adapter spec of every method that the
    scenario is made for; `perturbations` are names or presets of those that it asks
    for. `skipped` counts the rows that were left out, by reason; `notes`
    say what stood in for optional files.
    """

    facts: ScenarioFacts
    adapter: AdapterSpec
    metrics: tuple[str, ...]
    instances: tuple[Instance, ...]
    data: DataRevision = DataRevision()
    definition_sha256: str = ""
    perturbations: tuple[str, ...] = ()
    methods: dict[str, AdapterSpec] = {}
    skipped: dict[str, int] = {}
    notes: tuple[str, ...] = ()


class Tokenizer(Protocol):
    """A model's own tokeniser, as adapters need it."""

    def encode(self, text: str) -> Sequence[int]:
        """Return the token ids of a text, without any special token added."""

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of token ids; broken UTF-8 shows as U+FFFD."""


@dataclass(frozen=True)
class PopulationMetric:
    """A metric of all instances at once, such as a calibration error.

    `compute` gets one float64 array of shape (n,) for each of the `inputs` (names of
    per-instance metrics, rows with all of them present, ordered by instance position)
    and returns the value, or None where it is not defined.

    A metric that needs more of an instance than a number (labels, texts, word counts)
    has a `pool`: it turns the `details` of the rows of the one input, in the same order,
    into one array with n rows, of any type and width, and `compute` gets that array.
    It is called once for a context and trial, so what is common to all (the set of
    labels) is found there; `compute` is called for each resample with some of the rows,
    some of them repeated. `resampled` False spares that where it would take too long:
    then the value has no interval.
    """

    facts: MetricFacts
    inputs: tuple[str, ...]
    compute: Callable[..., float | None]
    pool: Pool | None = field(default=None, kw_only=True)
    resampled: bool = field(default=True, kw_only=True)

    def __post_init__(self) -> None:
        """Refuse a pool of several inputs: it reads the details of one."""
        if self.pool and len(self.inputs) != 1:
            raise ValueError(f"{self.facts.name}: a pooled metric has one input")

    def __call__(self, *columns: np.ndarray) -> float | None:
        """Return the value of the metric over the given columns."""
        return self.compute(*columns)


class Client(Protocol):
    """A model that answers requests; `complete` may be called from several threads."""

    @property
    def identity(self) -> ModelIdentity:
        """What identifies the model; goes into the spec_id."""

    @property
    def tokenizer(self) -> Tokenizer | None:
        """The model's tokeniser, None where the endpoint has none to offer."""

    @property
    def max_request_length(self) -> int | None:
        """Tokens that prompt and completion may take together; None if unknown."""

    @property
    def has_prefix_token(self) -> bool:
        """Whether an empty context is a beginning-of-text token (HELM's prefix token)."""

    def complete(self, request: Request) -> list[Completion]:
        """Answer one request: num_completions completions, or one for a continuation.

        Raises:
            RetriableError: the same request may work later.
            ClientError: it never will (the run records the failure and goes on).
        """

    def close(self) -> None:
        """Free what the model holds; calling it twice is fine."""
