"""The page about the data: files on offer, what is in them, and code that reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from markupsafe import Markup, escape

from helmsite.render import examples, formats, sourceview
from helmsite.render.names import link, up
from helmsite.render.pages import ColumnLine, DataPage, Download, TableView
from helmsite.render.parts import Link
from helmsite.schema import meanings

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from helmsite.query.rows import RunSummary
    from helmsite.render.frames import Frames
    from helmsite.render.record import Mark
    from helmsite.schema.meanings import ColumnFacts

    Offered = Mapping[str, Mapping[str, Mark]]
    """By run, the addresses of its files on offer, and what each is known by."""

PATH = "data/index.html"
INDEX = "data/index.json"
TABLE = ".parquet"
FALLBACK = "exact_match"


def data(
    runs: Sequence[RunSummary],
    offered: Offered,
    frames: Frames,
    sources: int = 0,
) -> DataPage:
    """Return the page that tells how to read the archive without helmsite.

    Args:
        runs: every run.
        offered: their files on offer.
        frames: those of the site's pages.
        sources: how many files of results without instances there are.
    """
    shown = [r for r in runs if r.manifest.run_id in offered]
    downloads = tuple(
        _download(run, offered[run.manifest.run_id], frames) for run in shown
    )
    size = sum(d.bytes for d in downloads)
    sentence = (
        f"The files of {formats.count(len(downloads), 'run')} "
        f"({formats.size(size)}) can be downloaded here and read without helmsite."
        if downloads
        else "This site offers no downloads; the archive that it was built from is a "
        "folder of Parquet files."
    )
    groups = [examples.of_archive(_metric(runs))]
    example = _example(shown, offered)
    if example is not None:
        own = offered[example.manifest.run_id]
        groups.insert(
            0,
            examples.of_site(
                frames.address(INDEX),
                {_stem(a): frames.address(a) for a in own if a.endswith(TABLE)},
                _metric([example]),
            ),
        )
    return DataPage(
        frame=frames.frame(
            PATH,
            "Data",
            "Data",
            download="index.json" if downloads else "",
        ),
        sentence=sentence,
        example_run=next((frames.map.data(r) for r in offered), "data/runs/RUN_ID"),
        downloads=downloads,
        tables=tuple(
            TableView(t.name, t.row, t.key, tuple(map(_column, t.columns)))
            for t in meanings.TABLES
        ),
        manifest=tuple(map(_column, meanings.MANIFEST)),
        examples=tuple(groups),
        index="index.json" if downloads else "",
        sources=sourceview.listed(sources, PATH),
    )


def _stem(address: str) -> str:
    return address.rsplit("/", 1)[-1].removesuffix(TABLE)


def _metric(runs: Sequence[RunSummary]) -> str:
    known = (r.main_metric.name for r in runs if r.main_metric)
    return next(known, FALLBACK)


def _example(shown: Sequence[RunSummary], offered: Offered) -> RunSummary | None:
    """Return a run to show examples with: the one with most tables, the first of them."""
    with_tables = [
        (sum(a.endswith(TABLE) for a in offered[r.manifest.run_id]), -i, r)
        for i, r in enumerate(shown)
    ]
    most = max(with_tables, key=lambda found: found[:2], default=(0, 0, None))
    return most[2] if most[0] else None


def _download(run: RunSummary, files: Mapping[str, Mark], frames: Frames) -> Download:
    manifest = run.manifest
    sizes = [mark.size for a, mark in files.items() if _stem(a) in manifest.files]
    return Download(
        Link(
            frames.run_name(manifest).title,
            link(PATH, frames.map.run(manifest.run_id)),
        ),
        tuple(Link(a.rsplit("/", 1)[-1], up(PATH) + a) for a in files),
        bytes=sum(sizes),
        size=formats.size(sum(sizes)),
    )


def _column(facts: ColumnFacts) -> ColumnLine:
    return ColumnLine(facts.name, facts.type, ticked(facts.meaning))


def ticked(text: str) -> Markup:
    """Return a text with what stands in backticks as code."""
    parts = text.split("`")
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if place % 2 else escape(part)
        for place, part in enumerate(parts)
    )


def index(
    runs: Iterable[RunSummary],
    offered: Offered,
    frames: Frames,
) -> bytes:
    """Return the list of files on offer as JSON: one object a file, sorted.

    `url` is absolute where the site has a base address, else from the site's folder.
    """
    rows = [
        {
            "run_id": run.manifest.run_id,
            "scenario": run.manifest.scenario.name,
            "model": run.manifest.spec.model.name,
            "suite": run.manifest.suite,
            "status": run.manifest.status,
            "name": address.rsplit("/", 1)[-1],
            "url": frames.address(address),
            "rows": facts.rows if facts else None,
            "bytes": mark.size if facts else None,
            "sha256": mark.sha256 if facts else None,
            "page": frames.address(frames.map.run(run.manifest.run_id)),
        }
        for run in sorted(runs, key=lambda r: r.manifest.run_id)
        for address, mark in sorted(offered.get(run.manifest.run_id, {}).items())
        for facts in [run.manifest.files.get(_stem(address))]
    ]
    lines = b",\n".join(msgspec.json.encode(row) for row in rows)
    return b"[\n" + lines + b"\n]\n" if rows else b"[]\n"
