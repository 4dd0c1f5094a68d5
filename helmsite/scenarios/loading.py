"""Loading a scenario: from a run entry to all of its instances."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from helmsite.errors import ScenarioError
from helmsite.scenarios import adapter, parameters
from helmsite.scenarios.definition import Place
from helmsite.scenarios.files import Files
from helmsite.scenarios.generators import GENERATORS
from helmsite.scenarios.instances import (
    Maker,
    in_order,
    kept_rows,
    numbered,
    row_splits,
)
from helmsite.scenarios.library import BUILTIN, find
from helmsite.scenarios.loaders import LOADERS
from helmsite.scenarios.places import data_folders, data_place
from helmsite.scenarios.reading import read_file
from helmsite.scenarios.sources import FileRows, read_rows
from helmsite.scenarios.splits import ORDER
from helmsite.scenarios.templates import renderer
from helmsite.schema import (
    TRAIN,
    DataRevision,
    Instance,
    LoadedScenario,
    Record,
    ScenarioFacts,
    parse_entry,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from helmsite.scenarios.definition import Definition, Texts
    from helmsite.scenarios.generators import Generator
    from helmsite.scenarios.loaders import Loader
    from helmsite.scenarios.parameters import Value

ENGINE = 1
METHOD = "method"
SHAPING = (
    *("where", "split", "input", "references", "allow_no_correct"),
    *("sub_split", "attributes", "extra"),
)


class _Made(Record, frozen=True):
    """Instances, what data they came from, and what else shaped them."""

    instances: tuple[Instance, ...]
    data: DataRevision
    shape: dict[str, Any]
    skipped: dict[str, int] = {}


def load(
    entry: str, search: Sequence[Path] = (), roots: Sequence[Path] = ()
) -> LoadedScenario:
    """Return a scenario with all its instances, ready to run.

    `entry` is a run entry such as `dyck_language:num_parenthesis_pairs=3`; `search` are
    folders with scenario files besides the built-in ones; `roots` are folders with data
    that scenarios may read besides their own. The parameter `method`, unless
    the scenario has one of its own, chooses another of the scenario's methods and is
    not part of its name.

    Raises:
        ConfigError: an unknown scenario or parameter, or a faulty file.
        ScenarioError: data that is missing or does not fit the file.
    """
    name, given = parse_entry(entry)
    path = find(name, search)
    definition = read_file(path).definition
    given = {key.strip(): value.strip() for key, value in given.items()}
    method = "" if METHOD in definition.parameters else given.pop(METHOD, "")
    values = parameters.resolve(definition, given)
    render = renderer(values)
    spec, methods = adapter.specs(definition, path, method, render)
    allowed = data_folders(path, (BUILTIN, *search), roots)
    if definition.generator:
        made = _generated(definition.generator, values)
    elif definition.loader:
        made = _loaded(definition, path.parent, allowed, values, render)
    else:
        made = _read(definition, path.parent, allowed, values, render)
    _check_main_split(definition, path, made.instances)
    names = (*definition.metrics, definition.main_metric)
    return LoadedScenario(
        facts=_facts(definition, parameters.canonical(definition, values), render),
        adapter=spec,
        metrics=tuple(dict.fromkeys(name for name in names if name)),
        instances=made.instances,
        data=made.data,
        definition_sha256=_digest(made.shape),
        methods=methods,
        perturbations=definition.perturbations,
        skipped=made.skipped,
    )


def _generated(name: str, values: dict[str, Value]) -> _Made:
    generator: Generator = GENERATORS.load(name)
    version = f"{name}@{generator.version}"
    return _Made(
        instances=numbered(generator.generate(**values)),
        data=DataRevision(generator=version),
        shape={"generator": version, "parameters": values},
    )


def _loaded(
    definition: Definition,
    folder: Path,
    allowed: Sequence[Path],
    values: dict[str, Value],
    render: Callable[[str], str],
) -> _Made:
    source = definition.source
    names = {k: render(_path(v)) for k, v in source.files.items()}
    files = Files(source, names, lambda name: data_place(folder, name, allowed))
    loader: Loader = LOADERS.load(definition.loader)
    version = f"{definition.loader}@{loader.version}"
    return _Made(
        instances=in_order(loader.load(files, **values)),
        data=DataRevision(
            source=", ".join(Path(name).name for name in names.values()),
            sha256=_together(files.digests),
            generator=version,
        ),
        shape={
            "loader": version,
            "parameters": values,
            "source": _source_shape(definition),
        },
        skipped=dict(files.skipped),
    )


def _read(
    definition: Definition,
    folder: Path,
    allowed: Sequence[Path],
    values: dict[str, Value],
    render: Callable[[str], str],
) -> _Made:
    source = definition.source
    files: list[tuple[str, str, FileRows]] = [
        (split, name, read_rows(data_place(folder, name, allowed), source))
        for split, texts in source.files.items() or (("", source.path),)
        for name in map(render, _listed(texts))
    ]
    rows = [row for _, _, found in files for row in found.rows]
    kept = kept_rows(rows, definition, values)
    if source.files:
        of_row = {id(row): split for split, _, found in files for row in found.rows}
        splits: list[str | None] = [of_row[id(row)] for row in kept]
    else:
        splits = row_splits(kept, definition, values)
    maker = Maker(definition, values)
    pairs = zip(kept, splits, strict=True)
    return _Made(
        instances=numbered(maker.instance(row, s) for row, s in pairs if s),
        data=DataRevision(
            source=", ".join(Path(name).name for _, name, _ in files),
            sha256=_together([(split, found.sha256) for split, _, found in files]),
        ),
        shape=_shape(definition, values),
    )


def _shape(definition: Definition, values: dict[str, Value]) -> dict[str, Any]:
    """Return all of a definition that can change an instance, file names aside."""
    said = msgspec.to_builtins(definition)
    shape = {key: said[key] for key in SHAPING}
    source = _source_shape(definition)
    return {**shape, "source": source, "parameters": values, "engine": ENGINE}


def _source_shape(definition: Definition) -> dict[str, Any]:
    said = msgspec.to_builtins(definition.source)
    return {k: v for k, v in said.items() if k not in ("path", "files")}


def _listed(texts: Texts | Place) -> tuple[str, ...]:
    if isinstance(texts, Place):
        return (texts.path,)
    return (texts,) if isinstance(texts, str) else texts


def _path(place: Texts | Place) -> str:
    return _listed(place)[0]


def _together(parts: Sequence[tuple[str, str]]) -> str:
    """Return one digest for several files; a single one keeps its own."""
    if len(parts) == 1:
        return parts[0][1]
    blob = "".join(f"{digest} {split}\n" for split, digest in parts)
    return hashlib.sha256(blob.encode()).hexdigest()


def _check_main_split(
    definition: Definition, path: Path, instances: Sequence[Instance]
) -> None:
    counts: dict[str, int] = dict.fromkeys(ORDER, 0)
    for instance in instances:
        counts[instance.split] += 1
    if counts[definition.main_split]:
        return
    there = ", ".join(f"{n} in {split}" for split, n in counts.items() if n) or "none"
    others = [split for split in ORDER if counts[split] and split != TRAIN]
    raise ScenarioError(
        f"{path}: no instance is in the main split {definition.main_split!r}; {there}.",
        f"Set main_split: {others[0]}." if others else "Look at split: in the file.",
    )


def _facts(
    definition: Definition, name: str, render: Callable[[str], str]
) -> ScenarioFacts:
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
        main_metric=definition.main_metric or next(iter(definition.metrics), ""),
        main_split=definition.main_split,
    )


def _digest(shape: dict[str, Any]) -> str:
    blob = msgspec.json.encode(shape, order="deterministic")
    return hashlib.sha256(blob).hexdigest()
