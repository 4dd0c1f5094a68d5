"""`helmsite check`: is the archive whole?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from helmsite.cli.options import place, visible

if TYPE_CHECKING:
    from helmsite.cli.options import Place


@click.command()
@click.option(
    "--quick", is_flag=True, help="Manifests and file sizes only; read no rows."
)
@click.option(
    "--reindex", is_flag=True, help="Bring the catalogue in line with the folders."
)
@place
def command(place: Place, quick: bool, reindex: bool) -> None:
    """Verify checksums, counts, schemas, keys and orphans of every run.

    Exit code: 0 nothing found, 3 there are problems.
    """
    archive = place.existing(place.project())
    if reindex:
        archive.reindex()
    problems = archive.check(deep=not quick)
    for problem in problems:
        text = f"{problem.severity}: {problem.where}: {problem.what}"
        click.secho(visible(text), fg="red")
        click.echo(f"  → {visible(problem.next_step)}")
    runs = len(archive.manifests())
    click.echo(
        f"{_count(runs, 'run')} checked, {_count(len(problems), 'problem')} found."
    )
    if problems:
        raise SystemExit(3)


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
