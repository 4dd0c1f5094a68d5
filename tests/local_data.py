"""Which file of the reference folder stands where a scenario looks for its data.

`lay_out` makes a data folder for scenarios out of ../shared/data/raw: the right side is
relative to that folder. A test that runs a scenario over it reads real records, though
often not all of them.
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from tests.local_derived import MADE

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

BOOLQ = {
    "boolq/train.jsonl": "boolq/train_first300.jsonl",
    "boolq/dev.jsonl": "boolq/dev.jsonl",
    "boolq/boolq_perturbed.json": "boolq/boolq_perturbed.json",
}
QUESTIONS = {
    **{f"mmlu/{part}": f"mmlu/{part}" for part in ("dev", "val", "test")},
    "hellaswag/hellaswag_train.jsonl": "hellaswag/hellaswag_val_reconstructed.jsonl",
    "hellaswag/hellaswag_val.jsonl": "hellaswag/hellaswag_val_reconstructed.jsonl",
    "openbookqa/OpenBookQA-V1-Sep2018": "openbookqa/OpenBookQA-V1-Sep2018",
    "piqa/train.jsonl": "piqa/valid.jsonl",
    "piqa/train-labels.lst": "piqa/valid-labels.lst",
    "piqa/valid.jsonl": "piqa/valid.jsonl",
    "piqa/valid-labels.lst": "piqa/valid-labels.lst",
    "truthful_qa/TruthfulQA.csv": "truthful_qa/TruthfulQA.csv",
    "gsm/train.jsonl": "gsm8k/train_first600.jsonl",
    "gsm/test.jsonl": "gsm8k/test.jsonl",
}
TEXTS = {
    "imdb/aclImdb": "imdb/aclImdb",
    "imdb/contrast": "imdb/contrast",
    "civil_comments/all_data_with_identities.csv": (
        "civil_comments/STANDIN_wilds_layout.csv"
    ),
    "raft/data": "raft/data",
}
READING = {
    "narrative_qa/qaps.csv": "narrativeqa/derived_deepmind_format/qaps.csv",
    "narrative_qa/third_party/wikipedia/summaries.csv": (
        "narrativeqa/derived_deepmind_format/third_party/wikipedia/summaries.csv"
    ),
    "quac/train_v0.2.json": "quac/quac_sample_v0.2_layout.json",
    "quac/val_v0.2.json": "quac/quac_sample_v0.2_layout.json",
}
LAW = {
    **{
        f"lsat_qa/AR_{part}Data.json": f"lsat/AR_{part}Data.json"
        for part in ("Training", "Development", "Test")
    },
    **{
        f"legal_support/{part}.jsonl": f"legal_support/legal_support/STANDIN_{part}.jsonl"
        for part in ("train", "dev", "test")
    },
}
LANGUAGE = {
    **{
        f"twitter_aae/{part}_tweets.csv": f"twitter_aae/STANDIN_{part}_tweets.csv"
        for part in ("aa", "white")
    },
    "ice/ICE-JA": "ice/STANDIN_ICE-JA",
}
FACTS = {
    f"wikifact/{part}.jsonl": f"wikifact/STANDIN_helm_layout_{part}.jsonl"
    for part in ("train", "dev", "test")
}
REGENERATED = (
    "Gender_identity",
    "Race_ethnicity",
    "Race_x_SES",
    "Race_x_gender",
    "SES",
)
HARMS = {
    **{
        f"bbq/{name}.jsonl": f"bbq/{'regenerated' if name in REGENERATED else 'data'}/{name}.jsonl"
        for name in (
            *("Age", "Disability_status", "Nationality", "Physical_appearance"),
            *("Religion", "Sexual_orientation"),
            *REGENERATED,
        )
    },
    **{
        f"bold/{name}_prompt.json": f"bold/prompts/{name}_prompt.json"
        for name in (
            *("gender", "political_ideology", "profession", "race"),
            "religious_ideology",
        )
    },
    "real_toxicity_prompts/prompts.jsonl": "../golden_inputs/real_toxicity_prompts.jsonl",
    "disinformation/reiteration.jsonl": "disinformation/STANDIN_reiteration.jsonl",
    "disinformation/wedging.jsonl": "disinformation/STANDIN_wedging.jsonl",
    "copyright/n_books_1000-extractions_per_book_1-prefix_length_25.json": (
        "copyright/STANDIN_text_prefix25.json"
    ),
    "copyright/prompt_num_line_1-min_lines_20.json": "copyright/STANDIN_code.json",
}
"""Files named STANDIN are made up: they show a layout, and hold no benchmark's text."""
SKILLS = {
    "wikitext_103/wiki.test.raw": "wikitext103/wiki.test.raw",
    "babi_qa/tasks_1-20_v1-2/en-valid": "../golden_inputs/babi_en-valid",
    "blimp/data": "blimp/data",
    "math/MATH": "math/MATH",
    "code/HumanEval.jsonl.gz": "humaneval/HumanEval.jsonl.gz",
    **{
        f"code/APPS/{part}/{name}": f"apps/APPS/train/{name}"
        for part, names in {
            "train": ("0001", "2287", "4184"),
            "test": ("0111", "2404"),  # train problems, too: there are no others here
        }.items()
        for name in names
    },
    "entity_matching/Beer": "entity_matching/Structured/Beer",
    "entity_matching/Abt_Buy": "entity_matching/Textual/Abt-Buy",
    "entity_matching/Dirty_iTunes_Amazon": (
        "entity_matching/Dirty/iTunes-Amazon/derived"
    ),
    "entity_data_imputation": "data_imputation",
}
PLACES: dict[str, str] = {
    **BOOLQ,
    **QUESTIONS,
    **TEXTS,
    **READING,
    **LAW,
    **LANGUAGE,
    **FACTS,
    **HARMS,
    **SKILLS,
}


def lay_out(raw: Path, folder: Path, places: Mapping[str, str] = PLACES) -> Path:
    """Copy the files of `places` (and folders, whole) to where scenarios look for them."""
    for target, source in sorted(places.items()):
        place = folder / target
        place.parent.mkdir(parents=True, exist_ok=True)
        if (raw / source).is_dir():
            shutil.copytree(raw / source, place, dirs_exist_ok=True)
        else:
            shutil.copyfile(raw / source, place)
    for target, make in MADE.items() if places is PLACES else ():
        place = folder / target
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(make(raw))
    return folder
