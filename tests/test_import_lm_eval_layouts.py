"""Layouts of lm-evaluation-harness that the samples lack, and files that went wrong."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.importing import ODD, accounted, bring, mutants
from tests.lm_eval_files import (
    CHOICES,
    STAMP,
    lines,
    old,
    question,
    questions,
    results,
    sha256,
    write,
)

if TYPE_CHECKING:
    from helmsite.schema import Manifest, Score
    from tests.importing import Brought


def one(brought: Brought) -> Manifest:
    (found,) = brought.runs
    return found


def scores_of(brought: Brought) -> list[Score]:
    return list(brought.archive.scores(one(brought).run_id))


def problems(brought: Brought) -> list[str]:
    return [str(problem) for problem in brought.report.notes.problems]


# ---- Where files lie


def test_a_run_of_today(tmp_path: Path) -> None:
    brought = bring([write(tmp_path / "out" / "org__thing-7b")], tmp_path / "runs")
    run = one(brought)
    assert run.spec.model.name == "org/thing-7b"
    assert run.spec.model.revision == "step1000"
    assert run.card.num_parameters == 7_000_000_000
    assert run.origin == f"lm_eval:org/thing-7b/{STAMP}/is_it"
    assert run.spec.adapter.method == "multiple_choice_separate_original"
    assert run.spec.adapter.max_eval_instances == 3
    assert run.spec.data.source == "org/is-it"
    assert run.scenario.url == "https://huggingface.co/datasets/org/is-it"
    assert (run.scenario.main_metric, run.scenario.main_split) == ("acc", "test")
    assert run.provenance.source_version == "0.4.9"
    assert (run.provenance.started_at, run.provenance.finished_at) == (
        1735786000.5,
        1735786013.0,
    )
    assert run.warnings == ()
    assert run.provenance.verified[:2] == (
        "Hashes that hold, computed anew: doc_hash, prompt_hash, target_hash, "
        "task_hashes.",
        "Values that the log-likelihoods give again: acc.",
    )
    told = json.dumps(run.spec.settings)
    assert "<function process_docs>" in told
    assert "somebody" not in told
    assert run.spec.settings["fewshot_seed"] == 1234
    (made,) = brought.report.made
    assert (made.equal, made.different) == (1, ())


@pytest.mark.parametrize("folder", [".__thing", "a__b", "out.json", "with space"])
def test_folders_may_have_any_name(tmp_path: Path, folder: str) -> None:
    brought = bring([write(tmp_path / "out" / folder).parent], tmp_path / "runs")
    assert one(brought).spec.model.name == "org/thing-7b"
    assert accounted(brought, [tmp_path / "out"]) == set()


def test_results_may_have_the_name_that_output_path_gave(tmp_path: Path) -> None:
    brought = bring([write(tmp_path / "out", name="my_eval")], tmp_path / "runs")
    assert len(brought.runs) == 1
    assert brought.report.cells == {}


def test_runs_in_one_folder_are_told_apart_by_their_stamp(tmp_path: Path) -> None:
    folder = write(tmp_path / "out")
    later = "2025-01-02T04-00-00"
    rows = [question(0, [-1.0, -2.0, -3.0]), question(1, [-1.0, -0.5, -3.0])]
    (folder / f"results_{later}.json").write_text(json.dumps(results(rows)))
    (folder / f"samples_is_it_{later}.jsonl").write_text(lines(rows))
    brought = bring([folder], tmp_path / "runs")
    values = {
        r.origin: s.value
        for r in brought.runs
        for s in brought.archive.stats(r.run_id)
        if s.trial == -1
    }
    assert values == {
        f"lm_eval:org/thing-7b/{STAMP}/is_it": 2 / 3,
        f"lm_eval:org/thing-7b/{later}/is_it": 0.5,
    }


def test_samples_that_were_moved_are_found_by_their_stamp(tmp_path: Path) -> None:
    folder = write(tmp_path / "out")
    name = f"samples_is_it_{STAMP}.jsonl"
    (tmp_path / "out" / "details").mkdir()
    (folder / name).rename(folder / "details" / name)
    brought = bring([folder], tmp_path / "runs")
    assert one(brought).spec.model.name == "org/thing-7b"
    assert brought.report.made[0].equal == 1


def test_calls_without_a_stamp_are_told_apart_by_their_time(tmp_path: Path) -> None:
    for place, when in (("a", 1700000000.25), ("b", 1700000100.5)):
        rows = old(questions())
        folder = tmp_path / "out" / place
        folder.mkdir(parents=True)
        said = results(rows, date=when)
        (folder / "results.json").write_text(json.dumps(said))
        (folder / "pretrained__x_is_it.jsonl").write_text(json.dumps(rows))
    brought = bring([tmp_path / "out"], tmp_path / "runs")
    assert {r.origin for r in brought.runs} == {
        "lm_eval:org/thing-7b/1700000000.25/is_it",
        "lm_eval:org/thing-7b/1700000100.50/is_it",
    }


def test_results_without_samples_are_aggregates(tmp_path: Path) -> None:
    folder = write(tmp_path / "out")
    (folder / f"samples_is_it_{STAMP}.jsonl").unlink()
    brought = bring([folder], tmp_path / "runs")
    assert brought.runs == ()
    (row,) = brought.archive.published("imported", "lm_eval")
    assert (row.scenario, row.model) == ("is_it", "org/thing-7b")
    assert row.settings == {"revision": "step1000", "num_fewshot": 0, "limit": 3.0}
    assert row.stat.value == pytest.approx(2 / 3)
    assert row.stat.stderr == pytest.approx(1 / 3)
    assert (row.stat.n_scored, row.stat.split) == (3, "test")
    assert accounted(brought, [folder]) == set()


def test_samples_without_results_are_runs(tmp_path: Path) -> None:
    folder = write(tmp_path / "out" / "org__thing-7b")
    (folder / f"results_{STAMP}.json").unlink()
    brought = bring([folder], tmp_path / "runs")
    run = one(brought)
    assert (run.spec.scenario, run.spec.model.name) == ("is_it", "org/thing-7b")
    instances = brought.archive.instances(run.run_id)
    assert [r.text for r in instances[0].references] == CHOICES
    assert instances[0].gold == ("yes, sure",)
    assert [s.value for s in scores_of(brought)] == [1.0, 0.0, 1.0]
    (total,) = [s for s in brought.archive.stats(run.run_id) if s.trial == -1]
    assert total.value == pytest.approx(2 / 3)
    assert any("no results file" in w for w in run.warnings)


def test_json_arrays_of_before_0_4_3(tmp_path: Path) -> None:
    folder, rows = tmp_path / "out", questions()
    folder.mkdir()
    said = results(old(rows))
    said["config"]["model_args"] = "pretrained=org/thing-7b,revision=step1000"
    (folder / "results.json").write_text(json.dumps(said, indent=2))
    name = "pretrained__org__thing-7b,revision__step1000_is_it.jsonl"
    (folder / name).write_text(json.dumps(old(rows), indent=2))
    brought = bring([folder], tmp_path / "runs")
    run = one(brought)
    assert (run.spec.scenario, run.spec.model.name) == ("is_it", "org/thing-7b")
    assert run.spec.model.revision == "step1000"
    instances = brought.archive.instances(run.run_id)
    assert [i.gold for i in instances] == [("yes, sure",)] * 3
    replies = list(brought.archive.replies(run.run_id))
    assert [r.completion.logprob for r in replies[:3]] == [-3.5, -1.25, -2.0]
    given = "Values that the log-likelihoods give again: acc."
    assert (run.warnings, run.provenance.verified[0]) == ((), given)
    assert brought.report.made[0].equal == 1
    (folder / "results.json").unlink()
    alone = bring([folder], tmp_path / "other")
    assert one(alone).spec.model.name == "org/thing-7b"
    assert one(alone).spec.scenario == "is_it"


def test_filters_that_rows_do_not_name_come_in_order(tmp_path: Path) -> None:
    """Before 0.4.7 a task with two filters has each document twice."""
    rows = [
        {**row, "filtered_resps": [kept], "exact_match": value}
        for kept, value in (("6", 1.0), ("[invalid]", 0.0))
        for row in _generated(2)
    ]
    for row in rows:
        del row["filter"], row["metrics"], row["acc"]
    said = results([{**row, "acc": 1.0} for row in rows])
    said["results"]["is_it"] = {
        "exact_match,strict": 1.0,
        "exact_match,flexible": 0.0,
    }
    said["configs"]["is_it"] |= {
        "output_type": "generate_until",
        "filter_list": [{"name": "strict"}, {"name": "flexible"}],
    }
    brought = bring([write(tmp_path / "out", rows, said)], tmp_path / "runs")
    assert len(brought.archive.instances(one(brought).run_id)) == 2
    assert {(s.scorer, s.value, s.text) for s in scores_of(brought)} == {
        ("strict", 1.0, "6"),
        ("flexible", 0.0, "[invalid]"),
    }
    assert brought.report.made[0].different == ()


def test_filters_may_have_commas_in_their_names(tmp_path: Path) -> None:
    """The harness itself ends a metric's name at the first comma."""
    rows = [{**row, "filter": "strict, all"} for row in questions()]
    said = results(rows)
    said["results"]["is_it"] = {
        "acc,strict, all": 2 / 3,
        "acc_stderr,strict, all": 1 / 3,
    }
    brought = bring([write(tmp_path / "out", rows, said)], tmp_path / "runs")
    found = [s for s in brought.archive.stats(one(brought).run_id) if s.trial == -1]
    assert {s.metric for s in found} == {"acc"}
    assert one(brought).warnings == ()
    (made,) = brought.report.made
    assert (made.equal, made.different) == (1, ())


