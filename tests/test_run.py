"""The pipeline: whole runs, second runs, partial runs, and runs that were killed."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from msgspec import structs

from helmsite import adapters, clients
from helmsite.archive import Archive
from helmsite.clients.ngram import NGram
from helmsite.config import load_project
from helmsite.errors import ClientError, ConfigError, RunError
from helmsite.executors import LocalExecutor, RetryPolicy
from helmsite.query import Results
from helmsite.run import Choice, Runner, rescore
from helmsite.schema import Completion, MetricFacts, Score, Stat

if TYPE_CHECKING:
    from helmsite.schema import Manifest, Request

HERE = Path(__file__).parent
TIME_COLUMNS = ("duration_s", "started_at")


@pytest.fixture
def project_folder(tmp_path: Path) -> Path:
    """A project of one suite: three scenarios, one model, three trials."""
    folder = tmp_path / "project"
    (folder / "suites").mkdir(parents=True)
    (folder / "suites" / "first.yaml").write_text(
        "models: [helmsite/ngram-2]\n"
        "adapter: {max_eval_instances: 12, num_train_trials: 3}\n"
        "scenarios:\n"
        "  - knowledge\n"
        "  - scenario: knowledge:method=multiple_choice_separate_calibrated\n"
        "    adapter: {num_train_trials: 1}\n"
        "  - dyck_language:num_parenthesis_pairs=2\n",
        encoding="utf-8",
    )
    return folder


class Counting(NGram):
    """Counts requests; fails for good where told to."""

    calls: list[Any] = []
    fails: Any = staticmethod(lambda request: False)

    def complete(self, request: Request) -> list[Completion]:
        type(self).calls.append(request.key)
        if type(self).fails(request):
            raise ClientError("the model refused")
        return super().complete(request)


@pytest.fixture
def counting(monkeypatch: pytest.MonkeyPatch) -> type[Counting]:
    Counting.calls = []
    Counting.fails = staticmethod(lambda request: False)
    monkeypatch.setattr(
        clients, "create", lambda kind, name, s: Counting.from_settings(name, s)
    )
    return Counting


def make(project_folder: Path, root: Path) -> list[Manifest]:
    project = load_project(project_folder)
    policy = RetryPolicy(attempts=2, first_s=0.001)
    runner = Runner(project, Archive(str(root)), LocalExecutor(2, policy))
    return runner.run(project.suite("first"))


def rows(archive: Archive, identifier: str, name: str) -> list[dict[str, Any]]:
    """A table's rows without what may differ between two equal runs."""
    found = archive.table(identifier, name).to_pylist()
    for row in found:
        for column in TIME_COLUMNS:
            row.pop(column, None)
        if row.get("usage"):
            row["usage"].pop("cached_tokens", None)
    return [r for r in found if r.get("metric") != "inference_runtime"]


def test_a_run_is_archived_with_all_its_tables(
    project_folder: Path, tmp_path: Path
) -> None:
    archive = Archive(str(tmp_path / "runs"))
    manifests = make(project_folder, tmp_path / "runs")
    assert [m.status for m in manifests] == ["complete"] * 3
    assert archive.check() == []
    joint, separate, dyck = manifests
    assert joint.counts.asked == 12 * 3
    assert separate.counts.asked == 12 * 4 * 2
    assert dyck.counts.asked == 12 * 3
    metrics = {m.name for m in joint.metrics}
    assert {"exact_match", "inference_runtime", "ece_10_bin"} <= metrics
    stats = {(s.metric, s.trial, s.sub_split): s for s in archive.stats(joint.run_id)}
    accuracy = stats["exact_match", -1, ""]
    assert accuracy.n_scored == accuracy.n_asked == 36
    assert accuracy.value is not None


