"""HELM's side of test_scenarios.py: what its own classes make of a folder of data.

A case is a run entry and a folder in helmsite's layout; the answer is HELM's run spec
and all its instances. Nothing is downloaded: each address leads into the folder.
"""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path
from typing import Any

import datasets  # type: ignore[import-not-found]
from helm.benchmark.scenarios import (  # type: ignore[import-not-found]
    boolq_scenario,
    civil_comments_scenario,
    commonsense_scenario,
    gsm_scenario,
    imdb_scenario,
    imdb_scenario_pinned_file_order,
    mmlu_scenario,
    raft_scenario,
    truthful_qa_scenario,
)
from instancing import references, run_spec, told  # type: ignore[import-not-found]
from serving import serve  # type: ignore[import-not-found]

HERE = Path("data").absolute()
MODULES = (
    *(boolq_scenario, civil_comments_scenario, commonsense_scenario, gsm_scenario),
    *(imdb_scenario, imdb_scenario_pinned_file_order, mmlu_scenario, raft_scenario),
    truthful_qa_scenario,
)
ENDS = {
    "boolq/train.jsonl": "boolq/train.jsonl",
    "boolq/dev.jsonl": "boolq/dev.jsonl",
    "boolq_perturbed.json": "boolq/boolq_perturbed.json",
    "hendrycks/data.tar": "mmlu",
    "hellaswag_train.jsonl": "hellaswag/hellaswag_train.jsonl",
    "hellaswag_val.jsonl": "hellaswag/hellaswag_val.jsonl",
    "OpenBookQA-V1-Sep2018.zip": "openbookqa/OpenBookQA-V1-Sep2018",
    "commensenseqa/train_rand_split.jsonl": "commonsenseqa/train_rand_split.jsonl",
    "commensenseqa/dev_rand_split.jsonl": "commonsenseqa/dev_rand_split.jsonl",
    "piqa/data/train.jsonl": "piqa/train.jsonl",
    "piqa/data/valid.jsonl": "piqa/valid.jsonl",
    "piqa/data/train-labels.lst": "piqa/train-labels.lst",
    "piqa/data/valid-labels.lst": "piqa/valid-labels.lst",
    "v1/TruthfulQA.csv": "truthful_qa/TruthfulQA.csv",
    "data//train.jsonl": "gsm/train.jsonl",
    "data//test.jsonl": "gsm/test.jsonl",
    "aclImdb_v1.tar.gz": "imdb/aclImdb",
    "all_data_with_identities.csv": "civil_comments/all_data_with_identities.csv",
    **{
        f"IMDb/data/{part}": f"imdb/contrast/{part}"
        for part in (
            *("test_original.tsv", "test_contrast.tsv"),
            *("dev_original.tsv", "dev_contrast.tsv"),
        )
    },
}
SIQA = "socialiqa-train-dev.zip"
PINNED = "contents/blob/"
SETTINGS = "prompt_construction_settings.json?dl=0"


def fetched(source_url: str, target_path: str, **_: Any) -> None:
    """Copy a file or folder to where HELM would download it."""
    target = Path(target_path)
    target.parent.mkdir(parents=True, exist_ok=True)
    if source_url.endswith(PINNED):
        target.write_text(json.dumps(sorted_reviews()))
        return
    if source_url.endswith(SETTINGS):
        shutil.copyfile(HERE / "raft" / "settings.jsonl", target)
        return
    if source_url.endswith(SIQA):
        shutil.copytree(
            HERE / "siqa", target / "socialiqa-train-dev", dirs_exist_ok=True
        )
        return
    (end,) = [end for end in ENDS if source_url.endswith(end)]
    source = HERE / ENDS[end]
    if source.is_dir():
        shutil.copytree(source, target, dirs_exist_ok=True)
    else:
        shutil.copyfile(source, target)


def sorted_reviews() -> dict[str, dict[str, list[str]]]:
    folders = {"train": "train", "valid": "test"}
    return {
        split: {
            kind: sorted(
                p.name for p in (HERE / "imdb/aclImdb" / name / kind).iterdir()
            )
            for kind in ("pos", "neg")
        }
        for split, name in folders.items()
    }


def labelled(_: str, subset: str, **__: Any) -> Any:
    """RAFT's rows of one task, as the hub's own script types them."""
    path = HERE / "raft/data" / subset / "train.csv"
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    names = sorted({row["Label"] for row in rows})
    features = datasets.Features(
        {
            name: datasets.ClassLabel(names=names)
            if name == "Label"
            else datasets.Value("string")
            for name in rows[0]
        }
    )
    return datasets.Dataset.from_list(rows, features=features)


def answer(case: dict[str, str]) -> Any:
    global HERE  # noqa: PLW0603 - what the patched functions read
    HERE = Path(case["data"])
    imdb_scenario_pinned_file_order._split_to_class_to_pinned_file_order = {}
    home = Path("scenarios", case["key"]).absolute()
    found, instances = told(run_spec(case["entry"]), home.joinpath)
    for row, each in zip(found["instances"], instances, strict=True):
        contrast = zip(
            each.contrast_inputs or [], each.contrast_references or [], strict=True
        )
        row.append([[other.text, references(of)] for other, of in contrast])
    return found


for module in MODULES:
    module.ensure_file_downloaded = fetched
raft_scenario.datasets.load_dataset = labelled
serve(answer)
