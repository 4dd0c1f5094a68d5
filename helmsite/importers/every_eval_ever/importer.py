"""Results as Every Eval Ever keeps them: aggregates as JSON, samples as JSONL beside.

Layout: `data/<benchmark>/<developer>/<model>/<uuid>.json` and `<uuid>_samples.jsonl`. Files
are known by what is in them, and belong together by that name, by the path that the
aggregate tells, or else by the id of the evaluation.
"""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from helmsite.errors import SourceError
from helmsite.importers import naming, reading
from helmsite.importers.every_eval_ever.header import Header, header, seconds
from helmsite.importers.every_eval_ever.reading import DETAILS, INLINE, Reading
from helmsite.importers.every_eval_ever.results import results
from helmsite.importers.found import Found
from helmsite.importers.values import Place, Row
from helmsite.schema import ModelIdentity

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from helmsite.importers.found import Aggregates, Imported, Notes
    from helmsite.importers.tree import File, Tree

AGGREGATE = {
    *("evaluation_id", "evaluation_results", "model_info", "source_metadata"),
    *("eval_library", "retrieved_timestamp", "detailed_evaluation_results"),
}
SAMPLE = {
    *("sample_id", "evaluation_id", "interaction_type", "answer_attribution"),
    *("evaluation_name", "evaluation_result_id", "model_id", "sample_hash"),
}
LISTING = {"eval_schema_version", "object_path", "record_type"}
END = "_samples.jsonl"
NAME = "every_eval_ever"


class EveryEvalEver:
    """Reads what Every Eval Ever keeps."""

    title = "Every Eval Ever"

    def survey(self, tree: Tree, notes: Notes) -> Iterator[Found]:
        """Yield each aggregate file with its samples, and samples that have none."""
        aggregates: list[File] = []
        samples: dict[Path, File] = {}
        for file in tree.open():
            keys = set(tree.keys(file.path))
            if len(keys & SAMPLE) > 3 and "evaluation_results" not in keys:
                samples[file.path] = file
            elif len(keys & AGGREGATE) > 2:
                aggregates.append(file)
            elif keys >= LISTING:
                notes.skip(file.name, "a list of records, which holds no results")
            elif "$schema" in keys and b'"evaluation_id"' in tree.head(file.path):
                notes.skip(
                    file.name, "the format's JSON schema, which holds no results"
                )
            else:
                continue
            tree.claim(file.path)
        heads = {file.path: _head(file) for file in aggregates}
        for file, beside in _joined(aggregates, samples, heads):
            yield _found(file, beside, heads[file.path], notes)
        for file in sorted(samples.values()):
            yield _found(None, file, {}, notes)

    def read(self, found: Found, notes: Notes) -> Iterator[Imported | Aggregates]:
        """Yield a run for each scenario with samples; the other results are aggregates.

        Raises:
            SourceError: neither the aggregates nor the samples can be used.
        """
        files = dict(zip(found.names, map(Path, found.files), strict=True))
        aggregate, samples = found.options["aggregate"], found.options["samples"]
        row: Row | None = None
        told: Header | None = None
        if aggregate:
            try:
                row = Row(_json(files[aggregate], aggregate), Place(aggregate))
                told = header(row, found.key)
            except SourceError as error:
                if not samples:
                    raise
                notes.problem(error)
        if told is None:
            told = _header_of(files[samples], samples, found.key)
        work = Reading(told, found, notes)
        if row is not None:
            try:
                work.results = results(row, told, notes)
            except SourceError as error:
                if not samples and not row.get(INLINE):
                    raise
                notes.problem(error)
            work.inline(row)
        if samples:
            work.lines(files[samples], samples)
        if row is not None and samples:
            work.verify(row, files[samples])
        yield from work.made()


def _json(path: Path, name: str) -> Any:
    return reading.value(reading.blob(path), name)


def _head(file: File) -> dict[str, Any]:
    """Return an aggregate file's object; {} if it cannot be read, which `read` says."""
    try:
        value = _json(file.path, file.name)
    except SourceError:
        return {}
    return value if isinstance(value, dict) else {}


