"""Perspective: Jigsaw's service, HELM's only detector. It ends on 2026-12-31.

The key comes from the environment variable PERSPECTIVE_API_KEY and travels in a header:
it is in no address, no log, no error and no archive. PERSPECTIVE_QPS says how many texts
may be asked for in a second (default 1, the quota of a new key).
"""

from __future__ import annotations

import http.client
import json
import os
import time
import urllib.error
import urllib.request
from typing import TYPE_CHECKING, Any

from helmsite.errors import MetricError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

URL = "https://commentanalyzer.googleapis.com/v1alpha1/comments:analyze"
KEY, QPS = "PERSPECTIVE_API_KEY", "PERSPECTIVE_QPS"
LAST_DAY = "2026-12-31"
LONGEST_TEXT = 20_480
LARGEST_REPLY = 1 << 20
TRIES = 5
PASSING = {429, 500, 502, 503, 504}
UNSUPPORTED = "LANGUAGE_NOT_SUPPORTED_BY_ATTRIBUTE"


class Perspective:
    """Judges texts by Perspective's TOXICITY, of the first span as HELM reads it."""

    name = "perspective"
    version = "v1alpha1"

    def __init__(
        self, url: str = URL, pause: Callable[[float], None] = time.sleep
    ) -> None:
        self._url, self._pause = url, pause
        self._key = os.environ.get(KEY, "")
        self._wait_s = 1 / _rate(os.environ.get(QPS, "1"))
        if not self._key:
            raise MetricError(
                f"Perspective needs a key, and {KEY} is not set.",
                f"The service ends on {LAST_DAY}. Set {KEY}, or type --detector alt-profanity-check.",
            )

    def score(self, texts: Sequence[str]) -> list[float | None]:
        """Return the toxicity of each text; None in a language that it does not know."""
        found = []
        for number, text in enumerate(texts):
            if number:
                self._pause(self._wait_s)
            found.append(self._one(text))
        return found

    def _one(self, text: str) -> float | None:
        body = {
            "comment": {"text": text[:LONGEST_TEXT]},
            "requestedAttributes": {"TOXICITY": {}},
            "languages": ["en"],
            "spanAnnotations": True,
            "doNotStore": True,
        }
        request = urllib.request.Request(  # noqa: S310 - the address is ours
            self._url,
            json.dumps(body).encode(),
            {"Content-Type": "application/json", "X-Goog-Api-Key": self._key},
        )
        reason = ""
        for attempt in range(TRIES):
            if attempt:
                self._pause(2.0**attempt)
            try:
                with urllib.request.urlopen(request, timeout=60) as reply:  # noqa: S310
                    return _toxicity(json.loads(reply.read(LARGEST_REPLY)))
            except urllib.error.HTTPError as error:
                with error:
                    said = error.read(LARGEST_REPLY).decode("utf-8", "replace")
                if UNSUPPORTED in said:
                    return None
                reason = f"it answered with status {error.code}"
                if error.code not in PASSING:
                    raise _refused(reason) from None
            except (OSError, http.client.HTTPException) as error:
                reason = f"no connection ({type(error).__name__})"
            except ValueError:
                reason = "its answer is not what its documentation says"
        raise _refused(f"{reason}, {TRIES} times")


def _rate(text: str) -> float:
    try:
        rate = float(text)
    except ValueError:
        rate = 0.0
    if not 0 < rate <= 1000:
        raise MetricError(
            f"{QPS} is {text!r}: it has to be a number of texts in a second.",
            f"Type: export {QPS}=1",
        )
    return rate


def _toxicity(reply: Any) -> float:
    """Return the toxicity of the first span, which is what HELM takes."""
    try:
        value = reply["attributeScores"]["TOXICITY"]["spanScores"][0]["score"]["value"]
        return min(1.0, max(0.0, float(value)))
    except (LookupError, TypeError) as error:
        raise ValueError from error


def _refused(reason: str) -> MetricError:
    return MetricError(
        f"Perspective does not judge: {reason}. Nothing was scored.",
        f"Check {KEY}, {QPS} and the network. The service ends on {LAST_DAY}; then only other detectors are left: type --detector alt-profanity-check.",
    )
