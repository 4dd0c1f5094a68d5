"""A run's numbers under perturbations: original, perturbed, their difference, worst case."""

from __future__ import annotations

from typing import TYPE_CHECKING

from helmsite.render import board as boards
from helmsite.render import formats
from helmsite.render.parts import CellView, ColumnView, RowView, Stats
from helmsite.render.runcells import cell
from helmsite.render.text import plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from helmsite.render.runcells import Numbers
    from helmsite.schema import MetricFacts, Stat

KINDS = (("original", "Original"), ("perturbed", "Perturbed"), ("worst", "Worst case"))
KINDS_MEAN = (
    "Original and perturbed: the instances that it changed, before and after. Worst case: "
    "of each instance the worse of both; of a family, the worst of all its versions."
)
SOME = 3
"""The tables of so many other metrics are in sight as lines to unfold, of more as one."""


def by_perturbation(stats: Sequence[Stat], about: Numbers) -> Iterator[Stats]:
    """Yield for each metric its perturbations: original, perturbed, difference, worst."""
    found: dict[tuple[str, str], dict[str, dict[str, Stat]]] = {}
    for stat in stats:
        if stat.perturbation and not stat.sub_split and stat.trial == -1:
            if stat.missing == "not asked":
                continue
            rows = found.setdefault((stat.metric, stat.scorer), {})
            rows.setdefault(stat.perturbation, {}).setdefault(stat.computed_on, stat)
    titles = {p.name: p.title for p in about.manifest.perturbations}
    others = len(found) - 1
    within = f"Under perturbations: {others} other metrics" if others > SOME else ""
    for number, ((metric, scorer), rows) in enumerate(found.items()):
        facts = about.metrics.get(metric)
        mark, words = boards.arrow(facts)
        columns = [
            ColumnView(key, title, arrow=mark, direction=words) for key, title in KINDS
        ]
        columns.insert(
            2, ColumnView("difference", "Difference", "perturbed − original")
        )
        views = []
        for name, by_kind in sorted(rows.items(), key=lambda item: item[0]):
            cells = [_kind_cell(by_kind, key, about) for key, _ in KINDS]
            cells.insert(2, difference(by_kind, facts))
            real = bool(set(by_kind) - {"worst"})
            href = about.instances(pert=name) if real else ""
            title = plain(titles.get(name) or name)
            note = plain(name) if title != plain(name) else ""
            views.append(RowView(title, href, note, tuple(cells)))
        yield Stats(
            f"Under perturbations: {about.title(metric, scorer)}",
            "Perturbation",
            tuple(columns),
            tuple(views),
            folded=number > 0,
            within=within if number > 0 else "",
            more=KINDS_MEAN if number == 0 else "",
        )


def _kind_cell(found: dict[str, Stat], kind: str, about: Numbers) -> CellView:
    if kind in found:
        return cell(found[kind], about)
    return CellView("·", title="a family of perturbations has its worst case alone")


def difference(found: dict[str, Stat], facts: MetricFacts | None) -> CellView:
    """Return what a perturbation changed."""
    values = [found[k].value if k in found else None for k in ("perturbed", "original")]
    after, before = values
    if after is None or before is None:
        return CellView("·", title="both numbers are needed for a difference")
    form = facts.format if facts else "number"
    change = after - before
    sign = "+" if change > 0 else ""
    return CellView(
        f"{sign}{formats.value(change, form)}",
        sort=repr(round(change, 9)),
        title=f"{formats.value(after, form)} less {formats.value(before, form)}",
    )
