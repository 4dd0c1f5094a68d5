"""Calls of an OpenAI-compatible endpoint: limits, errors in words, and a key kept secret."""

from __future__ import annotations

import ipaddress
import json
import logging
import math
import threading
import time
import weakref
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, cast

from helmsite.clients.settings import missing_package
from helmsite.errors import ClientError, RetriableError
from helmsite.schema import Record

if TYPE_CHECKING:
    from collections.abc import Callable

    import httpx

LONGEST_MESSAGE = 500
LARGEST_REPLY = 64 * 1024 * 1024
HIDDEN = "[API key]"
_OK, _REDIRECT, _CLIENT, _SERVER = 200, 300, 400, 500
_PASSING = {408, 425, 429}
SHORT_KEY = 12
_LONGEST_CONNECT_S = 30.0


class Place(Record, frozen=True):
    """Where an endpoint is and what its model's user calls things, for errors.

    `url` is shown, so it has no query; `query` begins with '?' or is ''.
    """

    model: str
    url: str
    query: str = ""
    key_variable: str = ""
    has_key: bool = False
    timeout_s: float = 600.0


class Endpoint:
    """One base address; `post` may be called from several threads."""

    def __init__(self, place: Place, key: str) -> None:
        try:
            import httpx
        except ImportError as error:
            command = "pip install 'helmsite[openai]'"
            raise missing_package("httpx", place.model, command) from error
        self._place = place
        self._httpx = httpx
        self._late_at = threading.local()
        self._redact = _redactor(key)
        self._redact_reply = _redactor(key if len(key) >= SHORT_KEY else "")
        headers = {"Content-Type": "application/json", "Accept-Encoding": "identity"}
        if key:
            headers["Authorization"] = f"Bearer {key}"
        logging.getLogger("httpx").setLevel(logging.WARNING)  # INFO shows queries
        self._client = httpx.Client(
            headers=headers,
            timeout=httpx.Timeout(
                place.timeout_s, connect=min(place.timeout_s, _LONGEST_CONNECT_S)
            ),
            follow_redirects=False,
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=64),
            trust_env=not is_loopback(httpx.URL(place.url).host),  # no proxy to oneself
        )
        self._finalizer = weakref.finalize(self, self._client.close)

    def close(self) -> None:
        """Close all connections; calling it twice is fine."""
        self._finalizer()

    def post(self, path: str, body: dict[str, Any]) -> Any:
        """Return the parsed JSON of a call that worked, without the key should it hold it.

        Raises:
            RetriableError: 429, 5xx, a lost connection, a timeout, a reply cut off.
            ClientError: every other refusal, a redirect, a reply that is too large.
        """
        if not self._finalizer.alive:
            raise ClientError(f"Model {self._place.model!r}: its client was closed.")
        self._late_at.time = time.monotonic() + self._place.timeout_s
        url = f"{self._place.url}/{path}{self._place.query}"
        try:
            with self._client.stream(
                "POST", url, content=json.dumps(body), extensions={"trace": self._watch}
            ) as reply:
                blob = self._read(reply)
        except self._httpx.TimeoutException as error:
            raise self._late() from error
        except self._httpx.RequestError as error:
            what = self.say(f"{error}") or type(error).__name__
            raise RetriableError(
                f"{self._where()}: the connection failed: {what}.",
                "Check base_url and that the server runs.",
            ) from error
        return self._checked(reply, blob, "n" in body)

    def say(self, text: str) -> str:
        """Return a text fit for an error: no key, no control characters, bounded."""
        shown = " ".join(clean(self._redact(text)).split())
        printable = "".join(c if c.isprintable() else "\ufffd" for c in shown)
        if len(printable) <= LONGEST_MESSAGE:
            return printable
        return printable[: LONGEST_MESSAGE - 1] + "…"

    def _where(self) -> str:
        return f"Model {self._place.model!r} at {self._place.url}"

    def _late(self) -> RetriableError:
        return RetriableError(
            f"{self._where()}: no complete answer within {self._place.timeout_s:g} s.",
            "Raise the model's setting timeout_s, or lower max_tokens.",
        )

    def _watch(self, event: str, info: dict[str, Any]) -> None:
        """Let no read of a new connection go on after its request's deadline.

        httpx itself limits each read alone: headers that drip would never end.
        """
        if not event.endswith((".connect_tcp.complete", ".start_tls.complete")):
            return
        stream = info["return_value"]
        read, late_at, late = stream.read, self._late_at, self._httpx.ReadTimeout

        def limited(max_bytes: int, timeout: float | None = None) -> bytes:
            left = late_at.time - time.monotonic()
            if left <= 0:
                raise late("the deadline has passed")
            return cast("bytes", read(max_bytes, min(left, timeout or left)))

        stream.read = limited

    def _read(self, reply: httpx.Response) -> bytes:
        """Return the body, read no further than the limit of size."""
        parts, size = [], 0
        for part in reply.iter_bytes():
            size += len(part)
            if size > LARGEST_REPLY:
                raise ClientError(
                    f"{self._where()}: the reply is larger than "
                    f"{LARGEST_REPLY // 1024**2} MB and was refused.",
                    "Check that base_url is the address of a model's API.",
                )
            parts.append(part)
        return b"".join(parts)

    def _checked(self, reply: httpx.Response, blob: bytes, several: bool) -> Any:
        code, text = reply.status_code, blob.decode("utf-8", "replace")
        if _OK <= code < _REDIRECT:
            data = self._parsed(text)
            self._refuse_error(data, several)
            return data
        message = self.say(_message(text)) or "no reason is given"
        where = f"{self._where()}: HTTP {code}"
        if code >= _SERVER or code in _PASSING:
            raise RetriableError(
                f"{where}: {message}", retry_after_s=retry_after(reply.headers)
            )
        if code < _CLIENT:
            to = self.say(reply.headers.get("location", "").split("?")[0])
            raise ClientError(
                f"{where}: redirects to {to or 'nowhere'}, which is not followed.",
                "Set the model's base_url to where the API is.",
            )
        raise ClientError(f"{where}: {message}", self._hint(code, several))

    def _parsed(self, text: str) -> Any:
        try:
            return _tidied(json.loads(text), self._redact_reply)
        except (ValueError, RecursionError) as error:
            raise RetriableError(
                f"{self._where()}: the reply is not valid JSON: {self.say(text[:2000])[:100]!r}.",
                "If this stays so, check that base_url is the address of a model's API.",
            ) from error

    def _refuse_error(self, data: Any, several: bool) -> None:
        """Raise what a reply reports that came as a success."""
        places = [data]
        if isinstance(data, dict) and isinstance(data.get("choices"), list):
            places += data["choices"]
        for place in places:
            error = place.get("error") if isinstance(place, dict) else None
            if error:
                code = _code(error)
                text = f"{self._where()}: {self.say(_message_of({'error': error}))}"
                if code >= _SERVER or code in _PASSING:
                    raise RetriableError(text)
                raise ClientError(text, self._hint(code, several))

    def _hint(self, code: int, several: bool) -> str:
        if code in {401, 403}:
            return self._key_hint()
        if code in {404, 405}:
            return "Check the model's settings base_url (it often ends in /v1), model and api."
        if code in {400, 422} and several:
            return "If it takes no 'n', set omit = [\"n\"]: completions are asked for one by one."
        if code in {400, 422}:
            return (
                "If it does not know a parameter, name it in the model's setting omit "
                "(seed, stop, temperature, top_p, logprobs, n)."
            )
        return ""

    def _key_hint(self) -> str:
        variable = self._place.key_variable
        if not variable:
            return "Name the variable that holds the key in the setting api_key_env."
        state = "is not accepted" if self._place.has_key else "is not set"
        return (
            f"The key is read from the environment variable {variable}, which {state}."
        )


