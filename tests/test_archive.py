"""An archive in a local folder, in memory, and on S3: the same behaviour everywhere."""

from __future__ import annotations

import json
import multiprocessing
import time
import uuid
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

import fsspec
import pyarrow.parquet as pq
import pytest
from msgspec import structs

from helmsite.archive import Archive, catalogue, layout
from helmsite.archive.indexing import Scan, run_entry, scan
from helmsite.errors import ArchiveError
from helmsite.schema import MetricFacts, PublishedStat, Score, Stat
from tests.archive_cases import FACTS, catalogued, manifest, small

if TYPE_CHECKING:
    from helmsite.archive.store import Store


@pytest.fixture
def s3_url(s3_server: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """A new bucket; the endpoint and the keys come from the environment, as a user's."""
    for name, value in {
        "AWS_ENDPOINT_URL": s3_server,
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)
    bucket = f"b{uuid.uuid4().hex[:16]}"
    fsspec.filesystem("s3").mkdir(bucket)
    return f"s3://{bucket}/runs"


@pytest.fixture(params=["local", "memory", "s3"])
def archive(request: pytest.FixtureRequest, tmp_path: Path) -> Archive:
    if request.param == "local":
        return Archive(tmp_path / "runs")
    if request.param == "memory":
        return Archive(f"memory://{uuid.uuid4().hex}", cache=tmp_path)
    return Archive(request.getfixturevalue("s3_url"), cache=tmp_path)


def again(archive: Archive) -> Archive:
    """The archive as another process sees it."""
    return Archive(archive.root, cache=archive._cache)


def test_a_run_is_read_as_it_was_written(archive: Archive) -> None:
    run = small()
    made = archive.write_run(*run)
    other = again(archive)
    assert other.manifests() == (made,)
    assert other.manifest(made.run_id) == other.find(made.run_id) == made
    assert other.instances(made.run_id) == run.instances
    assert list(other.replies(made.run_id)) == run.replies
    assert other.scores(made.run_id) == run.scores
    assert other.stats(made.run_id) == run.stats
    assert other.check() == []


def test_files_stand_in_hive_folders(archive: Archive) -> None:
    made = archive.write_run(*small())
    expected = "suite=s/scenario=mmlu%3Asubject%3Da%2Fb/model=org%2Fm"
    path = archive.file(made.run_id, "scores")
    assert path.endswith(f"/{expected}/run={made.run_id}/scores.parquet")
    facts = made.files["scores"]
    with fsspec.open(
        path if archive.is_local else f"{archive.root.split(':')[0]}://{path}"
    ) as f:
        assert len(f.read()) == facts.bytes
    assert facts.rows == 3


def test_an_archive_that_does_not_exist_is_empty(archive: Archive) -> None:
    assert archive.manifests() == ()
    assert archive.find("r1") is None
    assert archive.batches() == ()
    assert archive.check() == []
    with pytest.raises(ArchiveError, match="There is no run 'r1'"):
        archive.manifest("r1")


def test_an_unknown_run_is_answered_with_the_nearest(archive: Archive) -> None:
    made = archive.write_run(*small())
    with pytest.raises(ArchiveError, match=f"Did you mean '{made.run_id}'"):
        archive.scores(made.run_id[:-1])
    with pytest.raises(ArchiveError, match="no table 'replies'"):
        archive.table(made.run_id, "replies")


def test_writing_a_run_again_replaces_it(archive: Archive) -> None:
    first = archive.write_run(*small(3))
    state = archive.state()
    run = small(5)
    second = archive.write_run(*run)
    assert first.run_id == second.run_id
    other = again(archive)
    assert other.manifests() == (second,)
    assert other.instances(second.run_id) == run.instances
    assert other.state() != state
    assert other.check() == []
    archive.write_run(*small(3))
    assert archive.state() == state


def test_new_scores_replace_the_old_ones_and_nothing_else(archive: Archive) -> None:
    run = small()
    made = archive.write_run(*run)
    scores = [Score(i.instance_id, "f1_score", 0.25) for i in run.instances[:2]]
    stats = [Stat("f1_score", 0.25, n_scored=2, n_asked=3)]
    state = archive.state()
    new = archive.write_scores(made.run_id, scores, stats, (FACTS,))
    other = again(archive)
    assert other.scores(made.run_id) == scores
    assert other.stats(made.run_id) == stats
    assert list(other.replies(made.run_id)) == run.replies
    assert other.manifest(made.run_id) == new
    assert new.metrics == (FACTS,)
    assert new.counts == structs.replace(made.counts, scored=2)
    assert new.files["requests"] == made.files["requests"]
    assert other.state() != state
    assert other.check() == []


def test_reported_scores_stand_beside_computed_ones(archive: Archive) -> None:
    """Also those of a metric that is not known here, with the facts that it came with."""
    run = small(2)
    theirs = MetricFacts("their_own", "Their own", "By the source.", "accuracy")
    reported = [
        Score(i.instance_id, metric, 0.75, origin="reported", scorer="judge")
        for i in run.instances
        for metric in ("exact_match", "their_own")
    ]
    totals = [
        Stat(metric, 0.75, split="test", scorer="judge", origin="reported")
        for metric in ("exact_match", "their_own")
    ]
    made = archive.write_run(
        structs.replace(run.manifest, metrics=(theirs, FACTS)),
        *run[1:3],
        reported,
        totals,
    )
    unnamed = [structs.replace(s, scorer="") for s in reported[:1]]
    new = archive.write_scores(
        made.run_id, [*run.scores, *unnamed, *reported], [*run.stats, *totals], (FACTS,)
    )
    other = again(archive)
    assert {(s.metric, s.scorer, s.origin) for s in other.scores(made.run_id)} == {
        ("exact_match", "", "computed"),
        ("exact_match", "", "reported"),
        ("exact_match", "judge", "reported"),
        ("their_own", "judge", "reported"),
    }
    assert len(other.scores(made.run_id)) == 2 + 1 + 4
    assert other.stats(made.run_id) == [run.stats[0], *totals]
    assert new.metrics == (FACTS, theirs)
    assert other.manifest(made.run_id).counts.scored == 7
    assert other.check() == []
    with pytest.raises(ArchiveError, match="two rows have the key"):
        archive.write_scores(made.run_id, [*unnamed, *unnamed], [], ())
    last = archive.write_scores(made.run_id, run.scores, run.stats, (FACTS,))
    assert last.metrics == (FACTS,)  # of a metric without rows nothing is kept


def test_scores_of_an_unknown_instance_leave_the_old_ones(archive: Archive) -> None:
    run = small()
    made = archive.write_run(*run)
    with pytest.raises(ArchiveError, match="'id9' is not among the instances"):
        archive.write_scores(made.run_id, [Score("id9", "m", 1.0)], [], ())
    assert again(archive).scores(made.run_id) == run.scores
    assert archive.check() == []


def test_a_removed_run_is_gone(archive: Archive) -> None:
    kept = archive.write_run(*small(origin="native:kept"))
    made = archive.write_run(*small())
    archive.remove(made.run_id)
    other = again(archive)
    assert other.manifests() == (kept,)
    assert other.check() == []
    archive.write_run(*small())
    assert len(again(archive).manifests()) == 2


def test_published_results_stand_beside_the_runs(archive: Archive) -> None:
    results = [
        PublishedStat("mmlu", model, Stat("acc", 0.5), {"shots": 5}, "table.csv", "ab")
        for model in ("a/b", "c")
    ]
    state = archive.state()
    batch = archive.write_published("2024-01-01", "leader:board/1", results)
    other = again(archive)
    assert batch.path == "suite=2024-01-01/published/leader%3Aboard%2F1.parquet"
    assert other.batches() == (batch,)
    assert list(other.published()) == results
    assert list(other.published("other")) == []
    assert other.published_table(batch).num_rows == 2
    assert other.state() != state
    assert other.check() == []
    archive.write_published("2024-01-01", "leader:board/1", results[:1])
    assert list(again(archive).published("2024-01-01")) == results[:1]


def test_published_results_may_differ_in_their_settings_alone(archive: Archive) -> None:
    results = [
        PublishedStat("mmlu", "a", Stat("acc", 0.5 + shots), {"shots": shots} if shots else {})
        for shots in (0, 1, 5)
    ]  # fmt: skip
    archive.write_published("s", "b", results)
    assert list(archive.published()) == sorted(results, key=lambda r: str(r.settings))
    with pytest.raises(ArchiveError, match="two rows have the key 'mmlu', 'a'"):
        archive.write_published("s", "c", [*results, results[0]])


def test_the_state_changes_with_every_run_and_only_then(archive: Archive) -> None:
    states = {archive.state()}
    for origin in ("native", "native:b"):
        archive.write_run(*small(origin=origin))
        states.add(archive.state())
    assert len(states) == 3
    archive.reindex()
    assert again(archive).state() in states


def test_an_archive_without_a_catalogue_is_read_and_reindexed(archive: Archive) -> None:
    made = archive.write_run(*small())
    archive.write_published("s", "b", [PublishedStat("a", "b", Stat("acc", 0.5))])
    state = archive.state()
    archive._store.delete(layout.CATALOGUE)
    other = again(archive)
    assert other.manifests() == (made,)
    assert [p.what for p in other.check()] == [
        "there is no catalogue: every command looks through all folders"
    ]
    assert len(other.reindex().added) == 2
    assert other.check() == []
    assert again(archive).state() == state


def test_a_new_run_hides_none_of_an_archive_without_a_catalogue(
    archive: Archive,
) -> None:
    before = [archive.write_run(*small(1, origin=f"native:{i}")) for i in range(3)]
    batch = archive.write_published(
        "s", "b", [PublishedStat("a", "b", Stat("acc", 0.5))]
    )
    archive._store.delete(layout.CATALOGUE)
    made = again(archive).write_run(*small(2))
    ids = sorted(m.run_id for m in [*before, made])
    assert [m.run_id for m in again(archive).manifests()] == ids
    assert again(archive).batches() == (batch,)
    assert archive.check() == []
    left: set[str] = set()
    for act in (
        lambda a: a.write_scores(made.run_id, [], [], ()),
        lambda a: a.write_published("s", "b", [*a.published()]),
        lambda a: a.write_run(*small(3)),  # in place of another
        lambda a: a.remove(made.run_id),
    ):
        archive._store.delete(layout.CATALOGUE)
        act(again(archive))
        left = {m.run_id for m in again(archive).manifests()}
        assert left >= {m.run_id for m in before}
        assert archive.check() == []
    assert made.run_id not in left


def test_an_archive_without_a_catalogue_is_looked_through_once(
    archive: Archive, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = [archive.write_run(*small(1, origin=f"native:{i}")) for i in range(3)]
    archive._store.delete(layout.CATALOGUE)
    other, scans = again(archive), []

    def counted(store: Store) -> Scan:
        scans.append(store)
        return scan(store)

    monkeypatch.setattr("helmsite.archive.archive.scan", counted)
    for run in [*other.manifests(), *made]:
        assert other.table(run.run_id, "stats").num_rows == 1
    assert len(scans) == 1


def test_two_that_begin_a_catalogue_at_once_lose_nothing(tmp_path: Path) -> None:
    """What one has just found is older than what another has just written."""
    archive = Archive(tmp_path)
    old = archive.write_run(*small(2))
    archive._store.delete(layout.CATALOGUE)
    slow = scan(archive._store).entries.values()
    new = Archive(tmp_path).write_run(*small(3))
    archive._catalogue.begin(slow)
    assert old.run_id == new.run_id
    assert Archive(tmp_path).manifests() == (new,)
    assert archive.check() == []


def test_reindex_follows_folders_that_came_and_went(
    archive: Archive, tmp_path: Path
) -> None:
    elsewhere = Archive(tmp_path / "other")
    came = elsewhere.write_run(*small(4, origin="native:came"))
    went = archive.write_run(*small(origin="native:went"))
    for path in elsewhere._store.files("suite=s"):
        archive._store.write(path, elsewhere._store.read(path) or b"")
    archive._store.delete(layout.run_path(went))
    told = {(p.run_id, p.what) for p in archive.check()}
    assert told == {
        (came.run_id, "not in the catalogue"),
        (went.run_id, "in the catalogue, but its files are gone"),
    }
    done = archive.reindex()
    assert (done.added, done.gone) == ((came.run_id,), (went.run_id,))
    assert again(archive).manifests() == (came,)
    assert archive.check() == []
    assert archive.reindex() == type(done)()


def test_the_catalogue_stays_small_and_complete(
    archive: Archive, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalogue, "MANY", 6)
    runs = [small(1, origin=f"native:{i}") for i in range(10)]
    for run in runs:
        archive.write_run(*run)
    assert len(archive._store.names(layout.CATALOGUE) or ()) <= 6
    found = again(archive).manifests()
    assert [m.run_id for m in found] == sorted(r.manifest.run_id for r in runs)


def test_a_reader_keeps_up_with_a_writer(
    archive: Archive, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalogue, "MANY", 4)
    reader = again(archive)
    for i in range(7):  # over the moment when segments are merged
        archive.write_run(*small(1, origin=f"native:{i}"))
        assert len(reader.manifests()) == i + 1


def test_remote_archives_keep_journals_in_the_users_cache(
    archive: Archive, tmp_path: Path
) -> None:
    run = small()
    with archive.journal(run.manifest.run_id, run.manifest.spec.model) as journal:
        journal.put(run.replies[0].request, [run.replies[0].completion])
        inside = archive.root if archive.is_local else tmp_path
        assert journal.path.is_relative_to(inside)


def test_no_cache_is_kept_inside_an_archive(
    archive: Archive, tmp_path: Path, cache_home: Path
) -> None:
    """An archive from elsewhere would bring its cache along."""
    home = cache_home if archive.is_local else tmp_path
    assert archive.cache_folder.is_relative_to(home)
    assert not archive.cache_folder.is_relative_to(archive.root)
    assert again(archive).cache_folder == archive.cache_folder


def test_an_archive_has_one_cache_however_it_is_addressed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "link").symlink_to(tmp_path / "runs")
    folders = {
        Archive(root).cache_folder
        for root in ("runs", tmp_path / "runs", f"{tmp_path}/runs/", "link", "./runs")
    }
    assert len(folders) == 1
    assert Archive("other").cache_folder not in folders


def test_the_users_cache_folder_is_the_systems(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("sys.platform", "linux")
    first, second = (Archive(f"memory://{n}").cache_folder for n in "ab")
    assert first.is_relative_to(tmp_path / "helmsite")
    assert first != second
    monkeypatch.setattr("sys.platform", "darwin")
    assert "Library/Caches/helmsite" in str(Archive("memory://a").cache_folder)
    monkeypatch.setattr("sys.platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    assert Archive("memory://a").cache_folder.is_relative_to(tmp_path / "local")


def test_storage_options_reach_the_file_system(
    s3_server: str, s3_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AWS_ENDPOINT_URL")
    options = {"endpoint_url": s3_server, "key": "test", "secret": "test"}
    archive = Archive(s3_url, options)
    made = archive.write_run(*small())
    assert Archive(s3_url, options).manifests() == (made,)


def test_an_unreachable_store_is_a_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    options = {
        "endpoint_url": "http://127.0.0.1:9",
        "key": "a",
        "secret": "b",
        "config_kwargs": {"retries": {"max_attempts": 1}, "connect_timeout": 1},
    }
    with pytest.raises(ArchiveError, match=r"Cannot .* s3://bucket/runs") as caught:
        Archive("s3://bucket/runs", options).manifests()
    assert "connection" in caught.value.hint


def test_a_missing_bucket_is_a_clear_error(s3_url: str) -> None:
    with pytest.raises(ArchiveError, match="Cannot write s3://no-such-bucket/"):
        Archive("s3://no-such-bucket/runs").write_run(*small())


def test_an_unknown_scheme_says_what_to_install() -> None:
    with pytest.raises(
        ArchiveError, match="Cannot open the archive nope://x"
    ) as caught:
        Archive("nope://x")
    assert "fsspec" in caught.value.hint


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("mmlu:subject=a,k=2", "mmlu%3Asubject%3Da%2Ck%3D2"),
        ("org/model", "org%2Fmodel"),
        ("..", ".."),
        ("a b%20*?[x]", "a%20b%2520%2A%3F%5Bx%5D"),
        ("é", "%C3%A9"),
        ("x" * 120, "x" * 120),
    ],
)
def test_names_are_percent_encoded(value: str, expected: str) -> None:
    assert layout.encode(value) == expected


def test_long_names_are_cut_and_stay_apart() -> None:
    first, second = ("é" * 100 + end for end in "ab")
    one, two = layout.encode(first), layout.encode(second)
    assert one != two
    assert max(len(one), len(two)) <= 120
    assert one.split("~")[0] == two.split("~")[0]
    assert unquote(one.split("~")[0], errors="strict") == "é" * 17


@pytest.mark.parametrize("changes", [{"scenario": ""}, {"model": ""}, {"suite": ""}, {"suite": "\ud800"}, {"run_id": "../x"}, {"run_id": ""}])  # fmt: skip
def test_names_that_cannot_be_paths_are_refused(
    tmp_path: Path, changes: dict[str, str]
) -> None:
    scenario, model = changes.pop("scenario", "a"), changes.pop("model", "b")
    made = manifest(scenario, model)
    with pytest.raises(ArchiveError):
        Archive(tmp_path).write_run(structs.replace(made, **changes), [], [])
    assert Archive(tmp_path).manifests() == ()


def test_hive_values_are_decoded_by_pyarrow_and_long_names_stand_in_run_json(
    tmp_path: Path,
) -> None:
    import pyarrow.dataset as ds

    archive = Archive(tmp_path)
    made = archive.write_run(
        *small(entry="s:" + "x" * 200, model="org/m é", suite="2024-01-01")
    )
    path = archive.file(made.run_id, "scores")
    table = ds.dataset(
        path,
        partitioning=ds.partitioning(flavor="hive"),
        partition_base_dir=str(tmp_path),
    ).to_table()
    assert table["model"][0].as_py() == "org/m é"
    raw = json.loads((Path(path).parent / "run.json").read_text())
    assert raw["spec"]["scenario"] == "s:" + "x" * 200


def _write(root: str, worker: int) -> None:
    archive = Archive(root)
    for i in range(8):
        archive.write_run(*small(1, origin=f"native:{worker}-{i}"))


def test_several_processes_write_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalogue, "MANY", 5)  # merge often
    context = multiprocessing.get_context("fork")
    workers = [
        context.Process(target=_write, args=(str(tmp_path), w)) for w in range(4)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [w.exitcode for w in workers] == [0] * 4
    archive = Archive(tmp_path)
    assert len(archive.manifests()) == 32
    assert archive.check() == []


def test_a_local_table_can_be_opened_by_path(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    made = archive.write_run(*small())
    assert archive.is_local
    assert pq.ParquetFile(archive.file(made.run_id, "stats")).metadata.num_rows == 1


def test_ten_thousand_runs_are_listed_in_under_a_second(tmp_path: Path) -> None:
    """CPU time, so that a busy machine does not fail it."""
    made = catalogued(10_000)
    entries = [run_entry(m, layout.run_path(m)) for m in made]
    Archive(tmp_path)._catalogue.add(*entries)
    archive = Archive(tmp_path)
    start = time.process_time()
    found = archive.manifests()
    state = archive.state()
    assert time.process_time() - start < 1.0
    assert found == tuple(sorted(made, key=lambda m: m.run_id))
    assert len(state) == 64
    assert found[0].metrics[0] is found[1].metrics[0]  # held once
    start = time.process_time()
    for manifest_ in found[:1000]:
        archive.manifest(manifest_.run_id)
    assert time.process_time() - start < 1.0
