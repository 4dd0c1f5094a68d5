"""Result files of HELMET, item by item: those of long prompts have hundreds of megabytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from helmsite.importers import reading
from helmsite.importers.values import Place, Row

if TYPE_CHECKING:
    from pathlib import Path

DOCUMENTS = ("ctxs", "docs", "sources")
MOST, SHOWN = 100_000, 200
"""Characters of an item's documents that are kept whole, and of each where they are more."""
DATA = "data"


def load(path: Path) -> tuple[Row, int]:
    """Return a result, and of how many items the documents were cut.

    Raises:
        SourceError: it cannot be read, or is no JSON object.
    """
    found, raw = _apart(path)
    if raw is None:
        whole = Row(found, Place(str(path)))
        return whole, sum(_cut(each) for each in whole.items(DATA, []))
    cut, items = 0, []
    for each in raw:
        item = reading.value(bytes(each), str(path))
        cut += _cut(item)
        items.append(item)
    found[DATA] = items
    return Row(found, Place(str(path))), cut


def without_items(path: Path) -> Row:
    """Return a result without its items.

    Raises:
        SourceError: it cannot be read, or is no JSON object.
    """
    return Row(_apart(path)[0], Place(str(path)))


def _apart(path: Path) -> tuple[Any, list[msgspec.Raw] | None]:
    """Return all but the items, and those as they stand; None if they are in it."""
    blob = reading.blob(path)
    try:
        parts = msgspec.json.decode(blob, type=dict[str, msgspec.Raw])
        raw = None
        if DATA in parts:
            raw = msgspec.json.decode(parts.pop(DATA), type=list[msgspec.Raw])
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return reading.value(blob, str(path)), None
    return {k: reading.value(bytes(v), str(path)) for k, v in parts.items()}, raw


def _cut(item: Any) -> bool:
    """Cut an item's documents to their beginnings if they are long; return whether."""
    if not isinstance(item, dict):
        return False
    documents = {k: item[k] for k in DOCUMENTS if k in item}
    if _length(documents) <= MOST:
        return False
    item |= {k: _beginnings(v) for k, v in documents.items()}
    return True


def _length(found: Any) -> int:
    if isinstance(found, str):
        return len(found)
    inner = found.values() if isinstance(found, dict) else found
    return sum(map(_length, inner)) if isinstance(found, (dict, list)) else 8


def _beginnings(found: Any) -> Any:
    if isinstance(found, str) and len(found) > SHOWN:
        return {"begins": found[:SHOWN], "characters": len(found)}
    if isinstance(found, list):
        return [_beginnings(each) for each in found]
    if isinstance(found, dict):
        return {k: _beginnings(v) for k, v in found.items()}
    return found
