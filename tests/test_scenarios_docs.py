"""docs/scenarios.md says what is true: its examples run, its tables are complete."""

import re
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from helmsite import scenarios
from helmsite.adapters import Window, adapt
from helmsite.cli import main
from helmsite.scenarios import sandbox
from helmsite.scenarios.definition import (
    Definition,
    Hub,
    Parameter,
    Place,
    ReferenceForm,
    References,
    SkipRule,
    Source,
    SplitRule,
)
from helmsite.schema import Taxonomy
from helmsite.schema.adapting import ARGUMENTS, METHODS

DOCS = Path(__file__).parents[1] / "docs" / "scenarios.md"
TEXT = DOCS.read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", TEXT, re.DOTALL)


def section(title: str) -> str:
    return TEXT.split(f"\n## {title}\n")[1].split("\n## ")[0]


def words(text: str) -> set[str]:
    text = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    return {
        w for code in re.findall(r"`([^`]+)`", text) for w in re.findall(r"\w+", code)
    }


@pytest.fixture
def example(tmp_path: Path) -> Path:
    (tmp_path / "capitals.csv").write_text(blocks("csv")[0], encoding="utf-8")
    (tmp_path / "capitals.yaml").write_text(blocks("yaml")[0], encoding="utf-8")
    return tmp_path


def test_the_worked_example_makes_the_prompt_that_is_shown(example: Path) -> None:
    loaded = scenarios.load("capitals", [example])
    ids = [(i.instance_id, i.split) for i in loaded.instances]
    assert ids == [("id0", "train"), ("id1", "test")]
    assert loaded.instances[1].attributes == {"continent": ("South America",)}
    (request,) = adapt(loaded.instances, loaded.adapter, Window())
    assert request.prompt + "\n" == blocks("text")[0]


def test_a_scenario_from_scratch_takes_one_file_and_no_python(
    tmp_path: Path, example: Path
) -> None:
    """The page's own first example, from the file to the site, by typing commands."""
    project = tmp_path / "project"
    folder = project / "scenarios"
    folder.mkdir(parents=True)
    (example / "capitals.csv").rename(folder / "capitals.csv")
    (example / "capitals.yaml").rename(folder / "capitals.yaml")

    def helmsite(*words: str) -> str:
        result = CliRunner().invoke(main, [*words, "--project", str(project)])
        assert result.exit_code == 0, result.output
        return result.output

    assert "Capitals of the world" in helmsite("ls", "scenarios")
    assert "here" in helmsite("fetch", "capitals")
    said = helmsite("run", "capitals", "-m", "helmsite/ngram-1")
    assert "1 runs: 1 made" in said
    helmsite("build", "--out", str(project / "site"))
    page = (project / "site" / "scenarios" / "capitals" / "index.html").read_text()
    assert "Four choices for the capital of a country." in page
    assert "What is the capital of Peru?" in page


def test_the_parameters_of_the_example_work(example: Path) -> None:
    parameters = next(b for b in blocks("yaml") if b.startswith("parameters:"))
    text = blocks("yaml")[0].replace("map: {dev: train", "map: {dev: test")
    (example / "capitals.yaml").write_text(text + parameters, encoding="utf-8")
    africa = scenarios.load("capitals:continent=Africa", [example])
    assert [i.gold for i in africa.instances] == [("Nairobi",)]
    assert scenarios.load("capitals", [example]).facts.name == "capitals:continent=all"


def test_the_generator_of_another_package_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = next(b for b in blocks("python") if "Generator(" in b)
    (tmp_path / "my_package.py").write_text(code, encoding="utf-8")
    info = tmp_path / "my_package-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Name: my-package\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[helmsite.generators]\nsums = my_package:SUMS\n"
        "dyck_language = my_package:SUMS\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "sums.yaml").write_text(
        "name: sums\ntitle: Sums\ngenerator: sums\n"
        "parameters: {digits: {type: integer, default: 2}}\n"
        "adapter: {method: generation}\nmetrics: [exact_match]\n"
    )
    loaded = scenarios.load("sums:digits=3", [tmp_path])
    assert len(loaded.instances) == 100
    assert loaded.data.generator == "sums@1"
    for instance in loaded.instances:
        a, b = re.findall(r"\d+", instance.input)
        assert instance.gold == (str(int(a) + int(b)),)
    builtin = scenarios.load("dyck_language")
    assert builtin.instances[0].input == "( { { ( { ( ) } ) }"


def test_the_loader_of_another_package_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = next(b for b in blocks("python") if "Loader(" in b)
    (tmp_path / "my_loaders.py").write_text(code, encoding="utf-8")
    info = tmp_path / "my_loaders-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Name: my-loaders\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[helmsite.loaders]\nlast_words = my_loaders:LAST_WORDS\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "poems.txt").write_text("O rose thou art sick\n\nThe invisible\nworm\n")
    (tmp_path / "poems.yaml").write_text(
        "name: poems\ntitle: Poems\nloader: last_words\n"
        "source: {files: {poems: poems.txt}}\n"
        "parameters: {task: {default: Go on}}\n"
        "adapter: {method: generation}\nmetrics: [exact_match]\n"
    )
    loaded = scenarios.load("poems", [tmp_path])
    assert [(i.input, i.gold) for i in loaded.instances] == [
        ("Go on: O rose thou art", ("sick",)),
        ("Go on: The", ("invisible",)),
    ]
    assert loaded.skipped == {"the line has one word": 1}
    assert loaded.data.generator == "last_words@1"


def test_the_python_example_runs(
    example: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (example / "scenarios").mkdir()
    for name in ("capitals.csv", "capitals.yaml"):
        (example / name).rename(example / "scenarios" / name)
    monkeypatch.chdir(example)
    exec(blocks("python")[-1], {})
    first, *rest = capsys.readouterr().out.splitlines()
    assert first.startswith("Capitals of the world 2 ")
    assert "capitals Capitals of the world" in rest


@pytest.mark.parametrize(
    ("title", "record"),
    [
        ("Every key", Definition),
        ("Every key", Taxonomy),
        ("Source", Source),
        ("Source", Place),
        ("Source", Hub),
        ("Source", SkipRule),
        ("Split", SplitRule),
        ("References", References),
        ("References", ReferenceForm),
    ],
)
def test_every_key_is_documented(title: str, record: type[msgspec.Struct]) -> None:
    internal = {"all", "items"}
    fields = {f.name for f in msgspec.structs.fields(record)} - internal
    assert fields <= words(section(title))


def test_every_parameter_key_is_documented() -> None:
    fields = {f.name for f in msgspec.structs.fields(Parameter)}
    assert fields <= set(re.findall(r"\w+", section("Parameters")))


def test_adapter_arguments_and_methods_are_documented() -> None:
    assert {*ARGUMENTS, *METHODS} <= words(section("Adapter"))


def test_filters_and_methods_of_templates_are_documented() -> None:
    _, filters, methods = re.split(
        r"\n- (?:filters|methods of texts):", section("Templates")
    )
    real = sandbox.Sandbox().filters
    assert words(filters) == {name for name in real if not name.startswith("_")}
    listed = [sandbox.METHODS[kind] for kind in (str, dict, list)]
    assert words(methods.split("\n\n")[0]) == set().union(*listed)


def test_the_budget_is_documented() -> None:
    assert f"{sandbox.BUDGET // sandbox.STEP:,} loop steps" in section("Templates")
    assert f"{sandbox.BUDGET // 10**6} million characters" in section("Templates")
    assert f"`range` up to {sandbox.MAX_RANGE:,}" in section("Templates")
