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
    Message,
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
    """Return a leaderboard with a band, partial cells, a mean and every kind of hole."""
    colours = ScenarioFacts("colours", "Colours", main_metric="exact_match")
    text = ScenarioFacts("text", "A scenario with a title of two lines")
    subjects = ScenarioFacts("subjects", "Subjects", main_metric="exact_match")
    each = tuple(
        Column(ScenarioFacts(f"subjects:subject={s}"), METRIC) for s in ("art", "law")
    )
    columns = (
        Column(colours, METRIC),
        Column(text, LOSS),
        Column(text, METRIC),
        Column(subjects, METRIC, members=each),
    )
    cells = (
        (
            Cell(0.91, 0.88, 0.93, 400, 400, "", best=True, heat=8),
            Cell(0.92, 0.9, 0.95, 50, 50, "", best=True, heat=8),
            Cell(0.5, 0.4, 0.6, 100, 100, "", heat=8),
            Cell(0.7, 0.63, 0.76, 200, 200, "", heat=8, best=True, held=2, of=2),
        ),
        (
            Cell(0.89, 0.86, 0.92, 400, 400, "", heat=7),
            Cell(1.1, 1.0, 1.2, 50, 50, "", heat=5),
            Cell(0.5, 0.35, 0.65, 60, 100, "", heat=8),
            Cell(0.81, 0.72, 0.88, 100, 100, "", held=1, of=2),
        ),
        (
            Cell(0.42, 0.37, 0.47, 400, 400, "", heat=3),
            Cell(None, missing="not measurable"),
            Cell(None, missing="failed"),
            Cell(0.6, 0.53, 0.67, 200, 200, "", heat=0, held=2, of=2),
        ),
        (
            Cell(0.24, 0.2, 0.28, 400, 400, "", heat=0),
            Cell(None, missing="not run"),
            Cell(None, missing="not asked"),
            Cell(None, missing="not run"),
        ),
    )
    wins = (1.0, 0.75, 0.333, None)
    return Leaderboard(
        "samples",
        "accuracy",
        columns,
        tuple(
            LeaderboardRow(card(i), c, wins[i], 4 if wins[i] else 0, 1.0, band)
            for i, (c, band) in enumerate(zip(cells, (1, 1, 3, 0), strict=True))
        ),
    )


TYPOS = "typos(prob=0.3)~1"


def _instance(number: int, perturbation: str = "") -> Instance:
    return Instance(
        f"id{number}",
        "Snow is" if not perturbation else "Snwo iss",
        (Reference("black"), Reference("white", (CORRECT_TAG,))),
        perturbation,
        number,
        "test",
        attributes={"subject": ("nature",)},
    )


def _score(number: int, value: float | None, perturbation: str = "") -> Score:
    made = Score(f"id{number}", "exact_match", value, perturbation)
    return structs.replace(made, missing="failed") if value is None else made


def _joint(
    number: int,
    completion: Completion,
    value: float | None,
    perturbation: str = "",
    trial: int = 0,
) -> TrialView:
    item = _instance(number, perturbation)
    request = Request(
        f"id{number}",
        SHARED + OWN.replace("Snow is", item.input),
        Decoding(max_tokens=1),
        perturbation,
        trial,
        output_mapping={"A": "black", "B": "white"},
        num_train_instances=1,
    )
    view = RequestView(request, (ReplyView(completion, 0),), len(SHARED))
    return TrialView(trial, (view,), (_score(number, value, perturbation),))


def _one(number: int, completion: Completion, value: float | None) -> InstanceView:
    return InstanceView(_instance(number), (_joint(number, completion, value),))


def _chosen(letter: str) -> Completion:
    first, second = (" B", " A") if letter == "B" else (" A", " B")
    top = (TopLogprob(first, -0.2), TopLogprob(second, -1.9), TopLogprob("\n", -4.5))
    return Completion(
        first,
        tokens=(first,),
        token_logprobs=(-0.2,),
        top_logprobs=(top,),
        logprob=-0.2,
        finish_reason="length",
        usage=Usage(40, 1),
        duration_s=0.012,
    )


def instances() -> tuple[InstanceView, ...]:
    """Return joint multiple choice: every outcome, a perturbed twin, trials, a hostile text."""
    tokens = (" B", " ", "is", " what", " I", " would", " say", ".", "\n")
    values = (-0.01, -0.1, -0.3, -0.7, -1.5, -2.5, -4.0, -6.5, -9.0)
    spoken = Completion(
        "".join(tokens),
        tokens=tokens,
        token_logprobs=values,
        logprob=sum(values),
        finish_reason="stop",
    )
    hostile = "<script>alert(1)</script>\u202egnp.exe\x00\x1b[31m"
    twin = _joint(1, _chosen("A"), 0.0, TYPOS)
    trials = (_joint(6, _chosen("B"), 1.0), _joint(6, _chosen("A"), 0.0, trial=1))
    return (
        _one(1, _chosen("B"), 1.0),
        InstanceView(_instance(1, TYPOS), (twin,)),
        _one(2, spoken, 0.0),
        _one(3, Completion(error="HTTP 500 after 5 attempts"), None),
        _one(4, Completion(hostile, finish_reason="length"), 0.5),
        InstanceView(_instance(6), trials),
        InstanceView(_instance(7)),
    )


def conversation() -> InstanceView:
    """Return a conversation: messages, reasoning, a tool's turns and an answer."""
    messages = (
        Message("system", "Use the tool. Answer in one word."),
        Message("user", "Is it snowing in Oslo?"),
    )
    item = structs.replace(
        _instance(8), input="Is it snowing in Oslo?", messages=messages[1:]
    )
    call = {"id": "call-1", "function": "weather", "arguments": {"city": "Oslo"}}
    transcript = (
        {"role": "assistant", "content": "I will look.", "tool_calls": [call]},
        {
            "role": "tool",
            "function": "weather",
            "tool_call_id": "call-1",
            "content": "snow, −4 °C",
        },
    )
    completion = Completion(
        "Yes",
        "The tool says snow, so the answer is yes.",
        transcript,
        finish_reason="stop",
        usage=Usage(72, 1),
        duration_s=1.7,
    )
    request = Request("id8", "", Decoding(), prompt_kind="absent", messages=messages)
    view = RequestView(request, (ReplyView(completion, 0),))
    return InstanceView(item, (TrialView(0, (view,), (_score(8, 1.0),)),))


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
