"""Make many run folders of HELM out of its sample runs, with 1000 instances each.

Usage: python -m tests.bench.helm_copies SAMPLES OUT [--runs 200] [--instances 1000]

Each folder is one of the sample's runs of one trial under another model's name. Its
instances are copied with other ids, numbers in their texts, times and log-probabilities;
stats.json has HELM's means of what per_instance_stats.json says. HELM writes JSON with an
indent of 2, and so is it here: the files weigh what HELM's do.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import msgspec

BASES = (
    "mmlu:subject=elementary_mathematics,method=multiple_choice_joint,model=test_noisy-50",
    "mmlu:subject=us_foreign_policy,method=multiple_choice_joint,model=huggingface_tiny-a",
    "dyck_language_np=2:model=huggingface_tiny-b",
    "wikifact:k=5,subject=capital,model=huggingface_tiny-b",
    "mmlu:subject=elementary_mathematics,method=multiple_choice_separate_original",
    "twitter_aae:demographic=aa,model=huggingface_tiny-a",
)
"""Beginnings of the names of those that are copied, in turn."""

Key = tuple[str, int]


class Base:
    """A run of the sample: request states and statistics of its first trial, by instance."""

    def __init__(self, folder: Path) -> None:
        self.files = {
            path.stem: json.loads(path.read_text(encoding="utf-8"))
            for path in sorted(folder.glob("*.json"))
        }
        self.states: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for state in self.files["scenario_state"]["request_states"]:
            if not state["train_trial_index"]:
                self.states[state["instance"]["id"]].append(state)
        self.stats = {
            entry["instance_id"]: entry["stats"]
            for entry in self.files["per_instance_stats"]
            if not entry["train_trial_index"]
        }
        self.displayed = {
            name: {
                entry.get("instance_id", entry.get("id")): entry
                for entry in self.files[name]
                if not entry.get("train_trial_index")
            }
            for name in ("instances", "display_predictions", "display_requests")
        }


def write(base: Base, folder: Path, model: str, instances: int, seed: int) -> int:
    """Write a copy; return its size in bytes."""
    rng = random.Random(seed)
    spec = json.loads(json.dumps(base.files["run_spec"]))
    old = spec["adapter_spec"]["model"]
    name = spec["name"].replace(old.replace("/", "_"), model.replace("/", "_"))
    name = name.replace(",num_train_trials=2", "").partition(",max_eval")[0]
    spec["name"] = name
    spec["adapter_spec"] |= {"model": model, "model_deployment": model}
    spec["adapter_spec"] |= {"max_eval_instances": instances, "num_train_trials": 1}
    out: dict[str, list[Any]] = defaultdict(list)
    ids = sorted(base.states)
    for n in range(instances):
        source, new = ids[n % len(ids)], f"id{n}"
        change = _Change(n, rng, model)
        out["request_states"] += [
            change.state(state, new) for state in base.states[source]
        ]
        stats = [change.stat(stat) for stat in base.stats[source]]
        out["per_instance_stats"].append(
            {"instance_id": new, "train_trial_index": 0, "stats": stats}
        )
        for kind, entries in base.displayed.items():
            key = "id" if kind == "instances" else "instance_id"
            out[kind].append({**entries[source], key: new})
    files = {
        "run_spec": spec,
        "scenario": base.files["scenario"],
        "scenario_state": {
            "adapter_spec": spec["adapter_spec"],
            "request_states": out.pop("request_states"),
        },
        **out,
        "stats": _means(base.files["stats"], out["per_instance_stats"]),
    }
    return _write(files, folder / name)


class _Change:
    """What is changed in one copy of an instance."""

    def __init__(self, n: int, rng: random.Random, model: str) -> None:
        self.number, self.model = str(n), model
        self.factor, self.seconds = rng.uniform(0.9, 1.1), rng.uniform(0.01, 2.0)

    def state(self, state: dict[str, Any], name: str) -> dict[str, Any]:
        """Return a request state of another instance."""
        text = state["instance"]["input"]["text"]
        new = f"{self.number}: {text}"
        request, result = state["request"], state["result"]
        prompt = new.join(request["prompt"].rsplit(text, 1))
        completions = [
            {
                **each,
                "text": each["text"]
                if not request["echo_prompt"]
                else new.join(each["text"].rsplit(text, 1)),
                "logprob": each["logprob"] * self.factor,
                "tokens": [
                    {**token, "logprob": token["logprob"] * self.factor}
                    for token in each["tokens"]
                ],
            }
            for each in result["completions"]
        ]
        own = {"model": self.model, "model_deployment": self.model}
        return {
            **state,
            "instance": {**state["instance"], "id": name, "input": {"text": new}},
            "request": {**request, **own, "prompt": prompt},
            "result": {
                **result,
                "completions": completions,
                "request_time": self.seconds,
                "cached": False,
            },
        }

    def stat(self, stat: dict[str, Any]) -> dict[str, Any]:
        """Return a statistic of it."""
        name = stat["name"]["name"]
        if stat["count"] != 1:
            return stat
        if name == "inference_runtime":
            return {"name": stat["name"], **_of([self.seconds])}
        if name == "logprob":
            return {"name": stat["name"], **_of([stat["mean"] * self.factor])}
        if name == "max_prob" and stat["mean"] > 0:
            value = math.exp(math.log(stat["mean"]) * self.factor)
            return {"name": stat["name"], **_of([value])}
        return stat


def _means(
    stats: list[dict[str, Any]], entries: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Return stats.json of one trial: the mean of each metric that instances have."""
    values: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for entry in entries:
        for stat in entry["stats"]:
            found = values[stat["name"]["name"]]
            found[0] += stat["sum"]
            found[1] += stat["count"]
    made = []
    for stat in stats:
        name, perturbation = stat["name"]["name"], stat["name"].get("perturbation")
        if name == "num_instances" and not perturbation:
            made.append({"name": stat["name"], **_of([len(entries)])})
        elif values[name][1] and not perturbation:
            mean = values[name][0] / values[name][1]
            made.append({"name": stat["name"], **_of([mean])})
        elif name not in values or not values[name][1]:
            made.append(stat)
    return made


def _of(values: list[float]) -> dict[str, Any]:
    value = values[0]
    return {
        "count": 1,
        "sum": value,
        "sum_squared": value * value,
        **dict.fromkeys(("min", "max", "mean"), value),
        "variance": 0.0,
        "stddev": 0.0,
    }


def _write(files: dict[str, Any], folder: Path) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    total = 0
    for name, content in files.items():
        blob = msgspec.json.format(msgspec.json.encode(content), indent=2)
        total += (folder / f"{name}.json").write_bytes(blob)
    return total


def main() -> None:
    """Write the folders."""
    parser = argparse.ArgumentParser()
    parser.add_argument("samples", type=Path, help="benchmark_output of the samples")
    parser.add_argument("out", type=Path)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--instances", type=int, default=1000)
    given = parser.parse_args()
    folders = sorted((given.samples / "runs" / "sample").glob("*:*"))
    bases = [
        Base(next(f for f in folders if f.name.startswith(name))) for name in BASES
    ]
    total = 0
    for n in range(given.runs):
        base = bases[n % len(bases)]
        model = f"bench/model-{n // len(bases):02}"
        folder = given.out / "runs" / "bench"
        total += write(base, folder, model, given.instances, n)
    sys.stdout.write(f"{given.runs} runs, {total / 1e6:.0f} MB\n")


if __name__ == "__main__":
    main()
