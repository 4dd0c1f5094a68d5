"""Options that several commands share."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Callable

    from helmsite.archive import Archive
    from helmsite.config import Project
    from helmsite.metrics import Sandbox
    from helmsite.query import Results

BLANKS = "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0"
FOLDER = click.Path(file_okay=False, path_type=Path)


@dataclass(frozen=True)
class Place:
    """Where a command works: a project folder and, if given, another archive."""

    folder: Path
    archive_url: str | None = None

    def project(self) -> Project:
        """Return the project, read and checked."""
        from helmsite.config import load_project

        return load_project(self.folder)

    def archive(self, project: Project) -> Archive:
        """Return the archive that the command works on; it may not exist yet."""
        from helmsite.archive import Archive

        return Archive(self.archive_url or project.archive)

    def existing(self, project: Project) -> Archive:
        """Return the archive that the command reads.

        Raises:
            ArchiveError: there is none.
        """
        from fsspec.core import url_to_fs

        from helmsite.errors import ArchiveError

        archive = self.archive(project)
        system, path = url_to_fs(archive.root)
        if not system.exists(path):
            raise ArchiveError(
                f"There is no archive at {archive.root}.",
                "`helmsite run` makes one; --archive and --project say where it is.",
            )
        return archive

    def results(self, project: Project) -> Results:
        """Return the archive's aggregates, with their cache in the user's cache folder."""
        return results(self.existing(project), project)


def results(archive: Archive, project: Project) -> Results:
    """Return an archive's aggregates, with their cache in the user's cache folder."""
    from helmsite.query import Results

    return Results(archive, project.site, archive.cache_folder / "aggregates.duckdb")


def place(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command --project and --archive, passed on as one `place`."""

    @click.option(
        "-p",
        "--project",
        "folder",
        type=click.Path(file_okay=False, exists=True, path_type=Path),
        default=Path(),
        help="Folder with helmsite.toml (default: this folder).",
    )
    @click.option(
        "-a",
        "--archive",
        "archive_url",
        metavar="URL",
        help="Archive to use in place of the project's: a folder or s3://, gs://, ...",
    )
    @click.pass_context
    def wrapped(
        ctx: click.Context, /, folder: Path, archive_url: str | None, **rest: Any
    ) -> Any:
        return ctx.invoke(function, place=Place(folder, archive_url), **rest)

    wrapped.__name__ = function.__name__
    wrapped.__doc__ = function.__doc__
    wrapped.__click_params__ = [  # type: ignore[attr-defined]
        *getattr(function, "__click_params__", []),
        *wrapped.__click_params__,  # type: ignore[attr-defined]
    ]
    return wrapped


def size(count: float) -> str:
    """Return a number of bytes as people write it."""
    for unit in ("B", "KB", "MB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} GB"


def visible(text: str) -> str:
    """Return a text that cannot drive a terminal, with a sign for what nobody would see."""
    return "".join(
        c if c in "\n\t" or not _is_hidden(c) else f"[U+{ord(c):04X}]" for c in text
    )


def one_line(text: str) -> str:
    """Return a visible text whose line feeds and tabs have signs too."""
    return visible(text).replace("\n", "[U+000A]").replace("\t", "[U+0009]")


def _is_hidden(character: str) -> bool:
    if character.isascii():
        return not character.isprintable()
    return (
        unicodedata.category(character) in {"Cc", "Cf", "Cs", "Zl", "Zp"}
        or character in BLANKS
        or "\ufe00" <= character <= "\ufe0d"
        or "\U000e0000" <= character <= "\U000e0fff"
    )


allow_code = click.option(
    "--allow-code-execution",
    is_flag=True,
    help="Run the programs that models write, in a sandbox, to score them.",
)


def sandbox(*, allow_code_execution: bool) -> Sandbox | None:
    """Return the sandbox for programs of models, None where they may not be run."""
    from helmsite.metrics import Sandbox

    return Sandbox() if allow_code_execution else None
