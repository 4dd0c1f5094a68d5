"""The page on clients names every setting, and its example works."""

from __future__ import annotations

import re
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path
from types import ModuleType

import pytest
from msgspec import structs

from helmsite import registry
from helmsite.clients import CLIENTS, create
from helmsite.clients.fake import FakeSettings
from helmsite.clients.llamacpp import LlamaCppSettings
from helmsite.schema import Decoding, Record, Request

PAGE = (Path(__file__).parents[1] / "docs" / "clients.md").read_text(encoding="utf-8")


def section(title: str) -> str:
    return PAGE.split(f"\n## {title}\n")[1].split("\n## ")[0]


@pytest.mark.parametrize(
    ("title", "record"), [("llamacpp", LlamaCppSettings), ("fake", FakeSettings)]
)
def test_every_setting_is_in_its_table(title: str, record: type[Record]) -> None:
    rows = re.findall(r"^\| `(\w+)` \|", section(title), re.MULTILINE)
    assert sorted(rows) == sorted(f.name for f in structs.fields(record))


def test_every_client_is_listed() -> None:
    assert set(CLIENTS.table()) == set(
        re.findall(r"^\| `(\w+)` \| .* \| ", PAGE[:1500], re.MULTILINE)
    )


def test_the_example_of_a_plug_in_works(monkeypatch: pytest.MonkeyPatch) -> None:
    code = re.findall(r"```python\n(.*?)```", section("Your own client"), re.DOTALL)
    module = ModuleType("my_package")
    exec(code[0], module.__dict__)
    monkeypatch.setitem(__import__("sys").modules, "my_package", module)
    declared = re.search(r'^shout = "(.*)"$', section("Your own client"), re.MULTILINE)
    assert declared is not None
    point = EntryPoint("shout", declared[1], "helmsite.clients")
    found = EntryPoints([point])
    monkeypatch.setattr(
        registry, "entry_points", lambda group: found.select(group=group)
    )
    client = create("shout", "m", {})
    asked = Request("id0", "hello", Decoding())
    assert [c.text for c in client.complete(asked)] == ["HELLO"]