def test_a_second_run_sends_nothing_and_changes_nothing(
    project_folder: Path, tmp_path: Path, counting: type[Counting]
) -> None:
    make(project_folder, tmp_path / "runs")
    sent = len(counting.calls)
    before = {p: p.read_bytes() for p in (tmp_path / "runs").rglob("*") if p.is_file()}
    make(project_folder, tmp_path / "runs")
    after = {p: p.read_bytes() for p in (tmp_path / "runs").rglob("*") if p.is_file()}
    assert sent == 36 + 96 + 36
    assert len(counting.calls) == sent
    assert before == after


def test_a_model_that_fails_for_a_third_leaves_a_partial_run_that_says_so(
    project_folder: Path, tmp_path: Path, counting: type[Counting]
) -> None:
    counting.fails = staticmethod(lambda request: int(request.instance_id[2:]) % 3 == 0)
    manifests = make(project_folder, tmp_path / "runs")
    archive = Archive(str(tmp_path / "runs"))
    joint = manifests[0]
    assert joint.status == "partial"
    assert 0 < joint.counts.failed < joint.counts.asked
    assert joint.counts.answered + joint.counts.failed == joint.counts.asked
    stat = next(
        s
        for s in archive.stats(joint.run_id)
        if (s.metric, s.trial, s.sub_split) == ("exact_match", -1, "")
    )
    assert stat.n_asked == joint.counts.asked
    assert stat.n_scored == joint.counts.answered
    with Results(archive, load_project(project_folder).site, None) as results:
        cell = results.run(joint.run_id).summary.main
        assert (cell.n_scored, cell.n_asked) == (stat.n_scored, stat.n_asked)
        failed = [
            s
            for view in results.instances(joint.run_id)
            for trial in view.trials
            for s in trial.scores
            if s.metric == "exact_match" and s.missing == "failed"
        ]
    assert len(failed) == joint.counts.failed

    counting.fails = staticmethod(lambda request: False)
    counting.calls.clear()
    again = make(project_folder, tmp_path / "runs")
    assert [m.status for m in again] == ["complete"] * 3
    assert len(counting.calls) == sum(m.counts.failed for m in manifests)

    undisturbed = Archive(str(tmp_path / "other"))
    make(project_folder, tmp_path / "other")
    for manifest in again:
        for name in ("instances", "requests", "scores", "stats"):
            assert rows(archive, manifest.run_id, name) == rows(
                undisturbed, manifest.run_id, name
            )


def test_a_model_that_answers_nothing_stops_with_its_reason(
    project_folder: Path, tmp_path: Path, counting: type[Counting]
) -> None:
    counting.fails = staticmethod(lambda request: True)
    with pytest.raises(RunError, match="the model refused"):
        make(project_folder, tmp_path / "runs")
    assert Archive(str(tmp_path / "runs")).manifests() == ()


