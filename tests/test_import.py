"""`helmsite import` and what is behind it, with a made-up tool: one JSON file a run."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from helmsite.archive import Archive
from helmsite.config import SiteConfig, load_project, read_maps
from helmsite.errors import ConfigError, RunError
from helmsite.query import Results
from helmsite.render import build
from helmsite.run import rescore
from helmsite.run.imported import Wish
from helmsite.run.importing import Import, survey
from helmsite.schema import Score
from tests.importing import Brought, accounted, bring

ROWS: list[dict[str, Any]] = [
    {"id": "a", "prompt": "1+1=", "answer": "2", "said": "2", "score": 1},
    {"id": "b", "prompt": "2+2=", "answer": "4", "said": "5", "score": 0},
]
GOOD = {
    "toy": 1,
    "key": "k",
    "model": "org/m-1b",
    "task": "sums",
    "at": 100,
    "rows": ROWS,
    "accuracy": 0.5,
}


@pytest.fixture(scope="session")
def plugin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that, on the path, has the made-up tool as an installed package would."""
    folder = tmp_path_factory.mktemp("plugin")
    info = folder / "toy-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: toy\nVersion: 1\n")
    (info / "entry_points.txt").write_text(
        "[helmsite.importers]\ntoy = tests.toy_importer:IMPORTER\n"
    )
    return folder


