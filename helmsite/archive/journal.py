"""The journal of a run: every answer that was paid for, kept from the moment it came."""

from __future__ import annotations

import hashlib
import os
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Self

import filelock
import msgspec

from helmsite.archive.staging import unlock
from helmsite.archive.store import problems
from helmsite.errors import ArchiveError
from helmsite.schema import Completion, ModelIdentity, Record, Request, failed

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType
    from typing import BinaryIO


class _Line(Record, frozen=True):
    key: str
    failed: bool
    completions: tuple[Completion, ...]


class _Head(msgspec.Struct):
    """As much of a line as tells what it is about; the rest is skipped quickly."""

    key: str
    failed: bool


_decoder = msgspec.json.Decoder(_Line)
_heads = msgspec.json.Decoder(_Head)
_encoder = msgspec.json.Encoder(order="deterministic")


def request_key(identity: ModelIdentity, request: Request) -> str:
    """Return 32 hex digits for a model and a request.

    Equal where the model, all that is sent (prompt, score_start, decoding, messages) and
    the sample are equal. The sample is the request's key in its run: a trial or an
    instance asked twice with the same prompt is answered twice.
    """
    content = [
        identity,
        request.prompt,
        request.score_start,
        request.decoding,
        request.messages,
        request.key,
    ]
    return hashlib.sha256(_encoder.encode(content)).hexdigest()[:32]


