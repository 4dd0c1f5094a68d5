"""`helmsite show`: one instance in the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from helmsite.cli.options import one_line, place, visible

if TYPE_CHECKING:
    from collections.abc import Iterable

    from helmsite.cli.options import Place
    from helmsite.query.rows import InstanceView, RequestView, TrialView
    from helmsite.schema import Score


@click.command()
@click.argument("run_id")
@click.argument("instance_id")
@click.option("-t", "--trial", type=int, help="Only this trial.")
@place
def command(place: Place, run_id: str, instance_id: str, trial: int | None) -> None:
    """Print the prompt, the completions and the verdicts of INSTANCE_ID in RUN_ID."""
    project = place.project()
    with place.results(project) as results:
        views = results.instance(run_id, instance_id)
    for view in views:
        _instance(view)
        for of_trial in view.trials:
            if trial in (None, of_trial.trial):
                _trial(of_trial)


def _instance(view: InstanceView) -> None:
    instance = view.instance
    marks = [instance.split, instance.sub_split, instance.perturbation]
    _head(f"{instance.instance_id}  {' · '.join(m for m in marks if m)}")
    for reference in instance.references:
        click.echo(
            f"  {'✓' if reference.is_correct else ' '} {visible(reference.text)}"
        )


def _trial(trial: TrialView) -> None:
    for request in trial.requests:
        _request(trial.trial, request)
    _scores(trial.scores)


def _request(trial: int, view: RequestView) -> None:
    request = view.request
    option = (
        f", reference {request.reference_index}" if request.reference_index >= 0 else ""
    )
    _head(f"trial {trial}{option}, {request.mode}")
    for message in request.messages:
        click.secho(f"{one_line(message.role)}: ", bold=True, nl=False)
        click.echo(visible(message.content))
    start = request.score_start
    given = "" if start is None else request.prompt[start:]
    click.echo(
        visible(request.prompt if start is None else request.prompt[:start]), nl=False
    )
    if given:
        click.secho(visible(given), fg="cyan", nl=False)
    for reply in view.replies:
        completion = reply.completion
        if completion.error:
            click.secho(f"\nFAILED: {visible(completion.error)}", fg="red")
            continue
        if not given:
            click.secho(visible(completion.text), fg="green", nl=False)
        if completion.logprob is not None:
            click.echo(f"\n  log-probability {completion.logprob:.4f}", nl=False)
        click.echo(
            f"  ({one_line(completion.finish_reason)})"
            if completion.finish_reason
            else ""
        )
        _scores(reply.scores)


def _scores(scores: Iterable[Score]) -> None:
    for score in scores:
        value = score.missing if score.value is None else f"{score.value:.4g}"
        click.echo(f"  {one_line(score.metric)}: {value}")


def _head(text: str) -> None:
    click.secho(f"── {visible(text)} ", bold=True)
