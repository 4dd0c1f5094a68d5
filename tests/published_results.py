"""A small archive of results that came without instances, and one run beside them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from helmsite.archive import Archive, BatchFacts
from helmsite.schema import (
    MetricFacts,
    ModelCard,
    PublishedStat,
    ScenarioFacts,
    Stat,
)
from tests.query_runs import make_run

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ACC = MetricFacts(
    "exact_match",
    "Accuracy",
    "Share of right answers.",
    "accuracy",
    higher_is_better=True,
    format="share",
)
PPL = MetricFacts("ppl", "Perplexity", "", "language", higher_is_better=False)
SCENARIOS = ("piqa", "mmlu:subject=law", "mmlu:subject=art", "lambada")
SIZES = {"lab/oak-70m": 70, "lab/oak-410m": 410, "lab/oak-1b": 1000, "lab/elm-2b": 2000}
STEPS = (0, 512, 1000, 143000)
CHANGING = "lab/oak-410m"
RAN = "lab/yew"


def write(place: Path) -> Archive:
    """Write four models of a batch, one with four checkpoints, and a run of a fifth one."""
    archive = Archive(place)
    facts = BatchFacts(
        tool="lm-evaluation-harness",
        scenarios=tuple(
            ScenarioFacts(name, _title(name), main_metric=ACC.name)
            for name in SCENARIOS
        ),
        metrics=(ACC, PPL),
        cards=tuple(
            ModelCard(name, name[4:], "lab", num_parameters=size * 10**6)
            for name, size in SIZES.items()
        ),
        versions={f"oak/{CHANGING[4:]}-step{STEPS[-1]}.json": "0.3.0"},
    )
    archive.write_published("papers", "lm_eval", list(_rows()), facts)
    make_run(archive, "piqa", RAN, [1, 0, 1], metrics=(ACC,))
    return archive


def _title(name: str) -> str:
    return name.upper() if ":" not in name else f"MMLU ({name.rpartition('=')[2]})"


def _rows() -> Iterator[PublishedStat]:
    for place, model in enumerate(SIZES):
        asked = [(143000, 0)]
        if model == CHANGING:
            asked = [*((step, 0) for step in STEPS), (143000, 5)]
        for step, shots in asked:
            settings = {"num_fewshot": shots, "revision": f"step{step}"}
            shown = "-5shot" if shots else ""
            file = f"oak/{model[4:]}{shown}-step{step}.json"
            for n, scenario in enumerate(SCENARIOS):
                value = 0.2 + 0.1 * place + 0.05 * n + 0.1 * (step > 600) + 0.01 * shots
                yield _row(scenario, model, ACC.name, value, settings, file)
            yield _row("lambada", model, "ppl", 12.5 - place, settings, file)


def _row(
    scenario: str,
    model: str,
    metric: str,
    value: float,
    settings: dict[str, object],
    file: str,
) -> PublishedStat:
    stderr = 0.0125 if metric == ACC.name else None
    details = {"batch_size": 16, "device": "cuda"}
    stat = Stat(metric, value, stderr=stderr, origin="reported", details=details)
    return PublishedStat(scenario, model, stat, settings, file, f"{len(file):064x}")
