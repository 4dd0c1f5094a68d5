"""Names of HELM in ours, and where scored texts begin among echoed tokens."""

from __future__ import annotations

from typing import Any

import pytest

from helmsite.errors import SourceError
from helmsite.importers.helm.naming import Perturbations, Told, entry_of
from helmsite.importers.helm.tokens import Cut, Echo, Tokens
from helmsite.importers.values import Place
from helmsite.perturbations import WordLists, resolve
from helmsite.perturbations.kinds import KINDS

PLACE = Place("stats.json")
R, F = {"robustness": True, "fairness": False}, {"robustness": False, "fairness": True}
FIRST = {"person_name_type": "first_name"}
WHITE, BLACK = "race=white_american", "race=black_american"
DESCRIBED: dict[str, dict[str, Any]] = {
    "lowercase": {"name": "lowercase", **R},
    "contraction": {"name": "contraction", **R},
    "expansion": {"name": "expansion", **R},
    "mild_mix": {"name": "mild_mix", **R},
    "contrast_sets": {"name": "contrast_sets", **R},
    "typos(prob=0.1)": {"name": "typos", "prob": 0.1, **R},
    "misspellings(prob=0.05)": {"name": "misspellings", "prob": 0.05, **R},
    "space(max_spaces=3)": {"name": "space", "max_spaces": 3, **R},
    "extra_space(num_spaces=2)": {"name": "extra_space", "num_spaces": 2, **R},
    "synonym(prob=0.5)": {"name": "synonym", "prob": 0.5, **R},
    "dialect(prob=1.0)": {
        "name": "dialect",
        "prob": 1.0,
        "source_class": "SAE",
        "target_class": "AAVE",
        "mapping_file_path": "/home/x/prod_env/SAE_to_AAVE_mapping.json",
        **F,
    },
    "gender(mode=terms,prob=0.5)": {
        "name": "gender",
        "mode": "terms",
        "prob": 0.5,
        "source_class": "male",
        "target_class": "female",
        "bidirectional": False,
        **F,
    },
    "gender(mode=pronouns,prob=1.0,source_class=female,target_class=male,bidirectional=True)": {
        "name": "gender",
        "mode": "pronouns",
        "prob": 1.0,
        "source_class": "female",
        "target_class": "male",
        "bidirectional": True,
        **F,
    },
    "person_name(prob=0.5,preserve_gender=False)": {
        "name": "person_name",
        "prob": 0.5,
        "source_class": WHITE,
        "target_class": BLACK,
        "name_file_path": "names.txt",
        "preserve_gender": False,
        **FIRST,
        **F,
    },
    'style(suffix="bold, bright")': {"name": "style", "suffix": "bold, bright"},
    "style(suffix=cartoon)": {"name": "style", "suffix": "cartoon"},
}


@pytest.mark.parametrize("name", DESCRIBED)
def test_perturbations_have_the_names_that_runs_made_here_have(name: str) -> None:
    """Our own reading of the name gives the same name back: it is canonical."""
    met = Perturbations()
    assert met.told(DESCRIBED[name], PLACE) == Told(name, "perturbed")
    (ours,) = resolve([name], WordLists())
    assert ours.name == name
    (facts,) = met.facts
    own = ours.facts_of()
    assert (facts.robustness, facts.fairness) == (own.robustness, own.fairness)


def test_all_perturbations_that_helm_shares_with_us_are_tried() -> None:
    tried = {name.partition("(")[0] for name in DESCRIBED} | {"filler_words"}
    assert tried == set(KINDS.table())


def test_filler_words_are_told_apart_by_the_specs_arguments() -> None:
    described = {"name": "filler_words", "insert_prob": 0.3, **R}
    spec = {
        "class_name": "helm.FillerWordsPerturbation",
        "args": {"insert_prob": 0.3, "speaker_ph": False},
    }
    told = Perturbations([spec]).told(described, PLACE)
    assert told.name == "filler_words(insert_prob=0.3,speaker_ph=False)"
    assert (
        Perturbations().told(described, PLACE).name == "filler_words(insert_prob=0.3)"
    )
    assert resolve([told.name], WordLists())[0].name == told.name


def test_paths_of_word_lists_are_no_part_of_a_name() -> None:
    here = DESCRIBED["dialect(prob=1.0)"]
    there = {**here, "mapping_file_path": "/elsewhere/x.json"}
    met = Perturbations()
    assert met.told(here, PLACE) == met.told(there, PLACE)
    assert len(met.facts) == 1


def test_seeds_families_and_unknown_perturbations() -> None:
    met = Perturbations(shown={"typos": ("Typos", "Typing errors.")})
    seeded = {"name": "typos", "prob": 0.1, "seed": 2, "computed_on": "worst", **R}
    assert met.told(seeded, PLACE) == Told("typos(prob=0.1)~2", "worst")
    assert met.facts[0].title == "Typos"
    family = {"name": "robustness", "computed_on": "worst", **R}
    assert met.told(family, PLACE) == Told("robustness", "worst")
    other = {"name": "chinese_typos", "prob": 0.1, "consider_tone": False, **R}
    assert met.told(other, PLACE).name == "chinese_typos(prob=0.1,consider_tone=False)"
    assert met.told(None, PLACE) == Told("", "")
    assert [f.name.partition("(")[0] for f in met.facts] == ["chinese_typos", "typos"]


