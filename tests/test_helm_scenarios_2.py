"""Scenarios of reading, search, summaries, harms and language over made-up files.

What each makes of them was frozen from HELM's own classes (frozen/make_scenarios_2.py).
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from helmsite import scenarios
from helmsite.errors import ScenarioError
from tests.made_scenarios_2 import ENTRIES, write

if TYPE_CHECKING:
    from helmsite.schema import LoadedScenario

FROZEN = Path(__file__).parent / "frozen" / "scenarios_2.json"
HELM = {case["entry"]: case for case in json.loads(FROZEN.read_text("utf-8"))}
SHOWN = 2


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("data"))


def load(entry: str, data: Path) -> LoadedScenario:
    return scenarios.load(entry, roots=[data])


def plain(loaded: LoadedScenario) -> list[Any]:
    return [
        [
            *(each.instance_id, each.split, each.sub_split, each.input),
            [[r.text, list(r.tags)] for r in each.references],
        ]
        for each in loaded.instances
    ]


@pytest.mark.parametrize("entry", ENTRIES)
def test_instances_are_those_that_helm_makes(entry: str, data: Path) -> None:
    made, helm = plain(load(entry, data)), HELM[entry]
    assert made[:SHOWN] == helm["first"]
    lines = (json.dumps(each, ensure_ascii=False) for each in made)
    assert len(made) == helm["count"]
    assert hashlib.sha256("".join(lines).encode()).hexdigest() == helm["sha256"]


@pytest.mark.parametrize("entry", ENTRIES)
def test_adapter_and_groups_are_helms(entry: str, data: Path) -> None:
    loaded, helm = load(entry, data), HELM[entry]
    own = json.loads(msgspec.json.encode(loaded.adapter))
    assert own == {name: helm["adapter"][name] for name in own}
    assert list(loaded.facts.groups) == helm["groups"]
