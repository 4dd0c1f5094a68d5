"""`helmsite build`: the static site."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from helmsite.cli.options import FOLDER, place, size, visible

if TYPE_CHECKING:
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
        place.existing(project),
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
    from rich.console import Console

    from helmsite import render
    from helmsite.cli.options import results

    site = structs.replace(
        project.site,
        base_url=project.site.base_url if base_url is None else base_url,
        overrides=str(Path(project.root) / project.site.overrides)
        if project.site.overrides
        else "",
    )
    console = Console(stderr=True)
    with results(archive, project) as found, console.status("Building") as status:
        report = render.build(
            found,
            out,
            site,
            strict=strict,
            downloads=_downloads(archive),
            progress=lambda what, done, of: status.update(f"{what} {done}/{of}"),
        )
    for warning in report.warnings:
        click.secho(visible(f"Warning: {warning}"), fg="yellow", err=True)
    click.echo(
        f"{out}: {report.pages} pages, {report.instances} instances, {size(report.bytes)}. "
        f"Open {out / 'index.html'} or type `helmsite serve {out}`."
    )


def _downloads(archive: Archive) -> dict[str, list[Path]]:
    """Return the tables of each run to offer on the site; those of a bucket stay there.

    Only files that are the manifest's to the byte: no link or other file is published.
    """
    return {
        m.run_id: [p for p in archive.verified(m.run_id) if p.suffix == ".parquet"]
        for m in archive.manifests()
    }
