"""A small archive with one of everything that a site shows, the same on every machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import structs

from helmsite.query import Results, summarise
from helmsite.schema import (
    CORRECT_TAG,
    Completion,
    FileFacts,
    Instance,
    Manifest,
    Method,
    MetricFacts,
    ModelCard,
    ModelIdentity,
    PerturbationFacts,
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

    from helmsite.archive import Archive
    from helmsite.query.rows import Overview, RunSummary

EXACT = MetricFacts(
    "exact_match",
    "Exact match",
    "Share of instances whose answer equals a correct reference.",
    "accuracy",
    higher_is_better=True,
    format="share",
)
BITS = MetricFacts(
    "bits_per_byte",
    "Bits per byte",
    "Bits that the model needs for each byte of the text.",
    "language_modelling",
    "ratio",
    higher_is_better=False,
    unit="bits",
    format="bits",
)
SECONDS = MetricFacts(
    "inference_runtime",
    "Inference runtime",
    "Seconds from sending a request to its answer.",
    "efficiency",
    higher_is_better=False,
    unit="s",
    format="seconds",
)
TYPOS = PerturbationFacts(
    "typos(prob=0.1)", "Typos", "Neighbouring letters are exchanged.", robustness=True
)
CARDS = (
    ModelCard(
        "demo/fern-1b",
        "Fern 1B",
        "Demo Lab",
        "A *made-up* model.",
        "open",
        1_100_000_000,
        4096,
        "2025-03-01",
        "Apache-2.0",
        url="https://example.org/fern",
    ),
    ModelCard("demo/moss", "Moss", "Demo Lab", access="closed"),
)
SCENARIOS: dict[Method, ScenarioFacts] = {
    "generation": ScenarioFacts(
        "capitals",
        "Capitals",
        "Which city is the **capital** of a country?",
        Taxonomy("question answering", "cities", "travellers", "2025", "English"),
        "CC-BY-4.0",
        "@misc{capitals,\n  title = {Capitals}\n}",
        "https://example.org/capitals",
        groups=("core",),
        main_metric="exact_match",
    ),
    "multiple_choice_separate_calibrated": ScenarioFacts(
        "colours:of=sky", "Colours", groups=("core",), main_metric="exact_match"
    ),
    "language_modeling": ScenarioFacts(
        "prose", "English prose", main_metric="bits_per_byte"
    ),
    "multiple_choice_joint": ScenarioFacts(
        "exam", "Private exam", publication="aggregates", main_metric="exact_match"
    ),
}
LEVELS = (("easy", "old"), ("easy",), ("hard",))
QUESTIONS = (
    ("What is the capital of Italy?", "Rome", "Milan"),
    ("What is the capital of Perú? <b>", "Lima", "Cuzco"),
    ("What is the capital of Japan?\t東京", "Tokyo", "Kyoto"),
)
SHARED = "Question: What is the capital of France?\nAnswer: Paris\n\n"


def write(archive: Archive) -> None:
    """Store each scenario's run of each model."""
    for method, facts in SCENARIOS.items():
        for model, card in enumerate(CARDS):
            _store(archive, method, facts, model, card)


class FixedResults(Results):
    """Results whose numbers do not depend on the versions of Parquet's libraries."""

    def runs(self) -> tuple[RunSummary, ...]:
        """Return every run, its files of a size and digest that never change."""
        return tuple(map(_fixed, super().runs()))

    def overview(self) -> Overview:
        """Return the counts, with a state that never changes."""
        return structs.replace(super().overview(), state="0" * 64)


def _fixed(summary: RunSummary) -> RunSummary:
    files = {
        name: FileFacts(facts.rows, 1000 + facts.rows, "0123456789abcdef" * 4)
        for name, facts in summary.manifest.files.items()
    }
    manifest = structs.replace(summary.manifest, files=files)
    return structs.replace(summary, manifest=manifest)


def _store(
    archive: Archive, method: Method, facts: ScenarioFacts, model: int, card: ModelCard
) -> None:
    spec = RunSpec(
        facts.name,
        ModelIdentity(card.name, "fake", "main", settings={"n_ctx": 2048}),
        preset(method, input_noun="Question", output_noun="Answer")
        if method in {"generation", "multiple_choice_joint"}
        else preset(method),
        perturbations=(TYPOS.name,) if method == "generation" else (),
    )
    spec = structs.replace(
        spec,
        adapter=structs.replace(
            spec.adapter, num_train_trials=2, max_train_instances=1
        ),
    )
    rows = [row for n in range(3) for row in _instance(method, n)]
    replies = [r for item in rows for r in _replies(method, spec, item, model)]
    scores = [s for item in rows for s in _scores(method, item, model)]
    perturbations = (TYPOS,) if method == "generation" else ()
    metrics = (BITS if method == "language_modeling" else EXACT, SECONDS)
    fails = any(r.completion.error for r in replies)
    manifest = Manifest(
        run_id=run_id(spec.spec_id, "golden", "native"),
        spec_id=spec.spec_id,
        suite="golden",
        spec=spec,
        scenario=facts,
        card=card,
        status="partial" if fails else "complete",
        metrics=metrics,
        perturbations=perturbations,
        provenance=Provenance(
            "0.1.0", started_at=1_750_000_000.0, finished_at=1_750_000_090.5
        ),
        warnings=("1 request failed for good: HTTP 500",) if fails else (),
    )
    stats = summarise(rows, scores, metrics, perturbations, (), scenario=facts.name)
    archive.write_run(manifest, rows, replies, scores, stats)


