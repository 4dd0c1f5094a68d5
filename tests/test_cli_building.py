"""What a build shows while it goes, and `helmsite build` as a user meets it."""

from __future__ import annotations

import gc
import io
import re
import shutil
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner, Result
from rich.console import Console

from helmsite.cli import main
from helmsite.cli.new import new_project
from helmsite.cli.progress import BuildReporter
from helmsite.render import Forecast

if TYPE_CHECKING:
    from pathlib import Path

FORECAST = Forecast(2100, 390_000_000, 3, 197)


def shown(terminal: bool, *, lasting: bool = False) -> str:
    """What is printed to a terminal or a log in the course of a build."""
    text = io.StringIO()
    console = Console(file=text, force_terminal=terminal, width=100, no_color=True)
    with BuildReporter(console) as reporter:
        if lasting:
            reporter._line_due = 0.0
        reporter.told(FORECAST)
        reporter.progress("verifying", 10, 20)
        reporter.progress("instances", 0, 4000)
        if lasting:
            reporter._line_due = 0.0
        reporter.progress("instances", 2000, 4000)
    return text.getvalue()


def test_a_short_build_says_nothing_in_a_log() -> None:
    assert shown(terminal=False) == ""


def test_a_long_build_says_in_a_log_how_far_it_is() -> None:
    lines = shown(terminal=False, lasting=True).splitlines()
    assert lines[0] == (
        "About 2,100 pages and 390 MB; 3 runs to render, 197 taken over."
    )
    assert re.fullmatch(r"  verifying: 10 of 20, \d+/s, \d+ s left", lines[1])
    assert re.fullmatch(r"  instances: 2,000 of 4,000, \d+/s, \d+ s left", lines[2])
    assert len(lines) == 3


def test_a_terminal_shows_the_forecast_and_a_bar() -> None:
    text = shown(terminal=True)
    assert "About 2,100 pages and 390 MB" in text
    assert "Instances" in text
    assert "2000/4000" in text


def helmsite(*words: str | Path) -> Result:
    result = CliRunner().invoke(main, [str(w) for w in words])
    assert result.exception is None or isinstance(result.exception, SystemExit), (
        result.exception
    )
    return result


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made") / "project"
    new_project(folder)
    assert helmsite("run", "-p", folder).exit_code == 0
    return folder


def test_a_second_build_says_that_nothing_had_to_be_done(project: Path) -> None:
    words = ("build", "-p", project, "--workers", "1")
    rhythm = gc.get_threshold(), gc.get_freeze_count()
    first = helmsite(*words)
    assert first.exit_code == 0, first.output
    assert (gc.get_threshold(), gc.get_freeze_count()) == rhythm
    assert re.search(r"; \d+ runs? rendered\. Open ", first.stdout)
    second = helmsite(*words)
    assert "; up to date, nothing was written. Open " in second.stdout
    assert second.stdout.count("\n") == 1
    page = project / "site" / "runs" / "index.html"
    page.write_text("other")
    third = helmsite(*words)
    assert re.search(r"; 0 of \d+ runs rendered\. Open ", third.stdout)
    assert page.read_text() != "other"


def test_a_spoiled_run_is_told(project: Path) -> None:
    helmsite("build", "-p", project)
    page = next((project / "site" / "runs").glob("r*/1.html"))
    page.write_text("other")
    built = helmsite("build", "-p", project)
    run = page.parent.name
    assert f"Run {run} was rendered anew: runs/{run}/1.html is not" in built.stderr
    assert "1 of " in built.stdout


@pytest.mark.parametrize("count", ["0", "-1", "many"])
def test_a_number_of_processes_that_cannot_be_is_refused(
    project: Path, count: str
) -> None:
    refused = helmsite("build", "-p", project, "--workers", count)
    assert refused.exit_code == 2
    assert "--workers" in refused.output


@pytest.mark.parametrize("start", ["{}", "file://{}", "local://{}", "file:{}", "~"])
def test_a_site_takes_the_place_of_nothing_that_it_is_made_of(
    project: Path, tmp_path: Path, start: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    address = f"{start.format(tmp_path)}/{{}}"
    folder = tmp_path / "project"
    shutil.copytree(project, folder)
    helmsite("build", "-p", folder)
    inner = folder / "site" / "archive"
    (folder / "here").symlink_to(folder)
    for out in ("runs", "runs/site", "here/runs/site"):
        refused = helmsite(
            "build",
            "-p",
            folder,
            "-a",
            address.format("project/runs"),
            "-o",
            folder / out,
        )
        assert refused.exit_code == 5, out
        assert " lies in " in refused.stderr
    (folder / "runs").rename(inner)
    before = sorted(inner.rglob("*"))
    words = ("build", "-p", folder, "-a", address.format("project/site/archive"))
    assert "which a build replaces as a whole" in helmsite(*words).stderr
    assert sorted(inner.rglob("*")) == before
    marker = (folder / "site" / ".helmsite-build").read_bytes()
    (folder / ".helmsite-build").write_bytes(marker)
    assert helmsite(*words, "-o", folder).exit_code == 5
    assert (folder / "helmsite.toml").is_file()
    assert helmsite(*words, "-o", tmp_path / "elsewhere").exit_code == 0
