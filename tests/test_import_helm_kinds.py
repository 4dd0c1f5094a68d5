"""What HELM's sample runs lack: older layouts, other methods, parts of runs, odd things."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import pytest

from helmsite.schema import TopLogprob
from tests import helm_folders as helm
from tests.importing import Brought, accounted, bring

if TYPE_CHECKING:
    from pathlib import Path

    from helmsite.schema import Manifest, Reply, Score, Stat

WIN = helm.completion(" yes")
QUESTION = helm.instance("id7", "Is it?", "yes", "no")


def taken(folder: Path) -> Brought:
    brought = bring([folder], folder.parent / "archive")
    assert not brought.report.notes.problems
    return brought


def one(brought: Brought) -> tuple[Manifest, list[Reply], list[Score], list[Stat]]:
    (run,) = brought.runs
    archive = brought.archive
    return (
        run,
        list(archive.replies(run.run_id)),
        archive.scores(run.run_id),
        archive.stats(run.run_id),
    )


def computed(scores: list[Score], metric: str) -> list[float | None]:
    found = [s for s in scores if s.metric == metric and s.origin == "computed"]
    return [s.value for s in found if s.request_index < 0]


def test_a_run_of_2022(tmp_path: Path) -> None:
    """Texts were no objects, fields had other names, tokens had alternatives."""
    answer = helm.completion(" yes")
    answer["tokens"] = [
        {"text": " yes", "logprob": -0.5, "top_logprobs": {" yes": -0.5, " no": -1.0}}
    ]
    state = helm.state(
        {
            "input": "Is it?",
            "references": [{"output": "yes", "tags": ["correct"]}],
            "split": "test",
            "id": "id7",
            "contrast_inputs": ["Isn't it?"],
        },
        answer,
        prompt="Is it?",
    )
    del state["request"]["model_deployment"], state["num_conditioning_tokens"]
    spec = {
        "name": "boolq:model=openai_davinci",
        "scenario": {
            "class_name": "benchmark.boolq_scenario.BoolQScenario",
            "args": {},
        },
        "adapter_spec": {
            "method": "generation",
            "instructions": "",
            "max_train_instances": 5,
            "max_eval_instances": 1000,
            "num_outputs": 1,
            "num_train_trials": 1,
            "model": "openai/davinci",
            "temperature": 0.0,
            "stop_sequences": ["\n"],
        },
        "metrics": [
            {
                "class_name": "benchmark.basic_metrics.BasicMetric",
                "args": {"names": ["exact_match"]},
            }
        ],
    }
    folder = tmp_path / "boolq:model=openai_davinci"
    helm.write(
        folder,
        None,
        scenario_state={
            "adapter_spec": spec["adapter_spec"],
            "request_states": [state],
        },
        scores=[helm.judged("id7", helm.stat("exact_match", 1))],
        stats=[helm.stat("exact_match", 1)],
    )
    (folder / "run_spec.json").write_text(json.dumps(spec), encoding="utf-8")
    run, (reply,), scores, _ = one(taken(folder))
    assert (run.spec.scenario, run.spec.model.name) == ("boolq", "openai/davinci")
    assert run.spec.settings["scenario_spec"]["class_name"].endswith("BoolQScenario")
    assert run.spec.adapter.max_train_instances == 5
    assert run.spec.adapter.input_prefix == "Input: "  # HELM's default
    assert reply.completion.top_logprobs == (
        (TopLogprob(" yes", -0.5), TopLogprob(" no", -1.0)),
    )
    assert computed(scores, "exact_match") == [1.0]
    (instance,) = taken(folder).archive.instances(run.run_id)
    assert (instance.input, instance.gold) == ("Is it?", ("yes",))
    assert instance.extra == {"contrast_inputs": ["Isn't it?"]}


def test_slim_files_of_2022(tmp_path: Path) -> None:
    """The whole files are taken if they are there; slim ones lack most tokens."""
    of = helm.instance("id0", "Q", "a b c")
    tokens = [helm.token("Q", 0.0), helm.token(" a", -1.0)]
    states = [helm.echoed(of, tokens, "Q a b c", reference_index=0)]
    method = {"method": "multiple_choice_separate_original"}
    scenario = {
        "name": "x",
        "description": "d",
        "tags": [],
        "output_path": "/srv/helm/scenarios/x",
        "definition_path": "p",
        "instances": [of],
    }
    slim = [{"name": {"name": "exact_match"}, "mean": 1.0}]
    folder = helm.write(
        tmp_path / "x:model=org_model",
        None,
        scenario_state_slim={
            "adapter_spec": {**helm.ADAPTER, **method},
            "request_states": states,
        },
        per_instance_stats_slim=[helm.judged("id0", *slim)],
        scenario=scenario,
        adapter=method,
    )
    run, (reply,), scores, _ = one(taken(folder))
    assert any("slim" in w for w in run.warnings)
    done = reply.completion
    assert (done.tokens, done.token_logprobs, done.logprob) == (None, None, None)
    assert reply.request.prompt[reply.request.score_start or 0 :] == " a b c"
    assert computed(scores, "exact_match") == [None]
    assert [s.value for s in scores if s.origin == "reported"] == [1.0]
    assert run.spec.settings["scenario"] == {
        "name": "x",
        "description": "d",
        "tags": [],
        "definition_path": "p",
    }
    whole = [helm.token("Q", 0.0), *(helm.token(f" {c}", -1.0) for c in "abc")]
    helm.write(
        folder,
        [helm.echoed(of, whole, "Q a b c", reference_index=0)],
        scores=[helm.judged("id0", helm.stat("exact_match", 1))],
        adapter=method,
    )
    brought = taken(folder)
    assert set(brought.report.notes.skipped) == {
        "scenario_state_slim.json",
        "per_instance_stats_slim.json",
    }
    _, (reply,), scores, _ = one(brought)
    assert reply.completion.logprob == -3.0
    assert computed(scores, "exact_match") == [1.0]


def test_windows_of_a_long_text(tmp_path: Path) -> None:
    """HELM's means are over windows; ratios are of sums over all of them."""
    of = helm.instance("id0", "ab cd ef")
    first = [helm.token("<s>", 0.0), helm.token("ab", -1.0), helm.token(" cd", -2.0)]
    second = [helm.token("", 0.0), helm.token(" cd", -0.25), helm.token(" ef", -4.0)]
    third = [helm.token("", 0.0), helm.token(" ef", -0.25), helm.token(" é", -8.0)]
    states = [
        helm.echoed(of, first, "<s>ab cd", num_conditioning_tokens=1),
        helm.echoed(of, second, " cd ef", num_conditioning_tokens=1),
        helm.echoed(
            helm.instance("id1", "x"), third, " ef é", num_conditioning_tokens=1
        ),
    ]
    sums, sizes, tokens = (-3.0, -4.0, -8.0), (5, 3, 3), (2, 1, 1)
    scores = [
        helm.judged(
            name,
            helm.stat("logprob", sums[n]),
            helm.stat("num_bytes", sizes[n]),
            helm.stat("num_perplexity_tokens", tokens[n]),
        )
        for n, name in enumerate(("id0", "id0", "id1"))
    ]
    bits = 15 / 11 / math.log(2)
    stats = [
        helm.stat("logprob", -5.0),
        helm.stat("num_bytes", 11 / 3),
        helm.stat("bits_per_byte", bits),
        helm.stat("perplexity", math.exp(15 / 4)),
        helm.stat("num_instances", 2),
    ]
    folder = helm.write(
        tmp_path / "the_pile:subset=a,model=org_model",
        states,
        scores=scores,
        stats=stats,
        adapter={"method": "language_modeling", "max_tokens": 0},
    )
    brought = taken(folder)
    run, replies, found, aggregates = one(brought)
    assert brought.report.made[0].equal == 2
    assert not brought.report.made[0].different
    assert [r.request.request_index for r in replies] == [0, 1, 0]
    assert [r.request.prompt[r.request.score_start or 0 :] for r in replies] == [
        "ab cd",
        " ef",
        " é",
    ]
    assert [r.completion.logprob for r in replies] == list(sums)
    reported = [s for s in found if s.origin == "reported" and s.metric == "logprob"]
    assert [(s.instance_id, s.request_index, s.value) for s in reported] == [
        ("id0", 0, -3.0),
        ("id0", 1, -4.0),
        ("id1", 0, -8.0),
    ]
    own = {s.metric: s for s in aggregates if s.origin == "computed" and s.trial == -1}
    assert own["bits_per_byte"].value == pytest.approx(bits)
    assert own["perplexity"].value == pytest.approx(math.exp(15 / 4))
    theirs = {
        s.metric: s for s in aggregates if s.origin == "reported" and s.trial == -1
    }
    assert theirs["logprob"].value == -5.0
    assert run.spec.scenario == "the_pile:subset=a"


