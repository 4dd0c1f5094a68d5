"""All scenarios there are: the built-in files and those of a project."""

from __future__ import annotations

import re
from contextlib import suppress
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from helmsite.errors import ConfigError, HelmsiteError, ScenarioError, suggest
from helmsite.scenarios import adapter, parameters
from helmsite.scenarios.reading import read_file
from helmsite.scenarios.templates import renderer
from helmsite.schema import Record, yamlfile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from helmsite.scenarios.definition import Definition

TEMPLATED = re.compile(r"\s*\(?\{\{.*?\}\}\)?")
BUILTIN = Path(__file__).parent / "library"


class Entry(Record, frozen=True):
    """A scenario in the list of all; `example` is a run entry that works."""

    name: str
    title: str
    description: str
    parameters: tuple[str, ...]
    groups: tuple[str, ...]
    caution: str
    example: str
    place: str
    builtin: bool


class Listing(Record, frozen=True):
    """All scenarios that can be used, and what is wrong with the other files."""

    entries: tuple[Entry, ...]
    problems: tuple[str, ...]


def listing(search: Sequence[Path] = ()) -> Listing:
    """Return all scenarios, and the problems of files that cannot be used."""
    entries: list[Entry] = []
    problems: list[str] = []
    for path in _files(search):
        try:
            entries.append(_entry(path))
        except HelmsiteError as error:
            problems += str(error.message).splitlines()
    entries.sort(key=lambda e: (e.name, e.place))
    for name, group in groupby(entries, key=lambda e: e.name):
        same = list(group)
        if len(same) > 1:
            problems.append(_twice(name, [Path(e.place) for e in same]))
    return Listing(tuple(entries), tuple(problems))


def find(name: str, search: Sequence[Path]) -> Path:
    """Return the file that defines a scenario.

    Raises:
        ConfigError: no file does, or several do.
    """
    named = [(path, _name(path)) for path in _files(search)]
    found = [path for path, own in named if own == name]
    if len(found) > 1:
        raise ConfigError(
            [_twice(name, found)],
            "Give one of them another name; a built-in scenario keeps its own.",
        )
    for path, own in named:
        if not (own or found) and path.stem == name:
            read_file(path)
    if not found:
        known = sorted({own for _, own in named if own})
        raise ConfigError(
            [f"There is no scenario {name!r}.{suggest(name, known)}"],
            f"Scenarios here: {', '.join(known)}. Yours is a file scenarios/{name}.yaml.",
        )
    return found[0]


def _entry(path: Path) -> Entry:
    definition = read_file(path).definition
    example = parameters.example(definition)
    defaults = {k: p.default for k, p in definition.parameters.items()}
    shown = {k: f"<{k}>" if v is None else v for k, v in defaults.items()}
    render = renderer(shown)
    try:
        title = render(definition.title)
    except ScenarioError:
        title = TEMPLATED.sub("", definition.title)
    if not any(v is None for v in defaults.values()):
        with suppress(ScenarioError):
            adapter.specs(definition, path, "", render)
    return Entry(
        name=definition.name,
        title=title,
        description=definition.description,
        parameters=tuple(definition.parameters),
        groups=_groups(definition, render),
        caution=definition.caution.strip(),
        example=parameters.entry(definition.name, example),
        place=str(path),
        builtin=path.parent == BUILTIN,
    )


def _groups(definition: Definition, render: Callable[[str], str]) -> tuple[str, ...]:
    """Return the groups whose names do not hang on a parameter that must be given."""
    found = []
    for group in definition.groups:
        with suppress(ScenarioError):
            found.append(render(group))
    return tuple(group for group in found if "<" not in group)


def _files(search: Sequence[Path]) -> Iterator[Path]:
    folders = {folder.resolve(): folder for folder in (BUILTIN, *search)}
    for folder in folders.values():
        yield from sorted(p for p in folder.rglob("*.y*ml") if p.is_file())


def _name(path: Path) -> str:
    """Return the name that a file gives its scenario, '' if it cannot be told."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError):
        return ""
    plain = re.search(r"^name:[ \t]+([A-Za-z0-9][\w.-]*)[ \t]*$", text, re.MULTILINE)
    if plain:
        return plain[1]
    try:
        data = yamlfile.read(path).data
    except ConfigError:
        return ""
    return str(data.get("name", "")) if isinstance(data, dict) else ""


def _twice(name: str, paths: Sequence[Path]) -> str:
    return f"Several files define the scenario {name!r}: {', '.join(map(str, paths))}."
