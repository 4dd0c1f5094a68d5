"""What the first lines of a CSV file tell: the signs in it, its header, what stands above."""

from __future__ import annotations

import csv
import io
import re

from helmsite.importers import reading

DELIMITERS = ",;\t|"
SAMPLE = 100
MOST_TITLES = 10
"""Lines that may stand above a header."""

_COMMA = re.compile(r"[-+]?\d+,\d+ ?%?$")
_POINT = re.compile(r"[-+]?\d*\.\d+ ?%?$")
_GROUPED = re.compile(r"[-+]?[1-9]\d{0,2}(\.\d{3})+$")


def titles(lines: list[str]) -> int:
    """Return how many lines stand above the header: of one cell or none, as titles are."""
    for number, line in enumerate(lines[: MOST_TITLES + 1]):
        bare = line.rstrip(DELIMITERS + " \r\n")
        if '"' in line:
            return 0
        if any(sign in bare for sign in DELIMITERS):
            return number
    return 0


def delimiter(sample: str) -> str:
    """Return the sign that cuts the first rows into the most columns, equally many each."""
    best = (0, 0, "")
    for sign in DELIMITERS:
        counts = [len(row) for row in cells(sample, sign, whole=False)[:20]]
        if counts and counts[0] > 1:
            alike = sum(n == counts[0] for n in counts)
            best = max(best, (alike, counts[0], sign))
    return best[2] or ","


def cells(sample: str, delimiter: str, *, whole: bool) -> list[list[str]]:
    """Return the first rows, as far as they can be read; the last one may be cut."""
    found: list[list[str]] = []
    try:
        for row in csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter):
            if row:
                found.append(row)
            if len(found) > SAMPLE:
                break
    except csv.Error:
        pass
    return found if whole or len(found) < 2 else found[:-1]


def decimal(found: list[list[str]], delimiter: str) -> str:
    """Return the sign before the digits of fractions, as the first rows have it."""
    cells = [cell.strip() for row in found for cell in row]
    comma = delimiter != "," and any(_COMMA.match(cell) for cell in cells)
    points = [cell for cell in cells if _POINT.match(cell)]
    return "," if comma and all(map(_GROUPED.match, points)) else "."


def header(cells: list[str]) -> tuple[str, ...]:
    """Return the names of columns: without space around, each once."""
    found: dict[str, None] = {}
    counts: dict[str, int] = {}
    for number, cell in enumerate(cells, 1):
        own = " ".join(reading.clean(cell).split())
        name = own = own or ("" if number == 1 else f"column {number}")
        while name in found:
            counts[own] = counts.get(own, 1) + 1
            name = f"{own}#{counts[own]}"
        found[name] = None
    names = list(found)
    while names and names[-1] == f"column {len(names)}":
        names.pop()
    return tuple(names)
