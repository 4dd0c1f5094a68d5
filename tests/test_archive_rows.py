"""Records ⇄ Parquet rows: exact, or refused with the row and the column named."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import structs

from helmsite.archive import Archive, tables
from helmsite.errors import ArchiveError
from helmsite.schema import (
    Completion,
    Decoding,
    Instance,
    Message,
    PublishedStat,
    Reference,
    Reply,
    Request,
    Score,
    Stat,
    TopLogprob,
    Usage,
)
from tests.archive_cases import Run, manifest, realistic, small

if TYPE_CHECKING:
    from pathlib import Path

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=30) | st.sampled_from(
    ["\x00", "a\x00b", "\u202eevil\u202c", "שלום", "👩‍👩‍👧", "\r\n", '"\\', "<script>", "x" * 5000]
)  # fmt: skip
REAL = st.floats(allow_nan=False, allow_infinity=False)
SMALL = st.integers(-(2**31), 2**31 - 1)
COUNT = st.integers(0, 2**31 - 1)
JSON = st.dictionaries(
    TEXT,
    st.recursive(
        st.none() | st.booleans() | st.integers(-(2**80), 2**80) | REAL | TEXT,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
        max_leaves=6,
    ),
    max_size=3,
)  # fmt: skip


def tuples(inner: st.SearchStrategy[Any], size: int = 3) -> st.SearchStrategy[Any]:
    return st.lists(inner, max_size=size).map(tuple)


MESSAGES = tuples(st.builds(Message, role=TEXT, content=TEXT, extra=JSON))
INSTANCES = st.builds(
    Instance,
    instance_id=TEXT,
    input=TEXT,
    references=tuples(st.builds(Reference, TEXT, tuples(TEXT))),
    perturbation=TEXT,
    position=SMALL,
    split=TEXT,
    sub_split=TEXT,
    attributes=st.dictionaries(TEXT, tuples(TEXT), max_size=3),
    messages=MESSAGES,
    extra=JSON,
)
DECODINGS = st.builds(
    Decoding,
    temperature=REAL,
    max_tokens=COUNT,
    num_completions=COUNT,
    top_k_per_token=COUNT,
    stop_sequences=tuples(TEXT),
    top_p=REAL,
    random=TEXT,
)
REQUESTS = st.builds(
    Request,
    instance_id=TEXT,
    prompt=TEXT,
    decoding=DECODINGS | st.just(manifest().spec.adapter.decoding),
    perturbation=TEXT,
    trial=SMALL,
    mode=TEXT,
    request_index=SMALL,
    reference_index=SMALL,
    prompt_kind=st.sampled_from(["exact", "abridged", "absent"]),
    messages=MESSAGES,
    output_mapping=st.dictionaries(TEXT, TEXT, max_size=3),
    example_ids=tuples(TEXT),
    num_train_instances=COUNT,
    truncated=st.booleans(),
    num_conditioning_tokens=COUNT,
    score_start=st.none() | COUNT,
)


def paired(one: Completion) -> Completion:
    """As many log-probabilities as tokens, where both are known."""
    if one.tokens is None or one.token_logprobs is None:
        return one
    pairs = list(zip(one.tokens, one.token_logprobs, strict=False))
    return structs.replace(
        one,
        tokens=tuple(t for t, _ in pairs),
        token_logprobs=tuple(p for _, p in pairs),
    )


COMPLETIONS = st.builds(
    Completion,
    text=TEXT,
    reasoning=TEXT,
    transcript=tuples(JSON),
    tokens=st.none() | tuples(TEXT),
    token_logprobs=st.none() | tuples(st.none() | REAL),
    top_logprobs=st.none() | tuples(tuples(st.builds(TopLogprob, TEXT, REAL))),
    logprob=st.none() | REAL,
    finish_reason=TEXT,
    usage=st.builds(
        Usage, st.none() | COUNT, st.none() | COUNT, st.none() | COUNT
    ),
    duration_s=st.none() | REAL,
    started_at=st.none() | st.floats(0, 2e11),
    cached=st.booleans(),
    model_version=TEXT,
    error=TEXT,
    extra=JSON,
).map(paired)  # fmt: skip
STATS = st.builds(
    Stat,
    metric=TEXT,
    value=st.none() | REAL,
    split=TEXT,
    sub_split=TEXT,
    perturbation=TEXT,
    computed_on=TEXT,
    scorer=TEXT,
    trial=SMALL,
    stderr=st.none() | REAL,
    ci_low=st.none() | REAL,
    ci_high=st.none() | REAL,
    n_scored=COUNT,
    n_asked=COUNT,
    origin=st.sampled_from(["computed", "reported"]),
    missing=st.sampled_from(["", "failed", "nan"]),
    details=JSON,
)
SCORES = st.builds(
    Score,
    instance_id=TEXT,
    metric=TEXT,
    value=st.none() | REAL,
    perturbation=TEXT,
    trial=SMALL,
    request_index=SMALL,
    reference_index=SMALL,
    completion_index=SMALL,
    scorer=TEXT,
    weight=st.none() | REAL,
    text=TEXT,
    details=JSON,
    origin=st.sampled_from(["computed", "reported"]),
    missing=st.sampled_from(["", "failed", "nan"]),
)
PUBLISHED = st.builds(
    PublishedStat, TEXT, TEXT, STATS, settings=JSON, source_file=TEXT, source_sha256=TEXT
)  # fmt: skip
QUICK = settings(
    max_examples=40,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.fixture
def archive(tmp_path: Path) -> Archive:
    return Archive(tmp_path)


@QUICK
@given(
    instances=st.lists(
        INSTANCES, max_size=4, unique_by=lambda i: (i.instance_id, i.perturbation)
    ),
    stats=st.lists(STATS, max_size=3, unique_by=repr),
    data=st.data(),
)
def test_any_run_comes_back_unchanged(
    instances: list[Instance], stats: list[Stat], data: st.DataObject
) -> None:
    archive = Archive("memory://any-run")
    replies, scores = [], []
    for one in instances:
        owner = {"instance_id": one.instance_id, "perturbation": one.perturbation}
        request = structs.replace(data.draw(REQUESTS), **owner)
        replies += [
            Reply(request, c, i)
            for i, c in enumerate(data.draw(st.lists(COMPLETIONS, max_size=2)))
        ]
        scores += [
            structs.replace(s, **owner) for s in data.draw(st.lists(SCORES, max_size=2))
        ]
    scores = list({(*_key(s, tables.SCORES),): s for s in scores}.values())
    stats = list({(*_key(s, tables.STATS),): s for s in stats}.values())
    made = archive.write_run(manifest(), instances, replies, scores, stats)
    assert _same(archive.instances(made.run_id), instances)
    assert _same(archive.replies(made.run_id), replies)
    assert _same(archive.scores(made.run_id), scores)
    assert _same(archive.stats(made.run_id), stats)
    assert archive.check() == []


@QUICK
@given(st.lists(PUBLISHED, max_size=4))
def test_any_published_result_comes_back_unchanged(
    results: list[PublishedStat],
) -> None:
    archive = Archive("memory://any-published")
    unique = {
        (
            r.scenario,
            r.model,
            r.source_file,
            repr(_sorted_maps(r.settings)),
            *_key(r.stat, tables.STATS),
        ): r
        for r in results
    }
    archive.write_published("s", "b", unique.values())
    assert _same(archive.published(), unique.values())


def _key(row: Any, table: tables.Table) -> list[Any]:
    return [getattr(row, name) for name in table.key]


def _same(found: Any, expected: Any) -> bool:
    return sorted(map(repr, found)) == sorted(map(repr, map(_sorted_maps, expected)))


def _sorted_maps(record: Any) -> Any:
    """Objects come back with their keys in order (Python's == does not look at it)."""
    if isinstance(record, dict):
        return {k: _sorted_maps(record[k]) for k in sorted(record)}
    if isinstance(record, (list, tuple)):
        return type(record)(map(_sorted_maps, record))
    if hasattr(record, "__struct_fields__"):
        changed = {
            k: _sorted_maps(getattr(record, k)) for k in record.__struct_fields__
        }
        return structs.replace(record, **changed)
    return record


def _with(**columns: Any) -> Run:
    """A run with one score changed."""
    run = small()
    run.scores[1] = structs.replace(run.scores[1], **columns)
    return run


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"value": math.nan}, "column value holds NaN or infinity"),
        ({"weight": -math.inf}, "column weight holds NaN or infinity"),
        ({"text": "half \ud83d"}, "column text holds a lone surrogate"),
        ({"details": {"a": [math.nan]}}, "column details"),
        ({"details": {1: "a"}}, "column details"),
        ({"details": {"a": {1, 2}}}, "column details"),
        ({"details": {"a": object()}}, "column details"),
        ({"details": {"a": "half \ud83d"}}, "column details"),
        ({"trial": 2**31}, "column trial"),
        ({"trial": None}, "column trial"),
        ({"metric": None}, "metric"),
        ({"scorer": None}, "scorer"),
        ({"value": "high"}, "column value"),
    ],
)
def test_what_cannot_be_stored_unchanged_is_refused(
    archive: Archive, columns: dict[str, Any], said: str
) -> None:
    with pytest.raises(ArchiveError) as caught:
        archive.write_run(*_with(**columns))
    assert said in caught.value.message
    assert "scores" in caught.value.message
    assert caught.value.hint
    assert archive.manifests() == ()
    assert archive.check() == []


