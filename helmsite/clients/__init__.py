"""Clients: models that answer requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from helmsite.clients.settings import parse
from helmsite.errors import ClientError
from helmsite.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Mapping

    from helmsite.schema import Client

CLIENTS = Registry(
    "client",
    {
        "fake": "helmsite.clients.fake:Fake",
        "llamacpp": "helmsite.clients.llamacpp:LlamaCpp",
        "ngram": "helmsite.clients.ngram:NGram",
        "openai": "helmsite.clients.openai:OpenAI",
    },
)


def create(kind: str, name: str, settings: Mapping[str, object]) -> Client:
    """Return a client of a kind, ready to answer, for the model of a name.

    Raises:
        ConfigError: an unknown kind, or settings that the kind does not take.
        ClientError: a package or a file is missing, or the model cannot be loaded.
    """
    return cast("Client", _class(kind, name).from_settings(name, settings))


def check(kind: str, name: str, settings: Mapping[str, object]) -> None:
    """Check a model's settings without loading it, as far as its client says how.

    Raises:
        ConfigError: an unknown kind, or settings that its `settings_type` does not take.
        ClientError: the client's module cannot be imported.
    """
    _parsed(kind, name, settings)


def loads_weights(kind: str, name: str) -> bool:
    """Return whether creating a client of a kind takes the time to load a model.

    Raises:
        ConfigError: an unknown kind.
        ClientError: the client's module cannot be imported.
    """
    return bool(getattr(_class(kind, name), "loads_weights", False))


def request_limit(kind: str, name: str, settings: Mapping[str, object]) -> int | None:
    """Return the tokens of a request that the settings allow, without loading a model.

    Raises:
        ConfigError: an unknown kind, or settings that it does not take.
        ClientError: the client's module cannot be imported.
    """
    said = _parsed(kind, name, settings)
    for setting in ("n_ctx", "max_request_length"):
        limit = getattr(said, setting, None)
        if isinstance(limit, int):
            return limit
    return None


def _parsed(kind: str, name: str, settings: Mapping[str, object]) -> object:
    """Return the settings as their client reads them, None where it says not how."""
    mro = _class(kind, name).__mro__
    reader = next((c for c in mro if "from_settings" in vars(c)), None)
    record = vars(reader).get("settings_type") if reader else None  # not a parent's
    return None if record is None else parse(record, name, settings)


def _class(kind: str, name: str) -> Any:
    try:
        return CLIENTS.load(kind)
    except ImportError as error:
        raise ClientError(
            f"The client {kind!r} of model {name!r} cannot be imported: {error}.",
            f"Install the package that provides {error.name!r}.",
        ) from error


__all__ = ["CLIENTS", "check", "create", "loads_weights", "request_limit"]
