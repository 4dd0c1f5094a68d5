"""Results of other tools, as they lie on disk → the records of an archive.

Each takes what one tool writes, and is a `found.Importer`. Another package adds one by an
entry point of the group `helmsite.importers`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from helmsite.importers.found import (
    Aggregates,
    Found,
    Imported,
    Importer,
    Notes,
    Problem,
)
from helmsite.importers.tree import Tree
from helmsite.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = [
    "Aggregates",
    "Found",
    "Imported",
    "Importer",
    "Notes",
    "Problem",
    "Tree",
    "load",
    "names",
    "survey",
]

BUILTIN: dict[str, str] = {
    "helm": "helmsite.importers.helm:IMPORTER",
    "inspect": "helmsite.importers.inspect_log:IMPORTER",
    "helmet": "helmsite.importers.helmet:IMPORTER",
    "lm_eval": "helmsite.importers.lm_eval:IMPORTER",
    "every_eval_ever": "helmsite.importers.every_eval_ever.importer:IMPORTER",
    "lighteval": "helmsite.importers.lighteval.importer:IMPORTER",
    "opencompass": "helmsite.importers.opencompass.importer:IMPORTER",
    "table": "helmsite.importers.table.importer:IMPORTER",
}
"""In the order in which they are asked; those of other packages come after them."""

LAST = "table"
"""It takes what is shaped like a table, whoever wrote it."""

REGISTRY = Registry("importer", BUILTIN)


def names() -> tuple[str, ...]:
    """Return the importers' names in the order in which they are asked."""
    found = dict.fromkeys([*BUILTIN, *REGISTRY.table()])
    return (*(n for n in found if n != LAST), *(n for n in found if n == LAST))


def load(name: str) -> Importer:
    """Return an importer.

    Raises:
        ConfigError: there is none of that name.
    """
    return cast("Importer", REGISTRY.load(name))


def survey(tree: Tree, notes: Notes, chosen: Sequence[str] = ()) -> Iterator[Found]:
    """Yield the runs in a tree; what no importer recognises is skipped with a reason.

    Args:
        tree: the files.
        notes: is told of problems and of what is left out.
        chosen: only these importers; default: all.
    """
    for name in chosen or names():
        yield from load(name).survey(tree, notes)
    for file in tree.open():
        notes.skip(file.name, "no importer recognises it")
