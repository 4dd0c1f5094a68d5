"""Leaderboards: which scenarios each shows, and the sets of boards that come along."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from helmsite.errors import suggest
from helmsite.schema import Record, yamlfile

BUILTIN_BOARDS = Path(__file__).parents[1] / "boards"


class GroupConfig(Record, frozen=True):
    """A leaderboard of its own.

    Attributes:
        title: what the site calls it.
        scenarios: run entries, or names for all of theirs.
        description: Markdown.
        groups: groups of scenarios, as their files have them; all in them belong to it.
        exclusive: whether what it shows is in no other board.
        combine: whether each name and group is one column, the mean over its scenarios.
    """

    title: str
    scenarios: tuple[str, ...] = ()
    description: str = ""
    groups: tuple[str, ...] = ()
    exclusive: bool = False
    combine: bool = False

    def __post_init__(self) -> None:
        if not (self.scenarios or self.groups):
            raise ValueError("name its 'scenarios' or 'groups'")


def builtin_boards() -> list[str]:
    """Return the names of the sets of leaderboards that come with helmsite."""
    return sorted(path.stem for path in BUILTIN_BOARDS.glob("*.yaml"))


def with_builtin(groups: Any, where: str, problems: list[str]) -> Any:
    """Return the boards as they are written, a name replaced by the set that it means.

    An unknown name is added to `problems`, and there are no boards then.
    """
    if not isinstance(groups, str):
        return groups
    known = builtin_boards()
    if groups not in known:
        problems.append(
            f"{where}: 'site.groups': there is no set of leaderboards {groups!r}."
            f"{suggest(groups, known)} Known: {', '.join(known)}."
        )
        return {}
    data = yamlfile.read(BUILTIN_BOARDS / f"{groups}.yaml").data
    return msgspec.to_builtins(msgspec.convert(data, dict[str, GroupConfig]))
