"""Credentials in what is about to be published: named by kind, never shown.

Two things are looked for. The values of the environment's credentials (MY_LAB_API_KEY,
...) anywhere in a text, as it is and as HTML, JSON, scripts and addresses write it. And
texts in the form of well-known keys (`schema.credentials`).
"""

from __future__ import annotations

import hashlib
import html
import json
from typing import TYPE_CHECKING
from urllib.parse import quote

from helmsite.render.tokens import script_json
from helmsite.schema.credentials import NAMES, is_varied, keys

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

FINGERPRINT = 12


class Secrets:
    """Finds credentials in texts.

    Args:
        values: environment variables; those named and varied like a credential count.
        allowed: fingerprints of keys that may be published, as `find` names them.
        forms: whether keys of known forms are looked for too, which takes most of the time.
    """

    def __init__(
        self,
        values: Mapping[str, str],
        allowed: Iterable[str] = (),
        *,
        forms: bool = True,
    ) -> None:
        self._allowed, self._forms = frozenset(allowed), forms
        self._values = tuple(
            (f"the value of {name}", needle)
            for name, value in sorted(values.items())
            if NAMES.search(name) and is_varied(_line(value))
            for needle in _written(value)
        )

    def find(self, text: str | bytes) -> tuple[str, ...]:
        """Return what kinds of credentials a text holds, sorted; never a credential.

        A key of a known form comes with its fingerprint, by which it can be allowed.
        Bytes are read as UTF-8, and faster than str.
        """
        raw = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
        found = {what for what, needle in self._values if needle in raw}
        for kind, key in keys(raw) if self._forms else ():
            mark = hashlib.sha256(key).hexdigest()[:FINGERPRINT]
            if mark not in self._allowed:
                found.add(f"{kind} (fingerprint {mark})")
        return tuple(sorted(found))


def _line(value: str) -> str:
    """Return the longest line of a value: texts hold it however they end lines."""
    return max(value.strip().splitlines(), key=len, default="").strip()


def _written(value: str) -> Iterator[bytes]:
    """Yield the ways in which pages write a value; of many lines, the longest one."""
    line = _line(value)
    ways: tuple[Callable[[str], str], ...] = (
        str,
        html.escape,
        lambda text: html.escape(text).replace("&#x27;", "&#39;").replace("&quot;", "&#34;"),
        lambda text: json.dumps(text, ensure_ascii=False)[1:-1],
        lambda text: json.dumps(text)[1:-1],
        lambda text: json.dumps(text, ensure_ascii=False)[1:-1].replace("<", "\\u003c"),
        lambda text: script_json(text)[1:-1],
        lambda text: quote(text, safe="", errors="surrogatepass"),
    )  # fmt: skip
    for way in dict.fromkeys(way(line) for way in ways):
        yield way.encode("utf-8", "surrogatepass")
