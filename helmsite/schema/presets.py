"""HELM's adapter presets: what a scenario gets when it only names a method."""

from __future__ import annotations

from helmsite.schema.manifest import JOINT, AdapterSpec, Method


def _prefix(noun: str | None, newline: bool) -> str:
    if noun is None:
        return ""
    return f"{noun}:\n" if newline else f"{noun}: "


def _instructions(text: str) -> str:
    return f"{text}\n" if text else text


def preset(
    method: Method,
    *,
    instructions: str = "",
    input_noun: str | None = None,
    output_noun: str | None = None,
    newline_after_input_noun: bool = False,
    newline_after_output_noun: bool = False,
) -> AdapterSpec:
    """Return HELM's adapter spec for a method (its get_*_adapter_spec functions).

    ranking_binary has half of the four examples that HELM's function names: an example
    is a query, and each of its documents makes a block.
    """
    if method == "generation":
        return AdapterSpec(
            method=method,
            instructions=_instructions(instructions),
            input_prefix=_prefix(input_noun, newline_after_input_noun),
            output_prefix=_prefix(output_noun, newline_after_output_noun),
            num_outputs=1,
            max_tokens=5,
            temperature=0.0,
            stop_sequences=("\n",),
        )
    if method in JOINT:
        return AdapterSpec(
            method=method,
            instructions=_instructions(instructions),
            input_prefix=_prefix(input_noun, newline_after_input_noun),
            input_suffix="" if input_noun is None else "\n",
            output_prefix=_prefix(output_noun, newline_after_output_noun),
            num_outputs=5,
            max_tokens=1,
            temperature=0.0,
            stop_sequences=("\n",),
        )
    if method == "ranking_binary":
        return AdapterSpec(
            method=method,
            instructions=_instructions(instructions),
            input_prefix="Query: ",
            reference_prefix="Passage: ",
            output_prefix="Does the passage answer the query?\nAnswer: ",
            max_train_instances=2,
            num_outputs=1,
            max_tokens=5,
            temperature=0.0,
        )
    if method == "chat":
        return AdapterSpec(
            method=method,
            instructions=_instructions(instructions),
            input_prefix="",
            output_prefix="",
            max_train_instances=0,
            num_outputs=1,
            max_tokens=2000,
            temperature=0.0,
        )
    separate = method.startswith("multiple_choice_separate")
    return AdapterSpec(
        method=method,
        input_prefix="",
        input_suffix="",
        output_prefix=" " if separate else "",
        output_suffix="",
        max_train_instances=0,
        num_outputs=1,
        max_tokens=0,
        temperature=0.0,
    )
