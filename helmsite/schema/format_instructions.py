"""Sentences that HELM adds to prompts for models that answer too freely."""

from __future__ import annotations

from typing import TYPE_CHECKING

from helmsite.schema.manifest import JOINT

if TYPE_CHECKING:
    from helmsite.schema.manifest import AdapterSpec

EXAMPLES_FOLLOW = (
    "Here are some input-output examples. Read the examples carefully to figure out the "
    "mapping. The output of the last example is not given, and your job is to figure out "
    "what it is."
)
KEEP_THE_FORMAT = (
    "Please provide the output to this last example. It is critical to follow the format "
    "of the preceding outputs!"
)
ARABIC_LETTER = "اكتب حرف الإجابة فقط، دون أي إضافات أخرى."
LETTER = "Answer with only a single letter."
LETTERS = {
    "mmlu_only_last_question": "Answer only the last question with only a single letter.",
    "mcqa_no_period": f"{LETTER} Do not include a period in your answer.",
    "mcqa_only_last_question": "Answer only the last question with only a single letter.",
    "arabic_mcqa": ARABIC_LETTER,
}
TEXTS = {
    "narrative_qa": "Answer with one word, a few-word phrase, or a short sentence. "
    "Avoid extra, unnecessary information in the answer.",
    "natural_qa": "Answer with a short answer or a boolean 'yes' or 'no' answer.",
    "natural_qa_short_answer": "Answer with a short answer.",
    "legalbench": "Answer yes or no.",
    "legalbench_abercrombie": "Answer with only 'generic', 'descriptive', 'suggestive', "
    "'arbitrary' or 'fanciful'.",
    "legalbench_function_of_decision_section": "Answer with only 'Facts', 'Procedural "
    "History', 'Issue', 'Rule', 'Analysis', 'Conclusion' or 'Decree'.",
    "legalbench_yes_or_no": "Answer with only 'Yes' or 'No'.",
    "wmt_14": "Answer with the English translation.",
    "wmt_14_only_last_sentence": "Answer with only the English translation for the last "
    "sentence.",
    "math": "Wrap the final answer with the \\boxed{} command.",
    "numeric_nlg": "Answer with only description of the last table as a single paragraph "
    "on a single line.",
    "tab_fact": "Answer with only the classification of the last statement, either "
    "'refuted' or 'entailed'.",
    "wikitq": "Answer only the last question with a short answer. Avoid extra, "
    "unnecessary information in the answer.",
    "arabic_mcqa": ARABIC_LETTER,
}
REASONED = (
    'In your response, replace "insert answer here" with the single uppercase letter '
    "corresponding to your answer."
)
THOUGHTS = {"mmlu_pro": REASONED, "gpqa": REASONED}


def format_instructions(spec: AdapterSpec, scenario: str) -> str:
    """Return the sentence for a scenario (`output_format_instructions=` in HELM).

    Raises:
        ValueError: HELM has none for this scenario under this method.
    """
    if spec.method == JOINT[0]:
        return LETTERS.get(scenario, LETTER)
    known = {"generation": TEXTS, JOINT[1]: THOUGHTS}.get(spec.method, {})
    if scenario not in known:
        raise ValueError(
            f"there is no sentence for it under method {spec.method}"
            + (f"; there is one for {', '.join(known)}" if known else "")
        )
    noun = spec.output_prefix.split(":")[0]
    if scenario == "legalbench" and noun != "Answer":
        return f"Answer with the {noun.lower()}."
    return known[scenario]