@pytest.mark.parametrize(
    "completion",
    [
        Completion(token_logprobs=(None, math.nan)),
        Completion(top_logprobs=((TopLogprob("a", -math.inf),),)),
        Completion(tokens=("\udc80",)),
        Completion("\ud800"),
        Completion(transcript=({"x": math.inf},)),
        Completion(duration_s=math.nan),
    ],
)
def test_a_reply_that_cannot_be_stored_names_its_instance(
    archive: Archive, completion: Completion
) -> None:
    run = small()
    run.replies[2] = structs.replace(run.replies[2], completion=completion)
    with pytest.raises(ArchiveError, match=r"requests of 'id2'"):
        archive.write_run(*run)


@pytest.mark.parametrize("value", [math.nan, "\ud800", object()])
def test_settings_that_are_no_json_are_refused(archive: Archive, value: object) -> None:
    result = PublishedStat("a", "b", Stat("acc", 0.5), {"x": value})
    with pytest.raises(ArchiveError, match="published of 'acc': column settings"):
        archive.write_published(
            "s", "b", [result, PublishedStat("a", "c", Stat("acc", 0.5))]
        )


def test_tuples_in_details_come_back_as_lists(archive: Archive) -> None:
    run = _with(details={"bins": (1, 2, (3,))})
    archive.write_run(*run)
    assert archive.scores(run.manifest.run_id)[1].details == {"bins": [1, 2, [3]]}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            lambda r: r.instances.append(r.instances[0]),
            "two rows have the key 'id0', ''",
        ),
        (lambda r: r.replies.append(r.replies[1]), "two rows have the key 'id1'"),
        (lambda r: r.scores.append(r.scores[1]), "two rows have the key 'id1'"),
        (lambda r: r.stats.append(r.stats[0]), "two rows have the key 'exact_match'"),
        (lambda r: r.instances.pop(), "'id2' is not among the instances"),
        (
            lambda r: (r.replies.pop(), r.instances.pop()),
            "scores: 'id2' is not among the instances",
        ),
    ],
)
def test_repeated_keys_and_orphans_are_refused(
    archive: Archive, change: Any, said: str
) -> None:
    run = small()
    change(run)
    with pytest.raises(ArchiveError, match=said):
        archive.write_run(*run)