def test_a_ranking(tmp_path: Path) -> None:
    of = {
        "input": {"text": "Who?"},
        "references": [
            {
                "output": {"text": f"doc {n}"},
                "tags": [f"relevance={r}", f"rank={n + 1}", *["correct"][:r]],
            }
            for n, r in enumerate((0, 1, 0))
        ],
        "split": "valid",
        "id": "id3",
    }
    answers = [(" No", -0.1), (" Yes", -0.2), (" Yes", -0.1)]
    states = [
        helm.state(
            of, helm.completion(t, p), prompt=f"doc {n}? Answer:", reference_index=n
        )
        for n, (t, p) in enumerate(answers)
    ]
    in_valid = {"split": "valid"}
    rank = [helm.stat("RR@10", 0.5) | {"name": {"name": "RR@10", **in_valid}}]
    folder = helm.write(
        tmp_path / "msmarco:track=regular,valid_topk=30,model=org_model",
        states,
        scores=[helm.judged("id3", *rank)],
        stats=rank,
        adapter={"method": "ranking_binary"},
        spec={
            "metric_specs": [
                {
                    "class_name": "helm.RankingMetric",
                    "args": {"measure_names": ["recip_rank.10"]},
                }
            ]
        },
    )
    _, replies, scores, stats = one(taken(folder))
    assert [r.request.reference_index for r in replies] == [0, 1, 2]
    assert computed(scores, "RR@10") == [0.5]
    assert {s.split for s in stats} == {"valid"}


