"""One request after another, in HELM's order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import structs

from helmsite.adapters.blocks import (
    document_block,
    eval_block,
    example_block,
    reference_letters,
)
from helmsite.adapters.examples import eval_instances, in_context_examples
from helmsite.adapters.language_modeling import windows
from helmsite.adapters.prompts import PromptMaker
from helmsite.errors import AdapterError, suggest
from helmsite.schema import Message, Request
from helmsite.schema.adapting import METHODS
from helmsite.schema.manifest import JOINT
from helmsite.schema.records import CALIBRATION

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from helmsite.adapters.prompts import Prompt
    from helmsite.adapters.window import Window
    from helmsite.schema import AdapterSpec, Instance, Reference

CALIBRATION_INPUT = "Answer:"


def adapt(
    instances: Sequence[Instance],
    spec: AdapterSpec,
    window: Window,
    evaluate: Sequence[Instance] | None = None,
) -> list[Request]:
    """Return the requests of a run: trial by trial, instance by instance.

    Args:
        instances: All instances of a scenario; the examples come from its train split.
        spec: The adapter's settings; `spec.method` is one of `METHODS`.
        window: The model's limits, to which the prompts are fitted.
        evaluate: The instances to ask, perturbed versions included, in place of
            `eval_instances(instances, spec)`.

    Raises:
        AdapterError: an unknown method, language modelling without a tokeniser, a
            context without room, or choices that cannot be named.
    """
    if spec.method not in METHODS:
        raise AdapterError(
            f"Unknown adapter method {spec.method!r}.{suggest(spec.method, METHODS)}",
            f"Set method to one of: {', '.join(METHODS)}.",
        )
    asked = eval_instances(instances, spec) if evaluate is None else evaluate
    if spec.method == "language_modeling":
        return [r for instance in asked for r in windows(instance, spec, window)]
    requests: list[Request] = []
    for trial in range(spec.train_trials):
        maker = _Trial(in_context_examples(instances, spec, trial), spec, window)
        made = [r for instance in asked for r in maker.requests(instance)]
        for repeat in range(spec.repeats):
            number = trial * spec.repeats + repeat
            requests += [_repeated(request, number, repeat) for request in made]
    return requests


def _repeated(request: Request, trial: int, repeat: int) -> Request:
    """Return a request as made in a trial; HELM's seed of a repeat is its number."""
    if not trial:
        return request
    decoding = request.decoding
    if repeat:
        decoding = structs.replace(decoding, random=str(repeat))
    return structs.replace(request, trial=trial, decoding=decoding)


class _Trial:
    """The requests that share their in-context examples."""

    def __init__(
        self, examples: Sequence[Instance], spec: AdapterSpec, window: Window
    ) -> None:
        self.spec = spec
        self.example_ids = tuple(e.instance_id for e in examples)
        blocks = [example_block(e, spec) for e in examples]
        self.shown = PromptMaker(spec, window, blocks)
        self.bare = PromptMaker(spec, window, [])
        self.decoding = spec.decoding

    def requests(self, instance: Instance) -> Iterator[Request]:
        """Yield the requests of one instance, as made in the first trial."""
        if self.spec.method == "generation":
            yield self._request(instance, self.shown.make(self._ask(instance)))
        elif self.spec.method in JOINT:
            yield self._joint(instance)
        elif self.spec.method == "chat":
            yield self._conversation(instance)
        else:
            one = (
                self._ranked if self.spec.method == "ranking_binary" else self._separate
            )
            for index in range(len(instance.references)):
                yield from one(instance, index)

    def _ask(self, instance: Instance) -> str:
        return eval_block(instance, self.spec)

    def _joint(self, instance: Instance) -> Request:
        letters = reference_letters(instance, self.spec)
        texts = [reference.text for reference in instance.references]
        request = self._request(instance, self.shown.make(self._ask(instance)))
        mapping = dict(zip(letters, texts, strict=True))
        return structs.replace(request, output_mapping=mapping)

    def _ranked(self, instance: Instance, index: int) -> Iterator[Request]:
        prompt = self.shown.make(document_block(instance, index, self.spec))
        request = self._request(instance, prompt)
        yield structs.replace(request, reference_index=index)

    def _conversation(self, instance: Instance) -> Request:
        """Return the instance's messages; instructions are a message of the system."""
        if not instance.messages:
            raise AdapterError(
                f"Instance {instance.instance_id} has no messages to send.",
                "Method chat needs a scenario whose instances are conversations; "
                "use method generation for a text.",
            )
        lead = self.spec.instructions.removesuffix("\n")
        system = (Message("system", lead),) if lead else ()
        return Request(
            instance_id=instance.instance_id,
            perturbation=instance.perturbation,
            prompt="",
            prompt_kind="absent",
            messages=system + instance.messages,
            decoding=self.decoding,
        )

    def _separate(self, instance: Instance, index: int) -> Iterator[Request]:
        reference = instance.references[index]
        prompt = self._given(self.shown, instance.input, reference)
        yield self._scored(instance, prompt, index)
        if self.spec.method == "multiple_choice_separate_calibrated":
            prompt = self._given(self.bare, CALIBRATION_INPUT, reference)
            request = self._scored(instance, prompt, index)
            yield structs.replace(request, mode=CALIBRATION)

    def _given(self, maker: PromptMaker, text: str, reference: Reference) -> Prompt:
        """Return the prompt that ends with a reference; its leading blank is scored too."""
        spec = self.spec
        context = spec.input_prefix + text + spec.input_suffix + spec.output_prefix
        scored = reference.text + spec.output_suffix
        if context.endswith(" "):
            context, scored = context[:-1], " " + scored
        return maker.make(context, scored)

    def _request(self, instance: Instance, prompt: Prompt) -> Request:
        return Request(
            instance_id=instance.instance_id,
            perturbation=instance.perturbation,
            prompt=prompt.text,
            decoding=self.decoding,
            example_ids=self.example_ids[: prompt.examples],
            num_train_instances=prompt.examples,
            truncated=prompt.truncated,
        )

    def _scored(self, instance: Instance, prompt: Prompt, index: int) -> Request:
        return structs.replace(
            self._request(instance, prompt),
            reference_index=index,
            score_start=prompt.score_start,
        )
