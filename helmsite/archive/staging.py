"""Where files wait until they are complete, and how they take their place at once.

In a local archive a run is written to `_incoming/<run_id>` and its folder renamed, so
that it appears whole or not at all. A run that it replaces waits in
`_incoming/<run_id>.old` for that moment. Elsewhere the files are uploaded one by one,
run.json last; files that replace others are uploaded to `_incoming/<run_id>` first, so
that at any moment the old run or the new one is whole somewhere. A local segment of the
catalogue waits in `_incoming/<run_id>.segment`: whatever a killed process leaves of a run,
the next one that writes that run finds and clears.
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
    from collections.abc import Callable, Iterator

    from helmsite.schema import Manifest

_OLD, _SEGMENT, _LOCK = ".old", ".segment", ".lock"


@contextmanager
def folder(store: Store, name: str) -> Iterator[Path]:
    """Give an empty folder to write to; no other process gets the same one meanwhile.

    Raises:
        ArchiveError: it cannot be made, or another process is writing this run.
    """
    layout.safe_id(name)
    if store.local is None:
        recover(store, name)
        with problems("write a temporary file"):
            made = tempfile.mkdtemp(prefix="helmsite-")
        try:
            yield Path(made)
        finally:
            shutil.rmtree(made, ignore_errors=True)
        return
    place = _place(store, name)
    with _locked(store, name):
        try:
            with problems(f"write {place}"):
                recover(store, name)
                place.mkdir(parents=True)
            yield place
        finally:
            shutil.rmtree(place, ignore_errors=True)


def _place(store: Store, name: str) -> Path:
    """Return a place in `_incoming`; neither it nor that folder is a link elsewhere."""
    layout.safe_id(name.removesuffix(_OLD).removesuffix(_SEGMENT).removesuffix(_LOCK))
    return Path(store.path(f"{layout.INCOMING}/{name}"))


def segment(name: str) -> str:
    """Return where a segment of the catalogue is written by who writes `name`."""
    return f"{layout.INCOMING}/{name}{_SEGMENT}"


def clear(stage: Path) -> None:
    """Delete what is left of a folder whose files have taken their place."""
    shutil.rmtree(stage, ignore_errors=True)


def publish(
    store: Store, stage: Path, manifest: Manifest, withdraw: Callable[[], None]
) -> None:
    """Bring the finished files of a run to their place, with its run.json.

    `withdraw` takes the run out of the catalogue; it is called before the files of an
    older version are replaced one by one.
    """
    target = layout.run_path(manifest)
    blob = manifests.encode(manifest)
    if store.local is None:
        replaces = store.read(f"{target}/{layout.MANIFEST}") is not None
        waiting = f"{layout.INCOMING}/{manifest.run_id}"
        place = waiting if replaces else target
        for file in sorted(stage.iterdir()):
            store.put(file, f"{place}/{file.name}")
        store.write(f"{place}/{layout.MANIFEST}", blob)
        if replaces:
            withdraw()
            _move(store, waiting, target)
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
    if store.local is not None and not Path(store.path(path)).exists():
        old = f"{layout.INCOMING}/{layout.safe_id(run_id)}{_OLD}"
        if Path(store.path(f"{old}/{layout.MANIFEST}")).exists():
            return old
    return path


def recover(store: Store, name: str) -> list[str]:
    """Clear what an interrupted write left of a run; put back what it was replacing.

    A replacement that had been uploaded as a whole is put in place.
    """
    if store.local is None:
        return _recover_remote(store, name)
    layout.safe_id(name)
    place, old = _place(store, name), _place(store, f"{name}{_OLD}")
    torn = _place(store, f"{name}{_SEGMENT}")
    found = [f"{layout.INCOMING}/{p.name}" for p in (place, old, torn) if p.exists()]
    torn.unlink(missing_ok=True)
    if (old / layout.MANIFEST).exists():
        blob = store.read(f"{layout.INCOMING}/{old.name}/{layout.MANIFEST}") or b""
        home = Path(store.path(_home(blob, str(old), name)))
        if not home.exists():
            home.parent.mkdir(parents=True, exist_ok=True)
            old.rename(home)
    for left in (place, old):
        if left.exists():
            shutil.rmtree(left)
    return found


def _home(blob: bytes, where: str, name: str) -> str:
    """Return the folder of a run that waits under its name."""
    manifest = manifests.decode(blob, where)
    if manifest.run_id != name:
        raise ArchiveError(
            f"{where} is of the run {manifest.run_id}, not of {name}.",
            "Delete that folder: helmsite has not written it.",
        )
    return layout.run_path(manifest)


def leftovers(store: Store) -> list[str]:
    """Return the names of runs whose write was interrupted (and is not going on).

    What cannot be one's name is not listed: it is nothing that helmsite has written.
    """
    found = [n for n in store.names(layout.INCOMING) or [] if _is_ours(n)]
    if store.local is None:
        return found
    names = {
        n.removesuffix(_OLD).removesuffix(_SEGMENT)
        for n in found
        if not n.endswith(_LOCK)
    }
    return sorted(n for n in names if not _is_busy(store, n))


def _is_ours(name: str) -> bool:
    bare = name.removesuffix(_LOCK).removesuffix(_OLD).removesuffix(_SEGMENT)
    return layout.is_safe_id(bare)


def clean(store: Store) -> list[str]:
    """Recover every interrupted write; returns what was found."""
    cleaned: list[str] = []
    if store.local is not None:
        for name in store.names(layout.INCOMING) or ():
            if name.endswith(_LOCK) and _is_ours(name):
                _is_busy(store, name.removesuffix(_LOCK))  # deletes a dead one's lock
    for name in leftovers(store):
        if store.local is None:
            cleaned += recover(store, name)
            continue
        with _locked(store, name), problems(f"clean up {store.show(name)}"):
            cleaned += recover(store, name)
    return cleaned


def _recover_remote(store: Store, name: str) -> list[str]:
    if name not in (store.names(layout.INCOMING) or ()):
        return []
    waiting = f"{layout.INCOMING}/{name}"
    blob = store.read(f"{waiting}/{layout.MANIFEST}")
    if blob is None:
        store.delete(waiting)
    else:
        _move(store, waiting, _home(blob, store.show(waiting), name))
    return [waiting]


def _move(store: Store, waiting: str, target: str) -> None:
    """Put a complete run in the place of another; can be done again if it is cut off."""
    store.delete(f"{target}/{layout.MANIFEST}")
    for name in store.names(waiting) or []:
        if name != layout.MANIFEST:
            store.copy(f"{waiting}/{name}", f"{target}/{name}")
    store.copy(f"{waiting}/{layout.MANIFEST}", f"{target}/{layout.MANIFEST}")
    store.delete(f"{waiting}/{layout.MANIFEST}")
    store.delete(waiting)


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
    path = _place(store, f"{name}{_LOCK}")
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
