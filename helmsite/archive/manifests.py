"""run.json: written by this version, read from any version that it knows."""

from __future__ import annotations

import msgspec

from helmsite.archive import layout, sound
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
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        _refuse_version(blob, where)
        raise ArchiveError(
            f"{where} cannot be read: {error}.",
            "Update helmsite (pip install -U helmsite); if that does not help the file "
            "is damaged: restore it, or delete the run's folder and run it again.",
        ) from error
    verify(manifest, where)
    return manifest


def verify(manifest: Manifest, where: str) -> str:
    """Return the folder that a manifest names, once it is safe to use as one.

    An archive may come from anybody: what stands in a manifest never leads out of it.

    Raises:
        UnknownVersionError: the manifest has another schema version.
        ArchiveError: the run_id or a name makes no folder, or a time is no date.
    """
    check_version(manifest.schema_version, where)
    try:
        home = layout.run_path(manifest)
    except ArchiveError as error:
        raise ArchiveError(
            f"{where} is not sound: {error.message}", "Delete the run's folder."
        ) from error
    about = manifest.provenance
    for time in (about.started_at, about.finished_at):
        if time is not None and not 0 <= time <= sound.LATEST_S:
            raise ArchiveError(
                f"{where} is not sound: the time {time!r} is not between 1970 and 9999.",
                "Correct it in the file, or delete the run's folder.",
            )
    return home


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
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return
    if version is not None:
        check_version(version, where)