def _generated(count: int, **more: Any) -> list[dict[str, Any]]:
    given = {"until": ["\n"], "do_sample": False, "max_gen_toks": 32}
    return [
        {
            "doc_id": n,
            "doc": {"question": f"{n}?", "golds": ["6", "six"]},
            "target": "['6', 'six']",
            "arguments": {"gen_args_0": {"arg_0": f"Q: {n}?", "arg_1": given}},
            "resps": [["is 6"]],
            "filtered_resps": ["6"],
            "filter": "none",
            "metrics": ["exact_match"],
            "doc_hash": "wrong",
            "prompt_hash": sha256(f"Q: {n}?"),
            "target_hash": sha256("['6', 'six']"),
            "acc": 1.0,
            "exact_match": 1.0,
            **more,
        }
        for n in range(count)
    ]


# ---- What rows say


def test_targets_and_generation(tmp_path: Path) -> None:
    rows = _generated(2)
    for row in rows:
        del row["acc"]
    said = results([{**row, "acc": 1.0} for row in rows])
    said["results"]["is_it"] = {"exact_match,none": 1.0, "exact_match_stderr,none": 0.0}
    said["configs"]["is_it"] |= {
        "output_type": "generate_until",
        "doc_to_text": "Q: {{question}}",
    }
    brought = bring([write(tmp_path / "out", rows, said)], tmp_path / "runs")
    run = one(brought)
    first = brought.archive.instances(run.run_id)[0]
    assert (first.input, first.gold) == ("Q: 0?", ("6", "six"))
    adapter = run.spec.adapter
    assert (adapter.method, adapter.max_tokens) == ("generation", 32)
    assert adapter.stop_sequences == ("\n",)
    (reply, _) = brought.archive.replies(run.run_id)
    assert reply.completion.text == "is 6"
    assert reply.request.decoding == adapter.decoding
    assert any(
        w.startswith("doc_hash does not hold for rows 1, 2") for w in run.warnings
    )
    assert first.extra["doc_hash"] == "wrong"


