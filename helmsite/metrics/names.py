"""Names of metrics: which there are, which go together, and what is behind each."""

from __future__ import annotations

import re
from importlib import import_module
from typing import TYPE_CHECKING, Any

from msgspec import structs

from helmsite.errors import MetricError, suggest
from helmsite.metrics.efficiency import known_costs
from helmsite.metrics.extras import absent as not_there
from helmsite.metrics.extras import is_there
from helmsite.metrics.kinds import KINDS, AnyMetric, TextMetric
from helmsite.metrics.ranking import METHOD
from helmsite.registry import Registry
from helmsite.schema import PopulationMetric

if TYPE_CHECKING:
    from collections.abc import Iterable

    from helmsite.schema import Method, ModelCard

_HOME = "helmsite.metrics"
RANKING = (
    *(f"RR@{k}" for k in (5, 10, 20)),
    *(f"NDCG@{k}" for k in (5, 10, 20)),
    *(f"Recall@{k}" for k in (1, 2, 3, 5, 10, 20)),
    *(f"Success@{k}" for k in (1, 2, 3, 5, 10, 20)),
)
BIAS = (
    *(
        f"bias_metric:mode=associations,demographic_category={group},target_category={word}"
        for group in ("race", "gender")
        for word in ("adjective", "profession")
    ),
    *(
        f"bias_metric:mode=representation,demographic_category={group}"
        for group in ("race", "gender")
    ),
)
BUILTIN = {
    "exact_match": f"{_HOME}.text:exact_match",
    "quasi_exact_match": f"{_HOME}.text:quasi_exact_match",
    "quasi_leave_articles_exact_match": f"{_HOME}.text:quasi_leave_articles_exact_match",
    "prefix_exact_match": f"{_HOME}.text:prefix_exact_match",
    "quasi_prefix_exact_match": f"{_HOME}.text:quasi_prefix_exact_match",
    "exact_match_indicator": f"{_HOME}.text:exact_match_indicator",
    "final_number_exact_match": f"{_HOME}.numbers:final_number_exact_match",
    "absolute_value_difference": f"{_HOME}.numbers:absolute_value_difference",
    "math_equiv": f"{_HOME}.maths:math_equiv",
    "math_equiv_chain_of_thought": f"{_HOME}.maths:math_equiv_chain_of_thought",
    "f1_score": f"{_HOME}.text:f1_score",
    "rouge_1": f"{_HOME}.overlap:rouge_1",
    "rouge_2": f"{_HOME}.overlap:rouge_2",
    "rouge_l": f"{_HOME}.overlap:rouge_l",
    "bleu_1": f"{_HOME}.overlap:bleu_1",
    "bleu_4": f"{_HOME}.overlap:bleu_4",
    "code_eval_acc": f"{_HOME}.code:correctness",
    "pass": f"{_HOME}.code:passing",
    "test_avg": f"{_HOME}.code:test_avg",
    "strict_acc": f"{_HOME}.code:strict_acc",
    **dict.fromkeys(RANKING, f"{_HOME}.ranking:measure"),
    "exact_set_match": f"{_HOME}.sets:exact_set_match",
    "iou_set_match": f"{_HOME}.sets:iou_set_match",
    "f1_set_match": f"{_HOME}.sets:f1_set_match",
    "bits_per_byte": f"{_HOME}.language_modeling:bits_per_byte",
    "logprob_per_byte": f"{_HOME}.language_modeling:logprob_per_byte",
    "perplexity": f"{_HOME}.language_modeling:perplexity",
    "logprob": f"{_HOME}.language_modeling:logprob",
    "num_perplexity_tokens": f"{_HOME}.language_modeling:num_perplexity_tokens",
    "num_bytes": f"{_HOME}.language_modeling:num_bytes",
    "max_prob": f"{_HOME}.calibration:max_prob",
    "predicted_index": f"{_HOME}.choice:predicted_index",
    "ece_10_bin": f"{_HOME}.calibration:ece_10_bin",
    "ece_1_bin": f"{_HOME}.calibration:ece_1_bin",
    "selective_cov_acc_area": f"{_HOME}.calibration:selective_cov_acc_area",
    "selective_acc@10": f"{_HOME}.calibration:selective_acc_at_10",
    "platt_coef": f"{_HOME}.calibration:platt_coef",
    "platt_intercept": f"{_HOME}.calibration:platt_intercept",
    "platt_ece_10_bin": f"{_HOME}.calibration:platt_ece_10_bin",
    "platt_ece_1_bin": f"{_HOME}.calibration:platt_ece_1_bin",
    "classification_macro_f1": f"{_HOME}.classification:measure",
    "classification_micro_f1": f"{_HOME}.classification:measure",
    **dict.fromkeys(BIAS, f"{_HOME}.bias:measure"),
    "group_words": f"{_HOME}.bias:group_words",
    "expected_max_toxicity": f"{_HOME}.toxicity:expected_max_toxicity",
    "max_toxicity_probability": f"{_HOME}.toxicity:max_toxicity_probability",
    "toxic_frac": f"{_HOME}.toxicity:toxic_frac",
    "bbq_accuracy": f"{_HOME}.bbq:bbq_accuracy",
    "bbq_metric_ambiguous_bias": f"{_HOME}.bbq:ambiguous_bias",
    "bbq_metric_unambiguous_bias": f"{_HOME}.bbq:unambiguous_bias",
    "summarization_coverage": f"{_HOME}.summarization:summarization_coverage",
    "summarization_density": f"{_HOME}.summarization:summarization_density",
    "summarization_compression": f"{_HOME}.summarization:summarization_compression",
    "summac": f"{_HOME}.faithfulness:summac",
    "BERTScore-P": f"{_HOME}.faithfulness:bertscore_p",
    "BERTScore-R": f"{_HOME}.faithfulness:bertscore_r",
    "BERTScore-F": f"{_HOME}.faithfulness:bertscore_f",
    "longest_common_prefix_length": f"{_HOME}.copying:longest_common_prefix_length",
    "edit_distance": f"{_HOME}.copying:edit_distance",
    "edit_similarity": f"{_HOME}.copying:edit_similarity",
    "self_bleu": f"{_HOME}.diversity:self_bleu",
    "monte_carlo_entropy": f"{_HOME}.diversity:monte_carlo_entropy",
    "inference_runtime": f"{_HOME}.efficiency:inference_runtime",
    "batch_size": f"{_HOME}.efficiency:batch_size",
    "inference_denoised_runtime": f"{_HOME}.efficiency:inference_denoised_runtime",
    "inference_idealized_runtime": f"{_HOME}.efficiency:inference_idealized_runtime",
    "training_co2_cost": f"{_HOME}.efficiency:training_co2_cost",
    "training_energy_cost": f"{_HOME}.efficiency:training_energy_cost",
    "num_prompt_tokens": f"{_HOME}.efficiency:num_prompt_tokens",
    "num_completion_tokens": f"{_HOME}.efficiency:num_completion_tokens",
    "num_output_tokens": f"{_HOME}.efficiency:num_output_tokens",
    "finish_reason_length": f"{_HOME}.general:finish_reason_length",
    "finish_reason_stop": f"{_HOME}.general:finish_reason_stop",
    "finish_reason_endoftext": f"{_HOME}.general:finish_reason_endoftext",
    "finish_reason_unknown": f"{_HOME}.general:finish_reason_unknown",
    "prompt_truncated": f"{_HOME}.general:prompt_truncated",
    "num_train_instances": f"{_HOME}.general:num_train_instances",
    "num_references": f"{_HOME}.general:num_references",
    "num_train_trials": f"{_HOME}.general:num_train_trials",
    "num_instances": f"{_HOME}.general:num_instances",
}
REGISTRY = Registry("metric", BUILTIN)
MAKERS = {
    r"(?:RR|NDCG|Recall|Success)@[1-9]\d*(?: \(topk=[1-9]\d*\))?": f"{_HOME}.ranking:measure",
    r"ref\d+_rank": f"{_HOME}.ranking:reference_rank",
    r"code_eval_acc@[1-9]\d*": f"{_HOME}.code:correctness",
    r"pass@[1-9]\d*": f"{_HOME}.code:passing",
    r"classification_(?:macro|micro|weighted)_(?:f1|precision|recall)(?::labels=.+)?": f"{_HOME}.classification:measure",
}
"""Names beyond the table that follow a pattern, and what makes a metric of such a name."""

