"""Archives made to do harm: nothing outside them is read, changed or deleted."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from msgspec import structs

from helmsite.archive import Archive, layout, manifests, tables, writing
from helmsite.archive.indexing import Reindexed
from helmsite.config import SiteConfig
from helmsite.errors import ArchiveError
from helmsite.query import Results
from helmsite.schema import PublishedStat, Stat
from tests.archive_cases import Run, small

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from helmsite.schema import Manifest

    Edit = Callable[[pa.Table], pa.Table]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "runs"


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    """A folder beside the archive that is nobody's business."""
    folder = tmp_path / "victim" / "Documents"
    folder.mkdir(parents=True)
    (folder / "thesis.txt").write_text("years of work")
    return folder


def intact(victim: Path) -> bool:
    files = [p for p in victim.parent.rglob("*") if p.is_file()]
    return [p.name for p in files] == ["thesis.txt"] and (
        files[0].read_text() == "years of work"
    )


def snapshot(folder: Path) -> dict[str, bytes]:
    files = [p for p in folder.rglob("*") if p.is_file()]
    return {str(p): p.read_bytes() for p in files}


def edit(root: Path, made: str, /, **changes: object) -> Path:
    """Change a run.json by hand and forget the catalogue."""
    path = next(root.glob(f"suite=*/*/*/run={made}/run.json"))
    said = json.loads(path.read_text())
    for name, value in changes.items():
        part, _, field = name.partition("__")
        if field:
            said[part][field] = value
        else:
            said[part] = value
    path.write_text(json.dumps(said))
    shutil.rmtree(root / layout.CATALOGUE, ignore_errors=True)
    return path


@pytest.mark.parametrize(
    "run_id",
    ["../../victim/Documents", "", ".", "..", "a/b", "a\0b", "x" * 5000, "\x1b[2J"],
)
def test_a_run_id_that_leads_out_is_never_followed(
    root: Path, victim: Path, run_id: str
) -> None:
    archive = Archive(root)
    kept = archive.write_run(*small(origin="native:kept"))
    bad = archive.write_run(*small())
    where = edit(root, bad.run_id, run_id=run_id)
    for again in (Archive(root), Archive(root)):
        assert again.manifests() == (kept,)
        for write in (
            lambda a: a.write_scores(run_id, [], [], ()),
            lambda a: a.remove(run_id),
            lambda a: a.journal(run_id, kept.spec.model),
            lambda a: a.write_run(structs.replace(kept, run_id=run_id), *small()[1:]),
        ):
            with pytest.raises(ArchiveError):
                write(again)
        assert intact(victim)
        problems = {p.where: p.what for p in again.check()}
        assert "cannot be the id of a run" in problems[str(where.relative_to(root))]
        again.reindex()
    assert intact(victim)
    assert len(list(Archive(root).replies(kept.run_id))) == 3
    assert where.exists()


@pytest.mark.parametrize(
    "changes",
    [
        {"suite": ""},
        {"provenance__finished_at": 1e300},
        {"provenance__started_at": -1e18},
        {"provenance__finished_at": 253_402_300_800},
    ],
)
def test_a_manifest_that_is_not_sound_is_named(
    root: Path, changes: dict[str, object]
) -> None:
    archive = Archive(root)
    kept = archive.write_run(*small(origin="native:kept"))
    where = edit(root, archive.write_run(*small()).run_id, **changes)
    assert Archive(root).manifests() == (kept,)
    problems = {p.where: p.what for p in Archive(root).check()}
    assert "is not sound" in problems[str(where.relative_to(root))]


def test_a_manifest_nested_without_end_is_named(root: Path) -> None:
    made = Archive(root).write_run(*small())
    where = edit(root, made.run_id)
    where.write_text("[" * 200_000)
    (problem, *_) = [p for p in Archive(root).check() if p.where.endswith("run.json")]
    assert "cannot be read" in problem.what


@pytest.mark.parametrize(
    "path", ["../victim/Documents", "/{victim}", "suite=s/../../victim/Documents", "a"]
)
def test_a_catalogue_leads_only_to_a_runs_own_folder(
    root: Path, victim: Path, path: str
) -> None:
    archive = Archive(root)
    made = archive.write_run(*small())
    entries = archive._catalogue.entries()
    assert entries
    path = path.format(victim=victim)
    archive._catalogue.replace([structs.replace(entries[made.run_id], path=path)])
    reader = Archive(root)
    with pytest.raises(ArchiveError, match="not its place"):
        reader.manifests()
    with pytest.raises(ArchiveError):
        reader.write_scores(made.run_id, [], [], ())
    assert any(p.where.startswith(layout.CATALOGUE) for p in reader.check())
    reader.reindex()
    assert Archive(root).manifests() == (made,)
    assert Archive(root).check() == []
    assert intact(victim)


