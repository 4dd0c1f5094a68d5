"""Whole prompts: blocks put together, and fitted into the model's context."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from helmsite.errors import AdapterError
from helmsite.schema import expressions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from helmsite.adapters.window import Window
    from helmsite.schema import AdapterSpec


LONGEST = 50_000_000


@dataclass(frozen=True)
class Prompt:
    """A prompt as it is sent, the number of its examples, and whether it was cut.

    `score_start` is the code-point offset of the part to score; it is the length of the
    text where nothing is.
    """

    text: str
    examples: int
    truncated: bool
    score_start: int


@dataclass(frozen=True)
class PromptMaker:
    """Makes the prompts that share instructions and examples (those of one trial)."""

    spec: AdapterSpec
    window: Window
    examples: Sequence[str]
    _heads: list[str] = field(init=False)

    def __post_init__(self) -> None:
        """Join what all prompts begin with, once for each number of examples."""
        spec = self.spec
        head = spec.global_prefix
        if spec.instructions:
            head += spec.instructions + spec.instance_prefix
        heads = [head]
        for block in self.examples:
            head += block + spec.instance_prefix
            heads.append(head)
        object.__setattr__(self, "_heads", heads)

    def make(self, block: str, scored: str = "") -> Prompt:
        """Return the prompt that ends with a block and, if given, the text to score.

        Examples are dropped from the last to the first until the prompt fits. Should it
        not fit without any, it is cut: a question on the right as HELM does, a text to
        score on the left, so that all that is scored remains.
        """
        count = len(self.examples)
        text, start = self._assemble(count, block, scored)
        if not self.window.is_limited:
            return Prompt(text, count, truncated=False, score_start=start)
        limit = self.spec.max_tokens
        while not self.window.fits(text, limit):
            if count == 0:
                return self._cut(text, start, is_scored=bool(scored))
            count -= 1
            text, start = self._assemble(count, block, scored)
        return Prompt(text, count, truncated=False, score_start=start)

    def _assemble(self, count: int, block: str, scored: str) -> tuple[str, int]:
        """Return the whole text with the first `count` examples, and where scoring starts."""
        context = self._heads[count] + block
        text = context + scored + self.spec.global_suffix
        start = len(context) if scored else len(text)
        for substitution in self.spec.substitutions:
            text, start = _substitute(
                text, start, substitution.source, substitution.target
            )
        return text, start

    def _cut(self, text: str, start: int, *, is_scored: bool) -> Prompt:
        limit = self.spec.max_tokens
        if not is_scored:
            cut = self.window.cut_right(text, limit)
            return Prompt(cut, 0, truncated=True, score_start=len(cut))
        context = self.window.cut_left(text[:start], text[start:], limit)
        cut = context + text[start:]
        return Prompt(cut, 0, truncated=True, score_start=len(context))


def _substitute(text: str, mark: int, source: str, target: str) -> tuple[str, int]:
    """Return the text after a substitution, and where the mark in it has moved.

    A mark inside a replaced part moves to the start of what replaces it.

    Raises:
        AdapterError: it takes too long, or makes a text of more than LONGEST characters.
    """
    try:
        return _substituted(text, mark, source, target)
    except (TimeoutError, OverflowError) as error:
        what = str(error) if isinstance(error, OverflowError) else "takes too long"
        raise AdapterError(
            f"The substitution of {source!r} {what}.",
            "Correct it in the adapter: no repeat within a repeat, such as (a+)+.",
        ) from error


def _substituted(text: str, mark: int, source: str, target: str) -> tuple[str, int]:
    parts: list[str] = []
    done = length = 0
    moved = -1
    for match in expressions.finditer(source, text):
        kept = text[done : match.start()]
        if moved < 0 and mark <= match.start():
            moved = length + mark - done
        elif moved < 0 and mark < match.end():
            moved = length + len(kept)
        new = match.expand(target)
        parts += (kept, new)
        length += len(kept) + len(new)
        if length > LONGEST:
            raise OverflowError("makes a huge text")
        done = match.end()
    parts.append(text[done:])
    return "".join(parts), moved if moved >= 0 else length + mark - done
