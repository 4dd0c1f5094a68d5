"""Instances as a page shows them: in order, each verdict where it belongs."""

import multiprocessing
import random
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from itertools import groupby
from operator import attrgetter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from helmsite.archive import Archive, RunFiles, reading, rows, runs, tables
from helmsite.archive.store import Store
from helmsite.config import SiteConfig
from helmsite.errors import ArchiveError
from helmsite.query import Results, views
from helmsite.query.rows import InstanceView, ReplyView, RequestView, TrialView
from helmsite.schema import (
    AdapterSpec,
    Completion,
    Decoding,
    Instance,
    Reply,
    Request,
    Score,
)
from tests.archive_cases import manifest
from tests.query_runs import make_run


@pytest.fixture
def archive(tmp_path: Path) -> Archive:
    return Archive(tmp_path / "runs")


def test_instances_come_by_position_with_their_twins(archive):
    identifier = make_run(
        archive, "s", "m", [1] * 12, trials=[[0] * 12], typos=[1, None, 0]
    )
    with Results(archive, SiteConfig(), None) as results:
        found = list(results.instances(identifier))
        keys = [(v.instance.instance_id, v.instance.perturbation) for v in found]
        assert keys[:4] == [("id0", ""), ("id0", "typos"), ("id1", ""), ("id2", "")]
        assert keys[-1] == ("id11", "")
        assert [len(v.trials) for v in found[:3]] == [2, 1, 2]
        first = found[0]
        assert [t.trial for t in first.trials] == [0, 1]
        assert [t.scores[0].value for t in first.trials] == [1, 0]
        assert results.instance(identifier, "id0") == (found[0], found[1])
        assert results.instance(identifier, "id11") == (found[-1],)
        with pytest.raises(ArchiveError, match="no instance 'id99'"):
            results.instance(identifier, "id99")


def test_instances_are_streamed(archive, monkeypatch):
    """However large the row groups are, no more than a piece is read ahead."""
    identifier = make_run(archive, "s", "m", [1] * 2400)
    for name in ("instances", "requests", "scores"):
        path = Path(archive.file(identifier, name))
        table = pq.read_table(path)
        with tables.writer(tables.known(name), path) as file:
            file.write_table(table, row_group_size=len(table))
    taken = dict.fromkeys(("read_instances", "read_replies", "read_scores"), 0)

    def counted(name):
        whole = getattr(rows, name)

        def decode(table, *rest):
            taken[name] += len(table)
            return whole(table, *rest)

        monkeypatch.setattr(rows, name, decode)

    for name in taken:
        counted(name)
    with Results(archive, SiteConfig(), None) as results:
        stream = results.instances(identifier)
        expected = next(stream)
        assert set(taken.values()) == {1000}
        assert sum(1 for _ in stream) == 2399
        assert set(taken.values()) == {2400}
    assert next(Results(archive, SiteConfig(), None).instances(identifier)) == expected


def test_of_long_rows_fewer_are_held(archive):
    """A piece has a few megabytes, however many rows those are."""
    made = manifest()
    long = [Instance(f"id{i}", f"{i}" * 60_000, position=i) for i in range(100, 200)]
    archive.write_run(made, long, ())
    store, source = archive.run(made.run_id)._store, archive.run(made.run_id)._source
    counts = [len(p) for p in reading.pieces(store, source("instances"))]
    assert counts == [23, 23, 23, 23, 8]


def test_a_large_row_group_is_read_as_it_is_needed(archive, monkeypatch):
    """One row group of 25 MB: the first instances take the pages that hold them."""
    made = manifest()
    draw = random.Random(1)
    long = [
        Instance(f"id{i}", draw.randbytes(10_000).hex(), position=i)
        for i in range(2500)
    ]
    archive.write_run(made, long, ())
    sizes = []
    whole = Store.open

    @contextmanager
    def watched(store, relative):
        with whole(store, relative) as stream:
            read = stream.read

            def counted(size=-1):
                found = read(size)
                sizes.append(len(found))
                return found

            monkeypatch.setattr(stream, "read", counted, raising=False)
            yield stream

    monkeypatch.setattr(Store, "open", watched)
    stream = archive.run(made.run_id).instances()
    assert next(stream) == long[0]
    size = Path(archive.file(made.run_id, "instances")).stat().st_size
    assert size > 24_000_000
    assert 0 < sum(sizes) < size / 2
    assert list(stream) == long[1:]


