"""Examples, prompts, windows and presets equal what crfm-helm 0.5.16 made of the same.

`samples/adapters/helm.json` holds instances and settings, and the requests that HELM's
own adapter classes made of them with the tokenisers below.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from helmsite.adapters import Window, adapt, eval_instances, in_context_examples
from helmsite.schema import AdapterSpec, Instance, Reference, preset

if TYPE_CHECKING:
    from collections.abc import Sequence

FILE = Path(__file__).parent / "samples" / "adapters" / "helm.json"
HELM = json.loads(FILE.read_text(encoding="utf-8"))
LIMITLESS = Window()
PATTERNS = {
    "words": rb"\s*\S+|\s+",
    "pieces": rb"\xef\xbf\xbd|[A-Za-z]{1,4}|(?s:.)",
    "characters": rb"[^\x80-\xbf][\x80-\xbf]*",
}


class Pieces:
    """Bytes cut by a pattern, each new piece with the next number."""

    def __init__(self, kind: str) -> None:
        self.pattern = re.compile(PATTERNS[kind])
        self.pieces: list[bytes] = []

    def encode(self, text: str) -> list[int]:
        found = self.pattern.findall(text.encode())
        self.pieces += sorted(set(found) - set(self.pieces))
        return [self.pieces.index(piece) for piece in found]

    def decode(self, ids: Sequence[int]) -> str:
        return b"".join(self.pieces[i] for i in ids).decode("utf-8", "replace")


def labelled(number: int, label: str | None, split: str) -> Instance:
    """One instance of the pools from which HELM chose its examples."""
    references = [Reference(f"wrong {number}")]
    if label is not None:
        references.append(Reference(label, ("correct",)))
        if number % 7 == 0:
            references.append(Reference(f"also {number}", ("correct",)))
        references.append(Reference("late"))
    return Instance(f"id{number}", f"question {number}", tuple(references), split=split)


def pool(name: str) -> list[Instance]:
    return [
        labelled(i, label, "valid" if i % 10 == 9 else "train")
        for i, label in enumerate(HELM["pools"][name])
    ]


@pytest.mark.parametrize(
    "row", HELM["choice"], ids=lambda r: f"{r['pool']}-{r['k']}-{r['sample']}"
)
def test_examples_of_four_trials_are_those_of_helm(row: dict[str, Any]) -> None:
    spec = AdapterSpec(max_train_instances=row["k"], sample_train=row["sample"])
    chosen = [in_context_examples(pool(row["pool"]), spec, t) for t in range(4)]
    assert [" ".join(e.instance_id for e in trial) for trial in chosen] == row["ids"]


@pytest.mark.parametrize("row", HELM["draws"])
def test_eval_instances_come_in_the_order_of_helms_draw(row: dict[str, Any]) -> None:
    splits = ["train", "valid", "test"]
    instances = [Instance(f"id{i}", "q", split=splits[i % 3]) for i in range(row["n"])]
    spec = AdapterSpec(max_eval_instances=row["m"], eval_splits=tuple(row["splits"]))
    drawn = eval_instances(instances, spec)
    assert " ".join(i.instance_id for i in drawn) == row["ids"]
    if row["splits"] == ["valid", "test"]:
        assert drawn == eval_instances(
            instances, AdapterSpec(max_eval_instances=row["m"])
        )


@pytest.mark.parametrize("row", HELM["presets"])
def test_presets_are_helms_adapter_specs(row: dict[str, Any]) -> None:
    expected = msgspec.convert(row["spec"], AdapterSpec)
    assert preset(row["method"], **row["arguments"]) == expected


def cases(*, language_modeling: bool) -> list[Any]:
    found = []
    for number, case in enumerate(HELM["cases"]):
        method = case["spec"]["method"]
        if (method == "language_modeling") == language_modeling:
            name = f"{number}-{method}-{case.get('tokenizer')}-{case.get('limit')}"
            name += "-prefix" * case.get("prefix", False)
            found.append(pytest.param(case, id=name))
    return found


def requests(case: dict[str, Any]) -> list[Any]:
    instances = msgspec.convert(HELM["instances"][case["instances"]], list[Instance])
    window = LIMITLESS
    if "tokenizer" in case:
        window = Window(Pieces(case["tokenizer"]), case["limit"], case["prefix"])
    spec = msgspec.convert(case["spec"], AdapterSpec)
    shown = {r["id"] for r in case["requests"]}
    used = [i for i in instances if i.split == "train" or i.instance_id in shown]
    return adapt(used, spec, window)


@pytest.mark.parametrize("case", cases(language_modeling=False))
def test_requests_are_those_of_helm(case: dict[str, Any]) -> None:
    made = requests(case)
    separate = "separate" in case["spec"]["method"]
    assert len(made) == len(case["requests"])
    for request, helm in zip(made, case["requests"], strict=True):
        if separate and helm["truncated"]:
            continue  # HELM cuts off the reference: see the test of its own
        assert request.prompt == helm["prompt"]
        assert request.instance_id == helm["id"]
        assert request.trial == helm["trial"]
        assert request.num_train_instances == helm["n"] == len(request.example_ids)
        assert request.truncated == helm["truncated"]
        assert request.reference_index == helm.get("reference", -1)
        assert request.mode == helm.get("mode", "original")
        assert request.output_mapping == helm.get("mapping", {})
        decoding = request.decoding
        assert [
            decoding.temperature,
            decoding.num_completions,
            decoding.top_k_per_token,
            decoding.max_tokens,
            list(decoding.stop_sequences),
            request.score_start is not None,
        ] == case["decoding"]


def by_document(rows: Sequence[Any], key: Any) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for row in rows:
        found.setdefault(key(row), []).append(row)
    return found


@pytest.mark.parametrize("case", cases(language_modeling=True))
def test_windows_are_those_of_helm_where_no_character_is_split(
    case: dict[str, Any],
) -> None:
    made = by_document(requests(case), lambda r: r.instance_id)
    helm = by_document(case["requests"], lambda r: r["id"])
    assert list(made) == list(helm)
    for name, rows in made.items():
        prompts = [r["prompt"].removeprefix("\0") for r in helm[name]]
        given = [r.get("conditioning", 0) for r in helm[name]]
        assert rows[0].prompt == prompts[0]
        assert rows[0].num_conditioning_tokens == given[0]
        assert [r.request_index for r in rows] == list(range(len(rows)))
        if case["tokenizer"] != "pieces" or name in {"id0", "id3"}:
            assert [r.prompt for r in rows] == prompts
            assert [r.num_conditioning_tokens for r in rows] == given


def test_a_character_split_by_helms_windows_is_scored_here_once_and_whole() -> None:
    case = next(
        c
        for c in HELM["cases"]
        if (c.get("tokenizer"), c.get("limit"), c.get("prefix")) == ("pieces", 40, True)
    )
    document = HELM["instances"]["documents"][1]["input"]
    helm = [r["prompt"] for r in case["requests"] if r["id"] == "id1"]
    assert document.count("🍰") == 2
    assert [p.count("🍰") for p in helm] == [1, 0, 0]  # the second one is lost
    made = [r for r in requests(case) if r.instance_id == "id1"]
    scored = [r.prompt[r.score_start :] for r in made]
    assert "".join(scored) == document
    assert [s.count("🍰") for s in scored] == [1, 1, 0]


def test_a_separate_prompt_too_long_loses_context_where_helm_loses_the_answer() -> None:
    case = next(
        c
        for c in HELM["cases"]
        if "separate" in c["spec"]["method"] and c.get("limit") == 8
    )
    texts = {
        i["instance_id"]: [r["text"] for r in i["references"]]
        for i in HELM["instances"]["qa"]
    }
    made = requests(case)
    cut = 0
    for request, helm in zip(made, case["requests"], strict=True):
        reference = texts[request.instance_id][request.reference_index]
        assert request.prompt[request.score_start :] == f" {reference}\n"
        assert request.truncated == helm["truncated"]
        if request.truncated:
            cut += 1
            assert not helm["prompt"].endswith(f"{reference}\n")
            assert len(Pieces("words").encode(request.prompt)) == case["limit"]
        else:
            assert request.prompt == helm["prompt"]
    assert cut == 20
