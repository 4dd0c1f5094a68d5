"""Run folders of HELM made by hand, for what its sample runs lack."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

Json = dict[str, Any]
ADAPTER: Json = {
    "method": "generation",
    "instructions": "",
    "input_prefix": "Q: ",
    "max_train_instances": 0,
    "max_eval_instances": 10,
    "num_outputs": 1,
    "num_train_trials": 1,
    "num_trials": 1,
    "model": "org/model",
    "model_deployment": "org/model",
    "temperature": 0,
    "max_tokens": 5,
    "stop_sequences": ["\n"],
}


def token(text: str, logprob: float | None = -0.5, **more: Any) -> Json:
    return {"text": text, "logprob": logprob, **more}


def completion(text: str, logprob: float = -0.5, **more: Any) -> Json:
    return {
        "text": text,
        "logprob": logprob,
        "tokens": [token(text, logprob)],
        "finish_reason": {"reason": "stop"},
        **more,
    }


def instance(name: str, text: str, *options: str, gold: int = 0, **more: Any) -> Json:
    references = [
        {"output": {"text": o}, "tags": ["correct"] if n == gold else []}
        for n, o in enumerate(options)
    ]
    return {
        "input": {"text": text},
        "references": references,
        "split": "test",
        "id": name,
        **more,
    }


def state(
    of: Json,
    *completions: Json,
    prompt: str | None = None,
    request: Json | None = None,
    result: Json | None = None,
    **more: Any,
) -> Json:
    """A request state: of an instance, with its answers."""
    return {
        "instance": of,
        "train_trial_index": 0,
        "request": {
            "model": "org/model",
            "model_deployment": "org/model",
            "embedding": False,
            "prompt": of["input"]["text"] if prompt is None else prompt,
            "temperature": 0,
            "num_completions": max(1, len(completions)),
            "top_k_per_token": 1,
            "max_tokens": 5,
            "stop_sequences": ["\n"],
            "echo_prompt": False,
            "top_p": 1,
            "presence_penalty": 0,
            "frequency_penalty": 0,
            **(request or {}),
        },
        "result": {
            "success": True,
            "embedding": [],
            "completions": list(completions),
            "cached": False,
            "request_time": 0.25,
            "request_datetime": 1_700_000_000,
            **(result or {}),
        },
        "num_train_instances": 0,
        "prompt_truncated": False,
        "num_conditioning_tokens": 0,
        **more,
    }


def echoed(
    of: Json,
    tokens: Sequence[Json],
    prompt: str,
    result: Json | None = None,
    **more: Any,
) -> Json:
    """A request state whose prompt is scored: nothing is generated."""
    said = {
        "text": prompt,
        "logprob": sum(t["logprob"] or 0 for t in tokens),
        "tokens": list(tokens),
    }
    given = {"echo_prompt": True, "max_tokens": 0, "stop_sequences": []}
    return state(of, said, prompt=prompt, request=given, result=result, **more)


def stat(name: str, *values: float, **context: Any) -> Json:
    """A statistic as HELM writes it."""
    made: Json = {
        "name": {"name": name, "split": "test", **context},
        "count": len(values),
        "sum": sum(values),
        "sum_squared": sum(v * v for v in values),
    }
    if values:
        mean = made["sum"] / len(values)
        made |= {"min": min(values), "max": max(values), "mean": mean}
        variance = made["sum_squared"] / len(values) - mean * mean
        made |= {"variance": variance, "stddev": max(0.0, variance) ** 0.5}
    return made


def judged(name: str, *stats: Json, trial: int = 0, **more: Any) -> Json:
    """The statistics of an instance."""
    return {
        "instance_id": name,
        "train_trial_index": trial,
        "stats": list(stats),
        **more,
    }


def write(
    folder: Path,
    states: Sequence[Json] | None,
    *,
    scores: Sequence[Json] | None = None,
    stats: Sequence[Json] | None = None,
    adapter: Json | None = None,
    spec: Json | None = None,
    name: str = "",
    **files: Any,
) -> Path:
    """Write a run folder with the files that are given; `files` by their names' stems."""
    said = {**ADAPTER, **(adapter or {})}
    run_spec = {
        "name": name or folder.name,
        "scenario_spec": {"class_name": "helm.X", "args": {}},
        "adapter_spec": said,
        "metric_specs": [
            {
                "class_name": "helm.BasicGenerationMetric",
                "args": {"names": ["exact_match"]},
            }
        ],
        "data_augmenter_spec": {"perturbation_specs": []},
        "groups": ["made"],
        **(spec or {}),
    }
    content: Json = {"run_spec": run_spec, **files}
    if states is not None:
        content["scenario_state"] = {
            "adapter_spec": said,
            "request_states": list(states),
        }
    if scores is not None:
        content["per_instance_stats"] = list(scores)
    if stats is not None:
        content["stats"] = list(stats)
    folder.mkdir(parents=True, exist_ok=True)
    for stem, value in content.items():
        if value is not None:
            text = json.dumps(value, indent=2)
            (folder / f"{stem}.json").write_text(text, encoding="utf-8")
    return folder
