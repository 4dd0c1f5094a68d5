"""From answers to a run's numbers in a line, for metrics of all instances at once."""

from collections.abc import Sequence
from typing import Any

from helmsite import metrics
from helmsite.query import summarise
from helmsite.schema import (
    AdapterSpec,
    Completion,
    Decoding,
    Instance,
    Reference,
    Reply,
    Request,
    Stat,
)

GENERATION = AdapterSpec(method="generation", num_outputs=1)
State = dict[str, Any]


def state(*texts: str, references: Sequence[tuple[str, Sequence[str]]] = ()) -> State:
    """An instance with its answers, as tests/parity/helm_metrics.py reads it."""
    return {
        "input": "x",
        "references": [[text, list(tags)] for text, tags in references],
        "completions": [[text, -1.0, []] for text in texts],
    }


def stats(states: Sequence[State], names: Sequence[str]) -> dict[str, Stat]:
    """The aggregates of a run over its test split, by metric."""
    instances, replies = [], []
    for i, made in enumerate(states):
        tagged = tuple(Reference(text, tuple(t)) for text, t in made["references"])
        instances.append(Instance(f"id{i}", "x", tagged, position=i, split="test"))
        request = Request(f"id{i}", "x", Decoding())
        replies += [
            Reply(request, Completion(text=text, logprob=logprob), n)
            for n, (text, logprob, _) in enumerate(made["completions"])
        ]
    wanted = metrics.applicable("generation", names)
    scores = metrics.score(instances, replies, GENERATION, wanted)
    found = summarise(
        instances,
        scores,
        metrics.resolve(wanted),
        (),
        metrics.population(wanted),
        scenario="s",
    )
    return {s.metric: s for s in found if s.trial == -1 and s.split == "test"}


def values(states: Sequence[State], names: Sequence[str]) -> dict[str, float | None]:
    """The values of metrics over a run, by name."""
    found = stats(states, names)
    return {name: found[name].value if name in found else None for name in names}
