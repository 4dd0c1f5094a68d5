"""The score index: compact, and exactly what the archive says."""

from __future__ import annotations

import gzip
import json
import random
import string
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmsite.query.rows import InstanceView, ReplyView, RequestView, TrialView
from helmsite.render import samples
from helmsite.render.columns import decode, decode_ids, encode, encode_ids
from helmsite.render.names import anchor
from helmsite.render.scoreindex import ScoreIndex, anchors, read
from helmsite.render.verdicts import outcome
from helmsite.schema import Completion, Decoding, Instance, Request, Score
from tests.finder_source import CONFIDENCE, F1, FinderResults, mixed
from tests.site_source import EXACT

JSON = st.recursive(
    st.none() | st.integers(-(2**40), 2**40) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3).map(tuple),
    max_leaves=4,
)
IDS = st.from_regex(r"[a-z]{0,2}-?[0-9]{0,17}", fullmatch=True) | st.text()


def told(column: Any) -> Any:
    return json.loads(json.dumps(column))


@given(st.lists(JSON))
def test_a_column_is_read_as_it_was_written(values: list[object]) -> None:
    assert decode(told(encode(values)), len(values)) == values


@pytest.mark.parametrize("distinct", [1, 2, 64, 65, 700, 4096, 4097])
def test_a_column_of_any_variety_is_read_as_it_was_written(distinct: int) -> None:
    values = [f"value {n % distinct}" for n in range(20_000)]
    column = told(encode(values))
    assert decode(column, len(values)) == values
    assert isinstance(column, list) == (distinct > 4096)


@given(st.lists(IDS))
def test_ids_are_read_as_they_were_written(ids: list[str]) -> None:
    assert decode_ids(told(encode_ids(ids)), len(ids)) == ids


def test_numbered_ids_cost_next_to_nothing() -> None:
    for form in ("id{}", "q{:06d}", "test-{}"):
        ids = [form.format(n) for n in range(50_000)]
        packed = json.dumps(encode_ids(ids)).encode()
        assert len(gzip.compress(packed)) < 1_000


def index_of(views: list[InstanceView]) -> dict[str, Any]:
    run = next(iter(FinderResults().runs()))
    index = ScoreIndex(run)
    for n, view in enumerate(views):
        if n % 50 == 0:
            index.start_page()
        index.add(view)
    payload = read(index.script())
    assert payload is not None
    return payload


def test_every_column_says_what_the_archive_says() -> None:
    views = list(mixed())
    index = index_of(views)
    n = len(views)
    assert index["rows"] == n
    assert decode_ids(index["ids"], n) == [v.instance.instance_id for v in views]
    assert decode(index["split"], n) == [v.instance.split for v in views]
    assert decode(index["sub"], n) == [v.instance.sub_split for v in views]
    assert decode(index["pert"], n) == [v.instance.perturbation for v in views]
    for name, column in index["groups"].items():
        assert decode(column, n) == [v.instance.attributes[name] for v in views]
    assert [m["name"] for m in index["metrics"]] == ["exact_match", "f1"]
    for metric, facts in zip(index["metrics"], (EXACT, F1), strict=True):
        for trial in range(3):
            values = decode(metric["values"][trial], n)
            assert [coded(v) for v in values] == [
                outcome(v.trials[trial], facts)[0] for v in views
            ]
    completions = [
        [v.trials[t].requests[0].replies[0].completion for v in views] for t in range(3)
    ]
    assert index["unit"] == "tokens"
    for trial, made in enumerate(completions):
        lengths = [None if c.error else c.usage.completion_tokens for c in made]
        assert decode(index["length"][trial], n) == lengths
        reasons = ["failed" if c.error else c.finish_reason for c in made]
        assert decode(index["finish"][trial], n) == reasons
        sure = [
            next(
                (
                    round(1000 * s.value)
                    for s in v.trials[trial].scores
                    if s.metric == CONFIDENCE.name and s.value is not None
                ),
                None,
            )
            for v in views
        ]
        assert decode(index["confidence"][trial], n) == sure
    assert index["sure"] == "max_prob"
    flat = [a for page in anchors(index) for a in page]
    assert flat == [
        anchor(v.instance.instance_id, v.instance.perturbation) for v in views
    ]


