"""Prompts of given lengths in tokens, for measuring runtimes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from helmsite.scenarios.loaders import Loader
from helmsite.scenarios.loaders.texts import as_read
from helmsite.schema import CORRECT_TAG, TEST, Instance, Reference

if TYPE_CHECKING:
    from collections.abc import Iterator

    from helmsite.scenarios.files import Files

PROMPTS = 10


def load(files: Files, **_: Any) -> Iterator[Instance]:
    """Yield the ten prompts; what a model says to them does not matter."""
    for number in range(PROMPTS):
        text = as_read(files.text(f"id{number}"))
        yield Instance("", text, (Reference("", (CORRECT_TAG,)),), split=TEST)


SYNTHETIC_EFFICIENCY = Loader(version=1, load=load)