@pytest.mark.parametrize("modes", [("calibration", "original"), ("calibration",)])
def test_a_request_for_calibration_is_an_example_only_where_it_is_alone(archive, modes):
    made = manifest()
    replies = [
        Reply(Request("id0", f"{mode}: a", Decoding(), mode=mode), Completion())
        for mode in modes
    ]
    archive.write_run(made, [Instance("id0", "Is it?")], replies)
    first = archive.run(made.run_id).first_reply()
    assert first.request.prompt == f"{modes[-1]}: a"


def test_the_first_request_is_decoded_alone(archive, monkeypatch):
    identifier = make_run(archive, "s", "m", [1] * 1200)
    taken = []
    whole = rows.read_replies

    def decode(table, default):
        taken.append(len(table))
        return whole(table, default)

    monkeypatch.setattr(rows, "read_replies", decode)
    with Results(archive, SiteConfig(), None) as results:
        for page in (results.run(identifier), results.scenario("s")):
            assert page.example is not None
            assert page.example.instance_id == "id0"
    assert taken == [1, 1]


def test_one_instance_needs_no_whole_table(archive, monkeypatch):
    """Every row that is decoded into Python is of the instance or of the sample."""
    identifier = make_run(archive, "s", "m", [1] * 2500, typos=[0, None] * 1200)
    with Results(archive, SiteConfig(), None) as results:
        expected: dict[str, list[InstanceView]] = {}
        for view in results.instances(identifier):
            expected.setdefault(view.instance.instance_id, []).append(view)
        held = []
        rows_of = RunFiles.rows_of

        def spy(*args):
            found = list(rows_of(*args))
            held.append(len(found))
            return iter(found)

        monkeypatch.setattr(RunFiles, "rows_of", spy)
        monkeypatch.setattr(RunFiles, "table", None)
        for name in ("id0", "id999", "id1000", "id2388", "id2499"):
            held.clear()
            assert list(results.instance(identifier, name)) == expected[name]
            assert held == [len(expected[name])] * 3


# the stream beside a plain reading of all rows


def plain(instances, replies, scores, shared):
    """What `instance_views` yields, said as simply as possible."""
    for instance in instances:
        key = (instance.instance_id, instance.perturbation)
        asked = [r for r in replies if r.request.key[:2] == key]
        judged = [s for s in scores if (s.instance_id, s.perturbation) == key]
        trials = []
        for n in sorted({r.request.trial for r in asked} | {s.trial for s in judged}):
            own = [r for r in asked if r.request.trial == n]
            about = {id(s): owner(s, own) for s in judged if s.trial == n}
            requests = [
                RequestView(
                    group[0].request,
                    tuple(
                        ReplyView(
                            reply.completion,
                            reply.completion_index,
                            tuple(s for s in judged if about.get(id(s)) is reply),
                        )
                        for reply in group
                    ),
                    shared.own_start(group[0].request, instance),
                )
                for _, group in (
                    (k, list(g)) for k, g in groupby(own, key=lambda r: r.request.key)
                )
            ]
            whole = tuple(s for s in judged if about.get(id(s), 0) is None)
            trials.append(TrialView(n, tuple(requests), whole))
        yield InstanceView(instance, tuple(trials))


def owner(score, replies):
    """The one reply that fits all that a score says, None if that is not one."""
    said = {
        name: index
        for name, index in (
            ("request.request_index", score.request_index),
            ("request.reference_index", score.reference_index),
            ("completion_index", score.completion_index),
        )
        if index != -1
    }
    found = [
        reply
        for reply in replies
        if reply.request.mode == "original"
        and all(attrgetter(name)(reply) == index for name, index in said.items())
    ]
    return found[0] if said and len(found) == 1 else None


