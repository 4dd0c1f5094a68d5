"""HELM's run expanders: what `stop=hash` in a run entry or a model's card does to a spec.

Those that change the adapter spec are all here, under HELM's names and with the values
that HELM knows. Others (model, data_augmentation, ...) concern what else a run is.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from msgspec import structs

from helmsite.errors import ConfigError, suggest
from helmsite.schema import adapting
from helmsite.schema.format_instructions import (
    EXAMPLES_FOLLOW,
    KEEP_THE_FORMAT,
    format_instructions,
)
from helmsite.schema.manifest import AdapterSpec, Substitution

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Value = str | int | float
Changes = dict[str, Any]

EXPERT = "I am an expert AI assistant who is here to help you with the following. "
NOVA = "Do not provide any additional explanation. Follow the format shown in the provided examples strictly."
INSTRUCTED = "INSTRUCTION_FOLLOWING_MODEL_TAG"
USER, ASSISTANT, TURN_ENDS = (
    "<|im_start|>user\n",
    "<|im_start|>assistant\n",
    "<|im_end|>",
)

PROMPTS: dict[str, Changes] = {
    "human_assistant": {
        "input_prefix": 'Human: What is the answer to "',
        "input_suffix": '"?\n',
        "output_prefix": 'Assistant: The answer is "',
        "output_suffix": '".\n',
        "stop_sequences": ('".',),
    },
    "question_answer": {"input_prefix": "Question: ", "output_prefix": "Answer: "},
    "qa": {"input_prefix": "Q: ", "output_prefix": "A: "},
    "input_output_html": {
        "input_prefix": "<input>",
        "input_suffix": "</input>\n",
        "output_prefix": "<output>",
        "output_suffix": "</output>\n",
    },
    "input_output": {"input_prefix": "Input: ", "output_prefix": "Output: "},
    "i_o": {"input_prefix": "I: ", "output_prefix": "O: "},
}
NEWLINES: dict[str, Changes] = {
    name: {"substitutions": (Substitution("\n", f"{mark}\n"),)}
    for name, mark in (("semicolon", ";"), ("br", "<br>"))
}
STOPS: dict[str, Changes] = {
    "none": {"stop_sequences": ()},
    **{
        name: {"instance_prefix": f"{mark}\n\n", "stop_sequences": (mark,)}
        for name, mark in (("hash", "###"), ("semicolon", ";"), ("br", "<br>"))
    },
}
SPLITS: dict[str, Changes] = {n: {"eval_splits": (n,)} for n in ("test", "valid")}


class About(NamedTuple):
    """What an expander may look at besides the spec: the scenario, the model's tags."""

    scenario: str = ""
    tags: tuple[str, ...] = ()


class Expansion(NamedTuple):
    """A spec that an expander made, and what HELM adds to the run's name for it."""

    adapter: AdapterSpec
    label: str


@dataclass(frozen=True)
class Expander:
    """How a value changes a spec.

    `known` are the only values, if given; `sweeps` are names for several values, each of
    which makes a run. Not all are `labelled` in the name of the run.
    """

    change: Callable[[AdapterSpec, Value, About], Changes]
    known: tuple[str, ...] = ()
    sweeps: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    labelled: bool = True


def _table(values: Mapping[str, Changes]) -> Expander:
    return Expander(lambda _spec, value, _about: values[str(value)], tuple(values))


def _field(name: str, **sweeps: tuple[int, ...]) -> Expander:
    return Expander(lambda _spec, value, _about: {name: value}, sweeps=sweeps)


def _silent(change: Callable[[AdapterSpec, Value, About], Changes]) -> Expander:
    return Expander(change, labelled=False)


def _instructions(spec: AdapterSpec, value: Value, _about: About) -> Changes:
    return {"instructions": EXPERT + spec.instructions if value == "expert" else ""}


def _add_to_stop(spec: AdapterSpec, value: Value, _about: About) -> Changes:
    stop = "\n" if value == "newline" else str(value)
    return {"stop_sequences": (*spec.stop_sequences, stop)}


def _follow_format(spec: AdapterSpec, value: Value, about: About) -> Changes:
    if spec.method != "generation":
        raise ValueError("it is made for method generation only")
    if value == "instruct" and INSTRUCTED not in about.tags:
        return {}
    return {
        "global_prefix": f"{EXAMPLES_FOLLOW}\n\n",
        "global_suffix": f"\n\n{KEEP_THE_FORMAT}\n{spec.output_prefix.strip()}",
    }


def _anthropic(spec: AdapterSpec, _value: Value, _about: About) -> Changes:
    answer = spec.output_prefix.strip()
    return {
        "global_prefix": f"\n\nHuman: {EXAMPLES_FOLLOW}\n\n",
        "global_suffix": f"\n\n{KEEP_THE_FORMAT}\n\nAssistant: {answer}",
    }


def _claude_3(spec: AdapterSpec, _value: Value, _about: About) -> Changes:
    return {"stop_sequences": tuple(s for s in spec.stop_sequences if s.strip())}


def _chatml(spec: AdapterSpec, _value: Value, about: About) -> Changes:
    """Wrap instructions, inputs and outputs in the marks of ChatML's turns."""
    asked, turn = "", f"{TURN_ENDS}\n{ASSISTANT}"
    output = spec.output_prefix
    if about.scenario == "msmarco":
        asked, _, rest = output.partition("\n")
        output = rest.split("\n")[0]
    elif about.scenario in {"summarization_cnndm", "summarization_xsum"}:
        asked, output = output, ""
    system = f"<|im_start|>system\n{spec.instructions}{TURN_ENDS}\n"
    return {
        "instructions": (system if spec.instructions else "") + USER,
        "instance_prefix": "",
        "output_prefix": asked + turn + output,
        "output_suffix": f"{TURN_ENDS}\n{USER}",
        "stop_sequences": (*spec.stop_sequences, TURN_ENDS),
    }


