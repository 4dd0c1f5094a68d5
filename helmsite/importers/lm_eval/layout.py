"""Which files are results, which are samples, and which belong together.

A run's files have one time stamp: `results_<stamp>.json` (or `<name>_<stamp>.json`) and
`samples_<task>_<stamp>.jsonl`. Before 0.4.3 there was none: `results.json` and
`<arguments of the model>_<task>.jsonl`, which is one JSON array over many lines.
"""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

from helmsite.errors import SourceError
from helmsite.importers import reading
from helmsite.importers.found import Found
from helmsite.importers.lm_eval import models
from helmsite.importers.lm_eval.results import Results, is_results, stamp_of
from helmsite.importers.values import Place, Row

if TYPE_CHECKING:
    from collections.abc import Iterator

    from helmsite.importers.found import Notes
    from helmsite.importers.tree import File, Tree

NAME = "lm_eval"
SAMPLES = "samples_"
LATEST = 4e9
MANY = 2
_SIGNS = re.compile(
    r'"(?:[\w.@+-]+_stderr(?:,[\w.@+-]+)?|acc,none|n-shot|group_subtasks|hendrycksTest-\w+)"'
)
_CACHE = (b"SQLite format 3\x00", b"key TEXT PRIMARY KEY, value BLOB")
_TASK = re.compile(r"^(?:task|group|include|group_alias|task_alias)\s*:", re.MULTILINE)
_DEFINED = re.compile(
    r"^(?:dataset_\w+|doc_to_\w+|output_type|\w*metric_list|filter_list|process_docs)\s*:",
    re.MULTILINE,
)


class _Summary(NamedTuple):
    """What a survey has to know of a results file; `readable` is False if it is cut.

    Attributes:
        file: where it is.
        stamp: the time stamp in its name, '' if there is none.
        readable: False if it is cut, or no JSON: then there is nothing else.
        model: the model's name.
        call: what tells one call of the harness from another where there is no stamp.
        when: when the call began.
        tasks: their names, and how many documents a task's numbers are over.
        valued: tasks and groups of which there are numbers.
    """

    file: File
    stamp: str
    readable: bool = True
    model: str = ""
    call: str = ""
    when: float = 0.0
    tasks: dict[str, int | None] = {}
    valued: tuple[str, ...] = ()


class _Samples(NamedTuple):
    """A file of samples; `task` is '' where its name does not tell it by itself."""

    file: File
    task: str
    stamp: str


def survey(tree: Tree, notes: Notes) -> Iterator[Found]:
    """Claim the harness's files; yield what is in them."""
    summaries, samples = [], []
    for file in tree.open():
        ending = file.path.suffix.lower()
        if ending == ".json" and (summary := _summary(tree, file)):
            summaries.append(summary)
        elif ending in {".jsonl", ".json"} and _holds_samples(tree, file.path):
            samples.append(_samples(file))
        elif (reason := _useless(tree, file)) is not None:
            notes.skip(file.name, reason)
        else:
            continue
        tree.claim(file.path)
    joined = _join(summaries, samples)
    for summary in summaries:
        yield from _of_results(summary, joined, notes)
    taken = {each.file.path for each in joined.values()}
    for each in samples:
        if each.file.path not in taken:
            yield _alone(each)


def _summary(tree: Tree, file: File) -> _Summary | None:
    """Return a file as results of the harness, None if it is something else."""
    keys = tree.keys(file.path)
    if "results" not in keys or "config_general" in keys:
        return None
    stamp = stamp_of(PurePosixPath(file.name).stem)
    try:
        value = reading.value(reading.blob(file.path), file.name)
    except SourceError:
        # half-written: only its beginning can say whose it is
        ours = bool(_SIGNS.search(_head(tree, file.path)))
        return _Summary(file, stamp, readable=False) if ours else None
    if not is_results(value):
        return None
    results = Results(Row(value, Place(file.name)), file.name)
    model, _ = models.identity(results)
    names = [*results.tasks, *results.groups]
    when = results.row.get("date")
    when = when if isinstance(when, float) and 0 < when < LATEST else 0.0
    return _Summary(
        file=file,
        stamp=stamp,
        model=model.name,
        call=stamp or (f"{when:.2f}" if when else _settings(results, model.revision)),
        when=when or file.changed,
        tasks={task: results.size(task) for task in results.tasks},
        valued=tuple(name for name in names if any(True for _ in results.values(name))),
    )


def _settings(results: Results, revision: str) -> str:
    """Return what tells calls apart that say neither in name nor inside when they were."""
    shots = sorted({str(s) for task in results.tasks if (s := results.shots(task))})
    said = {
        "revision": revision,
        "num_fewshot": "+".join(shots) or "0",
        "limit": results.config.get("limit"),
    }
    return ",".join(f"{k}={v}" for k, v in said.items() if v not in (None, ""))


def _head(tree: Tree, path: Path) -> str:
    raw = tree.head(path)
    try:
        return reading.text(raw, "")
    except SourceError:  # cut in a character
        return raw.decode("utf-8", "replace")


