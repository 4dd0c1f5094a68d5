"""Who wrote or said the texts of the International Corpus of English."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from helmsite.errors import ScenarioError
from helmsite.scenarios.loaders.texts import utf8_or_latin1

if TYPE_CHECKING:
    from collections.abc import Iterator

    from helmsite.scenarios.files import Files

WITH_PEOPLE = ("can", "hk", "ind", "usa")
MEANT = {"male": {"M", "m", "Male", "male"}, "female": {"F", "f", "Female", "female"}}
SHEETS: dict[str, dict[str, tuple[int, ...]]] = {
    "can": {
        "Spoken ICE-CAN metadata.xls": (12,),
        "Written ICE-CAN metadata.xls": (12, 19),
    },
    "hk": {"HKRecords.xls": (16,)},
}
"""Region → workbook → columns that say a gender."""
FIRST_SHEET_ONLY = {"can"}
GENDER = re.compile(r"(?<=<gender>)\w+(?=</gender>)")


def texts_by(
    files: Files, region: str, headers: str, gender: str, names: list[str]
) -> list[str]:
    """Return the names of texts by authors of one gender, sorted.

    A workbook's line counts if any of its columns says the gender, a header file if all
    of its authors have it; a text is one whose name begins with what they name.
    """
    named = _from_workbooks if region in SHEETS else _from_headers
    starts = tuple(c.lower() for c in named(files, region, headers, MEANT[gender]))
    return sorted(name for name in names if name.lower().startswith(starts))


def _from_headers(files: Files, _: str, headers: str, meant: set[str]) -> Iterator[str]:
    for key, _path in files.paths("corpus"):
        folder, _, name = key.rpartition("/")
        if folder == headers and name.endswith("hdr"):
            said = GENDER.findall(utf8_or_latin1(files.data(key)))
            if said and all(each in meant for each in said):
                yield name[:-4]


def _from_workbooks(
    files: Files, region: str, headers: str, meant: set[str]
) -> Iterator[str]:
    for name, columns in SHEETS[region].items():
        for values in _lines(files, f"{headers}/{name}", region):
            code = values[0] if values else ""
            if code and any(values[c] in meant for c in columns if c < len(values)):
                yield str(code)


def _lines(files: Files, name: str, region: str) -> Iterator[list[Any]]:
    """Yield the lines of a workbook's sheets, without the headings.

    Raises:
        ScenarioError: what reads it is not installed, or it is no workbook.
    """
    try:
        import xlrd
    except ImportError as error:
        raise ScenarioError(
            "The lists of authors are Excel workbooks, which need the package xlrd.",
            "Type: pip install 'helmsite[ice]'",
        ) from error
    data = files.data(name)
    try:
        book = xlrd.open_workbook(file_contents=data, logfile=_Silence())
    except Exception as error:  # xlrd has no common kind: asserts, struct's, lookups'
        reason = str(error) or type(error).__name__
        raise ScenarioError(
            f"{name}: no readable Excel workbook: {reason}.",
            "Take the file as it came.",
        ) from error
    sheets = book.sheets()[:1] if region in FIRST_SHEET_ONLY else book.sheets()
    for sheet in sheets:
        for number in range(1, sheet.nrows):
            yield sheet.row_values(number)


class _Silence:
    """Takes what xlrd prints about workbooks that are a little damaged."""

    def write(self, text: str) -> int:
        """Take a text."""
        return len(text)
