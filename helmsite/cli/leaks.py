"""Credentials in what the site offers for download and none of its pages shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from helmsite.render.downloads import allowed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import pyarrow as pa

    from helmsite.archive import Archive
    from helmsite.render.output import Inspector

UNSEEN = {
    "instances": ("extra",),
    "requests": ("params", "reasoning", "transcript", "error", "extra"),
    "scores": ("text", "details"),
    "stats": ("details",),
}


def in_tables(
    archive: Archive, offered: Mapping[str, Sequence[Path]], inspector: Inspector
) -> list[str]:
    """Return a sentence for each kind of credential in a column that pages do not show.

    The other texts of the tables are on pages, where the build itself looks.

    Args:
        archive: where the tables are.
        offered: the files that may be downloaded, by run id.
        inspector: what looks for credentials.
    """
    found = []
    for manifest in archive.manifests():
        for path in allowed(manifest, offered.get(manifest.run_id, ())):
            columns = UNSEEN.get(path.stem, ())
            table = archive.table(manifest.run_id, path.stem, columns)
            found += [
                f"{path.name} of run {manifest.run_id} holds {kind}, in column {column}."
                for column in columns
                for kind in inspector.find(_texts(table.column(column)))
            ]
    return found


def _texts(column: pa.ChunkedArray) -> bytes:
    """Return a column's texts, each one once, a line each."""
    texts = column.unique().drop_null().to_pylist()
    return "\n".join(texts).encode("utf-8", "surrogatepass")
