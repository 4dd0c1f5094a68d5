"""`helmsite export`: runs in the formats of others."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from helmsite.cli.options import one_line, place

if TYPE_CHECKING:
    from helmsite.cli.options import Place
    from helmsite.exporters.every_eval_ever import Exported

RELATIONSHIPS = ("first_party", "third_party", "collaborative", "other")


@click.group()
def command() -> None:
    """Write runs of the archive in the format of another tool."""


@command.command("eee")
@click.argument("runs", nargs=-1)
@click.option(
    "-o",
    "--out",
    required=True,
    metavar="FOLDER",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder that gets the folder `data`.",
)
@click.option("--suite", help="Only runs of this suite.")
@click.option(
    "-m",
    "--metric",
    "metrics",
    multiple=True,
    help="Only this metric (repeatable); default: all.",
)
@click.option(
    "--organization",
    metavar="NAME",
    help="Who publishes the results; default: the site's title.",
)
@click.option(
    "--relationship",
    type=click.Choice(RELATIONSHIPS),
    default="third_party",
    show_default=True,
    help="How the evaluator stands to the model's makers.",
)
@place
def eee(  # noqa: PLR0913 - one for each option
    place: Place,
    *,
    runs: tuple[str, ...],
    out: Path,
    suite: str | None,
    metrics: tuple[str, ...],
    organization: str | None,
    relationship: str,
) -> None:
    """Export RUNS (default: all) to Every Eval Ever 0.3.0: aggregates and samples.

    Of scenarios that publish aggregates only no sample is written. A run in which a
    credential is found is held back. The format has no place for log-probabilities.

    Exit code: 0 all is exported, 6 a run is held back.
    """
    from helmsite.exporters.every_eval_ever import Publisher, export
    from helmsite.render.secrets import Secrets

    project = place.project()
    archive = place.existing(project)
    publisher = Publisher(organization or project.site.title, relationship)  # type: ignore[arg-type]
    secrets = Secrets(os.environ, project.site.allow_secrets)
    known = [m for m in archive.manifests() if suite in {None, m.suite}]
    chosen = runs or tuple(m.run_id for m in known)
    done = []
    for run_id in chosen:
        each = export(
            archive, run_id, out, publisher, metrics=metrics, find=secrets.find
        )
        done.append(each)
        _say(each)
    fates = [each.fate for each in done]
    told = [f"{fates.count(f)} {f}" for f in dict.fromkeys(fates)]
    click.echo(
        f"{len(done)} run{'' if len(done) == 1 else 's'} exported to {out}"
        + (f": {', '.join(told)}." if told else ".")
    )
    if "held back" in fates:
        raise SystemExit(6)


def _say(each: Exported) -> None:
    what = f"{each.run_id}  {each.model} · {each.scenario}: "
    if each.fate == "held back":
        click.secho(one_line(f"{what}held back, {each.why}"), fg="red", err=True)
        return
    what += f"{each.results} results, {each.lines} lines"
    if each.why:
        what += f" ({each.why})"
    click.echo(one_line(f"{what}  {each.aggregate}"))
    for kind, count in each.hidden.items():
        click.echo(f"  replaced: {kind} ({count} times)")
