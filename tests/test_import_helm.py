"""HELM's sample runs, as they lie: what is found, what arrives, what is told."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from helmsite.run import rescore
from tests.importing import Brought, accounted, bring
from tests.test_archive_samples import leaves

if TYPE_CHECKING:
    from collections.abc import Iterator

SAMPLES = Path("samples/helm")
SUITE = SAMPLES / "benchmark_output/runs/sample"
PARTS = ("run_spec", "scenario", "scenario_state", "per_instance_stats", "stats")


@pytest.fixture(scope="module")
def brought(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Brought:
    return bring([shared / SAMPLES], tmp_path_factory.mktemp("helm") / "runs")


def test_every_file_is_accounted_for(shared: Path, brought: Brought) -> None:
    assert not accounted(brought, [shared / SAMPLES])
    assert not brought.report.notes.problems
    unknown = {
        name
        for name, why in brought.report.notes.skipped.items()
        if why == "no importer recognises it"
    }
    assert all(name.startswith("how/") or name == "README.txt" for name in unknown)


def test_all_runs_are_found_before_anything_is_read(brought: Brought) -> None:
    found = brought.survey.found
    assert len(found) == len(brought.runs) == 11
    assert {f.importer for f in found} == {"helm"}
    # k=5 is what wikifact is asked with by default: it names no other scenario
    assert {(f.scenario.replace("k=5,", ""), f.model) for f in found} == {
        (m.spec.scenario, m.spec.model.name) for m in brought.runs
    }
    assert sorted(f.instances or 0 for f in found) == sorted(
        made.instances for made in brought.report.made
    )
    assert all(f.key.startswith("sample/") for f in found)


def test_a_run_says_what_it_is(brought: Brought) -> None:
    run = next(m for m in brought.runs if len(m.perturbations) == 4)
    assert (run.suite, run.spec.scenario) == (
        "sample",
        "mmlu:subject=elementary_mathematics",
    )
    assert run.spec.adapter.method == "multiple_choice_joint"
    assert run.spec.adapter.num_train_trials == 2
    assert run.spec.perturbations == (
        "dialect(prob=1.0)",
        "gender(mode=pronouns,prob=1.0)",
        "mild_mix",
        "person_name(prob=1.0)",
    )
    flags = {
        p.name.partition("(")[0]: (p.robustness, p.fairness) for p in run.perturbations
    }
    assert flags.pop("mild_mix") == (True, False)
    assert set(flags.values()) == {(False, True)}
    assert run.scenario.title == "MMLU (elementary mathematics)"
    assert run.scenario.groups == ("mmlu",)
    assert run.scenario.taxonomy.task == "question answering"
    assert (run.scenario.main_metric, run.scenario.main_split) == (
        "exact_match",
        "test",
    )
    assert (run.card.title, run.card.creator, run.card.access) == (
        "Noisy 80",
        "Test",
        "open",
    )
    assert run.card.release_date == "2026-01-03"
    assert run.provenance.source_tool == "helm"
    assert run.provenance.started_at is not None


def test_nothing_of_a_run_is_lost(shared: Path, brought: Brought) -> None:
    """Every text and number of its files is in the archive, or follows from what is."""
    for run in brought.runs:
        name = run.origin.removeprefix("helm:sample/")
        held = set(leaves(run)) | {name} | set(_named(run.spec.perturbations))
        archive = brought.archive
        for rows in (archive.instances, archive.replies, archive.scores, archive.stats):
            for row in rows(run.run_id):
                held |= set(leaves(row))
        squares = {v * v for v in held if isinstance(v, float)}
        held |= {"training_co2_cost", "training_energy_cost"}  # empty
        for part in PARTS:
            path = shared / SUITE / name / f"{part}.json"
            said = set(leaves(json.loads(path.read_text(encoding="utf-8"))))
            lost = said - held - squares
            assert not {each for each in lost if not _is_path(each)}, (name, part)


def _named(perturbations: tuple[str, ...]) -> Iterator[str]:
    """HELM's names of perturbations, and settings that ours leave out as usual."""
    for name in perturbations:
        yield name.partition("(")[0]
    yield from ("race=white_american", "race=black_american")


def _is_path(found: Any) -> bool:
    return isinstance(found, str) and found.startswith("bo/perturbations/")


