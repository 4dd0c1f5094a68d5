"""YAML as all files of a project use it: plain, without surprises, with line numbers."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import yaml

from helmsite.errors import ConfigError
from helmsite.schema import textfile

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_Base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
PLAIN = {
    "tag:yaml.org,2002:bool": (r"^(?:true|false|True|False)$", "tfTF"),
    "tag:yaml.org,2002:int": (r"^[-+]?[0-9]+$", "-+0123456789"),
    "tag:yaml.org,2002:float": (
        r"^[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+)(?:[eE][-+]?[0-9]+)?$",
        "-+0123456789.",
    ),
    "tag:yaml.org,2002:null": (r"^(?:~|null|Null|)$", ["~", "n", "N", ""]),
}


class _Loader(_Base):  # type: ignore[misc]
    """YAML 1.2's plain values: `no` and `yes` are text, so are dates and `1:30`."""

    yaml_implicit_resolvers: dict[str, Any] = {}

    def construct_yaml_int(self, node: Any) -> int:
        return int(self.construct_scalar(node))

    def construct_yaml_float(self, node: Any) -> float:
        return float(self.construct_scalar(node))


for _tag, (_pattern, _first) in PLAIN.items():
    _Loader.add_implicit_resolver(_tag, re.compile(_pattern), list(_first))
_Loader.add_constructor("tag:yaml.org,2002:int", _Loader.construct_yaml_int)
_Loader.add_constructor("tag:yaml.org,2002:float", _Loader.construct_yaml_float)


@dataclass(frozen=True)
class Document:
    """A file's data, and the line of each field, keyed `a.b[0].c`."""

    path: Path
    data: Any
    lines: dict[str, int] = field(default_factory=dict)

    def place(self, name: str) -> str:
        """Return `file:line` of a field; of one that is missing, of what it is in."""
        while name and name not in self.lines:
            name = re.sub(r"(^|\.)[^.\[]*$|\[[^\[]*$", "", name)
        return f"{self.path}:{self.lines.get(name, 1)}"


def read(path: Path) -> Document:
    """Return what a file says.

    Raises:
        ConfigError: no such file, not UTF-8, not YAML, a repeated key or an alias.
    """
    loader = None
    try:
        loader = _Loader(textfile.read(path))
        node = loader.get_single_node()
        lines: dict[str, int] = {}
        problems = list(_walk(node, "", lines, set())) if node else []
        if problems:
            raise ConfigError([f"{path}:{p}" for p in problems], "Correct the file.")
        return Document(path, loader.construct_document(node) if node else None, lines)
    except (yaml.YAMLError, RecursionError) as error:
        raise _malformed(path, error) from error
    finally:
        if loader is not None:
            loader.dispose()


def _walk(node: Any, path: str, lines: dict[str, int], seen: set[int]) -> Iterator[str]:
    line = node.start_mark.line + 1
    lines.setdefault(path, line)
    if id(node) in seen:
        yield f"{line}: anchors and aliases (& and *) are not used in these files."
        return
    seen.add(id(node))
    if isinstance(node, yaml.MappingNode):
        first: dict[str, int] = {}
        for key, value in node.value:
            name, at = str(key.value), key.start_mark.line + 1
            if name in first:
                yield f"{at}: the key {name!r} is already on line {first[name]}."
            first.setdefault(name, at)
            inner = f"{path}.{name}" if path else name
            lines.setdefault(inner, at)
            yield from _walk(value, inner, lines, seen)
    elif isinstance(node, yaml.SequenceNode):
        for index, value in enumerate(node.value):
            yield from _walk(value, f"{path}[{index}]", lines, seen)


def _malformed(path: Path, error: Exception) -> ConfigError:
    mark = getattr(error, "problem_mark", None)
    place = f"{path}:{mark.line + 1}" if mark else f"{path}"
    what = getattr(error, "problem", None) or str(error).splitlines()[0]
    return ConfigError(
        [f"{place}: not valid YAML: {what}."],
        "Put texts with ': ' or a leading '{', '[', '%' or '@' in quotes.",
    )
