"""What the folders of an archive hold, as entries of its catalogue."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, NamedTuple

import pyarrow.parquet as pq

from helmsite.archive import layout, manifests
from helmsite.archive.catalogue import Entry
from helmsite.archive.store import damage
from helmsite.errors import ArchiveError, suggest
from helmsite.schema import FileFacts, Manifest, Record

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from helmsite.archive.store import Store


class Batch(Record, frozen=True):
    """A file of published results: results that came without instances."""

    suite: str
    batch: str
    path: str
    facts: FileFacts


class Reindexed(Record, frozen=True):
    """What `reindex` changed: keys (run_ids, or paths of published batches)."""

    added: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    cleaned: tuple[str, ...] = ()


def compared(
    before: Mapping[str, Entry], after: Mapping[str, Entry], cleaned: tuple[str, ...]
) -> Reindexed:
    """Return how two states of a catalogue differ."""
    changed = (
        k for k, e in after.items() if k in before and before[k].sha256 != e.sha256
    )
    return Reindexed(
        added=tuple(k for k in after if k not in before),
        gone=tuple(k for k in before if k not in after),
        changed=tuple(changed),
        cleaned=cleaned,
    )


def no_run(run_id: str, root: str, runs: Sequence[str]) -> ArchiveError:
    """Return the error that there is no such run, with names that are near."""
    return ArchiveError(
        f"There is no run {run_id!r} in {root}.{suggest(run_id, runs)}",
        "`helmsite ls runs` lists them; `helmsite check --reindex` finds runs "
        "that were copied in.",
    )


class Scan(NamedTuple):
    """Every file with its size; entries by key; files that cannot be read, and why."""

    files: dict[str, int]
    entries: dict[str, Entry]
    unreadable: dict[str, ArchiveError]


def scan(store: Store) -> Scan:
    """Look through all folders of an archive."""
    files = {p: n for p, n in store.files().items() if is_data(p)}
    entries: dict[str, Entry] = {}
    unreadable: dict[str, ArchiveError] = {}
    for path in [p for p, size in files.items() if size < 0]:
        try:
            store.path(path)
        except ArchiveError as error:
            unreadable[path] = error
        del files[path]
    homes = [p for p in files if p.endswith(f"/{layout.MANIFEST}")]
    for path, blob in sorted(store.read_many(homes).items()):
        try:
            manifest = manifests.decode(blob, store.show(path))
            home = path.rpartition("/")[0]
            _refuse_misplaced(home, layout.run_path(manifest))
        except ArchiveError as error:
            unreadable[path] = error
            continue
        entries[manifest.run_id] = run_entry(manifest, home, blob)
    for path in files:
        if is_published(path):
            try:
                entries[path] = _read_published(store, path)
            except ArchiveError as error:
                unreadable[path] = error
    return Scan(files, dict(sorted(entries.items())), unreadable)


def _refuse_misplaced(home: str, own: str) -> None:
    """Refuse a run in another folder than its own: a copy, or one made to be mistaken."""
    if home != own:
        raise ArchiveError(
            "the run stands in another folder than its manifest says",
            f"Move the folder to {own}, or delete it if it is a copy.",
        )


def run_entry(manifest: Manifest, path: str, blob: bytes | None = None) -> Entry:
    """Return the catalogue's entry for a run in a folder."""
    digest = hashlib.sha256(blob or manifests.encode(manifest)).hexdigest()
    return Entry(manifest.run_id, "run", path, sha256=digest, manifest=manifest)


def published_entry(path: str, facts: FileFacts, names: Mapping[str, str]) -> Entry:
    """Return the catalogue's entry for a batch of published results."""
    return Entry(
        path,
        "published",
        path,
        sha256=facts.sha256,
        facts=facts,
        suite=names["suite"],
        batch=names["batch"],
    )


def is_data(path: str) -> bool:
    """Whether a file belongs to a suite: not to the catalogue, journals or caches."""
    return path.startswith("suite=")


def is_published(path: str) -> bool:
    """Whether a file is a batch of published results."""
    parts = path.split("/")
    return len(parts) == 3 and parts[1] == "published" and path.endswith(".parquet")


def _read_published(store: Store, path: str) -> Entry:
    blob = store.read(path) or b""
    with store.open(path) as source, damage(store.show(path)):
        facts = pq.ParquetFile(source).metadata
        said = {k.decode(): v.decode() for k, v in (facts.metadata or {}).items()}
        names = {n: said[f"helmsite.{n}"] for n in ("suite", "batch")}
    if layout.published_path(names["suite"], names["batch"]) != path:
        raise ArchiveError(
            f"{store.show(path)} is the batch {names['batch']!r} of the suite "
            f"{names['suite']!r}, which has another place.",
            "Import these results again from their source.",
        )
    size = FileFacts(facts.num_rows, len(blob), hashlib.sha256(blob).hexdigest())
    return published_entry(path, size, names)
