"""Results that came without instances: into the cache, and what is known of their sources."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from helmsite.query import statistics
from helmsite.query.rows import SourceFile
from helmsite.query.sql import query
from helmsite.schema import MetricFacts, ModelCard, ScenarioFacts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import duckdb

    from helmsite.archive import Archive, Batch, BatchFacts

DIGITS = 16


def fill(connection: duckdb.DuckDBPyConnection, archive: Archive) -> None:
    """Bring the tables of published results up to date; changed batches are read anew."""
    current = {b.path: b.facts.sha256 for b in archive.batches()}
    held = dict(connection.execute("SELECT path, digest FROM batch").fetchall())
    for path in sorted(p for p, d in held.items() if current.get(p) != d):
        connection.execute("DELETE FROM batch WHERE path = ?", [path])
        connection.execute("DELETE FROM published WHERE path = ?", [path])
    for batch in archive.batches():
        if held.get(batch.path) != current[batch.path]:
            _add(connection, archive, batch)
            row = [batch.path, current[batch.path]]
            connection.execute("INSERT INTO batch VALUES (?, ?)", row)


def _add(connection: duckdb.DuckDBPyConnection, archive: Archive, batch: Batch) -> None:
    table = archive.published_table(batch)
    counts = [n for n in table["n_scored"].unique().to_pylist() if n > 1]
    quantiles = [statistics.t_quantile(n - 1) for n in counts]
    facts = archive.published_facts(batch)
    connection.register("fresh_published", table)
    connection.register(
        "quantile",
        pa.table(
            {
                "n_scored": pa.array(counts, pa.int32()),
                "t": pa.array(quantiles, pa.float64()),
            }
        ),
    )
    parameters = {
        "path": batch.path,
        "z": statistics.Z,
        "shares": [m.name for m in facts.metrics if m.format == "share"],
    }
    connection.execute(query("published_add"), parameters)


class Said(NamedTuple):
    """What batches tell of a scenario, of its metrics and of some models."""

    scenario: ScenarioFacts
    metrics: tuple[MetricFacts, ...]
    cards: tuple[ModelCard, ...]


def said(
    connection: duckdb.DuckDBPyConnection,
    batches: Sequence[tuple[Batch, BatchFacts]],
) -> Iterator[Said]:
    """Yield what each batch tells of each scenario that it has results of.

    What a batch does not explain has its name alone.
    """
    facts = {batch.path: known for batch, known in batches}
    for path, scenario, metrics, models in connection.execute(query("said")).fetchall():
        known = facts[path]
        named = {f.name: f for f in known.metrics if f.name in metrics}
        named.update(
            {
                name: MetricFacts(name, name.replace("_", " "), "", "")
                for name in metrics
                if name not in named
            }
        )
        cards = {c.name: c for c in known.cards if c.name in models}
        yield Said(
            next(
                (s for s in known.scenarios if s.name == scenario),
                ScenarioFacts(scenario),
            ),
            tuple(named.values()),
            tuple(cards.get(name) or ModelCard(name) for name in models),
        )


def sources(
    connection: duckdb.DuckDBPyConnection,
    batches: Sequence[tuple[Batch, BatchFacts]],
) -> dict[str, SourceFile]:
    """Return each file that results were found in by its key, sorted by batch and name."""
    named = {batch.path: (batch, facts) for batch, facts in batches}
    found = {}
    for path, file, sha256, values, scenarios, models in connection.execute(
        query("sources")
    ).fetchall():
        batch, known = named[path]
        key = _key(path, file)
        found[key] = SourceFile(
            key=key,
            path=path,
            suite=batch.suite,
            batch=batch.batch,
            file=file,
            sha256=sha256,
            tool=known.tool or batch.batch,
            version=known.versions.get(file, ""),
            n_values=values,
            n_scenarios=scenarios,
            models=tuple(models),
        )
    return found


def _key(path: str, file: str) -> str:
    """Return what a source is known by, whatever else is in the archive."""
    raw = f"{path}\0{file}".encode()
    return f"p{hashlib.sha256(raw).hexdigest()[:DIGITS]}"
