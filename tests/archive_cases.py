"""Runs that the archive's tests store: small ones, and one of a realistic size."""

from __future__ import annotations

import random
import struct
from functools import cache
from typing import NamedTuple

from msgspec import structs

from helmsite.schema import (
    Completion,
    Decoding,
    FileFacts,
    Instance,
    Manifest,
    MetricFacts,
    ModelCard,
    ModelIdentity,
    Reference,
    Reply,
    Request,
    RunSpec,
    ScenarioFacts,
    Score,
    Stat,
    TopLogprob,
    Usage,
    preset,
    run_id,
)


class Run(NamedTuple):
    """What `Archive.write_run` takes."""

    manifest: Manifest
    instances: list[Instance]
    replies: list[Reply]
    scores: list[Score]
    stats: list[Stat]


def manifest(
    entry: str = "mmlu:subject=a/b", model: str = "org/m", **changes: object
) -> Manifest:
    spec = RunSpec(entry, ModelIdentity(model), preset("multiple_choice_joint"))
    suite, origin = str(changes.get("suite", "s")), str(changes.get("origin", "native"))
    return structs.replace(
        Manifest(
            run_id=run_id(spec.spec_id, suite, origin),
            spec_id=spec.spec_id,
            suite=suite,
            spec=spec,
            scenario=ScenarioFacts(entry),
            card=ModelCard(model),
        ),
        **changes,
    )


def small(n: int = 3, **changes: object) -> Run:
    """A run of a few instances, in the archive's order."""
    made = manifest(**changes)  # type: ignore[arg-type]
    decoding = made.spec.adapter.decoding
    instances = [
        Instance(
            f"id{i}",
            f"Question {i}?",
            (Reference("yes", ("correct",)), Reference("no")),
            position=i,
            split="test",
        )
        for i in range(n)
    ]
    replies = [
        Reply(
            Request(i.instance_id, f"{i.input}\nAnswer:", decoding),
            Completion(" A", tokens=(" A",), token_logprobs=(-0.25,), logprob=-0.25),
        )
        for i in instances
    ]
    scores = [
        Score(i.instance_id, "exact_match", float(i.position % 2)) for i in instances
    ]
    stats = [Stat("exact_match", 0.5, split="test", n_scored=n, n_asked=n)]
    return Run(made, instances, replies, scores, stats)


FACTS = MetricFacts("exact_match", "Exact match", "Equal to a reference.", "accuracy")

_COMMON = [
    "the",
    "of",
    "and",
    "to",
    "in",
    "a",
    "is",
    "that",
    "for",
    "it",
    "as",
    "was",
    "with",
    "be",
    "by",
    "on",
    "not",
    "he",
    "his",
    "but",
    "at",
    "are",
    "this",
    "have",
    "from",
    "or",
    "had",
    "an",
    "they",
    "which",
    "one",
    "you",
    "were",
    "all",
    "her",
    "she",
    "there",
    "would",
    "their",
    "we",
    "him",
    "been",
    "has",
    "when",
    "who",
    "will",
    "no",
    "more",
    "if",
    "out",
    "so",
    "up",
    "said",
    "what",
    "its",
    "about",
    "than",
    "into",
    "them",
    "can",
    "only",
    "other",
    "time",
    "new",
    "some",
    "could",
    "these",
    "two",
    "may",
    "first",
    "then",
    "do",
    "any",
    "like",
    "my",
    "now",
    "over",
    "such",
]


def _vocabulary(rng: random.Random) -> list[str]:
    """Return 6000 pronounceable words, to be drawn with Zipf's weights.

    zstd 3 makes 258 KB of such text 2.7 times smaller, as much of MMLU's questions 2.8
    times: this text is no easier than real ones.
    """
    onset = [
        "b",
        "br",
        "c",
        "ch",
        "cl",
        "d",
        "dr",
        "f",
        "fl",
        "g",
        "gr",
        "h",
        "j",
        "k",
        "l",
        "m",
        "n",
        "p",
        "pl",
        "pr",
        "qu",
        "r",
        "s",
        "sh",
        "st",
        "t",
        "th",
        "tr",
        "v",
        "w",
    ]
    nucleus = ["a", "e", "i", "o", "u", "ai", "ea", "io", "ou"]
    coda = [
        "",
        "",
        "n",
        "r",
        "s",
        "t",
        "l",
        "m",
        "nd",
        "st",
        "tion",
        "ment",
        "ing",
        "ed",
    ]
    words = {
        "".join(
            rng.choice(onset) + rng.choice(nucleus) + (rng.choice(coda) if last else "")
            for last in [False] * rng.randint(0, 2) + [True]
        )
        for _ in range(9000)
    }
    return _COMMON + sorted(words)[:6000]


