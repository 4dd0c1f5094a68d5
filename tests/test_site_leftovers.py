"""What builds that were killed leave beside the site, and who cleans it up."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from helmsite.config import SiteConfig
from helmsite.render import build
from helmsite.render.output import GOING, MARKER
from tests.site_source import FakeResults

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def gone() -> int:
    """The id of a process that has ended."""
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
        return process.pid


def half_made(parent: Path, name: str, pid: int, host: str, age: float = 0.0) -> Path:
    folder = parent / f".site.building-{name}"
    folder.mkdir()
    (folder / GOING).write_text(f"{pid} {host}\n")
    then = time.time() - age
    for path in (folder / GOING, folder):
        os.utime(path, (then, then))
    return folder


def test_what_killed_builds_left_is_removed_and_nothing_else(
    tmp_path: Path, gone: int
) -> None:
    here = platform.node()
    dead = half_made(tmp_path, "dead", gone, here)
    old = half_made(tmp_path, "old", 1, "elsewhere", age=4000)
    alive = half_made(tmp_path, "alive", os.getppid(), here)
    elsewhere = half_made(tmp_path, "elsewhere", gone, "another-machine")
    foreign = tmp_path / ".site.building-notes"
    foreign.mkdir()
    (foreign / "notes.txt").write_text("mine")
    other = tmp_path / ".other.building-x"
    other.mkdir()
    build(FakeResults(models=1), tmp_path / "site", SiteConfig())
    kept = {alive, elsewhere, foreign, other, tmp_path / "site"}
    assert set(tmp_path.iterdir()) == kept
    assert not dead.exists()
    assert not old.exists()
    assert not (tmp_path / "site" / GOING).exists()


def test_a_build_that_was_killed_while_it_was_put_in_place_is_removed_in_time(
    tmp_path: Path,
) -> None:
    fresh, stale = (tmp_path / f".site.building-{name}" for name in ("fresh", "stale"))
    for folder, age in ((fresh, 0.0), (stale, 4000.0)):
        folder.mkdir()
        (folder / MARKER).write_text("record")
        then = time.time() - age
        for path in (folder / MARKER, folder):
            os.utime(path, (then, then))
    build(FakeResults(models=1), tmp_path / "site", SiteConfig())
    assert set(tmp_path.iterdir()) == {tmp_path / "site", fresh}


def test_a_replaced_site_that_was_not_removed_goes_with_the_next_build(
    tmp_path: Path,
) -> None:
    build(FakeResults(models=1), tmp_path / "site", SiteConfig())
    old = tmp_path / ".site.old-x"
    old.mkdir()
    (old / MARKER).write_text("state\n")
    build(FakeResults(models=1), tmp_path / "site", SiteConfig())
    assert [p.name for p in tmp_path.iterdir()] == ["site"]


@pytest.mark.skipif(os.name != "posix", reason="modes are of POSIX")
@pytest.mark.parametrize("mask", [0o077, 0o022, 0o002])
def test_a_site_is_as_open_to_others_as_their_user_wants(
    tmp_path: Path, mask: int
) -> None:
    before = os.umask(mask)
    try:
        for title in ("first", "second"):
            build(FakeResults(models=1), tmp_path / "site", SiteConfig(title=title))
    finally:
        os.umask(before)
    modes = {p.stat().st_mode & 0o777 for p in tmp_path.rglob("*") if p.is_dir()}
    assert modes == {0o777 & ~mask}
    modes = {p.stat().st_mode & 0o777 for p in tmp_path.rglob("*") if p.is_file()}
    assert modes == {0o666 & ~mask}
