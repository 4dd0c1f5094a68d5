"""Names of built-in and installed parts, loaded only when they are used."""

from __future__ import annotations

import sys
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

from helmsite.errors import ConfigError, suggest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


@cache
def _installed(
    group: str, source: Callable[..., Any], places: tuple[str, ...]
) -> Mapping[str, str]:
    """Return the entry points of a group; looking through all packages takes 20 ms."""
    del places
    return {each.name: each.value for each in source(group=group)}


class Registry:
    """A table of name → 'module:object', extended by entry points of other packages.

    `kind` is singular ('client'); other packages add names through the entry point
    group `helmsite.<kind>s`. A built-in name cannot be taken over.
    """

    def __init__(self, kind: str, builtin: Mapping[str, str]) -> None:
        self.kind = kind
        self._builtin = dict(builtin)

    def table(self) -> dict[str, str]:
        """Return every known name with the place of its object, sorted."""
        found = _installed(f"helmsite.{self.kind}s", entry_points, tuple(sys.path))
        return dict(sorted({**found, **self._builtin}.items()))

    def load(self, name: str) -> Any:
        """Return the object behind a name.

        Raises:
            ConfigError: the name is unknown; known ones are suggested.
        """
        table = self.table()
        if name not in table:
            known = ", ".join(table)
            raise ConfigError(
                [f"Unknown {self.kind} {name!r}.{suggest(name, table)}"],
                f"Known {self.kind}s: {known}.",
            )
        module, _, attribute = table[name].partition(":")
        return getattr(import_module(module), attribute)
