"""Where a scenario's data may be: a file from somebody else reads nothing but its own."""

from __future__ import annotations

import os
import re
import stat
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from helmsite.errors import ScenarioError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

DATA = "data"
SIGNS = re.compile(r"[*?]")


def cache_folder() -> Path:
    """Return where data is kept that was fetched."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path("~/.cache").expanduser())
    return Path(base) / "helmsite" / DATA


def data_folders(
    path: Path, search: Iterable[Path], more: Sequence[Path] = ()
) -> tuple[Path, ...]:
    """Return the folders whose files a scenario file may read, all resolved.

    They are the folder of scenarios that it is found in, the folder `data` beside that
    one, and what the project allows besides.
    """
    homes = [folder for folder in search if path.is_relative_to(folder)]
    homes = [folder.resolve() for folder in homes or [path.parent]]
    beside = [folder.parent / DATA for folder in homes]
    return tuple(folder.resolve() for folder in (*homes, *beside, *more))


def split_pattern(path: str) -> tuple[str, str]:
    """Return the folder of a path before its first `*` or `?`, and the rest."""
    parts = PurePosixPath(path).parts
    first = next((i for i, part in enumerate(parts) if SIGNS.search(part)), len(parts))
    return str(PurePosixPath(*parts[:first])), "/".join(parts[first:])


def data_place(folder: Path, name: str, allowed: Sequence[Path]) -> Path:
    """Return where a scenario's file or folder is: beside its YAML, or in a data folder.

    Raises:
        ScenarioError: it is outside the allowed folders, links followed, or no file.
    """
    for home in (folder, *allowed):
        with suppress(OSError, ValueError):  # a name that no file can have
            if (home / name).exists():
                return data_file(home, name, allowed)
    return data_file(folder, name, allowed)


def data_file(folder: Path, name: str, allowed: Sequence[Path]) -> Path:
    """Return the path of a scenario's data file.

    Raises:
        ScenarioError: it is outside the allowed folders, links followed, or no file.
    """
    path = folder / name
    try:
        real = path.resolve()
        inside = any(real.is_relative_to(each) for each in allowed)
        kind = real.stat().st_mode if inside and real.exists() else None
    except (OSError, ValueError, RuntimeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ScenarioError(
            f"{path}: cannot be read: {reason}.", "Check it."
        ) from error
    if not inside:
        raise ScenarioError(
            f"{path}: is outside the folders that this scenario may read.",
            "Put it beside the scenario's YAML file or into the folder 'data' beside the "
            "folder of scenarios, or allow its folder in helmsite.toml: "
            '[scenarios] data = ["/data/sets"].',
        )
    if kind is not None and not (stat.S_ISREG(kind) or stat.S_ISDIR(kind)):
        raise ScenarioError(
            f"{path}: is a device or a pipe, not a file.", "Copy its rows into a file."
        )
    return path


def files_below(
    folder: Path, pattern: str, allowed: Sequence[Path]
) -> Iterator[tuple[str, Path]]:
    """Yield relative path and place of each file of a folder, sorted by parts.

    Raises:
        ScenarioError: one of them leads out of the allowed folders.
    """
    found = folder.glob(pattern) if pattern else folder.rglob("*")
    for path in sorted(p for p in found if not p.is_dir()):
        inside = path.relative_to(folder).as_posix()
        if not inside.endswith((".lock", ".part", ".origin.json")):
            yield inside, data_file(folder, inside, allowed)
