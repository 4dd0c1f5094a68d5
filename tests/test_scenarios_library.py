"""The library of built-in scenarios, and the page that lists it."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

from helmsite import scenarios
from helmsite.config import builtin_suite
from helmsite.scenarios.ahead import needs
from helmsite.scenarios.library import find
from helmsite.scenarios.loading import choose
from helmsite.scenarios.reading import read_file
from helmsite.scenarios.templates import renderer
from helmsite.schema.entries import read_entry
from tests.local_data import PLACES

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pytest

    from helmsite.scenarios.definition import Definition

PAGE = Path(__file__).parents[1] / "docs" / "library.md"
HEAD = """# The library of scenarios

All scenarios that come with helmsite. `helmsite run` fetches the data of those that have an
address; [scenarios.md](scenarios.md#source) says where, and how to put files there by hand.
This page is written by `make golden`.
"""


def definitions() -> list[Definition]:
    listing = scenarios.listing()
    assert listing.problems == ()
    return [read_file(Path(entry.place)).definition for entry in listing.entries]


def named(found: Definition) -> Iterator[str]:
    for name, parameter in found.parameters.items():
        values = [str(value) for value in parameter.values]
        shown = ", ".join(values[:6]) + (f", ... ({len(values)})" if values[6:] else "")
        default = "" if parameter.default is None else f", default {parameter.default}"
        listed = f": {shown}" if shown else ""
        yield f"- `{name}` ({parameter.type}{default}){listed}"


def hosts(found: Definition) -> list[str]:
    """Where the data comes from: hosts, datasets of the hub, or a person's own hand."""
    if found.generator:
        return []
    named = []
    for need in needs([found.name]):
        if need.place.hf:
            named.append(f"hub: {need.place.hf.repo}")
        elif need.source:
            named.append(need.source.split("/")[2])
        elif need.place.note:
            named.append("by hand")
    return list(dict.fromkeys(named))


def section(found: Definition) -> str:
    facts = [found.description, ""]
    facts += [*named(found), f"- licence: {found.licence}"]
    if hosts(found):
        facts.append(f"- from: {', '.join(hosts(found))}")
    if found.publication != "full":
        facts.append("- instances are never published: numbers only")
    if found.caution:
        facts.append(f"- caution: {found.caution.strip()}")
    return f"## {found.name}\n\n" + "\n".join(" ".join(f.split()) for f in facts) + "\n"


def test_the_golden_page_of_the_library(request: pytest.FixtureRequest) -> None:
    text = "\n".join([HEAD, *map(section, definitions())])
    if request.config.getoption("--update-golden", default=False):
        PAGE.write_text(text, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == text, "make golden writes it anew"


def test_scenarios_of_helm_classic_that_differ_have_titles_that_differ() -> None:
    classic = builtin_suite("helm_classic")
    assert classic is not None
    names: dict[str, set[str]] = defaultdict(set)
    for entry in classic.scenarios:
        if "default_sweep" in entry.scenario:
            continue
        name = entry.scenario.partition(":")[0]
        own = read_file(find(name, [])).definition.parameters
        chosen = choose(read_entry(entry.scenario, tuple(own)).scenario)
        title = renderer(chosen.values)(chosen.definition.title)
        names[title].add(chosen.name)
    assert len(names) > 200
    assert {title: same for title, same in names.items() if len(same) > 1} == {}
    assert names["BoolQ (contrast set only)"] == {"boolq:only_contrast=True"}


def test_checksums_are_those_of_the_original_files(shared: Path) -> None:
    """Of sources that the reference folder has whole, the digests are right."""
    known = {place: raw for place, raw in PLACES.items() if "STANDIN" not in raw}
    found = 0
    for name in ("boolq", "imdb", "gsm"):
        for need in needs([name]):
            raw = known.get(need.place.path) or known.get("imdb/contrast", "")
            path = shared / "data" / "raw" / raw
            path = path / Path(need.place.path).name if path.is_dir() else path
            if need.place.sha256:
                data = path.read_bytes()
                assert hashlib.sha256(data).hexdigest() == need.place.sha256
                found += 1
    assert found == 6