def test_what_cannot_be_averaged_stays_as_reported(tmp_path: Path) -> None:
    rows = [
        {**row, "metrics": ["acc", "mcc", "own"], "mcc": [1, 0], "own": 0.5}
        for row in questions()
    ]
    said = results(rows)
    said["results"]["is_it"] |= {
        "mcc,none": 0.25,
        "mcc_stderr,none": 0.125,
        "own,none": 7.5,
        "own_stderr,none": "N/A",
    }
    said["configs"]["is_it"]["metric_list"] += [
        {"metric": "own", "aggregation": "def agg(items):\n    return 7.5\n"}
    ]
    brought = bring([write(tmp_path / "out", rows, said)], tmp_path / "runs")
    run = one(brought)
    stats = {s.metric: s for s in brought.archive.stats(run.run_id) if s.trial == -1}
    assert (stats["mcc"].value, stats["mcc"].stderr) == (0.25, 0.125)
    assert stats["mcc"].n_scored == 3
    assert (stats["own"].value, stats["own"].stderr) == (7.5, None)
    assert brought.report.made[0].different == ()
    own = [s for s in scores_of(brought) if s.metric == "mcc"]
    assert {s.missing for s in own} == {"not measurable"}
    assert own[0].details == {"value": [1, 0]}


def test_words_for_numbers(tmp_path: Path) -> None:
    rows = questions()
    rows[0]["acc"], rows[1]["acc"] = "True", "0.0"
    rows[2]["acc"] = float("nan")
    said = results(questions())
    said["results"]["is_it"]["acc,none"] = float("nan")
    brought = bring([write(tmp_path / "out", rows, said)], tmp_path / "runs")
    assert [(s.value, s.missing) for s in scores_of(brought)] == [
        (1.0, ""),
        (0.0, ""),
        (None, "nan"),
    ]


