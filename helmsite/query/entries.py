"""What may fill a cell: runs, and results that came without instances, as one table."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from helmsite.query import variants
from helmsite.query.sql import query

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import duckdb

    from helmsite.config import SiteConfig
    from helmsite.query.rows import SourceFile


class Line(NamedTuple):
    """What a table's line is about: a model, and what tells it from its other lines."""

    model: str
    variant: str


def register(
    connection: duckdb.DuckDBPyConnection,
    sources: Mapping[str, SourceFile],
    splits: Mapping[str, str],
    site: SiteConfig,
) -> None:
    """Make the tables `entry` and `reported`; `run_entry` is there already.

    Args:
        connection: the cache.
        sources: each file of results without instances by its key.
        splits: the split that each scenario is known by.
        site: its settings say what makes a line.
    """
    found = list(sources.values())
    _register(
        connection,
        "source",
        source=[s.key for s in found],
        path=[s.path for s in found],
        source_file=[s.file for s in found],
    )
    rows = connection.execute("SELECT DISTINCT settings FROM published ORDER BY ALL")
    texts = [text for (text,) in rows.fetchall()]
    told = [variants.read(text) for text in texts]
    ways = [variants.ways(s) for s in told]
    connection.register(
        "setting",
        pa.table(
            {
                "settings": pa.array(texts, pa.string()),
                "variant": pa.array(
                    [variants.label(s, site.row_settings) for s in told], pa.string()
                ),
                "step": pa.array([variants.step_of(s) for s in told], pa.float64()),
                "shots": pa.array([shots for shots, _ in ways], pa.string()),
                "way": pa.array([way for _, way in ways], pa.string()),
            }
        ),
    )
    _register(
        connection,
        "main_split",
        scenario=list(splits),
        main_split=list(splits.values()),
    )
    connection.execute(query("entries"))
    connection.execute(query("reported"))


def _register(
    connection: duckdb.DuckDBPyConnection, name: str, **columns: Sequence[str]
) -> None:
    texts = {key: pa.array(c, pa.string()) for key, c in columns.items()}
    connection.register(name, pa.table(texts))


def lines(connection: duckdb.DuckDBPyConnection) -> dict[str, Line]:
    """Return what each line is about; those of models by their names, with variants too."""
    rows = connection.execute(
        "SELECT DISTINCT line, model, variant FROM entry ORDER BY ALL"
    ).fetchall()
    found = {model: Line(model, "") for _, model, _ in rows}
    return found | {line: Line(model, variant) for line, model, variant in rows}


def line_of(connection: duckdb.DuckDBPyConnection) -> dict[str, str]:
    """Return the line of each run."""
    rows = connection.execute(
        "SELECT run_id, line FROM entry WHERE NOT is_published ORDER BY ALL"
    ).fetchall()
    return dict(rows)
