"""The files that are to be imported, and which of them somebody recognises."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from helmsite.errors import ConfigError, SourceError
from helmsite.importers import reading

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from helmsite.importers.found import Notes
    from helmsite.importers.table.mapping import Mapping

HEAD = 65_536
KEPT = 256
"""Heads that are held at a time."""
BLANK = b"\xef\xbb\xbf \t\r\n"
NEVER = {".git", "__pycache__"}
NOISE = {".DS_Store", "Thumbs.db", ".gitattributes", ".gitignore"}
_SIGN = re.compile(rb'"((?:[^"\\]|\\.)*)"(\s*:)?|[{}\[\]]', re.DOTALL)


class File(NamedTuple):
    """A file: where it is, its name from the folder that was given, bytes, time of change."""

    path: Path
    name: str
    size: int
    changed: float


class Tree:
    """All files of the paths given, those in hidden folders too; empty ones are set aside.

    An importer claims what it takes; what nobody claims is reported. Links to folders are
    not followed.

    Args:
        paths: files and folders.
        notes: is told of files that cannot be taken.
        mapping: what the columns of tables hold, as the user says.

    Raises:
        ConfigError: a path is not there.
    """

    def __init__(
        self, paths: Sequence[Path], notes: Notes, mapping: Mapping | None = None
    ) -> None:
        missing = [
            f"{path}: no such file or folder." for path in paths if not path.exists()
        ]
        if missing:
            raise ConfigError(missing, "Check the path.")
        self.notes, self.mapping = notes, mapping
        self.files: dict[Path, File] = {}
        self._named: dict[str, Path] = {}
        self._heads: dict[Path, bytes] = {}
        self._claimed: set[Path] = set()
        for path in paths:
            for found in _walk(path, self._unreadable):
                self._add(found, path)

    def _unreadable(self, error: OSError) -> None:
        self.notes.skip(str(error.filename), error.strerror or str(error))

    def _name(self, path: Path, root: Path) -> str:
        """Return a file's name from its root; in two roots with one name it has more."""
        folder = root if root.is_dir() else root.parent
        name = path.relative_to(folder).as_posix()
        while self._named.setdefault(name, path) != path:
            if folder == folder.parent:
                return str(path)
            folder = folder.parent
            name = path.relative_to(folder).as_posix()
        return name

    def _add(self, path: Path, root: Path) -> None:
        name = self._name(path, root)
        try:
            facts = path.stat()
        except OSError as error:
            self.notes.skip(name, error.strerror or str(error))
            return
        if not path.is_file():
            self.notes.skip(name, "no file")
        elif not facts.st_size:
            self.notes.skip(name, "empty")
        else:
            self.files.setdefault(path, File(path, name, facts.st_size, facts.st_mtime))

    def open(self) -> list[File]:
        """Return the files that nobody has claimed, by path."""
        return [f for p, f in sorted(self.files.items()) if p not in self._claimed]

    def claim(self, *paths: Path) -> None:
        """Take files: no other importer sees them."""
        self._claimed.update(paths)

    def beside(self, path: Path) -> dict[str, Path]:
        """Return the files in a file's folder by their names, claimed ones too."""
        return self._folders.get(path.parent, {})

    @cached_property
    def _folders(self) -> dict[Path, dict[str, Path]]:
        found: dict[Path, dict[str, Path]] = {}
        for path in sorted(self.files):
            found.setdefault(path.parent, {})[path.name] = path
        return found

    def head(self, path: Path) -> bytes:
        """Return the first 64 KB of a file, b'' if it cannot be read."""
        if path not in self._heads:
            if len(self._heads) >= KEPT:
                self._heads.clear()
            try:
                with path.open("rb") as file:
                    self._heads[path] = file.read(HEAD)
            except OSError:
                self._heads[path] = b""
        return self._heads[path]

    def keys(self, path: Path) -> tuple[str, ...]:
        """Return the keys of a JSON object that begin in the first 64 KB of its file.

        () for what does not begin like an object. The file need not be valid.
        """
        return tuple(_keys(self._begin(path)))

    def row_keys(self, path: Path) -> tuple[str, ...]:
        """Return the keys of the first object of a JSON list, as `keys` does."""
        rest = self._begin(path).lstrip(BLANK).removeprefix(b"[")
        return tuple(_keys(rest))

    def _begin(self, path: Path) -> bytes:
        raw = self.head(path)
        with suppress(SourceError):  # cut in a character, or no text at all
            raw = reading.text(raw, "").encode("utf-8", "replace")
        return raw


def _walk(path: Path, told: Callable[[OSError], None]) -> Iterator[Path]:
    if not path.is_dir():
        yield path
        return
    for folder, inner, names in os.walk(path, onerror=told):
        inner[:] = sorted(n for n in inner if n not in NEVER)
        here = path.__class__(folder)
        yield from (here / name for name in sorted(names) if name not in NOISE)


def _keys(raw: bytes) -> Iterable[str]:
    depth = 0
    for match in _SIGN.finditer(raw):
        sign = match[0]
        if depth == 0 and sign != b"{":
            return
        if sign in {b"{", b"["}:
            depth += 1
        elif sign in {b"}", b"]"}:
            depth -= 1
            if depth <= 0:
                return
        elif depth == 1 and match[2]:
            yield match[1].decode("utf-8", "replace")
