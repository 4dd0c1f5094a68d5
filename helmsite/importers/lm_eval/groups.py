"""Groups of tasks: their numbers, held against those of the tasks in them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from helmsite.errors import SourceError
from helmsite.importers.lm_eval.checks import near

if TYPE_CHECKING:
    from helmsite.importers.lm_eval.results import Results, Value

TOGETHER = 3
"""How many tasks with one beginning make a group where a file names no groups."""


class Mean(NamedTuple):
    """How a group's number comes about: of how many documents, and as which mean."""

    size: int
    weighted: bool | None


def mean_of(results: Results, group: str, value: Value) -> Mean | SourceError:
    """Return how the number of a group comes about, an error if it is no mean of its tasks.

    The tasks' documents weigh it, or the tasks weigh the same (`weight_by_size: false`).
    """
    parts = [
        (each.value, results.size(task))
        for task in results.leaves(group)
        for each in results.values(task)
        if not isinstance(each, SourceError)
        and each.value is not None
        and (each.metric, each.filter) == (value.metric, value.filter)
    ]
    sizes = [size for _, size in parts if size]
    total = sum(sizes)
    size = _said(results, group, value) or total
    if not parts or value.value is None:
        return Mean(size, None)
    plain = sum(v for v, _ in parts) / len(parts)
    if len(sizes) < len(parts):  # before 0.4.3 nobody says how many documents there are
        return Mean(size, None)
    weighted = sum(v * (n or 0) for v, n in parts) / total
    by_size, by_task = near(weighted, value.value), near(plain, value.value)
    if by_size or by_task:
        return Mean(size, None if by_size and by_task else by_size)
    key = f"{value.metric},{value.filter}" if value.filter else value.metric
    return (
        results.entries.at(group)
        .inside(key)
        .error(
            f"{value.value:.9g} is no mean of the group's tasks: weighted by their documents "
            f"they give {weighted:.9g}, by themselves {plain:.9g}"
        )
    )


def _said(results: Results, group: str, value: Value) -> int:
    """Return over how many documents a group's number is by its own word, 0 if it has none."""
    entry = results.entries.get(group)
    counts = entry.get("sample_count") if isinstance(entry, dict) else None
    said = (
        counts.get(f"{value.metric},{value.filter}") if isinstance(counts, dict) else 0
    )
    return said if isinstance(said, int) and 0 < said < 2**31 else 0


def by_name(task: str, tasks: tuple[str, ...]) -> tuple[str, ...]:
    """Return the group that a task's name tells, for files of 0.3, which have none.

    `hendrycksTest-anatomy` is in hendrycksTest, `crows_pairs_english_age` in
    crows_pairs_english, which is a task itself.
    """
    head, dash, _ = task.partition("-")
    if dash and sum(each.startswith(f"{head}-") for each in tasks) >= TOGETHER:
        return (head,)
    for other in tasks:
        inside = [each for each in tasks if each.startswith(f"{other}_")]
        if len(inside) >= TOGETHER and (task == other or task in inside):
            return (other,)
    return ()
