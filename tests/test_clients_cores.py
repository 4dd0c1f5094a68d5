"""A model takes the cores that are free, no more."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import pytest

from helmsite.clients import cores

if TYPE_CHECKING:
    from pathlib import Path


def stat(user: int, idle: int) -> str:
    return f"cpu  {user} 0 0 {idle} 0 0 0 0 0 0\ncpu0 1 2 3\n"


@pytest.mark.parametrize(
    ("busy", "idle", "expected"), [(0, 400, 4), (200, 200, 2), (390, 10, 1)]
)
def test_cores_that_others_use_are_left_to_them(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    busy: int,
    idle: int,
    expected: int,
) -> None:
    file = tmp_path / "stat"
    file.write_text(stat(1000, 1000), encoding="ascii")
    monkeypatch.setattr(cores, "STAT", file)
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: range(4), raising=False)
    monkeypatch.setattr(
        time,
        "sleep",
        lambda s: file.write_text(stat(1000 + busy, 1000 + idle), encoding="ascii"),
    )
    assert cores.free_cores() == expected


def test_without_knowledge_all_cores_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cores, "STAT", tmp_path / "nothing")
    assert 1 <= cores.free_cores() <= (os.cpu_count() or 1)


def test_the_real_system_gives_a_sensible_number() -> None:
    assert 1 <= cores.free_cores(0.05) <= (os.cpu_count() or 1)
