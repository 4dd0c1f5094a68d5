"""A second build: what is taken over, what is rendered anew, and always the same bytes.

The criterion everywhere: the site equals, byte for byte and with its record, the one that
a build into an empty folder makes.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest
from msgspec import structs

from helmsite.config import GroupConfig, SiteConfig
from helmsite.errors import BuildError
from helmsite.render import BuildReport, Means, build
from helmsite.render.output import MARKER, Writer
from helmsite.render.record import Mark, decode, encode
from helmsite.render.secrets import Secrets
from helmsite.schema import FileFacts
from tests.site_source import SCENARIOS, FakeResults

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from helmsite.query.rows import RunSummary

    Again = Callable[[FakeResults, SiteConfig], BuildReport]

CONFIG = SiteConfig(title="Incremental")
RUN = "r0000000000000000"


def tree(folder: Path) -> dict[str, bytes]:
    return {
        p.relative_to(folder).as_posix(): p.read_bytes()
        for p in sorted(folder.rglob("*"))
        if not p.is_dir()
    }


def inodes(folder: Path) -> dict[str, tuple[int, int]]:
    return {
        p.relative_to(folder).as_posix(): (p.lstat().st_ino, p.lstat().st_mtime_ns)
        for p in sorted(folder.rglob("*"))
        if not p.is_dir()
    }


def source(models: int) -> FakeResults:
    """Return an archive of two scenarios; the first run has several pages."""
    return FakeResults(models, SCENARIOS[:2])


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site of two models, to be copied."""
    built = tmp_path_factory.mktemp("base") / "site"
    build(source(2), built, CONFIG)
    return built


@pytest.fixture
def out(base: Path, tmp_path: Path) -> Path:
    """A site of two models."""
    shutil.copytree(base, tmp_path / "site")
    return tmp_path / "site"


@pytest.fixture
def again(
    out: Path, tmp_path: Path
) -> Callable[[FakeResults, SiteConfig], BuildReport]:
    """Build once more, and hold the result against a build from nothing."""

    def made(results: FakeResults, config: SiteConfig) -> BuildReport:
        report = build(results, out, config)
        build(results, tmp_path / "fresh", config)
        assert tree(out) == tree(tmp_path / "fresh")
        assert {p.name for p in tmp_path.iterdir()} <= {"site", "fresh", "theme"}
        return report

    return made


def changed(
    results: FakeResults, change: Callable[[RunSummary], RunSummary]
) -> FakeResults:
    """Change every run."""
    results.summaries = [change(s) for s in results.summaries]
    return results


# ---- What is taken over


def test_where_nothing_changed_nothing_is_written(out: Path) -> None:
    before = inodes(out)
    folder = out.stat().st_ino
    first = build(source(2), out.with_name("fresh"), CONFIG)
    report = build(source(2), out, CONFIG)
    assert tree(out) == tree(out.with_name("fresh"))
    assert report.current
    assert (report.rendered, report.reused) == (0, first.rendered)
    assert inodes(out) == before
    assert out.stat().st_ino == folder
    same = ("pages", "files", "bytes", "instances", "warnings")
    assert [getattr(report, n) for n in same] == [getattr(first, n) for n in same]


def test_a_run_that_came_is_rendered_alone(out: Path, again: Again) -> None:
    before, runs = inodes(out), len(source(2).runs())
    report = again(source(3), CONFIG)
    more = len(source(3).runs()) - runs
    assert (report.rendered, report.reused) == (more, runs)
    after = inodes(out)
    of_run = [n for n in before if n.startswith(f"runs/{RUN}/")]
    assert len(of_run) > 3
    assert all(before[name] == after[name] for name in of_run)


def test_a_run_that_went_is_gone(out: Path, again: Again) -> None:
    report = again(source(1), CONFIG)
    assert report.rendered == 0
    assert report.reused == len(source(1).runs())
    assert not list(out.glob("runs/r00000001*"))


