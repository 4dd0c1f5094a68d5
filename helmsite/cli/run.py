"""`helmsite run`: make the runs of a suite."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from helmsite.cli.options import one_line, place, visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from helmsite.cli.options import Place
    from helmsite.cli.progress import Reporter
    from helmsite.config import Project, Suite
    from helmsite.run import Runner

LONG = 500


@click.command()
@click.argument("suite", required=False)
@click.option(
    "-m", "--model", "models", multiple=True, help="Only this model (repeatable)."
)
@click.option(
    "-s", "--scenario", "entries", multiple=True, help="Only this entry (repeatable)."
)
@click.option(
    "-w",
    "--workers",
    type=click.IntRange(1, 256),
    default=1,
    show_default=True,
    help="Requests under way at once.",
)
@click.option("-n", "--dry-run", is_flag=True, help="Say what would run; ask nothing.")
@place
def command(
    place: Place,
    suite: str | None,
    models: tuple[str, ...],
    entries: tuple[str, ...],
    workers: int,
    dry_run: bool,
) -> None:
    """Run SUITE (suites/SUITE.yaml): ask the models, score the replies, archive all.

    What is already in the archive is not asked again; a run that was interrupted goes
    on where it stopped, and of a partial run only the failures are retried.

    Exit code: 0 all runs complete, 6 some requests failed, else an error.
    """
    from helmsite.cli.progress import Reporter
    from helmsite.executors import LocalExecutor
    from helmsite.run import Runner

    project = place.project()
    chosen = _suite(project, suite)
    with Reporter() as reporter:
        runner = Runner(
            project, place.archive(project), LocalExecutor(workers), reporter
        )
        if dry_run:
            _dry_run(runner, chosen, models, entries)
            return
        make_runs(runner, reporter, chosen, models, entries)
    if reporter.partial:
        raise SystemExit(6)


def make_runs(
    runner: Runner,
    reporter: Reporter,
    suite: Suite,
    models: Sequence[str] = (),
    entries: Sequence[str] = (),
) -> None:
    """Make a suite's runs and sum up; Ctrl-C ends the process with exit code 130."""
    try:
        manifests = runner.run(suite, models, entries)
    except KeyboardInterrupt:
        click.echo(
            "\nStopped. Every answer so far is kept: the same command goes on from here.",
            err=True,
        )
        if runner.executor.abandoned:  # a thread may hang in the model: do not wait
            os._exit(130)
        raise SystemExit(130) from None
    click.echo(
        f"{len(manifests)} runs: {reporter.made} made, {reporter.kept} already there, "
        f"{reporter.asked} requests sent."
    )
    if reporter.partial:
        click.echo(
            f"{reporter.partial} of them partial: {reporter.failed} requests failed. "
            "The same command retries only those.",
            err=True,
        )
        if reporter.reason:
            why = visible(reporter.reason.strip())
            shown = why if len(why) <= LONG else f"{why[:LONG]}…"
            click.echo(f"The first failure: {shown}", err=True)


def _suite(project: Project, name: str | None) -> Suite:
    from helmsite.errors import ConfigError

    suites = project.suites
    if name is not None:
        return project.suite(name)
    if len(suites) == 1:
        return next(iter(suites.values()))
    if not suites:
        raise ConfigError(
            [f"There is no suite in {project.root}/suites."],
            "`helmsite new DIR` makes a project with one; `helmsite demo` needs none.",
        )
    raise ConfigError(
        [f"Which suite? There are {', '.join(suites)}."], "Type `helmsite run SUITE`."
    )


def _dry_run(
    runner: Runner, suite: Suite, models: tuple[str, ...], entries: tuple[str, ...]
) -> None:
    total = 0
    for plans, client in runner.plans(suite, models, entries):
        for plan in plans:
            old = runner.archive.find(plan.run_id)
            what = one_line(
                f"{plan.run_id}  {plan.model.name} · {plan.scenario.facts.name} · "
                f"{plan.adapter.method}"
            )
            if old is not None and old.status == "complete":
                click.echo(f"{what}: complete, nothing to do")
                continue
            with runner.archive.journal(
                plan.run_id, plan.identity, read_only=True
            ) as journal:
                work = runner.prepare(plan, client, journal)
            click.echo(
                f"{what}: {len(work.open)} of {len(work.requests)} requests to send"
            )
            total += len(work.open)
    click.echo(f"Would send {total} requests. Nothing was sent.")
