"""What a loader sees of its scenario's files: rows, texts and folders by name."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import structs

from helmsite.errors import ScenarioError, suggest
from helmsite.scenarios.opening import opened, read_bytes, read_text
from helmsite.scenarios.sources import decoded, read_rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from helmsite.scenarios.definition import Place
    from helmsite.scenarios.sources import Row
    from helmsite.scenarios.store import Store


class Files:
    """The files of one scenario; each that is read is entered in its identity.

    Args:
        places: name of a file in the YAML → where it is, templates rendered.
        store: leads a place to the files on this machine.
    """

    def __init__(self, places: Mapping[str, Sequence[Place]], store: Store) -> None:
        self._places = places
        self._store = store
        self._digests: dict[str, str] = {}
        self.skipped: Counter[str] = Counter()
        self.notes: list[str] = []

    def __contains__(self, name: str) -> bool:
        return name in self._places

    def rows(self, name: str, **how: Any) -> Iterator[Row]:
        """Yield the rows of a file, or of all files of a folder in order of their paths.

        `how` goes before what the YAML says of format, records, columns and quotes.

        Raises:
            ScenarioError: the file is missing, empty or damaged.
        """
        for key, path, place in self._files(name):
            found = read_rows(
                path, structs.replace(place, **how), self._short(name, key)
            )
            self._enter(key, found.sha256, place)
            yield from found.rows

    def text(self, name: str) -> str:
        """Return a file as one text, line breaks as they are."""
        return "".join(text for _, text in self.texts(name))

    def texts(self, name: str) -> Iterator[tuple[str, str]]:
        """Yield each file of a folder (or the one file) as relative path and text."""
        for key, path, place in self._files(name):
            data = self._bytes(key, path, place)
            yield self._short(name, key), read_text(data, path, place.encoding)

    def json(self, name: str) -> Any:
        """Return what a JSON file holds, whatever it is."""
        ((key, path, place),) = self._files(name)
        data = self._bytes(key, path, place)
        return decoded(read_text(data, path, place.encoding).encode(), str(path))

    def data(self, name: str) -> bytes:
        """Return the bytes of one file, whatever they mean."""
        ((key, path, place),) = self._files(name)
        return self._bytes(key, path, place)

    def lines(self, name: str) -> Iterator[tuple[str, bytes]]:
        """Yield the non-empty lines of a file that is too large for memory.

        Each comes with its place; its file enters the identity once all are read.
        """
        for key, path, place in self._files(name):
            with opened(path) as file:
                for number, line in enumerate(file, start=1):
                    if line.strip():
                        yield f"{path}, line {number}", line
            self._enter(key, file.sha256, place)

    def paths(self, name: str) -> list[tuple[str, Path]]:
        """Return `name/relative path` and path of each file, sorted; one for a file.

        `name` may go on into a folder: `stories/qa1_train.txt`.
        """
        return [(key, path) for key, path, _ in self._files(name)]

    def skip(self, reason: str) -> None:
        """Count a row that is left out; `reason` is shown with the run."""
        self.skipped[reason] += 1

    def note(self, text: str) -> None:
        """Say what stands in the place of an optional file; it is shown with the run."""
        self.notes.append(text)

    @property
    def digests(self) -> list[tuple[str, str]]:
        """Name and SHA-256 of each file that was read, by name."""
        return sorted(self._digests.items())

    def _files(self, name: str) -> list[tuple[str, Path, Place]]:
        base, _, inside = name.partition("/")
        if base not in self._places:
            raise ScenarioError(
                f"The scenario names no file {base!r}.{suggest(base, self._places)}",
                "Name it in its YAML under source: files:.",
            )
        return [
            ("/".join(filter(None, (base, found.name))), found.path, place)
            for place in self._places[base]
            for found in self._store.files(place, inside)
        ]

    def _bytes(self, key: str, path: Path, place: Place) -> bytes:
        data, sha256 = read_bytes(path)
        self._enter(key, sha256, place)
        return data

    def _enter(self, key: str, sha256: str, place: Place) -> None:
        """Note the digest of a file; of two files of one name, of both."""
        before = self._digests.get(key, "")
        if before and before != sha256:
            key = f"{key} of {place.path}"
        self._digests[key] = sha256

    def _short(self, name: str, key: str) -> str:
        return key.removeprefix(f"{name}/")


def plain(place: Place) -> dict[str, Any]:
    """Return how a place is read, where it says anything: what can change a row."""
    names = (
        "format",
        "records",
        "columns",
        "delimiter",
        "quotes",
        "encoding",
        "member",
    )
    said = msgspec.to_builtins(place)
    return {name: said[name] for name in names if said[name] not in ("", [], None)}
