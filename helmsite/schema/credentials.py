"""How credentials look: the names of settings that hold them, and the forms of known keys.

Keys of known forms stand in a long run of letters, digits, `_` and `-`, which ordinary text
hardly has. So a text is scanned by finding its long runs, at the speed of memory, and only
they are held against the forms.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

SHORTEST = 20
LONG_VALUE = 20  # characters, from which letters alone are varied enough
NAMES = re.compile(
    r"(?:^|[_.-])(?:api_?key|key|keys|token|secret|secrets|password|passwd|passphrase"
    r"|pass|credential|credentials|connection_string|auth)(?:$|_(?:id|ring)$|_?\d+$)"
    r"|(?:key|token|secret|password|passwd)$"
    r"|(?:^|_)(?:secret|password|passwd|access_key|private_key|api_key)_",
    re.IGNORECASE,
)
_WORD = bytes(
    ord("w") if chr(code).isascii() and (chr(code).isalnum() or code in b"_-") else 32
    for code in range(256)
)
_LONG = b"w" * SHORTEST
_PEM = b"PRIVATE KEY-----"
_PEM_BLOCK = re.compile(
    rb"-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY-----(?:\s|\\[nr]|&#1[03];)*"
    rb"[A-Za-z0-9+/=:,\- \r\n\\]{64}"
)
_PLACEHOLDER = re.compile(
    rb"example|sample|dummy|placeholder|redacted|your[-_]?(?:api|key|token|own)"
    rb"|x{6}|1234567890|0123456789|abcdefgh|\*{3}",
    re.IGNORECASE,
)


class _Form(NamedTuple):
    """A kind of key: how it begins, how all of it looks, how varied it must be."""

    kind: str
    start: bytes
    pattern: re.Pattern[bytes]
    bits: float = 3.0


def _form(kind: str, start: str, rest: str, bits: float = 3.0) -> _Form:
    end = r"(?![A-Za-z0-9_-])"
    return _Form(kind, start.encode(), re.compile((start + rest + end).encode()), bits)


FORMS = (
    _form("an Anthropic key", "sk-ant-", r"[A-Za-z0-9_-]{24,200}"),
    _form("an OpenAI key", "sk-proj-", r"[A-Za-z0-9_-]{24,200}"),
    _form("an OpenAI key", "sk-svcacct-", r"[A-Za-z0-9_-]{24,200}"),
    _form("an OpenAI key", "sk-admin-", r"[A-Za-z0-9_-]{24,200}"),
    _form("an OpenRouter key", "sk-or-", r"v1-[0-9a-f]{32,128}"),
    _form("an API key", "sk-", r"(?=[A-Za-z]*[0-9])[A-Za-z0-9]{20,128}", 3.2),
    _form("a Stripe key", "sk_live_", r"[A-Za-z0-9]{16,128}"),
    _form("a Stripe key", "rk_live_", r"[A-Za-z0-9]{16,128}"),
    _form("a Hugging Face token", "hf_", r"[A-Za-z0-9]{30,64}", 3.5),
    _form("a GitHub token", "ghp_", r"[A-Za-z0-9]{30,255}"),
    _form("a GitHub token", "gho_", r"[A-Za-z0-9]{30,255}"),
    _form("a GitHub token", "ghu_", r"[A-Za-z0-9]{30,255}"),
    _form("a GitHub token", "ghs_", r"[A-Za-z0-9]{30,255}"),
    _form("a GitHub token", "ghr_", r"[A-Za-z0-9]{30,255}"),
    _form("a GitHub token", "github_pat_", r"[A-Za-z0-9_]{40,255}"),
    _form("a GitLab token", "glpat-", r"[A-Za-z0-9_-]{20,64}"),
    _form("an AWS access key", "AKIA", r"[A-Z2-7]{16}", 2.5),
    _form("an AWS access key", "ASIA", r"[A-Z2-7]{16}", 2.5),
    _form("a Google API key", "AIza", r"[A-Za-z0-9_-]{35}"),
    _form("a Google client secret", "GOCSPX-", r"[A-Za-z0-9_-]{20,64}"),
    _form("a Slack token", "xoxb-", r"[0-9]{6,}-[A-Za-z0-9-]{16,200}"),
    _form("a Slack token", "xoxp-", r"[0-9]{6,}-[A-Za-z0-9-]{16,200}"),
    _form("a Slack token", "xoxa-", r"[A-Za-z0-9-]{24,200}"),
    _form("a Slack token", "xoxs-", r"[A-Za-z0-9-]{24,200}"),
    _form("a Slack token", "xapp-", r"[0-9]-[A-Za-z0-9-]{24,200}"),
    _form("a Groq key", "gsk_", r"[A-Za-z0-9]{40,64}"),
    _form("an xAI key", "xai-", r"[A-Za-z0-9]{60,100}"),
    _form("an NVIDIA key", "nvapi-", r"[A-Za-z0-9_-]{50,100}"),
    _form("a Perplexity key", "pplx-", r"[A-Za-z0-9]{40,64}"),
    _form("a Replicate token", "r8_", r"[A-Za-z0-9]{37}"),
    _form("a Databricks token", "dapi", r"[0-9a-f]{32}(?:-\d)?"),
    _form("a PyPI token", "pypi-", r"AgEI[A-Za-z0-9_-]{50,400}"),
    _form("an npm token", "npm_", r"[A-Za-z0-9]{36}"),
    _form(
        "a signed token (JWT)",
        "eyJ",
        r"[A-Za-z0-9_-]{12,4000}\.eyJ[A-Za-z0-9_-]{12,8000}\.[A-Za-z0-9_-]{20,1000}",
        4.0,
    ),
)
_STARTS = tuple(sorted({form.start for form in FORMS}))
# What may stand before a key in the same run: MY_KEY_, --, or the rest of an escape, as
# in \nsk-, \u003csk-, %3Dsk- and a terminal's [0msk-.
_ESCAPE = re.compile(
    rb"(?<=\\)(?:[nrtbf]|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2})|(?<=%)[0-9a-fA-F]{2}"
    rb"|(?<=[\[;])[0-9]{1,3}m"
)
_INSIDE = re.compile(rb"[_-](?=" + b"|".join(map(re.escape, _STARTS)) + rb")")


def is_varied(value: str) -> bool:
    """Return whether a text is long and varied enough to be looked for everywhere.

    `test`, `changeme` and `/home/me/key.json` are not: they would be found in any page.
    """
    value = value.strip()
    if len(value) < 8 or len(set(value)) < 6 or _is_place(value):
        return False
    kinds = sum(
        any(test(c) for c in value)
        for test in (str.islower, str.isupper, str.isdigit, _is_sign)
    )
    many = 2 if len(value) < LONG_VALUE else 1
    return kinds >= many and _bits(value.encode("utf-8", "surrogatepass")) >= 2.5


def _is_sign(character: str) -> bool:
    return not character.isalnum() and character != " "


def _is_place(value: str) -> bool:
    """Return whether a value is a path or an address without a password in it."""
    is_path = value.startswith(("/", "~/", "./", "../")) and "." in value
    is_url = re.fullmatch(r"[a-z][a-z0-9+.-]*://[^@\s]*", value) is not None
    return is_path or (is_url and "?" not in value)


def keys(raw: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield each text in the form of a known key, with its kind."""
    runs = raw.translate(_WORD)
    at = runs.find(_LONG)
    while at >= 0:
        end = runs.find(b" ", at)
        stop = end if end >= 0 else len(raw)
        escape = _ESCAPE.match(raw, at, stop)
        yield from _form_at(raw, escape.end() if escape else at)
        for match in _INSIDE.finditer(raw, at, stop):
            yield from _form_at(raw, match.end())
        at = runs.find(_LONG, end) if end >= 0 else -1
    if _PEM in raw:
        for match in _PEM_BLOCK.finditer(raw):
            body = match[0].partition(_PEM)[2]
            if _bits(body) >= 3.5 and not _PLACEHOLDER.search(body):
                yield "a private key", match[0]


def _form_at(raw: bytes, begin: int) -> Iterator[tuple[str, bytes]]:
    if not raw.startswith(_STARTS, begin):
        return
    for form in FORMS:
        match = (
            form.pattern.match(raw, begin)
            if raw.startswith(form.start, begin)
            else None
        )
        if match is None:
            continue
        body = match[0][len(form.start) :]
        if _bits(body) >= form.bits and not _PLACEHOLDER.search(match[0]):
            yield form.kind, match[0]
        return


def _bits(text: bytes) -> float:
    """Return the entropy of a text's characters, in bits per character."""
    counts = [text.count(byte) for byte in set(text)]
    return (
        -sum(n / len(text) * math.log2(n / len(text)) for n in counts) if text else 0.0
    )
