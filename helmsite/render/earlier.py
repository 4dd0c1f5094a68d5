"""The site that is there already: what of it is what its record says.

It may come from anywhere: a cache, a colleague, an interrupted copy. Nothing of it is
used but regular files, reached through real folders, whose size and SHA-256 are those
of the record. Where anything of a run is not, the run is rendered anew.
"""

from __future__ import annotations

import hashlib
import os
import re
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from helmsite.render.output import MARKER, TEXTS, leaks, open_regular
from helmsite.render.record import Mark, SiteRecord, decode
from helmsite.render.workers import cores

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from helmsite.render.output import Inspector, Leak
    from helmsite.render.record import RunRecord

NONE = SiteRecord("", {}, {})
BATCH = 64
SLASH = re.compile("/")


class Earlier:
    """An earlier site with its record; an empty one where there is none to be read.

    Args:
        out: the site's folder.
        inspector: looks through the texts that are verified.
        tell: called with (what, files verified, of).
    """

    def __init__(
        self,
        out: Path,
        inspector: Inspector | None,
        tell: Callable[[str, int, int], None],
    ) -> None:
        self.root = out
        blob = _marker(out)
        self.record = decode(blob) or NONE
        self.marker = Mark(len(blob), hashlib.sha256(blob).hexdigest())
        self.leaks: list[Leak] = []
        self._inspector, self._tell = inspector, tell
        self._known = self.record.every_file
        self._good: dict[str, bool] = {}
        self._found, self._folders = (
            _walk(out) if self.record is not NONE else ({}, set())
        )

    def strangers(self) -> list[str]:
        """Return the files and folders that are not of the build, sorted."""
        own = {
            path[: at.start()] for path in self._known for at in SLASH.finditer(path)
        }
        files = self._found.keys() - self._known.keys() - {MARKER}
        return sorted(files | {f"{f}/" for f in self._folders - own})

    def is_whole(self) -> bool:
        """Verify everything; return whether all of the build, and nothing else, is there."""
        unsure = any(not run.key for run in self.record.runs.values())
        if self.record is NONE or unsure or self.strangers():
            return False
        return all(self.verify(self._known).values())

    def usable(
        self, wanted: Mapping[str, str]
    ) -> tuple[dict[str, RunRecord], list[str]]:
        """Return the runs that can be taken over, and a note for each that was spoiled.

        Args:
            wanted: the key of each run of the new site.
        """
        same = {
            run_id: record
            for run_id, record in sorted(self.record.runs.items())
            if record.key and record.key == wanted.get(run_id)
        }
        self.verify({path for record in same.values() for path in record.files})
        strange = {_owner(path) for path in self.strangers()} - {""}
        usable, notes = {}, []
        for run_id, record in same.items():
            bad = sorted(path for path in record.files if not self._good[path])
            owned = {_owner(path) for path in record.files}
            if not bad and not owned & strange:
                usable[run_id] = record
                continue
            what = (
                f"{bad[0]} is not what was built" if bad else "files were added to it"
            )
            more = f" (nor are {len(bad) - 1} others)" if len(bad) > 1 else ""
            notes.append(f"Run {run_id} was rendered anew: {what}{more}.")
        return usable, notes

    def verify(self, paths: Iterable[str]) -> dict[str, bool]:
        """Return for each recorded path whether its file is what the record says."""
        paths = list(paths)
        rest = sorted(p for p in paths if p not in self._good)
        there = [p for p in rest if self._found.get(p) == self._known[p].size]
        self._good.update(dict.fromkeys(rest, False))
        batches = [there[i : i + BATCH] for i in range(0, len(there), BATCH)]
        done = 0
        # Hashing lets go of the interpreter's lock, so threads read side by side.
        with ThreadPoolExecutor(cores()) as pool:
            for batch, checked in zip(
                batches, pool.map(self._check, batches), strict=True
            ):
                for path, (good, found) in zip(batch, checked, strict=True):
                    self._good[path] = good
                    self.leaks += found
                done += len(batch)
                self._tell("verifying", done, len(there))
        return {path: self._good[path] for path in paths}

    def _check(self, paths: list[str]) -> list[tuple[bool, list[Leak]]]:
        return [self._check_one(path, self._known[path]) for path in paths]

    def _check_one(self, path: str, mark: Mark) -> tuple[bool, list[Leak]]:
        try:
            opened = open_regular(self.root / path)
            if opened is None:
                return False, []
            with opened:
                if self._inspector is None or not path.endswith(TEXTS):
                    known = hashlib.file_digest(opened, "sha256").hexdigest()
                    return known == mark.sha256, []
                text = opened.read()
        except OSError:
            return False, []
        if hashlib.sha256(text).hexdigest() != mark.sha256:
            return False, []
        return True, leaks(path, text, self._inspector)


def _marker(out: Path) -> bytes:
    """Return the record's bytes, none where it is no regular file."""
    try:
        opened = open_regular(out / MARKER)
        if opened is None:
            return b""
        with opened:
            return opened.read()
    except OSError:
        return b""


def _walk(root: Path) -> tuple[dict[str, int], set[str]]:
    """Return each file's size, -1 for what is none, and the folders; links lead nowhere."""
    files: dict[str, int] = {}
    folders: set[str] = set()
    waiting = [""]
    while waiting:
        folder = waiting.pop()
        try:
            with os.scandir(root / folder) as found:
                entries = list(found)
        except OSError:
            continue
        for entry in entries:
            path = f"{folder}/{entry.name}" if folder else entry.name
            if entry.is_dir(follow_symlinks=False):
                folders.add(path)
                waiting.append(path)
            elif entry.is_file(follow_symlinks=False):
                files[path] = entry.stat(follow_symlinks=False).st_size
            else:
                files[path] = -1
    return files, folders


def _owner(path: str) -> str:
    """Return the folder of a run that a path lies in, '' if it is in none."""
    parts = path.split("/")
    if parts[0] == "runs" and len(parts) > 2:
        return "/".join(parts[:2])
    if parts[:2] == ["data", "runs"] and len(parts) > 3:
        return "/".join(parts[:3])
    return ""
