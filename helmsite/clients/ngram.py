"""The `ngram` client: a tiny language model trained when it is loaded, as a baseline.

The text it learns from ships with the package (`data/*.txt`, texts two blank lines
apart), so it needs no download, no key and no extra.
"""

from __future__ import annotations

import hashlib
import heapq
import math
import random
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec

from helmsite.clients.chat import as_text
from helmsite.clients.ngram_model import END, WordByteTokenizer, train
from helmsite.clients.settings import parse
from helmsite.clients.tokens import Step, cut
from helmsite.errors import ClientError
from helmsite.schema import Completion, ModelIdentity, Record, TopLogprob, Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from helmsite.schema import Decoding, Request

ALGORITHM = "kneser-ney-1"
CORPUS = Path(__file__).parent / "data"


class Settings(Record, frozen=True):
    """What can be set: the longest n-gram in tokens, and the longest request."""

    order: Annotated[int, msgspec.Meta(ge=1, le=5)] = 3
    max_request_length: Annotated[int, msgspec.Meta(ge=16)] = 2048


def read_corpus(folder: Path = CORPUS) -> list[str]:
    """Return the training texts, file by file in the order of their names.

    Raises:
        ClientError: there is no text.
    """
    texts = [
        text.strip("\n") + "\n"
        for path in sorted(folder.glob("*.txt"))
        for text in path.read_text(encoding="utf-8").split("\n\n\n")
        if text.strip()
    ]
    if not texts:
        raise ClientError(
            f"The n-gram model has no training text in {folder}.",
            "Reinstall helmsite: its package data is incomplete.",
        )
    return texts


class NGram:
    """A client that answers from an n-gram model; safe to use from several threads."""

    settings_type = Settings

    has_prefix_token = True

    def __init__(
        self, name: str, settings: Settings, texts: Sequence[str] | None = None
    ) -> None:
        texts = read_corpus() if texts is None else texts
        self._settings = settings
        self._tokenizer, self._model = train(texts, settings.order)
        blob = msgspec.json.encode([ALGORITHM, list(texts)])
        self._identity = ModelIdentity(
            name=name,
            client="ngram",
            revision=ALGORITHM,
            weights_sha256=hashlib.sha256(blob).hexdigest(),
            settings=msgspec.to_builtins(settings),
        )

    @classmethod
    def from_settings(cls, name: str, settings: Mapping[str, object]) -> NGram:
        """Return a trained client.

        Args:
            name: the model's name, such as `helmsite/ngram-3`.
            settings: `order` from 1 to 5 (default 3), `max_request_length`.

        Raises:
            ConfigError: a setting is unknown or out of its range.
        """
        return cls(name, parse(cls.settings_type, name, settings))

    @property
    def identity(self) -> ModelIdentity:
        """What identifies the model: the hash covers its text and its algorithm."""
        return self._identity

    @property
    def tokenizer(self) -> WordByteTokenizer:
        """The model's tokeniser: known words, else bytes."""
        return self._tokenizer

    @property
    def max_request_length(self) -> int:
        """Tokens that prompt and completion may take together."""
        return self._settings.max_request_length

    def close(self) -> None:
        """Do nothing: the model holds memory only."""

    def complete(self, request: Request) -> list[Completion]:
        """Answer one request.

        Log-probabilities are the model's own, before temperature and top_p. At
        temperature 0 the likeliest token wins, the lower id among equals. Text ends
        before a stop sequence; tokens are kept as far as they cover the text. A given
        continuation has top_logprobs only where more than one per token is asked for.

        Raises:
            ClientError: the request is too long.
        """
        started, clock = time.time(), time.perf_counter()
        request = as_text(request)
        start = request.score_start
        context = [END, *self._tokenizer.encode(request.prompt[:start])]
        if start is None:
            self._check_length(request, len(context) - 1 + request.decoding.max_tokens)
            count = request.decoding.num_completions
            found = [self._generate(context, request, i) for i in range(count)]
        else:
            given = self._tokenizer.encode(request.prompt[start:])
            self._check_length(request, len(context) - 1 + len(given))
            found = [self._score(context, given, request.decoding.top_k_per_token)]
        seconds = time.perf_counter() - clock
        return [
            msgspec.structs.replace(
                c,
                started_at=started,
                duration_s=seconds,
                usage=Usage(len(context) - 1, c.usage.completion_tokens),
            )
            for c in found
        ]

    def _check_length(self, request: Request, length: int) -> None:
        if length > self.max_request_length:
            raise ClientError(
                f"Request {request.instance_id} takes {length} tokens, "
                f"{self.max_request_length} fit the n-gram model.",
                "Use fewer in-context examples or fewer max_tokens.",
            )

    def _top(self, ps: Sequence[float], k: int) -> tuple[TopLogprob, ...]:
        best = heapq.nsmallest(k, range(len(ps)), key=lambda t: (-ps[t], t))
        return tuple(TopLogprob(self._tokenizer.show(t), math.log(ps[t])) for t in best)

    def _score(self, context: list[int], given: list[int], k: int) -> Completion:
        ids = list(context)
        steps = []
        for token in given:
            top = self._top(self._model.distribution(ids), k) if k > 1 else ()
            steps.append(self._step(token, self._model.probability(ids, token), top))
            ids.append(token)
        return _completion("", steps, "", with_top=k > 1)

    def _generate(self, context: list[int], request: Request, index: int) -> Completion:
        decoding = request.decoding
        choose = _chooser(request, index)
        stops = [s.encode() for s in decoding.stop_sequences if s]
        ids, data, reason = list(context), b"", "length"
        steps: list[Step] = []
        for _ in range(decoding.max_tokens):
            ps = self._model.distribution(ids)
            token = choose(ps)
            if token == END:
                reason = "endoftext"
                break
            top = self._top(ps, decoding.top_k_per_token)
            steps.append(self._step(token, ps[token], top))
            ids.append(token)
            data += steps[-1].data
            if any(stop in data for stop in stops):
                break
        steps, text, is_stopped = cut(steps, decoding.stop_sequences)
        return _completion(text, steps, "stop" if is_stopped else reason)

    def _step(self, token: int, p: float, top: tuple[TopLogprob, ...]) -> Step:
        data = self._tokenizer.to_bytes([token])
        return Step(data, self._tokenizer.show(token), math.log(p), top)


