"""Results of lm-evaluation-harness, from its 0.3 to its latest layout."""

from __future__ import annotations

from typing import TYPE_CHECKING

from helmsite.importers.lm_eval import layout
from helmsite.importers.lm_eval.runs import aggregates, run

if TYPE_CHECKING:
    from collections.abc import Iterator

    from helmsite.importers.found import Aggregates, Found, Imported, Notes
    from helmsite.importers.tree import Tree


class LmEval:
    """A task of one results file is a run; what has no samples becomes aggregates."""

    title = "lm-evaluation-harness"

    def survey(self, tree: Tree, notes: Notes) -> Iterator[Found]:
        """Claim results and samples; yield a find for each task, and one for what is left."""
        yield from layout.survey(tree, notes)

    def read(self, found: Found, notes: Notes) -> Iterator[Imported | Aggregates]:
        """Yield the run of a task, or the aggregates of a results file.

        Raises:
            SourceError: nothing of it can be used.
        """
        if found.options.get("samples"):
            yield run(found, notes)
        else:
            yield aggregates(found, notes)


IMPORTER = LmEval()
