"""A scenario's files: found in its folders or its cache, else fetched there."""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from msgspec import structs

from helmsite.errors import ScenarioError, suggest
from helmsite.fetching import (
    Fetcher,
    FetchError,
    OfflineError,
    Received,
    archive_suffix,
    extract,
    hub,
    keep,
    received,
)
from helmsite.fetching.errors import AddressError
from helmsite.scenarios.places import (
    DATA,
    cache_folder,
    data_file,
    data_place,
    files_below,
    split_pattern,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from helmsite.scenarios.definition import Hub, Place

ARCHIVES = "archives"
SAFE = re.compile(r"[^\w.-]+")


class Found(NamedTuple):
    """A file of a place: `name` is its path below the place, '' for the place itself."""

    name: str
    path: Path


@dataclass
class Store:
    """Leads the places of one scenario to files on this machine.

    Args:
        scenario: its name, for the hint how to fetch.
        folder: of its YAML file.
        allowed: the folders that it may read, resolved.
        own: the scenario's folder in the cache, '' for the built-in ones' common one.
        fetcher: what brings files that are not here.
    """

    scenario: str
    folder: Path
    allowed: Sequence[Path]
    own: str = ""
    fetcher: Fetcher = field(default_factory=Fetcher)
    revisions: set[str] = field(default_factory=set)

    @property
    def cache(self) -> Path:
        """Where this scenario's files are kept that were fetched."""
        return cache_folder() / "of-projects" / self.own if self.own else cache_folder()

    def files(self, place: Place, inside: str = "") -> list[Found]:
        """Return the files of a place, sorted; `inside` is a path below it.

        Raises:
            ScenarioError: there is none, and none can be had.
        """
        base, pattern = split_pattern(place.path)
        root = self.locate(place)
        if inside:
            return [Found(inside, self._below(root, inside))]
        if not root.is_dir():
            return [Found("", root)]
        found = [Found(*each) for each in files_below(root, pattern, self._readable)]
        if not found:
            what = f"no file is like {pattern}" if pattern else "the folder is empty"
            raise ScenarioError(f"{root}: {what}.", f"Was all of {base} copied?")
        return found

    def locate(self, place: Place) -> Path:
        """Return the file or folder of a place, fetched if it is not here.

        Raises:
            ScenarioError: it is not here and cannot be had.
        """
        base, _ = split_pattern(place.path)
        here = data_place(self.folder, base, self.allowed)
        if here.exists():
            return self._opened(here, place)
        target = self._target(base)
        there = received(target)
        if there is None or there.url not in self._labels(place):
            if not self.addresses(place):
                return self._missing(here, place)
            there = self._fetch(place, target)
        if there.revision:
            self.revisions.add(there.revision)
        return self._opened(target, place)

    def is_here(self, place: Place) -> bool:
        """Return whether a place needs no network."""
        base, _ = split_pattern(place.path)
        if data_place(self.folder, base, self.allowed).exists():
            return True
        there = received(self._target(base))
        return there is not None and there.url in self._labels(place)

    def can_have(self, place: Place) -> bool:
        """Return whether a file that may be missing is here, fetched if need be."""
        if self.is_here(place):
            return True
        if self.fetcher.is_offline or not self.addresses(place):
            return False
        try:
            self.locate(place)
        except FetchError:
            return False
        return True

    def addresses(self, place: Place) -> tuple[str, ...]:
        """Return the addresses of a place's file, mirrors in order."""
        urls = (place.url,) if isinstance(place.url, str) else place.url
        if place.hf is not None and place.hf.file:
            return (
                hub.file_url(place.hf.repo, place.hf.revision, place.hf.file),
                *urls,
            )
        if place.hf is not None:
            of = place.hf
            page = f"{hub.endpoint()}/datasets/{of.repo}"
            return (f"{page}@{of.revision}/{of.config}/{of.split}",)
        return tuple(urls)

    @property
    def _readable(self) -> tuple[Path, ...]:
        return (*self.allowed, self.cache.resolve())

    def _below(self, root: Path, inside: str) -> Path:
        path = data_file(root, inside, self._readable)
        if not path.is_file():
            near = (
                [p.name for p in path.parent.iterdir()] if path.parent.is_dir() else []
            )
            raise ScenarioError(
                f"{path}: there is no such file.{suggest(path.name, near)}",
                f"It belongs to what {self.scenario} reads from {root}.",
            )
        return path

    def _target(self, base: str) -> Path:
        """Return where a path is kept in the cache: never outside of it."""
        parts = PurePosixPath(os.path.normpath(base)).parts
        return self.cache.joinpath(*(p for p in parts if p not in ("..", "/")))

    def _labels(self, place: Place) -> set[str]:
        """Return what may stand as the address of this place in the cache."""
        inside = f"#{place.member}" if self._unpacks(place) else ""
        return {f"{url}{inside}" for url in self.addresses(place)}

    def _unpacks(self, place: Place) -> bool:
        """Return whether what is fetched is an archive, and the place a part of it."""
        return bool(place.member) and not archive_suffix(split_pattern(place.path)[0])

    def _fetch(self, place: Place, target: Path) -> Received:
        if self.fetcher.is_offline:
            raise self._offline(place)
        urls = self.addresses(place)
        self.fetcher.hint = (
            f"Try again later, or put it into the project as {DATA}/{place.path}."
        )
        if place.hf is not None and not place.hf.file:
            return self._shards(place.hf, urls[0], target)
        if not self._unpacks(place):
            return self.fetcher.fetch(urls, target, place.sha256)
        name = PurePosixPath(urlsplit(urls[0]).path).name
        suffix = archive_suffix(name) or archive_suffix(urls[0]) or ".tar"
        key = hashlib.sha256(urls[0].encode()).hexdigest()[:8]
        stem = SAFE.sub("_", name.removesuffix(suffix))[:80]
        archive = self.cache / ARCHIVES / f"{stem}-{key}{suffix}"
        found = self.fetcher.fetch(urls, archive, place.sha256)
        extract(archive, place.member, target)
        return keep(target, structs.replace(found, url=f"{found.url}#{place.member}"))

    def _shards(self, of: Hub, label: str, target: Path) -> Received:
        """Fetch the Parquet files of a split into a folder."""
        revision, folder = of.revision or hub.CONVERTED, ""
        shards: list[str] = []
        reasons = []
        for folder in hub.shard_folders(of.config, of.split):
            try:
                listed = self.fetcher.listing(of.repo, revision, folder)
            except AddressError as error:
                reasons.append(f"{of.repo}, {folder}: {error}")
                continue
            shards = [each for each in listed if hub.is_shard(each, of.split)]
            if shards:
                break
        if not shards:
            raise FetchError(
                f"{of.repo} at {revision} has no Parquet files of the split {of.split!r}.\n"
                + "\n".join(reasons),
                "Name one of its files with file:, or look at its page on the hub.",
            )
        parts = [
            self.fetcher.fetch(
                [hub.file_url(of.repo, revision, each)],
                target / f"{number:04}.parquet",
            )
            for number, each in enumerate(shards)
        ]
        together = "".join(part.sha256 for part in parts)
        return keep(
            target,
            Received(
                label,
                hashlib.sha256(together.encode()).hexdigest(),
                sum(part.bytes for part in parts),
                parts[0].revision,
            ),
        )

    def _opened(self, path: Path, place: Place) -> Path:
        """Return a place's file; of a local archive, its members, unpacked in the cache."""
        if not (place.member and path.is_file() and archive_suffix(path.name)):
            return path
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        key = hashlib.sha256(f"{digest} {place.member}".encode()).hexdigest()[:16]
        base, _ = split_pattern(place.member)
        target = self.cache / "members" / key / PurePosixPath(base).name
        if not target.exists():
            extract(path, place.member, target)
        return target

    def _missing(self, here: Path, place: Place) -> Path:
        """Return where a file should be, for the reader to say that it is not there."""
        if not place.note:
            return here
        raise ScenarioError(
            f"{place.path} is not here, and nobody may pass it on.",
            f"{place.note} Put it into the project as {DATA}/{place.path}.",
        )

    def _offline(self, place: Place) -> OfflineError:
        urls = self.addresses(place)
        return OfflineError(
            f"{place.path} of {self.scenario} is not here, and the network is forbidden.",
            f"`helmsite fetch {self.scenario}` downloads it from {urls[0]} where there is "
            f"a network; or put it into the project as {DATA}/{place.path}.",
        )
