"""What a site is built from, as far as the pages ask, and by what means."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from helmsite.query.rows import (
        Group,
        InstanceView,
        Leaderboard,
        ModelPage,
        ModelSummary,
        Overview,
        RunPage,
        RunSummary,
        ScenarioPage,
        ScenarioSummary,
        SourceFile,
        SourcePage,
    )
    from helmsite.render.forecast import Forecast
    from helmsite.render.output import Inspector


class Reader(Protocol):
    """Reads single runs; can be pickled."""

    def page(self, summary: RunSummary) -> RunPage:
        """Return a run's numbers."""

    def instances(self, run_id: str) -> Iterator[InstanceView]:
        """Yield a run's instances, each original before its perturbed versions."""


class Source(Protocol):
    """What a site is built from; `helmsite.query.Results` is one."""

    def overview(self) -> Overview:
        """Return the site's counts and state."""

    def groups(self) -> Sequence[Group]:
        """Return the groups of scenarios."""

    def leaderboard(self, group: str, family: str = ...) -> Leaderboard:
        """Return a leaderboard."""

    def scenarios(self) -> Sequence[ScenarioSummary]:
        """Return every scenario."""

    def scenario(self, name: str) -> ScenarioPage:
        """Return one scenario."""

    def models(self) -> Sequence[ModelSummary]:
        """Return every model."""

    def model(self, name: str) -> ModelPage:
        """Return one model."""

    def runs(self) -> Sequence[RunSummary]:
        """Return every run."""

    def sources(self) -> Sequence[SourceFile]:
        """Return every file of results that came without instances."""

    def source(self, key: str) -> SourcePage:
        """Return all numbers of such a file."""

    def reader(self) -> Reader:
        """Return what reads single runs, also in another process."""


class Means(NamedTuple):
    """How a site is built; none of it changes a byte.

    `workers` is how many processes may render runs (a script that asks for several must
    be safe to import: `if __name__ == "__main__":`). `inspector` looks for credentials in
    every text. `progress` is called with (what, done, of), `told` with the forecast.
    """

    workers: int = 1
    inspector: Inspector | None = None
    progress: Callable[[str, int, int], None] | None = None
    told: Callable[[Forecast], None] | None = None

    def tell(self, what: str, done: int, of: int) -> None:
        """Report progress."""
        if self.progress is not None:
            self.progress(what, done, of)
