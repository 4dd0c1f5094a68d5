"""One answer of a server: redirects followed with care, faults told apart."""

from __future__ import annotations

import http.client
import ipaddress
import os
import socket
import ssl
import urllib.error
import urllib.request
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from helmsite import __version__
from helmsite.fetching.errors import AddressError, PassingError
from helmsite.fetching.hub import endpoint

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

TIMEOUT = 30.0
"""Seconds that a server may be silent."""
PASSING = {408, 425, 429, 500, 502, 503, 504}
AGENT = f"helmsite/{__version__}"
LONGEST_WAIT = 60.0
SCHEMES = ("http", "https")


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows redirects between web addresses; a token stays with its own host."""

    def redirect_request(
        self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        old, new = urlsplit(req.full_url), urlsplit(newurl)
        check(newurl)
        if old.scheme == "https" and new.scheme == "http":
            raise AddressError("leads from https to http, which is not followed")
        made = super().redirect_request(req, fp, code, msg, headers, newurl)
        if made is not None and (old.scheme, old.netloc) != (new.scheme, new.netloc):
            made.remove_header("Authorization")
        return made


@contextmanager
def answer(
    url: str, headers: Mapping[str, str], timeout: float = TIMEOUT
) -> Iterator[http.client.HTTPResponse]:
    """Open an address; a server's refusal is an error of one of two kinds.

    Raises:
        AddressError: it will not answer otherwise if it is asked again.
        PassingError: it may answer later.
    """
    check(url)
    request = urllib.request.Request(  # noqa: S310 - `check` allows http and https only
        url,
        headers={
            "User-Agent": AGENT,
            "Accept-Encoding": "identity",
            **authorization(url),
            **headers,
        },
    )
    opener = urllib.request.build_opener(_Redirects)
    try:
        with opener.open(request, timeout=timeout) as response:
            yield response
    except urllib.error.HTTPError as error:
        with error:
            _refused(error)
    except urllib.error.URLError as error:
        _unreachable(error.reason)
    except (TimeoutError, ConnectionError, http.client.HTTPException) as error:
        raise PassingError(_said(error)) from error


def authorization(url: str) -> dict[str, str]:
    """Return the header with the hub's token, for addresses of the hub alone.

    The token stands in the environment (HF_TOKEN) and goes nowhere else.
    """
    token = os.environ.get("HF_TOKEN", "").strip()
    own, hub = urlsplit(url), urlsplit(endpoint())
    same = (own.scheme, own.netloc) == (hub.scheme, hub.netloc)
    return {"Authorization": f"Bearer {token}"} if token and same else {}


def check(url: str) -> None:
    """Refuse what is no web address, and machines that only serve their own network.

    Raises:
        AddressError: says which.
    """
    parts = urlsplit(url)
    if parts.scheme not in SCHEMES or not parts.hostname:
        raise AddressError("is no http or https address")
    if parts.username or parts.password:
        raise AddressError("has a password in it")
    try:
        address = ipaddress.ip_address(parts.hostname)
    except ValueError:
        return
    if address.is_link_local or address.is_unspecified or address.is_multicast:
        raise AddressError("is an address of this network's own machinery")


def _refused(error: urllib.error.HTTPError) -> None:
    text = f"answers {error.code} {error.reason}".rstrip()
    if error.code in PASSING:
        raise PassingError(text, _after(error.headers.get("Retry-After"))) from error
    if error.code in (401, 403):
        text += "; it wants a licence accepted or an HF_TOKEN in the environment"
    raise AddressError(text) from error


def _unreachable(reason: object) -> None:
    if isinstance(reason, ssl.SSLCertVerificationError):
        raise AddressError(f"has no valid certificate: {reason.verify_message}")
    if isinstance(reason, socket.gaierror):
        raise AddressError("its host is not known or this machine is offline")
    raise PassingError(_said(reason))


def _said(reason: object) -> str:
    if isinstance(reason, TimeoutError):
        return "does not answer in time"
    text = getattr(reason, "strerror", None) or str(reason) or type(reason).__name__
    return f"the connection failed: {text}"


def _after(text: str | None) -> float | None:
    try:
        return min(float(text or ""), LONGEST_WAIT)
    except ValueError:
        return None