def test_log_likelihoods_that_are_no_numbers(tmp_path: Path) -> None:
    rows = questions()
    rows[0]["resps"][2] = [["-inf", "False"]]
    rows[1]["resps"][0] = []
    brought = bring([write(tmp_path / "out", rows)], tmp_path / "runs")
    assert len(brought.runs) == 1
    replies = list(brought.archive.replies(one(brought).run_id))
    assert replies[2].completion.extra["response"] == ["-inf", "False"]
    assert replies[2].completion.logprob is None
    assert replies[3].completion.error == "no response was recorded"


@pytest.mark.parametrize(
    ("shown", "missing"),
    [
        ("[nan nan nan]", "nan"),
        ("[1e+300 0. 0.]", "not measurable"),
        ([0.5, "inf"], "nan"),
    ],
)
def test_probabilities_that_are_no_numbers(
    tmp_path: Path, shown: Any, missing: str
) -> None:
    """The harness prints `nan` where a log-likelihood was none; the run is kept."""
    rows = questions()
    rows[0]["resps"][2] = [["nan", "False"]]
    for row in rows:
        row |= {"metrics": ["acc", "brier_score"], "brier_score": [1, "[0. 1. 0.]"]}
    rows[0]["brier_score"] = [1, shown]
    brought = bring([write(tmp_path / "out", rows)], tmp_path / "runs")
    assert problems(brought) == []
    found = [s for s in scores_of(brought) if s.metric == "brier_score"]
    assert [(s.value, s.missing) for s in found] == [(None, missing), (0, ""), (0, "")]
    assert found[0].details["value"] == [1, shown]


def test_an_impossible_choice_is_no_wrong_brier_score(tmp_path: Path) -> None:
    """A log-likelihood of minus infinity is not archived, so nothing can be computed."""
    rows = questions()
    rows[0]["resps"][2] = [["-inf", "False"]]
    for row in rows:
        row |= {"metrics": ["acc", "brier_score"]}
    rows[0]["brier_score"] = [1, "[0.25 0.75 0.  ]"]
    rows[1]["brier_score"] = [1, "[0.71526828 0.02159923 0.26313249]"]
    rows[2]["brier_score"] = [1, "[1.14372052e-04 5.62112204e-01 4.37773424e-01]"]
    brought = bring([write(tmp_path / "out", rows)], tmp_path / "runs")
    first = next(s for s in scores_of(brought) if s.metric == "brier_score")
    assert first.value == 0.25**2 * 2
    assert one(brought).warnings == ()


def test_perplexity_of_long_texts_stays_as_reported(tmp_path: Path) -> None:
    """e to the 900 is no number; the harness has the mean of all before it takes the power."""
    rows = [
        {
            **_generated(1)[0],
            "doc_id": n,
            "doc": {"page": "a b"},
            "target": "a b",
            "arguments": {"gen_args_0": {"arg_0": "a b"}},
            "resps": [[f"{logprob}"]],
            "filtered_resps": [f"{logprob}"],
            "metrics": ["word_perplexity", "bits_per_byte"],
            "word_perplexity": [logprob, 2],
            "bits_per_byte": [logprob, 3],
        }
        for n, logprob in enumerate((-1800.0, -6.0))
    ]
    said = results(rows)
    said["results"]["is_it"] = {
        "word_perplexity,none": 1.5e196,
        "bits_per_byte,none": 1806 / 6 / 0.6931471805599453,
    }
    said["configs"]["is_it"] |= {"output_type": "loglikelihood_rolling"}
    del said["configs"]["is_it"]["metric_list"]
    brought = bring([write(tmp_path / "out", rows, said)], tmp_path / "runs")
    run = one(brought)
    assert run.spec.adapter.method == "language_modeling"
    values = {(s.metric, s.value) for s in scores_of(brought)}
    assert ("word_perplexity", None) in values
    assert brought.report.made[0].equal == 1
    instances = brought.archive.instances(run.run_id)
    assert [i.input for i in instances] == ["a b", "a b"]


