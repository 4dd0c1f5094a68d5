"""Prompts: what several share stands once on a page, and so does what is shown anyway.

In the place of a text that stands elsewhere on the page (the input, a continuation that
is scored) is a link to it; the page's script puts the whole together, byte for byte.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from markupsafe import Markup

from helmsite.render.blocks import Clip, PromptView, Shared
from helmsite.render.text import LONG, clipped, seen, visible
from helmsite.schema import Record

if TYPE_CHECKING:
    from collections.abc import Callable

    from helmsite.query.rows import RequestView

SHARED_LIMIT = 100_000
KNOWN = 100
SHORT = 160  # a text that is shorter than this is easier to read in its place
SCORED = '<mark title="its log-probability is asked for">', "</mark>"


class Above(Record, frozen=True):
    """An article's input and the article's anchor."""

    text: str
    anchor: str


class Prompts:
    """Makes the prompts of a run; shared beginnings collect until a page takes them."""

    def __init__(self, store: Callable[[str], str]) -> None:
        self._store = store
        self._made: dict[str, Shared] = {}
        self._count = 0
        self._shared: dict[str, Shared] = {}

    def take_shared(self) -> tuple[Shared, ...]:
        """Return the shared beginnings since the last call, in order of use."""
        taken = tuple(self._shared.values())
        self._shared = {}
        return taken

    def view(self, view: RequestView, above: Above) -> PromptView:
        """Return a request's prompt, its beginning shared with others of the page."""
        text = view.request.prompt
        head, own = text[: view.own_start], text[view.own_start :]
        shared = self._share(head, view.request.trial) if head else None
        html, whole = self._own(own, view, above)
        return PromptView(
            own=html,
            characters=len(text),
            kind=view.request.prompt_kind,
            shared=shared.key if shared else "",
            shared_characters=len(head),
            file="" if whole and len(head) <= SHARED_LIMIT else self._store(text),
        )

    def _own(self, own: str, view: RequestView, above: Above) -> tuple[Markup, bool]:
        """Return the own part, and whether the page holds all of it."""
        start = view.request.score_start
        if start is None:
            return self.without(own, above)
        cut = max(0, start - view.own_start)
        given = own[cut:]
        before, whole = self.without(own[:cut], above)
        if len(given) > SHORT and given != above.text:
            after = Markup(f"<a class=given href=#{above.anchor}>continuation</a>")  # noqa: S704
            fits = len(given) <= LONG
        else:
            after, fits = self.without(given, above)
        html = "".join((before, SCORED[0], after, SCORED[1]))
        return Markup(html), whole and fits  # noqa: S704 (made of escaped parts)

    def without(self, text: str, above: Above) -> tuple[Markup, bool]:
        """Return a text with a link in the place of the input, and whether it is whole."""
        length = len(above.text)
        at = _place(text, above.text) if length > SHORT else -1
        if at < 0:
            return clipped(text, self._store), len(text) <= LONG
        before, after = text[:at], text[at + length :]
        first, last = self._part(before), self._part(after)
        html = f"{first}<a href=#{above.anchor}>input</a>{last}"
        whole = length <= LONG and len(before) <= LONG and len(after) <= LONG
        return Markup(html), whole  # noqa: S704 (made of escaped parts)

    def _part(self, text: str) -> str:
        return _brief(text) if len(text) < SHORT else clipped(text, self._store)

    def _share(self, head: str, trial: int) -> Shared:
        made = self._made.get(head)
        if made is None:
            html = visible(head)
            if len(head) > SHARED_LIMIT:
                html = clipped(head, self._store)
            self._count += 1
            made = Shared(f"s{self._count}", f"trial {trial}", html, len(head))
            if len(self._made) == KNOWN:  # prompts of this run share little
                del self._made[next(iter(self._made))]
            self._made[head] = made
        self._shared.setdefault(made.key, made)
        return made


# What stands around an input is the same in most prompts of a run.
_brief = lru_cache(maxsize=256)(seen)


def _place(text: str, part: str) -> int:
    """Return where a long part stands in a text, -1 if nowhere.

    A plain search prepares itself for a needle of any form, at many times the cost.
    """
    at = text.find(part[:SHORT])
    return at if at < 0 or text.startswith(part, at) else text.find(part)


def clip(text: str, store: Callable[[str], str]) -> Clip:
    """Return a text ready to be shown; `store` keeps a long one."""
    if len(text) <= LONG:
        return Clip(visible(text), len(text))
    file = store(text)
    return Clip(clipped(text, lambda _: file), len(text), file)
