"""What the manifests say together: scenarios, metrics, models and groups of an archive."""

from __future__ import annotations

from collections import defaultdict
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
from msgspec import structs

from helmsite.config import informed
from helmsite.errors import ConfigError, suggest
from helmsite.query import entries, grouping, joint, published, variants
from helmsite.query.rows import Column
from helmsite.query.sql import query
from helmsite.schema import MetricFacts

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import duckdb

    from helmsite.archive import Batch, BatchFacts
    from helmsite.config import SiteConfig
    from helmsite.query.rows import Group
    from helmsite.schema import Contamination, Manifest, ModelCard, ScenarioFacts

ACCURACY, CALIBRATION, EFFICIENCY = "accuracy", "calibration", "efficiency"
WORST = ("robustness", "fairness")
FAMILIES = (ACCURACY, CALIBRATION, *WORST, "bias", "toxicity", EFFICIENCY)
GENERAL = "general_information"
CHOSEN = {  # HELM's metric groups; other families show all of their metrics
    CALIBRATION: ("ece_10_bin",),
    EFFICIENCY: ("inference_runtime",),
    GENERAL: (
        *("num_instances", "num_train_instances", "prompt_truncated"),
        *("num_prompt_tokens", "num_output_tokens"),
    ),
}


class Held(NamedTuple):
    """An aggregate that some run of a scenario has a value for."""

    scenario: str
    metric: str
    split: str
    perturbation: str
    computed_on: str


def newest(manifest: Manifest) -> float:
    """Return when a run ended, in seconds since the epoch; 0 if it does not say."""
    times = manifest.provenance
    return times.finished_at or times.started_at or 0.0


def base_name(scenario: str) -> str:
    """Return a scenario's name without its parameters."""
    return scenario.partition(":")[0]


