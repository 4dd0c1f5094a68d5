"""Runs of an archive → `data/<benchmark>/<developer>/<model>/<uuid>.json` and its samples.

The same run gives the same files. Samples are written before the aggregates that name
them, each file at once; what is there already with the same bytes is left alone.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from helmsite.errors import BuildError
from helmsite.exporters.every_eval_ever import naming
from helmsite.exporters.every_eval_ever.aggregate import aggregate
from helmsite.exporters.every_eval_ever.lines import Lines
from helmsite.exporters.every_eval_ever.results import chosen
from helmsite.schema import Record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from helmsite.archive import Archive, RunFiles
    from helmsite.exporters.every_eval_ever.aggregate import Publisher
    from helmsite.exporters.every_eval_ever.results import Results

    Find = Callable[[bytes], Sequence[str]]

BREAKS = {"\x85": b"\\u0085", "\u2028": b"\\u2028", "\u2029": b"\\u2029"}
"""Characters that JSON allows in texts and readers of lines take for the end of one."""
_BREAKS = {char.encode(): code for char, code in BREAKS.items()}
Fate = Literal["written", "unchanged", "held back"]


class Exported(Record, frozen=True):
    """What became of a run; paths are from the folder that it was exported to.

    `why` says why it is held back, or why there are no samples.
    """

    run_id: str
    model: str
    scenario: str
    fate: Fate
    aggregate: str = ""
    samples: str = ""
    lines: int = 0
    results: int = 0
    why: str = ""
    hidden: dict[str, int] = {}


class _Held(Exception):  # noqa: N818 - no error: a run is not exported
    """A run holds what must not be published."""


def export(
    archive: Archive,
    run_id: str,
    out: Path,
    publisher: Publisher,
    *,
    metrics: Iterable[str] = (),
    find: Find | None = None,
) -> Exported:
    """Write a run's files below a folder.

    Args:
        archive: holds the run.
        run_id: which one.
        out: the folder that holds `data`.
        publisher: who answers for the results.
        metrics: only these; default: all.
        find: names the kinds of credentials in bytes; a run that has any is held back.

    Raises:
        ArchiveError: there is no such run, or it is damaged.
        BuildError: a file cannot be written.
    """
    run = archive.run(run_id)
    manifest = run.manifest
    results = chosen(manifest, run.stats(), metrics)
    place = naming.place(manifest)
    hidden: Counter[str] = Counter()
    is_public = manifest.scenario.publication == "full"
    told = Exported(run_id, manifest.spec.model.name, manifest.spec.scenario, "written")
    changed = False
    details: dict[str, Any] | None = None
    waiting = out / place.folder / f".{place.name}_samples.jsonl.{os.getpid()}.tmp"
    try:
        if is_public:
            details = _write_samples(run, results, waiting, hidden, find)
            if details["total_rows"]:
                details["file_path"] = place.samples
        whole = aggregate(results, publisher, _said(details), hidden)
        raw = _encoded(whole)
        if find and (kinds := find(raw)):
            raise _Held(f"its aggregate file holds {', '.join(kinds)}")
        has_samples = bool(details and details["total_rows"])
        if has_samples:
            changed |= _settle(waiting, out / place.samples)
        changed |= _write(out / place.aggregate, raw)
        if not has_samples:
            changed |= _remove(out / place.samples)
    except _Held as held:
        return _with(told, fate="held back", why=str(held))
    except OSError as error:
        what = f"Cannot write {out / place.folder}: {error.strerror or error}."
        raise BuildError(what, "Choose another folder with --out.") from error
    finally:
        with suppress(OSError):
            waiting.unlink(missing_ok=True)
    return _with(
        told,
        fate="written" if changed else "unchanged",
        aggregate=place.aggregate,
        samples=place.samples if has_samples else "",
        lines=details["total_rows"] if details else 0,
        results=len(results.stats),
        why="" if is_public else "its scenario publishes aggregates only",
        hidden=dict(sorted(hidden.items())),
    )


def _with(told: Exported, **changes: Any) -> Exported:
    return msgspec.structs.replace(told, **changes)


def _said(details: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return what the aggregate file says of samples: of an empty file only the ids."""
    if details is None or details["total_rows"]:
        return details
    return {k: details[k] for k in ("ids", "splits")}


def _write_samples(
    run: RunFiles,
    results: Results,
    path: Path,
    hidden: Counter[str],
    find: Find | None,
) -> dict[str, Any]:
    """Write the samples; return what `detailed_evaluation_results` says of them, and ids."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = Lines(run, results, hidden)
    digest, count = hashlib.sha256(), 0
    with path.open("wb") as file:
        for row in lines:
            raw = _line(row)
            if find and (kinds := find(raw)):
                what = f"sample {row['sample_id']} holds {', '.join(kinds)}"
                raise _Held(what)
            digest.update(raw)
            file.write(raw)
            count += 1
        file.flush()
        os.fsync(file.fileno())
    return {
        "format": "jsonl",
        "hash_algorithm": "sha256",
        "checksum": digest.hexdigest(),
        "total_rows": count,
        "ids": lines.ids,
        "splits": list(lines.splits),
    }


def _line(row: dict[str, Any]) -> bytes:
    """Return a line of JSON without any other line break."""
    raw = msgspec.json.encode(row)
    for char, code in _BREAKS.items():
        if char in raw:
            raw = raw.replace(char, code)
    return raw + b"\n"


def _encoded(whole: dict[str, Any]) -> bytes:
    text = json.dumps(whole, ensure_ascii=False, allow_nan=False, indent=2)
    return text.encode("utf-8") + b"\n"


def _write(path: Path, raw: bytes) -> bool:
    """Write a file at once; say whether that changed anything."""
    with suppress(OSError):
        if path.read_bytes() == raw:
            return False
    path.parent.mkdir(parents=True, exist_ok=True)
    waiting = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with waiting.open("wb") as file:
            file.write(raw)
            file.flush()
            os.fsync(file.fileno())
        waiting.replace(path)
    finally:
        waiting.unlink(missing_ok=True)
    return True


def _settle(waiting: Path, path: Path) -> bool:
    """Give a written file its name; say whether that changed anything."""
    if path.is_file() and _digest(path) == _digest(waiting):
        return False
    waiting.replace(path)
    return True


def _digest(path: Path) -> bytes:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").digest()


def _remove(path: Path) -> bool:
    """Delete samples of an earlier export that are not published any more."""
    if not path.is_file():
        return False
    path.unlink()
    return True