def test_repeats_of_a_request_are_trials(tmp_path: Path) -> None:
    states = [
        helm.state(QUESTION, helm.completion(text), request={"random": str(n)})
        for n, text in enumerate((" yes", " no"))
    ]
    folder = helm.write(
        tmp_path / "x:model=org_model", states, adapter={"num_trials": 2}
    )
    _, replies, scores, _ = one(taken(folder))
    assert [(r.request.trial, r.request.decoding.random) for r in replies] == [
        (0, ""),
        (1, "1"),
    ] or [r.request.trial for r in replies] == [0, 1]
    assert computed(scores, "exact_match") == [1.0, 0.0]


def test_what_came_with_later_versions(tmp_path: Path) -> None:
    """Conversations, thoughts, annotations, batches, images, chains of thought."""
    chat: dict[str, Any] = {
        "input": {"text": "", "messages": [{"role": "user", "content": "Is it?"}]},
        "references": [],
        "split": "test",
        "id": "id0",
        "extra_data": {"chain_of_thought": "Well."},
    }
    image: dict[str, Any] = {
        "input": {
            "multimedia_content": {
                "media_objects": [
                    {"content_type": "text/plain", "text": "What is it?"},
                    {"content_type": "image/png", "location": "a.png"},
                ]
            }
        },
        "references": [],
        "split": "test",
        "id": "id1",
    }
    states = [
        helm.state(
            chat,
            helm.completion("yes", thinking={"text": "Let me see."}),
            prompt="",
            request={"messages": chat["input"]["messages"], "presence_penalty": 0.5},
            result={"batch_size": 4, "batch_request_time": 2.0},
            annotations={"judge": [{"score": 5}]},
        ),
        helm.state(
            image,
            helm.completion("A cat", multimodal_content={"media_objects": []}),
            prompt="",
            request={"multimodal_prompt": image["input"]["multimedia_content"]},
        ),
    ]
    folder = helm.write(
        tmp_path / "x:model=org_model", states, adapter={"method": "chat"}
    )
    brought = taken(folder)
    run, (first, second), scores, _ = one(brought)
    assert first.request.messages[0].content == "Is it?"
    assert (first.request.prompt, first.request.prompt_kind) == ("", "absent")
    assert first.completion.reasoning == "Let me see."
    assert first.completion.duration_s == 2.0
    assert first.completion.extra == {
        "annotations": {"judge": [{"score": 5}]},
        "batch_size": 4.0,
        "request_time": 0.25,
        "request": {"presence_penalty": 0.5},
    }
    assert computed(scores, "batch_size") == [4.0, 1.0]
    assert (second.request.prompt, second.request.prompt_kind) == (
        "What is it?",
        "abridged",
    )
    assert second.completion.extra["multimodal_content"] == {"media_objects": []}
    instances = brought.archive.instances(run.run_id)
    assert instances[0].messages[0].role == "user"
    assert instances[0].extra == {"extra_data": {"chain_of_thought": "Well."}}
    assert instances[1].input == "What is it?"


