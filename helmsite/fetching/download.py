"""A file from the network: resumed where it broke off, verified, then moved in place."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO

import msgspec
from filelock import FileLock

from helmsite.fetching import hub
from helmsite.fetching.connection import answer
from helmsite.fetching.errors import (
    AddressError,
    FetchError,
    OfflineError,
    PassingError,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    Progress = Callable[[str, int, int | None], None]

TRIES = 5
PIECE = 2**18
LARGEST = 64 * 2**30
"""Bytes that one download may have."""
LEFT_FREE = 64 * 2**20
"""Bytes of the disk that a download leaves free."""
OFFLINE = "HELMSITE_OFFLINE"
SUFFIX = ".origin.json"


class Received(msgspec.Struct, frozen=True):
    """Where a file came from: kept beside it as `<name>.origin.json`."""

    url: str
    sha256: str
    bytes: int
    revision: str = ""


class _Half(msgspec.Struct, frozen=True):
    """Which file a `.part` is the beginning of."""

    url: str
    version: str


def _silent(name: str, done: int, total: int | None) -> None:
    """Tell nobody."""
    del name, done, total


@dataclass
class Fetcher:
    """Brings files from the network; `progress` is told name, bytes so far and total.

    Args:
        offline: forbid the network; None does as HELMSITE_OFFLINE says.
        pause: waits between two tries, given seconds.
        hint: what to do about a file that no address gives.
    """

    offline: bool | None = None
    progress: Progress = _silent
    pause: Callable[[float], None] = time.sleep
    timeout: float = 30.0
    largest: int = LARGEST
    hint: str = ""

    @property
    def is_offline(self) -> bool:
        """Whether the network is forbidden."""
        if self.offline is None:
            return os.environ.get(OFFLINE, "") not in ("", "0", "false", "no")
        return self.offline

    def fetch(self, urls: Sequence[str], target: Path, sha256: str = "") -> Received:
        """Return what was received as `target`; the first mirror that has it counts.

        Two processes that want the same file do not clash: the second waits and finds
        it there.

        Raises:
            OfflineError: the network is forbidden.
            FetchError: no address gave the file, or the disk is full.
        """
        if self.is_offline:
            raise OfflineError(
                f"{target.name} is not here and the network is forbidden."
            )
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            with FileLock(f"{target}.lock"):
                there = received(target)
                if there is not None and there.url in urls:
                    return there
                return self._first(urls, target, sha256)
        except OSError as error:
            raise _disk(error, target) from error

    def listing(self, repo: str, revision: str, folder: str) -> list[str]:
        """Return the paths of the files in a folder of a dataset on the hub.

        Raises:
            AddressError: there is no such dataset, revision or folder.
            OfflineError: the network is forbidden.
        """
        if self.is_offline:
            raise OfflineError(f"{repo} is not here and the network is forbidden.")
        url = hub.listing_url(repo, revision, folder)
        data = self._patiently(lambda: self._json(url))
        found = data if isinstance(data, list) else []
        return sorted(
            str(each["path"])
            for each in found
            if isinstance(each, dict) and each.get("type") == "file"
        )

    def _json(self, url: str) -> Any:
        with answer(url, {}, self.timeout) as response:
            return msgspec.json.decode(response.read(2**26))

    def _first(self, urls: Sequence[str], target: Path, sha256: str) -> Received:
        reasons = []
        for url in urls:
            try:
                return self._one(url, target, sha256)
            except AddressError as error:
                reasons.append(f"{url}: {error}")
        raise FetchError(
            f"{target.name} cannot be downloaded.\n" + "\n".join(reasons),
            self.hint or "Try again later.",
        )

    def _one(self, url: str, target: Path, sha256: str) -> Received:
        part = target.with_name(f"{target.name}.part")
        found = self._patiently(lambda: self._attempt(url, part, target.name, sha256))
        if sha256 and found.sha256 != sha256:
            _forget(part)
            raise AddressError(
                f"sends another file: its SHA-256 is {found.sha256}, not {sha256}"
            )
        part.replace(target)
        _forget(part)
        return keep(target, found)

    def _patiently(self, attempt: Callable[[], Any]) -> Any:
        for tried in range(1, TRIES + 1):
            try:
                return attempt()
            except PassingError as error:
                if tried == TRIES:
                    raise AddressError(f"{error} ({TRIES} tries)") from error
                self.pause(
                    error.after if error.after is not None else 2.0 ** (tried - 1)
                )
        raise AssertionError("the last try returns or raises")

    def _attempt(self, url: str, part: Path, name: str, sha256: str) -> Received:
        """Read on where the part ends, if it is a part of just this file."""
        half = _read(_about(part), _Half)
        known = half is not None and half.url == url and (half.version or sha256)
        start = part.stat().st_size if known and part.exists() else 0
        headers = {"Range": f"bytes={start}-"} if start else {}
        if start and half is not None and half.version:
            headers["If-Range"] = half.version
        try:
            with answer(url, headers, self.timeout) as response:
                return self._read(response, url, part, name, start)
        except AddressError as error:
            if start and "answers 416" in str(error):
                _forget(part)
                raise PassingError("has another length than before", 0.0) from error
            raise

    def _read(
        self, response: Any, url: str, part: Path, name: str, start: int
    ) -> Received:
        head = response.headers
        goes_on = response.status == 206 and _begins(head, start)
        if response.status == 206 and not goes_on:
            _forget(part)
            raise PassingError("sends another part than it was asked for", 0.0)
        start = start if goes_on else 0
        total = _total(head, start)
        self._check(head, total, part, name, start)
        _write(_about(part), _Half(url, _version(head)))
        digest = hashlib.sha256()
        with part.open("r+b" if goes_on else "wb") as file:
            for piece in iter(lambda: file.read(PIECE), b"") if goes_on else ():
                digest.update(piece)
            size = self._copy(response, file, digest, (name, start, total))
            file.flush()
            os.fsync(file.fileno())
        if total is not None and size != total:
            raise PassingError(f"broke off after {size} of {total} bytes", 0.5)
        return Received(url, digest.hexdigest(), size, head.get("X-Repo-Commit") or "")

    def _copy(
        self,
        response: Any,
        file: BinaryIO,
        digest: Any,
        seen: tuple[str, int, int | None],
    ) -> int:
        name, size, total = seen
        self.progress(name, size, total)
        while piece := response.read(PIECE):
            size += len(piece)
            if size > self.largest:
                raise AddressError(f"sends more than {self.largest} bytes")
            file.write(piece)
            digest.update(piece)
            self.progress(name, size, total)
        return size

    def _check(
        self, head: Any, total: int | None, part: Path, name: str, start: int
    ) -> None:
        kind = head.get_content_type() if head.get("Content-Type") else ""
        if kind == "text/html" and not name.endswith((".html", ".htm")):
            raise AddressError("answers with a web page, not with the file")
        if total is None:
            return
        if total > self.largest:
            raise AddressError(f"has {total} bytes, more than {self.largest}")
        free = shutil.disk_usage(part.parent).free
        if total - start > free - LEFT_FREE:
            raise OSError(errno.ENOSPC, f"{total - start} bytes needed, {free} free")


def keep(target: Path, found: Received) -> Received:
    """Note beside a file or folder where it came from."""
    _write(target.with_name(target.name + SUFFIX), found)
    return found


def received(target: Path) -> Received | None:
    """Return where a file that was fetched came from, None if it was not."""
    return (
        _read(target.with_name(target.name + SUFFIX), Received)
        if target.exists()
        else None
    )


def _begins(head: Any, start: int) -> bool:
    said = str(head.get("Content-Range") or "")
    return said.startswith(f"bytes {start}-")


def _total(head: Any, start: int) -> int | None:
    length = str(head.get("Content-Length") or "")
    return start + int(length) if length.isdecimal() else None


def _version(head: Any) -> str:
    """Return what tells this state of a file from others: a strong tag, or its date."""
    tag = str(head.get("ETag") or "")
    return (
        tag
        if tag and not tag.startswith("W/")
        else str(head.get("Last-Modified") or "")
    )


def _about(part: Path) -> Path:
    return part.with_name(f"{part.name}.json")


def _forget(part: Path) -> None:
    for path in (part, _about(part)):
        path.unlink(missing_ok=True)


def _write(path: Path, record: msgspec.Struct) -> None:
    path.write_bytes(msgspec.json.encode(record))


def _read(path: Path, kind: type[Any]) -> Any:
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except (OSError, msgspec.MsgspecError):
        return None


def _disk(error: OSError, target: Path) -> FetchError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        _forget(target.with_name(f"{target.name}.part"))
        return FetchError(
            f"{target}: the disk is full: {error.strerror}.",
            "Free some space, or let XDG_CACHE_HOME name a folder on another disk.",
        )
    return FetchError(
        f"{target}: cannot be written: {error.strerror or error}.",
        "Look at the folder's permissions; XDG_CACHE_HOME names another one.",
    )
