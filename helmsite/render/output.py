"""Writing a site beside the old one and swapping it in."""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import os
import platform
import secrets
import shutil
import stat
import time
from typing import TYPE_CHECKING, NamedTuple, Protocol

from helmsite.errors import BuildError
from helmsite.render.links import scan
from helmsite.render.record import Mark

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from io import BufferedReader
    from pathlib import Path

    from helmsite.render.links import Scan

MARKER = ".helmsite-build"
GOING = ".helmsite-building"
HOUR = 3600.0
HERE, RENAME_EXCHANGE = -100, 2  # of Linux: AT_FDCWD, and a flag of renameat2
CHUNK = 1 << 20
TEXTS = (".css", ".html", ".js", ".json", ".svg", ".txt")


def refuse_foreign(out: Path) -> None:
    """Make sure that `out` is free, empty or an earlier build.

    Raises:
        BuildError: something else is there, or its parent is not a folder.
    """
    if out.is_symlink() or (out.exists() and not out.is_dir()):
        raise BuildError(
            f"{out} is not a folder of its own.", "Name a folder that helmsite may own."
        )
    if out.is_dir() and any(out.iterdir()) and not (out / MARKER).is_file():
        raise BuildError(
            f"{out} holds files that are not a helmsite build; it was left alone.",
            "Name another folder, or empty this one yourself.",
        )


class Inspector(Protocol):
    """Looks for what must not be published."""

    def find(self, text: bytes) -> tuple[str, ...]:
        """Return the kinds of what was found, never the thing itself."""


class Leak(NamedTuple):
    """A kind of thing that must not be published, and the file that holds it."""

    kind: str
    path: str


class Writer:
    """Writes files under a folder, and keeps what the site's record and checks need.

    A file is never opened in place of another: it may be a hard link to one of an
    earlier site, and several processes may write the same text at the same time.

    Args:
        root: the folder.
        inspector: looks through every text.
    """

    def __init__(self, root: Path, inspector: Inspector | None = None) -> None:
        self.root = root
        self.files: dict[str, Mark] = {}
        self.pages: dict[str, Scan] = {}
        self.leaks: list[Leak] = []
        self._inspector = inspector
        self._folders: set[Path] = set()

    def write(self, path: str, content: str | bytes, sha256: str = "") -> None:
        """Write a file; of a page, keep what it is linked by and links to.

        Args:
            path: from the site's root.
            content: the file's.
            sha256: of the content in hex, where it is known.

        Raises:
            BuildError: it cannot be written.
        """
        raw = (
            content
            if isinstance(content, bytes)
            else content.encode("utf-8", "surrogatepass")
        )
        mark = Mark(len(raw), sha256 or hashlib.sha256(raw).hexdigest())
        if self.files.get(path) == mark:
            return
        target = self._place(path)
        with _told(target):
            _put(target, raw)
        self.files[path] = mark
        if self._inspector is not None:
            self.leaks += leaks(path, raw, self._inspector)
        if path.endswith(".html"):
            self.pages[path] = scan(raw)

    def copy(self, path: str, source: Path, mark: Mark) -> str:
        """Copy a file's content into the site if it is what the mark says.

        Links are not followed. Returns '' or why nothing was copied.

        Raises:
            BuildError: the target cannot be written.
        """
        try:
            opened = open_regular(source)
        except OSError as error:
            return f"it cannot be read ({error.strerror})"
        if opened is None:
            return "it is a link or no regular file"
        target, known = self._place(path), hashlib.sha256()
        size = 0
        with opened, _told(target):
            target.unlink(missing_ok=True)
            with target.open("xb") as copied:
                while size <= mark.size and (chunk := opened.read(CHUNK)):
                    copied.write(chunk)
                    known.update(chunk)
                    size += len(chunk)
            if Mark(size, known.hexdigest()) != mark:
                target.unlink()
                return "it is not the file that the manifest names"
        self.files[path] = mark
        return ""

    def link(self, path: str, source: Path, mark: Mark) -> None:
        """Make a file of an earlier site, just verified, one of this site too.

        Where the file system has no hard links, it is copied.

        Raises:
            BuildError: it cannot be written, or is no longer what it was.
        """
        if self.files.get(path) == mark:
            return
        target = self._place(path)
        try:
            os.link(source, target, follow_symlinks=False)
        except (OSError, NotImplementedError):
            problem = self.copy(path, source, mark)
            if problem:
                raise BuildError(
                    f"{source} was changed while the site was built: {problem}.",
                    "Build again when nobody else works on the site.",
                ) from None
        self.files[path] = mark

    def adopt(self, files: Mapping[str, Mark]) -> None:
        """Count files that another writer has put into the folder."""
        self.files.update(files)

    def _place(self, path: str) -> Path:
        """Return where a file goes, its folder made if need be."""
        target = self.root / path
        folder = target.parent
        if folder not in self._folders:
            with _told(target):
                folder.mkdir(parents=True, exist_ok=True)
            self._folders.add(folder)
        return target


