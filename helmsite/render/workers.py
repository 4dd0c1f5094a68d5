"""Rendering runs in several processes: each gets a run at a time and writes its files.

The processes are started anew (`spawn`), so they hold nothing but what they are told.
They end with the build, however it ends: a failed one, Ctrl-C, or a main process that was
killed, whose pipe breaks. A process that dies is the end of the build, in a sentence.
"""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import os
import signal
import traceback
from multiprocessing import resource_tracker
from multiprocessing.connection import wait
from typing import TYPE_CHECKING, Any

from helmsite.errors import BuildError, HelmsiteError
from helmsite.render.runpages import Made, is_shown, render_run
from helmsite.render.theme import Theme

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from multiprocessing.connection import Connection
    from multiprocessing.context import SpawnProcess

    from helmsite.render.runpages import Job, Kit
    from helmsite.render.source import Means

ENOUGH = 1500  # instances: fewer are rendered before a second process has started
PATIENCE = 5.0
SELDOM = (50_000, 20, 100)


def cores() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextlib.contextmanager
def collect_seldom() -> Iterator[None]:
    """Let Python look for cycles of objects less often while a site is built.

    Rows come and go by the thousand and hold no cycle; looking for some takes a tenth of
    the time of a build.
    """
    before, frozen = gc.get_threshold(), gc.get_freeze_count()
    gc.freeze()
    gc.set_threshold(*SELDOM)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        if not frozen:
            gc.unfreeze()


def render_all(jobs: Sequence[Job], kit: Kit, theme: Theme, means: Means) -> list[Made]:
    """Render runs, in this process or in several; return what was made, by run id.

    Args:
        jobs: the runs.
        kit: what they are read from and written to.
        theme: the site's templates.
        means: how many processes may render, and who is told of instances.

    Raises:
        HelmsiteError: a run cannot be read or rendered, or a process died.
    """
    # The largest first, so that no process is left with a long one at the end.
    ordered = sorted(jobs, key=lambda j: (-j.run.n_instances, j.run.manifest.run_id))
    whole = sum(job.run.n_instances for job in ordered if is_shown(job.run))
    done = 0

    def tell(more: int) -> None:
        nonlocal done
        done += more
        means.tell("instances", done, whole)

    tell(0)
    count = min(means.workers, len(ordered))
    if count < 2 or whole < ENOUGH:
        made = [render_run(job, kit, theme, tell) for job in ordered]
    else:
        with _started(count, kit) as pool:
            made = list(pool.render(ordered, tell))
    return sorted(made, key=lambda m: m.run_id)


class _Pool:
    def __init__(self, processes: dict[Connection, SpawnProcess]) -> None:
        self._processes = processes
        self._doing: dict[Connection, Job] = {}

    def render(
        self, jobs: Sequence[Job], tell: Callable[[int], None]
    ) -> Iterator[Made]:
        waiting = list(reversed(jobs))
        for pipe in self._processes:
            self._give(pipe, waiting)
        while self._doing:
            ready: list[Any] = wait(list(self._doing))
            for pipe in ready:
                said = self._heard(pipe)
                if isinstance(said, int):
                    tell(said)
                    continue
                yield said
                self._give(pipe, waiting)

    def _give(self, pipe: Connection, waiting: list[Job]) -> None:
        self._doing.pop(pipe, None)
        if waiting:
            self._doing[pipe] = waiting.pop()
            try:
                pipe.send(self._doing[pipe])
            except OSError:
                raise self._dead(pipe) from None

    def _heard(self, pipe: Connection) -> int | Made:
        """Return what a process says; raise what it raised."""
        try:
            said: Any = pipe.recv()
        except (EOFError, OSError):
            raise self._dead(pipe) from None
        if isinstance(said, BaseException):
            raise said
        heard: int | Made = said
        return heard

    def _dead(self, pipe: Connection) -> BuildError:
        process, job = self._processes[pipe], self._doing[pipe]
        process.join(PATIENCE)
        code = process.exitcode or 0
        how = f"by signal {-code}" if code < 0 else f"with status {code}"
        return BuildError(
            f"A process that rendered run {job.run.manifest.run_id} ended {how}; "
            "the earlier site is untouched.",
            "If memory was short, build with `--workers 1`.",
        )


@contextlib.contextmanager
def _started(count: int, kit: Kit) -> Iterator[_Pool]:
    """Yield processes that wait for runs; none of them is left afterwards."""
    context = multiprocessing.get_context("spawn")
    processes: dict[Connection, SpawnProcess] = {}
    if os.name == "posix":
        # Started with the first process, it would let Ctrl-C through to that one.
        resource_tracker.ensure_running()
    try:
        for _ in range(count):
            here, there = context.Pipe()
            process = context.Process(target=_work, args=(there, kit), daemon=True)
            with _uninterrupted():
                process.start()
            processes[here] = process
            there.close()
        yield _Pool(processes)
        for pipe, process in processes.items():
            pipe.close()
            process.join(PATIENCE)
    finally:
        for process in processes.values():
            process.kill()
            process.join()


@contextlib.contextmanager
def _uninterrupted() -> Iterator[None]:
    """Start processes that Ctrl-C does not reach: the main one ends them."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _work(pipe: Connection, kit: Kit) -> None:
    """Render what the main process sends, until it has no more or is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    theme = Theme(kit.overrides)

    def say(what: int | Made | BaseException) -> None:
        try:
            pipe.send(what)
        except OSError:
            raise SystemExit(1) from None

    with collect_seldom(), contextlib.suppress(EOFError, OSError):
        while True:
            say(_outcome(pipe.recv(), kit, theme, say))


def _outcome(
    job: Job, kit: Kit, theme: Theme, tell: Callable[[int], None]
) -> Made | BaseException:
    """Return what was made, or the error that the main process is to raise."""
    try:
        return render_run(job, kit, theme, tell)
    except HelmsiteError as error:
        return error
    except Exception:  # noqa: BLE001 (told with its place, and raised where it is seen)
        return RuntimeError(f"rendering failed in a process:\n{traceback.format_exc()}")
