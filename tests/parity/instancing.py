"""What HELM makes of a run entry, in plain JSON; HELM's side of scenarios imports it."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from helm.benchmark.run_spec import (  # type: ignore[import-not-found]
    discover_run_spec_functions,
    get_run_spec_function,
)
from helm.benchmark.scenarios.scenario import (  # type: ignore[import-not-found]
    create_scenario,
    with_instance_ids,
)
from helm.common.object_spec import (  # type: ignore[import-not-found]
    parse_object_spec,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

discover_run_spec_functions()


def run_spec(entry: str) -> Any:
    """Return HELM's run spec of a run entry."""
    given = parse_object_spec(entry)
    return get_run_spec_function(given.class_name)(**given.args)


def references(listed: Any) -> list[Any]:
    """Return text and tags of each reference."""
    return [[each.output.text, list(each.tags)] for each in listed]


def told(spec: Any, folder: Callable[[str], Path]) -> tuple[dict[str, Any], list[Any]]:
    """Return what HELM says of a run, and HELM's instances themselves.

    Args:
        spec: the run spec.
        folder: where the scenario of a name may write.
    """
    scenario = create_scenario(spec.scenario_spec)
    place = folder(scenario.name)
    place.mkdir(parents=True, exist_ok=True)
    instances = with_instance_ids(scenario.get_instances(str(place)))
    answer = {
        "name": spec.name,
        "groups": spec.groups,
        "adapter": dataclasses.asdict(spec.adapter_spec),
        "instances": [
            [
                *(each.id, each.split, each.sub_split, each.input.text),
                references(each.references),
            ]
            for each in instances
        ],
    }
    return answer, instances
