"""Run entries: HELM's strings as they are, which models and runs they mean."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from helmsite.config import ModelConfig, Project, Suite, SuiteEntry, builtin_suite
from helmsite.errors import ConfigError, HelmsiteError
from helmsite.run import Choice
from helmsite.run.choice import choose
from helmsite.run.definitions import Definitions
from helmsite.run.planner import Library, Planner, limited
from helmsite.scenarios.loading import choose as scenario_of
from helmsite.schema import AdapterSpec, LoadedScenario, ModelCard, preset
from helmsite.schema.entries import RunEntry, as_entry, read_entry
from tests.conftest import SHARED
from tests.entry_facts import entries, planned

if TYPE_CHECKING:
    from pathlib import Path

TEXT = ("TEXT_MODEL_TAG", "FULL_FUNCTIONALITY_TEXT_MODEL_TAG")
LIMITED = ("TEXT_MODEL_TAG", "LIMITED_FUNCTIONALITY_TEXT_MODEL_TAG")
CODE = ("CODE_MODEL_TAG",)
EVERY = list(entries())
SWEPT = "tokenizer=default"  # of the model that is run, so no scenario by itself


class Bare(Library):
    """Scenarios without instances: plans need none."""

    def load(self, entry: str) -> LoadedScenario:
        return planned(entry)


def project(**tags: tuple[str, ...]) -> Project:
    models = {
        f"lab/{name}": ModelConfig(
            f"lab/{name}", "ngram", ModelCard(f"lab/{name}", tags=of)
        )
        for name, of in tags.items()
    }
    return Project(".", "runs", models=models)


def suite(*listed: str | SuiteEntry, **settings: Any) -> Suite:
    made = [SuiteEntry(e) if isinstance(e, str) else e for e in listed]
    return Suite("s", tuple(made), **settings)


def read(entry: str) -> RunEntry:
    name = read_entry(entry).scenario.partition(":")[0]
    return read_entry(entry, Definitions(project()).parameters(name))


def adapters(entry: str | SuiteEntry, choice: Choice | None = None) -> list[Any]:
    """Return the adapter and the perturbations of each run of an entry, as planned."""
    there = project(a=(*TEXT, *CODE))
    one, chosen = suite(entry), choice or Choice(models=("lab/a",))
    planner = Planner(there, one, chosen, Bare(there))
    (setup,) = choose(one, chosen, there)["lab/a"]
    scenario = planner._scenario(setup)
    card = there.model("lab/a").card
    return [
        (spec, [p.name for p in found])
        for spec in planner._adapters(setup, scenario, card)
        for found in planner._perturbations(setup, scenario)
    ]


@pytest.mark.skipif(not EVERY, reason="needs the reference folder ../shared")
@pytest.mark.parametrize("entry", [e for e, _, _ in EVERY if SWEPT not in e])
def test_every_entry_of_helm_classic_is_a_run_of_a_scenario(entry: str) -> None:
    run = read(entry)
    assert scenario_of(run.scenario).name
    assert adapters(entry)


@pytest.mark.parametrize(("entry", "name"), [(e, n) for e, n, _ in EVERY if n])
def test_the_name_of_a_run_of_helm_means_what_its_entry_means(
    entry: str, name: str
) -> None:
    if SWEPT in entry:
        pytest.skip("its name tells no parameters")
    meant, written = scenario_of(read(name).scenario), scenario_of(read(entry).scenario)
    assert meant.name == written.name


@pytest.mark.parametrize(
    "path", sorted((SHARED / "facts" / "helm_golden").glob("*.json")), ids=str
)
def test_the_runs_of_the_golden_files_are_entries(path: Path) -> None:
    spec = json.loads(path.read_text(encoding="utf-8"))["run_spec"]
    assert scenario_of(read(spec).scenario).name


@pytest.mark.skipif(not EVERY, reason="needs the reference folder ../shared")
def test_the_built_in_suite_is_helm_classic_with_its_priorities() -> None:
    classic = builtin_suite("helm_classic")
    assert classic is not None

    def told(entry: str) -> tuple[str, str, str]:
        run = read(entry)
        name = run.scenario if SWEPT in entry else scenario_of(run.scenario).name
        return name, run.model, run.augmentation

    ours = [(told(e.scenario), e.priority) for e in classic.scenarios]
    facts = [(told(entry), p) for entry, _, p in EVERY if p is not None]
    assert sorted(ours) == sorted(facts)
    groups = {e.groups for e in classic.scenarios if "contrast_sets" in e.scenario}
    assert groups == {("robustness_contrast_sets",)}


@pytest.mark.parametrize(
    ("text", "entry"),
    [
        ("gsm", "gsm"),
        ("dyck_language_np=3", "dyck_language:num_parenthesis_pairs=3"),
        (
            "dyck_language_np=3:model=a_b,max_eval_instances=2",
            "dyck_language:num_parenthesis_pairs=3,model=a_b,max_eval_instances=2",
        ),
        ("legal_support,method=m:model=a_b", "legal_support:method=m,model=a_b"),
        ("boolq,data_augmentation=c:model=a", "boolq:data_augmentation=c,model=a"),
        (
            "disinfo:type=reiteration,topic=climate",
            "disinformation:capability=reiteration,topic=climate",
        ),
        ("the_pile:subset=Wikipedia (en)", "the_pile:subset=Wikipedia (en)"),
    ],
)
def test_names_of_helm_become_entries(text: str, entry: str) -> None:
    assert as_entry(text) == entry


def test_an_entry_says_what_is_the_scenarios_and_what_is_the_runs() -> None:
    assert read_entry(
        "mmlu:subject=anatomy,method=multiple_choice_joint,model=text,max_train_instances=0"
        ",data_augmentation=canonical,groups=a-b,device=cpu"
    ) == RunEntry(
        scenario="mmlu:method=multiple_choice_joint,subject=anatomy",
        expanders=(("max_train_instances", "0"),),
        model="text",
        augmentation="canonical",
        groups=("a", "b"),
    )


def test_what_is_a_parameter_of_the_scenario_stays_one() -> None:
    run = read_entry(
        "s:temperature=0.3,model=x,stop=hash", own=["temperature", "model"]
    )
    assert run.scenario == "s:model=x,temperature=0.3"
    assert run.expanders == (("stop", "hash"),)
    assert run.model == ""


def test_sweeps_of_a_scenarios_own_parameters_are_scenarios_of_their_own() -> None:
    cards = {
        name: ModelCard(name, tokenizer=tokenizer)
        for name, tokenizer in (("l/a", "huggingface/gpt2"), ("l/b", "meta/opt"))
    }
    models = {name: ModelConfig(name, "ngram", card) for name, card in cards.items()}
    there = Project(".", "runs", models=models)
    given = suite(
        "synthetic_efficiency:model=text,tokenizer=default"
        ",num_prompt_tokens=default_sweep,num_output_tokens=default_sweep"
    )
    chosen = choose(given, Choice(models=("l/a", "l/b")), there)
    for name, of in chosen.items():
        scenarios = {scenario_of(setup.run.scenario).name for setup in of}
        assert len(scenarios) == len(of) == 5
        assert {s.run.expanders for s in of} == {
            (("num_output_tokens", "default_sweep"),)
        }
        assert all(f"tokenizer={cards[name].tokenizer}" in s for s in scenarios)


def test_an_expander_of_metrics_is_refused_with_its_reason() -> None:
    with pytest.raises(ConfigError, match="process_output=x is not possible: it"):
        read_entry("gsm:process_output=x")


def test_expanders_sweeps_and_limits_come_in_helms_order() -> None:
    made = adapters(
        SuiteEntry(
            "gsm:max_train_instances=all,increase_max_tokens=5",
            adapter={"max_tokens": 10},
        ),
        Choice(models=("lab/a",), max_eval_instances=7, num_train_trials=3),
    )
    assert [
        (spec.max_train_instances, spec.num_train_trials, spec.max_tokens)
        for spec, _ in made
    ] == [(0, 1, 15), *((n, 3, 15) for n in (1, 2, 4, 8, 16))]
    assert {spec.max_eval_instances for spec, _ in made} == {7}


def test_a_limit_of_the_command_line_yields_to_one_that_is_set() -> None:
    spec = AdapterSpec(method="generation", max_eval_instances=5)
    choice = Choice(max_eval_instances=100, num_train_trials=2)
    assert limited(spec, choice).max_eval_instances == 5
    assert limited(spec, choice).num_train_trials == 2
    assert limited(preset("language_modeling"), choice).num_train_trials == 1


def test_perturbations_come_from_the_entry_else_the_suite_else_the_scenario() -> None:
    canonical = [
        "mild_mix",
        "dialect(prob=1.0)",
        "gender(mode=pronouns,prob=1.0)",
        "person_name(prob=1.0)",
    ]
    of_entry = SuiteEntry("boolq:data_augmentation=canonical", perturbations=("lower",))
    assert [names for _, names in adapters(of_entry)] == [canonical]
    beside = SuiteEntry("boolq", perturbations=("robustness", "typos(prob=0.1)"))
    assert [n for _, n in adapters(beside)] == [["mild_mix", "typos(prob=0.1)"]]
    swept = adapters("boolq:data_augmentation=misspelling_sweep")
    assert [names for _, names in swept] == [
        [f"misspellings(prob={p})"] for p in (0.0, 0.05, 0.2, 0.5)
    ]
    assert [names for _, names in adapters("boolq")] == [[]]


@pytest.mark.parametrize(
    ("group", "members"),
    [
        ("text", {"full", "short", "plain"}),
        ("code", {"code", "plain"}),
        ("text_code", {"full", "short", "code", "plain"}),
        ("full_functionality_text", {"full", "plain"}),
        ("limited_functionality_text", {"short", "plain"}),
        ("ablation_text", {"short", "plain"}),
        ("all", {"full", "short", "code", "plain"}),
        ("biomedical", {"full", "short", "code", "plain"}),
    ],
)
def test_groups_of_models_go_by_tags_and_take_what_has_none(
    group: str, members: set[str]
) -> None:
    there = project(
        full=TEXT, short=(*LIMITED, "ABLATION_MODEL_TAG"), code=CODE, plain=()
    )
    chosen = choose(
        suite(f"gsm:model={group}"), Choice(models=tuple(there.models)), there
    )
    assert {name.removeprefix("lab/") for name in chosen} == members


def test_an_entry_that_names_a_model_is_for_that_one() -> None:
    there = project(a=TEXT, b=TEXT)
    both = suite("gsm:model=lab/a", "gsm:model=lab_b")
    assert set(choose(both, Choice(), there)) == {"lab/a", "lab/b"}
    assert set(choose(both, Choice(models=("lab/b",)), there)) == {"lab/b"}


@pytest.mark.parametrize(
    ("listed", "choice", "message"),
    [
        (("gsm",), Choice(), "Which models? 'gsm' names none"),
        (("gsm:model=txt",), Choice(models=("lab/a",)), "no model or group 'txt'"),
        (("gsm:model=code",), Choice(models=("lab/a",)), "has no run for the chosen"),
        (("gsm",), Choice(models=("lab/a",), groups=("x",)), "for the chosen groups"),
        (
            ("gsm:data_augmentation=cannonical",),
            Choice(models=("lab/a",)),
            "Did you mean 'canonical'",
        ),
        (
            ("gsm:data_augmentation=hindi",),
            Choice(models=("lab/a",)),
            "is not available: it translates",
        ),
        (
            ("gsm:data_augmentation=cannonical", "gsm:model=txt", "boolq:model=tx"),
            Choice(models=("lab/a",)),
            "docs/perturbations.md lists them.\ngsm:model=txt: no model",
        ),
    ],
)
def test_what_cannot_be_chosen_is_told(
    listed: tuple[str, ...], choice: Choice, message: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        choose(suite(*listed), choice, project(a=TEXT))
    assert message in str(caught.value)


def test_priorities_and_groups_choose_entries() -> None:
    there = project(a=TEXT)
    given = suite(
        SuiteEntry("gsm", priority=2),
        SuiteEntry("boolq", priority=3, groups=("mine",)),
        SuiteEntry("babi_qa:task=all"),
        models=("lab/a",),
    )

    def labels(choice: Choice) -> list[str]:
        return [s.label for of in choose(given, choice, there).values() for s in of]

    assert labels(Choice(priority=2)) == ["gsm", "babi_qa:task=all"]
    assert labels(Choice(priority=1)) == ["babi_qa:task=all"]
    assert labels(Choice(groups=("mine",))) == ["boolq"]
    assert labels(Choice(groups=("babi_qa", "gsm"))) == ["gsm", "babi_qa:task=all"]


def test_the_groups_that_an_entry_adds_are_told_of_its_scenario() -> None:
    there = project(a=TEXT)
    given = suite(SuiteEntry("gsm:groups=x-y", groups=("mine",)), models=("lab/a",))
    planner = Planner(there, given, Choice(), Bare(there))
    (setup,) = choose(given, Choice(), there)["lab/a"]
    scenario = planner._scenario(setup)
    assert scenario.facts.groups[-3:] == ("mine", "x", "y")
    assert scenario.facts.name == "gsm"


def test_wrong_values_of_all_entries_are_told_at_once() -> None:
    there = project(a=TEXT)
    given = suite(
        "gsm:stop=hsh",
        "gsm:max_train_instances=-1",
        "knowledge:eval_split=valdi",
        models=("lab/a",),
    )
    planner = Planner(there, given, Choice(), Bare(there))
    with pytest.raises(HelmsiteError) as caught:
        planner.chosen()
    told = str(caught.value)
    assert "Did you mean 'hash'" in told
    assert "max_train_instances" in told
    assert "eval_split=valdi" in told
    assert told.count("→") == 3  # a hint for each
    assert "Values of stop: none, hash, semicolon, br.\n" in told
