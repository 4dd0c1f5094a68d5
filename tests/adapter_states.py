"""A case of an adapter as plain JSON, and our requests as HELM's request states tell them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from helmsite.adapters import Window, adapt
from helmsite.schema import AdapterSpec, Instance, Message, Reference, Request
from tests.parity.words import Words

if TYPE_CHECKING:
    from collections.abc import Sequence

BOUNDLESS = 100_000
PREFIX = "<s>"


def built(spec: AdapterSpec) -> dict[str, Any]:
    """Return a spec's settings as plain JSON."""
    return dict(msgspec.json.decode(msgspec.json.encode(spec)))


def case_of(
    spec: AdapterSpec, pool: Sequence[Instance], window: Window
) -> dict[str, Any]:
    """Return what HELM's side is asked."""
    assert isinstance(window.tokenizer, Words)
    length = window.max_request_length or BOUNDLESS
    return {
        "spec": built(spec),
        "instances": [
            {
                "id": i.instance_id,
                "input": i.input,
                "split": i.split,
                "references": [[r.text, list(r.tags)] for r in i.references],
                "extra": i.extra,
                "messages": [
                    {"role": m.role, "content": m.content} for m in i.messages
                ],
            }
            for i in pool
        ],
        "window": {
            "vocabulary": window.tokenizer.vocabulary,
            "prefix": PREFIX if window.has_prefix_token else "",
            "max_request_length": length,
            "max_sequence_length": window.max_sequence_length or length,
            "max_total": window.max_sequence_and_generated_tokens_length,
        },
    }


def states(case: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the requests that we make of a case, as HELM's states tell them."""
    spec = msgspec.convert(case["spec"], AdapterSpec)
    limits = case["window"]
    window = Window(
        Words(limits["vocabulary"]),
        max_request_length=limits["max_request_length"],
        has_prefix_token=bool(limits["prefix"]),
        max_sequence_length=limits["max_sequence_length"],
        max_sequence_and_generated_tokens_length=limits["max_total"],
    )
    pool = [
        Instance(
            i["id"],
            i["input"],
            references=tuple(Reference(t, tuple(tags)) for t, tags in i["references"]),
            split=i["split"],
            extra=i["extra"],
            messages=tuple(Message(**m) for m in i["messages"]),
        )
        for i in case["instances"]
    ]
    return [told(r, spec, limits["prefix"]) for r in adapt(pool, spec, window)]


def told(request: Request, spec: AdapterSpec, prefix: str) -> dict[str, Any]:
    """Return a request of ours as HELM's state tells it; HELM writes a prefix token out."""
    decoding = request.decoding
    is_choice = spec.method.startswith("multiple_choice_separate")
    begins = spec.method == "language_modeling" and not request.request_index
    index = request.reference_index
    return {
        "instance": request.instance_id,
        "prompt": (prefix if begins else "") + request.prompt,
        "messages": [{"role": m.role, "content": m.content} for m in request.messages]
        or None,
        "reference_index": None if index < 0 else index,
        "mode": request.mode if is_choice or spec.method == "ranking_binary" else None,
        "trial": request.trial // spec.repeats,
        "mapping": request.output_mapping or None,
        "num_train_instances": request.num_train_instances,
        "truncated": request.truncated,
        "num_conditioning_tokens": request.num_conditioning_tokens,
        "temperature": decoding.temperature,
        "num_completions": decoding.num_completions,
        "top_k_per_token": decoding.top_k_per_token,
        "max_tokens": decoding.max_tokens,
        "stop_sequences": list(decoding.stop_sequences),
        "echo_prompt": request.score_start is not None,
        "top_p": decoding.top_p,
        "random": decoding.random or None,
    }


def brief(state: dict[str, Any]) -> dict[str, Any]:
    """Return a state without what says nothing."""
    return {k: v for k, v in state.items() if v not in (None, False, 0, [])}
