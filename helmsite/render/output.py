"""Writing a site beside the old one and swapping it in."""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import shutil
import stat
import tempfile
import time
from pathlib import Path
from typing import IO, TYPE_CHECKING

from helmsite.errors import BuildError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from helmsite.schema import FileFacts

MARKER = ".helmsite-build"
GOING = ".helmsite-building"
HOUR = 3600.0
CHUNK = 1 << 20


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


class Writer:
    """Writes files under a folder; counts files, pages and bytes."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.files = 0
        self.bytes = 0
        self.pages = 0

    def write(self, path: str, content: str | bytes) -> None:
        """Write a file, or again the same one; its folders are made as needed.

        Raises:
            BuildError: it cannot be written.
        """
        raw = (
            content
            if isinstance(content, bytes)
            else content.encode("utf-8", "surrogatepass")
        )
        target = self.root / path
        with _told(target):
            target.parent.mkdir(parents=True, exist_ok=True)
            known = target.exists()
            target.write_bytes(raw)
        if not known:
            self._count(path, len(raw))

    def copy(self, path: str, source: Path, facts: FileFacts) -> str:
        """Copy a file's content into the site if it is what `facts` say.

        Links are not followed. Returns '' or why nothing was copied.

        Raises:
            BuildError: the target cannot be written.
        """
        try:
            opened = _open_regular(source)
        except OSError as error:
            return f"it cannot be read ({error.strerror})"
        if opened is None:
            return "it is a link or no regular file"
        target, known = self.root / path, hashlib.sha256()
        size = 0
        with opened, _told(target):
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("wb") as copied:
                while size <= facts.bytes and (chunk := opened.read(CHUNK)):
                    copied.write(chunk)
                    known.update(chunk)
                    size += len(chunk)
            if size != facts.bytes or known.hexdigest() != facts.sha256:
                target.unlink()
                return "it is not the file that the manifest names"
        self._count(path, size)
        return ""

    def _count(self, path: str, size: int) -> None:
        self.files += 1
        self.bytes += size
        self.pages += path.endswith(".html")


def _open_regular(source: Path) -> IO[bytes] | None:
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
def staged(out: Path) -> Iterator[Writer]:
    """Yield a writer to a new folder that takes the place of `out` at the end.

    Where anything fails, the new folder is removed and `out` stays as it was.

    Raises:
        BuildError: the folder cannot be made or put in place.
    """
    out = out.absolute()
    with _told(out):
        out.parent.mkdir(parents=True, exist_ok=True)
        remove_leftovers(out)
        name = tempfile.mkdtemp(prefix=f".{out.name}.building-", dir=out.parent)
    folder = Path(name)
    try:
        with _told(folder):
            folder.chmod(0o755)
            (folder / GOING).write_text(f"{os.getpid()} {platform.node()}\n")
        yield Writer(folder)
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
        pid, _, host = (folder / GOING).read_text().strip().partition(" ")
        places = [folder, *folder.iterdir()]
        latest = max(place.stat().st_mtime for place in places)
        if time.time() - latest > HOUR:
            return True
        if os.name != "posix" or host != platform.node() or int(pid) == os.getpid():
            return False
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except (OSError, ValueError):
        return False
    return False


def swap(new: Path, out: Path) -> None:
    """Put `new` in the place of `out`; where that fails, `out` is put back."""
    if not out.exists():
        new.rename(out)
        return
    old = new.with_name(new.name.replace(".building-", ".old-"))
    out.rename(old)
    try:
        new.rename(out)
    except OSError:
        old.rename(out)
        raise
    shutil.rmtree(old, ignore_errors=True)
