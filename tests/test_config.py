"""Projects, suites and models: read strictly, every problem at once."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

import msgspec
import pytest
from msgspec import structs

from helmsite.config import load_project
from helmsite.errors import ConfigError
from helmsite.schema import (
    AdapterSpec,
    Contamination,
    Instance,
    LoadedScenario,
    ScenarioFacts,
    adapter_spec,
    adapting,
    matches_entry,
    override_adapter,
    preset,
    textfile,
)

if TYPE_CHECKING:
    from pathlib import Path


def write(folder: Path, name: str, text: str) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def test_a_folder_without_settings_is_a_project_with_defaults(tmp_path: Path) -> None:
    project = load_project(tmp_path)
    assert project.archive == str(tmp_path / "runs")
    assert project.suites == {}
    assert project.model("helmsite/ngram-3").client == "ngram"


def test_every_problem_of_every_file_is_reported_at_once(tmp_path: Path) -> None:
    write(
        tmp_path,
        "helmsite.toml",
        '[site]\ntitel = "x"\nsize_budget_mb = "big"\n[models.a]\nclent = "fake"\n',
    )
    write(tmp_path, "suites/one.yaml", "models: [helmsite/ngram-4]\nscenarios: [a]\n")
    write(
        tmp_path,
        "suites/two.yaml",
        "models: []\nscenarios: [{scenario: b, adapter: {max_tokens: x, methd: 3}}]\n",
    )
    write(tmp_path, "suites/three.yaml", "models: [\n")
    with pytest.raises(ConfigError) as caught:
        load_project(tmp_path)
    text = str(caught.value)
    for expected in (
        "helmsite.toml: unknown setting 'site.titel'. Did you mean 'title'?",
        "helmsite.toml: 'site.size_budget_mb': expected `int`, got `str`.",
        "helmsite.toml: unknown setting 'models.a.clent'. Did you mean 'client'",
        "helmsite.toml: 'models.a.client' is missing.",
        "one.yaml:1: unknown model 'helmsite/ngram-4'. Did you mean",
        "two.yaml:2: unknown setting 'scenarios[0].adapter.methd'. Did you mean 'method'",
        "two.yaml:2: 'scenarios[0].adapter.max_tokens': expected `int`, got `str`.",
        "three.yaml:2: not valid YAML",
        "nothing was run or written",
    ):
        assert expected in text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[site\n", "cannot be read as TOML"),
        (f"site = {'[' * 2000}{']' * 2000}\n", "as TOML: too deeply nested"),
        (f"site = {'{a=' * 2000}1{'}' * 2000}\n", "as TOML: too deeply nested"),
        ("[scenarios]\ndata = 'x'\n", "'scenarios.data': expected `array`"),
        ('archive = "runs"\n', "must be a table of settings, not text"),
        ("site = 3\n", "must be a table of settings, not a number"),
        ('[models.a]\nclient = "fake"\naccess = "secret"\n', "'models.a.access': "),
    ],
)
def test_a_broken_settings_file_says_where(
    tmp_path: Path, text: str, expected: str
) -> None:
    write(tmp_path, "helmsite.toml", text)
    with pytest.raises(ConfigError, match=r"helmsite\.toml") as caught:
        load_project(tmp_path)
    assert expected in str(caught.value)


def test_files_are_utf_8_with_or_without_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "helmsite.toml"
    path.write_bytes(b'\xef\xbb\xbf[site]\ntitle = "\xc3\x84"\n')
    assert load_project(tmp_path).site.title == "Ä"
    path.write_bytes(b'[site]\ntitle = "\xc4"\n')
    with pytest.raises(ConfigError, match="not UTF-8: a wrong byte at offset 16"):
        load_project(tmp_path)
    with path.open("wb") as file:
        file.truncate(textfile.LARGEST + 1)
    with pytest.raises(ConfigError, match="larger than 10,000,000 bytes"):
        load_project(tmp_path)


def test_a_suite_is_named_by_its_file_and_lists_entries_or_tables(
    tmp_path: Path,
) -> None:
    write(
        tmp_path,
        "suites/first.yaml",
        "models: [helmsite/ngram-1]\n"
        "scenarios:\n  - a\n  - {scenario: b, repeat: again, adapter: {max_tokens: 2}}\n",
    )
    suite = load_project(tmp_path).suite("first")
    assert [e.scenario for e in suite.scenarios] == ["a", "b"]
    assert suite.scenarios[1].repeat == "again"


def test_an_unknown_suite_or_model_is_suggested(tmp_path: Path) -> None:
    write(tmp_path, "suites/first.yaml", "models: [helmsite/ngram-1]\nscenarios: [a]\n")
    project = load_project(tmp_path)
    with pytest.raises(ConfigError, match="Did you mean 'first'"):
        project.suite("frist")
    with pytest.raises(ConfigError, match="Did you mean 'helmsite/ngram-3'"):
        project.model("helmsite/ngram3")


def test_a_project_may_use_a_remote_archive(tmp_path: Path) -> None:
    write(tmp_path, "helmsite.toml", '[archive]\nroot = "s3://bucket/runs"\n')
    assert load_project(tmp_path).archive == "s3://bucket/runs"


def made_for(*specs: AdapterSpec) -> LoadedScenario:
    return LoadedScenario(
        facts=ScenarioFacts("s"),
        adapter=specs[0],
        metrics=(),
        instances=(Instance("id0", "x", split="test"),),
        methods={spec.method: spec for spec in specs},
    )


JOINT = preset(
    "multiple_choice_joint", instructions="Choose.", input_noun="Q", output_noun="A"
)
SEPARATE = structs.replace(
    preset("multiple_choice_separate_original"), input_prefix="Question: "
)


def test_the_scenarios_own_method_keeps_its_settings() -> None:
    changes = {"method": "multiple_choice_joint", "max_eval_instances": 5}
    changed = override_adapter(made_for(JOINT, SEPARATE), changes)
    assert changed == structs.replace(JOINT, max_eval_instances=5)


def test_another_method_starts_from_what_the_scenario_says_for_it() -> None:
    changes = {"method": SEPARATE.method, "max_eval_instances": 5}
    changed = override_adapter(made_for(JOINT, SEPARATE), changes)
    assert changed == structs.replace(SEPARATE, max_eval_instances=5)


def test_a_method_that_the_scenario_does_not_know_starts_from_its_preset() -> None:
    changes = {"method": "generation", "input_noun": "Q", "max_tokens": 9}
    changed = override_adapter(made_for(JOINT), changes)
    expected = preset("generation", input_noun="Q")
    assert changed == structs.replace(expected, max_tokens=9)


def test_a_suite_and_a_file_mean_the_same_by_instructions_and_nouns() -> None:
    arguments = {
        "instructions": "Answer.",
        "input_noun": "Frage",
        "newline_after_input_noun": True,
        "output_noun": None,
    }
    for method in ("generation", "multiple_choice_joint"):
        from_file = adapter_spec({"method": method, **arguments})
        plain = preset(method, input_noun="Q", output_noun="A")
        assert override_adapter(made_for(plain), arguments) == from_file
    changed = override_adapter(made_for(SEPARATE), {"instructions": "Answer."})
    assert changed == structs.replace(SEPARATE, instructions="Answer.\n")


def test_overrides_keep_what_they_do_not_name() -> None:
    spec = AdapterSpec(method="generation", input_prefix="x")
    assert override_adapter(made_for(spec), {}) == spec
    assert override_adapter(made_for(spec), {"max_tokens": 3}).input_prefix == "x"


WRONG = [
    ("num_train_trials", 0, "expected `int` >= 1, got 0"),
    ("num_train_trials", -1, "expected `int` >= 1, got -1"),
    ("max_eval_instances", 0, "expected `int` >= 1, got 0"),
    ("max_train_instances", -1, "expected `int` >= 0, got -1"),
    ("max_tokens", -1, "expected `int` >= 0, got -1"),
    ("max_tokens", 10**12, "expected `int` <= 2147483647, got 1000000000000"),
    ("num_outputs", 0, "expected `int` >= 1, got 0"),
    ("temperature", -0.1, "expected `float` >= 0.0, got -0.1"),
    ("temperature", math.nan, "expected `float` >= 0.0, got nan"),
    ("temperature", math.inf, "expected `float` <="),
    ("eval_splits", [], "expected `array` of length >= 1"),
    (
        "eval_splits",
        ["tset"],
        "'tset' at [0]; possible: train, valid, test. Did you me",
    ),
    ("stop_sequences", [""], "expected `str` of length >= 1, got ''"),
    ("output_mapping_pattern", "(", "'(' is no regular expression: missing )"),
    ("substitutions", [{"source": "[", "target": ""}], "'[' is no regular expression"),
    ("substitutions", [{"source": "a", "target": r"\2"}], "invalid group reference 2"),
    ("substitutions", [{"source": "a", "target": r"\g<n>"}], "unknown group name 'n'"),
    ("input_noun", 5, "expected `str | null`, got `int`"),
    ("newline_after_input_noun", "false", "expected `bool`, got `str`"),
    ("method", "", "invalid enum value ''; possible: generation, multiple_choice_joi"),
]


@pytest.mark.parametrize(("name", "value", "expected"), WRONG)
def test_a_setting_out_of_range_is_refused_with_its_place(
    name: str, value: object, expected: str
) -> None:
    generation = preset("generation")
    with pytest.raises(ConfigError) as caught:
        override_adapter(made_for(generation), {name: value})
    [problem] = caught.value.problems
    assert problem.startswith(f"'adapter.{name}")
    assert expected in problem
    problems: list[str] = []
    adapting.check({name: value}, "x.yaml", problems)
    assert problems == [f"x.yaml: {problem}"]


def test_what_other_tools_archived_is_read_all_the_same() -> None:
    odd = AdapterSpec(num_outputs=0, max_train_instances=-1, eval_splits=("dev",))
    assert msgspec.json.decode(msgspec.json.encode(odd), type=AdapterSpec) == odd


def test_an_evaluation_without_instances_is_refused() -> None:
    with pytest.raises(ConfigError, match="no instance is in valid") as caught:
        override_adapter(made_for(preset("generation")), {"eval_splits": ["valid"]})
    assert caught.value.hint == "The scenario's splits: test."


def test_wrong_overrides_are_reported_together() -> None:
    with pytest.raises(ConfigError) as caught:
        override_adapter(
            made_for(preset("generation")),
            {"method": "generatoin", "max_token": 1, "num_outputs": "a"},
        )
    assert len(caught.value.problems) == 3
    assert "Did you mean 'generation'" in str(caught.value)


@pytest.mark.parametrize(
    ("suite", "expected"),
    [
        (
            "models: [helmsite/ngram-1]\nscenarios: [a]\nmodels: []\n",
            ":3: the key 'mod",
        ),
        ("models: []\nscenarios: ['a:x']\n", "x.yaml:2: 'scenarios[0]': Cannot read"),
        (
            "models: []\nadapter: {max_tokens: -1}\nscenarios:\n- a\n"
            "- scenario: b\n  adapter:\n    num_train_trials: 0\n",
            "x.yaml:2: 'adapter.max_tokens': expected `int` >= 0, got -1.\n",
        ),
        (
            "models: []\nscenarios:\n- a\n"
            "- scenario: b\n  adapter:\n    num_train_trials: 0\n",
            "x.yaml:6: 'scenarios[1].adapter.num_train_trials': expected `int` >= 1",
        ),
        (
            "models: []\nscenarios:\n- scenario: b\n  models: [helmsite/ngram4]\n",
            "x.yaml:4: unknown model 'helmsite/ngram4'. Did you mean",
        ),
        ("", "x.yaml:1: must be a table of settings, not nothing."),
    ],
)
def test_problems_of_a_suite_have_their_lines(
    tmp_path: Path, suite: str, expected: str
) -> None:
    write(tmp_path, "suites/x.yaml", suite)
    with pytest.raises(ConfigError) as caught:
        load_project(tmp_path)
    assert expected in str(caught.value)


def test_words_and_numbers_of_a_suite_are_what_they_look_like(tmp_path: Path) -> None:
    write(
        tmp_path,
        "suites/x.yaml",
        "description: no\nmodels: [helmsite/ngram-1]\n"
        "scenarios: [{scenario: a, adapter: {temperature: 1e-1}, repeat: on}]\n",
    )
    suite = load_project(tmp_path).suite("x")
    assert suite.description == "no"
    assert suite.scenarios[0].repeat == "on"
    assert suite.scenarios[0].adapter == {"temperature": 0.1}


def test_two_suites_of_one_name_are_both_named(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write(tmp_path, f"suites/{name}.yaml", "name: x\nmodels: []\nscenarios: []\n")
    with pytest.raises(ConfigError, match=r"two\.yaml: the suite 'x' .*one\.yaml"):
        load_project(tmp_path)


def test_groups_and_pinned_methods_are_checked_before_anything_is_built(
    tmp_path: Path,
) -> None:
    write(
        tmp_path,
        "helmsite.toml",
        '[site.groups.x]\ntitle = "X"\nscenarios = ["fine", "capitals:x"]\n'
        '[site.pinned_methods]\nknowledge = "multiple_choice_jont"\n',
    )
    with pytest.raises(ConfigError) as caught:
        load_project(tmp_path)
    assert "helmsite.toml: 'site.pinned_methods.knowledge': invalid enum" in str(
        caught.value
    )
    assert "Did you mean 'multiple_choice_joint'" in str(caught.value)
    write(
        tmp_path,
        "helmsite.toml",
        '[site.groups.x]\ntitle = "X"\nscenarios = ["fine", "capitals:x"]\n',
    )
    with pytest.raises(ConfigError) as caught:
        load_project(tmp_path)
    [problem] = caught.value.problems
    assert "helmsite.toml: 'site.groups.x.scenarios[1]': Cannot read the" in problem
    assert "parameter 'x' has no '='" in problem


def test_paths_are_seen_from_the_project_and_its_users_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    write(
        tmp_path,
        "helmsite.toml",
        '[archive]\nroot = "~/runs"\n'
        '[models.a]\nclient = "llamacpp"\nsettings = {path = "weights/a.gguf"}\n'
        '[models.b]\nclient = "llamacpp"\nsettings = {path = "/weights/b.gguf"}\n'
        '[models.c]\nclient = "llamacpp"\nsettings = {path = "~/c.gguf"}\n',
    )
    project = load_project(tmp_path)
    assert project.archive == "/home/me/runs"
    paths = [project.model(name).settings["path"] for name in "abc"]
    assert paths == [
        str(tmp_path / "weights/a.gguf"),
        "/weights/b.gguf",
        "/home/me/c.gguf",
    ]


CONTAMINATED = """
[models.a]
client = "fake"
[[models.a.contamination]]
scenario = "mmlu:subject=anatomy"
evidence = "strong"
note = "Trained on it."
url = "https://example.org"
[[models.a.contamination]]
scenario = "knowledge"
evidence = "weak"
"""


def test_a_card_tells_what_is_known_of_contamination(tmp_path: Path) -> None:
    write(tmp_path, "helmsite.toml", CONTAMINATED)
    strong, weak = load_project(tmp_path).model("a").card.contamination
    assert strong == Contamination(
        "mmlu:subject=anatomy", "strong", "Trained on it.", "https://example.org"
    )
    assert (weak.scenario, weak.evidence, weak.note) == ("knowledge", "weak", "")


def test_the_site_knows_of_contamination_of_models_of_its_own_and_of_others(
    tmp_path: Path,
) -> None:
    other = '[[site.contamination."b/c"]]\nscenario = "x"\nevidence = "weak"\n'
    write(tmp_path, "helmsite.toml", CONTAMINATED + other)
    site = load_project(tmp_path).site
    assert [(n, len(known)) for n, known in site.contamination.items()] == [
        ("a", 2),
        ("b/c", 1),
    ]


@pytest.mark.parametrize(
    ("wrong", "expected"),
    [
        ('evidence = "some"', "'models.a.contamination[1].evidence'"),
        ('evidence = "weak"\nlevel = 3', "models.a.contamination[1].level"),
        ("", "'models.a.contamination[1].evidence' is missing"),
    ],
)
def test_wrong_words_about_contamination_are_reported(
    tmp_path: Path, wrong: str, expected: str
) -> None:
    write(tmp_path, "helmsite.toml", CONTAMINATED.replace('evidence = "weak"', wrong))
    with pytest.raises(ConfigError, match=re.escape(expected)):
        load_project(tmp_path)


def test_contamination_names_an_entry(tmp_path: Path) -> None:
    text = CONTAMINATED.replace('"knowledge"', '"mmlu:subject"')
    write(tmp_path, "helmsite.toml", text)
    with pytest.raises(ConfigError, match="parameter 'subject' has no '='"):
        load_project(tmp_path)


@pytest.mark.parametrize(
    ("entry", "scenario", "expected"),
    [
        ("mmlu", "mmlu:subject=a,k=1", True),
        ("mmlu:subject=a", "mmlu:k=1,subject=a", True),
        ("mmlu:subject=b", "mmlu:subject=a", False),
        ("mmlu:subject=a", "mmlu", False),
        ("mml", "mmlu", False),
        ("no entry:x", "no entry:x", True),
        ("no entry:x", "no entry:y", False),
    ],
)
def test_an_entry_matches_the_scenarios_that_it_means(
    entry: str, scenario: str, expected: bool
) -> None:
    assert matches_entry(entry, scenario) is expected
