"""A project's settings: helmsite.toml, suites and model cards, problems all at once."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from helmsite.config import models as known_models
from helmsite.config.boards import GroupConfig, with_builtin
from helmsite.config.models import ModelConfig, ModelFile, placed
from helmsite.config.suites import (
    Suite,
    builtin_names,
    builtin_suite,
    check_entries,
    read_suites,
)
from helmsite.errors import ConfigError, suggest
from helmsite.schema import Contamination, Method, Record, strict, textfile
from helmsite.schema.adjusting import faults

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

CONFIG_NAME = "helmsite.toml"


class SiteConfig(Record, frozen=True):
    """How the site presents itself. `groups` keeps the order of the leaderboards.

    Without `text_search` no index of what instances and completions say is written.
    `allow_secrets` holds fingerprints of keys that may stand on pages (docs/publishing.md).
    `rows` says what has a row of its own in tables: each model; or each of its revisions, or
    of its values of these settings.
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
    rows: str | tuple[str, ...] = "model"

    @property
    def row_settings(self) -> tuple[str, ...]:
        """The settings that make rows besides the model."""
        if isinstance(self.rows, str):
            return () if self.rows == "model" else (self.rows,)
        return tuple(name for name in self.rows if name != "model")


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
        return (Path(self.root) / "data", *map(Path, self.data))

    @property
    def scenario_folders(self) -> tuple[Path, ...]:
        """Where the project's own scenarios are."""
        folder = Path(self.root) / "scenarios"
        return (folder,) if folder.is_dir() else ()

    @property
    def suite_names(self) -> tuple[str, ...]:
        """The names of the project's suites, then of the built-in ones."""
        return tuple(dict.fromkeys([*self.suites, *builtin_names()]))

    def has_suite(self, name: str) -> bool:
        """Return whether there is a suite of a name, built-in ones included."""
        return name in self.suite_names

    def suite(self, name: str) -> Suite:
        """Return a suite by name.

        Raises:
            ConfigError: there is no such suite.
        """
        found = self.suites.get(name) or builtin_suite(name)
        if found is None:
            known = self.suite_names
            raise ConfigError(
                [f"There is no suite {name!r}.{suggest(name, known)}"],
                f"Suites: {', '.join(known)}. A suite is a file suites/<name>.yaml.",
            )
        return found

    def named(self, name: str) -> str:
        """Return the model that a name or an older name means, '' if none does."""
        return known_models.named(name, self.models)

    def model(self, name: str) -> ModelConfig:
        """Return a model by name.

        Raises:
            ConfigError: there is no such model.
        """
        if name not in self.models:
            what = f"There is no model {name!r}.{suggest(name, self.models)}"
            if name in known_models.known_cards():
                what = f"Of the model {name!r} only facts are known, not how to ask it."
            raise ConfigError(
                [what],
                f"Known models: {', '.join(self.models)}. "
                f'Add yours to {CONFIG_NAME} as [models."{name}"].',
            )
        return self.models[name]


class _ArchiveFile(Record, frozen=True):
    root: str = "runs"


class _ScenariosFile(Record, frozen=True):
    data: tuple[str, ...] = ()


class _ProjectFile(Record, frozen=True):
    site: SiteConfig = SiteConfig()
    archive: _ArchiveFile = _ArchiveFile()
    scenarios: _ScenariosFile = _ScenariosFile()
    models: dict[str, ModelFile] = {}


def load_project(folder: Path) -> Project:
    """Return the project in a folder; without helmsite.toml, one with defaults.

    Raises:
        ConfigError: with every problem of helmsite.toml and of all suites.
    """
    problems: list[str] = []
    file = _project_file(folder, problems)
    _check_groups(file.site, str(folder / CONFIG_NAME), problems)
    models = known_models.builtin() | {
        name: known_models.model(each, folder) for name, each in file.models.items()
    }
    problems += _misadjusted(file.models, str(folder / CONFIG_NAME))
    site = _informed(file)
    _check_contamination(site, str(folder / CONFIG_NAME), problems)
    suites = read_suites(folder, models, problems)
    if problems:
        raise ConfigError(
            problems, "Correct the places named above; nothing was run or written."
        )
    return Project(
        root=str(folder),
        archive=placed(file.archive.root, folder),
        site=site,
        models=models,
        suites=suites,
        data=tuple(placed(each, folder) for each in file.scenarios.data),
    )


def _project_file(folder: Path, problems: list[str]) -> _ProjectFile:
    path = folder / CONFIG_NAME
    if not path.exists():
        return _ProjectFile()
    try:
        data = tomllib.loads(textfile.read(path))
    except ConfigError as error:
        problems += error.problems
        return _ProjectFile()
    except ValueError as error:
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
    site = data.get("site")
    if isinstance(site, dict) and "groups" in site:
        groups = with_builtin(site["groups"], str(path), problems)
        data["site"] = {**site, "groups": groups}
    return strict.read(data, _ProjectFile, str(path), problems) or _ProjectFile()


def _misadjusted(models: Mapping[str, ModelFile], where: str) -> Iterator[str]:
    for name, model in models.items():
        for index, adjustment in enumerate(model.adjustments):
            at = f"models.{name}.adjustments[{index}]"
            yield from (f"{where}: '{at}': {what}" for what in faults(adjustment))


def _check_groups(site: SiteConfig, where: str, problems: list[str]) -> None:
    for name, group in site.groups.items():
        check_entries(
            group.scenarios, f"site.groups.{name}.scenarios", lambda _: where, problems
        )


def _informed(file: _ProjectFile) -> SiteConfig:
    """Return the site's settings with what its models' cards say of contamination."""
    known = {n: m.contamination for n, m in file.models.items() if m.contamination}
    told = {**known, **file.site.contamination}
    return msgspec.structs.replace(file.site, contamination=dict(sorted(told.items())))


def _check_contamination(site: SiteConfig, where: str, problems: list[str]) -> None:
    for name, known in site.contamination.items():
        check_entries(
            [each.scenario for each in known],
            f"contamination of {name}",
            lambda _: where,
            problems,
        )
