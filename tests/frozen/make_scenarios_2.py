"""Freeze what HELM makes of the made-up files of `tests.made_scenarios_2`.

Run by the Python of an environment with crfm-helm (see `make parity`), in the repository:
`.helm/bin/python tests/frozen/make_scenarios_2.py`.
"""

import hashlib
import json
import os
import sys
import tempfile
import types
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "parity"))
# Some package of that environment is called tests, too.
sys.modules["tests"] = types.ModuleType("tests")
sys.modules["tests"].__path__ = [str(HERE.parent)]

from helm_scenarios_2 import answer  # type: ignore[import-not-found]  # noqa: E402

from tests.made_scenarios_2 import ENTRIES, write  # noqa: E402

SHOWN = 2


def frozen(entry: str, data: Path) -> dict[str, object]:
    """Return HELM's run spec, the number of instances, their digest and the first ones."""
    found = answer({"entry": entry, "data": str(data)})
    instances = found.pop("instances")
    lines = (json.dumps(each, ensure_ascii=False) for each in instances)
    return {
        "entry": entry,
        **found,
        "count": len(instances),
        "sha256": hashlib.sha256("".join(lines).encode()).hexdigest(),
        "first": instances[:SHOWN],
    }


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        data = write(Path(folder, "data").absolute())
        cases = [frozen(entry, data) for entry in ENTRIES]
    text = json.dumps(cases, ensure_ascii=False, indent=1)
    (HERE / "scenarios_2.json").write_text(f"{text}\n", "utf-8")
