"""What helmsite exports, judged by the validator that comes with Every Eval Ever.

EEE_PYTHON names a Python that has it (`pip install every-eval-ever`, Python 3.12 or newer;
on 3.11 with `--no-deps --ignore-requires-python` and duckdb, jsonschema, pandas, pydantic,
requests and rich beside it).
"""

from __future__ import annotations

import json
import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from helmsite.exporters.every_eval_ever import Publisher, export
from tests.importing import bring

if TYPE_CHECKING:
    from pathlib import Path

TOOLS = ("helm", "lm_eval", "helmet", "inspect", "every_eval_ever", "lighteval")


def validated(python: str, folder: Path) -> list[dict[str, object]]:
    """Return the validator's report of each file below `data`."""
    command = [python, "-m", "every_eval_ever", "validate", "--format", "json"]
    done = subprocess.run(
        [*command, "data/*/*/*/*"],
        cwd=folder,
        check=False,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    rows = json.loads(done.stdout)
    found: list[dict[str, object]] = rows if isinstance(rows, list) else rows["files"]
    return found


@pytest.mark.parametrize("tool", TOOLS)
def test_the_validator_accepts_all_files(
    tool: str, shared: Path, tmp_path: Path
) -> None:
    python = os.environ.get("EEE_PYTHON")
    if not python:
        pytest.skip("EEE_PYTHON names no Python that has every-eval-ever")
    brought = bring([shared / "samples" / tool], tmp_path / "runs")
    out = tmp_path / "out"
    files = 0
    for run in brought.runs:
        told = export(brought.archive, run.run_id, out, Publisher("our lab"))
        files += 2 if told.samples else 1
    assert files
    report = validated(python, out)
    assert len(report) == files
    assert [r for r in report if not r["valid"] or r["warnings"]] == []
