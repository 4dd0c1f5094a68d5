"""The files of one run, read with what is wrong told of."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from helmsite.errors import ConfigError, SourceError
from helmsite.importers import reading
from helmsite.importers.values import Place, Row
from helmsite.schema.yamlfile import read as read_yaml

if TYPE_CHECKING:
    from helmsite.importers.found import Found, Notes

YAML = (".yaml", ".yml")
MOST = 20
"""Problems of one file that are told one by one."""


@dataclass
class Folder:
    """The files of a run."""

    found: Found
    notes: Notes

    def __post_init__(self) -> None:
        kinds = self.found.options["kinds"]
        self.paths = dict(zip(kinds, map(Path, self.found.files), strict=True))
        self.names = dict(zip(kinds, self.found.names, strict=True))
        for kind, (path, name) in self.found.options["beside"].items():
            self.paths[kind], self.names[kind] = Path(path), name
        self._told: dict[str, int] = {}

    def problem(self, error: SourceError) -> None:
        """Tell of what is wrong, under the name that the file has for people."""
        shown = {str(path): self.names[kind] for kind, path in self.paths.items()}
        name = shown.get(error.file, error.file)
        self._told[name] = self._told.get(name, 0) + 1
        if self._told[name] <= MOST:
            self.notes.problem(SourceError(name, error.why, error.line, error.field))

    def end(self) -> None:
        """Tell how many problems were not told."""
        for name, count in self._told.items():
            if count > MOST:
                why = (
                    f"{count - MOST} more problems of this kind of file are not listed"
                )
                self.notes.problem(SourceError(name, why))

    def place(self, kind: str) -> Place:
        """Return where a file stands, for messages."""
        return Place(self.names.get(kind, self.found.names[0]))

    def value(self, kind: str) -> Any:
        """Return what a file says; None if it is not there or cannot be read, which is told."""
        if kind not in self.paths:
            return None
        path = self.paths[kind]
        try:
            if path.suffix in YAML:
                return read_yaml(path).data
            return reading.json_file(path)
        except SourceError as error:
            self.problem(error)
        except ConfigError as error:
            self.problem(SourceError(str(path), str(error.message).rstrip(".")))
        return None

    def row(self, kind: str) -> Row | None:
        """Return a file that is an object."""
        value = self.value(kind)
        if value is None:
            return None
        try:
            return Row(value, self.place(kind))
        except SourceError as error:
            self.problem(error)
            return None