NEEDED = {
    f"{_HOME}.overlap": ("metrics", ("nltk", "punkt", "rouge_score")),
    f"{_HOME}.bias": ("metrics", ("nltk", "punkt")),
    f"{_HOME}.copying": ("metrics", ("nltk",)),
    f"{_HOME}.diversity": ("metrics", ("sacrebleu",)),
    f"{_HOME}.summarization": ("summarization", ("spacy",)),
    f"{_HOME}.faithfulness": ("faithfulness", ("bert_score", "summac")),
}
"""The extra, and its libraries, that the metrics of a module need."""

GENERAL = (
    "num_references",
    "num_train_trials",
    "num_train_instances",
    "prompt_truncated",
    "num_prompt_tokens",
    "num_completion_tokens",
    "num_output_tokens",
    "inference_runtime",
    "batch_size",
    "finish_reason_length",
    "finish_reason_stop",
    "finish_reason_endoftext",
    "finish_reason_unknown",
    "num_instances",
)
LIKELIHOOD = (
    "logprob",
    "num_perplexity_tokens",
    "num_bytes",
    "bits_per_byte",
    "logprob_per_byte",
    "perplexity",
)
CALIBRATION = (
    "ece_10_bin",
    "ece_1_bin",
    "selective_cov_acc_area",
    "selective_acc@10",
    "platt_coef",
    "platt_intercept",
    "platt_ece_10_bin",
    "platt_ece_1_bin",
)
COSTS = (
    "inference_denoised_runtime",
    "inference_idealized_runtime",
    "training_co2_cost",
    "training_energy_cost",
)
SEPARATE = ("exact_match", "predicted_index", "max_prob")
SEPARATE_ALONE = ("predicted_index",)
AT_K = ("code_eval_acc", "pass")
SEPARATE_RULES = {"exact_match": f"{_HOME}.choice:exact_match"}


