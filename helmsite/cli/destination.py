"""A place where a site is published: a folder or bucket, by its fsspec address."""

from __future__ import annotations

import hashlib
import os
import time
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import msgspec

from helmsite.archive.store import connect, is_cloud, prune, reason
from helmsite.errors import BuildError
from helmsite.render.output import open_regular
from helmsite.schema import Record

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from io import BufferedReader

    from helmsite.render.record import Mark

LISTING = ".helmsite-published.json"
FORMAT = 1
ATTEMPTS = 5
FIRST_PAUSE_S = 0.5
WHOLE = 32 << 20  # bytes; larger files are uploaded in parts
KINDS = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".ico": "image/x-icon",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json; charset=utf-8",
    ".parquet": "application/vnd.apache.parquet",
    ".png": "image/png",
    ".svg": "image/svg+xml; charset=utf-8",
    ".txt": "text/plain; charset=utf-8",
    ".woff2": "font/woff2",
    ".xml": "application/xml; charset=utf-8",
}
STAMPS = ("ETag", "etag", "md5Hash", "content_md5", "generation", "mtime", "created")


class Listed(Record, frozen=True, array_like=True):
    """A file that was published; `sha256` is '' while it is on its way."""

    size: int
    sha256: str
    stamp: str = ""


class _Listing(Record, frozen=True):
    format: int
    files: dict[str, Listed]


class Present(Record, frozen=True):
    """A file at the destination, whoever put it there."""

    size: int
    stamp: str


class Destination:
    """A folder or bucket, at any address that fsspec knows.

    Raises:
        BuildError: it cannot be opened.
    """

    def __init__(self, url: str) -> None:
        from fsspec.implementations.local import LocalFileSystem

        self.url = url.rstrip("/")
        scheme, is_url, rest = url.partition("://")
        if is_url and not rest.strip("/"):
            raise BuildError(
                f"{url} names no bucket and no folder.",
                "Write s3://BUCKET/PATH; where a variable is in it, see whether it is set.",
            )
        if _has_credentials(scheme, rest):
            raise BuildError(
                "The address holds credentials.",
                "Give them in the environment (AWS_ACCESS_KEY_ID, ...) or in fsspec's "
                "configuration; addresses end up in logs.",
            )
        self._fs, self._base = connect(self.url or url, {}, url, BuildError)
        self.local = Path(self._base) if isinstance(self._fs, LocalFileSystem) else None

    def present(self) -> dict[str, Present]:
        """Return what is there, by path from the destination."""
        with self._told("list"):
            self._fs.invalidate_cache()
            try:
                found = self._fs.find(self._base, detail=True)
            except (FileNotFoundError, NotADirectoryError):
                return {}
        start = len(self._base.lstrip("/")) + 1
        return {
            path.lstrip("/")[start:]: Present(int(facts["size"] or 0), _stamp(facts))
            for path, facts in found.items()
        }

    def listing(self) -> dict[str, Listed]:
        """Return what earlier publishes have put there; nothing where that is not known."""
        with self._told("read"):
            try:
                blob = self._fs.cat_file(self._path(LISTING))
            except (FileNotFoundError, NotADirectoryError):
                return {}
        try:
            listing = msgspec.json.decode(blob, type=_Listing)
        except (msgspec.MsgspecError, UnicodeError, RecursionError):
            return {}
        return listing.files if listing.format == FORMAT else {}

    def write_listing(self, files: Mapping[str, Listed]) -> None:
        """Say what is published."""
        listing = _Listing(FORMAT, dict(sorted(files.items())))
        self._send(LISTING, msgspec.json.encode(listing))

    def put(self, site: Path, path: str, mark: Mark) -> None:
        """Upload a file of a site, if it still is what the build has written.

        Raises:
            BuildError: it is not, or it cannot be uploaded.
        """
        source = site / path
        with opened(site, path) as file:
            if mark.size <= WHOLE:
                data = file.read(WHOLE + 1)  # one that has grown has another digest
                known = hashlib.sha256(data).hexdigest()
            else:
                data = b""
                known = hashlib.file_digest(file, "sha256").hexdigest()
        if known != mark.sha256:
            raise BuildError(
                f"{source} is not what the build has written there.",
                "Build the site anew; what is already published stays.",
            )
        self._send(path, data if mark.size <= WHOLE else source)

    def holds(self, site: Path, path: str, there: Present, mark: Mark) -> bool:
        """Return whether a file that no listing tells of is that of the site.

        A folder's is read. A store's is known by the MD5 that S3 says of what was
        uploaded in one part; where there is none, the file counts as another one.
        """
        if there.size != mark.size:
            return False
        if self.local is not None:
            mine = Path(self._path(path))
            return (
                not mine.is_symlink()
                and _digest(mine.open("rb"), "sha256") == mark.sha256
            )
        return there.stamp == _digest(opened(site, path), "md5")

    def delete(self, path: str) -> None:
        """Delete a file that an earlier publish has put there."""
        with self._told("delete", path):
            try:
                self._fs.rm_file(self._path(path))
            except FileNotFoundError:
                return
            if self.local is not None:
                prune(Path(self._path(path)).parent, self.local)

    def _path(self, path: str) -> str:
        return f"{self._base}/{path}"

    def _send(self, path: str, content: bytes | Path) -> None:
        for attempt in range(1, ATTEMPTS + 1):
            try:
                with self._told("write", path):
                    self._send_once(path, content)
            except BuildError as error:
                if attempt == ATTEMPTS or not _may_pass(error.__cause__):
                    raise
                time.sleep(FIRST_PAUSE_S * 2 ** (attempt - 1))
            else:
                return

    def _send_once(self, path: str, content: bytes | Path) -> None:
        if self.local is not None:
            data = content if isinstance(content, bytes) else content.read_bytes()
            target = Path(self._path(path))
            target.parent.mkdir(parents=True, exist_ok=True)
            beside = target.with_name(f".{target.name}.{os.getpid()}.tmp")
            try:
                beside.write_bytes(data)
                beside.replace(target)
            except OSError:
                beside.unlink(missing_ok=True)
                raise
        elif isinstance(content, bytes):
            self._fs.pipe_file(self._path(path), content, **self._headers(path))
        else:
            self._fs.put_file(str(content), self._path(path), **self._headers(path))

    def _headers(self, path: str) -> dict[str, Any]:
        """Return what the store should say of a file, in its own words."""
        kind = KINDS.get(PurePosixPath(path).suffix, "application/octet-stream")
        protocol = self._fs.protocol
        names = {protocol} if isinstance(protocol, str) else set(protocol)
        if names & {"s3", "s3a"}:
            return {"ContentType": kind, "CacheControl": "no-cache"}
        if names & {"gs", "gcs"}:
            return {"content_type": kind}
        return {}

    @contextmanager
    def _told(self, verb: str, path: str = "") -> Iterator[None]:
        where = f"{self.url}/{path}" if path else self.url
        try:
            yield
        except BuildError:
            raise
        except Exception as error:
            known = isinstance(error, OSError | NotImplementedError) or is_cloud(error)
            if not known:
                raise
            raise BuildError(
                f"Cannot {verb} {where}: {reason(error)}.",
                "Check the address, your credentials and the connection, then publish "
                "again: what was uploaded is not uploaded twice.",
            ) from error


