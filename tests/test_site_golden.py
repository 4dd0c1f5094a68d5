"""A whole site against the golden one, byte by byte.

`make golden` (or `pytest tests -k golden --update-golden`) writes it anew; look at the
difference before you commit it.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from helmsite.archive import Archive
from helmsite.config import SiteConfig
from helmsite.render import build
from tests.golden_source import FixedResults, write

if TYPE_CHECKING:
    from collections.abc import Iterator

GOLDEN = Path(__file__).parent / "golden" / "site"
MOST_BYTES = 450_000


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The site's files by their names, but for what is copied from static/."""
    folder = tmp_path_factory.mktemp("golden")
    archive = Archive(folder / "runs")
    write(archive)
    site = SiteConfig(title="Golden", description="One of *everything*.")
    with FixedResults(archive, site, cache=None) as results:
        build(results, folder / "site", site)
    return files(folder / "site")


def files(folder: Path) -> dict[str, bytes]:
    found = {p.relative_to(folder).as_posix(): p for p in folder.rglob("*")}
    return {
        name: path.read_bytes()
        for name, path in sorted(found.items())
        if path.is_file() and not path.name.startswith(".") and is_made(name)
    }


def is_made(name: str) -> bool:
    return not name.startswith("static/") or name == "static/search-index.js"


def test_the_site_is_the_golden_one(
    made: dict[str, bytes], request: pytest.FixtureRequest
) -> None:
    if request.config.getoption("--update-golden", default=False):
        shutil.rmtree(GOLDEN, ignore_errors=True)
        for name, content in made.items():
            (GOLDEN / name).parent.mkdir(parents=True, exist_ok=True)
            (GOLDEN / name).write_bytes(content)
    told = list(differences(files(GOLDEN), made))
    assert not told, "\n".join([*told, "Is it meant? `make golden` writes it anew."])


def differences(golden: dict[str, bytes], made: dict[str, bytes]) -> Iterator[str]:
    """Tell what is new, what is gone, and the first line that differs of each file."""
    for name in sorted(made.keys() - golden.keys()):
        yield f"new: {name}"
    for name in sorted(golden.keys() - made.keys()):
        yield f"gone: {name}"
    for name in sorted(made.keys() & golden.keys()):
        if made[name] != golden[name]:
            yield f"{name}: {first_difference(golden[name], made[name])}"


def first_difference(golden: bytes, made: bytes) -> str:
    before, after = (x.decode(errors="replace").split("\n") for x in (golden, made))
    pairs = zip(before, after, strict=False)
    at = next((i for i, (a, b) in enumerate(pairs) if a != b), None)
    if at is None:
        return f"{len(before)} lines before, {len(after)} now"
    a, b = before[at], after[at]
    same = next(
        (i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y),
        min(len(a), len(b)),
    )
    cut = max(0, same - 40)
    return f"line {at + 1}\n    golden: …{a[cut : same + 80]}\n    made:   …{b[cut : same + 80]}"


def test_a_difference_is_told_by_its_line() -> None:
    told = list(differences({"a": b"x\ny1\n", "b": b""}, {"a": b"x\ny2\n", "c": b""}))
    assert told[:2] == ["new: c", "gone: b"]
    assert "line 2" in told[2]
    assert "golden: …y1" in told[2]


def test_the_golden_site_has_everything_and_stays_small(
    made: dict[str, bytes],
) -> None:
    assert sum(map(len, made.values())) < MOST_BYTES
    pages = b"".join(content for name, content in made.items() if "runs/" in name)
    for part in (b"request failed", b"Typos", b"data-l=", b"without the question"):
        assert part in pages, part
    assert "index.html" in made
    assert "patterns.html" in made
    assert {name.split("/")[0] for name in made} >= {
        "data",
        "groups",
        "models",
        "runs",
        "scenarios",
        "search",
    }