def test_failures_stay_in_the_denominator(tmp_path: Path) -> None:
    key = "sk-proj-" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1x"
    failed = {"success": False, "completions": [], "error": f"401 with key {key}"}
    states = [
        helm.state(QUESTION, WIN),
        helm.state(helm.instance("id8", "b", "yes"), result=failed),
        helm.state(helm.instance("id9", "c", "yes")) | {"result": None},
        helm.state(helm.instance("id10", "d", "yes")),
    ]
    folder = helm.write(tmp_path / "x:model=org_model", states)
    brought = taken(folder)
    run, replies, scores, stats = one(brought)
    assert (run.status, run.counts.asked, run.counts.failed) == ("partial", 4, 3)
    errors = [r.completion.error for r in replies]
    assert key not in errors[1]
    assert "401" in errors[1]
    assert errors[2:] == [
        "The source has no result of this request.",
        "The answer has no completion.",
    ]
    assert sum(brought.report.notes.hidden.values()) == 1
    assert computed(scores, "exact_match") == [1.0, None, None, None]
    (stat,) = [s for s in stats if s.metric == "exact_match" and s.trial == -1]
    assert (stat.value, stat.n_scored, stat.n_asked) == (1.0, 1, 4)


def test_a_dry_run_is_no_result(tmp_path: Path) -> None:
    folder = helm.write(
        tmp_path / "x:model=org_model", [helm.state(QUESTION) | {"result": None}]
    )
    brought = bring([folder], tmp_path / "archive")
    assert not brought.runs
    (problem,) = brought.report.notes.problems
    assert "dry-run" in str(problem)
    assert problem.file == "scenario_state.json"


def test_log_probabilities_of_0_are_none(tmp_path: Path) -> None:
    """Generated ones, if all are; not those of given texts, whatever they are."""
    states = [helm.state(QUESTION, helm.completion(" yes", 0.0))]
    scores = [
        helm.judged("id7", helm.stat("exact_match", 1), helm.stat("max_prob", 1.0))
    ]
    stats = [helm.stat("exact_match", 1), helm.stat("perplexity", 1.0)]
    folder = helm.write(
        tmp_path / "x:model=org_model", states, scores=scores, stats=stats
    )
    run, (reply,), found, aggregates = one(taken(folder))
    assert (reply.completion.logprob, reply.completion.token_logprobs) == (None, None)
    assert reply.completion.tokens == (" yes",)
    assert any("log-probabilities" in w for w in run.warnings)
    (confidence,) = [
        s for s in found if s.metric == "max_prob" and s.origin == "reported"
    ]
    assert (confidence.value, confidence.missing) == (None, "not measurable")
    assert confidence.details["reported"] == 1.0
    shown = [
        s for s in aggregates if s.metric == "perplexity" and s.origin == "reported"
    ]
    assert [(s.value, s.details["reported"]) for s in shown] == [(None, 1.0)]

    given = helm.echoed(
        QUESTION,
        [helm.token("Is it?", 0.0), helm.token(" yes", 0.0)],
        "Is it? yes",
        reference_index=0,
    )
    other = helm.write(
        tmp_path / "y:model=org_model",
        [given],
        adapter={"method": "multiple_choice_separate_original"},
    )
    manifest = next(m for m in taken(other).runs if m.spec.scenario == "y")
    (reply,) = taken(other).archive.replies(manifest.run_id)
    assert reply.completion.token_logprobs == (0.0,)
    assert manifest.warnings == ()