def _instance(method: Method, n: int) -> Iterator[Instance]:
    question, right, wrong = QUESTIONS[n]
    item = Instance(
        f"id{n}",
        f"{question} It is old." if method == "language_modeling" else question,
        ()
        if method == "language_modeling"
        else (Reference(right, (CORRECT_TAG,)), Reference(wrong)),
        position=n,
        split="test" if n else "valid",
        sub_split="europe" if n == 0 else "elsewhere",
        attributes={"level": LEVELS[n]},
    )
    yield item
    if method == "generation":
        typed = question.replace("capital", "captial")
        yield structs.replace(item, input=typed, perturbation=TYPOS.name)


def _right(item: Instance, model: int, trial: int = 0) -> bool:
    return (item.position + model + trial + bool(item.perturbation)) % 3 != 2


def _fails(item: Instance, model: int, trial: int) -> bool:
    return (item.instance_id, model, trial, item.perturbation) == ("id2", 1, 1, "")


def _replies(
    method: Method, spec: RunSpec, item: Instance, model: int
) -> Iterator[Reply]:
    decoding = spec.adapter.decoding
    if method == "language_modeling":
        words = item.input.replace(" ", "\0 ").split("\0")
        given = [None, *(-0.4 * i for i in range(1, len(words)))]
        request = Request(item.instance_id, item.input, decoding, score_start=0)
        yield Reply(request, _scored(words, given))
    elif method == "multiple_choice_separate_calibrated":
        for mode in ("original", "calibration"):
            for i, reference in enumerate(item.references):
                context = f"{item.input}" if mode == "original" else "Answer:"
                value = (-2.0, -3.5)[i == _right(item, model)]
                yield Reply(
                    Request(
                        item.instance_id,
                        f"{context} {reference.text}",
                        decoding,
                        mode=mode,
                        reference_index=i,
                        score_start=len(context),
                    ),
                    _scored(
                        [f" {reference.text}"], [value if mode == "original" else -4.0]
                    ),
                )
    else:
        for trial in range(2):
            yield _generated(method, spec, item, model, trial)


def _scored(words: list[str], values: list[float | None]) -> Completion:
    return Completion(
        tokens=tuple(words),
        token_logprobs=tuple(values),
        logprob=round(sum(v or 0.0 for v in values), 6),
    )


def _generated(
    method: Method, spec: RunSpec, item: Instance, model: int, trial: int
) -> Reply:
    shared = (
        SHARED
        if trial == 0
        else SHARED.replace("France", "Spain").replace("Paris", "Madrid")
    )
    right = _right(item, model, trial)
    answer = item.references[not right].text
    mapping = {}
    if method == "multiple_choice_joint":
        mapping = dict(zip("AB", (r.text for r in item.references), strict=True))
        answer = "A" if right else "B"
    request = Request(
        item.instance_id,
        f"{shared}Question: {item.input}\nAnswer:",
        spec.adapter.decoding,
        perturbation=item.perturbation,
        trial=trial,
        output_mapping=mapping,
        example_ids=(f"id{90 + trial}",),
        num_train_instances=1,
    )
    if _fails(item, model, trial) and method == "generation":
        return Reply(request, Completion(error="HTTP 500: server error, 5 attempts"))
    text = f" {answer}"
    return Reply(
        request,
        Completion(
            text,
            tokens=(text,),
            token_logprobs=(-0.25,),
            top_logprobs=((TopLogprob(text, -0.25), TopLogprob("\n", -2.0)),),
            logprob=-0.25,
            finish_reason="stop",
            usage=Usage(20, 1),
            duration_s=0.25,
        ),
    )


def _scores(method: Method, item: Instance, model: int) -> Iterator[Score]:
    if method == "language_modeling":
        yield Score(
            item.instance_id, BITS.name, 1.25 + model / 4, request_index=0, weight=52.0
        )
        return
    trials = 1 if method == "multiple_choice_separate_calibrated" else 2
    for trial in range(trials):
        fails = _fails(item, model, trial) and method == "generation"
        right = _right(item, model, trial)
        yield Score(
            item.instance_id,
            EXACT.name,
            None if fails else float(right),
            perturbation=item.perturbation,
            trial=trial,
            text="" if fails else item.references[not right].text,
            missing="failed" if fails else "",
            details={
                "scores": [2.0, 0.5] if right else [0.5, 2.0],
                "chosen": [int(not right)],
            }
            if trials == 1
            else {},
        )
        if not fails:
            yield Score(
                item.instance_id,
                SECONDS.name,
                0.25,
                perturbation=item.perturbation,
                trial=trial,
            )
