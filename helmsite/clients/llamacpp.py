"""Any GGUF model, in this process, with true log-probabilities (llama.cpp)."""

from __future__ import annotations

import hashlib
import re
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import structs

from helmsite.clients import chat
from helmsite.clients.cores import free_cores
from helmsite.clients.llamacpp_cache import CHUNK, PromptCache
from helmsite.clients.llamacpp_chat import ChatTemplate
from helmsite.clients.llamacpp_server import Server, ServerSettings
from helmsite.clients.settings import missing_package, parse
from helmsite.clients.tokens import Step, before, cut, first_scored, token_text
from helmsite.clients.weights import default_cache, packaged, verify
from helmsite.errors import ClientError
from helmsite.schema import Completion, ModelIdentity, Record, TopLogprob, Usage

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from helmsite.clients.llamacpp_server import NativeReply, Position, Token
    from helmsite.schema import Decoding, Request

_CERTAIN = 1000.0
_SEARCH = (64, 1024, 16384)
_FINISH = {"eos": "endoftext", "limit": "length", "word": "stop"}


class LlamaCppSettings(Record, frozen=True):
    """Settings of a llamacpp model; `path` or `package` says where the weights are.

    With `chat` a prompt is sent as one message of the user, in the model's template.
    """

    path: str = ""
    package: str = ""
    sha256: str = ""
    n_ctx: int = 2048
    n_threads: int | None = None
    n_gpu_layers: int = 0
    parse_special: bool = True
    chat: bool = False
    cache_dir: str = ""

    def __post_init__(self) -> None:
        if bool(self.path) == bool(self.package):
            raise ValueError("give 'path' (a GGUF file) or 'package', one of them")
        if min(self.n_ctx, self.n_threads or 1) < 1 or self.n_threads == 0:
            raise ValueError("'n_ctx' and 'n_threads' must be 1 or more")


