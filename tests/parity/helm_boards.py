"""HELM's own tables of groups, for test_boards.py. Runs in HELM's environment.

A case is {"runs": [{"scenario", "groups", "model", "stats": [[name, split, value]]}],
"boards": [name of a group, ...]}; the answer {board: {family: {"columns": [group, ...],
"rows": {model: [mean win rate or null, value or null, ...]}}}}.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

from helm.benchmark.adaptation.adapter_spec import (  # type: ignore[import-not-found]
    AdapterSpec,
)
from helm.benchmark.config_registry import (  # type: ignore[import-not-found]
    register_builtin_configs_from_helm_package,
)
from helm.benchmark.metrics.metric_name import (  # type: ignore[import-not-found]
    MetricName,
)
from helm.benchmark.metrics.statistic import (  # type: ignore[import-not-found]
    Stat,
)
from helm.benchmark.model_metadata_registry import (  # type: ignore[import-not-found]
    get_model_metadata,
)
from helm.benchmark.presentation.schema import (  # type: ignore[import-not-found]
    get_default_schema_path,
)
from helm.benchmark.presentation.summarize import (  # type: ignore[import-not-found]
    Run,
    Summarizer,
)
from helm.benchmark.run_spec import RunSpec  # type: ignore[import-not-found]
from helm.benchmark.scenarios.scenario import (  # type: ignore[import-not-found]
    ScenarioSpec,
)
from serving import serve  # type: ignore[import-not-found]

register_builtin_configs_from_helm_package()
CLASSIC = str(Path(get_default_schema_path()).with_name("schema_classic.yaml"))


def run_of(case: dict[str, Any]) -> Any:
    adapter = AdapterSpec(model=case["model"], model_deployment=case["model"])
    spec = RunSpec(
        name=f"{case['scenario']},model={case['model']}",
        scenario_spec=ScenarioSpec(class_name=case["scenario"], args={}),
        adapter_spec=adapter,
        metric_specs=[],
        groups=case["groups"],
    )
    stats = [
        Stat(MetricName(name, split=split)).add(value)
        for name, split, value in case["stats"]
    ]
    return Run(run_path=spec.name, run_spec=spec, stats=stats)


def answer(case: dict[str, Any]) -> dict[str, Any]:
    made = Summarizer(
        release=None,
        suites=None,
        suite="made",
        schema_path=CLASSIC,
        output_path=".",
        verbose=False,
        num_threads=1,
        allow_unknown_models=True,
    )
    made.runs = [run_of(each) for each in case["runs"]]
    made.group_adapter_to_runs = defaultdict(lambda: defaultdict(list))
    made.group_scenario_adapter_to_runs = defaultdict(
        lambda: defaultdict(lambda: defaultdict(list))
    )
    made.group_runs()
    names = {
        get_model_metadata(r["model"]).display_name: r["model"] for r in case["runs"]
    }
    found: dict[str, Any] = {}
    for board in case["boards"]:
        group = made.schema.name_to_run_group[board]
        columns = made.expand_subgroups(group)
        found[board] = {
            table.name: {
                "columns": [c.name for c in columns if table.name in c.metric_groups],
                "rows": {
                    names[row[0].value]: [cell.value for cell in row[1:]]
                    for row in table.rows
                },
            }
            for table in made.create_group_tables_by_metric_group(group)
        }
    return found


serve(answer)
