"""A sample of lighteval → an instance, its requests and replies, its scores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import structs

from helmsite.importers import reading, values
from helmsite.schema import (
    CORRECT_TAG,
    Completion,
    Instance,
    Message,
    Reference,
    Reply,
    Request,
    Score,
    Usage,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from helmsite.importers.lighteval.details import Detail
    from helmsite.importers.values import Place, Row
    from helmsite.schema import AdapterSpec, Decoding

RESPONSE = (
    *("input", "input_tokens", "text", "output_tokens", "reasonings", "logprobs"),
    *("argmax_logits_eq_gold", "unconditioned_logprobs", "text_post_processed"),
)
LIKELIHOOD, PERPLEXITY = "LOGPROBS", "PERPLEXITY"


def instance(found: Detail, name: str, position: int) -> Instance:
    """Return what was asked about.

    Raises:
        SourceError: it is not what lighteval writes.
    """
    doc = found.doc
    choices = _texts(doc, "choices")
    gold = golds(doc)
    known = ["query", "choices", "gold_index", "id"]
    if found.response.get("input") is not None:
        known.append("fewshot_samples")  # they stand in the prompt
    rest = {k: v for k, v in doc.rest(*known).items() if v not in (None, "", [])}
    return Instance(
        name,
        reading.clean(doc.text("query", "")),
        tuple(
            Reference(text, (CORRECT_TAG,) if n in gold else ())
            for n, text in enumerate(choices)
        ),
        position=position,
        split="test",
        extra=rest,
    )


def golds(doc: Row) -> set[int]:
    """Return the indices of the right choices.

    Raises:
        SourceError: they are no numbers.
    """
    said = doc.get("gold_index")
    several = said if isinstance(said, list) else [] if said is None else [said]
    place = doc.at("gold_index")
    return {values.integer(each, place) for each in several}


def is_likelihood(found: Detail) -> bool:
    """Return whether the choices were scored, and no text was generated."""
    methods = found.doc.get("sampling_methods")
    if isinstance(methods, list) and methods:
        return str(methods[0]).rpartition(".")[2] == LIKELIHOOD
    return not found.response.get("text") and bool(found.response.get("logprobs"))


def replies(
    found: Detail, of: Instance, adapter: AdapterSpec, shots: int
) -> Iterator[Reply]:
    """Yield what was sent and what came back: a text or several, or a score of each choice.

    Raises:
        SourceError: it is not what lighteval writes.
    """
    request = _request(found, of, adapter, shots)
    if is_likelihood(found):
        yield from _likelihoods(found, of, request)
    else:
        yield from _texts_of(found, request)


def scores(found: Detail, of: Instance) -> Iterator[Score]:
    """Yield the metrics of a sample. What is no number is in the details of its score."""
    for name, value in found.metric.value.items():
        number: float | None = None
        missing: Any = "not measurable"
        details: dict[str, Any] = {}
        if isinstance(value, bool):
            number = float(value)
        elif isinstance(value, (int, float)):
            number = values.number(value, found.metric.at(name))
            missing = "nan"
        elif value is not None:
            details = {"value": values.plain(value)}
        yield Score(
            of.instance_id,
            name,
            number,
            details=details,
            origin="reported",
            missing="" if number is not None else missing,
        )


def _request(found: Detail, of: Instance, adapter: AdapterSpec, shots: int) -> Request:
    doc, response = found.doc, found.response
    said = response.get("input")
    messages: tuple[Message, ...] = ()
    if isinstance(said, list):
        messages = tuple(_message(each, response.at("input")) for each in said)
    prompt = reading.clean(said) if isinstance(said, str) else ""
    kind: Any = "absent" if messages else "exact"
    if said is None:
        prompt, kind = f"{doc.text('instruction', '')}{of.input}", "abridged"
    examples = doc.items("fewshot_samples", [])
    ids = [
        str(each["id"])
        for each in examples
        if isinstance(each, dict) and each.get("id")
    ]
    return Request(
        of.instance_id,
        prompt,
        _decoding(doc, adapter),
        prompt_kind=kind,
        messages=messages,
        example_ids=tuple(map(reading.clean, ids)),
        num_train_instances=len(examples) or shots,
        truncated=bool(response.integer("truncated_tokens_count", 0)),
    )


def _decoding(doc: Row, adapter: AdapterSpec) -> Decoding:
    """Return how a sample's texts were drawn: it may have limits of its own."""
    usual = adapter.decoding
    if not usual.max_tokens:
        return usual
    size, stops = doc.get("generation_size"), doc.get("stop_sequences")
    if isinstance(size, int) and not isinstance(size, bool) and 0 < size < 2**31:
        usual = structs.replace(usual, max_tokens=size)
    if isinstance(stops, list) and all(isinstance(each, str) for each in stops):
        usual = structs.replace(usual, stop_sequences=tuple(map(reading.clean, stops)))
    return usual


