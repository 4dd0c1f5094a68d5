"""An n-gram language model over words and bytes, smoothed after Kneser and Ney."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, NamedTuple

from helmsite.clients.tokens import token_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

END = 0
"""The token id that begins and ends a text; it stands for no characters."""

_FIRST_BYTE, _FIRST_WORD = 1, 257
_MIN_COUNT = 2
_PIECE = re.compile(r" ?(?:[^\W\d_]+(?:['’][^\W\d_]+)*|\d|[^\w\s]|_)|\s")

Ngram = tuple[int, ...]


class WordByteTokenizer:
    """Words with their leading space, or bytes where a word is unknown: lossless.

    Ids: 0 the end of a text, 1 to 256 the bytes 0x00 to 0xff, then the words in the
    order of their UTF-8 bytes.
    """

    def __init__(self, words: Iterable[str]) -> None:
        known = sorted({word.encode() for word in words})
        self._bytes = (b"", *(bytes([b]) for b in range(256)), *known)
        self._ids = {w.decode(): i for i, w in enumerate(known, _FIRST_WORD)}

    def __len__(self) -> int:
        return len(self._bytes)

    def encode(self, text: str) -> list[int]:
        """Return the token ids of a text, without the begin or end token."""
        ids: list[int] = []
        for piece in _PIECE.findall(text):
            known = self._ids.get(piece)
            if known is None:
                raw = piece.encode("utf-8", "surrogatepass")
                ids += [_FIRST_BYTE + b for b in raw]
            else:
                ids.append(known)
        return ids

    def to_bytes(self, ids: Iterable[int]) -> bytes:
        """Return the UTF-8 bytes, perhaps cut inside a character, of token ids."""
        return b"".join(self._bytes[i] for i in ids)

    def decode(self, ids: Iterable[int]) -> str:
        """Return the text of token ids; broken UTF-8 shows as U+FFFD."""
        return self.to_bytes(ids).decode("utf-8", "replace")

    def show(self, token: int) -> str:
        r"""Return one token as text, `bytes:\xNN` where it is no UTF-8 by itself."""
        if token == END:
            return "</s>"
        return token_text(self._bytes[token])


class _Row(NamedTuple):
    """What follows one context: the mass for shorter contexts, and each token's own."""

    backoff: float
    mass: dict[int, float]


def _discounts(counts: Mapping[Ngram, int]) -> tuple[float, float, float]:
    """Return the discounts of n-grams seen once, twice, and more often.

    Modified Kneser-Ney (Chen and Goodman 1998, equation 17); where too few n-grams make
    those useless, Ney's single discount. Always 0 < D(c) < c, so nothing gets
    probability zero.
    """
    seen = Counter(counts.values())
    ones, twos = seen[1], seen[2]
    single = ones / (ones + 2 * twos) if ones and twos else 0.5
    if not (ones and twos and seen[3] and seen[4]):
        return single, single, single
    found = [j - (j + 1) * single * seen[j + 1] / seen[j] for j in (1, 2, 3)]
    one, two, more = (
        d if 0 < d < j else single for j, d in zip((1, 2, 3), found, strict=True)
    )
    return one, two, more


class NGramModel:
    """Interpolated modified Kneser-Ney: P(token | context) > 0, summing to 1.

    S. F. Chen and J. Goodman, "An Empirical Study of Smoothing Techniques for Language
    Modeling", TR-10-98, Harvard 1998, section 3. The unigrams are interpolated with
    the uniform distribution over the closed vocabulary. Immutable after training.
    """

    def __init__(self, texts: Sequence[Sequence[int]], order: int, size: int) -> None:
        self.order = order
        self.size = size
        self._rows: dict[Ngram, _Row] = {}
        for counts in _kneser_ney_counts(texts, order):
            self._add_level(counts)

    def _add_level(self, counts: Mapping[Ngram, int]) -> None:
        discounts = _discounts(counts)
        followers: defaultdict[Ngram, list[tuple[int, int]]] = defaultdict(list)
        for ngram, count in counts.items():
            followers[ngram[:-1]].append((ngram[-1], count))
        for context, pairs in followers.items():
            total = sum(count for _, count in pairs)
            taken = sum(discounts[min(count, 3) - 1] for _, count in pairs)
            mass = {t: (c - discounts[min(c, 3) - 1]) / total for t, c in pairs}
            self._rows[context] = _Row(taken / total, mass)

    def _matches(self, context: Sequence[int]) -> list[_Row]:
        """Return the rows of the known ends of a context, shortest first."""
        rows = [self._rows[()]]
        for length in range(1, min(self.order - 1, len(context)) + 1):
            row = self._rows.get(tuple(context[-length:]))
            if row is None:
                break
            rows.append(row)
        return rows

    def probability(self, context: Sequence[int], token: int) -> float:
        """Return P(token | context); a context starts with END at a text's beginning."""
        p = 1 / self.size
        for backoff, mass in self._matches(context):
            p = p * backoff + mass.get(token, 0.0)
        return p

    def distribution(self, context: Sequence[int]) -> list[float]:
        """Return P(token | context) for every token id, bit by bit as `probability`."""
        uniform = 1 / self.size
        ps = [uniform] * self.size
        for backoff, mass in self._matches(context):
            ps = [p * backoff for p in ps]
            for token, own in mass.items():
                ps[token] += own
        return ps


def _kneser_ney_counts(
    texts: Sequence[Sequence[int]], order: int
) -> list[Counter[Ngram]]:
    """Return the counts of each level, unigrams first.

    The highest level counts occurrences, the others distinct predecessors; an n-gram at
    the beginning of a text has none and keeps its occurrences.
    """
    raw: list[Counter[Ngram]] = [Counter() for _ in range(order)]
    for text in texts:
        ids = (END, *text, END)
        for end in range(2, len(ids) + 1):
            for length in range(1, min(order, end) + 1):
                raw[length - 1][ids[end - length : end]] += 1
    levels = []
    for length, longer in enumerate(raw[1:], 1):
        counts: Counter[Ngram] = Counter()
        for ngram in longer:
            counts[ngram[1:]] += 1
        if length > 1:
            first = {n: c for n, c in raw[length - 1].items() if n[0] == END}
            counts.update(first)
        levels.append(counts)
    return [*levels, raw[-1]]


def train(texts: Sequence[str], order: int) -> tuple[WordByteTokenizer, NGramModel]:
    """Return a tokeniser and a model of these texts.

    Words seen once are spelled as bytes, so that the model knows how unknown words look.
    """
    pieces = Counter(piece for text in texts for piece in _PIECE.findall(text))
    words = [p for p, n in pieces.items() if n >= _MIN_COUNT and len(p.encode()) > 1]
    tokenizer = WordByteTokenizer(words)
    encoded = [tokenizer.encode(text) for text in texts]
    return tokenizer, NGramModel(encoded, order, len(tokenizer))
