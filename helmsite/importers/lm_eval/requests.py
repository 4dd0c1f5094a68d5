"""The requests of a row of samples, with what came back."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from msgspec import structs

from helmsite.errors import SourceError
from helmsite.importers import reading
from helmsite.importers.values import Place, number, plain, told
from helmsite.schema import (
    Completion,
    Decoding,
    Message,
    Reply,
    Request,
)
from helmsite.schema.records import CALIBRATION, ORIGINAL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from helmsite.importers.values import Row
    from helmsite.schema import AdapterSpec

_NOWHERE = Place("")
Kind = Literal["loglikelihood", "rolling", "generation"]


class Likelihood(NamedTuple):
    """What a model says of a given continuation; `greedy` is None of a whole text."""

    logprob: float | None
    greedy: bool | None = None


@dataclass
class Asked:
    """A row's requests: `arguments` as sent, and their responses, one a repeat.

    `choices` is how many of the first requests are the choices of one question; of those
    that follow are as many without context, if `has_calibration`. It is 0 for others.
    """

    kinds: list[Kind]
    arguments: list[list[Any]]
    responses: list[list[Any]]
    choices: int = 0
    has_calibration: bool = False
    replies: list[Reply] = field(default_factory=list)
    likelihoods: list[Likelihood] = field(default_factory=list)


def asked(row: Row, output_type: str) -> Asked:
    """Return the requests of a row as the harness wrote them.

    Args:
        row: a row of samples, of any age.
        output_type: the task's, '' if it is not known.

    Raises:
        SourceError: they are not what the harness writes.
    """
    arguments = _arguments(row)
    responses = row.items("resps")
    place = row.at("resps")
    if len(arguments) != len(responses):
        why = f"{len(responses)} responses to {len(arguments)} requests"
        raise place.error(why)
    repeats = []
    for n, each in enumerate(responses):
        if not isinstance(each, list):
            raise place.inside(n).error(f"expected a list, got {told(each)}")
        repeats.append(each)
    kinds = [
        _kind(one, all_of, output_type)
        for one, all_of in zip(arguments, repeats, strict=True)
    ]
    found = Asked(kinds, arguments, repeats)
    _tell_choices(found, row, output_type)
    return found


def _arguments(row: Row) -> list[list[Any]]:
    given, place = row.get("arguments"), row.at("arguments")
    if isinstance(given, dict):
        given = list(given.values())
    if not isinstance(given, list) or not given:
        raise place.error(f"expected the arguments of requests, got {told(given)}")
    found = []
    known: dict[str, str] = {}  # choices have one context: it is held once
    for n, each in enumerate(given):
        inner = list(each.values()) if isinstance(each, dict) else each
        if not isinstance(inner, list):
            inner = [inner]  # the very first files have the context alone
        if not inner:
            raise place.inside(n).error("expected a context")
        context = _unwrapped(inner[0])
        found.append([known.setdefault(context, context), *inner[1:]])
    return found


def _unwrapped(context: Any) -> str:
    """Return a context as text: messages come as JSON, alone or in a list."""
    if isinstance(context, list) and len(context) == 1 and isinstance(context[0], str):
        context = context[0]
    if isinstance(context, str):
        return context
    return json.dumps(plain(context), ensure_ascii=False)


def _kind(arguments: Sequence[Any], responses: Sequence[Any], output_type: str) -> Kind:
    second = arguments[1] if len(arguments) > 1 else None
    if isinstance(second, dict) or output_type == "generate_until":
        return "generation"
    if isinstance(second, str):
        return "loglikelihood"
    if output_type == "loglikelihood_rolling":
        return "rolling"
    return "rolling" if responses and all(map(_is_number, responses)) else "generation"


def _is_number(found: Any) -> bool:
    try:
        float(found)
    except (TypeError, ValueError, OverflowError):
        return False
    return True


def _tell_choices(found: Asked, row: Row, output_type: str) -> None:
    """Say which requests are the choices of one question, and which calibrate them."""
    count = len(found.kinds)
    if set(found.kinds) != {"loglikelihood"} or count < 2:
        return
    half = count // 2
    first, second = found.arguments[:half], found.arguments[half:]
    found.has_calibration = (
        count % 2 == 0
        and all(each[0] == "" for each in second)
        and [each[1] for each in first] == [each[1] for each in second]
    ) or ("acc_mutual_info" in row and count % 2 == 0)
    number_of = half if found.has_calibration else count
    contexts = {each[0] for each in found.arguments[:number_of]}
    ends = {each[1] for each in found.arguments[:number_of]}
    if output_type == "multiple_choice" or (
        output_type in {"", None} and (len(contexts) == 1 or len(ends) == 1)
    ):
        found.choices = number_of
    else:
        found.has_calibration = False


def reply_to(
    found: Asked,
    row: Row,
    instance_id: str,
    adapter: AdapterSpec,
    usual: dict[str, Any],
) -> None:
    """Put the replies of a row, and its log-likelihoods, in.

    Args:
        found: the row's requests.
        row: where they stand, for messages.
        instance_id: of the instance that they belong to.
        adapter: the run's.
        usual: arguments of generation that all requests of the run share.

    Raises:
        SourceError: a response is not what the harness writes.
    """
    place = row.at("resps")
    for n, (kind, arguments) in enumerate(
        zip(found.kinds, found.arguments, strict=True)
    ):
        request = _request(found, n, instance_id, adapter)
        extra: dict[str, Any] = {}
        if kind == "generation":
            given = arguments[1] if len(arguments) > 1 else {}
            if isinstance(given, dict) and given != usual:
                request = structs.replace(
                    request, decoding=decoding(given, adapter.decoding)
                )
                extra["generation_kwargs"] = plain(given)
            elif not isinstance(given, dict):
                extra["argument"] = plain(given)
            rest = arguments[2:]
        else:
            rest = arguments[2:] if kind == "loglikelihood" else arguments[1:]
        if rest:
            extra["arguments"] = plain(rest)
        _answered(found, n, request, extra, place.inside(n))


def _request(found: Asked, n: int, instance_id: str, adapter: AdapterSpec) -> Request:
    kind, arguments = found.kinds[n], found.arguments[n]
    context = arguments[0]
    plain_request = Request(
        instance_id,
        context,
        adapter.decoding,
        num_train_instances=adapter.max_train_instances,
    )
    if kind == "generation":
        messages = _messages(context)
        if messages:
            return structs.replace(
                plain_request,
                prompt="",
                prompt_kind="absent",
                messages=messages,
                request_index=n,
            )
        return structs.replace(plain_request, request_index=n)
    given = Decoding(temperature=0.0, max_tokens=0)
    if kind == "rolling":
        return structs.replace(
            plain_request, decoding=given, request_index=n, score_start=0
        )
    is_choice = n < found.choices * (2 if found.has_calibration else 1)
    return structs.replace(
        plain_request,
        prompt=context + arguments[1],
        decoding=given,
        score_start=len(context),
        mode=CALIBRATION if is_choice and n >= found.choices else ORIGINAL,
        reference_index=n % found.choices if is_choice else -1,
        request_index=0 if is_choice else n,
    )


def _messages(context: str) -> tuple[Message, ...]:
    """Return the messages that a context is, () if it is a text."""
    if not context.startswith("[{") or '"role"' not in context:
        return ()
    try:
        found: list[Any] = reading.value(context.encode(), "")
    except SourceError:
        return ()
    if not all(isinstance(m, dict) and isinstance(m.get("role"), str) for m in found):
        return ()
    messages = []
    for each in found:
        content = each.get("content")
        extra = {k: plain(v) for k, v in each.items() if k not in {"role", "content"}}
        if not isinstance(content, str):
            extra["content"] = plain(content)
            content = ""
        messages.append(Message(each["role"], content, extra))
    return tuple(messages)


def _answered(
    found: Asked, n: int, request: Request, extra: dict[str, Any], place: Place
) -> None:
    responses = found.responses[n]
    if not responses:
        nothing = Completion(error="no response was recorded", extra=extra)
        found.replies.append(Reply(request, nothing))
        found.likelihoods.append(Likelihood(None))
        return
    for repeat, response in enumerate(responses):
        where = place.inside(repeat)
        if found.kinds[n] == "generation":
            completion = _generated(response, extra)
        else:
            told_of = likelihood(response, where)
            said = {"is_greedy": told_of.greedy} if told_of.greedy is not None else {}
            if told_of.logprob is None:
                said["response"] = plain(response)
            completion = Completion(logprob=told_of.logprob, extra={**said, **extra})
            if repeat == 0:
                found.likelihoods.append(told_of)
        found.replies.append(Reply(request, completion, repeat))
    if found.kinds[n] == "generation":
        found.likelihoods.append(Likelihood(None))


def _generated(response: Any, extra: dict[str, Any]) -> Completion:
    if isinstance(response, str):
        return Completion(response, extra=extra)
    if response is None:
        return Completion(error="no response was recorded", extra=extra)
    return Completion(
        json.dumps(plain(response), ensure_ascii=False),
        extra={**extra, "response": plain(response)},
    )


def likelihood(response: Any, place: Place) -> Likelihood:
    """Return what `["-10.6", "False"]`, `[-10.6, false]` or `"-323.5"` say.

    Raises:
        SourceError: it is none of them.
    """
    if not isinstance(response, list):
        return Likelihood(number(response, place))
    if not response or len(response) > 2:
        raise place.error(f"expected a log-likelihood, got {told(response)}")
    greedy = None
    if len(response) == 2:
        word = str(response[1]).strip().lower()
        greedy = {"true": True, "1": True, "1.0": True}.get(word, False)
        if word not in {"true", "false", "0", "1", "0.0", "1.0", "none"}:
            raise place.inside(1).error(
                f"expected whether it is greedy, got {told(response[1])}"
            )
    return Likelihood(number(response[0], place.inside(0)), greedy)


def decoding(given: dict[str, Any], usual: Decoding) -> Decoding:
    """Return how completions are drawn under arguments of generation."""
    until = given.get("until")
    stops = [until] if isinstance(until, str) else until
    samples = given.get("do_sample")
    temperature = _real(given.get("temperature"), usual.temperature)
    if samples is False:
        temperature = 0.0
    most = next(
        (
            given[k]
            for k in ("max_gen_toks", "max_tokens", "max_new_tokens")
            if k in given
        ),
        None,
    )
    tokens = _real(most, float(usual.max_tokens))
    return Decoding(
        temperature=temperature,
        max_tokens=int(min(max(tokens, 0), 2**31 - 1)),
        num_completions=usual.num_completions,
        stop_sequences=tuple(s for s in stops if isinstance(s, str))
        if isinstance(stops, list)
        else usual.stop_sequences,
        top_p=_real(given.get("top_p"), 1.0),
    )


def _real(found: Any, default: float) -> float:
    try:
        read = number(found, _NOWHERE)
    except SourceError:
        return default
    return default if read is None else read
