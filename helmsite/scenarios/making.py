"""Instances made: generated, by a loader, or out of rows by templates."""

from __future__ import annotations

import hashlib
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import structs

from helmsite.scenarios.definition import Place, Reading
from helmsite.scenarios.files import Files, plain
from helmsite.scenarios.generators import GENERATORS
from helmsite.scenarios.instances import (
    Maker,
    in_order,
    kept_rows,
    numbered,
    row_splits,
    skipped_rows,
)
from helmsite.scenarios.loaders import LOADERS
from helmsite.scenarios.sources import read_rows
from helmsite.schema import DataRevision, Instance, Record

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from helmsite.scenarios.definition import Definition, Where
    from helmsite.scenarios.generators import Generator
    from helmsite.scenarios.loaders import Loader
    from helmsite.scenarios.parameters import Value
    from helmsite.scenarios.store import Store

    Render = Callable[[str], str]

ENGINE = 1
SHAPING = (
    *("where", "split", "input", "references", "allow_no_correct"),
    *("sub_split", "attributes", "extra"),
)
OF_READING = ("format", "records", "columns", "delimiter", "quotes")


class Made(Record, frozen=True):
    """Instances, what data they came from, and what else shaped them.

    `notes` and `skipped` are shown with a run: what stood in for a file that is not
    there, and how many rows were left out for which reason.
    """

    instances: tuple[Instance, ...]
    data: DataRevision
    shape: dict[str, Any]
    skipped: dict[str, int] = {}
    notes: tuple[str, ...] = ()


def generated(name: str, values: dict[str, Value]) -> Made:
    """Return the instances that a generator computes."""
    generator: Generator = GENERATORS.load(name)
    version = f"{name}@{generator.version}"
    return Made(
        instances=numbered(generator.generate(**values)),
        data=DataRevision(generator=version),
        shape={"generator": version, "parameters": values},
    )


def loaded(
    definition: Definition, store: Store, values: dict[str, Value], render: Render
) -> Made:
    """Return the instances that a loader makes of a scenario's files.

    Raises:
        ScenarioError: a file is missing or not as the loader expects it.
    """
    found = all_places(definition, render)
    there = {name: of for name, of in found.items() if _wanted(of, store)}
    files = Files(there, store)
    loader: Loader = LOADERS.load(definition.loader)
    version = f"{definition.loader}@{loader.version}"
    instances = in_order(loader.load(files, **values))
    return Made(
        instances=instances,
        data=DataRevision(
            source=", ".join(_name(place) for of in there.values() for place in of),
            revision=", ".join(sorted(store.revisions)),
            sha256=_together(files.digests),
            generator=version,
        ),
        shape={
            "loader": version,
            "parameters": values,
            "source": _source_shape(definition, found),
        },
        skipped=dict(files.skipped),
        notes=tuple(files.notes),
    )


def read(
    definition: Definition, store: Store, values: dict[str, Value], render: Render
) -> Made:
    """Return the instances that templates make of the rows of a scenario's files.

    Raises:
        ScenarioError: a file is missing or damaged, or a row does not fit the templates.
    """
    found = all_places(definition, render)
    read = [
        (split, place, each.name, read_rows(each.path, place, each.name))
        for split, of in found.items()
        for place in of
        for each in store.files(place)
    ]
    rows = [row for *_, file in read for row in file.rows]
    kept, skipped = skipped_rows(
        kept_rows(rows, definition, values), definition, values
    )
    if definition.source.files:
        of_row = {id(row): split for split, _, _, file in read for row in file.rows}
        splits: list[str | None] = [of_row[id(row)] for row in kept]
    else:
        splits = row_splits(kept, definition, values)
    maker = Maker(definition, values)
    pairs = zip(kept, splits, strict=True)
    named = [
        ("/".join(filter(None, (split, name))), file.sha256)
        for split, _, name, file in read
    ]
    return Made(
        instances=numbered(maker.instance(row, split) for row, split in pairs if split),
        data=DataRevision(
            source=", ".join(_name(place) for of in found.values() for place in of),
            revision=", ".join(sorted(store.revisions)),
            sha256=_together(named),
        ),
        shape=_shape(definition, values, found),
        skipped=skipped,
    )


def all_places(definition: Definition, render: Render) -> dict[str, list[Place]]:
    """Return every place of a source by split or name, templates rendered.

    What the source says of reading goes for each place that does not say it itself.
    """
    source = definition.source
    usual = {f: getattr(source, f) for f in Reading.__struct_fields__}
    if source.files:
        listed: Mapping[str, Where] = source.files
    else:
        own = {f: getattr(source, f) for f in Place.__struct_fields__ if f in ORIGIN}
        paths = (source.path,) if isinstance(source.path, str) else source.path
        listed = {"": tuple(Place(path=path, **own) for path in paths)}
    found: dict[str, list[Place]] = {}
    for name, where in listed.items():
        places = where if isinstance(where, tuple) else (where,)
        made = (_rendered(each, usual, render) for each in places)
        found[name] = [place for place in made if place.path]
    return {name: of for name, of in found.items() if of}


ORIGIN = ("url", "hf", "sha256", "member", "size", "note")


def _rendered(where: str | Place, usual: Mapping[str, Any], render: Render) -> Place:
    place = Place(path=where) if isinstance(where, str) else where
    said = {n: v for n, v in usual.items() if getattr(place, n) in ("", (), None)}
    urls = (place.url,) if isinstance(place.url, str) else place.url
    hf = place.hf
    if hf is not None:
        names = {n: render(getattr(hf, n)) for n in ("file", "config", "split")}
        hf = structs.replace(hf, **names)
    return structs.replace(
        place,
        **said,
        path=render(place.path),
        url=tuple(map(render, urls)),
        member=render(place.member),
        hf=hf,
    )


def _wanted(of: Sequence[Place], store: Store) -> bool:
    return not any(p.optional and not store.can_have(p) for p in of)


def _name(place: Place) -> str:
    return PurePosixPath(place.path).name


def _shape(
    definition: Definition, values: dict[str, Value], places: dict[str, list[Place]]
) -> dict[str, Any]:
    """Return all of a definition that can change an instance, file names aside."""
    said = msgspec.to_builtins(definition)
    shape = {key: said[key] for key in SHAPING}
    if definition.skip:
        shape["skip"] = [rule.when for rule in definition.skip]
    if definition.id:
        shape["id"] = definition.id
    if definition.messages:
        shape["messages"] = definition.messages
    source = _source_shape(definition, places)
    return {**shape, "source": source, "parameters": values, "engine": ENGINE}


def _source_shape(
    definition: Definition, places: dict[str, list[Place]]
) -> dict[str, Any]:
    """Return how files are read; what single places say only where they say it."""
    said = msgspec.to_builtins(definition.source)
    shape = {name: said[name] for name in OF_READING}
    shape["quotes"] = definition.source.quotes is not False
    usual = plain(
        Place(path="", **{n: getattr(definition.source, n) for n in OF_READING})
    )
    of = {
        name: [plain(place) for place in listed]
        for name, listed in places.items()
        if any(plain(place) != usual for place in listed)
    }
    return {**shape, "places": of} if of else shape


def _together(parts: Sequence[tuple[str, str]]) -> str:
    """Return one digest for several files; a single one keeps its own."""
    if len(parts) == 1:
        return parts[0][1]
    blob = "".join(f"{digest} {name}\n" for name, digest in parts)
    return hashlib.sha256(blob.encode()).hexdigest()
