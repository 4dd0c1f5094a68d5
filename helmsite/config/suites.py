"""Suites: which models run on which scenarios, in files of a project or built in."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta

from helmsite.config.helm_conf import read_conf
from helmsite.errors import ConfigError, suggest
from helmsite.schema import Record, adapting, parse_entry, strict, yamlfile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

BUILTIN_SUITES = Path(__file__).parents[1] / "suites"
Seeds = Annotated[int, Meta(ge=1)]


class SuiteEntry(Record, frozen=True):
    """A run entry of a suite, and what the suite says beside it.

    `adapter` overrides the scenario's own adapter settings, `models` narrows the
    suite's list, `perturbations` (names or presets) replace those of the suite or the
    scenario, each with as many versions of an instance as `seeds_per_instance` says.
    `repeat` labels a deliberate repeat of a run that is already in the
    archive. `priority` 1 is the most urgent.
    """

    scenario: str
    adapter: dict[str, Any] = {}
    models: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()
    perturbations: tuple[str, ...] | None = None
    seeds_per_instance: Seeds | None = None
    groups: tuple[str, ...] = ()
    priority: Annotated[int, Meta(ge=1, le=9)] | None = None
    repeat: str = ""


class Suite(Record, frozen=True):
    """Which models run on which scenarios.

    `adapter`, `perturbations` and `seeds_per_instance` are for all entries. Without `models` the command line
    names them. `accept_cautions` names scenarios, or `all`, that run in spite of theirs.
    """

    name: str
    scenarios: tuple[SuiteEntry, ...]
    models: tuple[str, ...] = ()
    description: str = ""
    adapter: dict[str, Any] = {}
    perturbations: tuple[str, ...] | None = None
    seeds_per_instance: Seeds = 1
    accept_cautions: tuple[str, ...] = ()


def of_entries(name: str, entries: Iterable[str], confs: Iterable[Path] = ()) -> Suite:
    """Return a suite of run entries and of HELM's files of run entries.

    Raises:
        ConfigError: a file that cannot be read, or an entry that is none.
    """
    listed = [SuiteEntry(scenario=entry) for entry in entries]
    problems: list[str] = []
    check_entries([e.scenario for e in listed], "", lambda _: "", problems)
    for path in confs:
        for at, said in enumerate(read_conf(path)):
            place = f"{path}: entries[{at}]"
            found = strict.read(said, _ConfEntry, place, problems)
            if found is not None:
                check_entries([found.description], "", _at(place), problems)
                listed.append(found.entry)
    if problems:
        hint = "Write an entry as name:key=value,key=value; nothing was run."
        raise ConfigError([p.removeprefix(": ") for p in problems], hint)
    return Suite(name=name, scenarios=tuple(listed))


class _ConfEntry(Record, frozen=True):
    """An entry of HELM's files."""

    description: str
    priority: Annotated[int, Meta(ge=1, le=9)] | None = None
    groups: tuple[str, ...] = ()

    @property
    def entry(self) -> SuiteEntry:
        return SuiteEntry(
            scenario=self.description, priority=self.priority, groups=self.groups
        )


def _at(place: str) -> Callable[[str], str]:
    return lambda _: place


def builtin_suite(name: str) -> Suite | None:
    """Return a built-in suite, None if there is none of that name."""
    path = BUILTIN_SUITES / f"{name}.yaml"
    if name not in builtin_names():
        return None
    problems: list[str] = []
    return read_suite(path, {}, problems)


def builtin_names() -> list[str]:
    """Return the names of the built-in suites."""
    return sorted(path.stem for path in BUILTIN_SUITES.glob("*.yaml"))


def read_suites(
    folder: Path, models: Mapping[str, Any], problems: list[str]
) -> dict[str, Suite]:
    """Return the suites of a project, and add to `problems` what is wrong with them."""
    found: dict[str, Suite] = {}
    files: dict[str, Path] = {}
    for path in sorted((folder / "suites").glob("*.y*ml")):
        suite = read_suite(path, models, problems)
        if suite is None:
            continue
        if suite.name in found:
            problems.append(
                f"{path}: the suite {suite.name!r} is already in {files[suite.name]}; "
                "give one of them another 'name'."
            )
        found[suite.name], files[suite.name] = suite, path
    return found


def read_suite(
    path: Path, models: Mapping[str, Any], problems: list[str]
) -> Suite | None:
    """Return the suite of a file, None after adding to `problems`."""
    try:
        document = yamlfile.read(path)
    except ConfigError as error:
        problems += error.problems
        return None
    data, place = document.data, document.place
    if isinstance(data, dict):
        data = _plain({"name": path.stem, **data}, place, problems, "")
        if isinstance(data.get("scenarios"), list):
            data["scenarios"] = [
                _plain(each, place, problems, f"scenarios[{index}]")
                for index, each in enumerate(data["scenarios"])
            ]
    suite = strict.read(data, Suite, place, problems)
    if suite is not None:
        _check_suite(suite, models, place, problems)
    return suite


def _plain(
    said: Any, place: Callable[[str], str], problems: list[str], path: str
) -> Any:
    """Return an entry as a table, with data_augmentation written as perturbations."""
    if isinstance(said, str):
        return {"scenario": said}
    if not isinstance(said, dict) or "data_augmentation" not in said:
        return said
    if "perturbations" in said:
        at = f"{path}.data_augmentation".lstrip(".")
        problems.append(f"{place(at)}: '{at}' and 'perturbations' say the same twice.")
    rest = {k: v for k, v in said.items() if k != "data_augmentation"}
    return {"perturbations": [said["data_augmentation"]], **rest}


def _check_suite(
    suite: Suite,
    models: Mapping[str, Any],
    place: Callable[[str], str],
    problems: list[str],
) -> None:
    listed = [("models", suite.models)]
    listed += [(f"scenarios[{i}].models", e.models) for i, e in _numbered(suite)]
    problems += [
        f"{place(f'{field}[{index}]')}: unknown model {name!r}.{suggest(name, models)}"
        for field, names in listed
        for index, name in enumerate(names)
        if name not in models
    ]
    entries = [entry.scenario for entry in suite.scenarios]
    check_entries(entries, "scenarios", place, problems)
    adapting.check(suite.adapter, place, problems)
    for index, entry in _numbered(suite):
        adapting.check(entry.adapter, place, problems, f"scenarios[{index}].adapter")


def check_entries(
    entries: Sequence[str],
    path: str,
    place: Callable[[str], str],
    problems: list[str],
) -> None:
    """Add to `problems` the entries that cannot be read."""
    for index, entry in enumerate(entries):
        at = f"{path}[{index}]" if path else ""
        try:
            parse_entry(entry)
        except ConfigError as error:
            where = f"{place(at)}: '{at}'" if at else place(at)
            problems += [f"{where}: {what}" for what in error.problems]


def _numbered(suite: Suite) -> list[tuple[int, SuiteEntry]]:
    return list(enumerate(suite.scenarios))
