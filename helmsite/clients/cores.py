"""How many cores are free to compute with."""

from __future__ import annotations

import os
import time
from pathlib import Path

STAT = Path("/proc/stat")
IDLE, IOWAIT = 4, 5


def free_cores(watch_s: float = 0.2) -> int:
    """Return how many cores others leave idle, at least 1.

    The threads of one model wait for each other at every layer: one that shares its core
    with another process holds up all of them. Where the system doesn't tell (no Linux),
    all cores count as free.
    """
    if hasattr(os, "sched_getaffinity"):
        cores = len(os.sched_getaffinity(0))
    else:
        cores = os.cpu_count() or 1
    if not STAT.exists():
        return cores
    before = _times()
    time.sleep(watch_s)
    total, idle = (b - a for a, b in zip(before, _times(), strict=True))
    everywhere = os.cpu_count() or 1
    return max(1, min(cores, round(everywhere * idle / total))) if total else cores


def _times() -> tuple[int, int]:
    """Return the ticks of all cores since the start: all of them, and the idle ones."""
    fields = STAT.read_text(encoding="ascii").splitlines()[0].split()
    ticks = [int(field) for field in fields[1:]]
    return sum(ticks[:8]), ticks[IDLE - 1] + ticks[IOWAIT - 1]