def test_the_fault_of_before_0_4_9_is_named(tmp_path: Path) -> None:
    """With acc_mutual_info it took every second log-likelihood of both kinds."""
    rows = []
    for n, logprobs in enumerate(([-3.0, -1.0, -2.0], [-2.0, -1.0, -5.0])):
        row = question(n, logprobs)
        free = [-0.5, -4.0, -0.25]
        row["arguments"] |= {
            f"gen_args_{n + 3}": {"arg_0": "", "arg_1": f" {choice}"}
            for n, choice in enumerate(CHOICES)
        }
        row["resps"] += [[[str(each), "False"]] for each in free]
        mixed = [*logprobs, *free][::2]
        row["acc"] = float(mixed.index(max(mixed)) == 1)
        row["metrics"], row["acc_mutual_info"] = ["acc"], 0.0
        rows.append(row)
    brought = bring([write(tmp_path / "out", rows)], tmp_path / "runs")
    run = one(brought)
    assert run.spec.adapter.method == "multiple_choice_separate_calibrated"
    assert any(
        w.startswith("acc: the harness took every second log-likelihood")
        for w in run.warnings
    )


def test_wrong_values_are_named(tmp_path: Path) -> None:
    rows = questions()
    rows[1]["acc"] = 1.0
    rows[2]["target_hash"] = sha256("2")
    said = results(rows)
    said["results"]["is_it"] |= {"acc,none": 0.75, "acc_stderr,none": 0.5}
    brought = bring([write(tmp_path / "out", rows, said)], tmp_path / "runs")
    warnings = one(brought).warnings
    assert "acc is not what the log-likelihoods give for row 2." in warnings
    assert any(w.startswith("target_hash does not hold for row 3:") for w in warnings)
    assert any("The standard error of acc is not the one" in w for w in warnings)
    assert any("aggregates are not what its own" in w for w in warnings)
    assert brought.report.made[0].different == ("acc (test)",)


def test_choices_in_contexts(tmp_path: Path) -> None:
    """As in Winogrande: the row does not say which choice is right, but its accuracy does."""
    rows = questions()[:2]
    for row, right in zip(rows, (1.0, 0.0), strict=True):
        row["arguments"] = {
            f"gen_args_{n}": {"arg_0": f"It was {name}", "arg_1": " that fell."}
            for n, name in enumerate(("the cup", "the bag"))
        }
        row["resps"] = row["resps"][:2]
        row["target"], row["acc"] = "that fell.", right
        row["doc"] = {"sentence": "It was _ that fell."}
    said = results(rows)
    said["configs"]["is_it"] |= {
        "doc_to_text": "def doc_to_text(doc):\n    return 1\n",
        "doc_to_choice": "def doc_to_choice(doc):\n    return []\n",
    }
    brought = bring([write(tmp_path / "out", rows, said)], tmp_path / "runs")
    instances = brought.archive.instances(one(brought).run_id)
    assert [[r.text for r in i.references] for i in instances] == [["cup", "bag"]] * 2
    assert [i.gold for i in instances] == [("bag",), ("bag",)]
    assert instances[0].input == "It was _ that fell."


def test_messages_of_chat_endpoints(tmp_path: Path) -> None:
    rows = _generated(1)
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "0?"},
    ]
    rows[0]["arguments"]["gen_args_0"]["arg_0"] = json.dumps(messages)
    said = results(rows)
    said["results"]["is_it"] = {"exact_match,none": 1.0}
    said["configs"]["is_it"]["output_type"] = "generate_until"
    brought = bring([write(tmp_path / "out", rows, said)], tmp_path / "runs")
    (reply,) = brought.archive.replies(one(brought).run_id)
    assert [(m.role, m.content) for m in reply.request.messages] == [
        ("system", "Be brief."),
        ("user", "0?"),
    ]
    assert reply.request.prompt_kind == "absent"


def test_fields_that_group_documents_are_attributes(tmp_path: Path) -> None:
    rows = [question(n, [-3.0, -1.0 - n % 2 * 4, -2.0]) for n in range(6)]
    for n, row in enumerate(rows):
        row["doc"] |= {"subject": "ab"[n % 2], "level": n, "category": "same"}
    brought = bring([write(tmp_path / "out", rows)], tmp_path / "runs")
    run = one(brought)
    found = brought.archive.instances(run.run_id)
    assert [i.attributes for i in found[:2]] == [
        {"subject": ("a",)},
        {"subject": ("b",)},
    ]
    stats = brought.archive.stats(run.run_id)
    assert {s.sub_split: s.value for s in stats if s.trial == -1} == {
        "": 0.5,
        "subject=a": 1.0,
        "subject=b": 0.0,
    }


