"""OpenCompass's files: which belong to one model and one data set."""

from __future__ import annotations

import csv
import io
import re
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from helmsite.errors import SourceError
from helmsite.importers import reading

if TYPE_CHECKING:
    from pathlib import Path

    from helmsite.importers.found import Notes
    from helmsite.importers.tree import File, Tree

ANSWERS = (b'"prediction"', b'"origin_prompt"', b'"label: ')
JUDGED = {
    "accuracy",
    "score",
    "details",
    "error",
    "exact_match",
    "f1",
    "rouge1",
    "type",
}
HEADER = ("dataset", "version", "metric", "mode")
STAMP = re.compile(r"\d{8}_\d{6}$")
PART = re.compile(r"(.+)_(\d{1,6})$")
TEMPORARY = "tmp_"


class Key(NamedTuple):
    """A data set that a model was asked in a work folder."""

    root: Path
    model: str
    dataset: str


@dataclass
class Pair:
    """The files of a key: predictions in order (those of a run that stopped apart), results."""

    predictions: list[File] = field(default_factory=list)
    stopped: File | None = None
    results: File | None = None


class Version(NamedTuple):
    """What a summary says of a data set: the hash of its prompt, and how it was asked."""

    version: str
    mode: str


def pairs(tree: Tree, notes: Notes) -> dict[Key, Pair]:
    """Claim predictions and results, and return them by what they are of."""
    found: dict[Key, Pair] = defaultdict(Pair)
    whole: dict[Key, File] = {}
    parts: dict[Key, dict[int, File]] = defaultdict(dict)
    for file in tree.open():
        if not _is_predictions(tree, file):
            continue
        tree.claim(file.path)
        key = _key(file)
        if key.dataset.startswith(TEMPORARY):
            own = key._replace(dataset=key.dataset.removeprefix(TEMPORARY))
            found[own].stopped = file
            continue
        whole[key] = file
        match = PART.match(key.dataset)
        if match:
            parts[key._replace(dataset=match[1])][int(match[2])] = file
    _joined(found, whole, parts)
    roots = {key.root for key in found}
    for file in tree.open():
        if _is_results(tree, file, roots, found):
            tree.claim(file.path)
            found[_key(file)].results = file
    for key, pair in found.items():
        if pair.stopped and pair.predictions:
            why = f"what there was before the end of {key.dataset}"
            notes.skip(pair.stopped.name, why)
            pair.stopped = None
    return found


def _joined(
    found: dict[Key, Pair], whole: dict[Key, File], parts: dict[Key, dict[int, File]]
) -> None:
    """Put files where they belong: `x_0`, `x_1` are parts of x if there is no x."""
    joined: set[Path] = set()
    for key, several in parts.items():
        numbers = sorted(several)
        if key not in whole and numbers == list(range(len(numbers))):
            found[key].predictions = [several[n] for n in numbers]
            joined |= {file.path for file in several.values()}
    for key, file in whole.items():
        if file.path not in joined:
            found[key].predictions = [file]


def _key(file: File) -> Key:
    folder = file.path.parent
    return Key(folder.parent.parent, folder.name, file.path.stem)


def _is_predictions(tree: Tree, file: File) -> bool:
    """Return whether a file holds answers by number: an object, or lines while it goes."""
    suffix = file.path.suffix
    if suffix not in {".json", ".jsonl"}:
        return False
    head = tree.head(file.path)
    keys = tree.keys(file.path)
    if not keys or not any(sign in head for sign in ANSWERS):
        return False
    if suffix == ".jsonl":
        return file.path.name.startswith(TEMPORARY) and keys[0] == "idx"
    return all(key.isascii() and key.isdigit() for key in keys)


def _is_results(
    tree: Tree, file: File, roots: set[Path], known: dict[Key, Pair]
) -> bool:
    if file.path.suffix != ".json" or file.path.parent.parent.name != "results":
        return False
    keys = tree.keys(file.path)
    key = _key(file)
    beside = {"summary", "configs", "predictions"}
    return bool(keys) and (
        key in known
        or key.root in roots
        or bool(JUDGED & set(keys))
        or any((key.root / name).is_dir() for name in beside)
    )


def summaries(tree: Tree, notes: Notes) -> list[tuple[File, dict[str, Version]]]:
    """Claim summaries; return those in CSV with what they say of data sets."""
    found = []
    for file in tree.open():
        if file.path.suffix == ".csv" and _is_summary(tree.head(file.path)):
            tree.claim(file.path)
            try:
                found.append((file, _versions(file)))
            except (SourceError, csv.Error) as error:
                notes.skip(file.name, getattr(error, "why", str(error)))
    folders = {file.path.parent for file, _ in found}
    for file in tree.open():
        if file.path.parent in folders and file.path.suffix in {".txt", ".md"}:
            tree.claim(file.path)
            notes.skip(file.name, "the CSV beside it says the same")
    return found


def leftovers(tree: Tree, roots: set[Path], notes: Notes) -> None:
    """Claim what else is in work folders."""
    for file in tree.open():
        inside = [root for root in roots if root in file.path.parents]
        if not inside:
            continue
        top = file.path.relative_to(max(inside, key=lambda r: len(r.parts))).parts[0]
        if top in {"configs", "logs"}:
            tree.claim(file.path)
            why = "a log" if top == "logs" else "a program: it is not run"
            notes.skip(file.name, why)


def _is_summary(head: bytes) -> bool:
    first = head.removeprefix(b"\xef\xbb\xbf").split(b"\n", 1)[0].strip()
    return first.startswith(",".join(HEADER).encode() + b",")


def _versions(file: File) -> dict[str, Version]:
    rows = csv.reader(io.StringIO(reading.text(reading.blob(file.path), file.name)))
    next(rows, None)
    return {
        row[0]: Version(row[1], row[3])
        for row in rows
        if len(row) > len(HEADER) and row[1] != "-"
    }


def seconds(root: Path) -> float:
    """Return the time that a work folder is named after, 0 if it is named otherwise."""
    if not STAMP.match(root.name):
        return 0.0
    try:
        time = datetime.strptime(root.name, "%Y%m%d_%H%M%S")  # noqa: DTZ007
    except ValueError:
        return 0.0
    return time.replace(tzinfo=UTC).timestamp()
