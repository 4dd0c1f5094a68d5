"""A GitHub workflow, performed on this machine: its `run` steps are run, its actions imitated.

The actions that a project's workflows use do little: restore or save a folder, keep an
artifact. What they leave out is imitated too: a cache is saved once under a key and never
changed, and no file whose name begins with a dot is uploaded.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[1]
INSTALL = "python -m pip install --requirement requirements.txt"


def load(text: str) -> dict[str, Any]:
    """A workflow as GitHub reads it: `on` is a word, not a truth value."""
    data = yaml.load(text, Loader=yaml.BaseLoader)
    assert isinstance(data, dict)
    return data


@dataclass
class Forge:
    """What a repository keeps beside its commits: caches, artifacts, secrets, its site."""

    folder: Path
    secrets: dict[str, str] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.bin = self.folder / "bin"
        self.cache = self.folder / "cache"
        self.artifacts = self.folder / "artifacts"
        self.site = self.folder / "published"
        self.bin.mkdir(parents=True)
        script = f'#!/bin/sh\nexec "{sys.executable}" -m helmsite "$@"\n'
        (self.bin / "helmsite").write_text(script)
        (self.bin / "helmsite").chmod(0o755)
        (self.bin / "gh").write_text(GH.format(python=sys.executable))
        (self.bin / "gh").chmod(0o755)

    def perform(
        self,
        job: dict[str, Any],
        clone: Path,
        event: str = "push",
        inputs: dict[str, str] | None = None,
    ) -> Outcome:
        """Perform the steps of a job in order, until one fails."""
        outcome = Outcome()
        for step in job["steps"]:
            if not self._wanted(step.get("if", ""), event, inputs or {}, outcome):
                continue
            outcome.steps.append(step.get("name", step.get("uses", step.get("run"))))
            if "uses" in step:
                self._act(step, clone)
            elif step["run"] != INSTALL:
                values = {**job.get("env", {}), **step.get("env", {})}
                env = {k: self._value(v, inputs or {}) for k, v in values.items()}
                self._run(step["run"], clone, env, outcome)
        return outcome

    def _wanted(
        self, condition: str, event: str, inputs: dict[str, str], outcome: Outcome
    ) -> bool:
        """Evaluate the conditions that the steps of our workflows have."""
        if condition == "${{ !cancelled() && steps.run.outcome != 'skipped' }}":
            return "Run the suite" in outcome.steps
        known = {
            "": True,
            "${{ !inputs.fresh }}": inputs.get("fresh") != "true",
            "github.ref == 'refs/heads/main'": event != "pull_request",
            "github.event_name != 'pull_request'": event != "pull_request",
        }
        return known[condition] and outcome.code == 0

    def _value(self, text: str, inputs: dict[str, str]) -> str:
        found = re.fullmatch(r"\$\{\{ (\w+)\.(\w+)(?: \|\| '([^']*)')? \}\}", text)
        if found is None:
            assert "${{" not in text, text
            return text
        kind, name, default = found.groups()
        places = {
            "secrets": self.secrets, "vars": self.variables, "inputs": inputs,
            "github": {"token": "a-token"},
        }  # fmt: skip
        return places[kind].get(name, "") or default or ""

    def _run(
        self, script: str, clone: Path, env: dict[str, str], outcome: Outcome
    ) -> None:
        base = {
            k: v
            for k, v in os.environ.items()
            if k
            in {"HOME", "LANG", "PYTHONPATH", "XDG_CACHE_HOME", "SOURCE_DATE_EPOCH"}
        }
        whole = {
            **base,
            "PATH": f"{self.bin}:{os.environ['PATH']}",
            "PYTHONPATH": os.environ.get("PYTHONPATH", str(ROOT)),
            "ARTIFACTS": str(self.artifacts),
            "GITHUB_REPOSITORY": "Some-Lab/evals",
            "GITHUB_REPOSITORY_OWNER": "Some-Lab",
            **({"AWS_ENDPOINT_URL": os.environ["AWS_ENDPOINT_URL"]}
               if "AWS_ENDPOINT_URL" in os.environ else {}),
            **env,
        }  # fmt: skip
        done = subprocess.run(
            ["bash", "-e", "-c", script],
            cwd=clone, env=whole, capture_output=True, text=True, check=False,
        )  # fmt: skip
        outcome.code = outcome.code or done.returncode
        outcome.output += done.stdout + done.stderr

    def _act(self, step: dict[str, Any], clone: Path) -> None:
        action, given = step["uses"].partition("@")[0], step.get("with", {})
        path = clone / given.get("path", "")
        if action == "actions/cache/restore":
            if self.cache.is_dir():
                shutil.copytree(self.cache, path, symlinks=True)
        elif action == "actions/cache/save":
            shutil.rmtree(self.cache, ignore_errors=True)
            shutil.copytree(path, self.cache, symlinks=True)
        elif action == "actions/upload-pages-artifact":
            shutil.rmtree(self.site, ignore_errors=True)
            shutil.copytree(path, self.site, ignore=shutil.ignore_patterns(".*"))
        elif action == "actions/upload-artifact":
            number = len(list(self.artifacts.glob("*"))) + 1
            shutil.copytree(path, self.artifacts / str(number))
        else:
            assert action in {"actions/checkout", "actions/setup-python"}, action


@dataclass
class Outcome:
    """What came of a job: its exit code, what it printed, which steps were begun."""

    code: int = 0
    output: str = ""
    steps: list[str] = field(default_factory=list)


GH = """#!{python}
import os, pathlib, shutil, sys

assert os.environ["GH_TOKEN"] == "a-token"
place, words = pathlib.Path(os.environ["ARTIFACTS"]), sys.argv[1:]
if words[0] == "api":
    assert words[1] == "repos/Some-Lab/evals/actions/artifacts?name=runs&per_page=100"
    print(max((p.name for p in place.glob("*")), default="", key=int))
else:
    assert words[:2] == ["run", "download"]
    assert words[3:] == ["--repo", "Some-Lab/evals", "--name", "runs", "--dir", "runs"]
    shutil.copytree(place / words[2], "runs")
"""
