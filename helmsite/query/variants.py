"""A model under its settings: which checkpoint it is, how it was asked, what tells it apart."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from helmsite.schema import Manifest

REVISION, SHOTS, QUANTISATION = "revision", "num_fewshot", "quantisation"
STEPS = ("step", "checkpoint", "training_step")
STEP = re.compile(
    r"(?:^|[^a-z])(?:step|checkpoint|ckpt|iter|iteration)[_=-]?(\d{1,15})(?![a-z0-9])",
    re.IGNORECASE,
)
LAST = math.inf
"""The step of a model that names no checkpoint: the one that was released."""
WITHOUT_SHOTS = ("", "chat", "language_modeling")
LONGEST = 60
EXACT = 2**53


def step_of(settings: Mapping[str, Any]) -> float:
    """Return the training step that settings tell, LAST where they tell none.

    A revision such as `step143000`, `checkpoint-500` or `iter_0001000`; else a setting
    that is called step.
    """
    revision = settings.get(REVISION)
    found = STEP.search(revision) if isinstance(revision, str) else None
    if found:
        return float(found[1])
    for name in STEPS:
        value = settings.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return float(value)
    return LAST


def settings_of(manifest: Manifest) -> dict[str, Any]:
    """Return what sets a run's model apart, under the names that results without instances use."""
    model, adapter = manifest.spec.model, manifest.spec.adapter
    found = dict(model.settings)
    if model.revision:
        found[REVISION] = model.revision
    if model.quantisation:
        found[QUANTISATION] = model.quantisation
    if adapter.method not in WITHOUT_SHOTS:
        found.setdefault(SHOTS, adapter.max_train_instances)
    return found


def label(settings: Mapping[str, Any], names: Iterable[str]) -> str:
    """Return what some of the settings are in words: 'step512, 5-shot'; '' for none."""
    return ", ".join(
        told for name in names if (told := _told(name, settings.get(name)))
    )


def _told(name: str, value: Any) -> str:
    if value is None or value == "":
        return ""
    if isinstance(value, float) and value.is_integer() and abs(value) < EXACT:
        value = int(value)
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    shown = text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
    if name == REVISION:
        return shown
    if name == SHOTS:
        return "zero-shot" if text == "0" else f"{shown}-shot"
    return f"{name} {shown}"


def read(settings: str) -> dict[str, Any]:
    """Return the settings in a cell's JSON; what is no object has none."""
    try:
        found = msgspec.json.decode(settings)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def ways(settings: Mapping[str, Any]) -> tuple[str, str]:
    """Return the number of shots as text, and all that is no checkpoint as JSON.

    Models are compared as most of them were asked.
    """
    rest = {k: v for k, v in settings.items() if k != REVISION and k not in STEPS}
    shots = msgspec.json.encode(rest.get(SHOTS)).decode()
    return shots, msgspec.json.encode(rest, order="deterministic").decode()


def own(settings: Mapping[str, Any]) -> str:
    """Return what of a run's settings makes it another model, as JSON.

    Its checkpoint and quantisation: how many examples it was shown often differs from
    scenario to scenario, and batch, device or cache change little.
    """
    named = (REVISION, QUANTISATION, *STEPS)
    kept = {name: settings[name] for name in named if name in settings}
    return msgspec.json.encode(kept, order="deterministic").decode()


def told_apart(several: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return each one's settings that differ from those of another, in words.

    The revision first, then the number of shots, then by name.
    """
    names = sorted({name for settings in several for name in settings})
    names.sort(key=lambda n: (n != REVISION, n != SHOTS))
    differ = [
        name
        for name in names
        if len({msgspec.json.encode(s.get(name)) for s in several}) > 1
    ]
    return [label(settings, differ) for settings in several]
