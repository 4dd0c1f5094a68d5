"""Full disks, forbidden folders, damaged files, processes that die at any moment."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from msgspec import structs

from helmsite.archive import Archive, layout, manifests, staging
from helmsite.archive.catalogue import Catalogue
from helmsite.archive.indexing import run_entry
from helmsite.errors import ArchiveError
from helmsite.schema import Score, Stat
from tests.archive_cases import FACTS, Run, realistic, small

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def _mount(*arguments: str) -> None:
    done = subprocess.run(
        ["mount", *arguments], check=False, capture_output=True, text=True
    )
    if done.returncode:
        pytest.skip(f"cannot mount a file system here: {done.stderr.strip()}")


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    """A real disk of 300 KB."""
    if sys.platform != "linux" or shutil.which("mount") is None:
        pytest.skip("needs Linux and mount")
    place = tmp_path / "disk"
    place.mkdir()
    _mount("-t", "tmpfs", "-o", "size=300k", "tmpfs", str(place))
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def whole(archive: Archive, run: Run) -> bool:
    """Whether every row of a run can be read."""
    run_id = run.manifest.run_id
    return (
        archive.instances(run_id) == run.instances
        and list(archive.replies(run_id)) == run.replies
        and archive.scores(run_id) == run.scores
        and archive.stats(run_id) == run.stats
    )


def test_a_full_disk_ends_in_a_clear_error_and_harms_nothing(tiny_disk: Path) -> None:
    archive = Archive(tiny_disk / "runs")
    before = small()
    archive.write_run(*before)
    with pytest.raises(ArchiveError, match="No space left on device") as caught:
        archive.write_run(
            *realistic(1000)._replace(manifest=small(origin="native:b").manifest)
        )
    assert str(tiny_disk) in caught.value.message
    assert "Free some space" in caught.value.hint
    assert whole(Archive(tiny_disk / "runs"), before)
    assert archive.check() == []
    assert list((tiny_disk / "runs" / layout.INCOMING).iterdir()) == []


def test_a_disk_that_fills_up_while_a_run_is_replaced_keeps_the_old_run(
    tiny_disk: Path,
) -> None:
    archive = Archive(tiny_disk)
    before = small(40)
    archive.write_run(*before)
    with pytest.raises(ArchiveError, match="No space left"):
        archive.write_run(*realistic(900))
    with pytest.raises(ArchiveError, match="No space left"):
        archive.write_scores(
            before.manifest.run_id, _many(before), before.stats, (FACTS,)
        )
    assert whole(Archive(tiny_disk), before)
    assert archive.check() == []


def _many(run: Run) -> list[Score]:
    """300 KB of scores that cannot be compressed."""
    return [
        Score(i.instance_id, f"m{k}", os.urandom(1)[0] / 7, text=os.urandom(300).hex())
        for i in run.instances
        for k in range(40)
    ]


def test_a_journal_on_a_full_disk_keeps_what_it_has(tiny_disk: Path) -> None:
    archive = Archive(tiny_disk)
    run = small()
    first, second, third = run.replies
    ballast = tiny_disk / "ballast"
    with archive.journal(run.manifest.run_id, run.manifest.spec.model) as journal:
        journal.put(first.request, [first.completion])
        ballast.write_bytes(b"x" * (300 * 1024 - 16 * 1024))
        long = structs.replace(second.completion, text=os.urandom(20_000).hex())
        with pytest.raises(ArchiveError, match="No space left on device") as caught:
            journal.put(second.request, [long])
        assert str(journal.path) in caught.value.message
        assert journal.get(second.request) is None
        assert journal.get(first.request) == [first.completion]
        ballast.unlink()
        journal.put(second.request, [long])
        journal.put(third.request, [third.completion])
    with archive.journal(run.manifest.run_id, run.manifest.spec.model) as journal:
        assert len(journal) == 3
        assert journal.get(second.request) == [long]


def test_a_read_only_disk_is_a_clear_error_and_can_be_read(tiny_disk: Path) -> None:
    run = small()
    Archive(tiny_disk).write_run(*run)
    _mount("-o", "remount,ro", str(tiny_disk))
    archive = Archive(tiny_disk)
    assert whole(archive, run)
    assert archive.check() == []
    for write in (
        lambda: archive.write_run(*run),
        lambda: archive.write_scores(run.manifest.run_id, [], [], ()),
        lambda: archive.write_published("s", "b", []),
        lambda: archive.remove(run.manifest.run_id),
        lambda: archive.journal("r1", run.manifest.spec.model).__enter__(),
    ):
        with pytest.raises(ArchiveError, match="Read-only file system") as caught:
            write()
        assert "writable" in caught.value.hint


@contextmanager
def nobody() -> Iterator[None]:
    """Act as a user without rights (root may write anywhere)."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX permissions")
