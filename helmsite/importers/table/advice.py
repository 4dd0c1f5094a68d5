"""What to type for a table whose columns do not explain themselves."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from helmsite.errors import SourceError
from helmsite.importers.table.cells import Cells
from helmsite.importers.table.mapping import EVERY
from helmsite.importers.table.metrics import is_metric
from helmsite.importers.table.plan import ANSWERS, at, fields, inside, nameless, word
from helmsite.importers.values import Place

if TYPE_CHECKING:
    from collections.abc import Iterable

    from helmsite.importers.table.files import Table

TOLD = (
    "model",
    "scenario",
    "metric",
    "value",
    "id",
    "input",
    "completion",
    "reference",
)
MOST = 12
"""Columns of scenarios that are named one by one."""

MEANS = {"average", "avg", "mean"}
_NO_TASK = re.compile(
    r"(?:rank|no|nr|position|year|date|votes|n|size|price|cost)(?:_\w+)?|(?:\w+_)?params?(?:_\w+)?"
)


def skeleton(table: Table) -> str:
    """Return the options of `helmsite import` for a table, with its columns."""
    everything = dict.fromkeys(table.columns)
    known = [c for c in everything if not inside(c, everything) and not nameless(c)]
    found = {f: c for f, c in fields(known).items() if f in TOLD}
    rest = [c for c in known if c not in found.values()]
    shown = [f"--column {field}={_quoted(column)}" for field, column in found.items()]
    scores = [c for c in rest if is_metric(word(c)) and word(c) not in MEANS]
    if any(field in found for field in ANSWERS):
        if "model" not in found:
            shown.append("--constant model=NAME")
        if "scenario" not in found:
            shown.append("--constant scenario='{stem}'")
        return " ".join([*shown, *_each("scores", scores[:3])])
    tasks = [] if scores or "value" in found else _tasks(rest, table)
    if "model" not in found:
        shown.append("--column model=COLUMN")
    if "scenario" not in found and len(tasks) > 1:
        named: list[str] = tasks if len(tasks) <= MOST else [EVERY]
        shown += [*_each("scenarios", named), "--constant metric=accuracy"]
        return " ".join(shown)
    if "scenario" not in found:
        shown.append("--column scenario=COLUMN")
    if "value" not in found:
        own = scores or [c for c in rest if is_metric(word(c))] or [EVERY]
        shown += _each("scores", own[:3])
    return " ".join(shown)


def _tasks(rest: Iterable[str], table: Table) -> list[str]:
    """Return the columns of numbers that seem to be of a scenario each."""
    cells = Cells(table.decimal)
    return [
        column
        for column in rest
        if word(column) not in MEANS
        and not _NO_TASK.fullmatch(word(column))
        and not word(column).startswith(("average_", "avg_"))
        and _is_number(at(table.first, column), cells)
    ]


def _is_number(found: Any, cells: Cells) -> bool:
    try:
        return cells.figure(found, Place("")).value is not None
    except SourceError:
        return False


def _each(name: str, columns: list[str]) -> list[str]:
    return [f"--column {name}={_quoted(column)}" for column in columns]


def _quoted(column: str) -> str:
    """Return a column as a shell takes it."""
    if re.fullmatch(r"[\w.+-]+", column):
        return column
    return "'" + column.replace("'", "'\\''") + "'"
