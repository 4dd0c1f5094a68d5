"""The model of a results file: its name, revision, quantisation and settings, kept apart."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from msgspec import structs

from helmsite.importers import naming
from helmsite.importers.values import Row, plain
from helmsite.schema import ModelCard, ModelIdentity

if TYPE_CHECKING:
    from helmsite.importers.lm_eval.results import Results

NAMES = ("peft", "delta", "pretrained", "model", "path", "engine")
"""The arguments of which the harness takes the first as the model's name."""

UNNAMED = {"dummy", "gguf", "ggml"}
"""Models whose arguments have no name: the harness makes one up anew each time."""

_ARGUMENT = re.compile(r",(?=[^,=]+=)")
_HUB = re.compile(r"models--(.+?)--([^/\\]+)[/\\]snapshots[/\\]([^/\\]+)")
_LOCAL = re.compile(r"^(?:[./\\~]|[A-Za-z]:[/\\])|[/\\].*[/\\]")
_CHECKPOINT = re.compile(
    r"^(?:checkpoint|ckpt|step|global_?step|iter|epoch)[-_]?\d+$", re.IGNORECASE
)
_STEP = re.compile(r"_(step\d+)$")
_PYTHIA = re.compile(r"^(EleutherAI/pythia)-v\d+(?:\.\d+)*-")
_SUITE = re.compile(r"^(\d+(?:\.\d+)?[mb](?:-deduped)?)(?:-\d+shot)?$")
_GGUF = re.compile(r"[-._]((?:I?Q\d\w*|F16|F32|BF16))\.gguf$", re.IGNORECASE)
_TORCH = re.compile(r"^PyTorch version: (\S+)", re.MULTILINE)


def arguments(given: Any) -> dict[str, Any]:
    """Return the arguments of a model, which are an object or the text `a=b,c=d`."""
    if isinstance(given, dict):
        return {str(key): value for key, value in given.items()}
    if not isinstance(given, str):
        return {}
    pairs = (each.split("=", 1) for each in _ARGUMENT.split(given.strip()) if each)
    return {pair[0].strip(): pair[-1].strip() for pair in pairs if len(pair) > 1}


def cleaned(name: str) -> tuple[str, str]:
    """Return a model's name and the revision in it: of a local path its last part.

    `/x/pythia/checkpoint-500` is the revision checkpoint-500 of pythia; of a path into the
    hub's cache it is the name on the hub.
    """
    hub = _HUB.search(name)
    if hub:
        return f"{hub[1]}/{hub[2]}", hub[3]
    revision = ""
    if _LOCAL.search(name):
        parts = [p for p in re.split(r"[/\\]+", name) if p not in {"", ".", "..", "~"}]
        if len(parts) > 1 and _CHECKPOINT.match(parts[-1]):
            revision = parts.pop()
        name = parts[-1] if parts else name
    return _PYTHIA.sub(r"\1-", name), revision


def from_folder(name: str) -> str:
    """Return the model's name that a folder's name was made from, as far as it tells."""
    return cleaned(name.replace("__", "/"))[0]


def from_stem(stem: str) -> tuple[str, str]:
    """Return name and revision that the name of a results file of 0.3 tells.

    The files of Pythia are `410m-deduped-5shot_step143000.json`.
    """
    found = _STEP.search(stem)
    name = stem[: found.start()] if found else stem
    size = _SUITE.match(name)
    if found and size:
        name = f"EleutherAI/pythia-{size[1]}"
    return name, found[1] if found else ""


def identity(results: Results) -> tuple[ModelIdentity, ModelCard]:
    """Return what a results file says of its model."""
    config = results.config
    given = arguments(config.get("model_args"))
    client = _text(config.get("model"))
    named = next((str(given[key]) for key in NAMES if given.get(key)), "")
    said = results.row.get("model_name")
    if not named and isinstance(said, str) and client not in UNNAMED:
        named = said
    stem, step = from_stem(results.stem)
    if not named and (client in UNNAMED or "config" in results.row):
        named = client if client not in {"", "hf", "hf-causal", "gpt2"} else ""
    name, revision = cleaned(named or stem)
    revision = next(
        (
            each
            for each in (_text(given.get("revision")), revision, step)
            if each and each != "main"
        ),
        "",
    )
    settings = {
        key: value
        for key, value in given.items()
        if key != "revision" and not (key in NAMES and str(value) == name)
    }
    model = ModelIdentity(
        name=name,
        client=client,
        revision=revision,
        runtime=_runtime(results),
        quantisation=_quantisation(given, named),
        settings=plain({**settings, **_settings(results)}),
    )
    card = naming.card(name)
    size = config.get("model_num_parameters")
    if isinstance(size, int) and 0 < size < 2**63 and "peft" not in given:
        card = structs.replace(card, num_parameters=size)
    return model, card


def from_samples(folder: str) -> tuple[ModelIdentity, ModelCard]:
    """Return what the folder of samples without results tells of the model."""
    name = from_folder(folder) or "unknown"
    return ModelIdentity(name), naming.card(name)


def _text(found: Any) -> str:
    return found if isinstance(found, str) else ""


def _runtime(results: Results) -> str:
    row = results.row
    torch = _TORCH.search(_text(row.get("pretty_env_info")))
    told = {
        "lm_eval": _text(row.get("lm_eval_version")),
        "transformers": _text(row.get("transformers_version")),
        "torch": torch[1] if torch else "",
    }
    return ", ".join(f"{name} {version}" for name, version in told.items() if version)


def _quantisation(given: dict[str, Any], name: str) -> str:
    for key, title in (
        ("load_in_4bit", "bitsandbytes 4-bit"),
        ("load_in_8bit", "bitsandbytes 8-bit"),
        ("gptqmodel", "GPTQ"),
        ("autogptq", "GPTQ"),
        ("gptq", "GPTQ"),
    ):
        if str(given.get(key, "")).lower() not in {"", "false", "none", "0"}:
            return title
    said = _text(given.get("quantization"))
    gguf = _GGUF.search(_text(given.get("gguf_file")) or name)
    return said or (gguf[1] if gguf else "")


CONFIG = (
    *("batch_size", "batch_sizes", "device", "use_cache", "gen_kwargs", "no_cache"),
    "model_sha",
)
TOP = (
    *("tokenizer_pad_token", "tokenizer_eos_token", "tokenizer_bos_token"),
    *("eot_token_id", "max_length", "system_instruction", "fewshot_as_multiturn"),
)


def _settings(results: Results) -> dict[str, Any]:
    """Return what else can change a reply and belongs to the model, not to the task."""
    found = {key: results.config.get(key) for key in CONFIG}
    found |= {key: results.row.get(key) for key in TOP}
    found["dtype"] = dtype(results)
    found["chat_template"] = has_template(results.row) or None
    revision = results.config.get("model_revision")
    if revision != "main":
        found["model_revision"] = revision
    return {
        key: value for key, value in found.items() if value not in (None, "", [], {})
    }


def dtype(results: Results) -> str:
    """Return the numbers' type that a model was loaded with, '' if it is not known."""
    said = results.config.get("model_dtype")
    said = said or arguments(results.config.get("model_args")).get("dtype")
    return said.removeprefix("torch.") if isinstance(said, str) else ""


def has_template(row: Row) -> bool:
    """Return whether the prompts went through the model's chat template."""
    return row.get("chat_template") not in (None, "", "None", False)
