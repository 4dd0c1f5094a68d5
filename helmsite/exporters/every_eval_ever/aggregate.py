"""A run's manifest as an aggregate file of Every Eval Ever."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import msgspec

from helmsite import __version__
from helmsite.exporters.every_eval_ever import naming
from helmsite.exporters.every_eval_ever.results import as_text, result
from helmsite.importers import redact
from helmsite.schema import AdapterSpec, Record

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Mapping

    from helmsite.exporters.every_eval_ever.results import Results
    from helmsite.schema import Manifest

VERSION = "0.3.0"
Relationship = Literal["first_party", "third_party", "collaborative", "other"]
RELATIONSHIPS: tuple[Relationship, ...] = (
    "first_party",
    "third_party",
    "collaborative",
    "other",
)
AVAILABILITY = {"open": "open_weights", "closed": "closed_weights"}
OURS = {"llamacpp", "ngram", "fake"}
"""Clients that run models themselves."""
DEPLOYMENTS = ("self_deployed", "externally_managed")
SOURCES: dict[str, dict[str, type]] = {
    "url": {"dataset_name": str, "url": list},
    "hf_dataset": {"dataset_name": str},
    "other": {"dataset_name": str},
}
APART = {"source_metadata", "source_data"}
"""Settings of runs that came from Every Eval Ever and go back to where they were."""


class Publisher(Record, frozen=True):
    """Who answers for an export, and how they stand to the makers of the models."""

    organization: str
    relationship: Relationship = "third_party"
    url: str = ""


def aggregate(
    results: Results,
    publisher: Publisher,
    samples: Mapping[str, Any] | None,
    hidden: Counter[str],
) -> dict[str, Any]:
    """Return an aggregate file as plain data.

    Args:
        results: the run's aggregates, with its manifest.
        publisher: who answers for it.
        samples: what `detailed_evaluation_results` says, and `ids` of instances; None if
            samples are not exported.
        hidden: counts secrets that are replaced.
    """
    manifest = results.manifest
    details = dict(samples or {})
    source = _source_data(manifest, details.pop("ids", None), details.pop("splits", []))
    generation = _generation(manifest)
    made: dict[str, Any] = {
        "schema_version": VERSION,
        "evaluation_id": evaluation_id(manifest),
        "evaluation_timestamp": _time(manifest.provenance.started_at),
        "retrieved_timestamp": _time(_written(manifest)) or "0",
        "source_metadata": _source(results, publisher),
        "eval_library": _library(manifest),
        "model_info": model_info(manifest),
        "evaluation_results": [
            {
                **result(identifier, stat, results),
                "source_data": source,
                "generation_config": generation,
            }
            for identifier, stat in results.stats.items()
        ],
        "detailed_evaluation_results": details,
    }
    clean: dict[str, Any] = redact.settings(
        {k: v for k, v in made.items() if v not in ("", {}, None)}, hidden
    )
    clean.setdefault("evaluation_results", [])
    return clean


def evaluation_id(manifest: Manifest) -> str:
    """Return a run's id: `benchmark/model/time`, and its run_id, since times may be equal.

    A run that came from Every Eval Ever keeps the id that it had there.
    """
    tool, _, key = manifest.origin.partition(":")
    if tool == "every_eval_ever" and key:
        return key
    model = manifest.spec.model.name.replace("/", "_")
    time = _time(_written(manifest)) or "0"
    return f"{naming.benchmark(manifest)}/{model}/{time}_{manifest.run_id}"


def _written(manifest: Manifest) -> float | None:
    """Return when a run's record was made, by its own word."""
    said = manifest.provenance
    times = (said.finished_at, said.source_at, said.started_at)
    return next((t for t in times if t is not None), None)


def _time(seconds: float | None) -> str:
    if seconds is None:
        return ""
    return f"{seconds:.6f}".rstrip("0").rstrip(".")


def _source(results: Results, publisher: Publisher) -> dict[str, Any]:
    manifest = results.manifest
    more = {
        "helmsite_run_id": manifest.run_id,
        "helmsite_suite": manifest.suite,
        "helmsite_origin": manifest.origin,
        "helmsite_status": manifest.status,
        "requests_asked": str(manifest.counts.asked),
        "requests_failed": str(manifest.counts.failed),
        "results_without_value": as_text(results.undefined)
        if results.undefined
        else "",
        "perturbations": as_text(msgspec.to_builtins(manifest.perturbations))
        if manifest.perturbations
        else "",
        "reported_and_computed_alike": as_text(sorted(map(list, results.repeated)))
        if results.repeated
        else "",
        "warnings": as_text(list(manifest.warnings)) if manifest.warnings else "",
    }
    said = manifest.spec.settings.get("source_metadata")
    made: dict[str, Any] = {
        "source_name": manifest.provenance.source_tool or "helmsite",
        "source_type": "evaluation_run",
        "source_organization_name": publisher.organization,
        "evaluator_relationship": publisher.relationship,
        "additional_details": {k: v for k, v in more.items() if v},
    }
    if publisher.url:
        made["source_organization_url"] = publisher.url
    if isinstance(said, dict):
        names = [k for k in said if k.startswith("source_organization")]
        texts = {k: said[k] for k in (*names, "source_name") if _is_text(said.get(k))}
        made |= texts
        if said.get("evaluator_relationship") in RELATIONSHIPS:
            made["evaluator_relationship"] = said["evaluator_relationship"]
    return made


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value)


