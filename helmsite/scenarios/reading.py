"""Scenario files read into definitions, with every problem of a file at once."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import structs

from helmsite.errors import ConfigError, ScenarioError, suggest
from helmsite.scenarios import parameters
from helmsite.scenarios.adapter import has_template
from helmsite.scenarios.definition import (
    Definition,
    ReferenceForm,
    References,
    ScenarioFile,
    Source,
    SplitRule,
)
from helmsite.scenarios.generators import GENERATORS
from helmsite.scenarios.loaders import LOADERS
from helmsite.scenarios.sandbox import Sandbox
from helmsite.scenarios.splits import ORDER
from helmsite.scenarios.templates import PARAMETERS, Template
from helmsite.schema import adapting, strict, yamlfile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from helmsite.scenarios.definition import Hub, Where

HINT = "docs/scenarios.md lists every key."
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
OF_SOURCES = (
    *("where", "skip", "split", "id", "input", "messages", "references"),
    *("allow_no_correct", "sub_split", "attributes", "extra"),
)
SUM_TOLERANCE = 1e-9
Problem = tuple[str, str]


def read_file(path: Path) -> ScenarioFile:
    """Return a scenario file, read and checked.

    Raises:
        ConfigError: with every problem of the file, each with its line.
    """
    try:
        stat = path.stat()
    except OSError:
        return _read_file.__wrapped__(path, 0, 0)
    return _read_file(path, stat.st_mtime_ns, stat.st_size)


@lru_cache(maxsize=1000)
def _read_file(path: Path, _changed: int, _size: int) -> ScenarioFile:
    """Return a scenario file; a suite asks for the same one many times."""
    document = yamlfile.read(path)
    data = document.data
    if data is None:
        raise ConfigError([f"{path}: the file is empty."], HINT)

    def place(field: str) -> str:
        return document.place(_as_written(field))

    problems: list[str] = []
    definition = strict.read(_uniform(data), Definition, place, problems)
    problems = [_as_written(problem) for problem in problems]
    if definition is not None:
        problems += [
            f"{place(field)}: '{field}': {what}"
            for field, what in _problems(definition, tuple(data))
        ]
        for field, settings in _adapters(definition):
            adapting.check(settings, place, problems, field)
        if not problems:
            _variants(definition, tuple(data), place, problems)
    if problems or definition is None:
        raise ConfigError(problems, HINT)
    return ScenarioFile(path, definition, tuple(data))


def variant(found: Definition, values: Mapping[str, Any]) -> Definition:
    """Return what a definition says for given parameters: its variants put on top."""
    for name, of in found.variants.items():
        said = of.get(parameters.written(values[name]))
        if said:
            found = _merged(found, said)
    return found


def _merged(found: Definition, said: Mapping[str, Any]) -> Definition:
    """Return a definition with other keys; tables are merged, all else is replaced."""
    data = msgspec.to_builtins(found)
    for key, value in _uniform(dict(said)).items():
        both = isinstance(value, dict) and isinstance(data.get(key), dict)
        data[key] = {**data[key], **value} if both else value
    return msgspec.convert(data, Definition)


def _variants(
    found: Definition,
    keys: tuple[str, ...],
    place: Callable[[str], str],
    problems: list[str],
) -> None:
    for name, of in found.variants.items():
        known = found.parameters.get(name)
        if known is None:
            near = suggest(name, found.parameters)
            at = f"variants.{name}"
            problems.append(f"{place(at)}: '{at}': no such parameter.{near}")
            continue
        values = {parameters.written(value) for value in known.values}
        for value, said in of.items():
            at = f"variants.{name}.{value}"
            problems += [
                f"{place(at)}: '{at}': {what}"
                for what in _faults(found, keys, said, value, values)
            ]


def _left_to_variants(found: Definition, key: str) -> bool:
    """Return whether each value of a parameter brings its own of a key."""
    return any(
        of and all(key in of.get(parameters.written(v), {}) for v in known.values)
        for name, of in found.variants.items()
        if (known := found.parameters.get(name)) and known.values
    )


def _faults(
    found: Definition,
    keys: tuple[str, ...],
    said: Mapping[str, Any],
    value: str,
    values: set[str],
) -> Iterator[str]:
    if values and value not in values:
        yield f"is no value of the parameter.{suggest(value, values)}"
    fixed = sorted(set(said) & {"name", "parameters", "variants"})
    if fixed:
        yield f"{fixed[0]!r} is the same for all variants."
        return
    try:
        made = _merged(found, said)
    except msgspec.ValidationError as error:
        yield f"{error}."
        return
    made = structs.replace(made, variants={})
    for field, what in _problems(made, (*keys, *said)):
        yield f"{field}: {what}"
    more: list[str] = []
    for field, settings in _adapters(made):
        adapting.check(settings, lambda _: "", more, field)
    yield from (problem.removeprefix(": ") for problem in more)


def _uniform(data: Any) -> Any:
    """Return the data with the short forms of keys written out."""
    if not isinstance(data, dict):
        return data
    data = dict(data)
    if isinstance(data.get("split"), str):
        data["split"] = {"all": data["split"]}
    if isinstance(data.get("references"), list):
        data["references"] = {"items": data["references"]}
    return data


def _as_written(text: str) -> str:
    """Return a field's path, or a problem with it, in the short form of the keys."""
    text = re.sub(r"(?<![\w./])references\.items\b", "references", text)
    return re.sub(r"(?<![\w./])split\.all\b", "split", text)


