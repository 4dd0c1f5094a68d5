"""Text files that people write: UTF-8, with or without a byte order mark."""

from __future__ import annotations

from typing import TYPE_CHECKING

from helmsite.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

LARGEST = 10_000_000  # bytes; nobody writes as much by hand


def read(path: Path) -> str:
    """Return what a file says.

    Raises:
        ConfigError: no such file, not UTF-8, or larger than `LARGEST`.
    """
    try:
        if path.stat().st_size > LARGEST:
            problem = f"{path}: larger than {LARGEST:,} bytes."
            raise ConfigError([problem], "Is it the right file?")
        return path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        reason = error.strerror or str(error)
        raise ConfigError(
            [f"{path}: cannot be read: {reason}."], "Check the path."
        ) from error
    except UnicodeDecodeError as error:
        raise ConfigError(
            [f"{path}: not UTF-8: a wrong byte at offset {error.start}."],
            "Save the file as UTF-8.",
        ) from error
