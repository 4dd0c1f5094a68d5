"""Whether every link of a site leads somewhere, without reading its pages again.

A page is scanned while it is written: its ids, and what it links to. The links inside a
run's folder are checked as soon as the run is rendered, in the process that rendered it.
The few addresses elsewhere that its pages need are kept, also for later builds, and are
looked for when the site is whole.
"""

from __future__ import annotations

import html
import posixpath
import re
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote

from helmsite.render import scoreindex
from helmsite.schema import Record

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping
    from pathlib import Path

VALUE = rb"""(?:"[^"]*+"|'[^']*+'|[^\s"'>][^\s>]*+)"""
# Start tags with attributes, as browsers read them, but for those with class and data alone.
# Most of the others have a single attribute: they are taken apart on the spot.
TAG = re.compile(
    rb"""<[a-zA-Z][^\s/>]*+[\s/]++"""
    rb"""(?!(?:(?:class|data-[a-z]++)=(?:"[^"]*+"|[^\s"'=>]++)\s*+)++>)"""
    rb"""(?:(id|href|src)=(?:"([^"&]*+)"|([^\s"'>&]++))>"""
    rb"""|([^=>]*+(?:=\s*+%b?+[^=>]*+)++)>)""" % VALUE
)
ATTRIBUTE = re.compile(
    rb"""([^\s/>=]++)\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s"'>][^\s>]*+))"""
)
SEEN = (b"id", b"href", b"src")
OUTSIDE = re.compile(r"https?://")
SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:")
INDEX = re.compile(r"runs/[^/]+/index\.js")


class Target(NamedTuple):
    """A file of the site and a place on it.

    `fault` is what is wrong with the address itself, '' where it may lead elsewhere; None
    where it is a file's.
    """

    path: str
    fragment: str
    fault: str | None = None


class Link(Record, frozen=True, array_like=True):
    """A link as it stands on a page: `kind` is href or src."""

    page: str
    kind: str
    address: str

    @property
    def target(self) -> Target:
        """Where it leads."""
        if OUTSIDE.match(self.address):
            fault = "" if self.kind == "href" else "is loaded from another origin"
            return Target("", "", fault)
        address, _, fragment = self.address.partition("#")
        address = unquote(address.partition("?")[0])
        if SCHEME.match(address) or address.startswith("/"):
            return Target("", "", "is not relative")
        if not address:
            return Target(self.page, fragment)
        folder = posixpath.dirname(self.page)
        return Target(posixpath.normpath(posixpath.join(folder, address)), fragment)

    def problem(self, what: str) -> str:
        """Return a sentence about it."""
        return f"{self.page}: {self.kind} {self.address!r} {what}"


class Scan(NamedTuple):
    """What a page can be linked by and what it links to; `twice` are repeated ids.

    The ids are one thing, since those of a large run's pages are many. Links to places on
    the page that exist are left out.
    """

    ids: bytes
    links: tuple[tuple[str, str], ...]
    twice: tuple[str, ...]

    def has(self, name: str) -> bool:
        """Return whether the page has an id."""
        return b"\0%b\0" % _raw(name) in self.ids


class Checked(NamedTuple):
    """What is wrong with some pages, and which links lead out of their folder."""

    problems: tuple[str, ...]
    outward: tuple[Link, ...]


def scan(source: bytes) -> Scan:
    """Return the ids and links of a page; values may stand without quotes."""
    ids: list[bytes] = []
    links: set[tuple[bytes, bytes]] = set()
    for kind, quoted, bare, attributes in TAG.findall(source):
        if kind:
            found = [(kind, quoted or bare)]
        elif any(name in attributes.lower() for name in SEEN):
            found = list(_attributes(attributes))
        else:
            continue
        for name, value in found:
            if name == b"id":
                ids.append(value)
            else:
                links.add((name, value))
    known = set(ids)
    twice = {i for i in known if ids.count(i) > 1} if len(known) < len(ids) else ()
    rest = [(k, a) for k, a in links if a[:1] != b"#" or a[1:] not in known]
    return Scan(
        b"\0".join([b"", *ids, b""]),
        tuple(sorted((_text(k), _text(a)) for k, a in rest)),
        tuple(sorted(map(_text, twice))),
    )


