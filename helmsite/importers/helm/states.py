"""HELM's request states as instances and replies: scenario_state.json, of all ages."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from msgspec import structs

from helmsite.errors import SourceError
from helmsite.importers.helm.items import (
    finish_of,
    instance_of,
    mapping_of,
    messages_of,
    number_of,
    prompt_of,
)
from helmsite.importers.helm.tokens import NONE, Echo, Tokens, logprob_of
from helmsite.importers.values import Row, plain
from helmsite.schema import (
    Completion,
    Decoding,
    Instance,
    Reply,
    Request,
    Usage,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from helmsite.importers.helm.naming import Perturbations
    from helmsite.importers.helm.verdicts import Key
    from helmsite.importers.values import Place
    from helmsite.schema import AdapterSpec

NO_RESULT = "The source has no result of this request."
NO_ANSWER = "The answer has no completion."
NO_REASON = "The source says that it failed, and not why."
USUAL = {
    "embedding": False,
    "echo_prompt": False,
    "presence_penalty": 0,
    "frequency_penalty": 0,
    "prompt": "",
}
"""What a request says beside its decoding, where it says nothing special."""

DECODING = frozenset(Decoding.__struct_fields__)


@dataclass
class States:
    """Instances and replies of a run, and what was met on the way.

    `unsure` counts scored texts of which it is not sure which tokens they are.
    """

    instances: dict[tuple[str, str], Instance] = field(default_factory=dict)
    replies: list[Reply] = field(default_factory=list)
    failed: int = 0
    unsure: int = 0
    encrypted: bool = False


def told(states: list[Any]) -> bool:
    """Return whether any answer has a log-probability other than 0.

    HELM's clients write 0 for what a model's side does not tell. Given texts (`max_tokens`
    0 and echo_prompt) do not count: their log-probabilities are always told.
    """
    answered = False
    for state in states:
        try:
            request, result = state["request"], state["result"]
            if request.get("echo_prompt") and not request.get("max_tokens"):
                continue
            for completion in result["completions"]:
                answered = True
                if completion.get("logprob") or any(
                    token.get("logprob") for token in completion.get("tokens") or ()
                ):
                    return True
        except (KeyError, TypeError, AttributeError):
            continue
    return not answered


@dataclass
class Reader:
    """Reads request states.

    Args:
        adapter: the run's.
        model: the run's model.
        perturbations: their names.
        prompt_tokens: tokens of prompts that are not echoed, by HELM's count.
        told: whether log-probabilities of answers are.
        problem: hears of what cannot be taken.
        clean: replaces secrets in messages of errors.
        slim: whether completions have their first two tokens alone, as in the slim files
            of 2022.
    """

    adapter: AdapterSpec
    model: str
    perturbations: Perturbations
    prompt_tokens: Mapping[Key, int]
    told: bool
    problem: Callable[[SourceError], None]
    clean: Callable[[str], str]
    slim: bool = False
    made: States = field(default_factory=States)
    _raw: dict[tuple[str, str], Any] = field(default_factory=dict)
    _decodings: dict[Any, Decoding] = field(default_factory=dict)
    _seen: dict[tuple[Any, ...], int] = field(default_factory=lambda: defaultdict(int))
    _places: dict[str, int] = field(default_factory=dict)

    def read(self, asked: list[Any], place: Place) -> States:
        """Return what request states hold; what is broken is left out and told of."""
        for n, each in enumerate(asked):
            try:
                self._state(Row(each, place.inside(n)), n)
            except SourceError as error:
                self.problem(error)
        self._position()
        return self.made

    def _state(self, row: Row, n: int) -> None:
        instance = self._instance(row.row("instance"), n)
        asked = row.row("request")
        request = self._request(row, asked, instance)
        result = row.row("result", None)
        replies = self._replies(row, asked, result, request, instance)
        self.made.instances.setdefault(
            (instance.instance_id, instance.perturbation), instance
        )
        self.made.replies += replies
        self.made.failed += any(reply.completion.error for reply in replies)

    def _instance(self, row: Row, n: int) -> Instance:
        perturbation = ""
        if "perturbation" in row:
            at = row.at("perturbation")
            perturbation = self.perturbations.told(row.get("perturbation"), at).name
        name = row.text("id", "") or f"#{n}"
        key = name, perturbation
        repeat = 1
        while key in self._raw and self._raw[key] != row.value:
            repeat += 1
            key = f"{name}#{repeat}", perturbation
        if key not in self._raw:
            self._raw[key] = row.value
            self._places.setdefault(key[0], len(self._places))
            self.made.instances[key] = instance_of(row, *key)
            self.made.encrypted |= self.made.instances[key].input.startswith(
                "[encrypted_text"
            )
        return self.made.instances[key]

    def _position(self) -> None:
        """Place instances as HELM numbers them, or in the order of the file."""
        names = {name: number_of(name) for name in self._places}
        ordered = names if None not in names.values() else self._places
        self.made.instances = {
            key: structs.replace(instance, position=ordered[key[0]])
            for key, instance in self.made.instances.items()
        }

    def _request(self, row: Row, asked: Row, instance: Instance) -> Request:
        prompt, kind = prompt_of(asked)
        mode = row.text("request_mode", "") or "original"
        trial, reference = (
            row.integer("train_trial_index", 0),
            row.integer("reference_index", -1),
        )
        if mode not in {"original", "calibration"}:
            raise row.at("request_mode").error(f"unknown mode {mode!r}")
        key = (instance.instance_id, instance.perturbation, trial, mode, reference)
        repeat = self._seen[key]
        self._seen[key] += 1
        windows = self.adapter.method == "language_modeling"
        trials = self.adapter.repeats
        if repeat and not windows and repeat >= trials:
            raise row.place.error(
                f"instance {instance.instance_id!r} is asked twice in trial {trial}; the first answer is taken"
            )
        mapping = row.get("output_mapping")
        return Request(
            instance_id=instance.instance_id,
            prompt=prompt,
            decoding=self._decoding(asked),
            perturbation=instance.perturbation,
            trial=trial if windows else trial * trials + repeat,
            mode=mode,
            request_index=repeat if windows else 0,
            reference_index=reference,
            prompt_kind=kind,  # type: ignore[arg-type]
            messages=messages_of(asked),
            output_mapping=mapping_of(row) if mapping else {},
            num_train_instances=row.integer("num_train_instances", 0),
            truncated=row.flag("prompt_truncated", False),
            num_conditioning_tokens=row.integer("num_conditioning_tokens", 0),
        )

    def _decoding(self, asked: Row) -> Decoding:
        said = asked.value
        stops = said.get("stop_sequences")
        key = (
            tuple(stops) if isinstance(stops, list) else None,
            *(repr(said.get(name)) for name in DECODING if name != "stop_sequences"),
        )
        try:
            return self._decodings[key]
        except (KeyError, TypeError):
            pass
        usual = Decoding()
        made = Decoding(
            temperature=asked.number("temperature", None) or 0.0,
            max_tokens=asked.integer("max_tokens", usual.max_tokens),
            num_completions=asked.integer("num_completions", 1),
            top_k_per_token=asked.integer("top_k_per_token", 1),
            stop_sequences=asked.texts("stop_sequences", ()),
            top_p=_or(asked.number("top_p", 1.0), 1.0),
            random=str(asked.get("random") or ""),
        )
        self._decodings[key] = made
        return made

    def _replies(
        self,
        row: Row,
        asked: Row,
        result: Row | None,
        request: Request,
        instance: Instance,
    ) -> list[Reply]:
        more = self._more(row, asked)
        if result is None:
            return [Reply(request, Completion(error=NO_RESULT, extra=more))]
        more |= {k: v for k, v in result.rest(*RESULT).items() if v not in (None, [])}
        timing = self._timing(result, more)
        if not result.flag("success", True) or "error" in result:
            said = result.get("error")
            error = self.clean(str(said)) if said else NO_REASON
            return [Reply(request, Completion(error=error, extra=more, **timing))]
        completions = result.rows("completions", ())
        if not completions:
            error = NO_ANSWER
            return [Reply(request, Completion(error=error, extra=more, **timing))]
        echoed = asked.flag("echo_prompt", False) and not request.decoding.max_tokens
        made = []
        for n, each in enumerate(completions):
            if echoed:
                request, completion = self._given(each, request, instance)
            else:
                completion = self._generated(each, request)
            extra = completion | {
                "extra": completion["extra"] | (more if not n else {})
            }
            made.append(Reply(request, Completion(**extra, **timing), n))
        return made

    def _more(self, row: Row, asked: Row) -> dict[str, Any]:
        """Return what a request state says and no column holds."""
        more: dict[str, Any] = {}
        rest = {
            k: plain(v)
            for k, v in asked.value.items()
            if v is not None
            and k not in DECODING
            and k
            not in {"prompt", "messages", "model", "model_deployment", "echo_prompt"}
            and v != USUAL.get(k)
        }
        if asked.get("model") not in (None, self.model):
            rest["model"] = plain(asked.get("model"))
        if rest:
            more["request"] = rest
        if "annotations" in row:
            more["annotations"] = plain(row.get("annotations"))
        if len(row.value) > len(STATE):
            more |= row.rest(*STATE)
        return more

    @staticmethod
    def _timing(result: Row, more: dict[str, Any]) -> dict[str, Any]:
        """Return times; of a batch its whole time, as HELM counts."""
        taken = result.number("request_time", None)
        together = result.number("batch_request_time", None)
        size = result.number("batch_size", None)
        if size is not None:
            more["batch_size"] = size
        if together is not None and size is not None:
            more["request_time"] = taken
            taken = together
        elif together is not None:
            more["batch_request_time"] = together
        return {
            "duration_s": taken,
            "started_at": result.number("request_datetime", None),
            "cached": result.flag("cached", False),
        }

    def _generated(self, row: Row, request: Request) -> dict[str, Any]:
        tokens = NONE if self.slim else Tokens.read(row)
        key = request.instance_id, request.perturbation, request.trial
        thought = row.row("thinking", None)
        extra = row.rest("text", "logprob", "tokens", "finish_reason", "thinking")
        reason, more = finish_of(row)
        extra |= more | tokens.extra
        logprob = logprob_of(row)
        if logprob is None and "logprob" in row:
            extra["logprob"] = plain(row.get("logprob"))
        if thought and (rest := thought.rest("text")):
            extra["thinking"] = rest
        known = self.told
        return {
            "text": row.text("text", ""),
            "reasoning": (thought.text("text", "")) if thought else "",
            "tokens": tokens.texts,
            "token_logprobs": tokens.logprobs if known else None,
            "top_logprobs": tokens.tops if known else None,
            "logprob": logprob if known else None,
            "finish_reason": reason,
            "usage": Usage(prompt_tokens=self.prompt_tokens.get(key)),
            "extra": extra,
        }

    def _given(
        self, row: Row, request: Request, instance: Instance
    ) -> tuple[Request, dict[str, Any]]:
        """Return the request with the place of the scored text, and that text's tokens."""
        tokens = NONE if self.slim else Tokens.read(row)
        extra = row.rest("text", "logprob", "tokens", "finish_reason")
        reason, more = finish_of(row)
        if "logprob" in row:
            extra["echo_logprob"] = plain(row.get("logprob"))
        if row.text("text", request.prompt) != request.prompt:
            extra["text"] = row.text("text")
        echo = Echo(tokens, request.prompt)
        if request.reference_index >= 0:
            references = instance.references
            known = request.reference_index < len(references)
            cut = echo.tail(references[request.reference_index].text if known else "")
        else:
            cut = echo.after(request.num_conditioning_tokens)
        self.made.unsure += not cut.sure
        scored = tokens.from_(cut.token)
        logprobs = scored.logprobs
        return structs.replace(request, score_start=cut.start), {
            "tokens": scored.texts,
            "token_logprobs": logprobs,
            "top_logprobs": scored.tops,
            "logprob": sum(p for p in logprobs if p is not None)
            if logprobs is not None
            else None,
            "finish_reason": reason,
            "usage": Usage(prompt_tokens=len(tokens.texts) if tokens.texts else None),
            "extra": extra | more | scored.extra | tokens.context(cut.token),
        }


RESULT = (
    *("success", "completions", "cached", "request_time", "request_datetime", "error"),
    *("batch_size", "batch_request_time"),
)
STATE = (
    *("instance", "reference_index", "request_mode", "train_trial_index"),
    *("output_mapping", "request", "result", "num_train_instances", "prompt_truncated"),
    *("num_conditioning_tokens", "annotations"),
)


def _or(found: float | None, usual: float) -> float:
    return usual if found is None else found
