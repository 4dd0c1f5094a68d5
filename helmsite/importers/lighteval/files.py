"""lighteval's files: which belong together, and what the results say of a task."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple

from helmsite.errors import SourceError
from helmsite.importers import reading, values
from helmsite.importers.values import Place, Row
from helmsite.schema import ModelIdentity, Stat

if TYPE_CHECKING:
    from pathlib import Path

    from helmsite.importers.tree import File, Tree

DETAILS = re.compile(r"details_(.+)_(\d{4}-\d\d-\d\dT[\d:.+_-]+)\.parquet$")
RESULTS = re.compile(r"results_(\d{4}-\d\d-\d\dT[\d:.+_-]+)\.json$")
KEYS = {"config_general", "results", "versions"}
ALL = "all"
STDERR = "_stderr"


class Results(NamedTuple):
    """A results file: its data, and what it says of the model."""

    file: File
    stamp: str
    data: Row

    @property
    def general(self) -> Row:
        """The configuration."""
        return self.data.row("config_general", Row({}, self.data.place))

    @property
    def model(self) -> str:
        """The model's name."""
        return model_name(self.general)

    def task(self, name: str) -> dict[str, Any]:
        """Return what there is of a task, {} if nothing."""
        results = self.data.get("results")
        found = results.get(name) if isinstance(results, dict) else None
        return found if isinstance(found, dict) else {}


def results_files(tree: Tree) -> dict[str, list[Results]]:
    """Return the results files among the open files by their time stamps.

    One that cannot be read is a problem, and stays open for nobody.
    """
    found: dict[str, list[Results]] = defaultdict(list)
    for file in tree.open():
        match = RESULTS.match(file.path.name)
        if file.path.suffix != ".json" or not set(tree.keys(file.path)) >= KEYS:
            continue
        tree.claim(file.path)
        try:
            data = Row(reading.json_file(file.path), Place(file.name))
            read = Results(file, stamped(match[1]) if match else "", data)
            data.row("results")
            data.row("config_general", None)
        except SourceError as error:
            told = SourceError(file.name, error.why, error.line, error.field)
            tree.notes.problem(told)
            tree.notes.skip(file.name, f"{error.field}: {error.why}".lstrip(": "))
            continue
        found[read.stamp].append(read)
    return found


def stamped(text: str) -> str:
    """Return a time stamp in the one way of writing it that file systems allow."""
    return text.replace(":", "-").replace("_", "-").rstrip("-")


def seconds(stamp: str) -> float:
    """Return a time stamp in seconds since the epoch, 0 if it is none."""
    day, _, clock = stamp.partition("T")
    parts = clock.split("-")
    return values.moment(f"{day}T{':'.join(parts[:3])}") or 0.0


def model_name(general: Row) -> str:
    """Return the model's name as the configuration has it, '' if it says none."""
    config = general.get("model_config")
    inner = config if isinstance(config, dict) else {}
    for found in (
        general.get("model_name"),
        inner.get("model_name"),
        inner.get("pretrained"),
    ):
        if isinstance(found, str) and found.strip():
            return reading.clean(" ".join(found.split()))
    return ""


def identity(name: str, general: Row | None) -> ModelIdentity:
    """Return the model with its revision and settings."""
    if general is None:
        return ModelIdentity(name)
    config = general.get("model_config")
    inner = dict(config) if isinstance(config, dict) else {}
    revision = inner.pop("revision", None) or general.get("model_sha")
    inner.pop("model_name", None)
    for field in ("model_dtype", "model_size"):
        if general.get(field):
            inner[field] = general.get(field)
    return ModelIdentity(
        name,
        client="lighteval",
        revision=reading.clean(revision) if isinstance(revision, str) else "",
        settings={k: v for k, v in values.plain(inner).items() if v not in (None, "")},
    )


def split_task(task: str) -> tuple[str, int]:
    """Return a task's name and shots: `lighteval|gsm8k|5|0`, `mmlu:anatomy|5`."""
    parts = task.split("|")
    if len(parts) >= 3 and not parts[1].isdigit():
        parts = parts[1:]  # the suite
    shots = (
        int(parts[1])
        if len(parts) > 1 and parts[1].isdigit() and len(parts[1]) < 5
        else 0
    )
    return parts[0], shots


def stats(found: dict[str, Any], place: Place, split: str = "") -> list[Stat]:
    """Return a task's aggregates; what is no number is left out.

    Raises:
        SourceError: a standard error is no number.
    """
    made = []
    for name, value in found.items():
        if name.endswith(STDERR) and name.removesuffix(STDERR) in found:
            continue
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            continue
        error = found.get(f"{name}{STDERR}")
        at = place.inside(f"{name}{STDERR}")
        number = values.number(value, place.inside(name))
        made.append(
            Stat(
                name,
                number,
                split=split,
                stderr=None if error is None else values.number(error, at),
                origin="reported",
                missing="" if number is not None else "nan",
            )
        )
    return made


def of_details(
    path: Path, stamp: str, known: dict[str, list[Results]]
) -> Results | None:
    """Return the results file that belongs to a file of details."""
    several = known.get(stamp, [])
    near = [r for r in several if r.model and r.model in path.as_posix()] or several
    return near[0] if len(near) == 1 else None


def model_of(path: Path) -> str:
    """Return the model that folders name: .../details/<model>/<stamp>/details_*.parquet."""
    parts = list(path.parts[:-1])
    if parts and re.match(r"\d{4}-\d\d-\d\dT", parts[-1]):
        parts.pop()
    if "details" in parts:
        last = len(parts) - 1 - parts[::-1].index("details")
        return "/".join(parts[last + 1 :])
    name = parts[-1] if parts else ""
    return name.removeprefix("details_").removesuffix("_private").replace("__", "/")
