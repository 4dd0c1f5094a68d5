"""The tables of single runs, as they are read: also in a process of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from helmsite.archive import layout, manifests, reading, rows, staging, tables
from helmsite.errors import ArchiveError
from helmsite.schema.records import ORIGINAL

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import pyarrow as pa

    from helmsite.archive.reading import Source
    from helmsite.archive.store import Store
    from helmsite.schema import Instance, Manifest, Reply, Score, Stat

REQUEST = (
    *("instance_id", "perturbation", "trial", "mode"),
    *("request_index", "reference_index"),
)
JUDGED = (
    *("instance_id", "perturbation", "trial"),
    *("request_index", "reference_index", "completion_index"),
)


class RunFiles:
    """The tables of a run.

    Args:
        store: where the archive is.
        path: the run's folder there.
        manifest: what the run's run.json says.

    Whatever reads raises an ArchiveError where there is no such table or file, or where
    it is damaged.
    """

    def __init__(self, store: Store, path: str, manifest: Manifest) -> None:
        self._store = store
        self._path = path
        self.manifest = manifest

    def file(self, name: str) -> str:
        """Return where a table's Parquet file stands: a path, or a path in the store."""
        return self._store.path(self._source(name).path)

    def table(self, name: str, columns: Sequence[str] | None = None) -> pa.Table:
        """Return a table, or some of its columns."""
        return reading.table(self._store, self._source(name), columns)

    def rows_of(self, name: str, instance_id: str) -> Iterator[Any]:
        """Yield the rows about an instance, in any version, as records.

        The file is read at once and few other rows are held; only these are decoded.
        """
        source = self._source(name)
        found = reading.of_instance(self._store, source, instance_id)
        return reading.decoded(self._store.show(source.path), self._decode(name)(found))

    def instances(self) -> Iterator[Instance]:
        """Yield the instances by position; a few megabytes are held at a time."""
        return self._stream("instances")

    def replies(self) -> Iterator[Reply]:
        """Yield the replies in the order of the instances; few are held at a time."""
        return self._stream("requests")

    def scores(self) -> Iterator[Score]:
        """Yield the scores in the order of the instances; few are held at a time."""
        return self._stream("scores")

    def asked(self) -> Iterator[list[Reply]]:
        """Yield the replies to each request together, in the order of the instances."""
        return self._bundles("requests", REQUEST)

    def judged(self) -> Iterator[list[Score]]:
        """Yield the scores of each reply, or instance and trial, together, in order."""
        return self._bundles("scores", JUDGED)

    def stats(self) -> Iterator[Stat]:
        """Yield the aggregates."""
        return self._stream("stats")

    def first_reply(self) -> Reply | None:
        """Return the first reply, decoded alone; None if there is none.

        A calibration request is passed over for the one that asks the instance itself.
        """
        replies: Iterator[Reply] = self._stream("requests", 1)
        first = next(replies, None)
        if first is None or first.request.mode == ORIGINAL:
            return first
        return next((r for r in replies if r.request.mode == ORIGINAL), first)

    def _stream(self, name: str, count: int = reading.ROWS) -> Iterator[Any]:
        source, decode = self._source(name), self._decode(name)
        return reading.stream(self._store, source, decode, count)

    def _bundles(self, name: str, same: tuple[str, ...]) -> Iterator[list[Any]]:
        source, decode = self._source(name), self._decode(name)
        return reading.bundles(self._store, source, decode, same)

    def _decode(self, name: str) -> Callable[[pa.Table], Iterator[Any]]:
        """Return what makes records of a table's rows; they may be damaged."""
        if name == "requests":
            default = self.manifest.spec.adapter.decoding
            return lambda table: rows.read_replies(table, default)
        known: dict[str, Callable[[pa.Table], Iterator[Any]]] = {
            "instances": rows.read_instances,
            "scores": rows.read_scores,
            "stats": rows.read_stats,
        }
        return known[name]

    def _source(self, name: str) -> Source:
        table = tables.known(name)
        home = staging.home(self._store, self.manifest.run_id, self._path)
        facts = self.manifest.files.get(name)
        count = None if facts is None else facts.rows
        return reading.Source(f"{home}/{name}.parquet", table, count)


class RunPlaces:
    """Where each run is: opens any of them without reading the catalogue.

    It can be pickled, for a process that reads runs on its own.
    """

    def __init__(self, store: Store, paths: Mapping[str, str]) -> None:
        self._store = store
        self._paths = dict(paths)

    def open(self, run_id: str, manifest: Manifest | None = None) -> RunFiles:
        """Return a run's tables; its run.json is read where no manifest is given.

        Raises:
            ArchiveError: there is no such run.
        """
        path = self._paths.get(run_id)
        if path is None:
            raise ArchiveError(
                f"There is no run {run_id!r} in {self._store.root}.",
                "`helmsite ls runs` lists them.",
            )
        if manifest is None:
            home = staging.home(self._store, run_id, path)
            file = f"{home}/{layout.MANIFEST}"
            blob = self._store.read(file)
            if blob is None:
                raise ArchiveError(
                    f"{self._store.show(file)} is gone.",
                    "Type: helmsite check --reindex.",
                )
            manifest = manifests.decode(blob, self._store.show(file))
        return RunFiles(self._store, path, manifest)
