"""Adapter settings as users write them: checked, and put on top of a method's preset."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

import msgspec
from msgspec import Meta, structs

from helmsite.errors import ConfigError, suggest
from helmsite.schema import strict
from helmsite.schema.expressions import fault
from helmsite.schema.manifest import JOINT, AdapterSpec, Method
from helmsite.schema.presets import preset

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from helmsite.schema.protocols import LoadedScenario

HINT = "Adapter settings are listed in docs/adapters.md."
METHODS: tuple[Method, ...] = tuple(method for method in get_args(Method) if method)
WITH_NOUNS: tuple[Method, ...] = (
    "generation",
    "multiple_choice_joint",
    "multiple_choice_joint_chain_of_thought",
)
GENERATING: tuple[Method, ...] = (*WITH_NOUNS, "ranking_binary", "chat")
ARGUMENTS: dict[str, Any] = {
    "instructions": str,
    "input_noun": str | None,
    "output_noun": str | None,
    "newline_after_input_noun": bool,
    "newline_after_output_noun": bool,
}
PREFIXES = {"input": "input_prefix", "output": "output_prefix"}

_MOST = 2**31 - 1
_Positive = Annotated[int, Meta(ge=1, le=_MOST)]
_Natural = Annotated[int, Meta(ge=0, le=_MOST)]
_Split = Literal["train", "valid", "test"]
_LIMITS: dict[str, Any] = {
    "method": Literal[METHODS],
    "max_train_instances": _Natural,
    "max_eval_instances": _Positive | None,
    "num_outputs": _Positive,
    "num_train_trials": _Positive,
    "num_trials": _Positive,
    "temperature": Annotated[float, Meta(ge=0, le=sys.float_info.max)],
    "max_tokens": _Natural,
    "stop_sequences": tuple[Annotated[str, Meta(min_length=1)], ...],
    "eval_splits": Annotated[tuple[_Split, ...], Meta(min_length=1)] | None,
}
_PLAIN: dict[str, Any] = {f.name: f.type for f in structs.fields(AdapterSpec)}
AdapterSettings = msgspec.defstruct(
    "AdapterSettings",
    [(k, t, msgspec.UNSET) for k, t in {**_PLAIN, **ARGUMENTS, **_LIMITS}.items()],
    frozen=True,
)
"""What may be written: AdapterSpec's fields, tighter, and the arguments of a preset."""
NAMES = frozenset(f.name for f in structs.fields(AdapterSettings))


def check(
    settings: object,
    where: str | Callable[[str], str],
    problems: list[str],
    path: str = "adapter",
) -> None:
    """Add to `problems` all that is wrong with adapter settings by themselves.

    Unknown settings, wrong types, numbers out of range and regular expressions that
    are none; `where` and `path` as in `strict.read`.
    """
    strict.read(settings, AdapterSettings, where, problems, path)
    if isinstance(settings, dict):
        place = (lambda _: where) if isinstance(where, str) else where
        problems += [
            f"{place(f'{path}.{field}')}: '{path}.{field}': {what}."
            for field, what in _expressions(settings)
        ]


def _expressions(settings: dict[str, Any]) -> Iterator[tuple[str, str]]:
    pattern = settings.get("output_mapping_pattern")
    if isinstance(pattern, str) and (wrong := fault(pattern)):
        yield "output_mapping_pattern", f"{pattern!r} {wrong}"
    listed = settings.get("substitutions")
    for index, each in enumerate(listed if isinstance(listed, list) else []):
        at = f"substitutions[{index}]"
        source, target = (
            each.get(key) if isinstance(each, dict) else None
            for key in ("source", "target")
        )
        if not isinstance(source, str) or not isinstance(target, str):
            continue
        if wrong := fault(source):
            yield f"{at}.source", f"{source!r} {wrong}"
        elif wrong := fault(source, target):
            yield f"{at}.target", f"{target!r} {wrong}"