def test_a_forbidden_folder_is_a_clear_error() -> None:
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        folder.chmod(0o755)
        run = small()
        Archive(folder / "runs").write_run(*run)
        (folder / "runs").chmod(0o555)
        with nobody():
            archive = Archive(folder / "runs")
            assert whole(archive, run)
            with pytest.raises(ArchiveError, match="Permission denied") as caught:
                archive.write_run(*run)
        assert str(folder) in caught.value.message
        assert "writable" in caught.value.hint


def test_a_root_that_is_a_file_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(ArchiveError, match="Cannot write"):
        Archive(tmp_path / "file").write_run(*small())


READERS: dict[str, Callable[[Archive, str], object]] = {
    "instances": Archive.instances,
    "requests": lambda archive, run_id: list(archive.replies(run_id)),
    "scores": Archive.scores,
    "stats": Archive.stats,
}


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("harm", ["half", "empty", "text", "missing", "body"])
def test_a_damaged_table_is_a_clear_error(tmp_path: Path, name: str, harm: str) -> None:
    archive = Archive(tmp_path)
    made = archive.write_run(*realistic(50))
    path = Path(archive.file(made.run_id, name))
    blob = path.read_bytes()
    if harm == "missing":
        path.unlink()
    elif harm == "body":  # the footer is whole, the rows are not
        path.write_bytes(blob[:4] + bytes(len(blob) // 2) + blob[4 + len(blob) // 2 :])
    else:
        path.write_bytes(
            {"half": blob[: len(blob) // 2], "empty": b"", "text": b"no Parquet" * 99}[
                harm
            ]
        )
    with pytest.raises(ArchiveError) as caught:
        READERS[name](archive, made.run_id)
    assert str(path) in caught.value.message
    assert "helmsite check" in caught.value.hint
    problems = archive.check()
    assert problems
    assert {p.run_id for p in problems} == {made.run_id}
    assert any(p.where.endswith(f"{name}.parquet") for p in problems)


@pytest.mark.parametrize("blob", [b"", b"{", b'{"run_id": 3}', b"\xff\xfe"])
def test_a_damaged_manifest_is_a_clear_error(tmp_path: Path, blob: bytes) -> None:
    archive = Archive(tmp_path)
    made = archive.write_run(*small())
    path = Path(archive.file(made.run_id, "stats")).with_name("run.json")
    path.write_bytes(blob)
    problems = archive.check()
    assert any("cannot be read" in p.what and "run.json" in p.where for p in problems)
    archive.reindex()
    assert archive.manifests() == ()
    assert "cannot be read" in " ".join(p.what for p in archive.check())


@pytest.mark.parametrize("version", [0, 2, 99])
def test_an_unknown_schema_version_is_refused(tmp_path: Path, version: int) -> None:
    archive = Archive(tmp_path)
    made = archive.write_run(*small())
    path = Path(archive.file(made.run_id, "stats")).with_name("run.json")
    newer = structs.replace(made, schema_version=version)
    path.write_bytes(manifests.encode(newer).replace(b'"status"', b'"state_of_it"'))
    problems = [p for p in archive.check() if p.where.endswith("run.json")]
    assert f"schema version {version}; this helmsite reads 1" in problems[0].what
    assert "pip install -U helmsite" in problems[0].next_step
    Catalogue(archive._store).add(run_entry(newer, layout.run_path(newer)))
    for read in (Archive.manifests, Archive.reindex, Archive.state):
        with pytest.raises(ArchiveError, match=f"schema version {version}"):
            read(Archive(tmp_path))
    assert f"schema version {version}" in Archive(tmp_path).check()[0].what


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            b'{"entry":{"path":"p","manifest":{"schema_version":2,"new":1}}}',
            "version 2",
        ),
        (b'{"entry":{"key":"k","kind":"run","path":"p","new":1}}', "is damaged"),
        (b'{"entry":{"path":"p","manifest":{"schema_version":1,"new":1}}}', "Update"),
        (b"not JSON", "is damaged"),
        (b'{"entry":null}', "is damaged"),
        (b"\xff", "is damaged"),
    ],
)
def test_a_catalogue_of_another_helmsite_is_refused(
    tmp_path: Path, line: bytes, said: str
) -> None:
    archive = Archive(tmp_path)
    archive.write_run(*small())
    blob = pa.Codec("zstd").compress(line + b"\n", asbytes=True)
    name = hashlib.sha256(blob).hexdigest()[:24] + ".jsonl.zst"
    (tmp_path / layout.CATALOGUE / name).write_bytes(blob)
    with pytest.raises(ArchiveError) as caught:
        Archive(tmp_path).manifests()
    assert said in str(caught.value)
    assert Archive(tmp_path).check()


