"""Single runs for pages, readable in a process of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from helmsite.query import disparity
from helmsite.query.rows import RunPage
from helmsite.query.views import first_request, instance_views
from helmsite.schema import preset

if TYPE_CHECKING:
    from collections.abc import Iterator

    from helmsite.archive import RunPlaces
    from helmsite.query.rows import InstanceView, RunSummary


class Reader:
    """Reads a run's page and its instances; opens neither the cache nor the catalogue.

    It can be pickled: a worker process gets one and is told which runs to read.
    """

    def __init__(self, places: RunPlaces) -> None:
        self._places = places

    def page(self, summary: RunSummary) -> RunPage:
        """Return a run with every aggregate of it, in the order of stats.parquet.

        Raises:
            ArchiveError: the run is gone or damaged.
        """
        manifest = summary.manifest
        run = self._places.open(manifest.run_id, manifest)
        stats = tuple(run.stats())
        return RunPage(
            summary=summary,
            stats=stats,
            defaults=preset(manifest.spec.adapter.method),
            example=first_request(run),
            gaps=disparity.of_run(stats, manifest.metrics),
        )

    def instances(self, run_id: str) -> Iterator[InstanceView]:
        """Yield a run's instances in order of position, each original before its twins.

        Memory stays flat: a few megabytes of rows are held at a time.

        Raises:
            ArchiveError: no such run, or it is damaged.
        """
        return instance_views(self._places.open(run_id))
