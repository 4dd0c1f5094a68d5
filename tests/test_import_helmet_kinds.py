"""Results of HELMET of all kinds: skipped items, thoughts, no judge, scores alone, broken."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from helmsite.importers.helmet import names
from tests.importing import bring, mutants

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from helmsite.schema import Manifest, PublishedStat, Stat
    from tests.importing import Brought

FUZZ = settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
ARGS = {
    "model_name_or_path": "/home/somebody/models/Some-Model-7B",
    "use_vllm": True,
    "datasets": "kilt_nq",
    "test_files": "data/kilt/nq_k50_dep6.jsonl",
    "demo_files": "data/kilt/demos.jsonl",
    "output_dir": "/home/somebody/out",
    "max_test_samples": 3,
    "shots": 2,
    "input_max_length": 8192,
    "do_sample": False,
    "generation_max_length": 20,
    "temperature": 0.0,
    "top_p": 1.0,
    "use_chat_template": False,
    "seed": 42,
    "thinking": False,
}
STEM = "{}_v1_{}_in8192_size3_shots2_sampFalsemax20min0t0.0p1.0_chatFalse_42"


def stem(dataset: str = "kilt_nq", test: str = "nq_k50_dep6") -> str:
    return STEM.format(dataset, test)


def item(name: str, right: bool = True, **more: Any) -> dict[str, Any]:
    """An item: what the data says, then what the model does."""
    own: dict[str, Any] = {k: more.pop(k) for k in ("depth", "ctxs") if k in more}
    return {
        **({"id": name} if name else {}),
        "question": f"{name}?",
        "answer": ["yes", "Yes"],
        **own,
        "output": "Answer: yes" if right else "Answer: no",
        "input_len": 100,
        "output_len": 2,
        "input_text": "The beginning <skip> the end",
        "parsed_output": "yes" if right else "no",
        "substring_exact_match": right,
        **more,
    }


def whole(items: Sequence[dict[str, Any]], **args: Any) -> dict[str, Any]:
    """A result as HELMET writes it."""
    metrics: dict[str, list[Any]] = {
        k: [each[k] for each in items]
        for k in ("substring_exact_match", "input_len", "output_len")
    }
    return {
        "args": {**ARGS, **args},
        "data": list(items),
        "metrics": metrics,
        "averaged_metrics": {
            k: sum(v) / len(v) * (1 if "_len" in k else 100) for k, v in metrics.items()
        },
        "throughput": 1.5,
        "memory_usage": 1000,
    }


def imported(folder: Path, files: dict[str, Any]) -> Brought:
    """Import files of these names, all in one folder."""
    folder.mkdir(exist_ok=True)
    for name, value in files.items():
        raw = value if isinstance(value, bytes) else json.dumps(value).encode()
        (folder / name).write_bytes(raw)
    return bring([folder], folder.parent / "runs")


def only(brought: Brought) -> Manifest:
    assert brought.report.notes.problems == []
    (manifest,) = brought.runs
    assert brought.archive.check() == []
    return manifest


def stats(brought: Brought) -> dict[str, Stat]:
    found = brought.archive.stats(only(brought).run_id)
    return {s.metric: s for s in found if s.trial == -1 and not s.sub_split}


def cells(brought: Brought) -> dict[tuple[str, str], PublishedStat]:
    return {
        (row.scenario, row.stat.metric): row
        for batch in brought.archive.batches()
        for row in brought.archive.published(batch.suite, batch.batch)
    }


def test_items_that_helmet_skipped_are_failures(tmp_path: Path) -> None:
    """Two questions at three depths; of one two depths are gone."""
    rows = [item("a", depth=d) for d in (0.0, 0.5, 1.0)] + [item("b", depth=0.5)]
    brought = imported(tmp_path / "x", {f"{stem()}.json": whole(rows)})
    manifest = only(brought)
    assert manifest.counts.asked == 6
    assert manifest.counts.failed == 2
    assert manifest.status == "partial"
    assert "2 items are not in HELMET's result" in manifest.warnings[0]
    scores = brought.archive.scores(manifest.run_id)
    assert {s.instance_id: s.value if not s.missing else s.missing for s in scores} == {
        **{f"a depth={d}": 1.0 for d in ("0.0", "0.5", "1.0")},
        "b": 1.0,
        "b depth=0.0": "failed",
        "b depth=1.0": "failed",
    }
    stat = stats(brought)["substring_exact_match"]
    assert (stat.value, stat.n_scored, stat.n_asked) == (1.0, 4, 6)
    failed = [r for r in brought.archive.replies(manifest.run_id) if r.completion.error]
    assert {r.completion.error for r in failed} == {
        "HELMET left this item out: the model gave no answer."
    }


def test_an_item_without_output_failed(tmp_path: Path) -> None:
    rows = [item("a"), item("b") | {"output": None, "substring_exact_match": None}]
    value = whole([rows[0], rows[0]])
    value["data"] = rows
    value["metrics"]["substring_exact_match"] = [True, None]
    brought = imported(tmp_path / "x", {f"{stem()}.json": value})
    assert only(brought).counts.failed == 1
    stat = stats(brought)["substring_exact_match"]
    assert (stat.value, stat.n_scored, stat.n_asked) == (1.0, 1, 2)


def test_fewer_items_than_asked_for_are_told_of(tmp_path: Path) -> None:
    brought = imported(tmp_path / "x", {f"{stem()}.json": whole([item("a")])})
    assert "1 of at most 3 items are there" in only(brought).warnings[0]


def test_items_without_ids_keep_their_names_when_others_are_skipped(
    tmp_path: Path,
) -> None:
    rows = [item("") | {"question": f"{n}?"} for n in range(3)]
    ids = []
    for n, some in enumerate([rows, rows[1:]]):
        (tmp_path / str(n)).mkdir()
        brought = imported(tmp_path / str(n) / "x", {f"{stem()}.json": whole(some)})
        found = brought.archive.instances(only(brought).run_id)
        ids.append([i.instance_id for i in found])
    assert ids[0][1:] == ids[1]
    assert len(set(ids[0])) == 3


def test_thoughts_lengths_and_how_it_was_run(tmp_path: Path) -> None:
    """With thinking both lengths in the arguments are 32,768 tokens longer."""
    row = item("a", thoughts="<think>Hm.</think>", system_fingerprint="fp")
    value = whole([row], thinking=True, input_max_length=8192 + 32768)
    brought = imported(tmp_path / "Some-Model-7B", {f"{stem()}.json": value})
    manifest = only(brought)
    (reply,) = brought.archive.replies(manifest.run_id)
    assert reply.completion.reasoning == "<think>Hm.</think>"
    assert reply.completion.extra["system_fingerprint"] == "fp"
    assert manifest.spec.scenario == "kilt_nq:length=8192,shots=2"
    assert manifest.spec.model.name == "Some-Model-7B"
    assert manifest.spec.model.client == "vllm"
    assert manifest.spec.model.settings["thinking"] is True
    assert manifest.card.num_parameters == 7_000_000_000
    assert manifest.spec.data.source == "nq_k50_dep6.jsonl"
    assert "somebody" not in json.dumps(stats(brought)["throughput"].details)


def test_without_a_file_name_of_helmet_the_arguments_tell(tmp_path: Path) -> None:
    value = whole([item("a")], thinking=True, input_max_length=8192 + 32768)
    brought = imported(tmp_path / "x", {"renamed.json": value})
    assert only(brought).spec.scenario == "kilt_nq:length=8192,shots=2"


def test_documents_of_many_tokens_are_cut_and_told_of(tmp_path: Path) -> None:
    long = [{"title": "t", "text": "x" * 60_000}] * 2
    rows = [item("a", ctxs=long), item("b", ctxs=[{"text": "short"}])]
    brought = imported(tmp_path / "x", {f"{stem()}.json": whole(rows)})
    first, second = brought.archive.instances(only(brought).run_id)
    cut = {"begins": "x" * 200, "characters": 60_000}
    assert first.extra["ctxs"] == [{"title": "t", "text": cut}] * 2
    assert second.extra["ctxs"] == [{"text": "short"}]
    assert "Documents of 1 items" in only(brought).warnings[-1]


def test_the_three_files_of_a_result_are_one_run(tmp_path: Path) -> None:
    name = stem("narrativeqa_7892", "")
    rows = [item("a"), item("b", right=False), item("c")]
    value = whole(rows, datasets="narrativeqa_7892")
    judged = json.loads(json.dumps(value))
    verdicts = [
        {"fluency": 1, "correctness": 3},
        {"fluency": 0, "correctness": 2},
        None,
    ]
    for row, verdict in zip(judged["data"], verdicts, strict=True):
        row["gpt-4-scores"] = verdict
    judged["averaged_metrics"]["gpt-4-score"] = 1.5
    brought = imported(
        tmp_path / "x",
        {
            f"{name}.json": value,
            f"{name}.json.score": value["averaged_metrics"],
            f"{name}-gpt4eval_o.json": judged,
        },
    )
    manifest = only(brought)
    assert len(manifest.provenance.source_files) == 3
    assert manifest.spec.scenario == "narrativeqa:length=8192,shots=2"
    stat = stats(brought)["gpt-4-score"]
    assert (stat.value, stat.scorer, stat.n_scored, stat.n_asked) == (
        1.5,
        "gpt-4o",
        2,
        3,
    )
    scores = brought.archive.scores(manifest.run_id)
    assert [s.missing for s in scores if s.metric == "gpt-4-score"] == [
        "",
        "",
        "unparsed",
    ]
    assert brought.report.made[0].different == ()
    average = cells(brought)["helmet_longqa:length=8192", "helmet_score"].stat
    assert average.details["parts"] == {"narrativeqa gpt-4-score": 50.0}


def test_files_of_batches_are_left_out(tmp_path: Path) -> None:
    name = f"{stem()}.json"
    files = {name: whole([item("a")]), f"{name}.batch": b'{"custom_id": "0"}\n'}
    brought = imported(tmp_path / "x", files)
    only(brought)
    assert brought.report.notes.skipped[f"{name}.batch"].startswith(
        "requests or replies"
    )


def test_scores_that_differ_from_their_result_are_told_of(tmp_path: Path) -> None:
    value = whole([item("a"), item("b"), item("c")])
    score = {**value["averaged_metrics"], "substring_exact_match": 50.0}
    files = {f"{stem()}.json": value, f"{stem()}.json.score": score}
    brought = imported(tmp_path / "x", files)
    assert only(brought).warnings == (
        f"{stem()}.json.score gives another substring_exact_match than the result itself.",
    )
    assert stats(brought)["substring_exact_match"].value == 1.0


def test_averages_that_items_do_not_give_are_told_of(tmp_path: Path) -> None:
    value = whole([item("a"), item("b"), item("c")])
    value["averaged_metrics"]["substring_exact_match"] = 50.0
    brought = imported(tmp_path / "x", {f"{stem()}.json": value})
    assert brought.report.made[0].different == ("substring_exact_match (test)",)
    assert "1 of the source's aggregates" in only(brought).warnings[0]


def test_a_broken_result_with_a_judged_copy_is_read_from_that(tmp_path: Path) -> None:
    name = stem("narrativeqa_7892", "")
    value = whole([item("a")])
    value["data"][0]["gpt-4-scores"] = {"fluency": 1, "correctness": 2}
    files = {f"{name}.json": b'{"args": {', f"{name}-gpt4eval_o.json": value}
    brought = imported(tmp_path / "x", files)
    (problem,) = brought.report.notes.problems
    assert problem.file.endswith(f"{name}.json")
    (manifest,) = brought.runs
    assert manifest.counts.asked == 1


def test_scores_alone_are_cells(tmp_path: Path) -> None:
    name = stem("alce_asqa_30", "asqa_eval_gtr_top2000")
    score = {
        "length": 40.5,
        "str_em": 25.0,
        "citation_rec": 50.0,
        "citation_prec": 10.0,
    }
    more = {"citation_positions": {"0": 3}}
    brought = imported(tmp_path / "My-Model-1B", {f"{name}.json.score": score | more})
    assert brought.runs == ()
    assert brought.report.notes.problems == []
    found = cells(brought)
    cell = found["alce_asqa:length=8192,shots=2", "str_em"]
    assert (cell.model, cell.stat.value) == ("My-Model-1B", 0.25)
    assert cell.stat.details == {"reported": 25.0, "scale": 100.0}
    assert found["alce_asqa:length=8192,shots=2", "length"].stat.value == 40.5
    cite = found["helmet_cite:length=8192", "helmet_score"].stat
    assert cite.value is None
    assert len(cite.details["missing_parts"]) == 3


def test_two_results_of_one_part_are_not_averaged(tmp_path: Path) -> None:
    name = stem("msmarco_rerank_psg", "k50_dep3")
    files = {f"{name}.json.score": {"NDCG@10": 50.0}}
    other = name.replace("size3", "size9")
    found = cells(
        imported(tmp_path / "x", {**files, f"{other}.json.score": {"NDCG@10": 60.0}})
    )
    stat = found["helmet_rerank:length=8192", "helmet_score"].stat
    assert stat.value is None
    assert list(stat.details["missing_parts"].values()) == [
        "there are two results of it"
    ]


def test_models_lengths_and_tags_are_averaged_apart(tmp_path: Path) -> None:
    name = stem("msmarco_rerank_psg", "k50_dep3")
    longer = name.replace("in8192", "in131072")
    tagged = name.replace("_v1_", "_v2_")
    scores = {name: 50.0, longer: 40.0, tagged: 70.0}
    files = {f"{k}.json.score": {"NDCG@10": v} for k, v in scores.items()}
    brought = imported(tmp_path / "x", files)
    (batch,) = brought.archive.batches()
    averages = [
        (row.settings["tag"], row.stat.value)
        for row in brought.archive.published(batch.suite, batch.batch)
        if row.stat.metric == "helmet_score"
    ]
    assert sorted(averages) == [("v1", 40.0), ("v1", 50.0), ("v2", 70.0)]
    keys = {f.key for f in brought.survey.found if "averages" in f.key}
    assert keys == {
        *("x/averages at 8192 of v1", "x/averages at 131072 of v1"),
        "x/averages at 8192 of v2",
    }


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("meta-llama/Llama-3.1-8B", "meta-llama/Llama-3.1-8B"),
        ("/data/models/Llama-3.1-8B/", "Llama-3.1-8B"),
        ("C:\\models\\Llama", "Llama"),
        ("./Llama", "Llama"),
        ("gpt-4o-2024-05-13", "gpt-4o-2024-05-13"),
    ],
)
def test_models_are_named_without_their_folders(path: str, name: str) -> None:
    assert names.model(path) == name


@pytest.mark.parametrize(
    ("dataset", "scenario", "category"),
    [
        ("json_kv", "json_kv:length=8192,shots=2", "Recall"),
        ("ruler_niah_mk_2", "ruler_niah_mk_2:length=8192,shots=2", "Recall"),
        ("ruler_niah_s_1", "ruler_niah_s_1:length=8192,shots=2", ""),
        ("kilt_popqa_3", "kilt_popqa_3:length=8192,shots=2", "RAG"),
        (
            "icl_trec_coarse_400shot_balance",
            "icl_trec_coarse:length=8192,shots=400",
            "ICL",
        ),
        (
            "icl_nlu_510shot_natural_label",
            "icl_nlu:length=8192,shots=510,variant=natural_label",
            "ICL",
        ),
        ("alce_asqa_30", "alce_asqa:length=8192,shots=2", "Cite"),
        ("msmarco_rerank_psg", "msmarco_rerank_psg:length=8192,shots=2", "Re-rank"),
        (
            "infbench_choice_eng_7982",
            "infbench_choice_eng:length=8192,shots=2",
            "LongQA",
        ),
        ("multi_lexsum_7492", "multi_lexsum:length=8192,shots=2", "Summ"),
        ("something_new", "something_new:length=8192,shots=2", ""),
    ],
)
def test_data_sets_tell_their_scenario_and_category(
    dataset: str, scenario: str, category: str
) -> None:
    assert names.scenario(dataset, 8192, 2) == scenario
    assert names.category(dataset) == category


def test_columns_of_another_length_than_the_items_are_a_problem(tmp_path: Path) -> None:
    value = whole([item("a"), item("b")])
    value["metrics"]["substring_exact_match"] = [1.0]
    brought = imported(tmp_path / "x", {f"{stem()}.json": value})
    (problem,) = brought.report.notes.problems
    assert problem.field == "metrics.substring_exact_match"
    assert problem.why == "expected 2 values, one an item, got 1"
    assert brought.runs == ()


@pytest.mark.parametrize(
    ("data", "why"), [([], "it holds no items"), (None, "missing")]
)
def test_a_result_without_items_is_a_problem(
    tmp_path: Path, data: list[Any] | None, why: str
) -> None:
    value = {k: v for k, v in whole([item("a")]).items() if k != "data"}
    value |= {} if data is None else {"data": data}
    brought = imported(tmp_path / "x", {f"{stem()}.json": value})
    (problem,) = brought.report.notes.problems
    assert (problem.field, problem.why) == ("data", why)
    assert brought.runs == ()


RICH = whole(
    [
        item("a", depth=0.5, ctxs=[{"text": "t"}], thoughts="t"),
        item("a", right=False, depth=1.0),
        item("b", depth=1.0) | {"gpt-4-scores": {"fluency": 1, "f1": 0.5, "recall": 1}},
    ]
)


@FUZZ
@given(raw=mutants(json.dumps(RICH).encode()), score=mutants(b'{"str_em": 25.0}'))
def test_a_result_gone_wrong_is_read_or_told_of(
    raw: bytes, score: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    names = (f"{stem()}.json", f"{stem('alce_asqa_30')}.json.score")
    folder = tmp_path_factory.mktemp("f") / "x"
    files = {n: r for n, r in zip(names, (raw, score), strict=True) if r}
    brought = imported(folder, files)
    assert brought.archive.check() == []
    told = {n for found in brought.survey.found for n in found.names}
    assert set(files) <= told | set(brought.report.notes.skipped)


@FUZZ
@given(data=st.data())
def test_a_result_of_the_samples_gone_wrong_is_read_or_told_of(
    data: st.DataObject, shared: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    files = sorted((shared / "samples/helmet").glob("*_42*"))
    file = data.draw(st.sampled_from([f for f in files if f.stat().st_size < 12_000]))
    raw = data.draw(mutants(file.read_bytes()))
    folder = tmp_path_factory.mktemp("f") / "x"
    brought = imported(folder, {file.name: raw} if raw else {})
    assert brought.archive.check() == []
    told = {n for found in brought.survey.found for n in found.names}
    assert not raw or file.name in told | set(brought.report.notes.skipped)
