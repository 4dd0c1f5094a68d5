"""Parameters of scenarios: `dyck_language:num_parenthesis_pairs=3`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from helmsite.errors import ConfigError, suggest
from helmsite.schema import parse_entry
from helmsite.schema.scenario_names import format_entry

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from helmsite.scenarios.definition import Definition, Parameter

Value = str | int | float | bool
BOOLEANS = {"true": True, "false": False}
RESERVED = {
    "method": "method is an adapter setting",
    "model": "models are named in the suite",
    "max_train_instances": "max_train_instances is an adapter setting",
    "num_train_trials": "num_train_trials is an adapter setting",
    "max_eval_instances": "max_eval_instances is an adapter setting",
    "data_augmentation": "perturbations are chosen in the run entry of a suite",
}
SHOWN = 12
"""Possible values that a message names; of more, the first ones and a count."""


def resolve(definition: Definition, given: Mapping[str, str]) -> dict[str, Value]:
    """Return the value of every parameter, in the order of the definition.

    Raises:
        ConfigError: every unknown, missing or impossible parameter at once.
    """
    known = definition.parameters
    problems = [
        f"Scenario {definition.name!r} has no parameter {name!r}{_elsewhere(name)}."
        f"{suggest(name, known)}"
        for name in given
        if name not in known
    ]
    values: dict[str, Value] = {}
    for name, parameter in known.items():
        try:
            values[name] = _one(name, parameter, given.get(name))
        except ValueError as error:
            problems.append(f"Scenario {definition.name!r}: {error}")
    if problems:
        raise ConfigError(problems, _usage(definition))
    return values


def entry(name: str, values: Mapping[str, Value]) -> str:
    """Return the canonical run entry of a scenario and its parameters."""
    return format_entry(name, {k: written(v) for k, v in values.items()})


def canonical(definition: Definition, values: Mapping[str, Value]) -> str:
    """Return the name of a scenario with its parameters, in the form of HELM's run names.

    A switch that is off, as it is by default, is left out: boolq, not
    boolq:only_contrast=False. So is what shapes no instance and has its default:
    code:dataset=apps, not code:dataset=apps,timeout=3.
    """
    usual = {
        name: parameter.default
        for name, parameter in definition.parameters.items()
        if parameter.default is False or parameter.shapes == "run"
    }
    said = {n: v for n, v in values.items() if n not in usual or v != usual[n]}
    return entry(definition.name, said)


def written(value: Value) -> str:
    """Return a parameter's value as a run entry has it: True and False as in HELM."""
    return str(value)


def check(name: str, parameter: Parameter) -> Iterator[str]:
    """Yield what is wrong with the definition of a parameter."""
    listed = [*parameter.values]
    if parameter.default is not None:
        listed.append(parameter.default)
    for value in listed:
        if not _fits(value, parameter):
            yield f"{value!r} is not of the type {parameter.type!r}"
        elif not _survives(name, written(value)):
            yield f"{value!r} cannot stand in a run entry (',' followed by '=')"
    bounds = parameter.minimum is not None or parameter.maximum is not None
    if bounds and parameter.type not in ("integer", "number"):
        yield "minimum and maximum are for the types integer and number"
    if parameter.default is not None and _refusal(parameter.default, parameter):
        yield f"the default {_refusal(parameter.default, parameter)}"


def example(definition: Definition) -> dict[str, Value]:
    """Return parameters that work, where a default or a first possible value tells."""
    return {
        name: _first(name, parameter)
        for name, parameter in definition.parameters.items()
        if parameter.default is None
    }


def _first(name: str, parameter: Parameter) -> Value:
    if parameter.values:
        return parameter.values[0]
    if parameter.minimum is None:
        return f"<{name}>"
    if parameter.type == "integer":
        return math.ceil(parameter.minimum)
    return parameter.minimum


def _one(name: str, parameter: Parameter, text: str | None) -> Value:
    if text is None:
        if parameter.default is None:
            raise ValueError(f"the parameter {name!r} must be given.")
        text = written(parameter.default)  # read as if it were given: 1 is 1.0
    value = _parse(name, parameter, text)
    refusal = _refusal(value, parameter)
    if refusal:
        near = suggest(text, [written(v) for v in parameter.values])
        raise ValueError(f"{name}={text} {refusal}.{near}")
    return value


def _parse(name: str, parameter: Parameter, text: str) -> Value:
    if parameter.type == "string":
        return text
    try:
        if parameter.type == "boolean":
            return BOOLEANS[text.lower()]
        if parameter.type == "integer":
            return int(text)
        number = float(text)
    except (KeyError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        what = {"boolean": "True or False", "integer": "a whole number"}
        raise ValueError(
            f"{name}={text} must be {what.get(parameter.type, 'a number')}."
        )
    return number


def _refusal(value: Value, parameter: Parameter) -> str:
    if parameter.values and value not in parameter.values:
        return f"is none of {_listed(parameter, ', ')}"
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        if parameter.minimum is not None and value < parameter.minimum:
            return f"is below the minimum of {parameter.minimum:g}"
        if parameter.maximum is not None and value > parameter.maximum:
            return f"is above the maximum of {parameter.maximum:g}"
    return ""


def _fits(value: Value, parameter: Parameter) -> bool:
    if parameter.type == "boolean":
        return isinstance(value, bool)
    if isinstance(value, bool):
        return False
    kinds = {"string": str, "integer": int, "number": (int, float)}
    return isinstance(value, kinds[parameter.type])  # type: ignore[arg-type]


def _survives(name: str, text: str) -> bool:
    return parse_entry(format_entry("x", {name: text}))[1] == {name: text}


def _elsewhere(name: str) -> str:
    return f" ({RESERVED[name]})" if name in RESERVED else ""


def _usage(definition: Definition) -> str:
    if not definition.parameters:
        return f"Write just {definition.name}: it has no parameters."
    known = {
        name: _listed(p, "|") or f"<{p.type}>"
        for name, p in definition.parameters.items()
    }
    return f"Write it as {format_entry(definition.name, known)}"


def _listed(parameter: Parameter, between: str) -> str:
    """Return the values that a parameter can have, the first ones if they are many."""
    values = [written(value) for value in parameter.values]
    if len(values) > SHOWN:
        few = SHOWN // 3
        values[few:] = [f"... ({len(values)})"]
    return between.join(values)
