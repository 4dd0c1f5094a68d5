"""The bench measures what it says, on archives that are the same each time."""

import sys
from pathlib import Path

import msgspec

from helmsite.archive import Archive
from helmsite.config import SiteConfig
from helmsite.query import Results
from tests.bench import archives, bench_site, helm_runs, measure


def test_the_same_arguments_give_the_same_archive(tmp_path: Path) -> None:
    contents = []
    for name in ("a", "b"):
        archives.make(tmp_path / name, 2, 30)
        contents.append(
            {
                p.relative_to(tmp_path / name): p.read_bytes()
                for p in sorted((tmp_path / name / "suite=bench").rglob("*.*"))
            }
        )
    assert contents[0] == contents[1]
    archive = Archive(tmp_path / "a")
    assert archive.check() == []
    with Results(archive, SiteConfig(), None) as results:
        first, second = (list(results.instances(m.run_id)) for m in archive.manifests())
        (board, *_) = [results.leaderboard(g.name) for g in results.groups()]
    assert [v.instance for v in first] == [v.instance for v in second]
    assert len({v.instance.input for v in first}) == 30
    assert all(2700 < len(v.instance.input) < 3000 for v in first)
    values = [row.cells[0].value for row in board.rows]
    assert len(set(values)) == 2


def test_the_cost_of_a_command_is_that_of_its_children(tmp_path: Path) -> None:
    child = "import time; x = b'x' * 80_000_000; [0 for _ in range(2_000_000)]; time.sleep(0.4)"
    parent = (
        f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])"
    )
    cost = measure.run([sys.executable, "-c", parent + "; print('done')"])
    assert cost.output == "done\n"
    assert cost.wall > 0.4
    assert cost.cpu > 0.03
    assert 85 < cost.mb < 400
    (tmp_path / "a.html").write_bytes(b"x" * 1000)
    (tmp_path / "a.js").write_bytes(b"x")
    assert measure.size(tmp_path, ".html") == (1, 0.001)
    assert measure.size(tmp_path)[0] == 2


def test_the_table_takes_the_place_of_the_last_one(tmp_path: Path, monkeypatch) -> None:
    document = tmp_path / "performance.md"
    document.write_text(f"before\n{bench_site.START}\nold\n{bench_site.END}\nafter\n")
    monkeypatch.setattr(bench_site, "DOCUMENT", document)
    rows = [
        bench_site.Row("build", "1 s"),
        bench_site.goal("again", r"4 s \1", "3 s", met=False),
    ]
    for _ in range(2):
        bench_site.write_table({"build": bench_site.Part(rows, 0.5)})
    lines = document.read_text().splitlines()
    assert lines[:2] == ["before", bench_site.START]
    assert "| again | 4 s \\1 | 3 s ✗ |" in lines
    assert "old" not in lines
    assert lines[-2:] == [bench_site.END, "after"]
    assert (
        bench_site.START in bench_site.ROOT.joinpath("docs/performance.md").read_text()
    )


def test_helm_gets_the_same_content(tmp_path: Path) -> None:
    archives.make(tmp_path / "runs", 1, 20)
    archive = Archive(tmp_path / "runs")
    helm_runs.write(archive, tmp_path / "helm")
    (folder,) = (tmp_path / "helm" / "runs" / "bench").iterdir()
    files = {p.stem: msgspec.json.decode(p.read_bytes()) for p in folder.iterdir()}
    assert sorted(files) == [
        *("per_instance_stats", "run_spec", "scenario", "scenario_state", "stats")
    ]
    run = archive.run(archive.manifests()[0].run_id)
    states = files["scenario_state"]["request_states"]
    assert [s["request"]["prompt"] for s in states] == [
        r.request.prompt for r in run.replies()
    ]
    assert [s["result"]["completions"][0]["text"] for s in states] == [
        r.completion.text for r in run.replies()
    ]
    (own,) = (
        s
        for s in run.stats()
        if s.metric == "f1_score" and not s.sub_split and s.trial == -1
    )
    (theirs,) = (s for s in files["stats"] if s["name"]["name"] == "f1_score")
    assert abs(theirs["mean"] - own.value) < 1e-9
