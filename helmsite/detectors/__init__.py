"""Detectors: judges of how toxic a text is, from 0 to 1.

Numbers of different detectors cannot be compared, so each has a name and a version that
stand beside every number. A detector of another package is named by an entry point of
the group `helmsite.detectors`; it leads to a function without arguments that returns a
`Detector`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, cast

from helmsite.errors import MetricError
from helmsite.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Sequence

DETECTORS = Registry(
    "detector",
    {
        "alt-profanity-check": "helmsite.detectors.profanity:AltProfanityCheck",
        "detoxify": "helmsite.detectors.detoxify:Detoxify",
        "perspective": "helmsite.detectors.perspective:Perspective",
    },
)


class Detector(Protocol):
    """Something that says how toxic texts are."""

    @property
    def name(self) -> str:
        """What it is called in the registry."""

    @property
    def version(self) -> str:
        """The version of what decides: a package, a model or an interface."""

    def score(self, texts: Sequence[str]) -> list[float | None]:
        """Return how toxic each text is, from 0 to 1; None where it cannot tell.

        Texts are not empty and all different.

        Raises:
            MetricError: it cannot judge at all, such as without a key or a network.
        """


def create(name: str) -> Detector:
    """Return a detector by its name, ready to judge.

    Raises:
        ConfigError: the name is unknown; known ones are suggested.
        MetricError: a package, a file or a key that it needs is missing.
    """
    try:
        return cast("Detector", DETECTORS.load(name)())
    except ImportError as error:
        raise missing(name, error) from error


def missing(name: str, error: ImportError) -> MetricError:
    """Make the error of a detector whose package is not installed."""
    extra = {"alt-profanity-check": "toxicity", "detoxify": "detoxify"}.get(name)
    command = (
        f"pip install 'helmsite[{extra}]'" if extra else f"pip install {error.name}"
    )
    return MetricError(
        f"The detector {name!r} needs {error.name}, which is not installed.",
        f"Type: {command}",
    )


def identity(detector: Detector) -> str:
    """Return what stands beside a detector's numbers: `name@version`."""
    return f"{detector.name}@{detector.version}"


__all__ = ["DETECTORS", "Detector", "create", "identity", "missing"]
