"""The storage test: one real row of every evaluation tool, stored and read unchanged.

Each mapper puts a row into records. That nothing of it got lost is checked apart from
the mapper: every text and number of the source row must occur in the records.
"""

from __future__ import annotations

import io
import json
import math
import zipfile
from typing import TYPE_CHECKING, Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from msgspec import structs

from helmsite.archive import Archive
from helmsite.schema import (
    Completion,
    Decoding,
    Instance,
    Message,
    PublishedStat,
    Reference,
    Reply,
    Request,
    Score,
    Stat,
    TopLogprob,
    Usage,
)
from tests.archive_cases import Run, manifest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

Row = dict[str, Any]
CORRECT = ("correct",)


def leaves(value: Any) -> Iterator[Any]:
    """Every text and number in a value; numbers written as text count as numbers."""
    if isinstance(value, msgspec.Struct):
        value = structs.asdict(value)
    if isinstance(value, dict):
        for one in value.values():
            yield from leaves(one)
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from leaves(one)
    elif isinstance(value, (str, int, float)) and not isinstance(value, bool):
        try:
            number = float(value)
        except ValueError:
            yield value
        else:
            yield "NaN" if math.isnan(number) else number


def without(row: Row, *names: str) -> Row:
    """What no column holds. JSON has no NaN: it is written as the text "NaN"."""
    rest: Row = _plain({k: v for k, v in row.items() if k not in names})
    return rest


