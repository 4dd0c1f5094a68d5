"""The adapter settings of a scenario: a method's preset and what is put on top."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args, get_type_hints

import msgspec

from helmsite.errors import ConfigError, suggest
from helmsite.schema import AdapterSpec, Method, preset, strict

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

ARGUMENTS = {
    "instructions": str,
    "input_noun": str | None,
    "output_noun": str | None,
    "newline_after_input_noun": bool,
    "newline_after_output_noun": bool,
}
METHODS = tuple(method for method in get_args(Method) if method)
FIELDS = get_type_hints(AdapterSpec)


def adapter_spec(settings: Mapping[str, Any]) -> AdapterSpec:
    """Return HELM's preset of a method with the other settings put on top.

    Raises:
        ConfigError: every setting of a wrong type at once.
    """
    method = settings.get("method", "")
    if method not in METHODS:
        known = ", ".join(METHODS)
        raise ConfigError(
            [f"unknown method {method!r}.{suggest(str(method), METHODS)}"],
            f"Known methods: {known}.",
        )
    problems: list[str] = []
    arguments = {k: v for k, v in settings.items() if k in ARGUMENTS}
    for name, value in arguments.items():
        try:
            msgspec.convert(value, ARGUMENTS[name])
        except msgspec.ValidationError as error:
            problems.append(f"{name!r}: {str(error)[0].lower()}{str(error)[1:]}.")
    changes = {
        k: _typed(v, FIELDS[k])
        for k, v in settings.items()
        if k in FIELDS and k not in ARGUMENTS
    }
    blank = {**msgspec.to_builtins(AdapterSpec()), **changes}
    faults: list[str] = []
    strict.read(blank, AdapterSpec, "", faults)
    problems += [fault.removeprefix(": ") for fault in faults]
    if problems:
        raise ConfigError(problems, "docs/scenarios.md lists the adapter settings.")
    base = msgspec.to_builtins(preset(method, **arguments))
    return msgspec.convert({**base, **changes}, AdapterSpec)


def _typed(value: Any, kind: Any) -> Any:
    """Return what a template's text stands for: '5' is a number where one is wanted."""
    if not isinstance(value, str):
        return value
    try:
        return msgspec.convert(value, kind, strict=False)
    except msgspec.ValidationError:
        return value


def settings_for(
    adapter: Mapping[str, Any], methods: Mapping[Method, dict[str, Any]], method: str
) -> dict[str, Any]:
    """Return the settings for a method that the run entry chose; '' keeps the own one.

    Another method keeps the instructions and nouns alone: limits and prefixes that suit
    one method do not suit another.

    Raises:
        ConfigError: the scenario is not made for that method.
    """
    own = adapter["method"]
    if method in ("", own):
        return dict(adapter)
    chosen = next((v for k, v in methods.items() if k == method), None)
    if chosen is None:
        known = [own, *methods]
        raise ConfigError(
            [f"The scenario has no method {method!r}.{suggest(method, known)}"],
            f"It has {', '.join(known)}. Add others in its file under methods:.",
        )
    kept = {k: v for k, v in adapter.items() if k in ARGUMENTS}
    return {**kept, **chosen, "method": method}


def rendered(value: Any, render: Callable[[str], str]) -> Any:
    """Return settings with every text in them rendered."""
    if isinstance(value, str):
        return render(value)
    if isinstance(value, dict):
        return {k: rendered(v, render) for k, v in value.items()}
    if isinstance(value, list):
        return [rendered(v, render) for v in value]
    return value