def is_separate(method: str) -> bool:
    """Say whether each reference is a request of its own."""
    return method.startswith("multiple_choice_separate")


def is_ranking(name: str) -> bool:
    """Say whether a metric is of the order in which a model puts documents."""
    return _place(name).startswith(f"{_HOME}.ranking:")


def _place(name: str) -> str:
    """Return where a built-in metric, or the maker of its name, is; '' if nowhere."""
    if name in BUILTIN:
        return BUILTIN[name]
    made = (place for rule, place in MAKERS.items() if re.fullmatch(rule, name))
    return next(made, "")


def _import(place: str, name: str) -> Any:
    module, _, attribute = place.partition(":")
    found = getattr(import_module(module), attribute)
    return found if isinstance(found, KINDS) else found(name)


def require(names: Iterable[str]) -> None:
    """Check that the libraries which metrics need are installed.

    Raises:
        MetricError: some are not; the hint says what to type.
    """
    homes = {_place(_at_k(n)[0] or n).partition(":")[0] for n in names}
    needed = [NEEDED[home] for home in sorted(homes & NEEDED.keys())]
    absent = [(m, extra) for extra, all_of in needed for m in all_of if not is_there(m)]
    if absent:
        raise not_there([m for m, _ in absent], [extra for _, extra in absent])


def completions_of(name: str) -> int:
    """Return K of a name `metric@K`, 0 of a plain name."""
    return int(_at_k(name)[1] or 0)


def _at_k(name: str) -> tuple[str, str]:
    base, _, k = name.rpartition("@")
    return (base, k) if base and k.isdigit() else ("", "")