def coded(value: object) -> str:
    if not isinstance(value, int | float):
        return str(value)
    return "1" if value >= 1 else "0" if value <= 0 else "p"


def view(
    completion: Completion, *scores: Score, trial: int = 0, instance: str = "id1"
) -> InstanceView:
    request = Request(instance, "It", Decoding(), trial=trial)
    replies = (ReplyView(completion, 0),)
    return InstanceView(
        Instance(instance, "It"),
        (TrialView(trial, (RequestView(request, replies),), scores),),
    )


@given(
    st.lists(
        st.floats(0, 1) | st.sampled_from([0.0, 1.0, 1 - 1e-9, 1e-9]),
        min_size=1,
        max_size=4,
    )
)
def test_rounding_changes_no_outcome(values: list[float]) -> None:
    scores = tuple(
        Score("id1", "exact_match", v, completion_index=i) for i, v in enumerate(values)
    )
    made = view(Completion("a"), *scores)
    index = index_of([made])
    (stored,) = decode(index["metrics"][0]["values"][0], 1)
    code, value = outcome(made.trials[0], EXACT)
    assert coded(stored) == code
    assert value is not None
    assert abs(stored - value) <= 1.1e-4


def test_a_missing_trial_is_not_taken_for_another() -> None:
    right = Score("id1", "exact_match", 1.0)
    late = Score("id2", "exact_match", 0.0, trial=4)
    index = index_of(
        [
            view(Completion("a"), right),
            view(Completion("b"), late, trial=4, instance="id2"),
        ]
    )
    assert index["trials"] == [0, 4]
    first, second = index["metrics"][0]["values"]
    assert decode(first, 2) == [1, None]
    assert decode(second, 2) == [None, 0]


def test_confidence_is_that_of_the_tokens_where_no_metric_tells_it() -> None:
    made = view(Completion("ab", tokens=("a", "b"), token_logprobs=(None, -0.6931)))
    index = index_of([made])
    assert index["sure"] == "tokens"
    assert decode(index["confidence"][0], 1) == [500]
    assert index["unit"] == "tokens"
    bare = index_of([made, view(Completion("abc"), instance="id2")])
    assert bare["unit"] == "characters"
    assert decode(bare["length"][0], 2) == [2, 3]


def test_a_run_without_a_judge_or_tokens_has_an_index() -> None:
    run = samples.summary()
    index = ScoreIndex(run)
    assert read(index.script()) is not None
    index.start_page()
    index.add(InstanceView(Instance("a", "b")))
    payload = read(index.script())
    assert payload is not None
    assert payload["trials"] == []
    assert payload["confidence"] == payload["length"] == payload["finish"] == []
    assert anchors(payload) == [["i-a"]]


def test_a_thousand_rows_take_eight_kilobytes() -> None:
    rng = random.Random(1)
    views = []
    for n in range(5_000):
        tokens = tuple("ab" for _ in range(rng.randint(1, 200)))
        logprobs = tuple(-rng.random() for _ in tokens)
        completion = Completion(
            "ab" * len(tokens),
            tokens=tokens,
            token_logprobs=logprobs,
            finish_reason=rng.choice(["stop", "length"]),
        )
        score = Score(f"id{n}", "exact_match", float(rng.random() < 0.6))
        f1 = Score(f"id{n}", "f1", rng.random())
        made = view(completion, score, f1, instance=f"id{n}")
        item = Instance(
            f"id{n}",
            "It",
            split="test",
            attributes={"subject": (rng.choice(string.ascii_letters),)},
            perturbation="typos" if n % 2 else "",
        )
        views.append(InstanceView(item, made.trials))
    script = json.dumps(index_of(views)).encode()
    assert len(gzip.compress(script)) < 8_000 * 5
    assert len(script) < 25 * 5_000
