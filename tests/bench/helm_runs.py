"""Write an archive of the bench as run folders of HELM, for helm-summarize to read.

The same instances, prompts, completions, tokens and values, and no more than that: HELM
itself would store some twenty statistics more for each instance.
"""

from __future__ import annotations

from datetime import date
from itertools import groupby
from typing import TYPE_CHECKING, Any

import msgspec
import yaml

from tests.bench.archives import METRICS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from helmsite.archive import Archive, RunFiles
    from helmsite.schema import Instance, Manifest, Reply, Score

SUITE = "bench"
METHOD = "bench.Bench"


def write(archive: Archive, folder: Path) -> list[str]:
    """Write every run below `folder`; return what helm-summarize is to be told."""
    manifests = archive.manifests()
    local = folder / "prod_env"
    local.mkdir(parents=True, exist_ok=True)
    models = sorted({m.spec.model.name: m for m in manifests}.items())
    _yaml(local / "model_metadata.yaml", {"models": [_model(m) for _, m in models]})
    deployments = [_deployment(name) for name, _ in models]
    _yaml(local / "model_deployments.yaml", {"model_deployments": deployments})
    _yaml(folder / "schema.yaml", _schema(manifests))
    runs = folder / "runs" / SUITE
    for manifest in manifests:
        write_run(archive.run(manifest.run_id), runs / _name(manifest))
    return [
        *("--output-path", str(folder), "--suite", SUITE),
        *("--schema-path", str(folder / "schema.yaml"), "--local-path", str(local)),
    ]


def write_run(run: RunFiles, folder: Path) -> None:
    """Write one run's five files."""
    folder.mkdir(parents=True, exist_ok=True)
    manifest = run.manifest
    instances = {x.instance_id: x for x in run.instances()}
    states = [_state(instances[r.request.instance_id], r) for r in run.replies()]
    scores = list(run.scores())
    adapter = _adapter(manifest)
    files: dict[str, Any] = {
        "run_spec": {
            "name": _name(manifest),
            "scenario_spec": {"class_name": METHOD, "args": {}},
            "adapter_spec": adapter,
            "metric_specs": [],
            "data_augmenter_spec": {"perturbation_specs": []},
            "groups": [manifest.scenario.name],
        },
        "scenario": {
            "name": manifest.scenario.name,
            "description": manifest.scenario.description,
            "tags": [],
        },
        "scenario_state": {"adapter_spec": adapter, "request_states": states},
        "per_instance_stats": [
            {
                "instance_id": name,
                "train_trial_index": 0,
                "stats": [_stat(s.metric, [s]) for s in own],
            }
            for name, own in groupby(scores, key=lambda s: s.instance_id)
        ],
        "stats": [
            _stat(facts.name, [s for s in scores if s.metric == facts.name])
            for facts in METRICS
        ],
    }
    for name, content in files.items():
        blob = msgspec.json.format(msgspec.json.encode(content), indent=2)
        (folder / f"{name}.json").write_bytes(blob)


def _name(manifest: Manifest) -> str:
    return (
        f"{manifest.scenario.name}:model={manifest.spec.model.name.replace('/', '_')}"
    )


def _yaml(path: Path, content: object) -> None:
    path.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")


def _model(manifest: Manifest) -> dict[str, Any]:
    card = manifest.card
    return {
        "name": manifest.spec.model.name,
        "display_name": card.title,
        "description": "A model of the bench.",
        "creator_organization_name": card.creator,
        "access": card.access,
        "num_parameters": card.num_parameters,
        "release_date": date(2026, 1, 1),
        "tags": ["TEXT_MODEL_TAG", "FULL_FUNCTIONALITY_TEXT_MODEL_TAG"],
    }


def _deployment(name: str) -> dict[str, Any]:
    return {
        "name": name,
        "model_name": name,
        "tokenizer_name": "simple/tokenizer1",
        "max_sequence_length": 4096,
        "client_spec": {"class_name": METHOD, "args": {}},
    }


