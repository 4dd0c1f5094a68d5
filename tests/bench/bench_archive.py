"""How long the archive takes, and how much room and memory.

Usage: python tests/bench/bench_archive.py
"""

import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from msgspec import structs

from helmsite.archive import Archive
from helmsite.archive.indexing import run_entry
from helmsite.archive.layout import run_path
from helmsite.schema import Reply
from tests.archive_cases import catalogued, realistic


@contextmanager
def timed(what: str) -> Iterator[None]:
    start = time.perf_counter()
    yield
    sys.stdout.write(f"{what:<58}{time.perf_counter() - start:8.3f} s\n")


def thousand(root: Path) -> None:
    run = realistic(1000)
    archive = Archive(root)
    with timed("write 1,000 instances, 1,000 requests, 25,000 scores"):
        made = archive.write_run(*run)
    size = sum(p.stat().st_size for p in root.rglob("*") if p.is_file())
    prompts = sum(len(r.request.prompt) for r in run.replies)
    sys.stdout.write(
        f"{size / 1000:.0f} bytes an instance ({prompts / 1000:.0f} of prompt)\n"
    )
    with timed("read 1,000 replies"):
        list(archive.replies(made.run_id))
    with timed("read 25,000 scores as records"):
        archive.scores(made.run_id)
    with timed("read 25,000 scores as a table"):
        archive.table(made.run_id, "scores")
    with timed("check it"):
        archive.check()


def many(root: Path, n: int = 10_000) -> None:
    archive = Archive(root)
    entries = [run_entry(m, run_path(m)) for m in catalogued(n)]
    archive._catalogue.add(*entries)
    size = sum(p.stat().st_size for p in root.rglob("*") if p.is_file())
    fresh = Archive(root)
    with timed(f"list {n:,} runs ({size / 1e6:.1f} MB of catalogue)"):
        fresh.manifests()
    with timed("list them again"):
        fresh.manifests()
    with timed("digest their state"):
        fresh.state()


def large(root: Path, n: int = 100_000) -> None:
    run = realistic(1000)
    ids = [f"id{i}" for i in range(n)]
    instances = [
        structs.replace(run.instances[i % 1000], instance_id=ids[i], position=i)
        for i in range(n)
    ]

    def replies() -> Iterator[Reply]:
        for i in range(n):
            reply = run.replies[i % 1000]
            request = structs.replace(reply.request, instance_id=ids[i])
            yield structs.replace(reply, request=request)

    archive = Archive(root)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with timed(f"write {n:,} instances and as many replies from an iterator"):
        made = archive.write_run(run.manifest, instances, replies())
    with timed("read the replies one by one"):
        count = sum(1 for _ in archive.replies(made.run_id))
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    sys.stdout.write(f"{count:,} replies; peak memory grew by {grown:.0f} MB\n")


if __name__ == "__main__":
    for bench in (thousand, many, large):
        with tempfile.TemporaryDirectory() as folder:
            bench(Path(folder))
