"""The journal: no answer is paid for twice, none is taken for another's."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from msgspec import structs

from helmsite.archive import Archive, Journal
from helmsite.archive.journal import request_key
from helmsite.errors import ArchiveError
from helmsite.schema import (
    Completion,
    Decoding,
    Message,
    ModelIdentity,
    Request,
    TopLogprob,
    Usage,
)
from tests.archive_cases import small

if TYPE_CHECKING:
    from collections.abc import Callable

MODEL = ModelIdentity("org/m", "fake", settings={"seed": 1})
REQUEST = Request("id1", "The capital of France is", Decoding(), trial=1)
ANSWER = Completion(
    " Paris \x00 שלום",
    tokens=(" Paris",),
    token_logprobs=(-0.1234567890123,),
    top_logprobs=((TopLogprob(" Paris", -0.1234567890123),),),
    usage=Usage(5, 1),
    duration_s=0.1,
    started_at=1_750_000_000.25,
    transcript=({"turn": 1},),
)
PATH_HINT = "_journal/r1.jsonl"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / PATH_HINT


@pytest.fixture
def open_journal(tmp_path: Path) -> Callable[[], Journal]:
    return lambda: Archive(tmp_path).journal("r1", MODEL)


def numbered(i: int) -> Request:
    return structs.replace(REQUEST, instance_id=f"id{i}")


def test_an_answer_is_found_again_unchanged(
    open_journal: Callable[[], Journal], path: Path
) -> None:
    with open_journal() as journal:
        assert journal.get(REQUEST) is None
        journal.put(REQUEST, [ANSWER, Completion("second")])
        assert journal.get(REQUEST) == [ANSWER, Completion("second")]
        assert journal.path == path
    with open_journal() as journal:
        assert journal.get(REQUEST) == [ANSWER, Completion("second")]
        assert (len(journal), journal.failed) == (1, 0)


@pytest.mark.parametrize(
    "change",
    [
        {"prompt": "The capital of Spain is"},
        {"score_start": 3},
        {"decoding": Decoding(temperature=0.5)},
        {"messages": (Message("user", "hi"),)},
        {"trial": 2},
        {"instance_id": "id2"},
        {"perturbation": "typos(prob=0.1)~1"},
        {"mode": "calibration"},
        {"reference_index": 0},
        {"request_index": 1},
    ],
    ids=lambda change: next(iter(change)),
)
def test_another_request_is_not_answered(
    open_journal: Callable[[], Journal], change: dict[str, object]
) -> None:
    with open_journal() as journal:
        journal.put(REQUEST, [ANSWER])
        assert journal.get(structs.replace(REQUEST, **change)) is None


@pytest.mark.parametrize(
    "change",
    [
        {"name": "org/n"},
        {"client": "openai"},
        {"revision": "b"},
        {"weights_sha256": "ab"},
        {"runtime": "x 2"},
        {"quantisation": "Q4"},
        {"settings": {"seed": 2}},
    ],
    ids=lambda change: next(iter(change)),
)
def test_an_answer_of_another_model_is_not_found(
    tmp_path: Path, change: dict[str, object]
) -> None:
    with Archive(tmp_path).journal("r1", MODEL) as journal:
        journal.put(REQUEST, [ANSWER])
    other = structs.replace(MODEL, **change)
    with Archive(tmp_path).journal("r1", other) as journal:
        assert journal.get(REQUEST) is None
        journal.put(REQUEST, [Completion("mine")])
    with Archive(tmp_path).journal("r1", MODEL) as journal:
        assert journal.get(REQUEST) == [ANSWER]


def test_what_is_told_about_a_request_does_not_change_its_key() -> None:
    told = structs.replace(
        REQUEST, example_ids=("id9",), num_train_instances=1, output_mapping={"A": "x"}
    )
    assert request_key(MODEL, told) == request_key(MODEL, REQUEST)


def test_a_failure_is_kept_and_asked_again(open_journal: Callable[[], Journal]) -> None:
    with open_journal() as journal:
        journal.put(REQUEST, [Completion(error="HTTP 500")])
        journal.put(numbered(2), [ANSWER])
        assert journal.get(REQUEST) is None
    with open_journal() as journal:
        assert (len(journal), journal.failed) == (1, 1)
        assert journal.get(REQUEST) is None
        journal.put(REQUEST, [ANSWER])
        assert journal.failed == 0
    with open_journal() as journal:
        assert (len(journal), journal.failed) == (2, 0)
        assert journal.get(REQUEST) == [ANSWER]


def test_no_answer_at_all_is_a_failure(open_journal: Callable[[], Journal]) -> None:
    with open_journal() as journal:
        journal.put(REQUEST, [])
        journal.put(numbered(2), [ANSWER, Completion(error="HTTP 500")])
    with open_journal() as journal:
        assert (len(journal), journal.failed) == (0, 2)
        assert journal.get(REQUEST) is None
        assert journal.get(numbered(2)) is None


def test_a_journal_can_be_read_without_touching_the_disk(
    tmp_path: Path, path: Path
) -> None:
    def look() -> Journal:
        return Archive(tmp_path / "deep").journal("r1", MODEL, read_only=True)

    with look() as journal:
        assert (len(journal), journal.failed, journal.get(REQUEST)) == (0, 0, None)
        for write in (lambda: journal.put(REQUEST, [ANSWER]), journal.discard):
            with pytest.raises(ArchiveError, match="open for reading alone"):
                write()
    assert list(tmp_path.iterdir()) == []

    with Archive(tmp_path / "deep").journal("r1", MODEL) as writer:
        writer.put(REQUEST, [ANSWER])
        with writer.path.open("ab") as file:
            file.write(b'{"key":"torn')
        before = writer.path.read_bytes()
        with look() as journal:  # while another holds the lock
            assert journal.get(REQUEST) == [ANSWER]
        assert writer.path.read_bytes() == before
        with Archive(tmp_path / "deep").journal("r2", MODEL, read_only=True) as other:
            assert len(other) == 0
    names = sorted(p.name for p in writer.path.parent.iterdir())
    with look() as journal:
        assert len(journal) == 1
    assert sorted(p.name for p in writer.path.parent.iterdir()) == names


def test_a_journal_without_any_answer_leaves_nothing(
    open_journal: Callable[[], Journal], path: Path
) -> None:
    with open_journal() as journal:
        assert path.exists()
        assert journal.get(REQUEST) is None
    assert list(path.parent.iterdir()) == []
    with pytest.raises(KeyError), open_journal():
        raise KeyError
    assert list(path.parent.iterdir()) == []
    with open_journal() as journal:
        journal.put(REQUEST, [Completion(error="HTTP 500")])
    assert path.exists()


def test_a_second_process_is_refused(
    open_journal: Callable[[], Journal], tmp_path: Path
) -> None:
    code = (
        "import sys; from helmsite.archive import Archive; from helmsite.schema import ModelIdentity\n"
        "with Archive(sys.argv[1]).journal('r1', ModelIdentity('x')): pass"
    )
    with open_journal():
        done = subprocess.run(
            [sys.executable, "-c", code, str(tmp_path)],
            check=False,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 1
        assert "Another process is at work on this run" in done.stderr
        assert "run the same command again" in done.stderr
        with Archive(tmp_path).journal("r2", MODEL):
            pass  # another run is free
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True)


def test_the_lock_is_free_after_an_error(open_journal: Callable[[], Journal]) -> None:
    with pytest.raises(KeyError), open_journal():
        raise KeyError
    with open_journal():
        pass


def test_a_torn_last_line_is_cut_off(
    open_journal: Callable[[], Journal], path: Path
) -> None:
    with open_journal() as journal:
        for i in range(3):
            journal.put(numbered(i), [ANSWER])
    whole = path.read_bytes()
    second = whole.index(b"\n", whole.index(b"\n") + 1) + 1
    for cut in (1, 2, 17, 200, len(whole) - second - 1):
        path.write_bytes(whole[: len(whole) - cut])
        with open_journal() as journal:
            assert len(journal) == 2
            assert journal.get(numbered(2)) is None
            journal.put(numbered(2), [ANSWER])
        assert path.read_bytes() == whole


def test_damage_in_the_middle_costs_its_line_only(
    open_journal: Callable[[], Journal], path: Path
) -> None:
    with open_journal() as journal:
        for i in range(4):
            journal.put(numbered(i), [ANSWER])
    lines = path.read_bytes().splitlines(keepends=True)
    lines[1] = lines[1][:40] + b"\n"  # torn, and another wrote on
    lines[2] = bytes(len(lines[2]) - 1) + b"\n"  # a power cut leaves zeros
    path.write_bytes(b"".join(lines))
    with open_journal() as journal:
        assert [journal.get(numbered(i)) is not None for i in range(4)] == [
            True,
            False,
            False,
            True,
        ]
        journal.put(numbered(1), [ANSWER])
    with open_journal() as journal:
        assert len(journal) == 3


def test_an_answer_of_another_version_is_asked_again(
    open_journal: Callable[[], Journal], path: Path
) -> None:
    with open_journal() as journal:
        journal.put(REQUEST, [ANSWER])
    path.write_bytes(path.read_bytes().replace(b'"reasoning"', b'"thought_of"'))
    with open_journal() as journal:
        assert journal.get(REQUEST) is None
        journal.put(REQUEST, [ANSWER])
        assert journal.get(REQUEST) == [ANSWER]


def test_a_discarded_journal_leaves_nothing(
    open_journal: Callable[[], Journal], path: Path
) -> None:
    with open_journal() as journal:
        journal.put(REQUEST, [ANSWER])
        journal.discard()
        with pytest.raises(ArchiveError, match="is not open"):
            journal.put(REQUEST, [ANSWER])
    assert list(path.parent.iterdir()) == []
    with open_journal() as journal:
        assert journal.get(REQUEST) is None


def test_what_a_killed_process_left_of_an_archived_run_is_cleared(
    tmp_path: Path,
) -> None:
    archive = Archive(tmp_path)
    done, half = small(), small(origin="native:half", status="partial")
    folder = tmp_path / "_journal"
    for run in (done, half):
        made = archive.write_run(*run)
        with archive.journal(made.run_id, MODEL) as journal:
            journal.put(REQUEST, [ANSWER])
        (folder / f"{made.run_id}.jsonl.lock").touch()
    with archive.journal(done.manifest.run_id, MODEL):
        assert archive.reindex().cleaned == ()  # it is at work
    left = f"_journal/{done.manifest.run_id}.jsonl"
    assert archive.reindex().cleaned == (left,)
    names = {p.name.split(".")[0] for p in folder.iterdir()}
    assert names == {half.manifest.run_id}  # still to be used
    assert archive.discard_journal(half.manifest.run_id)
    assert not archive.discard_journal(half.manifest.run_id)
    assert list(folder.iterdir()) == []


def test_a_closed_journal_is_not_written(open_journal: Callable[[], Journal]) -> None:
    journal = open_journal()
    with pytest.raises(ArchiveError, match="is not open"):
        journal.put(REQUEST, [ANSWER])


@pytest.mark.parametrize(
    "completion",
    [
        Completion("half \ud83d"),
        Completion(logprob=float("nan")),
        Completion(token_logprobs=(float("-inf"),)),
        Completion(extra={"x": float("nan")}),
        Completion(extra={"x": object()}),
    ],
)
def test_what_no_archive_can_hold_is_refused_at_once(
    open_journal: Callable[[], Journal], completion: Completion
) -> None:
    with open_journal() as journal:
        with pytest.raises(ArchiveError, match="'id1'"):
            journal.put(REQUEST, [completion])
        assert journal.get(REQUEST) is None
        journal.put(REQUEST, [ANSWER])
    with open_journal() as journal:
        assert journal.get(REQUEST) == [ANSWER]


def test_threads_may_share_it(open_journal: Callable[[], Journal]) -> None:
    answers = {i: Completion("x" * (i * 37 % 5000)) for i in range(300)}

    def work(i: int) -> bool:
        journal.put(numbered(i), [answers[i]])
        return journal.get(numbered(i)) == [answers[i]]

    with open_journal() as journal, ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, answers))
    with open_journal() as journal:
        assert all(journal.get(numbered(i)) == [a] for i, a in answers.items())


WRITER = """
import sys
from helmsite.archive import Archive
from tests.test_archive_journal import ANSWER, MODEL, numbered
with Archive(sys.argv[1]).journal("r1", MODEL) as journal:
    print("open", len(journal), flush=True)
    for i in range(100_000):
        if journal.get(numbered(i)) is None:
            journal.put(numbered(i), [ANSWER])
            print(i, flush=True)
"""


def test_kill_9_loses_no_answer_that_was_put(tmp_path: Path) -> None:
    """Each time the next process finds all that the killed one had said it kept."""
    rng = random.Random(7)
    kept: set[int] = set()
    for _ in range(4):
        child = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(tmp_path)],
            stdout=subprocess.PIPE,
            cwd=Path(__file__).parents[1],
        )
        assert child.stdout is not None
        found = int(child.stdout.readline().split()[1])
        assert found >= len(kept)
        time.sleep(rng.uniform(0.0, 0.1))
        os.kill(child.pid, signal.SIGKILL)
        said = child.stdout.read().splitlines()
        child.stdout.close()
        child.wait()
        new = {int(line) for line in said[:-1]}
        assert not new & kept  # nothing was asked twice
        kept |= new
    with Archive(tmp_path).journal("r1", MODEL) as journal:
        assert kept
        assert all(journal.get(numbered(i)) == [ANSWER] for i in sorted(kept))
