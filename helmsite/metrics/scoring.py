"""From replies to scores: pure, in a fixed order, and nothing left out silently."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from msgspec import structs

from helmsite.errors import MetricError
from helmsite.metrics.case import (
    Case,
    Exchange,
    Extractor,
    UnmeasurableError,
    UnparsedError,
)
from helmsite.metrics.choice import expected_requests
from helmsite.metrics.kinds import (
    Measure,
    OutsideMetric,
    ShownPopulation,
    TextMetric,
)
from helmsite.metrics.names import completions_of, is_separate, load
from helmsite.schema import TRAIN, PopulationMetric, Score, expressions
from helmsite.schema.records import CALIBRATION, ORIGINAL

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from helmsite.metrics.sandbox import Sandbox
    from helmsite.schema import AdapterSpec, Completion, Instance, ModelCard, Reply

    TrialKey = tuple[str, str, int]

Absent = Literal["", "failed", "not asked"]
Missing = Literal["", "failed", "not asked", "not measurable", "nan"]
MODES = (ORIGINAL, CALIBRATION)
LANGUAGE_MODELING, RANKING = "language_modeling", "ranking_binary"
LATE: dict[str, Any] = {"reason": "output_mapping_pattern takes too long"}


class Rule(NamedTuple):
    """A metric's name, its judgement of a case, and whether windows are one case."""

    name: str
    judge: Callable[[Case], Measure | None]
    whole: bool = False


class Shared(NamedTuple):
    """What all cases of a run have in common."""

    adapter: AdapterSpec
    extractor: Extractor
    card: ModelCard | None
    sandbox: Sandbox | None


class Slot(NamedTuple):
    """Where a score belongs: an instance in a trial, or one window of it (-1: all)."""

    instance: Instance
    trial: int
    request_index: int
    absent: Absent
    exchanges: tuple[Exchange, ...]


def score(
    instances: Sequence[Instance],
    replies: Iterable[Reply],
    adapter: AdapterSpec,
    metrics: Sequence[str],
    card: ModelCard | None = None,
    sandbox: Sandbox | None = None,
) -> list[Score]:
    """Return every instance's scores: in the order of instances, trials and metrics.

    There is one row per instance, perturbation, trial and metric; in language modelling
    one per window (request_index). A row without a value says why: 'failed' (one of the
    requests behind it failed for good), 'not asked' (one was never made), 'unparsed'
    (output_mapping_pattern takes too long), 'not
    measurable' (no log-probabilities, no correct reference, ...) or 'nan'. Train
    instances are left out unless the adapter evaluates them. Metrics of all instances
    at once have rows only where they have something to show for each. Log-probabilities
    of answers that are 0 throughout the run count as unknown: a model that is certain of
    every token of every answer is one that does not tell. Programs that a model wrote
    are run in the `sandbox`; without one, metrics that run them are not measurable.

    Raises:
        MetricError: an unknown metric, or a reply that belongs to no instance.
    """
    pattern = adapter.output_mapping_pattern
    if wrong := expressions.fault(pattern or ""):
        raise MetricError(
            f"output_mapping_pattern {pattern!r} {wrong}.",
            "Correct it in the adapter; group 1, or else the whole match, is the letter.",
        )
    shared = Shared(adapter, Extractor(), card, sandbox)
    rules = [r for name in metrics for r in _rules(name, adapter)]
    answers = _by_trial(instances, _told(list(replies)))
    trials = sorted({*range(adapter.all_trials), *(key[2] for key in answers)})
    return [
        row
        for instance in instances
        if _is_evaluated(instance, adapter, answers)
        for trial in trials
        for slot in _slots(instance, trial, answers.get(_key(instance, trial)), adapter)
        for row in _rows(slot, shared, rules)
    ]


def _key(instance: Instance, trial: int) -> TrialKey:
    return instance.instance_id, instance.perturbation, trial


def _rules(name: str, adapter: AdapterSpec) -> Iterator[Rule]:
    metric = load(name, adapter.method)
    if isinstance(metric, ShownPopulation):
        yield Rule(name, metric.show, metric.whole)
    elif isinstance(metric, TextMetric):
        k = max(1, completions_of(name))
        yield Rule(name, lambda case: _best(metric, case, k))
    elif not isinstance(metric, PopulationMetric | OutsideMetric):
        yield Rule(name, metric)


def _best(metric: TextMetric, case: Case, k: int) -> Measure | None:
    """Return the best score over correct references and the k likeliest completions."""
    golds, request = case.instance.gold, case.exchanges[0].request
    if not golds or request.score_start is not None:
        return None
    predictions = case.predictions[:k]
    value = max(
        0.0 if prediction is None else metric.function(gold, prediction)
        for gold in golds
        for prediction in predictions
    )
    text = (predictions[0] or "") if request.output_mapping else ""
    return Measure(float(value), text=text)


