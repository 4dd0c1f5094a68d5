"""HELM's adapters, run expanders and rules by tag, for test_adapters.py. Runs in HELM's environment.

A case is one of
    {"spec": settings, "expand": [name, value], "scenario": name} → [[label, settings], ...]
    {"spec": settings, "tags": [tag, ...], "scenario": name}      → settings
    {"spec": settings, "instances": [...], "window": {...}}       → [request state, ...]
    {"pattern": output_mapping_pattern, "text": completion}       → the answer in it
Settings are those of helmsite's AdapterSpec. A window has a `vocabulary` (words of
tests/parity/words.py), `prefix` and the limits of HELM's window service.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from helm.benchmark.adaptation.adapter_spec import (  # type: ignore[import-not-found]
    AdapterSpec,
    Substitution,
)
from helm.benchmark.adaptation.adapters.adapter_factory import (  # type: ignore[import-not-found]
    AdapterFactory,
)
from helm.benchmark.metrics.evaluate_reference_metrics import (  # type: ignore[import-not-found]
    _apply_output_mapping_pattern,
)
from helm.benchmark.model_deployment_registry import (  # type: ignore[import-not-found]
    ClientSpec,
    ModelDeployment,
    register_model_deployment,
)
from helm.benchmark.model_metadata_registry import (  # type: ignore[import-not-found]
    ModelMetadata,
    register_model_metadata,
)
from helm.benchmark.run_expander import RUN_EXPANDERS  # type: ignore[import-not-found]
from helm.benchmark.run_spec import (  # type: ignore[import-not-found]
    RunSpec,
    run_spec_function,
)
from helm.benchmark.run_spec_factory import (  # type: ignore[import-not-found]
    construct_run_specs,
)
from helm.benchmark.scenarios.scenario import (  # type: ignore[import-not-found]
    Input,
    Instance,
    Output,
    Reference,
    ScenarioSpec,
)
from helm.benchmark.window_services.default_window_service import (  # type: ignore[import-not-found]
    DefaultWindowService,
)
from helm.benchmark.window_services.window_service_factory import (  # type: ignore[import-not-found]
    WindowServiceFactory,
)
from helm.common.object_spec import ObjectSpec  # type: ignore[import-not-found]
from helm.common.tokenization_request import (  # type: ignore[import-not-found]
    DecodeRequestResult,
    TokenizationRequestResult,
    TokenizationToken,
)
from serving import serve  # type: ignore[import-not-found]
from words import Words  # type: ignore[import-not-found]

ADDED = {"model", "model_deployment"}
UNUSED = {"image_generation_parameters", "reeval_parameters"}
asked: dict[str, Any] = {}


@run_spec_function("probe")  # type: ignore[untyped-decorator,unused-ignore]
def probe() -> Any:
    return asked["run"]


class Service:
    """A tokenizer service with one tokenizer."""

    def __init__(self, words: Words) -> None:
        self.words = words

    def tokenize(self, request: Any) -> Any:
        ids = self.words.encode(request.text)
        if request.truncation:
            ids = ids[: request.max_length]
        tokens = [TokenizationToken(i) for i in ids]
        return TokenizationRequestResult(
            success=True, cached=False, text=request.text, tokens=tokens
        )

    def decode(self, request: Any) -> Any:
        text = self.words.decode(request.tokens)
        return DecodeRequestResult(success=True, cached=False, text=text)


def adapter(settings: dict[str, Any], model: str = "org/probe") -> Any:
    given = dict(settings)
    given["substitutions"] = [Substitution(**s) for s in given["substitutions"]]
    return AdapterSpec(**given, model=model, model_deployment=model)


def plain(spec: Any) -> dict[str, Any]:
    found = dataclasses.asdict(spec)
    return {k: v for k, v in found.items() if k not in ADDED | UNUSED}


def run(case: dict[str, Any], model: str = "org/probe") -> Any:
    return RunSpec(
        name=case.get("scenario", "probe"),
        scenario_spec=ScenarioSpec("none.None", {}),
        adapter_spec=adapter(case["spec"], model),
        metric_specs=[],
        groups=[],
    )


def known(tags: list[str]) -> str:
    name = "org/" + ("-".join(tags).lower() or "plain")
    register_model_metadata(
        ModelMetadata(
            name=name,
            display_name=name,
            description="",
            access="open",
            creator_organization_name="org",
            release_date=None,
            tags=tags,
        )
    )
    register_model_deployment(
        ModelDeployment(
            name=name,
            model_name=name,
            client_spec=ClientSpec("none.None", {}),
            tokenizer_name="none",
            max_sequence_length=1,
        )
    )
    return name


def expanded(case: dict[str, Any]) -> list[Any]:
    name, value = case["expand"]
    before = run(case, known(case.get("tags", [])))
    kind = RUN_EXPANDERS[name]
    made = (kind() if name == "chatml" else kind(value)).expand(before)
    return [
        [each.name.removeprefix(before.name).lstrip(":,"), plain(each.adapter_spec)]
        for each in made
    ]


def of_tags(case: dict[str, Any]) -> dict[str, Any]:
    model = known(case["tags"])
    asked["run"] = run(case, model)
    (made,) = construct_run_specs(ObjectSpec("probe", {"model": model}))
    return plain(made.adapter_spec)


def instance(given: dict[str, Any]) -> Any:
    return Instance(
        input=Input(text=given["input"], messages=given.get("messages") or None),
        references=[
            Reference(Output(text=text), tags=tags)
            for text, tags in given["references"]
        ],
        split=given["split"],
        id=given["id"],
        extra_data=given.get("extra") or None,
    )


def states(case: dict[str, Any]) -> list[Any]:
    window = case["window"]
    words = Words(window["vocabulary"])
    service = DefaultWindowService(
        service=Service(words),
        tokenizer_name="words",
        max_sequence_length=window["max_sequence_length"],
        max_request_length=window["max_request_length"],
        max_sequence_and_generated_tokens_length=window.get("max_total"),
        prefix_token=window["prefix"],
    )
    WindowServiceFactory.get_window_service = staticmethod(lambda *_: service)
    made = AdapterFactory.get_adapter(adapter(case["spec"]), Service(words))
    found = made.adapt([instance(i) for i in case["instances"]], parallelism=1)
    return [state(each) for each in found]


def state(made: Any) -> dict[str, Any]:
    request = made.request
    return {
        "instance": made.instance.id,
        "prompt": request.prompt,
        "messages": request.messages,
        "reference_index": made.reference_index,
        "mode": made.request_mode,
        "trial": made.train_trial_index,
        "mapping": made.output_mapping or None,
        "num_train_instances": made.num_train_instances,
        "truncated": made.prompt_truncated,
        "num_conditioning_tokens": made.num_conditioning_tokens,
        "temperature": request.temperature,
        "num_completions": request.num_completions,
        "top_k_per_token": request.top_k_per_token,
        "max_tokens": request.max_tokens,
        "stop_sequences": request.stop_sequences,
        "echo_prompt": request.echo_prompt,
        "top_p": request.top_p,
        "random": request.random,
    }


def answer(case: dict[str, Any]) -> Any:
    if "pattern" in case:
        return _apply_output_mapping_pattern(case["pattern"], case["text"])
    if "expand" in case:
        return expanded(case)
    return of_tags(case) if "tags" in case else states(case)


serve(answer)
