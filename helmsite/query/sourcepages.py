"""A file of results that came without instances, number by number."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, Any

import msgspec

from helmsite.query import variants
from helmsite.query.rows import SourceLine, SourcePage
from helmsite.query.sql import query
from helmsite.schema import Stat

if TYPE_CHECKING:
    import duckdb

    from helmsite.query.index import Index


class SourcePages:
    """Reads the numbers of one file after another, from one table that holds them all.

    Args:
        connection: the cache, with the tables of the index.
        index: what the archive holds.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection, index: Index) -> None:
        self._index = index
        found = connection.sql(query("source"))
        assert found is not None
        self._table = found.to_arrow_table()
        counts = self._table["source"].value_counts().to_pylist()
        ends = accumulate(each["counts"] for each in counts)
        self._ends = {c["values"]: end for c, end in zip(counts, ends, strict=True)}
        self._counts = {each["values"]: each["counts"] for each in counts}
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
        source, count = index.sources[key], self._counts.get(key, 0)
        own = self._table.slice(self._ends.get(key, 0) - count, count)
        columns = (column.to_pylist() for column in own.columns[1:])
        lines = [self._line(*row) for row in zip(*columns, strict=True)]
        lines.sort(key=self._order)
        cards = tuple(index.cards[name] for name in source.models)
        return SourcePage(source, cards, tuple(lines))

    def _line(
        self, entry: str, scenario: str, model: str, settings: str, *stat: Any
    ) -> SourceLine:
        fields = dict(zip(Stat.__struct_fields__, stat, strict=True))
        fields["details"] = variants.read(fields["details"] or "{}")
        told = Stat(**fields)
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
