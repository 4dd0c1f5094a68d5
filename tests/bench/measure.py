"""What a command costs: seconds, CPU seconds and memory of it and all its children."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

PAGE = os.sysconf("SC_PAGE_SIZE")
TICK_S = 0.05


class Cost(NamedTuple):
    """What a command took. `mb` is the most that all of its processes held at a time.

    Memory that processes share (libraries, say) counts in each of them.
    """

    wall: float
    cpu: float
    mb: float
    status: int
    output: str


def run(
    command: Sequence[str],
    *,
    folder: Path | None = None,
    env: Mapping[str, str] | None = None,
    may_fail: bool = False,
) -> Cost:
    """Run a command to its end.

    Raises:
        RuntimeError: it failed, and may not.
    """
    start = time.perf_counter()
    process = subprocess.Popen(
        command,
        cwd=folder,
        env={**os.environ, **(env or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    done, most = threading.Event(), [0]

    def watch() -> None:
        while not done.wait(TICK_S):
            most[0] = max(most[0], resident(process.pid))

    watcher = threading.Thread(target=watch)
    watcher.start()
    assert process.stdout is not None
    output = process.stdout.read().decode(errors="replace")
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    wall = time.perf_counter() - start
    done.set()
    watcher.join()
    process.stdout.close()
    if process.returncode and not may_fail:
        raise RuntimeError(f"{' '.join(command)}\n{output}")
    # What the system kept as its most counts this process too, from before the start.
    peak = most[0] or usage.ru_maxrss * 1024
    cpu = usage.ru_utime + usage.ru_stime
    return Cost(wall, cpu, peak / 1e6, process.returncode, output)


def resident(session: int) -> int:
    """Return the bytes that the processes of a session hold in memory."""
    total = 0
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            if int(fields[3]) == session:
                total += int((entry / "statm").read_text().split()[1]) * PAGE
        except OSError:
            continue  # it has just ended
    return total


def size(folder: Path, suffix: str = "") -> tuple[int, float]:
    """Return how many files there are in a folder, and their megabytes."""
    sizes = [
        path.stat().st_size
        for path in folder.rglob(f"*{suffix}")
        if path.is_file() and not path.is_symlink()
    ]
    return len(sizes), sum(sizes) / 1e6
