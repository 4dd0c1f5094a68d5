"""What the cells of a batch of published results mean, kept in the footer of its file."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from msgspec import structs

from helmsite.archive import reading
from helmsite.errors import ArchiveError
from helmsite.schema import MetricFacts, ModelCard, Record, ScenarioFacts

if TYPE_CHECKING:
    from collections.abc import Iterable

    from helmsite.archive.indexing import Batch
    from helmsite.archive.store import Store
    from helmsite.schema import PublishedStat

KEY = "facts"
_NAME = attrgetter("name")

Named = TypeVar("Named", ScenarioFacts, MetricFacts, ModelCard)


class BatchFacts(Record, frozen=True):
    """What a batch's scenarios, metrics and models are, and the tool that made its numbers.

    `tool` is its name for people; `versions` its version by source file, where it is known.
    """

    tool: str = ""
    scenarios: tuple[ScenarioFacts, ...] = ()
    metrics: tuple[MetricFacts, ...] = ()
    cards: tuple[ModelCard, ...] = ()
    versions: dict[str, str] = {}

    def updated(self, newer: BatchFacts) -> BatchFacts:
        """Return these facts with newer ones, which count where both know a name."""
        return BatchFacts(
            newer.tool or self.tool,
            _joined(self.scenarios, newer.scenarios),
            _joined(self.metrics, newer.metrics),
            _joined(self.cards, newer.cards),
            {**self.versions, **newer.versions},
        )

    def about(self, results: Iterable[PublishedStat]) -> BatchFacts:
        """Return what is about some results alone: of each name the last word.

        Scenarios and models are sorted by name; metrics keep their order.
        """
        found = list(results)
        names = {r.scenario for r in found}
        metrics, models = {r.stat.metric for r in found}, {r.model for r in found}
        files = {r.source_file for r in found}
        alone = BatchFacts().updated(self)
        return structs.replace(
            alone,
            scenarios=tuple(
                sorted((s for s in alone.scenarios if s.name in names), key=_NAME)
            ),
            metrics=tuple(m for m in alone.metrics if m.name in metrics),
            cards=tuple(
                sorted((c for c in alone.cards if c.name in models), key=_NAME)
            ),
            versions={f: v for f, v in sorted(alone.versions.items()) if f in files},
        )


def _joined(old: tuple[Named, ...], new: tuple[Named, ...]) -> tuple[Named, ...]:
    found = {each.name: each for each in old}
    found.update({each.name: each for each in new})
    return tuple(found.values())


def encode(facts: BatchFacts) -> str:
    """Return facts as a footer holds them.

    Raises:
        ArchiveError: they hold what no archive can: half a character, NaN.
    """
    why = "it holds NaN or infinity"
    try:
        text = msgspec.json.encode(facts, order="deterministic").decode()
        if decode(text) == facts:
            return text
    except (msgspec.MsgspecError, UnicodeError, TypeError, RecursionError) as error:
        why = str(error)
    raise ArchiveError(
        f"Cannot archive what is known of published results: {why}.",
        "Correct the facts of their scenarios, metrics or models.",
    )


def decode(text: str | bytes) -> BatchFacts:
    """Return the facts that a footer holds."""
    return msgspec.json.decode(text, type=BatchFacts)


def of_footer(metadata: dict[bytes, bytes] | None) -> BatchFacts:
    """Return the facts in a file's key-value metadata; none where it has none."""
    blob = (metadata or {}).get(f"helmsite.{KEY}".encode())
    return BatchFacts() if blob is None else decode(blob)


def facts(store: Store, batch: Batch) -> BatchFacts:
    """Return what is known of a batch's scenarios, metrics and models.

    Raises:
        ArchiveError: the file is damaged, or its footer is none of helmsite's.
    """
    source = reading.published(batch.path, batch.facts)
    with reading.opened(store, source) as file:
        metadata: dict[bytes, Any] | None = file.metadata.metadata
        return of_footer(metadata)
