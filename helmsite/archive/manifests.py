"""run.json: written by this version, read from any version that it knows."""

from __future__ import annotations

import msgspec

from helmsite.errors import ArchiveError
from helmsite.schema import SCHEMA_VERSION, Manifest


class UnknownVersionError(ArchiveError):
    """A manifest of a schema version that this helmsite does not know."""


class _Version(msgspec.Struct):
    schema_version: int | None = None


def encode(manifest: Manifest) -> bytes:
    """Return the text of run.json: sorted keys, two spaces, readable for people."""
    blob = msgspec.json.encode(manifest, order="deterministic")
    return msgspec.json.format(blob, indent=2) + b"\n"


_decoder = msgspec.json.Decoder(Manifest)
_versions = msgspec.json.Decoder(_Version)


def decode(blob: bytes | msgspec.Raw, where: str) -> Manifest:
    """Return the manifest in a run.json.

    Raises:
        ArchiveError: it is damaged, or of a version that this helmsite does not know.
    """
    try:
        manifest = _decoder.decode(blob)
    except (msgspec.MsgspecError, UnicodeError) as error:
        _refuse_version(blob, where)
        raise ArchiveError(
            f"{where} cannot be read: {error}.",
            "Update helmsite (pip install -U helmsite); if that does not help the file "
            "is damaged: restore it, or delete the run's folder and run it again.",
        ) from error
    check_version(manifest.schema_version, where)
    return manifest


def check_version(version: int, where: str) -> None:
    """Refuse a manifest of another schema version.

    Raises:
        UnknownVersionError: always for a version but the present one.
    """
    if version != SCHEMA_VERSION:
        raise UnknownVersionError(
            f"{where} has schema version {version}; this helmsite reads {SCHEMA_VERSION}.",
            "Update helmsite: pip install -U helmsite.",
        )


def _refuse_version(blob: bytes | msgspec.Raw, where: str) -> None:
    """Say so where a manifest cannot be read because it is of another version."""
    try:
        version = _versions.decode(blob).schema_version
    except (msgspec.MsgspecError, UnicodeError):
        return
    if version is not None:
        check_version(version, where)
