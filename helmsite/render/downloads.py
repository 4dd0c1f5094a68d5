"""Files of the archive on offer: copied by content, and only what the manifest vouches for."""

from __future__ import annotations

import hashlib
import io
from typing import TYPE_CHECKING

import msgspec

from helmsite.render.names import SAFE
from helmsite.render.output import open_regular
from helmsite.render.record import Mark
from helmsite.render.text import plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from helmsite.render.output import Writer
    from helmsite.schema import Manifest

AGGREGATES = {"stats"}
VERDICTS = "scores"
TEXTS = {"text": "", "details": "{}"}
"""Columns of the verdicts that may quote a completion, and what stands there instead."""


def write_tables(
    manifest: Manifest, sources: Iterable[Path], folder: str, writer: Writer
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Copy a run's tables on offer; return their addresses from the root, and warnings.

    A table is offered where it is a file of its own with the size and SHA-256 that the
    manifest names; anything else (a link, a changed file) is left out with a warning.
    run.json is written from the manifest. Of a scenario whose texts may not be published,
    the aggregates are offered, and the verdicts without the texts that they quote.
    """
    addresses, warnings = [f"{folder}/run.json"], []
    writer.write(addresses[0], run_json(manifest))
    for source in sorted(allowed(manifest, sources)):
        address, facts = f"{folder}/{source.stem}.parquet", manifest.files[source.stem]
        mark = Mark(facts.bytes, facts.sha256)
        if is_public(manifest) or source.stem in AGGREGATES:
            problem = writer.copy(address, source, mark)
        else:
            problem = _write_verdicts(address, source, mark, writer)
        if problem:
            warnings.append(
                f"{plain(source.name)} of run {plain(manifest.run_id)} is not "
                f"offered: {problem}. `helmsite check` tells more."
            )
        else:
            addresses.append(address)
    return tuple(addresses), tuple(warnings)


def is_public(manifest: Manifest) -> bool:
    """Return whether the texts of a run's scenario may be published."""
    return manifest.scenario.publication == "full"


def _write_verdicts(address: str, source: Path, mark: Mark, writer: Writer) -> str:
    """Write a table of scores without any text; return '' or why it is not written."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        opened = open_regular(source)
        if opened is None:
            return "it is a link or no regular file"
        with opened:
            data = opened.read(mark.size + 1)
    except OSError as error:
        return f"it cannot be read ({error.strerror})"
    if Mark(len(data), hashlib.sha256(data).hexdigest()) != mark:
        return "it is not the file that the manifest names"
    table = pq.read_table(pa.BufferReader(data))
    for name, nothing in TEXTS.items():
        column = table.column_names.index(name)
        blank = pa.array([nothing] * table.num_rows, table.schema.field(name).type)
        table = table.set_column(column, table.schema.field(name), blank)
    made = io.BytesIO()
    pq.write_table(table, made, compression="zstd")
    writer.write(address, made.getvalue())
    return ""


def allowed(manifest: Manifest, sources: Iterable[Path]) -> Iterator[Path]:
    """Yield the tables of a run that may be published."""
    for source in sources:
        of_run = source.suffix == ".parquet" and source.stem in manifest.files
        of_run = of_run and bool(SAFE.fullmatch(source.stem))
        if of_run and (is_public(manifest) or source.stem in {*AGGREGATES, VERDICTS}):
            yield source


def run_json(manifest: Manifest) -> bytes:
    """Return a manifest as the archive writes it: sorted keys, two spaces."""
    blob = msgspec.json.encode(manifest, order="deterministic")
    return msgspec.json.format(blob, indent=2) + b"\n"
