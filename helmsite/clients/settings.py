"""Settings of a model, checked against a record: every problem reported at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import msgspec
from msgspec import NODEFAULT, structs

from helmsite.errors import ClientError, ConfigError, suggest
from helmsite.schema import Record

if TYPE_CHECKING:
    from collections.abc import Mapping

S = TypeVar("S", bound=Record)


def parse(record: type[S], model: str, settings: Mapping[str, object]) -> S:
    """Return the settings as a record.

    Raises:
        ConfigError: unknown, missing or ill-typed settings, all of them.
    """
    fields = {f.encode_name: f for f in structs.fields(record)}
    where = f"Model {model!r}:"
    problems = [
        f"{where} unknown setting {key!r}.{suggest(key, fields)}"
        for key in sorted(settings.keys() - fields.keys())
    ]
    values: dict[str, object] = {}
    for key, field in fields.items():
        if key in settings:
            try:
                values[field.name] = msgspec.convert(settings[key], field.type)
            except msgspec.ValidationError as error:
                shown = f"{settings[key]!r}"[:60]
                problems.append(f"{where} setting {key!r} is {shown}: {error}.")
        elif field.default is NODEFAULT and field.default_factory is NODEFAULT:
            problems.append(f"{where} setting {key!r} is missing.")
    if not problems:
        try:
            return record(**values)
        except ValueError as error:
            problems.append(f"{where} {error}.")
    raise ConfigError(problems, f"Known settings: {', '.join(sorted(fields))}.")


def missing_package(package: str, model: str, command: str) -> ClientError:
    """Return the error for an optional package, with the command that installs it."""
    return ClientError(
        f"Model {model!r} needs the package {package!r}, which is not installed.",
        f"Type: {command}",
    )
