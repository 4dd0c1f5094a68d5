"""Run entries as HELM writes them: what belongs to the scenario, what to the run.

`mmlu:subject=anatomy,method=multiple_choice_joint,model=text,data_augmentation=canonical`
names a scenario with its parameters, and says how it is run. The names that HELM gives
its finished runs are read too.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from helmsite.errors import ConfigError
from helmsite.schema.expanders import EXPANDERS
from helmsite.schema.records import Record
from helmsite.schema.scenario_names import format_entry, parse_entry

if TYPE_CHECKING:
    from collections.abc import Collection

MODEL, DEPLOYMENT = "model", "model_deployment"
AUGMENTATION, GROUPS = "data_augmentation", "groups"
UNSUPPORTED = {
    "process_output": "it rewrites what metrics get; name a metric that does that instead"
}
WITHOUT_EFFECT = ("device",)
"""Arguments of HELM that change nothing here: where it computes summarisation metrics."""

_RUN_NAMES = {"disinfo": ("disinformation", {"type": "capability"})}
_DYCK = re.compile(r"^dyck_language_np=(\d+)[:,]?")
_PARTS = re.compile(r"([^:,]*)([:,]?)(.*)", re.DOTALL)


class RunEntry(Record, frozen=True):
    """A run entry, read.

    `scenario` is an entry too, with the scenario's own parameters and `method` alone.
    `expanders` change the adapter, in order. `model` is a name or a group of HELM's
    ('text'), '' if none is given.
    """

    scenario: str
    expanders: tuple[tuple[str, str], ...] = ()
    model: str = ""
    deployment: str = ""
    augmentation: str = ""
    groups: tuple[str, ...] = ()


def read_entry(text: str, own: Collection[str] = ()) -> RunEntry:
    """Return what a run entry, or the name of a finished run of HELM, says.

    Args:
        text: the entry.
        own: the names of the scenario's parameters, which are the scenario's even where
            HELM knows an expander of the name.

    Raises:
        ConfigError: it cannot be read, or says what cannot be done here.
    """
    name, given = parse_entry(as_entry(text))
    given = {key.strip(): value.strip() for key, value in given.items()}
    kept: dict[str, str] = {}
    expanders = []
    for key, value in given.items():
        if key in own:
            kept[key] = value
        elif key in UNSUPPORTED:
            raise ConfigError(
                [f"{text}: {key}={value} is not possible: {UNSUPPORTED[key]}."],
                "docs/configuration.md lists what a run entry may say.",
            )
        elif key in EXPANDERS:
            expanders.append((key, value))
        elif key not in (MODEL, DEPLOYMENT, AUGMENTATION, GROUPS, *WITHOUT_EFFECT):
            kept[key] = value
    said = {key: value for key, value in given.items() if key not in own}
    return RunEntry(
        scenario=format_entry(name, kept),
        expanders=tuple(expanders),
        model=said.get(MODEL, ""),
        deployment=said.get(DEPLOYMENT, ""),
        augmentation=said.get(AUGMENTATION, ""),
        groups=tuple(g for g in said.get(GROUPS, "").split("-") if g),
    )


def as_entry(text: str) -> str:
    """Return the run entry behind the name that HELM gives a run; an entry as it is.

    `dyck_language_np=3` is `dyck_language:num_parenthesis_pairs=3`, and
    `legal_support,method=multiple_choice_joint` is written with a colon.
    """
    text = _DYCK.sub(r"dyck_language:num_parenthesis_pairs=\1,", text.strip(), count=1)
    name, between, rest = _PARTS.fullmatch(text.rstrip(",")).groups()  # type: ignore[union-attr]
    if between == "," and "=" in rest:  # HELM puts the colon before what it adds later
        between, rest = ":", rest.replace(":", ",", 1)
    if name in _RUN_NAMES:
        name, renamed = _RUN_NAMES[name]
        for old, new in renamed.items():
            rest = re.sub(rf"(^|,){old}=", rf"\g<1>{new}=", rest)
    return f"{name}{between}{rest}"
