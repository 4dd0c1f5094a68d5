"""A scenario of harmful content says so, and runs with consent alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from helmsite import scenarios
from helmsite.archive import Archive
from helmsite.cli import main

if TYPE_CHECKING:
    from pathlib import Path

SCENARIO = """
name: insults
title: Insults
caution: >-
  Every line insults
  somebody.
source: {path: lines.txt, format: lines}
input: "{{ text }}"
references: {correct: "{{ text }}"}
adapter: {method: generation, max_train_instances: 0}
metrics: [exact_match]
"""
SAID = "Every line insults somebody."


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "scenarios").mkdir()
    (tmp_path / "suites").mkdir()
    (tmp_path / "scenarios" / "lines.txt").write_text("You goat\nYou cow\n")
    (tmp_path / "scenarios" / "insults.yaml").write_text(SCENARIO)
    suite = "models: [helmsite/ngram-1]\nscenarios: [insults]\n"
    (tmp_path / "suites" / "all.yaml").write_text(suite)
    (tmp_path / "suites" / "agreed.yaml").write_text(
        f"{suite}accept_cautions: [insults]\n"
    )
    return tmp_path


def helmsite(project: Path, *words: str) -> tuple[int, str]:
    result = CliRunner().invoke(main, [*words, "--project", str(project)])
    return result.exit_code, result.output


def test_a_run_needs_consent(project: Path) -> None:
    code, said = helmsite(project, "run", "all")
    assert code == 2
    assert SAID in said
    assert "--accept-cautions insults" in said
    assert not Archive(str(project / "runs")).manifests()
    assert helmsite(project, "run", "all", "--accept-cautions", "other")[0] == 2


@pytest.mark.parametrize(
    "words",
    [
        ("all", "--accept-cautions", "insults"),
        ("all", "--accept-cautions", "all"),
        ("agreed",),
    ],
)
def test_consent_is_given_by_name_by_all_or_in_the_suite(
    words: tuple[str, ...], project: Path
) -> None:
    code, said = helmsite(project, "run", *words)
    assert code == 0, said
    (manifest,) = Archive(str(project / "runs")).manifests()
    assert manifest.scenario.caution == SAID


def test_a_dry_run_needs_none(project: Path) -> None:
    assert helmsite(project, "run", "all", "--dry-run")[0] == 0


def test_the_list_and_the_site_show_it(project: Path) -> None:
    assert SAID in helmsite(project, "ls", "scenarios")[1]
    assert helmsite(project, "run", "agreed")[0] == 0
    assert helmsite(project, "build", "--out", str(project / "site"))[0] == 0
    page = (project / "site/scenarios/insults/index.html").read_text()
    assert SAID in page
    (run,) = (project / "site/runs").glob("r*/index.html")
    assert f"Caution: {SAID}" in run.read_text()


@pytest.mark.parametrize(
    "entry",
    [
        "real_toxicity_prompts",
        "civil_comments:demographic=all",
        "raft:subset=tweet_eval_hate",
    ],
)
def test_the_builtin_ones_say_so(entry: str) -> None:
    assert scenarios.choose(entry).definition.caution
    assert not scenarios.choose("raft:subset=banking_77").definition.caution
