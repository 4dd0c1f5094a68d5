"""What every table of a run's numbers needs: its metrics, its cells, its addresses."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlencode

from helmsite.query.rows import Cell
from helmsite.render import board as boards
from helmsite.render import formats
from helmsite.render.parts import CellView
from helmsite.render.text import plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from helmsite.schema import Manifest, MetricFacts, Stat

SUB_SPLIT = "sub_split"


class Numbers(NamedTuple):
    """What every table of a run needs.

    `split` is the main one, `several` says that there are others, `twins` that instances
    have perturbed versions, `linked` that the run's instances are published. `confirmed`
    are metrics and scorers whose source reports just what is computed here.
    """

    manifest: Manifest
    metrics: dict[str, MetricFacts]
    split: str
    several: bool
    twins: bool
    linked: bool
    confirmed: frozenset[tuple[str, str]] = frozenset()

    def instances(self, **state: str) -> str:
        """Return the address of the run's instances in a state of its finder.

        Unless something else is asked for, they are those of the main split as they were.
        """
        if not self.linked:
            return ""
        if self.several:
            state = {"split": self.split, **state}
        if self.twins:
            state = {"pert": "original", **state}
        return f"?{urlencode(state, errors='surrogatepass')}#instances"

    def title(self, metric: str, scorer: str = "") -> str:
        """Return what a metric is called."""
        facts = self.metrics.get(metric)
        name = plain(facts.title if facts else metric)
        return f"{name} ({plain(scorer)})" if scorer not in {"", metric} else name


def dimension_of(sub_split: str) -> tuple[str, str]:
    """Return dimension and value of an attribute; sub-splits are a dimension too."""
    dimension, mark, value = sub_split.partition("=")
    return (dimension, value) if mark else (SUB_SPLIT, sub_split)


def spread(
    values: Sequence[tuple[float | None, str]], facts: MetricFacts | None
) -> str:
    """Return from where to where named values go; '' for less than two."""
    known = sorted((value, name) for value, name in values if value is not None)
    if len(known) < 2:
        return ""
    form = facts.format if facts else "number"
    (low, lowest), (high, highest) = known[0], known[-1]
    if low == high:
        return f"{formats.value(low, form)} in each"
    ends = formats.value(low, form), formats.value(high, form)
    return f"from {ends[0]} ({lowest}) to {ends[1]} ({highest})"


def cell(stat: Stat | None, about: Numbers) -> CellView:
    """Return a table's cell with its interval, and how much it rests on in its title."""
    if stat is None:
        return CellView("·", title="not run: no such value in this run")
    facts = about.metrics.get(stat.metric)
    form = facts.format if facts else "number"
    if stat.value is None:
        return CellView("·", title=stat.missing or "not measurable")
    shown = Cell(
        value=stat.value,
        ci_low=stat.ci_low,
        ci_high=stat.ci_high,
        n_scored=stat.n_scored,
        n_asked=stat.n_asked,
        missing="",
    )
    words = [formats.interval(shown, form)]
    if stat.n_asked:
        words.append(f"{stat.n_scored:,} of {stat.n_asked:,} observations scored")
    if stat.origin == "reported":
        words.append("as reported by the source")
    partial = stat.n_scored < stat.n_asked
    return CellView(
        text=formats.value(stat.value, form),
        sort=repr(round(stat.value, 9)),
        title="; ".join(w for w in words if w),
        bar=boards.bar(shown, (0.0, 1.0)) if form == "share" else None,
        part=f"{stat.n_scored:,}/{stat.n_asked:,}" if partial else "",
    )
