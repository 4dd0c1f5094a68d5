"""What a metric looks at: an instance with the requests made of it and their answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from helmsite.schema import expressions

if TYPE_CHECKING:
    from collections.abc import Iterable

    from helmsite.metrics.sandbox import Sandbox
    from helmsite.schema import AdapterSpec, Completion, Instance, ModelCard, Request


PATIENCE = 10


class UnmeasurableError(Exception):
    """A metric has no value for a reason that its row should tell."""


class UnparsedError(Exception):
    """The answer's letter could not be looked for in time."""


class Extractor:
    """Finds the letters of one run's answers.

    Raises:
        UnparsedError: the pattern takes too long for an answer, or took so for
            PATIENCE answers before it.
    """

    def __init__(self) -> None:
        self._late = 0

    def __call__(self, pattern: str, text: str) -> str:
        """Return what a pattern finds in an answer."""
        if self._late >= PATIENCE:
            raise UnparsedError
        try:
            return extract(pattern, text)
        except TimeoutError as error:
            self._late += 1
            raise UnparsedError from error


@dataclass(frozen=True)
class Exchange:
    """One request with all its completions, in the order of their index."""

    request: Request
    completions: tuple[Completion, ...]

    @property
    def first(self) -> Completion:
        """The first completion as it came, whatever its log-probability."""
        return self.completions[0]


@dataclass(frozen=True)
class Case:
    """One instance in one trial: everything that was asked of it and came back.

    In language modelling each window of a document is a case of its own. The exchanges
    are in the order of mode, request_index and reference_index; there is at least one.
    `card` is what is told of the model; `sandbox` runs programs, if that is allowed.
    """

    instance: Instance
    adapter: AdapterSpec
    exchanges: tuple[Exchange, ...]
    extractor: Extractor = field(default_factory=Extractor, compare=False)
    card: ModelCard | None = None
    sandbox: Sandbox | None = field(default=None, compare=False)

    @property
    def first(self) -> Completion:
        """The first completion of the first request."""
        return self.exchanges[0].first

    @cached_property
    def ranked(self) -> tuple[Completion, ...]:
        """The completions of the first request, the most probable one first."""
        return tuple(by_logprob(self.exchanges[0].completions))

    @cached_property
    def predictions(self) -> tuple[str | None, ...]:
        """The predicted texts, the most probable one first; None is an unknown letter."""
        mapping = self.exchanges[0].request.output_mapping
        texts = [completion.text.strip() for completion in self.ranked]
        if not mapping:
            return tuple(texts)
        pattern = self.adapter.output_mapping_pattern
        letters = (
            [self.extractor(pattern, text) for text in texts] if pattern else texts
        )
        return tuple(mapping.get(letter) for letter in letters)


def by_logprob(completions: Iterable[Completion]) -> list[Completion]:
    """Sort completions by log-probability, highest first, unknown ones last; stable."""
    return sorted(
        completions,
        key=lambda c: float("inf") if c.logprob is None else -c.logprob,
    )


def extract(pattern: str, text: str) -> str:
    """Return what an output_mapping_pattern finds: group 1, else the match, else ''."""
    match = expressions.search(pattern, text)
    if match is None:
        return ""
    return str((match.group(1) or "") if match.groups() else match.group(0))
