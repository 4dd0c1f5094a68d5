"""How a run's instances are laid out on pages, and what the forecast makes of it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from helmsite.config import SiteConfig
from helmsite.render import Forecast, Means, build, scoreindex
from helmsite.render.gather import frames_of, gather
from helmsite.render.names import anchor
from helmsite.render.runpages import PAGE_BYTES, PER_PAGE, InstancePages, run_frames
from helmsite.render.theme import Theme
from tests.site_source import SCENARIOS, FakeResults

if TYPE_CHECKING:
    from pathlib import Path

    from helmsite.query.rows import InstanceView

CONFIG = SiteConfig(text_search=False)
SOURCE = FakeResults(1, SCENARIOS[:1])
(RUN,) = SOURCE.runs()
FRAMES = run_frames(
    CONFIG, frames_of(gather(SOURCE, lambda *_: None), CONFIG), RUN.manifest
)
VIEW = next(iter(SOURCE.instances(RUN.manifest.run_id)))
THEME = Theme()


class Kept:
    """What would have been written."""

    def __init__(self) -> None:
        self.files: dict[str, str] = {}

    def write(self, path: str, content: str | bytes, sha256: str = "") -> None:
        self.files[path] = content if isinstance(content, str) else content.decode()

    def pages(self) -> list[list[str]]:
        """The anchors of each page, in order."""
        found = sorted(
            (int(match[1]), text)
            for path, text in self.files.items()
            if (match := re.search(r"/(\d+)\.html$", path))
        )
        return [re.findall("<article id=([^ >]+)", text) for _, text in found]


def view(number: int, twin: int = 0, size: int = 0) -> InstanceView:
    instance = structs.replace(
        VIEW.instance,
        instance_id=f"id{number}",
        perturbation=f"typos~{twin}" if twin else "",
        input="x " * (size // 2) or "short",
        position=number,
    )
    return structs.replace(VIEW, instance=instance, trials=VIEW.trials[:1])


def laid_out(views: list[InstanceView]) -> tuple[list[list[str]], InstancePages, Kept]:
    kept = Kept()
    told: list[int] = []
    pages = InstancePages(RUN, THEME, FRAMES, kept, told.append)
    for each in views:
        pages.add(each)
    pages.finish()
    originals = [v for v in views if not v.instance.perturbation]
    assert sum(told) == len(originals)
    return kept.pages(), pages, kept


def lengths(views: list[InstanceView]) -> list[int]:
    return [len(page) for page in laid_out(views)[0]]


def test_a_page_holds_fifty() -> None:
    assert lengths([view(n) for n in range(120)]) == [50, 50, 20]
    assert lengths([view(n) for n in range(50)]) == [50]
    assert lengths([]) == []


def test_twins_stay_on_the_page_of_their_original() -> None:
    views = [view(n, twin) for n in range(30) for twin in range(4)]
    assert lengths(views) == [48, 48, 24]
    for page in laid_out(views)[0]:
        assert re.fullmatch(r"i-id\d+", page[0])


def test_a_group_that_no_page_holds_is_divided_and_the_next_original_follows() -> None:
    views = [view(0), *(view(1, twin) for twin in range(120)), view(2), view(3)]
    assert lengths(views) == [1, 50, 50, 22]


def test_a_page_ends_before_it_is_too_heavy() -> None:
    views = [view(n, size=19_000) for n in range(60)]
    counts = lengths(views)
    assert sum(counts) == 60
    assert max(counts) < PER_PAGE
    _, _, kept = laid_out(views)
    weights = [len(t) for p, t in kept.files.items() if re.search(r"/\d+\.html$", p)]
    assert max(weights) < PAGE_BYTES + 20_000


def test_a_heavy_group_moves_to_the_next_page_as_a_whole() -> None:
    light = [view(n) for n in range(10)]
    heavy = [view(10, twin, 18_000) for twin in range(18)]
    more = [view(11, twin, 18_000) for twin in range(8)]
    pages = laid_out([*light, *heavy, *more])[0]
    assert len(pages) > 1
    for number in (10, 11):
        of_group = [any(f"id{number}-" in a for a in page) for page in pages]
        assert sum(of_group) == 1, number
    assert all(re.fullmatch(r"i-id\d+", page[0]) for page in pages)


def test_pages_lead_to_each_other_and_the_last_one_nowhere() -> None:
    _, _, kept = laid_out([view(n) for n in range(120)])
    folder = f"runs/{RUN.manifest.run_id}"
    first, last = (kept.files[f"{folder}/{n}.html"] for n in (1, 3))
    assert 'rel="next" href="2.html"' in first
    assert 'rel="prev"' not in first
    assert 'rel="next"' not in last
    assert 'rel="prev" href="2.html"' in last


@settings(max_examples=8, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 70), st.sampled_from([0, 0, 0, 19_000])), max_size=12
    )
)
def test_every_row_is_on_its_page_once_and_in_order(
    groups: list[tuple[int, int]],
) -> None:
    views = [
        view(number, twin, size)
        for number, (twins, size) in enumerate(groups)
        for twin in range(twins + 1)
    ]
    found, pages, _ = laid_out(views)
    index = scoreindex.read(pages.index.script())
    assert index
    assert list(scoreindex.anchors(index)) == found
    rows = [row for page in found for row in page]
    assert rows == [
        anchor(v.instance.instance_id, v.instance.perturbation) for v in views
    ]
    assert all(0 < len(page) <= PER_PAGE for page in found)
    for page in found:
        if not re.fullmatch(r"i-id\d+", page[0]):
            number = re.match(r"i-id(\d+)", page[0])
            assert number
            twins, size = groups[int(number[1])]
            assert twins >= PER_PAGE - 1 or size


# ---- The forecast


@pytest.mark.parametrize("models", [1, 4])
def test_the_forecast_is_near_what_is_written(tmp_path: Path, models: int) -> None:
    told: list[Forecast] = []
    results = FakeResults(models, SCENARIOS[:4], 60)
    report = build(results, tmp_path / "site", CONFIG, means=Means(told=told.append))
    (forecast,) = told
    assert forecast.rendered == len(results.runs())
    assert 0.5 < forecast.bytes / report.bytes < 2
    assert 0.8 < forecast.pages / report.pages < 1.25
    assert f"{forecast.rendered} runs to render" in forecast.sentence
    told.clear()
    more = FakeResults(models, SCENARIOS[:3], 60)
    report = build(more, tmp_path / "site", CONFIG, means=Means(told=told.append))
    assert told[0].rendered == 0
    assert told[0].reused == report.reused == len(more.runs())
    assert 0.6 < told[0].bytes / report.bytes < 1.5
