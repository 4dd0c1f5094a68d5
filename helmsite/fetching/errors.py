"""What can go wrong on the way from the network to the disk."""

from __future__ import annotations

from helmsite.errors import ScenarioError


class FetchError(ScenarioError):
    """A file that cannot be had; the message names each address and why it failed."""


class OfflineError(FetchError):
    """A file that is not here and may not be fetched."""


class AddressError(Exception):
    """One address failed for good: the next mirror may have the file."""


class PassingError(Exception):
    """An address failed in a way that may pass: it is tried again.

    `after` is how long its server asks to wait, in seconds.
    """

    def __init__(self, message: str, after: float | None = None) -> None:
        super().__init__(message)
        self.after = after
