"""One YAML file is a scenario: what it makes, and what is said of a faulty one."""

import hashlib
import re
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from helmsite import metrics, scenarios
from helmsite.errors import ConfigError, HelmsiteError, ScenarioError
from helmsite.scenarios.definition import Definition, SplitRule
from helmsite.scenarios.reading import read_file
from helmsite.scenarios.sources import Row
from helmsite.scenarios.splits import assign
from helmsite.schema import (
    AdapterSpec,
    DataRevision,
    LoadedScenario,
    ModelIdentity,
    RunSpec,
    Taxonomy,
    preset,
)

BASE: dict[str, Any] = {
    "name": "quiz",
    "title": "Quiz",
    "source": {"path": "quiz.csv"},
    "split": {"column": "part", "map": {"dev": "train", "test": "test"}},
    "input": "{{ question }}",
    "references": {"correct": "{{ answer }}"},
    "adapter": {"method": "generation", "input_noun": "Question"},
    "metrics": ["exact_match"],
    "main_metric": "exact_match",
}
ROWS = """question,answer,part
How many legs has a spider?,8,test
What is 1 + 1?,2,dev
Which colour has snow?,white,test
"""
YES_NO = """question,answer
A?,yes
B?,no
C?,yes
D?,no
"""


class Project:
    """A folder with scenario files; `load` writes one and loads it."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def write(self, name: str, text: str) -> Path:
        path = self.root / name
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_text(text, encoding="utf-8")
        return path

    def scenario(self, *, drop: tuple[str, ...] = (), **keys: Any) -> Path:
        said = {k: v for k, v in {**BASE, **keys}.items() if k not in drop}
        text = yaml.safe_dump(said, sort_keys=False, allow_unicode=True)
        return self.write(f"{said.get('name', 'quiz')}.yaml", text)

    def load(
        self, entry: str = "quiz", rows: str = ROWS, **keys: Any
    ) -> LoadedScenario:
        self.write("quiz.csv", rows)
        self.scenario(**keys)
        return scenarios.load(entry, [self.root])

    def fails(self, entry: str = "quiz", rows: str = ROWS, **keys: Any) -> str:
        with pytest.raises(HelmsiteError) as caught:
            self.load(entry, rows, **keys)
        assert caught.value.hint
        assert caught.value.exit_code == 2
        return str(caught.value).replace(f"{self.root}/", "")


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def inputs(loaded: LoadedScenario, split: str) -> list[str]:
    return [i.input for i in loaded.instances if i.split == split]


def test_a_csv_file_becomes_a_scenario(project: Project) -> None:
    loaded = project.load(
        title="A quiz",
        taxonomy={"task": "question answering", "language": "English"},
        groups=["mine"],
        publication="aggregates",
        attributes={"kind": ["{{ answer | length }}", "all"]},
        sub_split="{{ part }}",
        extra={"length": "{{ question | length }}"},
        perturbations=[],
    )
    assert loaded.facts.name == "quiz"
    assert loaded.facts.title == "A quiz"
    assert loaded.facts.taxonomy == Taxonomy("question answering", language="English")
    assert loaded.facts.publication == "aggregates"
    assert loaded.facts.groups == ("mine",)
    assert loaded.metrics == ("exact_match",)
    assert loaded.perturbations == ()
    assert loaded.adapter == preset("generation", input_noun="Question")
    first, second, third = loaded.instances
    assert [i.instance_id for i in loaded.instances] == ["id0", "id1", "id2"]
    assert [i.position for i in loaded.instances] == [0, 1, 2]
    assert (first.split, first.input, first.gold) == ("train", "What is 1 + 1?", ("2",))
    assert second.input == "How many legs has a spider?"
    assert third.gold == ("white",)
    assert third.attributes == {"kind": ("5", "all")}
    assert third.sub_split == "test"
    assert third.extra == {"length": 22}


def test_the_same_file_gives_the_same_instances_and_hashes(project: Project) -> None:
    first, again = project.load(), project.load()
    assert first == again
    assert first.data.sha256 == hashlib.sha256(ROWS.encode()).hexdigest()
    assert first.data.source == "quiz.csv"


def test_titles_and_metrics_change_no_hash(project: Project) -> None:
    first = project.load()
    other = project.load(title="Other", metrics=["f1_score"], licence="MIT", url="x")
    assert other.definition_sha256 == first.definition_sha256
    assert other.data == first.data


@pytest.mark.parametrize(
    "change",
    [
        {"input": "{{ question }} "},
        {"where": "{{ true }}"},
        {"sub_split": "x"},
        {"attributes": {"a": "b"}},
        {"references": {"correct": ["{{ answer }}"]}},
        {"allow_no_correct": True},
        {"source": {"path": "quiz.csv", "quotes": False}},
        {"parameters": {"k": {"default": "v"}}},
    ],
)
def test_what_shapes_instances_changes_the_definition_hash(
    change: dict[str, Any], project: Project
) -> None:
    first = project.load()
    assert project.load(**change).definition_sha256 != first.definition_sha256


def test_data_hash_follows_the_bytes_not_the_place(project: Project) -> None:
    first = project.load()
    project.write("sub/quiz.csv", ROWS)
    moved = project.load(source={"path": "sub/quiz.csv"})
    assert moved.data == first.data
    assert moved.definition_sha256 == first.definition_sha256
    changed = project.load(rows=ROWS.replace("white", "White"))
    assert changed.data.sha256 != first.data.sha256


def test_several_files_are_read_in_order(project: Project) -> None:
    project.write("a.csv", YES_NO)
    project.write("b.jsonl", '{"question": "E?", "answer": "no"}\n')
    files = {"test": ["a.csv", "b.jsonl"], "train": "b.jsonl"}
    loaded = project.load(drop=("split",), source={"files": files})
    assert inputs(loaded, "train") == ["E?"]
    assert inputs(loaded, "test") == ["A?", "B?", "C?", "D?", "E?"]
    assert loaded.data.source == "a.csv, b.jsonl, b.jsonl"
    listed = project.load(split="test", source={"path": ["b.jsonl", "a.csv"]})
    assert inputs(listed, "test") == ["E?", "A?", "B?", "C?", "D?"]


def test_rows_are_chosen_before_the_split(project: Project) -> None:
    loaded = project.load(
        rows=YES_NO,
        where="{{ question != 'A?' }}",
        split={"first": {"train": 1}, "rest": "test"},
    )
    assert inputs(loaded, "train") == ["B?"]
    assert inputs(loaded, "test") == ["C?", "D?"]


def test_first_rows_by_share_round_down(project: Project) -> None:
    split = {"first": {"train": 0.3, "valid": 0.5}, "rest": "test"}
    loaded = project.load(rows=YES_NO, split=split)
    assert Counter(i.split for i in loaded.instances) == {
        "train": 1,
        "valid": 2,
        "test": 1,
    }


def test_left_out_rows_take_no_number(project: Project) -> None:
    split = {"column": "part", "map": {"dev": None, "test": "test"}}
    loaded = project.load(split=split)
    assert [i.instance_id for i in loaded.instances] == ["id0", "id1"]


def many(count: int) -> str:
    lines = [f"Q{n}?,{n % 7},{n // 10}" for n in range(count)]
    return "\n".join(["question,answer,document", *lines]) + "\n"


def test_shares_draw_by_row_and_seed(project: Project) -> None:
    split = {"shares": {"train": 0.2, "test": 0.8}, "seed": 1}
    first = project.load(rows=many(1000), split=split)
    counts = Counter(i.split for i in first.instances)
    assert 160 < counts["train"] < 240
    fewer = project.load(rows=many(500), split=split)
    assert set(inputs(fewer, "train")) < set(inputs(first, "train"))
    other = project.load(rows=many(1000), split={**split, "seed": 2})
    assert set(inputs(other, "train")) != set(inputs(first, "train"))


def test_shares_can_keep_documents_together(project: Project) -> None:
    shares = {"train": 0.5, "test": 0.5}
    split = {"shares": shares, "by": "{{ document }}"}
    loaded = project.load(rows=many(400), split=split)
    splits: dict[int, set[str]] = {}
    for instance in loaded.instances:
        document = int(instance.input[1:-1]) // 10
        splits.setdefault(document, set()).add(instance.split)
    assert all(len(found) == 1 for found in splits.values())
    assert {s for found in splits.values() for s in found} == {"train", "test"}


@pytest.mark.parametrize(
    ("form", "answer", "right"),
    [
        ("index", "0", [0]),
        ("number", "1", [0]),
        ("letter", "B", [1]),
        ("letter", "c", [2]),
        ("text", "blue", [2]),
    ],
)
def test_answers_of_multiple_choice(
    form: str, answer: str, right: list[int], project: Project
) -> None:
    references = {
        "choices": ["red", "green", "blue"],
        "answer": "{{ answer }}",
        "answer_is": form,
    }
    rows = f"question,answer\nQ?,{answer}\n"
    loaded = project.load(rows=rows, split="test", references=references)
    found = loaded.instances[0].references
    assert [r.text for r in found] == ["red", "green", "blue"]
    assert [i for i, r in enumerate(found) if r.is_correct] == right


def test_choices_and_answers_can_be_lists_of_the_row(project: Project) -> None:
    project.write("q.json", '[{"q": "Q", "c": ["a", 1, "b"], "a": [0, 2]}]')
    loaded = project.load(
        source={"path": "q.json"},
        split="test",
        input="{{ q }}",
        references={"choices": "{{ c }}", "answer": "{{ a }}", "answer_is": "index"},
    )
    found = loaded.instances[0].references
    assert [(r.text, r.is_correct) for r in found] == [
        ("a", True),
        ("1", False),
        ("b", True),
    ]


def test_aliases_are_all_correct_and_decoys_are_not(project: Project) -> None:
    project.write("q.json", '[{"q": "Q", "a": ["USA", "US"], "no": "UK"}]')
    loaded = project.load(
        source={"path": "q.json"},
        split="test",
        input="{{ q }}",
        references={"correct": "{{ a }}", "incorrect": ["{{ no }}"]},
    )
    assert loaded.instances[0].gold == ("USA", "US")
    assert loaded.instances[0].references[2].text == "UK"


def test_listed_references_have_conditions_and_tags(project: Project) -> None:
    references = [
        {
            "text": "Yes",
            "correct": "{{ answer == 'yes' }}",
            "tags": ["a", "{{ answer }}"],
        },
        {"text": "No", "correct": "{{ answer == 'no' }}"},
        {"text": "Maybe", "when": "{{ question == 'A?' }}"},
    ]
    loaded = project.load(rows=YES_NO, split="test", references=references)
    first, second, *_ = loaded.instances
    assert [r.tags for r in first.references] == [("correct", "a", "yes"), (), ()]
    assert [(r.text, r.tags) for r in second.references] == [
        ("Yes", ("a", "no")),
        ("No", ("correct",)),
    ]


def test_language_modelling_has_no_references(project: Project) -> None:
    loaded = project.load(
        drop=("references",), split="test", adapter={"method": "language_modeling"}
    )
    assert all(i.references == () for i in loaded.instances)
    assert loaded.adapter == preset("language_modeling")


def test_no_correct_reference_must_be_declared(project: Project) -> None:
    references = [{"text": "{{ answer }}"}]
    message = project.fails(references=references)
    assert "quiz.csv, row 1 (line 2): references: none of them is correct" in message
    loaded = project.load(references=references, allow_no_correct=True)
    assert loaded.instances[0].gold == ()


def test_values_of_yaml_are_not_guessed(project: Project) -> None:
    project.write("quiz.csv", "question,answer,part\nA?,no,2024-01-31\nB?,on,yes\n")
    text = yaml.safe_dump({k: v for k, v in BASE.items() if k != "split"})
    project.write(
        "quiz.yaml",
        f"{text}split:\n  column: part\n  map: {{2024-01-31: train, yes: test}}\n",
    )
    loaded = scenarios.load("quiz", [project.root])
    assert [i.split for i in loaded.instances] == ["train", "test"]


PARAMETERS = {
    "part": {"values": ["dev", "test"], "default": "test"},
    "k": {"type": "integer", "minimum": 1, "maximum": 9, "default": 2},
    "loud": {"type": "boolean", "default": False},
    "share": {"type": "number", "default": 0.5},
}


def test_parameters_reach_templates_paths_and_titles(project: Project) -> None:
    project.write("test.csv", ROWS)
    loaded = project.load(
        "quiz:loud=true,k=3",
        parameters=PARAMETERS,
        title="Quiz {{ parameters.part }} {{ parameters.k }}",
        groups=["quiz_{{ parameters.part }}"],
        source={"path": "{{ parameters.part }}.csv"},
        where="{{ part == parameters.part }}",
        input="{{ question | upper if parameters.loud else question }}",
        adapter={
            "method": "generation",
            "instructions": "Answer {{ parameters.k }} questions.",
            "max_train_instances": "{{ parameters.k }}",
        },
    )
    assert loaded.facts.name == "quiz:k=3,loud=True,part=test,share=0.5"
    assert loaded.facts.title == "Quiz test 3"
    assert loaded.facts.groups == ("quiz_test",)
    assert loaded.instances[0].input == "HOW MANY LEGS HAS A SPIDER?"
    assert loaded.adapter.instructions == "Answer 3 questions.\n"
    assert loaded.adapter.max_train_instances == 3
    again = scenarios.load(loaded.facts.name, [project.root])
    assert again == loaded


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (
            "quiz:prt=dev",
            "Scenario 'quiz' has no parameter 'prt'. Did you mean 'part'?",
        ),
        ("quiz:part=tst", "part=tst is none of dev, test. Did you mean 'test'?"),
        ("quiz:k=x", "k=x must be a whole number."),
        ("quiz:k=1.5", "k=1.5 must be a whole number."),
        ("quiz:k=0", "k=0 is below the minimum of 1."),
        ("quiz:k=10", "k=10 is above the maximum of 9."),
        ("quiz:loud=maybe", "loud=maybe must be True or False."),
        ("quiz:share=nan", "share=nan must be a number."),
        ("quiz:k=x,loud=2", "loud=2 must be True or False."),
        ("quiz:method=generatoin", "no method 'generatoin'. Did you mean 'generation'"),
        ("quiz:model=gpt", "no parameter 'model' (models are named in the suite)"),
        ("quiz:k", "parameter 'k' has no '='"),
    ],
)
def test_wrong_parameters_are_explained(
    entry: str, message: str, project: Project
) -> None:
    said = project.fails(entry, parameters=PARAMETERS)
    assert message in said
    if "quiz:method" not in entry and "'='" not in message:
        assert "Write it as quiz:k=<integer>,loud=<boolean>,part=dev|test" in said


def test_many_possible_values_are_counted_and_the_nearest_named(
    project: Project,
) -> None:
    words = [f"word{n}" for n in range(13)]
    said = project.fails("quiz:w=wodr7", parameters={"w": {"values": words}})
    assert "w=wodr7 is none of word0, word1, word2, word3, ... (13). Did" in said
    assert "'word7'" in said
    assert "Write it as quiz:w=word0|word1|word2|word3|... (13)" in said
    said = project.fails("quiz:w=wodr7", parameters={"w": {"values": words[1:]}})
    assert "word9, word10, word11, word12. Did" in said


def test_a_parameter_without_default_must_be_given(project: Project) -> None:
    message = project.fails(parameters={"k": {"type": "integer"}})
    assert "the parameter 'k' must be given" in message


def test_another_method_takes_nouns_along_but_no_limits(project: Project) -> None:
    keys: dict[str, Any] = {
        "references": [{"text": "{{ answer }}", "correct": True}],
        "adapter": {
            "method": "multiple_choice_joint",
            "instructions": "Answer.",
            "input_noun": "Question",
            "max_train_instances": 3,
        },
        "methods": {
            "generation": {"max_tokens": 9},
            "multiple_choice_separate_original": {"input_prefix": "Q: "},
        },
    }
    joint = project.load(**keys)
    assert joint.adapter.max_train_instances == 3
    generation = project.load("quiz:method=generation", **keys)
    assert generation.facts == joint.facts
    assert generation.instances == joint.instances
    expected = preset("generation", instructions="Answer.", input_noun="Question")
    assert generation.adapter.max_train_instances == expected.max_train_instances == 5
    assert generation.adapter.instructions == "Answer.\n"
    assert generation.adapter.max_tokens == 9
    separate = project.load("quiz:method=multiple_choice_separate_original", **keys)
    assert separate.adapter.input_prefix == "Q: "
    assert separate.adapter.max_train_instances == 0
    message = project.fails("quiz:method=generatoin", **keys)
    assert "no method 'generatoin'. Did you mean 'generation'?" in message


def test_adapter_fields_come_on_top_of_the_preset(project: Project) -> None:
    adapter = {
        "method": "multiple_choice_joint",
        "output_noun": "Answer",
        "stop_sequences": ["\n\n"],
        "substitutions": [{"source": "a", "target": "b"}],
        "eval_splits": ["test"],
        "sample_train": False,
    }
    spec = project.load(adapter=adapter).adapter
    assert isinstance(spec, AdapterSpec)
    assert spec.output_prefix == "Answer: "
    assert spec.stop_sequences == ("\n\n",)
    assert spec.substitutions[0].target == "b"
    assert spec.eval_splits == ("test",)
    assert not spec.sample_train


FAULTS: list[tuple[dict[str, Any], str]] = [
    ({"metrcs": []}, "quiz.yaml:19: unknown setting 'metrcs'. Did you mean 'metrics'"),
    ({"drop": ("title",)}, "quiz.yaml:1: 'title' is missing."),
    ({"drop": ("input",)}, "'input' is missing: a template"),
    ({"drop": ("source",)}, "give the scenario either 'source' or 'generator'"),
    (
        {"generator": "dyck_language"},
        "give the scenario either 'source' or 'generator'",
    ),
    (
        {"drop": ("source", "input"), "generator": "dyck"},
        "unknown: 'dyck'. Possible: dyck_l",
    ),
    (
        {"drop": ("source", "input"), "generator": "dyck_language"},
        "'split': does not go together with 'generator'",
    ),
    ({"name": "a b"}, "'name': may have letters, digits and _ - . only"),
    ({"input": 3}, "'input': expected `str`, got `int`"),
    ({"input": "{{ question"}, "'input': template '{{ question': unexpected end"),
    ({"where": "{{ a }} and {{ b }}"}, "'where': must be one {{ expression }}"),
    (
        {"title": "{{ question }}"},
        "'title': can use parameters.NAME only, not 'question'",
    ),
    ({"title": "{{ parameters.k }}"}, "'title': there is no parameter 'k'"),
    (
        {"publication": "secret"},
        "invalid enum value 'secret'; possible: full, aggregates",
    ),
    (
        {"taxonomy": {"taks": "x"}},
        "unknown setting 'taxonomy.taks'. Did you mean 'task'",
    ),
    ({"source": {}}, "'source': give it either 'path' or 'files'"),
    ({"source": {"path": "a", "frmat": "csv"}}, "unknown setting 'source.frmat'"),
    (
        {"source": {"path": "a", "format": "xls"}},
        "possible: csv, tsv, json, jsonl, parquet",
    ),
    ({"source": {"path": "a", "delimiter": "||"}}, "delimiter': must be one character"),
    (
        {"source": {"files": {"test": "quiz.csv"}}},
        "'split': does not go together with 'so",
    ),
    (
        {"split": "tset"},
        "'split': invalid enum value 'tset'; possible: train, valid, test",
    ),
    ({"split": {"column": "a", "first": {}, "shares": {"test": 1}}}, "give it one of"),
    ({"split": {"map": {"a": "test"}}}, "'split.map': needs 'column' beside it"),
    ({"split": {"first": {"train": 1}}}, "'rest' is missing"),
    ({"split": {"rest": "test"}}, "'split.rest': needs 'first' beside it"),
    ({"split": {"first": {"train": 1.5}, "rest": "test"}}, "rows or a share below 1"),
    ({"split": {"shares": {"test": 0.5}}}, "'split.shares': must add up to 1, not 0.5"),
    ({"split": {"shares": {"test": 2, "train": -1}}}, "must not be negative"),
    ({"split": {"by": "{{ a }}"}}, "'split.by': needs 'shares' beside it"),
    (
        {"references": "{{ answer }}"},
        "references: must be a table of settings, not text",
    ),
    ({"references": {"choices": "{{ a }}"}}, "'answer_is' is missing beside 'choices'"),
    ({"references": {"answer": "{{ a }}"}}, "'references.answer': needs 'choices'"),
    (
        {"references": {"correct": "a", "choices": "b"}},
        "one of 'choices', 'correct' and",
    ),
    ({"references": {"incorrect": "a"}}, "'references.incorrect': needs 'correct'"),
    (
        {"references": [{"text": "a", "corect": True}]},
        "unknown setting 'references[0].c",
    ),
    ({"adapter": {}}, "'adapter': 'method' is missing"),
    (
        {"adapter": {"method": "generatoin"}},
        "'adapter.method': invalid enum value 'generatoin'; possible: generation, multi",
    ),
    ({"adapter": {"method": "generatoin"}}, "Did you mean 'generation'?"),
    (
        {"adapter": {"method": "generation", "max_tokns": 1}},
        "unknown setting 'adapter.max_tokns'. Did you mean 'max_tokens'",
    ),
    (
        {"adapter": {"method": "generation", "max_tokens": "x"}},
        "quiz.yaml:15: 'adapter.max_tokens': expected `int`, got `str`.",
    ),
    (
        {"adapter": {"method": "generation", "input_noun": [1]}},
        "'adapter.input_noun': expected `str | null`, got `array`",
    ),
    (
        {"adapter": {"method": "generation", "newline_after_input_noun": True}},
        "'adapter.newline_after_input_noun': needs 'input_noun' beside it",
    ),
    (
        {"adapter": {"method": "language_modeling", "output_noun": "A"}},
        "'adapter.output_noun': language_modeling has no nouns; set 'output_prefix'",
    ),
    (
        {"adapter": {"method": "generation", "max_tokens": 0}},
        "'adapter.max_tokens': generation needs 1 or more",
    ),
    (
        {"methods": {"generation": {"x": 1}}},
        "unknown setting 'methods.generation.x'",
    ),
    (
        {"methods": {"language_modeling": {"num_train_trials": 0}}},
        "'methods.language_modeling.num_train_trials': expected `int` >= 1, got 0",
    ),
    ({"parameters": {"a b": {}}}, "a parameter's name is like a variable's"),
    ({"parameters": {"k": {"type": "int"}}}, "possible: string, integer, number, bool"),
    (
        {"parameters": {"k": {"type": "integer", "default": "a"}}},
        "'a' is not of the type",
    ),
    (
        {"parameters": {"k": {"values": ["a"], "default": "b"}}},
        "the default is none of a",
    ),
    ({"parameters": {"k": {"type": "number", "default": True}}}, "True is not of the"),
    ({"parameters": {"k": {"type": "boolean", "default": 1}}}, "1 is not of the type"),
    (
        {"parameters": {"k": {"minimum": 1}}},
        "minimum and maximum are for the types int",
    ),
    ({"parameters": {"k": {"values": ["a,b=c"]}}}, "cannot stand in a run entry"),
]


@pytest.mark.parametrize(("keys", "message"), FAULTS, ids=[m for _, m in FAULTS])
def test_faults_of_a_file_are_explained(
    keys: dict[str, Any], message: str, project: Project
) -> None:
    project.scenario(**keys)
    said = "\n".join(scenarios.listing([project.root]).problems)
    assert message in said
    assert "quiz.yaml" in said or "a b.yaml" in said


def test_all_problems_of_a_file_come_at_once_with_their_lines(project: Project) -> None:
    project.write("quiz.csv", ROWS)
    path = project.write(
        "quiz.yaml",
        "name: quiz\n"
        "title: '{{ parameters.x }}'\n"
        "source: {path: quiz.csv}\n"
        "input: '{{ question | uper }}'\n"
        "references:\n"
        "  choices: [a, b]\n"
        "adapter:\n"
        "  method: generation\n"
        "  max_tokns: 3\n",
    )
    with pytest.raises(ConfigError) as caught:
        scenarios.load("quiz", [project.root])
    lines = [p.removeprefix(f"{path}:").split(":")[0] for p in caught.value.problems]
    assert sorted(lines) == ["2", "4", "5", "5", "9"]


DATA_FAULTS: list[tuple[dict[str, Any], str]] = [
    (
        {"input": "{{ qustion }}"},
        "quiz.csv, row 1 (line 2): input: there is no field 'qustion'. Did you mean 'qu",
    ),
    (
        {"source": {"path": "quz.csv"}},
        "quz.csv: there is no such file. Did you mean 'qui",
    ),
    (
        {"split": {"column": "prt"}},
        "row 1 (line 2): there is no column 'prt' for the sp",
    ),
    (
        {"split": {"column": "part"}},
        "row 2 (line 3): part is 'dev', which is none of tr",
    ),
    ({"where": "{{ answer == 'x' }}"}, "No row is left: 'where' is false for all 3"),
    ({"where": "{{ anser }}"}, "row 1 (line 2): where: there is no field 'anser'"),
    ({"split": "train"}, "no instance is in the main split 'test'; 3 in train"),
    ({"split": "train"}, "Say in the file which rows are test: by split, or by source"),
    ({"split": "valid"}, "Set main_split: valid."),
    (
        {"attributes": {"a": "{{ b }}"}},
        "row 1 (line 2): attributes: there is no field 'b'",
    ),
    ({"input": "{{ [1] }}"}, "row 1 (line 2): input: must be text, but is a list of 1"),
    (
        {
            "references": {
                "choices": ["x"],
                "answer": "{{ answer }}",
                "answer_is": "text",
            }
        },
        "references: the answer '8' is none of the choices x",
    ),
    (
        {"references": {"choices": ["x"], "answer": "B", "answer_is": "letter"}},
        "references: the answer 'B' (letter) is not one of the 1 choices",
    ),
    (
        {"references": {"choices": ["x"], "answer": "-1", "answer_is": "index"}},
        "the answer '-1' (index) is not one of the 1 choices",
    ),
    (
        {
            "references": {
                "choices": ["x"],
                "answer": "{{ true }}",
                "answer_is": "index",
            }
        },
        "the answer True (index) is not one of the 1 choices",
    ),
    (
        {"references": {"choices": ["x"], "answer": "x", "answer_is": "index"}},
        "the answer 'x' (index) is not one of the 1 choices",
    ),
    (
        {"references": [{"text": "x", "correct": "{{ answer }}"}]},
        "'correct' must be true or false, but is '8'",
    ),
]


@pytest.mark.parametrize(
    ("keys", "message"), DATA_FAULTS, ids=[m for _, m in DATA_FAULTS]
)
def test_rows_that_do_not_fit_are_named(
    keys: dict[str, Any], message: str, project: Project
) -> None:
    assert message in project.fails(**keys)


def test_settings_from_parameters_are_checked_when_they_are_known(
    project: Project,
) -> None:
    keys: dict[str, Any] = {
        "parameters": {"method": {"default": "generatoin"}, "tokens": {"default": "x"}},
        "adapter": {
            "method": "{{ parameters.method }}",
            "max_tokens": "{{ parameters.tokens }}",
        },
    }
    message = project.fails(**keys)
    assert "'adapter.method': invalid enum value 'generatoin'; possible: ge" in message
    message = project.fails("quiz:method=generation", **keys)
    assert "quiz.yaml: 'adapter.max_tokens': expected `int`, got `str`" in message
    loaded = project.load("quiz:method=generation,tokens=7", **keys)
    assert loaded.adapter.max_tokens == 7


def test_a_scenario_knows_the_adapter_of_each_of_its_methods() -> None:
    joint = scenarios.load("knowledge")
    separate = "multiple_choice_separate_original"
    assert joint.methods["multiple_choice_joint"] == joint.adapter
    assert set(joint.methods) == {
        *("multiple_choice_joint", "multiple_choice_separate_calibrated", separate)
    }
    other = scenarios.load(f"knowledge:method={separate}")
    assert other.adapter == joint.methods[separate]
    assert other.methods == joint.methods


def test_the_first_metric_is_the_main_one_unless_the_file_says_another(
    project: Project,
) -> None:
    loaded = project.load(drop=("main_metric",), metrics=["f1_score", "exact_match"])
    assert loaded.facts.main_metric == "f1_score"
    loaded = project.load(metrics=["f1_score"], main_metric="exact_match")
    assert loaded.facts.main_metric == "exact_match"
    assert loaded.metrics == ("f1_score", "exact_match")
    loaded = project.load(drop=("main_metric", "metrics"))
    assert (loaded.facts.main_metric, loaded.metrics) == ("", ())


def test_an_empty_answer_is_not_a_choice(project: Project) -> None:
    references = {"choices": ["a"], "answer": "{{ answer }}", "answer_is": "letter"}
    message = project.fails(
        rows="question,answer\nQ?,\n", split="test", references=references
    )
    assert "the answer '' (letter) is not one of the 1 choices" in message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "quiz.yaml: the file is empty."),
        ("- a\n", "quiz.yaml:1: must be a table of settings, not a list."),
        ("name: quiz\ntitle: a: b\n", "quiz.yaml:2: not valid YAML"),
        ("name: quiz\nname: x\n", "quiz.yaml:2: the key 'name' is already on line 1."),
        ("name: &a quiz\ntitle: *a\n", "quiz.yaml:1: anchors and aliases"),
        (
            "name: quiz\ntitle: !!python/name:os.system x\n",
            "quiz.yaml:2: not valid YAML",
        ),
        ("name: quiz\n? [a]\n: b\n", "not valid YAML"),
        ("name: quiz\ntitle: \x01\n", "not valid YAML"),
    ],
)
def test_broken_yaml_is_explained(text: str, message: str, project: Project) -> None:
    path = project.write("quiz.yaml", text)
    problems = scenarios.listing([project.root]).problems
    assert message in "\n".join(problems)
    with pytest.raises(ConfigError, match=re.escape(str(path))):
        scenarios.load("quiz", [project.root])


def test_a_file_that_is_not_utf8_is_named(project: Project) -> None:
    (project.root / "quiz.yaml").write_bytes(b"name: quiz\ntitle: caf\xe9\n")
    with pytest.raises(ConfigError, match="not UTF-8: a wrong byte at offset 21"):
        scenarios.load("quiz", [project.root])


def test_unknown_scenarios_are_suggested(project: Project) -> None:
    message = project.fails("quizz")
    assert "There is no scenario 'quizz'. Did you mean 'quiz'?" in message
    assert "knowledge" in message


def test_two_files_of_one_name_are_both_named(project: Project) -> None:
    project.load()
    project.write("other/again.yaml", (project.root / "quiz.yaml").read_text())
    with pytest.raises(ConfigError) as caught:
        scenarios.load("quiz", [project.root])
    assert "quiz.yaml" in str(caught.value)
    assert "again.yaml" in str(caught.value)
    assert "Several files" in "\n".join(scenarios.listing([project.root]).problems)


def test_a_builtin_name_is_not_taken_over(project: Project) -> None:
    with pytest.raises(
        ConfigError, match="Several files define the scenario 'dyck_lang"
    ):
        project.load("dyck_language", name="dyck_language")


def test_one_folder_given_twice_is_one_folder(project: Project) -> None:
    loaded = project.load()
    assert scenarios.load("quiz", [project.root, project.root / "."]) == loaded


def test_a_folder_that_is_not_there_holds_nothing(tmp_path: Path) -> None:
    assert scenarios.listing([tmp_path / "none"]) == scenarios.listing()


def test_a_broken_file_does_not_hide_the_others(project: Project) -> None:
    project.load()
    project.write("broken.yaml", "name: broken\ntitel: x\n")
    listing = scenarios.listing([project.root])
    assert "quiz" in [entry.name for entry in listing.entries]
    assert "broken" not in [entry.name for entry in listing.entries]
    assert any("broken.yaml:2: unknown setting 'titel'" in p for p in listing.problems)
    assert scenarios.load("quiz", [project.root]).facts.name == "quiz"


def test_the_list_says_what_a_scenario_is_and_how_to_run_it(project: Project) -> None:
    project.load(
        parameters={"k": {"values": ["a", "b"]}, "n": {"default": "c"}},
        entry="quiz:k=a",
        title="Quiz {{ parameters.k }} {{ parameters.n }}",
    )
    listing = scenarios.listing([project.root])
    entry = next(e for e in listing.entries if e.name == "quiz")
    assert entry.title == "Quiz <k> c"
    assert entry.parameters == ("k", "n")
    assert entry.example == "quiz:k=a"
    assert entry.place == str(project.root / "quiz.yaml")
    assert not entry.builtin
    assert next(e for e in listing.entries if e.name == "knowledge").builtin


@pytest.mark.parametrize(
    ("parameter", "example"),
    [
        ({"default": "x"}, "quiz"),
        ({"values": ["b", "a"]}, "quiz:k=b"),
        ({"type": "integer", "minimum": 2}, "quiz:k=2"),
        ({"type": "number", "minimum": 0.5}, "quiz:k=0.5"),
        ({"type": "boolean", "values": [True]}, "quiz:k=True"),
        ({"type": "number", "default": 1}, "quiz"),
        ({}, "quiz:k=<k>"),
    ],
)
def test_examples_fit_their_parameters(
    parameter: dict[str, Any], example: str, project: Project
) -> None:
    project.scenario(parameters={"k": parameter}, title="{{ parameters.k + 1 }}")
    entry = next(
        e for e in scenarios.listing([project.root]).entries if e.name == "quiz"
    )
    assert entry.example == example


def test_a_scenario_without_parameters_says_so(project: Project) -> None:
    assert "Write just quiz: it has no parameters." in project.fails("quiz:a=b")


def test_every_builtin_example_loads() -> None:
    listing = scenarios.listing()
    assert listing.problems == ()
    for entry in listing.entries:
        said = read_file(Path(entry.place)).definition
        assert said.licence
        assert said.citation
        assert said.taxonomy.task
        names = [n for n in (*said.metrics, said.main_metric) if n and "{" not in n]
        assert len(metrics.resolve(names)) == len(names)
        if not (said.source.files or said.variants):
            loaded = scenarios.load(entry.example)
            assert loaded.instances
            assert loaded.facts.main_metric in loaded.metrics


def test_a_builtin_scenario_without_its_data_says_what_is_missing() -> None:
    with pytest.raises(ScenarioError, match=r"boolq_perturbed\.json") as caught:
        scenarios.load("boolq")
    assert caught.value.hint


def test_a_bom_and_windows_line_ends_are_fine_everywhere(project: Project) -> None:
    plain = project.load()
    text = (project.root / "quiz.yaml").read_text()
    bom = b"\xef\xbb\xbf"
    (project.root / "quiz.yaml").write_bytes(bom + text.replace("\n", "\r\n").encode())
    (project.root / "quiz.csv").write_bytes(bom + ROWS.replace("\n", "\r\n").encode())
    again = scenarios.load("quiz", [project.root])
    assert again.instances == plain.instances
    assert again.definition_sha256 == plain.definition_sha256


def test_a_scenario_file_that_cannot_be_read_is_named(project: Project) -> None:
    (project.root / "quiz.yaml").symlink_to(project.root / "nowhere.yaml")
    assert scenarios.listing([project.root]).problems == ()
    with pytest.raises(
        ConfigError, match=r"nowhere\.yaml: cannot be read: No such file"
    ):
        read_file(project.root / "nowhere.yaml")


def test_a_row_in_the_last_sliver_of_the_shares_has_a_split() -> None:
    thirds = SplitRule(shares={"train": 0.1 + 0.2, "valid": 0.3, "test": 0.4 - 1e-12})
    rows = [Row("", {"n": n}) for n in range(500)]
    assert set(assign(rows, thirds, None)) == {"train", "valid", "test"}
    assert assign(rows, SplitRule(shares={"test": 0.0}), None) == ["test"] * 500


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"messages": "{{ turns | nosuch }}"}, "'messages': template '{{ turns"),
        ({"source": {"path": "a.csv", "url": "x/{{ row }}"}}, "'source.url': can use"),
        (
            {"source": {"path": "a", "hf": {"repo": "a/b", "file": "{{ f }}"}}},
            "'source.hf[0]': can use parameters.NAME only, not 'f'",
        ),
        ({"source": {"path": "a.zip", "member": "{% x %}"}}, "'source.member': "),
    ],
)
def test_every_template_is_checked_before_data_is_read(
    keys: dict[str, Any], message: str, project: Project
) -> None:
    said = project.fails(**keys)
    assert message in said
    assert "quiz.yaml:" in said


def test_a_generator_takes_no_messages(project: Project) -> None:
    text = "name: quiz\ntitle: Q\ngenerator: dyck_language\nmessages: '{{ m }}'\n"
    project.write("quiz.yaml", f"{text}adapter: {{method: generation}}\n")
    with pytest.raises(ConfigError, match="does not go together with 'generator'"):
        scenarios.load("quiz", [project.root])


def test_an_id_of_the_data_is_kept_and_cannot_come_twice(project: Project) -> None:
    head = "id,question,answer,part\n"
    rows = head + "a,A?,x,dev\nb,B?,x,test\na,C?,x,test\n"
    loaded = project.load(rows=rows, id="{{ id }}")
    assert [i.extra for i in loaded.instances] == [{"id": n} for n in "aba"]
    assert [i.instance_id for i in loaded.instances] == ["id0", "id1", "id2"]
    assert loaded.definition_sha256 != project.load(rows=rows).definition_sha256
    said = project.fails(rows=rows + "b,D?,x,test\n", id="{{ id }}")
    assert "row 4 (line 5): the id 'b' is there already: " in said
    assert "row 2 (line 3)." in said
    assert "row 1 (line 2): id: there is no field 'ID'" in project.fails(
        rows=rows, id="{{ ID }}"
    )


def test_a_wrong_row_at_the_end_leaves_no_half_scenario(project: Project) -> None:
    with pytest.raises(ScenarioError, match=r"row 1001 \(line 1002\)"):
        project.load(rows=many(1000) + "x,y\n", split="test")


KEYS = [f.name for f in msgspec.structs.fields(Definition)]
INNER = ["path", "files", "column", "map", "first", "rest", "shares", "by", "choices"]
INNER += ["answer", "answer_is", "correct", "text", "when", "method", "type", "values"]
WORDS = ["train", "test", "letter", "index", "{{ question }}", "{{ [1] }}", "{{ x.y }}"]
WORDS += ["part", "quiz.csv", "generation", "dyck_language", "integer", "{% for %}"]
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
ANYTHING = st.recursive(
    SCALARS | st.sampled_from(WORDS),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(INNER) | st.text(max_size=3), inner, max_size=3
        )
    ),
    max_leaves=6,
)


@settings(max_examples=60, deadline=None)
@given(changes=st.dictionaries(st.sampled_from(KEYS), ANYTHING, max_size=3))
def test_whatever_a_file_says_the_answer_is_a_scenario_or_a_clear_error(
    changes: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> None:
    root = tmp_path_factory.mktemp("fuzz")
    project = Project(root)
    project.write("quiz.csv", ROWS)
    text = yaml.safe_dump({**BASE, **changes}, allow_unicode=True)
    (root / "quiz.yaml").write_bytes(text.encode("utf-8", "replace"))
    message = ""
    try:
        scenarios.load("quiz", [root])
    except HelmsiteError as error:
        message = str(error)
    assert "→" in message or not message


VARIED: dict[str, Any] = {
    "parameters": {"kind": {"values": ["plain", "loud"], "default": "plain"}},
    "taxonomy": {"task": "quiz", "what": "facts"},
    "variants": {
        "kind": {
            "loud": {
                "title": "Loud quiz",
                "input": "{{ question | upper }}",
                "taxonomy": {"what": "shouts"},
                "adapter": {"max_train_instances": 0},
            }
        }
    },
}


def test_variants_say_what_differs_by_a_parameter(project: Project) -> None:
    plain = project.load(**VARIED)
    loud = scenarios.load("quiz:kind=loud", [project.root])
    assert (plain.facts.title, loud.facts.title) == ("Quiz", "Loud quiz")
    assert inputs(plain, "test")[0] == "How many legs has a spider?"
    assert inputs(loud, "test")[0] == "HOW MANY LEGS HAS A SPIDER?"
    assert loud.facts.taxonomy == Taxonomy(task="quiz", what="shouts")
    assert loud.adapter.input_prefix == plain.adapter.input_prefix == "Question: "
    assert (plain.adapter.max_train_instances, loud.adapter.max_train_instances) == (
        5,
        0,
    )
    assert plain.definition_sha256 != loud.definition_sha256


@pytest.mark.parametrize(
    ("variants", "message"),
    [
        ({"knd": {}}, "'variants.knd': no such parameter. Did you mean 'kind'?"),
        ({"kind": {"lud": {}}}, "variants.kind.lud': is no value of the parameter"),
        ({"kind": {"loud": {"name": "x"}}}, "'name' is the same for all variants"),
        ({"kind": {"loud": {"titel": "x"}}}, "variants.kind.loud': Object contains"),
        (
            {"kind": {"loud": {"input": "{{ a "}}},
            "variants.kind.loud': input: template",
        ),
        (
            {"kind": {"loud": {"adapter": {"max_tokens": -1}}}},
            "variants.kind.loud': 'adapter.max_tokens'",
        ),
    ],
)
def test_faults_of_variants_are_explained(
    variants: dict[str, Any], message: str, project: Project
) -> None:
    assert message in project.fails(**{**VARIED, "variants": variants})


def test_skipped_rows_are_counted_with_their_reason(project: Project) -> None:
    skip = [
        {"when": "{{ question == 'A?' }}", "reason": "it is the first"},
        {"when": "{{ answer == 'no' }}", "reason": "the answer is no"},
    ]
    loaded = project.load(rows=YES_NO, split="test", skip=skip)
    assert loaded.skipped["it is the first"] == 1
    left = 4 - sum(loaded.skipped.values())
    assert len(loaded.instances) == left > 0
    every = [{"when": "{{ true }}", "reason": "all are bad"}]
    message = project.fails(rows=YES_NO, split="test", skip=every)
    assert "'skip' leaves out all 4" in message
    bad = [{"when": "{{ nothing }}", "reason": "x"}]
    assert "row 1 (line 2): skip:" in project.fails(rows=YES_NO, split="test", skip=bad)


def test_an_empty_answer_names_its_row(project: Project) -> None:
    rows = "question,answer,part\nA?,x,dev\nB?, ,test\n"
    message = project.fails(rows=rows)
    assert "quiz.csv, row 2 (line 3): references: a correct one is empty" in message
    skip = [{"when": "{{ not answer.strip() }}", "reason": "no answer"}]
    good = rows + "C?,y,test\n"
    assert project.load(rows=good, skip=skip).skipped == {"no answer": 1}


def test_equal_choices_are_right_alike(project: Project) -> None:
    references = {
        "choices": ["red", "{{ answer }}", "red"],
        "answer": "red",
        "answer_is": "text",
    }
    loaded = project.load(split="test", references=references)
    found = loaded.instances[0].references
    assert [r.is_correct for r in found] == [True, False, True]


def test_a_document_of_ten_megabytes_is_one_instance(project: Project) -> None:
    text = "word " * 2_000_000
    project.write("q.jsonl", f'{{"question": "{text}", "answer": "x"}}\n')
    loaded = project.load(source={"path": "q.jsonl"}, split="test")
    assert len(loaded.instances[0].input) == 10_000_000


def test_a_switch_that_is_off_is_no_part_of_the_name(project: Project) -> None:
    switches = {
        "shy": {"type": "boolean", "default": False},
        "bold": {"type": "boolean", "default": True},
    }
    assert project.load(parameters=switches).facts.name == "quiz:bold=True"
    named = scenarios.load("quiz:shy=True,bold=False", [project.root])
    assert named.facts.name == "quiz:bold=False,shy=True"


def test_what_shapes_the_run_alone_is_named_where_it_is_not_the_default(
    project: Project,
) -> None:
    known = {
        "k": {"type": "integer", "default": 2, "shapes": "run"},
        "heat": {"type": "number", "default": 0, "shapes": "run"},
        "part": {"default": "test"},
    }
    usual = project.load(parameters=known)
    assert usual.facts.name == "quiz:part=test"
    assert scenarios.load("quiz:heat=0.0,k=2", [project.root]) == usual
    other = scenarios.load("quiz:heat=0.5,k=2", [project.root])
    assert other.facts.name == "quiz:heat=0.5,part=test"
    assert scenarios.load(other.facts.name, [project.root]) == other


def test_the_revision_is_no_part_of_a_runs_identity() -> None:
    spec = RunSpec("quiz", ModelIdentity("m"), data=DataRevision(sha256="ab"))
    told = structs.replace(spec, data=DataRevision(sha256="ab", revision="c0ffee"))
    assert spec.spec_id == told.spec_id
    bare = structs.replace(spec, data=DataRevision(revision="c0ffee"))
    assert bare.spec_id != structs.replace(spec, data=DataRevision()).spec_id
