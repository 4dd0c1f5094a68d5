"""A results file, of 0.3 and later: what it says of tasks, groups and their metrics."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, NamedTuple

from helmsite.errors import SourceError
from helmsite.importers import reading
from helmsite.importers.lm_eval.groups import by_name
from helmsite.importers.lm_eval.models import arguments
from helmsite.importers.values import Place, Row, number, plain

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from helmsite.schema.records import Missing

STAMP = re.compile(r"_(\d{4}-\d\d-\d\dT\d\d[-:]\d\d[-:]\d\d(?:\.\d+)?)$")
NOT_METRICS = {"name", "alias", "sample_len", "samples", "sample_count", "task", " "}
STDERR = "_stderr"
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+>")


class Value(NamedTuple):
    """A number that a results file reports of a task or group."""

    metric: str
    filter: str
    value: float | None
    stderr: float | None
    missing: Missing = ""


def stamp_of(stem: str) -> str:
    """Return the time stamp that a file's name ends in, '' if there is none."""
    found = STAMP.search(stem)
    return found[1].replace(":", "-") if found else ""


@dataclass(frozen=True)
class Results:
    """A results file.

    Attributes:
        row: all that it says.
        name: the file's name as it is told of.
    """

    row: Row
    name: str

    @classmethod
    def load(cls, path: Path, name: str) -> Results:
        """Read a results file.

        Raises:
            SourceError: it cannot be read, or says nothing of tasks.
        """
        results = cls(Row(reading.value(reading.blob(path), name), Place(name)), name)
        results.row.row("results")
        return results

    @property
    def stem(self) -> str:
        """The file's name without its folder and ending."""
        return PurePosixPath(self.name).stem

    @property
    def stamp(self) -> str:
        """The time stamp in its name, '' if there is none."""
        return stamp_of(self.stem)

    @cached_property
    def config(self) -> Row:
        """What it says of the model and the command."""
        return self._inside("config")

    @cached_property
    def entries(self) -> Row:
        """Results by the name of a task or group."""
        return self.row.row("results")

    @cached_property
    def groups(self) -> tuple[str, ...]:
        """The groups of which it has results or that hold tasks."""
        inside = self._inside("group_subtasks")
        named = [*self._inside("groups"), *(n for n in inside if inside.get(n))]
        return tuple(n for n in dict.fromkeys(named) if n not in self._configs)

    @cached_property
    def tasks(self) -> tuple[str, ...]:
        """The tasks in the order of the file."""
        groups = set(self.groups)
        return tuple(
            n for n in dict.fromkeys([*self.entries, *self._configs]) if n not in groups
        )

    @cached_property
    def _configs(self) -> Row:
        return self._inside("configs")

    def _inside(self, key: str) -> Row:
        """Return an object; an empty one where there is none, or something else."""
        found = self.row.get(key)
        return Row(found if isinstance(found, dict) else {}, self.row.at(key))

    def task_config(self, task: str) -> Row:
        """Return a task's configuration, without what changes from call to call."""
        found = self._configs.get(task)
        place = self._configs.at(task)
        given = arguments(self.config.get("model_args"))
        return Row(_steady(found, given) if isinstance(found, dict) else {}, place)

    def leaves(self, group: str) -> tuple[str, ...]:
        """Return the tasks in a group and in the groups that it holds."""
        inside = self._inside("group_subtasks")
        found: dict[str, None] = {}
        seen: set[str] = set()
        waiting = [group]
        while waiting:
            name = waiting.pop(0)
            if name in seen:
                continue
            seen.add(name)
            children = inside.get(name)
            if isinstance(children, list) and children:
                waiting += [each for each in children if isinstance(each, str)]
            elif name != group:
                found[name] = None
        return tuple(found)

    def groups_of(self, task: str) -> tuple[str, ...]:
        """Return the groups that a task is in, directly or not."""
        named = tuple(group for group in self.groups if task in self.leaves(group))
        return named if self._configs.value else by_name(task, self.tasks)

    def of(self, kind: str, name: str, default: Any = None) -> Any:
        """Return what an object such as `versions` or `n-shot` says of a task or group."""
        found = self._inside(kind).get(name)
        return default if found is None else found

    def shots(self, name: str) -> int | None:
        """Return how many examples the prompts of a task or group have."""
        for said in (
            self.of("n-shot", name),
            self.task_config(name).get("num_fewshot"),
            self.config.get("num_fewshot"),
        ):
            if isinstance(said, (int, float)) and 0 <= said < 2**31:
                return int(said)
        return None

    def size(self, name: str) -> int | None:
        """Return how many documents a number of a task or group is over."""
        found = self.entries.get(name)
        entry = found if isinstance(found, dict) else {}
        said = self.of("n-samples", name)
        candidates = [said.get("effective")] if isinstance(said, dict) else []
        candidates += [entry.get("sample_len"), entry.get("samples")]
        for each in candidates:
            if isinstance(each, (int, float)) and 0 < each < 2**31:
                return int(each)
        return None

    def values(self, name: str) -> Iterator[Value | SourceError]:
        """Yield the numbers of a task or group; errors for what is none."""
        try:
            entry = Row(self.entries.get(name) or {}, self.entries.at(name))
        except SourceError as error:
            yield error
            return
        for key in entry:
            metric, comma, kept = key.partition(",")
            if metric in NOT_METRICS or key in NOT_METRICS or not metric:
                continue
            base = metric.removesuffix(STDERR)
            if base != metric and f"{base}{comma}{kept}" in entry.value:
                continue
            if isinstance(entry.get(key), (dict, list)):
                continue
            try:
                stderr = _number(entry, f"{metric}{STDERR}{comma}{kept}")
                value = _number(entry, key)
            except SourceError as error:
                yield error
                continue
            missing: Missing = "" if value is not None else "nan"
            if entry.get(key) is None:
                missing = "not measurable"
            yield Value(metric, kept, value, stderr, missing)


def _number(entry: Row, key: str) -> float | None:
    found = entry.get(key)
    if found is None or (isinstance(found, str) and found.strip() in {"N/A", ""}):
        return None
    return number(found, entry.at(key))


def _steady(config: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """Return a configuration without addresses in memory, and metadata that is none.

    The harness puts the arguments of the model and the path of the task's file there.
    """
    kept = {key: _plain(value) for key, value in config.items() if key != "task"}
    metadata = kept.get("metadata")
    if isinstance(metadata, dict):
        kept["metadata"] = {
            key: value
            for key, value in metadata.items()
            if key != "config_source" and not (key in given and given[key] == value)
        }
    return kept


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return _ADDRESS.sub(">", value)
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    return [_plain(v) for v in value] if isinstance(value, list) else plain(value)


def is_results(value: Any) -> bool:
    """Return whether data is a results file of the harness, of 0.3 or later."""
    if not isinstance(value, dict) or "config_general" in value:
        return False
    found = value.get("results")
    if not isinstance(found, dict) or not (
        {"config", "configs", "versions"} & set(value)
    ):
        return False
    return not found or any(isinstance(each, dict) for each in found.values())


def broken(name: str, error: SourceError) -> SourceError:
    """Return an error of a file under the name by which it is told of."""
    return SourceError(name, error.why, error.line, error.field)
