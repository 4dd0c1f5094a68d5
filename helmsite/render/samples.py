"""Fixed samples for the page of patterns: every kind of cell, verdict and reply once."""

from __future__ import annotations

from msgspec import structs

from helmsite.query.rows import (
    Cell,
    Column,
    InstanceView,
    Leaderboard,
    LeaderboardRow,
    ReplyView,
    RequestView,
    RunSummary,
    TrialView,
)
from helmsite.schema import (
    CORRECT_TAG,
    AdapterSpec,
    Completion,
    Counts,
    Decoding,
    Instance,
    Manifest,
    Method,
    MetricFacts,
    ModelCard,
    ModelIdentity,
    Provenance,
    Reference,
    Request,
    RunSpec,
    ScenarioFacts,
    Score,
    Stat,
    TopLogprob,
    Usage,
    preset,
)

METRIC = MetricFacts(
    name="exact_match",
    title="Exact match",
    description="Share of answers equal to a correct reference.",
    family="accuracy",
    higher_is_better=True,
    format="share",
)
LOSS = MetricFacts(
    name="bits_per_byte",
    title="Bits per byte",
    description="Bits that the model needs for each byte of the text.",
    family="language modelling",
    aggregation="ratio",
    higher_is_better=False,
    format="bits",
)
SHARED = "The following are questions about colours.\n\nQuestion: Grass is\nA. green\nB. red\nAnswer: A\n\n"
OWN = "Question: Snow is\nA. black\nB. white\nAnswer:"


def card(number: int) -> ModelCard:
    """Return one of four model cards."""
    names = ["Alder 3B", "Birch 1B", "Cedar 270M", "Trigram"]
    sizes = [3_000_000_000, 1_000_000_000, 270_000_000, None]
    return ModelCard(
        name=f"sample/{number}",
        title=names[number],
        creator="Sample",
        num_parameters=sizes[number],
    )


def adapter(method: Method) -> AdapterSpec:
    """Return settings of which three differ from the preset."""
    return AdapterSpec(
        method=method,
        instructions="The following are questions about colours.\n",
        input_prefix="Question: ",
        output_prefix="Answer: ",
        num_outputs=5,
        max_tokens=1,
        temperature=0.0,
        stop_sequences=("\n",),
    )


def defaults() -> AdapterSpec:
    """Return the preset."""
    return preset("multiple_choice_joint")


def manifest(method: Method = "multiple_choice_joint") -> Manifest:
    """Return a run."""
    return Manifest(
        run_id="r0000000000000000",
        spec_id="0" * 64,
        suite="samples",
        spec=RunSpec("colours", ModelIdentity("sample/0"), adapter(method)),
        scenario=ScenarioFacts("colours", "Colours", main_metric="exact_match"),
        card=card(0),
        status="partial",
        counts=Counts(asked=4, answered=3, failed=1),
        metrics=(METRIC, LOSS),
        provenance=Provenance(finished_at=1_750_000_000.0),
    )


def summary(method: Method = "multiple_choice_joint") -> RunSummary:
    """Return the run as a line of a list."""
    cell = Cell(0.667, 0.2, 0.94, 3, 4, "", heat=6)
    return RunSummary(manifest(method), cell, METRIC, n_instances=4, n_trials=1)


def stats() -> tuple[Stat, ...]:
    """Return aggregates: full, partly scored, and one that is missing."""
    return (
        Stat(
            "exact_match",
            0.667,
            "test",
            ci_low=0.2,
            ci_high=0.94,
            n_scored=3,
            n_asked=4,
        ),
        Stat(
            "exact_match", 0.5, "valid", ci_low=0.1, ci_high=0.9, n_scored=2, n_asked=2
        ),
        Stat("bits_per_byte", None, "test", n_asked=4, missing="not measurable"),
    )