def test_a_run_that_was_scored_again_is_rendered_again(again: Again) -> None:
    scored = FileFacts(3, 100, "0" * 64)

    def change(run: RunSummary) -> RunSummary:
        if run.manifest.run_id != RUN:
            return run
        files = {**run.manifest.files, "scores": scored}
        return structs.replace(run, manifest=structs.replace(run.manifest, files=files))

    report = again(changed(source(2), change), CONFIG)
    assert report.rendered == 1
    assert report.reused == len(source(2).runs()) - 1


def test_what_other_runs_say_of_a_run_is_not_on_its_pages(again: Again) -> None:
    def change(run: RunSummary) -> RunSummary:
        main = structs.replace(run.main, heat=3, best=False, other_runs=("r1",))
        return structs.replace(run, main=main)

    config = structs.replace(CONFIG, description="Says more.")
    report = again(changed(source(2), change), config)
    assert report.rendered == 0


@pytest.mark.parametrize(
    "change",
    [{"title": "Another"}, {"base_url": "https://example.org/e"}],
    ids=["title", "address"],
)
def test_what_stands_on_every_page_renders_every_run(
    again: Again, change: dict[str, str]
) -> None:
    report = again(source(2), structs.replace(CONFIG, **change))
    assert report.reused == 0


def test_a_group_of_the_site_renders_no_run(again: Again) -> None:
    group = GroupConfig("Mine", ("knowledge",))
    report = again(source(2), structs.replace(CONFIG, groups={"x": group}))
    assert (report.rendered, report.current) == (0, False)


def test_a_larger_budget_needs_no_build(out: Path) -> None:
    small = structs.replace(CONFIG, size_budget_mb=0)
    report = build(source(2), out, small)
    assert report.current
    assert [w for w in report.warnings if "more than the budget of 0 MB" in w]
    with pytest.raises(BuildError, match="more than the budget"):
        build(complete(source(1)), out, small, strict=True)


def complete(results: FakeResults) -> FakeResults:
    return changed(
        results,
        lambda run: structs.replace(
            run, manifest=structs.replace(run.manifest, status="complete")
        ),
    )


@pytest.mark.parametrize(
    ("file", "content", "rendered"),
    [
        ("templates/run.html", '{% extends "default:run.html" %}', True),
        ("static/tokens.css", ":root { --accent: red; }", False),
    ],
)
def test_a_changed_template_renders_runs_and_a_style_does_not(
    out: Path,
    again: Again,
    tmp_path: Path,
    file: str,
    content: str,
    rendered: bool,
) -> None:
    del out
    place = tmp_path / "theme" / file
    place.parent.mkdir(parents=True)
    place.write_text(content)
    config = structs.replace(CONFIG, overrides=str(tmp_path / "theme"))
    report = again(source(2), config)
    assert bool(report.rendered) == rendered
    assert not report.current
    assert build(source(2), tmp_path / "site", config).current


def test_warnings_are_told_again_where_nothing_changed(tmp_path: Path) -> None:
    first = build(FakeResults(), tmp_path / "site", CONFIG)
    report = build(FakeResults(), tmp_path / "site", CONFIG)
    assert report.current
    assert report.warnings == first.warnings != ()
    with pytest.raises(BuildError, match="is partial"):
        build(FakeResults(), tmp_path / "site", CONFIG, strict=True)


# ---- What is not trusted


def flip(path: Path) -> None:
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 2] ^= 1
    path.write_bytes(raw)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def to_link(path: Path) -> None:
    moved = path.parents[3] / "moved"
    path.rename(moved)
    path.symlink_to(moved)


def to_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def to_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def add(path: Path) -> None:
    (path.parent / "evil.html").write_text("<script>")


def add_folder(path: Path) -> None:
    (path.parent / "empty").mkdir()


def add_deep(path: Path) -> None:
    (path.parent / "text").mkdir(exist_ok=True)
    (path.parent / "text" / "more.txt").write_text("more")