def test_encrypted_texts_are_marked_and_nothing_is_computed_from_them(
    tmp_path: Path,
) -> None:
    of = helm.instance("id0", "[encrypted_text_0]", "[encrypted_text_1]")
    states = [
        helm.state(
            of, helm.completion("[encrypted_text_3]"), prompt="[encrypted_text_2]"
        )
    ]
    folder = helm.write(
        tmp_path / "gpqa:subset=gpqa_main,model=org_model",
        states,
        scores=[helm.judged("id0", helm.stat("exact_match", 1))],
        stats=[helm.stat("exact_match", 1)],
        encryption_data={"[encrypted_text_0]": {"ciphertext": "x", "key": "k"}},
    )
    brought = taken(folder)
    run, _, scores, stats = one(brought)
    assert run.scenario.publication == "aggregates"
    assert "encrypted" in run.scenario.caution
    assert any("encrypted" in w for w in run.warnings)
    assert {s.origin for s in scores} == {"reported"}
    assert [s.value for s in stats if s.trial == -1] == [1.0]
    assert "encryption_data.json" in brought.report.notes.skipped


STATS = [
    helm.stat("exact_match", 0.5, 1.0),
    helm.stat("ece_10_bin", 0.1),
    helm.stat("num_instances", 10, 10),
    helm.stat(
        "exact_match",
        0.5,
        perturbation={"name": "robustness", "robustness": True, "computed_on": "worst"},
    ),
]


def test_statistics_alone_become_results_without_instances(tmp_path: Path) -> None:
    """With a schema their names are known to people."""
    suite = tmp_path / "runs" / "v1"
    helm.write(suite / "boolq:model=org_model", None, stats=STATS)
    schema = {
        "metrics": [
            {"name": "exact_match", "display_name": "EM", "lower_is_better": False}
        ],
        "metric_groups": [],
        "run_groups": [
            {
                "name": "boolq",
                "display_name": "BoolQ",
                "environment": {"main_name": "exact_match", "main_split": "valid"},
            }
        ],
        "models": [
            {"name": "org/model", "display_name": "The Model", "access": "open"}
        ],
    }
    (suite / "schema.json").write_text(json.dumps(schema), encoding="utf-8")
    brought = taken(tmp_path / "runs")
    assert not brought.runs
    assert brought.report.cells == {"v1": 4}
    cells = list(brought.archive.published("v1", "helm"))
    assert {(c.scenario, c.model) for c in cells} == {("boolq", "org/model")}
    by = {(c.stat.metric, c.stat.perturbation): c.stat for c in cells}
    assert by["exact_match", ""].value == 0.75
    assert (by["exact_match", ""].n_scored, by["exact_match", ""].n_asked) == (20, 20)
    assert by["exact_match", ""].details["count"] == 2
    robust = by["exact_match", "robustness"]
    assert (robust.value, robust.missing) == (None, "not asked")
    assert robust.details["reported"] == 0.5
    assert taken(tmp_path / "runs").report.made == []


def test_a_list_of_runs_alone(tmp_path: Path) -> None:
    """As people have it who downloaded a release's files and no folder of a run."""
    release = tmp_path / "releases" / "v1.0"
    release.mkdir(parents=True)
    spec = {
        "name": "boolq:model=org_model",
        "scenario_spec": {"class_name": "X", "args": {}},
        "adapter_spec": helm.ADAPTER,
    }
    rows = [{"run_path": "x", "run_spec": spec, "stats": STATS}, {"run_path": "y"}]
    (release / "runs.json").write_text(json.dumps(rows), encoding="utf-8")
    summary = {"release": "v1.0", "suites": ["a", "b"], "date": "2024-01-01"}
    (release / "summary.json").write_text(json.dumps(summary), encoding="utf-8")
    brought = bring([tmp_path / "releases"], tmp_path / "archive")
    assert brought.report.cells == {"v1.0": 4}
    (problem,) = brought.report.notes.problems
    assert (problem.file, problem.field) == ("v1.0/runs.json", "[1].run_spec")
    assert "v1.0/summary.json" in brought.report.notes.skipped


