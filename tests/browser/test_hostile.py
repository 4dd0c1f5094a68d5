"""Hostile texts as everything that an archive lets a stranger choose, in Chromium.

On each page of a site of them nothing acts and nothing hides, and what is shown is what
is in the archive.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import pytest
from msgspec import structs

from helmsite.archive import Archive
from helmsite.config import SiteConfig
from helmsite.errors import ArchiveError
from helmsite.query import Results
from helmsite.render import build
from helmsite.render.names import RESERVED, anchor, assign
from helmsite.render.text import CONTROLS, plain
from tests import hostile
from tests.browser.conftest import once
from tests.site_source import SCENARIOS, FakeResults

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from playwright.sync_api import Page

    from helmsite.query.rows import InstanceView
    from tests.browser.conftest import Pages

    Open = Callable[..., Page]

pytestmark = pytest.mark.browser

FOREIGN = "iframe,frame,object,embed,img,image,base,style,video,audio,animate,set,foreignObject"
LOOK = """(document, [root, address]) => {
  const wrong = [...document.querySelectorAll(FOREIGN)].map((e) => e.outerHTML);
  const told = [document.title];
  for (const e of document.querySelectorAll("*")) {
    for (const { name, value } of e.attributes) {
      if (/^on/.test(name)) wrong.push(`${e.localName} has ${name}`);
      if (/^(title|aria-label|placeholder|label)$/.test(name)) told.push(value);
      if (/^(xlink:)?href$/.test(name)) {
        const { protocol, href } = new URL(value, address);
        const ours = href.startsWith(root);
        if (!/^(https?|file):$/.test(protocol)) wrong.push(`leads to ${href}`);
        if (!ours && (e.localName !== "a" || !/noopener/.test(e.getAttribute("rel")))) wrong.push(`${e.localName} to ${href}`);
      }
    }
    if (e.localName === "script" && (!e.src || e.textContent)) wrong.push("a script inside the page");
    if (e.src && !new URL(e.getAttribute("src"), address).href.startsWith(root)) wrong.push(`loads ${e.src}`);
  }
  const ids = [...document.querySelectorAll("[id]")].map((e) => e.id);
  for (const id of ids.filter((id, i) => ids.indexOf(id) !== i)) wrong.push(`twice on the page: ${id}`);
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) told.push(texts.currentNode.data);
  const heads = document.querySelectorAll("h1").length;
  if (heads !== 1) wrong.push(`${heads} headings of the page`);
  return { wrong, told };
}""".replace("FOREIGN", repr(FOREIGN))
PARSE = f"""([sources, root]) => sources.map(([name, html]) =>
  ({LOOK})(new DOMParser().parseFromString(html, "text/html"), [root, `${{root}}/${{name}}`]))"""
LIVE = f"""async (root) => {{
  for (const details of document.querySelectorAll("details")) details.open = true;
  await new Promise((done) => setTimeout(done, 0));  // what opens is drawn after that
  const found = ({LOOK})(document, [root, location.href]);
  if (window.hit !== undefined) found.wrong.push("a text acted");
  if (!document.baseURI.startsWith(root)) found.wrong.push("the page has another base");
  return found;
}}"""
READ = """() => Object.fromEntries([...document.querySelectorAll("article")].map((a) => [a.id, [
  [...a.querySelectorAll("pre, bdi, span, a, q, p, th, td, li, small")].map((e) => helmsite.exact(e)),
  [...a.querySelectorAll("a[href*='text/']")].map((e) => e.getAttribute("href")),
]]))"""
HEADS = """sources => sources.map((html) =>
  helmsite.exact(new DOMParser().parseFromString(html, "text/html").querySelector("h1")))"""
EXACT = "elements => elements.map((e) => helmsite.exact(e))"


@pytest.fixture(scope="session")
def hostile_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site of an archive in which every text is a hostile one."""

    def make(folder: Path) -> None:
        archive = Archive(folder / "runs")
        hostile.write(archive)
        site = SiteConfig(
            title=hostile.TEXTS["closes a script"],
            description=hostile.TEXTS["markdown"],
        )
        with Results(archive, site, cache=None) as results:
            build(results, folder / "www" / "my" / "site", site)

    return once(tmp_path_factory, "hostile", make) / "www" / "my" / "site"


@pytest.fixture
def hostile_root(hostile_site: Path, address: Callable[[Path], str]) -> str:
    return address(hostile_site)


@pytest.fixture
def whole() -> str:
    """The folder of the run that has every text."""
    return f"runs/{hostile.runs()[hostile.ALL]}"


def faults(seen: dict[str, Any]) -> list[str]:
    """Return what acts, hides or is not ours on a page that was looked at."""
    hidden = [f"hides in {text[:80]!r}" for text in seen["told"] if hides(text)]
    return [*seen["wrong"], *hidden]


def hides(text: str) -> bool:
    """Return whether a text has characters that nobody sees or that act on others."""
    return CONTROLS.search(text.replace("\n", "")) is not None


