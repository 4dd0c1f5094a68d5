"""Leaderboards by groups of scenarios, and the sets of boards that come along."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from msgspec import structs

from helmsite.archive import Archive
from helmsite.config import GroupConfig, SiteConfig, builtin_suite, load_project
from helmsite.errors import ConfigError
from helmsite.query import Results
from helmsite.run.choice import Choice, choose
from helmsite.run.definitions import Definitions
from tests.query_runs import make_run

if TYPE_CHECKING:
    from pathlib import Path

CLASSIC = '[site]\ngroups = "helm_classic"\n'
CONTRAST = "boolq:only_contrast=True"


def grouped(*groups):
    return lambda facts: structs.replace(facts, groups=groups)


@pytest.fixture
def archive(tmp_path: Path) -> Archive:
    found = Archive(tmp_path / "runs")
    make_run(found, "boolq", "a", [1], facts=grouped("boolq"))
    make_run(
        found, CONTRAST, "a", [1], facts=grouped("boolq", "robustness_contrast_sets")
    )
    for task in ("3", "all"):
        make_run(found, f"babi_qa:task={task}", "a", [1], facts=grouped("babi_qa"))
    make_run(found, "own", "a", [1], facts=grouped("mine"))
    return found


def shown(
    archive: Archive, boards: dict[str, GroupConfig]
) -> dict[str, tuple[str, ...]]:
    with Results(archive, SiteConfig(groups=boards), None) as found:
        return {group.name: group.scenarios for group in found.groups()}


def project(folder: Path, toml: str):
    (folder / "helmsite.toml").write_text(toml)
    return load_project(folder)


def test_a_board_takes_scenarios_by_their_group(archive):
    boards = {
        "mixed": GroupConfig("Mixed", ("own",), groups=("babi_qa", "boolq")),
        "none": GroupConfig("None", groups=("mmlu",)),
        "alone": GroupConfig(
            "Alone", groups=("robustness_contrast_sets",), exclusive=True
        ),
    }
    assert shown(archive, boards) == {
        "mixed": ("own", "babi_qa:task=3", "babi_qa:task=all", "boolq"),
        "alone": (CONTRAST,),
    }


def test_helms_boards_come_by_a_name(archive, tmp_path):
    boards = project(tmp_path, CLASSIC).site.groups
    found = shown(archive, boards)
    assert list(found) == [
        *("core_scenarios", "targeted_evaluations", "question_answering", "reasoning"),
        *("robustness_contrast_sets", "all"),
    ]
    assert found["core_scenarios"] == found["question_answering"] == ("boolq",)
    assert found["robustness_contrast_sets"] == (CONTRAST,)
    assert found["reasoning"] == ("babi_qa:task=all",)  # as in HELM
    assert len(found["all"]) == 5


def test_each_group_of_helms_boards_is_a_column(tmp_path):
    boards = project(tmp_path, CLASSIC).site.groups
    assert [name for name, board in boards.items() if not board.combine] == [
        "robustness_contrast_sets"
    ]


def test_an_unknown_set_of_boards_is_told_of(tmp_path):
    with pytest.raises(ConfigError) as caught:
        project(tmp_path, '[site]\ngroups = "helm_clasic"\n')
    (problem,) = caught.value.problems
    assert "'site.groups': there is no set of leaderboards 'helm_clasic'" in problem
    assert "Did you mean 'helm_classic'" in problem


def test_a_board_without_anything_is_told_of(tmp_path):
    with pytest.raises(ConfigError, match="name its 'scenarios' or 'groups'"):
        project(tmp_path, '[site.groups.x]\ntitle = "X"\n')


def test_helms_suite_fills_every_group_of_its_boards(tmp_path):
    """Each group of a board but XSUM's other form is that of some entry of the suite."""
    model = '[models."my/own"]\nclient = "fake"\ntokenizer = "huggingface/gpt2"\n'
    found = project(tmp_path, f"{CLASSIC}{model}")
    wanted = {group for board in found.site.groups.values() for group in board.groups}
    suite = builtin_suite("helm_classic")
    assert suite
    picked = choose(suite, Choice(models=("my/own",)), found)
    definitions = Definitions(found)
    filled = {
        group
        for setups in picked.values()
        for each in setups
        for group in (*definitions.groups(each.run.scenario), *each.entry.groups)
    }
    assert wanted - filled == {"summarization_xsum"}


def test_a_boards_groups_choose_what_runs(tmp_path):
    (tmp_path / "suites").mkdir()
    (tmp_path / "suites" / "s.yaml").write_text(
        "models: [helmsite/ngram-3]\n"
        "scenarios: [babi_qa:task=all, babi_qa:task=3, plain_text]\n"
    )
    found = project(tmp_path, CLASSIC)
    picked = choose(found.suites["s"], Choice(groups=("reasoning",)), found)
    ((setup,),) = picked.values()
    assert setup.label == "babi_qa:task=all"
