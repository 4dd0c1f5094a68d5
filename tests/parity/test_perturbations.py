"""Every perturbation beside HELM's own, on the same texts and random streams."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import structs

from helmsite.perturbations import (
    PRESETS,
    Perturbation,
    WordLists,
    facts_of,
    perturb,
    resolve,
    variants,
)
from helmsite.perturbations.presets import LEFT_OUT
from helmsite.schema import Instance, Reference
from tests.parity.reference import HelmError
from tests.perturbation_texts import (
    EXAMPLES,
    PARTS,
    frozen_instances,
    ids,
    instances,
    paragraphs,
    shared_lists,
    varied,
    write_lists,
    write_synonyms,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tests.parity.reference import Reference as Helm

FROZEN = Path(__file__).parents[1] / "frozen" / "perturbations.json"
CLASSES = {
    "lowercase": "lowercase_perturbation.LowerCasePerturbation",
    "typos": "typos_perturbation.TyposPerturbation",
    "misspellings": "misspelling_perturbation.MisspellingPerturbation",
    "contraction": "contraction_expansion_perturbation.ContractionPerturbation",
    "expansion": "contraction_expansion_perturbation.ExpansionPerturbation",
    "mild_mix": "mild_mix_perturbation.MildMixPerturbation",
    "extra_space": "extra_space_perturbation.ExtraSpacePerturbation",
    "space": "space_perturbation.SpacePerturbation",
    "filler_words": "filler_words_perturbation.FillerWordsPerturbation",
    "style": "suffix_perturbation.SuffixPerturbation",
    "synonym": "synonym_perturbation.SynonymPerturbation",
    "contrast_sets": "contrast_sets_perturbation.ContrastSetsPerturbation",
    "dialect": "dialect_perturbation.DialectPerturbation",
    "gender": "gender_perturbation.GenderPerturbation",
    "person_name": "person_name_perturbation.PersonNamePerturbation",
}
NAMES = [
    "lowercase",
    "typos(prob=0.1)",
    "typos(prob=1.0)",
    "misspellings(prob=0.5)",
    "misspellings(prob=1.0)",
    "contraction",
    "expansion",
    "mild_mix",
    "extra_space(num_spaces=2)",
    "extra_space(num_spaces=0)",
    "space(max_spaces=3)",
    "filler_words",
    "filler_words(insert_prob=0.3,speaker_ph=False)",
    "filler_words(insert_prob=1.0,max_num_insert=2,uncertain_ph=False)",
    "style(suffix=oil painting)",
    "contrast_sets",
    "dialect(prob=0.5)",
    "dialect(prob=1.0)",
    "gender(mode=pronouns,prob=0.5)",
    "gender(mode=pronouns,prob=1.0)",
    "gender(mode=terms,prob=0.5)",
    "gender(mode=terms,prob=1.0)",
    "gender(mode=terms,prob=1.0,source_class=neutral,target_class=male)",
    "gender(mode=pronouns,prob=0.8,bidirectional=True)",
    "person_name(prob=0.5)",
    "person_name(prob=1.0)",
    "person_name(prob=0.5,preserve_gender=False)",
    "person_name(prob=1.0,source_class=race=white_american+gender=male,target_class=gender=female,preserve_gender=False)",
    "person_name(prob=0.8,source_class=race=white,target_class=race=hispanic,person_name_type=last_name,preserve_gender=False)",
]
# The letters that equal i and s only where case is ignored: HELM fails on a contraction
# or a word of dialect that is written with them.
HELM_FAILS_ON = set("\u0130\u0131\u017f")
thorough = settings(
    max_examples=100,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path | None]:
    return write_lists(tmp_path_factory.mktemp("lists"))


def spec_of(
    perturbation: Perturbation, find: Callable[[str], Path | None]
) -> dict[str, Any]:
    """The perturbation as HELM's configuration names it."""
    name = perturbation.name.partition("(")[0]
    args = structs.asdict(perturbation.parameters)
    if name == "dialect":
        args["mapping_file_path"] = str(find("SAE_to_AAVE_mapping.json"))
    if name == "person_name":
        args["name_file_path"] = str(find("person_names.txt"))
        for key in ("source_class", "target_class"):
            args[key] = dict(part.split("=") for part in args[key].split("+"))
    return {"class_name": f"helm.benchmark.augmentations.{CLASSES[name]}", "args": args}


