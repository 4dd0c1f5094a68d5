"""What a model's context holds, and how a text is cut to fit into it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from helmsite.errors import AdapterError

if TYPE_CHECKING:
    from helmsite.schema import Tokenizer

HALF_CHARACTER = "\ufffd"


@dataclass(frozen=True)
class Window:
    """The limits of a model: its tokeniser, and the tokens that a request may have.

    `max_request_length` counts the prompt's tokens and those to be generated (HELM's
    name). `has_prefix_token` says that an empty context is a beginning-of-text token.
    Without a tokeniser or without a limit nothing is dropped and nothing is cut.
    Language modelling knows two more of HELM's limits: `max_sequence_length`, the tokens
    of a text that the model reads at once, where a request may have one more, and
    `max_sequence_and_generated_tokens_length`, of models that count both together.
    """

    tokenizer: Tokenizer | None = None
    max_request_length: int | None = None
    has_prefix_token: bool = False
    max_sequence_length: int | None = None
    max_sequence_and_generated_tokens_length: int | None = None

    @property
    def is_limited(self) -> bool:
        """Whether a prompt can be too long at all."""
        return self.tokenizer is not None and self.max_request_length is not None

    def lengths(self, count: int, max_tokens: int) -> tuple[int, int]:
        """Return the most tokens of any window of a text, and of its first window.

        Args:
            count: the tokens of the text.
            max_tokens: tokens that are generated after each window.
        """
        prefix = int(self.has_prefix_token)
        limits = [self.max_request_length or count + prefix]
        if self.max_sequence_and_generated_tokens_length is not None:
            limits.append(self.max_sequence_and_generated_tokens_length - max_tokens)
        limit = min(limits)
        return limit, min(limit - prefix, self.max_sequence_length or count)

    def room(self, max_tokens: int) -> int:
        """Return the tokens that a prompt may have beside `max_tokens` generated ones.

        Raises:
            AdapterError: there is no room for any prompt.
        """
        assert self.max_request_length is not None
        left = self.max_request_length - max_tokens
        if left <= 0:
            raise AdapterError(
                f"The model's context of {self.max_request_length} tokens has no room "
                f"for a prompt beside max_tokens = {max_tokens}.",
                f"Set max_tokens below {self.max_request_length} in the adapter, "
                "or choose a model with a longer context.",
            )
        return left

    def fits(self, text: str, max_tokens: int) -> bool:
        """Whether a prompt and `max_tokens` generated tokens fit together."""
        if self.tokenizer is None or self.max_request_length is None:
            return True
        return len(self.tokenizer.encode(text)) <= self.room(max_tokens)

    def cut_right(self, text: str, max_tokens: int) -> str:
        """Return the beginning of a text that fits, as HELM cuts it.

        The tokens are cut and decoded; should the result have more tokens than before
        (half a character at the end does that), characters are dropped until it fits.
        """
        assert self.tokenizer is not None
        kept = self.tokenizer.encode(text)[: self.room(max_tokens)]
        cut = self.tokenizer.decode(kept)
        while not self.fits(cut, max_tokens):
            cut = cut[:-1]
        return cut

    def cut_left(self, context: str, continuation: str, max_tokens: int) -> str:
        """Return the end of a context that fits together with its continuation.

        The whole context is returned where the continuation alone does not fit.
        """
        assert self.tokenizer is not None
        room = self.room(max_tokens) - len(self.tokenizer.encode(continuation))
        if room < 0:
            return context
        tokens = self.tokenizer.encode(context)
        kept = self.tokenizer.decode(tokens[len(tokens) - min(room, len(tokens)) :])
        kept = kept.lstrip(HALF_CHARACTER)
        while kept and not self.fits(kept + continuation, max_tokens):
            kept = kept[1:]
        return kept
