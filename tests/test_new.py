"""A new project is sound, wherever its runs will be, and its workflow asks for little."""

from __future__ import annotations

import re
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from click.testing import CliRunner

from helmsite import __version__
from helmsite.cli import main
from helmsite.cli.new import adapted, new_project
from helmsite.config import load_project
from helmsite.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

PLACES = ["committed", "artifact", "s3://bucket/eval/runs", "gs://bucket/runs",
          "abfs://container/runs"]  # fmt: skip
JOB_KEYS = {
    "runs-on", "steps", "needs", "if", "permissions", "concurrency", "environment", "env",
    "timeout-minutes",
}  # fmt: skip
STEP_KEYS = {"name", "id", "if", "uses", "with", "run", "env"}
EVENTS = {"push", "pull_request", "workflow_run", "schedule", "workflow_dispatch"}


def workflow(folder: Path, name: str = "site") -> dict[str, Any]:
    """A workflow as GitHub reads it: `on` is a word, not a truth value."""
    text = (folder / f".github/workflows/{name}.yml").read_text(encoding="utf-8")
    data = yaml.load(text, Loader=yaml.BaseLoader)
    assert isinstance(data, dict)
    return data


def workflows(folder: Path) -> dict[str, dict[str, Any]]:
    files = sorted((folder / ".github/workflows").glob("*.yml"))
    return {path.stem: workflow(folder, path.stem) for path in files}


