"""Small runs to put in an archive, written down in a line each."""

from collections.abc import Callable, Sequence

from helmsite.archive import Archive
from helmsite.query import summarise
from helmsite.schema import (
    Completion,
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
    preset,
    run_id,
)

EM = MetricFacts(
    "exact_match", "EM", "", "accuracy", higher_is_better=True, format="share"
)
SECONDS = MetricFacts(
    "inference_runtime", "Time", "", "efficiency", higher_is_better=False
)
TYPOS = PerturbationFacts("typos", robustness=True)

Verdict = float | str | None


def make_run(
    archive: Archive,
    scenario: str,
    model: str,
    verdicts: Sequence[Verdict],
    *,
    trials: Sequence[Sequence[Verdict]] = (),
    typos: Sequence[Verdict] = (),
    seconds: Sequence[float] = (),
    method: Method = "generation",
    finished_at: float | None = None,
    metrics: tuple[MetricFacts, ...] = (EM, SECONDS),
    facts: Callable[[ScenarioFacts], ScenarioFacts] = lambda facts: facts,
    origin: str = "native",
    content: str = "What is",
    replies: bool = True,
    main_metric: str = "exact_match",
    revision: str = "",
) -> str:
    """Archive a run with one instance per verdict; text is a reason, None a pass over it.

    Returns its id.
    """
    adapter = preset(method, input_noun="Question", output_noun="Answer")
    spec = RunSpec(scenario, ModelIdentity(model, revision=revision), adapter)
    instances, scores = [], []
    for perturbation, series in (("", (verdicts, *trials)), ("typos", (typos,))):
        for trial, column in enumerate(series):
            for i, verdict in enumerate(column):
                if verdict is None:
                    continue
                scores.append(_score(f"id{i}", verdict, perturbation, trial))
                if trial == 0:
                    instances.append(_instance(i, perturbation, content))
    scores += [
        Score(f"id{i}", "inference_runtime", value) for i, value in enumerate(seconds)
    ]
    perturbations = (TYPOS,) if typos else ()
    manifest = Manifest(
        run_id=run_id(spec.spec_id, "tests", origin),
        spec_id=spec.spec_id,
        suite="tests",
        spec=spec,
        scenario=facts(
            ScenarioFacts(scenario, title=scenario.upper(), main_metric=main_metric)
        ),
        card=ModelCard(model),
        origin=origin,
        metrics=metrics,
        perturbations=perturbations,
        provenance=Provenance(finished_at=finished_at),
    )
    asked = [r for x in instances for r in _replies(x, scores, adapter.decoding)]
    stats = summarise(instances, scores, metrics, perturbations, (), scenario=scenario)
    written = archive.write_run(
        manifest, instances, asked if replies else [], scores, stats
    )
    return written.run_id


def _instance(i: int, perturbation: str, content: str) -> Instance:
    return Instance(
        f"id{i}",
        f"{content} {i}é{perturbation}?",
        (Reference("yes", ("correct",)),),
        perturbation=perturbation,
        position=i,
        split="test",
    )


def _score(name: str, verdict: Verdict, perturbation: str, trial: int) -> Score:
    value = None if isinstance(verdict, str) else verdict
    return Score(
        name,
        "exact_match",
        value,
        perturbation=perturbation,
        trial=trial,
        missing=verdict if isinstance(verdict, str) else "",  # type: ignore[arg-type]
    )


def _replies(instance: Instance, scores, decoding) -> list[Reply]:
    key = (instance.instance_id, instance.perturbation)
    own = [s for s in scores if (s.instance_id, s.perturbation) == key]
    return [
        Reply(
            Request(
                instance.instance_id,
                f"Question: example {s.trial}\nAnswer: yes\n\n"
                f"Question: {instance.input}\nAnswer:",
                decoding,
                perturbation=instance.perturbation,
                trial=s.trial,
            ),
            Completion(error="timeout") if s.missing else Completion(" yes"),
        )
        for s in own
        if s.metric == "exact_match"
    ]
