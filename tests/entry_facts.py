"""The run entries of the reference folder, and scenarios planned without their data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import yaml

from helmsite.scenarios import adapter
from helmsite.scenarios.loading import choose
from helmsite.scenarios.templates import renderer
from helmsite.schema import LoadedScenario, ScenarioFacts
from tests.conftest import SHARED

if TYPE_CHECKING:
    from collections.abc import Iterator

FACTS = SHARED / "facts" / "scenarios.yaml"
NOT_IN_CONF = "  (not in run_entries.conf"
TEMPLATES = {
    "mmlu": "mmlu:model=text,{},data_augmentation=canonical",
    "the_pile": "the_pile:model=full_functionality_text,{}",
    "ice": "ice:model=full_functionality_text,{}",
    "wikifact": "wikifact:model=text,k=5,{}",
    "babi_qa": "babi_qa:model=text_code,{}",
    "math": "math:model=text_code,{}",
}
"""How HELM writes the entries of which the facts name the arguments alone."""


def entries() -> Iterator[tuple[str, str, int | None]]:
    """Yield each entry, HELM's name of its run ('' if not told), and its priority."""
    if not FACTS.is_file():
        return
    scenarios = yaml.safe_load(FACTS.read_text(encoding="utf-8"))["scenarios"]
    for name, facts in scenarios.items():
        for variant in facts["variants"]:
            yield from _of_runs(name, variant["runs"])


def _of_runs(name: str, runs: Any) -> Iterator[tuple[str, str, int | None]]:
    if isinstance(runs, dict):
        for priority, listed in runs["args_by_priority"].items():
            for args in listed:
                yield TEMPLATES[name].format(args), "", priority
        return
    for run in runs:
        entry = run.get("entry") or TEMPLATES[name].format(run["args"])
        yield entry.partition(NOT_IN_CONF)[0], run.get("run_name", ""), run["priority"]


def planned(entry: str) -> LoadedScenario:
    """Return a scenario as it is loaded, but without its instances."""
    chosen = choose(entry)
    render = renderer(chosen.values)
    spec, methods = adapter.specs(chosen.definition, chosen.path, chosen.method, render)
    groups = tuple(map(render, chosen.definition.groups))
    return LoadedScenario(
        facts=ScenarioFacts(chosen.name, groups=groups),
        adapter=spec,
        metrics=chosen.definition.metrics,
        instances=(),
        perturbations=chosen.definition.perturbations,
        methods=methods,
    )
