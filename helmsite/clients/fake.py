"""A client with scripted replies and failures, for tests and for authors of plug-ins.

Everything that a real client promises holds here without a model: replies, stop
sequences, log-probabilities that agree between generated and given text, a tokeniser,
usage, failures for good and failures that pass.
"""

from __future__ import annotations

import hashlib
import itertools
import re
import threading
import time
from typing import TYPE_CHECKING, Literal

from helmsite.clients.chat import as_text
from helmsite.clients.settings import parse
from helmsite.clients.tokens import Step, cut
from helmsite.errors import ClientError, RetriableError
from helmsite.schema import Completion, ModelIdentity, Record, TopLogprob, Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from helmsite.schema import Request

_WORD = re.compile(r"\s*\S+|\s+")
_LONGEST_NATS = 5.0


class FakeSettings(Record, frozen=True):
    """Settings of a fake model.

    `rules` ('regular expression => reply', the first that is found in the prompt) come
    before `replies`, which take turns, or are picked by the prompt (`order`).
    """

    replies: tuple[str, ...] = ("",)
    rules: tuple[str, ...] = ()
    order: Literal["turn", "prompt"] = "turn"
    fail_every: int = 0
    fail_match: str = ""
    retriable_times: int = 0
    retry_after_s: float | None = None
    delay_s: float = 0.0
    tokens: Literal["words", "characters"] = "words"
    max_request_length: int | None = None
    logprobs: bool = True

    def __post_init__(self) -> None:
        if not self.replies:
            raise ValueError("'replies' must hold one reply or more")
        for rule in self.rules:
            if " => " not in rule:
                raise ValueError(f"the rule {rule!r} is not 'expression => reply'")
        for pattern in (self.fail_match, *(r.split(" => ")[0] for r in self.rules)):
            try:
                re.compile(pattern)
            except re.error as error:
                raise ValueError(f"the expression {pattern!r}: {error}") from error


