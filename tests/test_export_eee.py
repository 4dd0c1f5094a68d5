"""Runs as Every Eval Ever: what its schemas and its validator's rules ask for, and the way back."""

from __future__ import annotations

import hashlib
import json
import math
import re
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner, Result
from msgspec import structs

from helmsite.archive import Archive
from helmsite.cli import main
from helmsite.config import load_project
from helmsite.errors import ArchiveError, BuildError
from helmsite.executors import LocalExecutor
from helmsite.exporters.every_eval_ever import Publisher, export
from helmsite.exporters.every_eval_ever.aggregate import evaluation_id
from helmsite.exporters.every_eval_ever.results import Results, chosen
from helmsite.render.secrets import Secrets
from helmsite.run import Runner
from helmsite.schema import (
    Completion,
    Instance,
    Message,
    MetricFacts,
    ModelCard,
    ModelIdentity,
    PerturbationFacts,
    Provenance,
    Reference,
    Reply,
    Request,
    RunSpec,
    ScenarioFacts,
    Score,
    Stat,
    Usage,
    preset,
    run_id,
)
from tests.archive_cases import Run, manifest
from tests.importing import Brought, accounted, bring

if TYPE_CHECKING:
    from collections.abc import Iterator

    from helmsite.exporters.every_eval_ever import Exported
    from helmsite.schema import Manifest

US = Publisher("our lab")
EM = MetricFacts(
    "exact_match", "EM", "Share of equal answers.", "accuracy",
    higher_is_better=True, format="share",
)  # fmt: skip
KEY = "sk-proj-" + "Ab1Cd2Ef3Gh4Ij5Kl6Mn7Op8Qr9St0Uv1Wx2Yz3"
FILE = re.compile(
    r"data/[^/]+/[^/]+/[^/]+/"
    r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
    r"(\.json|_samples\.jsonl)"
)


def one_run(**changes: Any) -> Run:
    """A run of two instances, one answered right and one that failed."""
    made = structs.replace(
        manifest("sums:digits=2", changes.pop("model", "org/m-1b")),
        metrics=(EM,),
        provenance=Provenance(helmsite_version="0.1.0", finished_at=1_700_000_000.5),
        **changes,
    )
    decoding = made.spec.adapter.decoding
    instances = [
        Instance(
            name,
            f"{name} + 1 =",
            (Reference("2", ("correct",)), Reference("3")),
            position=n,
            split="test",
        )
        for n, name in enumerate("ab")
    ]
    replies = [
        Reply(
            Request("a", "Add. a + 1 =", decoding),
            Completion(" 2", usage=Usage(7, 1), duration_s=0.25, logprob=-1.5),
        ),
        Reply(Request("b", "Add. b + 1 =", decoding), Completion(error="timeout")),
    ]
    scores = [
        Score("a", "exact_match", 1.0, text="2"),
        Score("b", "exact_match", None, missing="failed"),
    ]
    stats = [
        Stat(
            "exact_match", 1.0, split="test", stderr=0.25, ci_low=0.2, ci_high=1.0,
            n_scored=1, n_asked=2,
        ),
        Stat("exact_match", 1.0, split="test", trial=0, n_scored=1, n_asked=2),
        Stat("ece_10_bin", None, split="test", missing="not measurable", n_asked=2),
    ]  # fmt: skip
    return Run(made, instances, replies, scores, stats)


def stored(place: Path, run: Run) -> tuple[Archive, str]:
    archive = Archive(place)
    return archive, archive.write_run(*run).run_id


def sent(place: Path, run: Run, **options: Any) -> tuple[Exported, Path]:
    archive, identifier = stored(place / "runs", run)
    return export(archive, identifier, place / "out", US, **options), place / "out"


def lines(out: Path) -> list[dict[str, Any]]:
    (file,) = out.rglob("*_samples.jsonl")
    return [json.loads(line) for line in file.read_text().splitlines()]


def whole(out: Path) -> dict[str, Any]:
    (file,) = out.rglob("*.json")
    found: dict[str, Any] = json.loads(file.read_text())
    return found


