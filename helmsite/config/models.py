"""Models: what runs them, and what is known of them."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import structs

from helmsite.schema import ModelCard, Record, yamlfile

if TYPE_CHECKING:
    from collections.abc import Mapping

PACKAGE = Path(__file__).parents[1]
BUILTIN_MODELS = PACKAGE / "models.yaml"
KNOWN_CARDS = PACKAGE / "cards.yaml"
Settings = dict[str, str | int | float | bool | list[str] | None]


class ModelConfig(Record, frozen=True):
    """A model that can be run: which client, with which settings, and its card."""

    name: str
    client: str
    card: ModelCard
    settings: Settings = {}


class ModelFile(ModelCard, frozen=True, kw_only=True):
    """A model as written in a file: its card's fields, its client and settings."""

    client: str
    settings: Settings = {}


@cache
def known_cards() -> dict[str, ModelCard]:
    """Return the cards of models that need not be run here, by name and by alias."""
    cards: dict[str, ModelCard] = {}
    for name, said in sorted(yamlfile.read(KNOWN_CARDS).data.items()):
        card = msgspec.convert({"name": name, **said}, ModelCard)
        cards |= dict.fromkeys((name, *card.aliases), card)
    return cards


def informed(card: ModelCard) -> ModelCard:
    """Return a card with what is known of its model where the card says nothing."""
    known = known_cards().get(card.name)
    if known is None:
        return card
    found = {
        field: getattr(known, field)
        for field in ModelCard.__struct_fields__
        if getattr(card, field) in ("", None, ())
    }
    if "aliases" in found:
        others = (known.name, *known.aliases)
        found["aliases"] = tuple(name for name in others if name != card.name)
    return structs.replace(card, **found) if found else card


def builtin() -> dict[str, ModelConfig]:
    """Return the models that need no configuration."""
    data = yamlfile.read(BUILTIN_MODELS).data
    return {
        name: model(msgspec.convert({"name": name, **each}, ModelFile))
        for name, each in sorted(data.items())
    }


def model(file: ModelFile, folder: Path | None = None) -> ModelConfig:
    """Return a model; its setting `path` is relative to the folder.

    What the file leaves out is taken from the known card of that name, if there is one.
    """
    facts = {field: getattr(file, field) for field in ModelCard.__struct_fields__}
    card = informed(ModelCard(**facts))
    title = card.title or file.name.rsplit("/", 1)[-1]
    settings = dict(file.settings)
    path = settings.get("path")
    if folder is not None and isinstance(path, str) and path:
        settings["path"] = placed(path, folder)
    return ModelConfig(
        name=file.name,
        client=file.client,
        card=structs.replace(card, title=title),
        settings=settings,
    )


def named(name: str, models: Mapping[str, ModelConfig]) -> str:
    """Return the model that a name means, '' if none or several do.

    HELM's run names have '_' for the '/', and results often use an older name.
    """
    if name in models:
        return name
    found = [
        known
        for known, each in models.items()
        if name in {n.replace("/", "_") for n in (known, *each.card.aliases)}
        or name in each.card.aliases
    ]
    return found[0] if len(found) == 1 else ""


def placed(path: str, folder: Path) -> str:
    """Return a path of the settings as seen from outside the project; a URL as it is."""
    return path if "://" in path else str(folder / os.path.expanduser(path))  # noqa: PTH111 - an unknown ~user stays as it is