def folder_to_link(path: Path) -> None:
    moved = path.parents[2].with_name("moved")
    path.parent.rename(moved)
    path.parent.symlink_to(moved)


SPOILED: list[Callable[[Path], None]] = [
    *(flip, cut, to_link, to_folder, to_pipe, Path.unlink),
    *(add, add_folder, add_deep, folder_to_link),
]


@pytest.mark.parametrize("spoil", SPOILED, ids=lambda f: f.__name__)
def test_a_spoiled_run_is_rendered_anew_and_nothing_leads_out(
    out: Path, tmp_path: Path, spoil: Callable[[Path], None]
) -> None:
    expected = tree(out)
    spoil(out / "runs" / RUN / "2.html")
    report = build(source(2), out, CONFIG)
    assert not report.current
    assert report.rendered == 1
    assert [n for n in report.notes if RUN in n and "rendered anew" in n]
    assert tree(out) == expected
    assert not [p for p in out.rglob("*") if p.is_symlink()]
    if (tmp_path / "moved").is_dir():
        shutil.rmtree(tmp_path / "moved")
    assert build(source(2), out, CONFIG).current


@pytest.mark.parametrize(
    "spoil", [flip, cut, to_pipe, Path.unlink], ids=lambda f: f.__name__
)
def test_a_spoiled_page_of_many_runs_is_mended_without_rendering_runs(
    out: Path, spoil: Callable[[Path], None]
) -> None:
    expected = tree(out)
    spoil(out / "models" / "index.html")
    report = build(source(2), out, CONFIG)
    assert (report.current, report.rendered) == (False, 0)
    assert tree(out) == expected


def test_a_file_of_somebody_else_is_told_and_not_kept(out: Path) -> None:
    expected = tree(out)
    (out / "notes.txt").write_text("mine")
    report = build(source(2), out, CONFIG)
    assert report.notes == (
        "notes.txt was not made by a build; the new site is without it.",
    )
    assert tree(out) == expected


