"""IMDB reviews with their contrast set."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from helmsite.errors import ScenarioError
from helmsite.scenarios.loaders import Loader
from helmsite.scenarios.loaders.texts import as_read
from helmsite.schema import CORRECT_TAG, TRAIN, VALID, Instance, Reference

if TYPE_CHECKING:
    from collections.abc import Iterator

    from helmsite.scenarios.files import Files

    Contrast = dict[str, tuple[str, str]]

CLASSES = {"pos": "Positive", "neg": "Negative"}
FOLDERS = {TRAIN: "train", VALID: "test"}
ORDER = "order"
SORTED = (
    "The order of the reviews is that of their file names, not HELM's pinned one: "
    "other instances are drawn than in HELM's own runs."
)


def load(files: Files, *, only_contrast: bool) -> Iterator[Instance]:
    """Yield the reviews; one that has a contrast version is valid, wherever it stood.

    HELM pins the order of the files. Where its list is not at hand they are sorted.
    """
    contrast = _contrast(files, "test") | _contrast(files, "dev")
    order = files.json(ORDER) if ORDER in files else None
    if order is None:
        files.note(SORTED)
    for split, folder in FOLDERS.items():
        for kind, label in CLASSES.items():
            name = f"{folder}_{kind}"
            listed = _listed(order, split, kind) if order is not None else None
            for text in _reviews(files, name, listed):
                other = contrast.get(text)
                if other is None and only_contrast and split == VALID:
                    continue
                yield _instance(text, label, split, other)


def _instance(
    text: str, label: str, split: str, other: tuple[str, str] | None
) -> Instance:
    references = (Reference(label, (CORRECT_TAG,)),)
    if other is None:
        return Instance("", text, references, split=split)
    changed, answer = other
    item = {"input": changed, "references": [[answer, [CORRECT_TAG]]]}
    return Instance("", text, references, split=VALID, extra={"contrast": [item]})


def _reviews(files: Files, name: str, listed: list[str] | None) -> Iterator[str]:
    if listed is None:
        texts = (text for _, text in files.texts(name))
    else:
        texts = (files.text(f"{name}/{file}") for file in listed)
    for text in texts:
        yield as_read(text).strip()


def _listed(order: object, split: str, kind: str) -> list[str]:
    found = order.get(split) if isinstance(order, dict) else None
    names = found.get(kind) if isinstance(found, dict) else None
    if not isinstance(names, list) or not all(isinstance(n, str) for n in names):
        raise ScenarioError(
            f"{ORDER}: has no list of files for {split}, {kind}.",
            'It is an object: {"train": {"pos": [...], "neg": [...]}, "valid": ...}.',
        )
    return names


def _contrast(files: Files, part: str) -> Contrast:
    """Return, by original review, its changed version and that one's label."""
    originals = list(_lines(files, f"{part}_original"))
    changed = list(_lines(files, f"{part}_contrast"))
    if len(originals) != len(changed):
        raise ScenarioError(
            f"{part}_contrast: {len(changed)} reviews for {len(originals)} originals.",
            "Both files of a pair must be whole.",
        )
    pairs = zip(originals, changed, strict=True)
    return {text: (new, label) for (_, text), (label, new) in pairs}


def _lines(files: Files, name: str) -> Iterator[tuple[str, str]]:
    """Yield label and text of each line after the first, which names the columns."""
    lines = io.StringIO(files.text(name), newline=None).readlines()
    for number, line in enumerate(lines[1:], start=2):
        parts = line.strip().split("\t")
        if len(parts) != 2 or parts[0] not in CLASSES.values():
            raise ScenarioError(
                f"{name}, line {number}: is not a label, a tab and a review.",
                f"Labels are {' and '.join(CLASSES.values())}.",
            )
        yield parts[0], parts[1]


IMDB = Loader(version=1, load=load)
