"""News articles with summaries: CNN/DailyMail and XSum, as HELM cuts and filters them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from helmsite.errors import ScenarioError
from helmsite.scenarios.loaders import Loader
from helmsite.scenarios.loaders.texts import NO_ANSWER, right
from helmsite.schema import TEST, TRAIN, VALID, Instance

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from helmsite.scenarios.files import Files
    from helmsite.scenarios.sources import Row

ARTICLES = ("article", "document")
SUMMARIES = ("highlights", "summary")
LONGEST = 512
EXAMPLES = range(50, 151)


def load(
    files: Files, keep: Callable[[str, str], bool] = lambda *_: True, **_: object
) -> Iterator[Instance]:
    """Yield articles of at most LONGEST words, the train ones being short enough.

    Args:
        files: the three splits.
        keep: whether an article with its summary makes an example.
    """
    for split in (TRAIN, VALID, TEST):
        for row in files.rows(split):
            article = " ".join(_text(row, ARTICLES).split()[:LONGEST])
            summary = " ".join(_text(row, SUMMARIES).split())
            if split == TRAIN and not (
                len(article.split()) in EXAMPLES and keep(article, summary)
            ):
                continue
            references = right([summary])
            if references:
                yield Instance("", article, references, split=split)
            else:
                files.skip(NO_ANSWER)


def _text(row: Row, names: tuple[str, ...]) -> str:
    name = next((name for name in names if name in row.fields), "")
    if not name:
        raise ScenarioError(
            f"{row.place}: there is no field {' or '.join(map(repr, names))}.",
            f"Fields of this row: {', '.join(row.fields) or 'none'}.",
        )
    return row.text(name)


SUMMARIZATION = Loader(version=1, load=load)