def test_importing_again_adds_nothing_from_wherever(
    shared: Path, tmp_path: Path
) -> None:
    """Runs are known by their own files: alone, with their suite, or copied elsewhere."""
    first = bring([shared / SUITE], tmp_path / "runs")
    assert {m.fate for m in first.report.made} == {"new"}
    copy = tmp_path / "elsewhere" / "runs" / "sample"
    shutil.copytree(shared / SUITE, copy)
    for paths in ([shared / SAMPLES], [copy], sorted(copy.glob("*:*"))[:2]):
        again = bring(paths, tmp_path / "runs")
        assert again.report.made == []
        assert len(again.report.unchanged) == len(again.survey.found) > 0
        assert len(again.runs) == 11


def test_a_suite_that_was_summarised_anew_is_the_same(
    shared: Path, tmp_path: Path
) -> None:
    """What helm-summarize writes changes no run."""
    copy = tmp_path / "runs" / "sample"
    shutil.copytree(shared / SUITE, copy)
    copy.chmod(0o755)
    bring([copy], tmp_path / "archive")
    schema = copy / "schema.json"
    schema.chmod(0o644)
    schema.write_text("{}", encoding="utf-8")
    assert bring([copy], tmp_path / "archive").report.made == []


def test_the_same_run_in_two_suites_is_two_runs(shared: Path, tmp_path: Path) -> None:
    run = min((shared / SUITE).glob("twitter*"))
    for suite in ("v1", "v2"):
        shutil.copytree(run, tmp_path / "runs" / suite / run.name)
    brought = bring([tmp_path / "runs"], tmp_path / "archive")
    assert sorted(m.suite for m in brought.runs) == ["v1", "v2"]


def test_a_newer_result_takes_the_place_of_the_run(
    shared: Path, tmp_path: Path
) -> None:
    run = min((shared / SUITE).glob("twitter*"))
    folder = tmp_path / "runs" / "v1" / run.name
    shutil.copytree(run, folder)
    bring([tmp_path / "runs"], tmp_path / "archive")
    path = folder / "scenario_state.json"
    path.chmod(0o644)
    path.write_text(path.read_text().replace("Greg", "Gregor"), encoding="utf-8")
    again = bring([tmp_path / "runs"], tmp_path / "archive")
    assert [m.fate for m in again.report.made] == ["replaced"]
    (manifest,) = again.runs
    instances = again.archive.instances(manifest.run_id)
    assert any("Gregor" in i.input for i in instances)


def test_echoed_choices_hold_the_scored_part_alone(brought: Brought) -> None:
    run = next(m for m in brought.runs if "calibrated" in m.spec.adapter.method)
    replies = list(brought.archive.replies(run.run_id))
    instances = {i.instance_id: i for i in brought.archive.instances(run.run_id)}
    assert len(replies) == 16
    for reply in replies:
        request, done = reply.request, reply.completion
        reference = instances[request.instance_id].references[request.reference_index]
        assert request.score_start is not None
        assert request.prompt[request.score_start :] == f" {reference.text}"
        assert "".join(done.tokens or ()) == f" {reference.text}"
        assert done.text == ""
        context = "".join(done.extra["context_tokens"])
        assert context == request.prompt[: request.score_start]
        whole = [*done.extra["context_logprobs"], *(done.token_logprobs or ())]
        assert sum(whole) == pytest.approx(done.extra["echo_logprob"])
        assert done.usage.prompt_tokens == len(whole)
    assert {r.request.mode for r in replies} == {"original", "calibration"}


def test_several_completions_of_a_request_are_all_there(brought: Brought) -> None:
    run = next(m for m in brought.runs if m.spec.scenario.startswith("wikifact"))
    replies = list(brought.archive.replies(run.run_id))
    assert [r.completion_index for r in replies] == [*range(5), *range(5)]
    assert len({r.completion.text for r in replies[:5]}) > 1


def test_scoring_an_imported_run_again_changes_nothing(
    shared: Path, tmp_path: Path
) -> None:
    """What is computed on import is what `helmsite score` computes; reports stay."""
    archive = bring([shared / SUITE], tmp_path / "runs").archive
    for before in archive.manifests():
        held = [
            sorted(map(repr, rows(before.run_id)))
            for rows in (archive.scores, archive.stats)
        ]
        after = rescore(archive, before.run_id)
        assert after.warnings == before.warnings
        assert held == [
            sorted(map(repr, rows(before.run_id)))
            for rows in (archive.scores, archive.stats)
        ]
