"""Which split a row belongs to."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import msgspec

from helmsite.errors import ScenarioError, suggest
from helmsite.schema import TEST, TRAIN, VALID

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from helmsite.scenarios.definition import SplitRule
    from helmsite.scenarios.sources import Row

ORDER = (TRAIN, VALID, TEST)
HASHED_BITS = 64


def assign(
    rows: Sequence[Row], rule: SplitRule, key: Callable[[Row], Any] | None
) -> list[str | None]:
    """Return the split of each row, None for rows that are left out.

    `key` gives what shares are drawn by; None draws by the row's whole content.

    Raises:
        ScenarioError: a row's column does not lead to a split.
    """
    if rule.column:
        return [_by_column(row, rule) for row in rows]
    if rule.first:
        return list(_by_position(len(rows), rule))
    if rule.shares:
        return [_by_share(key(row) if key else row.fields, rule) for row in rows]
    return [rule.all or TEST] * len(rows)


def _by_column(row: Row, rule: SplitRule) -> str | None:
    if rule.column not in row.fields:
        raise ScenarioError(
            f"{row.place}: there is no column {rule.column!r} for the split."
            f"{suggest(rule.column, row.fields)}",
            f"Columns of this row: {', '.join(row.fields)}.",
        )
    found = row.fields[rule.column]
    value = "" if found is None else str(found)
    if value in rule.map:
        return rule.map[value]
    if not rule.map and value in ORDER:
        return value
    known = ", ".join(rule.map) if rule.map else "train, valid, test"
    raise ScenarioError(
        f"{row.place}: {rule.column} is {value!r}, which is none of {known}.",
        f"Say where it belongs: split: {{column: {rule.column}, "
        f"map: {{{value}: test, ...}}}}; null leaves such rows out.",
    )


def _by_position(count: int, rule: SplitRule) -> list[str]:
    splits: list[str] = []
    for split in ORDER:
        size = rule.first.get(split, 0)  # type: ignore[call-overload]
        splits += [split] * int(size * count if size < 1 else size)
    return (splits + [rule.rest or TEST] * count)[:count]


def _by_share(value: Any, rule: SplitRule) -> str:
    blob = msgspec.json.encode([rule.seed, value], order="deterministic")
    digest = hashlib.sha256(blob).digest()[: HASHED_BITS // 8]
    point = int.from_bytes(digest, "big") / 2**HASHED_BITS
    above = 0.0
    last = TEST
    for split in ORDER:
        share = rule.shares.get(split, 0)  # type: ignore[call-overload]
        if share:
            above, last = above + share, split
        if point < above:
            return split
    return last
