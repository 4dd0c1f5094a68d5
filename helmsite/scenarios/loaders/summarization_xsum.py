"""XSum whole, without examples whose summary says more than their article."""

from __future__ import annotations

from typing import TYPE_CHECKING

from helmsite.scenarios.loaders import Loader, summarization

if TYPE_CHECKING:
    from collections.abc import Iterator

    from helmsite.scenarios.files import Files
    from helmsite.schema import Instance

SHORTEST_SUMMARY = 11
LARGEST_RATIO = 0.2
NOT_PROSE = ("Media playback is unsupported on your device", "Last updated at")


def load(files: Files, **_: object) -> Iterator[Instance]:
    """Yield what HELM takes of the whole of XSum."""
    return summarization.load(files, _is_fit)


def _is_fit(article: str, summary: str) -> bool:
    words = len(summary.split())
    return (
        words >= SHORTEST_SUMMARY
        and words / len(article.split()) <= LARGEST_RATIO
        and not any(text in article for text in NOT_PROSE)
    )


SUMMARIZATION_XSUM = Loader(version=1, load=load)
