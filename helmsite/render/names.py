"""File names and addresses: safe on every system, stable, relative."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING

from helmsite.errors import BuildError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from helmsite.query.rows import SourceFile

SAFE = re.compile(r"[A-Za-z0-9._-]{1,80}")
RESERVED = {
    *("con", "prn", "aux", "nul", "index", ""),
    *(f"{device}{n}" for device in ("com", "lpt") for n in range(10)),
}  # Windows takes these as devices, whatever follows a dot
HASHED = re.compile(r"-[0-9a-f]{8,}$", re.IGNORECASE)
DIGITS = 16


def digest(text: str, length: int = 8) -> str:
    """Return the first hex digits of a text's SHA-256."""
    raw = text.encode("utf-8", "surrogatepass")
    return hashlib.sha256(raw).hexdigest()[:length]


def slug(name: str) -> str:
    """Return a name of `[A-Za-z0-9._-]`, at most 80 characters, without a leading dot.

    Different names may share a slug: see `assign`.
    """
    return re.sub(r"[^A-Za-z0-9._]+", "-", name)[:80].strip("-.")


def assign(names: Iterable[str]) -> dict[str, str]:
    """Return a slug for each name; no two are equal, not even in another case.

    A name keeps its slug only if it is its own slug, no other name's in another case, no
    device of Windows, and does not end as a hash would; every other gets a hash, so that
    none depends on the others' order and none can be written to take another's place.

    Raises:
        BuildError: two names have one slug all the same.
    """
    known = sorted(set(names))
    count: dict[str, int] = {}
    for name in known:
        count[name.lower()] = count.get(name.lower(), 0) + 1
    found = {
        name: name if _keeps(name) and count[name.lower()] == 1 else hashed(name)
        for name in known
    }
    if len({short.lower() for short in found.values()}) < len(known):
        raise BuildError(
            "Two names would share an address of the site.", "Rename one of them."
        )
    return found


def hashed(name: str) -> str:
    """Return a readable beginning of a name and a hash of the whole."""
    readable = slug(name)[:60] or "x"
    if _is_device(readable):
        readable = readable.replace(".", "-")
    return f"{readable}-{digest(name, DIGITS)}"


def _is_device(name: str) -> bool:
    return name.lower().partition(".")[0] in RESERVED


def _keeps(name: str) -> bool:
    return name == slug(name) and not _is_device(name) and not HASHED.search(name)


def anchor(instance_id: str, perturbation: str = "") -> str:
    """Return the id of an instance's article: readable, the same in every build."""
    plain = not perturbation and SAFE.fullmatch(instance_id)
    if plain and not HASHED.search(instance_id):
        return f"i-{instance_id}"
    key = f"{instance_id}\0{perturbation}"
    readable = slug(f"{instance_id[:40]} {perturbation[:40]}")
    return f"i-{readable}-{digest(key, DIGITS)}"


class SiteMap:
    """Where each thing's page is, as a path from the site's root."""

    def __init__(
        self,
        groups: Iterable[str],
        scenarios: Iterable[str],
        models: Iterable[str],
        runs: Iterable[str],
        families: Iterable[str] = (),
        sources: Iterable[SourceFile] = (),
    ) -> None:
        self._groups = assign(groups)
        self._families = assign(families)
        self._scenarios = assign(scenarios)
        self._models = assign(models)
        self._runs = assign(runs)
        self._sources = _places(sources)

    def part(self, scenario: str, model: str, run: str) -> SiteMap:
        """Return a map of one run's page and of those that it leads to."""
        made = SiteMap((), (), (), ())
        for own, whole, name in (
            (made._scenarios, self._scenarios, scenario),
            (made._models, self._models, model),
            (made._runs, self._runs, run),
        ):
            own.update({name: whole[name]} if name in whole else {})
        return made

    def board(self, group: str, family: str) -> str:
        """Return a group's leaderboard of a family of metrics; '' if there is none."""
        known = self._groups.get(group), self._families.get(family)
        return f"groups/{known[0]}/{known[1]}.html" if all(known) else ""

    def scenario(self, name: str) -> str:
        """Return a scenario's page; '' if the site has none."""
        known = self._scenarios.get(name)
        return f"scenarios/{known}/index.html" if known else ""

    def model(self, name: str) -> str:
        """Return a model's page; '' if the site has none."""
        known = self._models.get(name)
        return f"models/{known}/index.html" if known else ""

    def run(self, run_id: str, page: int | None = None) -> str:
        """Return a run's page, or one of its pages of instances; '' if there is none."""
        known = self._runs.get(run_id)
        return f"runs/{known}/{page or 'index'}.html" if known else ""

    def source(self, name: str) -> str:
        """Return the page of a file of results without instances; '' if there is none.

        Args:
            name: its key, or the key with a hyphen and what names one of its lines.
        """
        key, _, entry = name.partition("-")
        known = self._sources.get(key)
        return f"{known}#{line_anchor(entry)}" if known and entry else known or ""

    def data(self, run_id: str) -> str:
        """Return the folder of a run's downloads."""
        return f"data/runs/{self._runs[run_id]}"


def _places(sources: Iterable[SourceFile]) -> dict[str, str]:
    """Return the page of each file, by its key: sources/<suite>/<batch>/<file>.html."""
    found = list(sources)
    suites = assign(s.suite for s in found)
    batches: dict[str, set[str]] = {}
    files: dict[tuple[str, str], set[str]] = {}
    for each in found:
        batches.setdefault(each.suite, set()).add(each.batch)
        files.setdefault((each.suite, each.batch), set()).add(each.file)
    named = {suite: assign(names) for suite, names in batches.items()}
    told = {key: assign(names) for key, names in files.items()}
    return {
        s.key: f"sources/{suites[s.suite]}/{named[s.suite][s.batch]}/"
        f"{told[s.suite, s.batch][s.file]}.html"
        for s in found
    }


def line_anchor(entry: str) -> str:
    """Return the id of a line on the page of a file of results without instances."""
    return f"v-{entry}"


def up(path: str) -> str:
    """Return the prefix that leads from a page to the site's root."""
    return "../" * path.count("/")


def link(path: str, target: str) -> str:
    """Return how the page at `path` reaches `target`; '' where there is no target."""
    return up(path) + target if target else ""
