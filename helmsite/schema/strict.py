"""Reading what a user wrote into records, with every problem reported at once."""

from __future__ import annotations

from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

import msgspec

from helmsite.errors import suggest

R = TypeVar("R", bound=msgspec.Struct)


def read(data: object, kind: type[R], where: str, problems: list[str]) -> R | None:
    """Return a record read from plain data, or None after adding to `problems`.

    Each problem names `where` (a file) and the field's path within it; unknown fields
    come with the nearest known name.
    """
    before = len(problems)
    values = _fields(data, kind, where, "", problems)
    if len(problems) > before:
        return None
    return msgspec.convert(values, kind)


def _fields(
    data: object, kind: type[msgspec.Struct], where: str, path: str, problems: list[str]
) -> dict[str, Any]:
    label = f"{where}: {path.rstrip('.')}" if path else where
    if not isinstance(data, dict):
        problems.append(f"{label}: must be a table of settings, not {_say(data)}.")
        return {}
    known = {f.encode_name: f for f in msgspec.structs.fields(kind)}
    hints = get_type_hints(kind)
    problems += [
        f"{where}: unknown setting '{path}{name}'.{suggest(str(name), known)}"
        for name in data
        if name not in known
    ]
    for name, info in known.items():
        if name in data:
            _value(data[name], hints[info.name], where, f"{path}{name}", problems)
        elif info.required:
            problems.append(f"{where}: '{path}{name}' is missing.")
    return data


def _value(
    value: object, kind: Any, where: str, path: str, problems: list[str]
) -> None:
    inner = get_args(kind)
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        _fields(value, kind, where, f"{path}.", problems)
    elif get_origin(kind) is dict and _is_record(inner[1]) and isinstance(value, dict):
        for key, each in value.items():
            _fields(each, inner[1], where, f"{path}.{key}.", problems)
    elif get_origin(kind) is tuple and _is_record(inner[0]) and isinstance(value, list):
        for index, each in enumerate(value):
            _fields(each, inner[0], where, f"{path}[{index}].", problems)
    else:
        try:
            msgspec.convert(value, kind)
        except msgspec.ValidationError as error:
            problems.append(
                f"{where}: '{path}': {_reason(error)}{_options(error, kind)}."
            )


def _is_record(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


def _reason(error: msgspec.ValidationError) -> str:
    text, _, at = str(error).partition(" - at ")
    inside = at.strip("`").removeprefix("$")
    return f"{text[0].lower()}{text[1:]}" + (f" at {inside}" if inside else "")


def _options(error: msgspec.ValidationError, kind: Any) -> str:
    if not str(error).startswith("Invalid enum value"):
        return ""
    return f"; possible: {', '.join(str(v) for v in _literals(kind) if v)}"


def _literals(kind: Any) -> list[object]:
    inner = get_args(kind)
    if get_origin(kind) is Literal:
        return list(inner)
    return [value for each in inner for value in _literals(each)]


def _say(value: object) -> str:
    names = {list: "a list", str: "text", int: "a number", type(None): "nothing"}
    return names.get(type(value), type(value).__name__)