class FakeTokenizer:
    """Words with the space before them, or single characters; every id can be decoded."""

    def __init__(self, unit: Literal["words", "characters"] = "words") -> None:
        self._unit = unit
        self._ids: dict[str, int] = {}
        self._texts: list[str] = []
        self._lock = threading.Lock()

    def pieces(self, text: str) -> list[str]:
        """Return the texts of a text's tokens."""
        return list(text) if self._unit == "characters" else _WORD.findall(text)

    def encode(self, text: str) -> list[int]:
        """Return token ids; a word has the id of its first appearance."""
        with self._lock:
            return [self._id(piece) for piece in self.pieces(text)]

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of token ids."""
        return "".join(self._texts[i] for i in ids)

    def _id(self, piece: str) -> int:
        if piece not in self._ids:
            self._ids[piece] = len(self._texts)
            self._texts.append(piece)
        return self._ids[piece]


class Fake:
    """A scripted model that remembers what it was asked.

    `reply` overrides the settings: a function of the request and the completion's index,
    or a mapping of exact prompts. `requests` holds every request in order of arrival,
    failed ones included; `busiest` is how many were in work at the same time.
    """

    settings_type = FakeSettings

    has_prefix_token = True

    def __init__(
        self,
        name: str = "fake",
        settings: FakeSettings | None = None,
        reply: Callable[[Request, int], str] | Mapping[str, str] | None = None,
    ) -> None:
        self.settings = settings or FakeSettings()
        self.tokenizer = FakeTokenizer(self.settings.tokens)
        self.max_request_length = self.settings.max_request_length
        self.identity = ModelIdentity(
            name=name, client="fake", settings=_changing(self.settings)
        )
        self.requests: list[Request] = []
        self.busiest = 0
        self.closed = False
        self._busy = 0
        self._reply = reply
        self._turns = itertools.count()
        self._failed: dict[tuple[object, ...], int] = {}
        self._lock = threading.Lock()

    @classmethod
    def from_settings(cls, name: str, settings: Mapping[str, object]) -> Fake:
        """Return the fake model that the settings describe.

        Raises:
            ConfigError: settings that do not fit.
        """
        return cls(name, parse(cls.settings_type, name, settings))

    @property
    def calls(self) -> int:
        """How often `complete` was called."""
        return len(self.requests)

    def complete(self, request: Request) -> list[Completion]:
        """Answer as scripted.

        Raises:
            RetriableError: the first `retriable_times` times that a request is sent.
            ClientError: every `fail_every`-th call, and prompts that `fail_match` finds.
        """
        with self._lock:
            self.requests.append(request)
            self._busy += 1
            self.busiest = max(self.busiest, self._busy)
            number = len(self.requests)
        said = as_text(request)
        try:
            if self.settings.delay_s:
                time.sleep(self.settings.delay_s)
            self._fail(said, number)
            return self._answer(said)
        finally:
            with self._lock:
                self._busy -= 1

    def close(self) -> None:
        """Note that nobody needs the model any more."""
        self.closed = True

    def _fail(self, request: Request, number: int) -> None:
        settings, key = self.settings, request.key
        with self._lock:
            failed = self._failed.get(key, 0)
            if failed < settings.retriable_times:
                self._failed[key] = failed + 1
                raise RetriableError(
                    f"scripted failure {failed + 1} of {settings.retriable_times}",
                    retry_after_s=settings.retry_after_s,
                )
        if settings.fail_every and number % settings.fail_every == 0:
            raise ClientError(f"scripted failure of call {number}")
        if settings.fail_match and re.search(settings.fail_match, request.prompt):
            raise ClientError("scripted failure of this prompt")

    def _answer(self, request: Request) -> list[Completion]:
        start = request.score_start
        if start is not None:
            before, given = request.prompt[:start], request.prompt[start:]
            steps = self._steps(before, given, request.decoding.top_k_per_token)
            return [self._completion(before, steps)]
        return [
            self._generated(request, index)
            for index in range(request.decoding.num_completions)
        ]

    def _generated(self, request: Request, index: int) -> Completion:
        decoding, prompt = request.decoding, request.prompt
        said = self._text(request, index)
        steps = self._steps(prompt, said, decoding.top_k_per_token)
        drawn = steps[: decoding.max_tokens]
        kept, text, stopped = cut(drawn, decoding.stop_sequences)
        reason = "length" if len(drawn) < len(steps) else "endoftext"
        return self._completion(prompt, kept, text, "stop" if stopped else reason)

    def _completion(
        self, before: str, steps: list[Step], text: str = "", reason: str = ""
    ) -> Completion:
        usage = Usage(len(self.tokenizer.pieces(before)), len(steps), 0)
        if not self.settings.logprobs:
            return Completion(text=text, finish_reason=reason, usage=usage)
        return Completion(
            text=text,
            tokens=tuple(s.text for s in steps),
            token_logprobs=tuple(s.logprob for s in steps),
            top_logprobs=tuple(s.top for s in steps),
            logprob=sum(s.logprob or 0.0 for s in steps),
            finish_reason=reason,
            usage=usage,
            duration_s=self.settings.delay_s,
        )

    def _text(self, request: Request, index: int) -> str:
        if self._reply is not None and not callable(self._reply):
            if request.prompt not in self._reply:
                raise ClientError(f"no reply is scripted for {request.prompt[:60]!r}")
            return self._reply[request.prompt]
        if self._reply is not None:
            return self._reply(request, index)
        for rule in self.settings.rules:
            pattern, _, said = rule.partition(" => ")
            if re.search(pattern, request.prompt):
                return said
        replies = self.settings.replies
        if self.settings.order == "prompt":
            return replies[int(_share(f"{request.prompt}\0{index}") * len(replies))]
        with self._lock:
            return replies[next(self._turns) % len(replies)]

    def _steps(self, before: str, text: str, top_k: int) -> list[Step]:
        """Return tokens whose log-probabilities follow from the text before them."""
        steps = []
        for piece in self.tokenizer.pieces(text):
            logprob = -_LONGEST_NATS * _share(f"{before}\0{piece}")
            others = [TopLogprob(f"<{n}>", logprob - n) for n in range(1, top_k)]
            top = (TopLogprob(piece, logprob), *others)
            steps.append(Step(piece.encode("utf-8", "replace"), piece, logprob, top))
            before += piece
        return steps


def _share(text: str) -> float:
    """Return a number in [0, 1) that follows from a text."""
    digest = hashlib.sha256(text.encode("utf-8", "replace")).digest()
    return int.from_bytes(digest[:6], "big") / 2**48


def _changing(settings: FakeSettings) -> dict[str, object]:
    """Return the settings that can change a reply, where they differ from the default."""
    names = ("replies", "rules", "order", "tokens", "max_request_length", "logprobs")
    default = FakeSettings()
    chosen = {name: getattr(settings, name) for name in names}
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in chosen.items()
        if value != getattr(default, name)
    }
