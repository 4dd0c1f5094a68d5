"""The International Corpus of English: texts of nine regions, without their mark-up."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from helmsite.errors import ScenarioError
from helmsite.scenarios.loaders import Loader
from helmsite.scenarios.loaders.ice_people import WITH_PEOPLE, texts_by
from helmsite.scenarios.loaders.texts import as_read, utf8_or_latin1
from helmsite.schema import TEST, Instance

if TYPE_CHECKING:
    from collections.abc import Iterator

    from helmsite.scenarios.files import Files

ALL = "all"
FOLDERS = {
    "can": "ICE-CAN",
    "ja": "ICE-JA",
    "hk": "ICE-HK",
    "ind": "ICE India",
    "sin": "ICE SINGAPORE",
    "phi": "ICE Philippines",
    "usa": "ICE-USA",
    "ea": "ICE-EA/corpus/retagged for wsmith",
    "irl": "ICE-IRL/ICE-Ireland version 1.2#6DAE.2/ICE-Ireland txt",
}
"""Region → where its archive unpacks to, in the order of HELM's instances."""
USUAL = ("Corpus", "CORPUS")
UNUSUAL = {"irl": "ICE combined running txt", "ea": "all east africa"}
OTHERS = "corpus"
PINNED = "restricted/ice"
"""Where the texts were on the machine of HELM's own runs, whose order is pinned."""
EAST_AFRICA = "ea"
EAST_AFRICAN_TEXT = re.compile(r"[WS]\d[A-F]\d{3}[A-Z]*[KT]\n")
EAST_AFRICAN_KINDS = {
    "S1": ("brdisc", "brint", "clless", "conv", "conv1", "conv2", "crossx", "parlia"),
    "S2": ("brnews", "brtalk", "schbr", "splect"),
    "W1": ("buslet", "essays", "exam", "judge", "soclet"),
    "W2": (
        *("column", "crea", "creat1", "creat2", "editor", "feat", "instruct"),
        *("ldhum", "ldnats", "ldsoc", "ldtech", "ppgen", "pphum", "ppnats"),
        *("ppsoc", "pptech", "splash"),
    ),
}
SUFFIX_AND_NUMBER = 5
"""Characters at the end of an East African file's name that say nothing of its kind."""


def load(
    files: Files, *, subset: str, gender: str, category: str
) -> Iterator[Instance]:
    """Yield the texts of one region or all, by category, by the gender of all authors."""
    pinned = files.json("order") if "order" in files else {}
    if not pinned:
        files.note("Texts are in the order of their names, not in that of HELM's runs.")
    regions = list(FOLDERS if gender == ALL else WITH_PEOPLE)
    if subset not in (ALL, *regions):
        raise ScenarioError(
            f"The gender of authors is not known for {subset}.",
            f"It is known for {', '.join(WITH_PEOPLE)}.",
        )
    for region in (subset,) if subset != ALL else regions:
        home = f"corpus/{FOLDERS[region]}"
        folder, names = _texts(files, region, pinned)
        if gender != ALL:
            names = texts_by(files, region, f"{home}/Headers", gender, names)
        for name in names:
            kind = _kind(region, name)
            if category != ALL and not kind:
                raise ScenarioError(
                    f"{name}: the name tells no kind of East African text.",
                    "Leave only the corpus's own files in the folder.",
                )
            if category != ALL and not kind.startswith(category):
                continue
            groups: dict[str, tuple[str, ...]] = {
                "region": (region,),
                "category": (kind,),
            }
            for text in _parts(files, region, f"{home}/{folder}/{name}"):
                clean = without_marks(text)
                yield Instance("", clean, split=TEST, attributes=groups)


def _texts(
    files: Files, region: str, pinned: dict[str, object]
) -> tuple[str, list[str]]:
    """Return the folder of a region's texts and their names in the order of HELM's runs."""
    home = f"corpus/{FOLDERS[region]}/"
    every = [key for key, _ in files.paths("corpus")]
    inside = [key.removeprefix(home) for key in every if key.startswith(home)]
    folders = {name.partition("/")[0] for name in inside if "/" in name}
    usual = next((name for name in USUAL if name in folders), "")
    folder = usual or UNUSUAL.get(region, OTHERS)
    start = f"{folder}/"
    names = [n.removeprefix(start) for n in inside if n.startswith(start)]
    names = [name for name in names if "/" not in name]
    if not names:
        raise ScenarioError(
            f"There are no texts in {FOLDERS[region]}/{folder} of the corpus.",
            "Unpack each region's archive, which https://www.ice-corpora.uzh.ch gives to "
            "those who sign its licence, into the folder ice as it is.",
        )
    order = pinned.get(f"{PINNED}/{FOLDERS[region]}/{folder}")
    if not order:
        return folder, sorted(names)
    if not isinstance(order, list) or set(order) - set(names):
        raise ScenarioError(
            f"The pinned order of {FOLDERS[region]}/{folder} names texts that are not there.",
            "Is the corpus complete, and unpacked as it came?",
        )
    return folder, order


