"""Models over their checkpoints, and under other settings that results were made with."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from helmsite.query import joint, variants
from helmsite.query.index import ACCURACY, base_name
from helmsite.query.rows import Cell, Course, Joint, Variant
from helmsite.query.sql import query

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import duckdb

    from helmsite.query.index import Index
    from helmsite.query.rows import Column
    from helmsite.schema import ScenarioFacts


class _Found(NamedTuple):
    model: str
    settings: str
    place: int
    step: float
    way: str
    run_id: str
    is_published: bool
    value: float
    ci_low: float | None
    ci_high: float | None
    n_scored: int
    n_asked: int
    origin: str

    def cell(self) -> Cell:
        """Return it as a table's cell."""
        return Cell(
            value=self.value,
            ci_low=self.ci_low,
            ci_high=self.ci_high,
            n_scored=self.n_scored,
            n_asked=self.n_asked,
            missing="",
            run_id="" if self.is_published else self.run_id,
            origin=self.origin,
            source=self.run_id if self.is_published else "",
        )


class Alternatives:
    """The main numbers of models that have one under several settings.

    Args:
        connection: the cache, with the tables of the index.
        index: what the archive holds.
        columns: every scenario's main number.
    """

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        index: Index,
        columns: Sequence[Column],
    ) -> None:
        self._connection, self._index, self._columns = connection, index, columns
        texts = {
            "scenario": [c.scenario.name for c in columns],
            "metric": [c.metric.name for c in columns],
            "split": [c.split for c in columns],
        }
        wanted = {name: pa.array(c, pa.string()) for name, c in texts.items()}
        wanted["place"] = pa.array(range(len(columns)), pa.int32())
        connection.register("main", pa.table(wanted))
        connection.execute(query("alternatives"))

    def _find(self, model: str | None, place: int | None) -> list[_Found]:
        wanted = {"model": model, "place": place}
        rows = self._connection.execute(query("alternative"), wanted)
        return [_Found(*row) for row in rows.fetchall()]

    def of_model(self, name: str) -> tuple[tuple[Column, ...], tuple[Variant, ...]]:
        """Return the columns of a model's table of variants, and its lines by step.

        Scenarios of one name, such as MMLU's subjects, share a column: their mean.
        """
        found = self._find(name, None)
        by_settings: dict[str, dict[int, _Found]] = {}
        for row in found:
            by_settings.setdefault(row.settings, {})[row.place] = row
        columns = self._shared(sorted({row.place for row in found}))
        places = {c.scenario.name: n for n, c in enumerate(self._columns)}
        labels = variants.told_apart([variants.read(text) for text in by_settings])
        lines = []
        for label, cells in zip(labels, by_settings.values(), strict=True):
            first = next(iter(cells.values()))
            parts = [[places[p.scenario.name] for p in c.parts] for c in columns]
            lines.append(
                Variant(
                    label,
                    first.step if math.isfinite(first.step) else None,
                    first.way,
                    tuple(
                        joint.cell(
                            [cells[p].cell() if p in cells else Cell() for p in own]
                        )
                        for own in parts
                    ),
                )
            )
        return columns, tuple(sorted(lines, key=_by_step))

    def _shared(self, places: Iterable[int]) -> tuple[Column, ...]:
        """Return columns in which scenarios of one name are together."""
        named: dict[str, list[Column]] = {}
        for place in places:
            column = self._columns[place]
            named.setdefault(_called(column.scenario), []).append(column)
        found: list[Column] = []
        for name, own in named.items():
            titles = [c.scenario.title or c.scenario.name for c in own]
            title = joint.stem(titles) or name
            together = Joint(title, "", tuple(c.scenario.name for c in own))
            found += joint.columns(together, own, ACCURACY, own[0].metric.name)
        return tuple(found)

    def of_scenario(self, name: str) -> tuple[Course, ...]:
        """Return how the models with several checkpoints went, by name.

        Of several ways to ask a model, the one with most checkpoints.
        """
        place = next(
            (n for n, c in enumerate(self._columns) if c.scenario.name == name), -1
        )
        by_model: dict[str, dict[str, dict[float, _Found]]] = {}
        for row in self._find(None, place):
            if math.isfinite(row.step):
                ways = by_model.setdefault(row.model, {})
                ways.setdefault(row.way, {}).setdefault(row.step, row)
        return tuple(
            Course(
                self._index.cards[model],
                tuple((step, points[step].cell()) for step in sorted(points)),
            )
            for model, ways in sorted(by_model.items())
            for points in [max(ways.values(), key=len)]
            if len(points) > 1
        )


def _called(facts: ScenarioFacts) -> str:
    """Return the name that a scenario shares with its like.

    That of a group whose name its own one begins with (`hendrycksTest-anatomy`), else its
    name without parameters.
    """
    name = facts.name
    groups = [g for g in facts.groups if g and g != name and name.startswith(g)]
    return max(groups, key=len, default=base_name(name))


def _by_step(line: Variant) -> tuple[float, str]:
    return (math.inf if line.step is None else line.step, line.label)
