"""Where files wait until they are complete, and how they take their place at once.

In a local archive a run is written to `_incoming/<run_id>` and its folder renamed, so
that it appears whole or not at all. A run that it replaces waits in
`_incoming/<run_id>.old` for that moment. Elsewhere the files are uploaded one by one,
run.json last.
"""

from __future__ import annotations

import shutil
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import filelock

from helmsite.archive import layout, manifests
from helmsite.archive.store import Store, problems, sync_file, sync_folder
from helmsite.errors import ArchiveError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from helmsite.schema import Manifest

_OLD = ".old"


@contextmanager
def folder(store: Store, name: str) -> Iterator[Path]:
    """Give an empty folder to write to; no other process gets the same one meanwhile.

    Raises:
        ArchiveError: it cannot be made, or another process is writing this run.
    """
    if store.local is None:
        with tempfile.TemporaryDirectory(prefix="helmsite-") as made:
            yield Path(made)
        return
    place = store.local / layout.INCOMING / name
    with _locked(store, name):
        try:
            with problems(f"write {place}"):
                recover(store, name)
                place.mkdir(parents=True)
            yield place
        finally:
            shutil.rmtree(place, ignore_errors=True)


def publish(store: Store, stage: Path, manifest: Manifest) -> None:
    """Bring the finished files of a run to their place, with its run.json."""
    target = layout.run_path(manifest)
    blob = manifests.encode(manifest)
    if store.local is None:
        store.delete(f"{target}/{layout.MANIFEST}")
        for file in sorted(stage.iterdir()):
            store.put(file, f"{target}/{file.name}")
        store.write(f"{target}/{layout.MANIFEST}", blob)
        return
    with problems(f"write {store.show(target)}"):
        (stage / layout.MANIFEST).write_bytes(blob)
        for file in stage.iterdir():
            sync_file(file)
        sync_folder(stage)
        _swap(stage, Path(store.path(target)))


def home(store: Store, run_id: str, path: str) -> str:
    """Return the folder that a run is read from.

    That is `path`, but for the moment in which a newer run takes its place (or for
    longer, if the process died in that moment).
    """
    if store.local is not None and not (store.local / path).exists():
        old = f"{layout.INCOMING}/{run_id}{_OLD}"
        if (store.local / old / layout.MANIFEST).exists():
            return old
    return path


def recover(store: Store, name: str) -> list[str]:
    """Clear what an interrupted write left of a run; put back what it was replacing."""
    assert store.local is not None
    incoming = store.local / layout.INCOMING
    place, old = incoming / name, incoming / f"{name}{_OLD}"
    found = [f"{layout.INCOMING}/{p.name}" for p in (place, old) if p.exists()]
    if (old / layout.MANIFEST).exists():
        blob = (old / layout.MANIFEST).read_bytes()
        home = Path(store.path(layout.run_path(manifests.decode(blob, str(old)))))
        if not home.exists():
            home.parent.mkdir(parents=True, exist_ok=True)
            old.rename(home)
    for left in (place, old):
        if left.exists():
            shutil.rmtree(left)
    return found


def leftovers(store: Store) -> list[str]:
    """Return the names of runs whose write was interrupted (and is not going on)."""
    if store.local is None:
        return []
    found = store.names(layout.INCOMING) or []
    names = {n.removesuffix(_OLD) for n in found if not n.endswith(".lock")}
    return sorted(n for n in names if not _is_busy(store, n))


def clean(store: Store) -> list[str]:
    """Recover every interrupted write; returns what was found."""
    cleaned: list[str] = []
    for name in leftovers(store):
        with _locked(store, name), problems(f"clean up {store.show(name)}"):
            cleaned += recover(store, name)
    return cleaned


def _swap(stage: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    old = stage.with_name(f"{stage.name}{_OLD}")
    if target.exists():
        target.rename(old)
    stage.rename(target)
    sync_folder(target.parent)
    if old.exists():
        shutil.rmtree(old)


def _lock(store: Store, name: str) -> filelock.FileLock:
    assert store.local is not None
    path = store.local / layout.INCOMING / f"{name}.lock"
    return filelock.FileLock(str(path), timeout=0, thread_local=False)


def unlock(lock: filelock.FileLock) -> None:
    """Release a lock and delete its file (one who waits for it sees that and retries)."""
    with suppress(OSError):
        Path(lock.lock_file).unlink()
    lock.release()


def _is_busy(store: Store, name: str) -> bool:
    lock = _lock(store, name)
    if not Path(lock.lock_file).exists():
        return False
    try:
        with problems(f"look at {store.show(layout.INCOMING)}"):
            lock.acquire()
    except ArchiveError as error:
        return isinstance(error.__cause__, filelock.Timeout)
    unlock(lock)
    return False


@contextmanager
def _locked(store: Store, name: str) -> Iterator[None]:
    lock = _lock(store, name)
    with problems(f"write {store.show(layout.INCOMING)}"):
        Path(lock.lock_file).parent.mkdir(parents=True, exist_ok=True)
        try:
            lock.acquire()
        except filelock.Timeout as error:
            raise ArchiveError(
                f"Another process is writing {name} in {store.root}.",
                "Wait until it is done, then run the same command again.",
            ) from error
    try:
        yield
    finally:
        unlock(lock)
