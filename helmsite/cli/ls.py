"""`helmsite ls`: what there is."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import click

from helmsite.cli.options import place, visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from helmsite.cli.options import Place

BUILTIN = "built in"
KINDS = ("scenarios", "models", "metrics", "suites", "runs")


@click.command()
@click.argument("kind", type=click.Choice(KINDS))
@place
def command(place: Place, kind: str) -> None:
    """List what is known of one KIND, the project's own and the built-in."""
    listing = {
        "scenarios": _scenarios,
        "models": _models,
        "metrics": _metrics,
        "suites": _suites,
        "runs": _runs,
    }[kind](place)
    _print(listing)
    for problem in listing.problems:
        click.secho(visible(problem), fg="red", err=True)
    if listing.problems:
        raise SystemExit(2)


class Listing(NamedTuple):
    """A table for the terminal, and what could not be listed."""

    heads: tuple[str, ...]
    rows: Sequence[Sequence[str]]
    problems: list[str]


def _scenarios(place: Place) -> Listing:
    from helmsite import scenarios

    found = scenarios.listing(place.project().scenario_folders)
    rows = [
        (
            entry.name,
            entry.title,
            ", ".join(entry.parameters),
            entry.caution,
            BUILTIN if entry.builtin else entry.place,
        )
        for entry in found.entries
    ]
    heads = ("name", "title", "parameters", "caution", "file")
    return Listing(heads, rows, list(found.problems))


def _models(place: Place) -> Listing:
    from helmsite.config import known_cards

    models = place.project().models
    rows = [(m.name, m.card.title, m.client, m.card.creator) for m in models.values()]
    rows += [
        (name, card.title, "(facts only)", card.creator)
        for name, card in sorted(known_cards().items())
        if card.name == name and name not in models
    ]
    return Listing(("name", "title", "client", "creator"), rows, [])


def _metrics(place: Place) -> Listing:
    from helmsite import metrics

    del place
    rows = [(m.name, m.family, m.description) for m in metrics.known()]
    return Listing(("name", "family", "what it says"), rows, [])


def _suites(place: Place) -> Listing:
    project = place.project()
    suites = [project.suite(name) for name in project.suite_names]
    rows = [
        (
            s.name,
            f"{len(s.models)} models" if s.models else "any models",
            f"{len(s.scenarios)} scenarios",
            s.description,
        )
        for s in suites
    ]
    return Listing(("name", "", "", "description"), rows, [])


def _runs(place: Place) -> Listing:
    manifests = place.archive(place.project()).manifests()
    rows = [
        (
            m.run_id,
            m.suite,
            m.scenario.name,
            m.card.name,
            m.spec.adapter.method,
            m.status,
            f"{m.counts.answered}/{m.counts.asked}",
        )
        for m in manifests
    ]
    heads = ("run", "suite", "scenario", "model", "method", "status", "answered")
    return Listing(heads, rows, [])


def _print(listing: Listing) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    if not console.is_terminal:
        for row in listing.rows:
            click.echo("\t".join(map(_flat, row)))
        return
    table = Table(*listing.heads, box=None, pad_edge=False)
    for row in listing.rows:
        table.add_row(*(Text(_flat(cell)) for cell in row))
    console.print(table)
    console.print(f"{len(listing.rows)} found.", highlight=False)


def _flat(cell: str) -> str:
    """Return a cell on one line: a line feed or tab in it would make another cell."""
    return visible(" ".join(cell.split()))
