"""Documents of the Pile's test set, one subset at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from helmsite.errors import ScenarioError, suggest
from helmsite.scenarios.loaders import Loader
from helmsite.scenarios.loaders.texts import as_read
from helmsite.schema import TEST, Instance

if TYPE_CHECKING:
    from collections.abc import Iterator

    from helmsite.scenarios.files import Files

LISTS = {
    "ArXiv": "arxiv",
    "Books3": "bibliotik",
    "DM Mathematics": "dm-mathematics",
    "Enron Emails": "enron",
    "EuroParl": "europarl",
    "FreeLaw": "freelaw",
    "Github": "github",
    "Gutenberg (PG-19)": "gutenberg",
    "HackerNews": "hackernews",
    "NIH ExPorter": "nih-exporter",
    "OpenSubtitles": "opensubtitles",
    "OpenWebText2": "openwebtext2",
    "Pile-CC": "commoncrawl",
    "PubMed Abstracts": "pubmed-abstracts",
    "PubMed Central": "pubmed-central",
    "StackExchange": "stackexchange",
    "USPTO Backgrounds": "uspto",
    "Wikipedia (en)": "wikipedia",
    "YoutubeSubtitles": "youtubesubtitles",
}
"""The subsets of which lm_perplexity lists documents, and its names for them."""
WHOLE = "They choose from the whole test.jsonl; a part of it needs a list of its own."


class _Meta(msgspec.Struct):
    pile_set_name: str


class _Document(msgspec.Struct):
    text: str
    meta: _Meta


def load(files: Files, *, subset: str) -> Iterator[Instance]:
    """Yield the documents of a subset that lm_perplexity's first group names.

    Three small subsets have no such list and are taken whole. Every line break becomes
    a line feed, as in HELM, which keeps the subsets in text files that it reads back.

    Raises:
        ScenarioError: the subset is not in the file, or a list goes beyond it.
    """
    texts = _texts(files, subset)
    if subset in LISTS:
        indices = _indices(files.json(f"indices/{LISTS[subset]}/group0.json"))
        if indices[-1] >= len(texts):
            raise ScenarioError(
                f"indices: document {indices[-1]} of {subset} is asked for, but there "
                f"are {len(texts)}.",
                WHOLE,
            )
        texts = [texts[index] for index in indices]
    for text in texts:
        yield Instance("", text, split=TEST)


def _texts(files: Files, subset: str) -> list[str]:
    decoder = msgspec.json.Decoder(_Document)
    texts: list[str] = []
    others: set[str] = set()
    for place, line in files.lines("documents"):
        try:
            document = decoder.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise ScenarioError(
                f"{place}: not a document of the Pile: {error}.",
                'Each line is {"text": ..., "meta": {"pile_set_name": ...}}.',
            ) from error
        if document.meta.pile_set_name == subset:
            texts.append(as_read(document.text))
        else:
            others.add(document.meta.pile_set_name)
    if not texts:
        known = sorted(others)
        raise ScenarioError(
            f"documents: none is of the subset {subset!r}.{suggest(subset, known)}",
            f"Subsets there: {', '.join(known) or 'none'}.",
        )
    return texts


def _indices(listed: Any) -> list[int]:
    try:
        found = sorted(set(msgspec.convert(listed, list[int])))
    except msgspec.ValidationError as error:
        raise ScenarioError(
            f"indices: not a list of numbers: {error}.", WHOLE
        ) from error
    if not found or found[0] < 0:
        raise ScenarioError("indices: no numbers of documents are in it.", WHOLE)
    return found


THE_PILE = Loader(version=1, load=load)
