"""Loaders: Python for scenarios whose instances no template can make of their files.

A loader reads the files that its scenario's YAML names and yields instances in their
final order, without ids. It draws from random generators of its own and does nothing
that depends on the clock, the machine or the order of a folder.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from helmsite.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from helmsite.schema import Instance


@dataclass(frozen=True)
class Loader:
    """A maker of instances out of files; `version` goes up whenever its output changes.

    `load` gets the scenario's `Files` and its parameters by name, and yields instances
    without ids, each with its split, in the order in which they are numbered.
    """

    version: int
    load: Callable[..., Iterator[Instance]]


_HOME = "helmsite.scenarios.loaders"
LOADERS = Registry("loader", {"boolq": f"{_HOME}.boolq:BOOLQ"})
