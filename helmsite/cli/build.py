"""`helmsite build`: the static site."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from helmsite.cli.options import FOLDER, place, size, visible

if TYPE_CHECKING:
    from helmsite.archive import Archive
    from helmsite.cli.options import Place
    from helmsite.config import Project
    from helmsite.render import BuildReport
    from helmsite.schema import Manifest


@click.command()
@click.option(
    "-o", "--out", type=FOLDER, default=None, help="Folder of the site (default: site)."
)
@click.option("--strict", is_flag=True, help="Fail on any warning.")
@click.option("--base-url", help="Address under which the site will be published.")
@click.option(
    "--workers",
    type=click.IntRange(1),
    help="Processes that render runs (default: one for each core).",
)
@place
def command(
    place: Place,
    out: Path | None,
    strict: bool,
    base_url: str | None,
    workers: int | None,
) -> None:
    """Render every page of the archive into a folder that opens from file:// too.

    Of an earlier site in the folder, what is still true is taken over.
    """
    project = place.project()
    build_site(
        project,
        place.existing(project),
        out or place.folder / "site",
        strict=strict,
        base_url=base_url,
        workers=workers,
    )


def build_site(
    project: Project,
    archive: Archive,
    out: Path,
    *,
    strict: bool = False,
    base_url: str | None = None,
    workers: int | None = None,
) -> None:
    """Build a site and say what was written.

    The environment's credentials are looked for in all that is rendered, those of known
    forms and in all tables only where a leak stops the build.
    """
    from msgspec import structs

    from helmsite import render
    from helmsite.cli import leaks
    from helmsite.cli.options import results
    from helmsite.cli.progress import BuildReporter
    from helmsite.render.build import stop_at_credentials
    from helmsite.render.secrets import Secrets
    from helmsite.render.workers import collect_seldom, cores

    _apart(out, project, archive)
    site = structs.replace(
        project.site,
        base_url=project.site.base_url if base_url is None else base_url,
        overrides=str(Path(project.root) / project.site.overrides)
        if project.site.overrides
        else "",
    )
    offered = _downloads(archive)
    inspector = Secrets(os.environ, project.site.allow_secrets, forms=strict)
    if strict:
        stop_at_credentials(leaks.in_tables(archive, offered, inspector), strict=True)
    with (
        collect_seldom(),
        results(archive, project) as found,
        BuildReporter() as reporter,
    ):
        report = render.build(
            found,
            out,
            site,
            strict=strict,
            downloads=offered,
            means=render.Means(
                workers=workers or cores(),
                progress=reporter.progress,
                told=reporter.told,
                inspector=inspector,
            ),
        )
    for note in report.notes:
        click.echo(visible(note), err=True)
    for warning in report.warnings:
        click.secho(visible(f"Warning: {warning}"), fg="yellow", err=True)
    click.echo(
        f"{out}: {report.pages} pages, {report.instances} instances, "
        f"{size(report.bytes)}; {_work(report)}. "
        f"Open {out / 'index.html'} or type `helmsite serve {out}`."
    )


def _apart(out: Path, project: Project, archive: Archive) -> None:
    """Make sure that the new site replaces nothing that it is made of.

    Raises:
        BuildError: the archive or the project lies in the site's folder, or the site's
            folder in the archive.
    """
    from helmsite.errors import BuildError

    site = out.resolve()
    sources = [Path(project.root).resolve()]
    if archive.is_local:
        sources.append(Path(archive.place))
    for source in sources:
        if source.is_relative_to(site):
            raise BuildError(
                f"{source} lies in {out}, which a build replaces as a whole.",
                "Choose another folder: helmsite build --out DIR.",
            )
    if archive.is_local and site.is_relative_to(sources[-1]):
        raise BuildError(
            f"{out} lies in the archive {archive.root}, which holds runs alone.",
            "Choose another folder: helmsite build --out DIR.",
        )


def _work(report: BuildReport) -> str:
    """Return what a build had to do."""
    if report.current:
        return "up to date, nothing was written"
    if not report.reused:
        return f"{report.rendered} run{'s' * (report.rendered != 1)} rendered"
    return f"{report.rendered} of {report.rendered + report.reused} runs rendered"


def _downloads(archive: Archive) -> dict[str, list[Path]]:
    """Return the tables of each run to offer on the site; those of a bucket stay there.

    No link is followed; that a file is the manifest's to the byte is checked when it is
    copied.
    """
    if not archive.is_local:
        return {}
    return {m.run_id: _tables(archive, m) for m in archive.manifests()}


def _tables(archive: Archive, manifest: Manifest) -> list[Path]:
    from helmsite.errors import ArchiveError

    found = []
    for name in sorted(manifest.files):
        try:
            found.append(Path(archive.file(manifest.run_id, name)))
        except ArchiveError:  # a link, or no table of helmsite: never published
            continue
    return found
