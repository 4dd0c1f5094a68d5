"""`helmsite run`: make the runs of a suite, or of run entries."""

from __future__ import annotations

import os
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from helmsite.cli.options import allow_code, one_line, place, sandbox, visible

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from helmsite.cli.options import Place
    from helmsite.cli.progress import Reporter
    from helmsite.config import Project, Suite
    from helmsite.errors import HelmsiteError
    from helmsite.run import Choice, Runner
    from helmsite.run.estimate import Estimate, Load

LONG = 500
POSITIVE = click.IntRange(min=1)


def part(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command what chooses a part of a suite, passed on as one `choice`."""

    @click.option(
        "-m", "--model", "models", multiple=True, help="Only this model (repeatable)."
    )
    @click.option(
        "-s",
        "--scenario",
        "entries",
        multiple=True,
        help="Only this entry of the suite (repeatable).",
    )
    @click.option(
        "-g", "--group", "groups", multiple=True, help="Only this group (repeatable)."
    )
    @click.option(
        "--priority",
        type=click.IntRange(1, 9),
        help="Only entries of this priority or a more urgent one (1).",
    )
    @click.option(
        "--max-eval-instances",
        type=POSITIVE,
        metavar="N",
        help="At most N instances of a run that sets no limit itself.",
    )
    @click.option(
        "--num-train-trials",
        type=POSITIVE,
        metavar="N",
        help="Choose the in-context examples N times.",
    )
    @click.option(
        "--accept-cautions",
        multiple=True,
        metavar="NAME",
        help="Run this scenario in spite of its caution (repeatable; all: every one).",
    )
    @click.pass_context
    def wrapped(ctx: click.Context, /, **given: Any) -> Any:
        from helmsite.run import Choice

        chosen = Choice(**{name: given.pop(name) for name in Choice.__struct_fields__})
        return ctx.invoke(function, choice=chosen, **given)

    wrapped.__name__ = function.__name__
    wrapped.__doc__ = function.__doc__
    wrapped.__click_params__ = [  # type: ignore[attr-defined]
        *getattr(function, "__click_params__", []),
        *wrapped.__click_params__,  # type: ignore[attr-defined]
    ]
    return wrapped


@click.command()
@click.argument("what", nargs=-1, metavar="[SUITE | ENTRY...]")
@click.option(
    "--conf",
    "confs",
    multiple=True,
    type=click.Path(path_type=Path),
    help="A file of run entries as HELM has them (repeatable).",
)
@click.option(
    "--suite", "name", metavar="NAME", help="Name in the archive of what is run."
)
@click.option(
    "-w",
    "--workers",
    type=click.IntRange(1, 256),
    default=1,
    show_default=True,
    help="Requests under way at once.",
)
@click.option(
    "--skip-missing",
    is_flag=True,
    help="Leave out entries whose data is not here or that need consent.",
)
@click.option(
    "--offline", is_flag=True, help="Fetch no data; say what is missing instead."
)
@allow_code
@click.option("-n", "--dry-run", is_flag=True, help="Say what would run; ask nothing.")
@part
@place
def command(  # noqa: PLR0913 - one for each option
    place: Place,
    choice: Choice,
    *,
    what: tuple[str, ...],
    confs: tuple[Path, ...],
    name: str | None,
    workers: int,
    skip_missing: bool,
    offline: bool,
    allow_code_execution: bool,
    dry_run: bool,
) -> None:
    """Run SUITE, or run entries: ask the models, score the replies, archive all.

    SUITE is a file suites/SUITE.yaml or a built-in suite; an ENTRY is written as in HELM,
    `mmlu:subject=anatomy,data_augmentation=canonical`, and its models are named with -m.

    What is already in the archive is not asked again; a run that was interrupted goes
    on where it stopped, and of a partial run only the failures are retried.

    Exit code: 0 all runs complete, 6 some requests failed, else an error.
    """
    from msgspec import structs

    from helmsite.cli.progress import Reporter
    from helmsite.executors import LocalExecutor
    from helmsite.run import Runner

    project = place.project()
    suite = _suite(project, what, confs, name)
    archive = place.archive(project)
    with Reporter() as reporter:
        runner = Runner(
            project,
            archive,
            LocalExecutor(workers),
            reporter,
            skip_missing=skip_missing,
            offline=offline or dry_run or None,
            sandbox=sandbox(allow_code_execution=allow_code_execution),
        )
        if dry_run:
            _dry_run(runner, suite, structs.replace(choice, accept_cautions=("all",)))
            return
        make_runs(runner, reporter, suite, choice)
    if reporter.partial:
        raise SystemExit(6)


def make_runs(
    runner: Runner, reporter: Reporter, suite: Suite, choice: Choice | None = None
) -> None:
    """Make a suite's runs and sum up; Ctrl-C ends the process with exit code 130."""
    try:
        manifests = runner.run(suite, choice)
    except KeyboardInterrupt:
        click.echo(
            "\nStopped. Every answer so far is kept: the same command goes on from here.",
            err=True,
        )
        if runner.executor.abandoned:  # a thread may hang in the model: do not wait
            os._exit(130)
        raise SystemExit(130) from None
    _say_left_out(runner.left_out)
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


def _suite(
    project: Project, what: Sequence[str], confs: Sequence[Path], name: str | None
) -> Suite:
    """Return what is to run: a suite by name, or one made of the entries given."""
    from msgspec import structs

    from helmsite.config import of_entries

    if not what and not confs:
        suite = _only(project)
    elif len(what) == 1 and not confs and _is_suite(project, what[0]):
        suite = project.suite(what[0])
    else:
        return of_entries(name or "default", what, confs)
    return structs.replace(suite, name=name) if name else suite


def _is_suite(project: Project, word: str) -> bool:
    """Return whether a word means a suite; a scenario's name means its entry.

    Raises:
        ConfigError: it is neither.
    """
    from helmsite.errors import ConfigError
    from helmsite.scenarios.library import find

    if project.has_suite(word) or any(sign in word for sign in ":,="):
        return project.has_suite(word)
    try:
        find(word, project.scenario_folders)
    except ConfigError as unknown:
        try:
            project.suite(word)
        except ConfigError as error:
            problems = [*error.problems, *unknown.problems]
            raise ConfigError(problems, f"{error.hint} {unknown.hint}") from error
    return False


def _only(project: Project) -> Suite:
    from helmsite.errors import ConfigError

    suites = project.suites
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


def _dry_run(runner: Runner, suite: Suite, choice: Choice) -> None:
    from helmsite.run.estimate import Estimator, Load

    totals: dict[str, Load] = defaultdict(Load)
    seen: dict[str, Estimate] = {}
    estimator = Estimator(runner, suite, choice)
    for each in estimator.estimates():
        seen.setdefault(each.model, each)
        totals[each.model] += each.open
        _say_estimate(each)
    for model, load in totals.items():
        click.echo(one_line(f"{model}: {_amount(load, seen[model])}"))
    _say_left_out(estimator.left_out)
    total = sum(load.requests for load in totals.values())
    click.echo(f"Would send {total} requests. Nothing was sent.")
    if estimator.left_out and not runner.skip_missing:
        raise SystemExit(2)


def _say_estimate(each: Estimate) -> None:
    names = "".join(f" + {name}" for name in each.perturbations)
    begun = f"{each.run_id}  " if each.run_id else ""
    what = f"{begun}{each.model} · {each.scenario} · {each.method}{names}"
    if each.complete:
        click.echo(one_line(f"{what}: complete, nothing to do"))
        return
    click.echo(
        one_line(
            f"{what}: {each.open.requests} of {each.requests} requests to send, "
            f"{_tokens(each.open, each)}"
        )
    )


def _amount(load: Load, about: Estimate) -> str:
    cost = load.cost(about.prices)
    priced = "" if cost is None or about.prices is None else about.prices.currency
    money = f", at most {cost:,.2f} {priced}" if priced else ", no price known"
    return f"{load.requests:,} requests, {_tokens(load, about)}{money}"


def _tokens(load: Load, about: Estimate) -> str:
    from helmsite.run.estimate import CHARACTERS

    rough = "" if about.counted else "about "
    how = "" if about.counted else f" ({CHARACTERS} characters a token)"
    return (
        f"{rough}{load.prompt_tokens:,} prompt tokens{how} and at most "
        f"{load.completion_tokens:,} completion tokens"
    )


def _say_left_out(left_out: Mapping[str, HelmsiteError]) -> None:
    """Say which entries did not run, those of one reason together, and their number."""
    from helmsite.errors import ScenarioError
    from helmsite.run.planner import summed_up

    no_data = {k: e for k, e in left_out.items() if isinstance(e, ScenarioError)}
    refused = {k: e for k, e in left_out.items() if k not in no_data}
    for begun, of in (("No data for ", no_data), ("No consent for ", refused)):
        if of:
            told = summed_up(of.items())
            for problem in told.problems:
                click.echo(visible(f"{begun}{problem}"), err=True)
            if told.hint:
                click.echo(visible(f"  → {told.hint}"), err=True)
    if left_out:
        what = "entry" if len(left_out) == 1 else "entries"
        click.echo(f"{len(left_out)} {what} left out.", err=True)
