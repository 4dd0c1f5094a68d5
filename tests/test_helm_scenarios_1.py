"""Questions, sentiment and classification: what bad data is said to be, and details."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from helmsite import scenarios
from helmsite.errors import ScenarioError
from tests.local_data import BOOLQ, QUESTIONS, TEXTS, lay_out

if TYPE_CHECKING:
    from pathlib import Path

    from helmsite.schema import LoadedScenario

SEPARATE = "multiple_choice_separate"


def lines(*rows: Any) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def write(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


CHOICES = [{"label": c, "text": f"choice {c}"} for c in "ABCD"]
SWAG = {
    "activity_label": "Run",
    "ctx_a": "A man",
    "ctx_b": "he",
    "endings": ["w", "x", "y", "z"],
    "label": 1,
}
ASKED = {"question": "a", "passage": "p", "answer": True}
CONTRAST = {"question": "a", "answer": "TRUE", "perturbed_questions": []}
TRUTH = "Type,Category,Question,Best Answer,Correct Answers,Incorrect Answers,Source\n"
COMMENTS = (
    ",id,comment_text,split,toxicity,male,female,LGBTQ,christian,muslim,"
    "other_religions,black,white\n"
)
FAULTS: dict[str, tuple[str, dict[str, str], str]] = {
    "a label beyond the choices": (
        "commonsense:dataset=hellaswag",
        {
            "hellaswag__hellaswag_train_dot_jsonl": lines(SWAG),
            "hellaswag__hellaswag_val_dot_jsonl": lines(SWAG, {**SWAG, "label": 4}),
        },
        "hellaswag_val.jsonl, line 2: the answer is number 5 of 4 choices",
    ),
    "a label that is no number": (
        "commonsense:dataset=hellaswag",
        {
            "hellaswag__hellaswag_train_dot_jsonl": lines({**SWAG, "label": "one"}),
            "hellaswag__hellaswag_val_dot_jsonl": lines(SWAG),
        },
        "hellaswag_train.jsonl, line 1: label is 'one', not a whole number",
    ),
    "a missing field": (
        "commonsense:dataset=openbookqa",
        {
            "openbookqa__OpenBookQA-V1-Sep2018__Data__Main__train_dot_jsonl": lines(
                {"question": {"stem": "S", "choices": CHOICES}}
            ),
            "openbookqa__OpenBookQA-V1-Sep2018__Data__Main__test_dot_jsonl": lines({}),
        },
        "train.jsonl, line 1: there is no field 'answerKey'",
    ),
    "labels of another file": (
        "commonsense:dataset=siqa",
        {
            "siqa__train_dot_jsonl": lines({}, {}),
            "siqa__train-labels_dot_lst": "1\n",
            "siqa__dev_dot_jsonl": lines({}),
            "siqa__dev-labels_dot_lst": "1\n",
        },
        "train_labels: 1 labels for 2 rows",
    ),
    "an answer that is no choice": (
        "mmlu:subject=anatomy",
        {
            "mmlu__dev__anatomy_dev_dot_csv": "q,a,b,c,d,E\n",
            "mmlu__val__anatomy_val_dot_csv": "q,a,b,c,d,A\n",
            "mmlu__test__anatomy_test_dot_csv": "q,a,b,c,d,A\n",
        },
        "anatomy_dev.csv, row 1 (line 1): references:",
    ),
    "a row with too few values": (
        "mmlu:subject=anatomy",
        {
            "mmlu__dev__anatomy_dev_dot_csv": "q,a,b,c,d,A\n",
            "mmlu__val__anatomy_val_dot_csv": "q,a,b,c,A\n",
            "mmlu__test__anatomy_test_dot_csv": "q,a,b,c,d,A\n",
        },
        "anatomy_val.csv, row 1 (line 1): 5 values for 6 columns",
    ),
    "no best answer": (
        "truthful_qa",
        {"truthful_qa__TruthfulQA_dot_csv": TRUTH + "t,c,Q?, ,x,y,s\n"},
        "TruthfulQA.csv, row 1 (line 2): Best Answer is empty",
    ),
    "a missing column": (
        "civil_comments",
        {"civil_comments__all_data_with_identities_dot_csv": "a,b\n1,2\n"},
        "there is no column 'comment_text'",
    ),
    "a split that nobody knows": (
        "civil_comments",
        {
            "civil_comments__all_data_with_identities_dot_csv": COMMENTS
            + "0,1,hi,dev,0.5,0,0,0,0,0,0,0,0\n"
        },
        "comments, row 1: the split is 'dev'",
    ),
    "a share that is no number": (
        "civil_comments",
        {
            "civil_comments__all_data_with_identities_dot_csv": COMMENTS
            + "0,1,hi,test,much,0,0,0,0,0,0,0,0\n"
        },
        "the column 'toxicity' holds what is no number",
    ),
    "an empty label": (
        "raft:subset=overruling",
        {"raft__data__overruling__train_dot_csv": "Sentence,Label\na,b\nc, \n"},
        "train.csv, row 2 (line 3): Label is empty",
    ),
    "a right choice that is empty": (
        "commonsense:dataset=hellaswag",
        {
            "hellaswag__hellaswag_train_dot_jsonl": lines(SWAG),
            "hellaswag__hellaswag_val_dot_jsonl": lines({**SWAG, "endings": ["a", ""]}),
        },
        "hellaswag_val.jsonl, line 1: the right choice is empty",
    ),
    **{
        f"a contrast set {what}": (
            "boolq",
            {
                "boolq__train_dot_jsonl": lines(ASKED),
                "boolq__dev_dot_jsonl": lines(ASKED),
                "boolq__boolq_perturbed_dot_json": json.dumps(
                    {"data": [{}, {**CONTRAST, **change}]}
                ),
            },
            f"boolq_perturbed.json, row 2: {said}",
        )
        for what, change, said in (
            ("without an answer", {"answer": ""}, "the answer is ''"),
            (
                "with an answer that is none",
                {"perturbed_questions": [{"perturbed_q": "b", "answer": "maybe"}]},
                "perturbed_questions, item 1: the answer is 'maybe'",
            ),
            (
                "without its questions",
                {"perturbed_questions": [{"answer": "TRUE"}]},
                "perturbed_questions, item 1: there is no field 'perturbed_q'",
            ),
        )
    },
    "a row without its text": (
        "raft:subset=overruling",
        {"raft__data__overruling__train_dot_csv": "Sentense,Label,ID\na,b,0\nc,d,1\n"},
        "there is no field 'Sentence'. Did you mean 'Sentense'",
    ),
    "a contrast file that is cut": (
        "imdb",
        {
            **{
                f"imdb__aclImdb__{part}__{kind}__1_dot_txt": f"{part} {kind}"
                for part in ("train", "test")
                for kind in ("pos", "neg")
            },
            "imdb__contrast__test_original_dot_tsv": "h\nPositive\ta\nNegative\tb\n",
            "imdb__contrast__test_contrast_dot_tsv": "h\nNegative\tc\n",
            "imdb__contrast__dev_original_dot_tsv": "h\nPositive\ta\n",
            "imdb__contrast__dev_contrast_dot_tsv": "h\nNegative\tc\n",
        },
        "test_contrast: 1 reviews for 2 originals",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_bad_data_is_named(name: str, tmp_path: Path) -> None:
    entry, files, message = FAULTS[name]
    write(tmp_path, **files)
    with pytest.raises(ScenarioError) as caught:
        scenarios.load(entry, [], [tmp_path])
    assert message in caught.value.message
    assert caught.value.hint


@pytest.fixture(scope="module")
def data(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    places = {**BOOLQ, **QUESTIONS, **TEXTS}
    return lay_out(shared / "data" / "raw", tmp_path_factory.mktemp("data"), places)


def load(entry: str, data: Path) -> LoadedScenario:
    return scenarios.load(entry, [], [data])


def test_a_demographic_takes_its_rows_of_all(data: Path) -> None:
    every = load("civil_comments", data)
    black = load("civil_comments:demographic=black", data)
    wanted = [i for i in every.instances if "black" in i.attributes.get("identity", ())]
    assert [i.input for i in black.instances] == [i.input for i in wanted]
    assert 0 < len(wanted) < len(every.instances)
    assert {i.sub_split for i in every.instances} == {"toxic", "non-toxic"}
    assert every.facts.name == "civil_comments:demographic=all"


def test_reviews_with_a_contrast_version_are_valid(data: Path) -> None:
    loaded = load("imdb", data)
    contrast = [i for i in loaded.instances if i.extra.get("contrast")]
    assert contrast
    assert {i.split for i in contrast} == {"valid"}
    turned = 0
    for each in contrast:
        ((answer, tags),) = each.extra["contrast"][0]["references"]
        assert tags == ["correct"]
        turned += answer not in each.gold
    assert turned >= 0.9 * len(contrast)  # a few labels differ between the two sources
    assert any("HELM's pinned" in note for note in loaded.notes)


def test_a_pinned_order_is_followed(data: Path, tmp_path: Path) -> None:
    own = lay_out(data, tmp_path, {name: name for name in TEXTS})
    folders = {"train": "train", "valid": "test"}
    order = {
        split: {
            kind: sorted(
                (p.name for p in (own / "imdb/aclImdb" / name / kind).iterdir()),
                reverse=True,
            )
            for kind in ("pos", "neg")
        }
        for split, name in folders.items()
    }
    pin = own / "imdb" / "imdb_scenario_pinned_file_order.json"
    pin.write_text(json.dumps(order))
    pinned, plain = load("imdb", own), load("imdb", data)
    assert pinned.notes == ()
    assert pinned.instances[0].input != plain.instances[0].input
    assert sorted(i.input for i in pinned.instances) == sorted(
        i.input for i in plain.instances
    )
    pin.write_text(json.dumps({"train": {"pos": ["../../../secret.txt"]}}))
    with pytest.raises(ScenarioError, match=r"outside the folders|no such file"):
        load("imdb", own)


def test_datasets_of_common_sense_have_their_own_facts(data: Path) -> None:
    swag = load("commonsense:dataset=hellaswag", data)
    book = load("commonsense:dataset=openbookqa", data)
    assert swag.adapter.method == f"{SEPARATE}_original"
    assert book.adapter.method == f"{SEPARATE}_calibrated"
    assert (swag.facts.main_split, book.facts.main_split) == ("valid", "test")
    assert (swag.facts.groups, book.facts.groups) == (("hellaswag",), ("openbookqa",))
    assert swag.facts.licence == "MIT"
    joint = load("commonsense:dataset=piqa,method=multiple_choice_joint", data)
    assert joint.facts.name == "commonsense:dataset=piqa"
    assert joint.adapter.instructions.endswith("about common sense.\n")
