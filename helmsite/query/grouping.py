"""Which leaderboards a site has, what each shows, and what shares a column."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from msgspec import structs

from helmsite.query import joint
from helmsite.query.rows import Group, Joint
from helmsite.schema import matches_entry, parse_entry

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from helmsite.config import GroupConfig
    from helmsite.schema import ScenarioFacts

    Named = dict[str, list[str]]
    """By a name or a group of scenarios, those that it means."""

ALL, ALL_TITLE = "all", "All scenarios"
SPELLINGS = {
    "english": "English",
    "french": "French",
    "helmet": "HELMET",
    "icl": "ICL",
    "longqa": "LongQA",
    "mmlu": "MMLU",
    "qa": "QA",
    "rag": "RAG",
}
"""Words in names of groups that are not written as they are there."""


def groups(
    boards: Mapping[str, GroupConfig], scenarios: Mapping[str, ScenarioFacts]
) -> list[Group]:
    """Return the groups of a site, not yet with their families of metrics.

    Without any board, all scenarios and their own groups. Else the boards, a last one of
    everything if some scenario is on none, and those inside of shared columns.

    Args:
        boards: as the site's settings have them.
        scenarios: every scenario, in the order in which they are shown.

    Raises:
        ConfigError: an entry of a board cannot be read.
    """
    if not boards:
        return _own(scenarios)
    named = {name: _named(board, scenarios) for name, board in boards.items()}
    alone = {
        scenario
        for name, board in boards.items()
        if board.exclusive
        for scenario in _flat(named[name])
    }
    shown = {
        name: {
            said: [s for s in means if boards[name].exclusive or s not in alone]
            for said, means in named[name].items()
        }
        for name in boards
    }
    inner = _Inner(boards, shown, scenarios)
    found = [
        _board(name, board, shown[name], inner)
        for name, board in boards.items()
        if board.scenarios or _flat(named[name])
    ]
    if scenarios.keys() - {s for group in found for s in group.scenarios}:
        name = ALL if ALL not in boards else "all_scenarios"
        found.append(Group(name, ALL_TITLE, scenarios=tuple(scenarios)))
    return [*found, *inner]


def _own(scenarios: Mapping[str, ScenarioFacts]) -> list[Group]:
    if not scenarios:
        return []
    own = {g for facts in scenarios.values() for g in facts.groups} - {ALL}
    shown = {
        g: tuple(s for s, facts in scenarios.items() if g in facts.groups)
        for g in sorted(own)
    }
    return [
        Group(ALL, ALL_TITLE, scenarios=tuple(scenarios)),
        *(
            Group(g, title, scenarios=shown[g])
            for g, title in _called(shown, scenarios).items()
        ),
    ]


def _called(
    shown: Mapping[str, Sequence[str]], scenarios: Mapping[str, ScenarioFacts]
) -> dict[str, str]:
    """Return what groups are called: BBQ for `bbq`, Question answering by its name.

    A group has its scenarios' spelling where their titles begin alike, and as its name
    does; several of one title are called by their names.
    """
    plain = {g: _spelled(g) for g in shown}
    stems = {
        g: joint.stem([scenarios[s].title or s for s in means])
        for g, means in shown.items()
    }
    count = Counter(stems.values())
    return {
        g: stem if count[stem] == 1 and _is_alike(stem, g) else plain[g]
        for g, stem in stems.items()
    }


def _spelled(name: str) -> str:
    """Return a group's name as a title: 'HELMET ICL', 'Question answering'."""
    words = " ".join(SPELLINGS.get(word.lower(), word) for word in name.split("_"))
    return words[:1].upper() + words[1:]


def _is_alike(title: str, name: str) -> bool:
    """Return whether a title is, or begins, a name in another spelling, or a name it."""
    first, second = ("".join(filter(str.isalnum, t)).lower() for t in (title, name))
    return bool(first) and (first.startswith(second) or second.startswith(first))


def _named(board: GroupConfig, scenarios: Mapping[str, ScenarioFacts]) -> Named:
    """Return the scenarios of each name and group of a board, in their order."""
    found: Named = {}
    for entry in board.scenarios:
        parse_entry(entry)
        found[entry] = [s for s in sorted(scenarios) if matches_entry(entry, s)]
    for group in board.groups:
        own = [s for s, facts in scenarios.items() if group in facts.groups]
        found[group] = list(dict.fromkeys([*found.get(group, ()), *own]))
    return found


def _flat(named: Named) -> list[str]:
    return list(dict.fromkeys(s for means in named.values() for s in means))


def _board(name: str, board: GroupConfig, shown: Named, inner: _Inner) -> Group:
    """Return a board's group; of one that combines, with what shares a column."""
    group = Group(name, board.title, board.description, tuple(_flat(shown)))
    if not board.combine:
        return group
    claimed = joint.claims(shown)
    joints = [
        inner.joint(said, means, board.title)
        for said, means in claimed.items()
        if len(means) > 1
    ]
    return structs.replace(
        group,
        scenarios=tuple(s for means in claimed.values() for s in means),
        joints=_told_apart(joints),
    )


def _told_apart(joints: Sequence[Joint]) -> tuple[Joint, ...]:
    """Return them with the group's name behind titles that several have."""
    titles = [each.title for each in joints]
    return tuple(
        each
        if titles.count(each.title) == 1
        else structs.replace(each, title=f"{each.title} ({each.board})")
        for each in joints
    )


class _Inner:
    """The groups that show each of the scenarios that share a column of others."""

    def __init__(
        self,
        boards: Mapping[str, GroupConfig],
        shown: Mapping[str, Named],
        scenarios: Mapping[str, ScenarioFacts],
    ) -> None:
        self._scenarios = scenarios
        self._taken = {*boards, ALL, "all_scenarios"}
        self._whole = {
            frozenset(_flat(shown[name])): name
            for name, board in boards.items()
            if not board.combine
        }
        self._found: dict[frozenset[str], tuple[Group, list[str]]] = {}

    def joint(self, said: str, means: tuple[str, ...], board: str) -> Joint:
        """Return what a name or group of a board stands for, and note its own group."""
        titles = [self._scenarios[s].title or s for s in means]
        called = joint.title(said, titles)
        key = frozenset(means)
        if key in self._whole:
            return Joint(called, self._whole[key], means)
        if key not in self._found:
            name = said
            while name in self._taken:
                name += "_scenarios"
            self._taken.add(name)
            group = Group(name, called, scenarios=means, inner=True)
            self._found[key] = group, []
        group, of = self._found[key]
        of.append(board)
        return Joint(called, group.name, means)

    def __iter__(self) -> Iterator[Group]:
        """Yield each group, with words on whose column it is."""
        for group, of in self._found.values():
            many = "s" if len(set(of)) > 1 else ""
            boards = ", ".join(dict.fromkeys(of))
            words = (
                f"The {len(group.scenarios)} scenarios whose mean is one column of the "
                f"leaderboard{many} {boards}."
            )
            yield structs.replace(group, description=words)
