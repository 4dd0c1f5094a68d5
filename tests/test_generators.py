"""Generated scenarios equal HELM's own, instance for instance."""

import hashlib
import json
import random
import re
from collections import Counter
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helmsite import scenarios
from helmsite.adapters import eval_instances
from helmsite.scenarios import dyck
from helmsite.scenarios import synthetic_reasoning as abstract
from helmsite.scenarios import synthetic_reasoning_natural as natural
from helmsite.schema import AdapterSpec, Instance, LoadedScenario

# SHA-256 over all instances as crfm-helm 0.5.16 makes them: JSON of
# [id, split, input, [[reference, tags], ...]], one after the other.
HELM = {
    "dyck_language:num_parenthesis_pairs=1": "ddd7e34ba14309f7ec19cee47adc78b4de79d1863aeb581802d248c82308c1e4",
    "dyck_language:num_parenthesis_pairs=2": "b96d8846d2a5424629fcd56e26a1352bf058794bfa898d8dce745bd4984cc5f9",
    "dyck_language:num_parenthesis_pairs=3": "53b8c5129b8f947e95e54ed487d6ef97ab488452d6545b62ebb6063801c75c44",
    "dyck_language:num_parenthesis_pairs=4": "946f338ed2a3ad683c457f7221a6102be2c1a5c7d89f96b5689e3ce5e862287f",
    "synthetic_reasoning:mode=induction": "bdbdd314574e4c177b834b25e9333adeabbb9e332c49a98fc3d84072d831be6b",
    "synthetic_reasoning:mode=pattern_match": "97db48860f3a77c9722b5bd56b2058666496d5af836d019d0fd5cc494b3a96da",
    "synthetic_reasoning:mode=variable_substitution": "c80b4d328cbc613c765a2a19443a7cd2469d11aaf7cd654f273b900fcc3e34e9",
    "synthetic_reasoning_natural:difficulty=easy": "cc589f49a0dfd90adff7dbc5f83fd5c4098a1c7149a1c011dd7e9a66b1613a17",
    "synthetic_reasoning_natural:difficulty=hard": "0cfb0a8245c9d90f4b9f4b347eacfb3df54e14e5acfa5406c525f924df495ed4",
    "synthetic_reasoning_natural:difficulty=medium": "21bb968aad0c3155e097e8244ccb28980cc2dc57936796911ee084ddebe1ece7",
}
GOLDEN = {
    "dyck_language_2": "dyck_language:num_parenthesis_pairs=2",
    "dyck_language_3": "dyck_language:num_parenthesis_pairs=3",
    "synthetic_reasoning_natural_easy": "synthetic_reasoning_natural:difficulty=easy",
    "synthetic_reasoning_natural_medium": "synthetic_reasoning_natural:difficulty=medium",
    "synthetic_reasoning_pattern_match": "synthetic_reasoning:mode=pattern_match",
    "synthetic_reasoning_variable_substitution": "synthetic_reasoning:mode=variable_substitution",
}
ADAPTERS = {
    "dyck_language": AdapterSpec(
        method="generation",
        instructions="Please complete the rest of the following Dyck sequences, making sure that the parentheses are closed properly.\n",
        input_prefix="Input: ",
        input_suffix="",
        output_prefix="",
        output_suffix="",
        max_train_instances=3,
        num_outputs=1,
        max_tokens=5,
        temperature=0.0,
        stop_sequences=("\n",),
    ),
    "synthetic_reasoning:mode=induction": AdapterSpec(
        method="generation",
        instructions="Please solve the following problem.\n",
        input_prefix="",
        output_prefix="Target: ",
        max_train_instances=5,
        num_outputs=1,
        max_tokens=50,
        temperature=0.0,
        stop_sequences=("\n",),
    ),
    "synthetic_reasoning_natural:difficulty=hard": AdapterSpec(
        method="generation",
        instructions="Please solve the following problem.\n",
        input_prefix="Rules:\n",
        output_prefix="",
        max_train_instances=3,
        num_outputs=1,
        max_tokens=20,
        temperature=0.0,
        stop_sequences=("\n",),
    ),
}
load = cache(scenarios.load)


def row(instance: Instance) -> list[Any]:
    references = [[r.text, list(r.tags)] for r in instance.references]
    return [instance.instance_id, instance.split, instance.input, references]


def sha256(instances: Iterable[Instance]) -> str:
    digest = hashlib.sha256()
    for instance in instances:
        digest.update(json.dumps(row(instance), ensure_ascii=False).encode())
    return digest.hexdigest()


@pytest.mark.parametrize("entry", HELM)
def test_instances_equal_helms(entry: str) -> None:
    assert sha256(load(entry).instances) == HELM[entry]


@pytest.mark.parametrize("name", GOLDEN)
def test_golden_files_agree(name: str, shared: Path) -> None:
    path = shared / "facts" / "helm_golden" / f"{name}.json"
    golden = json.loads(path.read_text(encoding="utf-8"))
    loaded = load(GOLDEN[name])
    instances = loaded.instances
    assert sha256(instances) == golden["sha256_all_instances"]
    assert len(instances) == golden["n_instances"]
    assert Counter(i.split for i in instances) == golden["by_split"]
    heads = [*golden["train_head"], *golden["eval_head"]]
    by_id = {i.instance_id: i for i in instances}
    for head in heads:
        references = [[r["text"], r["tags"]] for r in head["references"]]
        expected = [head["id"], head["split"], head["input"], references]
        assert row(by_id[head["id"]]) == expected
    assert drawn(loaded) == golden["eval_ids_max_eval_instances_10"]


