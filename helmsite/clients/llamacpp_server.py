"""A llama.cpp server inside this process, and the few calls that a client makes.

xllamacpp runs the model in threads of this process. Tokenising and the native
completion reply, which alone names each generated token, are offered on a port of the
loopback interface only, so that is where they are asked; a random key keeps others out.
"""

from __future__ import annotations

import http.client
import json
import secrets
import weakref
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

import msgspec

from helmsite.errors import ClientError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_PATIENCE_S = 3600.0
_SILENT = -1
_OFF = 0  # flash attention pays only in batches larger than the cache's parts


class ServerSettings(msgspec.Struct, frozen=True):
    """What the server is started with."""

    n_ctx: int
    n_threads: int
    n_gpu_layers: int
    n_ubatch: int


class Token(msgspec.Struct, frozen=True):
    """One alternative as llama.cpp writes it."""

    id: int
    bytes: tuple[int, ...]
    logprob: float


class Position(Token, frozen=True):
    """A generated token with its alternatives, best first."""

    top_logprobs: tuple[Token, ...] = ()


class NativeReply(msgspec.Struct, frozen=True):
    """The fields of a native completion that are asked for."""

    content: str
    tokens: tuple[int, ...]
    stop_type: str
    tokens_evaluated: int
    tokens_predicted: int
    cached: int = msgspec.field(name="timings/cache_n", default=0)
    completion_probabilities: tuple[Position, ...] = ()


FIELDS = [f.encode_name for f in msgspec.structs.fields(NativeReply)]


class Server:
    """One loaded model."""

    def __init__(self, path: Path, settings: ServerSettings) -> None:
        import xllamacpp

        self._key = secrets.token_hex(16)
        params = xllamacpp.CommonParams()
        params.model.path = str(path)
        params.n_ctx = settings.n_ctx
        params.n_parallel = 1
        params.n_gpu_layers = settings.n_gpu_layers
        params.n_ubatch = settings.n_ubatch
        params.flash_attn_type = xllamacpp.llama_flash_attn_type(_OFF)
        params.swa_full = True  # else a sliding-window model cannot reuse a prefix
        params.cpuparams.n_threads = settings.n_threads
        params.cpuparams_batch.n_threads = settings.n_threads
        params.cpuparams.poll = 0  # spinning threads are 20 times slower on busy cores
        params.cpuparams_batch.poll = 0
        params.verbosity = _SILENT
        params.hostnames = ["127.0.0.1"]
        params.api_keys = [self._key]
        params.ui = params.endpoint_slots = params.fit_params = False
        params.cache_ram_mib = params.n_ctx_checkpoints = 0
        self._server: Any = xllamacpp.Server(params)
        self._address = self._server.listening_address.removeprefix("http://")
        self._idle: SimpleQueue[http.client.HTTPConnection] = SimpleQueue()
        self._drain = weakref.finalize(self, _drain, self._idle)
        self.version = xllamacpp.__version__
        self.props = self.call("GET", "/props")
        self.meta = self.call("GET", "/v1/models")["data"][0]["meta"]

    def call(self, method: str, path: str, body: object = None) -> Any:
        """Return the parsed JSON answer of one call.

        Raises:
            ClientError: the server refuses the call or is gone.
        """
        data = self._send(method, path, json.dumps(body))
        answer = msgspec.json.decode(data)
        if isinstance(answer, dict) and "error" in answer:
            raise ClientError(f"llama.cpp: {answer['error'].get('message', answer)}.")
        return answer

    def complete(self, body: dict[str, Any]) -> NativeReply:
        """Return a native completion."""
        asked = {"return_tokens": True, "response_fields": FIELDS, **body}
        return msgspec.convert(self.call("POST", "/completion", asked), NativeReply)

    def tokenize(self, text: str, *, parse_special: bool) -> list[tuple[int, bytes]]:
        """Return ids and bytes of a text's tokens, nothing added."""
        body = {
            "content": text,
            "add_special": False,
            "parse_special": parse_special,
            "with_pieces": True,
        }
        pairs = self.call("POST", "/tokenize", body)["tokens"]
        return [
            (p["id"], bytes(x) if isinstance(x := p["piece"], list) else x.encode())
            for p in pairs
        ]

    def prefix(self) -> list[int]:
        """Return what the model's own rules put before every text ([] or [BOS])."""
        body = {"content": "", "add_special": True}
        added = self.call("POST", "/tokenize", body)["tokens"]
        return added[:1] if added[:1] == self.special("bos_token") else []

    def special(self, name: str) -> list[int]:
        """Return the id of `bos_token` or `eos_token`, [] if the model has none."""
        text = self.props.get(name) or ""
        ids = [i for i, _ in self.tokenize(text, parse_special=True)] if text else []
        return ids if len(ids) == 1 else []

    def detokenize(self, ids: Sequence[int]) -> str:
        """Return the text of token ids, special tokens written out."""
        content = self.call("POST", "/detokenize", {"tokens": list(ids)})["content"]
        return str(content)

    def _send(self, method: str, path: str, body: str) -> bytes:
        """Return the raw answer; an idle connection that went stale is replaced."""
        headers = {
            "Authorization": f"Bearer {self._key}",
            "Content-Type": "application/json",
        }
        while True:
            connection, fresh = self._connection()
            try:
                connection.request(method, path, body, headers)
                data = connection.getresponse().read()
            except (http.client.HTTPException, OSError) as error:
                connection.close()
                if fresh:
                    raise ClientError(
                        f"The model's server is gone: {error}."
                    ) from error
            else:
                self._idle.put(connection)
                return data

    def _connection(self) -> tuple[http.client.HTTPConnection, bool]:
        try:
            return self._idle.get_nowait(), False
        except Empty:
            new = http.client.HTTPConnection(self._address, timeout=_PATIENCE_S)
            return new, True

    def close(self) -> None:
        """Stop the server and free the model."""
        self._drain()
        self._server = None


def _drain(idle: SimpleQueue[http.client.HTTPConnection]) -> None:
    """Close all idle connections."""
    while not idle.empty():
        idle.get().close()