def _problems(found: Definition, keys: tuple[str, ...]) -> Iterator[Problem]:
    if not NAME.fullmatch(found.name):
        yield "name", "may have letters, digits and _ - . only."
    for name, parameter in found.parameters.items():
        if not re.fullmatch(r"[A-Za-z_]\w*", name):
            yield f"parameters.{name}", "a parameter's name is like a variable's."
        for problem in parameters.check(name, parameter):
            yield f"parameters.{name}", f"{problem}."
    if "method" not in found.adapter:
        yield "adapter", "'method' is missing."
    if not _left_to_variants(found, "source"):
        yield from _origin(found, keys)
    yield from _split(found.split)
    yield from _references(found.references)
    yield from _templates(found)


def _adapters(found: Definition) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the adapter settings that are known before templates are rendered."""
    methods = {f"methods.{method}": said for method, said in found.methods.items()}
    for field, settings in {"adapter": found.adapter, **methods}.items():
        yield (
            field,
            {
                name: value
                for name, value in settings.items()
                if name not in adapting.NAMES or not has_template(value)
            },
        )


def _one_of(names: Iterable[str]) -> str:
    return f" Possible: {', '.join(names)}."


def _origin(found: Definition, keys: tuple[str, ...]) -> Iterator[Problem]:
    if ("source" in keys) == ("generator" in keys):
        yield "name", "give the scenario either 'source' or 'generator'."
    elif "generator" in keys:
        known = GENERATORS.table()
        if found.generator not in known:
            near = suggest(found.generator, known) or _one_of(known)
            yield "generator", f"unknown: {found.generator!r}.{near}"
        for key in OF_SOURCES:
            if key in keys:
                yield key, "does not go together with 'generator'."
    elif "loader" in keys:
        yield from _loader(found, keys)
    else:
        yield from _source(found.source, keys)
        if "input" not in keys:
            yield "name", "'input' is missing: a template of what a model is asked."


def _loader(found: Definition, keys: tuple[str, ...]) -> Iterator[Problem]:
    known = LOADERS.table()
    if found.loader not in known:
        near = suggest(found.loader, known) or _one_of(known)
        yield "loader", f"unknown: {found.loader!r}.{near}"
    for key in OF_SOURCES:
        if key in keys:
            yield key, "does not go together with 'loader'."
    if found.source.path or not found.source.files:
        yield "source", "give it 'files', by the names that the loader asks for."


def _source(source: Source, keys: tuple[str, ...]) -> Iterator[Problem]:
    if bool(source.path) == bool(source.files):
        yield "source", "give it either 'path' or 'files'."
    for name in source.files:
        if name not in ORDER:
            yield f"source.files.{name}", f"is no split.{_one_of(ORDER)}"
    if source.files and "split" in keys:
        yield (
            "split",
            "does not go together with 'source.files', which says it already.",
        )
    if len(source.delimiter) > 1:
        yield "source.delimiter", "must be one character."


def _split(rule: SplitRule) -> Iterator[Problem]:
    forms = {
        "column": bool(rule.column),
        "first": bool(rule.first),
        "shares": bool(rule.shares),
        "all": rule.all is not None,
    }
    if sum(forms.values()) > 1:
        yield "split", "give it one of 'column', 'first' and 'shares'."
    if rule.map and not rule.column:
        yield "split.map", "needs 'column' beside it."
    if rule.first and rule.rest is None:
        yield "split", "'rest' is missing: the split of the rows after the first."
    if rule.rest is not None and not rule.first:
        yield "split.rest", "needs 'first' beside it."
    for split, size in rule.first.items():
        if size < 0 or (size >= 1 and size != int(size)):
            yield f"split.first.{split}", "must be a number of rows or a share below 1."
    if rule.by and not rule.shares:
        yield "split.by", "needs 'shares' beside it."
    if rule.shares and abs(sum(rule.shares.values()) - 1) > SUM_TOLERANCE:
        yield "split.shares", f"must add up to 1, not {sum(rule.shares.values()):g}."
    if any(share < 0 for share in rule.shares.values()):
        yield "split.shares", "must not be negative."


def _references(form: References) -> Iterator[Problem]:
    used = [bool(form.choices), bool(form.correct), bool(form.items)]
    if sum(used) > 1:
        yield "references", "give it one of 'choices', 'correct' and a list."
    for name in ("answer", "answer_is"):
        if form.choices and not getattr(form, name):
            yield "references", f"'{name}' is missing beside 'choices'."
        if getattr(form, name) and not form.choices:
            yield f"references.{name}", "needs 'choices' beside it."
    if form.incorrect and not form.correct:
        yield "references.incorrect", "needs 'correct' beside it."


def _templates(found: Definition) -> Iterator[Problem]:
    sandbox = Sandbox()
    for field, text, free in template_texts(found):
        try:
            template = Template(text, sandbox)
        except ScenarioError as error:
            yield field, error.message
            continue
        for name in sorted(template.parameters - set(found.parameters)):
            near = suggest(name, found.parameters)
            yield field, f"there is no parameter {name!r}.{near}"
        others = sorted(template.names - {PARAMETERS})
        if not free and others:
            yield field, f"can use parameters.NAME only, not {others[0]!r}."
        if field in ("where", "split.by", "skip") and not template.is_expression:
            yield field, "must be one {{ expression }}."


def template_texts(found: Definition) -> Iterator[tuple[str, str, bool]]:
    """Yield every template: its field, its text, and whether it sees a row."""
    fixed: dict[str, Any] = {
        "title": found.title,
        "caution": found.caution,
        "groups": found.groups,
        "metrics": found.metrics,
        "main_metric": found.main_metric,
        "source.path": found.source.path,
        "source.url": found.source.url,
        "source.member": found.source.member,
        "source.hf": _of_hub(found.source.hf),
        **{f"source.files.{k}": _paths(v) for k, v in found.source.files.items()},
        **{f"adapter.{k}": v for k, v in found.adapter.items()},
        **{
            f"methods.{m}.{k}": v
            for m, a in found.methods.items()
            for k, v in a.items()
        },
    }
    for field, value in fixed.items():
        yield from ((at, text, False) for at, text in _each(field, value))
    refs = found.references
    by_row: dict[str, Any] = {
        "where": found.where,
        "skip": tuple(rule.when for rule in found.skip),
        "split.by": found.split.by,
        "id": found.id,
        "input": found.input,
        "messages": found.messages,
        "references.choices": refs.choices,
        "references.answer": refs.answer,
        "references.correct": refs.correct,
        "references.incorrect": refs.incorrect,
        "sub_split": found.sub_split,
        **{f"attributes.{k}": v for k, v in found.attributes.items()},
        **{f"extra.{k}": v for k, v in found.extra.items()},
    }
    for index, form in enumerate(refs.items):
        by_row |= _of_reference(f"references[{index}]", form)
    for field, value in by_row.items():
        yield from ((at, text, True) for at, text in _each(field, value))


def _paths(place: Where) -> tuple[str, ...]:
    """Return the templates of a place, or of several."""
    if isinstance(place, str):
        return (place,)
    if isinstance(place, tuple):
        return tuple(text for each in place for text in _paths(each))
    urls = (place.url,) if isinstance(place.url, str) else place.url
    return (place.path, place.member, *urls, *_of_hub(place.hf))


def _of_hub(hf: Hub | None) -> tuple[str, ...]:
    return (hf.file, hf.config, hf.split) if hf else ()


def _of_reference(field: str, form: ReferenceForm) -> dict[str, Any]:
    names = ("text", "correct", "tags", "when")
    return {f"{field}.{name}": getattr(form, name) for name in names}


def _each(field: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        if value:
            yield field, value
    elif isinstance(value, (tuple, list)):
        for index, text in enumerate(value):
            if isinstance(text, str):
                yield f"{field}[{index}]", text