@pytest.mark.parametrize("with_scores", [True, False])
def test_files_for_display_stand_in_for_the_state(
    tmp_path: Path, *, with_scores: bool
) -> None:
    of = helm.instance("id0", "Is it?", "yes", "no")
    perturbation = {"name": "mild_mix", "robustness": True, "fairness": False}
    twin = {**of, "input": {"text": "is it?"}, "perturbation": perturbation}
    request = helm.state(of)["request"]
    display: dict[str, Any] = {
        "instances": [of, twin],
        "display_requests": [
            {"instance_id": "id0", "train_trial_index": 0, "request": request}
        ],
        "display_predictions": [
            {
                "instance_id": "id0",
                "train_trial_index": 0,
                "predicted_text": " A",
                "mapped_output": "yes",
                "base64_images": [],
                "stats": {"exact_match": 1.0},
            },
            {
                "instance_id": "id0",
                "perturbation": perturbation,
                "train_trial_index": 0,
                "predicted_text": " B",
                "stats": {"exact_match": 0.0},
            },
        ],
    }
    scores = [
        helm.judged("id0", helm.stat("exact_match", 1)),
        helm.judged("id0", helm.stat("exact_match", 0), perturbation=perturbation),
    ]
    folder = helm.write(
        tmp_path / "x:model=org_model",
        None,
        scores=scores if with_scores else None,
        stats=[helm.stat("exact_match", 1)],
        **display,
    )
    run, replies, found, stats = one(taken(folder))
    assert [r.completion.text for r in replies] == [" A", " B"]
    assert [r.request.prompt for r in replies] == ["Is it?", ""]
    assert replies[0].completion.extra["display"] == {"mapped_output": "yes"}
    assert [r.completion.tokens for r in replies] == [None, None]
    assert [(s.value, s.origin) for s in found] == [
        (1.0, "reported"),
        (0.0, "reported"),
    ]
    assert any(s.perturbation == "robustness" and s.value == 0 for s in stats)
    assert any("display" in w for w in run.warnings)


def test_a_run_that_never_ended_is_told_of(tmp_path: Path) -> None:
    folder = helm.write(tmp_path / "x:model=org_model", None)
    brought = bring([folder], tmp_path / "archive")
    assert brought.survey.found == ()
    assert "did not end" in brought.report.notes.skipped["run_spec.json"]


def test_several_requests_of_an_instance_weigh_as_in_helm(tmp_path: Path) -> None:
    """HELM's mean of what each request has is over requests, not over instances."""
    few = [helm.stat("num_prompt_tokens", 10, 10)]
    many = [helm.stat("num_prompt_tokens", 20, 20, 20, 20)]
    states = []
    for name, count in (("id0", 2), ("id1", 4)):
        of = helm.instance(name, "Q", *(f"o{n}" for n in range(count)))
        states += [
            helm.echoed(
                of,
                [helm.token("Q", 0.0), helm.token(f" o{n}", -n - 1.0)],
                f"Q o{n}",
                reference_index=n,
            )
            for n in range(count)
        ]
    folder = helm.write(
        tmp_path / "x:model=org_model",
        states,
        scores=[helm.judged("id0", *few), helm.judged("id1", *many)],
        stats=[helm.stat("num_prompt_tokens", 100 / 6)],
        adapter={"method": "multiple_choice_separate_original"},
    )
    brought = taken(folder)
    assert brought.report.made[0].equal == 1
    assert not brought.report.made[0].different


def test_the_worst_of_several_requests_is_helms_alone(tmp_path: Path) -> None:
    """HELM takes the least of all requests there, which means of instances do not tell."""
    twin = {"name": "mild_mix", "robustness": True, "fairness": False}
    versions: list[dict[str, Any]] = [{}, {"perturbation": twin}]
    states = [
        helm.echoed(
            helm.instance("id0", f"Q{n}", "a", "b c", **version),
            [helm.token(f"Q{n}", 0.0), *(helm.token(t, -1.0) for t in tokens)],
            f"Q{n}{''.join(tokens)}",
            reference_index=index,
        )
        for n, version in enumerate(versions)
        for index, tokens in enumerate(([" a"], [" b", " c"]))
    ]
    both = helm.stat("num_prompt_tokens", 2, 3)
    scores = [helm.judged("id0", both, **version) for version in versions]
    worst = {**twin, "computed_on": "worst"}
    family = {"name": "robustness", "robustness": True, "computed_on": "worst"}
    stats = [
        helm.stat("num_prompt_tokens", 2.5),
        helm.stat("num_prompt_tokens", 2.5, perturbation=twin),
        helm.stat("num_prompt_tokens", 2, perturbation=worst),
        helm.stat("num_prompt_tokens", 2, perturbation=family),
    ]
    folder = helm.write(
        tmp_path / "x:model=org_model",
        states,
        scores=scores,
        stats=stats,
        adapter={"method": "multiple_choice_separate_original"},
    )
    brought = taken(folder)
    assert brought.report.made[0].equal == 2
    assert not brought.report.made[0].different
    _, _, _, aggregates = one(brought)
    found = {
        (s.perturbation, s.origin): s.value
        for s in aggregates
        if (s.metric, s.computed_on, s.trial) == ("num_prompt_tokens", "worst", -1)
    }
    assert found["mild_mix", "reported"] == found["robustness", "reported"] == 2
    assert found["robustness", "computed"] == 2.5


