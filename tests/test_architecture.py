"""Who may import whom, and how long a module may grow."""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "helmsite"
MODULES = sorted(PACKAGE.rglob("*.py"))
LINES = 400
FREE = {"__init__", "__main__", "cli"}

LEAF = {"errors", "schema", "registry", "resources"}
MAY_IMPORT: dict[str, set[str]] = {
    "errors": set(),
    "resources": set(),
    "schema": {"errors"},
    "registry": {"errors"},
    "config": {"errors", "schema", "registry"},
    "archive": {"errors", "schema"},
    "fetching": {"errors"},
    "scenarios": LEAF | {"fetching"},
    "perturbations": LEAF,
    "adapters": LEAF,
    "clients": LEAF,
    "metrics": LEAF,
    "importers": LEAF,
    "exporters": LEAF | {"archive", "importers"},
    "detectors": LEAF,
    "executors": LEAF,
    "run": LEAF
    | {"config", "scenarios", "perturbations", "adapters", "clients", "metrics"}
    | {"detectors", "executors", "archive", "query", "fetching", "importers"},
    "query": {"errors", "schema", "config", "archive"},
    "render": {"errors", "config", "schema", "resources", "registry", "query"},
}


def part(dotted: str) -> str:
    return dotted.removeprefix("helmsite.").split(".")[0]


def imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module == "helmsite":
            found |= {alias.name for alias in node.names} - {"__version__"}
        elif isinstance(node, ast.ImportFrom) and node.module:
            if node.module.startswith("helmsite."):
                found.add(part(node.module))
        elif isinstance(node, ast.Import):
            found |= {
                part(a.name) for a in node.names if a.name.startswith("helmsite.")
            }
    return found


def name(path: Path) -> str:
    return str(path.relative_to(PACKAGE))


@pytest.mark.parametrize("path", MODULES, ids=name)
def test_imports_point_down(path: Path) -> None:
    own = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    if own not in FREE:
        assert imports(path) <= MAY_IMPORT[own] | {own}


@pytest.mark.parametrize("path", MODULES, ids=name)
def test_modules_stay_small(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= LINES