def test_a_segment_that_is_no_zstd_is_damaged(tmp_path: Path) -> None:
    folder = tmp_path / layout.CATALOGUE
    folder.mkdir()
    name = hashlib.sha256(b"plain").hexdigest()[:24] + ".jsonl.zst"
    (folder / name).write_bytes(b"plain")
    with pytest.raises(ArchiveError, match="is damaged"):
        Archive(tmp_path).manifests()


def test_a_run_that_another_process_writes_is_refused(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    run = small()
    archive.write_run(*run)
    with staging.folder(archive._store, run.manifest.run_id):
        for write in (
            lambda: archive.write_run(*run),
            lambda: archive.write_scores(run.manifest.run_id, [], [], ()),
        ):
            with pytest.raises(ArchiveError, match="Another process is writing"):
                write()
        assert archive.check() == []  # what is being written is no leftover
        assert archive.reindex().cleaned == ()
        archive.write_run(*small(origin="native:other"))
    archive.write_run(*run)
    assert archive.check() == []


def test_a_journal_that_cannot_be_opened_frees_its_lock(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    model = small().manifest.spec.model
    path = archive.journal("r1", model).path
    path.mkdir(parents=True)
    for _ in range(2):
        with pytest.raises(ArchiveError, match="Is a directory"):
            archive.journal("r1", model).__enter__()
    path.rmdir()
    with archive.journal("r1", model):
        pass


def test_what_a_dead_writer_left_in_the_catalogue_is_reported_and_cleared(
    tmp_path: Path,
) -> None:
    archive = Archive(tmp_path)
    archive.write_run(*small())
    left = tmp_path / layout.CATALOGUE / ".x.jsonl.zst.1.tmp"
    left.write_bytes(b"half")
    assert archive.check() == []  # its writer may be alive
    os.utime(left, (0, 0))
    assert "interrupted" in archive.check()[0].what
    assert archive.reindex().cleaned == (f"{layout.CATALOGUE}/{left.name}",)
    assert archive.check() == []


def test_a_damaged_catalogue_is_a_clear_error_and_can_be_made_anew(
    tmp_path: Path,
) -> None:
    archive = Archive(tmp_path)
    made = archive.write_run(*small())
    folder = tmp_path / layout.CATALOGUE
    segment = max(folder.iterdir(), key=lambda p: p.stat().st_size)
    segment.write_bytes(segment.read_bytes()[:-20])
    with pytest.raises(ArchiveError, match="is damaged") as caught:
        Archive(tmp_path).manifests()
    assert "helmsite check --reindex" in caught.value.hint
    fresh = Archive(tmp_path)
    assert [p.what for p in fresh.check()] == ["this part of the catalogue is damaged"]
    assert fresh.reindex().added == (made.run_id,)
    assert Archive(tmp_path).manifests() == (made,)
    assert fresh.check() == []


MUTATIONS = {"os.rename", "os.mkdir", "os.remove", "os.rmdir", "open"}


def _dies(act: Callable[[], object], at: int) -> bool:
    """Run `act` in a process that dies before its n-th change to the disk."""
    child = os.fork()
    if child:
        _, status = os.waitpid(child, 0)
        code = os.waitstatus_to_exitcode(status)
        assert code in {0, 9}, code
        return code == 9
    left = [at]

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        if event not in MUTATIONS or (event == "open" and "w" not in str(arguments[1])):
            return
        left[0] -= 1
        if left[0] < 0:
            os._exit(9)

    try:
        sys.addaudithook(hook)
        act()
        os._exit(0)
    finally:
        os._exit(3)


@pytest.fixture
def fast_disk() -> Iterator[Path]:
    base = "/dev/shm" if Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryDirectory(dir=base) as made:
        yield Path(made)


def beside(root: Path, remote: bool) -> Archive:
    """An archive on disk; `remote`: through a file system that does not say so."""
    if not remote:
        return Archive(root)
    deep = {"auto_mkdir": True}
    options = {"path": str(root), "target_protocol": "file", "target_options": deep}
    return Archive("dir://", options)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("remote", [False, True])
@pytest.mark.parametrize("replaced", [False, True])
def test_a_process_may_die_at_any_step_of_a_write(
    fast_disk: Path, replaced: bool, remote: bool
) -> None:
    old, new = small(2), small(3)
    steps = 0
    for at in range(0, 200, 3 if remote else 1):
        root = fast_disk / str(at)
        if replaced:
            beside(root, remote).write_run(*old)
        archive = beside(root, remote)
        if not _dies(partial(archive.write_run, *new), at):
            break
        steps += 1
        after = beside(root, remote)
        for _ in after.manifests():
            assert whole(after, old) or whole(after, new)
        after.reindex()
        reported = {p.what.split(":")[0] for p in after.check()}
        assert reported <= ({"files of a run without run.json"} if remote else set())
        assert len(after.manifests()) == 1 or not replaced
        after.write_run(*new)
        assert whole(beside(root, remote), new)
        assert beside(root, remote).check() == []
        assert not list(root.glob(f"{layout.INCOMING}/*"))
    assert steps > 4


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("before", ["nothing", "a run", "a partial one"])
def test_a_later_start_leaves_no_trace_of_one_that_died(
    fast_disk: Path, before: str
) -> None:
    """Without a reindex, as `helmsite run` starts again; with another run after it."""
    run, other = small(3), small(2, origin="native:other")
    partial_run = small(2, status="partial")
    steps = 0
    for at in range(200):
        root = fast_disk / str(at)
        if before == "a run":
            Archive(root).write_run(*small(1, origin="native:first"))
        elif before == "a partial one":
            Archive(root).write_run(*partial_run)
        if not _dies(partial(Archive(root).write_run, *run), at):
            break
        steps += 1
        later = Archive(root)
        found = later.find(run.manifest.run_id)
        if found is None or found.status != "complete":
            later.write_run(*run)
        for old in (root / layout.CATALOGUE).iterdir():
            os.utime(old, (0, 0))
        assert [p.what for p in later.check()] == [], at
        assert whole(later, run)
        Archive(root).write_run(*other)
        assert len(Archive(root).manifests()) == 2 + (before == "a run")
        assert Archive(root).check() == [], at
        Archive(root).reindex()
        assert not list(root.glob(f"{layout.INCOMING}/*"))
    assert steps > 8


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_process_may_die_at_any_step_of_scoring(fast_disk: Path) -> None:
    run = small()
    scores = [Score(i.instance_id, "f1", 0.125) for i in run.instances]
    steps = 0
    for at in range(100):
        archive = Archive(fast_disk / str(at))
        archive.write_run(*run)
        run_id = run.manifest.run_id

        def act(archive: Archive = archive, run_id: str = run_id) -> None:
            archive.write_scores(run_id, scores, [Stat("f1", 0.125)], (FACTS,))

        if not _dies(act, at):
            break
        steps += 1
        after = Archive(archive.root)
        assert after.instances(run_id) == run.instances
        assert list(after.replies(run_id)) == run.replies
        after.reindex()
        for problem in after.check():
            assert problem.where.endswith(
                ("scores.parquet", "stats.parquet", "run.json")
            )
            assert "helmsite score" in problem.next_step
        act(after)
        assert Archive(archive.root).scores(run_id) == scores
        assert after.check() == []
    assert steps > 5
