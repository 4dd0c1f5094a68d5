"""The catalogue: what an archive holds, known without looking into its folders.

`_catalogue/` holds segments, zstd-compressed JSON lines, each named by a hash of its
content and never changed. A writer adds a segment; now and then one writes all entries
into a new segment and deletes those that it read. So nothing is ever torn or appended to
(object stores cannot append), and writers need no lock: of two entries for the same run
the one with the higher revision counts.
"""

from __future__ import annotations

import hashlib
import time
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec
import pyarrow as pa
from msgspec import structs

from helmsite.archive import layout, manifests
from helmsite.errors import ArchiveError
from helmsite.schema import FileFacts, Manifest, MetricFacts, Record

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from helmsite.archive.store import Store

MANY = 40
_TRIES = 5
_OLD_S = 3600.0
_PIECE = 1 << 20
_LARGEST, _RATIO = 64 << 20, 500  # of the text: real catalogues shrink by 30
_REINDEX = "Type: helmsite check --reindex."


class Entry(Record, frozen=True):
    """A run or a batch of published results, or that one is gone.

    `sha256` is of run.json or of the batch's file; `key` is the run_id or the path.
    """

    key: str
    kind: Literal["run", "published"]
    path: str
    revision: int = 0
    sha256: str = ""
    manifest: Manifest | None = None
    facts: FileFacts | None = None
    suite: str = ""
    batch: str = ""
    gone: bool = False

    def rows(self, table: str) -> int | None:
        """Return how many rows the manifest says that a table of the run has."""
        facts = None if self.manifest is None else self.manifest.files.get(table)
        return None if facts is None else facts.rows


class _Line(Record, frozen=True):
    """An entry as written: the facts of metrics, nearly the same for all runs, apart.

    They stand in the first line of a segment that has them; others give their hash.
    """

    entry: Entry
    facts: str = ""
    metrics: tuple[MetricFacts, ...] | None = None


_encoder = msgspec.json.Encoder(order="deterministic")
_decoder = msgspec.json.Decoder(_Line)


class _Peek(msgspec.Struct):
    """As much of an entry as tells whether its version is known."""

    path: str = ""
    manifest: msgspec.Raw = msgspec.Raw(b"null")


class _PeekLine(msgspec.Struct):
    entry: _Peek


class Catalogue:
    """The entries of an archive. Segments that were read are kept: they never change."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._segments: dict[str, tuple[Entry, ...]] = {}
        self._facts: dict[str, tuple[MetricFacts, ...]] = {}
        self._current: tuple[set[str], dict[str, Entry]] = (set(), {})

    def entries(self) -> dict[str, Entry] | None:
        """Return the newest entry of each key, sorted by key; none that is gone.

        None if there is no catalogue (an archive copied by hand may lack it).
        """
        self._read()
        names = set(self._segments)
        if not names:
            return None
        if self._current[0] != names:
            newest = self._newest()
            alive = {k: newest[k] for k in sorted(newest) if not newest[k].gone}
            self._current = names, alive
        return self._current[1]

    def begin(self, found: Iterable[Entry], waits: str = "") -> None:
        """Write the first segment: what the folders hold, be it nothing.

        Its entries have revision 0: what is added is newer, also by another process.
        """
        self._write(found, waits)

    def add(self, *entries: Entry, waits: str = "") -> None:
        """Add entries; each counts as newer than those of its key that are there.

        `waits` is where a local segment is written before it takes its place.
        """
        self._read()
        newest = self._newest()
        raised = [self._raise(e, newest) for e in entries]
        if raised:
            self._write(raised, waits)
        if len(self._segments) > MANY:
            self._compact(waits)

    def replace(self, entries: Iterable[Entry]) -> None:
        """Make these the only entries; those of before become gone."""
        self._read()
        newest = self._newest()
        mine = {e.key: self._raise(e, newest) for e in entries}
        gone = [
            Entry(e.key, e.kind, e.path, e.revision + 1, gone=True)
            for key, e in newest.items()
            if key not in mine and not e.gone
        ]
        before = set(self._segments)
        self._forget(before - {self._write([*mine.values(), *gone])})

    def damaged(self) -> list[str]:
        """Return the segments that cannot be read.

        Raises:
            UnknownVersionError: a segment is whole, but of another helmsite.
        """
        broken = []
        for name in self._store.names(layout.CATALOGUE) or ():
            try:
                blob = self._store.read(f"{layout.CATALOGUE}/{name}")
                if blob is not None and not _is_noise(name):
                    self._parse(blob, name)
            except manifests.UnknownVersionError:
                raise
            except ArchiveError:
                broken.append(f"{layout.CATALOGUE}/{name}")
        return broken

    def torn(self) -> list[str]:
        """Return what writers that died left in the catalogue's folder, once it is old."""
        if self._store.local is None:
            return []
        found = Path(self._store.path(layout.CATALOGUE)).glob(".*.tmp")
        old = time.time() - _OLD_S
        return sorted(
            f"{layout.CATALOGUE}/{p.name}" for p in found if p.stat().st_mtime < old
        )

    def drop(self, segments: Iterable[str]) -> None:
        """Delete damaged segments (their entries are about to be found again) and others."""
        for path in segments:
            self._store.delete(path)

    @staticmethod
    def _raise(entry: Entry, newest: Mapping[str, Entry]) -> Entry:
        old = newest.get(entry.key)
        revision = 1 if old is None else old.revision + 1
        return structs.replace(entry, revision=revision)

    def _newest(self) -> dict[str, Entry]:
        newest: dict[str, Entry] = {}
        for segment in self._segments.values():
            for entry in segment:
                old = newest.get(entry.key)
                if old is None or _rank(entry) > _rank(old):
                    newest[entry.key] = entry
        return newest

    def _read(self) -> None:
        """Bring the known segments in line with the folder's."""
        for _ in range(_TRIES):
            found = self._store.names(layout.CATALOGUE) or ()
            names = [n for n in found if not _is_noise(n)]
            new = [n for n in names if n not in self._segments]
            blobs = self._store.read_many([f"{layout.CATALOGUE}/{n}" for n in new])
            if len(blobs) < len(new):
                continue  # another process has just merged them: look again
            for path, blob in sorted(blobs.items()):
                name = path.rsplit("/", 1)[-1]
                self._segments[name] = self._parse(blob, self._store.show(path))
            self._segments = {n: self._segments[n] for n in names}
            return
        raise ArchiveError(
            f"The catalogue of {self._store.root} changes faster than it can be read.",
            "Try again when fewer runs are being archived at once.",
        )

    def _write(self, entries: Iterable[Entry], waits: str = "") -> str:
        ordered = sorted(entries, key=lambda e: (e.key, e.revision))
        text = b"".join(_encoder.encode(line) + b"\n" for line in _lines(ordered))
        blob: bytes = pa.Codec("zstd").compress(text, asbytes=True)
        name = _name(blob)
        self._store.write(f"{layout.CATALOGUE}/{name}", blob, waits)
        self._segments[name] = tuple(ordered)
        return name

    def _compact(self, waits: str) -> None:
        newest = self._newest()
        before = set(self._segments)
        self._forget(before - {self._write(newest.values(), waits)})

    def _parse(self, blob: bytes, where: str) -> tuple[Entry, ...]:
        if not where.endswith(_name(blob)):
            raise ArchiveError(f"{where} is damaged.", _REINDEX)
        lines = _text(blob, where).splitlines()
        try:
            return tuple(self._whole(_decoder.decode(line)) for line in lines)
        except (msgspec.MsgspecError, UnicodeError, KeyError, RecursionError) as error:
            for line in lines:
                _refuse_unknown(line)
            raise ArchiveError(f"{where} is damaged: {error}.", _REINDEX) from error

    def _whole(self, line: _Line) -> Entry:
        """Put the metrics' facts back; equal ones are the same object in memory."""
        manifest = line.entry.manifest
        verify(line.entry, self._store.show(layout.CATALOGUE))
        if manifest is None:
            return line.entry
        if line.metrics is not None:
            self._facts.setdefault(line.facts, line.metrics)
        manifest = structs.replace(manifest, metrics=self._facts[line.facts])
        return structs.replace(line.entry, manifest=manifest)

    def _forget(self, names: Iterable[str]) -> None:
        for name in sorted(names):
            self._store.delete(f"{layout.CATALOGUE}/{name}")
            self._segments.pop(name, None)


