r"""Files of other tools as plain data: JSON as it is found, not only as it should be.

Besides valid JSON these are read: a byte order mark, UTF-16 and UTF-32 with one, the bare
words NaN and Infinity, numbers too large for a float, and halves of characters (`\ud800`
alone), which become the text `\ud800`. NaN and infinities stay floats; `values.Row` says
of a number that it has none. Objects keep their order; of a key given twice the last counts.
"""

from __future__ import annotations

import codecs
import hashlib
import json
from typing import TYPE_CHECKING, Any

import msgspec

from helmsite.errors import SourceError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
DEEP = "its lists or objects lie in each other too deep"


def blob(path: Path) -> bytes:
    """Return a file's bytes.

    Raises:
        SourceError: it cannot be read.
    """
    try:
        return path.read_bytes()
    except OSError as error:
        raise SourceError(str(path), error.strerror or str(error)) from error


def digest(path: Path) -> str:
    """Return a file's SHA-256 in hex; it is read in pieces.

    Raises:
        SourceError: it cannot be read.
    """
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise SourceError(str(path), error.strerror or str(error)) from error


def text(raw: bytes, file: str, line: int = 0) -> str:
    """Return bytes as text: UTF-8, or what their byte order mark says.

    Raises:
        SourceError: they are no such text.
    """
    encoding = next((name for mark, name in MARKS if raw.startswith(mark)), "utf-8")
    try:
        return raw.decode(encoding)
    except UnicodeDecodeError as error:
        byte = raw[error.start]
        why = f"not {encoding.removesuffix('-sig').upper()}: the byte {byte:#04x} at offset {error.start}"
        raise SourceError(file, why, line) from error


def value(raw: bytes, file: str, line: int = 0) -> Any:
    """Return what a JSON text says.

    Args:
        raw: the text.
        file: where it stands, for messages.
        line: and in which line of it; 0 if it is all of the file.

    Raises:
        SourceError: it is no JSON, or not all of it is there.
    """
    try:
        return msgspec.json.decode(raw)
    except RecursionError as error:
        raise SourceError(file, DEEP, line) from error
    except (msgspec.DecodeError, UnicodeError):
        return _as_found(raw, file, line)


def json_file(path: Path) -> Any:
    """Return what a JSON file says.

    Raises:
        SourceError: it cannot be read, or is no JSON.
    """
    return value(blob(path), str(path))


def json_lines(path: Path) -> Iterator[tuple[int, Any | SourceError]]:
    """Yield each line of a JSONL file with its number; a line that is no JSON as an error.

    Blank lines are passed over. The file is never held as a whole, unless it is in
    UTF-16 or UTF-32.

    Raises:
        SourceError: the file cannot be read.
    """
    for number, raw in _lines(path):
        if raw.strip():
            try:
                yield number, value(raw.strip(), str(path), number)
            except SourceError as error:
                yield number, error


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    try:
        with path.open("rb") as file:
            head = file.read(4)
            file.seek(0)
            wide = head.startswith(tuple(m for m, name in MARKS if "utf-8" not in name))
            if wide:
                whole = text(file.read(), str(path)).encode("utf-8", "surrogatepass")
                yield from enumerate(whole.split(b"\n"), 1)
                return
            for number, line in enumerate(file, 1):
                yield (
                    number,
                    line.removeprefix(codecs.BOM_UTF8) if number == 1 else line,
                )
    except OSError as error:
        raise SourceError(str(path), error.strerror or str(error)) from error


def _as_found(raw: bytes, file: str, line: int) -> Any:
    written = text(raw, file, line)
    if not written.strip():
        raise SourceError(file, "empty", line)
    try:
        return whole(json.loads(written))
    except RecursionError as error:
        raise SourceError(file, DEEP, line) from error
    except json.JSONDecodeError as error:
        end = error.pos >= len(written.rstrip())
        where = f"line {error.lineno}, " if not line and error.lineno > 1 else ""
        why = "it ends in the middle" if end else error.msg[0].lower() + error.msg[1:]
        raise SourceError(
            file, f"no JSON: {where}column {error.colno}: {why}", line
        ) from error
    except ValueError as error:  # an integer of thousands of digits
        raise SourceError(file, f"no JSON: {error}", line) from error


def whole(found: Any) -> Any:
    """Return data without halves of characters, which no archive can hold."""
    if isinstance(found, str):
        return found if found.isascii() else clean(found)
    if isinstance(found, list):
        return [whole(each) for each in found]
    if isinstance(found, dict):
        return {clean(k): whole(v) for k, v in found.items()}
    return found


def clean(found: str) -> str:
    r"""Return a text in which halves of characters are written out, `\ud800`."""
    return found.encode("utf-8", "backslashreplace").decode("utf-8")
