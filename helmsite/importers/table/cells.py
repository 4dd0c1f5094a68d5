"""Cells of tables as texts, numbers and lists, as people and spreadsheets write them."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from helmsite.errors import SourceError
from helmsite.importers import reading, values
from helmsite.schema import Message

if TYPE_CHECKING:
    from helmsite.importers.table.mapping import Measure
    from helmsite.importers.values import Place
    from helmsite.schema.records import Missing

NOTHING = {"", "-", "–", "—", "n/a", "na", "none", "null", "#n/a", "#n/v", ".", "?"}
NOT_A_NUMBER = {"nan", "inf", "infinity", "-inf", "-infinity", "+inf", "#div/0!"}
YES = {"true", "yes", "correct", "right", "pass", "passed", "win", "✓", "✔", "wahr"}
NO = {"false", "no", "incorrect", "wrong", "fail", "failed", "loss", "✗", "✘", "falsch"}
SPACES = str.maketrans({"\xa0": "", "\u202f": "", "\u2009": "", " ": "", "'": ""})
MINUS = str.maketrans({"−": "-", "–": "-"})
_THOUSANDS = {
    ".": re.compile(r"[-+]?\d{1,3}(,\d{3})+(\.\d*)?$"),
    ",": re.compile(r"[-+]?\d{1,3}(\.\d{3})+(,\d*)?$"),
}
SHORT = 100
"""Characters of a text in which a ± is looked for."""

NOTES = "*†‡§¶↑↓▲▼ "
"""Marks of footnotes and of directions behind a number."""

MARKED = ("*", "_", "~", "`", "<", "$", "\\")
_BOLD = re.compile(
    r"(\*{1,3}|_{1,3}|~~|`)(.+)\1$"
    r"|\\(?:textbf|textit|underline|emph|mathbf)\{([^{}]+)\}$|\$([^$]+)\$$"
    r"|<(?:b|i|u|em|strong)>([^<>]+)</(?:b|i|u|em|strong)>$",
    re.IGNORECASE,
)
_SPREAD = re.compile(r"(.+?)\s*(?:±|\+/-|\+-|\\pm)\s*(.+)$")


class Figure(NamedTuple):
    """A number, or why there is none; `spread` is what stands behind a ± of it."""

    value: float | None
    missing: Missing = ""
    spread: float | None = None


class Cells:
    """Reads a table's cells.

    Args:
        decimal: the sign before the digits of a fraction.
        separator: the sign between the parts of a list, '' if there is none.
        nothing: further texts that mean that there is nothing.
    """

    def __init__(
        self, decimal: str = ".", separator: str = "", nothing: tuple[str, ...] = ()
    ) -> None:
        self.decimal, self.separator = decimal, separator
        self.nothing = NOTHING | {each.strip().lower() for each in nothing}

    def is_nothing(self, found: Any) -> bool:
        """Return whether a cell has no number in it, but is not wrong."""
        return found is None or (
            isinstance(found, str) and found.strip().lower() in self.nothing
        )

    def text(self, found: Any) -> str:
        """Return a cell as text, '' for none; whole numbers without a fraction."""
        if found is None:
            return ""
        if isinstance(found, str):
            return reading.clean(found)
        if isinstance(found, float) and found.is_integer() and abs(found) < 2**53:
            return str(int(found))
        if isinstance(found, (dict, list)):
            return json.dumps(values.plain(found), ensure_ascii=False, sort_keys=True)
        return str(found).lower() if isinstance(found, bool) else str(found)

    def name(self, found: Any) -> str:
        """Return a cell as a name: without space around it."""
        return " ".join(self.text(found).split()) if found is not None else ""

    def figure(self, found: Any, place: Place, of: Measure | None = None) -> Figure:
        """Return a cell as a number: `85,3 %` is 0.853, `correct` is 1.

        Raises:
            SourceError: it is no number, and does not say that there is none.
        """
        spread = None
        if of and of.values:
            key = self.name(found)
            if key in of.values:
                return Figure(of.values[key])
        if self.is_nothing(found):
            return Figure(None, "not measurable")
        if isinstance(found, str) and (match := _SPREAD.match(unmarked(found[:SHORT]))):
            found, behind = match[1].rstrip("({_ "), match[2].rstrip(")} ")
            spread = self._number(bare(behind), place)
            if behind.endswith("%") and not found.endswith("%"):
                found += "%"
        value = self._number(bare(found) if isinstance(found, str) else found, place)
        if value is None:
            return Figure(None, "nan")
        if of is not None:
            value += of.add
            if of.percent:
                value, spread = value / 100, None if spread is None else spread / 100
        return Figure(value, "", spread)

    def size(self, found: Any, place: Place, of: Measure | None = None) -> float | None:
        """Return an error or the end of an interval, None if there is none.

        Raises:
            SourceError: it is no number.
        """
        if self.is_nothing(found):
            return None
        value = self._number(bare(found) if isinstance(found, str) else found, place)
        return value / 100 if value is not None and of and of.percent else value

    def integer(self, found: Any, place: Place) -> int | None:
        """Return a whole number, None if there is none.

        Raises:
            SourceError: it is no whole number, or a huge one.
        """
        if self.is_nothing(found):
            return None
        value = self._number(found, place)
        return None if value is None else values.integer(value, place)

    def parts(self, found: Any, place: Place) -> list[Any]:
        """Return a list: one as it is, one that is written as JSON, or separated parts.

        A text that begins like a JSON list and is none is one part.
        """
        if found is None or found == "":
            return []
        if not isinstance(found, str):
            return found if isinstance(found, list) else [found]
        written = found.strip()
        if self.separator and self.separator in written:
            return [part.strip() for part in written.split(self.separator)]
        if written[:1] == "[" and written[-1:] == "]":
            with suppress(SourceError):
                read = reading.value(written.encode("utf-8", "replace"), place.file)
                return read if isinstance(read, list) else [found]
        return [found]

    def floats(self, found: Any, place: Place) -> tuple[float | None, ...]:
        """Return a list of numbers; None for those that are none.

        Raises:
            SourceError: one is no number.
        """
        return tuple(
            None if each is None else self._number(each, place.inside(n))
            for n, each in enumerate(self.parts(found, place))
        )

    def messages(self, found: Any, place: Place) -> tuple[Message, ...]:
        """Return a conversation.

        Raises:
            SourceError: it is no list of objects with a role.
        """
        made = []
        for n, each in enumerate(self.parts(found, place)):
            row = values.Row(each, place.inside(n))
            content = row.get("content")
            plain = isinstance(content, str)
            known = ("role", "content") if plain else ("role",)
            text = reading.clean(content) if isinstance(content, str) else ""
            made.append(Message(self.name(row.get("role")), text, row.rest(*known)))
        return tuple(made)

    def _number(self, found: Any, place: Place) -> float | None:
        if isinstance(found, bool):
            return float(found)
        if not isinstance(found, str):
            return values.number(found, place)
        written = found.strip().lower().translate(MINUS)
        if written in NOT_A_NUMBER:
            return None
        if written in YES or written in NO:
            return float(written in YES)
        digits = written.translate(SPACES)
        share = digits.endswith("%")
        digits = digits.removesuffix("%")
        if "_" in digits or not digits:
            raise place.error(f"expected a number, got {values.told(found)}")
        other = "," if self.decimal == "." else "."
        if other in digits:
            if not _THOUSANDS[self.decimal].match(digits):
                raise place.error(self._other_sign(found))
            digits = digits.replace(other, "")
        try:
            value = values.number(digits.replace(",", "."), place)
        except SourceError:
            raise place.error(f"expected a number, got {values.told(found)}") from None
        return value / 100 if share and value is not None else value

    def _other_sign(self, found: str) -> str:
        other = "," if self.decimal == "." else "."
        why = f"expected a number, got {values.told(found)}"
        digits = found.strip().removesuffix("%").strip()
        if digits.replace(other, "", 1).lstrip("+-").isdigit():
            why += f'; if its fraction follows a {other!r}, say `decimal: "{other}"`'
        return why


def bare(found: str) -> str:
    """Return a number's text without the marks of papers: `**71.3**`, `71.3†`."""
    found = found.strip()
    return unmarked(found if found[:1] in MARKED else found.rstrip(NOTES))


def unmarked(found: str) -> str:
    """Return a text without what prints the whole of it bold."""
    found = found.strip()
    while len(found) <= SHORT and (match := _BOLD.match(found)):
        found = next(part for part in match.groups()[1:] if part is not None).strip()
    return found
