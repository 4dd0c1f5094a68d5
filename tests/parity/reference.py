"""HELM as a process that answers cases: one question a line, one answer a line."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


class HelmError(Exception):
    """HELM raised an error on a case; the text begins with the error's class."""


class Reference:
    """A running script of HELM's side (`helm_<part>.py`).

    Args:
        python: the Python of an environment with crfm-helm in it.
        script: the script; it ends with `serve(...)`.
        folder: its working folder, where HELM writes `benchmark_output`.
        log: where its standard error goes.
    """

    def __init__(self, python: Path, script: Path, folder: Path, log: Path) -> None:
        self.log = log
        with log.open("wb") as errors:
            self._process = subprocess.Popen(
                [python, script],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                cwd=folder,
                env={**os.environ, "PYTHONHASHSEED": "0", "HF_HUB_OFFLINE": "1"},
            )

    def ask(self, case: Any) -> Any:
        """Return HELM's answer to a case.

        Raises:
            HelmError: HELM's own code raised an error on it.
        """
        assert self._process.stdin
        assert self._process.stdout
        try:
            self._process.stdin.write(json.dumps(case).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pytest.fail(self._last_words())
        line = self._process.stdout.readline()
        if not line:
            pytest.fail(self._last_words())
        reply = json.loads(line)
        if "error" in reply:
            error = HelmError(reply["error"])
            error.add_note(reply["trace"])  # where in HELM's own code
            raise error
        return reply["answer"]

    def close(self) -> None:
        """End the process."""
        self._process.communicate()

    def _last_words(self) -> str:
        text = self.log.read_text(encoding="utf-8", errors="replace")
        return f"HELM's side ended:\n{text[-3000:]}"


def helm_python() -> Path:
    """The Python with crfm-helm in it: HELM_PYTHON, else .helm/ as `make parity` makes it."""
    python = Path(os.environ.get("HELM_PYTHON") or ".helm/bin/python")
    # Not resolved: a link's own place is what makes Python find its environment.
    python = python if python.is_absolute() else ROOT / python
    if not python.is_file():
        pytest.skip(f"needs crfm-helm: no {python}; type make parity")
    return python


def start(part: str, folder: Path) -> Reference:
    """Start `helm_<part>.py`, working in a folder of its own."""
    script = HERE / f"helm_{part}.py"
    return Reference(helm_python(), script, folder, folder / "stderr.log")
