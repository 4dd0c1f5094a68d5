"""The command line: one file per command, each a thin skin over one library call."""

from __future__ import annotations

import logging
import sys
from importlib import import_module
from typing import Any

import click

from helmsite import __version__
from helmsite.errors import HelmsiteError, suggest

COMMANDS = {
    "demo": "Run real models on six scenarios and build a site from the results.",
    "run": "Run a suite: ask the models, score the replies, archive everything.",
    "import": "Put results of other tools into the archive.",
    "fetch": "Download the data of scenarios ahead of a run.",
    "score": "Score archived runs again, without their models.",
    "aggregate": "Refresh the aggregates and print the leaderboards.",
    "build": "Build the static site from an archive.",
    "serve": "Show a site on this machine, and follow what changes.",
    "export": "Write runs in the format of another tool: Every Eval Ever.",
    "publish": "Upload a built site to a bucket or folder: only what changed.",
    "check": "Verify an archive and say what to do about each problem.",
    "ls": "List scenarios, models, metrics, suites or runs.",
    "show": "Print one instance of a run: prompt, completions and verdicts.",
    "new": "Make a project folder with a suite and a scenario of your own.",
}


class Harmless(logging.Formatter):
    """Formats a record so that no text of a model or a file drives the terminal."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the finished message, made visible."""
        from helmsite.cli.options import visible

        return visible(super().format(record))


class Commands(click.Group):
    """Loads a command's module only when that command is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the commands in the order in which a project meets them."""
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command, None if there is none of that name."""
        del ctx
        if cmd_name not in COMMANDS:
            return None
        module = "import_" if cmd_name == "import" else cmd_name
        command: click.Command = import_module(f"helmsite.cli.{module}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command for the arguments; suggest one for a misspelt name."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            near = suggest(args[0], COMMANDS)
            ctx.fail(f"There is no command {args[0]!r}.{near}")
        return super().resolve_command(ctx, args)

    def format_commands(
        self, ctx: click.Context, formatter: click.HelpFormatter
    ) -> None:
        """Write the list of commands without importing them."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; a user's problem is printed, not raised."""
        try:
            return super().invoke(ctx)
        except HelmsiteError as error:
            from helmsite.cli.options import visible

            click.secho(f"Error: {visible(error.message)}", err=True, fg="red")
            if error.hint:
                click.echo(f"  → {visible(error.hint)}", err=True)
            ctx.exit(error.exit_code)
        except KeyboardInterrupt:
            click.echo("\nStopped.", err=True)
            ctx.exit(130)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="helmsite")
@click.option("-v", "--verbose", is_flag=True, help="Tell what happens inside.")
def main(verbose: bool) -> None:
    """Evaluate language models, keep every raw output, publish what anyone can browse."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Harmless("%(message)s"))
    logging.basicConfig(
        level=logging.INFO if verbose else logging.WARNING, handlers=[handler]
    )