class Prose:
    """Seeded sentences with a realistic spread of word frequencies."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self._words = _vocabulary(self.rng)
        rest = self._words[len(_COMMON) :]
        self.rng.shuffle(rest)
        self._words[len(_COMMON) :] = rest
        self._weights = [1 / (i + 2) ** 1.25 for i in range(len(self._words))]

    def text(self, characters: int) -> str:
        drawn = self.rng.choices(self._words, self._weights, k=characters // 4)
        text = ""
        while len(text) < characters:
            length = self.rng.randint(8, 18)
            text += " ".join(drawn[:length]).capitalize() + ". "
            drawn = drawn[length:]
        return text[:characters].strip()


@cache
def realistic(n: int = 1000, seed: int = 1, trials: int = 1) -> Run:
    """A 5-shot joint multiple-choice run: 3 KB prompts, tokens, top 5, 25 scores each."""
    prose = Prose(seed)
    rng = prose.rng

    def question() -> tuple[str, list[str]]:
        return prose.text(rng.randint(240, 480)), [
            prose.text(rng.randint(12, 36)).rstrip(".") for _ in range(4)
        ]

    def block(text: str, options: list[str], answer: str = "") -> str:
        lines = [f"{'ABCD'[i]}. {o}" for i, o in enumerate(options)]
        return "\n".join([f"Question: {text}", *lines, f"Answer:{answer}"])

    made = manifest()
    decoding = made.spec.adapter.decoding
    shots = [block(*question(), answer=f" {rng.choice('ABCD')}") for _ in range(5)]
    head = "\n\n".join(
        ["The following are multiple choice questions (with answers).", *shots]
    )
    instances, replies, scores = [], [], []
    for i in range(n):
        text, options = question()
        right = rng.randrange(4)
        identifier = f"id{i + 300}"
        references = tuple(
            Reference(o, ("correct",) if k == right else ())
            for k, o in enumerate(options)
        )
        instances.append(
            Instance(identifier, text, references, position=i + 300, split="test")
        )
        for trial in range(trials):
            reply = _reply(
                rng, identifier, f"{head}\n\n{block(text, options)}", decoding
            )
            request = structs.replace(
                reply.request,
                trial=trial,
                output_mapping=dict(zip("ABCD", options, strict=True)),
                example_ids=tuple(f"id{k}" for k in range(5)),
                num_train_instances=5,
            )
            replies.append(structs.replace(reply, request=request))
            hit = float(reply.completion.text == f" {'ABCD'[right]}")
            scores += _scores(replies[-1], hit)
    return Run(made, instances, replies, scores, [Stat("exact_match", 0.5)])


def _single(value: float) -> float:
    """Return the number as a model's float32 has it."""
    return float(struct.unpack("f", struct.pack("f", value))[0])


def _reply(
    rng: random.Random, identifier: str, prompt: str, decoding: Decoding
) -> Reply:
    letters = rng.sample("ABCD", 4)
    logprobs = sorted((_single(-rng.expovariate(0.5)) for _ in range(5)), reverse=True)
    top = tuple(
        TopLogprob(f" {t}", p) for t, p in zip([*letters, "The"], logprobs, strict=True)
    )
    completion = Completion(
        text=top[0].token,
        tokens=(top[0].token,),
        token_logprobs=(logprobs[0],),
        top_logprobs=(top,),
        logprob=logprobs[0],
        finish_reason="length",
        usage=Usage(len(prompt) // 4, 1, len(prompt) // 5),
        duration_s=round(rng.uniform(0.02, 0.09), 6),
        started_at=1_750_000_000 + round(rng.uniform(0, 60), 6),
    )
    return Reply(Request(identifier, prompt, decoding), completion)


_VERDICTS = [
    "exact_match",
    "quasi_exact_match",
    "prefix_exact_match",
    "quasi_prefix_exact_match",
    "exact_match@5",
    "quasi_exact_match@5",
    "prefix_exact_match@5",
    "quasi_prefix_exact_match@5",
    "exact_match_indicator",
    "f1_score",
    "predicted_index_correct",
]
_CONSTANT = {
    "num_train_instances": 5.0,
    "num_references": 4.0,
    "num_output_tokens": 1.0,
    "num_completions": 1.0,
    "max_prob_defined": 1.0,
    "prompt_truncated": 0.0,
    "finish_reason_length": 1.0,
    "finish_reason_stop": 0.0,
    "finish_reason_endoftext": 0.0,
    "finish_reason_unknown": 0.0,
    "num_bytes": 2.0,
}


def _scores(reply: Reply, hit: float) -> list[Score]:
    request, completion = reply.request, reply.completion
    values = {
        **dict.fromkeys(_VERDICTS, hit),
        **_CONSTANT,
        "logprob": completion.logprob,
        "inference_runtime": completion.duration_s,
        "num_prompt_tokens": float(completion.usage.prompt_tokens or 0),
    }
    return [
        Score(request.instance_id, name, value, trial=request.trial)
        for name, value in values.items()
    ]


def catalogued(n: int) -> list[Manifest]:
    """Manifests of n runs as large as real ones: about 10 KB of JSON each."""
    facts = tuple(
        MetricFacts(
            f"metric_{i}",
            f"Metric number {i}",
            "One sentence that says what this metric means, as long as such a sentence "
            "is in the metrics of this project, with its source.",
            "accuracy",
            higher_is_better=True,
            source="HELM 0.5.16",
        )
        for i in range(25)
    )
    about = ScenarioFacts(
        "s", "Title", "What it asks and why. " * 12, citation="@a{x}" * 40
    )
    return [
        manifest(
            f"mmlu:subject=s{i % 100}",
            f"org/model-{i // 100}",
            scenario=structs.replace(about, name=f"mmlu:subject=s{i % 100}"),
            card=ModelCard(f"org/model-{i // 100}", description="d" * 300),
            metrics=facts,
            files={
                name: FileFacts(1000, 12345 + i, f"{i:064x}")
                for name in ("instances", "requests", "scores", "stats")
            },
        )
        for i in range(n)
    ]
