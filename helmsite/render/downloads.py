"""Files of the archive on offer: copied by content, and only what the manifest vouches for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from helmsite.render.names import SAFE
from helmsite.render.record import Mark
from helmsite.render.text import plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from helmsite.render.output import Writer
    from helmsite.schema import Manifest

AGGREGATES = {"stats"}


def write_tables(
    manifest: Manifest, sources: Iterable[Path], folder: str, writer: Writer
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Copy a run's tables on offer; return their addresses from the root, and warnings.

    A table is offered where it is a file of its own with the size and SHA-256 that the
    manifest names; anything else (a link, a changed file) is left out with a warning.
    run.json is written from the manifest. Of a scenario whose aggregates alone may be
    published, no other table is offered.
    """
    addresses, warnings = [f"{folder}/run.json"], []
    writer.write(addresses[0], run_json(manifest))
    for source in sorted(allowed(manifest, sources)):
        address, facts = f"{folder}/{source.stem}.parquet", manifest.files[source.stem]
        problem = writer.copy(address, source, Mark(facts.bytes, facts.sha256))
        if problem:
            warnings.append(
                f"{plain(source.name)} of run {plain(manifest.run_id)} is not "
                f"offered: {problem}. `helmsite check` tells more."
            )
        else:
            addresses.append(address)
    return tuple(addresses), tuple(warnings)


def allowed(manifest: Manifest, sources: Iterable[Path]) -> Iterator[Path]:
    """Yield the tables of a run that may be published."""
    for source in sources:
        of_run = source.suffix == ".parquet" and source.stem in manifest.files
        of_run = of_run and bool(SAFE.fullmatch(source.stem))
        if of_run and (
            manifest.scenario.publication == "full" or source.stem in AGGREGATES
        ):
            yield source


def run_json(manifest: Manifest) -> bytes:
    """Return a manifest as the archive writes it: sorted keys, two spaces."""
    blob = msgspec.json.encode(manifest, order="deterministic")
    return msgspec.json.format(blob, indent=2) + b"\n"
