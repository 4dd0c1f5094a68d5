"""BLiMP: pairs of sentences of which one is grammatical, by linguistic phenomenon."""

from __future__ import annotations

from typing import TYPE_CHECKING

from helmsite.errors import ScenarioError
from helmsite.scenarios.loaders import Loader
from helmsite.schema import CORRECT_TAG, TEST, Instance, Reference

if TYPE_CHECKING:
    from collections.abc import Iterator

    from helmsite.scenarios.files import Files
    from helmsite.scenarios.sources import Row

_PARADIGMS = {
    "island_effects": (
        "left_branch_island_simple_question sentential_subject_island wh_island "
        "coordinate_structure_constraint_object_extraction "
        "coordinate_structure_constraint_complex_left_branch adjunct_island "
        "complex_NP_island left_branch_island_echo_question"
    ),
    "anaphor_agreement": "anaphor_gender_agreement anaphor_number_agreement",
    "argument_structure": (
        "animate_subject_passive animate_subject_trans transitive passive_1 "
        "intransitive passive_2 causative drop_argument inchoative"
    ),
    "determiner_noun_agreement": (
        "determiner_noun_agreement_with_adj_irregular_2 determiner_noun_agreement_1 "
        "determiner_noun_agreement_with_adj_irregular_1 "
        "determiner_noun_agreement_irregular_1 determiner_noun_agreement_irregular_2 "
        "determiner_noun_agreement_with_adjective_1 determiner_noun_agreement_2 "
        "determiner_noun_agreement_with_adj_2"
    ),
    "subject_verb_agreement": (
        "distractor_agreement_relative_clause "
        "irregular_plural_subject_verb_agreement_2 "
        "irregular_plural_subject_verb_agreement_1 "
        "regular_plural_subject_verb_agreement_1 "
        "distractor_agreement_relational_noun regular_plural_subject_verb_agreement_2"
    ),
    "ellipsis": "ellipsis_n_bar_1 ellipsis_n_bar_2",
    "control_raising": (
        "expletive_it_object_raising tough_vs_raising_1 "
        "existential_there_subject_raising tough_vs_raising_2 "
        "existential_there_object_raising"
    ),
    "quantifiers": (
        "existential_there_quantifiers_1 superlative_quantifiers_1 "
        "superlative_quantifiers_2 existential_there_quantifiers_2"
    ),
    "irregular_forms": (
        "irregular_past_participle_verbs irregular_past_participle_adjectives"
    ),
    "npi_licensing": (
        "sentential_negation_npi_licensor_present matrix_question_npi_licensor_present "
        "sentential_negation_npi_scope only_npi_licensor_present only_npi_scope "
        "npi_present_2 npi_present_1"
    ),
    "binding": (
        "principle_A_domain_2 principle_A_domain_3 principle_A_case_1 "
        "principle_A_case_2 principle_A_reconstruction principle_A_c_command "
        "principle_A_domain_1"
    ),
    "filler_gap_dependency": (
        "wh_vs_that_with_gap wh_vs_that_no_gap wh_questions_object_gap "
        "wh_vs_that_no_gap_long_distance wh_questions_subject_gap "
        "wh_questions_subject_gap_long_distance wh_vs_that_with_gap_long_distance"
    ),
}
PARADIGMS = {name: tuple(listed.split()) for name, listed in _PARADIGMS.items()}
"""The paradigms of each phenomenon, in the order in which HELM numbers them."""


def load(files: Files, *, phenomenon: str) -> Iterator[Instance]:
    """Yield the pairs of a phenomenon: no input, the good and the bad sentence."""
    for paradigm in PARADIGMS[phenomenon]:
        for row in files.rows(f"pairs/{paradigm}.jsonl"):
            yield Instance(
                "",
                "",
                (
                    Reference(_sentence(row, "sentence_good"), (CORRECT_TAG,)),
                    Reference(_sentence(row, "sentence_bad")),
                ),
                split=TEST,
                attributes={"paradigm": (paradigm,)},
            )


def _sentence(row: Row, field: str) -> str:
    text = row.text(field)
    if not text.strip():
        raise ScenarioError(f"{row.place}: {field} is empty.", "Was the file changed?")
    return text


BLIMP = Loader(version=1, load=load)
