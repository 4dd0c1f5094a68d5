"""HELM's files gone wrong: a message that names file and field, or a correct import."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import Phase, given, settings

from helmsite.errors import SourceError
from helmsite.importers import Aggregates, Imported, Notes, Tree, load, survey
from helmsite.schema import RunSpec, unfit
from tests import helm_folders as helm
from tests.importing import accounted, bring, mutants

GENDER: dict[str, Any] = {
    "name": "gender",
    "mode": "terms",
    "prob": 0.5,
    "robustness": False,
    "fairness": True,
    "computed_on": "perturbed",
    "seed": 1,
}
ASKED = helm.instance("id1", "Is he?", "yes", "no", sub_split="a", extra_data={"x": 1})
TWIN = {**helm.instance("id1", "Is she?", "yes", "no"), "perturbation": GENDER}
ANSWER = helm.completion(" A", thinking={"text": "hm"})
ANSWER["tokens"] = [
    {"text": " A", "logprob": -0.5, "top_logprobs": {"a": -1.0}},
    {"text": r"bytes:\xc3", "logprob": None},
]
STATES = [
    helm.state(
        ASKED,
        ANSWER,
        helm.completion(" B"),
        output_mapping={"A": "yes", "B": "no"},
        annotations={"judge": [{"score": 1}]},
        request={"random": "1", "messages": [{"role": "user", "content": "x"}]},
        result={"batch_size": 2, "batch_request_time": 1.0},
    ),
    helm.state(TWIN, ANSWER, output_mapping={"A": "yes"}),
    helm.echoed(
        ASKED,
        [helm.token("Is he?", 0.0), helm.token(" yes", -1.0)],
        "Is he? yes",
        reference_index=0,
        request_mode="calibration",
        train_trial_index=1,
    ),
    helm.state(
        helm.instance("id2", "c", "yes"), result={"success": False, "error": "no"}
    ),
]
SCORES = [
    helm.judged("id1", helm.stat("exact_match", 1), helm.stat("num_bytes", 3, 5)),
    helm.judged("id1", helm.stat("exact_match", 0), perturbation=GENDER),
]
STATS = [
    helm.stat("exact_match", 1, sub_split="a"),
    helm.stat("exact_match", 0, perturbation={**GENDER, "computed_on": "worst"}),
    helm.stat("num_instances", 1),
]
DISPLAY: dict[str, Any] = {
    "instances": [ASKED, TWIN],
    "display_requests": [
        {"instance_id": "id1", "train_trial_index": 0, "request": STATES[0]["request"]}
    ],
    "display_predictions": [
        {
            "instance_id": "id1",
            "train_trial_index": 0,
            "predicted_text": " A",
            "thinking_text": "hm",
            "stats": {"exact_match": 1.0},
        },
        {
            "instance_id": "id1",
            "perturbation": GENDER,
            "train_trial_index": 0,
            "predicted_text": " B",
            "stats": {"exact_match": 0},
        },
    ],
}
SCHEMA = {
    "metrics": [
        {"name": "exact_match", "display_name": "EM", "lower_is_better": False}
    ],
    "metric_groups": [],
    "perturbations": [{"name": "gender", "display_name": "Gender"}],
    "run_groups": [
        {
            "name": "made",
            "display_name": "Made",
            "taxonomy": {"task": "answers"},
            "environment": {"main_name": "exact_match", "main_split": "test"},
        }
    ],
    "models": [{"name": "org/model", "num_parameters": 5, "access": "open"}],
}
RUN, SHOWN = "runs/v1/x:model=org_model", "runs/v1/y:model=org_model"


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A suite of two runs, one with its state, one with files for display."""
    root = tmp_path_factory.mktemp("sound")
    scenario = {"name": "x", "description": "d", "tags": ["t"], "definition_path": "p"}
    augmented = {"perturbation_specs": [{"class_name": "G", "args": {"prob": 0.5}}]}
    helm.write(
        root / RUN,
        STATES,
        scores=SCORES,
        stats=STATS,
        scenario=scenario,
        spec={"data_augmenter_spec": augmented},
    )
    helm.write(root / SHOWN, None, stats=STATS, **DISPLAY)
    (root / "runs/v1/schema.json").write_text(json.dumps(SCHEMA), encoding="utf-8")
    return root


FILES = (
    *(f"{RUN}/{part}.json" for part in ("scenario_state", "per_instance_stats")),
    *(f"{RUN}/{part}.json" for part in ("stats", "run_spec", "scenario")),
    *(f"{SHOWN}/{part}.json" for part in ("display_predictions", "display_requests")),
    *(f"{SHOWN}/instances.json", "runs/v1/schema.json"),
)


def copied(sound: Path, root: Path, name: str, blob: bytes) -> None:
    """Copy the run that a file belongs to, with the file changed."""
    folder = name.rpartition("/")[0]
    run = folder if folder in {RUN, SHOWN} else RUN
    shutil.copytree(sound / run, root / run)
    (root / name).write_bytes(blob)