def _adapter(manifest: Manifest) -> dict[str, Any]:
    adapter = manifest.spec.adapter
    names = (
        *("method", "global_prefix", "global_suffix", "instructions", "input_prefix"),
        *("input_suffix", "reference_prefix", "reference_suffix", "output_prefix"),
        *("output_suffix", "instance_prefix", "substitutions", "max_train_instances"),
        *("num_outputs", "num_train_trials", "sample_train", "temperature"),
        *("max_tokens", "stop_sequences", "multi_label"),
    )
    name = manifest.spec.model.name
    own = {n: getattr(adapter, n) for n in names}
    return {**own, "model": name, "model_deployment": name}


def _instance(instance: Instance) -> dict[str, Any]:
    return {
        "input": {"text": instance.input},
        "references": [
            {"output": {"text": r.text}, "tags": list(r.tags)}
            for r in instance.references
        ],
        "split": instance.split,
        "sub_split": instance.sub_split,
        "id": instance.instance_id,
    }


def _state(instance: Instance, reply: Reply) -> dict[str, Any]:
    request, done = reply.request, reply.completion
    tokens = zip(done.tokens or (), done.token_logprobs or (), strict=True)
    completion = {
        "text": done.text,
        "logprob": done.logprob or 0.0,
        "tokens": [{"text": t, "logprob": p} for t, p in tokens],
    }
    if done.finish_reason:
        completion["finish_reason"] = {"reason": done.finish_reason}
    return {
        "instance": _instance(instance),
        "train_trial_index": request.trial,
        "request": {
            "embedding": False,
            "prompt": request.prompt,
            "temperature": request.decoding.temperature,
            "num_completions": request.decoding.num_completions,
            "top_k_per_token": request.decoding.top_k_per_token,
            "max_tokens": request.decoding.max_tokens,
            "stop_sequences": list(request.decoding.stop_sequences),
            "echo_prompt": False,
            "top_p": request.decoding.top_p,
            "presence_penalty": 0,
            "frequency_penalty": 0,
        },
        "result": {
            "success": not done.error,
            "embedding": [],
            "completions": [completion],  # helm-summarize needs one of a failure too
            "cached": done.cached,
            "request_time": done.duration_s,
            "request_datetime": int(done.started_at or 0),
            **({"error": done.error} if done.error else {}),
        },
        "num_train_instances": 0,
        "prompt_truncated": False,
        "num_conditioning_tokens": 0,
    }


def _stat(metric: str, scores: Iterable[Score]) -> dict[str, Any]:
    values = [s.value for s in scores if s.value is not None]
    found: dict[str, Any] = {
        "name": {"name": metric, "split": "test"},
        "count": len(values),
        "sum": sum(values),
        "sum_squared": sum(v * v for v in values),
    }
    if values:
        mean = found["sum"] / len(values)
        variance = max(0.0, found["sum_squared"] / len(values) - mean * mean)
        found |= {"min": min(values), "max": max(values), "mean": mean}
        found |= {"variance": variance, "stddev": variance**0.5}
    return found


def _schema(manifests: Sequence[Manifest]) -> dict[str, Any]:
    names = sorted({m.scenario.name for m in manifests})
    top: dict[str, Any] = {
        "name": "core_scenarios",
        "display_name": "Core scenarios",
        "description": "Every scenario of the bench.",
        "category": "All scenarios",
        "subgroups": names,
    }
    return {
        "adapter": [],
        "metrics": [
            {"name": f.name, "display_name": f.title, "description": f.description}
            for f in METRICS
        ],
        "perturbations": [],
        "metric_groups": [
            _metric_group("accuracy", ["${main_name}", *_of("accuracy")]),
            _metric_group("efficiency", _of("efficiency")),
        ],
        "run_groups": [top, *map(_group, names)],
    }


def _group(name: str) -> dict[str, Any]:
    taxonomy = {"what": "?", "who": "?", "when": "?", "language": "made up"}
    return {
        "name": name,
        "display_name": name,
        "description": "Made-up prose with a question about it.",
        "metric_groups": ["accuracy", "efficiency"],
        "environment": {"main_name": "exact_match", "main_split": "test"},
        "taxonomy": {"task": "question answering", **taxonomy},
    }


def _of(family: str) -> list[str]:
    own = [f.name for f in METRICS if f.family == family]
    return [name for name in own if name != "exact_match"]


def _metric_group(name: str, metrics: Iterable[str]) -> dict[str, Any]:
    return {
        "name": name,
        "display_name": name.capitalize(),
        "metrics": [{"name": m, "split": "${main_split}"} for m in metrics],
    }
