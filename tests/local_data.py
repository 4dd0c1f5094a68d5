"""Which file of the reference folder stands where a scenario looks for its data.

`lay_out` makes a data folder for scenarios out of ../shared/data/raw: the right side is
relative to that folder. A test that runs a scenario over it reads real records, though
often not all of them.
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

BOOLQ = {
    "boolq/train.jsonl": "boolq/train_first300.jsonl",
    "boolq/dev.jsonl": "boolq/dev.jsonl",
    "boolq/boolq_perturbed.json": "boolq/boolq_perturbed.json",
}
PLACES: dict[str, str] = {**BOOLQ}


def lay_out(raw: Path, folder: Path, places: Mapping[str, str] = PLACES) -> Path:
    """Copy the files of `places` (and folders, whole) to where scenarios look for them."""
    for target, source in sorted(places.items()):
        place = folder / target
        place.parent.mkdir(parents=True, exist_ok=True)
        if (raw / source).is_dir():
            shutil.copytree(raw / source, place, dirs_exist_ok=True)
        else:
            shutil.copyfile(raw / source, place)
    return folder