def _has_credentials(scheme: str, rest: str) -> bool:
    """Return whether an address holds a user, a password or a signed query.

    Azure's container@account is none.
    """
    user, at, _ = rest.partition("/")[0].rpartition("@")
    is_container = scheme in {"abfs", "abfss"} and ":" not in user
    return bool(at and not is_container) or "?" in rest


def opened(site: Path, path: str) -> BufferedReader:
    """Open a file of a site for reading; nothing is reached through a link.

    Raises:
        BuildError: a link is in the way, or the file is gone.
    """
    place = site
    for part in PurePosixPath(path).parts:
        place /= part
        if place.is_symlink():
            raise BuildError(f"{place} is a symbolic link.", "Build the site anew.")
    try:
        file = open_regular(place)
    except OSError as error:
        raise BuildError(
            f"Cannot read {place}: {error.strerror}.", "Build the site anew."
        ) from error
    if file is None:
        raise BuildError(f"{place} is no file.", "Build the site anew.")
    return file


def _digest(file: BufferedReader, name: str) -> str:
    with file:
        return hashlib.file_digest(
            file, lambda: hashlib.new(name, usedforsecurity=False)
        ).hexdigest()


def _stamp(facts: Mapping[str, Any]) -> str:
    """Return what changes when a file is written again, as far as a store says."""
    found = next((facts[name] for name in STAMPS if facts.get(name)), "")
    return str(found).strip('"')


def _may_pass(error: BaseException | None) -> bool:
    return not isinstance(
        error, PermissionError | FileNotFoundError | NotImplementedError
    )
