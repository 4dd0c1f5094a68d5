"""`helmsite publish`: put a built site into a bucket or another folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from helmsite.cli.options import FOLDER, size, visible
from helmsite.errors import BuildError

if TYPE_CHECKING:
    from helmsite.cli.destination import Destination
    from helmsite.cli.publishing import Plan


@click.command()
@click.argument("destination", metavar="DEST")
@click.option(
    "-s",
    "--site",
    type=FOLDER,
    default=Path("site"),
    show_default=True,
    help="Folder that `helmsite build` has made.",
)
@click.option(
    "-n", "--dry-run", is_flag=True, help="Say what would change; change nothing."
)
@click.option(
    "--overwrite",
    is_flag=True,
    help="Replace files at DEST that no publish has put there.",
)
def command(destination: str, site: Path, dry_run: bool, overwrite: bool) -> None:
    """Upload a built site to DEST: s3://bucket/path, gs://, any fsspec URL, or a folder.

    Only what changed is uploaded, the first page last. What earlier publishes put there
    and is no longer part of the site is deleted; other files are left alone. Credentials
    come from the environment or fsspec's configuration.
    """
    from rich.console import Console

    from helmsite.cli import publishing
    from helmsite.cli.destination import Destination

    files = publishing.built(site)
    place = Destination(destination)
    _apart(site, place)
    todo = publishing.plan(files, place.listing(), place, site)
    if todo.foreign and not overwrite:
        raise BuildError(
            f"{len(todo.foreign)} files of the site are at {place.url} already and no "
            f"publish has put them there: {', '.join(todo.foreign[:3])} ...",
            "Choose another place, or replace them: --overwrite.",
        )
    if dry_run:
        for path in todo.upload:
            click.echo(visible(f"upload {path}"))
        for path in todo.delete:
            click.echo(visible(f"delete {path}"))
    else:
        console = Console(stderr=True)
        with console.status("Publishing") as status:
            publishing.publish(
                site,
                place,
                files,
                todo,
                lambda what, done, of: status.update(f"{what} {done}/{of}"),
            )
    sent = sum(files[path].size for path in todo.upload)
    click.echo(visible(_summary(todo, place, sent, dry_run=dry_run)))


def _summary(todo: Plan, place: Destination, sent: int, *, dry_run: bool) -> str:
    would = "would be " if dry_run else ""
    return (
        f"{place.url}: {len(todo.upload)} files {would}uploaded ({size(sent)}), "
        f"{len(todo.same)} unchanged, {len(todo.delete)} {would}deleted."
    )


def _apart(site: Path, place: Destination) -> None:
    """Make sure that a site is not published into itself, or over what it is made of.

    Raises:
        BuildError: one of the two folders is in the other.
    """
    if place.local is None:
        return
    source, target = site.resolve(), place.local.resolve()
    if source.is_relative_to(target) or target.is_relative_to(source):
        raise BuildError(
            f"{place.url} and {site} are one in the other.",
            "Choose a folder elsewhere.",
        )
