"""Any OpenAI-compatible endpoint: `completions` or `chat`."""

from __future__ import annotations

import hashlib
import os
import re
import time
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import parse_qsl, urlsplit, urlunsplit

import msgspec
from msgspec import structs

from helmsite.clients import chat, openai_reply
from helmsite.clients.openai_http import SHORT_KEY, Endpoint, Place, is_loopback
from helmsite.clients.openai_redact import without_key
from helmsite.clients.settings import parse
from helmsite.errors import ClientError, ConfigError, RetriableError
from helmsite.schema import Completion, ModelIdentity, Record

if TYPE_CHECKING:
    from collections.abc import Mapping

    from helmsite.clients.openai_reply import Answer
    from helmsite.schema import Request

_CAN_OMIT = {"temperature", "top_p", "stop", "seed", "logprobs", "n"}
_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*")
_QUERY = {"api-version", "version", "beta"}
_OPENAI, _OPENAI_KEY = "api.openai.com", "OPENAI_API_KEY"
_SEEDS = 2**31


class OpenAISettings(Record, frozen=True):
    """Settings of an openai model.

    `api_key_env` None is OPENAI_API_KEY for OpenAI's own address, else no key.
    `echo` says that the endpoint's completions API takes `echo` with `logprobs`, which
    given continuations need. `omit` names parameters that are never sent.
    """

    base_url: str
    model: str
    api: Literal["completions", "chat"] = "completions"
    api_key_env: str | None = None
    revision: str = ""
    timeout_s: float = 600.0
    echo: bool = False
    max_request_length: int | None = None
    max_top_logprobs: int = 5
    max_tokens_name: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    omit: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _check_url(self.base_url)
        if self.api_key_env and not _VARIABLE.fullmatch(self.api_key_env):
            raise ValueError(
                "'api_key_env' must be the name of an environment variable, such as "
                "LAB_API_KEY, and not the key itself"
            )
        if not self.model:
            raise ValueError("'model' must not be empty")
        if not 0 < self.timeout_s < float("inf"):
            raise ValueError("'timeout_s' must be more than 0")
        if self.max_top_logprobs < 1:
            raise ValueError(
                "'max_top_logprobs' must be 1 or more; to ask for none, omit = ['logprobs']"
            )
        if self.max_request_length is not None and self.max_request_length < 1:
            raise ValueError("'max_request_length' must be 1 or more")
        if self.echo and (self.api == "chat" or "logprobs" in self.omit):
            raise ValueError("'echo' needs api = 'completions' and log-probabilities")
        if unknown := sorted(set(self.omit) - _CAN_OMIT):
            known = ", ".join(sorted(_CAN_OMIT))
            raise ValueError(f"'omit' cannot hold {unknown[0]!r}, only {known}")

    @property
    def key_variable(self) -> str:
        """The variable that holds the key; '' sends none."""
        if self.api_key_env is not None:
            return self.api_key_env
        url = urlsplit(self.base_url)
        own = url.scheme == "https" and url.hostname == _OPENAI
        return _OPENAI_KEY if own and url.port in (None, 443) else ""