def drawn(loaded: LoadedScenario) -> list[str]:
    spec = AdapterSpec(method="generation", max_eval_instances=10)
    return [i.instance_id for i in eval_instances(loaded.instances, spec)]


@pytest.mark.parametrize("entry", ADAPTERS)
def test_adapters_are_helms(entry: str) -> None:
    assert load(entry).adapter == ADAPTERS[entry]


def test_the_adapters_of_the_reference_agree(shared: Path) -> None:
    import yaml

    text = (shared / "facts" / "scenarios.yaml").read_text(encoding="utf-8")
    facts = yaml.load(text, yaml.CSafeLoader)["scenarios"]
    for entry, spec in ADAPTERS.items():
        said = facts[entry.partition(":")[0]]
        for name, value in said["adapter"].items():
            own = getattr(spec, name)
            assert (list(own) if isinstance(own, tuple) else own) == value, name
        names = re.findall(r'"(\w+)"', said["metric_specs"][0])
        assert list(load(entry).metrics) == names


@pytest.mark.parametrize("entry", HELM)
def test_positions_and_ids_count_up(entry: str) -> None:
    instances = load(entry).instances
    assert [i.position for i in instances] == list(range(len(instances)))
    assert [i.instance_id for i in instances] == [
        f"id{n}" for n in range(len(instances))
    ]
    order = [i.split for i in instances]
    assert order == sorted(order, key=["train", "valid", "test"].index)


def test_generating_leaves_the_global_generators_alone() -> None:
    random.seed(7)
    np.random.seed(7)
    before = random.getstate(), np.random.get_state()[1].tolist()  # type: ignore[index]
    first = [row(i) for i in dyck.generate(2)]
    next(abstract.generate("induction"))
    next(natural.generate("easy"))
    after = random.getstate(), np.random.get_state()[1].tolist()  # type: ignore[index]
    assert before == after
    random.seed(8)
    assert [row(i) for i in dyck.generate(2)] == first


@pytest.mark.parametrize("pairs", [1, 2, 3, 4])
def test_dyck_words_close(pairs: int) -> None:
    instances = load(f"dyck_language:num_parenthesis_pairs={pairs}").instances
    kinds = dyck.PAIRS[:pairs]
    for instance in instances:
        answer = instance.references[0].text
        word = (instance.input + answer).replace(" ", "")
        while any(a + b in word for a, b in kinds):
            for a, b in kinds:
                word = word.replace(a + b, "")
        assert word == ""
        assert 1 <= len(answer.split()) <= dyck.MAX_MISSING
    assert len({i.input for i in instances}) == len(instances)


@pytest.mark.parametrize(
    ("word", "missing", "kept"),
    [("(())", 1, "(()"), ("(())", 2, "(("), ("()()", 2, ""), ("()(()())", 2, "()(()(")],
)
def test_words_are_cut_where_enough_brackets_are_open(
    word: str, missing: int, kept: str
) -> None:
    assert dyck._cut(word, missing) == kept


def test_pattern_match_answers_stand_among_the_rules() -> None:
    for instance in load("synthetic_reasoning:mode=pattern_match").instances[:300]:
        rules, _, _ = instance.input.removeprefix("Rules: ").partition(" | Result: ")
        assert instance.references[0].text in rules.split(" | ")


def test_substitutions_give_their_reference() -> None:
    entry = "synthetic_reasoning:mode=variable_substitution"
    for instance in load(entry).instances[:300]:
        rule, _, said = instance.input.removeprefix("Rules: ").partition(
            " | Substitutions: "
        )
        table = dict(re.findall(r'([XYZ]) by " ([a-z ]+) "', said))
        result = " ".join(table.get(part, part) for part in rule.split(" "))
        assert result == instance.references[0].text


def test_synonyms_show_in_hard_facts_only() -> None:
    listed = set(natural.ATTRIBUTES)
    for difficulty, expected in [("easy", False), ("medium", False), ("hard", True)]:
        instances = load(
            f"synthetic_reasoning_natural:difficulty={difficulty}"
        ).instances
        facts = (
            re.search(r"Fact:\n.* is (\w+) and (\w+)\.", i.input) for i in instances
        )
        words = {w for found in facts if found for w in found.groups()}
        assert bool(words - listed) == expected


def test_articles_follow_the_next_letter_and_persons_have_none() -> None:
    texts = [
        i.input for i in load("synthetic_reasoning_natural:difficulty=medium").instances
    ]
    joined = "\n".join(texts)
    assert "If an animal is" in joined
    assert "If an elephant is" in joined
    assert "If person is" in joined
    assert not re.search(r"\ba [aeiou]", joined)
    assert not re.search(r"\b(an?|the) person\b", joined)
