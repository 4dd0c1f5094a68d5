"""A project's settings: helmsite.toml, suites and model cards, problems all at once."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from helmsite.errors import ConfigError, suggest
from helmsite.schema import (
    Contamination,
    Method,
    ModelCard,
    Record,
    adapting,
    parse_entry,
    strict,
    yamlfile,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

CONFIG_NAME = "helmsite.toml"
BUILTIN_MODELS = Path(__file__).parent / "models.yaml"
Settings = dict[str, str | int | float | bool | list[str] | None]


class GroupConfig(Record, frozen=True):
    """A leaderboard of its own: scenarios are run entries, or names for all of theirs."""

    title: str
    scenarios: tuple[str, ...]
    description: str = ""


class SiteConfig(Record, frozen=True):
    """How the site presents itself. `groups` keeps the order of the leaderboards.

    Without `text_search` no index of what instances and completions say is written.
    `allow_secrets` holds fingerprints of keys that may stand on pages (docs/publishing.md).
    """

    title: str = "helmsite"
    description: str = ""
    base_url: str = ""
    groups: dict[str, GroupConfig] = {}
    pinned_methods: dict[str, Method] = {}
    overrides: str = ""
    contamination: dict[str, tuple[Contamination, ...]] = {}
    size_budget_mb: int = 800
    text_search: bool = True
    allow_secrets: tuple[str, ...] = ()


class ModelConfig(Record, frozen=True):
    """A model that can be run: which client, with which settings, and its card."""

    name: str
    client: str
    card: ModelCard
    settings: Settings = {}


class SuiteEntry(Record, frozen=True):
    """A scenario of a suite; `adapter` overrides the scenario's own adapter settings.

    `models` narrows the suite's list. `repeat` labels a deliberate repeat of a run that
    is already in the archive.
    """

    scenario: str
    adapter: dict[str, Any] = {}
    models: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()
    repeat: str = ""


class Suite(Record, frozen=True):
    """Which models run on which scenarios. `adapter` holds overrides for all entries."""

    name: str
    models: tuple[str, ...]
    scenarios: tuple[SuiteEntry, ...]
    description: str = ""
    adapter: dict[str, Any] = {}


class Project(Record, frozen=True):
    """A folder with helmsite.toml, suites/*.yaml and scenarios/*.yaml, read and checked."""

    root: str
    archive: str
    site: SiteConfig = SiteConfig()
    models: dict[str, ModelConfig] = {}
    suites: dict[str, Suite] = {}
    data: tuple[str, ...] = ()

    @property
    def data_folders(self) -> tuple[Path, ...]:
        """Where scenarios may read data besides their own folder (docs/scenarios.md)."""
        return tuple(map(Path, self.data))

    @property
    def scenario_folders(self) -> tuple[Path, ...]:
        """Where the project's own scenarios are."""
        folder = Path(self.root) / "scenarios"
        return (folder,) if folder.is_dir() else ()

    def suite(self, name: str) -> Suite:
        """Return a suite by name.

        Raises:
            ConfigError: there is no such suite.
        """
        if name not in self.suites:
            known = ", ".join(self.suites) or "none"
            raise ConfigError(
                [f"There is no suite {name!r}.{suggest(name, self.suites)}"],
                f"Suites here: {known}. A suite is a file suites/<name>.yaml.",
            )
        return self.suites[name]

    def model(self, name: str) -> ModelConfig:
        """Return a model by name.

        Raises:
            ConfigError: there is no such model.
        """
        if name not in self.models:
            raise ConfigError(
                [f"There is no model {name!r}.{suggest(name, self.models)}"],
                f"Known models: {', '.join(self.models)}. "
                f'Add yours to {CONFIG_NAME} as [models."{name}"].',
            )
        return self.models[name]


class _ModelFile(ModelCard, frozen=True, kw_only=True):
    """A model as written in a file: its card's fields, its client and settings."""

    client: str
    settings: Settings = {}


class _ArchiveFile(Record, frozen=True):
    root: str = "runs"


class _ScenariosFile(Record, frozen=True):
    data: tuple[str, ...] = ()


class _ProjectFile(Record, frozen=True):
    site: SiteConfig = SiteConfig()
    archive: _ArchiveFile = _ArchiveFile()
    scenarios: _ScenariosFile = _ScenariosFile()
    models: dict[str, _ModelFile] = {}


def load_project(folder: Path) -> Project:
    """Return the project in a folder; without helmsite.toml, one with defaults.

    Raises:
        ConfigError: with every problem of helmsite.toml and of all suites.
    """
    problems: list[str] = []
    file = _project_file(folder, problems)
    _check_groups(file.site, str(folder / CONFIG_NAME), problems)
    models = _models(file, folder)
    site = _informed(file)
    _check_contamination(site, str(folder / CONFIG_NAME), problems)
    suites = _suites(folder, models, problems)
    if problems:
        raise ConfigError(
            problems, "Correct the places named above; nothing was run or written."
        )
    return Project(
        root=str(folder),
        archive=_placed(file.archive.root, folder),
        site=site,
        models=models,
        suites=suites,
        data=tuple(_placed(each, folder) for each in file.scenarios.data),
    )


def _placed(path: str, folder: Path) -> str:
    """Return a path of the settings as seen from outside the project; a URL as it is."""
    return path if "://" in path else str(folder / os.path.expanduser(path))  # noqa: PTH111 - an unknown ~user stays as it is


def _project_file(folder: Path, problems: list[str]) -> _ProjectFile:
    path = folder / CONFIG_NAME
    if not path.exists():
        return _ProjectFile()
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (ValueError, OSError) as error:
        problems.append(f"{path}: cannot be read as TOML: {error}.")
        return _ProjectFile()
    except RecursionError:
        problems.append(f"{path}: cannot be read as TOML: too deeply nested.")
        return _ProjectFile()
    if isinstance(data.get("models"), dict):
        data["models"] = {
            name: {**each, "name": name} if isinstance(each, dict) else each
            for name, each in data["models"].items()
        }
    return strict.read(data, _ProjectFile, str(path), problems) or _ProjectFile()


def _check_groups(site: SiteConfig, where: str, problems: list[str]) -> None:
    for name, group in site.groups.items():
        _check_entries(
            group.scenarios, f"site.groups.{name}.scenarios", lambda _: where, problems
        )


def _informed(file: _ProjectFile) -> SiteConfig:
    """Return the site's settings with what its models' cards say of contamination."""
    known = {n: m.contamination for n, m in file.models.items() if m.contamination}
    told = {**known, **file.site.contamination}
    return msgspec.structs.replace(file.site, contamination=dict(sorted(told.items())))


def _check_contamination(site: SiteConfig, where: str, problems: list[str]) -> None:
    for name, known in site.contamination.items():
        _check_entries(
            [each.scenario for each in known],
            f"contamination of {name}",
            lambda _: where,
            problems,
        )


def _check_entries(
    entries: Sequence[str],
    path: str,
    place: Callable[[str], str],
    problems: list[str],
) -> None:
    for index, entry in enumerate(entries):
        at = f"{path}[{index}]"
        try:
            parse_entry(entry)
        except ConfigError as error:
            problems += [f"{place(at)}: '{at}': {what}" for what in error.problems]


def _models(file: _ProjectFile, folder: Path) -> dict[str, ModelConfig]:
    data = yamlfile.read(BUILTIN_MODELS).data
    builtin = {
        name: _model(msgspec.convert({"name": name, **each}, _ModelFile))
        for name, each in sorted(data.items())
    }
    own = {name: _model(each, folder) for name, each in file.models.items()}
    return {**builtin, **own}


def _model(file: _ModelFile, folder: Path | None = None) -> ModelConfig:
    """Return a model; its setting `path` is relative to the folder."""
    facts = {field: getattr(file, field) for field in ModelCard.__struct_fields__}
    facts["title"] = file.title or file.name.rsplit("/", 1)[-1]
    settings = dict(file.settings)
    path = settings.get("path")
    if folder is not None and isinstance(path, str) and path:
        settings["path"] = _placed(path, folder)
    return ModelConfig(
        name=file.name, client=file.client, card=ModelCard(**facts), settings=settings
    )


def _suites(
    folder: Path, models: Mapping[str, ModelConfig], problems: list[str]
) -> dict[str, Suite]:
    found: dict[str, Suite] = {}
    files: dict[str, Path] = {}
    for path in sorted((folder / "suites").glob("*.y*ml")):
        suite = _suite(path, models, problems)
        if suite is None:
            continue
        if suite.name in found:
            problems.append(
                f"{path}: the suite {suite.name!r} is already in {files[suite.name]}; "
                "give one of them another 'name'."
            )
        found[suite.name], files[suite.name] = suite, path
    return found


def _suite(
    path: Path, models: Mapping[str, ModelConfig], problems: list[str]
) -> Suite | None:
    try:
        document = yamlfile.read(path)
    except ConfigError as error:
        problems += error.problems
        return None
    data, place = document.data, document.place
    if isinstance(data, dict):
        data = {"name": path.stem, **data}
        if isinstance(data.get("scenarios"), list):
            data["scenarios"] = [
                {"scenario": e} if isinstance(e, str) else e for e in data["scenarios"]
            ]
    suite = strict.read(data, Suite, place, problems)
    if suite is not None:
        _check_suite(suite, models, place, problems)
    return suite


def _check_suite(
    suite: Suite,
    models: Mapping[str, ModelConfig],
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
    _check_entries(entries, "scenarios", place, problems)
    adapting.check(suite.adapter, place, problems)
    for index, entry in _numbered(suite):
        adapting.check(entry.adapter, place, problems, f"scenarios[{index}].adapter")


def _numbered(suite: Suite) -> list[tuple[int, SuiteEntry]]:
    return list(enumerate(suite.scenarios))