def case_of(
    instance: Instance,
    perturbations: Sequence[Perturbation],
    find: Callable[[str], Path | None],
    **flags: Any,
) -> dict[str, Any]:
    return {
        "specs": [spec_of(p, find) for p in perturbations],
        "instance": {
            "id": instance.instance_id,
            "input": instance.input,
            "references": [[r.text, list(r.tags)] for r in instance.references],
            "contrast": instance.extra.get("contrast"),
        },
        **flags,
    }


def rows(versions: Sequence[Instance]) -> list[Any]:
    return [[v.input, [[r.text, list(r.tags)] for r in v.references]] for v in versions]


def theirs(answer: list[dict[str, Any]]) -> list[Any]:
    return [[made["input"], made["references"]] for made in answer]


def texts_of(instance: Instance) -> str:
    return instance.input + "".join(r.text for r in instance.references)


@pytest.mark.parametrize("name", NAMES, ids=NAMES)
def test_versions_equal_helms(
    name: str, helm: Helm, small: Callable[[str], Path | None]
) -> None:
    chosen = resolve([name], WordLists(small))
    seeds = 3 if chosen[0].kind.seeded else 1

    def changed(instance: Instance) -> bool:
        """Compare; whether the instance has versions."""
        ours = perturb([instance], chosen, seeds_per_instance=seeds)
        try:
            answer = helm.ask(case_of(instance, chosen, small, seeds=seeds))
        except HelmError:
            if HELM_FAILS_ON & set(texts_of(instance)):
                return False
            raise
        assert rows(ours) == theirs(answer)
        return len(ours) > 1

    @thorough
    @given(instances())
    def compare(instance: Instance) -> None:
        changed(instance)

    compare()
    assert sum(changed(varied(seed)) for seed in range(200)) >= 20


@pytest.mark.parametrize("flags", [(True, False), (False, True), (False, False)])
def test_the_flags_of_the_augmenter_are_helms(
    flags: tuple[bool, bool], helm: Helm, small: Callable[[str], Path | None]
) -> None:
    given_flags = dict(zip(("include_original", "skip_unchanged"), flags, strict=True))
    chosen = resolve(["canonical", "contrast_sets"], WordLists(small))
    for number, text in enumerate(EXAMPLES):
        instance = Instance(f"id{number}", text, (Reference(text),), split="valid")
        ours = perturb([instance], chosen, **given_flags)
        assert rows(ours) == theirs(
            helm.ask(case_of(instance, chosen, small, **given_flags))
        )


def test_canonical_with_the_real_lists_equals_helms(helm: Helm, shared: Path) -> None:
    find = shared_lists(shared)
    chosen = resolve(["canonical", "person_name_last_hard"], WordLists(find))
    item = st.builds(
        Instance,
        ids,
        paragraphs(find),
        st.lists(paragraphs(find).map(Reference), max_size=2).map(tuple),
        split=st.just("test"),
    )

    @thorough
    @given(item)
    def compare(instance: Instance) -> None:
        answer = helm.ask(case_of(instance, chosen, find))
        ours = perturb([instance], chosen)
        assert rows(ours) == theirs(answer)

    compare()


def test_presets_equal_helms(helm: Helm, small: Callable[[str], Path | None]) -> None:
    answer = helm.ask({"presets": True})
    assert answer.keys() == PRESETS.keys() | LEFT_OUT.keys()
    assert not PRESETS.keys() & LEFT_OUT.keys()
    for preset in PRESETS:
        ours = {
            run: [configured(p) for p in resolve(names, WordLists(small))]
            for run, names in variants(preset).items()
        }
        assert ours == {
            run: [(s["class_name"], dict(_given(s["args"]))) for s in specs]
            for run, specs in answer[preset].items()
        }


def configured(perturbation: Perturbation) -> tuple[str, dict[str, Any]]:
    """A perturbation as a preset of HELM has it: what is HELM's own default is left out."""
    spec = spec_of(perturbation, lambda file: None)
    unsaid = {"max_num_insert": None, "uncertain_ph": True, "fill_ph": True}
    return spec["class_name"], {
        key: value
        for key, value in _given(spec["args"])
        if key not in unsaid or unsaid[key] != value
    }


