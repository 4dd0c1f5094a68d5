"""HELM's metrics, for test_metrics.py. Runs in HELM's environment.

A case is one of
    {"pairs": [[gold, prediction], ...], "metrics": [name, ...]}  → scores, pair by pair
    {"metric": [class, args], "states": [state, ...]}             → {stat's name: its mean}
    {"humaneval": problem, "completion": text}                    → whether it passed
    {"apps": {"inputs": ..., "outputs": ...}, "program": text}    → a verdict for each test
A state is an instance with an answer: {"input": text, "references": [[text, tags], ...],
"completions": [[text, logprob, [[token, logprob], ...]], ...], "mapping": {}, "index": n}.

HELM downloads NLTK's sentence model; here it is written from a package that holds it.
"""

from __future__ import annotations

import json
import sys
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import nltk  # type: ignore[import-not-found,import-untyped,unused-ignore]
import spacy  # type: ignore[import-not-found,import-untyped,unused-ignore]
from nltk.tokenize.punkt import (  # type: ignore[import-not-found,import-untyped,unused-ignore]
    PunktParameters,
    save_punkt_params,
)
from punkt.data import english  # type: ignore[import-not-found,import-untyped,unused-ignore]
from serving import serve  # type: ignore[import-not-found]

MODEL = Path.cwd() / "nltk_data" / "tokenizers" / "punkt_tab" / "english"


def write_model() -> None:
    """Put the English sentence model where NLTK looks for it."""
    tables = PunktParameters()
    tables.abbrev_types = set(english.ABBREV_TYPES)
    tables.collocations = set(english.COLLOCATIONS)
    tables.sent_starters = set(english.SENT_STARTERS)
    tables.ortho_context.update(english.ORTHO_CONTEXT)
    nltk.data.path.append(str(MODEL.parents[2]))
    MODEL.mkdir(parents=True, exist_ok=True)
    save_punkt_params(tables, str(MODEL))


write_model()

from helm.benchmark.adaptation.adapter_spec import (  # type: ignore[import-not-found]  # noqa: E402
    AdapterSpec,
)
from helm.benchmark.adaptation.request_state import (  # type: ignore[import-not-found]  # noqa: E402
    RequestState,
)
from helm.benchmark.metrics import (  # type: ignore[import-not-found]  # noqa: E402
    code_metrics_helper,
    evaluate_reference_metrics,
)
from helm.benchmark.scenarios.math_scenario import (  # type: ignore[import-not-found]  # noqa: E402
    is_equiv,
    is_equiv_chain_of_thought,
)
from helm.benchmark.scenarios.scenario import (  # type: ignore[import-not-found]  # noqa: E402
    Input,
    Instance,
    Output,
    Reference,
)
from helm.common.request import (  # type: ignore[import-not-found]  # noqa: E402
    GeneratedOutput,
    Request,
    RequestResult,
    Token,
)

NOT_COMPARED = {
    "bert_score": "BERTScorer",
    "helm.benchmark.metrics.summac.model_summac": "SummaCZS",
}
"""Modules that HELM imports beside its statistics of summaries, and what it takes there."""

ROUGE = {"rouge_1": "rouge1", "rouge_2": "rouge2", "rouge_l": "rougeL"}
MATHS = {
    "math_equiv": is_equiv,
    "math_equiv_chain_of_thought": is_equiv_chain_of_thought,
}


@cache
def text_metric(name: str) -> Any:
    if name in ROUGE:
        return evaluate_reference_metrics.get_rouge_function(ROUGE[name])
    return MATHS.get(name) or getattr(evaluate_reference_metrics, name)


@cache
def metric(name: str, args: str) -> Any:
    module, _, kind = name.partition(":")
    found = getattr(import_module(f"helm.benchmark.metrics.{module}"), kind)
    return found(**json.loads(args))


def state(case: dict[str, Any]) -> Any:
    completions = [
        GeneratedOutput(
            text=text,
            logprob=logprob,
            tokens=[Token(text=t, logprob=p) for t, p in tokens],
        )
        for text, logprob, tokens in case["completions"]
    ]
    return RequestState(
        instance=Instance(
            input=Input(text=case["input"]),
            references=[
                Reference(Output(text=text), tags=tags)
                for text, tags in case["references"]
            ],
            split="test",
            id="id0",
        ),
        reference_index=case.get("index"),
        request_mode=None,
        train_trial_index=0,
        output_mapping=case.get("mapping"),
        request=Request(model="a/b", model_deployment="a/b"),
        result=RequestResult(
            success=True, embedding=[], completions=completions, cached=False
        ),
        num_train_instances=0,
        prompt_truncated=False,
    )


def stats(case: dict[str, Any]) -> dict[str, float]:
    name, args = case["metric"]
    found, states = metric(name, json.dumps(args)), [state(s) for s in case["states"]]
    adapter = AdapterSpec()
    if hasattr(found, "evaluate_instances"):
        made = found.evaluate_instances(states, "")
    elif hasattr(found, "evaluate_references"):
        made = found.evaluate_references(adapter, states, None, "")
    else:
        made = found.evaluate_generation(adapter, states[0], None, "")
    return {stat.name.name: stat.mean for stat in made}


def apps(case: dict[str, Any]) -> list[int]:
    folder = Path.cwd() / "apps"
    folder.mkdir(exist_ok=True)
    (folder / "input_output.json").write_text(json.dumps(case["apps"]))
    code_metrics_helper.gc = SimpleNamespace(collect=int)  # half a second for each test
    found = code_metrics_helper.run_test(str(folder), case["program"], 3)
    return [int(isinstance(verdict, bool) and verdict) for verdict in found]


@cache
def summaries() -> Any:
    """HELM's statistics of summaries; with spaCy's small model where it is installed.

    The model's words are those of spaCy's English rules. BERTScore and SummaC, which need
    torch, are not compared.
    """
    for name, kind in NOT_COMPARED.items():
        module = ModuleType(name)
        setattr(module, kind, None)
        sys.modules.setdefault(name, module)
    if not spacy.util.is_package("en_core_web_sm"):
        vars(spacy)["load"] = lambda _name: spacy.blank("en")
    from helm.benchmark.metrics.summarization_metrics import (  # type: ignore[import-not-found]
        SummarizationMetric,
    )
    from summ_eval.data_stats_metric import (  # type: ignore[import-not-found]
        DataStatsMetric,
    )

    found = SummarizationMetric.__new__(SummarizationMetric)
    found.data_stats_metric = DataStatsMetric()
    return found


def data_stats(case: dict[str, Any]) -> dict[str, float]:
    helm = summaries()
    source = helm._remove_braces(case["source"])
    summary = helm._remove_braces(case["summary"].strip())
    made = helm._compute_data_stats(source, summary)
    return {name.removeprefix("summarization_"): float(v) for name, v in made.items()}


def answer(case: dict[str, Any]) -> Any:
    if "summary" in case:
        return data_stats(case)
    if "pairs" in case:
        return [
            [float(text_metric(name)(gold, made)) for name in case["metrics"]]
            for gold, made in case["pairs"]
        ]
    if "metric" in case:
        return stats(case)
    if "humaneval" in case:
        problem = {"task_id": "x", **case["humaneval"]}
        done = code_metrics_helper.check_correctness(problem, case["completion"], 3.0)
        return done["passed"]
    if "words" in case:
        return [nltk.word_tokenize(text) for text in case["words"]]
    return apps(case)


serve(answer)