class OpenAI:
    """A model behind an OpenAI-compatible endpoint; any number of threads may ask."""

    settings_type = OpenAISettings

    has_prefix_token = False
    tokenizer = None

    def __init__(self, name: str, settings: OpenAISettings, key: str = "") -> None:
        self._settings = settings
        url = urlsplit(settings.base_url)
        base = urlunsplit((url.scheme, url.netloc, url.path.rstrip("/"), "", ""))
        place = Place(
            model=name,
            url=base,
            query=f"?{url.query}" if url.query else "",
            key_variable=settings.key_variable,
            has_key=bool(key),
            timeout_s=settings.timeout_s,
        )
        self._endpoint = Endpoint(place, key)
        self._secret = key if len(key) >= SHORT_KEY else ""
        self._name = name
        self.max_request_length = settings.max_request_length
        self.identity = ModelIdentity(
            name=name,
            client="openai",
            revision=settings.revision,
            settings=_changing(settings, base),
        )

    @classmethod
    def from_settings(cls, name: str, settings: Mapping[str, object]) -> OpenAI:
        """Return the model that the settings describe; its key is in the environment.

        Raises:
            ConfigError: settings that do not fit, or a key that cannot be sent.
            ClientError: httpx is not installed.
        """
        read = parse(cls.settings_type, name, settings)
        variable = read.key_variable
        key = os.environ.get(variable, "").strip() if variable else ""
        if not (key.isascii() and (key.isprintable() or not key)) or " " in key:
            raise ConfigError(
                [f"Model {name!r}: the key in {variable} cannot be sent."],
                "It must be one line of ASCII characters without spaces.",
            )
        url = urlsplit(read.base_url)
        if key and url.scheme != "https" and not is_loopback(url.hostname or ""):
            raise ConfigError(
                [f"Model {name!r}: the key in {variable} would be sent unencrypted."],
                "Give base_url an https:// address, or reach the server through a tunnel "
                'to 127.0.0.1; if it needs no key, set api_key_env = "".',
            )
        return cls(name, read, key)

    def complete(self, request: Request) -> list[Completion]:
        """Answer one request: num_completions completions, or one for a continuation.

        Raises:
            RetriableError: 429, 5xx, a lost connection, a timeout, a broken reply.
            ClientError: a refusal, or a continuation that the endpoint cannot score.
        """
        if request.score_start is not None:
            return [self._given(request, request.score_start)]
        if request.messages and not request.prompt and self._settings.api != "chat":
            raise ClientError(
                "the completions API takes a text, and this request is a conversation",
                'Set api = "chat" in the model\'s settings, or use method generation.',
            )
        decoding = request.decoding
        if decoding.max_tokens < 1:
            nothing = Completion(tokens=(), token_logprobs=(), finish_reason="length")
            return [nothing] * decoding.num_completions
        made: list[Completion] = []
        while len(made) < decoding.num_completions:
            made += self._generated(request, len(made))
        return made[: decoding.num_completions]

    def close(self) -> None:
        """Close all connections; calling it twice is fine."""
        self._endpoint.close()

    def _generated(self, request: Request, done: int) -> list[Completion]:
        """Ask for the completions that are left: an endpoint may give fewer at a time."""
        body = self._body(request, done)
        started, clock = time.time(), time.perf_counter()
        answer = self._ask(body)
        decoding = request.decoding
        left = decoding.num_completions - done
        answer = structs.replace(answer, choices=answer.choices[:left])
        if not body.get("stop") and "stop" not in self._settings.omit:
            answer = _ended(answer)
        top_k = min(decoding.top_k_per_token, self._settings.max_top_logprobs)
        duration = time.perf_counter() - clock
        return [
            structs.replace(c, started_at=started, duration_s=duration)
            for c in openai_reply.completions(answer, decoding.stop_sequences, top_k)
        ]

    def _given(self, request: Request, start: int) -> Completion:
        """Score a continuation: the endpoint repeats the prompt with log-probabilities."""
        settings, prompt = self._settings, request.prompt
        if not settings.echo:
            raise _cannot_score(
                "Use method generation or multiple_choice_joint; or set echo = true if its "
                "completions API repeats the prompt with log-probabilities (vLLM, SGLang)."
            )
        if not prompt[start:]:
            raise ClientError(
                "The given continuation is empty: there is nothing to score."
            )
        top_k = min(request.decoding.top_k_per_token, settings.max_top_logprobs)
        body = {
            "model": settings.model,
            "prompt": prompt,
            settings.max_tokens_name: 1,  # 0 means 'no limit' to some servers
            "temperature": 0.0,
            "logprobs": max(top_k, 1),
            "echo": True,
        }
        started, clock = time.time(), time.perf_counter()
        answer = self._ask({k: v for k, v in body.items() if k not in settings.omit})
        choice = answer.choices[0]
        steps = openai_reply.scored_steps(choice, prompt, start)
        if not steps:
            raise _cannot_score(
                "Its reply does not repeat the prompt token by token: set echo = false and "
                "use method generation or multiple_choice_joint."
            )
        if any(step.logprob is None for step in steps):
            raise _cannot_score(
                "It gives no log-probability for one of the tokens; the first token of an "
                "empty context never has one."
            )
        return structs.replace(
            openai_reply.scored(steps, choice, top_k),
            usage=structs.replace(answer.usage, completion_tokens=0),
            model_version=answer.model_version,
            started_at=started,
            duration_s=time.perf_counter() - clock,
        )

    def _ask(self, body: dict[str, Any]) -> Answer:
        path = {"chat": "chat/completions", "completions": "completions"}
        data = self._endpoint.post(path[self._settings.api], body)
        try:
            return without_key(openai_reply.read(data), self._secret)
        except (ValueError, OverflowError, msgspec.ValidationError) as error:
            raise RetriableError(
                f"Model {self._name!r}: the reply is no completion: "
                f"{self._endpoint.say(str(error))}.",
                "If this stays so, check the model's settings base_url and api.",
            ) from error

    def _body(self, request: Request, done: int) -> dict[str, Any]:
        """Return the call for what is left of a request's completions."""
        settings, decoding = self._settings, request.decoding
        left = decoding.num_completions - done
        body: dict[str, Any] = {
            "model": settings.model,
            settings.max_tokens_name: decoding.max_tokens,
            "temperature": decoding.temperature,
            "top_p": decoding.top_p,
        }
        if left > 1:
            body["n"] = left
        if stops := [s for s in decoding.stop_sequences if s]:
            body["stop"] = stops
        if decoding.temperature > 0.0 or decoding.random:
            body["seed"] = (_seed(request) + done) % _SEEDS
        top_k = max(min(decoding.top_k_per_token, settings.max_top_logprobs), 1)
        if settings.api == "chat":
            body["messages"] = _messages(request)
            body["logprobs"], body["top_logprobs"] = True, top_k
        else:
            body["prompt"], body["logprobs"] = request.prompt, top_k
        left_out = {*settings.omit}
        if "logprobs" in left_out:
            left_out.add("top_logprobs")
        return {k: v for k, v in body.items() if k not in left_out}


