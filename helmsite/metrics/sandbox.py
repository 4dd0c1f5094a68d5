"""A sandbox for programs that models write: one process for each, watched and ended.

What always holds: a Python of its own in a new session, without the environment, standard
input or any open file of this process; a working folder of its own that is removed;
limits on time, memory, size of files, open files and processes; output that is not kept;
the process group killed at the end. Inside, an audit hook refuses processes, signals,
network and files elsewhere (`sandbox_child.py`).

Around it stands the best wall that works here, found by trying it:

bubblewrap   namespaces of its own: no network, no other processes, and of all files only
             Python's and the system's libraries, read-only (`apt install bubblewrap`)
namespaces   without bubblewrap, on Linux: no network, no other processes
process      elsewhere: the process's limits and the audit hook alone
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator

    Wall = Literal["bubblewrap", "namespaces", "process"]

CHILD = Path(__file__).with_name("sandbox_child.py")
START_S = 30.0
VERDICT_BYTES = 1_000_000
INSIDE = "/sandbox"
MIB = 1024 * 1024


@dataclass(frozen=True)
class Limits:
    """What one program may use.

    Args:
        memory: bytes of address space of one process.
        file_size: bytes of one file that is written.
        open_files: files open at once.
        processes: processes and threads, beside those that the user has already.
    """

    memory: int = 2048 * MIB
    file_size: int = 16 * MIB
    open_files: int = 64
    processes: int = 64


@dataclass
class Sandbox:
    """Runs programs, each once: a program that was judged before keeps its verdict."""

    limits: Limits = field(default_factory=Limits)
    allowed: tuple[Wall, ...] = ("bubblewrap", "namespaces", "process")
    _verdicts: dict[bytes, Any] = field(default_factory=dict, repr=False)

    def program(self, program: str, timeout: float) -> str:
        """Run a program to its end; return 'passed', 'timed out' or 'failed: <why>'.

        Args:
            program: what is run, tests included; it passes if nothing is raised.
            timeout: seconds; one more is given to a program that does not stop.
        """
        job = {"kind": "program", "program": program, "timeout": timeout}
        verdict = self._judged(job, timeout + 1)
        return verdict if isinstance(verdict, str) else "timed out"

    def apps(self, program: str, input_output: str, timeout: int) -> list[bool] | None:
        """Run a program on the tests of a problem of APPS; None if it gave no verdict.

        Args:
            program: what is tested.
            input_output: the text of the problem's input_output.json.
            timeout: whole seconds for each test; all together have 11 at most.
        """
        job = {
            "kind": "apps",
            "program": program,
            "input_output": input_output,
            "timeout": timeout,
        }
        verdict = self._judged(job, 11.0)
        return verdict if isinstance(verdict, list) else None

    @cached_property
    def wall(self) -> Wall:
        """The best of the allowed walls that works here."""
        return self._way[0]

    @cached_property
    def _way(self) -> tuple[Wall, list[str]]:
        job = {"kind": "program", "program": "1 + 1", "timeout": 5}
        for wall, prefix in _ways():
            if wall in self.allowed and self._run(job, 10.0, prefix) == "passed":
                return wall, prefix
        return "process", []

    def _judged(self, job: dict[str, Any], seconds: float) -> Any:
        key = hashlib.sha256(json.dumps(job, sort_keys=True).encode()).digest()
        if key not in self._verdicts:
            self._verdicts[key] = self._run(job, seconds, self._way[1])
        return self._verdicts[key]

    def _run(self, job: dict[str, Any], seconds: float, prefix: list[str]) -> Any:
        """Run a job in a fresh process; None if no verdict came in time."""
        seal = secrets.token_hex(16)
        whole = {**job, "seal": seal, "limits": self._numbers(seconds)}
        with _folder() as folder, tempfile.TemporaryFile() as given:
            given.write(json.dumps(whole).encode())
            given.seek(0)
            process = subprocess.Popen(  # noqa: S603 - this is what it is for
                [*prefix, sys.executable, "-s", "-P", "-c", CHILD.read_text("utf-8")],
                stdin=given,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                cwd=folder,
                env=_environment(
                    folder if not prefix or "bwrap" not in prefix[0] else INSIDE
                ),
                start_new_session=True,
            )
            try:
                return _verdict(process, seal, seconds)
            finally:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                if process.stdout:
                    process.stdout.close()

    def _numbers(self, seconds: float) -> dict[str, int]:
        return {
            "AS": self.limits.memory,
            "CORE": 0,
            "CPU": int(seconds) + 2,
            "FSIZE": self.limits.file_size,
            "NOFILE": self.limits.open_files,
            "NPROC": self.limits.processes + _own_threads(),
        }


def _verdict(process: subprocess.Popen[bytes], seal: str, seconds: float) -> Any:
    """Read what a process says until it ends, says too much or is late."""
    assert process.stdout
    pipe, said, deadline = process.stdout.fileno(), b"", time.monotonic() + START_S
    started = False
    with selectors.DefaultSelector() as selector:
        selector.register(pipe, selectors.EVENT_READ)
        while len(said) <= VERDICT_BYTES:
            left = deadline - time.monotonic()
            if left <= 0 or not selector.select(left):
                return None
            more = os.read(pipe, 65536)
            if not more:
                break
            said += more
            if not started and said.startswith(b"ready\n"):
                started, deadline = True, time.monotonic() + seconds
    try:
        found = json.loads(said.partition(b"\n")[2])
    except ValueError:
        return None
    is_sealed = isinstance(found, list) and len(found) == 2 and found[0] == seal
    return found[1] if is_sealed else None


@contextlib.contextmanager
def _folder() -> Iterator[str]:
    """Make a working folder and remove it, whatever is in it."""
    folder = tempfile.mkdtemp(prefix="helmsite-")
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _environment(folder: str) -> dict[str, str]:
    return {
        "HOME": folder,
        "LANG": "C.UTF-8",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "PATH": "/usr/bin:/bin",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "0",
        "TMPDIR": folder,
    }


def _own_threads() -> int:
    """Return how many threads the user has: the limit on processes counts them."""
    found = 0
    for status in Path("/proc").glob("[0-9]*/status"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            if status.stat().st_uid == os.getuid():
                lines = status.read_text("utf-8", "replace").partition("\nThreads:")
                found += int(lines[2].split(None, 1)[0])
    return found


def _ways() -> Iterator[tuple[Wall, list[str]]]:
    """Yield each wall with the command that builds it, the best first."""
    if bwrap := shutil.which("bwrap"):
        for devices in (["--dev", "/dev"], _bound("/dev/null", "/dev/urandom")):
            for proc in (["--proc", "/proc"], []):
                yield "bubblewrap", [bwrap, *_files(), *devices, *proc, "--"]
    if unshare := shutil.which("unshare"):
        alone = [
            "--user",
            "--map-root-user",
            "--net",
            "--pid",
            "--fork",
            "--kill-child",
        ]
        for mounts in (["--mount-proc"], []):
            yield "namespaces", [unshare, *alone, *mounts]
    yield "process", []


def _bound(*paths: str) -> list[str]:
    return [word for path in paths for word in ("--ro-bind-try", path, path)]


def _files() -> list[str]:
    """Return bubblewrap's arguments: namespaces, and the files that Python needs."""
    python = {str(Path(sys.executable).parent), sys.prefix, sys.base_prefix}
    python |= {p for p in sys.path if p and Path(p).name.endswith("-packages")}
    python.add(str(Path(sys.executable).resolve().parent.parent))
    outside = [p for p in sorted(python) if not p.startswith("/usr/") and p != "/usr"]
    return [
        *("--unshare-all", "--unshare-user", "--uid", "65534", "--gid", "65534"),
        *("--die-with-parent", "--new-session", "--cap-drop", "ALL"),
        *_bound("/usr", "/lib", "/lib64", "/bin", "/etc/ld.so.cache"),
        *("--tmpfs", "/tmp", *_bound(*outside)),  # noqa: S108 - the sandbox's own
        *("--tmpfs", INSIDE, "--chdir", INSIDE),
    ]
