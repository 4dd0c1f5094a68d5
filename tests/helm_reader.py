"""HELM's run folders as records, enough of them to compare scores and aggregates.

Only for tests: it knows the sample runs, no older format. What HELM echoes is cut to the
scored part, as our completions hold it. Prompt tokens can't be counted without the
models' tokenisers: an echoed prompt shows them, the built-in models have one token per
character, and for the rest HELM's own count stands in, as a server's report would.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from helmsite.schema import (
    AdapterSpec,
    Completion,
    Decoding,
    Instance,
    PerturbationFacts,
    Reference,
    Reply,
    Request,
    Usage,
)

SAMPLES = Path("samples/helm/benchmark_output/runs/sample")
CHARACTER_MODELS = ("simple/", "test/")

PerInstance = dict[tuple[str, str, int], list[dict[str, dict[str, Any]]]]


class HelmRun(NamedTuple):
    """A run: our records of what was asked, and HELM's numbers as it wrote them.

    `names` are the metrics that the run asked for by name. `per_instance` has for each
    (instance, perturbation, trial) a list of {metric: stat}: one for each window of a
    document, else one.
    """

    name: str
    model: str
    adapter: AdapterSpec
    instances: list[Instance]
    replies: list[Reply]
    names: tuple[str, ...]
    perturbations: tuple[PerturbationFacts, ...]
    per_instance: PerInstance
    stats: list[dict[str, Any]]


def run_folders(shared: Path) -> list[Path]:
    """The folders of the sample runs, by name."""
    return sorted(p.parent for p in (shared / SAMPLES).glob("*/scenario_state.json"))


def read(folder: Path) -> HelmRun:
    """Read one run folder."""
    state, spec, stats, per_instance = (
        json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
        for name in ("scenario_state", "run_spec", "stats", "per_instance_stats")
    )
    adapter = _adapter(state["adapter_spec"])
    reported = _per_instance(per_instance)
    instances: dict[tuple[str, str], Instance] = {}
    facts: dict[str, PerturbationFacts] = {}
    replies: list[Reply] = []
    for request_state in state["request_states"]:
        instance = _instance(request_state["instance"])
        instances.setdefault((instance.instance_id, instance.perturbation), instance)
        perturbation = request_state["instance"].get("perturbation")
        if perturbation:
            facts[perturbation["name"]] = PerturbationFacts(
                name=perturbation["name"],
                robustness=perturbation["robustness"],
                fairness=perturbation["fairness"],
            )
        replies.extend(_replies(request_state, instance, adapter, reported))
    names = [n for m in spec["metric_specs"] for n in m["args"].get("names", ())]
    return HelmRun(
        name=folder.name,
        model=state["adapter_spec"]["model"],
        adapter=adapter,
        instances=list(instances.values()),
        replies=replies,
        names=tuple(dict.fromkeys(names)),
        perturbations=tuple(facts[name] for name in sorted(facts)),
        per_instance=reported,
        stats=stats,
    )


def perturbation_name(described: dict[str, Any] | None) -> str:
    """HELM's name of a perturbation, '' for none."""
    return described["name"] if described else ""


def _adapter(raw: dict[str, Any]) -> AdapterSpec:
    known = {k: v for k, v in raw.items() if k in AdapterSpec.__struct_fields__}
    return msgspec.convert(known, AdapterSpec)


def _instance(raw: dict[str, Any]) -> Instance:
    return Instance(
        instance_id=raw["id"],
        input=raw["input"]["text"],
        references=tuple(
            Reference(r["output"]["text"], tuple(r["tags"])) for r in raw["references"]
        ),
        perturbation=perturbation_name(raw.get("perturbation")),
        position=int(raw["id"].removeprefix("id")),
        split=raw["split"],
        sub_split=raw.get("sub_split", ""),
    )


def _per_instance(entries: list[dict[str, Any]]) -> PerInstance:
    found: PerInstance = {}
    for entry in entries:
        key = (
            entry["instance_id"],
            perturbation_name(entry.get("perturbation")),
            entry["train_trial_index"],
        )
        stats = {stat["name"]["name"]: stat for stat in entry["stats"]}
        rows = found.setdefault(key, [])
        for row in rows:
            if not row.keys() & stats.keys():
                row.update(stats)  # another metric class of the same request
                break
        else:
            rows.append(stats)
    return found


def _replies(
    state: dict[str, Any],
    instance: Instance,
    adapter: AdapterSpec,
    reported: PerInstance,
) -> list[Reply]:
    raw, result = state["request"], state["result"]
    reference_index = state.get("reference_index", -1)
    echoed = raw["echo_prompt"]
    scored = ""
    if echoed and reference_index >= 0:
        scored = " " + instance.references[reference_index].text
    key = (instance.instance_id, instance.perturbation, state["train_trial_index"])
    tokens = [len(c["tokens"]) for c in result["completions"]]
    if echoed:
        prompt_tokens = tokens[0]
    elif raw["model"].startswith(CHARACTER_MODELS):
        prompt_tokens = len(raw["prompt"])
    else:
        prompt_tokens = reported[key][0]["num_prompt_tokens"]["sum"]
    request = Request(
        instance_id=instance.instance_id,
        prompt=raw["prompt"],
        decoding=Decoding(
            temperature=raw["temperature"],
            max_tokens=raw["max_tokens"],
            num_completions=raw["num_completions"],
            top_k_per_token=raw["top_k_per_token"],
            stop_sequences=tuple(raw["stop_sequences"]),
        ),
        perturbation=instance.perturbation,
        trial=state["train_trial_index"],
        mode=state.get("request_mode", "original"),
        reference_index=reference_index,
        output_mapping=state.get("output_mapping", {}),
        num_train_instances=state["num_train_instances"],
        truncated=state["prompt_truncated"],
        num_conditioning_tokens=state["num_conditioning_tokens"],
        score_start=(len(raw["prompt"]) - len(scored) if scored else 0)
        if echoed
        else None,
    )
    return [
        Reply(
            request,
            _completion(
                completion, result, request, scored, Usage(prompt_tokens=prompt_tokens)
            ),
            index,
        )
        for index, completion in enumerate(result["completions"])
    ]


def _completion(
    raw: dict[str, Any],
    result: dict[str, Any],
    request: Request,
    scored: str,
    usage: Usage,
) -> Completion:
    tokens = raw["tokens"]
    generated = request.score_start is None
    if scored:
        tokens = _tail(tokens, scored)
    elif not generated:
        if request.num_conditioning_tokens and tokens[0]["text"] == "":
            tokens = tokens[1:]
        tokens = tokens[request.num_conditioning_tokens :]
    logprobs = tuple(float(t["logprob"]) for t in tokens)
    return Completion(
        text=raw["text"] if generated else "",
        tokens=tuple(t["text"] for t in tokens),
        token_logprobs=logprobs,
        logprob=float(raw["logprob"]) if generated else sum(logprobs),
        finish_reason=raw.get("finish_reason", {}).get("reason", ""),
        usage=usage,
        duration_s=result["request_time"],
        started_at=float(result["request_datetime"]),
        cached=result["cached"],
    )


def _tail(tokens: list[dict[str, Any]], text: str) -> list[dict[str, Any]]:
    """The trailing tokens that spell a text."""
    spelled = ""
    for start in range(len(tokens) - 1, -1, -1):
        spelled = tokens[start]["text"] + spelled
        if spelled == text:
            return tokens[start:]
    raise ValueError(f"no trailing tokens spell {text!r}")
