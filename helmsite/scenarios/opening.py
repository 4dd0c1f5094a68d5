"""Files opened as they are: packed ones unpacked as they are read, within bounds."""

from __future__ import annotations

import hashlib
import lzma
import zlib
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO, cast

from helmsite.errors import ScenarioError, suggest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

BOM = b"\xef\xbb\xbf"
PACKED = (".gz", ".bz2", ".xz", ".zst")
LARGEST = 4 * 2**30
"""Bytes that one file may have in memory once it is unpacked."""
PIECE = 2**20


class Digest:
    """SHA-256 of the bytes that pass through a file while it is read."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._sum = hashlib.sha256()

    def __iter__(self) -> Iterator[bytes]:
        """Yield the lines of the file."""
        for line in self._file:
            self._sum.update(line)
            yield line

    def read(self) -> bytes:
        """Return what is left of the file, which must not be larger than LARGEST."""
        pieces, size = [], 0
        while piece := self._file.read(PIECE):
            size += len(piece)
            if size > LARGEST:
                raise OSError(f"more than {LARGEST // 2**30} GiB when it is unpacked")
            self._sum.update(piece)
            pieces.append(piece)
        return b"".join(pieces)

    @property
    def sha256(self) -> str:
        """The digest, in hex, of what was read so far."""
        return self._sum.hexdigest()


@contextmanager
def opened(path: Path) -> Iterator[Digest]:
    """Open a file for reading; what goes wrong with it is said with its name.

    Raises:
        ScenarioError: it is not there, cannot be read, or its packing is damaged.
    """
    try:
        with _unpacked(path) as file:
            yield Digest(file)
    except FileNotFoundError as error:
        raise ScenarioError(
            f"{path}: there is no such file.{suggest(path.name, _neighbours(path))}",
            "Paths are relative to the scenario's YAML file.",
        ) from error
    except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ScenarioError(
            f"{path}: cannot be read: {reason}.", "Check it."
        ) from error


def _unpacked(path: Path) -> BinaryIO:
    kind = path.suffix.lower()
    if kind == ".gz":
        import gzip

        return cast("BinaryIO", gzip.open(path, "rb"))
    if kind == ".bz2":
        import bz2

        return cast("BinaryIO", bz2.open(path, "rb"))
    if kind == ".xz":
        return cast("BinaryIO", lzma.open(path, "rb"))
    if kind == ".zst":
        import io

        import pyarrow as pa

        with path.open("rb"):  # says what is wrong as all others do
            stream = pa.input_stream(str(path), compression="zstd")
        return cast("BinaryIO", io.BufferedReader(stream))
    return path.open("rb")


def inner_suffix(path: Path) -> str:
    """Return the suffix that tells what a file holds: .jsonl of a.jsonl.gz."""
    name = path.with_suffix("") if path.suffix.lower() in PACKED else path
    return name.suffix.lower()


def read_bytes(path: Path) -> tuple[bytes, str]:
    """Return the bytes of a file that is not empty, unpacked, and their SHA-256."""
    with opened(path) as file:
        data = file.read()
    if not data.removeprefix(BOM).strip():
        raise ScenarioError(f"{path}: the file is empty.", "Was it copied completely?")
    return data, file.sha256


def read_text(data: bytes, path: Path, encoding: str = "") -> str:
    """Return bytes of a file as text, without a byte order mark."""
    try:
        return data.removeprefix(BOM).decode(encoding or "utf-8")
    except UnicodeDecodeError as error:
        offset = error.start + (len(BOM) if data.startswith(BOM) else 0)
        line = data.count(b"\n", 0, offset) + 1
        utf16 = data[:2] in (b"\xff\xfe", b"\xfe\xff")
        said, name = ("utf-16", "UTF-16") if utf16 else ("latin-1", "LATIN1")
        raise ScenarioError(
            f"{path}: not {encoding or 'UTF-8'}: the byte 0x{data[offset]:02x} at offset"
            f" {offset} (line {line}).",
            f"Say encoding: {said} if that is what it is, or convert it with "
            f"`iconv -f {name} -t UTF-8 {path.name} > new.file`.",
        ) from error


def _neighbours(path: Path) -> list[str]:
    folder = path.parent
    return sorted(p.name for p in folder.iterdir()) if folder.is_dir() else []
