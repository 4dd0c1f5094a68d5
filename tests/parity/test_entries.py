"""Run entries beside HELM: the same adapters, the same perturbations, run by run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from helmsite.config import ModelConfig, Project, Suite, SuiteEntry
from helmsite.config.helm_conf import read_conf
from helmsite.run import Choice
from helmsite.run.choice import choose
from helmsite.run.planner import Library, Planner
from helmsite.schema import AdapterSpec, LoadedScenario, ModelCard
from tests.conftest import SHARED
from tests.entry_facts import entries, planned

if TYPE_CHECKING:
    from pathlib import Path

    from tests.parity.reference import Reference

MODEL = "simple/model1"
TAGS = ("TEXT_MODEL_TAG", "CODE_MODEL_TAG", "FULL_FUNCTIONALITY_TEXT_MODEL_TAG")
CLASSES = {
    "ContractionPerturbation": "contraction",
    "ContrastSetsPerturbation": "contrast_sets",
    "DialectPerturbation": "dialect",
    "ExpansionPerturbation": "expansion",
    "FillerWordsPerturbation": "filler_words",
    "GenderPerturbation": "gender",
    "LowerCasePerturbation": "lowercase",
    "MildMixPerturbation": "mild_mix",
    "MisspellingPerturbation": "misspellings",
    "PersonNamePerturbation": "person_name",
    "SpacePerturbation": "space",
    "SynonymPerturbation": "synonym",
    "TyposPerturbation": "typos",
}
EXPANDED = [
    "gsm:max_train_instances=all",
    "gsm:model=text,num_outputs=copyright_sweep,num_trials=3",
    "gsm:temperature=0.7,max_eval_instances=default,num_train_trials=2",
    "gsm:max_train_instances=zero,num_train_trials=3",
    "gsm:stop=hash,increase_max_tokens=7,increase_temperature=1",
    "gsm:instructions=expert,prompt=human_assistant,newline=br",
    "gsm:global_prefix=nlg,add_to_stop=newline,eval_split=test",
    "gsm:follow_format_instructions=all",
    "gsm:output_format_instructions=math_suffix",
    "boolq:data_augmentation=misspelling_sweep,max_train_instances=one",
    "boolq:data_augmentation=robustness_all,prompt=qa",
    "boolq:num_train_trials=5,stop=none,instructions=none",
]
LIMITS: list[dict[str, Any]] = [
    {},
    {"max_eval_instances": 12},
    {"max_eval_instances": 12, "num_train_trials": 3},
]


class Bare(Library):
    """Scenarios without instances: an adapter needs none."""

    def load(self, entry: str) -> LoadedScenario:
        return planned(entry)


def ours(entry: str, limits: dict[str, Any]) -> list[dict[str, Any]]:
    card = ModelCard(MODEL, tags=TAGS)
    model = ModelConfig(MODEL, "ngram", card)
    project = Project(".", "runs", models={MODEL: model})
    suite = Suite("s", (SuiteEntry(entry),))
    choice = Choice(models=(MODEL,), **limits)
    planner = Planner(project, suite, choice, Bare(project))
    (setup,) = choose(suite, choice, project)[MODEL]
    scenario = planner._scenario(setup)
    return [
        {
            "adapter": msgspec.json.decode(msgspec.json.encode(adapter)),
            "perturbations": [p.name.partition("(")[0] for p in chosen],
            "groups": list(scenario.facts.groups),
        }
        for adapter in planner._adapters(setup, scenario, card)
        for chosen in planner._perturbations(setup, scenario)
    ]


def helms(helm: Reference, entry: str, limits: dict[str, Any]) -> list[dict[str, Any]]:
    names = [f.name for f in msgspec.structs.fields(AdapterSpec)]
    made = []
    for run in helm.ask({"entry": entry, "limits": limits}):
        found = {name: run["adapter"][name] for name in names}
        classes = [CLASSES[name] for name, _ in run["perturbations"]]
        made.append(
            {"adapter": found, "perturbations": classes, "groups": run["groups"]}
        )
    return made


@pytest.fixture(scope="module", autouse=True)
def raft(helm: Reference) -> None:
    """Give HELM the file that it downloads for the instructions of RAFT."""
    path = SHARED / "data" / "raw" / "raft" / "prompt_construction_settings.jsonl"
    helm.ask({"raft": str(path)})


def listed() -> list[str]:
    every = dict.fromkeys(entry for entry, _, _ in entries())
    return [entry for entry in every if "tokenizer=default" not in entry]


@pytest.mark.parametrize("entry", [*listed(), *EXPANDED])
def test_an_entry_makes_the_runs_that_helm_makes(helm: Reference, entry: str) -> None:
    for limits in LIMITS if entry in EXPANDED else LIMITS[-1:]:
        assert ours(entry, limits) == helms(helm, entry, limits)


CONFS = [
    """# Main
    entries: [
      ##### Generic #####

      {description: "boolq:model=text,data_augmentation=canonical", priority: 1}
      # {description: "numeracy:model=text_code", priority: 2}
      {description: "the_pile:model=text,subset=Wikipedia (en)", priority: 2} # Morphology
      {description: "billsum_legal_summarization:model=text", priority: 3},

      {description: "imdb:only_contrast=True", priority: 2, groups: ["a", "b-c"]}
    ]
    """,
    '{"entries": [{"description": "gsm", "priority": 4}]}',
    "entries = [{description = gsm}, {description: boolq, groups: []}]",
    """entries: [
      {
        description: "mmlu:subject=anatomy,model=text" // one
        priority: 1
        groups: [x, y]
      }
      { description: "copyright:datatag=popular_books-prefix_length_125.json", priority: 1 },
    ]""",
    "entries: []",
]


@pytest.mark.parametrize("text", CONFS)
def test_a_file_of_run_entries_says_what_it_says_to_helm(
    helm: Reference, tmp_path: Path, text: str
) -> None:
    path = tmp_path / "run_entries.conf"
    path.write_text(text, encoding="utf-8")
    found = [
        {"description": None, "priority": None, "groups": None, **entry}
        for entry in read_conf(path)
    ]
    assert found == helm.ask({"conf": text})
