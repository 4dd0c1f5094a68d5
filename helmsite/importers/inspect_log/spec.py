"""What the header of a log says of the model, the task and how it was asked."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import msgspec

from helmsite.importers.values import plain
from helmsite.schema import ModelIdentity, format_entry

if TYPE_CHECKING:
    from helmsite.importers.values import Row

SERVICES = {"azure", "bedrock", "vertex"}
"""What may stand between a provider and a model's name."""
LONG, SHORT = 2000, 60


def identity(spec: Row) -> ModelIdentity:
    """Return the model: `hf/org/name` is org/name by hf, `openai/name` keeps its whole name."""
    whole = spec.text("model")
    client, _, rest = whole.partition("/")
    service, _, inner = rest.partition("/")
    runtime = ""
    if inner and service in SERVICES:
        runtime, name = service, f"{client}/{inner}"
    elif "/" in rest:
        name = rest
    else:
        name = whole
    arguments = spec.row("model_args", None)
    said = arguments.value if arguments else {}
    settings: dict[str, Any] = {"model": whole}
    if said:
        settings["model_args"] = {k: short(v) for k, v in said.items()}
    for key in ("model_base_url", "model_generate_config", "model_roles"):
        if spec.get(key):
            settings[key] = short(stated(spec.get(key)))
    quantisation = said.get("quantization") or said.get("quantisation") or ""
    for bits in (4, 8):
        if said.get(f"load_in_{bits}bit") is True:
            quantisation = quantisation or f"{bits}bit"
    return ModelIdentity(
        name=name,
        client=client,
        revision=str(said.get("revision") or ""),
        runtime=runtime,
        quantisation=str(quantisation),
        settings=settings,
    )


def short(value: Any) -> Any:
    """Return a setting, of a very long one its digest; the log's header has the whole."""
    found = plain(value)
    blob = msgspec.json.encode(found, order="deterministic")
    if len(blob) <= LONG:
        return found
    return {"bytes": len(blob), "sha256": hashlib.sha256(blob).hexdigest()}


def stated(value: Any) -> Any:
    """Return settings without those that are not set."""
    if isinstance(value, dict):
        return {k: stated(v) for k, v in value.items() if v is not None}
    return value


def scenario(spec: Row) -> str:
    """Return the task with the arguments that it was given, as far as they are short."""
    given = spec.row("task_args_passed", None)
    if given is None:
        given = spec.row("task_args", None)
    parameters = {}
    for key, value in (given.value if given else {}).items():
        text = str(value).lower() if isinstance(value, bool) else str(value)
        plain_value = isinstance(value, (str, int, float))
        if (
            plain_value
            and 0 < len(text) <= SHORT
            and not set(text + key) & set(",=:\n")
        ):
            parameters[key] = text
    return format_entry(spec.text("task"), parameters)