def _told(replies: list[Reply]) -> list[Reply]:
    """Return the replies, without log-probabilities where all of them are 0."""
    generated = [r.completion for r in replies if r.request.score_start is None]
    if not generated or any(map(_is_unsure, generated)):
        return replies
    return [
        structs.replace(
            reply,
            completion=structs.replace(
                reply.completion, logprob=None, token_logprobs=None, top_logprobs=None
            ),
        )
        if reply.request.score_start is None
        else reply
        for reply in replies
    ]


def _is_unsure(completion: Completion) -> bool:
    return bool(completion.logprob) or any(completion.token_logprobs or ())


def _by_trial(
    instances: Sequence[Instance], replies: Iterable[Reply]
) -> dict[TrialKey, list[Reply]]:
    known = {(i.instance_id, i.perturbation) for i in instances}
    found: dict[TrialKey, list[Reply]] = defaultdict(list)
    for reply in replies:
        request = reply.request
        if request.mode not in MODES:
            continue
        if (request.instance_id, request.perturbation) not in known:
            raise MetricError(
                f"There is a reply to instance {request.instance_id!r} (perturbation {request.perturbation!r}), but no such instance.",
                "Check the run with `helmsite check`; run it again if it is damaged.",
            )
        found[request.instance_id, request.perturbation, request.trial].append(reply)
    return dict(found)


def _is_evaluated(
    instance: Instance, adapter: AdapterSpec, answers: dict[TrialKey, list[Reply]]
) -> bool:
    if instance.split != TRAIN or TRAIN in (adapter.eval_splits or ()):
        return True
    return any(key[:2] == _key(instance, 0)[:2] for key in answers)


def _slots(
    instance: Instance,
    trial: int,
    replies: list[Reply] | None,
    adapter: AdapterSpec,
) -> Iterator[Slot]:
    """Yield the places of an instance's scores with the exchanges behind each."""
    exchanges = _exchanges(replies or ())
    yield Slot(instance, trial, -1, _absent(instance, exchanges, adapter), exchanges)
    if adapter.method == LANGUAGE_MODELING:
        for exchange in exchanges:
            absent: Absent = "failed" if _has_failed(exchange) else ""
            index = exchange.request.request_index
            yield Slot(instance, trial, index, absent, (exchange,))


def _exchanges(replies: Iterable[Reply]) -> tuple[Exchange, ...]:
    grouped: dict[tuple[int, int, int], list[Reply]] = defaultdict(list)
    for reply in replies:
        request = reply.request
        mode = MODES.index(request.mode)
        grouped[mode, request.request_index, request.reference_index].append(reply)
    ordered = (
        sorted(group, key=lambda reply: reply.completion_index)
        for _, group in sorted(grouped.items())
    )
    return tuple(
        Exchange(group[0].request, tuple(reply.completion for reply in group))
        for group in ordered
    )


def _has_failed(exchange: Exchange) -> bool:
    return any(completion.error for completion in exchange.completions)


def _absent(
    instance: Instance, exchanges: tuple[Exchange, ...], adapter: AdapterSpec
) -> Absent:
    if any(_has_failed(exchange) for exchange in exchanges):
        return "failed"
    if not exchanges:
        return "not asked"
    if is_separate(adapter.method) or adapter.method == RANKING:
        made = {(e.request.mode, e.request.reference_index) for e in exchanges}
        if expected_requests(adapter.method, len(instance.references)) - made:
            return "not asked"
    return ""


def _rows(slot: Slot, shared: Shared, rules: Sequence[Rule]) -> Iterator[Score]:
    """Yield one score per rule that judges this slot."""
    windows = shared.adapter.method == LANGUAGE_MODELING and bool(slot.exchanges)
    case = None
    if not slot.absent:
        case = Case(slot.instance, shared.adapter, slot.exchanges, *shared[1:])
    if windows:
        rules = [rule for rule in rules if rule.whole == (slot.request_index < 0)]
    for rule in rules:
        try:
            measure = rule.judge(case) if case else None
        except UnparsedError:
            yield structs.replace(
                _row(slot, rule.name, None), missing="unparsed", details=LATE
            )
        except UnmeasurableError as error:
            row = _row(slot, rule.name, None)
            yield structs.replace(row, details={"reason": str(error)})
        else:
            yield _row(slot, rule.name, measure)


def _row(slot: Slot, name: str, measure: Measure | None) -> Score:
    instance_id, perturbation, trial = _key(slot.instance, slot.trial)
    missing: Missing = ""
    if measure is None:
        missing = slot.absent or "not measurable"
    elif not math.isfinite(measure.value):
        missing = "nan"
    return Score(
        instance_id=instance_id,
        metric=name,
        value=measure.value if measure and not missing else None,
        perturbation=perturbation,
        trial=trial,
        request_index=slot.request_index,
        weight=measure.weight if measure and not missing else None,
        text=measure.text if measure else "",
        details=measure.details if measure else {},
        missing=missing,
    )