def leaks(path: str, raw: bytes, inspector: Inspector) -> list[Leak]:
    """Return what a text holds that must not be published."""
    if path.endswith(TEXTS):
        return [Leak(kind, path) for kind in inspector.find(raw)]
    return []


def _put(target: Path, raw: bytes) -> None:
    """Write a file that is new, or takes the place of another at once."""
    try:
        with target.open("xb") as file:
            file.write(raw)
    except FileExistsError:
        beside = target.with_name(f".{target.name}.{os.getpid()}")
        beside.write_bytes(raw)
        beside.replace(target)


def open_regular(source: Path) -> BufferedReader | None:
    """Open a regular file for reading; None where it is a link or anything else."""
    if source.is_symlink():
        return None
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    number = os.open(source, flags | getattr(os, "O_BINARY", 0))
    if not stat.S_ISREG(os.fstat(number).st_mode):
        os.close(number)
        return None
    return os.fdopen(number, "rb")


@contextlib.contextmanager
def _told(target: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise BuildError(
            f"Cannot write {target}: {error.strerror}.",
            "Free some space or choose another folder with `helmsite build --out DIR`; "
            "an earlier site is untouched.",
        ) from error


@contextlib.contextmanager
def staged(out: Path, inspector: Inspector | None = None) -> Iterator[Writer]:
    """Yield a writer to a new folder that takes the place of `out` at the end.

    Where anything fails, the new folder is removed and `out` stays as it was.

    Raises:
        BuildError: the folder cannot be made or put in place.
    """
    out = out.absolute()
    with _told(out):
        out.parent.mkdir(parents=True, exist_ok=True)
        remove_leftovers(out)
    folder = out.with_name(f".{out.name}.building-{secrets.token_hex(8)}")
    try:  # before the folder is there: Ctrl-C may come right behind it
        with _told(folder):
            folder.mkdir()  # as open to others as what is in it: mkdtemp minds no umask
            (folder / GOING).write_text(f"{os.getpid()} {platform.node()}\n")
        yield Writer(folder, inspector)
        with _told(out):
            (folder / GOING).unlink()
            swap(folder, out)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def remove_leftovers(out: Path) -> None:
    """Remove what killed builds of `out` left beside it.

    Those are half-made folders whose process is gone or that nobody wrote to for an hour,
    and sites that had been replaced but not yet removed.
    """
    for folder in sorted(out.parent.iterdir()):
        half = folder.name.startswith(f".{out.name}.building-")
        old = folder.name.startswith(f".{out.name}.old-")
        if folder.is_symlink() or not (half or old):
            continue
        replaced = old and out.exists() and (folder / MARKER).is_file()
        if replaced or (half and _is_dead(folder)):
            shutil.rmtree(folder, ignore_errors=True)


def _is_dead(folder: Path) -> bool:
    """Return whether a half-made folder belongs to no build that still goes on."""
    try:
        places = [folder, *folder.iterdir()]
        latest = max(place.stat().st_mtime for place in places)
        if time.time() - latest > HOUR:  # the marker: killed while it was put in place
            return (folder / GOING).is_file() or (folder / MARKER).is_file()
        pid, _, host = (folder / GOING).read_text().strip().partition(" ")
        if os.name != "posix" or host != platform.node() or int(pid) == os.getpid():
            return False
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except (OSError, ValueError):
        return False
    return False


def swap(new: Path, out: Path) -> None:
    """Put `new` in the place of `out`; where that fails, `out` is put back.

    Where the system can exchange two folders, there is a site at every moment.
    """
    if not out.exists():
        new.rename(out)
        return
    old = new.with_name(new.name.replace(".building-", ".old-"))
    if _exchange(new, out):
        new.rename(old)
        shutil.rmtree(old, ignore_errors=True)
        return
    out.rename(old)
    try:
        new.rename(out)
    except OSError:
        old.rename(out)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _exchange(one: Path, other: Path) -> bool:
    """Exchange two folders in one step; False where this system cannot."""
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        names = (HERE, os.fsencode(one), HERE, os.fsencode(other))
        return bool(libc.renameat2(*names, RENAME_EXCHANGE) == 0)
    except (AttributeError, OSError, TypeError):
        return False