def test_files_have_the_documented_schemas(archive: Archive) -> None:
    run = realistic(5)
    made = archive.write_run(*run)
    for name, table in tables.RUN_TABLES.items():
        file = pq.ParquetFile(archive.file(made.run_id, name))
        assert file.schema_arrow.equals(table.schema), name
        assert {c for c in table.key if file.schema_arrow.field(c).nullable} == set()
        assert file.metadata.metadata[b"helmsite.table"] == name.encode()


def test_rows_stand_in_the_order_of_the_instances(archive: Archive) -> None:
    run = realistic(20, trials=2)
    shuffled = Run(
        run.manifest, run.instances[::-1], run.replies[::-1], run.scores[::-1], []
    )
    made = archive.write_run(*shuffled)
    assert archive.instances(made.run_id) == run.instances
    assert list(archive.replies(made.run_id)) == run.replies
    ids = archive.table(made.run_id, "scores", ["instance_id"])[
        "instance_id"
    ].to_pylist()
    assert list(dict.fromkeys(ids)) == [i.instance_id for i in run.instances]


def test_the_same_rows_give_the_same_bytes(tmp_path: Path) -> None:
    run = realistic(30, trials=2)
    shuffled = Run(
        run.manifest,
        run.instances[::-1],
        run.replies[::-1],
        run.scores[::-1],
        run.stats,
    )
    first = Archive(tmp_path / "a").write_run(*run)
    second = Archive(tmp_path / "b").write_run(*shuffled)
    streamed = structs.replace(run.manifest)
    third = Archive(tmp_path / "c").write_run(
        streamed,
        iter(run.instances),
        iter(run.replies),
        iter(run.scores),
        iter(run.stats),
    )
    assert first == second == third
    trees = [
        {p.relative_to(root): p.read_bytes() for p in root.rglob("*") if p.is_file()}
        for root in (tmp_path / "a", tmp_path / "b", tmp_path / "c")
    ]
    assert trees[0] == trees[1] == trees[2]
    assert len(trees[0]) == 7  # and two segments of the catalogue


