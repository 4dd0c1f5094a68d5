"""Runs rendered in several processes: the same bytes, and an end without remains.

Processes are started and killed for real here, and asked for by signals.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from helmsite.config import SiteConfig
from helmsite.errors import ArchiveError, BuildError, HelmsiteError
from helmsite.render import Means, build
from tests.site_source import EVIL, SCENARIOS, FakeResults

if TYPE_CHECKING:
    from collections.abc import Iterator

    from helmsite.query.rows import InstanceView

CONFIG = SiteConfig()
TWO = Means(workers=2)
BAD = "r0000000100000000"
ROOT = Path(__file__).parents[1]


def source(models: int = 2) -> FakeResults:
    return FakeResults(models, SCENARIOS[:2])


def tree(folder: Path) -> dict[str, bytes]:
    return {
        p.relative_to(folder).as_posix(): p.read_bytes()
        for p in sorted(folder.rglob("*"))
        if not p.is_dir()
    }


class Process(NamedTuple):
    """What /proc says of a process that has not ended."""

    command: str
    parent: int
    session: int


def processes() -> list[Process]:
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            state, parent, _, session, *_ = (
                (folder / "stat").read_text().rpartition(")")[2].split()
            )
            command = (folder / "cmdline").read_text()
        except OSError:
            continue
        if state != "Z":
            found.append(Process(command, int(parent), int(session)))
    return found


def workers(session: int) -> list[Process]:
    """The processes of a session that render, or are about to."""
    return [
        p for p in processes() if p.session == session and "spawn_main" in p.command
    ]


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Start processes for a handful of instances too; none may be left."""
    monkeypatch.setattr("helmsite.render.workers.ENOUGH", 0)
    yield
    mine = [p for p in processes() if p.parent == os.getpid()]
    assert not [p for p in mine if "spawn_main" in p.command]


def test_any_number_of_processes_writes_the_same_bytes(tmp_path: Path) -> None:
    seen: list[tuple[str, int, int]] = []
    trees = []
    for count in (1, 2, 5):
        out = tmp_path / str(count)
        made = FakeResults(3, (*SCENARIOS[:2], EVIL), 5)
        means = Means(count, None, lambda *said: seen.append(said))
        report = build(made, out, CONFIG, means=means)
        counts = [(done, of) for what, done, of in seen if what == "instances"]
        assert counts == sorted(counts)
        assert counts[-1] == (report.instances, report.instances)
        seen.clear()
        trees.append(tree(out))
    assert trees[0] == trees[1] == trees[2]


class Damaged(FakeResults):
    """The archive of a run cannot be read to its end."""

    def instances(self, run_id: str) -> Iterator[InstanceView]:
        yield from super().instances(run_id)
        if run_id == BAD:
            raise ArchiveError("requests.parquet is damaged", "Type: helmsite check.")


class Killed(FakeResults):
    """The process that renders a run is killed, as where memory is short."""

    def instances(self, run_id: str) -> Iterator[InstanceView]:
        yield from super().instances(run_id)
        if run_id == BAD:
            os.kill(os.getpid(), signal.SIGKILL)


class Gone(FakeResults):
    """The process that renders a run ends by itself."""

    def instances(self, run_id: str) -> Iterator[InstanceView]:
        yield from super().instances(run_id)
        if run_id == BAD:
            os._exit(7)


class Wrong(FakeResults):
    """A mistake in the code of helmsite."""

    def instances(self, run_id: str) -> Iterator[InstanceView]:
        yield from super().instances(run_id)
        if run_id == BAD:
            raise ZeroDivisionError("a mistake")


@pytest.mark.parametrize(
    ("kind", "error", "message"),
    [
        (Damaged, ArchiveError, "requests.parquet is damaged"),
        (Killed, BuildError, rf"rendered run {BAD} ended by signal 9"),
        (Gone, BuildError, rf"rendered run {BAD} ended with status 7"),
        (Wrong, RuntimeError, r"(?s)test_site_workers.*ZeroDivisionError: a mistake"),
    ],
)
def test_what_fails_in_a_process_ends_the_build_and_leaves_the_earlier_site(
    tmp_path: Path, kind: type[FakeResults], error: type[Exception], message: str
) -> None:
    out = tmp_path / "site"
    build(source(1), out, CONFIG)
    before = tree(out)
    with pytest.raises(error, match=message) as raised:
        build(kind(3, SCENARIOS[:2]), out, CONFIG, means=TWO)
    if isinstance(raised.value, HelmsiteError):
        assert raised.value.hint
    assert tree(out) == before
    assert [p.name for p in tmp_path.iterdir()] == ["site"]


