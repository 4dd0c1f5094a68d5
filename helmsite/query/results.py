"""Every question that a page asks of an archive, one method each."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from helmsite.errors import ArchiveError, suggest
from helmsite.query import board, ranking
from helmsite.query.cache import open_cache
from helmsite.query.index import ACCURACY, Index, newest
from helmsite.query.outcomes import Outcomes
from helmsite.query.reader import Reader
from helmsite.query.rows import (
    Cell,
    Column,
    Leaderboard,
    LeaderboardRow,
    ModelPage,
    ModelResult,
    ModelSummary,
    Overview,
    RunSummary,
    ScenarioPage,
    ScenarioSummary,
)
from helmsite.query.views import first_request, instance_views, one_instance

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path
    from types import TracebackType

    from helmsite.archive import Archive
    from helmsite.config import SiteConfig
    from helmsite.query.rows import Difference, Group, InstanceView, RunPage
    from helmsite.schema import Manifest, ModelCard, Request, ScenarioFacts


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
        self._index = Index(self._connection, archive.manifests(), site)
        self._outcomes = Outcomes(self._connection, archive)

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
        sizes = self._sizes
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
        columns = [c for s in found.scenarios for c in index.columns(s, family)]
        outcomes = self._outcomes if family == ACCURACY else None
        rows = board.rows(self._connection, index, columns, outcomes)
        return Leaderboard(group, family, tuple(columns), rows)

    def scenarios(self) -> tuple[ScenarioSummary, ...]:
        """Return every scenario with its best main number, sorted by title and name."""
        index = self._index
        groups = index.groups
        return tuple(
            self._scenario_summary(
                facts, [g.name for g in groups if name in g.scenarios]
            )
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
        offered = index.metric_columns(name)
        columns, rows = board.scenario_rows(self._connection, index, offered)
        runs = self._summaries(lambda manifest: manifest.scenario.name == name)
        return ScenarioPage(
            facts=index.scenarios[name],
            metrics=tuple({c.metric.name: c.metric for c in columns}.values()),
            rows=rows,
            columns=columns,
            runs=runs,
            example=self._example(runs),
        )

    def models(self) -> tuple[ModelSummary, ...]:
        """Return every model, best accuracy win rate first, then by name."""
        index = self._index
        rows = {r.card.name: r for r in self._everything}
        found = [
            self._model_summary(card, rows.get(name))
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
        columns, rows = self._main_columns, self._everything
        own = next((row.cells for row in rows if row.card.name == name), ())
        results = []
        for place, (column, cell) in enumerate(zip(columns, own, strict=False)):
            values = [row.cells[place].value for row in rows]
            rank, of = ranking.place(cell.value, values, column.metric.higher_is_better)
            if cell.run_id:
                results.append(ModelResult(column, cell, rank, of))
        runs = self._summaries(lambda manifest: manifest.spec.model.name == name)
        return ModelPage(index.cards[name], tuple(results), runs)

    def runs(self) -> tuple[RunSummary, ...]:
        """Return every run, sorted by scenario, model and run id."""
        return self._summaries(lambda _: True)

    def run(self, run_id: str) -> RunPage:
        """Return one run with every aggregate of it, in the order of stats.parquet.

        Raises:
            ArchiveError: no such run.
        """
        self._archive.manifest(run_id)
        (summary,) = self._summaries(lambda m: m.run_id == run_id)
        return self._reader.page(summary)

    def instances(self, run_id: str) -> Iterator[InstanceView]:
        """Yield a run's instances in order of position, each original before its twins.

        Memory stays flat: a few hundred rows are held at a time.

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
    def _reader(self) -> Reader:
        return Reader(self._archive.places())

    @cached_property
    def _sizes(self) -> dict[str, tuple[int, int]]:
        """Instances and trials of each run."""
        rows = self._connection.execute(
            "SELECT run_id, n_instances, n_trials FROM run ORDER BY run_id"
        ).fetchall()
        return {run_id: (n, trials) for run_id, n, trials in rows}

    @cached_property
    def _main_columns(self) -> tuple[Column, ...]:
        """Every scenario's main number."""
        index = self._index
        return tuple(c for s in index.scenarios for c in index.columns(s, ACCURACY))

    @cached_property
    def _everything(self) -> tuple[LeaderboardRow, ...]:
        """Every scenario's main number for every model."""
        return board.rows(self._connection, self._index, self._main_columns, None)

    @cached_property
    def _mains(self) -> dict[str, list[Cell]]:
        """The main number of every run, also of those that fill no cell."""
        return board.cells(self._connection, self._main_columns, by_run=True)

    def _summaries(self, wanted: Callable[[Manifest], bool]) -> tuple[RunSummary, ...]:
        found = [
            self._summary(manifest)
            for manifest in self._index.manifests.values()
            if wanted(manifest)
        ]
        return tuple(sorted(found, key=_by_names))

    def _summary(self, manifest: Manifest) -> RunSummary:
        run_id, scenario = manifest.run_id, manifest.scenario.name
        n_instances, n_trials = self._sizes[run_id]
        unmeasured = Cell(missing="not measurable", run_id=run_id)
        main = [c for c in self._mains.get(run_id, ()) if c.run_id == run_id]
        return RunSummary(
            manifest=manifest,
            main=main[0] if main else unmeasured,
            main_metric=self._index.main_metric(scenario),
            n_instances=n_instances,
            n_trials=n_trials or manifest.spec.adapter.num_trials,
        )

    def _scenario_summary(
        self, facts: ScenarioFacts, groups: Sequence[str]
    ) -> ScenarioSummary:
        places = {c.scenario.name: n for n, c in enumerate(self._main_columns)}
        manifests = [
            m for m in self._index.manifests.values() if m.scenario.name == facts.name
        ]
        place = places.get(facts.name)
        best, best_model = Cell(missing="not measurable"), ""
        if place is not None:
            direction = self._main_columns[place].metric.higher_is_better
            cells = {r.card.name: r.cells[place] for r in self._everything}
            best_model = ranking.leader(
                {m: c.value for m, c in cells.items()}, direction
            )
            best = cells.get(best_model, best)
        return ScenarioSummary(
            facts=facts,
            main_metric=self._index.main_metric(facts.name),
            best=best,
            best_model=best_model,
            n_models=len({m.spec.model.name for m in manifests}),
            n_runs=len(manifests),
            n_instances=max(self._sizes[m.run_id][0] for m in manifests),
            groups=tuple(groups),
        )

    def _model_summary(
        self, card: ModelCard, row: LeaderboardRow | None
    ) -> ModelSummary:
        manifests = [
            m for m in self._index.manifests.values() if m.spec.model.name == card.name
        ]
        return ModelSummary(
            card=card,
            n_scenarios=len({m.scenario.name for m in manifests}),
            n_runs=len(manifests),
            win_rate=row.win_rate if row else None,
            win_rate_columns=row.win_rate_columns if row else 0,
        )

    def _example(self, runs: Sequence[RunSummary]) -> Request | None:
        """Return the first request of the newest run that has one."""
        for run in sorted(runs, key=lambda r: -newest(r.manifest)):
            request = first_request(self._archive.run(run.manifest.run_id))
            if request is not None:
                return request
        return None


def _by_names(run: RunSummary) -> tuple[str, str, str]:
    manifest = run.manifest
    return manifest.scenario.name, manifest.spec.model.name, manifest.run_id


def _by_rate(model: ModelSummary) -> tuple[float, str]:
    rate = -1.0 if model.win_rate is None else ranking.rounded(model.win_rate)
    return -rate, model.card.name