def _likelihoods(found: Detail, of: Instance, request: Request) -> Iterator[Reply]:
    response, choices = found.response, [r.text for r in of.references]
    rest = _rest(found)
    for kind, mode in (
        ("logprobs", "original"),
        ("unconditioned_logprobs", "calibration"),
    ):
        context = request.prompt
        if mode == "calibration":
            context = reading.clean(found.doc.text("unconditioned_query", ""))
        for index, value in enumerate(response.items(kind, [])):
            choice = choices[index] if index < len(choices) else ""
            place = response.at(kind).inside(index)
            extra = rest if index == 0 and mode == "original" else {}
            if mode == "original":
                extra = extra | _at(
                    response, index, "output_tokens", "argmax_logits_eq_gold"
                )
            yield Reply(
                structs.replace(
                    request,
                    prompt=f"{context}{choice}",
                    mode=mode,
                    reference_index=index,
                    score_start=len(context),
                ),
                Completion(
                    logprob=None if value is None else values.number(value, place),
                    usage=_usage(response, index),
                    extra=extra,
                ),
            )


def _texts_of(found: Detail, request: Request) -> Iterator[Reply]:
    response = found.response
    texts, rest = _texts(response, "text"), _rest(found)
    logprobs = response.items("logprobs", [])
    if logprobs:
        rest = rest | {"logprobs": values.plain(logprobs)}
    for index, text in enumerate(texts or [""]):
        extra = _at(response, index, "output_tokens", "text_post_processed")
        thought = _at(response, index, "reasonings").get("reasonings")
        yield Reply(
            request,
            Completion(
                text,
                reasoning=reading.clean(thought) if isinstance(thought, str) else "",
                usage=_usage(response, index),
                extra=extra | (rest if index == 0 else {}),
            ),
            index,
        )


def _usage(response: Row, index: int) -> Usage:
    sent = response.get("input_tokens")
    drawn = _at(response, index, "output_tokens").get("output_tokens")
    return Usage(
        len(sent) if isinstance(sent, list) and sent else None,
        len(drawn) if isinstance(drawn, list) else None,
    )


def _at(response: Row, index: int, *names: str) -> dict[str, Any]:
    """Return what lists say of one text or choice."""
    found = {}
    for name in names:
        several = response.get(name)
        if isinstance(several, list) and index < len(several):
            value = several[index]
            if value is not None:
                found[name] = values.plain(value)
    return found


def _rest(found: Detail) -> dict[str, Any]:
    rest = {k: v for k, v in found.response.rest(*RESPONSE).items() if v}
    tokens = found.response.get("input_tokens")
    return rest | ({"input_tokens": values.plain(tokens)} if tokens else {})


def _texts(row: Row, key: str) -> list[str]:
    return [
        reading.clean(each)
        if isinstance(each, str)
        else ""
        if each is None
        else str(each)
        for each in row.items(key, [])
    ]


def _message(found: Any, place: Place) -> Message:
    row = values.Row(found, place)
    content = row.get("content")
    if isinstance(content, str):
        return Message(
            row.text("role", ""), reading.clean(content), row.rest("role", "content")
        )
    return Message(row.text("role", ""), extra=row.rest("role"))
