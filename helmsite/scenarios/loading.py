"""Loading a scenario: from a run entry to all of its instances."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from helmsite.errors import ScenarioError
from helmsite.fetching import Fetcher
from helmsite.scenarios import adapter, making, parameters
from helmsite.scenarios.library import BUILTIN, find
from helmsite.scenarios.places import data_folders
from helmsite.scenarios.reading import read_file, variant
from helmsite.scenarios.splits import ORDER
from helmsite.scenarios.store import Store
from helmsite.scenarios.templates import renderer
from helmsite.schema import TRAIN, LoadedScenario, ScenarioFacts, parse_entry

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from helmsite.scenarios.definition import Definition
    from helmsite.scenarios.making import Made
    from helmsite.scenarios.parameters import Value

METHOD = "method"


@dataclass(frozen=True)
class Chosen:
    """A run entry read: the scenario's file, its definition and parameters.

    `method` is the method that the entry asks for, '' for the scenario's own.
    """

    path: Path
    definition: Definition
    values: dict[str, Value]
    method: str
    store: Store

    @property
    def name(self) -> str:
        """The scenario's name with its parameters, in the form of HELM's run names."""
        return parameters.canonical(self.definition, self.values)


def choose(
    entry: str,
    search: Sequence[Path] = (),
    roots: Sequence[Path] = (),
    fetcher: Fetcher | None = None,
) -> Chosen:
    """Return what a run entry means; no data is read. Arguments are those of `load`.

    Raises:
        ConfigError: an unknown scenario or parameter, or a faulty file.
    """
    name, given = parse_entry(entry)
    path = find(name, search)
    definition = read_file(path).definition
    given = {key.strip(): value.strip() for key, value in given.items()}
    method = "" if METHOD in definition.parameters else given.pop(METHOD, "")
    values = parameters.resolve(definition, given)
    own = "" if path.is_relative_to(BUILTIN) else name
    allowed = data_folders(path, (BUILTIN, *search), roots)
    store = Store(name, path.parent, allowed, own, fetcher or Fetcher())
    return Chosen(path, variant(definition, values), values, method, store)


def load(
    entry: str,
    search: Sequence[Path] = (),
    roots: Sequence[Path] = (),
    fetcher: Fetcher | None = None,
) -> LoadedScenario:
    """Return a scenario with all its instances, ready to run.

    `entry` is a run entry such as `dyck_language:num_parenthesis_pairs=3`; `search` are
    folders with scenario files besides the built-in ones; `roots` are folders with data
    that scenarios may read besides their own; `fetcher` brings data that is not here.
    The parameter `method`, unless the scenario has one of its own, chooses another of
    the scenario's methods and is not part of its name.

    Raises:
        ConfigError: an unknown scenario or parameter, or a faulty file.
        ScenarioError: data that is missing or does not fit the file.
    """
    chosen = choose(entry, search, roots, fetcher)
    definition, values, path = chosen.definition, chosen.values, chosen.path
    render = renderer(values)
    spec, methods = adapter.specs(definition, path, chosen.method, render)
    if definition.generator:
        made = making.generated(definition.generator, values)
    elif definition.loader:
        made = making.loaded(definition, chosen.store, values, render)
    else:
        made = making.read(definition, chosen.store, values, render)
    _check_main_split(definition, path, made)
    names = tuple(map(render, (*definition.metrics, definition.main_metric)))
    return LoadedScenario(
        facts=facts(definition, chosen.name, render),
        adapter=spec,
        metrics=tuple(dict.fromkeys(name for name in names if name)),
        instances=made.instances,
        data=made.data,
        definition_sha256=_digest(made.shape),
        perturbations=definition.perturbations,
        methods=methods,
        skipped=made.skipped,
        notes=made.notes,
    )


def _check_main_split(definition: Definition, path: Path, made: Made) -> None:
    main = definition.main_split
    counts: dict[str, int] = dict.fromkeys(ORDER, 0)
    for instance in made.instances:
        counts[instance.split] += 1
    if counts[main]:
        return
    there = ", ".join(f"{n} in {split}" for split, n in counts.items() if n) or "none"
    others = [split for split in ORDER if counts[split] and split != TRAIN]
    left_out = "; ".join(f"{why}: {n}" for why, n in sorted(made.skipped.items()))
    if others:
        hint = f"Set main_split: {others[0]}."
    elif left_out:
        hint = f"Left out were {left_out}."
    elif definition.loader:
        hint = f"The data has no {main} part: is all of it here, and not a sample?"
    else:
        hint = f"Say in the file which rows are {main}: by split, or by source.files (docs/scenarios.md)."
    raise ScenarioError(
        f"{path}: no instance is in the main split {main!r}; {there}.", hint
    )


def facts(
    definition: Definition, name: str, render: Callable[[str], str]
) -> ScenarioFacts:
    """Return what a scenario's file says of it, without its data.

    Raises:
        ScenarioError: a text needs a parameter that `render` does not know.
    """
    return ScenarioFacts(
        name=name,
        title=render(definition.title),
        description=definition.description,
        taxonomy=definition.taxonomy,
        licence=definition.licence,
        citation=definition.citation,
        url=definition.url,
        publication=definition.publication,
        groups=tuple(render(group) for group in definition.groups),
        main_metric=render(
            definition.main_metric or next(iter(definition.metrics), "")
        ),
        main_split=definition.main_split,
        caution=" ".join(render(definition.caution).split()),
    )


def _digest(shape: dict[str, Any]) -> str:
    blob = msgspec.json.encode(shape, order="deterministic")
    return hashlib.sha256(blob).hexdigest()
