"""`helmsite new`: a project folder to start from, with the workflow that publishes it."""

from __future__ import annotations

import re
from pathlib import Path

import click

from helmsite import __version__
from helmsite.errors import ConfigError

STARTER = Path(__file__).parents[1] / "starter"
HIDDEN = {"gitignore", "gitattributes", "github"}
ONLY = "#? "
SCHEMES = {
    "s3": "s3", "s3a": "s3", "gs": "gs", "gcs": "gs", "abfs": "az", "abfss": "az", "az": "az",
}  # fmt: skip


@click.command()
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@click.option(
    "--runs",
    default="committed",
    show_default=True,
    metavar="PLACE",
    help="Where the runs are when the site is published: committed (in git), artifact "
    "(of a GitHub workflow), or an address such as s3://bucket/runs.",
)
def command(folder: Path, runs: str) -> None:
    """Make FOLDER a project: settings, a suite, a scenario, and a workflow that publishes.

    The workflow (.github/workflows/site.yml) checks the archive, builds the site and
    publishes it to GitHub Pages; docs/publishing.md says more.
    """
    files = new_project(folder, runs)
    click.echo(f"{folder}: {', '.join(files)}")
    click.echo(f"Next: cd {folder}, then helmsite run, helmsite build, helmsite serve.")


def new_project(folder: Path, runs: str = "committed") -> list[str]:
    """Write the starter project; return the files' names.

    Args:
        folder: where to; it may exist.
        runs: "committed", "artifact", or the address of the archive.

    Raises:
        ConfigError: one of the files is there already (nothing is written then), or
            `runs` is no place for runs.
    """
    runs = runs.rstrip("/")
    kinds = _kinds(runs)
    sources: dict[str, str] = {}
    for path in sorted(STARTER.rglob("*")):
        text = (
            adapted(path.read_text(encoding="utf-8"), kinds) if path.is_file() else ""
        )
        if text:
            text = text.replace("@VERSION@", __version__).replace("@ARCHIVE@", runs)
            sources[_name(path.relative_to(STARTER))] = text
    there = [name for name in sources if (folder / name).exists()]
    if there:
        raise ConfigError(
            [f"{folder / name} exists already." for name in there],
            "Choose an empty folder: helmsite new DIR. Nothing was written.",
        )
    try:
        for name, text in sources.items():
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(text.encode())
    except OSError as error:
        raise ConfigError(
            [f"Cannot write {error.filename}: {error.strerror}."],
            "Choose a folder that you may write to: helmsite new DIR.",
        ) from error
    return list(sources)


def adapted(text: str, kinds: frozenset[str]) -> str:
    """Return a starter file for some kinds of project; '' where it has none.

    A line that ends in `#? a b` belongs to projects of the kinds a and b alone; where
    that is the first line and nothing else is on it, the whole file does.
    """
    lines = text.splitlines(keepends=True)
    if lines and lines[0].startswith(ONLY):
        if kinds.isdisjoint(lines[0].removeprefix(ONLY).split()):
            return ""
        lines = lines[1:]
    kept = []
    for line in lines:
        body, only, names = line.partition(ONLY)
        if not only:
            kept.append(line)
        elif not kinds.isdisjoint(names.split()):
            kept.append(f"{body.rstrip()}\n")
    return "".join(kept)


def _name(relative: Path) -> str:
    first, *rest = relative.parts
    return "/".join((f".{first}" if first in HIDDEN else first, *rest))


def _kinds(runs: str) -> frozenset[str]:
    """Return what kinds of project a place for runs makes.

    Raises:
        ConfigError: it is no place for runs.
    """
    if runs in {"committed", "artifact"}:
        return frozenset({runs, "local"})
    scheme = runs.partition("://")[0]
    known = scheme in SCHEMES and runs.isprintable()
    if known and re.fullmatch(r"[a-z0-9]+://[^\s\"'\\@?#]+", runs):
        return frozenset({"url", SCHEMES[scheme]})
    raise ConfigError(
        [f"{runs!r} is no place for runs."],
        "Write committed, artifact, or an address that begins with s3://, gs:// or "
        "abfs:// (without credentials: those come from the environment).",
    )