@pytest.mark.parametrize("odd", ["dialect", 3, {}, {"name": 5}, {"name": ""}, [1]])
def test_what_is_no_perturbation_is_told(odd: object) -> None:
    with pytest.raises(SourceError, match=r"stats\.json: (name: )?expected"):
        Perturbations().told(odd, PLACE)


@pytest.mark.parametrize(
    ("run", "scenario", "model", "augmentation"),
    [
        (
            "mmlu:subject=anatomy,method=multiple_choice_joint,model=openai_gpt-4,"
            "data_augmentation=canonical,num_train_trials=3,max_eval_instances=10,groups=a-b",
            "mmlu:subject=anatomy",
            "openai_gpt-4",
            "canonical",
        ),
        ("boolq:model=ai21_j1-jumbo", "boolq", "ai21_j1-jumbo", ""),
        ("boolq:only_contrast=True,model=x_y", "boolq:only_contrast=True", "x_y", ""),
        (
            "dyck_language_np=3:model=x_y",
            "dyck_language:num_parenthesis_pairs=3",
            "x_y",
            "",
        ),
        (
            "legal_support,method=multiple_choice_joint:model=x_y",
            "legal_support",
            "x_y",
            "",
        ),
        (
            "wikifact:k=5,subject=author,model=x_y",
            "wikifact:k=5,subject=author",
            "x_y",
            "",
        ),
        (
            "gpqa:subset=gpqa_main,use_chain_of_thought=true,model=x_y,max_train_instances=0",
            "gpqa:subset=gpqa_main,use_chain_of_thought=true",
            "x_y",
            "",
        ),
        ("my own run", "my own run", "", ""),
        ("x:process_output=y,a=1,model=x_y", "x:a=1", "x_y", ""),
        ("x:a=1,process_output=y", "x:a=1", "", ""),
        ("", "", "", ""),
    ],
)
def test_a_runs_name_says_scenario_model_and_how(
    run: str, scenario: str, model: str, augmentation: str
) -> None:
    entry = entry_of(run)
    assert (entry.scenario, entry.model, entry.augmentation) == (
        scenario,
        model,
        augmentation,
    )


def echo(prompt: str, *texts: str) -> Echo:
    return Echo(Tokens(texts, tuple(-1.0 for _ in texts), None, {}), prompt)


@pytest.mark.parametrize(
    ("prompt", "texts", "reference", "cut"),
    [
        ("Q? yes", ("Q", "?", " yes"), "yes", Cut(2, 2)),
        ("Q? a b", ("Q", "?", " a", " b"), "a b", Cut(2, 2)),
        ("Q? yes", ("▁Q", "?", "▁yes"), "yes", Cut(2, 2)),
        ("Q? yes", ("Q", "?", "Ġyes"), "yes", Cut(2, 2)),
        ("Q? yes", ("Q", "?", " ", "yes"), "yes", Cut(2, 2)),
        ("Q? yes", ("Q", "?", "yes"), "yes", Cut(2, 2)),  # decoded without blanks
        ("Q? é", ("Q", "?", r"bytes: \xc3", r"bytes:\xa9"), "é", Cut(2, 2)),
        ("Q? yes", ("Q", "? y", "es"), "yes", Cut(1, 2, sure=False)),  # straddles
        ("Q?", ("Q", "?"), "yes", Cut(0, 0, sure=False)),  # cut to fit
        ("Answer:yes", ("Answer", ":", "yes"), "yes", Cut(2, 7)),
        ("Q? yes", (), "yes", Cut(0, 2)),
        ("Q?", ("Q", "?"), "", Cut(2, 2, sure=False)),
    ],
)
def test_the_scored_choice_among_echoed_tokens(
    prompt: str, texts: tuple[str, ...], reference: str, cut: Cut
) -> None:
    assert echo(prompt, *texts).tail(reference) == cut


@pytest.mark.parametrize(
    ("prompt", "texts", "count", "cut"),
    [
        ("<s>a b", ("<s>", "a", " b"), 1, Cut(1, 3)),
        ("a b", ("a", " b"), 0, Cut(0, 0)),
        ("a b", ("", "a", " b"), 1, Cut(2, 1)),  # an empty first token is none
        ("é b", (r"bytes:\xc3", r"bytes:\xa9", " b"), 2, Cut(2, 1)),
        ("a b", ("<s>", "a", " b"), 1, Cut(1, 0)),  # a mark that the prompt lacks
        ("a b", ("▁a", "▁b"), 1, Cut(1, 0, sure=False)),
        ("a", ("a",), 9, Cut(1, 1)),
        ("a", (), 1, Cut(0, 0)),
    ],
)
def test_the_scored_text_after_its_context(
    prompt: str, texts: tuple[str, ...], count: int, cut: Cut
) -> None:
    assert echo(prompt, *texts).after(count) == cut
