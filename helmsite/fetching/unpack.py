"""Members taken out of archives: files only, only those asked for, within bounds.

Nothing found in an archive is run, no member leaves the target's folder, and links and
devices are never made.
"""

from __future__ import annotations

import lzma
import os
import re
import shutil
import tarfile
import zipfile
import zlib
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, BinaryIO, NamedTuple, cast

from filelock import FileLock

from helmsite.fetching.errors import FetchError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SUFFIXES = (
    *(".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2"),
    *(".tar.xz", ".txz", ".tar.zst"),
)
MOST_BYTES = 64 * 2**30
MOST_MEMBERS = 2_000_000
RATIO = 2_000
"""How many times its packed size an archive may grow; no real data comes near."""
GROWTH_ALLOWED = 2**28
PIECE = 2**20
SHOWN = 5
FAULTS = (
    *(tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError),
    *(OSError, EOFError),  # cut short, or a damaged stream of bzip2 or Zstandard
    *(ValueError, RuntimeError),  # names that are no text; a password, unknown packing
)
"""What the standard library raises for damaged archives, and for a full disk."""


class _Member(NamedTuple):
    name: str
    is_file: bool
    size: int
    open: Callable[[], BinaryIO]


def archive_suffix(name: str) -> str:
    """Return the suffix by which a file is an archive, '' if it is none."""
    return next((s for s in SUFFIXES if name.lower().endswith(s)), "")


def literal(pattern: str) -> str:
    """Return the folders of a pattern that hold no sign of one."""
    parts = PurePosixPath(pattern).parts
    plain = [not set(part) & set("*?[") for part in parts]
    count = plain.index(False) if False in plain else len(parts)
    return "/".join(parts[:count])


def matcher(pattern: str) -> Callable[[str], bool]:
    """Return a test of paths: `*` and `?` stay within a folder, `**` goes below."""
    return re.compile(_expression(pattern)).fullmatch  # type: ignore[return-value]


def extract(archive: Path, pattern: str, target: Path) -> None:
    """Write a member to `target`, or all members of a pattern below that folder.

    With a pattern, members keep the path that they have below its first sign. The
    target is whole or not there.

    Raises:
        FetchError: the archive is damaged, holds no such member, or one with a path
            that leads elsewhere; it unpacks to more than is sensible.
    """
    fresh = target.with_name(f"{target.name}.{os.getpid()}.unpacking")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{target}.lock"):
            _remove(fresh)
            _extract(archive, pattern, fresh)
            _remove(target)
            fresh.replace(target)
    except FAULTS as error:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise FetchError(
            f"{archive}: cannot be unpacked: {reason}.",
            "Was it downloaded completely? Remove it to fetch it again.",
        ) from error
    finally:
        _remove(fresh)


def _extract(archive: Path, pattern: str, target: Path) -> None:
    is_one = literal(pattern) == str(PurePosixPath(pattern))
    base, fits = literal(pattern), matcher(pattern)
    budget = _Budget(archive)
    near: list[str] = []
    count = 0
    with _members(archive) as members:
        for member in members:
            budget.member()
            name = str(PurePosixPath(member.name))
            if not fits(name):
                near += [name] if len(near) < SHOWN else []
                continue
            if not member.is_file:
                continue
            _refuse_astray(archive, member.name)
            inside = "" if is_one else name.removeprefix(base).lstrip("/")
            budget.copy(member, target / inside if inside else target)
            count += 1
            if is_one:
                break
    if not count:
        there = ", ".join(near) or "nothing"
        raise FetchError(
            f"{archive}: has no member {pattern}.", f"It begins with: {there}."
        )


class _Budget:
    """Counts what an archive unpacks to, as it is read, not as it says."""

    def __init__(self, archive: Path) -> None:
        self.archive = archive
        self.bytes = 0
        self.members = 0
        packed = archive.stat().st_size
        self.most = min(MOST_BYTES, max(GROWTH_ALLOWED, RATIO * packed))

    def member(self) -> None:
        self.members += 1
        if self.members > MOST_MEMBERS:
            raise FetchError(
                f"{self.archive}: holds more than {MOST_MEMBERS:,} members.",
                "It is no archive of data: look where it comes from.",
            )

    def copy(self, member: _Member, target: Path) -> None:
        target.parent.mkdir(parents=True, exist_ok=True)
        with member.open() as source, target.open("wb") as file:
            while piece := source.read(PIECE):
                self.bytes += len(piece)
                if self.bytes > self.most:
                    raise FetchError(
                        f"{self.archive}: unpacks to more than {self.most:,} bytes.",
                        "It may be made to fill the disk: look where it comes from.",
                    )
                file.write(piece)


def _refuse_astray(archive: Path, name: str) -> None:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\\" in name or ":" in path.parts[0]:
        raise FetchError(
            f"{archive}: the member {name!r} leads out of its folder.",
            "No honest archive has such a member: look where it comes from.",
        )


@contextmanager
def _members(archive: Path) -> Iterator[Iterator[_Member]]:
    if archive_suffix(archive.name) == ".zip" or zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as file:
            yield _of_zip(file)
    elif archive.name.lower().endswith(".tar.zst"):
        import pyarrow as pa

        with (
            pa.input_stream(str(archive), compression="zstd") as stream,
            tarfile.open(fileobj=stream, mode="r|") as tar,
        ):
            yield _of_tar(tar)
    else:
        with tarfile.open(archive, mode="r|*") as tar:
            yield _of_tar(tar)


def _of_zip(file: zipfile.ZipFile) -> Iterator[_Member]:
    for info in file.infolist():
        kind = (info.external_attr >> 16) & 0o170000
        plain = not info.is_dir() and kind in (0, 0o100000)

        def opened(info: zipfile.ZipInfo = info) -> BinaryIO:
            return cast("BinaryIO", file.open(info))

        yield _Member(info.filename, plain, info.file_size, opened)


def _of_tar(tar: tarfile.TarFile) -> Iterator[_Member]:
    for info in tar:

        def opened(info: tarfile.TarInfo = info) -> BinaryIO:
            return cast("BinaryIO", tar.extractfile(info))

        yield _Member(info.name, info.isreg(), info.size, opened)


def _expression(pattern: str) -> str:
    parts = []
    for part in PurePosixPath(pattern).parts:
        if part == "**":
            parts.append(r"(?:[^/]+/)*")
            continue
        signs = re.split(r"(\*|\?)", part)
        meaning = {"*": "[^/]*", "?": "[^/]"}
        parts.append("".join(meaning.get(s, re.escape(s)) for s in signs) + "/")
    return "".join(parts).removesuffix("/")


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
