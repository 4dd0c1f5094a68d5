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


@pytest.fixture
def several(project: Path) -> Path:
    """Two entries that need consent, one of them without its data, and one that does not."""
    text = SCENARIO.replace("name: insults", "name: threats").replace(
        "lines.txt", "gone.txt"
    )
    (project / "scenarios" / "threats.yaml").write_text(text)
    (project / "suites" / "several.yaml").write_text(
        "models: [helmsite/ngram-1]\nadapter: {max_eval_instances: 2}\n"
        "scenarios: [insults, 'insults:max_train_instances=0', threats, knowledge]\n"
    )
    return project


def test_consent_that_is_lacking_is_told_once_with_all_to_type(several: Path) -> None:
    code, said = helmsite(several, "run", "several")
    assert code == 2
    assert (
        f"insults (and 1 more entry): insults runs with consent alone: {SAID}" in said
    )
    assert said.count("insults runs with") == said.count("threats runs with") == 1
    told = "Type --accept-cautions insults --accept-cautions threats (or --accept-cautions all), or"
    assert said.count(told) == said.count("→") == 1
    assert "Correct" not in said
    assert "gone.txt" not in said  # nothing of it is looked for, or fetched


def test_what_lacks_consent_is_left_out_with_what_lacks_data(several: Path) -> None:
    words = ("run", "several", "--skip-missing")
    code, said = helmsite(several, *words)
    assert code == 0, said
    (manifest,) = Archive(str(several / "runs")).manifests()
    assert manifest.scenario.name == "knowledge"
    assert "No consent for insults (and 1 more entry): insults runs with" in said
    assert "--accept-cautions insults --accept-cautions threats" in said
    assert "3 entries left out." in said
    code, said = helmsite(several, *words, "--accept-cautions", "threats")
    assert code == 0, said
    assert "No data for threats: " in said
    assert "gone.txt" in said
    assert "--accept-cautions threats" not in said


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
