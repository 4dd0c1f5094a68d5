"""Names of files and ids, the same whenever a run is exported."""

from __future__ import annotations

import hashlib
import re
import uuid
from typing import TYPE_CHECKING, NamedTuple

from helmsite.errors import ConfigError
from helmsite.schema import parse_entry

if TYPE_CHECKING:
    from helmsite.schema import Manifest

LONGEST = 120  # bytes of a folder's name
UNSAID = "unspecified"
_FORBIDDEN = re.compile(r'[<>:"/\\|?*\x00-\x1f\x7f]')
_RESERVED = {
    *("CON", "PRN", "AUX", "NUL"),
    *(f"{port}{n}" for port in ("COM", "LPT") for n in range(1, 10)),
}


class Place(NamedTuple):
    """Where an evaluation stands below `data/`, and its file's name."""

    benchmark: str
    developer: str
    model: str
    name: str

    @property
    def folder(self) -> str:
        """The folder, from the one that holds `data`."""
        return f"data/{self.benchmark}/{self.developer}/{self.model}"

    @property
    def aggregate(self) -> str:
        """The aggregate file."""
        return f"{self.folder}/{self.name}.json"

    @property
    def samples(self) -> str:
        """The file of samples."""
        return f"{self.folder}/{self.name}_samples.jsonl"


def place(manifest: Manifest) -> Place:
    """Return where a run's files stand: by its scenario, its model and its run_id."""
    parts = [part for part in manifest.spec.model.name.split("/") if part]
    developer, rest = (parts[0], parts[1:]) if len(parts) > 1 else ("", parts)
    return Place(
        component(benchmark(manifest)),
        component(developer or developer_of(manifest)),
        component("_".join(rest)),
        file_name(manifest.run_id),
    )


def benchmark(manifest: Manifest) -> str:
    """Return the name of a run's scenario without its parameters."""
    name = manifest.spec.scenario
    try:
        return parse_entry(name)[0] or name
    except ConfigError:
        return name


def developer_of(manifest: Manifest) -> str:
    """Return who made a model, as its name or card says."""
    owner, slash, _ = manifest.spec.model.name.partition("/")
    return (owner if slash else "") or manifest.card.creator or UNSAID


def file_name(run_id: str) -> str:
    """Return a run's UUID. The format wants version 4, so it is made of a hash's bits."""
    digest = hashlib.sha256(f"helmsite:every_eval_ever:{run_id}".encode()).digest()
    return str(uuid.UUID(bytes=digest[:16], version=4))


def component(name: str) -> str:
    """Return a name as the folder of that name is called on every system."""
    safe = _FORBIDDEN.sub("_", name).strip().rstrip(". ")
    if safe.split(".", 1)[0].upper() in _RESERVED or safe in {"data", "unknown"}:
        safe = f"_{safe}"
    raw = safe.encode("utf-8")
    if len(raw) > LONGEST:
        mark = hashlib.sha256(name.encode("utf-8")).hexdigest()[:16]
        safe = f"{raw[: LONGEST - 17].decode('utf-8', 'ignore')}~{mark}"
    return safe or UNSAID