def _first(path: Path, name: str) -> dict[str, Any]:
    """Return the first line of a samples file that is an object."""
    for _, value in reading.json_lines(path):
        if isinstance(value, dict):
            return value
    raise SourceError(name, "no line of it can be read")


def _joined(
    aggregates: list[File],
    samples: dict[Path, File],
    heads: Mapping[Path, dict[str, Any]],
) -> Iterator[tuple[File, File | None]]:
    """Yield aggregate files with their samples, which are taken out of `samples`."""
    waiting = []
    for file in aggregates:
        beside = file.path.with_name(f"{file.path.stem}{END}")
        if beside in samples:
            yield file, samples.pop(beside)
        else:
            waiting.append(file)
    by_id: dict[str, list[Path]] = {}
    for path, file in samples.items():
        try:
            said = _first(path, file.name).get("evaluation_id")
        except SourceError:
            continue
        by_id.setdefault(str(said), []).append(path)
    for file in waiting:
        head = heads[file.path]
        named = [p for p in samples if p.name == _told_name(head)]
        same = [
            p for p in by_id.get(str(head.get("evaluation_id")), ()) if p in samples
        ]
        found = (named if len(named) == 1 else None) or same
        yield file, samples.pop(found[0]) if len(found) == 1 else None


def _told_name(head: Mapping[str, Any]) -> str:
    """Return the file name of the samples, as an aggregate file tells it."""
    details = head.get(DETAILS)
    path = details.get("file_path") if isinstance(details, dict) else None
    return PurePosixPath(path).name if isinstance(path, str) else ""


def _found(
    file: File | None, samples: File | None, head: dict[str, Any], notes: Notes
) -> Found:
    there = [each for each in (file, samples) if each is not None]
    if file is None and samples is not None:
        try:
            head = _first(samples.path, samples.name)
        except SourceError:
            head = {}
    missing = _told_name(head)
    if file and missing and samples is None and not head.get(INLINE):
        why = (
            f"{file.name} names it, but it is not there: its aggregates are taken alone"
        )
        notes.skip(missing, why)
    info = head.get("model_info")
    info = info if isinstance(info, dict) else {}
    model = str(info.get("id") or info.get("name") or head.get("model_id") or "")
    key = head.get("evaluation_id")
    stem = there[0].path.name.removesuffix(END).removesuffix(".json")
    results = head.get("evaluation_results")
    names = [r.get("evaluation_name") for r in _objects(results)]
    scenario = str((names or [head.get("evaluation_name")])[0] or "")
    when = seconds(head.get("retrieved_timestamp"))
    return Found(
        importer=NAME,
        key=key if isinstance(key, str) and key else stem,
        files=tuple(str(each.path) for each in there),
        names=tuple(each.name for each in there),
        title=f"{model} · {scenario}",
        model=model,
        scenario=scenario,
        instances=_count(head) if samples else None,
        when=when if when is not None else max(each.changed for each in there),
        options={
            "aggregate": file.name if file else "",
            "samples": samples.name if samples else "",
        },
    )


def _objects(found: Any) -> list[dict[str, Any]]:
    return [r for r in found if isinstance(r, dict)] if isinstance(found, list) else []


def _count(head: Mapping[str, Any]) -> int | None:
    """Return how many samples a file says that there are."""
    for result in _objects(head.get("evaluation_results")):
        source = result.get("source_data")
        ids = source.get("sample_ids") if isinstance(source, dict) else None
        if isinstance(ids, list):
            return len(ids)
    return None


def _header_of(path: Path, name: str, key: str) -> Header:
    """Return what samples say of their evaluation, whose aggregate file is missing.

    Raises:
        SourceError: not even the model is told.
    """
    row = Row(_first(path, name), Place(name, 1))
    model = row.text("model_id")
    return Header(
        key=key,
        model=ModelIdentity(model),
        card=naming.card(model),
        collection=key.split("/", maxsplit=1)[0],
        version=row.text("schema_version", ""),
    )


IMPORTER = EveryEvalEver()
