"""Putting a built site somewhere: what is there, what has to change, and changing it.

The destination keeps a listing of what was published there: name, size, SHA-256, and the
stamp (ETag, or time) that the store gave the file. So a later publish uploads only what
changed, and deletes only what an earlier one put there. The listing is written before the
first upload too: a file that a killed publish has left is known as ours.
"""

from __future__ import annotations

from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import suppress
from itertools import groupby
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from msgspec import structs

from helmsite.cli.destination import Listed
from helmsite.errors import BuildError
from helmsite.render.output import MARKER
from helmsite.render.record import Mark, decode
from helmsite.schema import Record

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from helmsite.cli.destination import Destination, Present

    Progress = Callable[[str, int, int], None]

WORKERS = 8


class Plan(Record, frozen=True):
    """What a publish will do. `foreign` are others' files that stand in its way."""

    upload: tuple[str, ...]
    same: tuple[str, ...]
    delete: tuple[str, ...]
    foreign: tuple[str, ...]


def built(site: Path) -> dict[str, Mark]:
    """Return the files of a built site with their digests, as its build recorded them.

    Raises:
        BuildError: the folder is no build, or names files that a build does not write.
    """
    try:
        record = decode((site / MARKER).read_bytes())
    except OSError:
        record = None
    if record is None:
        raise BuildError(
            f"{site} is not a site that this version of helmsite has built.",
            f"Build it first: helmsite build --out {site}",
        )
    files = record.every_file
    for path in files:
        if set(PurePosixPath(path).parts) & {"", ".", "..", "/"} or "\\" in path:
            raise BuildError(f"{site} names a file {path!r}.", "Build it anew.")
    return dict(sorted(files.items()))


def plan(
    files: Mapping[str, Mark],
    listed: Mapping[str, Listed],
    destination: Destination,
    site: Path,
) -> Plan:
    """Return what has to change at a destination for it to hold a site's files."""
    present = destination.present()
    upload, same, foreign = [], [], []
    for path, mark in files.items():
        there, known = present.get(path), listed.get(path)
        if there is None:
            upload.append(path)
        elif (
            known is not None and _is_published(mark, known, there)
        ) or destination.holds(site, path, there, mark):
            same.append(path)
        else:
            upload.append(path)
            if known is None:
                foreign.append(path)
    gone = [path for path in listed if path not in files and path in present]
    return Plan(
        tuple(sorted(upload, key=_wave)),
        tuple(same),
        tuple(sorted(gone)),
        tuple(foreign),
    )


def publish(
    site: Path,
    destination: Destination,
    files: Mapping[str, Mark],
    todo: Plan,
    tell: Progress,
) -> None:
    """Do what a plan says: assets first, the first page last, then what is gone.

    Readers of the old site meet no page that leads nowhere. Stopped or failed, it goes on
    where it was when it is started again.

    Raises:
        BuildError: a file could not be uploaded, or is not there as it was sent.
    """
    before = destination.listing()
    kept = {p: before[p] for p in before if p in todo.delete}
    for path in todo.same:
        known = before.get(path)
        kept[path] = known or Listed(files[path].size, files[path].sha256)
    if todo.upload:
        coming = {path: Listed(files[path].size, "") for path in todo.upload}
        destination.write_listing({**kept, **coming})
    sent: dict[str, Listed] = {}
    all_of = len(todo.upload)
    try:
        for _, group in groupby(todo.upload, key=_wave):
            going = {path: files[path] for path in group}
            _upload(
                destination, site, going, sent, lambda n: tell("uploading", n, all_of)
            )
    except BaseException:
        left = {p: Listed(files[p].size, "") for p in todo.upload if p not in sent}
        with suppress(BuildError):  # what went wrong first is told
            _settle(destination, {**kept, **left, **sent})
        raise
    for done, path in enumerate(todo.delete):
        tell("deleting", done, len(todo.delete))
        destination.delete(path)
        kept.pop(path, None)
    arrived = _settle(destination, {**kept, **sent})
    lost = sorted(p for p in sent if arrived.get(p) != files[p].size)
    if lost:
        raise BuildError(
            f"{len(lost)} files are not at {destination.url} as they were sent: {lost[0]} ...",
            "Does somebody else publish there? Publish again.",
        )


def _upload(
    destination: Destination,
    site: Path,
    wave: Mapping[str, Mark],
    sent: dict[str, Listed],
    tell: Callable[[int], None],
) -> None:
    pool = ThreadPoolExecutor(WORKERS, thread_name_prefix="helmsite-publish")
    try:
        going = {
            pool.submit(destination.put, site, path, mark): (path, mark)
            for path, mark in wave.items()
        }
        while going:
            done, _ = wait(going, return_when=FIRST_COMPLETED)
            for future in done:
                path, mark = going.pop(future)
                future.result()
                sent[path] = Listed(mark.size, mark.sha256)
                tell(len(sent))
    finally:
        pool.shutdown(cancel_futures=True)


def _settle(destination: Destination, files: Mapping[str, Listed]) -> dict[str, int]:
    """Write the listing, with the stamps that the store has given; return the sizes."""
    present = destination.present()
    destination.write_listing({
        path: structs.replace(listed, stamp=present[path].stamp)
        if path in present and listed.sha256
        else listed
        for path, listed in files.items()
    })  # fmt: skip
    return {path: there.size for path, there in present.items()}


def _is_published(mark: Mark, known: Listed, there: Present) -> bool:
    """Return whether a file is there as it was published, and that is the one to be."""
    unchanged = (there.size, there.stamp) == (known.size, known.stamp)
    return unchanged and (known.size, known.sha256) == (mark.size, mark.sha256)


def _wave(path: str) -> tuple[bool, int, bool]:
    """Order files so that no page comes before what it needs and leads to."""
    depth = path.count("/")
    is_page = path.endswith(".html")
    return (is_page, -depth if is_page else 0, path.endswith("index.html"))
