"""Copyright: beginnings of books and of code, each with all that follows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from helmsite.scenarios.loaders import Loader
from helmsite.scenarios.loaders.texts import NO_ANSWER, right
from helmsite.scenarios.sources import Row
from helmsite.schema import TEST, Instance

if TYPE_CHECKING:
    from collections.abc import Iterator

    from helmsite.scenarios.files import Files


def load(files: Files, **_: object) -> Iterator[Instance]:
    """Yield an instance for each beginning."""
    for row in files.rows("extracts", records="."):
        extracts = row.row("data")
        for number, (begin, rest) in enumerate(extracts.fields.items(), start=1):
            name = f"item {number}"  # in an error, in place of the text itself
            references = right([Row(extracts.place, {name: rest}).text(name)])
            if references:
                yield Instance("", begin, references, split=TEST)
            else:
                files.skip(NO_ANSWER)


COPYRIGHT = Loader(version=1, load=load)