@pytest.fixture(params=PLACES)
def place(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def project(tmp_path: Path, place: str) -> Path:
    new_project(tmp_path / "mine", place)
    return tmp_path / "mine"


def test_a_project_is_whole_wherever_its_runs_are(project: Path, place: str) -> None:
    assert set(workflows(project)) == (
        {"site", "evaluate"} if place == "artifact" else {"site"}
    )
    for path in project.rglob("*"):
        if path.is_file():
            text = path.read_text(encoding="utf-8")
            assert "#?" not in text, path
            assert "@VERSION@" not in text, path
            assert "@ARCHIVE@" not in text, path
            assert text.endswith("\n"), path
    settings = load_project(project)
    expected = place if "://" in place else str(project / "runs")
    assert settings.archive == expected
    wanted = (project / "requirements.txt").read_text(encoding="utf-8")
    assert re.search(
        rf"^helmsite(\[s3\])?=={re.escape(__version__)}$", wanted, re.MULTILINE
    )
    assert ("[s3]" in wanted) == place.startswith("s3")


def test_a_workflow_has_only_keys_that_github_knows(project: Path) -> None:
    for flow in workflows(project).values():
        assert set(flow) == {"name", "on", "permissions", "concurrency", "jobs"}
        assert set(flow["on"]) <= EVENTS
        for job in flow["jobs"].values():
            assert set(job) <= JOB_KEYS
            assert job["runs-on"] == "ubuntu-latest"
            assert int(job["timeout-minutes"]) <= 360
            assert set(job.get("needs", "").split()) <= set(flow["jobs"])
            for step in job["steps"]:
                assert set(step) <= STEP_KEYS
                assert ("uses" in step) != ("run" in step), step
                assert ("with" in step) <= ("uses" in step), step


def test_a_workflow_asks_for_no_more_than_it_needs(project: Path) -> None:
    for name, flow in workflows(project).items():
        assert (
            flow["permissions"].items()
            <= {"contents": "read", "actions": "read"}.items()
        )
        for job_name, job in flow["jobs"].items():
            rights = job.get("permissions", flow["permissions"])
            writes = {key for key, value in rights.items() if value == "write"}
            wanted = {"pages", "id-token"} if job_name == "deploy" else set()
            assert writes == wanted, (name, job_name)
            for step in job["steps"]:
                if "uses" in step:
                    assert re.fullmatch(r"[\w-]+/[\w/-]+@v\d+", step["uses"])
                if step.get("uses", "").startswith("actions/checkout@"):
                    assert step["with"] == {"persist-credentials": "false"}


def test_no_expression_is_pasted_into_a_script(project: Path) -> None:
    """Names of branches and titles are anybody's: they come as environment variables."""
    for flow in workflows(project).values():
        scripts = [
            s["run"] for j in flow["jobs"].values() for s in j["steps"] if "run" in s
        ]
        assert scripts
        for script in scripts:
            assert "${{" not in script
            done = subprocess.run(["bash", "-n"], input=script, text=True, check=False)
            assert done.returncode == 0, script


def test_a_pull_request_publishes_nothing_and_gets_no_secret(
    project: Path, place: str
) -> None:
    flow = workflow(project)
    assert "pull_request_target" not in flow["on"]
    build, deploy = flow["jobs"]["build"], flow["jobs"]["deploy"]
    assert "github.event_name != 'pull_request'" in deploy["if"]
    assert "github.ref == 'refs/heads/main'" in deploy["if"]
    assert deploy["needs"] == "build"
    steps = {step.get("uses", "").partition("@")[0]: step for step in build["steps"]}
    upload = steps["actions/upload-pages-artifact"]
    assert upload["if"] == "github.event_name != 'pull_request'"
    assert steps["actions/cache/save"]["if"] == "github.ref == 'refs/heads/main'"
    if "secrets." in str(build):
        assert "head.repo.full_name == github.repository" in build["if"]
    assert ("secrets." in str(build)) == ("://" in place)
    assert "secrets." not in str(deploy)


def test_a_push_of_runs_starts_the_workflow_where_they_are_committed(
    project: Path, place: str
) -> None:
    on = workflow(project)["on"]
    for event in ("push", "pull_request"):
        assert ("runs/**" in on[event]["paths"]) == (place == "committed")
        assert {"suites/**", "scenarios/**", "theme/**", "helmsite.toml"} <= set(
            on[event]["paths"]
        )
    assert on["push"]["branches"] == ["main"]
    assert ("schedule" in on) == ("://" in place)
    assert ("workflow_run" in on) == (place == "artifact")


def test_the_restored_cache_is_of_this_version_and_the_saved_one_of_this_build(
    project: Path,
) -> None:
    steps = workflow(project)["jobs"]["build"]["steps"]
    names = [step.get("name", step.get("uses", "")) for step in steps]
    restore, save = (names.index(n) for n in ("Restore the last site", "Keep the site for the next build"))  # fmt: skip
    assert (
        names.index("Check the archive")
        < restore
        < names.index("Build the site")
        < save
    )
    start = "site-${{ runner.os }}-${{ hashFiles('requirements.txt') }}-"
    assert steps[restore]["with"]["restore-keys"] == start
    assert steps[restore]["with"]["key"].startswith(start)
    assert (
        steps[save]["with"]["key"]
        == f"{start}${{{{ hashFiles('site/.helmsite-build') }}}}"
    )
    assert steps[restore]["with"]["path"] == steps[save]["with"]["path"] == "site"


def git(folder: Path, *words: str) -> str:
    command = [
        "git",
        "-c",
        "user.name=t",
        "-c",
        "user.email=t@t",
        "-C",
        str(folder),
        *words,
    ]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize("place", ["committed", "artifact"], indirect=True)
def test_git_keeps_what_the_place_says(project: Path, place: str) -> None:
    for path in ("site/index.html", ".site.building-x/index.html", "runs/_journal/r.jsonl",
                 "runs/_incoming/r/run.json", "runs/_catalogue/a.jsonl.zst",
                 "runs/suite=s/run=r/run.json", ".env"):  # fmt: skip
        (project / path).parent.mkdir(parents=True, exist_ok=True)
        (project / path).write_bytes(b"a\r\n")
    git(project, "init", "-q")
    git(project, "add", "-A")
    kept = git(project, "ls-files").splitlines()
    runs = {name for name in kept if name.startswith("runs/")}
    expected = {"runs/_catalogue/a.jsonl.zst", "runs/suite=s/run=r/run.json"}
    assert runs == (expected if place == "committed" else set())
    assert not [name for name in kept if name.startswith(("site/", ".site."))]
    assert ".env" not in kept
    assert {".github/workflows/site.yml", ".gitattributes", "requirements.txt"} <= set(
        kept
    )


def test_git_changes_no_byte_of_an_archive(tmp_path: Path) -> None:
    new_project(tmp_path / "mine")
    manifest = tmp_path / "mine/runs/suite=s/run=r/run.json"
    manifest.parent.mkdir(parents=True)
    manifest.write_bytes(b'{\r\n"a": 1}\n')
    git(tmp_path / "mine", "init", "-q")
    git(tmp_path / "mine", "add", "-A")
    git(tmp_path / "mine", "commit", "-qm", "x")
    for setting in ("true", "input", "false"):
        clone = tmp_path / setting
        options = ["-c", f"core.autocrlf={setting}", "-c", "core.eol=crlf"]
        git(tmp_path, *options, "clone", "-q", str(tmp_path / "mine"), str(clone))
        copied = clone / manifest.relative_to(tmp_path / "mine")
        assert copied.read_bytes() == manifest.read_bytes()


@pytest.mark.parametrize(
    "wrong", ["commited", "", "s3://", "ftp://host/runs", "s3://key:secret@bucket/runs",
              "s3://b/a b", "s3://b/\a", 's3://b/"x', "C:\\runs", "https://example.org/runs"],
)  # fmt: skip
def test_what_is_no_place_for_runs_is_refused_and_nothing_written(
    tmp_path: Path, wrong: str
) -> None:
    with pytest.raises(ConfigError, match="is no place for runs") as caught:
        new_project(tmp_path / "mine", wrong)
    assert "committed, artifact" in caught.value.hint
    assert not (tmp_path / "mine").exists()


def test_the_option_is_told_at_the_command_line(tmp_path: Path) -> None:
    result = CliRunner().invoke(
        main, ["new", str(tmp_path / "mine"), "--runs", "s3://bucket/runs/"]
    )
    assert result.exit_code == 0, result.output
    assert ".github/workflows/site.yml" in result.output
    text = (tmp_path / "mine/helmsite.toml").read_text(encoding="utf-8")
    assert 'root = "s3://bucket/runs"\n' in text


def test_lines_and_files_of_other_kinds_are_left_out() -> None:
    text = "a\nb  #? x y\n  c: d  # why  #? y\n"
    assert adapted(text, frozenset({"x"})) == "a\nb\n"
    assert adapted(text, frozenset({"y"})) == "a\nb\n  c: d  # why\n"
    assert adapted(f"#? x\n{text}", frozenset({"z"})) == ""
    assert adapted(f"#? z\n{text}", frozenset({"z"})) == "a\n"
