"""Files on offer: what the manifest vouches for, and nothing that it leads to."""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING

import pytest
from msgspec import structs

from helmsite.archive import Archive
from helmsite.cli.build import _downloads
from helmsite.config import SiteConfig
from helmsite.errors import BuildError
from helmsite.query import Results
from helmsite.render import build, check_links
from helmsite.schema import FileFacts
from tests.archive_cases import FACTS, small
from tests.site_source import FakeResults

if TYPE_CHECKING:
    from pathlib import Path

    from helmsite.query.rows import RunSummary

FIRST, PRIVATE = "r0000000000000000", "r0000000000000005"
CONFIG = SiteConfig()
SECRET = b"a secret of the machine that builds"


class Vouched(FakeResults):
    """A site whose manifests name the tables of a folder."""

    def __init__(self, folder: Path) -> None:
        super().__init__(models=1)
        self.files = {
            p.stem: FileFacts(
                1, p.stat().st_size, hashlib.sha256(p.read_bytes()).hexdigest()
            )
            for p in sorted(folder.glob("*.parquet"))
        }

    def runs(self) -> tuple[RunSummary, ...]:
        return tuple(
            structs.replace(
                run, manifest=structs.replace(run.manifest, files=self.files)
            )
            for run in super().runs()
        )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "tables"
    made.mkdir()
    for name in ("requests", "stats"):
        (made / f"{name}.parquet").write_bytes(f"PAR1 {name}".encode())
    return made


def offered(out: Path) -> set[str]:
    files = (p for p in (out / "data" / "runs").rglob("*") if not p.is_dir())
    return {p.relative_to(out / "data" / "runs").as_posix() for p in files}


def test_tables_are_offered_and_private_rows_are_not(
    tmp_path: Path, folder: Path
) -> None:
    files, out = sorted(folder.iterdir()), tmp_path / "site"
    offer = {FIRST: files, PRIVATE: files}
    report = build(Vouched(folder), out, CONFIG, downloads=offer)
    assert not [w for w in report.warnings if "not offered" in w]
    assert offered(out) == {
        f"{FIRST}/requests.parquet",
        f"{FIRST}/stats.parquet",
        f"{FIRST}/run.json",
        f"{PRIVATE}/stats.parquet",
        f"{PRIVATE}/run.json",
    }
    copied = out / "data" / "runs" / FIRST / "stats.parquet"
    assert copied.read_bytes() == b"PAR1 stats"
    assert copied.stat().st_ino != (folder / "stats.parquet").stat().st_ino
    page = (out / "data" / "index.html").read_text()
    assert f'href="../data/runs/{FIRST}/requests.parquet"' in page
    assert f"read_parquet(&#39;data/runs/{FIRST}/stats.parquet&#39;)" in page
    assert check_links(out) == []


def test_a_link_a_pipe_and_a_changed_file_are_left_out_with_a_warning(
    tmp_path: Path, folder: Path
) -> None:
    for name in ("instances", "scores"):
        (folder / f"{name}.parquet").write_bytes(b"PAR1")
    results = Vouched(folder)
    secret = tmp_path / "secret"
    secret.write_bytes(SECRET)
    for name in ("requests", "stats", "instances", "scores"):
        (folder / f"{name}.parquet").unlink()
    (folder / "requests.parquet").symlink_to(secret)
    (folder / "stats.parquet").write_bytes(b"PAR1 stats and more")
    os.mkfifo(folder / "instances.parquet")
    (folder / "run.json").symlink_to(secret)
    out, files = tmp_path / "site", sorted(folder.iterdir())
    files.append(folder / "scores.parquet")
    report = build(results, out, CONFIG, downloads={FIRST: files})
    assert offered(out) == {f"{FIRST}/run.json"}
    told = [w for w in report.warnings if "not offered" in w]
    assert len(told) == 4
    assert sum("a link or no regular file" in w for w in told) == 2
    assert sum("not the file that the manifest names" in w for w in told) == 1
    assert sum("No such file" in w for w in told) == 1
    assert not [p for p in out.rglob("*") if p.is_symlink()]
    assert not [p for p in out.rglob("*") if p.is_file() and SECRET in p.read_bytes()]
    with pytest.raises(BuildError, match="not offered"):
        build(
            all_complete(results),
            out,
            CONFIG,
            downloads={FIRST: files},
            strict=True,
        )


def all_complete(results: Vouched) -> Vouched:
    """The same, without a warning of its own."""
    results.summaries = [
        structs.replace(s, manifest=structs.replace(s.manifest, status="complete"))
        for s in results.summaries
    ]
    return results


def test_a_link_to_the_very_file_is_a_link_too(tmp_path: Path, folder: Path) -> None:
    results = Vouched(folder)
    (folder / "stats.parquet").rename(tmp_path / "moved")
    (folder / "stats.parquet").symlink_to(tmp_path / "moved")
    out = tmp_path / "site"
    build(results, out, CONFIG, downloads={FIRST: [folder / "stats.parquet"]})
    assert offered(out) == {f"{FIRST}/run.json"}


def test_the_files_of_an_archive_come_as_they_are(tmp_path: Path) -> None:
    archive, run = Archive(tmp_path / "runs"), small()
    manifest = archive.write_run(
        structs.replace(run.manifest, metrics=(FACTS,)), *run[1:]
    )
    out = tmp_path / "site"
    with Results(archive, CONFIG, None) as results:
        build(results, out, CONFIG, downloads=_downloads(archive))
    copied = out / "data" / "runs" / manifest.run_id
    assert len(list(copied.iterdir())) == 1 + len(manifest.files)
    for path in copied.iterdir():
        archived = next((tmp_path / "runs").rglob(f"run={manifest.run_id}/{path.name}"))
        assert path.read_bytes() == archived.read_bytes(), path.name