def test_names_and_cards_from_files_of_a_whole_suite(tmp_path: Path) -> None:
    """A schema in YAML, model metadata, all run specs, caches: each has its use or reason."""
    suite = tmp_path / "benchmark_output" / "runs" / "v1"
    folder = helm.write(
        suite / "boolq:model=org_model",
        [helm.state(QUESTION, WIN)],
        scores=[helm.judged("id7", helm.stat("exact_match", 1))],
        stats=[helm.stat("exact_match", 1)],
    )
    spec = json.loads((folder / "run_spec.json").read_text(encoding="utf-8"))
    (folder / "run_spec.json").unlink()
    spec["groups"] = ["boolq", "more"]
    (suite / "run_specs.json").write_text(json.dumps([spec]), encoding="utf-8")
    (suite / "eval_cache").mkdir()
    (suite / "eval_cache" / "x.json").write_text("{}", encoding="utf-8")
    data = tmp_path / "benchmark_output" / "scenarios" / "boolq" / "dev.jsonl"
    data.parent.mkdir(parents=True)
    data.write_text("{}\n", encoding="utf-8")
    (tmp_path / "schema_own.yaml").write_text(
        "metric_groups: []\n"
        "run_groups:\n"
        "  - {name: boolq, display_name: BoolQ, description: Questions.,\n"
        "     environment: {main_name: exact_match, main_split: test}}\n"
        "metrics: [{name: my_metric, display_name: Mine, lower_is_better: true}]\n",
        encoding="utf-8",
    )
    (tmp_path / "model_metadata.yaml").write_text(
        "models:\n"
        "  - {name: org/model, display_name: Model 7B, creator_organization_name: Org,\n"
        "     access: limited, num_parameters: 7000000000, release_date: 2024-05-01}\n",
        encoding="utf-8",
    )
    brought = taken(tmp_path)
    assert not accounted(brought, [tmp_path])
    (run,) = brought.runs
    assert run.scenario.groups == ("boolq", "more")
    assert (run.scenario.title, run.scenario.description) == ("BoolQ", "Questions.")
    assert (run.card.title, run.card.creator) == ("Model 7B", "Org")
    assert (run.card.access, run.card.num_parameters) == ("limited", 7 * 10**9)
    assert run.card.release_date == "2024-05-01"
    reasons = {
        name.rpartition("/")[2]: w for name, w in brought.report.notes.skipped.items()
    }
    assert "cache" in reasons["x.json"]
    assert "data" in reasons["dev.jsonl"]
    assert "taken along" in reasons["schema_own.yaml"]


def test_metrics_that_mean_something_else_here_stay_as_reported(tmp_path: Path) -> None:
    """A classification with labels of its own; one that helmsite does not know."""
    spec = {
        "metric_specs": [
            {
                "class_name": "helm.ClassificationMetric",
                "args": {"labels": ["yes", "no"]},
            }
        ]
    }
    stats = [helm.stat("classification_macro_f1", 0.5), helm.stat("my_metric", 0.25)]
    folder = helm.write(
        tmp_path / "x:model=org_model",
        [helm.state(QUESTION, WIN)],
        stats=stats,
        spec=spec,
    )
    run, _, _, aggregates = one(taken(folder))
    found = {(s.metric, s.origin): s.value for s in aggregates if s.trial == -1}
    assert found["classification_macro_f1", "reported"] == 0.5
    assert found["my_metric", "reported"] == 0.25
    assert ("classification_macro_f1", "computed") not in found
    facts = {m.name: m for m in run.metrics}
    assert facts["my_metric"].family == "other"
    assert facts["my_metric"].higher_is_better is None