def test_a_catalogue_cannot_give_a_run_another_key(root: Path) -> None:
    archive = Archive(root)
    made = archive.write_run(*small())
    entries = archive._catalogue.entries()
    assert entries
    archive._catalogue.replace([structs.replace(entries[made.run_id], key="../x")])
    with pytest.raises(ArchiveError, match="not its place"):
        Archive(root).manifests()


@pytest.mark.parametrize(
    "changes",
    [
        {"path": "../victim/Documents/thesis.txt"},
        {"suite": "t"},
        {"batch": "c"},
        {"facts": None},
    ],
)
def test_a_catalogue_leads_only_to_a_batchs_own_file(
    root: Path, victim: Path, changes: dict[str, object]
) -> None:
    archive = Archive(root)
    batch = archive.write_published(
        "s", "b", [PublishedStat("a", "m", Stat("acc", 0.5))]
    )
    entries = archive._catalogue.entries()
    assert entries
    bad = structs.replace(entries[batch.path], **changes)
    archive._catalogue.replace([bad])
    with pytest.raises(ArchiveError, match="not its place"):
        Archive(root).batches()
    Archive(root).reindex()
    assert Archive(root).batches() == (batch,)
    assert intact(victim)


def test_a_published_batch_in_anothers_place_is_named(root: Path) -> None:
    archive = Archive(root)
    batch = archive.write_published(
        "s", "b", [PublishedStat("a", "m", Stat("acc", 0.5))]
    )
    path = root / batch.path
    path.rename(path.with_name("c.parquet"))
    shutil.rmtree(root / layout.CATALOGUE)
    assert Archive(root).batches() == ()
    assert any("has another place" in p.what for p in Archive(root).check())


def test_a_catalogue_that_swells_is_given_up(root: Path) -> None:
    archive = Archive(root)
    made = archive.write_run(*small())
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as file:
        for _ in range(400):
            file.write(bytes(1 << 20))
    blob = sink.getvalue().to_pybytes()
    assert len(blob) < 100_000
    name = f"{hashlib.sha256(blob).hexdigest()[:24]}.jsonl.zst"
    (root / layout.CATALOGUE / name).write_bytes(blob)
    before = pa.default_memory_pool().max_memory() or 0
    with pytest.raises(ArchiveError, match="holds more than"):
        Archive(root).manifests()
    assert (pa.default_memory_pool().max_memory() or 0) < before + (100 << 20)
    assert any("damaged" in p.what for p in Archive(root).check())
    Archive(root).reindex()
    assert Archive(root).manifests() == (made,)


# symbolic links

LINKS = [
    layout.INCOMING,
    layout.CATALOGUE,
    layout.JOURNAL,
    "suite=s",
    "scenario",
    "run",
    f"{layout.INCOMING}/x",
    f"{layout.INCOMING}/x.old",
    f"{layout.INCOMING}/x.segment",
    f"{layout.INCOMING}/x.lock",
    f"{layout.CATALOGUE}/x.jsonl.zst",
]


def tried(root: Path, run: Run) -> list[str]:
    """Do everything that a user does with an archive; return what is refused."""
    model, run_id = run.manifest.spec.model, run.manifest.run_id

    def write_journal() -> None:
        with Archive(root).journal(run_id, model) as journal:
            journal.put(run.replies[0].request, [run.replies[0].completion])

    def read_journal() -> None:
        with Archive(root).journal(run_id, model, read_only=True):
            pass

    def manifests() -> None:
        assert Archive(root).manifests() is not None

    deeds: dict[str, Callable[[], object]] = {
        "check": lambda: Archive(root).check(),
        "manifests": manifests,
        "journal": write_journal,
        "read journal": read_journal,
        "discard": lambda: Archive(root).discard_journal(run_id),
        "scores": lambda: Archive(root).write_scores(run_id, run.scores, [], ()),
        "run": lambda: Archive(root).write_run(*run),
        "other": lambda: Archive(root).write_run(*small(origin="native:other")),
        "reindex": lambda: Archive(root).reindex(),
        "remove": lambda: Archive(root).remove(run_id),
    }
    refused = []
    for name, deed in deeds.items():
        try:
            deed()
        except ArchiveError:
            refused.append(name)
    return refused


