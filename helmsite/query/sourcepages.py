"""A file of results that came without instances, number by number."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from helmsite.query import variants
from helmsite.query.rows import SourceLine, SourcePage
from helmsite.query.sql import query
from helmsite.schema import Stat

if TYPE_CHECKING:
    import duckdb

    from helmsite.query.index import Index


class SourcePages:
    """Reads the numbers of one file after another.

    Args:
        connection: the cache, with the tables of the index.
        index: what the archive holds.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection, index: Index) -> None:
        self._connection, self._index = connection, index
        self._scenarios = {name: n for n, name in enumerate(index.scenarios)}
        self._metrics = {
            scenario: {name: n for n, name in enumerate(known)}
            for scenario, known in index.metrics.items()
        }

    def page(self, key: str) -> SourcePage:
        """Return all numbers of a file, by model and settings, scenario and metric.

        Raises:
            ConfigError: there is no such file.
        """
        index = self._index
        index.check("source", key, index.sources)
        source = index.sources[key]
        parameters = {"path": source.path, "file": source.file}
        rows = self._connection.execute(query("source"), parameters).fetchall()
        lines = [self._line(*row) for row in rows]
        lines.sort(key=self._order)
        cards = tuple(index.cards[name] for name in source.models)
        return SourcePage(source, cards, tuple(lines))

    def _line(
        self, entry: str, scenario: str, model: str, settings: str, *stat: object
    ) -> SourceLine:
        told = Stat(*stat)  # type: ignore[arg-type]
        return SourceLine(
            entry,
            self._index.scenarios[scenario],
            self._index.metrics[scenario][told.metric],
            model,
            variants.read(settings),
            told,
        )

    def _order(self, line: SourceLine) -> tuple[str, bytes, int, int]:
        scenario = line.scenario.name
        return (
            line.model,
            msgspec.json.encode(line.settings, order="deterministic"),
            self._scenarios[scenario],
            self._metrics[scenario][line.metric.name],
        )
