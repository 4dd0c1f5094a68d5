"""Every question that a page asks of an archive, one method each."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from types import TracebackType

    from helmsite.archive import Archive
    from helmsite.config import SiteConfig
    from helmsite.query.rows import (
        Difference,
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
    )


class Results:
    """An archive's numbers, ready for pages.

    Aggregates are read once into a DuckDB cache, which is rebuilt wherever a manifest
    changed and can be deleted at any time; instances are streamed from the archive.
    Names are true names (`mmlu:subject=x`), never path names. Lists are sorted, so the
    same archive gives the same rows.

    Args:
        archive: where the runs are.
        site: groups of scenarios and pinned methods.
        cache: file of the cache; None keeps it in memory.
    """

    def __init__(self, archive: Archive, site: SiteConfig, cache: Path | None) -> None:
        self._archive = archive
        self._site = site
        self._cache = cache

    def __enter__(self) -> Results:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the cache; calling it twice is fine."""

    def overview(self) -> Overview:
        """Return the site's counts and the digest of the manifests behind them."""
        raise NotImplementedError

    def groups(self) -> tuple[Group, ...]:
        """Return the groups in the site's order; scenarios in none of them come last."""
        raise NotImplementedError

    def leaderboard(self, group: str, family: str = "accuracy") -> Leaderboard:
        """Return models × scenarios of a group for a family of metrics.

        Families: accuracy (each scenario's main metric), calibration, robustness,
        fairness, efficiency, and any other that `Group.families` names. Rows are sorted
        by win rate, best first, models without one last and by name.

        Raises:
            ConfigError: no such group or family; near names are suggested.
        """
        raise NotImplementedError

    def scenarios(self) -> tuple[ScenarioSummary, ...]:
        """Return every scenario with its best main number, sorted by title and name."""
        raise NotImplementedError

    def scenario(self, name: str) -> ScenarioPage:
        """Return one scenario: its models (rows) under its metrics (columns).

        Raises:
            ConfigError: no run of that scenario; near names are suggested.
        """
        raise NotImplementedError

    def models(self) -> tuple[ModelSummary, ...]:
        """Return every model, best accuracy win rate first, then by name."""
        raise NotImplementedError

    def model(self, name: str) -> ModelPage:
        """Return one model: its value and rank on each scenario's main metric.

        Raises:
            ConfigError: no run of that model; near names are suggested.
        """
        raise NotImplementedError

    def runs(self) -> tuple[RunSummary, ...]:
        """Return every run, sorted by scenario, model and run id."""
        raise NotImplementedError

    def run(self, run_id: str) -> RunPage:
        """Return one run with every aggregate of it, in the order of stats.parquet.

        Raises:
            ArchiveError: no such run.
        """
        raise NotImplementedError

    def instances(self, run_id: str) -> Iterator[InstanceView]:
        """Yield a run's instances in order of position, each original before its twins.

        Memory stays flat: one row group of requests is held at a time.

        Raises:
            ArchiveError: no such run.
        """
        raise NotImplementedError

    def instance(self, run_id: str, instance_id: str) -> tuple[InstanceView, ...]:
        """Return one instance of a run: the original first, then its perturbed versions.

        Raises:
            ArchiveError: no such run or instance.
        """
        raise NotImplementedError

    def paired(self, first: str, second: str, metric: str) -> Difference:
        """Return first − second, paired over instances of equal content.

        Args:
            first: id of a run.
            second: id of another run of the same scenario.
            metric: name of a per-instance metric.

        Raises:
            ArchiveError: no such run.
        """
        raise NotImplementedError
