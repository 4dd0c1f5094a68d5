"""HELM's files of run entries (HOCON), as far as they are plain.

That is `entries: [{description: "...", priority: 1, groups: ["..."]}, ...]` with HOCON's
comments and optional commas. Includes and substitutions, which could read other files
or the environment, are refused.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import msgspec

from helmsite.errors import ConfigError
from helmsite.schema import textfile

if TYPE_CHECKING:
    from pathlib import Path

HINT = (
    "A file of run entries holds entries: [{description: "
    '"mmlu:subject=anatomy,model=text", priority: 1}, ...].'
)
_TOKEN = re.compile(
    r"""(?P<blank>[ \t\r\f\ufeff]+ | (?:\#|//)[^\n]*)
      | (?P<line>\n)
      | (?P<text>"(?:[^"\\\n]|\\.)*")
      | (?P<sign>[\[\]{},:=])
      | (?P<word>[^\s"\[\]{},:=\#$+?`^!@*&\\/]+ (?:[ \t]+[^\s"\[\]{},:=\#$+?`^!@*&\\/]+)*)
    """,
    re.VERBOSE,
)
_NUMBER = re.compile(r"-?[0-9]{1,18}")
_DEPTH = 8


class _Token(NamedTuple):
    kind: str
    text: str
    line: int


def read_conf(path: Path) -> list[Any]:
    """Return the entries of a file as plain data, in order.

    Raises:
        ConfigError: it cannot be read, is not such a file, or uses more of HOCON.
    """
    data = _Reader(path, textfile.read(path)).document()
    if set(data) != {"entries"} or not isinstance(data["entries"], list):
        other = sorted(set(data) - {"entries"})
        what = f"unknown key {other[0]!r}" if other else "there is no list 'entries'"
        raise ConfigError([f"{path}: {what}."], HINT)
    return data["entries"]


class _Reader:
    """Reads one file from front to back."""

    def __init__(self, path: Path, text: str) -> None:
        self.path = path
        self.tokens = self._split(text)
        self.at = 0
        self.depth = 0

    def document(self) -> dict[str, Any]:
        """Return what the whole file says; braces around it may be left out."""
        self._lines()
        braced = self._peek().text == "{" and self._peek().kind == "sign"
        data = self._value() if braced else self._table("end")
        self._lines()
        if self._peek().kind != "end":
            self._wrong(f"unexpected {self._peek().text!r}")
        return dict(data)

    def _split(self, text: str) -> list[_Token]:
        found: list[_Token] = []
        at, line = 0, 1
        while at < len(text):
            match = _TOKEN.match(text, at)
            if match is None or text.startswith('"""', at):
                what = text[at : at + 20].splitlines()[0]
                raise self._fault(line, f"{what!r} is not read here")
            kind = str(match.lastgroup)
            if kind != "blank":
                found.append(_Token(kind, match[0], line))
            line += kind == "line"
            at = match.end()
        return [*found, _Token("end", "the end of the file", line)]

    def _value(self) -> Any:
        token = self._next()
        if token.kind == "text":
            return self._string(token)
        if token.kind == "word":
            return int(token.text) if _NUMBER.fullmatch(token.text) else token.text
        self.depth += 1
        if token.text == "{" and self.depth <= _DEPTH:
            found: Any = self._table("}")
        elif token.text == "[" and self.depth <= _DEPTH:
            found = self._list()
        else:
            self._wrong(f"unexpected {token.text!r}", token)
        self.depth -= 1
        return found

    def _string(self, token: _Token) -> str:
        try:
            return msgspec.json.decode(token.text, type=str)
        except msgspec.DecodeError:
            self._wrong(f"{token.text} is no text in quotes", token)

    def _table(self, end: str) -> dict[str, Any]:
        found: dict[str, Any] = {}
        while not self._ends(end):
            token = self._next()
            if token.kind not in ("text", "word"):
                self._wrong(f"unexpected {token.text!r}", token)
            key = self._string(token) if token.kind == "text" else token.text
            if key in found:
                self._wrong(f"the key {key!r} is there twice", token)
            self._lines()
            if self._peek().text in (":", "="):
                self._next()
                self._lines()
            elif self._peek().text != "{":
                self._wrong(f"{key!r} has no value", token)
            found[key] = self._value()
            self._between(end)
        return found

    def _list(self) -> list[Any]:
        found = []
        while not self._ends("]"):
            found.append(self._value())
            self._between("]")
        return found

    def _ends(self, end: str) -> bool:
        self._lines()
        token = self._peek()
        if end in (token.text, token.kind):
            self.at += token.kind != "end"
            return True
        return False

    def _between(self, end: str) -> None:
        """Skip what divides two values: a comma, or a line's end."""
        begun = self.at
        self._lines()
        if self._peek().text == ",":
            self._next()
        elif self.at == begun and end not in (self._peek().text, self._peek().kind):
            self._wrong(f"expected a comma or a new line before {self._peek().text!r}")

    def _lines(self) -> None:
        while self._peek().kind == "line":
            self.at += 1

    def _peek(self) -> _Token:
        return self.tokens[self.at]

    def _next(self) -> _Token:
        token = self.tokens[self.at]
        if token.kind != "end":
            self.at += 1
        return token

    def _wrong(self, what: str, token: _Token | None = None) -> NoReturn:
        raise self._fault((token or self._peek()).line, what)

    def _fault(self, line: int, what: str) -> ConfigError:
        return ConfigError([f"{self.path}:{line}: {what}."], HINT)
