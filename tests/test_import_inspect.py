"""Logs of Inspect: every value comes back, its results are found again, failures count."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from helmsite.importers.inspect_log.files import open_log
from tests.importing import accounted, bring

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from helmsite.schema import Manifest, Stat
    from tests.importing import Brought

ADDITION = ("alpha", "beta")


@pytest.fixture(scope="module")
def samples(shared: Path) -> Path:
    return shared / "samples/inspect"


@pytest.fixture(scope="module")
def brought(samples: Path, tmp_path_factory: pytest.TempPathFactory) -> Brought:
    return bring([samples], tmp_path_factory.mktemp("inspect") / "runs")


def run(brought: Brought, model: str) -> Manifest:
    """The run of a model of the samples."""
    (found,) = [m for m in brought.runs if m.spec.model.name == f"mockllm/{model}"]
    return found


def stats(brought: Brought, model: str) -> dict[tuple[str, str], Stat]:
    """The aggregates over all samples and epochs, by metric and scorer."""
    return {
        (s.metric, s.scorer): s
        for s in brought.archive.stats(run(brought, model).run_id)
        if not s.sub_split and s.trial == -1
    }


def test_every_sample_file_is_accounted_for(brought: Brought, samples: Path) -> None:
    assert accounted(brought, [samples]) == set()
    assert set(brought.report.notes.skipped) == {"README.md"}
    assert brought.report.notes.problems == []
    assert len(brought.runs) == 4
    assert brought.archive.check() == []


def test_importing_twice_adds_nothing(samples: Path, tmp_path: Path) -> None:
    first = bring([samples], tmp_path / "runs")
    again = bring([samples], tmp_path / "runs")
    assert again.report.made == []
    assert len(again.report.unchanged) == 4
    assert again.runs == first.runs


@pytest.mark.parametrize("model", ["alpha", "beta", "delta", "epsilon"])
def test_results_of_inspect_are_found_again(
    brought: Brought, samples: Path, model: str
) -> None:
    """Its accuracy, means and standard errors come out of the imported scores."""
    (name,) = run(brought, model).provenance.source_files
    (made,) = [m for m in brought.report.made if m.run_id == run(brought, model).run_id]
    results = open_log(samples / name).header.value["results"]["scores"]
    averaged = [
        (score, metric)
        for score in results
        for metric in ("accuracy", "mean")
        if metric in score["metrics"]
    ]
    assert made.equal == len(averaged)
    assert made.different == ()
    found = stats(brought, model)
    several = len({s["scorer"] for s in results}) > 1
    for score, metric in averaged:
        here = "accuracy" if metric == "accuracy" else score["name"]
        stat = found[here, score["scorer"] if several else ""]
        assert stat.value == pytest.approx(score["metrics"][metric]["value"], abs=1e-9)
        if "stderr" in score["metrics"]:
            error = score["metrics"]["stderr"]["value"]
            assert stat.stderr == pytest.approx(error, abs=1e-9)


def test_failed_samples_are_in_the_denominator(brought: Brought) -> None:
    manifest = run(brought, "epsilon")
    assert manifest.status == "partial"
    assert manifest.scenario.main_metric == "accuracy_of_all"
    found = stats(brought, "epsilon")
    assert found["accuracy", ""].value == 1.0
    assert (found["accuracy", ""].n_scored, found["accuracy", ""].n_asked) == (6, 10)
    assert found["accuracy_of_all", ""].value == 0.6
    assert found["accuracy_of_all", ""].n_scored == 10
    failed = [r for r in brought.archive.replies(manifest.run_id) if r.completion.error]
    assert len(failed) == 4
    assert all("traceback" in r.completion.extra["error"] for r in failed)
    assert "4 of 10 samples ended in an error" in manifest.warnings[0]


def test_epochs_are_trials_and_nan_is_missing(brought: Brought) -> None:
    scores = brought.archive.scores(run(brought, "delta").run_id)
    assert {s.trial for s in scores} == {0, 1}
    missing = [s for s in scores if s.missing]
    assert {(s.metric, s.scorer, s.missing) for s in missing} == {
        ("nanny", "nanny", "nan")
    }
    assert {s.metric for s in scores if s.scorer == "multi"} == {"fluency", "toxicity"}


def test_choices_are_references_and_the_letters_of_the_prompt(
    brought: Brought,
) -> None:
    manifest = run(brought, "delta")
    instance = brought.archive.instances(manifest.run_id)[1]
    assert [(r.text, r.is_correct) for r in instance.references] == [
        ("Mercury", False),
        ("Venus", True),
        ("Earth", False),
        ("Mars", False),
    ]
    reply = next(iter(brought.archive.replies(manifest.run_id)))
    letters = {"A": "Mercury", "B": "Venus", "C": "Earth", "D": "Mars"}
    assert reply.request.output_mapping == letters


def test_log_probabilities_and_messages_come_along(
    brought: Brought, samples: Path
) -> None:
    manifest = run(brought, "alpha")
    log = open_log(samples / manifest.provenance.source_files[0])
    raw: dict[str, Any] = {row.value["id"]: row.value for row in log.samples()}
    assert len(raw) == 100
    for reply in brought.archive.replies(manifest.run_id):
        source = raw[reply.request.instance_id]
        choice = source["output"]["choices"][0]
        content = (choice.get("logprobs") or {}).get("content")
        assert reply.completion.text == choice["message"]["content"]
        logprobs = content and tuple(t["logprob"] for t in content)
        assert reply.completion.token_logprobs == logprobs
        assert [m.role for m in reply.request.messages] == ["system", "user"]
        assert reply.request.messages[1].content == source["input"]
        assert reply.request.prompt_kind == "absent"
        assert "attachment://" not in json.dumps(reply.completion.extra)
        usage = reply.completion.usage
        assert (usage.prompt_tokens, usage.completion_tokens) == (700, 70)


def said(value: Any) -> Iterator[Any]:
    """Every text and number in a value."""
    if isinstance(value, dict):
        for each in value.values():
            yield from said(each)
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from said(each)
    elif isinstance(value, float) and math.isnan(value):
        yield "NaN"
    elif isinstance(value, (str, int, float)) and not isinstance(value, bool):
        yield value


LEFT_OUT = {
    *("traceback_ansi", "traceback", "attachments"),
    *("input_refs", "call_refs", "call_key", "role", "changes", "bytes"),
}
"""Colours for terminals, paths that are shortened, what refers to something else, changes
of the state (those of messages and output say again what the sample says), and the bytes
of tokens that are texts."""


def kept(value: Any) -> Any:
    """A sample without what is left out, such as ids of messages."""
    if isinstance(value, dict):
        more = {"id"} if "role" in value else set()
        return {k: kept(v) for k, v in value.items() if k not in LEFT_OUT | more}
    return [kept(each) for each in value] if isinstance(value, list) else value


@pytest.mark.parametrize("model", ["alpha", "delta", "epsilon"])
def test_everything_that_a_sample_says_is_in_the_archive(
    brought: Brought, samples: Path, model: str
) -> None:
    manifest = run(brought, model)
    parts = [
        brought.archive.instances(manifest.run_id),
        list(brought.archive.replies(manifest.run_id)),
        brought.archive.scores(manifest.run_id),
        manifest,
    ]
    there = set(said(msgspec.to_builtins(parts)))
    log = open_log(samples / manifest.provenance.source_files[0])
    count = 0
    for row in log.samples():
        texts = row.value["attachments"]
        for each in said(kept(row.value)):
            name = each.removeprefix("attachment://") if isinstance(each, str) else ""
            found = texts.get(name, each)
            assert found in there, found
            count += 1
    assert count > 500
    details = [s.details for s in brought.archive.stats(manifest.run_id)]
    header = next(d["log"] for d in details if "log" in d)
    assert set(said(log.header.value)) <= set(said(header))


def test_the_model_is_known_by_its_name_apart_from_its_settings(
    brought: Brought,
) -> None:
    for name in ADDITION:
        manifest = run(brought, name)
        assert manifest.spec.model.client == "mockllm"
        assert manifest.spec.scenario == "addition:n=100"
        assert manifest.provenance.source_version == "0.3.285"
        instances = brought.archive.instances(manifest.run_id)
        assert {i.attributes["subset"] for i in instances} == {("easy",), ("hard",)}
