"""The adapter settings of a scenario file: whose method they are for, and templates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from helmsite.errors import ConfigError, suggest
from helmsite.schema import AdapterSpec, Method, adapter_spec
from helmsite.schema.adapting import ARGUMENTS, WITH_NOUNS, from_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from helmsite.scenarios.definition import Definition


def specs(
    definition: Definition, path: Path, method: str, render: Callable[[str], str]
) -> tuple[AdapterSpec, dict[str, AdapterSpec]]:
    """Return the adapter spec of a method ('' is the file's own), and those of all.

    Raises:
        ConfigError: the scenario is not made for that method, or a setting is wrong.
    """
    problems: list[str] = []
    found: dict[str, AdapterSpec] = {}
    chosen = _chosen(definition, method)
    own = definition.adapter["method"]
    for name in dict.fromkeys((chosen, own, *definition.methods)):
        settings = rendered(_settings(definition, name), render)
        where = "adapter" if name == own else f"methods.{name}"
        try:
            spec = adapter_spec(settings, where)
        except ConfigError as error:
            problems += [f"{path}: {p}" for p in error.problems]
            continue
        found.setdefault(spec.method, spec)
    if problems:
        hint = "docs/scenarios.md lists the adapter settings."
        raise ConfigError(problems, hint)
    return next(iter(found.values())), found


def _chosen(definition: Definition, method: str) -> str:
    own = definition.adapter["method"]
    known = [own, *definition.methods]
    if method and method not in known:
        raise ConfigError(
            [f"The scenario has no method {method!r}.{suggest(method, known)}"],
            f"It has {', '.join(known)}. Add others in its file under methods:.",
        )
    return method or str(own)


def _settings(definition: Definition, method: str) -> dict[str, Any]:
    """Return the settings for a method.

    Another method than the file's own keeps the instructions and nouns alone, if it has
    any: limits and prefixes that suit one method do not suit another.
    """
    own = definition.adapter
    if method == own["method"]:
        return dict(own)
    takes = ARGUMENTS if method in WITH_NOUNS else {}
    kept = {k: v for k, v in own.items() if k in takes}
    of_method: Mapping[Method, dict[str, Any]] = definition.methods
    chosen = next(v for k, v in of_method.items() if k == method)
    return {**kept, **chosen, "method": method}


def has_template(value: Any) -> bool:
    """Return whether a setting holds a text that a template may make."""
    if isinstance(value, dict):
        return any(has_template(v) for v in value.values())
    if isinstance(value, list):
        return any(has_template(v) for v in value)
    return isinstance(value, str) and "{" in value


def rendered(
    settings: Mapping[str, Any], render: Callable[[str], str]
) -> dict[str, Any]:
    """Return settings with every template rendered to what it stands for."""
    return {
        k: from_text(k, _rendered(v, render)) if has_template(v) else v
        for k, v in settings.items()
    }


def _rendered(value: Any, render: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return render(value)
    if isinstance(value, dict):
        return {k: _rendered(v, render) for k, v in value.items()}
    if isinstance(value, list):
        return [_rendered(v, render) for v in value]
    return value
