"""What a build says of itself, for the next one: each file's digest, each run's key.

The record is the site's marker, `.helmsite-build`. It holds nothing that differs between
two builds of the same: no time, no path of a machine. What a site is determined by is
hashed: the archive, the settings, the theme, and the code and libraries that render.
"""

from __future__ import annotations

import hashlib
import sys
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import structs

from helmsite.render.links import Link
from helmsite.schema import Record

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from helmsite.config import SiteConfig
    from helmsite.query.rows import RunSummary
    from helmsite.render.frames import Frames
    from helmsite.render.theme import Theme

FORMAT = 2
CODE = ("archive", "query", "render", "schema", "config.py")
LIBRARIES = ("duckdb", "jinja2", "markdown", "markupsafe", "msgspec", "nh3", "pyarrow")


class Mark(Record, frozen=True, array_like=True):
    """What a file is known by."""

    size: int
    sha256: str


class RunRecord(Record, frozen=True):
    """A run's files and what they were made of.

    `key` stands for everything that determines them; '' where the run is to be made anew
    each time. `outward` are its pages' links to what is not in its own folder.
    """

    key: str
    instances: int
    files: dict[str, Mark]
    outward: tuple[Link, ...] = ()


class SiteRecord(Record, frozen=True):
    """A whole build. `files` are those of no run; `warnings` those that stay true."""

    whole: str
    runs: dict[str, RunRecord]
    files: dict[str, Mark]
    warnings: tuple[str, ...] = ()

    @property
    def every_file(self) -> dict[str, Mark]:
        """Every file but the record itself; several runs may share one."""
        found = dict(self.files)
        for run in self.runs.values():
            found.update(run.files)
        return found


class _Envelope(Record, frozen=True):
    format: int
    sha256: str
    record: msgspec.Raw


def encode(record: SiteRecord) -> bytes:
    """Return a record as the site keeps it: sorted, with a digest of its own."""
    blob = msgspec.json.encode(record, order="deterministic")
    digest = hashlib.sha256(blob).hexdigest()
    return msgspec.json.encode(_Envelope(FORMAT, digest, msgspec.Raw(blob))) + b"\n"


def decode(blob: bytes) -> SiteRecord | None:
    """Return a record; None where it is damaged, of another format, or none at all."""
    try:
        envelope = msgspec.json.decode(blob, type=_Envelope)
        raw = bytes(envelope.record)
        if (
            envelope.format != FORMAT
            or hashlib.sha256(raw).hexdigest() != envelope.sha256
        ):
            return None
        return msgspec.json.decode(raw, type=SiteRecord)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


class Basis:
    """What a site is made of besides its rows: settings, theme, code, libraries."""

    def __init__(self, site: SiteConfig, theme: Theme) -> None:
        self.site = site
        self._static = theme.static()
        self._rendering = digest(_code(), theme.sources())

    def whole(self, state: str, offered: Mapping[str, Iterable[str]]) -> str:
        """Return the digest of everything that determines a site.

        Args:
            state: the archive's.
            offered: the names of the files to be downloaded, by run.
        """
        names = {run: sorted(found) for run, found in offered.items()}
        files = {
            path: hashlib.sha256(c).hexdigest() for path, c in self._static.items()
        }
        settings = structs.replace(
            self.site, size_budget_mb=0, overrides="", allow_secrets=()
        )
        return digest(self._rendering, settings, state, names, files)

    def key(
        self, own: RunSummary, frames: Frames, offered: Sequence[str] | None
    ) -> str:
        """Return the digest of everything that determines a run's files.

        The manifest is a part of it, and names the digest of each of the run's tables, so
        none of them needs to be read.

        Args:
            own: the run as its pages see it.
            frames: the frames of its pages alone (`Frames.of_run`).
            offered: the names of its files to be downloaded; None where there are none.
        """
        return digest(self._rendering, own, vars(frames), offered)


def own_summary(summary: RunSummary) -> RunSummary:
    """Return a run without what depends on other runs: its pages must not show that."""
    main = structs.replace(
        summary.main, heat=-1, best=False, other_runs=(), more_sources=0
    )
    return structs.replace(summary, main=main)


def run_settings(site: SiteConfig) -> SiteConfig:
    """Return the settings as a run's pages see them: of groups and lists they know nothing."""
    return structs.replace(
        site,
        description="",
        contamination={},
        groups={},
        pinned_methods={},
        rows="model",
        overrides="",
        size_budget_mb=0,
        allow_secrets=(),
    )


def digest(*parts: Any) -> str:
    """Return 64 hex digits over records, texts and what consists of them."""
    blob = msgspec.json.encode(parts, order="deterministic", enc_hook=vars)
    return hashlib.sha256(blob).hexdigest()


@cache
def _code() -> str:
    """Return a digest of the code and the libraries that make pages out of an archive."""
    package = Path(__file__).parents[1]
    known = hashlib.sha256(f"{sys.version_info[:2]}".encode())
    for name in CODE:
        place = package / name
        found = [place] if place.is_file() else sorted(place.rglob("*.*"))
        for path in found:
            if path.suffix in {".py", ".sql"}:
                known.update(f"\0{path.relative_to(package).as_posix()}\0".encode())
                known.update(path.read_bytes())
    for library in LIBRARIES:
        known.update(f"\0{library} {version(library)}".encode())
    return known.hexdigest()
