"""Files that say which names of other tools' results mean the same.

models:
  EleutherAI/pythia-410m: [pythia-410m, EleutherAI__pythia-410m]
cards:
  EleutherAI/pythia-410m: {num_parameters: 405334016, access: open}
scenarios:
  mmlu:subject=anatomy: [mmlu_anatomy, hendrycksTest-anatomy]
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from helmsite.errors import ConfigError
from helmsite.schema import ModelCard, Record, strict, yamlfile

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

HINT = (
    "Such a file maps a name to the spellings of it: models: {org/name: [spelling, ...]}; "
    "see docs/importing.md."
)


class Maps(Record, frozen=True):
    """What the user says about names: of models and scenarios, and cards of models.

    `models` and `scenarios` map a spelling to the name that is meant.
    """

    models: dict[str, str] = {}
    cards: dict[str, ModelCard] = {}
    scenarios: dict[str, str] = {}


class _Card(ModelCard, frozen=True, kw_only=True):
    """A card in a file: its name stands before it."""

    name: str = ""


class _File(Record, frozen=True):
    models: dict[str, tuple[str, ...]] = {}
    cards: dict[str, _Card] = {}
    scenarios: dict[str, tuple[str, ...]] = {}


def read_maps(paths: Iterable[Path]) -> Maps:
    """Return what files say together.

    Raises:
        ConfigError: what is wrong with them, all of it.
    """
    problems: list[str] = []
    models: dict[str, str] = {}
    scenarios: dict[str, str] = {}
    cards: dict[str, ModelCard] = {}
    for path in paths:
        document = yamlfile.read(path)
        read = strict.read(document.data, _File, document.place, problems)
        if read is None:
            continue
        for kind, named, known in (
            ("models", read.models, models),
            ("scenarios", read.scenarios, scenarios),
        ):
            for name, spellings in named.items():
                for spelling in spellings:
                    other = known.setdefault(spelling, name)
                    if other != name:
                        problems.append(
                            f"{document.place(f'{kind}.{name}')}: {spelling!r} means {other!r} already."
                        )
        for name, card in read.cards.items():
            plain = msgspec.to_builtins(card) | {"name": name}
            cards[name] = msgspec.convert(plain, ModelCard)
    if problems:
        raise ConfigError(problems, HINT)
    return Maps(models, cards, scenarios)