class LlamaCppTokenizer:
    """The tokeniser inside a GGUF file."""

    def __init__(self, server: Server, *, parse_special: bool) -> None:
        self._server = server
        self._parse_special = parse_special

    def pieces(self, text: str) -> list[tuple[int, bytes]]:
        """Return ids and bytes of a text's tokens."""
        return self._server.tokenize(text, parse_special=self._parse_special)

    def encode(self, text: str) -> list[int]:
        """Return the token ids of a text, without any special token added."""
        return [i for i, _ in self.pieces(text)]

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of token ids; broken UTF-8 shows as U+FFFD."""
        return self._server.detokenize(ids)


class LlamaCpp:
    """A GGUF model on this machine; an answer follows from the request alone.

    Requests of several threads are answered one after the other: batches of several at
    once would change the log-probabilities, and are hardly faster on a CPU.
    A given continuation is scored token by token: a request with the tokens so far asks
    for one more, and a bias on the logits makes that the given one. The log-probability
    that llama.cpp reports is the model's own, taken before any bias. All but the last
    token come from the slot's cache, so this costs what generating the tokens would.
    """

    settings_type = LlamaCppSettings
    loads_weights = True

    has_prefix_token = True

    def __init__(self, name: str, settings: LlamaCppSettings) -> None:
        self._settings = settings
        path, expected = self._weights(name)
        self._sha256 = verify(path, settings.sha256 or expected, name)
        server = ServerSettings(
            n_ctx=settings.n_ctx,
            n_threads=settings.n_threads or free_cores(),
            n_gpu_layers=settings.n_gpu_layers,
            n_ubatch=CHUNK,
        )
        try:
            self._server = Server(path, server)
        except ImportError as error:
            command = "pip install 'helmsite[llamacpp]'"
            raise missing_package("xllamacpp", name, command) from error
        except RuntimeError as error:
            raise ClientError(
                f"Model {name!r}: llama.cpp cannot load {path}: {error}.",
                "Check that it is a GGUF file of a known architecture.",
            ) from error
        self.tokenizer = LlamaCppTokenizer(
            self._server, parse_special=settings.parse_special
        )
        self._template = ChatTemplate(self._server)
        self._prefix = self._server.prefix()
        self._start = self._server.special("bos_token") or self._server.special(
            "eos_token"
        )
        fillers = (self.tokenizer.encode("a")[-1], self.tokenizer.encode("b")[-1])
        self._filler = fillers[0]
        self._cache = PromptCache(self._server, fillers)
        self._lock = threading.Lock()
        self._frame = self._template.of_prompt("") if settings.chat else ""
        self.identity = self._identity(name)

    @classmethod
    def from_settings(cls, name: str, settings: Mapping[str, object]) -> LlamaCpp:
        """Return the model that the settings describe, loaded.

        Raises:
            ConfigError: settings that do not fit.
            ClientError: a missing package or file, a wrong hash, a model that won't load.
        """
        return cls(name, parse(cls.settings_type, name, settings))

    @property
    def max_request_length(self) -> int | None:
        """Tokens that prompt and completion may take together, what frames them aside."""
        frame = len(self.tokenizer.encode(self._frame)) if self._frame else 0
        return self._settings.n_ctx - len(self._prefix) - frame

    def complete(self, request: Request) -> list[Completion]:
        """Answer one request: num_completions completions, or one for a continuation.

        Raises:
            ClientError: the request does not fit in the context, or is refused.
        """
        with self._lock:
            if request.score_start is not None:
                return [self._given(request, request.score_start)]
            said = self._said(request)
            ids = self._context(said)
            extra = {} if said == request.prompt else {"prompt": said}
            count = request.decoding.num_completions
            made = [self._generated(request, ids, index) for index in range(count)]
        return [structs.replace(each, extra=extra) for each in made]

    def close(self) -> None:
        """Free the model; calling it twice is fine."""
        self._server.close()

    def _weights(self, name: str) -> tuple[Path, str]:
        """Return the file of the weights, and their SHA-256 where a package tells it."""
        if self._settings.path:
            return Path(self._settings.path).expanduser(), ""
        cache = self._settings.cache_dir
        where = Path(cache).expanduser() if cache else default_cache()
        return packaged(self._settings.package, where, name)

    def _identity(self, name: str) -> ModelIdentity:
        kept = ("n_ctx", "n_gpu_layers", "parse_special")
        return ModelIdentity(
            name=name,
            client="llamacpp",
            weights_sha256=self._sha256,
            runtime=f"xllamacpp {self._server.version}",
            quantisation=_short(str(self._server.props.get("model_ftype", ""))),
            settings={k: getattr(self._settings, k) for k in kept}
            | ({"chat": True} if self._settings.chat else {})
            | {"chunk": CHUNK},
        )

    def _said(self, request: Request) -> str:
        """Return the text that the model reads: conversations in its chat template."""
        if request.messages:
            return self._template.render(request.messages)
        if self._settings.chat:
            return self._template.of_prompt(request.prompt)
        return request.prompt

    def _context(self, text: str) -> list[int]:
        """Return what the model reads for a text: with its BOS, once."""
        ids = self.tokenizer.encode(text)
        if ids and ids[:1] != self._prefix:
            return self._prefix + ids
        return ids or self._start

    def _fit(self, used: int, wanted: int) -> None:
        if used + wanted > self._settings.n_ctx:
            raise ClientError(
                f"The request does not fit in the context: {used} tokens of prompt and "
                f"{wanted} of completion, of {self._settings.n_ctx} in all.",
                "Raise the model's setting 'n_ctx', or lower max_tokens.",
            )

    def _generated(self, request: Request, ids: list[int], index: int) -> Completion:
        decoding = request.decoding
        self._fit(len(ids), decoding.max_tokens)
        started, clock = time.time(), time.perf_counter()
        if decoding.max_tokens < 1:
            return Completion(tokens=(), token_logprobs=(), finish_reason="length")
        reply, reused = self._cache.complete(ids, len(ids), _drawn(request, index))
        steps, text, stopped = self._text(reply, ids, decoding)
        return Completion(
            text=text,
            tokens=tuple(s.text for s in steps),
            token_logprobs=tuple(s.logprob for s in steps),
            top_logprobs=tuple(s.top for s in steps),
            logprob=sum(s.logprob or 0.0 for s in steps),
            finish_reason="stop"
            if stopped
            else _FINISH.get(reply.stop_type, "unknown"),
            usage=Usage(len(ids), reply.tokens_predicted, reused),
            duration_s=time.perf_counter() - clock,
            started_at=started,
        )

    def _text(
        self, reply: NativeReply, ids: list[int], decoding: Decoding
    ) -> tuple[list[Step], str, bool]:
        """Return the tokens of a reply up to a stop sequence, each with its log-probability.

        llama.cpp leaves out tokens that end within a character, and as many at the end as
        the stop sequence has when it stands alone; while a text may become a stop
        sequence, it reports the text of several tokens as that of one. So a token's own
        bytes are taken from the alternatives, and what is not among them is scored.
        """
        made = list(reply.tokens[:-1] if reply.stop_type == "eos" else reply.tokens)
        known = reply.completion_probabilities[: len(made)]
        if tuple(p.id for p in known) != tuple(made[: len(known)]):
            known = ()
        steps: list[Step] = []
        length, top_k, said = 0, decoding.top_k_per_token, reply.content.encode()
        for at, token in enumerate(made):
            if reply.stop_type == "word" and length >= len(said):
                break
            top = known[at].top_logprobs if at < len(known) else ()
            own = next((t for t in top if t.id == token), None)
            if own is None:
                step, _ = self._forced(ids + made[:at], len(ids), token, top_k)
            else:
                step = self._shown(own, top[:top_k])
            steps.append(step)
            length += len(step.data)
        data = b"".join(step.data for step in steps)
        if reply.stop_type == "word" and data.startswith(said):
            return before(steps, len(said)), reply.content, True
        return cut(steps, decoding.stop_sequences)

    def _given(self, request: Request, start: int) -> Completion:
        prompt, top_k = request.prompt, request.decoding.top_k_per_token
        started, clock = time.time(), time.perf_counter()
        ids, first = self._split(prompt, start)
        self._fit(len(ids), 0)
        steps, cached = [], 0
        for at in range(first, len(ids)):
            step, reused = self._forced(ids[:at], first, ids[at], top_k)
            steps.append(step)
            cached = cached if at > first else reused
        return Completion(
            tokens=tuple(s.text for s in steps),
            token_logprobs=tuple(s.logprob for s in steps),
            top_logprobs=tuple(s.top for s in steps),
            logprob=sum(s.logprob or 0.0 for s in steps),
            usage=Usage(len(ids), 0, cached),
            duration_s=time.perf_counter() - clock,
            started_at=started,
        )

    def _split(self, prompt: str, start: int) -> tuple[list[int], int]:
        """Return the ids of a prompt and the index of the first that is to be scored.

        Scored is each token that holds a part of the continuation, so a space before it
        counts where the tokeniser makes it part of the word.
        """
        if not prompt[start:]:
            raise ClientError(
                "The given continuation is empty: there is nothing to score."
            )
        pieces = self.tokenizer.pieces(prompt)
        first = first_scored([p for _, p in pieces], prompt, start)
        if first is None:
            first = len(self.tokenizer.encode(prompt[:start]))
        ids = [i for i, _ in pieces]
        lead = self._prefix if ids[:1] != self._prefix else []
        if first == 0 and not lead:
            lead = self._start
        return lead + ids, first + len(lead)

    def _forced(
        self, ids: list[int], context: int, wanted: int, top_k: int
    ) -> tuple[Step, int]:
        """Return the step of a wanted token after `ids`, and how many were reused.

        The first `context` of the ids are computed as a context, the others one by one.
        """
        reply, reused = self._cache.complete(ids, context, _next(wanted, top_k))
        if [p.id for p in reply.completion_probabilities] == [wanted]:
            return self._step(reply.completion_probabilities[0], top_k), reused
        return self._found(ids, context, wanted, top_k), reused

    def _found(self, ids: list[int], context: int, wanted: int, top_k: int) -> Step:
        """Return the step of a token that llama.cpp does not report when it is drawn.

        That is one that ends within a character. It stands among the alternatives of any
        other token at its place.
        """
        for count in (*_SEARCH, int(self._server.meta["n_vocab"])):
            body = _next(self._filler, count)
            reply, _ = self._cache.complete(ids, context, body)
            top = reply.completion_probabilities[0].top_logprobs
            for token in top:
                if token.id == wanted:
                    return self._shown(token, top[:top_k])
        raise ClientError(f"llama.cpp gives no log-probability for token {wanted}.")

    def _step(self, position: Position, top_k: int) -> Step:
        return self._shown(position, position.top_logprobs[:top_k])

    def _shown(self, token: Token, top: Sequence[Token]) -> Step:
        alternatives = tuple(TopLogprob(self._name(t), t.logprob) for t in top)
        return Step(bytes(token.bytes), self._name(token), token.logprob, alternatives)

    def _name(self, token: Token) -> str:
        """Return a token's text; special tokens, which have no bytes, by their name."""
        if token.bytes:
            return token_text(bytes(token.bytes))
        return self._server.detokenize([token.id])


