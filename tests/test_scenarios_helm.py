"""HELM's scenarios, written in the file format over the raw files, equal HELM's own."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from helmsite import scenarios

GENERATION = {"method": "generation"}
MMLU: dict[str, Any] = {
    "source": {
        "files": {
            "train": "{raw}/mmlu/dev/{{ parameters.subject }}_dev.csv",
            "valid": "{raw}/mmlu/val/{{ parameters.subject }}_val.csv",
            "test": "{raw}/mmlu/test/{{ parameters.subject }}_test.csv",
        },
        "columns": ["question", "a", "b", "c", "d", "answer"],
    },
    "parameters": {"subject": {"values": ["abstract_algebra", "anatomy"]}},
    "input": "{{ question }}",
    "references": {
        "choices": ["{{ a }}", "{{ b }}", "{{ c }}", "{{ d }}"],
        "answer": "{{ answer }}",
        "answer_is": "letter",
    },
    "adapter": {
        "method": "multiple_choice_joint",
        "instructions": "The following are multiple choice questions (with answers) "
        "about {{ parameters.subject | replace('_', ' ') }}.",
        "input_noun": "Question",
        "output_noun": "Answer",
    },
}
GSM: dict[str, Any] = {
    "source": {
        "files": {
            "train": "{raw}/gsm8k/train_first600.jsonl",
            "test": "{raw}/gsm8k/test.jsonl",
        }
    },
    "input": "{{ question }}",
    "references": {
        "correct": "{{ answer | replace('####', 'The answer is') | replace('\n', ' ') }}."
    },
    "adapter": GENERATION,
}
OPENBOOKQA: dict[str, Any] = {
    "source": {
        "files": {
            split: f"{{raw}}/openbookqa/OpenBookQA-V1-Sep2018/Data/Main/{split}.jsonl"
            for split in ("train", "test")
        }
    },
    "input": "{{ question.stem }}",
    "references": {
        "choices": "{{ question.choices | map(attribute='text') }}",
        "answer": "{{ answerKey }}",
        "answer_is": "letter",
    },
    "adapter": GENERATION,
}
CASES = {
    "mmlu_abstract_algebra": (MMLU, "mmlu:subject=abstract_algebra"),
    "gsm": (GSM, "gsm"),
    "openbookqa": (OPENBOOKQA, "openbookqa"),
}


@pytest.mark.parametrize("name", CASES)
def test_files_give_helms_instances(name: str, tmp_path: Path, shared: Path) -> None:
    said, entry = CASES[name]
    own = {"name": entry.partition(":")[0], "title": name, **said}
    text = yaml.safe_dump(own, sort_keys=False, width=1000)
    raw = shared / "data" / "raw"
    (tmp_path / "scenario.yaml").write_text(text.replace("{raw}", str(raw)))
    loaded = scenarios.load(entry, [tmp_path], roots=[raw])
    golden = json.loads((shared / "facts" / "helm_golden" / f"{name}.json").read_text())
    digest = hashlib.sha256()
    for i in loaded.instances:
        references = [[r.text, list(r.tags)] for r in i.references]
        row = [i.instance_id, i.split, i.input, references]
        digest.update(json.dumps(row, ensure_ascii=False).encode())
    assert len(loaded.instances) == golden["n_instances"]
    assert digest.hexdigest() == golden["sha256_all_instances"]
    if name.startswith("mmlu"):
        assert golden["prompts"][0]["prompt"].startswith(loaded.adapter.instructions)
