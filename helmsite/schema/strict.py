"""Reading what a user wrote into records, with every problem reported at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args, get_origin

import msgspec
from msgspec import structs

from helmsite.errors import suggest

if TYPE_CHECKING:
    from collections.abc import Callable

R = TypeVar("R", bound=msgspec.Struct)


def read(
    data: object,
    kind: type[R],
    where: str | Callable[[str], str],
    problems: list[str],
    path: str = "",
) -> R | None:
    """Return a record read from plain data, or None after adding to `problems`.

    Each problem begins with `where`, a file or what tells the place of a field (its
    line), and names the field's path: `path` and what is below it. Unknown fields and
    values come with the nearest known ones. What the record itself refuses (a
    ValueError of its `__post_init__`) is a problem too.
    """
    before = len(problems)
    reader = _Reader((lambda _: where) if isinstance(where, str) else where, problems)
    reader.fields(data, kind, path)
    if len(problems) == before:
        try:
            return msgspec.convert(data, kind)
        except msgspec.ValidationError as error:
            reader.say(path, f"{_reason(error, data)}.")
    return None


class _Reader:
    def __init__(self, place: Callable[[str], str], problems: list[str]) -> None:
        self.place = place
        self.problems = problems

    def say(self, path: str, what: str) -> None:
        self.problems.append(f"{self.place(path)}: {what}")

    def fields(self, data: object, kind: type[msgspec.Struct], path: str) -> None:
        if not isinstance(data, dict):
            label = f"{path}: " if path else ""
            self.say(path, f"{label}must be a table of settings, not {_say(data)}.")
            return
        inside = f"{path}." if path else ""
        known = {f.encode_name: f for f in structs.fields(kind)}
        for name in data:
            if name not in known:
                near = suggest(str(name), known)
                self.say(f"{inside}{name}", f"unknown setting '{inside}{name}'.{near}")
        for name, field in known.items():
            if name in data:
                self.value(data[name], field.type, f"{inside}{name}")
            elif field.required:
                self.say(f"{inside}{name}", f"'{inside}{name}' is missing.")

    def value(self, value: object, kind: Any, path: str) -> None:
        before = len(self.problems)
        inner = get_args(kind)
        if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
            self.fields(value, kind, path)
            return
        if get_origin(kind) is dict and isinstance(value, dict):
            for key, each in value.items():
                self.value(each, inner[1], f"{path}.{key}")
        elif get_origin(kind) is tuple and isinstance(value, list):
            for index, each in enumerate(value):
                self.value(each, inner[0], f"{path}[{index}]")
        if len(self.problems) > before:
            return
        try:
            msgspec.convert(value, kind)
        except msgspec.ValidationError as error:
            why = _reason(error, value)
            self.say(path, f"'{path}': {why}{_options(error, kind)}")


def _reason(error: msgspec.ValidationError, value: object) -> str:
    """Return what msgspec says, with the value where it names none."""
    text, _, at = str(error).partition(" - at ")
    inside = at.strip("`").removeprefix("$")
    says_no_value = text.startswith("Expected") and ", got" not in text
    if says_no_value and isinstance(value, (str, int, float)):
        text += f", got {value!r}"
    what = f"{text[0].lower()}{text[1:]}"
    if inside.startswith("key"):
        return f"{what} as a key"
    return f"{what} at {inside}" if inside else what


def _options(error: msgspec.ValidationError, kind: Any) -> str:
    text = str(error)
    if not text.startswith("Invalid enum value"):
        return "."
    known = [str(value) for value in _literals(kind) if value]
    near = suggest(text.split("'")[1], known) if "'" in text else ""
    return f"; possible: {', '.join(known)}.{near}"


def _literals(kind: Any) -> list[object]:
    inner = get_args(kind)
    if get_origin(kind) is Literal:
        return list(inner)
    return [value for each in inner for value in _literals(each)]


def _say(value: object) -> str:
    names = {list: "a list", str: "text", int: "a number", type(None): "nothing"}
    return names.get(type(value), type(value).__name__)