@pytest.mark.parametrize("name", FILES)
def test_a_file_gone_wrong_ends_in_a_message_or_is_read(sound: Path, name: str) -> None:
    raw = (sound / name).read_bytes()

    @settings(max_examples=60, deadline=None, derandomize=True)
    @given(mutants(raw))
    def check(blob: bytes) -> None:
        with tempfile.TemporaryDirectory() as place:
            copied(sound, Path(place), name, blob)
            notes = Notes()
            made: list[Imported | Aggregates] = []
            found = list(survey(Tree([Path(place)], notes), notes, ["helm"]))
            for each in found:
                try:
                    made += load("helm").read(each, notes)
                except SourceError as error:
                    notes.problem(error)
            told = [str(problem) for problem in notes.problems]
            assert all(line.startswith("runs/v1/") for line in told)
            assert made or told or name in notes.skipped
            for run in made:
                if isinstance(run, Imported):
                    assert not any(unfit([r.completion]) for r in run.replies)
                    assert not unfit_spec(run.spec)

    check()


@pytest.mark.parametrize("name", FILES)
def test_a_file_gone_wrong_leaves_nothing_half_written(sound: Path, name: str) -> None:
    raw = (sound / name).read_bytes()

    @settings(max_examples=5, deadline=None, derandomize=True, phases=[Phase.generate])
    @given(mutants(raw))
    def check(blob: bytes) -> None:
        with tempfile.TemporaryDirectory() as place:
            root, archive = Path(place) / "helm", Path(place) / "archive"
            copied(sound, root, name, blob)
            brought = bring([root], archive)
            assert not accounted(brought, [root])
            assert not brought.archive.check()
            assert not list(archive.glob("_incoming/*"))

    check()


def unfit_spec(spec: RunSpec) -> bool:
    """Whether a spec does not come back from JSON as it went in."""
    return msgspec.json.decode(msgspec.json.encode(spec), type=RunSpec) != spec


def test_a_state_that_is_broken_leaves_the_statistics(
    sound: Path, tmp_path: Path
) -> None:
    shutil.copytree(sound / RUN, tmp_path / RUN)
    path = tmp_path / RUN / "scenario_state.json"
    path.write_bytes(path.read_bytes()[:500])
    brought = bring([tmp_path / "runs"], tmp_path / "archive")
    (problem,) = brought.report.notes.problems
    assert problem.file.endswith("scenario_state.json")
    assert "ends in the middle" in problem.why or "unterminated" in problem.why
    assert brought.report.cells == {"v1": 3}


def test_one_bad_request_costs_itself_alone(tmp_path: Path) -> None:
    bad = helm.state(helm.instance("id3", "d", "yes"), helm.completion(" x"))
    bad["request"]["prompt"] = 3
    folder = helm.write(tmp_path / "x:model=org_model", [*STATES, bad], scores=SCORES)
    brought = bring([folder], tmp_path / "archive")
    (problem,) = brought.report.notes.problems
    assert str(problem) == (
        "scenario_state.json: request_states[4].request.prompt: expected a text, got 3."
    )
    (run,) = brought.runs
    scores = brought.archive.scores(run.run_id)
    own = [s for s in scores if (s.instance_id, s.metric) == ("id3", "exact_match")]
    assert {(s.value, s.missing) for s in own} == {(None, "not asked")}


def test_many_problems_of_a_file_are_counted(tmp_path: Path) -> None:
    states = [helm.state(helm.instance(f"id{n}", "d"), ANSWER) for n in range(60)]
    for state in states[1:]:
        state["request"]["prompt"] = 3
    folder = helm.write(tmp_path / "x:model=org_model", states)
    problems = bring([folder], tmp_path / "archive").report.notes.problems
    assert len(problems) == 21
    assert problems[-1].why.startswith("39 more problems")


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_numbers_that_are_none(tmp_path: Path, value: str) -> None:
    """They are missing, and written out among what else is said."""
    answer = helm.completion(" A", 12345.5)
    scores = [helm.judged("id1", helm.stat("exact_match", 12345.5))]
    folder = helm.write(
        tmp_path / "x:model=org_model", [helm.state(ASKED, answer)], scores=scores
    )
    for path in folder.glob("*.json"):
        path.write_text(path.read_text().replace("12345.5", value), encoding="utf-8")
    brought = bring([folder], tmp_path / "archive")
    assert not brought.report.notes.problems
    (run,) = brought.runs
    (reply,) = brought.archive.replies(run.run_id)
    done = reply.completion
    assert (done.logprob, done.token_logprobs) == (None, (None,))
    shown = {"NaN": "NaN", "-Infinity": "-Infinity"}.get(value, "Infinity")
    assert (done.extra["logprob"], done.extra["token_logprobs"]) == (shown, [shown])
    (score,) = [s for s in brought.archive.scores(run.run_id) if s.origin == "reported"]
    assert (score.value, score.missing) == (None, "nan")


def test_halves_of_characters_are_written_out(tmp_path: Path) -> None:
    answer = helm.completion("\ud800")
    folder = helm.write(tmp_path / "x:model=org_model", [helm.state(ASKED, answer)])
    brought = bring([folder], tmp_path / "archive")
    (run,) = brought.runs
    (reply,) = brought.archive.replies(run.run_id)
    assert reply.completion.text == r"\ud800"
    assert reply.completion.tokens == (r"\ud800",)


def test_an_instance_asked_twice_and_one_that_differs(tmp_path: Path) -> None:
    """The same request again is told of; another instance of one id is kept apart."""
    other = helm.instance("id1", "Something else", "yes")
    states = [STATES[0], STATES[0], helm.state(other, ANSWER)]
    folder = helm.write(tmp_path / "x:model=org_model", states)
    brought = bring([folder], tmp_path / "archive")
    (problem,) = brought.report.notes.problems
    assert "asked twice" in problem.why
    (run,) = brought.runs
    names = [i.instance_id for i in brought.archive.instances(run.run_id)]
    assert names == ["id1", "id1#2"]
