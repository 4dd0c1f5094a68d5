"""What holds for every adapter, whatever the instances."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from typing import TYPE_CHECKING, Any

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from helmsite.adapters import Window, adapt, in_context_examples
from helmsite.schema import AdapterSpec, Instance, Reference, preset

if TYPE_CHECKING:
    from collections.abc import Sequence

QUICK = settings(max_examples=150, deadline=None)
PIECES = re.compile(rb"\xef\xbf\xbd|[A-Za-z]{1,3}|(?s:.)")


class Pieces:
    """Short runs of letters, and single bytes of all else, are tokens."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = []

    def encode(self, text: str) -> list[int]:
        found = PIECES.findall(text.encode())
        self.pieces += sorted(set(found) - set(self.pieces))
        return [self.pieces.index(piece) for piece in found]

    def decode(self, ids: Sequence[int]) -> str:
        return b"".join(self.pieces[i] for i in ids).decode("utf-8", "replace")


LABELS = st.sampled_from([None, None, "", "a", "b", "c"])
POOLS = st.lists(LABELS, max_size=40)
TEXTS = st.text("ab c\n.é“🍰", max_size=30)
REFERENCES = st.lists(st.tuples(TEXTS, st.booleans()), min_size=1, max_size=4)
ROWS = st.lists(st.tuples(TEXTS, REFERENCES), min_size=2, max_size=6)
SPECS = st.builds(
    AdapterSpec,
    instructions=st.sampled_from(["", "Do it.\n"]),
    global_prefix=st.sampled_from(["", "[X] "]),
    input_prefix=st.sampled_from(["", "Q: "]),
    input_suffix=st.sampled_from(["", "\n"]),
    output_prefix=st.sampled_from(["", " ", "A: ", "A:\n\n", "  "]),
    output_suffix=st.sampled_from(["", "\n"]),
    max_train_instances=st.integers(0, 4),
    num_train_trials=st.integers(1, 3),
    max_tokens=st.integers(0, 5),
    multi_label=st.booleans(),
    sample_train=st.booleans(),
)


def labelled(number: int, label: str | None) -> Instance:
    references = () if label is None else (Reference(label, ("correct",)),)
    return Instance(f"id{number}", f"q{number}", references, split="train")


def instances(rows: Any) -> list[Instance]:
    return [
        Instance(
            f"id{i}",
            text,
            tuple(Reference(t, ("correct",) * right) for t, right in references),
            split="test" if i % 2 else "train",
        )
        for i, (text, references) in enumerate(rows)
    ]


@QUICK
@given(POOLS, st.integers(0, 45), st.integers(0, 5))
def test_examples_are_distinct_as_many_as_asked_and_balanced(
    labels: list[str | None], wanted: int, trial: int
) -> None:
    pool = [labelled(i, label) for i, label in enumerate(labels)]
    chosen = in_context_examples(pool, AdapterSpec(max_train_instances=wanted), trial)
    names = [e.instance_id for e in chosen]
    assert len(names) == len(set(names)) == min(wanted, len(pool))
    assert set(names) <= {i.instance_id for i in pool}
    golds = [e.gold for e in chosen]
    assert golds == sorted(golds, key=len, reverse=True)  # labelled before unlabelled
    had = Counter(label for label in labels if label is not None)
    took = Counter(gold[0] for gold in golds if gold)
    most = max(took.values(), default=0)
    for label, available in had.items():
        assert took[label] >= min(available, most - 1)


@QUICK
@given(POOLS, st.integers(1, 12), st.integers(0, 5))
def test_slices_are_consecutive(
    labels: list[str | None], wanted: int, trial: int
) -> None:
    pool = [labelled(i, label) for i, label in enumerate(labels)]
    spec = AdapterSpec(max_train_instances=wanted, sample_train=False)
    k = min(wanted, len(pool))
    assert in_context_examples(pool, spec, trial) == pool[k * trial : k * (trial + 1)]


@QUICK
@given(ROWS, SPECS, st.sampled_from(["generation", "multiple_choice_joint"]))
def test_prompts_end_with_the_question_and_the_stripped_output_prefix(
    rows: Any, spec: AdapterSpec, method: Any
) -> None:
    pool = instances(rows)
    spec = structs.replace(spec, method=method)
    for request in adapt(pool, spec, Window()):
        assert request.prompt.startswith(spec.global_prefix + spec.instructions)
        assert request.prompt.endswith(spec.output_prefix.rstrip())
        assert request.num_train_instances == len(request.example_ids)
        assert request.score_start is None


@QUICK
@given(ROWS, SPECS, st.integers(6, 90), st.booleans())
def test_what_is_sent_fits_and_is_flagged_where_it_was_cut(
    rows: Any, spec: AdapterSpec, limit: int, joint: bool
) -> None:
    pool = instances(rows)
    method: Any = "multiple_choice_joint" if joint else "generation"
    spec = structs.replace(spec, method=method)
    tokenizer = Pieces()
    made = adapt(pool, spec, Window(tokenizer, limit))
    for request, whole in zip(made, adapt(pool, spec, Window()), strict=True):
        assert len(tokenizer.encode(request.prompt)) + spec.max_tokens <= limit
        kept = request.num_train_instances
        assert request.example_ids == whole.example_ids[:kept]
        if request.truncated:
            assert kept == 0
        else:
            assert request.prompt.endswith(spec.output_prefix.rstrip())
        if kept == whole.num_train_instances and not request.truncated:
            assert request == whole


@QUICK
@given(ROWS, SPECS, st.integers(6, 90), st.booleans())
def test_scoring_starts_at_the_reference(
    rows: Any, spec: AdapterSpec, limit: int, calibrated: bool
) -> None:
    pool = instances(rows)
    kind = "calibrated" if calibrated else "original"
    method: Any = f"multiple_choice_separate_{kind}"
    spec = structs.replace(spec, method=method)
    by_id = {i.instance_id: i for i in pool}
    for window in (Window(), Window(Pieces(), limit)):
        for request in adapt(pool, spec, window):
            instance = by_id[request.instance_id]
            reference = instance.references[request.reference_index].text
            blank = " " * spec.output_prefix.endswith(" ")
            scored = request.prompt[request.score_start :]
            if spec.output_prefix:
                assert scored == blank + reference + spec.output_suffix
            else:  # the input's own last blank is scored too
                assert scored.removeprefix(" ") in (
                    reference + spec.output_suffix,
                    (reference + spec.output_suffix).removeprefix(" "),
                )


@QUICK
@given(st.text("ab c\n.é“🍰", max_size=90), st.integers(10, 40), st.booleans())
def test_windows_tile_the_text_within_the_limit(
    text: str, limit: int, prefix: bool
) -> None:
    tokenizer = Pieces()
    document = Instance("id0", text, split="test")
    made = adapt(
        [document], preset("language_modeling"), Window(tokenizer, limit, prefix)
    )
    assert "".join(r.prompt[r.score_start :] for r in made) == text
    assert [r.request_index for r in made] == list(range(len(made)))
    assert len(tokenizer.encode(made[0].prompt)) <= limit - prefix
    assert made[0].score_start == 0
    for before, request in itertools.pairwise(made):
        assert request.score_start is not None
        context = request.prompt[: request.score_start]
        assert context
        assert before.prompt.endswith(context) or context.endswith(before.prompt)
        assert len(tokenizer.encode(request.prompt)) <= limit
        assert request.num_conditioning_tokens >= 1
