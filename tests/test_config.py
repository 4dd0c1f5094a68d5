"""Projects, suites and models: read strictly, every problem at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from helmsite.config import load_project, override_adapter
from helmsite.errors import ConfigError
from helmsite.schema import AdapterSpec, preset

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
        "one.yaml: unknown model 'helmsite/ngram-4'. Did you mean",
        "two.yaml: scenarios[0].adapter: unknown adapter setting 'methd'.",
        "two.yaml: scenarios[0].adapter: adapter: 'max_tokens': expected `int`",
        "three.yaml: cannot be read as YAML",
        "nothing was run or written",
    ):
        assert expected in text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[site\n", "cannot be read as TOML"),
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


def test_a_new_method_starts_from_its_preset() -> None:
    joint = preset("multiple_choice_joint", input_noun="Question", output_noun="A")
    changed = override_adapter(
        joint, {"method": "generation", "input_noun": "Q", "max_tokens": 9}
    )
    assert changed.input_prefix == "Q: "
    assert changed.max_tokens == 9
    assert changed.stop_sequences == ("\n",)
    assert changed.num_outputs == 1


def test_overrides_keep_what_they_do_not_name() -> None:
    spec = AdapterSpec(method="generation", input_prefix="x")
    assert override_adapter(spec, {}) == spec
    assert override_adapter(spec, {"max_tokens": 3}).input_prefix == "x"


def test_wrong_overrides_are_reported_together() -> None:
    with pytest.raises(ConfigError) as caught:
        override_adapter(
            AdapterSpec(), {"method": "generatoin", "max_token": 1, "num_outputs": "a"}
        )
    assert len(caught.value.problems) == 3
    assert "Did you mean 'generation'" in str(caught.value)
