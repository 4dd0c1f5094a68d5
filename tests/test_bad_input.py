"""Bad input at the command line: a sentence, the place, the next step, an exit code."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner, Result

from helmsite.cli import main
from helmsite.cli.new import new_project

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

SCENARIO = "scenarios/capitals.yaml"
DATA = "scenarios/capitals.csv"


def helmsite(*words: str | Path) -> Result:
    result = CliRunner().invoke(main, [str(w) for w in words])
    assert result.exception is None or isinstance(result.exception, SystemExit), (
        result.exception
    )
    return result


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    new_project(folder)
    return folder


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def broken_yaml(project: Path) -> None:
    edit(project / SCENARIO, "attributes:", "attributes: [")


def unknown_metric(project: Path) -> None:
    edit(project / SCENARIO, "[exact_match, quasi_", "[exact_mach, quasi_")


def missing_column(project: Path) -> None:
    edit(project / DATA, "continent,split", "continant,split")


def empty_file(project: Path) -> None:
    (project / DATA).write_bytes(b"")


def truncated_parquet(project: Path) -> None:
    import pyarrow.csv
    import pyarrow.parquet

    table = pyarrow.csv.read_csv(project / DATA)
    target = project / "scenarios" / "capitals.parquet"
    pyarrow.parquet.write_table(table, target)
    target.write_bytes(target.read_bytes()[:-60])
    edit(project / SCENARIO, "capitals.csv", "capitals.parquet")


def not_utf8(project: Path) -> None:
    (project / DATA).write_bytes((project / DATA).read_bytes() + b"\xff\xfe\n")


def unknown_model(project: Path) -> None:
    edit(project / "suites/first.yaml", "helmsite/ngram-3", "helmsite/ngram-4")


def broken_settings(project: Path) -> None:
    edit(project / "helmsite.toml", "[site]", "[site")


@pytest.mark.parametrize(
    ("spoil", "place", "says"),
    [
        (broken_yaml, "capitals.yaml:25", "not valid YAML"),
        (unknown_metric, "capitals", "Did you mean 'exact_match'"),
        (missing_column, "capitals.csv", "Did you mean 'continant'"),
        (empty_file, "capitals.csv", "empty"),
        (truncated_parquet, "capitals.parquet", "Parquet"),
        (not_utf8, "capitals.csv", "UTF-8"),
        (unknown_model, "first.yaml", "Did you mean"),
        (broken_settings, "helmsite.toml", "TOML"),
    ],
)
def test_a_broken_file_is_named_with_the_next_step_and_nothing_is_run(
    project: Path, spoil: Callable[[Path], None], place: str, says: str
) -> None:
    spoil(project)
    result = helmsite("run", "-p", project)
    assert result.exit_code == 2, result.output
    assert place in result.output
    assert says in result.output
    assert "→" in result.output
    assert not list((project / "runs").rglob("run.json"))


def test_a_broken_file_costs_nothing_that_was_there(project: Path) -> None:
    assert helmsite("run", "-p", project).exit_code == 0
    before = {p: p.read_bytes() for p in (project / "runs").rglob("run.json")}
    missing_column(project)
    assert helmsite("run", "-p", project).exit_code == 2
    assert helmsite("check", "-p", project).exit_code == 0
    assert before == {p: p.read_bytes() for p in (project / "runs").rglob("run.json")}
    assert helmsite("build", "-p", project).exit_code == 0


def test_a_damaged_archive_is_found_named_and_does_not_hide_the_rest(
    project: Path,
) -> None:
    assert helmsite("run", "-p", project).exit_code == 0
    damaged = min((project / "runs").rglob("requests.parquet"))
    damaged.write_bytes(damaged.read_bytes()[:-40])
    result = helmsite("check", "-p", project)
    assert result.exit_code == 3
    assert damaged.parent.name.removeprefix("run=") in result.output
    assert "→" in result.output
    assert "4 runs checked" in result.output
    built = helmsite("build", "-p", project)
    assert built.exit_code == 3, built.output
    assert "requests.parquet" in built.output


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 256 KB, mounted for the test."""
    folder = tmp_path / "disk"
    folder.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(words, check=False).returncode:
        pytest.skip("may not mount a small file system here")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def test_a_full_disk_ends_in_a_sentence_and_the_answers_kept_are_not_asked_again(
    project: Path, small_disk: Path
) -> None:
    filler = small_disk / "filler"
    filler.write_bytes(b"x" * 200_000)
    full = helmsite("run", "-p", project, "-a", small_disk / "runs")
    assert full.exit_code == 3, full.output
    assert "No space left" in full.output or "full" in full.output
    assert "→" in full.output
    filler.unlink()
    assert helmsite("run", "-p", project, "-a", small_disk / "runs").exit_code == 0
    assert helmsite("check", "-p", project, "-a", small_disk / "runs").exit_code == 0


def test_a_site_on_a_full_disk_leaves_the_old_site(
    project: Path, small_disk: Path
) -> None:
    assert helmsite("run", "-p", project).exit_code == 0
    old = project / "site"
    assert helmsite("build", "-p", project, "-o", old).exit_code == 0
    full = helmsite("build", "-p", project, "-o", small_disk / "site")
    assert full.exit_code == 5, full.output
    assert "→" in full.output
    assert not (small_disk / "site").exists()
    assert (old / "index.html").is_file()
