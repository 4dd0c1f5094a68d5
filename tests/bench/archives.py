"""Make an archive of many runs: `python -m tests.bench.archives OUT --runs 200 --instances 1000`.

Twenty models answer the same instances of each scenario: about 3 KB of prose that zstd
shrinks 2.6 times, answers of 20 to 400 characters with log-probabilities, five metrics,
some answers wrong, a few requests failed. Everything goes through the archive's own
writer and `summarise`; the same arguments give the same bytes.
"""

from __future__ import annotations

import argparse
import random
import sys
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING

from helmsite.archive import Archive
from helmsite.metrics import resolve
from helmsite.query import summarise
from helmsite.schema import (
    Completion,
    DataRevision,
    Instance,
    Manifest,
    ModelCard,
    ModelIdentity,
    Provenance,
    Reference,
    Reply,
    Request,
    RunSpec,
    ScenarioFacts,
    Score,
    Taxonomy,
    TopLogprob,
    Usage,
    preset,
    run_id,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

MODELS = 20
SUITE = "bench"
PROMPT = 2735  # characters of a passage: with the rest, a prompt has 3000
TOPICS = ("law", "medicine", "history", "music", "sport", "physics", "travel", "food")
METRICS = resolve(
    (
        *("exact_match", "quasi_exact_match", "f1_score"),
        *("inference_runtime", "num_output_tokens"),
    )
)
INSTRUCTIONS = (
    "Read the passage and answer the question about it with words of the passage. "
    "Give the answer alone, without an explanation; where the passage does not hold it, "
    "say that it does not."
)
SYLLABLES = [
    start + vowel + end
    for start in (
        "b",
        "br",
        "c",
        "d",
        "f",
        "gr",
        "h",
        "l",
        "m",
        "n",
        "p",
        "pl",
        "r",
        "s",
    )
    for vowel in ("a", "e", "i", "o", "u", "ai", "ea")
    for end in ("", "l", "n", "r", "st", "t")
]
NOON = 1_790_000_000.0


@cache
def vocabulary() -> tuple[list[str], list[float]]:
    """Return words of a made-up language and their cumulated weights: few are common."""
    generator = random.Random("vocabulary")
    words: dict[str, None] = {}
    while len(words) < 6000:
        length = 1 if len(words) < 120 else generator.choice((2, 2, 3))
        words["".join(generator.choices(SYLLABLES, k=length))] = None
    return list(words), list(accumulate(1 / (n + 4) for n in range(len(words))))


def prose(generator: random.Random, length: int) -> str:
    """Return about `length` characters in sentences."""
    words, weights = vocabulary()
    drawn = generator.choices(words, cum_weights=weights, k=length // 5 + 20)
    sentences, place, size = [], 0, 0
    while size < length:
        step = generator.randint(5, 16)
        sentence = " ".join(drawn[place : place + step]).capitalize() + "."
        sentences.append(sentence)
        place, size = (place + step) % (len(drawn) - 16), size + len(sentence) + 1
    return " ".join(sentences)


@cache
def instances(scenario: int, count: int) -> tuple[Instance, ...]:
    """Return a scenario's instances, the same for all models."""
    found = []
    for n in range(count):
        generator = random.Random(f"{scenario}/{n}")
        text = prose(generator, PROMPT)
        answer = " ".join(text.split()[40 : 43 + n % 4]).strip(".").casefold()
        topics = tuple(sorted(generator.sample(TOPICS, 1 + n % 2)))
        found.append(
            Instance(
                f"id{n}",
                f"{text}\nWhat follows {text.split()[39]!r}?",
                (Reference(answer, ("correct",)),),
                position=n,
                split="test",
                sub_split=("easy", "hard")[n % 3 == 0],
                attributes={"topic": topics},
            )
        )
    return tuple(found)


def manifest(scenario: int, model: int) -> Manifest:
    """Return the manifest of a run, before it is written."""
    name = f"bench_{scenario:02d}"
    adapter = preset(
        "generation",
        instructions=INSTRUCTIONS,
        input_noun="Passage",
        output_noun="Answer",
    )
    maker = f"maker-{model // 4}"
    identity = ModelIdentity(
        f"{maker}/model-{model:02d}", client="fake", settings={"size": model}
    )
    spec = RunSpec(name, identity, adapter, DataRevision("bench", revision="1"))
    return Manifest(
        run_id=run_id(spec.spec_id, SUITE, "native"),
        spec_id=spec.spec_id,
        suite=SUITE,
        spec=spec,
        scenario=ScenarioFacts(
            name,
            title=f"Bench {scenario:02d}",
            description="Made-up prose with a question about it.",
            taxonomy=Taxonomy("question answering", language="made up"),
            groups=("even",) if scenario % 2 == 0 else ("odd",),
            main_metric="exact_match",
        ),
        card=ModelCard(
            identity.name,
            title=f"Model {model:02d}",
            creator=maker,
            access=("open", "limited", "closed")[model % 3],
            num_parameters=10**8 * (model + 1),
        ),
        metrics=METRICS,
        provenance=Provenance(
            helmsite_version="bench", started_at=NOON, finished_at=NOON + 60 * model
        ),
    )


def completion(generator: random.Random, text: str, n: int) -> Completion:
    """Return an answer with about 28 tokens, alternatives for every tenth instance."""
    words = [f" {word}" for word in text.split(" ")]
    tokens = [t for word in words for t in (word[:9], word[9:]) if t]
    logprobs = [round(-generator.expovariate(2.0), 4) for _ in tokens]
    top = None
    if n % 10 == 0:
        top = tuple(
            (TopLogprob(t, p), TopLogprob(t.upper(), p - 1), TopLogprob(".", p - 2))
            for t, p in zip(tokens, logprobs, strict=True)
        )
    return Completion(
        " " + text,
        tokens=tuple(tokens),
        token_logprobs=tuple(logprobs),
        top_logprobs=top,
        logprob=round(sum(logprobs), 4),
        finish_reason="length" if n % 9 == 0 else "stop",
        usage=Usage(700 + n % 50, len(tokens), 0),
        duration_s=round(0.2 + generator.random(), 4),
        started_at=NOON + n,
    )


def answered(
    scenario: int, model: int, count: int
) -> Iterator[tuple[Reply, list[Score]]]:
    """Yield what a model answers to each instance, and the verdicts on it."""
    adapter = manifest(scenario, model).spec.adapter
    decoding, head = (
        adapter.decoding,
        adapter.instructions + "\n" + adapter.input_prefix,
    )
    skill = 0.3 + 0.6 * (model * 7 % MODELS) / MODELS
    for n, instance in enumerate(instances(scenario, count)):
        generator = random.Random(f"{scenario}/{model}/{n}")
        prompt = f"{head}{instance.input}{adapter.input_suffix}{adapter.output_prefix}"
        request = Request(instance.instance_id, prompt.rstrip(" "), decoding)
        if generator.random() < 0.005:
            given, values = Completion(error="the server did not answer"), None
        else:
            is_right = generator.random() < skill
            text = instance.gold[0]
            if not is_right:
                text = prose(generator, generator.randint(20, 340)).casefold()[:400]
            given = completion(generator, text, n)
            f1 = 1.0 if is_right else round(generator.random() * 0.6, 4)
            measured = (given.duration_s, float(len(given.tokens or ())))
            values = (float(is_right), float(is_right or f1 > 0.55), f1, *measured)
        yield (
            Reply(request, given),
            [
                Score(
                    instance.instance_id, m.name, v, missing="" if values else "failed"
                )
                for m, v in zip(METRICS, values or (None,) * 5, strict=True)
            ],
        )


def write_run(archive: Archive, scenario: int, model: int, count: int) -> str:
    """Archive one run; return its id."""
    scores: list[Score] = []

    def replies() -> Iterator[Reply]:
        for reply, verdicts in answered(scenario, model, count):
            scores.extend(verdicts)
            yield reply

    asked, made = instances(scenario, count), manifest(scenario, model)
    archive.write_run(made, asked, replies())
    stats = summarise(asked, scores, METRICS, (), (), scenario=made.scenario.name)
    return archive.write_scores(made.run_id, scores, stats, METRICS).run_id


def make(root: Path, runs: int, count: int, first: int = 0) -> None:
    """Write runs number `first` to `runs`: each scenario by all models, then the next."""
    archive = Archive(root)
    for number in range(first, runs):
        write_run(archive, number // MODELS, number % MODELS, count)
        if sys.stderr.isatty():
            sys.stderr.write(f"\rrun {number + 1} of {runs} ")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--instances", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0)
    given = parser.parse_args()
    make(given.out, given.runs, given.instances, given.first)


if __name__ == "__main__":
    main()