def _holds_samples(tree: Tree, path: Path) -> bool:
    head = _head(tree, path).lstrip("\ufeff \t\r\n")
    if head.startswith("["):
        begin = head[:4096]
        return '"doc_id"' in begin and '"doc"' in begin and '"sample_id"' not in begin
    keys = set(tree.keys(path))
    if not {"doc_id", "doc"} <= keys:
        return False
    return bool({"arguments", "resps", "target"} & keys) or path.name.startswith(
        SAMPLES
    )


def _samples(file: File) -> _Samples:
    stem = PurePosixPath(file.name).stem
    stamp = stamp_of(stem)
    if not stamp or not stem.startswith(SAMPLES):
        return _Samples(file, "", stamp)
    return _Samples(file, stem[len(SAMPLES) : -len(stamp) - 1], stamp)


def _useless(tree: Tree, file: File) -> str | None:
    """Return why a file of the harness is left out, None if it is none of its files."""
    head = tree.head(file.path)
    if head.startswith(_CACHE[0]) and _CACHE[1] in head:
        return "a cache of responses (lm-evaluation-harness, --use_cache)"
    if file.path.suffix.lower() in {".yaml", ".yml"} or file.path.name.endswith(
        "_yaml"
    ):
        text = _head(tree, file.path)
        defined = len(_DEFINED.findall(text))
        if defined > MANY or (defined and _TASK.search(text)):
            return "a task's definition (lm-evaluation-harness)"
    return None


Joined = dict[tuple[Path, str], _Samples]
"""Results file and task → the samples of the task."""


def _join(summaries: list[_Summary], samples: list[_Samples]) -> Joined:
    """Return which samples belong to which task of which results file."""
    joined: Joined = {}
    here: dict[Path, list[_Summary]] = defaultdict(list)
    stamped: dict[str, list[_Summary]] = defaultdict(list)
    for summary in summaries:
        here[summary.file.path.parent].append(summary)
        stamped[summary.stamp].append(summary)
    for each in samples:
        same = here[each.file.path.parent]
        candidates = (
            [s for s in same if s.stamp == each.stamp]
            or (stamped[each.stamp] if each.stamp else [])
            or [s for s in same if not s.stamp]
        )
        fitting = [(s, task) for s in candidates if (task := _task_of(each, s))]
        if len(fitting) == 1:
            summary, task = fitting[0]
            joined.setdefault((summary.file.path, task), each)
    return joined


def _task_of(samples: _Samples, summary: _Summary) -> str:
    """Return the task of a results file that samples are of, '' if none is."""
    if samples.task:
        return samples.task if samples.task in summary.tasks else ""
    stem = PurePosixPath(samples.file.name).stem
    ends = [task for task in summary.tasks if stem.endswith(f"_{task}")]
    return max(ends, key=len, default="")


def _of_results(summary: _Summary, joined: Joined, notes: Notes) -> Iterator[Found]:
    file = summary.file
    left = list(summary.valued)
    told = not summary.readable
    for task, size in summary.tasks.items():
        samples = joined.get((file.path, task))
        if samples is None:
            continue
        told = True
        if task in left:
            left.remove(task)
        yield Found(
            importer=NAME,
            key="/".join([summary.model, summary.call, task]),
            files=(str(file.path), str(samples.file.path)),
            names=(file.name, samples.file.name),
            title=f"{task}, {summary.model}",
            model=summary.model,
            scenario=task,
            instances=size,
            when=summary.when,
            options={"task": task, "samples": True, "results": True},
        )
    if left or not summary.readable:
        known = f"{len(left)} aggregates, {summary.model}"
        yield Found(
            importer=NAME,
            key="/".join([summary.model, summary.call, "aggregates"]),
            files=(str(file.path),),
            names=(file.name,),
            title=known if summary.readable else "results that cannot be read",
            model=summary.model,
            when=summary.when or file.changed,
            options={"names": left},
        )
    elif not told:
        notes.skip(file.name, "results without a number (lm-evaluation-harness)")


def _alone(samples: _Samples) -> Found:
    """Return samples without results; model and task are what their place tells."""
    file = samples.file
    if samples.stamp:
        task, model = samples.task, models.from_folder(file.path.parent.name)
    else:
        task, model = _of_old_name(PurePosixPath(file.name).stem)
    key = "/".join([model, samples.stamp or "-", task or "samples"])
    return Found(
        importer=NAME,
        key=key,
        files=(str(file.path),),
        names=(file.name,),
        title=f"{task}, {model}",
        model=model,
        scenario=task,
        when=file.changed,
        options={"task": task, "samples": True, "model": model},
    )


def _of_old_name(stem: str) -> tuple[str, str]:
    """Return task and model of `pretrained__org__name,dtype__float32_task`."""
    head, _, last = stem.rpartition("__")
    value, _, task = last.partition("_")
    given = models.arguments(
        re.sub(r"(^|,)([A-Za-z]\w*?)__", r"\1\2=", f"{head}__{value}")
    )
    named = next((given[key] for key in models.NAMES if given.get(key)), "")
    name, _ = models.cleaned(str(named).replace("__", "/"))
    return (task or stem), name or "unknown"
