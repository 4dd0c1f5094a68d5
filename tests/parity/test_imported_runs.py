"""Runs with HELM's own statistics, imported: what its sample runs lack is equal, too."""

from __future__ import annotations

import random
import re
from typing import TYPE_CHECKING, Any

import pytest

from helmsite import metrics
from tests import helm_folders as folders
from tests.importing import bring

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.parity.reference import Reference

State = dict[str, Any]
COSTS = {facts.name for facts in metrics.known() if facts.higher_is_better is False}
BASIC = [
    ["basic_metrics:BasicGenerationMetric", {"names": ["exact_match", "f1_score"]}],
    ["basic_metrics:BasicReferenceMetric", {}],
    ["basic_metrics:InstancesPerSplitMetric", {}],
]
GENDER = {
    "name": "gender",
    "fairness": True,
    "robustness": False,
    "computed_on": "perturbed",
    "mode": "pronouns",
    "prob": 1.0,
    "source_class": "male",
    "target_class": "female",
    "bidirectional": False,
}


def echoed(rng: random.Random, of: State, prompt: str, **more: Any) -> State:
    texts = re.findall(r"<s>| ?[^ <]+", prompt)
    tokens = [
        folders.token(text, -rng.random() * 5 if n else 0.0)
        for n, text in enumerate(texts)
    ]
    taken = {"request_time": rng.random()}
    return folders.echoed(of, tokens, prompt, result=taken, **more)


def windows(rng: random.Random) -> Iterator[State]:
    for n in range(5):
        of = folders.instance(f"id{n}", "x", sub_split="ab"[n % 2])
        of["split"] = "test" if n else "valid"
        for window in range(rng.randint(1, 4)):
            words = " ".join(
                f"w{rng.randint(0, 99)}é" for _ in range(rng.randint(3, 8))
            )
            text = words if window else f"<s>{words}"
            yield echoed(rng, of, text, num_conditioning_tokens=1 + (window > 0))


def choices(rng: random.Random, modes: tuple[str, ...]) -> Iterator[State]:
    for n in range(6):
        for twin in (False, True)[: 1 + n % 2]:
            text = f"Q{n} {'she' if twin else 'he'}?"
            of = folders.instance(f"id{n}", text, "a", "b c", "d", gold=n % 3)
            of |= {"perturbation": GENDER} if twin else {}
            for index, option in enumerate(("a", "b c", "d")):
                for mode in modes:
                    before = text if mode == "original" else "Answer:"
                    prompt = f"{before} {option}"
                    own = {"reference_index": index, "request_mode": mode}
                    yield echoed(rng, of, prompt, **own)


def answers(rng: random.Random) -> Iterator[State]:
    for trial in range(3):
        for n in range(6):
            of = folders.instance(f"id{n}", f"Q{n}", "yes")
            of["split"] = "test" if n % 2 else "valid"
            found = [
                folders.completion(
                    rng.choice((" yes", " no", " yes no")), -rng.random()
                )
                for _ in range(3)
            ]
            batch = {"batch_size": 4, "batch_request_time": 1 + rng.random()}
            made = folders.state(of, *found, result=batch)
            yield made | {"train_trial_index": trial, "num_train_instances": 5 - trial}


KINDS: dict[str, Any] = {
    "language_modeling": (
        windows,
        [["language_modeling_metrics:LanguageModelingMetric", {"names": []}]],
    ),
    "multiple_choice_separate_original": (
        lambda rng: choices(rng, ("original",)),
        BASIC,
    ),
    "multiple_choice_separate_calibrated": (
        lambda rng: choices(rng, ("original", "calibration")),
        BASIC,
    ),
    "generation": (answers, BASIC),
}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("method", KINDS)
def test_imported_numbers_equal_helms(
    helm: Reference, tmp_path: Path, method: str, seed: int
) -> None:
    make, asked = KINDS[method]
    states = list(make(random.Random(seed)))
    adapter = {
        "method": method,
        "num_outputs": 3 if method == "generation" else 1,
        "num_train_trials": 3 if method == "generation" else 1,
        "max_train_instances": 5 if method == "generation" else 0,
    }
    said = {"adapter_spec": {**folders.ADAPTER, **adapter}, "request_states": states}
    theirs = helm.ask({"state": said, "metrics": asked})
    specs = [{"class_name": f"helm.{name}", "args": args} for name, args in asked]
    folder = folders.write(
        tmp_path / "made:model=org_model",
        states,
        scores=theirs["per_instance_stats"],
        stats=theirs["stats"],
        adapter=adapter,
        spec={"metric_specs": specs},
    )
    brought = bring([folder], tmp_path / "archive")
    assert not brought.report.notes.problems
    (made,) = brought.report.made
    assert not made.different
    assert made.equal > 20
    ours = {
        key(stat): stat.value
        for stat in brought.archive.stats(made.run_id)
        if stat.origin == "computed" and stat.trial == -1 and stat.value is not None
    }
    compared = 0
    for stat in brought.archive.stats(made.run_id):
        if stat.origin == "computed" or stat.trial != -1 or stat.value is None:
            continue
        if stat.computed_on == "worst" and is_of_requests(stat.metric):
            continue  # HELM has the least of all requests
        if stat.metric == "inference_denoised_runtime":
            continue  # of a model that nobody knows
        assert ours[key(stat)] == pytest.approx(stat.value, abs=1e-9), key(stat)
        compared += 1
    assert compared > 40


def is_of_requests(metric: str) -> bool:
    return metric in COSTS or metric.startswith("num_")


def key(stat: Any) -> tuple[str, ...]:
    return (
        stat.metric,
        stat.split,
        stat.sub_split,
        stat.perturbation,
        stat.computed_on,
    )
