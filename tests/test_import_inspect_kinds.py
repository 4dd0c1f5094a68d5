"""Logs of Inspect of all kinds: broken off, repeated, reduced, with tools, old, damaged."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from helmsite.schema import Message
from tests.importing import bring, mutants
from tests.inspect_logs import failed, log, packed, result, sample, zipped

if TYPE_CHECKING:
    from pathlib import Path

    from helmsite.schema import Manifest, Reply, Score, Stat
    from tests.importing import Brought

FUZZ = settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


def imported(folder: Path, whole: Any, name: str = "x.json") -> Brought:
    """Import a log that is written into a new folder."""
    folder.mkdir(exist_ok=True)
    raw = whole if isinstance(whole, bytes) else json.dumps(whole).encode()
    (folder / name).write_bytes(raw)
    return bring([folder], folder.parent / "runs")


def only(brought: Brought) -> Manifest:
    """The one run that there is."""
    assert brought.report.notes.problems == []
    (manifest,) = brought.runs
    assert brought.archive.check() == []
    return manifest


def stats(brought: Brought) -> dict[tuple[str, str], Stat]:
    """The aggregates over all samples and epochs of the one run, by metric and scorer."""
    found = brought.archive.stats(only(brought).run_id)
    return {(s.metric, s.scorer): s for s in found if not s.sub_split and s.trial == -1}


def scores(brought: Brought) -> list[Score]:
    return brought.archive.scores(only(brought).run_id)


def replies(brought: Brought) -> list[Reply]:
    return list(brought.archive.replies(only(brought).run_id))


def test_one_log_in_both_forms_is_one_run(tmp_path: Path) -> None:
    whole = log([sample("a"), sample("b", "I")], [result({"accuracy": 0.5})])
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / "x.eval").write_bytes(packed(whole))
    (folder / "y.json").write_text(json.dumps(whole))
    brought = bring([folder], tmp_path / "runs")
    assert stats(brought)["accuracy", ""].value == 0.5
    assert brought.report.notes.skipped == {"y.json": "the same log as x.eval"}


def test_both_forms_give_the_same_rows(tmp_path: Path) -> None:
    whole = log([sample("a"), failed("b")], [result({"accuracy": 1.0})])
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    plain = imported(tmp_path / "one/logs", whole)
    zstd = imported(tmp_path / "two/logs", packed(whole), "x.eval")
    assert replies(plain) == replies(zstd)
    assert scores(plain) == scores(zstd)
    assert stats(plain) == stats(zstd)


def test_a_run_that_was_killed_is_cancelled_and_says_what_was_not_asked(
    tmp_path: Path,
) -> None:
    whole = log(
        [sample("a"), sample("b", "I"), failed("c")],
        dataset={"samples": 4, "sample_ids": ["a", "b", "c", "d"]},
        config={"epochs": 2},
    )
    brought = imported(tmp_path / "logs", packed(whole, header=False), "x.eval")
    manifest = only(brought)
    assert manifest.status == "cancelled"
    assert "its status is started" in manifest.warnings[-1]
    honest = [s for s in scores(brought) if s.metric == "accuracy_of_all"]
    said = {
        (s.instance_id, s.trial): s.value if not s.missing else s.missing
        for s in honest
    }
    assert said == {
        ("a", 0): 1.0,
        ("b", 0): 0.0,
        ("c", 0): 0.0,
        ("d", 0): "not asked",
        **{(name, 1): "not asked" for name in "abcd"},
    }
    plain = [s.missing for s in scores(brought) if s.metric == "accuracy"]
    assert plain.count("failed") == 1
    assert plain.count("not asked") == 5


def test_of_attempts_at_a_run_the_one_that_ended_well_counts(tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    broken = log([sample("a")], status="error", error={"message": "token=Zx91kLm0pQ77"})
    (folder / "1.json").write_text(json.dumps(broken))
    alone = bring([folder], tmp_path / "alone")
    assert only(alone).status == "cancelled"
    assert "token=[removed]" in only(alone).warnings[0]
    (folder / "2.json").write_text(
        json.dumps(log([sample("a"), sample("b")], [result({"accuracy": 1.0})]))
    )
    brought = bring([folder], tmp_path / "runs")
    assert only(brought).status == "complete"
    assert "2.json is a later one" in brought.report.notes.skipped["1.json"]


def test_a_later_attempt_takes_the_place_of_an_archived_one(tmp_path: Path) -> None:
    first = log([sample("a"), failed("b")], status="error", error={"message": "no"})
    imported(tmp_path / "logs", first)
    later = log([sample("a"), sample("b", "I")], created="2026-01-03T00:00:00+00:00")
    brought = imported(tmp_path / "logs", later)
    assert [m.fate for m in brought.report.made] == ["replaced"]
    assert only(brought).counts.failed == 0
    older = log([sample("a")], created="2026-01-01T00:00:00+00:00")
    brought = imported(tmp_path / "logs", older)
    assert [m.fate for m in brought.report.made] == ["kept apart"]
    assert len(brought.runs) == 2


def test_other_reducers_than_the_mean_are_metrics_of_their_own(tmp_path: Path) -> None:
    rows = [
        sample(name, value, epoch)
        for name, values in {"a": "CI", "b": "II", "c": "CC"}.items()
        for epoch, value in enumerate(values, 1)
    ]
    reduced: dict[str, dict[str, Any]] = {
        "mean": {"a": 0.5, "b": 0.0, "c": 1.0},
        "max": {"a": "C", "b": "I", "c": "C"},
        "pass_at_2": {"a": 1.0, "b": 0.0, "c": 1.0},
    }
    numbers = {"mean": 0.5, "max": 2 / 3, "pass_at_2": 2 / 3}
    whole = log(
        rows,
        [result({"accuracy": numbers[r], "stderr": 0.25}, reducer=r) for r in reduced],
        [
            {
                "scorer": "match",
                "reducer": r,
                "samples": [{"sample_id": k, "value": v} for k, v in values.items()],
            }
            for r, values in reduced.items()
        ],
        config={"epochs": 2, "epochs_reducer": list(reduced)},
    )
    brought = imported(tmp_path / "logs", whole)
    (made,) = brought.report.made
    assert (made.equal, made.different) == (3, ())
    found = stats(brought)
    assert found["accuracy", ""].value == 0.5
    assert found["accuracy", ""].stderr == 0.25
    assert found["accuracy_max", ""].value == pytest.approx(2 / 3)
    assert found["accuracy_pass_at_2", ""].value == pytest.approx(2 / 3)
    assert found["accuracy_max", ""].n_scored == 3
    titles = {m.name: m.title for m in only(brought).metrics}
    assert titles["accuracy_max"] == "Accuracy, max of epochs"


def test_where_epochs_failed_the_mean_of_samples_means_is_apart(tmp_path: Path) -> None:
    """Inspect averages samples: (1 + 0) / 2. The mean of both epochs is (1/2 + 1) / 2."""
    rows = [
        sample("a", "C"),
        sample("a", "C", 2),
        sample("b", "I"),
        failed("b", epoch=2),
    ]
    whole = log(
        rows,
        [result({"accuracy": 0.5}, scored_samples=2, unscored_samples=0)],
        [
            {
                "scorer": "match",
                "samples": [
                    {"sample_id": "a", "value": 1.0},
                    {"sample_id": "b", "value": 0.0},
                ],
            }
        ],
        config={"epochs": 2},
    )
    brought = imported(tmp_path / "logs", whole)
    (made,) = brought.report.made
    assert (made.equal, made.different) == (1, ())
    found = stats(brought)
    assert found["accuracy_mean", ""].value == 0.5
    assert found["accuracy", ""].value == 0.75
    assert found["accuracy_of_all", ""].value == 0.5


def test_tool_calls_and_turns_are_a_transcript(tmp_path: Path) -> None:
    messages = [
        {"role": "system", "content": "Use tools."},
        {"role": "user", "content": "1+1?", "source": "input"},
        {
            "role": "assistant",
            "content": "",
            "source": "generate",
            "tool_calls": [
                {"id": "1", "function": "add", "arguments": {"x": 1, "y": 1}}
            ],
        },
        {"role": "tool", "content": "2", "function": "add", "tool_call_id": "1"},
        {"role": "assistant", "content": "It is 2.", "source": "generate"},
    ]
    output = {
        "model": "gpt-x",
        "choices": [{"message": messages[-1], "stop_reason": "stop"}],
        "completion": "It is 2.",
        "usage": {"input_tokens": 9, "output_tokens": 4},
        "time": 0.5,
    }
    call = {"event": "model", "model": "openai/gpt-x", "input": [], "output": {}}
    row = sample("a") | {
        "messages": messages,
        "output": output,
        "events": [
            {**call, "input_refs": [[0, 2]]},
            {"event": "tool", "function": "add", "result": "attachment://77"},
            {**call, "input": messages[:4], "output": output},
        ],
        "events_data": {"messages": messages[:2], "calls": []},
        "attachments": {"77": "2" * 200, "unused": "u"},
        "model_usage": {"openai/gpt-x": {"input_tokens": 15, "output_tokens": 7}},
        "working_time": 1.25,
        "limit": {"type": "message", "limit": 5},
    }
    (reply,) = replies(imported(tmp_path / "logs", log([row])))
    assert [m.role for m in reply.request.messages] == ["system", "user"]
    assert list(reply.completion.transcript) == messages[2:]
    assert reply.completion.text == "It is 2."
    assert reply.completion.finish_reason == "message limit"
    assert reply.completion.usage.prompt_tokens == 15
    assert reply.completion.duration_s == 1.25
    events = reply.completion.extra["events"]
    assert events[0]["input"] == {"messages": 2}
    assert events[1]["result"] == "2" * 200
    assert events[2]["input"] == {"messages": 4}
    assert "output" not in events[2]
    assert reply.completion.extra["attachments"] == {"unused": "u"}


def test_parts_of_messages_thoughts_and_several_choices(tmp_path: Path) -> None:
    image = {"type": "image", "image": "data:image/png;base64,AA"}
    parts = [{"type": "text", "text": "What is this?"}, image]
    thought = {
        "role": "assistant",
        "content": [
            {"type": "reasoning", "reasoning": "Hm."},
            {"type": "text", "text": "A cat."},
        ],
    }
    choices = [
        {
            "message": thought,
            "stop_reason": "max_tokens",
            "logprobs": {
                "content": [
                    {
                        "token": "A",
                        "logprob": -0.5,
                        "top_logprobs": [{"token": "B", "logprob": -1}],
                    },
                    {"token": "?", "logprob": -0.25, "bytes": [0xE2, 0x80]},
                ]
            },
        },
        {"message": {"role": "assistant", "content": "A dog."}, "stop_reason": "stop"},
    ]
    row = sample("a") | {
        "input": [{"role": "user", "content": parts}],
        "messages": [{"role": "user", "content": parts, "source": "input"}, thought],
        "output": {"model": "m", "choices": choices, "completion": "A cat."},
        "target": ["cat", "a cat"],
    }
    brought = imported(tmp_path / "logs", log([row]))
    first, second = (r.completion for r in replies(brought))
    assert (first.text, first.reasoning, first.finish_reason) == (
        "A cat.",
        "Hm.",
        "length",
    )
    assert first.tokens == ("A", r"bytes:\xe2\x80")
    assert first.logprob == -0.75
    assert first.top_logprobs is not None
    assert first.top_logprobs[0][0].token == "B"
    assert (second.text, second.tokens) == ("A dog.", None)
    (instance,) = brought.archive.instances(only(brought).run_id)
    assert instance.input == "What is this?"
    assert instance.messages == (Message("user", "What is this?", {"content": parts}),)
    assert instance.gold == ("cat", "a cat")


def test_values_are_read_as_inspect_reads_them(tmp_path: Path) -> None:
    values = ["C", "I", "P", "N", "yes", "No", "0.25", True, 2, "odd", math.nan, None]
    rows = [sample(f"s{n}", value) for n, value in enumerate(values)]
    brought = imported(tmp_path / "logs", log(rows))
    found = {s.instance_id: s for s in scores(brought) if s.metric == "accuracy"}
    said = [found[f"s{n}"].value for n in range(len(values))]
    assert said == [1, 0, 0.5, 0, 1, 0, 0.25, 1, 2, 0, None, 0]
    assert found["s10"].missing == "nan"
    assert found["s9"].details["value"] == "odd"


def test_a_dictionary_gives_a_metric_for_each_key(tmp_path: Path) -> None:
    rows = [
        sample("a") | {"scores": {"both": {"value": {"x": 1, "y": math.nan}}}},
        sample("b") | {"scores": {"both": {"value": {"x": "I", "y": 0.5}}}},
        failed("c"),
    ]
    keyed = [{"name": "both", "metrics": {"*": [{"name": "inspect_ai/mean"}]}}]
    whole = log(
        rows,
        [
            {**result({"mean": 0.5, "std": 0.7}, "x"), "scorer": "both"},
            {**result({"mean": 0.5}, "y"), "scorer": "both"},
        ],
        scorers=keyed,
    )
    brought = imported(tmp_path / "logs", whole)
    found = stats(brought)
    assert (found["x", ""].value, found["x", ""].n_scored) == (0.5, 2)
    assert (found["y", ""].value, found["y", ""].n_scored) == (0.5, 1)
    assert found["x_std", ""].value == 0.7
    assert found["x", ""].n_asked == 3
    assert only(brought).scenario.main_metric == "x"
    assert brought.report.made[0].equal == 2


def test_a_scorer_without_accuracy_is_a_metric_by_its_name(tmp_path: Path) -> None:
    scorers = [
        {"name": "grade", "metrics": [{"name": "inspect_ai/mean"}]},
        {"name": "match", "metrics": [{"name": "inspect_ai/accuracy"}]},
    ]
    rows = [
        sample("a") | {"scores": {"grade": {"value": 7}, "match": {"value": "C"}}},
        sample("b") | {"scores": {"grade": {"value": 8}, "match": {"value": "I"}}},
    ]
    said = [result({"mean": 7.5}, "grade"), result({"accuracy": 0.5})]
    brought = imported(tmp_path / "logs", log(rows, said, scorers=scorers))
    assert stats(brought)["grade", "grade"].value == 7.5
    assert stats(brought)["accuracy", "match"].value == 0.5
    assert only(brought).scenario.main_metric == "grade"


def test_logs_of_the_first_version(tmp_path: Path) -> None:
    row = sample("a")
    row["score"] = row.pop("scores")["match"]
    row["transcript"] = {
        "events": [{"event": "info", "data": "attachment://1"}],
        "content": {"1": "told"},
    }
    results = {
        "scorer": {"name": "match"},
        "metrics": {"accuracy": {"name": "accuracy", "value": 1}},
    }
    whole = log([row], version=1, results=results)
    del whole["eval"]["scorers"]
    del whole["eval"]["task_id"]
    brought = imported(tmp_path / "logs", whole)
    assert stats(brought)["accuracy", ""].value == 1
    assert brought.report.made[0].equal == 1
    (reply,) = replies(brought)
    assert reply.completion.extra["events"][0]["data"] == "told"
    assert (
        only(brought).origin == "inspect:R1:sums:openai/gpt-x:2026-01-02T03:04:05+00:00"
    )


def test_results_of_the_first_version_without_samples_and_counts(
    tmp_path: Path,
) -> None:
    said = result({"accuracy": 0.5, "bootstrap_std": 0.25})
    del said["scorer"]
    whole = log([], results={"scorers": [said]})
    del whole["eval"]["scorers"]
    brought = imported(tmp_path / "logs", whole)
    (batch,) = brought.archive.batches()
    rows = list(brought.archive.published(batch.suite, batch.batch))
    cells = {c.stat.metric: c.stat for c in rows}
    assert cells.keys() == {"accuracy", "completed_samples"}
    assert (cells["accuracy"].value, cells["accuracy"].stderr) == (0.5, 0.25)
    assert cells["completed_samples"].missing == "not measurable"


def test_what_scorers_ask_of_the_model_is_not_its_own_usage(tmp_path: Path) -> None:
    """A grader by the same model: its calls come after scoring has begun."""
    call = {"event": "model", "model": "openai/gpt-x", "input": []}
    used = {"input_tokens": 100, "output_tokens": 50}
    row = sample("a") | {
        "events": [
            {**call, "output": sample("a")["output"]},
            {"event": "step", "action": "begin", "type": "scorer", "name": "match"},
            {**call, "output": {"usage": used}},
        ],
        "model_usage": {"openai/gpt-x": {"input_tokens": 103, "output_tokens": 51}},
        "working_time": 9.0,
    }
    (reply,) = replies(imported(tmp_path / "logs", log([row])))
    assert reply.completion.usage.prompt_tokens == 3
    assert reply.completion.usage.completion_tokens == 1
    assert reply.completion.duration_s == 0.5


def test_results_without_samples_are_cells(tmp_path: Path) -> None:
    """Three samples were scored and one failed: 0.75 · 3 / 4 of all are right."""
    whole = log([], [result({"accuracy": 0.75, "stderr": 0.1}, scored_samples=3)])
    whole["results"] |= {"total_samples": 4, "completed_samples": 3}
    brought = imported(tmp_path / "logs", whole)
    assert brought.runs == ()
    (batch,) = brought.archive.batches()
    rows = list(brought.archive.published(batch.suite, batch.batch))
    cells = {c.stat.metric: c for c in rows}
    assert cells["accuracy"].stat.value == 0.75
    assert cells["accuracy"].stat.stderr == 0.1
    assert {(c.scenario, c.model) for c in rows} == {("sums", "openai/gpt-x")}
    assert cells["completed_samples"].stat.value == 3
    honest = cells["accuracy_of_all"].stat
    assert (honest.value, honest.n_scored, honest.origin) == (0.5625, 4, "computed")


def test_ids_of_messages_do_not_keep_samples_of_two_models_apart(
    tmp_path: Path,
) -> None:
    rows = [
        sample("a", input=[{"role": "user", "content": "q", "id": name}])
        for name in ("x", "y")
    ]
    hashes = set()
    for n, row in enumerate(rows):
        (tmp_path / str(n)).mkdir()
        brought = imported(tmp_path / str(n) / "logs", log([row]))
        (instance,) = brought.archive.instances(only(brought).run_id)
        hashes.add(instance.content_hash)
    assert len(hashes) == 1


def test_neither_samples_nor_results_is_a_problem(tmp_path: Path) -> None:
    brought = imported(tmp_path / "logs", log([]))
    (problem,) = brought.report.notes.problems
    assert problem.why == "it holds neither samples nor results"
    assert len(brought.report.failed) == 1


@pytest.mark.parametrize(
    ("model", "name", "client", "runtime"),
    [
        ("openai/gpt-4o", "openai/gpt-4o", "openai", ""),
        ("hf/EleutherAI/pythia-70m", "EleutherAI/pythia-70m", "hf", ""),
        ("openai/azure/gpt-4o", "openai/gpt-4o", "openai", "azure"),
        ("anthropic/bedrock/claude-x", "anthropic/claude-x", "anthropic", "bedrock"),
        (
            "openai-api/deepseek/deepseek-chat",
            "deepseek/deepseek-chat",
            "openai-api",
            "",
        ),
        ("together/meta-llama/Llama-3-8b", "meta-llama/Llama-3-8b", "together", ""),
        ("ollama/llama3.1:8b", "ollama/llama3.1:8b", "ollama", ""),
    ],
)
def test_models_are_known_by_their_makers_names(
    tmp_path: Path, model: str, name: str, client: str, runtime: str
) -> None:
    given = {"revision": "step143000", "load_in_4bit": True, "huge": "x" * 5000}
    whole = log([sample("a")], model=model, model_args=given)
    identity = only(imported(tmp_path / "logs", whole)).spec.model
    assert (identity.name, identity.client) == (name, client)
    assert (identity.runtime, identity.revision) == (runtime, "step143000")
    assert identity.quantisation == "4bit"
    assert identity.settings["model"] == model
    assert identity.settings["model_args"]["huge"]["bytes"] == 5002


def test_short_arguments_of_a_task_are_parameters_of_its_scenario(
    tmp_path: Path,
) -> None:
    arguments = {"subject": "law", "cot": True, "paths": ["a"], "odd": "a=b", "n": 3}
    whole = log([sample("a")], task_args_passed=arguments, task_args={"more": 1})
    found = only(imported(tmp_path / "logs", whole))
    assert found.spec.scenario == "sums:cot=true,n=3,subject=law"
    assert found.spec.settings["task_args"] == {"more": 1}


def test_secrets_in_errors_are_replaced_and_counted(tmp_path: Path) -> None:
    row = failed("a", "no luck: api_key=Zx91kLm0pQ77 in /home/somebody/x")
    brought = imported(tmp_path / "logs", log([row, sample("b")]))
    reply = next(r for r in replies(brought) if r.completion.error)
    assert reply.completion.error == "no luck: api_key=[removed] in ~/x"
    assert brought.report.notes.hidden["a credential"] == 2


def test_the_coloured_copy_of_a_traceback_is_left_out_wherever_it_stands(
    tmp_path: Path,
) -> None:
    one: dict[str, Any] = failed("a")
    one["error_retries"] = [dict(one["error"])]
    one["events"] = [{"event": "error", "error": dict(one["error"])}]
    brought = imported(tmp_path / "logs", log([one]))
    (reply,) = replies(brought)
    extra = reply.completion.extra
    plain = {"message": "it broke", "traceback": "..."}
    assert extra["error"] == plain
    assert extra["error_retries"] == [plain]
    assert extra["events"][0]["error"] == plain


def test_the_number_and_the_text_of_one_id_are_two_samples(tmp_path: Path) -> None:
    brought = imported(tmp_path / "logs", log([sample(1), sample("1", "I")]))
    instances = brought.archive.instances(only(brought).run_id)
    assert [i.instance_id for i in instances] == ["1", "1#2"]


def test_what_is_wrong_with_one_sample_costs_that_sample_alone(tmp_path: Path) -> None:
    rows = [sample("a"), sample("a"), sample("b", epoch=0), {"id": []}, sample("c")]
    rows[4]["output"]["choices"][0]["logprobs"] = {"content": [{"token": 3}]}
    brought = imported(tmp_path / "logs", log([*rows, sample("d")]))
    (manifest,) = brought.runs
    assert manifest.counts.asked == 2
    assert [(p.field, p.why) for p in brought.report.notes.problems] == [
        ("samples[1].id", "'a' is there twice in epoch 1"),
        ("samples[2].epoch", "expected a number from 1"),
        ("samples[3].id", "expected a text or a number"),
        (
            "samples[4].output.choices[0].logprobs.content[0].token",
            "expected a text, got 3",
        ),
    ]
    assert "4 samples could not be read" in manifest.warnings[-1]


@pytest.mark.parametrize("depth", [900, 3000])
def test_lists_in_lists_without_end_are_told_of(tmp_path: Path, depth: int) -> None:
    """Some depths can be read but not walked through; others cannot even be read."""
    whole = json.dumps(log([sample("a", metadata={"x": 0}), sample("b")]))
    deep = whole.replace('{"x": 0}', '{"x": ' + "[" * depth + "]" * depth + "}")
    brought = imported(tmp_path / "logs", deep.encode())
    (problem,) = brought.report.notes.problems
    assert problem.why == "its lists or objects lie in each other too deep"
    assert sum(m.counts.asked for m in brought.runs) == (1 if depth == 900 else 0)


@pytest.mark.parametrize("name", ["x.json", "x.eval"])
def test_a_header_that_is_too_deep_is_told_of(tmp_path: Path, name: str) -> None:
    whole = log([sample("a")], model_args={"x": 0})
    deep = "[" * 700 + "]" * 700
    if name == "x.json":
        raw = json.dumps(whole).replace('{"x": 0}', f'{{"x": {deep}}}').encode()
    else:
        inside = members(whole)
        header = inside["header.json"].decode()
        inside["header.json"] = header.replace('{"x": 0}', f'{{"x": {deep}}}').encode()
        raw = zipped(inside)
    brought = imported(tmp_path / "logs", raw, name)
    (problem,) = brought.report.notes.problems
    assert problem.why == "its lists or objects lie in each other too deep"


def test_metadata_that_is_no_object_is_kept(tmp_path: Path) -> None:
    brought = imported(tmp_path / "logs", log([sample("a", metadata=3)]))
    (instance,) = brought.archive.instances(only(brought).run_id)
    assert instance.extra == {"metadata": 3}


def members(whole: dict[str, Any]) -> dict[str, bytes]:
    """The members of a log of two samples, as bytes."""
    head = {k: v for k, v in whole.items() if k != "samples"}
    found = {f"samples/{s['id']}_epoch_1.json": s for s in whole["samples"]}
    return {
        k: json.dumps(v).encode() for k, v in {**found, "header.json": head}.items()
    }


@pytest.mark.parametrize(
    ("size", "why"),
    [
        (10**9, "unpacked it has more than 512 MB"),
        (100, "damaged: it is not what the zip's directory tells"),
        (10**6, "damaged: it is not what the zip's directory tells"),
    ],
)
def test_a_member_that_lies_about_its_size_is_left_out(
    tmp_path: Path, size: int, why: str
) -> None:
    raw = members(log([sample("a"), sample("b")]))
    name = "samples/a_epoch_1.json"
    brought = imported(tmp_path / "logs", zipped(raw, {name: size}), "x.eval")
    (problem,) = brought.report.notes.problems
    assert problem.file.endswith(name)
    assert problem.why == why
    (manifest,) = brought.runs
    assert manifest.counts.asked == 1


@pytest.mark.parametrize(
    ("before", "why"),
    [
        (10, "damaged: a member begins behind the file's end"),
        (60, "damaged: no member begins where the directory tells"),
    ],
)
def test_a_member_that_lies_about_its_place_is_left_out(
    tmp_path: Path, before: int, why: str
) -> None:
    raw = members(log([sample("a"), sample("b")]))
    name = "samples/a_epoch_1.json"
    blob = zipped(raw, places={name: len(zipped(raw)) - before})
    brought = imported(tmp_path / "logs", blob, "x.eval")
    (problem,) = brought.report.notes.problems
    assert problem.file.endswith(name)
    assert problem.why == why
    (manifest,) = brought.runs
    assert manifest.counts.asked == 1


def test_a_bomb_is_not_unpacked(tmp_path: Path) -> None:
    """A hundred megabytes of blanks behind a directory that tells of a thousand bytes."""
    raw = members(log([sample("a"), sample("b")]))
    name = "samples/a_epoch_1.json"
    raw[name] = b" " * 100_000_000
    brought = imported(tmp_path / "logs", zipped(raw, {name: 1000}), "x.eval")
    (problem,) = brought.report.notes.problems
    assert problem.why.startswith("damaged")


def test_a_log_that_is_cut_is_told_of(tmp_path: Path) -> None:
    raw = packed(log([sample("a"), sample("b")]))
    brought = imported(tmp_path / "logs", raw[: len(raw) // 2], "x.eval")
    (problem,) = brought.report.notes.problems
    assert problem.why.startswith("its directory is missing or damaged")
    assert brought.runs == ()


def test_other_files_of_inspect_are_told_of_and_other_zips_left(tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / "listing.json").write_text(
        '{"x.eval": {"eval": {}, "status": "success"}}'
    )
    (folder / "eval-set.json").write_text('{"eval_set_id": "e", "tasks": []}')
    (folder / ".eval-set-id").write_text("e")
    (folder / "other.zip").write_bytes(zipped({"a.json": b"{}"}))
    brought = imported(folder, log([sample("a")]))
    assert brought.report.notes.skipped == {
        ".eval-set-id": "the id of a set of evaluations",
        "eval-set.json": "the manifest of a set of evaluations; the logs say the same",
        "listing.json": "a listing of logs; the logs say the same",
        "other.zip": "no importer recognises it",
    }
    only(brought)


RICH = log(
    [
        sample("a", {"x": 1.0, "y": "C"}, choices=["a", "b"], metadata={"k": "v"})
        | {
            "events": [
                {
                    "event": "model",
                    "input_refs": [[0, 1]],
                    "call": {"call_refs": [[0, 1]], "request": {}},
                }
            ]
        }
        | {
            "events_data": {
                "messages": [{"role": "user", "content": "q"}],
                "calls": [{}],
            }
        }
        | {
            "attachments": {"1": "t"},
            "limit": {"type": "token"},
            "store": {"u": "attachment://1"},
        },
        sample("b", math.nan, 2, started_at="2026-01-01T00:00:00Z"),
        failed("c"),
    ],
    [result({"accuracy": 1.0, "stderr": 0.0}, reducer="max")],
    [
        {
            "scorer": "match",
            "reducer": "max",
            "samples": [{"sample_id": "a", "value": 1}],
        }
    ],
    config={"epochs": 2},
    model_args={"revision": "r"},
    plan={"steps": [], "config": {"temperature": 0.5, "stop_seqs": ["x"]}},
)


@FUZZ
@given(raw=mutants(json.dumps(RICH).encode()))
def test_a_json_log_gone_wrong_is_read_or_told_of(
    raw: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    brought = imported(tmp_path_factory.mktemp("f") / "logs", raw)
    assert brought.archive.check() == []
    told = brought.runs or brought.archive.batches() or brought.report.notes.problems
    assert told or brought.report.notes.skipped


@FUZZ
@given(data=st.data())
def test_a_log_of_the_samples_gone_wrong_is_read_or_told_of(
    data: st.DataObject, shared: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    (file,) = (shared / "samples/inspect").glob("*.json")
    whole = json.loads(file.read_text())
    for name in ("samples", "reductions"):
        whole[name] = whole[name][:2]
    whole["eval"]["model_args"] = {}
    raw = data.draw(mutants(json.dumps(whole).encode()))
    brought = imported(tmp_path_factory.mktemp("f") / "logs", raw)
    assert brought.archive.check() == []
    told = brought.runs or brought.archive.batches() or brought.report.notes.problems
    assert told or brought.report.notes.skipped


@FUZZ
@given(data=st.data())
def test_a_packed_log_gone_wrong_is_read_or_told_of(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    raw = bytearray(packed(RICH))
    for _ in range(data.draw(st.integers(1, 4))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.sampled_from([len(raw), len(raw), len(raw) // 2, 40]))
    brought = imported(
        tmp_path_factory.mktemp("f") / "logs", bytes(raw[:cut]), "x.eval"
    )
    assert brought.archive.check() == []
    told = brought.runs or brought.archive.batches() or brought.report.notes.problems
    assert told or brought.report.notes.skipped