def test_a_broken_template_is_the_same_error_from_a_process(tmp_path: Path) -> None:
    theme = tmp_path / "theme" / "templates"
    theme.mkdir(parents=True)
    (theme / "instance.html").write_text("{{ nothing }}")
    config = SiteConfig(overrides=str(tmp_path / "theme"))
    with pytest.raises(BuildError, match="'nothing' is undefined") as alone:
        build(source(), tmp_path / "site", config)
    theme.joinpath("instance.html").write_text("<p>{{ title }}{{ nothing }}")
    with pytest.raises(BuildError, match="'nothing' is undefined") as other:
        build(source(), tmp_path / "site", config, means=TWO)
    assert str(alone.value) == str(other.value)


# ---- Signals

SLOW = """
    import sys, time
    from pathlib import Path
    from helmsite.config import SiteConfig
    from helmsite.render import Means, build, workers
    from tests.site_source import SCENARIOS, FakeResults

    class Slow(FakeResults):
        def instances(self, run_id):
            for view in super().instances(run_id):
                print("at", run_id, flush=True)
                time.sleep(0.05)
                yield view

        def scenario(self, name):
            return FakeResults(3, SCENARIOS[:2]).scenario(name)

        def page(self, summary):
            return FakeResults(3, SCENARIOS[:2]).page(summary)

    if __name__ == "__main__":
        workers.ENOUGH = 0
        try:
            build(Slow(3, SCENARIOS[:2]), Path(sys.argv[1]), SiteConfig(), means=Means(2))
        except KeyboardInterrupt:
            print("stopped", flush=True)
            sys.exit(130)
"""


@pytest.fixture
def slow(tmp_path: Path) -> Path:
    script = tmp_path / "script" / "slow.py"
    script.parent.mkdir()
    script.write_text(textwrap.dedent(SLOW))
    return script


def started(script: Path, out: Path) -> subprocess.Popen[str]:
    """Start a slow build in a group of its own and wait until processes render."""
    process = subprocess.Popen(
        [sys.executable, str(script), str(out)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        start_new_session=True,
    )
    assert process.stdout
    waited = time.monotonic() + 60
    while time.monotonic() < waited:
        if len(workers(process.pid)) == 2 and list(
            out.parent.glob(".site.building-*/runs/*")
        ):
            return process
        time.sleep(0.05)
    process.kill()
    raise AssertionError(process.communicate()[1])


def test_ctrl_c_ends_all_processes_and_leaves_the_earlier_site(
    tmp_path: Path, slow: Path
) -> None:
    out = tmp_path / "site"
    build(source(1), out, CONFIG)
    before = tree(out)
    process = started(slow, out)
    os.killpg(process.pid, signal.SIGINT)
    said, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert said.endswith("stopped\n")
    assert errors == ""
    until = time.monotonic() + 5  # Python's own tracker ends when the others have
    while left := [p for p in processes() if p.session == process.pid]:
        assert time.monotonic() < until, left
        time.sleep(0.05)
    assert tree(out) == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["script", "site"]


def test_after_kill_9_no_process_goes_on_and_the_next_build_cleans_up(
    tmp_path: Path, slow: Path
) -> None:
    out = tmp_path / "site"
    build(source(1), out, CONFIG)
    before = tree(out)
    process = started(slow, out)
    process.kill()
    process.communicate(timeout=30)
    waited = time.monotonic() + 30
    while workers(process.pid) and time.monotonic() < waited:
        time.sleep(0.1)
    assert not workers(process.pid)
    assert tree(out) == before
    assert len(list(tmp_path.glob(".site.building-*"))) == 1
    build(FakeResults(3, SCENARIOS[:2]), out, CONFIG, means=TWO)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["script", "site"]
    build(FakeResults(3, SCENARIOS[:2]), tmp_path / "fresh", CONFIG)
    assert tree(out) == tree(tmp_path / "fresh")
