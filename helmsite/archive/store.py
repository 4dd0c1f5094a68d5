"""Files under an archive's root, local or anywhere fsspec reaches.

A write is all or nothing: local files are written beside, synced and renamed; object
stores show an object once its upload is done.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import fsspec
import msgspec
import pyarrow as pa
from fsspec.implementations.local import LocalFileSystem

from helmsite.errors import ArchiveError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from helmsite.errors import HelmsiteError


UNSOUND = (
    pa.ArrowException, msgspec.MsgspecError, OSError, EOFError, LookupError, TypeError,
    ValueError, AttributeError, ArithmeticError, RecursionError,
)  # fmt: skip


class Store:
    """Relative paths ('a/b') under a root; every failure is an ArchiveError."""

    def __init__(self, root: str | Path, options: Mapping[str, Any]) -> None:
        self.root = str(root)
        what = f"the archive {self.root}"
        self._fs, self._base = connect(self.root, options, what, ArchiveError)
        self.local = (
            Path(self._base or "/") if isinstance(self._fs, LocalFileSystem) else None
        )

    @property
    def place(self) -> str:
        """Where the archive is, the same however its address is written on this machine."""
        return self.root if self.local is None else str(self.local.resolve())

    def path(self, relative: str) -> str:
        """Return the full path: of a local file, or inside the remote store.

        Raises:
            ArchiveError: it leads out of the root, or a part of it below the root is a
                symbolic link: an archive from elsewhere is not to reach other files.
        """
        self._guard(relative)
        return f"{self._base}/{relative}" if relative else self._base

    def show(self, relative: str) -> str:
        """Return the address as the user would write it."""
        return f"{self.root.rstrip('/')}/{relative}"

    def _guard(self, relative: str) -> None:
        parts = relative.split("/") if relative else []
        if not {"", ".", ".."}.isdisjoint(parts) or "\0" in relative:
            raise ArchiveError(
                f"{relative!r} is not a path inside the archive {self.root}.",
                "Type: helmsite check.",
            )
        place = self.local
        if place is None:
            return
        for part in parts:
            place /= part
            try:
                mode = place.lstat().st_mode
            except OSError:
                return  # not there: neither is anything below it
            if not (stat.S_ISDIR(mode) or stat.S_ISREG(mode)):
                kind = "a symbolic link" if stat.S_ISLNK(mode) else "a device or pipe"
                raise ArchiveError(
                    f"{place} is {kind}: archives hold files and folders alone.",
                    "Delete it, or put a copy of what it points to in its place. "
                    "(The archive's own folder may be a link.)",
                )

    def read(self, relative: str) -> bytes | None:
        """Return the bytes of a file, None where there is none."""
        with self._problems("read", relative):
            try:
                data: bytes = self._fs.cat_file(self.path(relative))
            except (FileNotFoundError, NotADirectoryError):
                return None
            return data

    def read_many(self, relatives: list[str]) -> dict[str, bytes]:
        """Return the bytes of those files that exist; remote ones are read at once."""
        if self.local is not None:
            found = {r: self.read(r) for r in relatives}
            return {r: b for r, b in found.items() if b is not None}
        paths = {self.path(r).lstrip("/"): r for r in relatives}
        with self._problems("read", relatives[0] if relatives else ""):
            got = self._fs.cat(list(paths), on_error="return") if paths else {}
            for value in got.values():
                missing = isinstance(value, FileNotFoundError)
                if isinstance(value, Exception) and not missing:
                    raise value
        return {
            paths[p.lstrip("/")]: data
            for p, data in got.items()
            if isinstance(data, bytes)
        }

    @contextmanager
    def open(self, relative: str) -> Iterator[IO[bytes]]:
        """Open a file for reading; remote ones are read in ranges."""
        with self._problems("read", relative), self._fs.open(self.path(relative)) as f:
            yield f

    def write(self, relative: str, data: bytes, waits: str = "") -> None:
        """Write a whole file: readers see the old bytes or the new ones.

        A local file is written to `waits` and renamed, else to a hidden one beside it.
        """
        with self._problems("write", relative):
            if self.local is None:
                self._fs.pipe_file(self.path(relative), data)
                return
            target = Path(self.path(relative))
            target.parent.mkdir(parents=True, exist_ok=True)
            beside = target.with_name(f".{target.name}.{os.getpid()}.tmp")
            if waits:
                beside = Path(self.path(waits))
                beside.parent.mkdir(parents=True, exist_ok=True)
            try:
                with beside.open("wb") as file:
                    file.write(data)
                    file.flush()
                    os.fsync(file.fileno())
                beside.replace(target)
                sync_folder(target.parent)
            except OSError:
                beside.unlink(missing_ok=True)
                raise

    def put(self, source: Path, relative: str) -> None:
        """Move a finished local file to its place, or upload it."""
        with self._problems("write", relative):
            if self.local is None:
                self._fs.put_file(str(source), self.path(relative))
                return
            target = Path(self.path(relative))
            target.parent.mkdir(parents=True, exist_ok=True)
            sync_file(source)
            source.replace(target)
            sync_folder(target.parent)

    def copy(self, source: str, target: str) -> None:
        """Copy a file inside a remote store."""
        with self._problems("write", target):
            self._fs.cp_file(self.path(source), self.path(target))

    def delete(self, relative: str) -> None:
        """Delete a file or folder; nothing happens where there is none."""
        with self._problems("delete", relative):
            path = self.path(relative)
            if self.local is not None:
                target = Path(path)
                if target.is_dir() and not target.is_symlink():
                    shutil.rmtree(target)
                else:
                    target.unlink(missing_ok=True)
                prune(target.parent, self.local)
                return
            self._fs.invalidate_cache()
            if self._fs.exists(path):
                self._fs.rm(path, recursive=True)

    def names(self, relative: str) -> list[str] | None:
        """Return what stands in a folder, sorted; None where there is no such folder."""
        with self._problems("list", relative):
            self._fs.invalidate_cache()
            try:
                found = self._fs.ls(self.path(relative), detail=False)
            except (FileNotFoundError, NotADirectoryError):
                return None
        return sorted(p.rstrip("/").rsplit("/", 1)[-1] for p in found) or None

    def files(self, relative: str = "") -> dict[str, int]:
        """Return every file under a folder with its size in bytes, sorted by path.

        The size of a symbolic link is -1, whatever it points to.
        """
        with self._problems("list", relative):
            self._fs.invalidate_cache()
            try:
                found = self._fs.find(self.path(relative), detail=True)
            except (FileNotFoundError, NotADirectoryError):
                return {}
        base = self._base.lstrip("/")
        start = len(base) + 1 if base else 0
        return {
            path.lstrip("/")[start:]: -1
            if facts.get("islink")
            else int(facts["size"] or 0)
            for path, facts in sorted(found.items())
        }

    @contextmanager
    def _problems(self, verb: str, relative: str) -> Iterator[None]:
        with problems(f"{verb} {self.show(relative)}"):
            yield


def connect(
    url: str, options: Mapping[str, Any], what: str, failure: type[HelmsiteError]
) -> tuple[Any, str]:
    """Return the file system of an address and the path in it.

    Raises:
        HelmsiteError: a `failure` that says that `what` cannot be opened, and what to
            install.
    """
    try:
        system, base = fsspec.core.url_to_fs(url, **options)
    except (ImportError, ValueError) as error:
        scheme = url.split("://", 1)[0]
        raise failure(
            f"Cannot open {what}: {error}",
            f"For {scheme}:// install its fsspec package, for S3: pip install 'helmsite[s3]'.",
        ) from error
    return system, str(base).rstrip("/")


def prune(folder: Path, root: Path) -> None:
    """Delete folders that have become empty, below the root."""
    while folder != root and folder.is_relative_to(root):
        try:
            folder.rmdir()
        except OSError:
            return  # not empty, or not there
        folder = folder.parent


@contextmanager
def problems(doing: str) -> Iterator[None]:
    """Turn what a disk or a store says into an ArchiveError with the next step."""
    try:
        yield
    except ArchiveError:
        raise
    except Exception as error:
        if not (isinstance(error, OSError) or is_cloud(error)):
            raise
        raise ArchiveError(f"Cannot {doing}: {reason(error)}.", _hint(error)) from error


@contextmanager
def damage(where: str) -> Iterator[None]:
    """Turn what a reader of rows says into an ArchiveError with the next step."""
    try:
        yield
    except ArchiveError:
        raise
    except UNSOUND as error:
        raise ArchiveError(
            f"{where} is damaged: {str(error) or type(error).__name__}.",
            "`helmsite check` lists all damage. Restore the file from a copy, or delete "
            "the run's folder and run it again; scores and stats are made anew by "
            "`helmsite score`.",
        ) from error


def is_cloud(error: Exception) -> bool:
    """Return whether an error is of a library that speaks to an object store."""
    return type(error).__module__.partition(".")[0] in {
        "botocore", "aiobotocore", "aiohttp", "gcsfs", "adlfs", "azure", "google",
    }  # fmt: skip


def reason(error: Exception) -> str:
    """Return why a disk or a store did not do something, in words."""
    number = getattr(error, "errno", None)
    return os.strerror(number) if number else str(error) or type(error).__name__


def _hint(error: Exception) -> str:
    number = getattr(error, "errno", None)
    if number in {errno.ENOSPC, errno.EDQUOT}:
        return (
            "Free some space and run the same command again: "
            "what was archived before is unharmed, answered requests are in the journal."
        )
    if number in {errno.EACCES, errno.EPERM, errno.EROFS}:
        return "Make the folder writable for you, or choose another archive."
    if number in {errno.ENOENT, errno.ENOTDIR}:
        return "`helmsite check` says what is missing; check the archive's address."
    return "Check the address, your credentials and the connection, then run the same command again."


def sync_file(path: Path) -> None:
    """Make a file's bytes safe on the disk."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def sync_folder(path: Path) -> None:
    """Make a folder's entries safe on the disk, where the system can."""
    if os.name == "nt":
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