INDEX = st.integers(-1, 1)
NAMES = st.tuples(
    st.sampled_from(["id0", "id1", "id2"]), st.sampled_from(["", "typos"])
)
ASKED = st.tuples(
    NAMES, st.integers(0, 1), st.sampled_from(["original", "calibration"]),
    st.integers(0, 1), INDEX, st.integers(0, 1),
)  # fmt: skip
JUDGED = st.tuples(NAMES, st.integers(0, 1), INDEX, INDEX, INDEX, st.sampled_from("ab"))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    st.sets(ASKED, max_size=12),
    st.sets(JUDGED, max_size=12),
    st.sampled_from([1, 300, 4 << 20]),
)
def test_the_stream_is_what_a_plain_reading_gives(tmp_path, asked, judged, size):
    made = manifest()
    default = made.spec.adapter.decoding
    instances = [
        Instance(name, f"{name}{p}?", perturbation=p, position=int(name[2:]))
        for name, p in sorted({key for key, *_ in [*asked, *judged]})
    ]
    replies = [
        Reply(
            Request(
                name, f"Do it.\n{name}{p}?", default, perturbation=p, trial=trial,
                mode=mode, request_index=window, reference_index=reference,
            ),
            Completion(f"{trial}{mode}{window}{reference}{completion}"),
            completion,
        )
        for (name, p), trial, mode, window, reference, completion in sorted(asked)
    ]  # fmt: skip
    scores = [
        Score(name, metric, 1.0, p, trial, window, reference, completion)
        for (name, p), trial, window, reference, completion, metric in sorted(judged)
    ]
    archive = Archive(tmp_path / "runs")
    archive.write_run(made, instances, replies, scores)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading, "_BYTES", size)
        run = archive.run(made.run_id)
        held, answers = list(run.instances()), list(run.replies())
        shared = views.Shared(made.spec.adapter, answers)
        expected = list(plain(held, answers, list(run.scores()), shared))
        assert list(views.instance_views(run)) == expected
        for name in ("id0", "id1", "id2"):
            own = tuple(v for v in expected if v.instance.instance_id == name)
            assert views.one_instance(run, name) == own


ROWS = st.lists(JUDGED, max_size=30)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(ROWS, st.integers(1, 31), st.integers(1, 7))
def test_rows_in_any_order_are_bundled_as_they_follow(tmp_path, found, group, count):
    """Whoever wrote a file, in whatever order and groups."""
    scores = [
        Score(name, metric, 1.0, p, trial, window, reference, completion)
        for (name, p), trial, window, reference, completion, metric in found
    ]
    with tables.writer(tables.SCORES, tmp_path / "scores.parquet") as file:
        if scores:
            table = pa.Table.from_batches([rows.scores(scores)])
            file.write_table(table, row_group_size=group)
    source = reading.Source("scores.parquet", tables.SCORES, len(scores))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading, "_BYTES", 100 * count)
        bundles = list(
            reading.bundles(Store(tmp_path, {}), source, rows.read_scores, runs.JUDGED)
        )
    assert bundles == [
        list(g) for _, g in groupby(scores, key=attrgetter(*runs.JUDGED))
    ]


# a reader of its own


def read_apart(reader, summary):
    """What another process sees of a run."""
    return reader.page(summary), list(reader.instances(summary.manifest.run_id))


def test_a_reader_works_in_another_process(archive):
    make_run(archive, "s", "m", [1, "failed", 0], trials=[[1, 1, 1]], typos=[0])
    make_run(archive, "s", "n", [1, 0, 0])
    with Results(archive, SiteConfig(), None) as results:
        summaries = results.runs()
        expected = [
            (results.run(s.manifest.run_id), list(results.instances(s.manifest.run_id)))
            for s in summaries
        ]
        reader = results.reader()
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        found = [pool.submit(read_apart, reader, s).result() for s in summaries]
    assert found == expected


def test_a_reader_says_which_run_is_gone(archive):
    identifier = make_run(archive, "s", "m", [1])
    with Results(archive, SiteConfig(), None) as results:
        reader, (summary,) = results.reader(), results.runs()
    with pytest.raises(ArchiveError, match="no run 'r0'"):
        reader.instances("r0")
    archive.remove(identifier)
    with pytest.raises(ArchiveError, match=r"run\.json is gone"):
        reader.instances(identifier)
    with pytest.raises(ArchiveError, match=r"stats\.parquet"):
        reader.page(summary)


# where the own part begins in a prompt


def test_the_own_part_begins_with_the_input(archive):
    identifier = make_run(archive, "s", "m", [1, 0, 1], trials=[[1, 1, 1]], typos=[0])
    with Results(archive, SiteConfig(), None) as results:
        for view in results.instances(identifier):
            for trial in view.trials:
                (request,) = trial.requests
                own = request.request.prompt[request.own_start :]
                assert own == f"Question: {view.instance.input}\nAnswer:"


# where the own part begins


def starts(prompts, inputs, adapter=None):
    """own_start of each prompt, the prompts of instances id0, id1, ..."""
    requests = [Request(f"id{i}", p, Decoding()) for i, p in enumerate(prompts)]
    sample = [Reply(request, Completion()) for request in requests]
    shared = views.Shared(adapter or AdapterSpec(), sample)
    return [
        shared.own_start(request, Instance(request.instance_id, text))
        for request, text in zip(requests, inputs, strict=True)
    ]


