"""What scenarios make of the reference data equals what HELM makes of it, to the byte.

Every file of ../shared/facts/helm_golden is one case: its `run_spec` is a run entry.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

import pytest

from helmsite import scenarios
from tests.conftest import SHARED
from tests.local_data import lay_out

if TYPE_CHECKING:
    from pathlib import Path

GOLDEN = SHARED / "facts" / "helm_golden"


@pytest.fixture(scope="session")
def data(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return lay_out(shared / "data" / "raw", tmp_path_factory.mktemp("data"))


def digest(instances: Any) -> str:
    found = hashlib.sha256()
    for each in instances:
        references = [[r.text, list(r.tags)] for r in each.references]
        line = [each.instance_id, each.split, each.input, references]
        found.update(json.dumps(line, ensure_ascii=False).encode())
    return found.hexdigest()


@pytest.mark.parametrize(
    ("entry", "name"),
    [("boolq", "boolq"), ("boolq:only_contrast=True", "boolq_contrast")],
)
def test_instances_are_helms(entry: str, name: str, data: Path) -> None:
    golden = json.loads((GOLDEN / f"{name}.json").read_text("utf-8"))
    loaded = scenarios.load(entry, [], [data])
    assert len(loaded.instances) == golden["n_instances"]
    assert digest(loaded.instances) == golden["sha256_all_instances"]