def test_tasks_inside_groups_may_have_colons(tmp_path: Path) -> None:
    folder, task = write(tmp_path / "out"), "my_group::is_it"
    text = (folder / f"results_{STAMP}.json").read_text()
    (folder / f"results_{STAMP}.json").write_text(text.replace("is_it", task))
    samples = folder / f"samples_is_it_{STAMP}.jsonl"
    samples.rename(folder / f"samples_{task}_{STAMP}.jsonl")
    brought = bring([folder], tmp_path / "runs")
    assert one(brought).spec.scenario == task
    assert brought.report.made[0].equal == 1


def test_what_only_a_later_filter_says_is_kept(tmp_path: Path) -> None:
    """A draft of 0.5 adds scores_per_repeat to rows."""
    rows = [
        {**row, "filter": kept, "scores_per_repeat": {"exact_match": [value]}}
        for kept, value in (("first", 1.0), ("second", 0.0))
        for row in _generated(2)
    ]
    brought = bring(
        [write(tmp_path / "out", rows, results(questions()))], tmp_path / "runs"
    )
    extra = brought.archive.instances(one(brought).run_id)[1].extra
    assert extra["scores_per_repeat"] == {"exact_match": [1.0]}
    assert extra["by_filter"]["second"]["scores_per_repeat"] == {"exact_match": [0.0]}


# ---- Groups


def test_means_of_groups_are_verified(tmp_path: Path) -> None:
    rows = questions()
    said = results(rows)
    said["results"]["other"] = {"acc,none": 0.25, "acc_stderr,none": 0.1}
    said["n-samples"]["other"] = {"original": 4, "effective": 1}
    weighted = (2 / 3 * 3 + 0.25) / 4
    for name, value in (("all", weighted), ("equal", (2 / 3 + 0.25) / 2), ("odd", 0.9)):
        said["results"][name] = {"acc,none": value, "acc_stderr,none": "N/A"}
        said["group_subtasks"][name] = ["is_it", "other"]
    said["groups"] = {name: said["results"][name] for name in ("all", "equal", "odd")}
    brought = bring([write(tmp_path / "out", rows, said)], tmp_path / "runs")
    cells = {
        row.scenario: row.stat
        for row in brought.archive.published("imported", "lm_eval")
    }
    assert set(cells) == {"other", "all", "equal", "odd"}
    assert cells["all"].details["weight_by_size"] is True
    assert cells["equal"].details["weight_by_size"] is False
    assert (cells["all"].value, cells["all"].n_scored) == (weighted, 4)
    (problem,) = problems(brought)
    assert "results.odd.acc,none: 0.9 is no mean of the group's tasks" in problem
    assert one(brought).scenario.groups == ("all", "equal", "odd")


# ---- Names and secrets


@pytest.mark.parametrize(
    ("given", "name", "revision"),
    [
        (
            "pretrained=EleutherAI/pythia-v1.1-410m,revision=step8",
            "EleutherAI/pythia-410m",
            "step8",
        ),
        (
            "pretrained=/data/out/my-model/checkpoint-500,dtype=float16",
            "my-model",
            "checkpoint-500",
        ),
        ("pretrained=./tiny/", "tiny", ""),
        ("model=gpt-4o,base_url=http://x/v1,num_concurrent=4", "gpt-4o", ""),
        ("pretrained=org/base-7b,peft=org/adapter", "org/adapter", ""),
        (
            "pretrained=/c/hub/models--org--m-1b/snapshots/0123abc",
            "org/m-1b",
            "0123abc",
        ),
        (
            {"pretrained": "org/m", "revision": "main", "load_in_4bit": True},
            "org/m",
            "",
        ),
    ],
)
def test_models_names(tmp_path: Path, given: Any, name: str, revision: str) -> None:
    said = results(questions())
    said["config"]["model_args"] = given
    model = one(bring([write(tmp_path / "o", said=said)], tmp_path / "runs")).spec.model
    assert (model.name, model.revision) == (name, revision)
    assert model.settings.get("dtype", "") == ("float16" if "dtype" in given else "")
    assert model.quantisation == (
        "bitsandbytes 4-bit" if isinstance(given, dict) else ""
    )
    if "peft" in given:
        assert model.settings["pretrained"] == "org/base-7b"


def test_secrets_do_not_reach_the_archive(tmp_path: Path) -> None:
    said = results(questions())
    said["config"]["model_args"]["api_key"] = "sk-proj-Zb3kQ9xW7vT2mN8pL4rJ6hG1"
    said["config"]["use_cache"] = "/home/somebody/cache"
    said["results"]["other"] = {"acc,none": 0.25}
    brought = bring([write(tmp_path / "out", said=said)], tmp_path / "runs")
    assert sum(brought.report.notes.hidden.values()) > 1
    whole = json.dumps(one(brought).spec.model.settings)
    whole += json.dumps(
        [r.stat.details for r in brought.archive.published("imported", "lm_eval")]
    )
    assert "Zb3kQ9xW7vT2mN8pL4rJ6hG1" not in whole
    assert "somebody" not in whole