def from_text(name: str, value: Any) -> Any:
    """Return what a template's text stands for: '5' is a number where one is wanted.

    So is '["a", "b"]' a list where one is wanted.
    """
    kind = {**ARGUMENTS, **_PLAIN}.get(name, Any)
    for exact in (True, False):
        with suppress(msgspec.ValidationError):
            return msgspec.to_builtins(msgspec.convert(value, kind, strict=exact))
    if isinstance(value, str):
        with suppress(msgspec.DecodeError):
            return msgspec.to_builtins(msgspec.json.decode(value, type=kind))
    return value


def adapter_spec(
    settings: Mapping[str, Any], path: str = "adapter", base: AdapterSpec | None = None
) -> AdapterSpec:
    """Return an adapter spec with settings put on top.

    `base` is by default HELM's preset of the `method` among the settings. Instructions
    end with a line break, and nouns become prefixes, as in the presets.

    Raises:
        ConfigError: every setting that is wrong, at once.
    """
    problems: list[str] = []
    check(settings, "", problems, path)
    problems = [problem.removeprefix(": ") for problem in problems]
    if not problems and base is None and "method" not in settings:
        problems.append(f"'{path}.method' is missing.")
    if not problems:
        base = base or preset(settings["method"])
        problems = [f"'{path}.{k}': {what}" for k, what in _misfits(settings, base)]
    if problems or base is None:
        raise ConfigError(problems, HINT)
    plain = {k: v for k, v in settings.items() if k not in ARGUMENTS}
    arguments = {k: v for k, v in settings.items() if k in ARGUMENTS}
    return msgspec.convert(
        {**msgspec.to_builtins(base), **_said(base, arguments), **plain}, AdapterSpec
    )


def _misfits(
    settings: Mapping[str, Any], base: AdapterSpec
) -> Iterator[tuple[str, str]]:
    """Yield the settings that have no effect or no sense with the method."""
    for side, prefix in PREFIXES.items():
        noun, newline = f"{side}_noun", f"newline_after_{side}_noun"
        for name in (noun, newline):
            if name in settings and base.method not in WITH_NOUNS:
                yield name, f"{base.method} has no nouns; set {prefix!r}."
        if newline in settings and noun not in settings and base.method in WITH_NOUNS:
            yield newline, f"needs {noun!r} beside it."
    if settings.get("max_tokens") == 0 and base.method in GENERATING:
        yield "max_tokens", f"{base.method} needs 1 or more."


def _said(base: AdapterSpec, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the fields that a preset's arguments set."""
    method = base.method if base.method in WITH_NOUNS else "generation"
    made = preset(method, **arguments)
    fields: dict[str, Any] = {}
    if "instructions" in arguments:
        fields["instructions"] = made.instructions
    if "input_noun" in arguments:
        fields["input_prefix"] = made.input_prefix
        if method in JOINT:
            fields["input_suffix"] = made.input_suffix
    if "output_noun" in arguments:
        fields["output_prefix"] = made.output_prefix
    return fields


def override_adapter(
    scenario: LoadedScenario, overrides: Mapping[str, Any]
) -> AdapterSpec:
    """Return a scenario's adapter spec with a suite's settings put on top.

    Another `method` starts from what the scenario's file says for it, or else from the
    method's preset.

    Raises:
        ConfigError: every setting that is wrong, at once, or no instance is left.
    """
    base = scenario.adapter
    method = overrides.get("method", base.method)
    if method != base.method and method in METHODS:
        base = scenario.methods.get(method) or preset(method)
    spec = adapter_spec(overrides, base=base)
    there = {instance.split for instance in scenario.instances}
    splits = spec.eval_splits or ()
    if splits and there.isdisjoint(splits):
        known = ", ".join(sorted(there))
        raise ConfigError(
            [
                f"'adapter.eval_splits': no instance is in {', '.join(splits)}."
                f"{suggest(splits[0], there)}"
            ],
            f"The scenario's splits: {known}.",
        )
    return spec
