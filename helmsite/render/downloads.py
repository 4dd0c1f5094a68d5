"""Files of the archive on offer: copied by content, and only what the manifest vouches for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from helmsite.render.names import SAFE
from helmsite.render.text import plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from helmsite.query.rows import RunSummary
    from helmsite.render.names import SiteMap
    from helmsite.render.output import Writer
    from helmsite.schema import Manifest

AGGREGATES = {"stats"}


def write_downloads(
    downloads: Mapping[str, Sequence[Path]],
    runs: Iterable[RunSummary],
    site: SiteMap,
    writer: Writer,
) -> tuple[dict[str, tuple[str, ...]], list[str]]:
    """Copy the tables on offer; return their addresses from the root by run, and warnings.

    A table is offered where it is a file of its own with the size and SHA-256 that the
    run's manifest names; anything else (a link, a changed file) is left out with a
    warning. run.json is written from the manifest. Of a scenario whose aggregates alone
    may be published, no other table is offered.
    """
    offered, warnings = {}, []
    for run in runs:
        manifest = run.manifest
        found = downloads.get(manifest.run_id, ())
        if not found:
            continue
        folder = site.data(manifest.run_id)
        addresses = [f"{folder}/run.json"]
        writer.write(addresses[0], run_json(manifest))
        for source in sorted(allowed(manifest, found)):
            address = f"{folder}/{source.stem}.parquet"
            problem = writer.copy(address, source, manifest.files[source.stem])
            if problem:
                warnings.append(
                    f"{plain(source.name)} of run {plain(manifest.run_id)} is not "
                    f"offered: {problem}. `helmsite check` tells more."
                )
            else:
                addresses.append(address)
        offered[manifest.run_id] = tuple(addresses)
    return offered, warnings


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
