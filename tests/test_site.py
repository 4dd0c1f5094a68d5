"""The built site, checked without a browser."""

from __future__ import annotations

import gzip
import html
import json
import re
import resource
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from jinja2 import meta
from msgspec import structs

from helmsite.config import SiteConfig
from helmsite.errors import ArchiveError, BuildError
from helmsite.render import Means, build, check_links, scoreindex, sentences
from helmsite.render.charts import ticks
from helmsite.render.columns import decode
from helmsite.render.output import MARKER
from helmsite.render.pages import TEMPLATES
from helmsite.render.theme import Theme
from helmsite.render.verdicts import Verdicts, verdict
from helmsite.resources import bundled
from helmsite.schema import Score
from tests.site_source import CARDS, EVIL, EXACT, HOSTILE, SCENARIOS, FakeResults

if TYPE_CHECKING:
    from collections.abc import Iterator

    from helmsite.query.rows import InstanceView

CONFIG = SiteConfig(title="Demo evaluations")
CSP = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'"
FIRST_RUN = "runs/r0000000000000000"
EVIL_RUN = "runs/r0000000700000006"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("built") / "site"
    build(FakeResults(), out, CONFIG)
    return out


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[str, str]:
    return {
        p.relative_to(site).as_posix(): p.read_text(encoding="utf-8")
        for p in sorted(site.rglob("*.html"))
    }


def tree(folder: Path) -> dict[str, bytes]:
    return {
        p.relative_to(folder).as_posix(): p.read_bytes()
        for p in sorted(folder.rglob("*"))
        if p.is_file()
    }