@pytest.mark.parametrize("full", [True, False])
@pytest.mark.parametrize("link", LINKS)
def test_a_link_leads_nowhere(root: Path, victim: Path, link: str, full: bool) -> None:
    run = small()
    home = layout.run_path(Archive(root).write_run(*run))
    named = {"scenario": home.rpartition("/model=")[0], "run": home}
    place = root / named.get(link, link)
    target = victim
    if place.is_dir() and full:  # the victim holds a true copy of what was there
        shutil.copytree(place, victim.parent / "copy")
        target = victim.parent / "copy"
    before = snapshot(victim.parent)
    if place.is_dir():
        shutil.rmtree(place)
    place.parent.mkdir(exist_ok=True)
    place.symlink_to(target / "thesis.txt" if place.suffix else target)
    refused = tried(root, run)
    assert snapshot(victim.parent) == before
    assert "check" not in refused
    if link != f"{layout.INCOMING}/x":
        assert refused


@pytest.mark.parametrize("suffix", ["", ".lock"])
def test_a_journal_that_is_a_link_is_neither_cut_nor_added_to(
    root: Path, victim: Path, suffix: str
) -> None:
    run = small()
    archive = Archive(root)
    (root / layout.JOURNAL).mkdir(parents=True)
    name = f"{layout.JOURNAL}/{run.manifest.run_id}.jsonl{suffix}"
    (root / name).symlink_to(victim / "thesis.txt")
    model = run.manifest.spec.model
    with (
        pytest.raises(ArchiveError, match="symbolic link"),
        archive.journal(run.manifest.run_id, model),
    ):
        pass
    with pytest.raises(ArchiveError, match="symbolic link"):
        archive.discard_journal(run.manifest.run_id)
    assert intact(victim)


@pytest.mark.parametrize("name", ["stats", "requests", "instances", "scores"])
def test_a_table_that_is_a_link_is_not_read(
    root: Path, victim: Path, name: str
) -> None:
    archive = Archive(root)
    made = archive.write_run(*small())
    file = root / layout.run_path(made) / f"{name}.parquet"
    elsewhere = victim.parent / "private.parquet"
    file.rename(elsewhere)
    file.symlink_to(elsewhere)
    with pytest.raises(ArchiveError, match="symbolic link"):
        archive.table(made.run_id, name)
    with pytest.raises(ArchiveError, match="symbolic link"):
        archive.run(made.run_id).rows_of(name, "id0")
    assert any("symbolic link" in p.what for p in archive.check())


def test_a_manifest_that_is_a_link_is_not_read(root: Path, victim: Path) -> None:
    archive = Archive(root)
    kept = archive.write_run(*small(origin="native:kept"))
    made = archive.write_run(*small())
    file = root / layout.run_path(made) / layout.MANIFEST
    file.rename(victim.parent / "private.json")
    file.symlink_to(victim.parent / "private.json")
    archive.reindex()
    assert Archive(root).manifests() == (kept,)
    where = str(file.relative_to(root))
    told = [p.what for p in archive.check() if p.where == where]
    assert ["symbolic link" in what for what in told] == [True]


def test_a_pipe_does_not_stop_a_reader(root: Path) -> None:
    archive = Archive(root)
    made = archive.write_run(*small())
    file = root / layout.run_path(made) / "stats.parquet"
    file.unlink()
    os.mkfifo(file)
    with pytest.raises(ArchiveError, match="pipe"):
        archive.stats(made.run_id)
    assert archive.check()


def test_the_archives_own_folder_may_be_a_link(root: Path, tmp_path: Path) -> None:
    root.mkdir()
    link = tmp_path / "link"
    link.symlink_to(root)
    made = Archive(link).write_run(*small())
    assert Archive(link).reindex() == Reindexed()
    assert Archive(link).check() == []
    assert Archive(root).manifests() == (made,)


def test_reindexing_deletes_nothing_that_helmsite_has_not_named(root: Path) -> None:
    Archive(root).write_run(*small())
    odd = [".hidden", "my notes", "ü", "x" * 150, "-rf", ".old"]
    for name in odd:
        (root / layout.INCOMING / name).mkdir(parents=True)
        (root / layout.INCOMING / name / "file").write_text("x")
    (root / layout.INCOMING / "r0").mkdir()
    assert Archive(root).reindex().cleaned == (f"{layout.INCOMING}/r0",)
    left = {p.name for p in (root / layout.INCOMING).iterdir()}
    assert left == set(odd)


def test_a_waiting_run_takes_only_its_own_place(root: Path) -> None:
    archive = Archive(root)
    made = archive.write_run(*small())
    old = root / layout.INCOMING / "other.old"
    old.parent.mkdir(exist_ok=True)
    shutil.move(root / layout.run_path(made), old)
    with pytest.raises(ArchiveError, match=f"is of the run {made.run_id}"):
        archive.reindex()
    assert (old / layout.MANIFEST).exists()