def _given(args: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """The arguments of a perturbation that are set and lead to no file."""
    return ((k, v) for k, v in args.items() if v not in (None, "None"))


def test_facts_equal_helms_descriptions(
    helm: Helm, small: Callable[[str], Path | None]
) -> None:
    names = [name for name in NAMES if "~" not in name]
    for perturbation in resolve(names, WordLists(small)):
        item = Instance("id7", EXAMPLES[0], split="test")
        seeds = 2 if perturbation.kind.seeded else 1
        flags = {"seeds": seeds, "skip_unchanged": False, "include_original": False}
        answer = helm.ask(case_of(item, [perturbation], small, **flags))
        for facts, made in zip(facts_of([perturbation], seeds), answer, strict=True):
            described = made["perturbation"]
            assert facts.robustness is described["robustness"]
            assert facts.fairness is described["fairness"]
            assert facts.name.partition("(")[0].partition("~")[0] == described["name"]
            assert facts.name.endswith(f"~{described['seed'] or ''}".rstrip("~"))


def test_helm_repeats_names_where_there_are_further_seeds(
    helm: Helm, small: Callable[[str], Path | None]
) -> None:
    """A difference: HELM's further seeds of person_name are copies; ours are none."""
    chosen = resolve(["person_name(prob=1.0)"], WordLists(small))
    instance = Instance("id1", EXAMPLES[0], split="test")
    answer = helm.ask(case_of(instance, chosen, small, seeds=3))
    assert len(answer) == 4
    assert answer[1] == answer[2] == answer[3]
    assert rows(perturb([instance], chosen, seeds_per_instance=3)) == theirs(answer[:2])


def test_helm_keeps_unchanged_copies_of_passage_questions(
    helm: Helm, small: Callable[[str], Path | None]
) -> None:
    """A difference: HELM compares an input with one of another class, never equal."""
    chosen = resolve(["lowercase"], WordLists(small))
    text = "all is lower case.\nQuestion: is it?"
    instance = Instance("id1", text, split="test")
    case = case_of(instance, chosen, small)
    case["instance"] |= {"input": "all is lower case.", "question": "is it?"}
    answer = helm.ask(case)
    assert [made["input"] for made in answer] == [
        text.replace("Question", "Question"),
        text.lower(),
    ]
    case["instance"] |= {"question": "IS it?"}
    assert len(helm.ask(case)) == 2


def test_synonyms_equal_helms(helm: Helm, tmp_path: Path) -> None:
    pytest.importorskip("spacy", reason="pip install 'helmsite[synonym]'")
    find = write_synonyms(tmp_path)
    helm.ask({"synonyms": str(tmp_path)})
    known = [word for of in PARTS.values() for word in of]
    words = st.lists(st.sampled_from([*known, ",", "\n", "-", "Oslo"]), max_size=12)
    chosen = resolve(["synonym(prob=0.5)", "synonym(prob=1.0)"], WordLists(find))

    @thorough
    @given(ids, words.map(" ".join))
    def compare(item: str, text: str) -> None:
        instance = Instance(item, text, split="test")
        answer = helm.ask(case_of(instance, chosen, find, seeds=2))
        assert rows(perturb([instance], chosen, seeds_per_instance=2)) == theirs(answer)

    compare()


def test_frozen_pairs_are_helms(
    helm: Helm, small: Callable[[str], Path | None], pytestconfig: pytest.Config
) -> None:
    """What `make test` compares with; `--update-golden` writes it anew."""
    made = []
    for name in NAMES:
        chosen = resolve([name], WordLists(small))
        seeds = 2 if chosen[0].kind.seeded else 1
        for number, instance in enumerate(frozen_instances()):
            answer = helm.ask(case_of(instance, chosen, small, seeds=seeds))
            made.append([name, number, theirs(answer)[1:]])
    if pytestconfig.getoption("--update-golden"):
        FROZEN.write_text(
            "[\n"
            + ",\n".join(json.dumps(row, ensure_ascii=True) for row in made)
            + "\n]\n"
        )
    assert json.loads(FROZEN.read_text()) == made
