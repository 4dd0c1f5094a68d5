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
NAMES = (
    "babi_qa",
    "bbq",
    "blimp",
    "bold",
    "boolq",
    "civil_comments",
    "code",
    "commonsense",
    "copyright",
    "disinformation",
    "entity_data_imputation",
    "entity_matching",
    "ice",
    "imdb",
    "lsat_qa",
    "math",
    "msmarco",
    "narrative_qa",
    "natural_qa",
    "news_qa",
    "quac",
    "raft",
    "real_toxicity_prompts",
    "summarization",
    "summarization_xsum",
    "synthetic_efficiency",
    "the_pile",
    "truthful_qa",
    "wikifact",
    "wikitext_103",
)
LOADERS = Registry("loader", {n: f"{_HOME}.{n}:{n.upper()}" for n in NAMES})