def _library(manifest: Manifest) -> dict[str, Any]:
    """Return what made the answers and scores, which need not be helmsite."""
    said = manifest.spec.settings.get("eval_library")
    provenance = manifest.provenance
    name, version = provenance.source_tool, provenance.source_version
    if isinstance(said, dict) and _is_text(said.get("name")):
        name, version = said["name"], str(said.get("version") or "")
    if not name:
        name, version = "helmsite", provenance.helmsite_version
    return {
        "name": name,
        "version": version or "unknown",
        "additional_details": {"exported_by": f"helmsite {__version__}"},
    }


def model_info(manifest: Manifest) -> dict[str, Any]:
    """Return what a run's model is."""
    model, card = manifest.spec.model, manifest.card
    settings = dict(model.settings)
    deployment = settings.pop("deployment_type", "")
    platform = settings.pop("inference_platform", "")
    settings.pop("inference_engine", None)
    if deployment not in DEPLOYMENTS:
        deployment = DEPLOYMENTS[0] if model.client in OURS else "unknown"
    more = {
        **{f: getattr(model, f) for f in ("revision", "quantisation", "client")},
        "weights_sha256": model.weights_sha256,
        **{f: getattr(card, f) for f in ("licence", "family", "tokenizer")},
        "release_date": card.release_date,
        "num_parameters": card.num_parameters,
        "context_length": card.context_length,
        **settings,
    }
    texts = {k: as_text(v) for k, v in more.items() if v not in ("", None, {}, ())}
    made: dict[str, Any] = {
        "name": card.aliases[0] if card.aliases else card.title or model.name,
        "id": model.name,
        "developer": naming.developer_of(manifest),
        "additional_details": {
            **texts,
            "deployment_type": deployment,
            "model_availability": AVAILABILITY.get(card.access, "unknown"),
        },
    }
    if _is_text(platform):
        made["inference_platform"] = platform
    engine = model.runtime or (model.client if model.client in OURS else "")
    if engine:
        made["inference_engine"] = {"name": engine}
    return made


def _source_data(
    manifest: Manifest, ids: list[str] | None, splits: list[str]
) -> dict[str, Any]:
    """Return where the data came from; a source of Every Eval Ever as it was."""
    said = manifest.spec.settings.get("source_data")
    facts, data = manifest.scenario, manifest.spec.data
    more = {
        "scenario": manifest.spec.scenario,
        "title": facts.title,
        "description": facts.description,
        "licence": facts.licence,
        "citation": facts.citation,
        "groups": as_text(list(facts.groups)) if facts.groups else "",
        "main_metric": facts.main_metric,
        "main_split": facts.main_split,
        "data_source": data.source,
        "data_revision": data.revision,
        "data_sha256": data.sha256,
        "data_generator": data.generator,
        "definition_sha256": manifest.spec.definition_sha256,
    }
    details = {k: v for k, v in more.items() if v}
    if isinstance(said, dict) and _is_source(said):
        made = {k: v for k, v in said.items() if k != "additional_details"}
        old = said.get("additional_details")
        texts = {
            k: as_text(v) for k, v in (old if isinstance(old, dict) else {}).items()
        }
        details = {**texts, **details}
    elif facts.url:
        name = facts.title or naming.benchmark(manifest)
        made = {"dataset_name": name, "source_type": "url", "url": [facts.url]}
    else:
        name = facts.title or naming.benchmark(manifest)
        made = {"dataset_name": name, "source_type": "other"}
    if made["source_type"] == "hf_dataset":
        if ids is not None:
            made |= {"samples_number": len(ids), "sample_ids": ids}
        if len(splits) == 1 and splits[0]:
            made["hf_split"] = splits[0]
    elif ids is not None:
        details["samples_number"] = str(len(ids))
    return {**made, "additional_details": details}


def _is_source(said: Mapping[str, Any]) -> bool:
    """Say whether a source of data is one as the format wants it."""
    fields = SOURCES.get(str(said.get("source_type")))
    if fields is None or not all(isinstance(said.get(k), t) for k, t in fields.items()):
        return False
    urls = said.get("url", [""])
    texts = ("hf_repo", "hf_split")
    return (
        isinstance(urls, list)
        and bool(urls)
        and all(isinstance(url, str) for url in urls)
        and all(isinstance(said.get(k, ""), str) for k in texts)
        and isinstance(said.get("samples_number", 0), int)
        and not isinstance(said.get("samples_number", 0), bool)
    )


def _generation(manifest: Manifest) -> dict[str, Any]:
    """Return how answers were made: decoding, and every setting that is not the usual one."""
    adapter = manifest.spec.adapter
    decoding = adapter.decoding
    args: dict[str, Any] = {}
    if decoding.max_tokens > 0:
        args = {
            "temperature": decoding.temperature,
            "top_p": decoding.top_p,
            "max_tokens": decoding.max_tokens,
            "reasoning": "chain_of_thought" in adapter.method,
        }
    usual = msgspec.to_builtins(AdapterSpec())
    more = {
        k: v
        for k, v in msgspec.to_builtins(adapter).items()
        if v != usual[k] or k in {"method", "max_train_instances"}
    }
    more |= {k: v for k, v in manifest.spec.settings.items() if k not in APART}
    if manifest.spec.perturbations:
        more["perturbations"] = list(manifest.spec.perturbations)
    texts = {k: as_text(v) for k, v in more.items() if v not in (None, "", {}, [])}
    return {"generation_args": args, "additional_details": texts}
