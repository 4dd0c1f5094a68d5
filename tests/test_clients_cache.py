"""What the prompt cache reuses, against a simulation of llama.cpp's own rules."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, cast

from hypothesis import given, settings
from hypothesis import strategies as st

from helmsite.clients.llamacpp_cache import CHUNK, PromptCache, parts, shared
from helmsite.clients.llamacpp_server import NativeReply

if TYPE_CHECKING:
    import pytest

    from helmsite.clients.llamacpp_server import Server

OTHERS = (900, 901)


class Simulated:
    """A slot that notes with which batch each of its tokens was computed."""

    def __init__(self, *, forgetful: bool = False) -> None:
        self.cells: list[tuple[int, tuple[int, int]]] = []
        self.forgetful = forgetful
        self.computed = 0

    def complete(self, body: dict[str, Any]) -> NativeReply:
        prompt = body["prompt"]
        reuse = body.get("cache_prompt", True) and not self.forgetful
        held = [token for token, _ in self.cells]
        past = min(shared(held, prompt), len(prompt) - 1) if reuse else 0
        del self.cells[past:]
        for start in range(past, len(prompt), CHUNK):
            batch = prompt[start : start + CHUNK]
            self.cells += [(t, (start, len(batch))) for t in batch]
        self.computed += len(prompt) - past
        made = list(range(1000, 1000 + body["n_predict"]))
        at = len(self.cells)
        self.cells += [(t, (at + i, 1)) for i, t in enumerate(made[:-1])]
        return NativeReply("", tuple(made), "limit", len(prompt), len(made), past)


def cache(server: Simulated) -> PromptCache:
    return PromptCache(cast("Server", server), OTHERS)


contexts = st.lists(st.sampled_from([1, 2, 900, 1000]), min_size=1, max_size=70)
asked = st.tuples(contexts, st.lists(st.sampled_from([1, 2, 1000]), max_size=4))


@st.composite
def histories(draw: Any) -> list[tuple[list[int], list[int], int]]:
    """Requests that share beginnings: (context, forced tokens, tokens to generate)."""
    made: list[tuple[list[int], list[int], int]] = []
    for _ in range(draw(st.integers(1, 6))):
        context, forced = draw(asked)
        if made and draw(st.booleans()):
            old = draw(st.sampled_from(made))
            whole = old[0] + old[1]
            context = whole[: draw(st.integers(0, len(whole)))] + context
        made.append((context, forced, draw(st.integers(1, 4))))
    return made


@settings(max_examples=300, deadline=None)
@given(histories())
def test_every_token_is_computed_in_the_same_batch_whatever_came_before(
    history: list[tuple[list[int], list[int], int]],
) -> None:
    server = Simulated()
    used = cache(server)
    for context, forced, count in history:
        ids = context + forced
        used.complete(ids, len(context), {"n_predict": count})
        warm = list(server.cells)
        cold = Simulated()
        cache(cold).complete(ids, len(context), {"n_predict": count})
        assert warm == cold.cells
        ends = parts(len(context), len(ids))
        starts = [0, *ends][: len(ends)]
        batches = dict.fromkeys(batch for _, batch in warm[: len(ids)])
        assert list(batches) == [(a, b - a) for a, b in zip(starts, ends, strict=True)]


def test_a_shared_beginning_is_computed_once() -> None:
    server = Simulated()
    used = cache(server)
    examples = list(range(100))
    for number in range(5):
        _, reused = used.complete(
            examples + [200 + number] * 9, len(examples) + 9, {"n_predict": 1}
        )
        assert reused == (0 if number == 0 else 96)
    assert server.computed < 109 + 4 * (13 + CHUNK)


def test_a_second_continuation_of_a_context_costs_one_token() -> None:
    server = Simulated()
    used = cache(server)
    context = list(range(50))
    used.complete([*context, 7], 50, {"n_predict": 1})
    before = server.computed
    _, reused = used.complete([*context, 8], 50, {"n_predict": 1})
    assert (reused, server.computed - before) == (50, 1)


def test_a_model_that_cannot_go_back_is_asked_without_reuse(
    caplog: pytest.LogCaptureFixture,
) -> None:
    server = Simulated(forgetful=True)
    used = cache(server)
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            reply, reused = used.complete(list(range(40)), 40, {"n_predict": 2})
            assert (reply.tokens, reused) == ((1000, 1001), 0)
    assert len(caplog.records) == 1
