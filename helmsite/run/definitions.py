"""What scenario files say, read once and without their data."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from helmsite.errors import HelmsiteError
from helmsite.scenarios import parameters
from helmsite.scenarios.library import find
from helmsite.scenarios.loading import facts
from helmsite.scenarios.reading import read_file, variant
from helmsite.scenarios.templates import renderer
from helmsite.schema import parse_entry

if TYPE_CHECKING:
    from collections.abc import Callable

    from helmsite.config import Project
    from helmsite.scenarios.definition import Definition
    from helmsite.schema import ScenarioFacts


class Definitions:
    """The scenario files of a project and the built-in ones."""

    def __init__(self, project: Project) -> None:
        self._folders = project.scenario_folders
        self._read: dict[str, Definition | None] = {}

    def parameters(self, name: str) -> tuple[str, ...]:
        """Return the names of a scenario's parameters; none of one that cannot be read."""
        definition = self._definition(name)
        return tuple(definition.parameters) if definition else ()

    def groups(self, entry: str) -> tuple[str, ...]:
        """Return the groups of a scenario, its parameters rendered."""
        return self._rendered(entry, lambda definition: definition.groups)

    def caution(self, entry: str) -> str:
        """Return what to know before a scenario's data is fetched and run, '' if nothing."""
        said = self._rendered(entry, lambda definition: (definition.caution,))
        return " ".join(" ".join(said).split())

    def name(self, entry: str) -> str:
        """Return a scenario's name as runs made here have it.

        A name with a parameter that its file does not know, or without any, stays.
        """
        with suppress(HelmsiteError):
            name, given = parse_entry(entry)
            definition = self._definition(name) if given else None
            if definition is not None and given.keys() <= definition.parameters.keys():
                return parameters.canonical(
                    definition, parameters.resolve(definition, given)
                )
        return entry

    def facts(self, entry: str) -> ScenarioFacts | None:
        """Return what is known of a scenario by its name; None if there is none of it.

        Parameters that its file does not know are passed over: results of other tools
        name runs with more of them.
        """
        try:
            name, given = parse_entry(entry)
            definition = self._definition(name)
            if definition is None:
                return None
            own = {k: v for k, v in given.items() if k in definition.parameters}
            values = parameters.resolve(definition, own)
            return facts(variant(definition, values), entry, renderer(values))
        except HelmsiteError:
            return None

    def _rendered(
        self, entry: str, said: Callable[[Definition], tuple[str, ...]]
    ) -> tuple[str, ...]:
        """Return texts of a scenario's file for the parameters of an entry."""
        name, given = parse_entry(entry)
        definition = self._definition(name)
        if definition is None:
            return ()
        own = {k: v for k, v in given.items() if k in definition.parameters}
        values = parameters.resolve(definition, own)
        return tuple(map(renderer(values), said(variant(definition, values))))

    def _definition(self, name: str) -> Definition | None:
        if name not in self._read:
            try:
                path = find(name, self._folders)
                self._read[name] = read_file(path).definition
            except HelmsiteError:  # told when the scenario is loaded
                self._read[name] = None
        return self._read[name]
