"""Facts of Wikidata: the end of a sentence about one relation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from helmsite.errors import ScenarioError
from helmsite.scenarios.loaders import Loader
from helmsite.scenarios.loaders.texts import NO_ANSWER, right
from helmsite.scenarios.loaders.wikidata import PROPERTIES
from helmsite.schema import TEST, TRAIN, VALID, Instance

if TYPE_CHECKING:
    from collections.abc import Iterator

    from helmsite.scenarios.files import Files


def load(files: Files, *, subject: str, k: int) -> Iterator[Instance]:
    """Yield the facts of a relation; `k` is a matter of the adapter."""
    del k
    for split in (TRAIN, VALID, TEST):
        for row in files.rows(split):
            if row.text("property") != PROPERTIES[subject]:
                continue
            names = _flat(row.value("result_names", list), row.place)
            references = right(name.strip() for name in names)
            if references:
                yield Instance("", row.text("template"), references, split=split)
            else:
                files.skip(NO_ANSWER)


def _flat(found: list[object], place: str) -> Iterator[str]:
    for each in found:
        if isinstance(each, list):
            yield from _flat(each, place)
        elif isinstance(each, str):
            yield each
        else:
            raise ScenarioError(
                f"{place}: result_names holds {type(each).__name__}, not only texts.",
                "Names are texts, in lists of lists.",
            )


WIKIFACT = Loader(version=1, load=load)