def test_an_iterator_out_of_order_is_put_in_order(archive: Archive) -> None:
    run = realistic(1200)
    moved = run.replies[1100:] + run.replies[:1100]
    made = archive.write_run(run.manifest, run.instances, iter(moved))
    assert list(archive.replies(made.run_id)) == run.replies
    assert made.counts.answered == 1200


def test_requests_are_cut_into_row_groups(archive: Archive) -> None:
    run = realistic(1100)
    made = archive.write_run(*run)
    file = pq.ParquetFile(archive.file(made.run_id, "requests")).metadata
    assert [file.row_group(g).num_rows for g in range(file.num_row_groups)] == [
        1000,
        100,
    ]
    long = small(5)
    huge = [
        structs.replace(r, request=structs.replace(r.request, prompt="x" * 3_000_000))
        for r in long.replies
    ]
    made = archive.write_run(long.manifest, long.instances, huge, long.scores)
    file = pq.ParquetFile(archive.file(made.run_id, "requests")).metadata
    assert [file.row_group(g).num_rows for g in range(file.num_row_groups)] == [3, 2]
    scores = pq.ParquetFile(archive.file(made.run_id, "scores")).metadata
    assert scores.num_row_groups == 1


def test_only_short_columns_have_statistics_and_dictionaries(archive: Archive) -> None:
    made = archive.write_run(*realistic(200))
    group = pq.ParquetFile(archive.file(made.run_id, "requests")).metadata.row_group(0)
    columns = {
        group.column(i).path_in_schema: group.column(i)
        for i in range(group.num_columns)
    }
    prompt, mode = columns["prompt"], columns["mode"]
    assert (prompt.is_stats_set, mode.is_stats_set) == (False, True)
    assert "RLE_DICTIONARY" not in prompt.encodings
    assert "RLE_DICTIONARY" in mode.encodings
    assert prompt.compression == "ZSTD"


def test_a_prompt_of_50_mb_on_one_line_comes_back(archive: Archive) -> None:
    run = small(1)
    request = structs.replace(run.replies[0].request, prompt="0123456789" * 5_000_000)
    reply = structs.replace(run.replies[0], request=request)
    made = archive.write_run(run.manifest, run.instances, [reply])
    assert next(archive.replies(made.run_id)) == reply


def test_params_hold_what_differs_from_the_spec(archive: Archive) -> None:
    run = small(2)
    usual = run.manifest.spec.adapter.decoding
    warm = structs.replace(usual, temperature=0.7, stop_sequences=("\n",))
    request = structs.replace(run.replies[1].request, decoding=warm)
    run.replies[1] = structs.replace(run.replies[1], request=request)
    made = archive.write_run(*run)
    params = archive.table(made.run_id, "requests", ["params"])["params"].to_pylist()
    assert params == [None, '{"stop_sequences":["\\n"],"temperature":0.7}']
    assert list(archive.replies(made.run_id)) == run.replies


def test_counts_and_status_come_from_the_rows(archive: Archive) -> None:
    run = small(4)
    failed = structs.replace(run.replies[3], completion=Completion(error="HTTP 500"))
    run.replies[3] = failed
    run.scores[3] = structs.replace(run.scores[3], value=None, missing="failed")
    made = archive.write_run(*run)
    counts = made.counts
    assert (counts.asked, counts.answered, counts.failed, counts.scored) == (4, 3, 1, 3)
    assert made.status == "partial"


def test_an_empty_run_can_be_stored(archive: Archive) -> None:
    made = archive.write_run(manifest(), [], [])
    assert archive.instances(made.run_id) == []
    assert list(archive.replies(made.run_id)) == []
    assert archive.table(made.run_id, "scores").schema.equals(tables.SCORES.schema)
    assert archive.check() == []


def test_a_column_can_be_read_alone(archive: Archive) -> None:
    made = archive.write_run(*small())
    table = archive.table(made.run_id, "instances", ["content_hash", "references"])
    assert table.column_names == ["content_hash", "references"]
    assert isinstance(table, pa.Table)
    assert table["content_hash"].to_pylist() == [
        i.content_hash for i in small().instances
    ]


def test_a_realistic_run_takes_half_a_kilobyte_per_instance(tmp_path: Path) -> None:
    run = realistic(1000)
    lengths = [len(r.request.prompt) for r in run.replies]
    assert 2900 < sum(lengths) / 1000 < 3300
    assert len(run.scores) == 25_000
    assert all(r.completion.top_logprobs for r in run.replies)
    Archive(tmp_path).write_run(*run)
    size = sum(p.stat().st_size for p in tmp_path.rglob("*") if p.is_file())
    assert size <= 500 * 1000