def is_loopback(host: str) -> bool:
    """Return whether an address never leaves this machine."""
    try:
        return host.lower() == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def clean(text: str) -> str:
    r"""Return a text that UTF-8 can hold: half of a character is written `\udXXX`."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def retry_after(headers: httpx.Headers) -> float | None:
    """Return the seconds that Retry-After asks for, given as a number or as a date."""
    asked = headers.get("retry-after", "").strip()
    try:
        seconds = float(asked)
    except ValueError:
        at = _instant(asked)
        if at is None:
            return None
        now = _instant(headers.get("date", ""))  # the server's own clock, if it says so
        seconds = at - (time.time() if now is None else now)
    return max(seconds, 0.0) if math.isfinite(seconds) else None


def _instant(date: str) -> float | None:
    try:
        return parsedate_to_datetime(date).timestamp()
    except (ValueError, OverflowError):
        return None


def _redactor(key: str) -> Callable[[str], str]:
    return (lambda text: text.replace(key, HIDDEN)) if key else (lambda text: text)


def _tidied(data: Any, redact: Callable[[str], str]) -> Any:
    """Return JSON that an archive can hold: no half characters, no NaN, and no key."""
    if isinstance(data, str):
        return clean(redact(data))
    if isinstance(data, float):
        return data if math.isfinite(data) else None
    if isinstance(data, list):
        return [_tidied(each, redact) for each in data]
    if isinstance(data, dict):
        return {clean(redact(k)): _tidied(v, redact) for k, v in data.items()}
    return data


def _code(error: Any) -> int:
    """Return the HTTP status that an error names, 0 if it names none."""
    code = error.get("code") if isinstance(error, dict) else None
    if isinstance(code, str) and code.isdecimal() and len(code) == len("429"):
        return int(code)
    if isinstance(code, int):
        return code
    kind = error.get("type") if isinstance(error, dict) else None
    passing = {"rate_limit_exceeded", "rate_limit_error", "server_error"}
    named = {each for each in (code, kind) if isinstance(each, str)}
    return _SERVER if named & passing else 0


def _message(text: str) -> str:
    """Return what an error's body says, whatever its shape."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return _message_of(data) or text


def _message_of(data: Any) -> str:
    for name in ("error", "message", "detail"):
        found = data.get(name) if isinstance(data, dict) else None
        if isinstance(found, dict):
            found = found.get("message") or found
        if found:
            return found if isinstance(found, str) else json.dumps(found)
    return ""
