"""Inspect: an evaluation log, `.eval` or `.json`, is a run.

Logs of one task id are attempts at one run: of those that did not end well the newest
whole one takes the place.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from helmsite.errors import SourceError
from helmsite.importers.found import Aggregates, Found, Imported
from helmsite.importers.inspect_log import replies, spec
from helmsite.importers.inspect_log.files import (
    Head,
    open_log,
    packed_head,
    plain_head,
)
from helmsite.importers.inspect_log.run import SUCCESS, Reader
from helmsite.importers.values import Row, plain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from helmsite.importers.found import Notes
    from helmsite.importers.tree import File, Tree


@dataclass
class _Candidate:
    """A log that was seen, before it is known whether another one is of the same run."""

    file: File
    head: Head | SourceError
    key: str = ""
    when: float = 0.0


class InspectImporter:
    """Takes logs of Inspect."""

    title = "Inspect"

    def survey(self, tree: Tree, notes: Notes) -> Iterator[Found]:
        """Claim logs; of attempts at one run that failed only the newest log is kept."""
        by_key: dict[str, list[_Candidate]] = defaultdict(list)
        for file in tree.open():
            head = _head(tree, file)
            if head is None:
                if reason := _useless(tree, file):
                    tree.claim(file.path)
                    notes.skip(file.name, reason)
                continue
            tree.claim(file.path)
            one = _Candidate(file, head, file.name, file.changed)
            if isinstance(head, Head):
                with suppress(SourceError):
                    one.key = _key(head.eval)
                    one.when = _when(head) or file.changed
            by_key[one.key].append(one)
        for several in by_key.values():
            for each in _chosen(several, notes):
                yield _found(each)

    def read(self, found: Found, notes: Notes) -> Iterator[Imported | Aggregates]:
        """Yield the log's run, or its results if it holds no samples."""
        log = open_log(Path(found.files[0]))
        reader = Reader(log, notes)
        reader.load()
        if reader.instances:
            yield reader.imported(found.key)
            return
        aggregates = reader.aggregates()
        if not aggregates.results:
            raise log.header.place.error("it holds neither samples nor results")
        yield aggregates


def _head(tree: Tree, file: File) -> Head | SourceError | None:
    head = tree.head(file.path)
    packed = packed_head(file.path, head)
    if packed is not None:
        return packed
    return plain_head(file.path, tree.keys(file.path), head)


def _useless(tree: Tree, file: File) -> str:
    """Return why a file that Inspect writes beside logs is left out, '' if it is none."""
    keys = set(tree.keys(file.path))
    if {"eval_set_id", "tasks"} <= keys and file.name.endswith("eval-set.json"):
        return "the manifest of a set of evaluations; the logs say the same"
    logs = bool(keys) and all(key.endswith((".eval", ".json")) for key in keys)
    if logs and file.path.name in {"listing.json", "logs.json"}:
        return "a listing of logs; the logs say the same"
    if file.path.name == ".eval-set-id":
        return "the id of a set of evaluations"
    return ""


def _key(head: Row) -> str:
    """Return what all attempts at one run have in common."""
    if known := head.text("task_id", ""):
        return known
    parts = ("run_id", "task", "model", "created")
    return ":".join(head.text(part, "") for part in parts)


def _when(head: Head) -> float | None:
    return replies.moment(head.eval.get("created"), head.eval.at("created"))


def _chosen(several: list[_Candidate], notes: Notes) -> list[_Candidate]:
    """Return the logs of a run that count: no copies, no attempts that a later one ends."""
    if len(several) == 1:
        return several
    whole: dict[str, _Candidate] = {}
    for each in several:
        mark = _mark(each)
        if mark in whole:
            notes.skip(each.file.name, f"the same log as {whole[mark].file.name}")
        else:
            whole[mark] = each
    kept = sorted(whole.values(), key=lambda c: (c.when, c.file.name))
    status = {c.file.name: _status(c) for c in kept}
    best = [c for c in kept if status[c.file.name] == SUCCESS] or kept
    last = best[-1]
    for each in kept:
        if each is not last and status[each.file.name] != SUCCESS:
            notes.skip(
                each.file.name,
                f"an attempt that did not end well; {last.file.name} is a later one",
            )
    return [c for c in kept if c is last or status[c.file.name] == SUCCESS]


def _status(candidate: _Candidate) -> str:
    return candidate.head.status if isinstance(candidate.head, Head) else ""


def _mark(candidate: _Candidate) -> str:
    """Return what two copies of a log in different forms have in common."""
    try:
        header = open_log(candidate.file.path).header
        said = {k: header.get(k) for k in ("eval", "status", "results", "stats")}
        blob = msgspec.json.encode(plain(said), order="deterministic")
    except (SourceError, ValueError, RecursionError):
        return candidate.file.name
    return hashlib.sha256(blob).hexdigest()


def _found(candidate: _Candidate) -> Found:
    file, head = candidate.file, candidate.head
    model = scenario = ""
    number: int | None = None
    if isinstance(head, Head):
        with suppress(SourceError, RecursionError):
            model = spec.identity(head.eval).name
            scenario = spec.scenario(head.eval)
            dataset = head.eval.row("dataset", None)
            number = dataset.integer("samples", None) if dataset else None
            number = head.samples if number is None else number
    return Found(
        importer="inspect",
        key=candidate.key,
        files=(str(file.path),),
        names=(file.name,),
        title=f"{scenario or file.name}{f' by {model}' if model else ''}",
        model=model,
        scenario=scenario,
        instances=number,
        when=candidate.when,
    )


IMPORTER = InspectImporter()