def _kind(region: str, name: str) -> str:
    """Return the category of a text, S1 to W2, by the name of its file, '' if unknown."""
    if region != EAST_AFRICA:
        return name.upper()[:2]
    word = name.replace("-", "")[:-SUFFIX_AND_NUMBER].lower()
    kinds = (kind for kind, words in EAST_AFRICAN_KINDS.items() if word in words)
    return next(kinds, "")


def _parts(files: Files, region: str, name: str) -> Iterator[str]:
    """Yield the text of a file, or the texts of an East African one."""
    text = as_read(utf8_or_latin1(files.data(name)))
    if region != EAST_AFRICA:
        yield text
        return
    yield from filter(None, EAST_AFRICAN_TEXT.split(text))


RUN = r"\S{1,500}"
"""Bounded: without it the time grows with the square of a long word."""
DELETED = [
    re.compile(pattern)
    for pattern in (
        r"[WS]\d[A-F]-\d{3} *",
        r" <l> ",
        r"<#> ",
        rf"BBB{RUN} {RUN}RRR *",
        r"BBB\S+ *",
        r"RRR\S+ *",
        r"UUU",
        r"III\S+ *",
    )
]
REPLACED = [
    (re.compile(pattern), text)
    for pattern, text in (
        (r"</*mention>", '"'),
        (r"</\*\*>", "*"),
        (r"</\*\*/>", "*"),
        (r"&eacute;", "é"),
        (r" <,+>", ","),
        (r"&ersand;", "&"),
        (r"&obrack;", "("),
        (r"&cbrack;", ")"),
        (r"&percent;", "%"),
        (r"&hash;", "#"),
        (r"&dash", "-"),
        (r"&ldquo;", '"'),
        (r"&atsign;", "@"),
        (r"\n+[\n ]+", "\n\n"),
    )
]
CORRECTED = "><+_"
WORD = re.compile(r"\S+")
UNTAGGED = re.compile(
    r"</*(?:I|ICE.+|[\[\]{}]\d*|X|@|quote|foreign|indig|smallcaps|roman|sb|ss|footnote"
    r"|p|h|bold|it|ul|\+|=|\?|sp|}|ea|slang)>"
)
REMOVED = ("O", "-", "&", ".", "fnr", "marginalia", "del", "w")


def without_marks(text: str) -> str:
    """Return a text without mark-up, as HELM cleans it, oddities included.

    `<ICE...>` goes to the last > of its line, with all that stands between.
    """
    text = text.strip()
    for pattern in DELETED:
        text = pattern.sub("", text)
    for pattern, said in REPLACED:
        text = pattern.sub(said, text)
    text = WORD.sub(lambda match: _corrected(match[0]), text)
    text = "\n".join(map(_untagged, text.split("\n")))
    for tag in REMOVED:
        text = _without(text, tag)
    return text.strip()


def _corrected(word: str) -> str:
    """Return a word with `wrong><+_right>` put right: the last such in it counts.

    A regular expression for it takes a time that grows with the square of the word.
    """
    end = word.rfind(">")
    at = word.rfind(CORRECTED, 1, max(end - 1, 0))
    if at < 0:
        return word
    return word[at + len(CORRECTED) : end] + word[end + 1 :]


def _untagged(line: str) -> str:
    marked, bracket, rest = line.rpartition(">")
    return UNTAGGED.sub("", marked + bracket) + rest


def _without(text: str, tag: str) -> str:
    """Return text without what stands between a tag and its end, tags included."""
    begin, end = f"<{tag}>", f"</{tag}>"
    kept: list[str] = []
    open_tags: list[int] = []
    place, near = 0, len(begin) - 1
    for part in filter(None, re.split(f"({re.escape(begin)}|{re.escape(end)})", text)):
        place += len(part)
        if part != end:
            if part == begin:
                open_tags.append(len(kept))
            kept.append(part)
            continue
        del kept[open_tags.pop() if open_tags else len(kept) :]
        before, after = _last(kept, near + 1), text[place : place + near + 1]
        if end in before + after or begin in before[-near:] + after[:near]:
            return _one_by_one(text, begin, end)
    return "".join(kept)


def _last(parts: list[str], length: int) -> str:
    """Return the last characters of parts."""
    found = ""
    for part in reversed(parts):
        if len(found) >= length:
            break
        found = part[-length:] + found
    return found[-length:]


def _one_by_one(text: str, begin: str, end: str) -> str:
    """Cut out the first end with what it closes, again and again.

    That is how HELM does it. It matters where a cut makes a tag of what is around it,
    and takes a time that grows with the square of the number of tags.
    """
    at = text.find(end)
    while at >= 0:
        start = text.rfind(begin, 0, at)
        start = at if start < 0 else start
        text = text[:start] + text[at + len(end) :]
        at = text.find(end, max(0, start - len(end)))
    return text


ICE = Loader(version=1, load=load)
