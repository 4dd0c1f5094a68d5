"""What a suite would ask and cost: nothing is sent, and no weights are loaded."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import structs

from helmsite import adapters, clients
from helmsite.schema import ModelIdentity, Prices, Record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from helmsite.config import ModelConfig, Suite
    from helmsite.errors import HelmsiteError
    from helmsite.run.choice import Choice
    from helmsite.run.plan import Plan
    from helmsite.run.runner import Runner
    from helmsite.schema import Client, Manifest, Request, RunSpec, Tokenizer

CHARACTERS = 4
"""How many characters are taken for a token where no tokeniser is at hand."""
MILLION = 1_000_000


class Load(Record, frozen=True):
    """What requests come to. `completion_tokens` are the most there can be."""

    requests: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0

    def __add__(self, other: Load) -> Load:
        return Load(
            self.requests + other.requests,
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
        )

    def cost(self, prices: Prices | None) -> float | None:
        """Return what it costs at most, None without prices."""
        if prices is None:
            return None
        asked = self.prompt_tokens * prices.input_per_million
        made = self.completion_tokens * prices.output_per_million
        return (asked + made) / MILLION


class Estimate(Record, frozen=True):
    """One run that would be made: what it asks in all, and what of it is still open.

    `run_id` is '' where the model would have to be loaded to know it; then a run of this
    model counts as done if an equal one is in the archive, whatever its weights.
    `counted` says that the model's own tokeniser counted the tokens of the prompts.
    """

    model: str
    scenario: str
    method: str
    requests: int
    open: Load
    run_id: str = ""
    perturbations: tuple[str, ...] = ()
    complete: bool = False
    counted: bool = False
    prices: Prices | None = None


class RoughTokenizer:
    """Stands in for a tokeniser that is not at hand: four characters make a token."""

    def __init__(self) -> None:
        self._ids: dict[str, int] = {}
        self._pieces: list[str] = []

    def encode(self, text: str) -> Sequence[int]:
        """Return an id for each four characters of a text."""
        return [
            self._id(text[at : at + CHARACTERS])
            for at in range(0, len(text), CHARACTERS)
        ]

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of ids."""
        return "".join(self._pieces[i] for i in ids)

    def _id(self, piece: str) -> int:
        if piece not in self._ids:
            self._ids[piece] = len(self._pieces)
            self._pieces.append(piece)
        return self._ids[piece]


@dataclass
class Estimator:
    """Estimates the runs of a suite. What several models would be asked is made once.

    `left_out` says which entries cannot run here, and why, once all is estimated.
    """

    runner: Runner
    suite: Suite
    choice: Choice
    _loads: dict[tuple[object, ...], Load] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._planner = self.runner.planner(self.suite, self.choice)
        self._planner.skip_missing = True

    @property
    def left_out(self) -> dict[str, HelmsiteError]:
        """Which entries cannot run here, and why."""
        return self._planner.left_out

    def estimates(self) -> Iterator[Estimate]:
        """Yield an estimate of each run, model by model.

        Raises:
            ConfigError: as planning a run does, missing data apart.
        """
        for name, setups in self._planner.chosen().items():
            model = self.runner.project.model(name)
            if clients.loads_weights(model.client, name):
                identity = ModelIdentity(name, model.client)
                for plan in self._planner.plans(setups, model, identity):
                    yield self._unloaded(plan)
                continue
            client = clients.create(model.client, name, model.settings)
            try:
                for plan in self._planner.plans(setups, model, client.identity):
                    yield self._asked(plan, client)
            finally:
                client.close()

    def _asked(self, plan: Plan, client: Client) -> Estimate:
        runner, run_id = self.runner, plan.run_id
        old = runner.archive.find(run_id)
        about = _about(plan, counted=client.tokenizer is not None)
        if old is not None and old.status == "complete":
            return structs.replace(about, run_id=run_id, complete=True)
        with runner.archive.journal(run_id, plan.identity, read_only=True) as journal:
            if old is None and not len(journal):
                window = _window(client, plan.model)
                load = self._whole(plan, window, plan.model.name)
                return structs.replace(
                    about, run_id=run_id, requests=load.requests, open=load
                )
            work = runner.prepare(plan, client, journal)
        load = _load(work.open, _counter(client.tokenizer))
        return structs.replace(
            about, run_id=run_id, requests=len(work.requests), open=load
        )

    def _unloaded(self, plan: Plan) -> Estimate:
        about = _about(plan, counted=False)
        if (plan.suite, plan.origin, _nameless(plan.spec)) in self._done:
            return structs.replace(about, complete=True)
        model = plan.model
        limit = clients.request_limit(model.client, model.name, model.settings)
        window = adapters.Window(
            tokenizer=RoughTokenizer(),
            max_request_length=limit or model.card.context_length,
            has_prefix_token=True,
        )
        load = self._whole(plan, window, "")
        return structs.replace(about, requests=load.requests, open=load)

    def _whole(self, plan: Plan, window: adapters.Window, tokens_of: str) -> Load:
        """Return what all requests of a run come to."""
        rough = isinstance(window.tokenizer, RoughTokenizer)
        key = (
            *(plan.scenario.facts.name, plan.adapter, plan.versions),
            *(window.max_request_length, window.has_prefix_token),
            "" if rough else tokens_of,
        )
        if key not in self._loads:
            instances = plan.scenario.instances
            requests = adapters.adapt(instances, plan.adapter, window, plan.evaluated())
            count = _counter(None if rough else window.tokenizer)
            self._loads[key] = _load(requests, count)
        return self._loads[key]

    @cached_property
    def _done(self) -> set[tuple[str, str, str]]:
        found: Iterable[Manifest] = self.runner.archive.manifests()
        return {
            (m.suite, m.origin, _nameless(m.spec))
            for m in found
            if m.status == "complete"
        }


def _about(plan: Plan, *, counted: bool) -> Estimate:
    return Estimate(
        model=plan.model.name,
        scenario=plan.scenario.facts.name,
        method=plan.adapter.method,
        requests=0,
        open=Load(),
        perturbations=tuple(version.name for version in plan.versions),
        counted=counted,
        prices=plan.model.card.prices,
    )


def _window(client: Client, model: ModelConfig) -> adapters.Window:
    """Return a client's limits; a stand-in for its tokeniser if it has none."""
    limit = client.max_request_length
    return adapters.Window(
        tokenizer=client.tokenizer or RoughTokenizer(),
        max_request_length=limit or model.card.context_length,
        has_prefix_token=client.has_prefix_token,
    )


def _counter(tokenizer: Tokenizer | None) -> Callable[[str], int]:
    if tokenizer is None:
        return lambda text: -(-len(text) // CHARACTERS)
    return lambda text: len(tokenizer.encode(text))


def _load(requests: Iterable[Request], count: Callable[[str], int]) -> Load:
    number = prompts = completions = 0
    for request in requests:
        number += 1
        prompts += count(request.prompt)
        prompts += sum(count(message.content) for message in request.messages)
        if request.score_start is None:
            decoding = request.decoding
            completions += decoding.max_tokens * decoding.num_completions
    return Load(number, prompts, completions)


def _nameless(spec: RunSpec) -> str:
    """Return the id of a spec in which only the model's name stands for the model."""
    return structs.replace(spec, model=ModelIdentity(spec.model.name)).spec_id
