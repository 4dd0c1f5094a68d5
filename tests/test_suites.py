"""Suites without a file of one's own: run entries, HELM's files of them, built-in ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from helmsite.config import SuiteEntry, known_cards, load_project, of_entries
from helmsite.config.helm_conf import read_conf
from helmsite.config.models import PACKAGE, informed
from helmsite.errors import ConfigError
from helmsite.schema import ModelCard, matches_entry, yamlfile
from helmsite.schema.adjusting import OF_TAGS, adjusted
from helmsite.schema.presets import preset

if TYPE_CHECKING:
    from pathlib import Path

CONF = """\
# Main run entries
entries: [
  ##### Reading #####
  {description: "boolq:model=text,data_augmentation=canonical", priority: 1}
  {description: "the_pile:model=text,subset=Wikipedia (en)", priority: 2} # a note
  {description: "gsm:model=text_code", priority: 2},   // another
  { "description" = "imdb:only_contrast=True"
    priority = 2
    groups: ["robustness_contrast_sets", mine]
  },
]
"""


def conf(folder: Path, text: str) -> Path:
    path = folder / "run_entries.conf"
    path.write_text(text, encoding="utf-8")
    return path


def test_helms_files_of_run_entries_are_read(tmp_path: Path) -> None:
    made = of_entries("v1", ["knowledge"], [conf(tmp_path, CONF)])
    assert made.scenarios == (
        SuiteEntry("knowledge"),
        SuiteEntry("boolq:model=text,data_augmentation=canonical", priority=1),
        SuiteEntry("the_pile:model=text,subset=Wikipedia (en)", priority=2),
        SuiteEntry("gsm:model=text_code", priority=2),
        SuiteEntry(
            "imdb:only_contrast=True",
            priority=2,
            groups=("robustness_contrast_sets", "mine"),
        ),
    )
    assert made.name == "v1"


@pytest.mark.parametrize(
    "text",
    [
        "{entries: [{description: gsm}]}",
        '\ufeffentries = [\n\n{"description": "gsm"}\n\n]\n\n',
        "entries [{description: gsm}]".replace(" [", ": [ # no more\n"),
        'entries: [{description: "g\\u0073m"},]',
    ],
)
def test_forms_of_the_same_entry_are_equal(tmp_path: Path, text: str) -> None:
    assert read_conf(conf(tmp_path, text)) == [{"description": "gsm"}]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("entries: [{description: gsm} {description: boolq}]", "comma or a new line"),
        ("entries: [{description: gsm", "a comma or a new line before"),
        ('include "/etc/passwd"\nentries: []', "has no value"),
        ("entries: [${HOME}]", "'${HOME}]' is not read here"),
        ('entries: [{description: """gsm"""}]', "is not read here"),
        ("entries: [{description: gsm, description: b}]", "is there twice"),
        ("entries: " + "[" * 1000, "unexpected '['"),
        ("run_specs: []", "unknown key 'run_specs'"),
        ("", "there is no list 'entries'"),
        ("entries: {a: 1}", "there is no list 'entries'"),
    ],
)
def test_more_of_hocon_than_entries_need_is_refused_with_its_line(
    tmp_path: Path, text: str, problem: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        read_conf(conf(tmp_path, text))
    assert problem in str(caught.value)
    assert "run_entries.conf" in str(caught.value)


def test_all_problems_of_a_file_of_entries_are_told(tmp_path: Path) -> None:
    text = """entries: [
      {description: "gsm", priority: 0}
      {descripton: "gsm"}
      {description: "gsm:k"}
      {description: 5}
    ]"""
    with pytest.raises(ConfigError) as caught:
        of_entries("v", [], [conf(tmp_path, text)])
    told = str(caught.value)
    assert "entries[0]: 'priority'" in told
    assert "entries[1]: unknown setting 'descripton'" in told
    assert "entries[2]: Cannot read the scenario 'gsm:k'" in told
    assert "entries[3]: 'description'" in told


def test_a_file_that_is_not_there_or_not_text_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        read_conf(tmp_path / "none.conf")
    path = tmp_path / "bytes.conf"
    path.write_bytes(b"entries: [\xff]")
    with pytest.raises(ConfigError, match="offset 10"):
        read_conf(path)


def test_a_suite_file_says_priorities_groups_and_perturbations(tmp_path: Path) -> None:
    (tmp_path / "suites").mkdir()
    (tmp_path / "suites" / "mine.yaml").write_text(
        "data_augmentation: robustness\nseeds_per_instance: 2\n"
        "scenarios:\n"
        "  - knowledge\n"
        "  - {scenario: gsm, priority: 2, groups: [a], data_augmentation: canonical}\n"
        "  - {scenario: boolq, perturbations: [lowercase, typos(prob=0.1)]}\n"
    )
    suite = load_project(tmp_path).suite("mine")
    assert suite.models == ()
    assert suite.perturbations == ("robustness",)
    assert suite.seeds_per_instance == 2
    assert suite.scenarios[0].seeds_per_instance is None
    assert [e.perturbations for e in suite.scenarios] == [
        None,
        ("canonical",),
        ("lowercase", "typos(prob=0.1)"),
    ]
    assert suite.scenarios[1].groups == ("a",)
    assert suite.scenarios[1].priority == 2


def test_saying_perturbations_twice_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "suites").mkdir()
    (tmp_path / "suites" / "mine.yaml").write_text(
        "scenarios:\n"
        "  - {scenario: gsm, data_augmentation: canonical, perturbations: [typos]}\n"
        "  - {scenario: gsm, priority: 11}\n"
        "  - {scenario: gsm, seeds_per_instance: 0}\n"
    )
    with pytest.raises(ConfigError) as caught:
        load_project(tmp_path)
    assert "mine.yaml:2: 'scenarios[0].data_augmentation' and" in str(caught.value)
    assert "'scenarios[1].priority'" in str(caught.value)
    assert "'scenarios[2].seeds_per_instance'" in str(caught.value)


# cards


def names() -> list[str]:
    return list(yamlfile.read(PACKAGE / "cards.yaml").data)


def test_the_thirty_models_of_the_paper_have_cards() -> None:
    assert len(names()) == 30
    for name in names():
        card = known_cards()[name]
        told = (
            *(card.title, card.creator, card.access, card.description, card.family),
            *(card.context_length, card.tokenizer, card.release_date, card.tags),
        )
        assert all(told), name
        assert (card.training_energy_mwh is None) == (card.training_co2_tonnes is None)
        assert (card.training_energy_mwh is None) == (card.training_note == "")
        for known in card.contamination:
            assert all((known.note, known.url)), name
    sizes = [known_cards()[n].num_parameters for n in names()]
    assert sum(size is None for size in sizes) == 1  # code-davinci-002


def test_cards_are_found_by_the_names_that_results_use() -> None:
    cards = known_cards()
    assert cards["together/gpt-neox-20b"] is cards["eleutherai/gpt-neox-20b"]
    assert cards["together/opt-175b"].name == "meta/opt-175b"
    told = informed(ModelCard("together/opt-175b", title="OPT, as archived"))
    assert told.name == "together/opt-175b"
    assert told.title == "OPT, as archived"
    assert told.training_energy_mwh == 345.7
    assert told.aliases == ("meta/opt-175b", "huggingface/opt-175b")
    unknown = ModelCard("lab/unknown")
    assert informed(unknown) is unknown


def test_contamination_of_the_papers_models_marks_the_scenarios_it_names() -> None:
    gpt3 = known_cards()["openai/davinci"].contamination
    marked = {c.scenario: c.evidence for c in gpt3}
    assert marked["boolq"] == "weak"
    assert matches_entry(
        "commonsense:dataset=hellaswag", "commonsense:dataset=hellaswag"
    )
    strong = {c.scenario for c in known_cards()["eleutherai/gpt-j-6b"].contamination}
    assert strong == {"the_pile"}
    t0 = {
        c.scenario: c.evidence for c in known_cards()["bigscience/t0pp"].contamination
    }
    assert t0["imdb"] == t0["summarization_xsum"] == "strong"


def test_a_model_of_the_project_takes_over_what_is_known_of_its_name(
    tmp_path: Path,
) -> None:
    (tmp_path / "helmsite.toml").write_text(
        '[models."google/ul2"]\nclient = "ngram"\ntitle = "My UL2"\n'
        "prices = {input_per_million = 1, output_per_million = 2.5, currency = 'EUR'}\n"
        '[models."lab/own"]\nclient = "ngram"\n'
    )
    project = load_project(tmp_path)
    card = project.model("google/ul2").card
    assert card.title == "My UL2"
    assert card.num_parameters == 20_000_000_000
    assert card.prices is not None
    assert card.prices.currency == "EUR"
    assert project.named("together/ul2") == "google/ul2"
    assert project.named("together_ul2") == "google/ul2"
    assert project.named("google_ul2") == "google/ul2"
    assert project.named("nobody/none") == ""
    assert project.model("lab/own").card.title == "own"
    # its tags do to the prompts what HELM does for UL2
    assert "NO_NEWLINES_TAG" in OF_TAGS
    spec = adjusted(preset("generation", input_noun="Q"), card)
    assert spec.global_prefix == "[NLG]"
    assert spec.stop_sequences == ("###",)


def test_a_known_model_without_a_client_is_not_run(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load_project(tmp_path).model("openai/davinci")
    assert "only facts are known, not how to ask it" in str(caught.value)