# downloads


def test_only_files_that_are_the_manifests_are_verified(
    root: Path, victim: Path
) -> None:
    archive = Archive(root)
    made = archive.write_run(*small())
    home = root / layout.run_path(made)
    names = ["instances.parquet", "requests.parquet", "run.json", "scores.parquet"]
    names.append("stats.parquet")
    assert archive.verified(made.run_id) == tuple(home / n for n in names)
    (home / "extra.parquet").write_bytes(b"x")
    (home / "stats.parquet").write_bytes(b"x")
    (home / "scores.parquet").rename(victim.parent / "copy.parquet")
    (home / "scores.parquet").symlink_to(victim.parent / "copy.parquet")
    (home / "instances.parquet").unlink()
    (home / "run.json").write_bytes((home / "run.json").read_bytes() + b" ")
    assert archive.verified(made.run_id) == (home / "requests.parquet",)


# tables that helmsite would not write


def spoil(root: Path, made: Manifest, name: str, edit: Edit) -> Archive:
    """Put other rows in a table and say so in run.json, as one who means harm would."""
    path = root / layout.run_path(made) / f"{name}.parquet"
    table = edit(pq.ParquetFile(path).read())
    pq.write_table(table, path, store_schema=False)
    facts = writing.facts_of(path, table.num_rows)
    changed = structs.replace(made, files={**made.files, name: facts})
    path.with_name("run.json").write_bytes(manifests.encode(changed))
    Archive(root).reindex()
    return Archive(root)


def put(column: str, values: list[Any], kind: pa.DataType | None = None) -> Edit:
    def edit(table: pa.Table) -> pa.Table:
        field = table.schema.field(column)
        if kind is not None:
            field = pa.field(column, kind, nullable=field.nullable)
        array = pa.array((values * len(table))[: len(table)], field.type)
        return table.set_column(table.schema.get_field_index(column), field, array)

    return edit


def not_utf8(table: pa.Table) -> pa.Table:
    bad = pa.array([b"\xff\xfe"] * len(table), pa.binary()).cast(
        pa.string(), safe=False
    )
    field = table.schema.field("prompt")
    return table.set_column(table.schema.get_field_index("prompt"), field, bad)


SPOILT: dict[str, tuple[str, Edit]] = {
    "other type": ("requests", put("completion", [1], pa.int32())),
    "binary": ("requests", put("prompt", [b"x"], pa.binary())),
    "wider": ("stats", put("n_asked", [2**62], pa.int64())),
    "dropped": ("requests", lambda t: t.drop_columns(["prompt"])),
    "added": ("scores", lambda t: t.append_column("mood", t["text"])),
    "may be null": (
        "requests",
        lambda t: t.set_column(
            t.schema.get_field_index("prompt"), "prompt", pa.nulls(len(t), pa.string())
        ),
    ),
    "not UTF-8": ("requests", not_utf8),
    "nan": ("stats", put("value", [float("nan")])),
    "infinite": ("scores", put("value", [float("inf")])),
    "nan logprob": ("requests", put("token_logprobs", [[float("nan")]])),
    "infinite time": ("requests", put("duration_s", [float("inf")])),
    "no date": ("requests", put("started_at", [1e300])),
    "lengths": ("requests", put("tokens", [["a", "b"]])),
    "null token": ("requests", put("tokens", [[None]])),
    "null reference": ("instances", put("references", [[{"text": None, "tags": []}]])),
    "null tags": ("instances", put("references", [[{"text": "a", "tags": None}]])),
    "null message": ("requests", put("messages", [[None]])),
    "null top": (
        "requests",
        put("top_logprobs", [[[{"token": "a", "logprob": None}]]]),
    ),
    "nan top": (
        "requests",
        put("top_logprobs", [[[{"token": "a", "logprob": float("nan")}]]]),
    ),
    "null attribute": ("instances", put("attributes", [[("a", None)]])),
    "bad JSON": ("requests", put("extra", ["{bad"])),
    "JSON list": ("scores", put("details", ["[1]"])),
    "deep JSON": ("scores", put("details", ["[" * 100_000])),
    "transcript text": ("requests", put("transcript", ['"s"'])),
    "transcript number": ("requests", put("transcript", ["5"])),
    "params list": ("requests", put("params", ["[1]"])),
    "params odd": ("requests", put("params", ['{"max_tokens": "x", "odd": 1}'])),
    "message extra": (
        "instances",
        put("messages", [[{"role": "user", "content": "a", "extra": "3"}]]),
    ),
}
READERS: dict[str, Callable[[Archive, str], object]] = {
    "instances": Archive.instances,
    "requests": lambda archive, run_id: list(archive.replies(run_id)),
    "scores": Archive.scores,
    "stats": Archive.stats,
}


