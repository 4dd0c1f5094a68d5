"""HELM's `data_augmentation` presets: a name → the runs it stands for → perturbations."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_ROBUSTNESS = ("mild_mix",)
_FAIRNESS = (
    "dialect(prob=1.0)",
    "gender(mode=pronouns,prob=1.0)",
    "person_name(prob=1.0)",
)
_LAST_NAMES = (
    "source_class=race=white,target_class=race=hispanic,"
    "person_name_type=last_name,preserve_gender=False"
)
_STYLES = (
    "oil painting",
    "watercolor",
    "pencil sketch",
    "animation",
    "vector graphics",
    "pixel art",
)
_STRENGTHS = {"easy": 0.1, "medium": 0.3, "hard": 0.5, "deterministic": 1.0}


def _dialects() -> Iterator[tuple[str, dict[str, tuple[str, ...]]]]:
    for strength, prob in _STRENGTHS.items():
        # HELM's label of the first one differs from the others'.
        easy = "easy_" if strength == "easy" else ""
        label = f"dialect_{easy}prob={prob}_source=SAE_target=AAVE"
        yield f"dialect_{strength}", {label: (f"dialect(prob={prob})",)}


def _genders() -> Iterator[tuple[str, dict[str, tuple[str, ...]]]]:
    for mode in ("terms", "pronouns"):
        for strength, prob in _STRENGTHS.items():
            label = f"gender_{mode}_prob={prob}_source=male_target=female"
            chosen = (f"gender(mode={mode},prob={prob})",)
            yield f"gender_{mode}_{strength}", {label: chosen}


PRESETS: dict[str, dict[str, tuple[str, ...]]] = {
    "extra_space": {"extra_space2": ("extra_space(num_spaces=2)",)},
    "contrast_sets": {"contrast_sets": ("contrast_sets",)},
    "space": {"space3": ("space(max_spaces=3)",)},
    "lower": {"lower": ("lowercase",)},
    "contract": {"contract": ("contraction", "expansion")},
    "filler": {"filler0.3": ("filler_words(insert_prob=0.3,speaker_ph=False)",)},
    "misspelling_mild": {"misspelling0.05": ("misspellings(prob=0.05)",)},
    "misspelling_medium": {"misspelling0.20": ("misspellings(prob=0.2)",)},
    "misspelling_hard": {"misspelling0.5": ("misspellings(prob=0.5)",)},
    "misspelling_sweep": {
        "misspelling0": ("misspellings(prob=0.0)",),
        "misspelling0.05": ("misspellings(prob=0.05)",),
        "misspelling0.2": ("misspellings(prob=0.2)",),
        "misspelling0.5": ("misspellings(prob=0.5)",),
    },
    "typo_easy": {"typo0.1": ("typos(prob=0.1)",)},
    "typo_medium": {"typo0.3": ("typos(prob=0.3)",)},
    "typo_hard": {"typo0.5": ("typos(prob=0.5)",)},
    "synonym": {"synonym0.5": ("synonym(prob=0.5)",)},
    **dict(_dialects()),
    "person_name_first_hard_preserve_gender": {
        "person_name_first_prob=0.5_source=white_target=black_preserve_gender=True": (
            "person_name(prob=0.5)",
        )
    },
    "person_name_first_hard_dont_preserve_gender": {
        "person_name_first_prob=0.5_source=white_target=black_preserve_gender=False": (
            "person_name(prob=0.5,preserve_gender=False)",
        )
    },
    "person_name_first_deterministic": {
        "person_name_first_prob=1.0_source=white_target=black_preserve_gender=True": (
            "person_name(prob=1.0)",
        )
    },
    "person_name_last_deterministic": {
        "person_name_last_prob=1.0_source=white_target=hispanic": (
            f"person_name(prob=1.0,{_LAST_NAMES})",
        )
    },
    "person_name_last_hard": {
        "person_name_last_prob=0.5_source=white_target=hispanic": (
            f"person_name(prob=0.5,{_LAST_NAMES})",
        )
    },
    **dict(_genders()),
    "robustness": {"robustness": _ROBUSTNESS},
    "fairness": {"fairness": _FAIRNESS},
    "canonical": {"canonical": _ROBUSTNESS + _FAIRNESS},
    "robustness_all": {
        "robustness_all": (
            "contraction",
            "expansion",
            "filler_words(insert_prob=0.1,speaker_ph=False)",
            "lowercase",
            "misspellings(prob=0.1)",
            "space(max_spaces=3)",
            "synonym(prob=0.1)",
            "typos(prob=0.01)",
        )
    },
    "art": {"art": tuple(f"style(suffix={style})" for style in _STYLES)},
}

_CHINESE = "it needs the word lists and the segmenter of CLEVA's Chinese perturbations"
_TRANSLATION = "it translates through Google's paid service, whose replies change"
LEFT_OUT = {
    **dict.fromkeys(("cleva", "cleva_fairness", "cleva_robustness"), _CHINESE),
    **dict.fromkeys(("chinese", "hindi", "spanish", "swahili"), _TRANSLATION),
}
