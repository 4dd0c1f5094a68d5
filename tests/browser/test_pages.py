"""The pages of runs, scenarios, models and data in Chromium."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Any

import pytest
from msgspec import structs

from helmsite.archive import Archive
from helmsite.cli.build import _downloads
from helmsite.config import SiteConfig
from helmsite.query import Results, summarise
from helmsite.render import build
from helmsite.schema import (
    Completion,
    Contamination,
    Instance,
    Manifest,
    MetricFacts,
    ModelCard,
    ModelIdentity,
    PerturbationFacts,
    Reference,
    Reply,
    Request,
    RunSpec,
    ScenarioFacts,
    Score,
    Taxonomy,
    preset,
    run_id,
)
from tests.browser.conftest import serious

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from playwright.sync_api import Page

    from tests.browser.conftest import Pages

    Open = Callable[..., Page]

pytestmark = pytest.mark.browser

SUBJECTS = tuple(f"subject {n:02}" for n in range(57))
TYPOS = "misspelling(prob=0.1)~0"
CITATION = "@misc{demo,\n  title = {Spaces  and <marks>}\n}"
METRICS = (
    MetricFacts(
        "exact_match",
        "Exact match",
        "Share of instances whose answer equals a correct reference.",
        "accuracy",
        higher_is_better=True,
        format="share",
    ),
    MetricFacts("f1", "F1", "", "accuracy", higher_is_better=True, format="share"),
)
MODELS = (
    ModelCard("lab/one-1b", "One 1B", "Lab", num_parameters=10**9, family="One"),
    ModelCard("lab/one-3b", "One 3B", "Lab", num_parameters=3 * 10**9, family="One"),
    ModelCard("other/two", "Two", "Other"),
)


def instances() -> list[Instance]:
    """Two splits, 57 sub-splits, two overlapping dimensions; every third is perturbed."""
    made = []
    for n in range(171):
        whole = Instance(
            f"id{n}",
            f"Question {n}?",
            (Reference("yes", ("correct",)), Reference("no")),
            position=n,
            split="valid" if n % 10 == 0 else "test",
            sub_split=SUBJECTS[n % len(SUBJECTS)],
            attributes={
                "level": ("hard",) if n % 4 == 0 else ("easy",),
                "topic": ("a & b", "c=d") if n % 5 == 0 else ("c=d",),
            },
        )
        made.append(whole)
        if n % 3 == 0:
            made.append(
                structs.replace(whole, input=f"Qeustion {n}?", perturbation=TYPOS)
            )
    return made


def write(archive: Archive, number: int) -> str:
    card = MODELS[number]
    adapter = structs.replace(
        preset("generation"),
        instructions="Answer with yes or no.\n\n",
        input_prefix="\n  Question: ",
        num_outputs=1,
        num_train_trials=2,
    )
    scenario = ScenarioFacts(
        "subjects",
        "Fifty-seven subjects",
        "Questions of *many* subjects.",
        Taxonomy("question answering", "facts", "web users", "2025", "English"),
        "CC-BY-4.0",
        CITATION,
        "https://example.org/data",
        main_metric="exact_match",
    )
    spec = RunSpec("subjects", ModelIdentity(card.name, "llamacpp"), adapter)
    facts = (PerturbationFacts(TYPOS, "Misspellings", robustness=True),)
    asked = instances()
    replies, scores = [], []
    for place, item in enumerate(asked):
        for trial in range(2):
            right = float((place * 7 + trial + number * 3) % 5 < 2)
            request = Request(
                item.instance_id,
                f"Answer with yes or no.\n\nQuestion: {item.input}\nAnswer:",
                adapter.decoding,
                perturbation=item.perturbation,
                trial=trial,
            )
            replies.append(Reply(request, Completion(" yes" if right else " no")))
            scores += [
                Score(item.instance_id, m.name, right, item.perturbation, trial)
                for m in METRICS
            ]
    manifest = Manifest(
        run_id=run_id(spec.spec_id, "s", "native"),
        spec_id=spec.spec_id,
        suite="s",
        spec=spec,
        scenario=scenario,
        card=card,
        metrics=METRICS,
        perturbations=facts,
    )
    stats = summarise(asked, scores, METRICS, facts, (), scenario="subjects")
    return archive.write_run(manifest, asked, replies, scores, stats).run_id


@pytest.fixture(scope="session")
def rich(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """A site of an archive with every kind of number."""
    folder = tmp_path_factory.mktemp("rich")
    archive, out = Archive(folder / "runs"), folder / "under" / "prefix"
    runs = [write(archive, n) for n in range(3)]
    known = (Contamination("subjects", "strong", "It is in its training data."),)
    config = SiteConfig(title="Rich", contamination={"lab/one-3b": known})
    with Results(archive, config, None) as results:
        build(results, out, config, downloads=_downloads(archive))
    return out, runs


@pytest.fixture
def show(
    rich: tuple[Path, list[str]], pages: Pages, address: Callable[[Path], str]
) -> Open:
    """Open a page of the site, on a server and on a disk."""
    return functools.partial(pages.open, address(rich[0]))


def found(page: Page) -> int:
    """How many instances (and perturbed versions) the finder has found."""
    page.wait_for_function(
        "() => / of /.test(document.querySelector('#finder .found')?.textContent)"
    )
    words = page.locator("#finder .found").text_content() or ""
    return sum(map(int, re.findall(r"(\d+) of ", words)))


@pytest.mark.parametrize(
    ("table", "row"),
    [
        ("By sub-split", "subject 05"),
        ("By level", "hard"),
        ("By topic", "a & b"),
        ("By topic", "c=d"),
        ("Under perturbations: Exact match", "Misspellings"),
    ],
)
def test_a_row_leads_to_as_many_instances_as_it_rests_on(
    show: Open, rich: tuple[Path, list[str]], table: str, row: str
) -> None:
    page = show(f"runs/{rich[1][0]}/index.html")
    where = page.locator("table", has=page.locator("caption", has_text=table)).first
    page.evaluate(
        "document.querySelectorAll('details').forEach(d => { d.open = true })"
    )
    line = where.locator("tbody tr", has=page.get_by_role("link", name=row, exact=True))
    told = [i for i in instances() if i.split == "test"]
    kept = {
        "By sub-split": lambda i: i.sub_split == row,
        "By level": lambda i: row in i.attributes["level"],
        "By topic": lambda i: row in i.attributes["topic"],
    }.get(table)
    if kept is None:
        wanted = sum(i.perturbation == TYPOS for i in told)
    else:
        wanted = sum(kept(i) for i in told if not i.perturbation)
        assert line.locator("td").first.text_content() == str(2 * wanted)
    assert wanted
    line.get_by_role("link", name=row, exact=True).click()
    assert found(page) == wanted


def test_a_split_and_a_trial_lead_to_their_instances(
    show: Open, rich: tuple[Path, list[str]]
) -> None:
    page = show(f"runs/{rich[1][0]}/index.html")
    page.get_by_role("link", name="valid", exact=True).first.click()
    own = [i.split for i in instances() if not i.perturbation]
    assert found(page) == own.count("valid")
    page.get_by_role("link", name="Trial 1", exact=True).click()
    assert found(page) == own.count("test")


def test_many_rows_are_folded_and_can_be_sorted(
    show: Open, rich: tuple[Path, list[str]]
) -> None:
    page = show(f"runs/{rich[1][0]}/index.html")
    folded = page.locator("details", has_text="By sub-split")
    assert not folded.locator("table").is_visible()
    summary = folded.locator("summary").text_content() or ""
    assert re.search(r"57 rows; Exact match from 0\.\d+ \(subject \d\d\) to", summary)
    folded.locator("summary").click()
    folded.locator("th[data-k=exact_match] button").click()
    shares = folded.locator("tbody tr td:nth-child(3)").all_text_contents()
    values = [float(re.match(r"[\d.]+", v)[0]) for v in shares]  # type: ignore[index]
    assert len(values) == 57
    assert values in (sorted(values), sorted(values, reverse=True))
    foot = folded.locator("tr").last.locator("th, td").all_text_contents()
    gap = max(values) - min(values)
    assert foot[0] == "Best less worst"
    assert foot[2].startswith(f"{gap:.3f}")


def test_hashes_citations_and_examples_are_copied_whole(
    show: Open, rich: tuple[Path, list[str]], request: pytest.FixtureRequest
) -> None:
    out, runs = rich
    page = show(f"runs/{runs[0]}/index.html")

    def copied() -> str:
        page.wait_for_function(
            "() => [...document.querySelectorAll('button')].some(b => b.textContent === 'copied')"
        )
        return str(page.evaluate("navigator.clipboard.readText()"))

    code = page.locator("#downloads ~ div code[data-copy]").first
    page.locator("#downloads ~ div button.copyhash").first.click()
    assert copied() == code.get_attribute("data-copy")
    assert re.fullmatch("[0-9a-f]{64}", copied())
    page.locator("footer summary").click()
    page.locator("footer button.copy").click()
    page.wait_for_function(
        "() => document.querySelector('footer button.copy').textContent === 'copied'"
    )
    assert copied().startswith("Rich: One 1B on Fifty-seven subjects. runs/r")
    page.goto(page.url.partition("/runs/")[0] + "/scenarios/subjects/index.html")
    page.locator("main button.copy").first.click()
    assert copied() == CITATION
    assert (out / "scenarios" / "subjects" / "index.html").is_file()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_overflows_and_nobody_is_hindered(
    rich: tuple[Path, list[str]],
    pages: Pages,
    serve: Callable[[Path], str],
    axe: str,
    scheme: str,
) -> None:
    out, runs = rich
    narrow: dict[str, Any] = {
        "color_scheme": scheme,
        "viewport": {"width": 390, "height": 844},
    }
    models = sorted(p.parent.name for p in out.glob("models/*/index.html"))
    paths = [f"runs/{runs[0]}/index.html", "scenarios/subjects/index.html"]
    paths += ["data/index.html", "scenarios/index.html", "models/index.html"]
    paths += [f"models/{name}/index.html" for name in models]
    for path in paths:
        page = pages.open(serve(out), path, **narrow)
        page.evaluate(
            "document.querySelectorAll('details').forEach(d => { d.open = true })"
        )
        width = page.evaluate("document.documentElement.scrollWidth")
        assert width <= 390, path
        cut = page.evaluate(
            """[...document.querySelectorAll(".chart text, .chart .dot")].filter(
              e => e.getBoundingClientRect().right > e.closest(".scroll").getBoundingClientRect().right
            ).map(e => e.textContent)"""
        )
        assert cut == [], path
        page.evaluate(axe)
        violations = page.evaluate(
            "axe.run({resultTypes: ['violations'], preload: false})"
        )["violations"]
        assert serious(violations) == [], path


def test_a_mark_tells_its_words_on_focus(show: Open) -> None:
    page = show("scenarios/subjects/index.html")
    page.locator("#board .marked").first.click()
    tip = page.locator("#tip")
    tip.wait_for(state="visible")
    assert "strong evidence that the model was trained on this scenario" in (
        tip.text_content() or ""
    )


def test_scenarios_are_filtered_by_task_and_metric(pages: Pages, served: str) -> None:
    page = pages.open(served, "scenarios/index.html")
    rows = page.locator("#scenarios tbody tr:visible")
    whole = rows.count()
    page.locator(".filter summary", has_text="Metric").click()
    assert page.locator(".filter summary").all_text_contents() == [
        "Task",
        "Language",
        "Metric",
    ]
    page.locator(".filter label", has_text="Bits per byte").click()
    assert 0 < rows.count() < whole
    assert all("Bits per byte" in text for text in rows.all_text_contents())
