"""The files of a run, written to a local folder: sorted, checked, the same each time."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from msgspec import structs

from helmsite.archive import rows, tables
from helmsite.archive.columns import to_json
from helmsite.archive.published import KEY, encode
from helmsite.archive.store import problems
from helmsite.errors import ArchiveError
from helmsite.schema import (
    Counts,
    Decoding,
    FileFacts,
    Instance,
    PublishedStat,
    Reply,
    Score,
    Stat,
    failed,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from helmsite.archive.published import BatchFacts
    from helmsite.schema import Manifest

    Rank = Mapping[tuple[str, str], int]

GROUP_ROWS, GROUP_BYTES = 1000, 8_000_000  # of text: about 1 MB on disk
_CHUNK = 50_000
_TWIN = "Give each its own id, trial or index: rows that mean the same are one row."


class Answers(NamedTuple):
    """The requests table that was written; a request failed if a completion of it did."""

    facts: FileFacts
    answered: int
    failed: int


def instances(path: Path, given: Iterable[Instance]) -> tuple[FileFacts, Rank]:
    """Write instances.parquet; also return the place of each instance in the order.

    Raises:
        ArchiveError: an id occurs twice, or a value cannot be stored.
    """
    ordered = sorted(given, key=attrgetter("position", "instance_id", "perturbation"))
    rank: dict[tuple[str, str], int] = {}
    for place, one in enumerate(ordered):
        if rank.setdefault((one.instance_id, one.perturbation), place) != place:
            raise _twice("instances", (one.instance_id, one.perturbation))
    return _whole(path, tables.INSTANCES, ordered, rows.instances), rank


def replies(
    path: Path, given: Iterable[Reply], rank: Rank, default: Decoding
) -> Answers:
    """Write requests.parquet in row groups.

    Memory stays flat for an iterator in the archive's order: by instance position, then
    the key. Other iterators are put in order first.

    Raises:
        ArchiveError: a row occurs twice, belongs to no instance, or cannot be stored.
    """

    def key(reply: Reply) -> tuple[Any, ...]:
        request = reply.request
        place = rank.get((request.instance_id, request.perturbation))
        if place is None:
            raise _orphan("requests", request.instance_id, request.perturbation)
        return (place, *request.key[2:], reply.completion_index)

    if isinstance(given, Sequence):
        given = sorted(given, key=key)
    stream = _Stream(given, key)
    written = _grouped(path, stream, default)
    if stream.rest:
        kept = list(rows.read_replies(pq.read_table(path), default))
        again = sorted([*kept, *stream.rest], key=key)
        stream = _Stream(again, key)
        written = _grouped(path, stream, default)
    return Answers(written, stream.asked - stream.failed, stream.failed)


def scores(path: Path, given: Iterable[Score], rank: Rank) -> tuple[FileFacts, int]:
    """Write scores.parquet; also return how many scores have a value.

    Raises:
        ArchiveError: a row occurs twice, belongs to no instance, or cannot be stored.
    """

    def key(one: Score) -> tuple[Any, ...]:
        place = rank.get((one.instance_id, one.perturbation))
        if place is None:
            raise _orphan("scores", one.instance_id, one.perturbation)
        return (
            place,
            one.trial,
            one.request_index,
            one.reference_index,
            one.completion_index,
            one.metric,
            one.scorer,
            one.origin,
        )

    ordered = _unique("scores", sorted(given, key=key), key)
    facts = _whole(path, tables.SCORES, ordered, rows.scores)
    return facts, sum(1 for one in ordered if one.value is not None)


def stats(path: Path, given: Iterable[Stat]) -> FileFacts:
    """Write stats.parquet.

    Raises:
        ArchiveError: a row occurs twice or cannot be stored.
    """
    ordered = _unique("stats", sorted(given, key=_stat_key), _stat_key)
    return _whole(path, tables.STATS, ordered, rows.stats)


def published(
    path: Path,
    given: Iterable[PublishedStat],
    names: Mapping[str, str],
    facts: BatchFacts,
) -> FileFacts:
    """Write a batch of published results.

    `names` (suite, batch) go into the footer, and of the facts those about the results.

    Raises:
        ArchiveError: a row occurs twice or cannot be stored.
    """

    def key(one: PublishedStat) -> tuple[Any, ...]:
        return (
            one.scenario,
            one.model,
            _settings(one),
            one.source_file,
            *_stat_key(one.stat),
        )

    ordered = _unique("published", sorted(given, key=key), key)
    said = {**names, KEY: encode(facts.about(ordered))}
    return _whole(path, tables.PUBLISHED, ordered, rows.published, said)


def facts_of(path: Path, count: int) -> FileFacts:
    """Return the size and SHA-256 of a file."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return FileFacts(rows=count, bytes=path.stat().st_size, sha256=digest)


