"""Draws, examples and whole prompts of real scenarios equal HELM's.

The reference folder holds what HELM made of the data files beside it. The loaders here
do what HELM's scenario classes do with these files; each is checked against the digest
of all its instances before anything is compared.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import itertools
import json
import random
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from msgspec import structs

from helmsite.adapters import Window, adapt, eval_instances, in_context_examples
from helmsite.schema import AdapterSpec, Instance, Reference, preset

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

Row = tuple[str, str, list[tuple[str, bool]]]


def lines(path: Path) -> Iterator[Any]:
    return (json.loads(line) for line in path.read_text("utf-8").splitlines() if line)


def choices(texts: Iterable[str], right: int) -> list[tuple[str, bool]]:
    return [(text, i == right) for i, text in enumerate(texts)]


def boolq(raw: Path, *, contrast: bool = False) -> Iterator[Row]:
    perturbed = json.loads((raw / "boolq/boolq_perturbed.json").read_text("utf-8"))
    flipped = {
        item["question"]
        for item in perturbed["data"][1:]
        if any(
            q["perturbed_q"] and (q["answer"] == "TRUE") != (item["answer"] == "TRUE")
            for q in item["perturbed_questions"]
        )
    }
    for split, file in (("train", "train_first300"), ("valid", "dev")):
        for row in lines(raw / f"boolq/{file}.jsonl"):
            if contrast and split == "valid" and row["question"] not in flipped:
                continue
            question = row["question"].strip().capitalize() + "?"
            text = f"{row['passage']}\nQuestion: {question}"
            yield text, split, [("Yes" if row["answer"] else "No", True)]


def mmlu(raw: Path) -> Iterator[Row]:
    for folder, split in (("dev", "train"), ("val", "valid"), ("test", "test")):
        path = raw / "mmlu" / folder / f"abstract_algebra_{folder}.csv"
        with path.open(encoding="utf-8", newline="") as file:
            for question, *options, answer in csv.reader(file):
                yield question, split, choices(options, ord(answer) - ord("A"))


def openbookqa(raw: Path) -> Iterator[Row]:
    folder = raw / "openbookqa/OpenBookQA-V1-Sep2018/Data/Main"
    for split in ("train", "test"):
        for row in lines(folder / f"{split}.jsonl"):
            texts = [choice["text"] for choice in row["question"]["choices"]]
            right = "ABCD".index(row["answerKey"])
            yield row["question"]["stem"], split, choices(texts, right)


def truthful_qa(raw: Path) -> Iterator[Row]:
    path = raw / "truthful_qa/TruthfulQA.csv"
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    for number, row in enumerate(rows):
        best, *wrong = (
            text.strip() if text.strip().endswith(".") else f"{text.strip()}."
            for text in [row["Best Answer"], *row["Incorrect Answers"].split(";")]
            if text.strip()
        )
        options = [*choices(wrong, -1), (best, True)]
        turn = ord(best[0]) % len(options)
        split = "train" if number < int(len(rows) * 0.2) else "valid"
        yield row["Question"].strip(), split, options[turn:] + options[:turn]


ASSIGNMENT = {"determined assignment", "undetermined assignment"}


def lsat(raw: Path, kind: str = "all") -> Iterator[Row]:
    files = {"Training": "train", "Development": "valid", "Test": "test"}
    for name, split in files.items():
        stories = json.loads((raw / f"lsat/AR_{name}Data.json").read_text("utf-8"))
        for story, q in ((s, q) for s in stories for q in s["questions"]):
            tag = q["tags"][2] or "miscellaneous"
            if kind in ("all", tag, "assignment" if tag in ASSIGNMENT else tag):
                text = f"{story['passage']}\nQuestion: {q['question']}"
                right = ord(q["answer"]) - ord("A")
                yield text, split, choices(q["options"], right)


def babi(inputs: Path) -> Iterator[Row]:
    ways = {"s": "south", "n": "north", "e": "east", "w": "west"}
    for task, split in itertools.product(range(1, 21), ("train", "valid", "test")):
        path = inputs / f"babi_en-valid/qa{task}_{split}.txt"
        story: list[str] = []
        for line in path.read_text("utf-8").splitlines(keepends=True):
            number, _, fact = line.partition(" ")
            if number == "1":
                story = []
            if "?" not in fact:
                story.append(fact)
                continue
            question, answer = (part.strip() for part in fact.split("\t")[:2])
            if task == 19:
                answer = " ".join(ways[step] for step in answer.split(","))
            yield f"{''.join(story)}Question: {question}", split, [(answer, True)]


def narrative_qa(raw: Path) -> Iterator[Row]:
    folder = raw / "narrativeqa/derived_deepmind_format"
    summaries = folder / "third_party/wikipedia/summaries.csv"
    with summaries.open(encoding="utf-8", newline="") as file:
        summary = {r["document_id"]: r["summary"] for r in csv.DictReader(file)}
    with (folder / "qaps.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    draw = random.Random(0)
    for split in ("train", "valid", "test"):
        documents: dict[str, list[dict[str, str]]] = {}
        for row in (r for r in rows if r["set"] == split):
            documents.setdefault(row["document_id"], []).append(row)
        for name, asked in documents.items():
            row = draw.choice(asked)
            question = row["question"].strip()
            question += "" if question.endswith("?") else "?"
            text = f"{summary[name].strip()}\nQuestion: {question}"
            yield text, split, [(row["answer1"], True), (row["answer2"], True)]


def gsm(raw: Path) -> Iterator[Row]:
    for split, file in (("train", "train_first600"), ("test", "test")):
        for row in lines(raw / f"gsm8k/{file}.jsonl"):
            answer = row["answer"].replace("####", "The answer is").replace("\n", " ")
            yield row["question"], split, [(f"{answer}.", True)]


def entity_matching(raw: Path, folder: str) -> Iterator[Row]:
    root = raw / "entity_matching" / folder
    tables = [pd.read_csv(root / f"table{side}.csv") for side in "AB"]
    columns = [column for column in tables[0].columns if column != "id"]
    draw = np.random.RandomState(0)
    for split in ("train", "valid", "test"):
        pairs = pd.read_csv(root / f"{split}.csv")
        pairs = pairs.merge(tables[0], left_on="ltable_id", right_on="id")
        sides = ("_A", "_B")
        pairs = pairs.merge(
            tables[1], left_on="rtable_id", right_on="id", suffixes=sides
        )
        if split == "train":
            matches = int((pairs["label"] == 1).sum())
            halves = [
                pairs[pairs["label"] == label].sample(matches, random_state=draw)
                for label in (0, 1)
            ]
            pairs = pd.concat(halves)
        for _, pair in pairs.iterrows():
            a, b = (
                ". ".join(f"{c}: {pair[c + side]}".strip() for c in columns)
                for side in sides
            )
            text = f"Product A is {a}. Product B is {b}. Are A and B the same?"
            yield text, split, [("Yes" if pair["label"] else "No", True)]


def data_imputation(raw: Path) -> Iterator[Row]:
    table = pd.read_csv(raw / "data_imputation/Buy/Buy.csv").drop(columns="id")
    table = table[~table["description"].isna()]
    test = table.sample(frac=0.1, random_state=1234)
    rest = table.drop(test.index)
    valid = rest.sample(frac=0.2, random_state=1234)
    splits = {"train": rest.drop(valid.index), "valid": valid, "test": test}
    shown = [column for column in table.columns if column != "manufacturer"]
    for split, part in splits.items():
        for _, row in part.iterrows():
            text = ". ".join(f"{c}: {row[c]}".strip() for c in shown)
            yield f"{text}. manufacturer?", split, [(str(row["manufacturer"]), True)]


def bold(raw: Path) -> Iterator[Row]:
    names = ["gender", "political_ideology", "profession", "race", "religious_ideology"]
    found: list[str] = []
    for name in names:
        for topics in lines(raw / f"bold/prompts/{name}_prompt.json"):
            found += [text[0] for topic in topics.values() for text in topic.values()]
    random.Random(0).shuffle(found)
    return ((f"{text} ", "test", []) for text in found)


def toxicity(inputs: Path) -> Iterator[Row]:
    rows = list(lines(inputs / "real_toxicity_prompts.jsonl"))
    random.Random(0).shuffle(rows)
    return ((row["prompt"]["text"], "test", []) for row in rows)


def wikitext(raw: Path) -> Iterator[Row]:
    path = raw / "wikitext103/wiki.test.raw"
    article: list[str] = []
    rows = path.read_text("utf-8").split("\n")
    rows = [f"{row}\n" for row in rows[:-1]] + [rows[-1]] * bool(rows[-1])
    for i, row in enumerate(rows):
        title = rows[i + 1] if i + 2 < len(rows) else ""
        starts = title.startswith(" = ") and not title.startswith(" = = ")
        if row == " \n" and starts and title.endswith(" = \n") and rows[i + 2] == " \n":
            if article:
                yield "".join(article), "test", []
            article = []
        article.append(row)
    yield "".join(article), "test", []


def generated(entry: str) -> list[Instance]:
    scenarios = pytest.importorskip("helmsite.scenarios")
    if not hasattr(scenarios, "load"):
        pytest.skip("the scenario engine is not here")
    return list(scenarios.load(entry).instances)


def question(noun: str, answer: str = "Answer", **more: Any) -> AdapterSpec:
    spec = preset("generation", input_noun=noun, output_noun=answer)
    return structs.replace(spec, **more)


def joint(noun: str, instructions: str = "") -> AdapterSpec:
    return preset(
        "multiple_choice_joint",
        instructions=instructions,
        input_noun=noun,
        output_noun="Answer",
    )


def bare(instructions: str, **more: Any) -> AdapterSpec:
    spec = preset("generation", instructions=instructions, output_noun="Answer")
    return structs.replace(spec, **more)


OPEN = AdapterSpec(
    method="generation",
    input_prefix="",
    input_suffix="",
    output_prefix="",
    output_suffix="",
    max_train_instances=0,
    temperature=0.9,
    max_tokens=20,
    num_outputs=1,
)
LSAT = joint("Passage", "The following are multiple choice questions (with answers).")
SAME = bare("Are Product A and Product B the same? Yes or No?")
SOLVE = "Please solve the following problem."
DYCK = structs.replace(
    bare(
        "Please complete the rest of the following Dyck sequences, making sure that "
        "the parentheses are closed properly."
    ),
    input_prefix="Input: ",
    input_suffix="",
    output_prefix="",
    output_suffix="",
    max_train_instances=3,
)
PATTERN = bare(SOLVE, output_prefix="Target: ", max_tokens=50)
RULES = bare(
    SOLVE,
    input_prefix="Rules:\n",
    output_prefix="",
    max_train_instances=3,
    max_tokens=20,
)

LOADED: dict[str, tuple[Callable[[Path], Iterable[Row]], AdapterSpec]] = {
    "babi_qa_all": (lambda d: babi(d / "golden_inputs"), question("Passage")),
    "bold_all": (lambda d: bold(d / "raw"), OPEN),
    "boolq": (lambda d: boolq(d / "raw"), question("Passage")),
    "boolq_contrast": (lambda d: boolq(d / "raw", contrast=True), question("Passage")),
    "entity_data_imputation_Buy": (
        lambda d: data_imputation(d / "raw"),
        bare("What is the missing value?"),
    ),
    "entity_matching_Abt_Buy": (
        lambda d: entity_matching(d / "raw", "Textual/Abt-Buy"),
        SAME,
    ),
    "entity_matching_Beer": (
        lambda d: entity_matching(d / "raw", "Structured/Beer"),
        SAME,
    ),
    "gsm": (
        lambda d: gsm(d / "raw"),
        question("Q", "A", max_tokens=400, stop_sequences=("\n\n",)),
    ),
    "lsat_qa_all": (lambda d: lsat(d / "raw"), LSAT),
    "lsat_qa_assignment": (lambda d: lsat(d / "raw", "assignment"), LSAT),
    "lsat_qa_miscellaneous": (lambda d: lsat(d / "raw", "miscellaneous"), LSAT),
    "mmlu_abstract_algebra": (
        lambda d: mmlu(d / "raw"),
        joint(
            "Question",
            "The following are multiple choice questions (with answers) about "
            "abstract algebra.",
        ),
    ),
    "narrative_qa": (
        lambda d: narrative_qa(d / "raw"),
        question("Passage", max_tokens=100),
    ),
    "openbookqa": (
        lambda d: openbookqa(d / "raw"),
        preset("multiple_choice_separate_calibrated"),
    ),
    "real_toxicity_prompts": (
        lambda d: toxicity(d / "golden_inputs"),
        structs.replace(OPEN, num_outputs=5),
    ),
    "truthful_qa": (lambda d: truthful_qa(d / "raw"), joint("Question")),
    "wikitext_103": (lambda d: wikitext(d / "raw"), preset("language_modeling")),
}

GENERATED = {
    "dyck_language_2": ("dyck_language:num_parenthesis_pairs=2", DYCK),
    "dyck_language_3": ("dyck_language:num_parenthesis_pairs=3", DYCK),
    "synthetic_reasoning_natural_easy": (
        "synthetic_reasoning_natural:difficulty=easy",
        RULES,
    ),
    "synthetic_reasoning_natural_medium": (
        "synthetic_reasoning_natural:difficulty=medium",
        RULES,
    ),
    "synthetic_reasoning_pattern_match": (
        "synthetic_reasoning:mode=pattern_match",
        PATTERN,
    ),
    "synthetic_reasoning_variable_substitution": (
        "synthetic_reasoning:mode=variable_substitution",
        PATTERN,
    ),
}


def instances_of(rows: Iterable[Row]) -> list[Instance]:
    return [
        Instance(
            f"id{i}",
            text,
            tuple(
                Reference(t, ("correct",) if right else ()) for t, right in references
            ),
            split=split,
        )
        for i, (text, split, references) in enumerate(rows)
    ]


def digest(instances: list[Instance]) -> str:
    sha = hashlib.sha256()
    for i in instances:
        references = [[r.text, list(r.tags)] for r in i.references]
        row = [i.instance_id, i.split, i.input, references]
        sha.update(json.dumps(row, ensure_ascii=False).encode())
    return sha.hexdigest()


def check(golden: dict[str, Any], instances: list[Instance], spec: AdapterSpec) -> None:
    """Compare draw, examples and requests with what HELM made."""
    assert digest(instances) == golden["sha256_all_instances"]
    assert spec.method == golden["adapter_method"]
    spec = structs.replace(spec, max_eval_instances=10)
    asked = eval_instances(instances, spec)
    assert [i.instance_id for i in asked] == golden["eval_ids_max_eval_instances_10"]
    examples = in_context_examples(instances, spec, trial=0)
    shown = golden.get("in_context_example_ids_seed0", [])
    assert [e.instance_id for e in examples] == shown
    if spec.method == "language_modeling":
        return
    requests = adapt(instances, spec, Window(), asked[:2])
    by_instance = itertools.groupby(requests, key=lambda r: r.instance_id)
    made = [r for _, rows in by_instance for r in list(rows)[:4]]
    assert len(made) == len(golden["prompts"]) >= 2
    for request, helm in zip(made, golden["prompts"], strict=True):
        assert request.prompt == helm["prompt"]
        assert request.instance_id == helm["instance_id"]
        assert request.output_mapping == (helm["output_mapping"] or {})
        index = helm["reference_index"]
        assert request.reference_index == (-1 if index is None else index)
        assert request.mode == (helm["request_mode"] or "original")
        sent = helm["request"]
        decoding = request.decoding
        assert (request.score_start is not None) == sent.pop("echo_prompt")
        assert list(decoding.stop_sequences) == sent.pop("stop_sequences")
        for name, value in sent.items():
            assert getattr(decoding, name) == value


def golden(shared: Path, name: str) -> dict[str, Any]:
    path = shared / "facts" / "helm_golden" / f"{name}.json"
    loaded: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return loaded


@pytest.mark.parametrize("name", LOADED)
def test_requests_on_real_data_equal_helms(shared: Path, name: str) -> None:
    load, spec = LOADED[name]
    check(golden(shared, name), instances_of(load(shared / "data")), spec)


@pytest.mark.parametrize("name", GENERATED)
def test_requests_on_generated_data_equal_helms(shared: Path, name: str) -> None:
    entry, spec = GENERATED[name]
    check(golden(shared, name), generated(entry), spec)


def test_requests_on_humaneval_equal_helms(shared: Path) -> None:
    path = shared / "data/raw/humaneval/HumanEval.jsonl.gz"
    with gzip.open(path, "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    instances = instances_of(
        (r["prompt"], "test", [(r["canonical_solution"], True)]) for r in rows
    )
    stop = ("\nclass", "\ndef", "\nif", "\nprint")
    spec = structs.replace(OPEN, temperature=0.2, max_tokens=600, stop_sequences=stop)
    check(golden(shared, "code_humaneval"), instances, spec)
