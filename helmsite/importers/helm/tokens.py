"""Tokens of completions, and which of an echoed prompt are the text that was scored."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from helmsite.importers.values import plain
from helmsite.schema import TopLogprob

if TYPE_CHECKING:
    from helmsite.importers.values import Row

BYTES = "bytes:"
NUMBER = {int, float}
MOST = 0.01
"""Rounding may put the logarithm of a probability a little above 0."""
_ESCAPED = re.compile(r"\\x([0-9a-fA-F]{2})|(.)", re.DOTALL)
SPACES = (b" ", "▁".encode(), "Ġ".encode())
"""A space as text, and as two families of tokenisers write it."""


class Tokens(NamedTuple):
    """Tokens with their log-probabilities; None where there are none."""

    texts: tuple[str, ...] | None
    logprobs: tuple[float | None, ...] | None
    tops: tuple[tuple[TopLogprob, ...], ...] | None
    extra: dict[str, Any]

    @classmethod
    def read(cls, row: Row) -> Tokens:
        """Return the tokens of a completion.

        Raises:
            SourceError: they are no tokens.
        """
        found = row.items("tokens", None)
        if not found:
            return cls(
                None if found is None else (), None if found is None else (), None, {}
            )
        texts: Any
        logprobs: Any
        try:
            texts = tuple([token["text"] for token in found])
            logprobs = tuple([token["logprob"] for token in found])
            more = any(len(token) > 2 for token in found)
            fit = set(map(type, texts)) == {str} and set(map(type, logprobs)) <= NUMBER
            if fit and not more and _sound(logprobs):
                return cls(texts, tuple(map(float, logprobs)), None, {})
        except (KeyError, TypeError, OverflowError):
            pass
        return cls._slowly(row)

    @classmethod
    def _slowly(cls, row: Row) -> Tokens:
        rows = row.rows("tokens")
        texts = tuple(each.text("text", "") for each in rows)
        logprobs = tuple(logprob_of(each) for each in rows)
        tops, extra = None, {}
        if any("top_logprobs" in each for each in rows):
            tops = tuple(_tops(each) for each in rows)
        rest = {
            str(n): more
            for n, each in enumerate(rows)
            if (more := each.rest("text", "logprob", "top_logprobs"))
        }
        odd = [each.get("logprob") for each in rows]
        if any(p is None and q is not None for p, q in zip(logprobs, odd, strict=True)):
            extra["token_logprobs"] = plain(odd)
        if rest:
            extra["tokens"] = rest
        return cls(texts, logprobs, tops, extra)

    def from_(self, start: int) -> Tokens:
        """Return the tokens from a place on."""
        if self.texts is None or self.logprobs is None:
            return self
        return Tokens(
            self.texts[start:],
            self.logprobs[start:],
            None if self.tops is None else self.tops[start:],
            self.extra,
        )

    def context(self, end: int) -> dict[str, Any]:
        """Return the tokens before a place, as data: the echoed context of what is scored."""
        if not end or not self.texts:
            return {}
        return {
            "context_tokens": list(self.texts[:end]),
            "context_logprobs": list((self.logprobs or ())[:end]),
        }


NONE = Tokens(None, None, None, {})


class Cut(NamedTuple):
    """Where a scored text begins: its first token, its place in the prompt."""

    token: int
    start: int
    sure: bool = True


class Echo(NamedTuple):
    """An echoed prompt."""

    tokens: Tokens
    prompt: str

    def tail(self, reference: str) -> Cut:
        """Return where the last tokens begin that spell a blank and a reference.

        Where tokens are not written as they are in the text, they are compared without
        blanks; where none end where the reference begins, the fewest that hold it.
        """
        texts = self.tokens.texts or ()
        wanted = f" {reference}" if self.prompt.endswith(f" {reference}") else reference
        start = max(len(self.prompt) - len(wanted), 0)
        if not texts or not wanted:
            return Cut(len(texts), start, sure=not texts)
        place, sure = _spelling(texts, wanted)
        return Cut(place, start, sure)

    def after(self, count: int) -> Cut:
        """Return where the text begins after so many tokens; an empty first one is none.

        HELM leaves out an empty first token before it counts.
        """
        texts = self.tokens.texts or ()
        first = 1 if count and texts and texts[0] == "" else 0
        end = min(first + count, len(texts))
        context = b"".join(map(spelled, texts[:end]))
        rest = b"".join(map(spelled, texts[end:]))
        whole = self.prompt.encode("utf-8", "replace")
        if whole.startswith(context):
            start = len(context)
        elif rest and whole.endswith(rest):
            start = len(whole) - len(rest)
        else:
            return Cut(end, 0, sure=not end)
        return Cut(end, len(whole[:start].decode("utf-8", "ignore")))


def _spelling(texts: tuple[str, ...], wanted: str) -> tuple[int, bool]:
    """Return from which token on a text is spelled, and whether that is sure."""
    whole, close = (
        wanted.encode("utf-8", "replace"),
        _squeezed(wanted.encode("utf-8", "replace")),
    )
    suffix, near = b"", -1
    for place in range(len(texts) - 1, -1, -1):
        suffix = spelled(texts[place]) + suffix
        if suffix == whole:
            return place, True
        squeezed = _squeezed(suffix)
        if squeezed == close and near < 0:
            near = place
        if len(squeezed) > len(close):
            return (near, True) if near >= 0 else (place, False)
    return max(near, 0), near >= 0


def spelled(token: str) -> bytes:
    r"""Return a token's bytes; of `bytes:\xe2\x80` those that it names."""
    if not token.startswith(BYTES):
        return token.encode("utf-8", "replace")
    return b"".join(
        bytes([int(m[1], 16)]) if m[1] else m[2].encode("utf-8", "replace")
        for m in _ESCAPED.finditer(token.removeprefix(BYTES))
    )


def _squeezed(found: bytes) -> bytes:
    for space in SPACES:
        found = found.replace(space, b"")
    return found


def _tops(row: Row) -> tuple[TopLogprob, ...]:
    """Return the alternatives at a token: an object of tokens, or a list of objects."""
    found = row.get("top_logprobs")
    if isinstance(found, dict):
        said = row.row("top_logprobs")
        pairs = [(token, said.number(token, None)) for token in said]
    else:
        pairs = [
            (
                each.text("text", "") or each.text("token", ""),
                each.number("logprob", None),
            )
            for each in row.rows("top_logprobs", ())
        ]
    return tuple(TopLogprob(token, p) for token, p in pairs if p is not None)


def logprob_of(row: Row) -> float | None:
    """Return a log-probability; what is far above 0 is none."""
    found = row.number("logprob", None)
    return None if found is not None and found > MOST else found


def _sound(logprobs: tuple[float, ...]) -> bool:
    total = sum(logprobs)
    return total - total == 0 and max(logprobs) <= MOST
