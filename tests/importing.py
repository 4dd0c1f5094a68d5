"""What tests of importers share: an import into a fresh archive, and files gone wrong."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any, NamedTuple

from hypothesis import strategies as st

from helmsite.archive import Archive
from helmsite.config import load_project
from helmsite.run.imported import Wish
from helmsite.run.importing import Import, Report, Survey, survey

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from helmsite.schema import Manifest

ODD: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 3, 2**31, 2**63, 10**400, 1.5, -0.0),
    *(math.nan, math.inf, -math.inf, "", " ", "NaN", "3", "\ud800", "\x00", "ä", "🦜"),
    *([], [[]], [None], {}, {"": None}, {"a": 1}),
)
ENCODINGS = ("utf-8-sig", "utf-16", "utf-32", "latin-1", "utf-16-le")


class Brought(NamedTuple):
    """What an import found, what it did, and the archive."""

    survey: Survey
    report: Report
    archive: Archive

    @property
    def runs(self) -> tuple[Manifest, ...]:
        return self.archive.manifests()


def bring(
    paths: Sequence[Path], place: Path, wish: Wish | None = None, workers: int = 1
) -> Brought:
    """Import files and folders into the archive at `place`, which may be there already."""
    found = survey(paths)
    archive = Archive(place)
    project = load_project(place.parent)
    report = Import(archive, project, wish or Wish(), workers).take(found.found)
    report.notes.skipped |= found.notes.skipped
    report.notes.problems += found.notes.problems
    return Brought(found, report, archive)


def accounted(brought: Brought, paths: Sequence[Path]) -> set[str]:
    """Return the names of files that nobody says anything about: there should be none."""
    told = set(brought.report.notes.skipped)
    told |= {name for found in brought.survey.found for name in found.names}
    names = set()
    for path in paths:
        inside = (
            [p for p in path.rglob("*") if p.is_file()] if path.is_dir() else [path]
        )
        root = path if path.is_dir() else path.parent
        names |= {p.relative_to(root).as_posix() for p in inside}
    return names - told


def leaves(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the paths of all values in JSON data, the whole first."""
    found = [path]
    inner = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, each in inner:
        found += leaves(each, (*path, key))
    return found


def changed(
    value: Any, path: tuple[Any, ...], change: Callable[[Any, Any], None]
) -> Any:
    """Return a copy of JSON data with the value at a path changed in its container."""
    copy = json.loads(json.dumps(value))
    if not path:
        return copy
    inside = copy
    for key in path[:-1]:
        inside = inside[key]
    change(inside, path[-1])
    return copy


@st.composite
def mutants(draw: st.DrawFn, raw: bytes) -> bytes:
    """Return a JSON or JSONL file that went wrong in one way, as bytes.

    A field is dropped, given twice, or has another type; the file is cut, is in another
    encoding, or has some bytes that are noise.
    """
    how = draw(
        st.sampled_from(
            ["drop", "odd", "odd", "odd", "cut", "encoding", "noise", "same"]
        )
    )
    if how == "cut":
        return raw[: draw(st.integers(0, len(raw)))]
    if how == "encoding":
        text = raw.decode("utf-8", "replace")
        return text.encode(draw(st.sampled_from(ENCODINGS)), "replace")
    if how == "noise":
        at = draw(st.integers(0, max(0, len(raw) - 1)))
        return raw[:at] + draw(st.binary(min_size=1, max_size=4)) + raw[at + 1 :]
    if how == "same":
        return raw
    lines = raw.splitlines()
    whole = not _is_lines(lines)
    at = 0 if whole else draw(st.integers(0, len(lines) - 1))
    value = json.loads(raw if whole else lines[at])
    path = draw(st.sampled_from(leaves(value)))
    odd = draw(st.sampled_from(ODD))

    def change(inside: Any, key: Any) -> None:
        if how == "drop":
            del inside[key]
        else:
            inside[key] = odd

    if path:
        new = json.dumps(changed(value, path, change))
    else:
        new = json.dumps(odd) if how == "odd" else ""
    blob = new.encode("utf-8", "surrogatepass")
    if whole:
        return blob
    return b"\n".join([*lines[:at], blob, *lines[at + 1 :]]) + b"\n"


def _is_lines(lines: list[bytes]) -> bool:
    try:
        return len(lines) > 1 and all(
            isinstance(json.loads(each), dict) for each in lines[:2]
        )
    except ValueError:
        return False
