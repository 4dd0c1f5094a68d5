"""What an aggregate file of Every Eval Ever says beside its results: the model, the source."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import structs

from helmsite.importers import naming, redact
from helmsite.importers.found import BARE
from helmsite.importers.values import Row, moment, plain
from helmsite.schema import AdapterSpec, ModelIdentity

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Mapping

    from helmsite.schema import ModelCard

TOOLS = {
    "helm": "helm",
    "crfm-helm": "helm",
    "inspect": "inspect",
    "inspect_ai": "inspect",
    "inspect-ai": "inspect",
    "lm_eval": "lm_eval",
    "lm-eval": "lm_eval",
    "lm-evaluation-harness": "lm_eval",
    "helmsite": "helmsite",
}
ACCESS = {"open_weights": "open", "closed_weights": "closed"}
UNKNOWN = {"", "unknown", "none", "null"}
FIRST, LAST = 0.0, 253_402_300_799.0  # 1970 and 9999
STOPS = ("stop_sequences", "until", "stop_seqs", "stop")
SHOTS = ("num_fewshot", "max_train_instances", "n_shot")
REPEATS = ("num_completions", "num_outputs", "num_choices")


@dataclass
class Header:
    """The part of an evaluation that its results share.

    Attributes:
        key: the source's id of the evaluation.
        model, card: the model.
        tool: what made the results: helm, inspect, lm_eval, helmsite, or '' for others.
        collection: the benchmark or leaderboard that the evaluation is filed under.
        is_published: results were taken from a document; nothing was run.
        names_scorers: `evaluation_name` is the scorer (conversions of Inspect before 0.3).
        version: of the schema.
        started_at: when the evaluation was run, seconds since the epoch.
        settings: the source and its library, for the run's spec.
        extra: what else the file says.
    """

    key: str
    model: ModelIdentity
    card: ModelCard
    tool: str = ""
    library: str = ""
    collection: str = ""
    is_published: bool = False
    names_scorers: bool = False
    version: str = ""
    started_at: float | None = None
    said_at: str = ""
    data_name: str = ""
    settings: dict[str, Any] = field(default_factory=dict)
    details: dict[str, str] = field(default_factory=dict)


def header(row: Row, stem: str) -> Header:
    """Return what an aggregate file says beside its results.

    Args:
        row: the file.
        stem: its name, the key of an evaluation that has no id.

    Raises:
        SourceError: no model is named, or a part of it has the wrong type.
    """
    source = row.row("source_metadata", None) or Row({}, row.at("source_metadata"))
    origin = row.row("evaluation_source", None) or Row({}, row.place)
    library = row.row("eval_library", None) or Row({}, row.at("eval_library"))
    kind = source.text("source_type", "") or origin.text("evaluation_source_type", "")
    name = (
        library.text("name", "")
        or source.text("source_name", "")
        or origin.text("evaluation_source_name", "")
    )
    tool = TOOLS.get(name.lower(), "")
    key = row.text("evaluation_id", "") or stem
    identity, card = model(row.row("model_info"))
    data = row.get("source_data")
    version = row.text("schema_version", "")
    return Header(
        key=key,
        model=identity,
        card=card,
        tool=tool,
        library=name,
        collection=_collection(key, is_old="evaluation_source" in row),
        is_published=kind in {"documentation", "leaderboard"},
        names_scorers=tool == "inspect" and version.startswith(("0.0", "0.1", "0.2")),
        version=version,
        started_at=seconds(row.get("evaluation_timestamp")),
        said_at=str(row.get("evaluation_timestamp") or ""),
        data_name=data.get("dataset_name", "") if isinstance(data, dict) else "",
        settings={
            k: v
            for k, v in {
                "source_metadata": plain(source.value),
                "evaluation_source": plain(origin.value),
                "eval_library": plain(library.value),
                "source_data": _without_ids(data),
                **row.rest(*KNOWN),
            }.items()
            if v
        },
        details=details_of(source.row("additional_details", None)),
    )


KNOWN = (
    *("schema_version", "evaluation_id", "evaluation_timestamp"),
    *("retrieved_timestamp", "source_metadata", "evaluation_source", "eval_library"),
    *("model_info", "evaluation_results", "detailed_evaluation_results"),
    *("detailed_evaluation_results_per_samples", "source_data"),
)


def model(info: Row) -> tuple[ModelIdentity, ModelCard]:
    """Return a model's identity and card.

    Raises:
        SourceError: it has neither id nor name.
    """
    title = info.text("name", "")
    name = info.text("id", "") or title or info.text("id")
    details = details_of(info.row("additional_details", None))
    engine = info.get("inference_engine")
    engine = engine if isinstance(engine, dict) else {"name": engine}
    runtime = " ".join(str(engine.get(k) or "") for k in ("name", "version")).strip()
    known = {"deployment_type", "model_availability", "revision", "num_parameters"}
    settings = {
        k: plain(v)
        for k, v in {
            **info.rest("name", "id", "developer", "additional_details"),
            **{k: read_json(v) for k, v in details.items() if k not in known},
            "deployment_type": details.get("deployment_type", ""),
        }.items()
        if not (isinstance(v, str) and v.lower() in UNKNOWN) and v not in (None, {})
    }
    revision = details.get("revision", "")
    identity = ModelIdentity(
        name=name,
        revision="" if revision.lower() in UNKNOWN else revision,
        runtime="" if runtime.lower() in UNKNOWN else runtime,
        quantisation=str(settings.pop("quantisation", "") or ""),
        weights_sha256=str(settings.pop("weights_sha256", "") or ""),
        client=str(settings.pop("client", "") or ""),
        settings=settings,
    )
    return identity, _card(name, title, info.text("developer", ""), details)


def _card(
    name: str, title: str, developer: str, details: Mapping[str, str]
) -> ModelCard:
    card = naming.card(name)
    size = card.num_parameters
    with suppress(ValueError, OverflowError):
        size = (
            int(float(details["num_parameters"]))
            if "num_parameters" in details
            else size
        )
        if "params_billions" in details:
            size = round(float(details["params_billions"]) * 10**9)
    known = developer.lower() not in UNKNOWN
    is_name = title in {"", name} or "/" in title
    return structs.replace(
        card,
        title=card.title if is_name else title,
        creator=developer if known else card.creator,
        access=ACCESS.get(details.get("model_availability", ""), ""),
        num_parameters=size if size and 0 < size < 2**62 else None,
        aliases=() if title in {"", name} else (title,),
        licence=details.get("licence", ""),
        family=details.get("family", ""),
        release_date=details.get("release_date", ""),
        tokenizer=details.get("tokenizer", ""),
    )


def adapter(generation: Mapping[str, Any], *, is_chat: bool = False) -> AdapterSpec:
    """Return what is known of how requests were made, from a `generation_config`.

    What the source does not say keeps its default; what it says stands in the spec's
    settings as well, as it is.
    """
    args = generation.get("generation_args")
    more = generation.get("additional_details")
    args = args if isinstance(args, dict) else {}
    more = more if isinstance(more, dict) else {}
    said = {**{k: read_json(v) for k, v in more.items()}, **args}
    found: dict[str, Any] = {
        "temperature": _number(said.get("temperature")),
        "max_tokens": _whole(said.get("max_tokens")),
        "max_train_instances": next(
            (_whole(said[k]) for k in SHOTS if k in said), None
        ),
        "num_outputs": next((_whole(said[k]) for k in REPEATS if k in said), None),
        "stop_sequences": next((listed(said[k]) for k in STOPS if k in said), None),
    }
    told = {k: v for k, v in found.items() if v is not None}
    method = "chat" if is_chat else "generation"
    return structs.replace(BARE, method=method, **told)


def seconds(found: object) -> float | None:
    """Return a time as seconds since the epoch: a number, one as text, or ISO 8601."""
    if isinstance(found, bool) or not isinstance(found, (int, float, str)):
        return None
    made: float | None = None
    with suppress(ValueError, OverflowError):
        made = float(found)
    if made is None and isinstance(found, str):
        made = moment(found)
    if made is not None and made > LAST and made / 1000 <= LAST:
        made /= 1000  # milliseconds
    return made if made is not None and FIRST <= made <= LAST else None


def details_of(found: Row | None) -> dict[str, str]:
    """Return a map whose values should be texts; others are written as JSON."""
    if found is None:
        return {}
    return {k: v if isinstance(v, str) else _json(v) for k, v in found.value.items()}


def read_json(text: Any) -> Any:
    """Return what a text says if it is a JSON list or object, else the text."""
    if isinstance(text, str) and text[:1] in {"[", "{"}:
        with suppress(msgspec.DecodeError, UnicodeError, RecursionError):
            return plain(msgspec.json.decode(text))
    return text


def listed(found: Any) -> tuple[str, ...] | None:
    """Return a list of texts, or one text as a list; None if it is neither."""
    if isinstance(found, str):
        return (found,) if found else ()
    if isinstance(found, list) and all(isinstance(each, str) for each in found):
        return tuple(found)
    return None


def hidden(found: dict[str, Any], counts: Counter[str]) -> dict[str, Any]:
    """Return data as an archive can hold it, without secrets."""
    made: dict[str, Any] = redact.settings(plain(found), counts)
    return made


def _json(found: Any) -> str:
    return json.dumps(plain(found), ensure_ascii=False, sort_keys=True)


def _collection(key: str, *, is_old: bool) -> str:
    """Return the first part of `benchmark/model/time`; of 0.0.1's `org/benchmark/time` the second."""
    parts = [part for part in key.split("/") if part]
    if len(parts) < 2:
        return ""
    return parts[1] if is_old and len(parts) > 2 else parts[0]


def _without_ids(data: Any) -> Any:
    if isinstance(data, dict):
        return plain({k: v for k, v in data.items() if k != "sample_ids"})
    return plain(data)


def _number(found: Any) -> float | None:
    with suppress(ValueError, OverflowError, TypeError):
        made = float(found)
        return made if 0 <= made < 1e9 else None
    return None


def _whole(found: Any) -> int | None:
    made = _number(found)
    return None if made is None or made != int(made) or made >= 2**31 else int(made)
