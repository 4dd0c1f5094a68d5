"""Where things stand in an archive: Hive paths that every file system can hold."""

from __future__ import annotations

import hashlib
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from helmsite.errors import ArchiveError

if TYPE_CHECKING:
    from helmsite.schema import Manifest

MANIFEST = "run.json"
CATALOGUE = "_catalogue"
INCOMING = "_incoming"
JOURNAL = "_journal"
LONGEST = 120
_SAFE_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,119}")


def encode(value: str) -> str:
    """Return a path value: percent-encoded, cut to 120 bytes with a hash if longer.

    Raises:
        ArchiveError: the value is empty or not valid Unicode.
    """
    try:
        whole = quote(value, safe="")
    except UnicodeError as error:
        raise ArchiveError(
            f"The name {value!a} is not valid Unicode.", "Choose another name."
        ) from error
    if not whole:
        raise ArchiveError(
            "A suite, scenario or model has an empty name.", "Give it a name."
        )
    if len(whole) <= LONGEST:
        return whole
    digest = hashlib.sha256(value.encode()).hexdigest()[:16]
    head = ""
    for piece in (quote(character, safe="") for character in value):
        if len(head) + len(piece) > LONGEST - 17:
            break  # between characters: readers decode the value as UTF-8
        head += piece
    return f"{head}~{digest}"


def is_safe_id(run_id: str) -> bool:
    """Whether a run_id can be a file name."""
    return _SAFE_ID.fullmatch(run_id) is not None


def safe_id(run_id: str) -> str:
    """Return the run_id if it can be a file name.

    Raises:
        ArchiveError: it holds something else than A-Z a-z 0-9 . _ -
    """
    if not is_safe_id(run_id):
        raise ArchiveError(
            f"{run_id!r} cannot be the id of a run.",
            "An id is made of letters, digits, '.', '_' and '-'; schema.run_id makes one.",
        )
    return run_id


def run_path(manifest: Manifest) -> str:
    """Return the folder of a run, relative to the archive."""
    return "/".join((
        f"suite={encode(manifest.suite)}",
        f"scenario={encode(manifest.spec.scenario)}",
        f"model={encode(manifest.spec.model.name)}",
        f"run={safe_id(manifest.run_id)}",
    ))  # fmt: skip


def published_path(suite: str, batch: str) -> str:
    """Return the file of a batch of published results, relative to the archive."""
    return f"suite={encode(suite)}/published/{encode(batch)}.parquet"


def user_cache() -> Path:
    """Return the user's cache folder for helmsite, as the system has it."""
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData/Local"))
    elif sys.platform == "darwin":
        base = Path.home() / "Library/Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "helmsite"


def cache_folder(place: str, cache: Path | None) -> Path:
    """Return a folder, in `cache` or the user's, for what belongs to one archive.

    It is never inside an archive: one from elsewhere brings no cache along.
    """
    key = hashlib.sha256(place.rstrip("/").encode()).hexdigest()[:16]
    return (cache or user_cache()) / key
