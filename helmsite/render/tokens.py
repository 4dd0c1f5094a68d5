"""Tokens with their log-probabilities in compact form; a script draws them when asked."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

from helmsite.render.formats import HUGE, MINUS, listed
from helmsite.render.parts import Tokens
from helmsite.render.text import LONG

if TYPE_CHECKING:
    from collections.abc import Sequence

    from helmsite.schema import Completion, TopLogprob

SURPRISING = 3
FEW = 4
LIMIT = 30_000
LOWEST = 999.0


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
    if len(texts) > LIMIT or len(names) > LIMIT // 8:
        return Tokens(len(names), _summary(names, values, None))
    return Tokens(
        count=len(names),
        summary=_summary(names, values, completion.top_logprobs),
        lengths=" ".join(str(len(n)) for n in names) if spells else "",
        texts=texts,
        centinats=" ".join("" if v is None else str(_centi(v)) for v in values),
        alternatives=_alternatives(completion.top_logprobs),
    )


def _centi(value: float) -> int:
    """Return a negative log-probability in hundredths, 99,999 for what is out of range."""
    return round(-100 * min(value, 0.0)) if value > -LOWEST else 99_999


def _alternatives(top: Sequence[Sequence[TopLogprob]] | None) -> str:
    if not top or max(len(t) for t in top) < 2:
        return ""
    packed = script_json([[[a.token, _centi(a.logprob)] for a in t] for t in top])
    return packed if len(packed) <= LIMIT else ""


def _nats(value: float) -> str:
    shown = f"{value:.2f}" if abs(value) < HUGE else f"{value:g}"
    return shown.replace("-", MINUS)


def _chance(value: float) -> str:
    share = 100 * math.exp(min(value, 0.0))
    return f"{share:.0f} %" if share >= 1 else f"{share:.2g} %" if share else "0 %"


def _shown(token: str) -> str:
    return f"“{token.replace(chr(10), '⏎')}”"


def _summary(
    names: Sequence[str],
    values: Sequence[float | None],
    top: Sequence[Sequence[TopLogprob]] | None,
) -> str:
    known = [(v, n) for v, n in zip(values, names, strict=True) if v is not None]
    if not known:
        return "no log-probability is known"
    total = sum(v for v, _ in known)
    each = total / len(known)
    sums = [_nats(v) for v in (total, each)]
    words = [f"log-probability {sums[0]} in all, {sums[1]} per token"]
    if len(names) <= FEW and top and len(top[0]) > 1:
        first = sorted(top[0], key=lambda a: -a.logprob)[:5]
        chances = listed([f"{_shown(a.token)} {_chance(a.logprob)}" for a in first])
        words.append(f"first token: {chances}")
    elif len(known) > FEW:
        least = sorted(known)[:SURPRISING]
        chances = listed([f"{_shown(n)} {_chance(v)}" for v, n in least])
        words.append(f"least expected: {chances}")
    return "; ".join(words)
