"""`helmsite score`: new scores for old replies."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from helmsite.cli.options import one_line, place

if TYPE_CHECKING:
    from helmsite.cli.options import Place


@click.command()
@click.argument("runs", nargs=-1)
@click.option(
    "-m", "--metric", "extra", multiple=True, help="Add this metric (repeatable)."
)
@place
def command(place: Place, runs: tuple[str, ...], extra: tuple[str, ...]) -> None:
    """Score RUNS (default: all) again, without calling any model."""
    from helmsite import metrics
    from helmsite.run import rescore

    metrics.resolve(extra)
    archive = place.existing(place.project())
    for run_id in runs or [m.run_id for m in archive.manifests()]:
        manifest = rescore(archive, run_id, extra)
        click.echo(
            one_line(
                f"{run_id}  {manifest.card.title} · {manifest.scenario.name}: "
                f"{manifest.counts.scored} scores"
            )
        )
