"""What scenarios make of the reference data equals what HELM makes of it, to the byte.

Every file of ../shared/facts/helm_golden is one case: its `run_spec` is a run entry.
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from helmsite import scenarios
from helmsite.adapters import Window, adapt, eval_instances, in_context_examples
from helmsite.schema import TRAIN, override_adapter
from tests.conftest import SHARED
from tests.local_data import lay_out

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from helmsite.schema import Instance, LoadedScenario, Request

    Load = functools._lru_cache_wrapper[LoadedScenario]

FOLDER = SHARED / "facts" / "helm_golden"
FILES = sorted(path.stem for path in FOLDER.glob("*.json"))
SHORT = {"np": "num_parenthesis_pairs"}
"""Parameters that the names of run specs shorten."""


@pytest.fixture(scope="module")
def load(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Load:
    data = lay_out(shared / "data" / "raw", tmp_path_factory.mktemp("data"))
    return functools.cache(lambda entry: scenarios.load(entry, [], [data]))


@functools.cache
def golden(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text("utf-8"))
    return found


def entry(golden: dict[str, Any]) -> str:
    """The run entry of a golden file: its run spec's name, and what its class got."""
    name, _, rest = re.sub(r"_np=", ":np=", golden["run_spec"]).partition(":")
    said = dict(pair.split("=", 1) for pair in rest.split(",") if pair)
    said = {SHORT.get(key, key): value for key, value in said.items()}
    if golden["scenario_args"].get("only_contrast"):
        said["only_contrast"] = "True"
    return f"{name}:" + ",".join(f"{k}={v}" for k, v in said.items()) if said else name


def digest(instances: Iterable[Instance]) -> str:
    found = hashlib.sha256()
    for each in instances:
        references = [[r.text, list(r.tags)] for r in each.references]
        line = [each.instance_id, each.split, each.input, references]
        found.update(json.dumps(line, ensure_ascii=False).encode())
    return found.hexdigest()


def ids(instances: Iterable[Instance]) -> list[str]:
    return [each.instance_id for each in instances]


def test_there_are_golden_files() -> None:
    if SHARED.is_dir():
        assert FILES


@pytest.mark.parametrize("name", FILES)
def test_instances_are_helms(name: str, load: Load) -> None:
    said = golden(name)
    found = load(entry(said)).instances
    assert len(found) == said["n_instances"]
    assert Counter(i.split for i in found) == said["by_split"]
    assert digest(found) == said["sha256_all_instances"]
    heads = {"train_head": TRAIN, "eval_head": ""}
    for head, split in heads.items():
        of = [i for i in found if (i.split == TRAIN) == (split == TRAIN)]
        for here, there in zip(of, said[head], strict=False):
            assert there["id"] == here.instance_id
            if "n_contrast" in there:
                assert there["n_contrast"] == len(here.extra.get("contrast", []))


@pytest.mark.parametrize("name", FILES)
def test_draws_are_helms(name: str, load: Load) -> None:
    said = golden(name)
    loaded = load(entry(said))
    spec = override_adapter(loaded, {"max_eval_instances": 10})
    asked = eval_instances(loaded.instances, spec)
    assert ids(asked) == said["eval_ids_max_eval_instances_10"]
    trials = {
        int(key.removeprefix("in_context_example_ids_seed")): value
        for key, value in said.items()
        if key.startswith("in_context_example_ids_seed")
    }
    assert 0 in trials or loaded.adapter.method == "language_modeling"
    for trial, expected in trials.items():
        assert ids(in_context_examples(loaded.instances, spec, trial)) == expected


@pytest.mark.parametrize("name", FILES)
def test_requests_are_helms(name: str, load: Load) -> None:
    said = golden(name)
    loaded = load(entry(said))
    assert loaded.adapter.method == said["adapter_method"]
    if loaded.adapter.method == "language_modeling":
        assert not said.get("prompts")
        return
    spec = override_adapter(loaded, {"max_eval_instances": 10})
    asked = eval_instances(loaded.instances, spec)
    made: dict[str, list[Request]] = {}
    for request in adapt(loaded.instances, spec, Window(), asked):
        made.setdefault(request.instance_id, []).append(request)
    of: dict[str, list[dict[str, Any]]] = {}
    for prompt in said["prompts"]:
        of.setdefault(prompt["instance_id"], []).append(prompt)
    assert of
    for instance_id, prompts in of.items():
        for request, prompt in zip(made[instance_id], prompts, strict=False):
            assert request.prompt == prompt["prompt"]
            assert (request.output_mapping or None) == prompt["output_mapping"]
            sent = dict(prompt["request"])
            assert (request.score_start is not None) == sent.pop("echo_prompt")
            assert list(request.decoding.stop_sequences) == sent.pop("stop_sequences")
            for setting, value in sent.items():
                assert getattr(request.decoding, setting) == value, setting