class Elements(HTMLParser):
    """Every start tag with its attributes, and the text of the page."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(source)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    def all(self, *names: str) -> list[dict[str, str | None]]:
        return [attributes for tag, attributes in self.tags if tag in names]

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def text_of(source: str) -> str:
    return Elements(source).text


# ---- Every page


def test_every_link_and_anchor_leads_somewhere(site: Path) -> None:
    assert check_links(site) == []


def test_file_names_are_safe_everywhere(site: Path) -> None:
    for name in tree(site):
        assert all(re.fullmatch(r"[A-Za-z0-9._-]+", part) for part in name.split("/"))
    lower = [name.lower() for name in tree(site)]
    assert len(lower) == len(set(lower))


def test_every_page_has_one_heading_a_title_and_the_policy(
    pages: dict[str, str],
) -> None:
    for name, source in pages.items():
        elements = Elements(source)
        assert len(elements.all("h1")) == 1, name
        assert len(elements.all("main")) == 1, name
        assert source.count("<title>", 0, source.index("</head>")) == 1, name
        policies = [m for m in elements.all("meta") if m.get("http-equiv")]
        assert [m["content"] for m in policies] == [CSP], name


def test_no_page_has_inline_script_style_or_handler(pages: dict[str, str]) -> None:
    for name, source in pages.items():
        for tag, attributes in Elements(source).tags:
            assert tag not in {"style", "iframe", "object", "base", "form"}, name
            assert tag != "script" or attributes.get("src"), name
            assert not [a for a in attributes if a.startswith("on") or a == "style"], (
                name
            )


def test_nothing_is_loaded_from_elsewhere(pages: dict[str, str]) -> None:
    for name, source in pages.items():
        for tag, attributes in Elements(source).tags:
            loaded = [attributes.get("src"), attributes.get("srcset")]
            if tag == "link":
                loaded.append(attributes.get("href"))
            assert not [u for u in loaded if u and ":" in u.split("/")[0]], name
            target = attributes.get("href") or ""
            assert not re.match(r"(?i)\s*(javascript|data|vbscript):", target), name


def test_table_headers_have_their_scope(pages: dict[str, str]) -> None:
    for name, source in pages.items():
        elements = Elements(source)
        assert all(h.get("scope") in {"col", "row"} for h in elements.all("th")), name
        tables, captions = elements.all("table"), elements.all("caption")
        assert len(tables) == len(captions), name


def test_pages_stay_light(site: Path, pages: dict[str, str]) -> None:
    first = ["index.html", "static/site.css", "static/theme.js", "static/site.js"]
    first += ["static/favicon.svg"]
    weight = sum(len(gzip.compress((site / name).read_bytes())) for name in first)
    assert weight < 100_000
    for name, source in pages.items():
        assert len(source.encode()) < 520_000, name


# ---- Building


def test_two_builds_are_equal_byte_for_byte(site: Path, tmp_path: Path) -> None:
    build(FakeResults(), tmp_path / "again", CONFIG)
    assert tree(tmp_path / "again") == tree(site)


def test_the_report_counts_what_was_written(tmp_path: Path) -> None:
    calls: list[tuple[str, int, int]] = []
    report = build(
        FakeResults(),
        tmp_path / "s",
        CONFIG,
        means=Means(progress=lambda *c: calls.append(c)),
    )
    files = tree(tmp_path / "s")
    assert report.files == len(files)
    assert report.bytes == sum(map(len, files.values()))
    assert report.pages == sum(name.endswith(".html") for name in files)
    shown = [
        s for s in FakeResults().runs() if s.manifest.scenario.publication == "full"
    ]
    assert report.instances == sum(s.n_instances for s in shown)
    counts = [(done, of) for what, done, of in calls if what == "instances"]
    assert counts == sorted(counts)
    assert counts[0] == (0, report.instances)
    assert counts[-1] == (report.instances, report.instances)


def test_a_failed_build_leaves_the_old_site_and_nothing_else(tmp_path: Path) -> None:
    out = tmp_path / "site"
    build(FakeResults(models=2), out, CONFIG)
    before = tree(out)

    class Broken(FakeResults):
        def instances(self, run_id: str) -> Iterator[InstanceView]:
            yield from super().instances(run_id)
            raise ArchiveError("requests.parquet is damaged")

    with pytest.raises(ArchiveError, match="is damaged"):
        build(Broken(models=3), out, CONFIG)
    assert tree(out) == before
    assert [p.name for p in tmp_path.iterdir()] == ["site"]


def test_a_disk_without_space_is_told_and_loses_nothing(tmp_path: Path) -> None:
    out = tmp_path / "site"
    build(FakeResults(models=1), out, CONFIG)
    before = tree(out)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (15_000, limits[1]))
    try:
        with pytest.raises(BuildError, match=r"Cannot write .*: File too large"):
            build(FakeResults(models=2), out, CONFIG)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert tree(out) == before
    assert [p.name for p in tmp_path.iterdir()] == ["site"]


def test_a_build_replaces_an_earlier_one_wholly(tmp_path: Path) -> None:
    out = tmp_path / "site"
    build(FakeResults(), out, CONFIG)
    build(FakeResults(models=1), out, CONFIG)
    assert (out / MARKER).is_file()
    assert not (out / "models" / "ngram-3").exists()
    assert [p.name for p in tmp_path.iterdir()] == ["site"]


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(BuildError, match="not a helmsite build"):
        build(FakeResults(), tmp_path, CONFIG)
    assert tree(tmp_path) == {"thesis.tex": b"years of work"}


def test_an_empty_folder_may_be_used(tmp_path: Path) -> None:
    build(FakeResults(models=1), tmp_path / "empty", CONFIG)
    (tmp_path / "new").mkdir()
    build(FakeResults(models=1), tmp_path / "new", CONFIG)
    assert tree(tmp_path / "new") == tree(tmp_path / "empty")


def test_a_strict_build_stops_at_warnings(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match="is partial: 16 of 18 requests"):
        build(FakeResults(), tmp_path / "site", CONFIG, strict=True)
    assert not (tmp_path / "site").exists()


def test_a_forecast_over_the_budget_is_a_warning(tmp_path: Path) -> None:
    config = SiteConfig(size_budget_mb=0)
    report = build(FakeResults(models=2), tmp_path / "site", config)
    assert "more than the budget of 0 MB" in report.warnings[0]


def test_a_broken_link_stops_the_build(tmp_path: Path) -> None:
    theme = tmp_path / "theme" / "templates"
    theme.mkdir(parents=True)
    (theme / "runs.html").write_text(
        '{% extends "default:runs.html" %}{% block footer %}<a href="nowhere.html">x</a>{% endblock %}'
    )
    config = SiteConfig(overrides=str(tmp_path / "theme"))
    with pytest.raises(BuildError, match=r"'nowhere.html' leads to no file"):
        build(FakeResults(models=1), tmp_path / "site", config)
    assert not (tmp_path / "site").exists()


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ('<a href="/x">', "is not relative"),
        ('<a href="mailto:x">', "is not relative"),
        ("<a href='gone.html'>", "leads to no file"),
        ('<a href="#gone">', "leads to no such place"),
        ('<img src="https://example.org/x.png">', "is loaded from another origin"),
        ('<p id="a"></p><p id="a"></p>', "stands twice"),
        ('<p id="a&amp;b"></p><a href="?q=1#a&amp;b">', ""),
        ('<a href="https://example.org/">', ""),
        ("<article id=i-a><a href=#i-a>", ""),
        ("<article id=i-a><a href=#i-b>", "leads to no such place"),
        ("<p class=x id=a/b title='>'><a title=a href=?q=1#a/b>", ""),
        ("<p class=x id=a></p><p id='a'></p>", "stands twice"),
        ("<a class=x href=gone.html>", "leads to no file"),
        ("<A HREF = gone.html>", "leads to no file"),
        ('<a title="x>y"href="gone.html">', "leads to no file"),
        ("<a title=it's href=gone.html>", "leads to no file"),
        ('<br/><img alt="" src=gone.png>', "leads to no file"),
        ("<p title='<a href=gone.html>' class=x data-href=gone.html>", ""),
        ("<p> href=gone.html 1 < 2 src=gone.png</p>", ""),
    ],
)
def test_the_link_check_says_what_is_wrong(
    tmp_path: Path, content: str, problem: str
) -> None:
    (tmp_path / "p.html").write_text(content)
    found = check_links(tmp_path)
    assert len(found) == bool(problem)
    assert all(problem in f for f in found)


# ---- Themes and the contract with templates


def test_a_block_can_be_overridden_and_a_static_file_replaced(tmp_path: Path) -> None:
    theme = tmp_path / "theme"
    (theme / "templates").mkdir(parents=True)
    (theme / "static").mkdir()
    (theme / "templates" / "base.html").write_text(
        '{% extends "default:base.html" %}{% block footer %}<footer>Ours</footer>{% endblock %}'
    )
    (theme / "static" / "tokens.css").write_text(":root { --accent: red; }")
    build(FakeResults(models=1), tmp_path / "site", SiteConfig(overrides=str(theme)))
    assert "<footer>Ours</footer>" in (tmp_path / "site" / "index.html").read_text()
    assert (tmp_path / "site" / "static" / "site.css").read_text().count(
        "--accent: red;"
    ) == 1


def test_an_unknown_theme_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match="does not exist"):
        build(FakeResults(), tmp_path / "s", SiteConfig(overrides=str(tmp_path / "no")))


def test_a_template_with_an_unknown_variable_is_an_error(tmp_path: Path) -> None:
    theme = tmp_path / "theme" / "templates"
    theme.mkdir(parents=True)
    (theme / "runs.html").write_text("{{ nothing }}")
    with pytest.raises(BuildError, match=r"runs.html cannot be rendered: 'nothing'"):
        build(
            FakeResults(models=1),
            tmp_path / "s",
            SiteConfig(overrides=str(tmp_path / "theme")),
        )


def asked_for(template: str) -> set[str]:
    """The variables that a template and those it extends ask for."""
    environment = Theme().environment
    source = (bundled("templates") / template).read_text(encoding="utf-8")
    tree = environment.parse(source)
    found = set(meta.find_undeclared_variables(tree))
    for parent in meta.find_referenced_templates(tree):
        if parent and parent != "parts.html":
            found |= asked_for(parent)
    return found - {"ui"}


@pytest.mark.parametrize("template", sorted(TEMPLATES))
def test_a_template_asks_for_exactly_what_its_record_holds(template: str) -> None:
    assert asked_for(template) == set(TEMPLATES[template].__struct_fields__)


def test_every_bundled_template_has_its_record() -> None:
    names = {p.name for p in bundled("templates").glob("*.html")}
    assert names - {"base.html", "parts.html", "turns.html"} == set(TEMPLATES)


def test_the_contract_is_documented() -> None:
    page = (Path(__file__).parents[1] / "docs" / "site.md").read_text(encoding="utf-8")
    for template, record in TEMPLATES.items():
        row = next(r for r in page.splitlines() if r.startswith(f"| `{template}` | `"))
        for field in record.__struct_fields__:
            assert f"`{field}`" in row, (template, field)


# ---- What stands on the pages


def test_the_front_page_is_the_first_groups_leaderboard(pages: dict[str, str]) -> None:
    text = text_of(pages["index.html"])
    assert "8 models on 4 scenarios, each by its main metric." in text
    assert (
        "Orchid Large 2025 (preview) has the highest mean win rate, 1.00 over 4 columns; 1 other model cannot be told apart from it."
        in text
    )
    assert "groups/core/calibration.html" in pages["index.html"]


def test_a_cell_tells_value_interval_and_how_many_were_scored(
    pages: dict[str, str],
) -> None:
    cells = re.findall(r"<td[^>]*>.*?</td>", pages["index.html"], re.DOTALL)
    partly = next(c for c in cells if "240/360" in c)
    assert re.search(r'data-i="0\.\d\d 0\.\d\d" data-n="240/360"', partly)
    assert 'href="runs/r0000000300000000/index.html"' in partly
    assert re.search(r'class="h\d ci a\d+ b\d+"', partly)
    hole = next(c for c in cells if "·" in c)
    assert "data-v" not in hole
    assert 'title="not run: this model was not run here"' in hole
    failed = [c for c in cells if 'title="failed: every request failed"' in c]
    assert len(failed) == 1
    text = text_of(pages["index.html"])
    assert (
        "· no value: not run: this model was not run here; failed: every request failed."
        in text
    )


def test_bands_are_brackets_at_the_left(pages: dict[str, str]) -> None:
    classes = re.findall(
        r'<tr(?: class="band-(\w+)")?(?: data-[^>]*)?><th scope="row"',
        pages["index.html"],
    )
    assert classes == ["first", "last", "", "first", "mid", "last", "first", "last"]


def test_a_run_is_told_in_one_sentence(pages: dict[str, str]) -> None:
    text = text_of(pages[f"{FIRST_RUN}/index.html"])
    assert (
        "Willow 7B answered 120 of 120 instances of General knowledge "
        "(5-shot, joint multiple choice, 3 trials): exact match 0.94, "
        "95 % interval 0.90 to 0.98."
    ) in text


def test_a_partial_run_says_so(pages: dict[str, str]) -> None:
    source = pages["runs/r0000000300000000/index.html"]
    text = text_of(source)
    assert "answered 16 of 18 requests" in text
    assert "2 requests failed for good and count in no value." in text
    assert "The value rests on 240 of 360 observations." in text
    instances = pages["runs/r0000000300000000/1.html"]
    assert "request failed: HTTP 500: &lt;b&gt;server&lt;/b&gt; error" in re.sub(
        "<[^>]*>", "", instances
    )


def test_settings_that_differ_stand_out_with_their_line_feeds(
    pages: dict[str, str],
) -> None:
    source = pages[f"{FIRST_RUN}/index.html"]
    table = re.search(r'<table class="settings">.*?</table>', source, re.DOTALL)
    assert table
    text = re.sub(r"<[^>]*>", " ", table[0])
    assert "input_prefix" in text
    assert "Question: " not in table[0].replace('<span class="ws">␣</span>', "␣")
    assert "⏎" in text
    assert "temperature" not in text


def test_instances_come_fifty_to_a_page(pages: dict[str, str]) -> None:
    found = [pages[f"{FIRST_RUN}/{n}.html"] for n in (1, 2, 3)]
    assert f"{FIRST_RUN}/4.html" not in pages
    assert [len(Elements(p).all("article")) for p in found] == [50, 50, 20]
    assert 'rel="next" href="2.html"' in found[0]
    assert 'rel="prev"' not in found[0]
    assert 'rel="next"' not in found[2]
    assert "Instances 101 to 120 of 120." in found[2]


def test_the_shared_part_of_the_prompts_stands_once_for_each_trial(
    pages: dict[str, str],
) -> None:
    page = pages[f"{FIRST_RUN}/1.html"]
    assert page.count("The following are multiple choice questions.") == 3
    assert len(re.findall(r'<details class="shared"', page)) == 3
    assert len(re.findall("<a href=#s[0-9]+>", page)) == 150


def test_a_given_continuation_is_marked_and_options_show_the_choice(
    pages: dict[str, str],
) -> None:
    page = pages["runs/r0000000000000001/1.html"]
    article = page[page.index("<article id=i-id0>") : page.index("</article>")]
    chosen = re.search(r'<tr class="chosen">.*?</tr>', article, re.DOTALL)
    assert chosen
    assert "Rome" in chosen[0]
    assert "2.000" in chosen[0]
    assert "correct" in chosen[0]
    assert '<mark title="its log-probability is asked for"> Rome</mark>' in article
    assert "calibration, option 2" in article


def test_tokens_are_compact(pages: dict[str, str]) -> None:
    page = pages["runs/r0000000000000003/1.html"]
    assert "<details data-n=5 data-l=AD>" in page
    assert "Tokens: 1, Σ log p −0.03, mean <b class=t0>97 %</b>" in html.unescape(page)
    joint = pages[f"{FIRST_RUN}/1.html"]
    assert "first token: “ A” 82 %, “ B” 17 % and “⏎” 0.67 %" in html.unescape(joint)


def test_of_a_private_scenario_aggregates_alone_are_published(site: Path) -> None:
    run = site / "runs" / "r0000000000000005"
    assert [p.name for p in run.iterdir()] == ["index.html"]
    assert (
        "Only aggregates of this scenario are published"
        in (run / "index.html").read_text()
    )
    page = (site / "scenarios" / "private" / "index.html").read_text()
    assert "The prompts of this scenario are not published." in page
    assert "capital of Italy" not in page


def test_the_score_index_finds_every_article(site: Path) -> None:
    script = (site / FIRST_RUN / "index.js").read_text()
    index = scoreindex.read(script)
    assert index is not None
    assert index["pages"] == [50, 50, 20]
    assert scoreindex.anchors(index)[1][:2] == ["i-id50", "i-id51"]
    values = index["metrics"][0]["values"]
    assert [set(decode(column, 120)) for column in values] == [{0, 1}, {0, 1}, {1}]
    assert decode(index["groups"]["subject"], 120)[:2] == [("science",), ("art",)]
    assert len(gzip.compress(script.encode())) < 1500


def test_a_missing_article_of_the_index_is_a_broken_link(
    site: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "runs" / "r1"
    folder.mkdir(parents=True)
    (folder / "1.html").write_text('<article id="i-a"></article>')
    payload = {"ids": ["a", "b"], "rows": 2, "pages": [2], "pert": {"of": [""]}}
    (folder / "index.js").write_text(f"helmsite.index({json.dumps(payload)});\n")
    assert check_links(tmp_path) == ["runs/r1/index.js: row 1 has no article on page 1"]


# ---- Hostile input


def test_hostile_texts_are_texts(pages: dict[str, str]) -> None:
    page = pages[f"{EVIL_RUN}/1.html"]
    tags = {tag for tag, _ in Elements(page).tags}
    assert not tags & {"img", "iframe", "br"}
    for text in HOSTILE[:3]:
        assert html.escape(text, quote=False) in page
    for actor in "\0\x1b\u202e\u2066\u2069\u2028\u2029\ufeff\r":
        assert actor not in page


def test_a_megabyte_on_one_line_is_cut_and_kept_as_a_file(site: Path) -> None:
    texts = sorted((site / EVIL_RUN / "text").iterdir())
    assert all(t.read_bytes().startswith(b"\xef\xbb\xbf") for t in texts)
    contents = [t.read_text(encoding="utf-8-sig") for t in texts]
    assert "x" * 1_000_000 in contents
    prompt = next(c for c in contents if c.startswith("Shared "))
    assert prompt.endswith("x" * 1_000_000 + "\nAnswer:")
    page = (site / EVIL_RUN / "1.html").read_text()
    assert "the whole text (1,000,000 characters)" in page
    assert len(page) < 400_000


def test_hostile_names_make_safe_scripts(site: Path) -> None:
    for script in (site / "static" / "search-index.js", site / EVIL_RUN / "index.js"):
        content = script.read_text()
        assert "<" not in content
        assert content.isascii()


def test_hostile_titles_stay_in_their_place(pages: dict[str, str]) -> None:
    name = next(n for n in pages if n.startswith("scenarios/evil"))
    assert (
        "<title>Hostile &lt;script&gt;alert(1)&lt;/script&gt;[U+202E] · Demo"
        in pages[name]
    )
    elements = Elements(pages[name])
    assert "javascript:" not in str([a.get("href") for a in elements.all("a")])
    assert any(a.get("href") == "https://example.org" for a in elements.all("a"))


# ---- Little or nothing


def test_an_empty_archive_says_what_to_do(tmp_path: Path) -> None:
    report = build(FakeResults(models=0), tmp_path / "site", CONFIG)
    assert report.instances == 0
    for name in ("index", "scenarios/index", "models/index", "runs/index"):
        text = text_of((tmp_path / "site" / f"{name}.html").read_text())
        assert "The archive has no runs yet. Make some with “helmsite run”" in text
        assert "None" not in text


def test_one_model_and_one_scenario_read_well(tmp_path: Path) -> None:
    results = FakeResults(models=1, scenarios=SCENARIOS[:1], size=1)
    build(results, tmp_path / "site", CONFIG)
    front = text_of((tmp_path / "site" / "index.html").read_text())
    assert (
        "1 model on 1 scenario, each by its main metric. With nothing to compare there are no win rates."
        in front
    )
    assert "Mean win rate" not in front
    scenario = text_of((tmp_path / "site/scenarios/knowledge/index.html").read_text())
    assert "1 model was run on General knowledge: exact match 0.94." in scenario
    model = text_of(
        (
            tmp_path / "site/models/demo-willow-7b-989033c3ff170acf/index.html"
        ).read_text()
    )
    assert (
        "Willow 7B has 1 run on 1 scenario; no other model shares one of them." in model
    )


@pytest.mark.parametrize(
    ("skill", "value", "word"), [(0.0, "0.00", "wrong"), (1.0, "1.00", "right")]
)
def test_zero_and_all_correct_read_well(
    tmp_path: Path, skill: float, value: str, word: str
) -> None:
    results = FakeResults(2, SCENARIOS[:1], 4, (skill, skill))
    build(results, tmp_path / "site", CONFIG)
    run = text_of((tmp_path / "site" / FIRST_RUN / "index.html").read_text())
    assert f"exact match {value}, 95 % interval" in run
    scenario = text_of((tmp_path / "site/scenarios/knowledge/index.html").read_text())
    assert (
        f"2 models were run on General knowledge: exact match {value} for each of them."
        in scenario
    )
    page = (tmp_path / "site" / FIRST_RUN / "1.html").read_text()
    other = {"wrong": "right", "right": "wrong"}[word]
    assert f"<b class={word}>" in page
    assert f"<b class={other}>" not in page


def test_the_base_address_makes_permalinks(tmp_path: Path) -> None:
    config = SiteConfig(base_url="https://example.org/evals/")
    build(FakeResults(models=1), tmp_path / "site", config)
    page = (tmp_path / "site" / FIRST_RUN / "1.html").read_text()
    assert f'href="https://example.org/evals/{FIRST_RUN}/1.html"' in page


def test_samples_name_every_model_and_scenario(site: Path) -> None:
    assert len(list((site / "models").iterdir())) == len(CARDS) + 1
    assert len(list((site / "scenarios").iterdir())) == len((*SCENARIOS, EVIL)) + 1


# ---- Sentences and verdicts


def board_sentence(**changes: object) -> str:
    shown = structs.replace(FakeResults(models=3).leaderboard("core"), **changes)
    return sentences.board(shown)


def test_models_with_the_same_win_rate_share_the_first_place() -> None:
    rows = FakeResults(models=3).leaderboard("core").rows
    equal = tuple(structs.replace(r, win_rate=0.5) for r in rows)
    assert board_sentence(rows=equal).endswith(
        "All of them have the same mean win rate, 0.50."
    )
    noisy = (*equal[:2], structs.replace(rows[2], win_rate=0.1 + 0.2 + 0.2))
    assert "same mean win rate" in board_sentence(rows=noisy)
    two = (*equal[:2], structs.replace(rows[2], win_rate=0.0))
    assert board_sentence(rows=two).endswith(
        "Willow 7B and Willow 1B share the highest mean win rate, 0.50 over 4 columns."
    )
    fewer = (structs.replace(two[0], win_rate_columns=1), *two[1:])
    assert board_sentence(rows=fewer).endswith(", 0.50 over 1 to 4 columns.")


def test_metrics_without_a_direction_have_no_win_rates() -> None:
    shown = FakeResults(models=2).leaderboard("core")
    rows = tuple(structs.replace(r, win_rate=None) for r in shown.rows)
    columns = tuple(
        structs.replace(c, metric=structs.replace(c.metric, higher_is_better=None))
        for c in shown.columns
    )
    assert "no good direction" in board_sentence(rows=rows, columns=columns)
    assert "No two models share a column" in board_sentence(rows=rows)


def test_verdicts_of_another_opinion_are_shown_and_the_rest_is_folded() -> None:
    names = ["exact_match", "quasi", "prefix", "f1", "output_tokens"]
    facts = {n: structs.replace(EXACT, name=n, title=n) for n in names[:4]}
    facts["output_tokens"] = structs.replace(EXACT, family="general_information")
    values = {"exact_match": 0.0, "quasi": 1.0, "prefix": 0.0, "f1": 0.5}
    scores = [Score("id1", n, v) for n, v in values.items()]
    scores.append(Score("id1", "output_tokens", 3.0))
    shown, more = Verdicts(facts, "exact_match").of(scores)
    assert [(v.metric, v.word) for v in shown] == [
        ("exact_match", "wrong"),
        ("f1", "0.500"),
        ("quasi", "right"),
    ]
    assert [v.metric for v in more] == ["prefix"]


@pytest.mark.parametrize(
    ("missing", "word"),
    [
        ("failed", "request failed"),
        ("not asked", "not asked"),
        ("not measurable", "not measurable"),
        ("unparsed", "no answer found"),
    ],
)
def test_a_missing_verdict_says_why(missing: Any, word: str) -> None:
    made = verdict(Score("id1", "exact_match", None, missing=missing), EXACT)
    assert made.word == word
    assert made.kind in {"failed", "missing"}


def test_ticks_are_round_and_enclose_the_values() -> None:
    assert ticks(0.1, 3.9) == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert ticks(2.0, 2.0)[0] <= 2.0 <= ticks(2.0, 2.0)[-1]
    assert ticks(-0.31, 0.2)[0] <= -0.31