# ---- Files of 0.3


def test_published_files_of_0_3(shared: Path, tmp_path: Path) -> None:
    folder = shared / "samples" / "pythia"
    brought = bring([folder], tmp_path / "runs")
    assert not problems(brought)
    assert accounted(brought, [folder]) == set()
    cells = {
        (row.source_file, row.scenario, row.stat.metric): row
        for row in brought.archive.published("imported", "lm_eval")
    }
    count = 0
    for path in sorted(folder.rglob("*.json")):
        said = json.loads(path.read_text())
        name = path.relative_to(folder).as_posix()
        for task, values in said["results"].items():
            for metric, value in values.items():
                if metric.endswith("_stderr"):
                    continue
                row = cells[name, task, metric]
                assert row.stat.value == value
                assert row.stat.stderr == values[f"{metric}_stderr"]
                assert row.settings["num_fewshot"] == said["config"]["num_fewshot"]
                count += 1
    assert count == len(cells) == 9144
    curve = {
        row.settings["revision"]
        for row in cells.values()
        if row.model == "EleutherAI/pythia-410m" and row.settings["num_fewshot"] == 0
    }
    assert len(curve) == 27
    assert {"step0", "step512", "step143000"} <= curve
    models = {row.model for row in cells.values()}
    assert {
        "EleutherAI/pythia-410m-deduped",
        "facebook/opt-1.3b",
        "bigscience/bloom-560m",
    } <= models
    again = bring([folder], tmp_path / "runs")
    assert again.report.cells == {}
    assert len(again.report.unchanged) == 57


@pytest.mark.parametrize(
    ("stem", "model", "revision"),
    [
        ("410m-deduped-5shot_step512", "EleutherAI/pythia-410m-deduped", "step512"),
        ("mine", "mine", None),
    ],
)
def test_names_of_files_of_0_3_tell_the_model(
    tmp_path: Path, stem: str, model: str, revision: str | None
) -> None:
    said = {
        "results": {"piqa": {"acc": 0.5, "acc_stderr": 0.1, "acc_norm": "0.25"}},
        "versions": {"piqa": 0},
    }
    folder = tmp_path / "evals"
    folder.mkdir()
    (folder / f"{stem}.json").write_text(json.dumps(said))
    brought = bring([folder], tmp_path / "runs")
    rows = {r.stat.metric: r for r in brought.archive.published("imported", "lm_eval")}
    assert {r.model for r in rows.values()} == {model}
    assert rows["acc"].settings.get("revision") == revision
    assert (rows["acc"].stat.value, rows["acc_norm"].stat.value) == (0.5, 0.25)


# ---- Files that went wrong


def test_a_half_written_file_of_samples_is_taken_as_far_as_it_goes(
    tmp_path: Path,
) -> None:
    folder = write(tmp_path / "out")
    samples = folder / f"samples_is_it_{STAMP}.jsonl"
    samples.write_bytes(samples.read_bytes()[:-200])
    brought = bring([folder], tmp_path / "runs")
    run = one(brought)
    assert len(brought.archive.instances(run.run_id)) == 2
    assert "1 rows of the samples could not be read and are left out." in run.warnings
    assert any(w.startswith("task_hashes does not hold") for w in run.warnings)
    (problem,) = problems(brought)
    assert f"samples_is_it_{STAMP}.jsonl, line 3" in problem


def test_half_written_results_do_not_block_the_samples(tmp_path: Path) -> None:
    folder = write(tmp_path / "out" / "org__thing-7b")
    whole = folder / f"results_{STAMP}.json"
    whole.write_bytes(whole.read_bytes()[:400])
    brought = bring([folder], tmp_path / "runs")
    assert one(brought).spec.model.name == "org/thing-7b"
    assert len(brought.report.failed) == 1
    (problem,) = problems(brought)
    assert problem.startswith(f"results_{STAMP}.json: no JSON: line 19")
    assert accounted(brought, [folder]) == set()