def leaderboard() -> Leaderboard:
    """Return a leaderboard with a band, a partly scored cell and every kind of hole."""
    colours = ScenarioFacts("colours", "Colours", main_metric="exact_match")
    text = ScenarioFacts("text", "A scenario with a title of two lines")
    columns = (Column(colours, METRIC), Column(text, LOSS), Column(text, METRIC))
    cells = (
        (
            Cell(0.91, 0.88, 0.93, 400, 400, "", best=True, heat=8),
            Cell(0.92, 0.9, 0.95, 50, 50, "", best=True, heat=8),
            Cell(0.5, 0.4, 0.6, 100, 100, "", heat=8),
        ),
        (
            Cell(0.89, 0.86, 0.92, 400, 400, "", heat=7),
            Cell(1.1, 1.0, 1.2, 50, 50, "", heat=5),
            Cell(0.5, 0.35, 0.65, 60, 100, "", heat=8),
        ),
        (
            Cell(0.42, 0.37, 0.47, 400, 400, "", heat=3),
            Cell(None, missing="not measurable"),
            Cell(None, missing="failed"),
        ),
        (
            Cell(0.24, 0.2, 0.28, 400, 400, "", heat=0),
            Cell(None, missing="not run"),
            Cell(None, missing="not asked"),
        ),
    )
    wins = (1.0, 0.75, 0.333, None)
    return Leaderboard(
        "samples",
        "accuracy",
        columns,
        tuple(
            LeaderboardRow(card(i), c, wins[i], 3 if wins[i] else 0, 1.0, band)
            for i, (c, band) in enumerate(zip(cells, (1, 1, 3, 0), strict=True))
        ),
    )


def _instance(number: int, perturbation: str = "") -> Instance:
    return Instance(
        f"id{number}",
        "Snow is" if not perturbation else "Snwo is",
        (Reference("black"), Reference("white", (CORRECT_TAG,))),
        perturbation,
        number,
        "test",
        attributes={"subject": ("nature",)},
    )


def _score(number: int, value: float | None, perturbation: str = "") -> Score:
    made = Score(f"id{number}", "exact_match", value, perturbation)
    return structs.replace(made, missing="failed") if value is None else made


def _joint(number: int, completion: Completion, value: float | None) -> InstanceView:
    request = Request(
        f"id{number}",
        SHARED + OWN,
        Decoding(max_tokens=1),
        output_mapping={"A": "black", "B": "white"},
        num_train_instances=1,
    )
    view = RequestView(request, (ReplyView(completion, 0),), len(SHARED))
    trial = TrialView(0, (view,), (_score(number, value),))
    return InstanceView(_instance(number), (trial,))


def instances() -> tuple[InstanceView, ...]:
    """Return joint multiple choice: a right, a wrong, a failed and a hostile answer."""
    top = (TopLogprob(" B", -0.2), TopLogprob(" A", -1.9), TopLogprob("\n", -4.5))
    tokens = (" B", " ", "is", " what", " I", " would", " say", ".", "\n")
    values = (-0.01, -0.1, -0.3, -0.7, -1.5, -2.5, -4.0, -6.5, -9.0)
    hostile = "<script>alert(1)</script>\u202egnp.exe\x00\x1b[31m"
    return (
        _joint(
            1,
            Completion(
                " B",
                "",
                (),
                (" B",),
                (-0.2,),
                (top,),
                -0.2,
                "length",
                Usage(40, 1),
                0.012,
            ),
            1.0,
        ),
        _joint(
            2,
            Completion(
                "".join(tokens),
                tokens=tokens,
                token_logprobs=values,
                logprob=sum(values),
                finish_reason="stop",
            ),
            0.0,
        ),
        _joint(3, Completion(error="HTTP 500 after 5 attempts"), None),
        _joint(4, Completion(hostile, finish_reason="length"), 0.5),
    )


def choices() -> tuple[InstanceView, ...]:
    """Return separate multiple choice: two options with their scores."""
    requests = []
    for index, (text, logprob) in enumerate(((" black", -7.5), (" white", -2.25))):
        prompt = f"Snow is{text}"
        request = Request(
            "id5", prompt, Decoding(), reference_index=index, score_start=len("Snow is")
        )
        completion = Completion(
            tokens=(text,), token_logprobs=(logprob,), logprob=logprob
        )
        requests.append(RequestView(request, (ReplyView(completion, 0),)))
    kept = {"scores": [-7.5, -2.25], "chosen": [1]}
    score = structs.replace(_score(5, 1.0), details=kept)
    trial = TrialView(0, tuple(requests), (score,))
    return (InstanceView(_instance(5), (trial,)),)