def _drawn(request: Request, index: int) -> dict[str, Any]:
    """Return the call that draws the completion of an index."""
    decoding = request.decoding
    text = f"{decoding.random}\0{index}\0{chat.wording(request)}"
    seed = hashlib.sha256(text.encode("utf-8", "replace")).digest()[:4]
    body = {
        "n_predict": decoding.max_tokens,
        "stop": [s for s in decoding.stop_sequences if s],
        "n_probs": max(decoding.top_k_per_token, 1),
    }
    if decoding.temperature <= 0.0:
        return body
    return {
        **body,
        "n_probs": max(decoding.top_k_per_token, _SEARCH[0]),
        "temperature": decoding.temperature,
        "top_p": decoding.top_p,
        "top_k": 0,
        "samplers": ["temperature", "top_p"],
        "seed": int.from_bytes(seed, "big") >> 1,
    }


def _next(wanted: int, top_k: int) -> dict[str, Any]:
    """Return the call for one wanted token."""
    bias = [[wanted, _CERTAIN]]
    return {"n_predict": 1, "logit_bias": bias, "n_probs": max(top_k, 1)}


def _short(quantisation: str) -> str:
    """Return the usual name of a quantisation: Q4_K_M for llama.cpp's 'Q4_K - Medium'."""
    return re.sub(r" - ([A-Z])\w*", r"_\1", quantisation)
