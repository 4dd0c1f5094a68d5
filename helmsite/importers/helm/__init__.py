"""HELM's `benchmark_output`: runs, suites and releases of all ages, and parts of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from helmsite.importers.helm import survey
from helmsite.importers.helm.reading import read

if TYPE_CHECKING:
    from collections.abc import Iterator

    from helmsite.importers.found import Aggregates, Found, Imported, Notes
    from helmsite.importers.tree import Tree

NAME = "helm"


class Helm:
    """Takes run folders: scenario_state.json with its statistics, or what there is of them."""

    title = "HELM"

    def survey(self, tree: Tree, notes: Notes) -> Iterator[Found]:
        """Claim HELM's files and yield its runs."""
        return survey.survey(tree, notes, NAME)

    def read(self, found: Found, notes: Notes) -> Iterator[Imported | Aggregates]:
        """Yield the run of a folder.

        Raises:
            SourceError: nothing of it can be used.
        """
        return read(found, notes)


IMPORTER = Helm()
