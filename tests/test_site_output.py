"""What a build refuses, what it warns of, and where its pages are."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from msgspec import structs

from helmsite.config import GroupConfig, SiteConfig
from helmsite.errors import BuildError
from helmsite.query.rows import Group, Leaderboard, ScenarioPage, ScenarioSummary
from helmsite.render import build, check_links
from helmsite.render.names import SiteMap, assign
from tests.site_source import SCENARIOS, FakeResults

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("given", "advice"),
    [
        ("example.org/eval", "Write https://example.org/eval for it"),
        ("//example.org/eval", "Write https://example.org/eval for it"),
        ("ftp://example.org", "Write https://example.org for it"),
    ],
)
def test_a_base_address_without_a_scheme_says_what_to_write(
    tmp_path: Path, given: str, advice: str
) -> None:
    with pytest.raises(BuildError, match="does not begin with https://") as caught:
        build(FakeResults(models=1), tmp_path / "site", SiteConfig(base_url=given))
    assert advice in caught.value.hint
    assert not (tmp_path / "site").exists()


# ---- Groups


class FirstGroupEmpty(FakeResults):
    """A site whose first group matches no run."""

    def groups(self) -> tuple[Group, ...]:
        return (Group("nothing", "Nothing yet"), *super().groups())


def test_the_front_page_names_the_group_whose_table_it_shows(tmp_path: Path) -> None:
    build(FirstGroupEmpty(models=2), tmp_path / "site", SiteConfig())
    front = (tmp_path / "site" / "index.html").read_text()
    assert "<h1>Core scenarios</h1>" in front
    assert "Nothing yet" not in front


def test_an_entry_of_a_group_without_runs_is_a_warning(tmp_path: Path) -> None:
    entries = ("knowledge", "mmlu", "mmlu:subject=law", "nowledge")
    config = SiteConfig(groups={"core": GroupConfig("Core", entries)})
    results = FakeResults(2, SCENARIOS[:2])
    report = build(results, tmp_path / "site", config)
    assert report.warnings == (
        "No run belongs to 'mmlu:subject=law' of [site.groups.core].",
        "No run belongs to 'nowledge' of [site.groups.core].",
    )
    with pytest.raises(BuildError, match="No run belongs to 'nowledge'"):
        build(results, tmp_path / "site", config, strict=True)


class StrangeName(FakeResults):
    """An archived scenario whose name is no entry."""

    def scenarios(self) -> tuple[ScenarioSummary, ...]:
        return tuple(
            structs.replace(s, facts=structs.replace(s.facts, name="task: a,b"))
            if s.facts.name == "knowledge"
            else s
            for s in super().scenarios()
        )

    def scenario(self, name: str) -> ScenarioPage:
        if name != "task: a,b":
            return super().scenario(name)
        page = super().scenario("knowledge")
        facts = structs.replace(page.facts, name="task: a,b")
        return structs.replace(page, facts=facts)


def test_an_archived_name_that_is_no_entry_stops_no_build(tmp_path: Path) -> None:
    config = SiteConfig(groups={"core": GroupConfig("Core", ("mmlu", "knowledge"))})
    report = build(StrangeName(models=1), tmp_path / "site", config)
    assert "No run belongs to 'knowledge' of [site.groups.core]." in report.warnings
    page = SiteMap([], ["task: a,b"], [], []).scenario("task: a,b")
    assert (tmp_path / "site" / page).is_file()


# ---- Names


class ForeignFamilies(FakeResults):
    """Families of plug-in metrics whose names hold nothing that a file name may."""

    def groups(self) -> tuple[Group, ...]:
        first = super().groups()[0]
        added = ("真実", "安全", "a b", "a-b", "A-B", "index")
        return (structs.replace(first, families=(*first.families, *added)),)

    def leaderboard(self, group: str, family: str = "accuracy") -> Leaderboard:
        return structs.replace(super().leaderboard(group), family=family)


def test_families_with_like_names_have_pages_of_their_own(tmp_path: Path) -> None:
    out = tmp_path / "site"
    build(ForeignFamilies(models=2), out, SiteConfig())
    names = sorted(p.name for p in (out / "groups" / "core").iterdir())
    assert len(names) == 9
    assert len({n.lower() for n in names}) == 9
    assert {"accuracy.html", "calibration.html", "efficiency.html"} <= set(names)
    assert all(re.fullmatch(r"[A-Za-z0-9._-]{6,}", n) for n in names)
    assert check_links(out) == []


def test_a_familys_address_does_not_depend_on_the_order() -> None:
    there = SiteMap(["g"], [], [], [], ["a b", "a-b", "bias"])
    back = SiteMap(["g"], [], [], [], ["bias", "a-b", "a b"])
    for family in ("a b", "a-b", "bias"):
        assert there.board("g", family) == back.board("g", family)
    assert there.board("g", "bias") == "groups/g/bias.html"
    assert len(set(assign(["a b", "a-b"]).values())) == 2


def test_a_theme_is_given_the_articles_themselves(tmp_path: Path) -> None:
    theme = tmp_path / "theme"
    (theme / "templates").mkdir(parents=True)
    config = SiteConfig(overrides=str(theme))
    build(FakeResults(models=1), tmp_path / "plain", SiteConfig())
    build(FakeResults(models=1), tmp_path / "same", config)
    page = "runs/r0000000000000000/2.html"
    expected = (tmp_path / "plain" / page).read_bytes()
    assert expected.count(b"<article") == 50
    assert b"\0" not in expected
    assert (tmp_path / "same" / page).read_bytes() == expected
    (theme / "templates" / "instances.html").write_text(
        '{% extends "default:instances.html" %}{% block footer %}'
        '{{ articles|map("length")|sum }} characters{% endblock %}'
    )
    build(FakeResults(models=1), tmp_path / "own", config)
    own = (tmp_path / "own" / page).read_text()
    found = re.findall("<article.*?</article>\n?", own, re.DOTALL)
    told = re.findall(r"(\d+) characters", own)[-1]
    assert abs(int(told) - sum(map(len, found))) <= len(found)


def test_texts_that_an_index_names_and_nobody_finds_are_a_broken_link(
    tmp_path: Path,
) -> None:
    out = tmp_path / "site"
    build(FakeResults(models=2), out, SiteConfig())
    whole = sorted(p.name for p in (out / "search").iterdir())
    assert check_links(out) == []
    gone = out / "search" / whole[0]
    gone.unlink()
    found = check_links(out)
    assert found
    assert all(f"its texts in search/{gone.name} are no file" in f for f in found)
    report = build(FakeResults(models=2), out, SiteConfig())
    assert report.reused
    assert report.rendered >= len(found)
    assert check_links(out) == []
    assert sorted(p.name for p in (out / "search").iterdir()) == whole


@pytest.mark.parametrize(
    "tag",
    [
        "<details class=a data-n=12 data-l='x' href=gone.html>",
        '<details data-a="=1|b" class="c"href=gone.html>',
        "<details class=a/data-x=1 href=gone.html>",
        "<p class=a\u00a0b data-x href=gone.html>",
        "<p data-n='>' data-l=\">\" href=gone.html>",
    ],
)
def test_a_link_is_found_behind_any_attribute(tmp_path: Path, tag: str) -> None:
    (tmp_path / "p.html").write_text(tag, encoding="utf-8")
    assert check_links(tmp_path) == ["p.html: href 'gone.html' leads to no file"]
    (tmp_path / "p.html").write_text(tag.replace("href", "data-href"), encoding="utf-8")
    assert check_links(tmp_path) == []