def verify(entry: Entry, where: str) -> None:
    """Refuse an entry that stands for another file than the one that it describes.

    Raises:
        ArchiveError: its key or path is not that of its manifest or batch.
    """
    if entry.gone:
        return  # says that a key is not to be found; its path is never used
    if entry.manifest is not None:
        key = entry.manifest.run_id
        path = manifests.verify(entry.manifest, f"{where}, run {key!r},")
        is_sound = entry.kind == "run" and entry.facts is None
    else:
        key = path = layout.published_path(entry.suite, entry.batch)
        is_sound = entry.kind == "published" and entry.facts is not None
    if not is_sound or (entry.key, entry.path) != (key, path):
        raise ArchiveError(
            f"{where} says that {entry.key!r} is at {entry.path!r}, which is not its place.",
            _REINDEX,
        )


def _text(blob: bytes, where: str) -> bytes:
    """Return what a segment holds, unless that is far more than a catalogue can be."""
    limit = _LARGEST + _RATIO * len(blob)
    text = bytearray()
    try:
        with pa.input_stream(BytesIO(blob), compression="zstd") as stream:
            while piece := stream.read(_PIECE):
                text += piece
                if len(text) > limit:
                    raise ArchiveError(
                        f"{where} is damaged: it holds more than {limit:,} bytes.",
                        _REINDEX,
                    )
    except (OSError, pa.ArrowException) as error:
        raise ArchiveError(f"{where} is damaged: {error}.", _REINDEX) from error
    return bytes(text)


def _is_noise(name: str) -> bool:
    return not name.endswith(".jsonl.zst") or name.startswith(".")


def _rank(entry: Entry) -> tuple[int, str]:
    return entry.revision, entry.sha256


def _name(blob: bytes) -> str:
    return f"{hashlib.sha256(blob).hexdigest()[:24]}.jsonl.zst"


def _lines(entries: Iterable[Entry]) -> Iterator[_Line]:
    seen: set[str] = set()
    for entry in entries:
        if entry.manifest is None:
            yield _Line(entry)
            continue
        metrics = entry.manifest.metrics
        digest = hashlib.sha256(_encoder.encode(metrics)).hexdigest()[:16]
        bare = structs.replace(
            entry, manifest=structs.replace(entry.manifest, metrics=())
        )
        yield _Line(bare, digest, None if digest in seen else metrics)
        seen.add(digest)


def _refuse_unknown(line: bytes) -> None:
    """Say so where a line is of a newer helmsite."""
    try:
        peek = msgspec.json.decode(line, type=_PeekLine).entry
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return
    if bytes(peek.manifest) != b"null":
        manifests.decode(peek.manifest, f"{peek.path}/{layout.MANIFEST}")
