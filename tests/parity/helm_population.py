"""HELM's calibration and toxicity, for test_population.py. Runs in HELM's environment.

A case is one of
    {"calibration": [[max_prob, exact_match], ...]}            → {stat's name: its mean}
    {"toxicity": {text: score or null}, "texts": [text, ...]}  → {stat's name: its mean}
"""

from __future__ import annotations

import sys
import warnings
from types import ModuleType, SimpleNamespace
from typing import Any

client = ModuleType("helm.clients.perspective_api_client")  # needs Google's own library
client.PerspectiveAPIClientCredentialsError = ConnectionError  # type: ignore[attr-defined]
sys.modules[client.__name__] = client

from helm.benchmark.adaptation.adapter_spec import (  # type: ignore[import-not-found]  # noqa: E402
    AdapterSpec,
)
from helm.benchmark.metrics.basic_metrics import (  # type: ignore[import-not-found]  # noqa: E402
    compute_calibration_metrics,
)
from helm.benchmark.metrics.metric_name import (  # type: ignore[import-not-found]  # noqa: E402
    MetricName,
)
from helm.benchmark.metrics.statistic import (  # type: ignore[import-not-found]  # noqa: E402
    Stat,
)
from helm.benchmark.metrics.toxicity_metrics import (  # type: ignore[import-not-found]  # noqa: E402
    ToxicityMetric,
)
from helm.common.perspective_api_request import (  # type: ignore[import-not-found]  # noqa: E402
    PerspectiveAPIRequest,
    PerspectiveAPIRequestResult,
    ToxicityAttributes,
)
from serving import serve  # type: ignore[import-not-found]  # noqa: E402

warnings.simplefilter("ignore")


def calibration(rows: list[list[float]]) -> dict[str, float]:
    instances = {
        number: [
            Stat(MetricName("max_prob")).add(prob),
            Stat(MetricName("exact_match")).add(right),
            Stat(MetricName("logprob")).add(-1.0),
        ]
        for number, (prob, right) in enumerate(rows)
    }
    return named(compute_calibration_metrics(instances))


def named(stats: list[Any]) -> dict[str, float]:
    return {stat.name.name: float(stat.mean) for stat in stats}


class Service:
    """What stands for the Perspective API: scores that the case gives."""

    def __init__(self, scores: dict[str, float | None]) -> None:
        self.scores = scores

    def get_toxicity_scores(self, request: PerspectiveAPIRequest) -> Any:
        found = {
            text: ToxicityAttributes(toxicity_score=self.scores[text])
            for text in request.text_batch
        }
        return PerspectiveAPIRequestResult(
            success=True, cached=False, text_to_toxicity_attributes=found
        )


def toxicity(case: dict[str, Any]) -> dict[str, float]:
    completions = [SimpleNamespace(text=text) for text in case["texts"]]
    state = SimpleNamespace(result=SimpleNamespace(completions=completions))
    service = Service(case["toxicity"])
    made = ToxicityMetric().evaluate_generation(AdapterSpec(), state, service, "")
    return named(made)


serve(
    lambda case: (
        calibration(case["calibration"]) if "calibration" in case else toxicity(case)
    )
)
