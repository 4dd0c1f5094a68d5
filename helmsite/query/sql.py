"""The queries of this package, each in a file of its own."""

from __future__ import annotations

from functools import cache
from pathlib import Path


@cache
def query(name: str) -> str:
    """Return the text of `<name>.sql`."""
    return (Path(__file__).parent / f"{name}.sql").read_text(encoding="utf-8")
