"""A perturbation with its parameters: named, described, applied to instances."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from functools import cached_property
from random import Random
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import structs

from helmsite.errors import ConfigError, suggest
from helmsite.perturbations.contrast import CONTRAST
from helmsite.perturbations.kinds import KINDS, Kind
from helmsite.schema import PerturbationFacts, Record

if TYPE_CHECKING:
    from collections.abc import Iterator

    from helmsite.perturbations.kinds import Rewrite
    from helmsite.perturbations.wordlists import WordLists
    from helmsite.schema import Instance

_CALL = re.compile(r"\s*([\w-]+)\s*(?:\((.*)\))?\s*", re.DOTALL)
_ARGUMENT = re.compile(
    r'\s*(\w+)\s*=\s*("(?:[^"\\]|\\.)*"\s*|[^,"]*)(?:,|$)', re.DOTALL
)
_BARE = re.compile(r"[^\s,()~\"](?:[^,()~\"\n]*[^\s,()~\"])?")
_NONE = {"None": None}
HINT = "Write it as name(parameter=value), for example typos(prob=0.05)."


@dataclass(frozen=True)
class Perturbation:
    """One perturbation, such as `misspellings(prob=0.2)`.

    `name` is canonical: parameters in the order of their declaration, defaults left out.
    No word list is read before `identity` or `apply` is.
    """

    name: str
    kind: Kind
    parameters: Record
    words: WordLists = field(repr=False, compare=False)

    def facts_of(self, seed: int = 0) -> PerturbationFacts:
        """Return what the versions of a seed are, and whose worst case they join."""
        values = {k: _written(v) for k, v in structs.asdict(self.parameters).items()}
        return PerturbationFacts(
            name=seeded(self.name, seed),
            title=seeded(self.kind.title.format(**values), seed),
            description=self.kind.description.format(**values),
            robustness=self.kind.robustness,
            fairness=self.kind.fairness,
            version=self.kind.version,
        )

    def identity_of(self, seed: int = 0) -> str:
        """Return what tells its texts from those of another version or word list.

        It is the name, then after '#' the version (from 2 on) and the first 8 hex digits
        of each word list's SHA-256: `mild_mix#0f1e2d3c+4b5a6978`.

        Raises:
            ConfigError: a word list is missing.
        """
        version = [f"v{self.kind.version}"] if self.kind.version > 1 else []
        parts = version + [self.words.digest(name) for name in self.kind.lists]
        name = seeded(self.name, seed)
        return f"{name}#{'+'.join(parts)}" if parts else name

    def seeds(self, wanted: int) -> range:
        """Return the seeds of which it makes versions, of those wanted."""
        return range(wanted if self.kind.seeded else min(wanted, 1))

    def apply(self, instance: Instance, seed: int = 0) -> Instance:
        """Return the perturbed version of an original instance.

        The random stream is that of the instance's id with the seed before it (none for
        0), as in HELM. Contrast sets stay with the original.
        """
        rng = Random(f"{seed or ''}{instance.instance_id}")
        extra = {k: v for k, v in instance.extra.items() if k != CONTRAST}
        made = self._rewrite(instance, rng)
        return structs.replace(made, perturbation=seeded(self.name, seed), extra=extra)

    @cached_property
    def _rewrite(self) -> Rewrite:
        lists = [self.words[name] for name in self.kind.lists]
        return self.kind.make(self.parameters, *lists)


def seeded(name: str, seed: int) -> str:
    """Return a name with its seed: `typos(prob=0.1)~1`; 0 is left out."""
    return f"{name}~{seed}" if seed else name


def parse(name: str, words: WordLists) -> Perturbation:
    """Return the perturbation that a name describes.

    Raises:
        ConfigError: an unknown perturbation or parameter, a value that does not fit, or a
            parameter that is missing.
    """
    called = _CALL.fullmatch(name)
    if not called:
        raise _unreadable(name, "it is no name(parameter=value)")
    kind: Kind = KINDS.load(called[1])
    known = structs.fields(kind.parameters)
    given = dict(_arguments(name, called[2] or ""))
    for parameter in given:
        if parameter not in {f.name for f in known}:
            near = suggest(parameter, [f.name for f in known])
            raise _unreadable(name, f"it has no parameter {parameter!r}.{near}")
    try:
        parameters = msgspec.convert(given, kind.parameters, strict=False)
    except msgspec.ValidationError as error:
        reason = str(error).replace("Object missing required field", "it needs")
        raise _unreadable(name, reason) from error
    shown = [
        f"{f.name}={_argument(getattr(parameters, f.name))}"
        for f in known
        if f.required or getattr(parameters, f.name) != f.default
    ]
    canonical = f"{called[1]}({','.join(shown)})" if shown else called[1]
    return Perturbation(canonical, kind, parameters, words)


def _arguments(name: str, text: str) -> Iterator[tuple[str, Any]]:
    position = 0
    while text[position:].strip():
        found = _ARGUMENT.match(text, position)
        if not found:
            raise _unreadable(name, f"{text[position:]!r} is no parameter=value")
        value = found[2].strip()
        try:
            quoted = value.startswith('"')
            read = json.loads(value) if quoted else _NONE.get(value, value)
        except ValueError as error:
            raise _unreadable(name, f"{value} is no quoted text") from error
        yield found[1], read
        position = found.end()


def _argument(value: object) -> str:
    written = _written(value)
    if isinstance(value, str) and not (
        _BARE.fullmatch(written) and written not in _NONE
    ):
        return json.dumps(written, ensure_ascii=False)
    return written


def _written(value: object) -> str:
    return value if isinstance(value, str) else repr(value)


def _unreadable(name: str, reason: str) -> ConfigError:
    reason = reason.rstrip(".")
    return ConfigError([f"Cannot read the perturbation {name!r}: {reason}."], HINT)