def _completion(
    text: str, steps: Sequence[Step], reason: str, *, with_top: bool = True
) -> Completion:
    logprobs = tuple(s.logprob for s in steps)
    return Completion(
        text=text,
        tokens=tuple(s.text for s in steps),
        token_logprobs=logprobs,
        top_logprobs=tuple(s.top for s in steps) if with_top else None,
        logprob=math.fsum(p for p in logprobs if p is not None),
        finish_reason=reason,
        usage=Usage(completion_tokens=len(steps)),
    )


def _chooser(request: Request, index: int) -> Callable[[list[float]], int]:
    """Return what picks a token id from a distribution, the same for the same request."""
    decoding = request.decoding
    if decoding.temperature <= 0:
        return lambda ps: ps.index(max(ps))
    blob = msgspec.json.encode([request.prompt, decoding, index])
    generator = random.Random(hashlib.sha256(blob).digest())

    def draw(ps: list[float]) -> int:
        weights = _tempered(ps, decoding)
        tokens = sorted(weights)
        return generator.choices(tokens, [weights[t] for t in tokens])[0]

    return draw


def _tempered(ps: list[float], decoding: Decoding) -> dict[int, float]:
    """Return the weights of the tokens that may be drawn (nucleus sampling)."""
    best = max(ps)
    weights = [(p / best) ** (1 / decoding.temperature) for p in ps]
    ranked = sorted(range(len(ps)), key=lambda t: (-weights[t], t))
    room = decoding.top_p * math.fsum(weights)
    kept: dict[int, float] = {}
    for token in ranked:
        kept[token] = weights[token]
        room -= weights[token]
        if room <= 0:
            break
    return kept
