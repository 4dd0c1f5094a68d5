"""What HELM makes of the data of tests/made_scenarios_3.py, frozen in scenarios_3.json.

    .helm/bin/python tests/frozen/make_scenarios_3.py

runs crfm-helm's own run spec functions and scenario classes on it.
"""

import json
import os
import sys
import tempfile
import types
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "parity"))
# Some package of that environment is called tests, too.
sys.modules["tests"] = types.ModuleType("tests")
sys.modules["tests"].__path__ = [str(HERE.parent)]

from helm_scenarios_3 import answer  # type: ignore[import-not-found]  # noqa: E402

from tests.made_scenarios_3 import ENTRIES, write  # noqa: E402

with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    data = write(Path(folder, "made"))
    found = {entry: answer({"entry": entry, "data": str(data)}) for entry in ENTRIES}
text = ",\n".join(
    f"{json.dumps(entry)}: {json.dumps(made, ensure_ascii=False, sort_keys=True)}"
    for entry, made in found.items()
)
(HERE / "scenarios_3.json").write_text(f"{{\n{text}\n}}\n", encoding="utf-8")
