"""The archive: the only way to and from the files of runs."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import structs

from helmsite.archive import (
    journal,
    layout,
    manifests,
    published,
    reading,
    rows,
    staging,
    writing,
)
from helmsite.archive.catalogue import Catalogue, Entry
from helmsite.archive.checking import check, verified
from helmsite.archive.indexing import (
    Batch,
    Reindexed,
    compared,
    no_run,
    published_entry,
    run_entry,
    scan,
)
from helmsite.archive.journal import Journal
from helmsite.archive.published import BatchFacts
from helmsite.archive.runs import RunFiles, RunPlaces
from helmsite.archive.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import pyarrow as pa

    from helmsite.archive.checking import Problem
    from helmsite.schema import (
        Instance,
        Manifest,
        MetricFacts,
        ModelIdentity,
        PublishedStat,
        Reply,
        Score,
        Stat,
    )


class Archive:
    """Runs in a folder or at any fsspec URL (s3://, gs://, memory://, ...).

    Args:
        root: the folder or URL; it need not exist before the first write.
        options: what fsspec's file system takes (endpoint, credentials, ...).
        cache: where journals and caches of a remote archive go; default: the user's
            cache folder. A local archive keeps its journals in its own `_journal`.

    Reading trusts the catalogue. Errors are ArchiveErrors that name the file.
    """

    def __init__(
        self,
        root: str | Path,
        options: Mapping[str, Any] | None = None,
        cache: Path | None = None,
    ) -> None:
        self._store = Store(root, options or {})
        self._catalogue = Catalogue(self._store)
        self._cache = cache
        self._found: dict[str, Entry] | None = None

    @property
    def root(self) -> str:
        """The folder or URL, as given."""
        return self._store.root

    @property
    def place(self) -> str:
        """Where the archive is, the same however its address is written."""
        return self._store.place

    @property
    def is_local(self) -> bool:
        """Whether the files of runs can be opened by path."""
        return self._store.local is not None

    @property
    def cache_folder(self) -> Path:
        """A local folder for what can always be rebuilt; it may not exist yet."""
        return layout.cache_folder(self._store.place, self._cache) / "cache"

    def manifests(self) -> tuple[Manifest, ...]:
        """Return the manifest of every run, sorted by run_id."""
        entries = self._entries().values()
        return tuple(e.manifest for e in entries if e.manifest is not None)

    def find(self, run_id: str) -> Manifest | None:
        """Return a run's manifest, None if there is no such run."""
        entry = self._entries().get(run_id)
        return None if entry is None else entry.manifest

    def manifest(self, run_id: str) -> Manifest:
        """Return a run's manifest.

        Raises:
            ArchiveError: there is no such run.
        """
        manifest = self._entry(run_id).manifest
        assert manifest is not None
        return manifest

    def state(self) -> str:
        """Return 64 hex digits that change whenever a run or published batch does."""
        lines = [
            f"{e.kind} {e.key} {e.path} {e.sha256}\n" for e in self._entries().values()
        ]
        return hashlib.sha256("".join(lines).encode()).hexdigest()

    def write_run(
        self,
        manifest: Manifest,
        instances: Iterable[Instance],
        replies: Iterable[Reply],
        scores: Iterable[Score] = (),
        stats: Iterable[Stat] = (),
    ) -> Manifest:
        """Archive a run, in place of one with the same run_id; return its full manifest.

        Files and counts are filled in from the rows; a run with failed or unasked
        requests is never `complete`. An iterator of replies in the archive's order is
        streamed.

        Raises:
            ArchiveError: a row that cannot be stored, a full disk, ...: then nothing
                of the run is readable, or what was there before still is.
        """
        home = manifests.verify(manifest, "The manifest")
        with staging.folder(self._store, manifest.run_id) as stage:
            self._begin(manifest.run_id)
            i_facts, rank = writing.instances(stage / "instances.parquet", instances)
            answers = writing.replies(
                stage / "requests.parquet",
                replies,
                rank,
                manifest.spec.adapter.decoding,
            )
            s_facts, scored = writing.scores(stage / "scores.parquet", scores, rank)
            files = {
                "instances": i_facts,
                "requests": answers.facts,
                "scores": s_facts,
                "stats": writing.stats(stage / "stats.parquet", stats),
            }
            final = writing.with_counts(manifest, answers, scored, files)
            staging.publish(
                self._store, stage, final, lambda: self._withdraw(manifest.run_id)
            )
            self._enter(run_entry(final, home), manifest.run_id)
        return final

    def write_scores(
        self,
        run_id: str,
        scores: Iterable[Score],
        stats: Iterable[Stat],
        metrics: Sequence[MetricFacts],
        warnings: Sequence[str] = (),
    ) -> Manifest:
        """Put new scores and stats in place of a run's old ones; return its manifest.

        A metric of the rows that is not among `metrics` keeps the facts that the run has
        of it; `warnings`, if any, take the place of the run's. Scores, stats, run.json:
        a mismatch in those alone means that this was interrupted, and to score again.

        Raises:
            ArchiveError: no such run, a row that cannot be stored, a full disk, ...
        """
        entry = self._entry(run_id)
        assert entry.manifest is not None
        scores, stats = list(scores), list(stats)
        named = {s.metric for s in scores} | {s.metric for s in stats}
        missing = named - {m.name for m in metrics}
        kept = [m for m in entry.manifest.metrics if m.name in missing]
        ids = self.table(run_id, "instances", ["instance_id", "perturbation"])
        columns = (c.to_pylist() for c in ids.columns)
        rank = {pair: i for i, pair in enumerate(zip(*columns, strict=True))}
        with staging.folder(self._store, run_id) as stage:
            self._begin(run_id)
            first, second = stage / "scores.parquet", stage / "stats.parquet"
            s_facts, scored = writing.scores(first, scores, rank)
            files = {"scores": s_facts, "stats": writing.stats(second, stats)}
            final = structs.replace(
                entry.manifest,
                metrics=(*metrics, *kept),
                warnings=tuple(warnings or entry.manifest.warnings),
                counts=structs.replace(entry.manifest.counts, scored=scored),
                files={**entry.manifest.files, **files},
            )
            last = stage / layout.MANIFEST
            last.write_bytes(manifests.encode(final))
            for file in (first, second, last):
                self._store.put(file, f"{entry.path}/{file.name}")
            staging.clear(stage)
            self._enter(run_entry(final, entry.path), run_id)
        return final

    def remove(self, run_id: str) -> None:
        """Delete a run.

        Raises:
            ArchiveError: there is no such run, or it cannot be deleted.
        """
        path = self._entry(run_id).path
        self._begin(run_id)
        self._store.delete(f"{path}/{layout.MANIFEST}")
        self._store.delete(path)
        self._withdraw(run_id)

    def file(self, run_id: str, name: str) -> str:
        """Return where a table's Parquet file stands: a path, or a path in the store.

        Raises:
            ArchiveError: there is no such run or table.
        """
        return self.run(run_id).file(name)

    def verified(self, run_id: str) -> tuple[Path, ...]:
        """Return a local run's files that are, byte by byte, what its manifest says.

        Those can be given to others: run.json and whole tables, no links. Sorted by name.
        """
        return verified(self._store, self._entry(run_id))

    def run(self, run_id: str) -> RunFiles:
        """Return the tables of a run, to be read one by one.

        Raises:
            ArchiveError: there is no such run.
        """
        return RunFiles(self._store, self._entry(run_id).path, self.manifest(run_id))

    def places(self) -> RunPlaces:
        """Return where each run is, for other processes to read runs without more."""
        found = self._entries().values()
        return RunPlaces(self._store, {e.key: e.path for e in found if e.manifest})

    def table(
        self, run_id: str, name: str, columns: Sequence[str] | None = None
    ) -> pa.Table:
        """Return a table of a run, or some of its columns.

        Raises:
            ArchiveError: there is no such run or table, or its file is damaged.
        """
        return self.run(run_id).table(name, columns)

    def instances(self, run_id: str) -> list[Instance]:
        """Return a run's instances, by position."""
        return list(self.run(run_id).instances())

    def replies(self, run_id: str) -> Iterator[Reply]:
        """Yield a run's replies in the order of its instances; few are held at a time."""
        return self.run(run_id).replies()

    def scores(self, run_id: str) -> list[Score]:
        """Return a run's scores in the order of its instances."""
        return list(self.run(run_id).scores())

    def stats(self, run_id: str) -> list[Stat]:
        """Return a run's aggregates."""
        return list(self.run(run_id).stats())

    def batches(self) -> tuple[Batch, ...]:
        """Return every batch of published results, sorted by path."""
        found = sorted(self._entries().values(), key=lambda e: e.path)
        return tuple(Batch(e.suite, e.batch, e.path, e.facts) for e in found if e.facts)

    def published_table(self, batch: Batch) -> pa.Table:
        """Return a batch of published results as a table."""
        return reading.table(self._store, reading.published(batch.path, batch.facts))

    def published_file(self, batch: Batch) -> str:
        """Return where a batch's Parquet file stands: a path, or one in the store."""
        return self._store.path(batch.path)

    def published(self, suite: str = "", batch: str = "") -> Iterator[PublishedStat]:
        """Yield the results that came without instances: of a suite, a batch, or all."""
        for one in self.batches():
            if suite in {"", one.suite} and batch in {"", one.batch}:
                source = reading.published(one.path, one.facts)
                yield from reading.stream(self._store, source, rows.read_published)

    def published_facts(self, batch: Batch) -> BatchFacts:
        """Return what is known of a batch's scenarios, metrics, models and source."""
        return published.facts(self._store, batch)

    def write_published(
        self,
        suite: str,
        batch: str,
        results: Iterable[PublishedStat],
        facts: BatchFacts | None = None,
    ) -> Batch:
        """Archive a batch of published results, in place of the suite's one of that name.

        Of `facts` those are kept that are about the results.

        Raises:
            ArchiveError: a row that cannot be stored, a full disk, ...
        """
        path = layout.published_path(suite, batch)
        name = f"p{hashlib.sha256(path.encode()).hexdigest()[:16]}"
        with staging.folder(self._store, name) as stage:
            self._begin(name)
            file = stage / "published.parquet"
            names = {"suite": suite, "batch": batch}
            size = writing.published(file, results, names, facts or BatchFacts())
            self._store.put(file, path)
            staging.clear(stage)
            self._enter(published_entry(path, size, names), name)
        return Batch(suite, batch, path, size)

    def journal(
        self, run_id: str, identity: ModelIdentity, *, read_only: bool = False
    ) -> Journal:
        """Return the journal of a run, for use in a `with` block.

        With `read_only` nothing is written or locked, another process may be at work.
        """
        return Journal(self._journal(run_id), identity, read_only=read_only)

    def discard_journal(self, run_id: str) -> bool:
        """Delete what a killed process left of the journal of a complete run; say if so."""
        return journal.clear(self._journal(run_id))

    def reindex(self) -> Reindexed:
        """Bring the catalogue in line with the folders, and clear interrupted writes."""
        cleaned = staging.clean(self._store)
        damaged = [*self._catalogue.damaged(), *self._catalogue.torn()]
        self._catalogue.drop(damaged)
        before = self._catalogue.entries() or {}
        after = scan(self._store).entries
        self._catalogue.replace(after.values())
        for key, e in after.items():
            done = e.manifest is not None and e.manifest.status == "complete"
            if done and self.discard_journal(key):
                cleaned.append(f"{layout.JOURNAL}/{key}.jsonl")
        return compared(before, after, (*cleaned, *damaged))

    def check(self, deep: bool = True) -> list[Problem]:
        """Return what is wrong with the archive and what to do about it.

        With `deep` every file is read, too (checksums, schemas, keys, values); without it
        only manifests, file sizes and the catalogue.
        """
        return check(self._store, self._catalogue, deep)

    def _entries(self) -> dict[str, Entry]:
        """Return what the catalogue says; an archive without one is looked through."""
        listed = self._catalogue.entries()
        if listed is not None:
            return listed
        if self._found is None:
            self._found = scan(self._store).entries
        return self._found

    def _begin(self, name: str) -> None:
        """Make a catalogue of what is there, if there is none, before `name` is added."""
        if self._catalogue.entries() is None:
            found = scan(self._store).entries.values()
            self._catalogue.begin(found, staging.segment(name))

    def _enter(self, entry: Entry, name: str) -> None:
        """Add to the catalogue what `name` has written, the last change to the disk."""
        self._catalogue.add(entry, waits=staging.segment(name))

    def _entry(self, run_id: str) -> Entry:
        entries = self._entries()
        if run_id not in entries or entries[run_id].manifest is None:
            runs = [k for k, e in entries.items() if e.manifest is not None]
            raise no_run(run_id, self.root, runs)
        return entries[run_id]

    def _withdraw(self, run_id: str) -> None:
        entry = self._entries().get(run_id)
        if entry is not None:
            self._catalogue.add(Entry(run_id, entry.kind, entry.path, gone=True))

    def _journal(self, run_id: str) -> Path:
        name = f"{layout.JOURNAL}/{layout.safe_id(run_id)}.jsonl"
        if self._store.local is not None:
            return Path(self._store.path(name))
        home = layout.cache_folder(self._store.place, self._cache)
        return home / name.lstrip("_")
