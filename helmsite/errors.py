"""Errors that are written for people.

HelmsiteError             what is wrong, where, and what to type next
├── ConfigError           a config, suite, model or scenario file; holds every problem found
├── ArchiveError          a damaged, unknown or unwritable archive
├── ScenarioError         a scenario whose data cannot be read or makes no sense
├── AdapterError          a prompt that cannot be made from an instance
├── MetricError           an unknown metric, or one that does not fit its scenario
├── ClientError           a model that cannot be loaded or does not answer
│   └── RetriableError    the same request may work later (429, 5xx, connection lost)
├── RunError              a run that cannot start or go on
├── SourceError           a file of another tool that cannot be taken as it is
└── BuildError            a site that cannot be built
"""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class HelmsiteError(Exception):
    """A user's problem: the message says what and where, the hint what to do next."""

    exit_code = 1

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\n  → {self.hint}" if self.hint else self.message


class ConfigError(HelmsiteError):
    """One or more problems in files that the user wrote, all reported at once."""

    exit_code = 2

    def __init__(self, problems: Sequence[str], hint: str = "") -> None:
        super().__init__("\n".join(problems), hint)
        self.problems = tuple(problems)


class ArchiveError(HelmsiteError):
    """An archive that is damaged, of an unknown version, or cannot be written."""

    exit_code = 3


class ScenarioError(HelmsiteError):
    """A scenario whose data cannot be read or does not fit its description."""

    exit_code = 2


class AdapterError(HelmsiteError):
    """An instance of which an adapter cannot make requests."""

    exit_code = 2


class MetricError(HelmsiteError):
    """An unknown metric, or one that cannot be applied."""

    exit_code = 2


class ClientError(HelmsiteError):
    """A model that cannot be loaded, or a request that it will never answer."""

    exit_code = 4


class RetriableError(ClientError):
    """A request that failed but may succeed when it is sent again.

    `retry_after_s` is the server's own wish (its Retry-After header), in seconds.
    """

    def __init__(
        self, message: str, hint: str = "", retry_after_s: float | None = None
    ) -> None:
        super().__init__(message, hint)
        self.retry_after_s = retry_after_s


class RunError(HelmsiteError):
    """A run that cannot start or cannot go on."""

    exit_code = 4


class SourceError(HelmsiteError):
    """Something in a file of another tool that cannot be taken as it is.

    `line` counts from 1, 0 if it is about all of the file; `field` is what leads to the
    value, `request_states[3].instance.id`.
    """

    exit_code = 2

    def __init__(self, file: str, why: str, line: int = 0, field: str = "") -> None:
        at = f", line {line}" if line else ""
        super().__init__(f"{file}{at}: {f'{field}: ' if field else ''}{why}.")
        self.file, self.why, self.line, self.field = file, why, line, field


class BuildError(HelmsiteError):
    """A site that cannot be built."""

    exit_code = 5


def problems_of(error: HelmsiteError) -> tuple[str, ...]:
    """Return what an error says is wrong, one problem after the other."""
    return error.problems if isinstance(error, ConfigError) else (error.message,)


def together(errors: Iterable[HelmsiteError], end: str = "") -> ConfigError:
    """Return errors as one: each problem once, and below those of one hint that hint.

    Args:
        errors: one or more.
        end: follows the last hint.
    """
    by_hint: dict[str, dict[str, None]] = {}
    for error in errors:
        told = by_hint.setdefault(error.hint, {})
        told.update(dict.fromkeys(problems_of(error)))
    problems: list[str] = []
    hint = ""
    for following, told in by_hint.items():
        if hint:
            problems[-1] += f"\n  → {hint}"
        problems += told
        hint = following
    return ConfigError(problems, f"{hint} {end}".strip())


def suggest(name: str, known: Iterable[str]) -> str:
    """Return ' Did you mean ...?' for the nearest known names, '' if none is near."""
    near = difflib.get_close_matches(name, sorted(known), n=3, cutoff=0.5)
    return f" Did you mean {' or '.join(repr(n) for n in near)}?" if near else ""