def with_counts(
    manifest: Manifest, answers: Answers, scored: int, files: dict[str, FileFacts]
) -> Manifest:
    """Return a manifest with what was written; complete only if all was answered."""
    answered, failed = answers.answered, answers.failed
    asked = max(manifest.counts.asked, answered + failed)
    status = manifest.status
    if status == "complete" and answered < asked:
        status = "partial"
    counts = Counts(asked=asked, answered=answered, failed=failed, scored=scored)
    return structs.replace(manifest, counts=counts, files=files, status=status)


def _settings(one: PublishedStat) -> str:
    try:
        return to_json(one.settings) or "{}"
    except ValueError:
        return ""  # to be refused with its row and column, below


def _stat_key(one: Stat) -> tuple[Any, ...]:
    return tuple(getattr(one, name) for name in tables.STATS.key)


def _whole(
    path: Path,
    table: tables.Table,
    ordered: Sequence[Any],
    convert: Callable[[Sequence[Any]], pa.RecordBatch],
    names: Mapping[str, str] | None = None,
) -> FileFacts:
    """Write a table as one row group."""
    starts = range(0, len(ordered), _CHUNK)
    batches = [convert(ordered[s : s + _CHUNK]) for s in starts]
    whole = pa.Table.from_batches(batches, schema=table.schema)
    with problems(f"write {path}"), tables.writer(table, path, names) as file:
        if len(ordered):
            file.write_table(whole, row_group_size=len(ordered))
    return facts_of(path, len(ordered))


def _grouped(path: Path, stream: _Stream, default: Decoding) -> FileFacts:
    count = 0
    with problems(f"write {path}"), tables.writer(tables.REQUESTS, path) as file:
        for group in _groups(stream):
            batch = rows.replies(group, default)
            file.write_table(pa.Table.from_batches([batch]), row_group_size=len(group))
            count += len(group)
    return facts_of(path, count)


class _Stream:
    """Replies in order, counted; from the first that is out of order all are in `rest`."""

    def __init__(
        self, replies: Iterable[Reply], key: Callable[[Reply], tuple[Any, ...]]
    ) -> None:
        self._replies, self._key = iter(replies), key
        self.rest: list[Reply] = []
        self.failed = self.asked = 0

    def __iter__(self) -> Iterator[Reply]:
        last: tuple[Any, ...] = ()
        failing = False
        for reply in self._replies:
            key = self._key(reply)
            if key == last:
                raise _twice("requests", (*reply.request.key, reply.completion_index))
            if key < last:
                self.rest = [reply, *self._replies]
                return
            if key[:-1] != last[:-1]:
                self.asked, failing = self.asked + 1, False
            if failed([reply.completion]) and not failing:
                self.failed, failing = self.failed + 1, True
            last = key
            yield reply


def _groups(replies: Iterable[Reply]) -> Iterator[list[Reply]]:
    group: list[Reply] = []
    size = 0
    for reply in replies:
        group.append(reply)
        size += _size(reply)
        if len(group) == GROUP_ROWS or size >= GROUP_BYTES:
            yield group
            group, size = [], 0
    if group:
        yield group


def _size(reply: Reply) -> int:
    request, completion = reply.request, reply.completion
    texts = len(request.prompt) + len(completion.text) + len(completion.reasoning)
    texts += sum(len(m.content) for m in request.messages)
    per_token = 24 + (120 if completion.top_logprobs else 0)
    return texts + per_token * len(completion.tokens or ())


def _unique(
    table: str, ordered: list[Any], key: Callable[[Any], tuple[Any, ...]]
) -> list[Any]:
    last: tuple[Any, ...] | None = None
    for one in ordered:
        current = key(one)
        if current == last:
            raise _twice(table, _readable(one, current))
        last = current
    return ordered


def _readable(one: Any, key: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return a key as a person reads it: the instance's id in place of its rank."""
    name = getattr(one, "instance_id", None)
    return key if name is None else (name, one.perturbation, *key[1:])


def _twice(table: str, key: tuple[Any, ...]) -> ArchiveError:
    shown = ", ".join(repr(part) for part in key)
    return ArchiveError(
        f"Cannot archive {table}: two rows have the key {shown}.", _TWIN
    )


def _orphan(table: str, instance_id: str, perturbation: str) -> ArchiveError:
    of = f" perturbed by {perturbation!r}" if perturbation else ""
    return ArchiveError(
        f"Cannot archive {table}: {instance_id!r}{of} is not among the instances.",
        "Give the run every instance that its requests and scores are about.",
    )