def _format_instructions(spec: AdapterSpec, value: Value, _about: About) -> Changes:
    name, told = str(value), spec.output_prefix.strip()
    at_end, bare = name.endswith("_suffix"), name.removesuffix("_suffix")
    text = format_instructions(spec, bare.removesuffix("_no_prefix"))
    if bare.endswith("_no_prefix"):
        text += f" Do not include '{told}' in your answer."
    if at_end:
        return {"global_suffix": f"{spec.global_suffix}\n\n{text}"}
    between = "\n\n" if spec.instructions else "\n"
    return {"instructions": f"{text}{between}{spec.instructions}"}


def _more(name: str) -> Expander:
    return _silent(lambda spec, value, _about: {name: getattr(spec, name) + value})


def _prefixes(before: str, after: str, end: str, *stops: str) -> Expander:
    changes: Changes = {
        "input_prefix": before,
        "input_suffix": end,
        "output_prefix": after,
        "output_suffix": end,
        **({"stop_sequences": stops} if stops else {}),
    }
    return _silent(lambda _spec, _value, _about: changes)


EXPANDERS: dict[str, Expander] = {
    "instructions": Expander(_instructions, ("none", "expert")),
    "prompt": _table(PROMPTS),
    "newline": _table(NEWLINES),
    "stop": _table(STOPS),
    "format_prompt": _silent(
        lambda _s, v, _: {"input_prefix": str(v), "output_prefix": ""}
    ),
    "follow_format_instructions": Expander(
        _follow_format, ("all", "instruct"), labelled=False
    ),
    "add_to_stop": _silent(_add_to_stop),
    "global_prefix": _table({"nlg": {"global_prefix": "[NLG]"}}),
    "num_train_trials": _field("num_train_trials"),
    "max_train_instances": _field(
        "max_train_instances",
        zero=(0,),
        one=(1,),
        all=(0, 1, 2, 4, 8, 16),
        big_bench_few_shot_setting=(0, 1, 2, 3),
        vhelm=(0, 1, 2, 4, 8),
        melt=(0, 1, 5),
    ),
    "max_eval_instances": _field(
        "max_eval_instances",
        default=(1_000,),
        heim_default=(100,),
        heim_fid=(30_000,),
        heim_art_styles=(17,),
    ),
    "num_outputs": _field("num_outputs", default=(1,), copyright_sweep=(1, 10)),
    "num_trials": _field("num_trials", heim_efficiency=(5,)),
    "num_output_tokens": _field("max_tokens", default_sweep=(1, 2, 4, 8, 16, 32, 64)),
    "eval_split": _table(SPLITS),
    "output_format_instructions": _silent(_format_instructions),
    "temperature": _silent(lambda _spec, value, _about: {"temperature": value}),
    "increase_temperature": _more("temperature"),
    "increase_max_tokens": _more("max_tokens"),
    "chatml": _silent(_chatml),
    "anthropic": _silent(_anthropic),
    "claude_3": _silent(_claude_3),
    "amazon-nova": _silent(lambda _s, _v, _: {"global_prefix": f"{NOVA}\n\n"}),
    "idefics_instruct": _prefixes(
        "User: ", "\nAssistant: ", "<end_of_utterance>", "<end_of_utterance>"
    ),
    "llava": _prefixes("USER: <image>", "\nASSISTANT: ", ""),
    "open_flamingo": _silent(
        lambda spec, _v, _: {"input_prefix": f"<|endofchunk|>{spec.input_prefix}"}
    ),
}


def number(text: str) -> Value:
    """Return a value as HELM reads it in a run entry: an int, else a float, else a text."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def expand(
    adapter: AdapterSpec, name: str, value: Value = "", about: About | None = None
) -> list[Expansion]:
    """Return the specs that an expander makes of one, most often a single one.

    Args:
        adapter: the spec to change.
        name: one of `EXPANDERS`.
        value: as HELM takes it; a text that reads as a number is one.
        about: the scenario's bare name and the model's tags, for the few that look.

    Raises:
        ConfigError: an unknown expander or value, or one that the spec cannot take.
    """
    if name not in EXPANDERS:
        raise ConfigError(
            [f"There is no run expander {name!r}.{suggest(name, EXPANDERS)}"],
            f"Those that change an adapter: {', '.join(EXPANDERS)}.",
        )
    expander = EXPANDERS[name]
    if expander.known and str(value) not in expander.known:
        raise ConfigError(
            [f"{name}={value}: unknown value.{suggest(str(value), expander.known)}"],
            f"Values of {name}: {', '.join(expander.known)}.",
        )
    plain = number(value) if isinstance(value, str) else value
    swept = expander.sweeps.get(str(value), (plain,))
    return [
        Expansion(
            _changed(adapter, expander, f"{name}={each}", each, about or About()),
            f"{name}={each}".replace("/", "_") if expander.labelled else "",
        )
        for each in swept
    ]


def _changed(
    adapter: AdapterSpec, expander: Expander, entry: str, value: Value, about: About
) -> AdapterSpec:
    problems: list[str] = []
    try:
        changes = expander.change(adapter, value, about)
    except (ValueError, TypeError) as error:
        raise ConfigError([f"{entry}: {error}."], adapting.HINT) from error
    plain = msgspec.to_builtins(structs.replace(adapter, **changes))
    adapting.check({k: plain[k] for k in changes}, entry, problems)
    if problems:
        raise ConfigError(problems, adapting.HINT)
    return msgspec.convert(plain, AdapterSpec)
