"""HELM's side: what its own classes make of a folder of data, laid out as HELM wants it.

A case is a run entry and a folder of data in helmsite's layout; the answer is HELM's run
spec and all its instances. Or it is a text and the name of a function that changes it.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
from datasets import Dataset, DatasetDict  # type: ignore[import-not-found]
from helm.benchmark.scenarios import (  # type: ignore[import-not-found]
    code_scenario,
    math_scenario,
    the_pile_scenario,
)
from helm.benchmark.scenarios import (
    code_scenario_apps_pinned_file_order as apps_order,
)
from helm.benchmark.scenarios import (
    entity_matching_scenario_fixed_random_state as states,
)
from instancing import run_spec, told  # type: ignore[import-not-found]

CACHE = "helm_scenarios"
PLACES = {
    "wikitext_103/wiki.test.raw": "wikitext_103/data/wiki.test.raw",
    "babi_qa/tasks_1-20_v1-2": "babi_qa/data/tasks_1-20_v1-2",
    "blimp/data": "blimp/data/data",
    "code/APPS": "code/APPS",
    "entity_data_imputation": "entity_data_imputation/data",
    "entity_matching": "entity_matching/data",
    "synthetic_efficiency": "synthetic_efficiency",
}
UNPACKED = {
    "code/HumanEval.jsonl.gz": "code/HumanEval.jsonl",
    "the_pile/test.jsonl.zst": "the_pile/data",
}
PINNED = {
    "code/APPS/code_scenario_apps_pinned_file_order.json": "code/APPS",
    "entity_matching/entity_matching_scenario_fixed_random_state.json": (
        "entity_matching"
    ),
}
INDICES = "assets/test_subsample_indices/"


def lay_out(data: Path) -> Path:
    """Copy data to where HELM keeps what it has downloaded; pins that are absent are {}."""
    cache = Path(CACHE, *data.parts[1:]).absolute()
    if cache.exists():
        return cache
    for ours, helms in PLACES.items():
        source, target = data / ours, cache / helms
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, dirs_exist_ok=True)
        elif source.exists():
            shutil.copyfile(source, target)
    for ours, helms in UNPACKED.items():
        if (data / ours).exists():
            with pa.input_stream(str(data / ours), compression="detect") as stream:
                (cache / helms).parent.mkdir(parents=True, exist_ok=True)
                (cache / helms).write_bytes(stream.read())
    for pin, folder in PINNED.items():
        target = cache / folder / Path(pin).name
        target.parent.mkdir(parents=True, exist_ok=True)
        source = data / pin
        target.write_text(source.read_text() if source.exists() else "{}")
    return cache


def from_folder(data: Path) -> None:
    """Let HELM take from the folder what it would ask the network for."""

    def competition_math(*_: Any, **__: Any) -> DatasetDict:
        return DatasetDict(
            {
                split: Dataset.from_list(
                    [
                        json.loads(path.read_text())
                        for path in sorted((data / "math/MATH" / split).rglob("*.json"))
                    ]
                )
                for split in ("train", "test")
            }
        )

    class Indices:
        def __init__(self, url: str) -> None:
            name = url.partition(INDICES)[2]
            self._path = data / "the_pile/test_subsample_indices" / name

        def json(self) -> Any:
            return json.loads(self._path.read_text())

    states._split_to_fixed_random_seed = {}
    apps_order._apps_split_to_pinned_file_order = {}
    math_scenario.load_dataset = competition_math
    the_pile_scenario.requests.get = Indices


FUNCTIONS = {
    "reindent": code_scenario._reindent_code,
    "boxed": math_scenario.get_answer,
}


def answer(case: Any) -> Any:
    if "function" in case:
        return FUNCTIONS[case["function"]](case["text"])
    data = Path(case["data"])
    cache = lay_out(data)
    from_folder(data)
    found, _ = told(run_spec(case["entry"]), cache.joinpath)
    return found


if __name__ == "__main__":
    from serving import serve  # type: ignore[import-not-found]

    serve(answer)
