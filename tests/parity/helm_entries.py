"""What HELM makes of run entries, for test_entries.py. Runs in HELM's environment.

A case is {"entry": text, "limits": {...}}; the answer is the list of HELM's run specs, each
with its adapter, groups and perturbations (name of the class and arguments). The answer
to {"conf": text} are the entries of a file of run entries.
"""

from __future__ import annotations

import dataclasses
import shutil
from pathlib import Path
from typing import Any

from helm.benchmark.config_registry import (  # type: ignore[import-not-found]
    register_builtin_configs_from_helm_package,
)
from helm.benchmark.presentation.run_entry import (  # type: ignore[import-not-found]
    RunEntry,
    read_run_entries,
)
from helm.benchmark.run import (  # type: ignore[import-not-found]
    run_entries_to_run_specs,
)
from serving import serve  # type: ignore[import-not-found]

register_builtin_configs_from_helm_package()
MODEL = "simple/model1"


def answer(case: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the run specs of an entry; {"raft": path} puts a file in its place."""
    if "raft" in case:
        place = Path("benchmark_output/scenarios/raft")
        place.mkdir(parents=True, exist_ok=True)
        shutil.copy(case["raft"], place / "prompt_construction_settings.json")
        return []
    if "conf" in case:
        path = Path("run_entries.conf")
        path.write_text(case["conf"], encoding="utf-8")
        return [dataclasses.asdict(e) for e in read_run_entries([str(path)]).entries]
    entry = RunEntry(case["entry"], priority=1, groups=case.get("groups"))
    specs = run_entries_to_run_specs(
        [entry], models_to_run=[MODEL], **case.get("limits", {})
    )
    return [
        {
            "name": spec.name,
            "groups": spec.groups,
            "adapter": dataclasses.asdict(spec.adapter_spec),
            "perturbations": [
                [p.class_name.rsplit(".", 1)[-1], p.args]
                for p in spec.data_augmenter_spec.perturbation_specs
            ],
        }
        for spec in specs
    ]


serve(answer)
