"""A document cut into windows, each token of it predicted once."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from helmsite.adapters.window import HALF_CHARACTER
from helmsite.errors import AdapterError
from helmsite.schema import Request

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from helmsite.adapters.window import Window
    from helmsite.schema import AdapterSpec, Instance, Tokenizer


class Edge(NamedTuple):
    """A place where a token begins and a character too: token index, code-point offset."""

    token: int
    offset: int


class Cut(NamedTuple):
    """A window: the text from start to scored is given, from scored to end predicted."""

    start: Edge
    scored: Edge
    end: Edge


def windows(instance: Instance, spec: AdapterSpec, window: Window) -> Iterator[Request]:
    """Yield a request for each window of an instance's input; references play no part.

    The first window predicts all of its tokens. Each further one predicts as many new
    tokens as fit beside one token of context, the last one after as much context as
    fits. Put together, the scored parts are the text.

    Raises:
        AdapterError: there is no tokeniser, or a window is too small for a character.
    """
    if window.tokenizer is None:
        raise AdapterError(
            "Language modelling cuts a text by the model's own tokens, but this client "
            "has no tokeniser.",
            "Run it with a client that has one (llamacpp, ngram), or take the "
            "scenario out of the suite for this model.",
        )
    document = _Document(instance, window.tokenizer)
    prefix = int(window.has_prefix_token)
    limit, first = window.lengths(len(document.tokens), spec.max_tokens)
    for index, cut in enumerate(document.cuts(limit, first)):
        given = cut.scored.token - cut.start.token
        yield Request(
            instance_id=instance.instance_id,
            perturbation=instance.perturbation,
            prompt=document.text[cut.start.offset : cut.end.offset],
            decoding=spec.decoding,
            request_index=index,
            num_conditioning_tokens=given if index else prefix,
            score_start=cut.scored.offset - cut.start.offset,
        )


class _Document:
    """A text with its tokens, and the place in the text where each token begins.

    A place is found by decoding from an `anchor`, an edge that is known. Where decoding
    does not give the text back, as with a tokeniser that normalises it, the decoded text
    takes the place of the text (as in HELM).
    """

    def __init__(self, instance: Instance, tokenizer: Tokenizer) -> None:
        self.name = instance.instance_id
        self.tokenizer = tokenizer
        self.tokens: Sequence[int] = tokenizer.encode(instance.input)
        self.text = tokenizer.decode(self.tokens)
        self.anchor = Edge(0, 0)

    def cuts(self, limit: int, first: int) -> Iterator[Cut]:
        """Yield windows of at most `limit` tokens, the first of at most `first`."""
        count = len(self.tokens)
        begin = Edge(0, 0)
        cut = self._fit(begin, begin, min(first, count), first)
        yield cut
        while cut.end.token < count:
            scored = cut.end
            end = min(scored.token + limit - 1, count)
            start = self._at_or_after(max(end - limit, 0))
            if start.token >= scored.token:
                start = self._at_or_before(scored.token - 1)
                end = min(end, start.token + limit)
            cut = self._fit(start, scored, end, limit)
            self.anchor = cut.start
            yield cut

    def _fit(self, start: Edge, scored: Edge, token: int, limit: int) -> Cut:
        """Return a window that ends at a token, smaller if its text has too many tokens.

        A part of a text may have more tokens by itself than within the text. What is too
        much is taken from the context as long as one token of it is left.
        """
        while True:
            end = self._at_or_before(max(token, scored.token))
            text = self.text[start.offset : end.offset]
            over = len(self.tokenizer.encode(text)) - limit
            if end.offset <= scored.offset and self.tokens:
                raise AdapterError(
                    f"A window of {limit} tokens is too small for the text of instance "
                    f"{self.name} at character {scored.offset}.",
                    "Set the model's max_request_length to at least 8.",
                )
            if over <= 0:
                return Cut(start, scored, end)
            later = self._at_or_after(min(start.token + over, scored.token))
            if later.token < scored.token:
                start = later
            else:
                token = end.token - over

    def _at_or_after(self, token: int) -> Edge:
        while (edge := self._edge(token)) is None:
            token += 1
        return edge

    def _at_or_before(self, token: int) -> Edge:
        while (edge := self._edge(token)) is None:
            token -= 1
        return edge

    def _edge(self, token: int) -> Edge | None:
        """Return the place of a token, None where it begins inside a character."""
        if token == self.anchor.token:
            return self.anchor
        if token == len(self.tokens):
            return Edge(token, len(self.text))
        for known in (self.anchor, Edge(0, 0)):
            piece = self.tokenizer.decode(self.tokens[known.token : token])
            if piece.endswith(HALF_CHARACTER):
                return None
            if self.text.startswith(piece, known.offset):
                return Edge(token, known.offset + len(piece))
        raise AdapterError(
            f"The tokeniser decodes the first {token} tokens of instance {self.name} "
            "to something else than the beginning of its text.",
            "Language modelling needs a tokeniser that decodes to the text it encoded.",
        )
