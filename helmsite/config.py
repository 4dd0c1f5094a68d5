"""A project's settings: helmsite.toml, suites and model cards, problems all at once."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import msgspec
import yaml
from msgspec import structs

from helmsite.errors import ConfigError, suggest
from helmsite.schema import AdapterSpec, Method, ModelCard, Record, preset, strict

CONFIG_NAME = "helmsite.toml"
BUILTIN_MODELS = Path(__file__).parent / "models.yaml"
PRESET_ARGUMENTS = (
    "instructions",
    "input_noun",
    "output_noun",
    "newline_after_input_noun",
    "newline_after_output_noun",
)


class GroupConfig(Record, frozen=True):
    """A leaderboard of its own: scenarios are run entries, or names for all of theirs."""

    title: str
    scenarios: tuple[str, ...]
    description: str = ""


class SiteConfig(Record, frozen=True):
    """How the site presents itself. `groups` keeps the order of the leaderboards."""

    title: str = "helmsite"
    description: str = ""
    base_url: str = ""
    groups: dict[str, GroupConfig] = {}
    pinned_methods: dict[str, str] = {}
    overrides: str = ""
    size_budget_mb: int = 800


class ModelConfig(Record, frozen=True):
    """A model that can be run: which client, with which settings, and its card."""

    name: str
    client: str
    card: ModelCard
    settings: dict[str, str | int | float | bool | list[str] | None] = {}


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
    settings: dict[str, str | int | float | bool | list[str] | None] = {}


class _ArchiveFile(Record, frozen=True):
    root: str = "runs"


class _ProjectFile(Record, frozen=True):
    site: SiteConfig = SiteConfig()
    archive: _ArchiveFile = _ArchiveFile()
    models: dict[str, _ModelFile] = {}


def load_project(folder: Path) -> Project:
    """Return the project in a folder; without helmsite.toml, one with defaults.

    Raises:
        ConfigError: with every problem of helmsite.toml and of all suites.
    """
    problems: list[str] = []
    file = _project_file(folder, problems)
    models = _models(file)
    suites = _suites(folder, models, problems)
    if problems:
        raise ConfigError(
            problems, "Correct the places named above; nothing was run or written."
        )
    root = file.archive.root
    remote = "://" in root
    return Project(
        root=str(folder),
        archive=root if remote else str(folder / root),
        site=file.site,
        models=models,
        suites=suites,
    )


def _project_file(folder: Path, problems: list[str]) -> _ProjectFile:
    path = folder / CONFIG_NAME
    if not path.exists():
        return _ProjectFile()
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        problems.append(f"{path}: cannot be read as TOML: {error}.")
        return _ProjectFile()
    if isinstance(data.get("models"), dict):
        data["models"] = {
            name: {**each, "name": name} if isinstance(each, dict) else each
            for name, each in data["models"].items()
        }
    return strict.read(data, _ProjectFile, str(path), problems) or _ProjectFile()


def _models(file: _ProjectFile) -> dict[str, ModelConfig]:
    data = yaml.safe_load(BUILTIN_MODELS.read_text(encoding="utf-8"))
    builtin = {
        name: msgspec.convert({"name": name, **each}, _ModelFile)
        for name, each in sorted(data.items())
    }
    return {name: _model(each) for name, each in {**builtin, **file.models}.items()}


def _model(file: _ModelFile) -> ModelConfig:
    facts = {field: getattr(file, field) for field in ModelCard.__struct_fields__}
    facts["title"] = file.title or file.name.rsplit("/", 1)[-1]
    return ModelConfig(
        name=file.name,
        client=file.client,
        card=ModelCard(**facts),
        settings=file.settings,
    )


def _suites(
    folder: Path, models: dict[str, ModelConfig], problems: list[str]
) -> dict[str, Suite]:
    found = {}
    for path in sorted((folder / "suites").glob("*.y*ml")):
        suite = _suite(path, problems)
        if suite is None:
            continue
        listed = [*suite.models, *(m for e in suite.scenarios for m in e.models)]
        problems += [
            f"{path}: unknown model {name!r}.{suggest(name, models)}"
            for name in dict.fromkeys(listed)
            if name not in models
        ]
        found[suite.name] = suite
    return found


def _suite(path: Path, problems: list[str]) -> Suite | None:
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError, OSError) as error:
        problems.append(f"{path}: cannot be read as YAML: {error}.")
        return None
    if isinstance(data, dict):
        data = {"name": path.stem, **data}
        if isinstance(data.get("scenarios"), list):
            data["scenarios"] = [
                {"scenario": e} if isinstance(e, str) else e for e in data["scenarios"]
            ]
    suite = strict.read(data, Suite, str(path), problems)
    if suite is not None:
        _check_overrides(suite, str(path), problems)
    return suite


def _check_overrides(suite: Suite, where: str, problems: list[str]) -> None:
    places = [("adapter", suite.adapter)]
    places += [
        (f"scenarios[{i}].adapter", e.adapter) for i, e in enumerate(suite.scenarios)
    ]
    for place, overrides in places:
        try:
            override_adapter(AdapterSpec(), overrides)
        except ConfigError as error:
            problems += [f"{where}: {place}: {problem}" for problem in error.problems]


def override_adapter(spec: AdapterSpec, overrides: dict[str, Any]) -> AdapterSpec:
    """Return an adapter spec with some settings replaced.

    A new `method` starts from that method's preset (for which `input_noun` and the
    other arguments of `schema.preset` may be given); the other settings come on top.

    Raises:
        ConfigError: an unknown setting or a value of the wrong type, all at once.
    """
    problems: list[str] = []
    known = {f.name for f in structs.fields(AdapterSpec)}
    changes = dict(overrides)
    arguments = {k: changes.pop(k) for k in PRESET_ARGUMENTS if k in changes}
    for name in sorted(set(changes) - known):
        problems.append(f"unknown adapter setting {name!r}.{suggest(name, known)}")
        del changes[name]
    base = spec
    if "method" in changes:
        try:
            base = preset(msgspec.convert(changes["method"], Method), **arguments)
        except msgspec.ValidationError:
            methods = [m for m in Method.__args__ if m]  # type: ignore[attr-defined]
            problems.append(
                f"unknown method {changes['method']!r}."
                f"{suggest(str(changes['method']), methods)} Known: {', '.join(methods)}."
            )
            del changes["method"]
    elif arguments:
        changes |= {k: v for k, v in arguments.items() if k == "instructions"}
        rest = [k for k in arguments if k != "instructions"]
        problems += [f"{name!r} needs 'method' beside it." for name in rest]
    merged = {**structs.asdict(base), **changes}
    read = strict.read(msgspec.to_builtins(merged), AdapterSpec, "adapter", problems)
    if problems or read is None:
        raise ConfigError(problems, "Adapter settings are listed in docs/adapters.md.")
    return read
