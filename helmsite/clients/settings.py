"""Settings of a model, checked against a record: every problem reported at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from msgspec import structs

from helmsite.errors import ClientError, ConfigError
from helmsite.schema import Record, strict

if TYPE_CHECKING:
    from collections.abc import Mapping

S = TypeVar("S", bound=Record)


def parse(record: type[S], model: str, settings: Mapping[str, object]) -> S:
    """Return the settings as a record.

    Raises:
        ConfigError: unknown, missing or ill-typed settings, all of them.
    """
    problems: list[str] = []
    read = strict.read(dict(settings), record, f"Model {model!r}", problems)
    if read is None:
        known = sorted(field.encode_name for field in structs.fields(record))
        raise ConfigError(problems, f"Known settings: {', '.join(known)}.")
    return read


def missing_package(package: str, model: str, command: str) -> ClientError:
    """Return the error for an optional package, with the command that installs it."""
    return ClientError(
        f"Model {model!r} needs the package {package!r}, which is not installed.",
        f"Type: {command}",
    )
