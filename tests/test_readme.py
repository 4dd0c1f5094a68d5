"""What the README shows works as it stands there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from helmsite.cli.new import new_project

if TYPE_CHECKING:
    import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    found = re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)
    assert len(found) == 1
    return str(found[0])


def test_the_python_and_sql_examples_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    new_project(tmp_path / "my-eval")
    monkeypatch.chdir(tmp_path)
    exec(compile(block("python"), "README.md", "exec"), {})
    assert (tmp_path / "my-eval" / "site" / "index.html").is_file()
    monkeypatch.chdir(tmp_path / "my-eval")
    with duckdb.connect() as connection:
        rows = connection.execute(block("sql")).fetchall()
    assert sorted(model for model, _ in rows) == [
        "helmsite/ngram-1",
        "helmsite/ngram-3",
    ]


def test_every_link_leads_to_a_file() -> None:
    for page in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]:
        text = page.read_text(encoding="utf-8")
        for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", text):
            assert (page.parent / target).exists(), f"{page.name}: {target}"