@pytest.fixture(autouse=True)
def toy(plugin: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The made-up tool is known, in other processes too."""
    monkeypatch.syspath_prepend(plugin)
    paths = [str(plugin), str(Path(__file__).parents[1])]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))


def write(folder: Path, name: str, **changes: Any) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(json.dumps(GOOD | changes))
    return path


def wrong(brought: Brought) -> list[str]:
    return [str(p) for p in brought.report.notes.problems]


def test_a_result_becomes_a_run_that_explains_itself(tmp_path: Path) -> None:
    write(tmp_path / "in", "one.json")
    brought = bring([tmp_path / "in"], tmp_path / "runs")
    (run,) = brought.runs
    assert (run.suite, run.origin) == ("imported", "toy:k")
    assert run.scenario.name == "sums"
    assert run.card.num_parameters == 10**9
    assert run.provenance.source_tool == "toy"
    assert run.provenance.source_files == ("one.json",)
    assert len(run.provenance.source_sha256) == 64
    assert run.provenance.source_at == 100
    assert run.counts.asked == 2
    stats = {(s.metric, s.origin): s for s in brought.archive.stats(run.run_id)}
    reported = stats["accuracy", "reported"]
    assert (reported.value, reported.n_scored, reported.n_asked) == (0.5, 2, 2)
    assert reported.ci_low is not None
    (made,) = brought.report.made
    assert (made.fate, made.equal, made.different) == ("new", 1, ())


def test_the_same_files_again_add_nothing_wherever_they_lie(tmp_path: Path) -> None:
    write(tmp_path / "in", "one.json")
    bring([tmp_path / "in"], tmp_path / "runs")
    state = Archive(tmp_path / "runs").state()
    (tmp_path / "in").rename(tmp_path / "moved")
    again = bring([tmp_path / "moved"], tmp_path / "runs")
    assert again.archive.state() == state
    assert (again.report.made, len(again.report.unchanged)) == ([], 1)
    forced = bring([tmp_path / "moved"], tmp_path / "runs", Wish(again=True))
    assert [m.fate for m in forced.report.made] == ["replaced"]


def test_a_newer_file_of_a_run_takes_its_place_an_older_one_stays_apart(
    tmp_path: Path,
) -> None:
    write(tmp_path / "a", "one.json")
    write(tmp_path / "b", "one.json", at=200, accuracy=0.25)
    write(tmp_path / "c", "one.json", at=50, accuracy=0.75)
    bring([tmp_path / "a"], tmp_path / "runs")
    newer = bring([tmp_path / "b"], tmp_path / "runs")
    assert [m.fate for m in newer.report.made] == ["replaced"]
    assert len(newer.runs) == 1
    older = bring([tmp_path / "c"], tmp_path / "runs")
    assert [m.fate for m in older.report.made] == ["kept apart"]
    assert sorted(m.origin.partition("#")[0] for m in older.runs) == ["toy:k", "toy:k"]
    apart = next(m for m in older.runs if "#" in m.origin)
    assert "both are kept" in apart.warnings[-1]
    for folder in "abc":
        bring([tmp_path / folder], tmp_path / "runs")
    state = Archive(tmp_path / "runs").state()
    for folder in "abc":  # nothing flaps
        bring([tmp_path / folder], tmp_path / "runs")
    assert Archive(tmp_path / "runs").state() == state


def test_two_results_of_one_run_in_one_import_are_both_kept(tmp_path: Path) -> None:
    write(tmp_path / "in", "one.json")
    write(tmp_path / "in", "same.json")
    write(tmp_path / "in", "other.json", at=50, accuracy=0.75)
    brought = bring([tmp_path / "in"], tmp_path / "runs")
    assert sorted(m.fate for m in brought.report.made) == ["kept apart", "new"]
    assert brought.report.notes.skipped == {"same.json": "the same result as one.json"}
    state = brought.archive.state()
    assert bring([tmp_path / "in"], tmp_path / "runs").archive.state() == state
    assert accounted(brought, [tmp_path / "in"]) == set()


def test_a_broken_result_never_blocks_the_others(tmp_path: Path) -> None:
    write(tmp_path / "in", "good.json")
    write(tmp_path / "in", "bad.json", key="bad", rows=[{"id": "a", "prompt": 3}])
    write(tmp_path / "in", "twice.json", key="twice", rows=ROWS * 2)
    (tmp_path / "in" / "half.json").write_text('{"toy": 1, "key": "half", "rows": [')
    (tmp_path / "in" / "else.txt").write_text("nothing of ours")
    brought = bring([tmp_path / "in"], tmp_path / "runs")
    assert [m.origin for m in brought.runs] == ["toy:k"]
    assert len(brought.report.failed) == 3
    told = "\n".join(wrong(brought))
    assert "bad.json: rows[0].prompt: expected a text, got 3." in told
    assert "half.json: no JSON" in told
    assert "twice.json: " in told
    assert brought.report.notes.skipped == {"else.txt": "no importer recognises it"}
    assert accounted(brought, [tmp_path / "in"]) == set()


def test_strict_takes_nothing_in_which_anything_is_wrong(tmp_path: Path) -> None:
    rows = [*ROWS, {"id": "c"}]
    write(tmp_path / "in", "one.json", rows=rows, lenient=True)
    loose = bring([tmp_path / "in"], tmp_path / "runs")
    assert len(loose.runs) == 1
    assert len(wrong(loose)) == 1
    strict = bring([tmp_path / "in"], tmp_path / "strict", Wish(strict=True))
    assert strict.runs == ()
    assert len(wrong(strict)) == 1


def test_a_number_that_the_instances_do_not_give_is_kept_beside_ours(
    tmp_path: Path,
) -> None:
    write(tmp_path / "in", "one.json", accuracy=0.9)
    brought = bring([tmp_path / "in"], tmp_path / "runs")
    (run,) = brought.runs
    stats = {
        (s.metric, s.origin): s.value
        for s in brought.archive.stats(run.run_id)
        if s.trial == -1
    }
    assert stats["accuracy", "reported"] == 0.9
    assert stats["accuracy", "computed"] == 0.5
    assert any("not what its own instances give: accuracy" in w for w in run.warnings)
    assert brought.report.made[0].different == ("accuracy (test)",)


def test_a_number_over_more_instances_than_are_here_stays_as_it_is(
    tmp_path: Path,
) -> None:
    write(tmp_path / "in", "one.json", accuracy=0.75, n=5000)
    brought = bring([tmp_path / "in"], tmp_path / "runs")
    (run,) = brought.runs
    (stat,) = [s for s in brought.archive.stats(run.run_id) if s.trial == -1]
    assert (stat.value, stat.origin, stat.n_scored) == (0.75, "reported", 5000)
    assert brought.report.made[0].different == ()


def test_names_are_merged_and_cards_added(tmp_path: Path) -> None:
    write(tmp_path / "in", "one.json")
    write(tmp_path / "in", "two.json", key="k2", model="m_1b", task="SUMS")
    maps = tmp_path / "maps.yaml"
    maps.write_text(
        "models:\n  org/m-1b: [m_1b]\nscenarios:\n  sums: [SUMS]\n"
        "cards:\n  org/m-1b: {title: The M, num_parameters: 5}\n"
    )
    brought = bring([tmp_path / "in"], tmp_path / "runs", Wish(maps=read_maps([maps])))
    assert {m.spec.model.name for m in brought.runs} == {"org/m-1b"}
    assert {m.scenario.name for m in brought.runs} == {"sums"}
    assert {(m.card.title, m.card.num_parameters) for m in brought.runs} == {
        ("The M", 5)
    }


def test_faults_of_map_files_are_told_at_once(tmp_path: Path) -> None:
    one = tmp_path / "one.yaml"
    one.write_text("model: {}\nmodels:\n  a: [x]\n  b: [x, 3]\n")
    with pytest.raises(ConfigError) as caught:
        read_maps([one])
    told = str(caught.value)
    assert "one.yaml:1: unknown setting 'model'. Did you mean 'models'?" in told
    assert "one.yaml:4" in told
    two = tmp_path / "two.yaml"
    two.write_text("models:\n  a: [x]\n  b: [x]\n")
    with pytest.raises(ConfigError, match="'x' means 'a' already"):
        read_maps([two])


def test_what_is_known_of_a_scenario_here_comes_along(tmp_path: Path) -> None:
    write(tmp_path / "in", "one.json", task="msmarco:track=regular,valid_topk=30")
    (run,) = bring([tmp_path / "in"], tmp_path / "runs").runs
    assert run.scenario.publication == "aggregates"
    assert run.scenario.licence


def test_metrics_of_ours_are_computed_beside_what_is_reported(tmp_path: Path) -> None:
    write(tmp_path / "in", "one.json", compute=["exact_match", "no_such_metric"])
    brought = bring([tmp_path / "in"], tmp_path / "runs")
    (run,) = brought.runs
    stats = {
        (s.metric, s.origin): s.value
        for s in brought.archive.stats(run.run_id)
        if s.trial == -1 and not s.perturbation
    }
    assert stats["exact_match", "computed"] == 0.5
    assert stats["accuracy", "reported"] == 0.5
    again = rescore(brought.archive, run.run_id)
    assert {m.name for m in again.metrics} == {m.name for m in run.metrics}


def test_another_tools_metric_of_one_name_is_not_scored_again(tmp_path: Path) -> None:
    write(tmp_path / "in", "one.json", metric="exact_match", accuracy=None)
    brought = bring([tmp_path / "in"], tmp_path / "runs")
    (run,) = brought.runs
    before = list(brought.archive.scores(run.run_id))
    rescore(brought.archive, run.run_id)
    reported = [s for s in brought.archive.scores(run.run_id) if s.origin == "reported"]
    assert reported == before
    assert all(isinstance(s, Score) for s in before)
    assert not any(
        s.metric == "exact_match" and s.origin == "computed"
        for s in brought.archive.scores(run.run_id)
    )


def test_secrets_of_settings_do_not_reach_the_archive(tmp_path: Path) -> None:
    write(
        tmp_path / "in",
        "one.json",
        settings={"api_key": "Zx91kLm0pQ77", "path": "/home/somebody/m"},
    )
    brought = bring([tmp_path / "in"], tmp_path / "runs")
    (run,) = brought.runs
    assert run.spec.model.settings == {"api_key": "[removed]", "path": "~/m"}
    assert brought.report.notes.hidden == {"a credential": 1, "a home folder": 1}
    for file in (tmp_path / "runs").rglob("*"):
        assert not file.is_file() or b"Zx91kLm0pQ77" not in file.read_bytes()


def test_results_without_instances_become_one_batch(tmp_path: Path) -> None:
    write(tmp_path / "in", "one.json", rows=None)
    write(tmp_path / "in", "two.json", rows=None, key="k2", model="org/m-2b")
    brought = bring([tmp_path / "in"], tmp_path / "runs")
    assert brought.report.cells == {"imported": 2}
    rows = list(brought.archive.published())
    assert [(r.model, r.stat.value, r.source_file) for r in rows] == [
        ("org/m-1b", 0.5, "one.json"),
        ("org/m-2b", 0.5, "two.json"),
    ]
    state = brought.archive.state()
    again = bring([tmp_path / "in"], tmp_path / "runs")
    assert (again.archive.state(), len(again.report.unchanged)) == (state, 2)
    write(
        tmp_path / "in",
        "two.json",
        rows=None,
        key="k2",
        model="org/m-2b",
        accuracy=0.75,
    )
    third = bring([tmp_path / "in"], tmp_path / "runs")
    assert [r.stat.value for r in third.archive.published()] == [0.5, 0.75]


# ---- The command


def command(*args: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "helmsite", "import", *args],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_the_command_says_what_it_found_and_what_it_did(tmp_path: Path) -> None:
    write(tmp_path / "in", "one.json", settings={"path": "/home/somebody/m"})
    write(tmp_path / "in", "two.json", key="k2", accuracy=0.9)
    write(tmp_path / "in", "bad.json", key="bad", rows=[{"id": "a", "prompt": 3}])
    (tmp_path / "in" / "else.txt").write_text("nothing of ours")
    dry = command("in", "--dry-run", cwd=tmp_path)
    assert dry.returncode == 0
    assert "A toy: 3 results, 1 model, 1 scenario in 3 files." in dry.stdout
    assert "left out: else.txt: no importer recognises it" in dry.stdout
    assert "Nothing was archived." in dry.stdout
    assert not (tmp_path / "runs").exists()
    done = command("in", "--report", "report.jsonl", cwd=tmp_path)
    assert done.returncode == 6
    assert (
        "Archived 2 runs with 4 instances: 2 new, 1 that could not be taken."
        in done.stdout
    )
    assert "verified: 1 aggregate follows from the instances, 1 does not" in done.stdout
    assert "replaced: a home folder (1 time)" in done.stdout
    assert "bad.json: rows[0].prompt: expected a text, got 3." in done.stderr
    report = [
        json.loads(line)
        for line in (tmp_path / "report.jsonl").read_text().splitlines()
    ]
    assert {r["file"].rpartition("/")[2]: r["fate"] for r in report if "fate" in r} == {
        "one.json": "imported",
        "two.json": "imported",
        "bad.json": "failed",
        "else.txt": "left out",
    }
    again = command("in/one.json", "in/two.json", cwd=tmp_path)
    assert again.returncode == 0
    assert "Archived nothing: 2 there already." in again.stdout
    nothing = command("in/else.txt", cwd=tmp_path)
    assert nothing.returncode == 2
    assert "There are no results in what was given." in nothing.stderr
    assert "left out: else.txt: no importer recognises it" in nothing.stdout
    strict = command("in", "--strict", "-a", "other", cwd=tmp_path)
    assert strict.returncode == 2


def test_several_processes_do_what_one_does(tmp_path: Path) -> None:
    for n in range(8):
        write(tmp_path / "in", f"{n}.json", key=f"k{n}", model=f"org/m-{n}b")
    write(tmp_path / "in", "bad.json", key="bad", rows=[{"id": "a", "prompt": 3}])
    one = command("in", "-w", "1", "-a", "one", cwd=tmp_path)
    two = command("in", "-w", "3", "-a", "two", cwd=tmp_path)
    assert (one.returncode, one.stdout) == (two.returncode, two.stdout)
    first, second = Archive(tmp_path / "one"), Archive(tmp_path / "two")
    assert first.state() == second.state()
    assert len(first.manifests()) == 8


def test_ctrl_c_keeps_what_is_archived_and_the_next_import_goes_on(
    tmp_path: Path,
) -> None:
    for n in range(12):
        write(
            tmp_path / "in", f"{n:02}.json", key=f"k{n}", model=f"org/m-{n}b", sleep=0.3
        )
    process = subprocess.Popen(
        [sys.executable, "-m", "helmsite", "import", "in", "-w", "2"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 60
    while not list(tmp_path.glob("runs/suite=*/*/*/*/run.json")):
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Stopped. What is archived stays" in errors
    assert "Traceback" not in errors
    there = len(Archive(tmp_path / "runs").manifests())
    assert 0 < there < 12
    assert Archive(tmp_path / "runs").check() == []
    done = command("in", "-w", "2", cwd=tmp_path)
    assert f"{12 - there} new, {there} there already" in done.stdout


def test_a_process_that_dies_is_told_and_the_rest_goes_on(tmp_path: Path) -> None:
    for n in range(6):
        write(tmp_path / "in", f"{n}.json", key=f"k{n}", die=n == 5)
    done = command("in", "-w", "2", cwd=tmp_path)
    assert done.returncode == RunError.exit_code
    assert "A process that read results ended" in done.stderr
    assert "Traceback" not in done.stderr
    (tmp_path / "in" / "5.json").unlink()
    again = command("in", "-w", "2", cwd=tmp_path)
    assert again.returncode == 0
    assert len(Archive(tmp_path / "runs").manifests()) == 5
    assert Archive(tmp_path / "runs").check() == []


def test_a_full_import_needs_no_watcher_and_no_file(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    found = survey([tmp_path / "in"])
    report = Import(Archive(tmp_path / "runs"), load_project(tmp_path), Wish()).take(
        found.found
    )
    assert (report.made, report.failed, report.unchanged) == ([], [], [])


def test_an_unknown_tool_is_named(tmp_path: Path) -> None:
    with pytest.raises(
        ConfigError, match=r"Unknown importer 'toyy'. Did you mean 'toy'"
    ):
        survey([tmp_path], ["toyy"])


def test_cells_that_no_archive_can_hold_are_told_and_stop_no_other(
    tmp_path: Path,
) -> None:
    write(tmp_path / "in", "good.json", rows=None)
    write(tmp_path / "in", "nan.json", rows=None, key="k2", accuracy=1, scale="NaN")
    write(tmp_path / "in", "twice.json", rows=None, key="k3", model="m", again=0.25)
    brought = bring([tmp_path / "in"], tmp_path / "runs")
    told = "\n".join(wrong(brought))
    assert "nan.json: org/m-1b · sums: accuracy (test) is no finite number." in told
    assert "twice.json: m · sums: accuracy (test) is there twice" in told
    rows = [(r.source_file, r.stat.value) for r in brought.archive.published()]
    assert rows == [("twice.json", 0.5), ("good.json", 0.5)]


def test_the_site_says_where_a_result_came_from_and_what_holds(tmp_path: Path) -> None:
    write(tmp_path / "in", "one.json")
    write(tmp_path / "in", "apart.json", at=50, accuracy=0.75)
    brought = bring([tmp_path / "in"], tmp_path / "runs")
    with Results(brought.archive, SiteConfig(), cache=None) as results:
        build(results, tmp_path / "site", SiteConfig())
    pages = {
        m.provenance.source_files[0]: (
            tmp_path / "site" / "runs" / m.run_id / "index.html"
        ).read_text("utf-8")
        for m in brought.runs
    }
    one, apart = pages["one.json"], pages["apart.json"]
    assert "1 of the source&#39;s aggregates follows from its own instances." in one
    assert re.search(r"Source files</dt>\s*<dd[^>]*>one\.json", one)
    assert "Other files give another result of this run" in apart
    assert "1 of the source&#39;s aggregates are not what its own" in apart
    listed = (tmp_path / "site" / "runs" / "index.html").read_text("utf-8")
    assert "<small>toy</small>" in listed
    assert re.search(r"<small>toy#[0-9a-f]{8}</small>", listed)
