"""`helmsite new`: a project folder to start from."""

from __future__ import annotations

import shutil
from pathlib import Path

import click

from helmsite.errors import ConfigError

STARTER = Path(__file__).parents[1] / "starter"
RENAMED = {"gitignore": ".gitignore"}


@click.command()
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
def command(folder: Path) -> None:
    """Make FOLDER a project: settings, a suite, and a scenario from a CSV file."""
    files = new_project(folder)
    click.echo(f"{folder}: {', '.join(files)}")
    click.echo(f"Next: cd {folder}, then helmsite run, helmsite build, helmsite serve.")


def new_project(folder: Path) -> list[str]:
    """Write the starter project; return the files' names.

    Raises:
        ConfigError: one of the files is there already (nothing is written then).
    """
    sources = {
        str(Path(relative).with_name(RENAMED.get(path.name, path.name))): path
        for path in sorted(STARTER.rglob("*"))
        if path.is_file()
        for relative in [path.relative_to(STARTER)]
    }
    there = [name for name in sources if (folder / name).exists()]
    if there:
        raise ConfigError(
            [f"{folder / name} exists already." for name in there],
            "Choose an empty folder: helmsite new DIR. Nothing was written.",
        )
    try:
        for name, source in sources.items():
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
    except OSError as error:
        raise ConfigError(
            [f"Cannot write {error.filename}: {error.strerror}."],
            "Choose a folder that you may write to: helmsite new DIR.",
        ) from error
    return list(sources)
