"""The archive of runs: the only code that reads or writes `runs/`.

`Archive(root)` is the door. `docs/archive.md` describes the files, so that they can be
read without helmsite.
"""

from helmsite.archive.archive import Archive
from helmsite.archive.checking import Problem
from helmsite.archive.indexing import Batch, Reindexed
from helmsite.archive.journal import Journal
from helmsite.archive.published import BatchFacts
from helmsite.archive.runs import RunFiles, RunPlaces

__all__ = [
    "Archive",
    "Batch",
    "BatchFacts",
    "Journal",
    "Problem",
    "Reindexed",
    "RunFiles",
    "RunPlaces",
]
