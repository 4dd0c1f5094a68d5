"""HELM's statistics of request states, for test_imported_runs.py. Runs in HELM's environment.

A case is {"state": what scenario_state.json holds, "metrics": [[class, args], ...]}; the
answer {"stats": ..., "per_instance_stats": ...}, as HELM writes these files. A prompt has a
token for each word, a mark of the text's beginning counts as one.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from importlib import import_module
from typing import Any

from serving import serve  # type: ignore[import-not-found]

from helm.benchmark.adaptation.scenario_state import (  # type: ignore[import-not-found] # isort: skip
    ScenarioState,
)
from helm.benchmark.window_services.window_service_factory import (  # type: ignore[import-not-found] # isort: skip
    WindowServiceFactory,
)
from helm.common.codec import from_json, to_json  # type: ignore[import-not-found] # isort: skip


class Words:
    """What stands for a model's window service."""

    def get_num_tokens(self, text: str) -> int:
        return len(re.findall(r"<s>| ?[^ <]+", text))

    def tokenize(self, text: str) -> list[str]:
        return re.findall(r"<s>| ?[^ <]+", text)


WindowServiceFactory.get_window_service = staticmethod(lambda *_: Words())


def evaluated(case: dict[str, Any]) -> dict[str, Any]:
    read = from_json(json.dumps(case["state"]), ScenarioState)
    one: dict[Any, Any] = {}  # HELM knows an instance by its identity
    states = [
        replace(
            s,
            instance=one.setdefault(
                (s.instance.id, s.instance.perturbation), s.instance
            ),
        )
        for s in read.request_states
    ]
    state = ScenarioState(read.adapter_spec, states)
    stats, each = [], []
    for name, args in case["metrics"]:
        module, _, kind = name.partition(":")
        metric = getattr(import_module(f"helm.benchmark.metrics.{module}"), kind)(
            **args
        )
        result = metric.evaluate(state, None, "", 1)
        stats += result.aggregated_stats
        each += result.per_instance_stats
    return {
        "stats": json.loads(to_json(stats)),
        "per_instance_stats": json.loads(to_json(each)),
    }


serve(evaluated)
