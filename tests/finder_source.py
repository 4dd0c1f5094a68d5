"""Runs to be filtered: every kind of outcome, group, twin, trial and text; and a big one."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from msgspec import structs

from helmsite.query.rows import InstanceView, ReplyView, RequestView, TrialView
from helmsite.schema import (
    CORRECT_TAG,
    Completion,
    Decoding,
    Instance,
    MetricFacts,
    Reference,
    Request,
    Score,
    Usage,
)
from tests.site_source import EXACT, SCENARIOS, FakeResults

if TYPE_CHECKING:
    from collections.abc import Iterator

    from helmsite.query.rows import RunSummary

F1 = MetricFacts(
    "f1", "F1", "Overlap of words.", "accuracy", higher_is_better=True, format="share"
)
CONFIDENCE = MetricFacts("max_prob", "Confidence", "", "calibration", format="share")
ORIGINALS = 180
BIG = 4_000
WORDS = ("river", "stone", "ember", "Öl", "quartz", "meadow", "lantern", "saffron")
TWINS = ("dialect(prob=1.0)", "typos(prob=0.1)")
MIXED, LARGE = "runs/r0000000000000000", "runs/r0000000000000001"


class FinderResults(FakeResults):
    """One model with a run of everything that can be filtered, and a large one."""

    def __init__(self) -> None:
        super().__init__(models=1, scenarios=(SCENARIOS[0], SCENARIOS[3]))
        self.summaries = [self._told(s) for s in self.summaries]

    def count(self, model: int, scenario: int) -> int:
        return BIG if scenario else ORIGINALS

    def instances(self, run_id: str) -> Iterator[InstanceView]:
        large = run_id.endswith("1")
        return map(small, range(BIG)) if large else mixed()

    def _told(self, summary: RunSummary) -> RunSummary:
        metrics: tuple[MetricFacts, ...] = (EXACT, F1, CONFIDENCE)
        if summary.manifest.run_id.endswith("1"):
            metrics = (EXACT,)
        return structs.replace(
            summary, manifest=structs.replace(summary.manifest, metrics=metrics)
        )


def mixed() -> Iterator[InstanceView]:
    """Yield instances of three trials, every third one with two perturbed versions."""
    rng = random.Random(7)
    for n in range(ORIGINALS):
        yield row(rng, n)
        if n % 3 == 0:
            for twin in TWINS:
                yield row(rng, n, twin)


def row(rng: random.Random, n: int, perturbation: str = "") -> InstanceView:
    words = rng.choices(WORDS, k=6)
    marked = " unicorn-" + WORDS[n % 8] if n % 25 == 4 else ""
    item = Instance(
        f"id{n}",
        f"Tell me of {' '.join(words)}, number {n}.{marked}",
        (Reference(words[0], (CORRECT_TAG,)), Reference("nothing")),
        perturbation=perturbation,
        position=n,
        split="test" if n % 4 else "valid",
        sub_split=("easy", "hard", "")[n % 3],
        attributes={
            "subject": (("art",), ("science", "art"), ("music",))[n % 3],
            "level": (f"level {n % 5}",),
        },
    )
    return InstanceView(item, tuple(_trial(rng, item, t) for t in range(3)))


def _trial(rng: random.Random, item: Instance, trial: int) -> TrialView:
    scores: tuple[Score, ...]
    if rng.random() < 0.05:
        completion = Completion(error="HTTP 500")
        scores = (
            Score(item.instance_id, "exact_match", None, trial=trial, missing="failed"),
        )
    else:
        said = " ".join(rng.choices(WORDS, k=rng.randint(1, 12)))
        right = float(said.startswith(item.gold[0]))
        completion = Completion(
            f" {said} because <b>{item.instance_id}</b>",
            reasoning="I ponder." if item.position % 10 == 0 else "",
            finish_reason=rng.choice(["stop", "stop", "length"]),
            usage=Usage(40, len(said.split())),
        )
        scores = (
            Score(item.instance_id, "exact_match", right, trial=trial),
            Score(item.instance_id, "f1", rng.choice([0.0, 0.5, 1.0]), trial=trial),
        )
        if rng.random() < 0.9:
            sure = Score(item.instance_id, "max_prob", rng.random(), trial=trial)
            scores = (*scores, sure)
    request = Request(
        item.instance_id, f"Shared\n{item.input}", Decoding(), trial=trial
    )
    view = RequestView(request, (ReplyView(completion, 0),), 7)
    return TrialView(trial, (view,), scores)


def small(n: int) -> InstanceView:
    """Return an instance of the large run; every thousandth one is about a zebra."""
    what = "a zebra" if n % 1000 == 999 else "a horse"
    item = Instance(f"id{n}", f"Case {n} of {what}.", position=n, split="test")
    request = Request(item.instance_id, item.input, Decoding())
    completion = Completion(f"Case {n}", finish_reason="stop")
    score = Score(item.instance_id, "exact_match", float(n % 7 != 0))
    view = RequestView(request, (ReplyView(completion, 0),))
    return InstanceView(item, (TrialView(0, (view,), (score,)),))