PAGES: dict[str, tuple[Callable[[Results, Manifest], object], ...]] = {
    "requests": (
        lambda found, made: found.run(made.run_id),
        lambda found, made: found.scenario(made.scenario.name),
    ),
    "instances": (lambda found, made: found.scenario(made.scenario.name),),
}


@pytest.mark.parametrize("harm", SPOILT)
def test_a_spoilt_table_is_named_wherever_it_is_read(root: Path, harm: str) -> None:
    name, edit = SPOILT[harm]
    made = Archive(root).write_run(*small())
    archive = spoil(root, made, name, edit)
    where = f"{layout.run_path(made)}/{name}.parquet"
    with pytest.raises(ArchiveError, match="is damaged") as caught:
        READERS[name](archive, made.run_id)
    assert where in caught.value.message
    assert "helmsite check" in caught.value.hint
    assert where in {p.where for p in archive.check() if p.severity == "error"}
    if name == "stats":
        with pytest.raises(ArchiveError, match="is damaged"):
            Results(archive, SiteConfig(), None)
        return
    with Results(archive, SiteConfig(), None) as found:
        with pytest.raises(ArchiveError, match="is damaged"):
            list(found.instances(made.run_id))
        with pytest.raises(ArchiveError, match="is damaged"):
            found.instance(made.run_id, "id0")


@pytest.mark.parametrize(
    "harm", [h for h, (name, _) in SPOILT.items() if name in PAGES]
)
def test_a_page_that_shows_a_spoilt_row_names_its_file(root: Path, harm: str) -> None:
    """A run's page shows the first reply, a scenario's its instance too."""
    name, edit = SPOILT[harm]
    made = Archive(root).write_run(*small())
    archive = spoil(root, made, name, edit)
    where = f"{layout.run_path(made)}/{name}.parquet"
    with Results(archive, SiteConfig(), None) as found:
        for ask in PAGES[name]:
            with pytest.raises(ArchiveError, match="is damaged") as caught:
                ask(found, made)
            assert where in caught.value.message


@pytest.mark.parametrize("name", READERS)
def test_a_table_with_other_rows_than_said_is_not_read(root: Path, name: str) -> None:
    """A few kilobytes can be fifty million rows: the count is compared first."""
    made = Archive(root).write_run(*small())
    path = root / layout.run_path(made) / f"{name}.parquet"
    table = pq.ParquetFile(path).read()
    pq.write_table(pa.concat_tables([table] * 1000), path, store_schema=False)
    said = f"rows, the manifest says {table.num_rows}"
    with pytest.raises(ArchiveError, match=said):
        READERS[name](Archive(root), made.run_id)
    with pytest.raises(ArchiveError, match=said):
        Archive(root).table(made.run_id, name)
    assert [p for p in Archive(root).check() if "bytes, the manifest" in p.what]


def test_published_rows_pass_the_same_gate(root: Path) -> None:
    archive = Archive(root)
    results = [PublishedStat("a", "m", Stat("acc", 0.5))]
    batch = archive.write_published("s", "b", results)
    path = root / batch.path
    table = put("value", [float("nan")])(pq.ParquetFile(path).read())
    with tables.writer(tables.PUBLISHED, path, {"suite": "s", "batch": "b"}) as file:
        file.write_table(table)
    archive.reindex()
    for read in (
        lambda: list(archive.published()),
        lambda: archive.published_table(archive.batches()[0]),
    ):
        with pytest.raises(ArchiveError, match="NaN or infinity"):
            read()


def test_what_is_not_read_is_not_written_either(root: Path) -> None:
    run = small()
    bad = structs.replace(run.replies[1].completion, tokens=("a", "b"))
    replies = [run.replies[0], structs.replace(run.replies[1], completion=bad)]
    with pytest.raises(ArchiveError, match="2 tokens and 1 token_logprobs"):
        Archive(root).write_run(run.manifest, run.instances, replies)
    when = structs.replace(run.manifest.provenance, finished_at=1e300)
    late = structs.replace(run.manifest, provenance=when)
    with pytest.raises(ArchiveError, match="not between 1970 and 9999"):
        Archive(root).write_run(late, *run[1:])
    assert Archive(root).manifests() == ()