def test_caches_and_definitions_are_left_out_with_a_reason(tmp_path: Path) -> None:
    folder = write(tmp_path / "out")
    with closing(sqlite3.connect(folder / "cache_rank0.db")) as base, base:
        base.execute('CREATE TABLE "unnamed" (key TEXT PRIMARY KEY, value BLOB)')
    (folder / "is_it.yaml").write_text("task: is_it\ndataset_path: json\n")
    skipped = bring([folder], tmp_path / "runs").report.notes.skipped
    assert skipped["cache_rank0.db"].startswith("a cache of responses")
    assert skipped["is_it.yaml"].startswith("a task's definition")


def test_documents_that_stand_twice_are_kept_apart(tmp_path: Path) -> None:
    rows = [*questions(), *questions()]
    brought = bring([write(tmp_path / "out", rows)], tmp_path / "runs")
    ids = [i.instance_id for i in brought.archive.instances(one(brought).run_id)]
    assert ids == ["0", "1", "2", "0#2", "1#2", "2#2"]


def test_results_that_are_no_object_leave_the_others_alone(tmp_path: Path) -> None:
    said = results(questions())
    said["results"] |= {"is_it": True, "other": {"acc,none": 0.5, "f1,none": "much"}}
    brought = bring([write(tmp_path / "out", said=said)], tmp_path / "runs")
    (cell,) = brought.archive.published("imported", "lm_eval")
    assert (cell.scenario, cell.stat.value) == ("other", 0.5)
    assert [s.value for s in scores_of(brought)] == [1.0, 0.0, 1.0]
    assert sorted(each.split(": ", 1)[1] for each in problems(brought)) == [
        "results.is_it: expected an object, got True.",
        "results.other.f1,none: expected a number, got 'much'.",
    ]


def _is_sound(folder: Path, place: Path) -> None:
    """An import ends in messages or whole runs, never in another exception."""
    brought = bring([folder], place)
    assert accounted(brought, [folder]) == set()
    assert not list(brought.archive.check())


SLOW = settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)


@SLOW
@given(st.data())
def test_mutated_samples(data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from(["choices", "generated", "array"]))
    rows = questions() if kind != "generated" else _generated(2)
    raw = lines(rows).encode()
    with TemporaryDirectory() as name:
        folder = write(Path(name) / "out", rows)
        if kind == "array":
            raw = json.dumps(old(rows), indent=1).encode()
        path = folder / f"samples_is_it_{STAMP}.jsonl"
        path.write_bytes(data.draw(mutants(raw)))
        _is_sound(folder, Path(name) / "runs")


@SLOW
@given(st.data())
def test_mutated_results(data: st.DataObject) -> None:
    with TemporaryDirectory() as name:
        said = results(questions())
        said["results"]["all"] = {"acc,none": 0.5}
        said["group_subtasks"] |= {"all": ["is_it"]}
        folder = write(Path(name) / "out", said=said)
        raw = json.dumps(said, indent=1).encode()
        (folder / f"results_{STAMP}.json").write_bytes(data.draw(mutants(raw)))
        _is_sound(folder, Path(name) / "runs")


@SLOW
@given(st.data())
def test_mutated_samples_of_each_kind(shared: Path, data: st.DataObject) -> None:
    """One row of each genuine file, changed; the results beside it as they are."""
    files = sorted((shared / "samples" / "lm_eval").rglob("samples_*.jsonl"))
    path = data.draw(st.sampled_from(files))
    raw = b"\n".join(path.read_bytes().splitlines()[:2]) + b"\n"
    stamp = path.stem[-26:]
    with TemporaryDirectory() as name:
        folder = Path(name) / "out"
        folder.mkdir()
        (folder / path.name).write_bytes(data.draw(mutants(raw)))
        beside = path.parent / f"results_{stamp}.json"
        (folder / beside.name).write_bytes(beside.read_bytes())
        _is_sound(folder, Path(name) / "runs")


@pytest.mark.parametrize("odd", ODD, ids=repr)
def test_odd_values_in_every_field_of_a_row(tmp_path: Path, odd: Any) -> None:
    """Each row has it in another field; those that can be read are there."""
    names = list(question(0, [-1, -2, -3]))
    rows = [question(n, [-1, -2, -3]) for n in range(len(names))]
    for row, name in zip(rows, names, strict=True):
        row[name] = odd
    folder = write(tmp_path / "out", said=results(questions()))
    text = "".join(f"{json.dumps(row)}\n" for row in rows)
    (folder / f"samples_is_it_{STAMP}.jsonl").write_text(text)
    brought = bring([folder], tmp_path / "runs")
    assert accounted(brought, [folder]) == set()
    assert not list(brought.archive.check())
    found = brought.archive.instances(one(brought).run_id)
    assert len(found) + len(problems(brought)) == len(rows)
    assert len(found) >= 9