class Journal:
    """The answers of one run so far, one JSON line each, open in one process at a time.

    Use it as a context manager. A line is appended with one write, so that a killed
    process loses the answers in flight and no other. What a kill tore is cut off when
    the journal is opened again. Only places in the file are held in memory.
    One that was never written to is deleted. Safe to use from several threads.

    With `read_only` nothing is made, locked, cut off or deleted; a journal that does not
    exist is empty.
    """

    def __init__(
        self, path: Path, identity: ModelIdentity, *, read_only: bool = False
    ) -> None:
        self.path = path
        self._identity = identity
        self._read_only = read_only
        self._lock = filelock.FileLock(f"{path}.lock", timeout=0, thread_local=False)
        self._threads = threading.Lock()
        self._places: dict[str, tuple[int, int]] = {}
        self._failed: set[str] = set()
        self._file: BinaryIO | None = None
        self._end = 0

    def __enter__(self) -> Self:
        with problems(f"open the journal {self.path}"):
            _refuse_links(self.path)
            if self._read_only:
                self._look()
                return self
            self.path.parent.mkdir(parents=True, exist_ok=True)
            try:
                self._lock.acquire()
            except filelock.Timeout as error:
                raise ArchiveError(
                    f"Another process is at work on this run (it holds {self.path}).",
                    "Wait for it, or end it; then run the same command again.",
                ) from error
            try:
                self._open()
            except BaseException:
                self._lock.release()
                raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._close()
        if self._read_only:
            return
        if not self._end:
            with suppress(OSError):
                self.path.unlink()
        if self.path.exists():
            self._lock.release()
        else:
            unlock(self._lock)

    def __len__(self) -> int:
        return len(self._places)

    @property
    def failed(self) -> int:
        """How many requests failed for good so far; a next run asks them again."""
        return len(self._failed)

    def get(self, request: Request) -> list[Completion] | None:
        """Return the answer to a request, None if it has none yet or failed."""
        key = request_key(self._identity, request)
        place = self._places.get(key)
        if place is None:
            return None
        with self._threads, problems(f"read the journal {self.path}"):
            file = self._opened()
            file.seek(place[0])
            try:
                return list(_decoder.decode(file.read(place[1])).completions)
            except (msgspec.MsgspecError, UnicodeError):
                del self._places[key]  # of another version: to be asked again
                return None

    def put(self, request: Request, completions: Sequence[Completion]) -> None:
        """Keep the answer to a request, or its failure (`error` is set).

        Raises:
            ArchiveError: it cannot be written (full disk), or holds what no archive can
                (a lone surrogate, NaN).
        """
        self._may_write()
        key = request_key(self._identity, request)
        line = _Line(key, failed(completions), tuple(completions))
        try:
            blob = _encoder.encode(line)
            same = _decoder.decode(blob) == line
        except (UnicodeError, TypeError, ValueError, OverflowError) as error:
            raise _refused(request, str(error)) from error
        if not same:
            raise _refused(request, "it holds NaN or infinity, or is no plain JSON")
        with self._threads, problems(f"write the journal {self.path}"):
            self._append(key, blob + b"\n", line.failed)

    def discard(self) -> None:
        """Delete the journal: what it held is in the archive now."""
        self._may_write()
        self._close()
        self._places.clear()
        self._failed.clear()
        with problems(f"delete the journal {self.path}"):
            self.path.unlink(missing_ok=True)

    def _open(self) -> None:
        file = open(self.path, "a+b", buffering=0, opener=_no_link)  # noqa: SIM115
        self._file = file
        with open(self.path, "rb", opener=_no_link) as lines:
            self._end = self._scan(lines)
        file.truncate(self._end)

    def _look(self) -> None:
        """Open for reading alone; another process may be writing."""
        with suppress(FileNotFoundError):
            self._file = open(self.path, "rb", opener=_no_link)  # noqa: SIM115
            self._end = self._scan(self._file)

    def _scan(self, lines: BinaryIO) -> int:
        """Note every whole line; return where the last of them ends."""
        start = 0
        for raw in lines:
            if not raw.endswith(b"\n"):
                break
            self._note(raw, start)
            start += len(raw)
        return start

    def _note(self, raw: bytes, start: int) -> None:
        """Remember where a line stands; one that cannot be read was torn."""
        try:
            line = _heads.decode(raw)
        except (msgspec.MsgspecError, UnicodeError):
            return
        self._remember(line.key, (start, len(raw)), line.failed)

    def _remember(self, key: str, place: tuple[int, int], failed: bool) -> None:
        if not failed:
            self._places[key] = place
            self._failed.discard(key)
        elif key not in self._places:
            self._failed.add(key)

    def _append(self, key: str, blob: bytes, failed: bool) -> None:
        file = self._opened()
        try:
            rest = memoryview(blob)
            while rest:
                rest = rest[os.write(file.fileno(), rest) :]
        except OSError:
            file.truncate(self._end)
            raise
        self._remember(key, (self._end, len(blob)), failed)
        self._end += len(blob)

    def _opened(self) -> BinaryIO:
        if self._file is None:
            raise ArchiveError(
                f"The journal {self.path} is not open.",
                "Use it inside `with archive.journal(...) as journal:`.",
            )
        return self._file

    def _may_write(self) -> None:
        if self._read_only:
            raise ArchiveError(
                f"The journal {self.path} is open for reading alone.",
                "Open it without `read_only`.",
            )

    def _close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


def _refuse_links(path: Path) -> None:
    """Refuse a journal or lock that would cut off or append to a file elsewhere.

    Raises:
        ArchiveError: one of them is a symbolic link.
    """
    for one in (path, Path(f"{path}.lock")):
        if one.is_symlink():
            raise ArchiveError(
                f"{one} is a symbolic link, which no journal is.", "Delete the link."
            )


def _no_link(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0), 0o666)


def clear(path: Path) -> bool:
    """Delete a journal and its lock, unless a process is at work; say if there was one."""
    lock = filelock.FileLock(f"{path}.lock", timeout=0, thread_local=False)
    if not (path.exists() or Path(lock.lock_file).exists()):
        return False
    _refuse_links(path)
    with problems(f"delete the journal {path}"):
        try:
            lock.acquire()
        except filelock.Timeout:
            return False
        path.unlink(missing_ok=True)
    unlock(lock)
    return True


def _refused(request: Request, why: str) -> ArchiveError:
    return ArchiveError(
        f"Cannot keep the answer to {request.instance_id!r}: {why}.",
        "The client must escape what is not valid Unicode (HELM writes bytes:\\xNN) and "
        "leave out numbers that are not finite.",
    )
