"""Small evaluations of Every Eval Ever as tests write them."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

NAME = "0f8fad5b-d9cb-469f-a165-70867728950e"
Row = dict[str, Any]


def result(identifier: str = "accuracy", score: Any = 0.5, **changes: Any) -> Row:
    """A result of the metric that its id names."""
    config = {
        "metric_name": identifier.split(":", 1)[0],
        "metric_kind": "accuracy",
        "lower_is_better": False,
        "score_type": "continuous",
        "min_score": 0.0,
        "max_score": 1.0,
        **changes.pop("config", {}),
    }
    return {
        "evaluation_result_id": identifier,
        "evaluation_name": "sums",
        "source_data": {"dataset_name": "sums", "source_type": "other"},
        "metric_config": config,
        "score_details": {"score": score, **changes.pop("details", {})},
        **changes,
    }


def evaluation(results: Sequence[Row] = (), **changes: Any) -> Row:
    """An aggregate file."""
    return {
        "schema_version": "0.3.0",
        "evaluation_id": "sums/org_m-1b/1700000000",
        "evaluation_timestamp": "1700000000",
        "retrieved_timestamp": "1700000100",
        "source_metadata": {
            "source_type": "evaluation_run",
            "source_organization_name": "somebody",
            "evaluator_relationship": "third_party",
        },
        "eval_library": {"name": "own", "version": "1"},
        "model_info": {
            "name": "org/m-1b",
            "id": "org/m-1b",
            "additional_details": {
                "deployment_type": "unknown",
                "model_availability": "unknown",
            },
        },
        "evaluation_results": list(results) or [result()],
        **changes,
    }


def sample(identifier: str = "a", score: Any = 1.0, **changes: Any) -> Row:
    """A line of a samples file."""
    return {
        "schema_version": "0.3.0",
        "evaluation_id": "sums/org_m-1b/1700000000",
        "model_id": "org/m-1b",
        "evaluation_name": "sums",
        "evaluation_result_id": "accuracy",
        "sample_id": identifier,
        "interaction_type": "single_turn",
        "input": {"raw": f"{identifier} + 1 =", "reference": ["2"]},
        "output": {"raw": ["2"]},
        "answer_attribution": [],
        "evaluation": {"score": score, "is_correct": score == 1.0},
        **changes,
    }


def write(
    folder: Path, aggregate: Row | None, samples: Sequence[Row] | None = None
) -> Path:
    """Write an evaluation under the name that the format wants; return its folder."""
    place = folder / "data/sums/org/m-1b"
    place.mkdir(parents=True, exist_ok=True)
    if samples is not None:
        raw = "".join(f"{json.dumps(row)}\n" for row in samples).encode()
        (place / f"{NAME}_samples.jsonl").write_bytes(raw)
        if aggregate is not None:
            aggregate = {
                "detailed_evaluation_results": {
                    "format": "jsonl",
                    "file_path": f"data/sums/org/m-1b/{NAME}_samples.jsonl",
                    "hash_algorithm": "sha256",
                    "checksum": hashlib.sha256(raw).hexdigest(),
                    "total_rows": len(samples),
                },
                **aggregate,
            }
    if aggregate is not None:
        (place / f"{NAME}.json").write_text(json.dumps(aggregate))
    return folder
