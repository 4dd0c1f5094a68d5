"""The page of patterns against the golden file: every component's HTML at a glance.

`pytest tests -k golden --update-golden` writes it anew.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from helmsite.config import SiteConfig
from helmsite.render import build
from tests.site_source import FakeResults

if TYPE_CHECKING:
    import pytest

GOLDEN = Path(__file__).parent / "golden" / "patterns.html"


def test_the_patterns_are_as_in_the_golden_file(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    build(FakeResults(models=0), tmp_path / "site", SiteConfig(title="Golden"))
    page = (tmp_path / "site" / "patterns.html").read_text(encoding="utf-8")
    main = re.search(r"<main.*</main>\n", page, re.DOTALL)
    assert main
    lines = [line for line in main[0].splitlines() if line.strip()]
    made = "\n".join(lines) + "\n"
    if request.config.getoption("--update-golden", default=False):
        GOLDEN.parent.mkdir(exist_ok=True)
        GOLDEN.write_text(made, encoding="utf-8")
    assert made == GOLDEN.read_text(encoding="utf-8")
