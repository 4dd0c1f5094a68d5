"""`helmsite build`: the static site."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from helmsite.cli.options import FOLDER, place, size

if TYPE_CHECKING:
    from pathlib import Path

    from helmsite.archive import Archive
    from helmsite.cli.options import Place
    from helmsite.config import Project


@click.command()
@click.option(
    "-o", "--out", type=FOLDER, default=None, help="Folder of the site (default: site)."
)
@click.option("--strict", is_flag=True, help="Fail on any warning.")
@click.option("--base-url", help="Address under which the site will be published.")
@place
def command(place: Place, out: Path | None, strict: bool, base_url: str | None) -> None:
    """Render every page of the archive into a folder that opens from file:// too."""
    project = place.project()
    build_site(
        project,
        place.archive(project),
        out or place.folder / "site",
        strict=strict,
        base_url=base_url,
    )


def build_site(
    project: Project,
    archive: Archive,
    out: Path,
    *,
    strict: bool = False,
    base_url: str | None = None,
) -> None:
    """Build a site and say what was written."""
    from msgspec import structs

    from helmsite import render
    from helmsite.cli.options import results

    site = project.site
    if base_url is not None:
        site = structs.replace(site, base_url=base_url)
    with results(archive, project) as found:
        report = render.build(found, out, site, strict=strict)
    for warning in report.warnings:
        click.secho(f"Warning: {warning}", fg="yellow", err=True)
    click.echo(
        f"{out}: {report.pages} pages, {report.instances} instances, {size(report.bytes)}. "
        f"Open {out / 'index.html'} or type `helmsite serve {out}`."
    )
