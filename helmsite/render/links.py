"""The check at the end of a build: every link of the site leads somewhere."""

from __future__ import annotations

import html
import itertools
import json
import posixpath
import re
from typing import TYPE_CHECKING
from urllib.parse import unquote

if TYPE_CHECKING:
    from pathlib import Path

TAG = re.compile(r"<[a-zA-Z][^<>]*>")
ATTRIBUTE = re.compile(r"""\s(id|href|src)=(?:"([^"]*)"|'([^']*)')""")
OUTSIDE = re.compile(r"https?://")
CALL = re.compile(r"helmsite\.index\((.*)\);\s*", re.DOTALL)


class _Page:
    def __init__(self, source: str) -> None:
        self.ids: set[str] = set()
        self.links: set[tuple[str, str]] = set()
        self.twice: set[str] = set()
        for tag in TAG.findall(source):
            for name, double, single in ATTRIBUTE.findall(tag):
                value = html.unescape(double or single)
                if name != "id":
                    self.links.add((name, value))
                elif value in self.ids:
                    self.twice.add(value)
                else:
                    self.ids.add(value)


def check_links(site: Path) -> list[str]:
    """Return what is wrong with a site's links, as sentences; [] if nothing is.

    Looked at are href and src of every page and the addresses in the score indexes:
    they must be relative, and file and anchor must exist. Links of `a` elements may
    lead to http(s) addresses elsewhere. An id may stand once on a page.
    """
    files = {p.relative_to(site).as_posix() for p in site.rglob("*") if p.is_file()}
    pages = {
        name: _Page((site / name).read_text(encoding="utf-8", errors="surrogatepass"))
        for name in sorted(files)
        if name.endswith(".html")
    }
    problems = []
    for name, page in pages.items():
        problems += [f"{name}: the id {i!r} stands twice" for i in sorted(page.twice)]
        for kind, link in sorted(page.links):
            wrong = _problem(name, link, kind, files, pages)
            if wrong:
                problems.append(f"{name}: {kind} {link!r} {wrong}")
    for name in sorted(f for f in files if re.fullmatch(r"runs/[^/]+/index\.js", f)):
        problems += _index_problems(site, name, pages)
    return problems


def _problem(
    name: str, link: str, kind: str, files: set[str], pages: dict[str, _Page]
) -> str:
    if OUTSIDE.match(link):
        return "" if kind == "href" else "is loaded from another origin"
    address, _, fragment = link.partition("#")
    address = unquote(address.partition("?")[0])
    if re.match(r"[a-zA-Z][a-zA-Z0-9+.-]*:", address) or address.startswith("/"):
        return "is not relative"
    target = name
    if address:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(name), address))
    if target not in files:
        return "leads to no file"
    if fragment and target in pages and fragment not in pages[target].ids:
        return "leads to no such place on the page"
    return ""


def _index_problems(site: Path, name: str, pages: dict[str, _Page]) -> list[str]:
    from helmsite.render import scoreindex
    index = scoreindex.read((site / name).read_text(encoding="utf-8"))
    folder = posixpath.dirname(name)
    problems, row = [], 0
    for number, anchors in enumerate(scoreindex.anchors(index), 1):
        page = pages.get(f"{folder}/{number}.html")
        for anchor in anchors:
            if page is None or anchor not in page.ids:
                problems.append(f"{name}: row {row} has no article on page {number}")
            row += 1
    return problems
