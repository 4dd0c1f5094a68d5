"""Models by the names that tools give them: identity, size and what else a name tells."""

from __future__ import annotations

import re

from helmsite.schema import ModelCard

SIZE = re.compile(r"(?<![a-zA-Z0-9.])(\d+(?:\.\d+)?)\s?([mMbBtT])(\d?)(?![a-zA-Z0-9])")
UNITS = {"m": 10**6, "b": 10**9, "t": 10**12}
MIXTURE = re.compile(r"(?<![a-zA-Z0-9])\d+x\d")


def num_parameters(name: str) -> int | None:
    """Return the size that a model's name tells: `pythia-1.4b` has 1,400,000,000.

    `bloom-7b1` has 7,100,000,000. None where it tells none, or one of a mixture of experts (`8x7B`).
    """
    if MIXTURE.search(name):
        return None
    found = SIZE.findall(name.rpartition("/")[2].replace("_", "-"))
    if not found:
        return None
    number, unit, tenth = found[0]
    if tenth:
        number = f"{number.partition('.')[0]}.{tenth}"
    return round(float(number) * UNITS[unit.lower()])


def card(name: str) -> ModelCard:
    """Return what a model's name tells of it: its creator and size."""
    creator, slash, _ = name.partition("/")
    return ModelCard(
        name=name,
        title=name.rpartition("/")[2],
        creator=creator if slash else "",
        num_parameters=num_parameters(name),
    )
