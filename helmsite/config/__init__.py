"""A project's settings: helmsite.toml, suites and model cards, problems all at once."""

from helmsite.config.boards import GroupConfig
from helmsite.config.maps import Maps, read_maps
from helmsite.config.models import BUILTIN_MODELS, ModelConfig, informed, known_cards
from helmsite.config.settings import (
    CONFIG_NAME,
    Project,
    SiteConfig,
    load_project,
)
from helmsite.config.suites import Suite, SuiteEntry, builtin_suite, of_entries

__all__ = [
    "BUILTIN_MODELS",
    "CONFIG_NAME",
    "GroupConfig",
    "Maps",
    "ModelConfig",
    "Project",
    "SiteConfig",
    "Suite",
    "SuiteEntry",
    "builtin_suite",
    "informed",
    "known_cards",
    "load_project",
    "of_entries",
    "read_maps",
]