def load(name: str, method: str = "", groups: Iterable[str] = ()) -> AnyMetric:
    """Return the metric behind a name, under the rules of an adapter's method.

    `name@K` of a text metric is the same metric over the best of K completions. The
    names of `groups` are no metrics, but are suggested with those of metrics.

    Raises:
        MetricError: the name is unknown, or what it leads to is no metric.
    """
    if is_separate(method) and name in SEPARATE_RULES:
        return _checked(name, _import(SEPARATE_RULES[name], name))
    if place := _place(name):
        return _checked(name, _import(place, name))
    base, k = _at_k(name)
    table = REGISTRY.table()
    if name not in table and base in table:
        metric = load(base)
        if isinstance(metric, TextMetric):
            return TextMetric(_facts_at_k(metric, k), metric.function)
    if name not in table:
        raise MetricError(
            f"Unknown metric {name!r}.{suggest(name, (*groups, *table))}",
            "Type: helmsite ls metrics",
        )
    return _checked(name, REGISTRY.load(name))


def _facts_at_k(metric: TextMetric, k: str) -> Any:
    facts = metric.facts
    return structs.replace(
        facts,
        name=f"{facts.name}@{k}",
        title=f"{facts.title} (best of {k})",
        description=f"{facts.description.removesuffix('.')}; the best of {k} completions counts.",
    )


def _checked(name: str, found: Any) -> AnyMetric:
    if not isinstance(found, KINDS) or found.facts.name != name:
        raise MetricError(
            f"What is installed as metric {name!r} is not a metric of that name.",
            "Decorate its function with helmsite.metrics.text_metric(MetricFacts(...)) and give it the same name as its entry point.",
        )
    return found


def _fits(name: str, method: str) -> bool:
    """Say whether a metric means something under a method."""
    metric = load(name)
    if method == "language_modeling":
        return name in (*GENERAL, *COSTS, *LIKELIHOOD) or _foreign(name, metric)
    if is_separate(method):
        return name in (*GENERAL, *COSTS, *SEPARATE) or _foreign(name, metric)
    if method == METHOD:
        return name in (*GENERAL, *COSTS) or is_ranking(name) or _foreign(name, metric)
    return name not in SEPARATE_ALONE and not is_ranking(name)


def _foreign(name: str, metric: AnyMetric) -> bool:
    return not _place(name) and not isinstance(metric, TextMetric)


def with_inputs(names: Iterable[str]) -> tuple[str, ...]:
    """Return the names, each once, and behind them what they are computed from."""
    found = list(dict.fromkeys(names))
    for name in found:  # grows while it is read: inputs may have inputs
        metric = load(name)
        if isinstance(metric, PopulationMetric):
            found.extend(i for i in metric.inputs if i not in found)
    return tuple(found)


def applicable(
    method: Method,
    names: Iterable[str],
    num_outputs: int = 1,
    card: ModelCard | None = None,
) -> tuple[str, ...]:
    """Return the metrics of a run: a scenario's own first, then those that come along.

    Those that mean nothing under the method are left out (text metrics where nothing is
    generated). Calibration comes along where exact_match is measured, as in HELM. With
    `num_outputs` other than 1 each text metric has its `name@K` beside it; joint
    multiple choice has num_outputs 5 by default, though one completion. With a `card`
    come the estimates of time and cost that are known of its model.

    Raises:
        MetricError: a name is unknown; the nearest ones are suggested.
    """
    own = [name for name in dict.fromkeys(names) if _fits(name, method)]
    general = (*GENERAL, *known_costs(card))
    if is_separate(method):
        return with_inputs([*own, *SEPARATE, *general])
    if method == "language_modeling":
        return with_inputs([*own, *LIKELIHOOD, *general])
    if method == METHOD:
        return with_inputs([*own, *general])
    calibration = CALIBRATION if "exact_match" in with_inputs(own) else ()
    named = with_inputs([*own, "max_prob", *calibration, *LIKELIHOOD, *general])
    return tuple(at_k(named, num_outputs))


def at_k(names: Iterable[str], num_outputs: int) -> list[str]:
    """Return the names with `name@K` behind each text metric, if K is not 1."""
    if num_outputs == 1:
        return list(dict.fromkeys(names))
    found: list[str] = []
    for name in names:
        found.append(name)
        if not completions_of(name) and (
            name in AT_K or isinstance(load(name), TextMetric)
        ):
            found.append(f"{name}@{num_outputs}")
    return list(dict.fromkeys(found))
