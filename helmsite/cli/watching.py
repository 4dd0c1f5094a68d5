"""What a site is made of, looked at again and again: what has changed since?"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from helmsite.config import CONFIG_NAME
from helmsite.errors import HelmsiteError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from helmsite.archive import Archive
    from helmsite.cli.options import Place
    from helmsite.schema import Manifest

SHOWN = 3


@dataclass(frozen=True)
class Seen:
    """The archive and the files that a site was made of at one moment.

    `problem` says why the archive or the settings could not be read.
    """

    state: str
    runs: Mapping[str, Manifest]
    files: Mapping[Path, tuple[int, int]]
    problem: str = ""

    @property
    def mark(self) -> tuple[object, ...]:
        """What differs whenever something has changed."""
        return self.state, tuple(self.files.items()), self.problem


class Watch:
    """Looks at the archive's catalogue, helmsite.toml and the theme's folder."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._archive: Archive | None = None
        self._theme: Path | None = None
        self._settings: tuple[int, int] | None = None
        self._runs: tuple[str, Mapping[str, Manifest]] = ("", {})

    @property
    def is_local(self) -> bool:
        """Whether looking costs no request to a store elsewhere."""
        return self._archive is None or self._archive.is_local

    def look(self) -> Seen:
        """Return what there is now; what cannot be read counts as unchanged."""
        settings = self._place.folder / CONFIG_NAME
        problem = ""
        try:
            self._read_settings(settings)
            state, runs = self._read_archive()
        except HelmsiteError as error:
            problem, (state, runs) = error.message, self._runs
        watched = [settings, *_below(self._theme)]
        stamps = {path: found for path in watched if (found := _stamp(path))}
        return Seen(state, runs, stamps, problem)

    def _read_settings(self, path: Path) -> None:
        """Find out where archive and theme are, if the settings are new."""
        stamp = _stamp(path)
        if self._archive is not None and stamp == self._settings:
            return
        project = self._place.project()
        archive = self._place.archive(project)
        if self._archive is None or archive.root != self._archive.root:
            self._archive = archive
        overrides = project.site.overrides
        self._theme = Path(project.root) / overrides if overrides else None
        self._settings = stamp

    def _read_archive(self) -> tuple[str, Mapping[str, Manifest]]:
        assert self._archive is not None
        state = self._archive.state()
        if state != self._runs[0]:
            self._runs = state, {m.run_id: m for m in self._archive.manifests()}
        return self._runs


def changes(old: Seen, new: Seen) -> list[str]:
    """Return what has changed, for people: '2 runs added', 'helmsite.toml changed', ..."""
    found = []
    added = [run for run in new.runs if run not in old.runs]
    gone = [run for run in old.runs if run not in new.runs]
    both = [run for run in new.runs if run in old.runs]
    other = [run for run in both if new.runs[run] != old.runs[run]]
    for runs, what in ((added, "added"), (other, "changed"), (gone, "removed")):
        if runs:
            found.append(f"{_counted(runs)} {what}")
    if old.state != new.state and not found:
        found.append("published results changed")
    paths = sorted(old.files.keys() | new.files.keys())
    touched = [p.name for p in paths if old.files.get(p) != new.files.get(p)]
    if touched:
        found.append(f"{_listed(touched)} changed")
    return found


def _counted(runs: list[str]) -> str:
    return f"run {runs[0]}" if len(runs) == 1 else f"{len(runs)} runs"


def _listed(names: list[str]) -> str:
    rest = len(names) - SHOWN
    return ", ".join(names[:SHOWN]) + (f" and {rest} more files" if rest > 0 else "")


def _below(folder: Path | None) -> Iterator[Path]:
    if folder is not None:
        # os.walk minds no folder that goes while it looks; rglob would end with an error.
        found = (Path(at, name) for at, _, names in os.walk(folder) for name in names)
        yield from sorted(found)


def _stamp(path: Path) -> tuple[int, int] | None:
    """Return a file's size and time; None where there is none."""
    try:
        facts = path.stat()
    except OSError:
        return None
    return facts.st_size, facts.st_mtime_ns
