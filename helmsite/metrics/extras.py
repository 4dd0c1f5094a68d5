"""Libraries that only some metrics need, imported when such a metric is used."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from helmsite.errors import MetricError


@cache
def need(module: str, extra: str) -> Any:
    """Return a module that an extra of helmsite installs.

    Raises:
        MetricError: it is not installed; the hint says what to type.
    """
    if not is_there(module):
        raise absent([module], [extra])
    return import_module(module)


def is_there(module: str) -> bool:
    """Say whether a module is installed, without importing it."""
    return find_spec(module.partition(".")[0]) is not None


def absent(modules: list[str], extras: list[str]) -> MetricError:
    """Make the error of libraries that are not installed."""
    which = ",".join(sorted(set(extras)))
    return MetricError(
        f"A metric of this run needs {' and '.join(sorted(set(modules)))}, which is not installed.",
        f"Type: pip install 'helmsite[{which}]'",
    )
