"""Tokens with their log-probabilities in compact form; a script draws them when asked."""

from __future__ import annotations

import json
import math
import re
from bisect import bisect_left
from heapq import nsmallest
from itertools import zip_longest
from typing import TYPE_CHECKING

from markupsafe import Markup, escape

from helmsite.render.blocks import Tokens
from helmsite.render.columns import PAIRS
from helmsite.render.formats import HUGE, listed
from helmsite.render.text import LONG

if TYPE_CHECKING:
    from collections.abc import Sequence

    from helmsite.schema import Completion, TopLogprob

SURPRISING = 3
FEW = 4
LIMIT = 60_000
LOWEST = 999.0
*KNOWN, UNKNOWN = PAIRS
CENTINATS = dict(enumerate(KNOWN))
NUMBERS = {number: str(number) for number in CENTINATS}
UNUSUAL = (KeyError, TypeError, ValueError, OverflowError)  # for None, NaN and others
RAREST = len(KNOWN) - 1  # a log-probability of -40.94 or less
PARTING = re.compile("[\x00-\x1f\x7f\"%&'<=>|~;]")
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
LONGER = " "
TABLE = DIGITS.encode().ljust(256, LONGER.encode())  # from a number to its digit
BOUNDS = (0.05, 0.2, 0.5, 1, 2, 3, 5, 8)  # nats; also in instance.js and parts.html


def script_json(value: object) -> str:
    """Return JSON that is also safe inside a script or an HTML attribute's text."""
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def tokens(completion: Completion, text: str) -> Tokens | None:
    """Return a completion's tokens, None where there are none or no log-probability.

    Args:
        completion: the completion.
        text: what the page shows; where the tokens spell it, only their lengths (in
            code points) are stored, else their texts.
    """
    names, values = completion.tokens, completion.token_logprobs
    if not names or not values or len(names) != len(values):
        return None
    spells = len(text) <= LONG and "".join(names) == text
    texts = "" if spells else script_json(names)
    drawn = len(texts) <= LIMIT and len(names) <= LIMIT // 4
    known = [v for v in values if v is not None]
    total = sum(known)
    mean = _mean(known, total) if known else None
    few = len(names) <= FEW
    lengths = _lengths(names) if spells and drawn else ""
    centinats = _centinats(values) if drawn else ""
    alternatives = _alternatives(completion) if drawn else ""
    data = f" data-n={lengths} data-l={centinats}" if drawn else ""
    if drawn and not spells:
        data = f' data-k="{escape(texts)}" data-l={centinats}'
    if alternatives:
        data = f'{data} data-a="{escape(alternatives)}"'
    return Tokens(
        count=len(names),
        summary=(_first(completion) if few else "") if drawn else _least(names, values),
        lengths=lengths,
        texts=texts if drawn else "",
        centinats=centinats,
        alternatives=alternatives,
        total=Markup(_nats(total)) if known else "unknown",  # noqa: S704 (a number)
        mean="" if mean is None else _chance(mean),
        level=-1 if mean is None else bisect_left(BOUNDS, -mean),
        data=Markup(data),  # noqa: S704 (escaped, or of digits and letters alone)
    )


def _lengths(names: Sequence[str]) -> str:
    """Return tokens' lengths, each a digit in base 36, a longer one in brackets."""
    counts = list(map(len, names))
    try:
        packed = bytes(counts).translate(TABLE).decode("ascii")
    except ValueError:  # one has more than 255
        packed = LONGER
    if LONGER not in packed:
        return packed
    return "".join([DIGITS[n] if n < len(DIGITS) else f"({n})" for n in counts])


def _centinats(values: Sequence[float | None]) -> str:
    """Return log-probabilities, each two characters that are its negative hundredths.

    One of less than -40.94 is written as that, an unknown one as the largest number.
    """
    try:
        return "".join([CENTINATS[round(-100 * v)] for v in values])  # type: ignore[operator]
    except UNUSUAL:
        return "".join(
            [
                UNKNOWN if v is None else CENTINATS[min(_centi(v), RAREST)]
                for v in values
            ]
        )