def _attributes(tag: bytes) -> Iterator[tuple[bytes, bytes]]:
    for written, *values in ATTRIBUTE.findall(tag):
        if (name := written.lower()) in SEEN:
            value = b"".join(values)
            yield name, _raw(html.unescape(_text(value))) if b"&" in value else value


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogatepass")


def _raw(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def check_pages(
    pages: Mapping[str, Scan], files: Collection[str], folder: str
) -> Checked:
    """Check the links of pages, as far as they lead into a folder ('' is the site).

    Of the links that lead elsewhere, or to a place in a file that is not among the
    pages, one for each target is returned.
    """
    problems: list[str] = []
    outward: dict[tuple[str, str], Link] = {}
    well: set[tuple[str, str, str]] = set()  # most pages of a folder link to the same
    for name in sorted(pages):
        page, beside = pages[name], posixpath.dirname(name)
        problems += [f"{name}: the id {i!r} stands twice" for i in page.twice]
        for kind, address in page.links:
            if (beside, kind, address) in well:
                continue
            link = Link(name, kind, address)
            target = link.target
            path, fragment, fault = target
            if fault is None:
                unread = bool(fragment) and path in files and path not in pages
                if unread or not path.startswith(folder):
                    outward.setdefault((path, fragment), link)
                else:
                    fault = _missing(target, files, pages)
            if fault:
                problems.append(link.problem(fault))
            elif address[:1] not in {"", "#", "?"}:
                well.add((beside, kind, address))
    return Checked(tuple(problems), tuple(outward[key] for key in sorted(outward)))


def check_outward(
    links: Iterable[Link], root: Path, files: Collection[str], pages: Mapping[str, Scan]
) -> Iterator[str]:
    """Yield what is wrong with links that lead from one part of a site to another.

    Args:
        links: the links.
        root: where the site is.
        files: the path of every file of it.
        pages: the pages that were scanned already; another is read only if it must be.
    """
    known = dict(pages)
    for link in links:
        target = link.target
        path = target.path
        if target.fragment and path in files and path.endswith(".html"):
            known[path] = known.get(path) or scan((root / path).read_bytes())
        wrong = _missing(target, files, known)
        if wrong:
            yield link.problem(wrong)


def _missing(target: Target, files: Collection[str], pages: Mapping[str, Scan]) -> str:
    path, fragment, _ = target
    if path not in files:
        return "leads to no file"
    if fragment and path in pages and not pages[path].has(fragment):
        return "leads to no such place on the page"
    return ""


def check_index(
    name: str, script: str, pages: Mapping[str, Scan], files: Collection[str]
) -> list[str]:
    """Return the rows of a run's score index without article, its texts without file."""
    index = scoreindex.read(script)
    if index is None:
        return [f"{name}: is not a score index"]
    folder = posixpath.dirname(name)
    problems, row = [], 0
    for number, anchors in enumerate(scoreindex.each_page(index), 1):
        page = pages.get(f"{folder}/{number}.html")
        for anchor in anchors:
            if page is None or not page.has(anchor):
                problems.append(f"{name}: row {row} has no article on page {number}")
            row += 1
    lost = [path for path in scoreindex.texts(index) if path not in files]
    return problems + [f"{name}: its texts in {path} are no file" for path in lost]


def check_links(site: Path) -> list[str]:
    """Return what is wrong with the links of a site on disk, as sentences; [] if nothing.

    Looked at are href and src of every page and the addresses in the score indexes:
    they must be relative, and file and anchor must exist. Links of `a` elements may
    lead to http(s) addresses elsewhere. An id may stand once on a page.
    """
    files = {p.relative_to(site).as_posix() for p in site.rglob("*") if p.is_file()}
    pages = {
        n: scan((site / n).read_bytes()) for n in sorted(files) if n.endswith(".html")
    }
    problems = list(check_pages(pages, files, "").problems)
    for name in sorted(filter(INDEX.fullmatch, files)):
        problems += check_index(name, _text((site / name).read_bytes()), pages, files)
    return problems
