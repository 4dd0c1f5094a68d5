"""The last line of tables of groups: how far the best group is ahead of the worst."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec import structs

from helmsite.archive import Archive
from helmsite.config import SiteConfig
from helmsite.query import Results, disparity, summarise
from helmsite.query.rows import Gap
from helmsite.render import build, formats, gaps, samples
from helmsite.render.runtables import tables
from helmsite.schema import Instance, Score
from tests.query_runs import make_run
from tests.site_source import EXACT

if TYPE_CHECKING:
    from pathlib import Path

    from helmsite.render.parts import Stats
    from helmsite.schema import MetricFacts, Stat

WRONG = structs.replace(EXACT, name="wrong", title="Wrong", higher_is_better=False)
PLAIN = structs.replace(EXACT, name="plain", title="Plain", higher_is_better=None)
METRICS = (EXACT, WRONG, PLAIN)
GROUPS = {"b": [1, 0, 0, 0], "a=b": [1, 1, 1, 0], "<c>": [1, 1, 0, 0]}


def stats(metrics: tuple[MetricFacts, ...] = METRICS) -> tuple[Stat, ...]:
    """Groups of a dimension, and two sub-splits that are all right and all wrong."""
    asked: list[Instance] = []
    scores: list[Score] = []
    for name, values in GROUPS.items():
        for value in values:
            key = f"id{len(asked)}"
            asked.append(
                Instance(
                    key,
                    "x",
                    position=len(asked),
                    split="test",
                    sub_split="easy" if value else "hard",
                    attributes={"dialect": (name,)},
                )
            )
            scores += [Score(key, m.name, float(value)) for m in metrics]
    return tuple(summarise(asked, scores, metrics, (), (), scenario="s"))


def made(shown: tuple[Stat, ...]) -> dict[str, Stats]:
    manifest = structs.replace(samples.summary().manifest, metrics=METRICS)
    found = disparity.of_run(shown, METRICS)
    return {t.caption: t for t in tables(shown, manifest, EXACT, found)}


def test_a_table_of_groups_ends_with_its_gaps() -> None:
    shown = made(stats())
    table = shown["By dialect"]
    assert [c.title for c in table.columns] == ["n", "Exact match", "Wrong", "Plain"]
    n, exact, wrong, plain = table.foot
    assert (n.text, plain.text) == ("", "")  # neither has a good direction
    assert (exact.text, exact.part) == ("0.500", "−0.14 to 0.79")
    assert exact.title == "a=b is ahead of b, of 3 groups"
    assert (wrong.text, wrong.part) == ("0.500", "−0.14 to 0.79")
    assert wrong.title == "b is ahead of a=b, of 3 groups"  # where lower is better
    assert table.more == gaps.MEANS
    assert shown["By sub-split"].foot[1].text == "1.000"
    assert shown["By split"].foot == ()


def test_there_is_no_last_line_without_a_gap() -> None:
    alone = tuple(s for s in stats() if s.sub_split in {"", "easy", "dialect=b"})
    assert all(t.foot == () and t.more == "" for t in made(alone).values())


def test_a_gap_without_an_interval_says_so() -> None:
    gap = Gap("exact_match", best="x", worst="y\n", value=0.25, groups=2)
    view = gaps.cell(gap, EXACT)
    assert (view.text, view.part) == ("0.250", "no interval")
    assert view.title == "x is ahead of y , of 2 groups"


def test_groups_that_are_alike_have_none_ahead() -> None:
    view = gaps.cell(Gap("exact_match", best="x", worst="y", groups=3), EXACT)
    assert (view.text, view.title) == ("0.000", "the same in all 3 groups")


def test_a_negative_share_is_rounded_as_others_are() -> None:
    assert formats.rough(-0.126, "share") == "−0.13"
    assert formats.rough(-0.001, "share") == "−0.001"


def test_pages_show_the_gaps_of_a_run_and_of_each_model(tmp_path: Path) -> None:
    archive = Archive(tmp_path / "runs")
    runs = [make_run(archive, "boolq", f"lab/{m}", [1, 0, 1, 1]) for m in "ab"]
    for run in runs:
        facts = archive.manifest(run).metrics
        archive.write_scores(run, archive.scores(run), stats(facts[:1]), facts)
    with Results(archive, SiteConfig(), None) as results:
        build(results, tmp_path / "site", SiteConfig(), strict=True)
    of_run = (tmp_path / "site" / "runs" / runs[0] / "index.html").read_text("utf-8")
    [*_, dialect] = re.findall(r"<tfoot>(.*?)</tfoot>", of_run, re.DOTALL)
    whole = '<td class="n"><span title="a=b is ahead of b, of 3 groups">0.500</span><small>−0.14 to 0.79</small></td>'
    assert dialect.count(whole) == 1
    assert gaps.MEANS in of_run
    page = (tmp_path / "site" / "scenarios" / "boolq" / "index.html").read_text("utf-8")
    [*_, dialect] = re.findall(r"<tfoot>(.*?)</tfoot>", page, re.DOTALL)
    assert dialect.count(whole) == 2
    assert page.count("<tfoot>") == 2
