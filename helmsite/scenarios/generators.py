"""Generators: scenarios whose instances are computed, not read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from helmsite.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from helmsite.schema import Instance


@dataclass(frozen=True)
class Generator:
    """A seeded maker of instances; `version` goes up whenever its output changes.

    `generate` gets the scenario's parameters by name and yields instances without ids,
    each with its split. It must keep to random generators of its own.
    """

    version: int
    generate: Callable[..., Iterator[Instance]]


GENERATORS = Registry(
    "generator",
    {
        "dyck_language": "helmsite.scenarios.dyck:DYCK_LANGUAGE",
        "synthetic_reasoning": (
            "helmsite.scenarios.synthetic_reasoning:SYNTHETIC_REASONING"
        ),
        "synthetic_reasoning_natural": (
            "helmsite.scenarios.synthetic_reasoning_natural:SYNTHETIC_REASONING_NATURAL"
        ),
    },
)