HEAD = "Do it.\n\nInput: a\nOutput: b\n\n"


def test_one_instance_is_enough_where_the_form_is_known():
    assert starts([f"{HEAD}Input: q\nOutput:"], ["q"]) == [len(HEAD)]


def test_an_input_that_is_also_an_example_counts_at_its_last_place():
    assert starts([f"{HEAD}Input: a\nOutput:"], ["a"]) == [len(HEAD)]


def test_an_input_that_comes_again_in_the_choices_counts_at_its_first_own_place():
    adapter = AdapterSpec(input_prefix="")
    prompts = [f"{HEAD}the\nA. the\nB. x", f"{HEAD}an\nA. y\nB. z"]
    assert starts(prompts, ["the", "an"], adapter) == [len(HEAD)] * 2


def test_inputs_that_begin_alike_are_still_whole():
    prompts = [f"{HEAD}Input: Read:\nsame\n{x}\nOutput:" for x in ("one", "two")]
    assert starts(prompts, ["Read:\nsame\none", "Read:\nsame\ntwo"]) == [len(HEAD)] * 2


def test_a_prompt_of_unknown_form_is_cut_at_a_line_break():
    prompts = [f"{HEAD}{x}\nOutput:" for x in ("frog", "from")]
    assert starts(prompts, ["?", "!"]) == [len(HEAD)] * 2
    assert starts(prompts[:1], ["?"]) == [0]


def test_a_prompt_that_lost_its_examples_begins_where_it_differs():
    full = [f"{HEAD}Input: {x}\nOutput:" for x in ("one", "two")]
    cut = "Do it.\n\nInput: three\nOutput:"
    found = starts([*full, cut], ["one", "two", "three"])
    assert [p[n:].split("\n")[0] for p, n in zip([*full, cut], found, strict=True)] == [
        "Input: one",
        "Input: two",
        "Input: three",
    ]


def test_offsets_count_code_points():
    head = "é𝄞\n\n"
    assert starts([f"{head}Input: 𝄞{x}" for x in "ab"], ["𝄞a", "𝄞b"]) == [4, 4]


def test_prompts_that_share_nothing_are_all_their_own():
    assert starts(["abc", "xyz"], ["?", "?"]) == [0, 0]
    assert starts(["", ""], ["", ""]) == [0, 0]


@pytest.mark.parametrize(
    ("first", "second", "n"),
    [("", "", 0), ("ab", "ab", 2), ("abc", "abd", 2), ("abc", "ab", 2), ("x", "y", 0)],
)
def test_the_common_beginning_of_texts(first, second, n):
    assert views.common_length(first, second) == n


# which verdict belongs to which reply


def joined(scores, replies):
    (view,) = views._joined(
        [Instance("id0", "q")],
        views._bundled(replies, attrgetter("request.key")),
        ([score] for score in scores),
        views.Shared(AdapterSpec(), replies),
    )
    return view.trials[0]


def reply(reference=-1, mode="original", window=0, completion=0):
    request = Request(
        "id0",
        "p",
        Decoding(),
        mode=mode,
        reference_index=reference,
        request_index=window,
    )
    return Reply(request, Completion(), completion)


def test_completions_of_a_request_stand_together():
    score = Score("id0", "length", 3.0, completion_index=1)
    whole = Score("id0", "exact_match", 1.0)
    trial = joined([whole, score], [reply(), reply(completion=1)])
    (request,) = trial.requests
    assert [r.scores for r in request.replies] == [(), (score,)]
    assert trial.scores == (whole,)


def test_verdicts_on_a_reference_skip_its_calibration():
    score = Score("id0", "logprob", -1.0, reference_index=1)
    replies = [
        reply(reference=r, mode=m) for m in ("calibration", "original") for r in (0, 1)
    ]
    trial = joined([score], replies)
    owners = [
        (q.request.mode, q.request.reference_index)
        for q in trial.requests
        if q.replies[0].scores
    ]
    assert owners == [("original", 1)]


def test_verdicts_on_several_replies_are_about_the_instance():
    score = Score("id0", "mean", 1.0, request_index=0)
    trial = joined([score], [reply(), reply(completion=1)])
    assert trial.scores == (score,)


def test_windows_have_their_own_verdicts():
    scores = [Score("id0", "bits", float(w), request_index=w) for w in (0, 1)]
    trial = joined(scores, [reply(window=0), reply(window=1)])
    assert [q.replies[0].scores for q in trial.requests] == [(s,) for s in scores]
