"""Writing a site beside the old one and swapping it in."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from helmsite.errors import BuildError

if TYPE_CHECKING:
    from collections.abc import Iterator

MARKER = ".helmsite-build"


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
    """Writes files under a folder; counts files and bytes."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.files = 0
        self.bytes = 0
        self.pages = 0

    def write(self, path: str, content: str | bytes) -> None:
        """Write a file; its folders are made as needed."""
        raw = (
            content
            if isinstance(content, bytes)
            else content.encode("utf-8", "surrogatepass")
        )
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.exists():
            self.files += 1
            self.bytes += len(raw)
            self.pages += path.endswith(".html")
        target.write_bytes(raw)

    def copy(self, path: str, source: Path) -> None:
        """Copy a file, as a hard link where that is possible.

        Raises:
            BuildError: the source does not exist.
        """
        if not source.is_file():
            raise BuildError(
                f"The download {source} does not exist.",
                "Run `helmsite check` to see whether the archive is complete.",
            )
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.link(source, target)
        except OSError:
            shutil.copyfile(source, target)
        self.files += 1
        self.bytes += target.stat().st_size


@contextlib.contextmanager
def staged(out: Path) -> Iterator[Writer]:
    """Yield a writer to a new folder that takes the place of `out` at the end.

    Where anything fails, the new folder is removed and `out` stays as it was.

    Raises:
        BuildError: the folder cannot be written.
    """
    out = out.absolute()
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=f".{out.name}.building-", dir=out.parent))
    except OSError as error:
        raise BuildError(
            f"Cannot write beside {out}: {error.strerror}.",
            "Choose a folder that you may write to with `helmsite build --out DIR`.",
        ) from error
    try:
        folder.chmod(0o755)
        yield Writer(folder)
        swap(folder, out)
    except OSError as error:
        raise BuildError(
            f"The site could not be written: {error.strerror} ({error.filename}).",
            "Free some space or choose another folder; the old site is untouched.",
        ) from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def swap(new: Path, out: Path) -> None:
    """Put `new` in the place of `out`; where that fails, `out` is put back."""
    if not out.exists():
        new.rename(out)
        return
    old = Path(tempfile.mkdtemp(prefix=f".{out.name}.old-", dir=out.parent))
    out.rename(old)
    try:
        new.rename(out)
    except OSError:
        old.rename(out)
        raise
    shutil.rmtree(old, ignore_errors=True)
