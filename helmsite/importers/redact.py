"""Secrets of whoever made the results: replaced before anything is archived.

Arguments, environments and messages of errors are searched for keys of known forms, values
of settings that are named like a credential, passwords in addresses, and home folders. What
a model was asked and what it answered is left as it is.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from helmsite.schema.credentials import NAMES, is_varied, keys

if TYPE_CHECKING:
    from collections import Counter

SHOWN = "[removed]"
_HOME = re.compile(
    r"(?<![\w.~-])(?:/(?:home|Users)/(?!(?:runner|user|root)\b)[^/\s\"':,;<>|]+"
    r"|/root(?=/|$)|[A-Za-z]:\\Users\\[^\\\s\"':,;<>|]+)"
)
_PASSWORD = re.compile(r"(?<=://)[^/\s:@]*:[^/\s@]+(?=@)")
_SPECIAL = re.compile(
    r"(?:bos|eos|pad|unk|sep|cls|mask|eot|stop|start|end|prefix|image|special)_?tokens?$",
    re.IGNORECASE,
)
_NAMED = re.compile(
    r"(?<![\w.-])(?P<option>-*)(?P<name>\w[\w.-]*)(?P<sign>['\"]?\s*[=:]\s*['\"]?|\s+)"
)
_VALUE, _BEGINNING = re.compile(r"[^\s,;'\"]+"), re.compile(r"[^\s,;'\"]{1,1000}")


def settings(found: Any, hidden: Counter[str], name: str = "") -> Any:
    """Return data in which secrets are replaced; `hidden` counts them by kind."""
    if isinstance(found, dict):
        return {k: settings(v, hidden, str(k)) for k, v in found.items()}
    if isinstance(found, (list, tuple)):
        return type(found)(settings(each, hidden, name) for each in found)
    if isinstance(found, str):
        return text(found, hidden, name)
    return found


def text(found: str, hidden: Counter[str], name: str = "") -> str:
    """Return a text in which secrets are replaced.

    Args:
        found: the text.
        hidden: counts what is replaced, by kind.
        name: the setting that it is the value of, if it is one.
    """
    if _is_named_secret(name, found):
        hidden["a credential"] += 1
        return SHOWN
    for kind, key in list(keys(found.encode("utf-8", "surrogatepass"))):
        hidden[kind] += 1
        found = found.replace(key.decode("utf-8", "surrogatepass"), SHOWN)
    if "=" in found or ":" in found or "--" in found:
        found = _assigned(found, hidden)
    if "://" in found:
        found, count = _PASSWORD.subn(SHOWN, found)
        hidden["a password in an address"] += count
    found, count = _HOME.subn("~", found)
    hidden["a home folder"] += count
    for empty in [kind for kind, n in hidden.items() if not n]:
        del hidden[empty]
    return found


def _assigned(found: str, hidden: Counter[str]) -> str:
    """Replace values whose names say that they are secrets: `x: token=...` has one."""
    parts, done = [], 0
    for match in _NAMED.finditer(found):
        if match.start() < done or not NAMES.search(match["name"]):
            continue
        if match["sign"].isspace() and not match["option"]:
            continue  # a sentence, not an argument
        value = _BEGINNING.match(found, match.end())
        if value is None or value[0] == SHOWN:
            continue
        if _is_named_secret(match["name"], value[0]):
            hidden["a credential"] += 1
            parts += [found[done : value.start()], SHOWN]
            whole = _VALUE.match(found, match.end())
            done = whole.end() if whole else value.end()
    return "".join([*parts, found[done:]])


def _is_named_secret(name: str, value: str) -> bool:
    """Return whether a setting's name says that it is a secret; special tokens are none."""
    is_named = NAMES.search(name) and not _SPECIAL.search(name)
    return bool(is_named) and is_varied(value)
