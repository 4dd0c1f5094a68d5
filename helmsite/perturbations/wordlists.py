"""Word lists: those that come with helmsite, and those that everybody gets for himself.

`data/index.json` says of each list its file, source, licence and version. A list whose
licence does not allow it to be passed on is looked for in the user's folders.
"""

from __future__ import annotations

import hashlib
import os
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from helmsite.errors import ConfigError
from helmsite.schema import Record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    Find = Callable[[str], Path | None]

BUNDLED = Path(__file__).parent / "data"
FOLDER = "wordlists"
VARIABLE = "HELMSITE_WORDLISTS"
LARGEST = 64 * 2**20  # bytes; no list comes near it


class ListFacts(Record, frozen=True):
    """Where a word list comes from and how its file is laid out.

    `source` is the file's own address where it is `direct`, else a page about it.
    """

    file: str
    format: Literal["tsv", "json", "names", "folder"]
    what: str
    licence: str
    source: str
    version: str = ""
    shipped: bool = False
    direct: bool = False


INDEX: dict[str, ListFacts] = msgspec.json.decode(
    (BUNDLED / "index.json").read_bytes(), type=dict[str, ListFacts]
)


def places(
    roots: Sequence[Path] = (), environment: Mapping[str, str] = os.environ
) -> list[Path]:
    """Return the folders that are searched for lists, in order.

    They are the folder that HELMSITE_WORDLISTS names, `wordlists` in each data folder of
    the project, and `helmsite/data/wordlists` in the user's cache.
    """
    named = environment.get(VARIABLE)
    cache = environment.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return [
        *([Path(named)] if named else []),
        *(root / FOLDER for root in roots),
        Path(cache) / "helmsite" / "data" / FOLDER,
    ]


def find_in(folders: Iterable[Path]) -> Find:
    """Return a function that leads the name of a list's file to its place, or to None."""
    where = tuple(folders)

    def find(file: str) -> Path | None:
        found = (folder / file for folder in where)
        return next((path for path in found if path.exists()), None)

    return find


class WordLists:
    """All word lists, each read when it is first used.

    Args:
        find: leads a file's name (`person_names.txt`) to its place on this machine, or to
            None; without it the folders of `places()` are searched.
        put: where a hint tells the user to put a list that is missing.
    """

    def __init__(self, find: Find | None = None, put: Path | None = None) -> None:
        self._find = find or find_in(places())
        self._put = put or Path("data") / FOLDER
        self._read: dict[str, Any] = {}
        self._digests: dict[str, str] = {}

    def lacking(self, names: Iterable[str]) -> list[str]:
        """Return those of the named lists that are not here."""
        return [name for name in names if self._path(name) is None]

    def missing(self, names: Iterable[str]) -> list[str]:
        """Return, for each named list that is not here, where to get and to put it."""
        return [self._how_to_get(name) for name in self.lacking(names)]

    def digest(self, name: str) -> str:
        """Return the first 8 hex digits of a list's SHA-256.

        Of a folder it is taken over the names and digests of its files, sorted by name.
        """
        if name not in self._digests:
            self._digests[name] = _sha256(self._place(name)).hexdigest()[:8]
        return self._digests[name]

    def __getitem__(self, name: str) -> Any:
        """Return a list: rows of a table, an object, lines of names, or a folder's path.

        Raises:
            ConfigError: it is missing, or not laid out as it should be.
        """
        if name not in self._read:
            self._read[name] = _READERS[INDEX[name].format](self._place(name))
        return self._read[name]

    def _path(self, name: str) -> Path | None:
        facts = INDEX[name]
        if facts.shipped:
            return BUNDLED / facts.file
        return self._find(facts.file) or _installed(facts.file)

    def _place(self, name: str) -> Path:
        path = self._path(name)
        if path is None:
            raise ConfigError([self._how_to_get(name)], HINT)
        return path

    def _how_to_get(self, name: str) -> str:
        facts = INDEX[name]
        command = "`helmsite fetch` with the same suite or entry gets it. By hand: "
        return (
            f"The word list {facts.file} is not here. {command if facts.direct else ''}"
            f"Download it from {facts.source} and save it as {self._put / facts.file}. "
            f"It is {facts.what}. Licence: {facts.licence}. "
            f"Without it there is {_WITHOUT}."
        )


_WITHOUT = "data_augmentation=robustness"
HINT = (
    f"Or set {VARIABLE} to the folder that has the files, or go without: {_WITHOUT} and "
    "gender_pronouns_deterministic need no download."
)


def _installed(file: str) -> Path | None:
    """The data folder of an installed spaCy model, the only list that is a package."""
    spec = find_spec(file) if file == "en_core_web_sm" else None
    if spec is None or not spec.origin:
        return None
    found = sorted(Path(spec.origin).parent.glob(f"{file}-*"))
    return found[0] if found else None


def _bytes(path: Path) -> bytes:
    try:
        if path.stat().st_size > LARGEST:
            raise ConfigError([f"{path}: larger than {LARGEST >> 20} MiB."], _CHECK)
        return path.read_bytes()
    except OSError as error:
        reason = error.strerror or str(error)
        raise ConfigError([f"{path}: cannot be read: {reason}."], _CHECK) from error


_CHECK = "Is this the file that docs/perturbations.md describes? Download it again."


def _sha256(path: Path) -> hashlib._Hash:
    if not path.is_dir():
        return hashlib.sha256(_bytes(path))
    files = sorted(p for p in path.rglob("*") if p.is_file())
    whole = hashlib.sha256()
    for file in files:
        own = hashlib.sha256(_bytes(file)).hexdigest()
        whole.update(f"{own}  {file.relative_to(path).as_posix()}\n".encode())
    return whole


def _text(path: Path) -> str:
    try:
        return _bytes(path).decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        problem = f"{path}: not UTF-8 at byte {error.start}."
        raise ConfigError([problem], _CHECK) from error


def _rows(path: Path) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(line.split("\t")) for line in _text(path).splitlines())


def _object(path: Path) -> dict[str, tuple[str, ...]]:
    try:
        return msgspec.json.decode(_text(path), type=dict[str, tuple[str, ...]])
    except msgspec.DecodeError as error:
        raise ConfigError([f"{path}: {error}."], _CHECK) from error


class Name(Record, frozen=True):
    """A person's name in lower case, `first_name` or `last_name`, and what is known of it."""

    name: str
    kind: str
    categories: tuple[tuple[str, str], ...]


def _names(path: Path) -> tuple[Name, ...]:
    found = []
    for number, line in enumerate(_text(path).split("\n"), 1):
        name, *rest = line.split(",")
        if len(rest) % 2 == 0 and line.strip():
            problem = f"{path}, line {number}: {line[:60]!r} is not {INDEX['person_names'].what}."
            raise ConfigError([problem], _CHECK)
        if rest:
            pairs = zip(rest[1::2], rest[2::2], strict=True)
            found.append(Name(name.strip().lower(), rest[0], tuple(pairs)))
    return tuple(found)


def _folder(path: Path) -> Path:
    if not path.is_dir():
        raise ConfigError([f"{path}: is not a folder."], _CHECK)
    return path


_READERS: dict[str, Callable[[Path], Any]] = {
    "tsv": _rows,
    "json": _object,
    "names": _names,
    "folder": _folder,
}
