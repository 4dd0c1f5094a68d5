"""Small files as versions of lm-evaluation-harness write them, made by hand."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

STAMP = "2025-01-02T03-04-05.678901"
CHOICES = ["no", "yes, sure", "so"]


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def question(
    number: int, logprobs: list[Any], gold: int = 1, **more: Any
) -> dict[str, Any]:
    """A row of multiple choice of today's layout; log-likelihoods as given."""
    doc = {"id": f"q{number}", "question": f"Is it {number}?", "choices": CHOICES}
    context = f"Is it {number}?\nAnswer:"
    resps = [[[str(each), "False"]] for each in logprobs]
    return {
        "doc_id": number,
        "doc": doc,
        "target": str(gold),
        "arguments": {
            f"gen_args_{n}": {"arg_0": context, "arg_1": f" {choice}"}
            for n, choice in enumerate(CHOICES)
        },
        "resps": resps,
        "filtered_resps": [each[0] for each in resps],
        "filter": "none",
        "metrics": ["acc"],
        "doc_hash": sha256(json.dumps(doc, indent=2, ensure_ascii=False)),
        "prompt_hash": sha256(context),
        "target_hash": sha256(str(gold)),
        "acc": float(max(range(3), key=lambda n: float(logprobs[n])) == gold),
        **more,
    }


def questions() -> list[dict[str, Any]]:
    return [
        question(0, [-3.5, -1.25, -2.0]),
        question(1, [-1.0, -4.5, -2.0]),
        question(2, [-9.0, -0.5, -0.75]),
    ]


def task_hash(rows: list[dict[str, Any]]) -> str:
    names = ("doc_hash", "prompt_hash", "target_hash")
    return sha256("".join(row[name] for row in rows for name in names))


def results(rows: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    values = [row["acc"] for row in rows]
    mean = sum(values) / len(values)
    spread = sum((v - mean) ** 2 for v in values) / max(1, len(values) - 1)
    return {
        "results": {
            "is_it": {
                "alias": " - is_it",
                "acc,none": mean,
                "acc_stderr,none": (spread / len(values)) ** 0.5,
            }
        },
        "group_subtasks": {"is_it": []},
        "configs": {
            "is_it": {
                "task": "is_it",
                "dataset_path": "org/is-it",
                "test_split": "test",
                "doc_to_text": "{{question}}\nAnswer:",
                "doc_to_target": 1,
                "doc_to_choice": "choices",
                "target_delimiter": " ",
                "output_type": "multiple_choice",
                "process_docs": "<function process_docs at 0x7fb6413f1f80>",
                "metric_list": [{"metric": "acc", "aggregation": "mean"}],
                "metadata": {
                    "version": 1.0,
                    "pretrained": "org/thing-7b",
                    "config_source": "/home/somebody/tasks/is_it.yaml",
                },
            }
        },
        "versions": {"is_it": 1.0},
        "n-shot": {"is_it": 0},
        "higher_is_better": {"is_it": {"acc": True}},
        "n-samples": {"is_it": {"original": 9, "effective": len(rows)}},
        "config": {
            "model": "hf",
            "model_args": {"pretrained": "org/thing-7b", "revision": "step1000"},
            "batch_size": "8",
            "limit": 3.0,
            "fewshot_seed": 1234,
        },
        "date": 1735786000.5,
        "lm_eval_version": "0.4.9",
        "task_hashes": {"is_it": task_hash(rows)} if "doc_hash" in rows[0] else {},
        "total_evaluation_time_seconds": "12.5",
        **more,
    }


def lines(rows: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def write(
    folder: Path,
    rows: list[dict[str, Any]] | None = None,
    said: dict[str, Any] | None = None,
    name: str = "results",
) -> Path:
    """Write results and samples as one call does; return the folder."""
    rows = questions() if rows is None else rows
    folder.mkdir(parents=True, exist_ok=True)
    whole = json.dumps(results(rows) if said is None else said, indent=2)
    (folder / f"{name}_{STAMP}.json").write_text(whole)
    (folder / f"samples_is_it_{STAMP}.jsonl").write_text(lines(rows))
    return folder


def old(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same rows as 0.4.0 to 0.4.2 write them: lists and numbers, no hashes."""
    kept = ("doc_id", "doc", "target", "acc")
    return [
        {
            **{key: row[key] for key in kept},
            "target": int(row["target"]),
            "arguments": [list(each.values()) for each in row["arguments"].values()],
            "resps": [[[float(r[0][0]), False]] for r in row["resps"]],
            "filtered_resps": [[float(r[0]), False] for r in row["filtered_resps"]],
        }
        for row in rows
    ]
