"""Names of scenarios with their parameters, as HELM writes them: `mmlu:subject=anatomy`."""

from __future__ import annotations

import re

from helmsite.errors import ConfigError


def parse_entry(entry: str) -> tuple[str, dict[str, str]]:
    """Split a run entry, `mmlu:subject=anatomy,k=2`, into name and parameters.

    Raises:
        ConfigError: a parameter without '=' or an empty name.
    """
    name, _, rest = entry.partition(":")
    pairs = [p for p in re.split(r",(?=[^,=]+=)", rest) if p]
    broken = [p for p in pairs if "=" not in p or p.startswith("=")]
    if not name.strip() or broken:
        what = f"parameter {broken[0]!r} has no '='" if broken else "it has no name"
        raise ConfigError(
            [f"Cannot read the scenario {entry!r}: {what}."],
            "Write it as name:key=value,key=value.",
        )
    return name.strip(), dict(p.split("=", 1) for p in pairs)


def matches_entry(entry: str, scenario: str) -> bool:
    """Return whether an entry (or a name for all of its entries) means a scenario.

    A text that is no entry means the scenario of that very name.
    """
    try:
        wanted, parameters = parse_entry(entry)
        name, own = parse_entry(scenario)
    except ConfigError:
        return entry == scenario
    return wanted == name and parameters.items() <= own.items()


def format_entry(name: str, parameters: dict[str, str]) -> str:
    """Return the canonical entry: parameters sorted by name."""
    inner = ",".join(f"{k}={v}" for k, v in sorted(parameters.items()))
    return f"{name}:{inner}" if inner else name