def half(blob: bytes) -> bytes:
    return blob[: len(blob) // 2]


def digit(blob: bytes) -> bytes:
    """Change a character inside the record, which stays good JSON."""
    at = blob.index(b'"whole":"') + 12
    return blob[:at] + (b"0" if blob[at : at + 1] != b"0" else b"1") + blob[at + 1 :]


def older(blob: bytes) -> bytes:
    return blob.replace(b'"format":2', b'"format":1')


@pytest.mark.parametrize(
    "damage",
    [
        half,
        digit,
        older,
        lambda _: b"",
        lambda _: b"0123abcd\n",
        lambda _: b"\xff\xfe\x00",
        lambda _: b"[" * 100_000,
        lambda _: b'{"format":2,"sha256":"","record":{}}',
    ],
    ids=["half", "digit", "older", "empty", "state", "bytes", "deep", "forged"],
)
def test_a_record_that_cannot_be_read_is_no_error(
    out: Path, damage: Callable[[bytes], bytes]
) -> None:
    expected = tree(out)
    (out / MARKER).write_bytes(damage((out / MARKER).read_bytes()))
    report = build(source(2), out, CONFIG)
    assert report.reused == 0
    assert tree(out) == expected


def test_a_record_that_names_files_elsewhere_reaches_none(
    out: Path, tmp_path: Path
) -> None:
    expected = tree(out)
    secret = tmp_path / "secret"
    secret.write_text("secret")
    record = decode((out / MARKER).read_bytes())
    assert record
    mark = Mark(6, "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b")
    run = record.runs[RUN]
    for name in ("../secret", str(secret), "runs/../../secret"):
        files = {**run.files, name: mark}
        runs = {**record.runs, RUN: structs.replace(run, files=files)}
        forged = structs.replace(record, runs=runs)
        (out / MARKER).write_bytes(encode(forged))
        report = build(source(2), out, CONFIG)
        assert report.rendered == 1
        assert tree(out) == expected
    assert secret.stat().st_nlink == 1


def test_a_reused_file_is_never_written_through(out: Path, tmp_path: Path) -> None:
    """Both sites share an inode for a moment: the earlier one must not change."""
    shutil.copytree(out, tmp_path / "kept", copy_function=os.link)
    before = tree(tmp_path / "kept")
    build(source(3), out, structs.replace(CONFIG, description="x"))
    build(source(3), out, structs.replace(CONFIG, title="Other"))
    assert tree(tmp_path / "kept") == before


# ---- Files on offer


def test_a_download_is_linked_to_the_earlier_site_and_never_to_the_archive(
    tmp_path: Path,
) -> None:
    table = tmp_path / "stats.parquet"
    table.write_bytes(b"PAR1")
    facts = FileFacts(1, 4, hashlib.sha256(b"PAR1").hexdigest())

    def vouch(run: RunSummary) -> RunSummary:
        manifest = structs.replace(run.manifest, files={"stats": facts})
        return structs.replace(run, manifest=manifest)

    results = changed(source(1), vouch)
    out, name = tmp_path / "site", f"data/runs/{RUN}/stats.parquet"
    build(results, out, CONFIG, downloads={RUN: [table]})
    first = (out / name).stat().st_ino
    assert first != table.stat().st_ino
    assert table.stat().st_nlink == 1
    table.unlink()  # the copy is the manifest's: the archive is not asked again
    report = build(
        results, out, structs.replace(CONFIG, description="x"), downloads={RUN: [table]}
    )
    assert report.rendered == 0
    assert (out / name).stat().st_ino == first
    (out / name).write_bytes(b"PAR2")
    report = build(results, out, CONFIG, downloads={RUN: [table]})
    assert report.rendered == 1
    assert [w for w in report.warnings if "is not offered: it cannot be read" in w]
    table.write_bytes(b"PAR1")
    report = build(results, out, CONFIG, downloads={RUN: [table]})
    assert (report.rendered, report.warnings) == (1, ())
    assert (out / name).read_bytes() == b"PAR1"


# ---- Credentials

KEY = "Xq7-vB2_kL9.tR4mWz"


@pytest.mark.parametrize("workers", [1, 2])
def test_a_credential_stops_a_strict_build_and_is_named_without_being_shown(
    out: Path, workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("helmsite.render.workers.ENOUGH", 0)
    before, config = tree(out), structs.replace(CONFIG, title=f"Made with {KEY}")
    means = Means(workers, Secrets({"MY_LAB_API_KEY": KEY}))
    results = complete(source(2))
    with pytest.raises(BuildError, match=r"the value of MY_LAB_API_KEY") as stopped:
        build(results, out, config, strict=True, means=means)
    assert KEY not in str(stopped.value)
    assert tree(out) == before
    report = build(results, out, config, means=means)
    (told,) = report.warnings
    assert KEY not in told
    found = re.fullmatch(
        r"(\S+\.html), .* and (\d+) more files hold the value of .*", told
    )
    assert found
    assert int(found[2]) + 3 >= report.pages


def test_a_strict_build_looks_for_credentials_in_what_it_takes_over(out: Path) -> None:
    theme = out.parent / "theme" / "templates"
    theme.mkdir(parents=True)
    (theme / "instances.html").write_text(
        f'{{% extends "default:instances.html" %}}{{% block footer %}}{KEY}{{% endblock %}}'
    )
    config = structs.replace(CONFIG, overrides=str(theme.parent))
    results = complete(source(2))
    build(results, out, config)
    strict = Means(inspector=Secrets({"MY_LAB_API_KEY": KEY}))
    for changed_config in (config, structs.replace(config, description="New")):
        with pytest.raises(BuildError, match=rf"runs/{RUN}/1.html.* hold the value"):
            build(results, out, changed_config, strict=True, means=strict)
    assert build(results, out, config, strict=True).current


# ---- Links of runs that were taken over


def test_a_page_that_a_run_links_to_must_be_in_the_new_site(
    out: Path, tmp_path: Path
) -> None:
    """The scenario's page loses the place that a template of the run leads to."""
    theme = tmp_path / "theme"
    (theme / "templates").mkdir(parents=True)
    (theme / "static").mkdir()
    (theme / "static" / "ours.svg").write_text("<svg/>")
    (theme / "templates" / "run.html").write_text(
        '{% extends "default:run.html" %}{% block footer %}'
        '<img src="{{ frame.root }}static/ours.svg">{% endblock %}'
    )
    config = structs.replace(CONFIG, overrides=str(theme))
    build(source(2), out, config)
    before = tree(out)
    (theme / "static" / "ours.svg").unlink()
    with pytest.raises(BuildError, match=r"ours\.svg' leads to no file"):
        build(source(2), out, config)
    assert tree(out) == before


def test_a_place_in_a_run_that_is_taken_over_must_be_there(
    out: Path, tmp_path: Path
) -> None:
    theme = tmp_path / "theme" / "templates"
    theme.mkdir(parents=True)
    link = f'<a href="../runs/{RUN}/1.html#ANCHOR">x</a>'
    template = theme / "models.html"
    config = structs.replace(CONFIG, overrides=str(tmp_path / "theme"))
    for anchor, wrong in (("i-id7", ""), ("i-nothing", "leads to no such place")):
        template.write_text(
            '{% extends "default:models.html" %}{% block footer %}'
            f"{link.replace('ANCHOR', anchor)}{{% endblock %}}"
        )
        if wrong:
            with pytest.raises(BuildError, match=wrong):
                build(source(2), out, config)
        else:
            build(source(2), out, config)


# ---- File systems


def test_where_no_link_can_be_made_the_file_is_copied(tmp_path: Path) -> None:
    """The source is on another file system: the operating system refuses the link."""
    source = Path("/dev/shm") / f"helmsite-{os.getpid()}"
    if (
        not source.parent.is_dir()
        or source.parent.stat().st_dev == tmp_path.stat().st_dev
    ):
        pytest.skip("needs two file systems")
    source.write_bytes(b"content")
    try:
        mark = Mark(7, hashlib.sha256(b"content").hexdigest())
        writer = Writer(tmp_path)
        writer.link("a/b.txt", source, mark)
        assert (tmp_path / "a" / "b.txt").read_bytes() == b"content"
        source.write_bytes(b"changed")
        with pytest.raises(BuildError, match="was changed while the site was built"):
            writer.link("a/c.txt", source, mark)
        assert not (tmp_path / "a" / "c.txt").exists()
    finally:
        source.unlink()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 6 MB, mounted for the test."""
    folder = tmp_path / "disk"
    folder.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(words, check=False).returncode:
        pytest.skip("may not mount a small file system here")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_full_disk_leaves_the_earlier_site_and_nothing_else(
    small_disk: Path, workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("helmsite.render.workers.ENOUGH", 0)
    out = small_disk / "site"
    build(source(1), out, CONFIG)
    before = tree(out)
    free = os.statvfs(small_disk)
    (small_disk / "filler").write_bytes(b"x" * (free.f_bavail * free.f_bsize - 300_000))
    with pytest.raises(BuildError, match="No space left"):
        build(source(4), out, CONFIG, means=Means(workers=workers))
    assert tree(out) == before
    assert sorted(p.name for p in small_disk.iterdir()) == ["filler", "site"]


def test_the_record_is_sorted_and_names_no_place_of_the_machine(out: Path) -> None:
    blob = (out / MARKER).read_bytes()
    assert str(out.parent).encode() not in blob
    record = msgspec.json.decode(blob)["record"]
    assert list(record["files"]) == sorted(record["files"])
    of_runs = {path for run in record["runs"].values() for path in run["files"]}
    assert of_runs.isdisjoint(record["files"])
    assert of_runs | set(record["files"]) | {MARKER} == set(tree(out))
