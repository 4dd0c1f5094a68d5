"""What is wrong with rows: each is told, but not a million of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from helmsite.errors import SourceError

if TYPE_CHECKING:
    from helmsite.importers.found import Notes

MOST = 100


class Troubles:
    """Tells of the first problems of a file one by one, and of the others how many they are."""

    def __init__(self, notes: Notes, file: str) -> None:
        self._notes, self._file, self._count = notes, file, 0

    def add(self, error: SourceError) -> None:
        """Keep a problem."""
        self._count += 1
        if self._count <= MOST:
            self._notes.problem(error)

    def end(self) -> None:
        """Tell how many more there were."""
        if self._count > MOST:
            why = f"{self._count - MOST:,} more rows or values cannot be taken"
            self._notes.problem(SourceError(self._file, why))
