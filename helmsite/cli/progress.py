"""What a user sees while something goes on: a bar on a terminal, lines elsewhere."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)

from helmsite.cli.options import one_line, size

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType
    from typing import Self

    from rich.progress import ProgressColumn, Task, TaskID
    from rich.text import Text

    from helmsite.render import Forecast
    from helmsite.run import Plan
    from helmsite.run.importing import Outcome
    from helmsite.schema import Completion, Manifest

LINE_EVERY_S = 30.0
BUILD_LINE_EVERY_S = 10.0


class Rate(TextColumn):
    """Requests or instances per second."""

    def __init__(self) -> None:
        super().__init__("")

    def render(self, task: Task) -> Text:
        """Return the rate, blank while it is unknown."""
        self.text_format = f"{task.speed:.1f}/s" if task.speed else ""
        return super().render(task)


class _Bar:
    """A bar on a terminal, and lines above it or in a log."""

    def __init__(self, console: Console | None = None) -> None:
        self.console = console or Console(stderr=True)
        self._bar = Progress(
            TextColumn("{task.description}", markup=False),
            *self.columns(),
            console=self.console,
            transient=True,
        )
        self._task: TaskID | None = None

    def columns(self) -> Sequence[ProgressColumn]:
        """Return what a line shows behind its name."""
        return (
            BarColumn(bar_width=None),
            MofNCompleteColumn(),
            Rate(),
            TimeRemainingColumn(compact=True),
        )

    def __enter__(self) -> Self:
        if self.console.is_terminal:
            self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.console.is_terminal:
            self._bar.stop()

    def _say(self, text: str) -> None:
        """Print a line as it is: names from files are no markup and no commands."""
        self.console.print(
            one_line(text), highlight=False, markup=False, soft_wrap=True
        )


class Downloads(_Bar):
    """How far downloads are, on a terminal: several at a time, a bar each."""

    def __init__(self, console: Console | None = None) -> None:
        super().__init__(console)
        self._tasks: dict[str, TaskID] = {}

    def columns(self) -> Sequence[ProgressColumn]:
        """Return bar, bytes and speed."""
        return BarColumn(), DownloadColumn(), TransferSpeedColumn()

    def told(self, name: str, done: int, total: int | None) -> None:
        """Show how much of a file is here."""
        if not self.console.is_terminal:
            return
        if name not in self._tasks:
            self._tasks[name] = self._bar.add_task(one_line(name), total=total)
        self._bar.update(self._tasks[name], completed=done, total=total)
        if done == total:
            self._bar.remove_task(self._tasks.pop(name))


class Reporter(_Bar):
    """Shows each run with its rate and time left; sums up at the end."""

    def __init__(self, console: Console | None = None) -> None:
        super().__init__(console)
        self.made = self.kept = self.failed = self.asked = self.partial = 0
        self.reason = ""  # why the first request that failed did so
        self._line_due = 0.0
        self._started = 0.0
        self._counts = (0, 0)
        self._known = 0
        self._download = ""

    def downloading(self, name: str, done: int, total: int | None) -> None:
        """Say that a download begins, again now and then, and that it ended."""
        now = time.monotonic()
        begins = self._download != name
        if not begins and done != total and now < self._line_due:
            return
        self._download, self._line_due = name, now + LINE_EVERY_S
        of = f" of {size(total)}" if total is not None and done != total else ""
        self._say(f"Downloading {name}: {size(done)}{of}")

    def planned(self, plan: Plan, asked: int, answered: int) -> None:
        """Start a run's bar where an earlier start left off."""
        name = one_line(
            f"{plan.model.card.title} · "
            f"{plan.scenario.facts.title or plan.scenario.facts.name}"
        )
        self._started = time.monotonic()
        self._line_due = self._started + LINE_EVERY_S
        self._counts = (answered, asked)
        self._known = answered
        if self.console.is_terminal:
            self._task = self._bar.add_task(name, total=asked, completed=answered)
        if answered:
            self._say(f"{name}: {answered} of {asked} answers were already there.")

    def replied(self, completions: Sequence[Completion]) -> None:
        """Count one request."""
        answered, asked = self._counts
        self._counts = (answered + 1, asked)
        self.asked += 1
        self.reason = self.reason or completions[0].error
        if self._task is not None:
            self._bar.advance(self._task)
        elif time.monotonic() > self._line_due:
            self._line_due = time.monotonic() + LINE_EVERY_S
            self._say(self._pace(answered + 1, asked))

    def finished(self, plan: Plan, manifest: Manifest, *, made: bool) -> None:
        """Print a run's line."""
        del plan
        if self._task is not None:
            self._bar.remove_task(self._task)
            self._task = None
        self.made += made
        self.kept += not made
        self.failed += manifest.counts.failed
        counts = manifest.counts
        took = f"{time.monotonic() - self._started:.1f} s" if made else "already there"
        note = f", {counts.failed} FAILED" if counts.failed else ""
        self.partial += manifest.status != "complete"
        self._say(
            f"{manifest.run_id}  {manifest.card.title} · {manifest.scenario.name} · "
            f"{manifest.spec.adapter.method}: {counts.answered} of {counts.asked} "
            f"answered{note} ({took})"
        )
        for warning in manifest.warnings if made else ():
            self._say(f"  {warning}")

    def _pace(self, done: int, asked: int) -> str:
        """Return how far a run is, how fast it goes and how long it will take."""
        rate = (done - self._known) / (time.monotonic() - self._started)
        left = (asked - done) / rate
        return f"  {done} of {asked} requests, {rate:.1f}/s, {left:.0f} s left"


