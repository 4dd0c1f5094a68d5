"""Text from strangers, shown as what it is.

Nothing of an archive ever becomes markup. Characters that would be invisible, that an
HTML parser drops, or that reorder the line around them are shown as symbols which keep
their code point, so that a copied text is still the true one.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import markdown
import nh3
from markupsafe import Markup, escape

from helmsite.render.names import digest

if TYPE_CHECKING:
    from collections.abc import Callable

LONG = 20_000
HEAD, TAIL = 6_000, 2_000
PROSE, MARKS = 5_000, 500
# Characters that act or that nobody sees: controls, marks of direction, fillers, blanks
# without ink, variation selectors, tags, what is not Unicode.
HIDDEN = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0d\ufeff\uffa0"
    "\ufff0-\ufffb\ufffe\uffff\ud800-\udfff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff"
)
# Two kinds are part of good text in their place: the choice between a sign and its
# picture behind such a sign (and before a keycap), joiners behind a letter of a script
# that joins or behind a picture. Elsewhere they are hidden characters too. The pattern
# stands in static/instance.js once more.
PICTURES = "\u00a9\u00ae\u203c\u2049\u2100-\u27ff\u2900-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
CONTROLS = re.compile(
    f"[{HIDDEN}]|(?<![{PICTURES}])[\ufe0e\ufe0f](?!\u20e3)"
    "|(?<![\u0300-\u1fff\u2100-\ufdff\ufe0f\ufe10-\uffdc\U00010000-\U000dffff])[\u200c\u200d]"
)
# What the pattern above may match: without the conditions it is many times quicker to
# search for, and most texts have none of it.
SUSPECT = re.compile(f"[{HIDDEN}\ufe0e\ufe0f\u200c\u200d]")
PLAIN = bytes([0x09, 0x0A, *range(0x20, 0x7F)])
INERT = PLAIN.translate(None, b"&<>")
EDGES = re.compile(r"(\n|\t| (?=\s|$)|(?<=\s) |^ )")
SIGNS = {" ": "\u2423", "\n": "\u23ce\n", "\t": "\u21e5"}
SPACES = {" ": "<i> </i>", "\n": "<i class=nl>\n</i>", "\t": "<i class=tb>\t</i>"}
EDGE = "".join(SPACES)
SIGNED = 40
TAGS = {"p", "a", "em", "strong", "code", "pre", "ul", "ol", "li", "br", "blockquote"}


def _symbol(match: re.Match[str]) -> str:
    code = ord(match[0])
    shown = chr(0x2400 + code) if code < 0x20 else f"[U+{code:04X}]"
    shown = "\u2421" if code == 0x7F else shown
    return f'<i class="cc" data-c="{code:x}">{shown}</i>'


def visible(text: str) -> Markup:
    """Return a text as HTML in which every character can be seen and none acts.

    Line feeds and tabs stay. `data-c` holds the code point of each replaced character.
    It belongs between tags: in an attribute its quotes would end it (see `plain`).
    """
    return Markup(seen(text))  # noqa: S704 (escaped there)


def seen(text: str) -> str:
    """Return what `visible` does, as a plain string to be put together with others."""
    if text.isascii() and not text.encode("ascii").translate(None, INERT):
        return text
    safe = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return safe if _is_clean(text) else CONTROLS.sub(_symbol, safe)


def shown(text: str) -> str:
    """Return what `visible` does, quotes escaped too.

    This is the filter of templates. These escape a plain string by themselves.
    """
    if text.isascii() and text.isprintable():
        return text
    safe = escape(text)
    if _is_clean(text):
        return safe
    return Markup(CONTROLS.sub(_symbol, str(safe)))  # noqa: S704 (escaped above)


def _is_clean(text: str) -> bool:
    """Return whether no character of a text has to be made visible."""
    if text.isascii():  # quicker still than a search
        return not text.encode("ascii").translate(None, PLAIN)
    return not SUSPECT.search(text)


def edged(text: str) -> Markup:
    """Return a text whose white space at its beginning and end can be seen.

    The characters stay what they are, the style sheet draws a sign over each: so a text
    copied by hand is the true one too.
    """
    inner = text.strip(EDGE)
    if inner == text or not inner:
        return visible(text)
    start = len(text) - len(text.lstrip(EDGE))
    before, after = text[:start], text[start + len(inner) :]
    return Markup("".join((_signed(before), seen(inner), _signed(after))))  # noqa: S704


def _signed(space: str) -> str:
    if len(space) > SIGNED:
        return space
    return SPACES.get(space) or "".join([SPACES[c] for c in space])


def blank(text: str) -> Markup:
    """Return a text of white space alone with a sign for each character.

    As in `visible`, `data-c` holds the true code point; a line still ends where it ends.
    """
    return Markup("").join(map(_blank, text))


def _blank(character: str) -> Markup:
    sign = SIGNS.get(character, "").rstrip("\n")
    if not sign and CONTROLS.match(character):
        return visible(character)
    kind, shown = ("cc ws", sign) if sign else ("cc", f"[U+{ord(character):04X}]")
    return Markup('<i class="{}" data-c="{:x}">{}</i>').format(
        kind, ord(character), shown
    )


def plain(text: str) -> str:
    """Return a text for a title or an attribute: no control character, one line."""
    if text.isascii() and text.isprintable():
        return text
    flat = re.sub(r"[\t\n\r]+", " ", text)
    return CONTROLS.sub(lambda m: f"[U+{ord(m[0]):04X}]", flat)


def spaced(text: str) -> Markup:
    """Return a short text in which line feeds, tabs and spaces at an edge are visible."""
    parts = EDGES.split(text)
    html = [
        Markup('<span class="ws">{}</span>').format(SIGNS[part])
        if place % 2
        else visible(part)
        for place, part in enumerate(parts)
    ]
    return Markup("").join(html)


def clipped(text: str, keep: Callable[[str], str]) -> Markup:
    """Return a text whole, or its head and tail with a link to the whole of it.

    Args:
        text: what to show.
        keep: stores a long text and returns the address of its file.
    """
    if len(text) <= LONG:
        return visible(text)
    cut = len(text) - HEAD - TAIL
    return Markup(
        '{}<span class="cut">\u2026 {:,} characters left out here; '
        '<a href="{}">the whole text ({:,} characters)</a> \u2026</span>{}'
    ).format(visible(text[:HEAD]), cut, keep(text), len(text), visible(text[-TAIL:]))


def text_name(text: str) -> str:
    """Return the file name of a long text: by content, so equal texts share a file."""
    return f"text/{digest(text, 16)}.txt"


def _only_web(tag: str, attribute: str, value: str) -> str | None:
    if tag != "a":
        return None
    on_the_web = attribute == "href" and value.startswith(("https://", "http://"))
    return value if on_the_web or attribute == "rel" else None


def prose(source: str) -> Markup:
    """Return Markdown as harmless HTML: no image, no style, links to http(s) alone.

    A long text, or one that nests deeply, is shown as it is: to parse it could take
    longer than all the rest of a build.
    """
    text = CONTROLS.sub("", source)
    if len(text) > PROSE or max(map(text.count, "[>*_`<&"), default=0) > MARKS:
        return _unparsed(source)
    try:
        html = markdown.markdown(text, output_format="html")
    except RecursionError:
        return _unparsed(source)
    clean = nh3.clean(
        html,
        tags=TAGS,
        attributes={"a": {"href"}},
        attribute_filter=_only_web,
        url_schemes={"http", "https"},
        link_rel="noopener noreferrer",
    )
    return Markup(clean)  # noqa: S704 (cleaned above)


def _unparsed(source: str) -> Markup:
    return Markup('<pre class="text">\n{}</pre>').format(visible(source))


def web_address(url: str) -> str:
    """Return an address that a page may link to, '' for anything but http and https."""
    shown = url.strip()
    good = shown.startswith(("https://", "http://")) and not re.search(r"\s", shown)
    return shown if good and not CONTROLS.search(shown) else ""