def _messages(request: Request) -> list[dict[str, Any]]:
    """Return the request's messages, or its prompt as one message of the user (HELM)."""
    if not request.messages:
        return [{"role": "user", "content": request.prompt}]
    return chat.as_sent(request.messages)


def _seed(request: Request) -> int:
    """Return the seed that `random` is, or one that follows from it and the prompt."""
    random = request.decoding.random
    if random.isascii() and random.isdecimal():
        return int(random) % _SEEDS
    text = f"{random}\0{chat.wording(request)}".encode("utf-8", "backslashreplace")
    return int.from_bytes(hashlib.sha256(text).digest()[:4], "big") % _SEEDS


def _ended(answer: Answer) -> Answer:
    """Return an answer to a call without stop sequences: 'stop' is the end of the text."""
    choices = tuple(
        structs.replace(c, finish_reason="endoftext")
        if c.finish_reason == "stop"
        else c
        for c in answer.choices
    )
    return structs.replace(answer, choices=choices)


def _cannot_score(hint: str) -> ClientError:
    return ClientError("this endpoint cannot score a given continuation", hint)


def _check_url(text: str) -> None:
    """Raise ValueError for a base_url that is none, or that holds a secret."""
    try:
        url = urlsplit(text)
        host, secret = url.hostname, url.username is not None or url.password
        _ = url.port
    except ValueError:
        raise ValueError("'base_url' is no address") from None
    fields = parse_qsl(url.query, keep_blank_values=True)
    if secret or any(name not in _QUERY for name, _ in fields):
        raise ValueError(
            "'base_url' must not hold a password or key; name the environment variable "
            "with the key in 'api_key_env'. Its query may hold only "
            f"{', '.join(sorted(_QUERY))}"
        )
    if url.scheme not in {"http", "https"} or not host or not text.isprintable():
        raise ValueError(
            "'base_url' must be an http:// or https:// address, such as http://127.0.0.1:8080/v1"
        )


def _changing(settings: OpenAISettings, base: str) -> dict[str, object]:
    """Return what can change a request or a reply; of the rare ones, what was set."""
    rare = {
        "max_request_length": settings.max_request_length,
        "max_top_logprobs": settings.max_top_logprobs,
        "max_tokens_name": settings.max_tokens_name,
        "omit": sorted(set(settings.omit)),
    }
    usual = {"max_top_logprobs": 5, "max_tokens_name": "max_tokens"}
    chosen = {k: v for k, v in rare.items() if v and v != usual.get(k)}
    return {"model": settings.model, "api": settings.api, "base_url": base, **chosen}