def test_there_are_fifty_of_them_and_each_is_stored(hostile_site: Path) -> None:
    assert len(hostile.TEXTS) >= 50
    archive = Archive(hostile_site.parents[2] / "runs")
    made = {m.run_id for m in archive.manifests()}
    assert made == set(hostile.runs().values())
    stored = archive.instances(hostile.runs()[hostile.ALL])
    assert {i.input for i in stored} == set(hostile.TEXTS.values())


@pytest.mark.parametrize("text", hostile.REFUSED.values(), ids=hostile.REFUSED)
def test_what_no_file_can_hold_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(ArchiveError, match="surrogate"):
        hostile.store(Archive(tmp_path), hostile.manifest("s", "m", 1), {0: text}, ())


class Halves(FakeResults):
    """Rows that no archive holds: with halves of characters."""

    def instances(self, run_id: str) -> Iterator[InstanceView]:
        half = hostile.REFUSED["surrogate"]
        for view in super().instances(run_id):
            item = structs.replace(
                view.instance, input=half, attributes={half: (half,)}
            )
            yield structs.replace(view, instance=item)


def test_half_a_character_leaves_the_files_sound(tmp_path: Path) -> None:
    build(Halves(models=1, scenarios=SCENARIOS[:1]), tmp_path / "site", SiteConfig())
    texts = [p.read_bytes() for p in (tmp_path / "site").rglob("*") if p.is_file()]
    assert any("half [U+D83D] of" in re.sub("<[^>]*>", "", t.decode()) for t in texts)


def test_no_text_makes_a_file_name(hostile_site: Path) -> None:
    names = [p.relative_to(hostile_site) for p in hostile_site.rglob("*")]
    for path in names:
        if path.name == ".helmsite-build":
            continue
        assert re.fullmatch(r"[A-Za-z0-9._/-]+", str(path)), path
        stems = {part.lower().partition(".")[0] for part in path.parts[:-1]}
        assert not stems & (RESERVED - {"index"}), path
        assert not any(part.endswith(".") for part in path.parts), path
        assert len(str(path)) < 180, path
    folded = Counter(str(path).lower() for path in names)
    assert max(folded.values()) == 1


def test_no_page_holds_what_is_not_ours(
    pages: Pages, hostile_site: Path, serve: Callable[[Path], str]
) -> None:
    """Every page of the site, as Chromium reads it."""
    root = serve(hostile_site)
    page = pages.open(root, "data/index.html")
    names = [str(p.relative_to(hostile_site)) for p in hostile_site.rglob("*.html")]
    found = {}
    for some in batches(sorted(names)):
        sources = [[n, (hostile_site / n).read_text(encoding="utf-8")] for n in some]
        for name, seen in zip(some, page.evaluate(PARSE, [sources, root]), strict=True):
            if wrong := faults(seen):
                found[name] = wrong[:5]
    assert found == {}


def batches(names: list[str]) -> list[list[str]]:
    return [names[at : at + 50] for at in range(0, len(names), 50)]


WORST = ("closes a script", "double quote", "bidi, open", "clobbers", "line ends")


def worst_pages(site: Path, whole: str) -> list[str]:
    """Return each kind of page, and those of the worst names."""
    lists = ["index", "scenarios/index", "models/index", "runs/index", "data/index"]
    groups = sorted(str(p.relative_to(site)) for p in site.glob("groups/*/*.html"))
    found = [f"{name}.html" for name in (*lists, "patterns", f"{whole}/index")]
    found += [groups[0], groups[-1]]
    found += [f"{whole}/{p.name}" for p in numbered(site / whole)]
    named = hostile.runs()
    for kind in WORST:
        text = hostile.TEXTS[kind]
        found += [f"runs/{named[text]}/index.html", f"runs/{named[text]}/1.html"]
        for folder in ("models", "scenarios"):
            found.append(
                f"{folder}/{assign([*hostile.NAMES.values(), hostile.ALL])[text]}/index.html"
            )
    return found


def numbered(folder: Path) -> list[Path]:
    return sorted(folder.glob("[0-9]*.html"), key=lambda p: int(p.stem))


def test_nothing_acts_while_the_pages_are_used(
    pages: Pages, hostile_root: str, hostile_site: Path, whole: str
) -> None:
    """No dialog, no error of the console or the policy, no request to somewhere else."""
    page = pages.open(hostile_root, "index.html")
    found = {}
    for name in worst_pages(hostile_site, whole):
        page.goto(f"{hostile_root}/{name}")
        if wrong := faults(page.evaluate(LIVE, hostile_root)):
            found[name] = wrong[:5]
    assert found == {}


