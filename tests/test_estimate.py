"""`helmsite run` on run entries: what would run, what it costs, and what it does."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from msgspec import structs

from helmsite import adapters, clients, scenarios
from helmsite.archive import Archive
from helmsite.cli import main
from helmsite.config import Suite, SuiteEntry, load_project
from helmsite.errors import ConfigError
from helmsite.run import Choice, Runner
from helmsite.run.estimate import Estimator, Load, RoughTokenizer
from helmsite.run.planner import Library

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result

    from helmsite.schema import Request

PRICED = """
[models."lab/big"]
client = "llamacpp"
settings = { path = "no-such-file.gguf", n_ctx = 512 }
prices = { input_per_million = 2, output_per_million = 10 }
[models."lab/bigger"]
client = "llamacpp"
settings = { path = "no-such-file.gguf", n_ctx = 512 }
"""


def helmsite(*words: object) -> Result:
    return CliRunner().invoke(main, [str(w) for w in words])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "helmsite.toml").write_text(PRICED)
    return tmp_path


def estimator(folder: Path, entries: list[str], choice: Choice) -> Estimator:
    project = load_project(folder)
    runner = Runner(project, Archive(project.archive), offline=True)
    suite = Suite("default", tuple(map(SuiteEntry, entries)))
    return Estimator(runner, suite, choice)


def test_run_entries_are_run_as_a_suite_of_their_own(folder: Path) -> None:
    words = ("knowledge:max_train_instances=0", "dyck_language_np=2", "-p", folder)
    limits = ("--max-eval-instances", 4, "--num-train-trials", 2)
    dry = helmsite("run", *words, *limits, "-m", "helmsite/ngram-1", "-n")
    assert "4 of 4 requests to send" in dry.output
    assert "8 of 8 requests to send" in dry.output
    assert "helmsite/ngram-1: 12 requests" in dry.output
    assert "no price known" in dry.output
    made = helmsite("run", *words, *limits, "-m", "helmsite/ngram-1", "--suite", "v1")
    assert made.exit_code == 0
    assert "2 runs: 2 made" in made.output
    archive = Archive(str(folder / "runs"))
    assert {m.suite for m in archive.manifests()} == {"v1"}
    assert {m.scenario.name for m in archive.manifests()} == {
        "knowledge",
        "dyck_language:num_parenthesis_pairs=2",
    }
    again = helmsite(
        "run", *words, *limits, "-m", "helmsite/ngram-1", "--suite", "v1", "-n"
    )
    assert again.output.count("complete, nothing to do") == 2


def test_an_instance_is_followed_by_its_perturbed_versions(folder: Path) -> None:
    entry = "knowledge:data_augmentation=robustness"
    choice = Choice(models=("helmsite/ngram-1",), max_eval_instances=5)
    project = load_project(folder)
    runner = Runner(project, Archive(project.archive))
    (manifest,) = runner.run(Suite("v", (SuiteEntry(entry),)), choice)
    assert [p.name for p in manifest.perturbations] == ["mild_mix"]
    assert [p.partition("#")[0] for p in manifest.spec.perturbations] == ["mild_mix"]
    kept = runner.archive.instances(manifest.run_id)
    originals = [i.instance_id for i in kept if not i.perturbation]
    twins = [i.instance_id for i in kept if i.perturbation]
    assert len(originals) == 5
    assert twins
    assert set(twins) <= set(originals)
    stats = runner.archive.stats(manifest.run_id)
    worst = [s for s in stats if s.computed_on == "worst" and s.metric == "exact_match"]
    assert worst
    assert manifest.counts.asked == len(kept)


def test_each_seed_makes_a_version_of_an_instance(folder: Path) -> None:
    mild = SuiteEntry("knowledge", perturbations=("mild_mix",), seeds_per_instance=3)
    plain = structs.replace(mild, seeds_per_instance=None)
    suite = Suite("v", (mild, plain))
    choice = Choice(models=("helmsite/ngram-1",), max_eval_instances=5)
    project = load_project(folder)
    runner = Runner(project, Archive(project.archive))
    told, single = Estimator(runner, suite, choice).estimates()
    assert told.perturbations == ("mild_mix", "mild_mix~1", "mild_mix~2")
    assert single.perturbations == ("mild_mix",)
    made, one = runner.run(suite, choice)
    assert made.counts.asked == told.requests > one.counts.asked == single.requests
    assert [p.name for p in made.perturbations] == list(told.perturbations)
    assert [p.partition("#")[0] for p in made.spec.perturbations] == list(
        told.perturbations
    )
    kept = runner.archive.instances(made.run_id)
    by_seed = Counter(i.perturbation for i in kept)
    assert by_seed[""] == 5
    assert set(by_seed) == {"", *told.perturbations}
    texts = {i.input for i in kept if i.instance_id == kept[0].instance_id}
    assert len(texts) > 2
    stats = runner.archive.stats(made.run_id)
    assert {s.perturbation for s in stats} >= set(told.perturbations)
    assert any(s.computed_on == "worst" and s.n_asked == 5 for s in stats)
    with pytest.raises(ConfigError, match="lists the same run twice"):
        runner.run(structs.replace(suite, seeds_per_instance=3), choice)


def test_no_weights_are_loaded_to_say_what_a_run_would_cost(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clients, "create", None)
    choice = Choice(models=("lab/big", "lab/bigger"), max_eval_instances=10)
    found = list(estimator(folder, ["knowledge", "plain_text"], choice).estimates())
    assert [e.model for e in found] == ["lab/big"] * 2 + ["lab/bigger"] * 2
    joint, text = found[:2]
    assert joint.requests == joint.open.requests == 10
    assert joint.open.completion_tokens == 10
    assert 200 < joint.open.prompt_tokens < 10 * 512
    assert not joint.counted
    cost = joint.open.cost(joint.prices)
    expected = (2 * joint.open.prompt_tokens + 10 * 10) / 1_000_000
    assert cost == pytest.approx(expected)
    assert text.open.completion_tokens == 0
    assert found[2].open == joint.open
    assert found[2].prices is None


def test_prompts_of_several_models_are_made_once(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []
    adapt = adapters.adapt

    def counted(*arguments: Any) -> list[Request]:
        made.append(arguments)
        return adapt(*arguments)

    monkeypatch.setattr(adapters, "adapt", counted)
    choice = Choice(models=("lab/big", "lab/bigger"), max_eval_instances=10)
    list(estimator(folder, ["knowledge"], choice).estimates())
    assert len(made) == 1


def test_the_command_line_tells_prices_and_how_tokens_were_counted(
    folder: Path,
) -> None:
    result = helmsite(
        *("run", "knowledge", "-p", folder, "-m", "lab/big"),
        *("-m", "helmsite/ngram-1", "--max-eval-instances", 10, "-n"),
    )
    assert result.exit_code == 0
    of_big, of_ngram = result.output.splitlines()[-3:-1]
    assert "prompt tokens (4 characters a token)" in of_big
    assert of_big.endswith("USD")
    assert "about" not in of_ngram
    assert "Would send 20 requests. Nothing was sent." in result.output


def test_missing_data_is_told_and_can_be_left_out(folder: Path) -> None:
    words = ("run", "boolq", "knowledge", "-p", folder, "-m", "helmsite/ngram-1")
    limits = ("--max-eval-instances", 2, "--offline")
    dry = helmsite(*words, *limits, "-n")
    assert dry.exit_code == 2
    assert "No data for boolq" in dry.output
    assert "helmsite fetch boolq" in dry.output
    assert "· knowledge ·" in dry.output
    refused = helmsite(*words, *limits)
    assert refused.exit_code == 2
    assert not (folder / "runs").exists()
    made = helmsite(*words, *limits, "--skip-missing")
    assert made.exit_code == 0
    assert "1 runs: 1 made" in made.output
    assert "No data for boolq" in made.output


def test_a_missing_word_list_is_missing_data(folder: Path) -> None:
    dry = helmsite(
        *("run", "knowledge:data_augmentation=fairness", "-p", folder),
        *("-m", "helmsite/ngram-1", "-n"),
    )
    assert dry.exit_code == 2
    assert "word list" in dry.output


def test_a_word_that_is_neither_suite_nor_scenario_is_told(folder: Path) -> None:
    result = helmsite("run", "knwledge", "-p", folder)
    assert result.exit_code == 2
    assert "There is no suite 'knwledge'" in result.output
    assert "Did you mean 'knowledge'?" in result.output


def test_a_built_in_suite_runs_by_name_priority_and_group(folder: Path) -> None:
    result = helmsite(
        *("run", "helm_classic", "-p", folder, "-m", "helmsite/ngram-1", "-n"),
        *("--priority", 2, "-g", "synthetic_reasoning_natural"),
        *("--max-eval-instances", 2, "--suite", "v2"),
    )
    assert result.exit_code == 0
    assert result.output.count("2 of 2 requests to send") == 2
    refused = helmsite("run", "helm_classic", "-p", folder, "-g", "gsm")
    assert "names none" in refused.output


def test_a_file_of_helms_run_entries_is_run(folder: Path) -> None:
    path = folder / "run_entries.conf"
    path.write_text('entries: [{description: "knowledge:model=text", priority: 3}]')
    words = ("run", "--conf", path, "-p", folder, "-m", "helmsite/ngram-1", "-n")
    assert "· knowledge ·" in helmsite(*words).output
    assert helmsite(*words, "--priority", 2).exit_code == 2


def test_the_rough_tokeniser_gives_back_its_text() -> None:
    rough = RoughTokenizer()
    for text in ("", "abc", "The quick brown fox", "ĳ" * 9):
        ids = rough.encode(text)
        assert rough.decode(ids) == text
        assert len(ids) == -(-len(text) // 4)


def test_loads_add_up() -> None:
    total = Load(1, 10, 5) + Load(2, 20, 0)
    assert total == Load(3, 30, 5)
    assert total.cost(None) is None


def test_two_entries_of_one_run_are_refused_before_a_model_is_loaded(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clients, "create", None)
    project = load_project(folder)
    runner = Runner(project, Archive(project.archive))
    suite = Suite("v", tuple(map(SuiteEntry, ("knowledge", "knowledge:model=all"))))
    with pytest.raises(ConfigError, match="lists the same run twice"):
        runner.run(suite, Choice(models=("helmsite/ngram-1",)))


def test_scenarios_are_loaded_once_for_all_models(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = []
    load = scenarios.load

    def counted(entry: str, *rest: Any) -> Any:
        loaded.append(entry)
        return load(entry, *rest)

    monkeypatch.setattr(scenarios, "load", counted)
    project = load_project(folder)
    runner = Runner(project, Archive(project.archive))
    choice = Choice(
        models=("helmsite/ngram-1", "helmsite/ngram-2"), max_eval_instances=2
    )
    entries = ("knowledge", "knowledge:max_train_instances=0", "plain_text")
    suite = Suite("v", tuple(map(SuiteEntry, entries)))
    assert len(runner.run(suite, choice)) == 6
    assert loaded == ["knowledge", "plain_text"]


def test_scenarios_beyond_the_room_are_loaded_again(folder: Path) -> None:
    library = Library(load_project(folder), offline=True)
    first = library.load("knowledge")
    library.room = len(first.instances)
    assert library.load("knowledge") is first
    library.load("dyck_language:num_parenthesis_pairs=2")
    assert library.load("knowledge") is not first
