"""Scenarios of questions, sentiment and classification equal HELM's own classes."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from helmsite import scenarios
from tests.local_data import QUESTIONS, TEXTS, lay_out

if TYPE_CHECKING:
    from pathlib import Path

    from helmsite.schema import Instance
    from tests.parity.reference import Reference

SUBJECTS = (
    *("abstract_algebra", "us_foreign_policy", "anatomy", "college_chemistry"),
    *("computer_security", "econometrics"),
)
SUBSETS = (
    *("ade_corpus_v2", "banking_77", "neurips_impact_statement_risks"),
    *("one_stop_english", "overruling", "semiconductor_org_types"),
    *("systematic_review_inclusion", "tai_safety_research", "terms_of_service"),
    *("tweet_eval_hate", "twitter_complaints"),
)
IDENTITIES = (
    *("all", "male", "female", "LGBTQ", "christian", "muslim"),
    *("other_religions", "black", "white"),
)
SEPARATE = "multiple_choice_separate"
ENTRIES = [
    "boolq",
    "boolq:only_contrast=True",
    *(f"mmlu:subject={name},method=multiple_choice_joint" for name in SUBJECTS),
    f"mmlu:subject=abstract_algebra,method={SEPARATE}_original",
    f"mmlu:subject=abstract_algebra,method={SEPARATE}_calibrated",
    "mmlu:subject=anatomy,method=multiple_choice_joint_chain_of_thought",
    f"commonsense:dataset=hellaswag,method={SEPARATE}_original",
    f"commonsense:dataset=openbookqa,method={SEPARATE}_calibrated",
    f"commonsense:dataset=commonsenseqa,method={SEPARATE}_calibrated",
    f"commonsense:dataset=piqa,method={SEPARATE}_original",
    f"commonsense:dataset=siqa,method={SEPARATE}_original",
    "commonsense:dataset=piqa,method=multiple_choice_joint",
    f"commonsense:dataset=hellaswag,method={SEPARATE}_calibrated",
    "truthful_qa:task=mc_single,method=multiple_choice_joint",
    "gsm",
    "imdb",
    "imdb:only_contrast=True",
    *(f"civil_comments:demographic={name}" for name in IDENTITIES),
    *(f"raft:subset={name}" for name in SUBSETS),
]
BOOLQ = {
    f"boolq/{name}": f"boolq/{source}"
    for name, source in {
        "train.jsonl": "train_first300.jsonl",
        "dev.jsonl": "dev.jsonl",
        "boolq_perturbed.json": "boolq_perturbed.json",
    }.items()
}
COMMENTS = """,id,comment_text,split,toxicity,male,female,LGBTQ,christian,muslim,other_religions,black,white
0,1,None,train,0.49999,0.5,0,0,0,0,0,0,0
1,2,"Said, ""twice"" .
and once",val,0.5,0,1,0.4999,0.5,0,0,0,0
2,3,,test,0.1,1,1,1,1,1,1,1,1
3,4,NA,test,0.9,0,0,0,0,0,0,0,0.5
4,5,1.50,test,1,0,0,0,0,0.5,0.5,0,0
5,6, spaces  ,test,0,0,0,0,0,0,0,0.5,0
6,7,more,train,0.7,0.6,0,0.6,0,0.6,0.6,0.6,0
"""


@pytest.fixture(scope="module")
def data(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The reference files, and made-up ones for what there is no file of."""
    raw = shared / "data" / "raw"
    folder = lay_out(
        raw, tmp_path_factory.mktemp("data"), {**BOOLQ, **QUESTIONS, **TEXTS}
    )
    shutil.copyfile(
        raw / "raft/prompt_construction_settings.jsonl", folder / "raft/settings.jsonl"
    )
    (folder / "civil_comments/all_data_with_identities.csv").write_text(COMMENTS)
    letters = "ABCDE"
    for part, count in (("train", 7), ("dev", 5)):
        rows = [
            {
                "question": {
                    "stem": f"What is {n}?",
                    "choices": [
                        {"label": c, "text": f"{(n * i) % 4}"}
                        for i, c in enumerate(letters)
                    ],
                },
                "answerKey": letters[n % 5],
            }
            for n in range(count)
        ]
        place = folder / "commonsenseqa" / f"{part}_rand_split.jsonl"
        write(place, "".join(json.dumps(row) + "\n" for row in rows))
        social = [
            {
                "context": f"Ann met {n}.",
                "question": "Why?",
                **{f"answer{c}": f"for {n % (i + 1)}" for i, c in enumerate("ABC")},
            }
            for n in range(count)
        ]
        text = "".join(json.dumps(row) + "\n" for row in social)
        write(folder / "siqa" / f"{part}.jsonl", text)
        labels = "".join(f"{n % 3 + 1}\n" for n in range(count))
        write(folder / "siqa" / f"{part}-labels.lst", labels)
    return folder


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def plain(instance: Instance) -> list[Any]:
    return [
        *(instance.instance_id, instance.split, instance.sub_split or None),
        instance.input,
        [[r.text, list(r.tags)] for r in instance.references],
        [
            [item["input"], item["references"]]
            for item in instance.extra.get("contrast", [])
        ],
    ]


@pytest.mark.parametrize("entry", ENTRIES)
def test_equals_helms_own_class(entry: str, data: Path, helm: Reference) -> None:
    key = str(ENTRIES.index(entry))
    theirs = helm.ask({"entry": entry, "data": str(data), "key": key})
    ours = scenarios.load(entry, [], [data])
    assert [plain(i) for i in ours.instances] == theirs["instances"]
    method = f"method={ours.adapter.method}"
    assert theirs["name"].replace(f",{method}", "") == ours.facts.name
    assert list(ours.facts.groups) == theirs["groups"]
    adapter = json.loads(msgspec.json.encode(ours.adapter))
    for setting, value in adapter.items():
        assert theirs["adapter"][setting] == value, setting
