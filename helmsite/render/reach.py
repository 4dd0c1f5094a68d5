"""Where a cell leads: to what fills it, and to what could have filled it as well."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

from helmsite.render import formats
from helmsite.render.names import link
from helmsite.render.parts import Link
from helmsite.render.text import plain

if TYPE_CHECKING:
    from helmsite.query.rows import Cell
    from helmsite.render.names import SiteMap
    from helmsite.schema import ModelCard

RUNS = "runs-here"
REPORTED = "reported"
"""Where a model's page tells of results that came without instances."""


def source(site: SiteMap, path: str, cell: Cell) -> str:
    """Return how the page at `path` reaches what fills a cell; '' without a page of it.

    A run, or the file of a result that came without instances.
    """
    if cell.source:
        return link(path, site.source(cell.source))
    return link(path, site.run(cell.run_id))


def line_of(site: SiteMap, run_id: str) -> str:
    """Return what names a run's line in its scenario's list; '' without a page of it."""
    return site.run(run_id).removeprefix("runs/").removesuffix("/index.html")


def others(site: SiteMap, path: str, scenario: str, card: ModelCard, cell: Cell) -> str:
    """Return how the page at `path` reaches what could have filled a cell.

    A model's runs on a scenario are on the scenario's page: the address names the line of
    the first that is not shown, and the model to filter by. Other results that came
    without instances are on the model's page.
    """
    if cell.more_sources and not cell.other_runs:
        target = site.model(card.name)
        here = "" if target == path else link(path, target)
        return f"{here}#{REPORTED}" if target else ""
    target = site.scenario(scenario)
    if not target or not cell.other_runs:
        return ""
    words = quote(plain(card.title or card.name), safe="", errors="replace")
    line = line_of(site, cell.other_runs[0])
    here = "" if target == path else link(path, target)
    return f"{here}?{RUNS}.model={words}#{f'run-{line}' if line else RUNS}"


def unseen(cell: Cell) -> str:
    """Return how many others could have filled a cell: '2 other runs'; '' for none."""
    runs, count = len(cell.other_runs), len(cell.other_runs) + cell.more_sources
    if not count:
        return ""
    noun = "other run" if runs == count else "other result"
    return formats.count(count, noun)


def more(cell: Cell, href: str) -> Link | None:
    """Return the link to the others, None without any."""
    told = unseen(cell)
    if not told or not href:
        return None
    count = len(cell.other_runs) + cell.more_sources
    return Link(f"+{count}", href, f"{told} of this model, not shown here: see all")


def origin(cell: Cell) -> str:
    """Return who says a number, where it was not computed here."""
    if cell.origin != "reported":
        return ""
    without = ", without instances" if cell.source else ""
    return f"as reported by its source{without}"