def test_every_text_of_an_instance_is_the_archives(
    pages: Pages, hostile_site: Path, serve: Callable[[Path], str], whole: str
) -> None:
    """Inputs, completions, references, messages, reasoning and ids read back exactly."""
    archive = Archive(hostile_site.parents[2] / "runs")
    run = hostile.runs()[hostile.ALL]
    page = pages.open(serve(hostile_site), f"{whole}/1.html")
    read: dict[str, tuple[list[str | None], list[str]]] = {}
    for file in numbered(hostile_site / whole):
        page.goto(f"{serve(hostile_site)}/{whole}/{file.name}")
        read |= page.evaluate(READ)
    replies = {
        (r.request.instance_id, r.request.perturbation): r.completion
        for r in archive.replies(run)
    }
    lost = {}
    for item in archive.instances(run):
        shown, files = read[anchor(item.instance_id, item.perturbation)]
        there = {*shown, *(unsigned(text) for text in shown if text)}
        there |= {whole_text(hostile_site / whole / file) for file in files}
        reply = replies[item.instance_id, item.perturbation]
        wanted = {
            "id": item.instance_id,
            "input": item.input,
            "completion": reply.text,
            "reasoning": reply.reasoning,
            "perturbation": item.perturbation,
            **{f"reference {i}": r.text for i, r in enumerate(item.references)},
            **{f"message {i}": m.content for i, m in enumerate(item.messages)},
        }
        missing = [k for k, text in wanted.items() if text and text not in there]
        told = plain("\n".join(text or "" for text in shown))
        if plain(reply.error) not in told:
            missing.append("error")
        if missing:
            lost[item.instance_id[:40], bool(item.perturbation)] = missing
    assert lost == {}


def unsigned(text: str) -> str:
    """Return a text without the signs that stand for its white space."""
    for sign, character in (("\u23ce\n", "\n"), ("\u21e5", "\t"), ("\u2423", " ")):
        text = text.replace(sign, character)
    return text


def whole_text(file: Path) -> str:
    """Return a long text from its file."""
    return file.read_bytes().decode("utf-8-sig")


def test_every_name_reads_as_in_the_archive(
    pages: Pages, hostile_site: Path, serve: Callable[[Path], str]
) -> None:
    """On one line, with a sign for what nobody would see."""
    root = serve(hostile_site)
    names = [*hostile.NAMES.values(), hostile.ALL]
    wanted = {plain(name) for name in names}
    page = pages.open(root, "models/index.html")
    assert set(lines(page, "tbody th a")) == wanted
    page.goto(f"{root}/scenarios/index.html")
    assert set(lines(page, "tbody th a")) == wanted
    page.goto(f"{root}/index.html")
    assert wanted >= set(lines(page, "table[data-main] tbody th a"))
    for kind in ("models", "scenarios"):
        files = [f"{kind}/{assign(names)[text]}/index.html" for text in names]
        sources = [(hostile_site / f).read_text(encoding="utf-8") for f in files]
        heads = {plain(head) for head in page.evaluate(HEADS, sources)}
        assert heads == wanted, kind


def test_the_search_box_finds_hostile_names(pages: Pages, hostile_root: str) -> None:
    page = pages.open(hostile_root, "runs/index.html")
    box = page.locator("#search input")
    for words in ("script", "passwd", "same name", "__proto__", "{{", "'", "\u202e"):
        box.fill(words)
        page.locator("#search li").first.wait_for()
        assert page.locator("#search li a").count() > 0 or words == "\u202e", words
        assert faults(page.evaluate(LIVE, hostile_root)) == []


def test_the_finder_leads_to_every_hostile_instance(
    pages: Pages, hostile_root: str, hostile_site: Path, whole: str
) -> None:
    archive = Archive(hostile_site.parents[2] / "runs")
    items = list(archive.instances(hostile.runs()[hostile.ALL]))
    page = pages.open(hostile_root, f"{whole}/index.html")
    page.locator("#finder tbody tr").first.wait_for()
    links = page.locator("#finder tbody th a")
    hrefs = [a.get_attribute("href") or "" for a in links.all()]
    ids = {anchor(i.instance_id, i.perturbation) for i in items}
    assert len(hrefs) >= 50
    assert {unquote(h.partition("#")[2]) for h in hrefs} <= ids
    assert faults(page.evaluate(LIVE, hostile_root)) == []  # this opens what is folded
    for select in page.locator("#finder select").all():
        options = select.locator("option").all()
        select.select_option(index=len(options) - 1)
        assert not hides(page.locator("#finder").text_content() or "")
        select.select_option(index=0)
    assert faults(page.evaluate(LIVE, hostile_root)) == []
    for href in (hrefs[0], hrefs[7], hrefs[-1]):
        page.goto(f"{hostile_root}/{whole}/{href}")
        target = page.locator(":target")
        assert target.count() == 1
        assert target.is_visible()


def lines(page: Page, selector: str) -> list[str]:
    """Return the exact texts of elements, each as one line."""
    texts: list[str] = page.eval_on_selector_all(selector, EXACT)
    return [plain(text) for text in texts]