class ImportReporter(_Bar):
    """Shows how many results are taken; without a terminal a line now and then."""

    def __init__(self, console: Console | None = None) -> None:
        super().__init__(console)
        self._began = time.monotonic()
        self._line_due = self._began + BUILD_LINE_EVERY_S

    def taken(self, outcome: Outcome, done: int, total: int) -> None:
        """Count a result that is done with."""
        del outcome
        if self._task is None:
            self._task = self._bar.add_task("Results", total=total)
        self._bar.update(self._task, completed=done)
        now = time.monotonic()
        if not self.console.is_terminal and now > self._line_due:
            self._line_due = now + BUILD_LINE_EVERY_S
            rate = done / (now - self._began)
            left = (total - done) / rate
            self._say(
                f"  {done:,} of {total:,} results, {rate:.1f}/s, {left:.0f} s left"
            )


class BuildReporter(_Bar):
    """Shows what a build does: a bar with instances per second and the time left.

    Where there is no terminal, a line comes every ten seconds, so a short build says
    nothing but its result.
    """

    def __init__(self, console: Console | None = None) -> None:
        super().__init__(console)
        self._what = ""
        self._began = time.monotonic()
        self._line_due = self._began + BUILD_LINE_EVERY_S
        self._forecast = ""

    def told(self, forecast: Forecast) -> None:
        """Take what the build expects; a terminal shows it at once, a log if it lasts."""
        self._forecast = forecast.sentence
        if self.console.is_terminal:
            self._say_forecast()

    def progress(self, what: str, done: int, of: int) -> None:
        """Take how far the build is with something."""
        if what != self._what:
            self._what, self._began = what, time.monotonic()
            if self._task is not None:
                self._bar.remove_task(self._task)
            self._task = self._bar.add_task(what.capitalize(), total=of or None)
        if self._task is not None:
            self._bar.update(self._task, completed=done, total=of or None)
        if not self.console.is_terminal and time.monotonic() > self._line_due:
            self._line_due = time.monotonic() + BUILD_LINE_EVERY_S
            self._say_forecast()
            self._say(self._pace(done, of))

    def _say_forecast(self) -> None:
        if self._forecast:
            self._say(self._forecast)
            self._forecast = ""

    def _pace(self, done: int, of: int) -> str:
        took = time.monotonic() - self._began
        rate = done / took if took > 0 else 0.0
        left = f", {rate:.0f}/s, {(of - done) / rate:.0f} s left" if rate else ""
        return f"  {self._what}: {done:,} of {of:,}{left}"
