"""`helmsite aggregate`: the leaderboards in the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from helmsite.cli.options import place, visible

if TYPE_CHECKING:
    from rich.table import Table

    from helmsite.cli.options import Place
    from helmsite.query.rows import Cell, Column, Leaderboard


PIPED_WIDTH = 200  # characters, where no terminal says how wide it is
NAMES = 32  # characters for models and their win rates
NARROWEST = 15  # characters of a column: an interval of a share
FEWEST = 6


@click.command()
@click.option("-g", "--group", "only", help="Only this group of scenarios.")
@click.option(
    "-f", "--family", default="accuracy", show_default=True, help="Family of metrics."
)
@place
def command(place: Place, only: str | None, family: str) -> None:
    """Refresh the aggregates' cache and print the leaderboards."""
    from rich.console import Console

    project = place.project()
    console = Console()
    if not console.is_terminal:
        console.width = PIPED_WIDTH
    with place.results(project) as results:
        groups = results.groups()
        if not groups:
            click.echo("The archive holds no run yet. `helmsite run` makes some.")
        for group in groups:
            if group.inner if only is None else group.name != only:
                continue
            if family not in group.families and only is None:
                click.echo(f"{visible(group.title)}: no {family} values.")
                continue
            board = results.leaderboard(group.name, family)
            most = max(FEWEST, (console.width - NAMES) // NARROWEST)
            console.print(_table(group.title, board, most))
            more = len(board.columns) - most
            if more > 0:
                click.echo(
                    f"{more} more columns have no room here: choose a smaller group with "
                    "--group, or see them all with `helmsite serve`."
                )
        if groups and only not in (None, *(g.name for g in groups)):
            results.leaderboard(str(only), family)


def _table(title: str, board: Leaderboard, most: int) -> Table:
    """Return a board's first columns as a table."""
    from rich.markup import escape
    from rich.table import Table

    table = Table(
        title=escape(visible(f"{title} · {board.family}")), title_justify="left"
    )
    table.add_column("Model", overflow="fold")
    table.add_column("Mean win rate", justify="right", overflow="fold")
    for column in board.columns[:most]:
        table.add_column(escape(_heading(column)), justify="right", overflow="fold")
    for row in board.rows:
        rate = "·" if row.win_rate is None else f"{row.win_rate:.3f}"
        rate += "" if row.coverage == 1 else f"\n{row.coverage:.0%} covered"
        name = ", ".join(filter(None, (row.card.title or row.card.name, row.variant)))
        table.add_row(
            escape(visible(name)),
            rate,
            *map(_cell, row.cells[:most]),
        )
    return table


def _heading(column: Column) -> str:
    arrow = {True: " ↑", False: " ↓", None: ""}[column.metric.higher_is_better]
    title = column.scenario.title or column.scenario.name
    of = f"\nmean of {len(column.members)}" if column.members else ""
    return visible(f"{title}\n{column.metric.title}{arrow}{of}")


def _cell(cell: Cell) -> str:
    if cell.value is None:
        return f"· {cell.missing}"
    text = f"{cell.value:.3g}"
    if cell.ci_low is not None and cell.ci_high is not None:
        text += f"\n{cell.ci_low:.3g}–{cell.ci_high:.3g}"
    if not cell.is_whole:
        text += f"\n{cell.held} of {cell.of}"
    elif cell.n_scored < cell.n_asked:
        text += f"\n{cell.n_scored}/{cell.n_asked}"
    return text
