"""`helmsite score`: new scores for old replies."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from helmsite.cli.options import allow_code, one_line, place, sandbox
from helmsite.errors import MetricError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from helmsite.archive import Archive
    from helmsite.cli.options import Place
    from helmsite.schema import Manifest


@click.command()
@click.argument("runs", nargs=-1)
@click.option(
    "-m",
    "--metric",
    "extra",
    multiple=True,
    help="Add this metric (repeatable); `toxicity` asks a detector.",
)
@click.option(
    "--detector",
    help="Who judges toxicity: alt-profanity-check, detoxify, perspective or an installed one.",
)
@click.option(
    "--ratings",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Import people's ratings from this CSV file.",
)
@allow_code
@place
def command(
    place: Place,
    runs: tuple[str, ...],
    extra: tuple[str, ...],
    detector: str | None,
    ratings: Path | None,
    *,
    allow_code_execution: bool,
) -> None:
    """Score RUNS (default: all) again, without calling any model."""
    from helmsite import run
    from helmsite.run.outside import toxic_names

    toxic, rest = toxic_names(extra)
    if toxic and not detector:
        raise MetricError(
            "Toxicity needs a detector, and there is no neutral one.",
            "Type: helmsite score --metric toxicity --detector alt-profanity-check (offline), detoxify or perspective.",
        )
    archive = place.existing(place.project())
    if ratings:
        _show(run.rate(archive, ratings))
        return
    chosen = runs or tuple(m.run_id for m in archive.manifests())
    if not detector or rest:
        runner = sandbox(allow_code_execution=allow_code_execution)
        _show(run.rescore(archive, run_id, rest, runner) for run_id in chosen)
    if detector:
        _detect(archive, chosen, detector, all_runs=not runs)


def _detect(
    archive: Archive, chosen: Iterable[str], name: str, *, all_runs: bool
) -> None:
    """Judge runs; of all runs, those without generated text are passed over."""
    from helmsite import detectors, run
    from helmsite.run.outside import has_texts

    detector = detectors.create(name)
    for run_id in chosen:
        if all_runs and not has_texts(archive, run_id):
            click.echo(f"{run_id}  nothing was generated: passed over", err=True)
            continue
        _show([run.detect(archive, run_id, detector)])


def _show(manifests: Iterable[Manifest]) -> None:
    for manifest in manifests:
        click.echo(
            one_line(
                f"{manifest.run_id}  {manifest.card.title} · {manifest.scenario.name}: "
                f"{manifest.counts.scored} scores"
            )
        )
