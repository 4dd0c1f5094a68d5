"""What the runs of an archive say together, each question asked once."""

from __future__ import annotations

from collections import Counter
from functools import cached_property
from typing import TYPE_CHECKING

from helmsite.query import board, parts, ranking
from helmsite.query.alternatives import Alternatives
from helmsite.query.index import ACCURACY
from helmsite.query.rows import (
    Cell,
    Column,
    LeaderboardRow,
    ModelResult,
    ModelSummary,
    RunSummary,
    ScenarioSummary,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    import duckdb

    from helmsite.query.index import Index
    from helmsite.schema import Manifest, MetricFacts, ModelCard, ScenarioFacts


class Summaries:
    """Numbers of all runs, scenarios and models, computed when they are first asked for.

    Each answer comes from one query for all of them: an archive may hold ten thousand
    runs of a thousand scenarios.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection, index: Index) -> None:
        self._connection = connection
        self._index = index

    @cached_property
    def sizes(self) -> dict[str, tuple[int, int]]:
        """Instances and trials of each run."""
        rows = self._connection.execute(
            "SELECT run_id, n_instances, n_trials FROM run ORDER BY run_id"
        ).fetchall()
        return {run_id: (n, trials) for run_id, n, trials in rows}

    @cached_property
    def main_columns(self) -> tuple[Column, ...]:
        """Every scenario's main number."""
        index = self._index
        return tuple(c for s in index.scenarios for c in index.columns(s, ACCURACY))

    @cached_property
    def main_places(self) -> dict[str, int]:
        """Which main column is a scenario's."""
        return {c.scenario.name: n for n, c in enumerate(self.main_columns)}

    @cached_property
    def everything(self) -> tuple[LeaderboardRow, ...]:
        """Every scenario's main number for every model."""
        return board.rows(
            self._connection, self._index, self.main_columns, None, "model"
        )

    def main_cells(self, scenario: str) -> dict[str, Cell]:
        """Return each model's main number on a scenario, without a run for some."""
        place = self.main_places.get(scenario)
        if place is None:
            return {}
        return {row.card.name: row.cells[place] for row in self.everything}

    @cached_property
    def main_lines(self) -> board.Lines:
        """Every scenario's main number for every line of a table."""
        if not self._index.site.row_settings:
            return {row.card.name: list(row.cells) for row in self.everything}
        wanted = {"": self.main_columns}
        return board.tables(self._connection, wanted, "line")[""]

    @cached_property
    def lines(self) -> dict[str, int]:
        """Which line of `everything` is a model's."""
        return {row.card.name: n for n, row in enumerate(self.everything)}

    @cached_property
    def ranks(self) -> list[list[tuple[float | None, int]]]:
        """The rank of each line of `everything`, per main column."""
        return [
            ranking.places(
                [row.cells[place].value for row in self.everything],
                column.metric.higher_is_better,
            )
            for place, column in enumerate(self.main_columns)
        ]

    @cached_property
    def offered(self) -> dict[str, list[Column]]:
        """Every metric of each scenario that has a value, its main one first."""
        return {
            name: self._index.metric_columns(name) for name in self._index.scenarios
        }

    @cached_property
    def by_run(self) -> dict[str, board.Lines]:
        """Every number of every run, and of results that fill a line, by scenario."""
        cells = (cell for line in self.main_lines.values() for cell in line)
        sources = {cell.source for cell in cells} - {""}
        return board.tables(self._connection, self.offered, "run", sources)

    @cached_property
    def parts(self) -> dict[str, list[parts.Found]]:
        """Every run's main number by split and sub-split."""
        mains = {
            s: columns[0].metric.name for s, columns in self.offered.items() if columns
        }
        return parts.by_run(self._connection, mains)

    @cached_property
    def mains(self) -> dict[str, Cell]:
        """The main number of every run, also of those that fill no cell."""
        found: dict[str, Cell] = {}
        for name, runs in self.by_run.items():
            lines = {
                run_id: line[:1]
                for run_id, line in runs.items()
                if run_id in self._index.manifests
            }
            board.compare(lines.values(), self.offered[name][:1])
            found |= {run_id: line[0] for run_id, line in lines.items()}
        return found

    def table(
        self, scenario: str
    ) -> tuple[tuple[Column, ...], tuple[LeaderboardRow, ...]]:
        """Return a scenario's columns and lines; all numbers of a line are of one run."""
        place = self.main_places.get(scenario)
        chosen = {
            name: line[place]
            for name, line in self.main_lines.items()
            if place is not None and line[place].is_filled
        }
        runs = self.by_run[scenario]
        return board.scenario_rows(self._index, self.offered[scenario], chosen, runs)

    def results(self, model: str) -> tuple[ModelResult, ...]:
        """Return a model's main numbers and their ranks; none where it has no run."""
        place = self.lines.get(model)
        if place is None:
            return ()
        cells = self.everything[place].cells
        return tuple(
            ModelResult(column, cell, *ranks[place])
            for column, cell, ranks in zip(
                self.main_columns, cells, self.ranks, strict=True
            )
            if cell.is_filled
        )

    @cached_property
    def alternatives(self) -> Alternatives:
        """The main numbers of models that have one under several settings."""
        return Alternatives(self._connection, self._index, self.main_columns)

    @cached_property
    def n_sources(self) -> Counter[str]:
        """How many files of results without instances tell of each model."""
        found = self._index.sources.values()
        return Counter(model for source in found for model in source.models)

    @cached_property
    def runs(self) -> tuple[RunSummary, ...]:
        """Every run, sorted by scenario, model and run id."""
        found = map(self.summary, self._index.manifests.values())
        return tuple(sorted(found, key=_by_names))

    @cached_property
    def of_scenario(self) -> dict[str, tuple[RunSummary, ...]]:
        """Every run by scenario, sorted by model and run id."""
        found: dict[str, list[RunSummary]] = {
            name: [] for name in self._index.scenarios
        }
        for run in self.runs:
            found[run.manifest.scenario.name].append(run)
        return {name: tuple(runs) for name, runs in found.items()}

    @cached_property
    def of_model(self) -> dict[str, tuple[RunSummary, ...]]:
        """Every run by model, sorted by scenario and run id."""
        found: dict[str, list[RunSummary]] = {name: [] for name in self._index.cards}
        for run in self.runs:
            found[run.manifest.spec.model.name].append(run)
        return {name: tuple(runs) for name, runs in found.items()}

    def summary(self, manifest: Manifest) -> RunSummary:
        """Return a run with its main number."""
        run_id = manifest.run_id
        n_instances, n_trials = self.sizes[run_id]
        metric, main = self._main(manifest)
        return RunSummary(
            manifest=manifest,
            main=main,
            main_metric=metric,
            n_instances=n_instances,
            n_trials=n_trials or manifest.spec.adapter.all_trials,
        )

    def _main(self, manifest: Manifest) -> tuple[MetricFacts | None, Cell]:
        """Return the metric that a run is judged by, and its value.

        The scenario's main one; else, where the run's tool has none of that name, the
        run's own first metric of accuracy, one that has a value on the split if there is.
        """
        run_id, scenario = manifest.run_id, manifest.scenario.name
        metric = self._index.main_metric(scenario)
        main = self.mains.get(run_id, Cell(missing="not measurable", run_id=run_id))
        own = {m.name for m in manifest.metrics}
        if main.value is not None or metric is None or metric.name in own:
            return metric, main
        line = self.by_run[scenario].get(run_id, [])
        for column, cell in zip(self.offered[scenario], line, strict=False):
            named = column.metric.name in own and not column.perturbation
            if named and column.metric.family == ACCURACY and cell.value is not None:
                return column.metric, cell
        accurate = (m for m in manifest.metrics if m.family == ACCURACY)
        return next(accurate, metric), main

    def scenario(self, facts: ScenarioFacts, groups: Sequence[str]) -> ScenarioSummary:
        """Return a scenario with its best main number; `groups` are those that show it."""
        runs = self.of_scenario[facts.name]
        metric = self._index.main_metric(facts.name)
        cells = self.main_cells(facts.name)
        best_model = ranking.leader(
            {model: cell.value for model, cell in cells.items()},
            metric.higher_is_better if metric else None,
        )
        return ScenarioSummary(
            facts=facts,
            main_metric=metric,
            best=cells.get(best_model, Cell(missing="not measurable")),
            best_model=best_model,
            n_models=sum(cell.is_filled for cell in cells.values())
            or len({run.manifest.spec.model.name for run in runs}),
            n_runs=len(runs),
            n_instances=max((run.n_instances for run in runs), default=0),
            groups=tuple(groups),
        )

    def model(self, card: ModelCard, row: LeaderboardRow | None) -> ModelSummary:
        """Return a model; `row` is its line among all main numbers, if it has one."""
        runs = self.of_model[card.name]
        return ModelSummary(
            card=card,
            n_scenarios=len(self._tried(card.name)),
            n_runs=len(runs),
            win_rate=row.win_rate if row else None,
            win_rate_columns=row.win_rate_columns if row else 0,
            n_sources=self.n_sources[card.name],
        )

    def _tried(self, model: str) -> set[str]:
        """Return the scenarios that anything is known of a model."""
        ran = {run.manifest.scenario.name for run in self.of_model[model]}
        return ran | {r.column.scenario.name for r in self.results(model)}


def _by_names(run: RunSummary) -> tuple[str, str, str]:
    manifest = run.manifest
    return manifest.scenario.name, manifest.spec.model.name, manifest.run_id