def schemas(shared: Path) -> tuple[Any, Any]:
    """Validators of both files, by the format's own JSON schemas."""
    jsonschema = pytest.importorskip("jsonschema")
    folder = shared / "samples/every_eval_ever"
    names = ("eval.schema.json", "instance_level_eval.schema.json")
    kind = jsonschema.Draft7Validator
    first, second = (kind(json.loads((folder / n).read_text())) for n in names)
    return first, second


def texts(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        for each in value.values():
            yield from texts(each)
    else:
        yield value


def check(out: Path, shared: Path) -> int:
    """Assert all that the format's schemas and its validator ask for; count the files.

    The rules that are no schema are those of `every_eval_ever validate` 0.3.0.
    """
    aggregate, sample = schemas(shared)
    files = sorted(p for p in out.rglob("*") if p.is_file())
    for file in files:
        name = file.relative_to(out).as_posix()
        assert FILE.fullmatch(name), name
        if file.suffix == ".jsonl":
            assert file.with_name(
                f"{file.name.removesuffix('_samples.jsonl')}.json"
            ).is_file()
            continue
        row = json.loads(file.read_text(), parse_constant=pytest.fail)
        assert [e.message for e in aggregate.iter_errors(row)] == []
        for details in (
            row["source_metadata"]["additional_details"],
            row["model_info"]["additional_details"],
        ):
            assert all(isinstance(v, str) for v in details.values())
        ids = [r["evaluation_result_id"] for r in row["evaluation_results"]]
        assert len(ids) == len(set(ids))
        for each in row["evaluation_results"]:
            low, high = (
                each["metric_config"].get(k) for k in ("min_score", "max_score")
            )
            score = each["score_details"]["score"]
            assert math.isfinite(score)
            assert low is None or low <= score <= high
        beside = file.with_name(f"{file.stem}_samples.jsonl")
        said = row.get("detailed_evaluation_results")
        assert (said is not None) == beside.is_file()
        if said is None:
            continue
        raw = beside.read_bytes()
        assert said["file_path"] == beside.relative_to(out).as_posix()
        assert said["checksum"] == hashlib.sha256(raw).hexdigest()
        # the validator reads lines as str.splitlines takes them
        found = [json.loads(line) for line in raw.decode().splitlines()]
        assert said["total_rows"] == len(found) == raw.count(b"\n") > 0
        for line in found:
            assert [e.message for e in sample.iter_errors(line)] == []
            assert line["evaluation_id"] == row["evaluation_id"]
            assert line["model_id"] == row["model_info"]["id"]
            assert line.get("evaluation_result_id", ids[0] if ids else "") in [*ids, ""]
            assert (line["output"] is None) == (line["messages"] is not None)
    return len(files)


def same_back(archive: Archive, back: Brought) -> int:
    """Assert that what was exported has come back: instances, scores and aggregates."""
    assert back.report.notes.problems == []
    found = {m.origin: m for m in back.runs}
    count = 0
    for run in archive.manifests():
        if run.scenario.publication == "aggregates":
            continue
        again = found[f"every_eval_ever:{evaluation_id(run)}"]
        results = chosen(run, archive.stats(run.run_id))
        known = _scores(archive, run, results)
        there = {
            (*_place(s), s.metric, s.scorer): (s.value, s.missing)
            for s in back.archive.scores(again.run_id)
        }
        assert there == known
        stats = {
            (s.metric, s.scorer, s.split, s.sub_split, s.perturbation, s.computed_on): s
            for s in back.archive.stats(again.run_id)
            if s.trial == -1 and s.origin == "reported"
        }
        for s in results.stats.values():
            scorer = results.scorer(s.metric, s.scorer, s.origin)
            other = stats[
                s.metric, scorer, s.split, s.sub_split, s.perturbation, s.computed_on
            ]
            assert other.value == pytest.approx(s.value, rel=1e-9, abs=1e-12)
            if s.stderr is not None:
                assert other.stderr == s.stderr
                assert (other.ci_low, other.ci_high) == (s.ci_low, s.ci_high)
        assert _asked(archive, run) == _asked(back.archive, again)
        count += len(known)
    return count


def _place(s: Score) -> tuple[Any, ...]:
    return (
        s.instance_id, s.perturbation, s.trial,
        s.request_index, s.reference_index, s.completion_index,
    )  # fmt: skip


def _scores(archive: Archive, run: Manifest, results: Results) -> dict[Any, Any]:
    return {
        (*_place(s), s.metric, results.scorer(s.metric, s.scorer, s.origin)): (
            s.value,
            s.missing,
        )
        for s in archive.scores(run.run_id)
        if (s.value is not None or s.missing == "failed")
        and not results.is_left_out(s.metric, s.scorer, s.origin)
    }


def _asked(archive: Archive, run: Manifest) -> list[Any]:
    return [
        (
            i.instance_id, i.perturbation, i.input, sorted(i.gold),
            [r.text for r in i.references], i.split, i.sub_split, i.attributes,
        )
        for i in archive.instances(run.run_id)
    ]  # fmt: skip


@pytest.fixture(scope="module")
def native(tmp_path_factory: pytest.TempPathFactory) -> Archive:
    """Real runs: joint and separate choice, generation, language modelling, perturbations."""
    folder = tmp_path_factory.mktemp("native")
    (folder / "suites").mkdir()
    (folder / "suites/all.yaml").write_text(
        "models: [helmsite/ngram-2]\n"
        "adapter: {max_eval_instances: 6, num_train_trials: 2}\n"
        "scenarios:\n"
        "  - {scenario: knowledge, perturbations: [robustness]}\n"
        "  - scenario: knowledge:method=multiple_choice_separate_calibrated\n"
        "    adapter: {num_train_trials: 1}\n"
        "  - dyck_language:num_parenthesis_pairs=2\n"
        "  - plain_text\n"
    )
    project = load_project(folder)
    archive = Archive(folder / "runs")
    Runner(project, archive, LocalExecutor(2)).run(project.suite("all"))
    return archive


def test_native_runs_come_back_with_the_same_numbers(
    native: Archive, shared: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    for run in native.manifests():
        assert export(native, run.run_id, out, US).fate == "written"
    assert check(out, shared) == 8
    back = bring([out], tmp_path / "again/runs")
    assert accounted(back, [out]) == set()
    assert [name for made in back.report.made for name in made.different] == []
    assert same_back(native, back) > 1000


@pytest.mark.parametrize("tool", ["helm", "every_eval_ever"])
def test_imported_runs_come_back_with_the_same_numbers(
    tool: str, shared: Path, tmp_path: Path
) -> None:
    first = bring([shared / "samples" / tool], tmp_path / "first/runs")
    out = tmp_path / "out"
    for run in first.runs:
        export(first.archive, run.run_id, out, US)
    assert check(out, shared) > 10
    back = bring([out], tmp_path / "again/runs")
    assert same_back(first.archive, back) > 200


def test_the_same_run_gives_the_same_bytes(native: Archive, tmp_path: Path) -> None:
    def all_of(folder: Path) -> dict[str, tuple[bytes, int]]:
        return {
            p.relative_to(folder).as_posix(): (p.read_bytes(), p.stat().st_mtime_ns)
            for p in folder.rglob("*")
            if p.is_file()
        }

    for place in ("a", "b"):
        for run in native.manifests():
            export(native, run.run_id, tmp_path / place, US)
    first = all_of(tmp_path / "a")
    assert {k: v[0] for k, v in first.items()} == {
        k: v[0] for k, v in all_of(tmp_path / "b").items()
    }
    fates = {
        export(native, m.run_id, tmp_path / "a", US).fate for m in native.manifests()
    }
    assert fates == {"unchanged"}
    assert all_of(tmp_path / "a") == first  # not even written anew


def test_a_failure_stays_a_failure(tmp_path: Path, shared: Path) -> None:
    told, out = sent(tmp_path, one_run())
    assert check(out, shared) == 2
    assert (told.results, told.lines) == (1, 2)
    right, failed = lines(out)
    assert (right["evaluation"], right["output"]) == (
        {"score": 1.0, "is_correct": True},
        {"raw": [" 2"]},
    )
    assert failed["error"] == "timeout"
    assert failed["metadata"]["score_missing"] == "failed"
    back = bring([out], tmp_path / "again/runs")
    (run,) = back.runs
    assert run.counts.failed == 1
    stat = next(s for s in back.archive.stats(run.run_id) if s.trial == -1)
    assert (stat.value, stat.n_scored, stat.n_asked) == (1.0, 1, 2)
    assert (stat.stderr, stat.ci_low, stat.ci_high) == (0.25, 0.2, 1.0)


def test_what_a_line_and_a_result_say(tmp_path: Path) -> None:
    _, out = sent(tmp_path, one_run())
    line = lines(out)[0]
    assert line["input"] == {
        "raw": "a + 1 =",
        "reference": ["2"],
        "choices": ["2", "3"],
        "formatted": "Add. a + 1 =",
    }
    assert line["token_usage"]["total_tokens"] == 8
    assert line["performance"] == {"latency_ms": 250.0}
    assert line["answer_attribution"][0]["extracted_value"] == "2"
    assert line["evaluation_result_id"] == "exact_match:test"
    assert "logprob" not in json.dumps(line)
    row = whole(out)
    (found,) = row["evaluation_results"]
    assert found["evaluation_result_id"] == "exact_match:test"
    assert found["score_details"]["uncertainty"] == {
        "num_samples": 1,
        "standard_error": {"value": 0.25, "method": "analytic, clustered by instance"},
        "confidence_interval": {"lower": 0.2, "upper": 1.0, "confidence_level": 0.95},
    }
    assert found["metric_config"]["score_type"] == "continuous"
    assert found["generation_config"]["generation_args"]["temperature"] == 0.0
    assert row["source_metadata"]["source_organization_name"] == "our lab"
    assert json.loads(
        row["source_metadata"]["additional_details"]["results_without_value"]
    ) == {"ece_10_bin:test": "not measurable"}
    assert row["retrieved_timestamp"] == "1700000000.5"


def test_ids_are_of_version_4_and_made_of_the_run_id(tmp_path: Path) -> None:
    told, out = sent(tmp_path, one_run())
    name = uuid.UUID(Path(told.aggregate).stem)
    assert name.version == 4
    other, _ = sent(tmp_path / "other", one_run())
    assert (other.aggregate, other.samples) == (told.aggregate, told.samples)
    assert told.run_id in whole(out)["evaluation_id"]


def test_scenarios_that_publish_aggregates_keep_their_texts(
    tmp_path: Path, shared: Path
) -> None:
    archive, identifier = stored(tmp_path / "runs", one_run())
    out = tmp_path / "out"
    assert export(archive, identifier, out, US).samples
    run = one_run()
    facts = structs.replace(run.manifest.scenario, publication="aggregates")
    archive.write_run(
        *run._replace(manifest=structs.replace(run.manifest, scenario=facts))
    )
    told = export(archive, identifier, out, US)
    assert (told.fate, told.samples, told.lines) == ("written", "", 0)
    assert check(out, shared) == 1  # the samples of before are gone
    raw = next(out.rglob("*.json")).read_text()
    assert "+ 1 =" not in raw
    assert "sample_ids" not in raw
    assert "detailed_evaluation_results" not in raw
    assert whole(out)["evaluation_results"][0]["score_details"]["score"] == 1.0


def test_line_breaks_of_other_alphabets_do_not_break_lines(
    tmp_path: Path, shared: Path
) -> None:
    run = one_run()
    odd = "one\u2028two\u2029three\x85four\nfive\x0bsix\x1eseven ה🦜"
    run.instances[0] = structs.replace(run.instances[0], input=odd)
    run.replies[0] = structs.replace(run.replies[0], completion=Completion(odd))
    _, out = sent(tmp_path, run)
    assert check(out, shared) == 2
    line = lines(out)[0]
    assert (line["input"]["raw"], line["output"]["raw"]) == (odd, [odd])


@pytest.mark.parametrize(
    "name",
    [
        "m", "CON/NUL", "data/data", "a:b/c|d?", "../../etc", "unknown/x", "a/b/c", "x/y.",
        "ä/ö 🦜", "o/" + "n" * 300, "a\\b/c", ". /..", "/", "a//b",
    ],
)  # fmt: skip
def test_names_stay_inside_the_folder(name: str, tmp_path: Path, shared: Path) -> None:
    told, out = sent(tmp_path, one_run(model=name))
    assert check(out, shared) == 2
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out", "runs"]
    assert all(len(part.encode()) <= 150 for part in told.samples.split("/"))
    reserved = {"CON", "NUL", "data", "unknown", "", ".", ".."}
    assert not reserved & set(told.aggregate.split("/")[1:])
    assert whole(out)["model_info"]["id"] == name


def test_conversations_and_calls_of_tools(tmp_path: Path, shared: Path) -> None:
    run = one_run()
    decoding = run.manifest.spec.adapter.decoding
    asked = (Message("system", "Be brief."), Message("user", "a + 1 ="))
    call = {
        "id": "c1",
        "type": "function",
        "function": {"name": "add", "arguments": '{"a": 1}'},
    }
    transcript = (
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {
            "role": "tool",
            "content": [{"type": "text", "text": "2"}],
            "tool_call_id": "c1",
        },
        {"role": "assistant", "content": "2", "reasoning": "easy"},
        {"event": "score"},
    )
    run.replies[0] = Reply(
        Request("a", "", decoding, prompt_kind="absent", messages=asked),
        Completion("2", transcript=transcript),
    )
    run.replies[1] = Reply(
        Request("b", "", decoding, prompt_kind="absent", messages=asked),
        Completion("4", reasoning="hard"),
    )
    _, out = sent(tmp_path, run)
    assert check(out, shared) == 2
    first, second = lines(out)
    assert first["interaction_type"] == "agentic"
    assert [t["role"] for t in first["messages"]] == [
        "system", "user", "assistant", "tool", "assistant",
    ]  # fmt: skip
    assert first["messages"][2]["tool_calls"] == [
        {"id": "c1", "name": "add", "arguments": {"a": "1"}}
    ]
    assert first["messages"][3]["content"] == "2"
    assert first["evaluation"]["tool_calls_count"] == 1
    assert second["interaction_type"] == "multi_turn"
    assert second["messages"][-1]["reasoning_trace"] == "hard"
    back = bring([out], tmp_path / "again/runs")
    replies = list(back.archive.replies(back.runs[0].run_id))
    assert [r.completion.text for r in replies] == ["2", "4"]
    assert replies[1].completion.reasoning == "hard"


def test_a_reported_number_beside_a_computed_one(tmp_path: Path, shared: Path) -> None:
    run = one_run()
    said = [structs.replace(s, origin="reported") for s in run.stats[:2]]
    judged = [structs.replace(s, origin="reported") for s in run.scores]
    equal = run._replace(stats=[*run.stats, *said], scores=[*run.scores, *judged])
    told, out = sent(tmp_path / "equal", equal)
    assert (told.results, told.lines) == (1, 2)
    assert "reported_and_computed_alike" in json.dumps(whole(out))
    said = [structs.replace(s, value=0.5) for s in said]
    other = run._replace(stats=[*run.stats, *said], scores=[*run.scores, *judged])
    told, out = sent(tmp_path / "other", other)
    assert (told.results, told.lines) == (2, 4)
    assert check(out, shared) == 2
    ids = [r["evaluation_result_id"] for r in whole(out)["evaluation_results"]]
    assert ids == ["exact_match:test", "exact_match:test:scorer=as reported"]


def test_texts_of_which_a_part_was_asked_are_no_prompts(tmp_path: Path) -> None:
    run = one_run()
    decoding = run.manifest.spec.adapter.decoding
    source = structs.replace(run.manifest.provenance, source_tool="helm")
    run.replies[:] = [
        Reply(Request(name, f"{name} + 1 =", decoding, score_start=0), Completion())
        for name in "ab"
    ]
    made = structs.replace(run.manifest, provenance=source)
    _, out = sent(tmp_path, run._replace(manifest=made))
    assert "formatted" not in lines(out)[0]["input"]
    back = bring([out], tmp_path / "again/runs")
    kinds = {r.request.prompt_kind for r in back.archive.replies(back.runs[0].run_id)}
    assert kinds == {"absent"}


def test_samples_without_any_score_are_kept(tmp_path: Path, shared: Path) -> None:
    run = one_run()
    run.scores[:] = [Score("a", "exact_match", None, missing="unparsed")]
    run.replies[1] = structs.replace(run.replies[1], completion=Completion(" 5"))
    _, out = sent(tmp_path, run)
    assert check(out, shared) == 2
    assert [x["metadata"]["score_missing"] for x in lines(out)] == [
        "unparsed",
        "not scored",
    ]
    back = bring([out], tmp_path / "again/runs")
    (made,) = back.runs
    assert len(back.archive.instances(made.run_id)) == 2
    assert back.archive.scores(made.run_id) == []


def test_only_the_metrics_that_are_asked_for(native: Archive, tmp_path: Path) -> None:
    run = native.manifests()[0]
    told = export(native, run.run_id, tmp_path, US, metrics=["num_references"])
    assert told.results > 0
    names = {line["metadata"]["metric"] for line in lines(tmp_path)}
    assert names == {"num_references"}


def test_shares_out_of_bounds_claim_no_bounds(tmp_path: Path, shared: Path) -> None:
    run = one_run()
    run.stats[0] = structs.replace(run.stats[0], value=1.5)
    _, out = sent(tmp_path, run)
    assert check(out, shared) == 2
    config = whole(out)["evaluation_results"][0]["metric_config"]
    assert "max_score" not in config
    assert config["additional_details"]["bounds_status"] == "unknown"


def test_perturbations_and_their_facts(tmp_path: Path, shared: Path) -> None:
    run = one_run(perturbations=(PerturbationFacts("typos", robustness=True),))
    twin = structs.replace(run.instances[0], perturbation="typos", input="a+ 1 =")
    asked = structs.replace(run.replies[0].request, perturbation="typos")
    run.instances.insert(1, twin)
    run.replies.insert(1, Reply(asked, Completion(" 3")))
    run.scores.append(Score("a", "exact_match", 0.0, perturbation="typos"))
    run.stats.append(
        Stat(
            "exact_match", 0.0, split="test", perturbation="typos",
            computed_on="perturbed", n_scored=1, n_asked=1,
        )
    )  # fmt: skip
    _, out = sent(tmp_path, run)
    assert check(out, shared) == 2
    line = next(x for x in lines(out) if x["input"]["raw"] == "a+ 1 =")
    assert line["evaluation_result_id"] == "exact_match:test:typos:perturbed"
    back = bring([out], tmp_path / "again/runs")
    (made,) = back.runs
    assert made.perturbations == (PerturbationFacts("typos", robustness=True),)
    ids = [(i.instance_id, i.perturbation) for i in back.archive.instances(made.run_id)]
    assert ids == [("a", ""), ("a", "typos"), ("b", "")]


def test_credentials_in_texts_hold_a_run_back(tmp_path: Path) -> None:
    run = one_run()
    run.replies[0] = structs.replace(
        run.replies[0], completion=Completion(f"Use {KEY}")
    )
    find = Secrets({}).find
    told, out = sent(tmp_path, run, find=find)
    assert told.fate == "held back"
    assert "sample a holds" in told.why
    assert KEY not in told.why
    assert [p for p in out.rglob("*") if p.is_file()] == []


def test_credentials_in_settings_are_replaced(tmp_path: Path) -> None:
    model = ModelIdentity("org/m-1b", settings={"api_key": KEY, "args": f"--key={KEY}"})
    spec = RunSpec("sums", model, preset("generation"), settings={"token": KEY})
    run = one_run(spec=spec, spec_id=spec.spec_id)
    told, out = sent(tmp_path, run, find=Secrets({}).find)
    assert told.fate == "written"
    assert KEY not in next(out.rglob("*.json")).read_text()
    assert sum(told.hidden.values()) >= 3


def test_a_write_that_is_stopped_leaves_what_was_there(tmp_path: Path) -> None:
    _, out = sent(tmp_path, one_run())
    before = {p: p.read_bytes() for p in out.rglob("*") if p.is_file()}
    run = one_run()
    run.instances[0] = structs.replace(run.instances[0], input="other")

    def stop(raw: bytes) -> list[str]:
        raise KeyboardInterrupt

    archive, identifier = stored(tmp_path / "runs", run)
    with pytest.raises(KeyboardInterrupt):
        export(archive, identifier, out, US, find=stop)
    assert {p: p.read_bytes() for p in out.rglob("*") if p.is_file()} == before


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    archive, identifier = stored(tmp_path / "runs", one_run())
    (tmp_path / "out").write_text("a file")
    with pytest.raises(BuildError, match="Cannot write"):
        export(archive, identifier, tmp_path / "out", US)


def test_an_unknown_run(tmp_path: Path) -> None:
    archive, _ = stored(tmp_path / "runs", one_run())
    with pytest.raises(ArchiveError):
        export(archive, "r0000000000000000", tmp_path / "out", US)


def run_command(*words: object) -> Result:
    return CliRunner().invoke(main, [str(w) for w in words])


def test_the_command(tmp_path: Path, shared: Path) -> None:
    stored(tmp_path / "runs", one_run())
    words = ("export", "eee", "--project", tmp_path, "--out", tmp_path / "out")
    done = run_command(*words, "--organization", "Lab", "--relationship", "first_party")
    assert done.exit_code == 0, done.output
    assert "1 run exported" in done.output
    assert check(tmp_path / "out", shared) == 2
    source = whole(tmp_path / "out")["source_metadata"]
    assert source["source_organization_name"] == "Lab"
    assert source["evaluator_relationship"] == "first_party"
    assert (
        "unchanged"
        in run_command(
            *words, "--organization", "Lab", "--relationship", "first_party"
        ).output
    )
    assert run_command(*words, "--suite", "none").output.startswith("0 runs")
    assert run_command(*words, "r0000000000000000").exit_code == 3


def test_the_command_says_what_it_holds_back(tmp_path: Path) -> None:
    run = one_run()
    run.replies[0] = structs.replace(run.replies[0], completion=Completion(KEY))
    stored(tmp_path / "runs", run)
    done = run_command("export", "eee", "--project", tmp_path, "-o", tmp_path / "out")
    assert done.exit_code == 6
    assert "held back" in done.output
    assert KEY not in done.output


def test_runs_of_one_scenario_and_moment_have_ids_of_their_own(tmp_path: Path) -> None:
    archive = Archive(tmp_path / "runs")
    for origin in ("native", "native:again"):
        run = one_run()
        name = run_id(run.manifest.spec_id, run.manifest.suite, origin)
        made = structs.replace(run.manifest, origin=origin, run_id=name)
        archive.write_run(*run._replace(manifest=made))
    for m in archive.manifests():
        export(archive, m.run_id, tmp_path / "out", US)
    rows = [json.loads(p.read_text()) for p in (tmp_path / "out").rglob("*.json")]
    assert len({r["evaluation_id"] for r in rows}) == 2


def test_cards_say_how_a_model_is_to_be_had(tmp_path: Path) -> None:
    card = ModelCard("org/m-1b", "M 1B", "Org", access="closed", num_parameters=10**9)
    facts = ScenarioFacts("sums", title="Sums", url="https://example.org/sums")
    _, out = sent(tmp_path, one_run(card=card, scenario=facts))
    row = whole(out)
    assert row["model_info"]["name"] == "M 1B"
    details = row["model_info"]["additional_details"]
    assert details["model_availability"] == "closed_weights"
    assert details["num_parameters"] == "1000000000"
    source = row["evaluation_results"][0]["source_data"]
    assert (source["source_type"], source["url"]) == ("url", [facts.url])