def _mean(values: Sequence[float], total: float) -> float:
    """Return the mean of log-probabilities, given their total.

    One above 0 counts as 0, one below -999 (or NaN) as -999.
    """
    if max(values) > 0 or not (total > -LOWEST):  # else they are all in range
        total = sum([min(v, 0.0) if v > -LOWEST else -LOWEST for v in values])
    return total / len(values)


def _centi(value: float) -> int:
    """Return a negative log-probability in hundredths, 99,999 for what is out of range."""
    if -LOWEST < value <= 0.0:
        return round(-100 * value)
    return 0 if value > 0.0 else 99_999


def _alternatives(completion: Completion) -> str:
    """Return each position's candidates: `token~centinats|...;...`, '=' for the chosen one.

    What would part them, or not survive an attribute, is percent-encoded.
    """
    top, names = completion.top_logprobs, completion.tokens or ()
    if not top or max(map(len, top)) < 2:
        return ""
    pairs = list(zip_longest(top, names[: len(top)]))
    try:
        packed = _plain_candidates(pairs)
    except UNUSUAL:
        rows = [[_candidate(a, own) for a in some] for some, own in pairs]
        packed = ";".join(map("|".join, rows))
    return packed if len(packed) <= LIMIT else ""


def _plain_candidates(pairs: Sequence[tuple[Sequence[TopLogprob], str | None]]) -> str:
    """Return what `_candidate` makes of each, quicker: one loop, numbers looked up.

    Raises:
        ValueError: a text must be encoded. (Or what else is in UNUSUAL: a number is.)
    """
    found: list[str] = []
    texts: list[str] = []
    for some, chosen in pairs:
        parting = ";"
        for candidate in some:
            token, number = candidate.token, NUMBERS[round(-100 * candidate.logprob)]
            if token == chosen:
                found += (parting, "=", number)
            else:
                found += (parting, token, "~", number)
                texts.append(token)
            parting = "|"
        if not some:
            found.append(parting)
    if PARTING.search("".join(texts)):
        raise ValueError(texts)
    return "".join(found)[1:]


def _candidate(candidate: TopLogprob, chosen: str | None) -> str:
    number = _centi(candidate.logprob)
    if candidate.token == chosen:
        return f"={number}"
    return f"{PARTING.sub(_encoded, candidate.token)}~{number}"


def _encoded(match: re.Match[str]) -> str:
    return f"%{ord(match[0]):02X}"


def _nats(value: float) -> str:
    shown = f"{value:.2f}" if abs(value) < HUGE else f"{value:g}"
    return shown.replace("-", "&minus;")


def _chance(value: float) -> str:
    share = 100 * math.exp(min(value, 0.0))
    return f"{share:.0f} %" if share >= 1 else f"{share:.2g} %" if share else "0 %"


def _shown(token: str) -> str:
    return f"“{token.replace(chr(10), '⏎')}”"


def _first(completion: Completion) -> str:
    """Return the candidates of the first token in words: of a choice they say it all."""
    top = completion.top_logprobs
    if not top or len(top[0]) < 2:
        return ""
    first = sorted(top[0], key=lambda a: -a.logprob)[:5]
    shown = [f"{_shown(a.token)} {_chance(a.logprob)}" for a in first]
    return f"first token: {listed(shown)}"


def _least(names: Sequence[str], values: Sequence[float | None]) -> str:
    """Return the least expected of tokens that are too many to be drawn."""
    pairs = zip(values, names, strict=True)
    least = nsmallest(SURPRISING, [(v, n) for v, n in pairs if v is not None])
    shown = [f"{_shown(n)} {_chance(v)}" for v, n in least]
    return f"too many to be drawn; least expected: {listed(shown)}"
