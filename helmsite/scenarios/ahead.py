"""What scenarios need of the network, before anything runs."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from helmsite.errors import ConfigError
from helmsite.scenarios import making, parameters
from helmsite.scenarios.library import find
from helmsite.scenarios.loading import choose
from helmsite.scenarios.reading import read_file
from helmsite.scenarios.templates import renderer
from helmsite.schema import format_entry, parse_entry

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from helmsite.fetching import Fetcher
    from helmsite.scenarios.definition import Parameter, Place
    from helmsite.scenarios.loading import Chosen

MOST = 1_000
"""How many scenarios one entry may mean, by the values of what it leaves open."""


@dataclass(frozen=True)
class Need:
    """A file, folder or archive that a scenario reads."""

    chosen: Chosen
    place: Place

    @property
    def is_here(self) -> bool:
        """Whether it needs no network."""
        return self.chosen.store.is_here(self.place)

    @property
    def source(self) -> str:
        """The first address that it comes from, '' if it must be put here by hand."""
        return next(iter(self.chosen.store.addresses(self.place)), "")

    def fetch(self) -> Path:
        """Return where it is now.

        Raises:
            ScenarioError: it cannot be had; says why and what to do.
        """
        return self.chosen.store.locate(self.place)


def needs(
    entries: Sequence[str],
    search: Sequence[Path] = (),
    roots: Sequence[Path] = (),
    fetcher: Fetcher | None = None,
) -> Iterator[Need]:
    """Yield each file that run entries need, once; arguments are those of `load`.

    A parameter that an entry leaves open and that has no default stands for all of its
    values: `mmlu` means every subject.

    Raises:
        ConfigError: an unknown scenario or parameter, or a parameter that must be given.
    """
    seen = set()
    for entry in itertools.chain.from_iterable(_all(e, search) for e in entries):
        chosen = choose(entry, search, roots, fetcher)
        found = making.all_places(chosen.definition, renderer(chosen.values))
        for place in itertools.chain.from_iterable(found.values()):
            key = (chosen.store.cache, place.path, place.member)
            if key not in seen:
                seen.add(key)
                yield Need(chosen, place)


def _all(entry: str, search: Sequence[Path]) -> Iterator[str]:
    name, given = parse_entry(entry)
    definition = read_file(find(name, search)).definition
    open_ = {
        key: values
        for key, parameter in definition.parameters.items()
        if key not in given and (values := _values(parameter))
    }
    count = math.prod(map(len, open_.values()))
    if count > MOST:
        raise ConfigError(
            [f"{entry} means {count} scenarios."],
            f"Say which: {', '.join(f'{key}=...' for key in open_)}.",
        )
    for chosen in itertools.product(*open_.values()):
        yield format_entry(name, {**given, **dict(zip(open_, chosen, strict=True))})


def _values(parameter: Parameter) -> list[str]:
    """Return all values of a parameter without a default, as far as they can be listed."""
    if parameter.default is not None:
        return []
    low, high = parameter.minimum, parameter.maximum
    if parameter.type == "integer" and low is not None and high is not None:
        return [str(n) for n in range(math.ceil(low), math.floor(high) + 1)]
    return [parameters.written(value) for value in parameter.values]