def _plain(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return {math.inf: "Infinity", -math.inf: "-Infinity"}.get(value, "NaN")
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    return [_plain(v) for v in value] if isinstance(value, list) else value


def helm_instance(row: Row) -> Instance:
    perturbation = row.get("perturbation", {})
    return Instance(
        row["id"],
        row["input"]["text"],
        tuple(
            Reference(r["output"]["text"], tuple(r["tags"])) for r in row["references"]
        ),
        perturbation=perturbation.get("name", ""),
        position=int(row["id"].removeprefix("id")),
        split=row["split"],
        extra=without(row, "id", "input", "references", "split"),
    )


def helm_completion(row: Row, index: int) -> Completion:
    result, one = row["result"], row["result"]["completions"][index]
    return Completion(
        one["text"],
        tokens=tuple(t["text"] for t in one["tokens"]),
        token_logprobs=tuple(t["logprob"] for t in one["tokens"]),
        logprob=one["logprob"],
        finish_reason=one.get("finish_reason", {}).get("reason", ""),
        duration_s=result["request_time"],
        started_at=result.get("request_datetime"),
        cached=result["cached"],
        extra={
            "request": without(
                row["request"],
                *Decoding.__struct_fields__,
                "prompt",
            ),
            "result": without(
                result, "completions", "request_time", "request_datetime", "cached"
            ),
            "completion": without(one, "text", "tokens", "logprob", "finish_reason"),
        },
    )


def helm_stat_details(row: Row) -> Row:
    return without(row, "name", "mean")


def helm_run(folder: Path, pick: int) -> tuple[list[Row], Run]:
    """A HELM request state with the scores and stats that belong to it."""
    state = json.loads((folder / "scenario_state.json").read_text())["request_states"][
        pick
    ]
    asked = state["request"]
    instance = helm_instance(state["instance"])
    stop = tuple(asked["stop_sequences"])
    decoding = Decoding(
        **{
            k: asked[k]
            for k in Decoding.__struct_fields__
            if k in asked and k != "stop_sequences"
        },
        stop_sequences=stop,
    )
    request = Request(
        instance.instance_id,
        asked["prompt"],
        decoding,
        perturbation=instance.perturbation,
        trial=state["train_trial_index"],
        mode=state.get("request_mode") or "original",
        reference_index=state.get("reference_index", -1),
        output_mapping=state.get("output_mapping", {}),
        num_train_instances=state["num_train_instances"],
        truncated=state["prompt_truncated"],
        num_conditioning_tokens=state["num_conditioning_tokens"],
    )
    replies = [
        Reply(request, helm_completion(state, i), i)
        for i in range(len(state["result"]["completions"]))
    ]
    same = (state["instance"]["id"], state["train_trial_index"], instance.perturbation)
    per = next(
        p
        for p in json.loads((folder / "per_instance_stats.json").read_text())
        if same
        == (
            p["instance_id"],
            p["train_trial_index"],
            p.get("perturbation", {}).get("name", ""),
        )
    )
    scores = [
        Score(
            instance.instance_id,
            s["name"]["name"],
            s.get("mean"),
            perturbation=instance.perturbation,
            trial=request.trial,
            details=helm_stat_details(s),
            origin="reported",
            missing="" if "mean" in s else "not measurable",
        )
        for s in per["stats"]
    ]
    row = json.loads((folder / "stats.json").read_text())[0]
    stat = Stat(
        row["name"]["name"],
        row["mean"],
        split=row["name"].get("split", ""),
        perturbation=row["name"].get("perturbation", {}).get("name", ""),
        computed_on=row["name"].get("perturbation", {}).get("computed_on", ""),
        origin="reported",
        details=helm_stat_details(row),
    )
    return [state, {"stats": per["stats"]}, row], Run(
        manifest("mmlu:subject=x", "test/noisy"), [instance], replies, scores, [stat]
    )


def lm_eval_run(row: Row) -> Run:
    """One document: a request per argument, the unconditioned ones as calibration."""
    identifier = str(row["doc_id"])
    instance = Instance(
        identifier,
        row["doc"].get("question", ""),
        tuple(Reference(c) for c in row["doc"].get("choices", [])),
        position=row["doc_id"],
        extra=without(row, "arguments", "resps", "filtered_resps", *row["metrics"]),
    )
    choices = len(instance.references) or 1
    replies = []
    for index, (given, answers) in enumerate(
        zip(row["arguments"].values(), row["resps"], strict=True)
    ):
        arguments = list(given.values())
        for repeat, answer in enumerate(answers):
            replies.append(
                _lm_eval_reply(identifier, index, choices, arguments, answer, repeat)
            )
    scores = [
        Score(
            identifier,
            name,
            float(value) if isinstance(value, (int, float)) else None,
            scorer=row["filter"],
            text=json.dumps(row["filtered_resps"]),
            details={"value": value, "filtered_resps": row["filtered_resps"]},
            origin="reported",
            missing="" if isinstance(value, (int, float)) else "not measurable",
        )
        for name in row["metrics"]
        for value in [row[name]]
    ]
    return Run(manifest("mini", "smollm2"), [instance], replies, scores, [])


def _lm_eval_reply(
    identifier: str,
    index: int,
    choices: int,
    arguments: list[Any],
    answer: Any,
    repeat: int,
) -> Reply:
    context, second = arguments[0], arguments[1] if len(arguments) > 1 else ""
    if isinstance(second, dict):
        request = Request(identifier, context, Decoding(), request_index=index)
        completion = Completion(answer, extra={"arguments": second})
    else:
        request = Request(
            identifier,
            context + second,
            Decoding(max_tokens=0),
            mode="original" if index < choices else "calibration",
            reference_index=index % choices,
            score_start=len(context),
        )
        logprob, *greedy = answer if isinstance(answer, list) else [answer]
        completion = Completion(
            logprob=float(logprob),
            extra={"resp": answer, "is_greedy": greedy, "arguments": arguments},
        )
    return Reply(request, completion, repeat)


def helmet_run(whole: Row, index: int) -> tuple[list[Row], Run]:
    row = whole["data"][index]
    metrics = {
        name: values[index]
        for name, values in whole["metrics"].items()
        if isinstance(values, list) and len(values) == len(whole["data"])
    }
    identifier = str(row.get("id") or index)
    answers = row["answer"] if isinstance(row["answer"], list) else [row["answer"]]
    flat = [a for a in answers if isinstance(a, str)]
    instance = Instance(
        identifier,
        str(row.get("question") or ""),
        tuple(Reference(a, CORRECT) for a in flat),
        position=index,
        extra=without(
            row, "question", "output", "input_text", "input_len", "output_len"
        ),
    )
    completion = Completion(
        row["output"],
        usage=Usage(row["input_len"], row["output_len"]),
        extra={"args": _plain(whole["args"])},
    )
    request = Request(
        identifier,
        row.get("input_text", ""),
        Decoding(max_tokens=whole["args"]["generation_max_length"]),
        prompt_kind="abridged" if "input_text" in row else "absent",
        num_train_instances=whole["args"]["shots"],
    )
    scores = [
        Score(identifier, name, float(value), origin="reported")
        for name, value in metrics.items()
    ]
    stats = [
        Stat(name, float(value), origin="reported")
        for name, value in whole["averaged_metrics"].items()
        if isinstance(value, (int, float))
    ]
    source = [row, metrics, whole["args"], whole["averaged_metrics"]]
    return source, Run(
        manifest("helmet", "stub"),
        [instance],
        [Reply(request, completion)],
        scores,
        stats,
    )


def inspect_messages(rows: list[Row]) -> tuple[Message, ...]:
    return tuple(
        Message(
            m["role"],
            m["content"] if isinstance(m["content"], str) else "",
            without(m, "role", *(["content"] if isinstance(m["content"], str) else [])),
        )
        for m in rows
    )


def inspect_scores(row: Row, identifier: str) -> Iterator[Score]:
    letters = {"C": 1.0, "I": 0.0, "P": 0.5}
    for scorer, found in row["scores"].items():
        value = found["value"]
        for name, one in (
            value if isinstance(value, dict) else {scorer: value}
        ).items():
            number = letters.get(one, one) if isinstance(one, str) else one
            odd = isinstance(number, float) and math.isnan(number)
            yield Score(
                identifier,
                name,
                None if odd else float(number),
                trial=row["epoch"] - 1,
                scorer=scorer,
                text=found.get("answer") or "",
                details=without(found, "answer"),
                origin="reported",
                missing="nan" if odd else "",
            )


def inspect_run(row: Row) -> Run:
    identifier = str(row["id"])
    output = row["output"]
    usage = output.get("usage", {})
    sent = [m for m in row["messages"] if m.get("source") != "generate"]
    top = output.get("choices", [{}])
    logprobs = (top[0].get("logprobs") or {}).get("content") if top else None
    instance = Instance(
        identifier,
        row["input"] if isinstance(row["input"], str) else "",
        tuple(Reference(c) for c in row.get("choices", [])),
        extra=without(row, "messages", "output", "scores", "events"),
    )
    completion = Completion(
        output.get("completion", ""),
        transcript=tuple(_plain(row["events"])),
        tokens=logprobs and tuple(t["token"] for t in logprobs),
        token_logprobs=logprobs and tuple(t["logprob"] for t in logprobs),
        top_logprobs=logprobs
        and tuple(
            tuple(
                TopLogprob(a["token"], a["logprob"])
                for a in t.get("top_logprobs") or []
            )
            for t in logprobs
        ),
        finish_reason=top[0].get("stop_reason", "") if top else "",
        usage=Usage(usage.get("input_tokens"), usage.get("output_tokens")),
        duration_s=output.get("time"),
        error=(row.get("error") or {}).get("message", ""),
        extra={"output": _plain(output), "messages": _plain(row["messages"])},
    )
    request = Request(
        identifier,
        "",
        Decoding(),
        trial=row["epoch"] - 1,
        prompt_kind="absent",
        messages=inspect_messages(sent),
    )
    scores = list(inspect_scores(row, identifier)) if row.get("scores") else []
    return Run(
        manifest("planets", "delta"),
        [instance],
        [Reply(request, completion)],
        scores,
        [],
    )


def zstd_member(path: Path, name: str) -> Row:
    """Read a member of a zip that is compressed with method 93."""
    raw = path.read_bytes()
    member = zipfile.ZipFile(io.BytesIO(raw)).getinfo(name)
    start = member.header_offset
    start += 30 + sum(
        int.from_bytes(raw[start + i : start + i + 2], "little") for i in (26, 28)
    )
    packed = io.BytesIO(raw[start : start + member.compress_size])
    row: Row = json.loads(pa.input_stream(packed, compression="zstd").read())
    return row


def every_eval_ever_run(row: Row) -> Run:
    given, answer, spent = row["input"], row["output"] or {}, row["token_usage"] or {}
    identifier = row["sample_id"]
    instance = Instance(
        identifier,
        given["raw"] or "",
        (
            *(Reference(r, CORRECT) for r in given["reference"] or []),
            *(Reference(c) for c in given.get("choices") or []),
        ),
        messages=tuple(
            Message(m["role"], m.get("content") or "", without(m, "role", "content"))
            for m in row["messages"] or []
        ),
        extra=without(row, "input", "output", "messages"),
    )
    replies = [
        Reply(
            Request(
                identifier,
                given["formatted"] or "",
                Decoding(),
                prompt_kind="exact" if given["formatted"] else "absent",
            ),
            Completion(
                text,
                usage=Usage(spent.get("input_tokens"), spent.get("output_tokens")),
                duration_s=((row["performance"] or {}).get("latency_ms") or 0) / 1000,
                finish_reason=(row["metadata"] or {}).get("stop_reason", ""),
                extra=without(answer, "raw"),
            ),
            index,
        )
        for index, text in enumerate(answer.get("raw") or [""])
    ]
    score = Score(
        identifier,
        row["evaluation_result_id"],
        row["evaluation"]["score"],
        details=without(row["evaluation"], "score"),
        origin="reported",
    )
    return Run(
        manifest(row["evaluation_name"], row["model_id"]),
        [instance],
        replies,
        [score],
        [],
    )


def lighteval_run(row: Row) -> Run:
    doc, said = row["doc"], row["model_response"]
    gold = doc["gold_index"]
    right = {gold} if isinstance(gold, int) else set(gold)
    instance = Instance(
        doc["id"],
        doc["query"],
        tuple(
            Reference(c, CORRECT if i in right else ())
            for i, c in enumerate(doc["choices"])
        ),
        extra={
            "doc": without(doc, "query", "id"),
            "response": without(said, "input", "text", "logprobs"),
        },
    )
    replies = [
        Reply(
            Request(
                doc["id"],
                said["input"] + doc["choices"][i],
                Decoding(max_tokens=0),
                reference_index=i,
                score_start=len(said["input"]),
            ),
            Completion(logprob=logprob),
        )
        for i, logprob in enumerate(said["logprobs"])
    ]
    scores = [
        Score(doc["id"], k, v, origin="reported") for k, v in row["metric"].items()
    ]
    return Run(
        manifest(doc["task_name"], "demo-org/tiny-1b"), [instance], replies, scores, []
    )


def stored(archive: Archive, run: Run) -> None:
    """Write a run and read it back: every record as it was."""
    archive.write_run(*run)
    run_id = run.manifest.run_id
    assert archive.instances(run_id) == run.instances
    key = lambda r: (*r.request.key, r.completion_index)  # noqa: E731
    assert list(archive.replies(run_id)) == sorted(run.replies, key=key)
    by_key = lambda s: (s.metric, s.scorer)  # noqa: E731
    assert archive.scores(run_id) == sorted(run.scores, key=by_key)
    assert archive.stats(run_id) == sorted(run.stats, key=lambda s: s.metric)


def nothing_lost(source: list[Any], run: Run) -> None:
    missing = set(leaves(source)) - set(leaves(list(run)))
    assert not missing, sorted(map(str, missing))[:5]


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[Archive]:
    """An archive that must be whole at the end of the test."""
    archive = Archive(tmp_path / "runs")
    yield archive
    assert archive.check() == []


@pytest.mark.parametrize("pick", [0, -1])
def test_helm_rows_come_back_unchanged(
    archive: Archive, shared: Path, pick: int
) -> None:
    runs = shared / "samples/helm/benchmark_output/runs/sample"
    folders = sorted(f.parent for f in runs.glob("*/scenario_state.json"))
    assert len(folders) == 11
    for folder in folders:
        source, run = helm_run(folder, pick)
        stored(archive, run)
        nothing_lost(source, run)


def test_lm_eval_rows_come_back_unchanged(archive: Archive, shared: Path) -> None:
    files = sorted((shared / "samples/lm_eval").glob("run*/*/samples_*.jsonl"))
    assert len(files) > 15
    for file in files:
        row = json.loads(file.read_text().splitlines()[0])
        run = lm_eval_run(row)
        stored(archive, run)
        nothing_lost(
            [without(row, "filtered_resps"), _plain(row["filtered_resps"])], run
        )


def test_helmet_rows_come_back_unchanged(archive: Archive, shared: Path) -> None:
    files = [
        f
        for f in sorted((shared / "samples/helmet").glob("*_42.json"))
        if "data" in json.loads(f.read_text())
    ]
    assert len(files) > 10
    for file in files:
        source, run = helmet_run(json.loads(file.read_text()), 0)
        stored(archive, run)
        nothing_lost(source, run)


def test_inspect_samples_come_back_unchanged(archive: Archive, shared: Path) -> None:
    folder = shared / "samples/inspect"
    rows = json.loads(next(folder.glob("*.json")).read_text())["samples"]
    assert {r["epoch"] for r in rows} == {1, 2}
    assert any("NaN" in set(leaves(r["scores"])) for r in rows)
    for row in rows:
        run = inspect_run(row)
        stored(archive, run)
        nothing_lost([row], run)


def test_inspect_logs_with_hostile_text_errors_and_logprobs(
    archive: Archive, shared: Path
) -> None:
    seen_logprobs = seen_errors = 0
    for log in sorted((shared / "samples/inspect").glob("*.eval")):
        names = [n for n in zipfile.ZipFile(log).namelist() if n.startswith("samples/")]
        for name in names[:10]:
            row = zstd_member(log, name)
            run = inspect_run(row)
            stored(archive, run)
            nothing_lost([row], run)
            seen_logprobs += run.replies[0].completion.tokens is not None
            seen_errors += bool(run.replies[0].completion.error)
    assert seen_logprobs
    assert seen_errors


def test_every_eval_ever_rows_come_back_unchanged(
    archive: Archive, shared: Path
) -> None:
    files = sorted((shared / "samples/every_eval_ever").rglob("*_samples.jsonl"))
    assert len(files) > 5
    for file in files:
        row = json.loads(file.read_text().splitlines()[0])
        run = every_eval_ever_run(row)
        stored(archive, run)
        nothing_lost([row], run)


def test_lighteval_rows_come_back_unchanged(archive: Archive, shared: Path) -> None:
    file = next((shared / "samples/lighteval/details").rglob("*.parquet"))
    row = pq.ParquetFile(file).read().slice(0, 1).to_pylist()[0]
    run = lighteval_run(row)
    stored(archive, run)
    nothing_lost([row], run)


def test_published_aggregates_come_back_unchanged(
    archive: Archive, shared: Path
) -> None:
    for file in sorted((shared / "samples/pythia").rglob("*.json"))[:8]:
        whole = json.loads(file.read_text())
        results = [
            PublishedStat(
                task,
                file.stem,
                Stat(
                    name, value, stderr=values.get(f"{name}_stderr"), origin="reported"
                ),
                settings={
                    "config": whole["config"],
                    "version": whole["versions"].get(task),
                },
                source_file=file.name,
                source_sha256="0" * 64,
            )
            for task, values in whole["results"].items()
            for name, value in values.items()
            if not name.endswith("_stderr")
        ]
        archive.write_published("pythia", file.name, results)
        back = [p for p in archive.published("pythia") if p.source_file == file.name]
        key = lambda p: (p.scenario, p.stat.metric)  # noqa: E731
        assert back == sorted(results, key=key)
        assert set(leaves(whole)) <= set(leaves(results))