class Index:
    """The runs by scenario and model, with the newest run's word on each.

    What no run tells of is as results without instances tell it.

    Args:
        connection: the cache; the tables `entry` and `reported` are added to it.
        manifests: every run, sorted by run_id.
        site: groups, pinned methods, what makes a table's rows, and what became known of
            models since their runs.
        batches: those of results without instances, with what is known of each.
    """

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        manifests: Sequence[Manifest],
        site: SiteConfig,
        batches: Sequence[tuple[Batch, BatchFacts]] = (),
    ) -> None:
        self.site = site
        self.manifests = {m.run_id: m for m in manifests}
        self.scenarios: dict[str, ScenarioFacts] = {}
        self.cards: dict[str, ModelCard] = {}
        self.metrics: dict[str, dict[str, MetricFacts]] = {}
        self._named: dict[str, dict[str, None]] = defaultdict(dict)
        for m in sorted(manifests, key=lambda m: (-newest(m), m.run_id)):
            name, model = m.scenario.name, m.spec.model.name
            self.scenarios.setdefault(name, m.scenario)
            self._named[name][m.scenario.main_metric] = None
            self.cards.setdefault(model, structs.replace(m.card, name=model))
            known = self.metrics.setdefault(name, {})
            for facts in m.metrics:
                known.setdefault(facts.name, facts)
        self.sources = published.sources(connection, batches)
        for told in published.said(connection, batches):
            self.scenarios.setdefault(told.scenario.name, told.scenario)
            self._named[told.scenario.name][told.scenario.main_metric] = None
            for card in told.cards:
                self.cards.setdefault(card.name, card)
            known = self.metrics.setdefault(told.scenario.name, {})
            for facts in told.metrics:
                known.setdefault(facts.name, facts)
        self.scenarios = dict(sorted(self.scenarios.items(), key=_by_title))
        self.cards = {
            name: _told(informed(card), site.contamination.get(name, ()))
            for name, card in sorted(self.cards.items())
        }
        connection.register("run_entry", self._entries())
        self.splits = self._splits(connection)
        entries.register(connection, self.sources, self.splits, site)
        self.lines = entries.lines(connection)
        self.line_of = entries.line_of(connection)
        rows = connection.execute(query("held")).fetchall()
        self._held = {Held(*row[:5]) for row in rows if row[5]}
        self._mains = self._chosen(rows)

    def _chosen(self, rows: Sequence[tuple[Any, ...]]) -> dict[str, str]:
        """Return each scenario's main metric: of several, that which most models have.

        Tools call the same task by one name and judge it by metrics of different names.
        """
        models: dict[tuple[str, str], int] = defaultdict(int)
        for scenario, metric, _, perturbation, _, _, count in rows:
            if not perturbation:
                models[scenario, metric] = max(models[scenario, metric], count)
        return {
            scenario: max(named, key=lambda metric: models[scenario, metric])
            for scenario, named in self._named.items()
        }

    def _splits(self, connection: duckdb.DuckDBPyConnection) -> dict[str, str]:
        """Return each scenario's main split, or that with most observations."""
        sizes: dict[str, dict[str, int]] = {name: {} for name in self.scenarios}
        for scenario, split, n_asked in connection.execute(query("sizes")).fetchall():
            sizes[scenario][split] = n_asked
        for own in sizes.values():
            if len(own) > 1:
                own.pop("", None)  # a source that does not tell means the main one
        return {
            name: facts.split(sizes[name]) for name, facts in self.scenarios.items()
        }

    def _entries(self) -> pa.Table:
        rows = list(self.manifests.values())
        told = [variants.settings_of(m) for m in rows]
        texts = {
            "run_id": [m.run_id for m in rows],
            "scenario": [m.scenario.name for m in rows],
            "model": [m.spec.model.name for m in rows],
            "variant": [variants.label(s, self.site.row_settings) for s in told],
            "settings": [variants.own(s) for s in told],
            "way": [variants.ways(variants.read(variants.own(s)))[1] for s in told],
        }
        pinned = [m.spec.adapter.method == self._pinned(m.scenario.name) for m in rows]
        numbers = {
            "newest": [newest(m) for m in rows],
            "step": [variants.step_of(s) for s in told],
        }
        return pa.table(
            {
                **{name: pa.array(c, pa.string()) for name, c in texts.items()},
                "pinned": pa.array(pinned, pa.bool_()),
                **{name: pa.array(c, pa.float64()) for name, c in numbers.items()},
            }
        )

    def _pinned(self, scenario: str) -> str:
        pinned = self.site.pinned_methods
        return pinned.get(scenario) or pinned.get(base_name(scenario)) or "any"

    def main_metric(self, scenario: str) -> MetricFacts | None:
        """Return the metric that a scenario is known by.

        The one that it names (of several, that which most models have, then the newest
        run's); else its first metric of accuracy, else the first with a good direction.
        None if it has no metric at all.
        """
        known, main = self.metrics[scenario], self._mains[scenario]
        if main:
            return known.get(main) or MetricFacts(main, main, "", ACCURACY)
        found = list(known.values())
        directed = [f for f in found if f.higher_is_better is not None]
        accurate = [f for f in found if f.family == ACCURACY]
        return next(iter([*accurate, *directed, *found]), None)

    def columns(self, scenario: str, family: str) -> list[Column]:
        """Return the columns that a scenario adds to the table of a family."""
        facts, split = self.scenarios[scenario], self.splits[scenario]
        main, known = self.main_metric(scenario), self.metrics[scenario]
        if family == ACCURACY:
            return [] if main is None else [Column(facts, main, split)]
        if family in WORST:
            found = (
                [] if main is None else [Column(facts, main, split, family, "worst")]
            )
        elif family in CHOSEN:
            names = [name for name in CHOSEN[family] if name in known]
            found = [Column(facts, known[name], split) for name in names]
        else:
            found = [
                Column(facts, f, split) for f in known.values() if f.family == family
            ]
        return [column for column in found if self.has_value(column)]

    def group_columns(self, group: Group, family: str) -> list[Column]:
        """Return the columns of a group's table; its joints are one for each metric."""
        shared = {name: each for each in group.joints for name in each.scenarios}
        found: list[Column] = []
        for name in group.scenarios:
            each = shared.get(name)
            if each is None:
                found += self.columns(name, family)
            elif name == each.scenarios[0]:
                members = [c for s in each.scenarios for c in self.columns(s, family)]
                valued = [c for c in members if self.has_value(c)]
                main = self.main_metric(name)
                called = main.name if main else ""
                found += joint.columns(each, valued or members, family, called)
        return found

    def has_value(self, column: Column) -> bool:
        """Say whether any run has a value for a column."""
        key = (
            column.metric.name,
            column.split,
            column.perturbation,
            column.computed_on,
        )
        return Held(column.scenario.name, *key) in self._held

    def metric_columns(self, scenario: str) -> list[Column]:
        """Return every metric of a scenario that has a value, the main one first."""
        facts, split = self.scenarios[scenario], self.splits[scenario]
        main = self.main_metric(scenario)
        metrics = list(self.metrics[scenario].values())
        first = [] if main is None else [main]
        columns = [Column(facts, f, split) for f in first]
        rest = [
            Column(facts, f, split)
            for f in metrics
            if main is None or f.name != main.name
        ]
        worst = [
            Column(facts, f, split, name, "worst") for name in WORST for f in first
        ]
        return columns + [c for c in [*worst, *rest] if self.has_value(c)]

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """The site's groups; without any, all scenarios and their own groups."""
        found = grouping.groups(self.site.groups, self.scenarios)
        return tuple(
            structs.replace(group, families=self._families(group.scenarios))
            for group in found
        )

    def _families(self, scenarios: Sequence[str]) -> tuple[str, ...]:
        metrics = [f for s in scenarios for f in self.metrics[s].values()]
        others = sorted({f.family for f in metrics} - {*FAMILIES, GENERAL, ""})
        return tuple(
            family
            for family in (*FAMILIES, *others, GENERAL)
            if any(self.columns(scenario, family) for scenario in scenarios)
        )

    def group(self, name: str) -> Group:
        """Return a group by its name.

        Raises:
            ConfigError: no such group; near names are suggested.
        """
        found = {group.name: group for group in self.groups}
        return found[self.check("group", name, found)]

    @staticmethod
    def check(kind: str, name: str, known: Iterable[str]) -> str:
        """Return a name that is known.

        Raises:
            ConfigError: it is not; near names are suggested.
        """
        names = list(known)
        if name not in names:
            raise ConfigError(
                [f"There is no {kind} {name!r}.{suggest(name, names)}"],
                f"Known: {', '.join(names) or 'none yet'}.",
            )
        return name


def _told(card: ModelCard, known: tuple[Contamination, ...]) -> ModelCard:
    """Return an archived card with what the project knows of contamination by now."""
    return structs.replace(card, contamination=known) if known else card


def _by_title(item: tuple[str, ScenarioFacts]) -> tuple[str, str]:
    return (item[1].title or item[0]).casefold(), item[0]
