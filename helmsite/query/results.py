"""Every question that a page asks of an archive, one method each."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from helmsite.errors import ArchiveError, suggest
from helmsite.query import board, parts, ranking
from helmsite.query.cache import open_cache
from helmsite.query.index import ACCURACY, Index, newest
from helmsite.query.outcomes import Outcomes
from helmsite.query.reader import Reader
from helmsite.query.rows import (
    Column,
    Leaderboard,
    ModelPage,
    ModelSummary,
    Overview,
    RunSummary,
    ScenarioPage,
    ScenarioSummary,
)
from helmsite.query.sourcepages import SourcePages
from helmsite.query.summaries import Summaries
from helmsite.query.views import instance_views, one_instance

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
        RunPage,
        SourceFile,
        SourcePage,
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
        self._connection = open_cache(archive, cache)
        batches = [(b, archive.published_facts(b)) for b in archive.batches()]
        self._index = Index(self._connection, archive.manifests(), site, batches)
        self._outcomes = Outcomes(self._connection, archive)
        self._summaries = Summaries(self._connection, self._index)

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
        self._connection.close()

    def overview(self) -> Overview:
        """Return the site's counts and the digest of the manifests behind them."""
        index = self._index
        counts = [manifest.counts.asked for manifest in index.manifests.values()]
        sizes = self._summaries.sizes
        return Overview(
            n_models=len(index.cards),
            n_scenarios=len(index.scenarios),
            n_runs=len(index.manifests),
            n_instances=sum(n for n, _ in sizes.values()),
            n_requests=sum(counts),
            state=self._archive.state(),
            newest=max(map(newest, index.manifests.values()), default=0.0) or None,
        )

    def groups(self) -> tuple[Group, ...]:
        """Return the groups in the site's order; scenarios in none of them come last."""
        return self._index.groups

    def leaderboard(self, group: str, family: str = "accuracy") -> Leaderboard:
        """Return models × scenarios of a group for a family of metrics.

        Families: accuracy (each scenario's main metric), calibration, robustness,
        fairness, efficiency, and any other that `Group.families` names. Rows are sorted
        by win rate, best first, models without one last and by name.

        Raises:
            ConfigError: no such group or family; near names are suggested.
        """
        index = self._index
        found = index.group(group)
        index.check("family", family, found.families or (ACCURACY,))
        columns = index.group_columns(found, family)
        outcomes = self._outcomes if family == ACCURACY else None
        rows = board.rows(self._connection, index, columns, outcomes)
        return Leaderboard(group, family, tuple(columns), rows)

    def scenarios(self) -> tuple[ScenarioSummary, ...]:
        """Return every scenario with its best main number, sorted by title and name."""
        index = self._index
        groups: dict[str, list[str]] = {name: [] for name in index.scenarios}
        for group in index.groups:
            for name in group.scenarios:
                groups[name].append(group.name)
        return tuple(
            self._summaries.scenario(facts, groups[name])
            for name, facts in index.scenarios.items()
        )

    def scenario(self, name: str) -> ScenarioPage:
        """Return one scenario: its models (rows) under its metrics (columns).

        All numbers of a row are of one run, the one that fills its main metric.

        Raises:
            ConfigError: no run of that scenario; near names are suggested.
        """
        index = self._index
        index.check("scenario", name, index.scenarios)
        columns, rows = self._summaries.table(name)
        runs = self._summaries.of_scenario[name]
        page = ScenarioPage(
            facts=index.scenarios[name],
            metrics=tuple({c.metric.name: c.metric for c in columns}.values()),
            rows=rows,
            columns=columns,
            runs=runs,
            main_metric=index.main_metric(name),
            courses=self._summaries.alternatives.of_scenario(name),
        )
        return parts.completed(page, self._archive, self._summaries.parts)

    def models(self) -> tuple[ModelSummary, ...]:
        """Return every model, best accuracy win rate first, then by name."""
        index = self._index
        rows = {r.card.name: r for r in self._summaries.everything}
        found = [
            self._summaries.model(card, rows.get(name))
            for name, card in index.cards.items()
        ]
        return tuple(sorted(found, key=_by_rate))

    def model(self, name: str) -> ModelPage:
        """Return one model: its value and rank on each scenario's main metric.

        Raises:
            ConfigError: no run of that model; near names are suggested.
        """
        index = self._index
        index.check("model", name, index.cards)
        known = self._summaries
        columns, variants = known.alternatives.of_model(name)
        return ModelPage(
            index.cards[name],
            known.results(name),
            known.of_model[name],
            columns,
            variants,
            known.n_sources[name],
        )

    def sources(self) -> tuple[SourceFile, ...]:
        """Return every file of results that came without instances, by batch and name."""
        return tuple(self._index.sources.values())

    def source(self, key: str) -> SourcePage:
        """Return all numbers of such a file.

        Raises:
            ConfigError: there is none of that key.
        """
        return self._sources.page(key)

    def runs(self) -> tuple[RunSummary, ...]:
        """Return every run, sorted by scenario, model and run id."""
        return self._summaries.runs

    def run(self, run_id: str) -> RunPage:
        """Return one run with every aggregate of it, in the order of stats.parquet.

        Raises:
            ArchiveError: no such run.
        """
        known = self._index.manifests
        if self._archive.manifest(run_id).run_id not in known:
            raise ArchiveError(
                f"Run {run_id} came after the aggregates were read.",
                "Type the same command again.",
            )
        return self._reader.page(self._summaries.summary(known[run_id]))

    def instances(self, run_id: str) -> Iterator[InstanceView]:
        """Yield a run's instances in order of position, each original before its twins.

        Memory stays flat: a few megabytes of rows are held at a time.

        Raises:
            ArchiveError: no such run.
        """
        return instance_views(self._archive.run(run_id))

    def reader(self) -> Reader:
        """Return what reads single runs; it can be pickled for another process."""
        return self._reader

    def instance(self, run_id: str, instance_id: str) -> tuple[InstanceView, ...]:
        """Return one instance of a run: the original first, then its perturbed versions.

        Raises:
            ArchiveError: no such run or instance.
        """
        found = one_instance(self._archive.run(run_id), instance_id)
        if not found:
            known = self._archive.table(run_id, "instances", ["instance_id"])[0]
            near = suggest(instance_id, known.unique().to_pylist())
            raise ArchiveError(
                f"Run {run_id} has no instance {instance_id!r}.{near}",
                f"`helmsite ls runs` lists runs; ids look like {known[0].as_py()!r}."
                if len(known)
                else "The run holds no instance at all.",
            )
        return found

    def paired(self, first: str, second: str, metric: str) -> Difference:
        """Return first − second, paired over instances of equal content.

        Args:
            first: id of a run.
            second: id of another run of the same scenario.
            metric: name of a per-instance metric.

        Raises:
            ArchiveError: no such run.
        """
        manifests = [self._archive.manifest(run_id) for run_id in (first, second)]
        index, name = self._index, manifests[0].scenario.name
        known = index.metrics[name]
        index.check("metric", metric, known)
        column = Column(index.scenarios[name], known[metric], index.splits[name])
        return self._outcomes.paired(first, second, column)

    @cached_property
    def _sources(self) -> SourcePages:
        return SourcePages(self._connection, self._index)

    @cached_property
    def _reader(self) -> Reader:
        return Reader(self._archive.places())


def _by_rate(model: ModelSummary) -> tuple[float, str]:
    rate = -1.0 if model.win_rate is None else ranking.rounded(model.win_rate)
    return -rate, model.card.name
