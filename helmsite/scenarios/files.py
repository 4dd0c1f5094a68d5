"""What a loader sees of its scenario's files: rows, texts and folders by name."""

from __future__ import annotations

import hashlib
from collections import Counter
from typing import TYPE_CHECKING, Any

from msgspec import structs

from helmsite.errors import ScenarioError, suggest
from helmsite.scenarios.sources import read_bytes, read_rows, read_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from helmsite.scenarios.definition import Source
    from helmsite.scenarios.sources import Row


class Files:
    """The files of one scenario, each read at most once and entered in its identity.

    Args:
        source: how files are read: format, columns, quotes.
        names: name of a file in the YAML → its path, templates rendered.
        find: leads a path to the file or folder on this machine.
    """

    def __init__(
        self, source: Source, names: Mapping[str, str], find: Callable[[str], Path]
    ) -> None:
        self._source = source
        self._names = names
        self._find = find
        self._digests: dict[str, str] = {}
        self.skipped: Counter[str] = Counter()

    def __contains__(self, name: str) -> bool:
        return name in self._names

    def rows(self, name: str, **how: Any) -> Iterator[Row]:
        """Yield the rows of a file, or of all files of a folder in order of their paths.

        `how` goes before what the YAML says of format, records, columns and quotes.

        Raises:
            ScenarioError: the file is missing, empty or damaged.
        """
        source = structs.replace(self._source, **how)
        for key, path in self.paths(name):
            found = read_rows(path, source)
            self._digests[key] = found.sha256
            yield from found.rows

    def text(self, name: str) -> str:
        """Return a UTF-8 file as one text, line breaks as they are."""
        return "".join(text for _, text in self.texts(name))

    def texts(self, name: str) -> Iterator[tuple[str, str]]:
        """Yield each file of a folder (or the one file) as relative path and text."""
        for key, path in self.paths(name):
            data = read_bytes(path)
            self._digests[key] = hashlib.sha256(data).hexdigest()
            yield key.removeprefix(f"{name}/"), read_text(data, path)

    def paths(self, name: str) -> list[tuple[str, Path]]:
        """Return `name/relative path` and path of each file, sorted; one for a file."""
        if name not in self._names:
            raise ScenarioError(
                f"The scenario names no file {name!r}.{suggest(name, self._names)}",
                "Name it in its YAML under source: files:.",
            )
        place = self._find(self._names[name])
        if not place.is_dir():
            return [(name, place)]
        found = sorted(p for p in place.rglob("*") if p.is_file())
        if not found:
            raise ScenarioError(f"{place}: the folder is empty.", "Was it copied?")
        return [(f"{name}/{p.relative_to(place).as_posix()}", p) for p in found]

    def skip(self, reason: str) -> None:
        """Count a row that is left out; `reason` is shown with the run."""
        self.skipped[reason] += 1

    @property
    def digests(self) -> list[tuple[str, str]]:
        """Name and SHA-256 of each file that was read, by name."""
        return sorted(self._digests.items())