def test_scoring_again_needs_no_model_and_adds_a_metric(
    project_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    manifest = make(project_folder, tmp_path / "runs")[2]
    archive = Archive(str(tmp_path / "runs"))
    monkeypatch.setattr(clients, "create", None)
    before = rows(archive, manifest.run_id, "scores")
    assert rescore(archive, manifest.run_id).counts == manifest.counts
    assert rows(archive, manifest.run_id, "scores") == before
    widened = rescore(archive, manifest.run_id, ["f1_score"])
    assert "f1_score" in {m.name for m in widened.metrics}
    assert any(s.metric == "f1_score" for s in archive.scores(manifest.run_id))
    assert archive.check() == []


def test_scoring_again_keeps_what_it_cannot_compute(
    project_folder: Path, tmp_path: Path
) -> None:
    manifest = make(project_folder, tmp_path / "runs")[2]
    archive = Archive(str(tmp_path / "runs"))
    instance = archive.instances(manifest.run_id)[0].instance_id
    reported = Score(instance, "exact_match", 1.0, origin="reported")
    foreign = Score(instance, "somebodys_metric", 0.25)
    total = Stat("somebodys_metric", 0.25, split="test", n_scored=1, n_asked=1)
    facts = MetricFacts(
        "somebodys_metric", "Somebody's", "Not installed here.", "other"
    )
    archive.write_scores(
        manifest.run_id,
        [*archive.scores(manifest.run_id), reported, foreign],
        [*archive.stats(manifest.run_id), total],
        (*manifest.metrics, facts),
    )
    again = rescore(archive, manifest.run_id)
    scores = archive.scores(manifest.run_id)
    assert reported in scores
    assert foreign in scores
    assert total in archive.stats(manifest.run_id)
    assert facts in again.metrics
    assert rescore(archive, manifest.run_id).metrics == again.metrics
    assert archive.check() == []


def test_a_metric_added_to_a_suite_is_computed_without_asking_again(
    project_folder: Path, tmp_path: Path, counting: type[Counting]
) -> None:
    make(project_folder, tmp_path / "runs")
    sent = len(counting.calls)
    suite = project_folder / "suites" / "first.yaml"
    text = suite.read_text(encoding="utf-8").replace(
        "  - knowledge\n", "  - {scenario: knowledge, metrics: [f1_score]}\n", 1
    )
    suite.write_text(text, encoding="utf-8")
    joint = make(project_folder, tmp_path / "runs")[0]
    assert len(counting.calls) == sent
    assert "f1_score" in {m.name for m in joint.metrics}


def test_lasting_refusals_do_not_keep_the_rest_of_a_suite_from_running(
    project_folder: Path, tmp_path: Path, counting: type[Counting]
) -> None:
    counting.fails = staticmethod(lambda request: int(request.instance_id[2:]) % 3 == 0)
    first = make(project_folder, tmp_path / "runs")
    project = load_project(project_folder)
    runner = Runner(
        project, Archive(str(tmp_path / "runs")), LocalExecutor(2, give_up_after=3)
    )
    again = runner.run(project.suite("first"))
    assert [m.counts for m in again] == [m.counts for m in first]
    assert [m.status for m in again] == ["partial"] * 3


def test_an_old_answer_is_not_taken_for_another_prompt(
    project_folder: Path,
    tmp_path: Path,
    counting: type[Counting],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    counting.fails = staticmethod(lambda request: int(request.instance_id[2:]) % 3 == 0)
    make(project_folder, tmp_path / "runs")
    counting.fails = staticmethod(lambda request: False)
    counting.calls.clear()
    adapt = adapters.adapt

    def changed(*arguments: Any) -> list[Request]:
        return [structs.replace(r, prompt=r.prompt + "!") for r in adapt(*arguments)]

    monkeypatch.setattr(adapters, "adapt", changed)
    again = make(project_folder, tmp_path / "runs")
    assert len(counting.calls) == sum(m.counts.asked for m in again)


def test_a_request_with_one_failed_completion_is_asked_again(
    project_folder: Path, tmp_path: Path, counting: type[Counting]
) -> None:
    class Half(counting):  # type: ignore[misc, valid-type]
        def complete(self, request: Request) -> list[Completion]:
            return [*super().complete(request), Completion(error="half of it was lost")]

    project = load_project(project_folder)
    patient = LocalExecutor(give_up_after=999)
    runner = Runner(project, Archive(str(tmp_path / "runs")), patient)
    ((plans, client),) = runner.plans(
        project.suite("first"), Choice(entries=("knowledge",))
    )
    (plan,) = plans
    half = Half.from_settings("helmsite/ngram-2", {"order": 2})
    partial = runner.make(plan, half)
    assert partial.status == "partial"
    assert partial.counts.failed == partial.counts.asked
    assert runner.make(plan, client).status == "complete"
    assert len(counting.calls) == 2 * partial.counts.asked


def test_a_chosen_name_that_the_suite_does_not_have_is_an_error(
    project_folder: Path, tmp_path: Path
) -> None:
    project = load_project(project_folder)
    runner = Runner(project, Archive(str(tmp_path / "runs")))
    with pytest.raises(ConfigError) as caught:
        runner.run(
            project.suite("first"),
            Choice(models=("helmsite/ngram-2", "ngram-9"), entries=("knowlege",)),
        )
    assert len(caught.value.problems) == 2
    assert "Did you mean 'knowledge'" in str(caught.value)


def test_the_problems_of_a_suite_are_found_before_any_model_is_loaded(
    project_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clients, "create", None)
    (project_folder / "suites" / "first.yaml").write_text(
        "models: [helmsite/ngram-1]\n"
        "scenarios:\n"
        "  - knowlege\n"
        "  - dyck_language:num_pairs=2\n"
        "  - {scenario: knowledge, metrics: [exact_mach]}\n",
        encoding="utf-8",
    )
    with pytest.raises(ConfigError) as caught:
        make(project_folder, tmp_path / "runs")
    assert len(caught.value.problems) == 3
    assert "Did you mean 'knowledge'" in str(caught.value)
    assert "Did you mean 'exact_match'" in str(caught.value)


def test_the_settings_of_every_model_are_checked_before_the_first_is_loaded(
    project_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clients, "create", None)
    (project_folder / "helmsite.toml").write_text(
        '[models.a]\nclient = "llamacpp"\nsettings = {paht = "a.gguf"}\n'
        '[models.b]\nclient = "opnai"\n',
        encoding="utf-8",
    )
    (project_folder / "suites" / "first.yaml").write_text(
        "models: [helmsite/ngram-1, a, b]\nscenarios: [knowledge]\n", encoding="utf-8"
    )
    with pytest.raises(ConfigError) as caught:
        make(project_folder, tmp_path / "runs")
    text = str(caught.value)
    assert "Model 'a': unknown setting 'paht'. Did you mean 'path'" in text
    assert "Unknown client 'opnai'. Did you mean 'openai'" in text


def test_the_same_run_twice_in_a_suite_is_refused(
    project_folder: Path, tmp_path: Path
) -> None:
    suite = project_folder / "suites" / "first.yaml"
    suite.write_text(
        "models: [helmsite/ngram-1]\nscenarios: [plain_text, plain_text]\n",
        encoding="utf-8",
    )
    with pytest.raises(ConfigError, match="same run twice"):
        make(project_folder, tmp_path / "runs")


def start(project_folder: Path, root: Path, log: Path) -> subprocess.Popen[bytes]:
    words = [HERE / "killed_run.py", project_folder, root, log, "0.01"]
    return subprocess.Popen([sys.executable, *map(str, words)], stderr=subprocess.PIPE)


def test_a_run_killed_at_twenty_random_moments_ends_as_an_undisturbed_one(
    project_folder: Path, tmp_path: Path
) -> None:
    chance = random.Random(7)
    root, log = tmp_path / "killed", tmp_path / "log"
    kills = 0
    while kills < 20:
        process = start(project_folder, root, log)
        sent = len(log.read_bytes()) if log.exists() else 0
        while process.poll() is None and sent == (
            len(log.read_bytes()) if log.exists() else 0
        ):
            time.sleep(0.002)
        time.sleep(chance.uniform(0, 0.06))
        if process.poll() is not None:
            break
        process.send_signal(signal.SIGKILL)
        process.communicate()
        kills += 1
    last = start(project_folder, root, log)
    _, errors = last.communicate(timeout=120)
    assert last.returncode == 0, errors.decode()
    assert kills == 20

    calls = Counter(log.read_text(encoding="utf-8").splitlines())
    assert len(calls) == 36 + 96 + 36
    assert calls.total() - len(calls) <= kills * 2, (
        "only those under way are sent again"
    )

    make(project_folder, tmp_path / "undisturbed")
    killed = Archive(str(root))
    undisturbed = Archive(str(tmp_path / "undisturbed"))
    assert killed.check() == []
    assert [m.run_id for m in killed.manifests()] == [
        m.run_id for m in undisturbed.manifests()
    ]
    for manifest in killed.manifests():
        for name in ("instances", "requests", "scores", "stats"):
            assert rows(killed, manifest.run_id, name) == rows(
                undisturbed, manifest.run_id, name
            ), name
